"""How long a scenario is expected to take, against how long it takes; and that a study cut down is a part of it."""

import json
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.commands.run import check
from reidsim.engine import expected_time
from reidsim.engine.batch.design import design_of
from reidsim.engine.expected_time import duration, expected_batch, expected_run, extrapolated, trials
from reidsim.engine.results import Stopwatch
from reidsim.engine.run import describe_with_time, run_loaded
from reidsim.engine.single_run import run_once
from reidsim.engine.stress.expected_time import expected_stress
from reidsim.scenarios.faces import CutDown, Portions
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.registry import kind_of

SMALL_MASKING = {
    "population.recipe": "ystr-genealogy-small", "targets.size": 40, "resources.registry.size": 1000,
    "resources.genealogy.size": 1000, "replications": 1,
}  # fmt: skip
SMALL_CASES = {"epidemic.cases": 600, "epidemic.periods": 12, "publisher.simulations": 40}
FEW_TYPES = {"population.types": 40}
FAMILIES = {"population.people": 60, "figures.equilibria.starts": 1, "figures.equilibria.draws": 2}
SMALL_RELEASES = {"release.sizes": [60, 90], "release.samples": 2, "figures.settings.records": 60}


TOWN = Path(__file__).parents[1] / "scenarios" / "town" / "town.toml"


def study_of(name, changes):
    loaded = load_scenario(name, changes)
    return kind_of(loaded.scenario).build(loaded)


@given(
    fixed=st.floats(0, 5), each=st.floats(1e-6, 1e-2), sizes=st.tuples(st.integers(10, 99), st.integers(100, 2000)),
    units=st.integers(2000, 10**7),
)  # fmt: skip
def test_time_that_is_linear_is_within_the_range(fixed, each, sizes, units):
    found = [np.array([fixed + each * size]) for size in sizes]
    low, high = extrapolated(sizes, found, units)
    assert low <= (fixed + each * units) * (1 + 1e-9)
    assert high >= (fixed + each * units) * (1 - 1e-9)


def test_of_a_whole_run_nothing_is_extrapolated_and_of_one_part_no_upper_end_is_known():
    assert extrapolated([64], [np.array([2.0])], 64) == (2.0, 2.0)
    assert extrapolated([32], [np.array([2.0])], 64) == (2.0, np.inf)
    assert extrapolated([32, 64], [np.array([1.0]), np.array([2.0])], 64) == (2.0, 2.0)


@pytest.fixture
def played(monkeypatch):
    """What plays units that take some seconds, and some more whatever their number, by a clock of its own."""
    spent = [0.0]

    class Told:
        def __init__(self):
            self.begun = spent[0]

        @property
        def seconds(self):
            return spent[0] - self.begun

    def play(fixed, each, units):
        spent[0] += fixed + each * units
        return np.array([fixed + each * units])

    monkeypatch.setattr(expected_time, "Stopwatch", Told)
    return play, spent


@pytest.mark.parametrize(("each", "most"), [(1e-3, 2_000), (1e-2, 200), (1e-6, 10**6)])
def test_trials_end_in_time_and_reach_what_fits_into_it(played, each, most):
    play, spent = played
    clock = expected_time.Stopwatch()
    play(0.05, each, 1)
    sizes, found = trials(Portions(10**6, lambda units: units), partial(play, 0.05, each), clock, as_long)
    assert sizes == sorted(sizes)
    assert len(found) == len(sizes) > 1
    assert most / 20 <= sizes[-1] <= most
    assert spent[0] < 2.5


def test_a_run_of_which_no_part_is_short_is_tried_once(played):
    play, spent = played
    clock = expected_time.Stopwatch()
    play(1.3, 0.0, 3)
    assert trials(Portions(100, lambda units: units, 3), partial(play, 1.3, 0.0), clock, as_long) == ([3], [[1.3]])
    assert spent[0] == 2.6


def test_of_a_run_that_takes_a_second_whatever_its_size_the_rest_is_told(played):
    play, spent = played
    clock = expected_time.Stopwatch()
    play(1.0, 1e-4, 60)
    sizes, found = trials(Portions(10**6, lambda units: units, 60), partial(play, 1.0, 1e-4), clock, lambda *tried: 5.0)
    low, high = extrapolated(sizes, found, 10**6)
    assert 100 / 2 < low <= 101 <= high < 100 * 2
    assert spent[0] < 7


