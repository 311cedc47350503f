"""Games under sample risk: population groups estimated from sampling weights."""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from shared_files import unknown
from tiers import cases, examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.records import shared_records
from reidsim.scenarios.scenario import Scenario

POLICIES = ["no-protection", "basic", "no-attack", "full-domain", "full-domain-no-attack", "record-level",
            "record-level-no-attack", "multi-dimensional", "opt-in", "k-anonymity"]  # fmt: skip
SCENARIO = """title = "A survey"
[release]
path = "survey.csv"
{release}
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [10, 20] }}
[attributes.zone]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 160
cost = 20
[adversary]
{adversary}
[publisher]
unit = "{unit}"
policies = {policies}
"""
MEASURES = ["publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"]
BY_WEIGHTS = 'weight = "w"\nestimator = "benedetti-franconi"'
ALL_WEIGHTS = (BY_WEIGHTS, 'weight = "w"', "sampling_fraction = 1")


def survey(seed=0, rows=40):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.choice([20, 25, 31, 33, 45, 58], rows),
            "zone": rng.choice(list("abc"), rows, p=[0.6, 0.3, 0.1]),
            "w": rng.uniform(1, 12, rows).round(3),
        }
    )


def written(
    folder: Path, table, release=BY_WEIGHTS, adversary='risk = "sample"', unit="record", policies=POLICIES
) -> Path:
    table.to_csv(folder / "survey.csv", index=False)
    path = folder / "survey.toml"
    path.with_name("base.toml").write_text(
        SCENARIO.format(release=release, adversary=adversary, unit=unit, policies=policies)
    )
    # Weights are read under sample risk only, so a scenario may inherit them unused.
    path.write_text('extends = "base.toml"\n')
    return path


def chance(table, row, labels):
    """Return a record's expectation of 1 / group size, counted and integrated."""
    alike = [i for i in range(len(table)) if labels[i] == labels[row]]
    f, people = len(alike), sum(table["w"].iloc[alike])
    return quad(lambda z: 1 / (f + (people - f) * z ** (1 / f)), 0, 1, epsabs=1e-13, epsrel=1e-11, limit=200)[0]


@given(seed=st.integers(0, 1000))
@examples(4)
def test_every_record_gets_the_form_of_plain_enumeration(tmp_path_factory, seed):
    table = survey(seed, rows=12)
    path = written(tmp_path_factory.mktemp("survey"), table, policies=["no-protection", "basic", "no-attack"])
    study = build_study(Scenario.load(path))
    run = reidsim.run(path).summary
    lattice, cells = study.lattice, study.cell_of_record
    # Released values of each record under every form.
    labels = [lattice.released(np.full(len(cells), node), cells).astype("str").to_numpy().tolist() for node in range(8)]
    utility = [lattice.utility(node) for node in range(8)]
    totals = dict.fromkeys(("no-protection", "basic", "no-attack"), 0.0)
    for row in range(len(table)):
        cell = cells[row]
        pays, unattacked = [], [0.0]
        for node in range(8):
            found = chance(table, row, labels[node])
            linked = study.truth.outcome(node).response.success[cell]
            assert linked == pytest.approx(found, rel=1e-8)
            attacked = 160 * found > 20 * (1 + 1e-12)
            pays.append(100 * utility[node][cell] - (160 * found if attacked else 0))
            if not attacked:
                unattacked.append(100 * utility[node][cell])
        totals["no-protection"] += pays[0]
        totals["basic"] += max(pays)
        totals["no-attack"] += max(unattacked)
    for policy, total in totals.items():
        assert run.loc[policy, "publisher_payoff"] == pytest.approx(total / len(table), rel=1e-8)


@pytest.mark.parametrize(
    ("release", "unit", "planner"),
    cases(
        itertools.product(ALL_WEIGHTS, ("record", "table"), ("one-shot", "fmdp", "random")),
        [
            (ALL_WEIGHTS[0], "record", "one-shot"),
            (ALL_WEIGHTS[1], "table", "fmdp"),
            (ALL_WEIGHTS[2], "table", "one-shot"),
        ],
    ),
)
def test_weights_of_one_are_prosecutor_risk(tmp_path, release, unit, planner):
    table = survey().assign(w=1)
    plan = f'planner = "{planner}"\n'
    ours = reidsim.run(written(tmp_path, table, release, f'{plan}risk = "sample"', unit)).summary[MEASURES]
    theirs = reidsim.run(written(tmp_path, table, release, f'{plan}risk = "prosecutor"', unit)).summary[MEASURES]
    assert (ours - theirs).abs().to_numpy().max() <= 1e-12 * 250
    assert theirs.loc["basic", "publisher_payoff"] > 0


@pytest.mark.parametrize("estimator", ["benedetti-franconi", "log-linear"])
def test_a_fraction_is_the_same_weight_for_all(tmp_path, estimator):
    how = f'estimator = "{estimator}"'
    by_weight = reidsim.run(written(tmp_path, survey().assign(w=8.0), f'weight = "w"\n{how}')).summary[MEASURES]
    by_rate = reidsim.run(written(tmp_path, survey(), f"sampling_fraction = 0.125\n{how}")).summary[MEASURES]
    pd.testing.assert_frame_equal(by_weight, by_rate, rtol=1e-12)


def test_the_estimated_risk_is_between_those_of_the_file_and_of_the_weights(tmp_path):
    for estimator in ("benedetti-franconi", "log-linear"):
        path = written(tmp_path, survey(), f'weight = "w"\nestimator = "{estimator}"')
        study = build_study(Scenario.load(path))
        truth, lattice = study.truth, study.lattice
        alone = study.linker("prosecutor").group_sizes
        for node in range(lattice.size):
            success = truth.outcome(node).response.success
            assert (success <= 1 / alone.at(node) * (1 + 1e-12)).all()
            for above in lattice.successors(node):
                assert (truth.outcome(above).response.success <= success * (1 + 1e-12)).all()


def test_local_recoding_hides_records_in_the_population_in_every_round(tmp_path):
    """As under journalist risk, people released earlier remain in the population."""
    policies = ["local-recoding-no-attack", "full-domain-no-attack"]
    path = written(tmp_path, survey(3, rows=14), unit="table", policies=policies)
    study = build_study(Scenario.load(path))
    run = reidsim.run(path).summary["publisher_payoff"]
    assert run[policies[0]] >= run[policies[1]] * (1 - 1e-12)
    chosen = TABLES.play(study)[policies[0]].equilibrium
    assert len(np.unique(chosen.strategies[~chosen.withheld])) > 1
    for node in np.unique(chosen.strategies[~chosen.withheld]).tolist():
        rows = np.flatnonzero(chosen.strategies == node)
        expected = study.truth.outcome(node, rows).response.success
        assert chosen.success_probability[rows] == pytest.approx(expected, rel=1e-12)


def test_who_takes_part_does_not_change_the_population(tmp_path):
    study = build_study(Scenario.load(written(tmp_path, survey())))
    participants = np.zeros(study.lattice.n_records, dtype=np.int64)
    participants[:3] = 1
    part = study.among(participants)
    for node in range(study.lattice.size):
        assert part.truth.linker.link(node).group_sizes == pytest.approx(study.truth.linker.link(node).group_sizes)
    assert part.linker("sample") is study.linker("sample")


def test_the_publisher_may_plan_with_it(tmp_path):
    path = written(tmp_path, survey(), adversary='risk = "prosecutor"')
    path.write_text(path.read_text() + '[beliefs]\nrisk = "sample"\n')
    mistaken = reidsim.run(path).summary
    informed = reidsim.run(path, overrides={"beliefs": {}}).summary
    assert mistaken.loc["basic", "publisher_payoff"] < informed.loc["basic", "publisher_payoff"]
    # Records that the publisher wrongly believes safe are attacked.
    assert mistaken.loc["no-attack", "share_attacked"] > 0