def test_what_was_compiled_in_the_first_trial_is_not_told(played):
    play, _ = played
    clock = expected_time.Stopwatch()
    play(20.0, 0.0, 3)
    sizes, found = trials(Portions(10**6, lambda units: units, 3), partial(play, 0.05, 1e-3), clock, as_long)
    assert len(sizes) > 1
    assert max(seconds.sum() for seconds in found) < 1.8


def test_trials_end_once_they_are_enough(played):
    play, _ = played
    asked = []

    def enough(sizes, found):
        asked.append(len(sizes))
        return 0.0

    sizes, _ = trials(
        Portions(10**6, lambda units: units), partial(play, 0.01, 1e-6), expected_time.Stopwatch(), enough
    )
    assert (len(sizes), asked) == (2, [2])


def as_long(sizes, found):
    return 1.8


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (30, 34, "about 34 seconds"), (20, 70, "20 to 70 seconds"), (100, 190, "2 to 3 minutes"),
        (7000, 7300, "about 2 hours"), (86_400, 864_000, "1 to 10 days"), (0.2, 12, "1 to 12 seconds"),
    ],
)  # fmt: skip
def test_times_are_told_in_units_that_suit_them(low, high, text):
    assert duration(low, high) == text


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("wan2015", {"publisher.policies": ["basic", "safe-harbor"]}),
        ("wan2021", SMALL_MASKING),
        ("xia2021", SMALL_RELEASES),
        ("dynamic-release", SMALL_CASES),
        ("guo2023", FEW_TYPES),
        ("guo2023-families", FAMILIES),
    ],
)
def test_a_study_cut_down_to_all_of_it_has_the_same_results(name, changes):
    study = study_of(name, changes)
    portions = kind_of(study.scenario).portions(study)
    whole, again = run_once(study.loaded, study=study), portions.study_of(portions.units)
    assert again is not study
    np.testing.assert_allclose(
        run_once(again.loaded, study=again).summary.select_dtypes("number"),
        whole.summary.select_dtypes("number"), rtol=1e-12,
    )  # fmt: skip


def test_rows_of_a_table_cut_down_have_the_payoffs_that_they_have_among_all():
    study = study_of("wan2015", {"publisher.policies": ["basic"]})
    kind = kind_of(study.scenario)
    part = kind.portions(study).study_of(50)
    rows = np.linspace(0, study.space.n_records - 1, 50).astype(int)
    whole, found = (kind.play(each)["basic"].equilibrium for each in (study, part))
    np.testing.assert_array_equal(part.weights, study.weights[rows])
    np.testing.assert_array_equal(found.strategies, whole.strategies[rows])
    np.testing.assert_array_equal(found.publisher_payoff, whole.publisher_payoff[rows])


def test_the_time_of_a_batch_grows_with_points_and_replications(monkeypatch):
    monkeypatch.setattr(expected_time, "trials", lambda portions, *asked: ([portions.units], [np.array([3.0, 1.0])]))
    monkeypatch.setattr(expected_time, "default_workers", lambda needed: 1)
    study = study_of("wan2015", {})

    kind = kind_of(study.scenario)
    monkeypatch.setattr(type(kind), "build_after", lambda self, loaded, before: None)

    def seconds(losses, replications):
        changes = {"sweep.values": {"economics.loss": losses}, "replications": replications}
        loaded = load_scenario("wan2015", changes)
        return round(expected_batch(loaded, design_of(loaded), study, 10.0).high)

    # The first of the points that differ only in money takes 3 s, each other 1 s; people are read for each replication.
    assert seconds([100, 200], 1) == 10 + 3 + 1
    assert seconds([100, 200, 300], 1) == 10 + 3 + 2
    assert seconds([100, 200, 300], 4) == 4 * (10 + 3 + 2)


def test_points_that_differ_in_more_than_money_are_tried_too(monkeypatch):
    monkeypatch.setattr(expected_time, "trials", lambda portions, *asked: ([portions.units], [np.array([3.0, 0.0])]))
    monkeypatch.setattr(expected_time, "default_workers", lambda needed: 1)
    asked = []

    def tried(loaded, design, point, before, sizes):
        asked.append((design.values(point)["subjects.minority_support"], sizes))
        return sizes[-1], [9.0]

    monkeypatch.setattr(expected_time, "_tried", tried)
    loaded = load_scenario("wan2021", {**SMALL_MASKING, "sweep.values": {"subjects.minority_support": [0.0, -2.0]}})
    study = kind_of(loaded.scenario).build(loaded)
    found = expected_batch(loaded, design_of(loaded), study, 2.0)
    assert asked == [(-2.0, [SMALL_MASKING["targets.size"]])]
    assert (found.low, found.high) == (2 * 2 + 3 + 9, 2 * 2 + 3 + 9)
    # Nobody waits for others that take long to build.
    assert expected_batch(loaded, design_of(loaded), study, 10.0).high == 2 * 10 + 2 * 3
    assert len(asked) == 1