def test_the_log_linear_model_counts_people_of_cells_without_records(tmp_path):
    path = written(tmp_path, survey(), 'weight = "w"')
    study = build_study(Scenario.load(path))
    assert study.sampled is not None
    assert study.sampled.missing == "poisson"
    assert (study.sampled.sample.counts == 0).any()
    assert study.sampled.sample.counts.sum() == 40
    everybody = study.truth.outcome(study.lattice.size - 1).response.success
    missing = study.sampled.total - 40
    f = quad(lambda z: math.exp(39 * math.log(z) - missing * (1 - z)) if z else 0.0, 0, 1, epsrel=1e-10)[0]
    assert everybody == pytest.approx(np.full(study.lattice.n_records, f), rel=1e-8)
    assert (
        build_study(Scenario.load(written(tmp_path, survey(), 'weight = "w"', 'risk = "prosecutor"'))).sampled is None
    )


def test_weights_without_a_search_for_records_are_refused_with_the_direction(tmp_path):
    path = written(tmp_path, survey(), 'weight = "w"', 'risk = "sample"\ndirection = "person"')
    with pytest.raises(InputError, match=r'only with risk = "sample" and another direction than "person"'):
        Scenario.load(path.with_name("base.toml"))


WRONG = {
    'weight = "age"': "release.weight: the column is a quasi-identifier; found 'age'",
    'weight = "wt"': "column 'wt': column missing",
    "": "release: sample risk needs weights or a sampling fraction",
    'weight = "w"\nsampling_fraction = 0.1': "release.sampling_fraction: weights and a sampling fraction exclude",
    "sampling_fraction = 0": "release.sampling_fraction",
    "sampling_fraction = 1.5": "release.sampling_fraction",
    'weight = "w"\nestimator = "guess"': "release.estimator",
}


@pytest.mark.parametrize("release", WRONG)
def test_what_is_wrong_is_named(tmp_path, release):
    with pytest.raises(InputError) as error:
        build_study(Scenario.load(written(tmp_path, survey(), release)))
    assert WRONG[release] in str(error.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0.5", "invalid sampling weight; found 0.5"),
        ("", "not a number of 0 or more"),
        ("inf", "not a number"),
        ("many", "found 'many'"),
    ],
)
def test_a_weight_that_is_none_is_named_by_its_row(tmp_path, value, said):
    table = survey().astype({"w": "str"})
    table.loc[6, "w"] = value
    with pytest.raises(InputError) as error:
        build_study(Scenario.load(written(tmp_path, table)))
    assert "survey.csv: row 7, column 'w': " in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("adversary", "said"),
    [
        ('risk = "sample"\nplanner = "fmdp"\nsequential = { belief = "unknown" }', "needs a counted population"),
        ('risk = "sample"\nplanner = "fmdp"\nsequential = { registry = "x" }', "a registry is not supported"),
    ],
)
def test_what_needs_people_to_be_counted_is_refused(tmp_path, adversary, said):
    with pytest.raises(InputError, match=said):
        Scenario.load(written(tmp_path, survey(), adversary=adversary))


def test_a_table_too_large_for_the_model_is_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr("reidsim.linkage.uniqueness.MOST_CELLS", 5)
    with pytest.raises(InputError) as error:
        build_study(Scenario.load(written(tmp_path, survey(), 'weight = "w"')))
    assert "release.estimator: too many cells for a log-linear model; found 18" in str(error.value)
    assert "use fewer attributes or coarser values" in str(error.value)
    assert 'estimator "benedetti-franconi" has no such limit' in str(error.value)
    assert build_study(Scenario.load(written(tmp_path, survey()))).sampled is not None