def test_another_point_is_tried_on_its_own_data_in_ascending_parts_while_these_are_brief(monkeypatch):
    loaded = load_scenario("wan2021", {**SMALL_MASKING, "sweep.values": {"targets.size": [40, 80]}})
    study = kind_of(loaded.scenario).build(loaded)
    taken = iter([5.0, 0.1, 0.3])
    monkeypatch.setattr(expected_time, "_seconds", lambda work: work() and next(taken))
    units, seconds = expected_time._tried(loaded, design_of(loaded), 1, study, [10, 20, 40])
    assert (units, seconds) == (80, [0.1, 0.3])


LINES = st.tuples(st.floats(0, 0.5), st.floats(1e-5, 1e-2))


@given(first=LINES, others=st.lists(st.tuples(LINES, st.integers(1, 10**6), st.integers(2, 3)), max_size=4))
def test_the_mean_of_points_whose_time_is_linear_is_within_the_range(first, others):
    sizes, units = [32, 128, 512], 100_000

    def seconds(line, size):
        return line[0] + line[1] * size

    def beside(brief):
        assert brief == sizes[: len(brief)]
        return [(there, [seconds(line, size) for size in sizes[:known]]) for line, there, known in others]

    found = [np.array([seconds(first, size)]) for size in sizes]
    each = [seconds(first, units)]
    each += [seconds(line, max(there, sizes[known - 1])) for line, there, known in others]
    factors = expected_time._factors(sizes, found, units, beside)
    low, high = (end[0] * factor for end, factor in zip(extrapolated(sizes, found, units), factors, strict=True))
    assert low <= np.mean(each) * (1 + 1e-9)
    assert high >= np.mean(each) * (1 - 1e-9)


def test_of_a_point_that_takes_long_one_part_tells_by_how_much_it_differs():
    found = [np.array([1.0]), np.array([2.0])]
    low, high = expected_time._factors([10, 20], found, 40, lambda sizes: [(40, [4.0])])
    # 0.1 s a unit at the first point, 0.3 s more at the other: 4 s, and 13 s.
    assert low < (4 + 4 + 30 * 0.4) / 2 / 4 < high


def test_the_time_of_a_stress_test_is_that_of_its_points(monkeypatch):
    monkeypatch.setattr(expected_time, "trials", lambda portions, *asked: ([portions.units], [np.array([3.0, 0.5])]))
    study = study_of("wan2015", {})
    uncertain = {"economics.loss": {"distribution": "uniform", "low": 100, "high": 500}}
    changes = {
        "uncertainty": {"samples": 4, "parameters": uncertain},
        "stress": {
            "outputs": ["risk"],
            "robustness": {"samples": 7},
            "sensitivity": {"method": "morris", "samples": 5},
        },
    }
    # Trajectories of two points each, and seven; the first takes 3 s, others half a second.
    found = expected_stress(load_scenario("wan2015", changes), study, 10.0)
    assert found.high == 10 + 3 + (5 * 2 + 7 - 1) * 0.5


@pytest.mark.parametrize("table", ["period", "cumulative"])
def test_cases_cut_down_are_of_every_period_in_proportion(table):
    study = study_of("dynamic-release", {**SMALL_CASES, "release.table": table})
    portions = kind_of(study.scenario).portions(study)
    periods = len(study.cases.periods)
    for number in (periods, 300):
        part = portions.study_of(number)
        sizes = np.bincount(part.cases.period, minlength=periods)
        np.testing.assert_array_equal(
            sizes, np.maximum(1, np.round(np.bincount(study.cases.period) * number / portions.units))
        )
        assert len(part.row_of_case) == len(part.cases.codes) == sizes.sum()
        # Cases keep their values, period by period.
        first = [part.cases.codes[part.cases.period == period][0] for period in range(periods)]
        np.testing.assert_array_equal(first, study.cases.codes[np.unique(study.cases.period, return_index=True)[1]])
    assert portions.least == periods