def test_unique_records_are_warned_of_where_weights_alone_are_asked(tmp_path):
    table = pd.concat([survey(), pd.DataFrame({"age": [58], "zone": ["c"], "w": [3.0]})], ignore_index=True)
    table = table.assign(age=np.where(table.index == 40, 90, table["age"]))
    by_weights = reidsim.run(written(tmp_path, table, policies=["basic"])).warnings
    assert any("records are unique in the sample" in warning for warning in by_weights)
    assert not any("unique in the sample" in warning for warning in reidsim.run(
        written(tmp_path, table, 'weight = "w"', policies=["basic"])).warnings)  # fmt: skip
    everybody = reidsim.run(written(tmp_path, table.assign(w=1.0), policies=["basic"])).warnings
    assert not any("unique in the sample" in warning for warning in everybody)


def test_weights_are_not_shared_unless_they_are_kept(tmp_path):
    run = reidsim.run(written(tmp_path, survey(), policies=["no-attack"]))
    run.save(tmp_path / "run")
    stored = open_results(tmp_path / "run")
    assert list(shared_records(stored, policy="no-attack").table.columns) == ["age", "zone"]
    assert "w" in shared_records(stored, policy="no-attack", kept=unknown(identifiers=["w"])).table.columns


# Risk scenarios.

RISK = """game = "risk"
[release]
path = "survey.csv"
{release}
[knowledge]
club = "club.toml"
[uniqueness]
{uniqueness}
"""
CLUB = """[[sources]]
kind = "groups"
name = "club"
[[sources.profile]]
presence = 1.0
[[sources.profile.groups]]
attributes = ["age", "zone"]
"""


def assessed(folder, release, uniqueness):
    survey().to_csv(folder / "survey.csv", index=False)
    (folder / "club.toml").write_text(CLUB)
    path = folder / "risk.toml"
    path.write_text(RISK.format(release=release, uniqueness=uniqueness))
    return reidsim.run(path)


@pytest.mark.parametrize("method", ["benedetti-franconi", "log-linear"])
def test_journalist_risk_by_weights(tmp_path, method):
    table = survey()
    alone = ~table.duplicated(["age", "zone"], keep=False)
    assert alone.any()
    run = assessed(tmp_path, 'weight = "w"', f'method = "{method}"').summary
    risk = run["journalist_risk"].iloc[0]
    if method == "benedetti-franconi":
        assert risk == pytest.approx(alone.mean() * (1 / table["w"][alone]).mean())
    assert 0 < risk < run["prosecutor_risk"].iloc[0] == pytest.approx(alone.mean())
    equal = assessed(tmp_path, 'attributes = ["age", "zone"]', f'method = "{method}"\npopulation_size = 400').summary
    if method == "benedetti-franconi":
        assert equal["journalist_risk"].iloc[0] == pytest.approx(alone.mean() / 10)


def test_weights_say_how_many_people_there_are_to_other_methods(tmp_path):
    people = round(survey()["w"].sum())
    by_weight = assessed(tmp_path, 'weight = "w"', 'method = "pitman"').summary
    by_number = assessed(
        tmp_path, 'attributes = ["age", "zone"]', f'method = "pitman"\npopulation_size = {people}'
    ).summary
    pd.testing.assert_frame_equal(by_weight, by_number)


@pytest.mark.parametrize(
    ("release", "uniqueness", "said"),
    [
        (
            'weight = "w"\nattributes = ["age", "w"]',
            'method = "pitman"',
            "the column of sampling weights is also an attribute",
        ),
        ('weight = "w"', 'method = "pitman"\npopulation_size = 400', "the number of people is given twice"),
        ("", 'method = "log-linear"', "uniqueness.population_size: key missing"),
        ('weight = "v"', 'method = "log-linear"', "column 'v': column missing"),
    ],
)
def test_what_is_wrong_with_weights_of_a_release_is_named(tmp_path, release, uniqueness, said):
    with pytest.raises(InputError, match=said):
        assessed(tmp_path, release, uniqueness)