def test_people_cut_down_are_fewer_types_or_lose_members_fewer_times():
    for name, changes, units in (("guo2023", FEW_TYPES, 40), ("guo2023-families", FAMILIES, 2)):
        study = study_of(name, changes)
        portions = kind_of(study.scenario).portions(study)
        assert portions.units == units
        part = portions.study_of(1)
        assert part.n_people == (1 if name == "guo2023" else study.n_people)
        assert part.scenario.figures.equilibria.draws == (10 if name == "guo2023" else 1)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("dynamic-release", SMALL_CASES),
        ("guo2023", FEW_TYPES),
        ("guo2023-families", FAMILIES),
        ("wan2021", {**SMALL_MASKING, "targets.size": 1, "subjects.policies": ["masking"]}),
    ],
)
def test_check_tells_the_time_of(monkeypatch, capsys, name, changes):
    told = []
    monkeypatch.setattr(
        "reidsim.engine.run.describe_with_time", lambda loaded: told.append(describe_with_time(loaded)) or told[-1]
    )
    check(name, [f"{key}={json.dumps(value)}" for key, value in changes.items()])
    expected = told[0][1]["time"]
    assert 0 < expected.low <= expected.high
    assert f"\nExpected time: {expected}\n" in capsys.readouterr().out


def test_what_cannot_be_cut_down_is_not_tried(monkeypatch):
    study = study_of("guo2023", {})
    monkeypatch.setattr(type(kind_of(study.scenario)), "portions", CutDown.portions)
    assert expected_run(study, 0.0) is None


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "changes"), [("wan2015", {}), ("xia2021", {"release.sizes": [1000, 4000], "release.samples": 3})]
)
def test_a_run_takes_what_is_expected_within_a_factor_of_three(name, changes):
    loaded = load_scenario(name, changes)
    expected = describe_with_time(loaded)[1]["time"]
    clock = Stopwatch()
    run_loaded(loaded)
    assert expected.low / 3 < clock.seconds < expected.high * 3


def test_a_first_trial_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(expected_time, "_PATIENCE", 0.0)
    for changes in ({}, {"sweep.values": {"economics.loss": [30, 60]}}):
        told = describe_with_time(load_scenario(TOWN, changes))[1]["time"]
        assert told.high == np.inf
        assert str(told) == "unknown (at least 1 second)"


@pytest.mark.parametrize("solver", ["backward-induction", "iceberg"])
def test_a_run_of_a_large_table_is_begun_once_and_given_up(monkeypatch, solver):
    monkeypatch.setattr("reidsim.kinds.tables.memory._MANY_GROUPS", 0)
    begun = []

    def counted(*given, **options):
        begun.append(options["study"].space.n_records)
        return run_once(*given, **options)

    monkeypatch.setattr(expected_time, "run_once", counted)
    monkeypatch.setattr(expected_time, "_SECONDS", 1e9)
    study = study_of(TOWN, {"publisher.solver": solver})
    whole = expected_run(study, built=1.0)
    assert begun == [study.space.n_records]
    assert whole.low == whole.high > 1

    def slow(loaded, *, study, progress):
        for done in range(201):
            begun = time.process_time()
            while time.process_time() < begun + 0.005:
                pass
            progress("playing", done, 200)

    monkeypatch.setattr(expected_time, "run_once", slow)
    monkeypatch.setattr(expected_time, "_SECONDS", 0.1)
    given_up = expected_run(study, built=1.0)
    assert given_up.tried < 1
    if solver == "backward-induction":
        # Each step takes about as long as any other: half a second or more, and one of building.
        assert 1.5 < given_up.low < given_up.high < np.inf
    else:
        assert str(given_up) == "unknown (at least 1 second)"


def test_of_a_trial_given_up_in_many_steps_the_rest_is_told(monkeypatch):
    class Clock:
        seconds = 1.0

    monkeypatch.setattr(expected_time, "Stopwatch", Clock)
    told = {}
    for steps in (3, 1000):
        patience = expected_time._Patience()
        monkeypatch.setattr(Clock, "seconds", 1.0)
        patience("reading", 0, 1)
        patience("playing", 1, steps)
        monkeypatch.setattr(Clock, "seconds", 6.0)
        with pytest.raises(expected_time._TooLongError) as given_up:
            patience("playing", 2, steps)
        told[steps] = given_up.value.seconds
    # The second step took five seconds, and so, or half of it, will each that is left; few steps may differ.
    assert told == {3: 6, 1000: 6 + 0.5 * 5 * 998}


def test_branch_and_bound_is_given_up_on_its_way(monkeypatch):
    loaded, reports = load_scenario(TOWN, {"publisher.solver": "branch-and-bound"}), []
    run_once(loaded, progress=lambda *done: reports.append(done))
    # Two policies, each told once at its begin and then at every strategy that is looked at.
    assert reports.count(("playing", 0, 2)) > 2
    assert reports.count(("playing", 1, 2)) > 2
