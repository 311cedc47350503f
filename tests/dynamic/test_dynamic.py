"""Cases over time, against enumeration; simulated tables, errors and runners."""

import numpy as np
import pandas as pd
import plain_dynamic as plain
import pytest
from dynamic_worlds import CASES, EPIDEMIC, PEOPLE, VOTERS, study_of, write_world
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.dynamic.kind import DYNAMIC, SimulatedTables, exposing_rows, period_table
from reidsim.scenarios.kind import equilibria_of


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_world(tmp_path)


# Against enumeration.


def days_of(study, world, cases, *, cumulative, no_attack):
    """Yield each day's table with its best node and outcome, by enumeration."""
    weights = plain.attribute_weights(cases)
    for day in sorted({day for day, _ in cases}):
        table = plain.table_of(cases, day, cumulative=cumulative)
        yield table, *plain.best_of(table, day, world, weights, no_attack=no_attack)


def check_against_enumeration(study, world, cases, *, cumulative=False):
    found = equilibria_of(DYNAMIC.play(study, 0, ("basic", "no-attack", "no-protection", "fixed")))
    table, weights = period_table(study, found), plain.attribute_weights(cases)
    assert study.lattice.attribute_weights == pytest.approx(weights, abs=1e-12)
    for policy in ("basic", "no-attack"):
        rows = table[table["policy"] == policy].to_dict("records")
        days = days_of(study, world, cases, cumulative=cumulative, no_attack=policy == "no-attack")
        for row, (records, node, (payoff, attacked, hit)) in zip(rows, days, strict=True):
            assert row["records"] == len(records)
            assert row["strategy"] == ("withheld" if node is None else ",".join(map(str, node)))
            assert row["publisher_payoff"] == pytest.approx(payoff, abs=1e-9)
            assert row["attacked"] == attacked
            assert row["reidentified"] == pytest.approx(hit, abs=1e-12)
    for policy, node in (("no-protection", (0, 0, 0)), ("fixed", (1, 0, 0))):
        rows = table[table["policy"] == policy].to_dict("records")
        for row, day in zip(rows, sorted({day for day, _ in cases}), strict=True):
            records = plain.table_of(cases, day, cumulative=cumulative)
            payoff, attacked, _ = plain.outcome_of(records, node, day, world, weights)
            assert (row["publisher_payoff"], row["attacked"]) == pytest.approx((payoff, attacked), abs=1e-9)
            assert row["utility"] == pytest.approx(plain.utility_of(records, node, weights), abs=1e-12)
            assert row["pk"] == pytest.approx(plain.pk_of(records, node, 2), abs=1e-12)


@st.composite
def worlds(draw):
    cases = draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(list(PEOPLE))), min_size=1, max_size=9))
    return {
        "cases": cases,
        "forecast": {day: draw(st.sampled_from([0, 0, 2.5])) for day, _ in cases},
        "benefit": draw(st.sampled_from([1, 10, 12.5])),
        "loss": draw(st.sampled_from([0, 30, 200])),
        "gain": draw(st.sampled_from([7, 30])),
        "cost": draw(st.sampled_from([0, 1, 3.5])),
        "risk": draw(st.sampled_from(["journalist", "journalist", "prosecutor"])),
        "voters": draw(st.sampled_from([None, 0.5, 1.0])),
        "table": draw(st.sampled_from(["period", "cumulative"])),
    }


@pytest.mark.deep
@given(worlds())
@examples(8, fast=5)
def test_every_day_gets_what_enumeration_of_its_lattice_gives(tmp_path_factory, drawn):
    path = write_world(tmp_path_factory.mktemp("world"), drawn["cases"], drawn["forecast"])
    overrides = {
        "economics": {key: drawn[key] for key in ("benefit", "loss", "gain", "cost")},
        "adversary.risk": drawn["risk"],
        "release.table": drawn["table"],
        "release.forecast": "worth",
    }
    world = {**drawn, "list": PEOPLE, "coverage": None}
    if drawn["voters"] is not None:
        overrides["voters"] = {"recipe": str(path.parent / "voters.toml"), "coverage": drawn["voters"]}
        world |= {"list": VOTERS, "coverage": drawn["voters"]}
    check_against_enumeration(
        study_of(path, overrides), world, drawn["cases"], cumulative=drawn["table"] == "cumulative"
    )


def test_coverage_of_the_list_is_its_share_of_the_population_if_not_given(scenario):
    study = study_of(scenario, {"voters.recipe": "voters.toml"})
    assert study.coverage == sum(VOTERS.values()) / sum(PEOPLE.values())
    linked = study.linker.link(0)
    listed = [VOTERS.get(person_of(study, row), 0) for row in range(study.lattice.n_records)]
    chance = [study.coverage / n if n else 0.0 for n in listed]
    assert (1 / linked.group_sizes).tolist() == pytest.approx(chance, rel=1e-12)
    assert 0 in listed
    assert linked.candidates.sizes.tolist() == listed


def person_of(study, row):
    codes = study.lattice.codes[row]
    return tuple(a.categories[code] for a, code in zip(study.lattice.domain.attributes, codes, strict=True))


# Simulated tables.


@pytest.mark.parametrize("size", [1, 5, 30])
def test_pk_of_simulated_tables_is_that_of_the_people_drawn(scenario, size):
    study = study_of(scenario)
    lattice, people, drawn = study.lattice, study.cases.population, 25
    tables = SimulatedTables(people, lattice, 30, drawn, np.random.default_rng(7))
    everybody = np.repeat(np.arange(len(people.cells)), people.counts)
    labels = [
        tuple(each.categories[code] for each, code in zip(lattice.domain.attributes, cell, strict=True))
        for cell in people.cells
    ]
    rng = np.random.default_rng(7)
    chosen = [everybody[rng.choice(len(everybody), 30, replace=False)][:size] for _ in range(drawn)]
    for form, node in enumerate(plain.NODES):
        exact = [plain.pk_of([labels[cell] for cell in cells], node, 3) for cells in chosen]
        assert list(tables.shares_below(form, size, 3)) == exact


@pytest.mark.parametrize(("review", "threshold"), [(1, 0.25), (2, 0.25), (1, 0.0), (1, 1.0)])
def test_the_pk_policy_releases_the_most_useful_of_what_simulated_tables_allow(scenario, review, threshold):
    study = study_of(scenario, {"publisher.review": review, "publisher.threshold": threshold})
    (outcome,) = DYNAMIC.play(study, 0, ("pk",)).values()
    chosen = outcome.equilibrium.strategies[study.lattice.starts[:-1]]
    sizes, rule, allowed_of = [2, 3, 5], study.scenario.publisher, {}
    assert study.lattice.sizes.tolist() == sizes
    for period, form in enumerate(chosen.tolist()):
        first = period - period % review
        utilities = study.lattice.utilities(first)
        shares = [list(study.tables.shares_below(each, sizes[first], rule.k)) for each in range(study.lattice.size)]
        allowed = [n for n, each in enumerate(shares) if np.quantile(each, 0.9, method="higher") <= threshold]
        allowed_of[first] = allowed
        best = max(allowed, key=lambda each: (round(utilities[each], 12), -each)) if allowed else len(shares) - 1
        assert form == best
    assert threshold == 1 or any(len(allowed) < study.lattice.size for allowed in allowed_of.values())


# Tables.


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(list(PEOPLE))), min_size=1, max_size=15), st.data())
@examples(30)
def test_any_rows_are_linked_within_their_own_tables(tmp_path_factory, cases, data):
    changes = {"release.table": "cumulative", "adversary.risk": "prosecutor"}
    study = study_of(write_world(tmp_path_factory.mktemp("world"), cases), changes)
    days, rows = sorted({day for day, _ in cases}), np.arange(study.lattice.n_records)
    some = rows[data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))]
    for form, node in enumerate(plain.NODES):
        sizes = []
        for row in some:
            table = plain.table_of(cases, days[study.lattice.period[row]], cumulative=True)
            shown = plain.generalized(person_of(study, row), node)
            sizes.append(sum(plain.generalized(person, node) == shown for person in table))
        assert study.linker.link(form, some).group_sizes.tolist() == sizes
    assert len(study.linker.link(0).group_sizes) == len(rows)


@pytest.mark.parametrize("policy", ["no-protection", "basic"])
def test_a_case_counts_once_by_the_table_that_exposes_it_most(scenario, policy):
    study = study_of(scenario, {"release.table": "cumulative", "adversary.risk": "prosecutor"})
    (outcome,) = DYNAMIC.play(study, 0, (policy,)).values()
    found, days = outcome.equilibrium, sorted({day for day, _ in CASES})
    rows = exposing_rows(study, found)
    for case, (day, person) in enumerate(CASES):
        of_case = [
            row
            for row in range(study.lattice.n_records)
            if person_of(study, row) == person and days[study.lattice.period[row]] >= day
        ]
        assert rows[case] in of_case
        assert found.risk[rows[case]] == found.risk[of_case].max()
    people = DYNAMIC.reidentified(study, 0, {policy: found})[policy]
    assert people.n == len(CASES)


def test_who_keeps_a_finer_table_is_warned_of(scenario):
    said = reidsim.run(scenario, overrides={"release.table": "cumulative", "publisher.policies": ["basic"]}).warnings
    forms = [tuple(map(int, each.split(","))) for each in _strategies(scenario, "cumulative", "basic")]
    finest, coarser = forms[0], 0
    for form in forms[1:]:
        coarser += any(a > b for a, b in zip(form, finest, strict=True))
        finest = tuple(map(min, form, finest))
    assert coarser
    assert [warning.startswith(f"basic: {coarser} table") for warning in said] == [True]


def _strategies(scenario, table, policy):
    result = reidsim.run(scenario, overrides={"release.table": table, "publisher.policies": [policy]})
    return result.analysis.periods["strategy"].tolist()


# The epidemic.


@pytest.mark.deep
def test_an_epidemic_takes_different_people_of_each_area_in_its_time(scenario):
    changes = {"release": {}, **EPIDEMIC}
    study, again = study_of(scenario, changes), study_of(scenario, changes)
    assert study.fingerprint == again.fingerprint
    assert study_of(scenario, {**changes, "seed": 4}).fingerprint != study.fingerprint
    cases = study.cases
    assert len(cases.codes) == 60
    found = {}
    for row in range(study.lattice.n_records):
        person = person_of(study, row)
        found[person] = found.get(person, 0) + int(study.lattice.counts[row])
    assert all(n <= PEOPLE[person] for person, n in found.items())
    assert (np.diff(cases.period) >= 0).all()
    assert set(cases.periods) <= {str(number) for number in range(1, 13)}
    days = np.array([int(cases.periods[period]) for period in cases.period])
    # Both waves end long before the last period, and most cases are within two widths of a peak from 4 to 7.
    assert ((days >= 1) & (days <= 11)).mean() > 0.9


def test_an_epidemic_needs_people_and_areas(scenario):
    for changes, said in (
        ({"cases": 152}, r"epidemic\.cases: more cases than people in an area; found 152"),
        ({"level": 2}, r"epidemic\.level: no such level; found 2; expected at most 1"),
        ({"area": "town"}, r"epidemic\.area: no such attribute; found 'town'"),
        ({"peak": 1e6}, r"epidemic\.peak: no period has cases"),
    ):
        epidemic = {"epidemic": EPIDEMIC["epidemic"] | changes}
        with pytest.raises(InputError, match=said):
            study_of(scenario, {"release": {}, **epidemic})


# Errors.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"release.path": None}, r"release\.path: the cases are missing or given twice; found 'neither'"),
        (EPIDEMIC, r"release\.path: the cases are missing or given twice; found 'both'"),
        ({"population": None}, r"population: section missing; .*policy pk"),
        (
            {"population": None, "publisher.policies": ["basic"]},
            r"adversary\.risk: journalist risk needs a list or a population; found 'journalist'",
        ),
        ({"publisher.fixed": {}}, r"publisher\.fixed: levels of policy 'fixed' are missing"),
        ({"publisher.fixed": {"age": 3}}, r"publisher\.fixed\.age: no such level; found 3; expected at most 2"),
        ({"publisher.fixed": {"zip": 1}}, r"publisher\.fixed: no such attribute; found 'zip'"),
        ({"publisher.policies": ["pk", "pk"]}, r"publisher\.policies: policy given twice; found 'pk'"),
        ({"publisher.policies": ["bsic"]}, r"policies.*value not allowed; found 'bsic'.*'basic'"),
        ({"adversary.knowledge": "worst-case"}, r"adversary\.knowledge: not supported for cases"),
        ({"adversary.risk": "sample"}, r"adversary\.risk: cases have no weights"),
        ({"adversary.direction": "person"}, r"adversary\.direction: this direction needs game"),
        (
            {"agents.rounds": 2, "release.table": "cumulative"},
            r"release\.table: agents need tables that contain each case once; found 'cumulative'",
        ),
        (
            {"agents.participation": {"reward": 1, "harm": 1}},
            r"agents\.participation: participation is not supported for cases",
        ),
        ({"kept": {"age": {"share": True}}}, r"kept\.age: the column is a quasi-identifier; found 'age'"),
        ({"release.period": "week"}, r"cases\.csv: column 'week': column missing"),
        ({"release.forecast": "day2"}, r"cases\.csv: column 'day2': column missing"),
        (
            {"attributes.period": {"hierarchy": {"rule": "suppress"}}},
            r"attributes\.period: attribute name reserved for a column of the results",
        ),
        ({"voters.recipe": "nobody"}, r"voters\.recipe: .*nobody"),
    ],
)
def test_what_cannot_be_released_is_told_in_a_line(scenario, changes, said):
    with pytest.raises(InputError, match=said):
        study_of(scenario, changes)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("3,50,F,North,0", r"row 11, column 'age'.*'50'"),
        ("3,,F,North,0", r"row 11, column 'age': value missing"),
        (",20,F,North,0", r"row 11, column 'day': value missing; expected the period of the case"),
        ("W11,20,F,North,0", r"row 11, column 'day': not a period; found 'W11'; expected a number, or dates such as"),
        ("9.3.2020,20,F,North,0", r"row 11, column 'day': not a period; found '9\.3\.2020'"),
        (
            "10,20,F,North,4",
            r"row 11, column 'worth': cases of the same period have different benefits .*; found 4.0; expected 0",
        ),
        ("10,20,F,North,-1", r"row 11, column 'worth': not a number of 0 or more; found '-1'"),
    ],
)
def test_a_wrong_row_is_named(scenario, row, said):
    path = scenario.parent / "cases.csv"
    path.write_text(path.read_text() + row + "\n")
    with pytest.raises(InputError, match=rf"cases\.csv: {said}"):
        study_of(scenario, {"release.forecast": "worth"})


def test_dates_of_periods_are_in_the_order_of_time(scenario):
    path, cumulative = scenario.parent / "cases.csv", {"release.table": "cumulative"}
    numbered = reidsim.run(scenario, overrides=cumulative).analysis.periods
    cases = pd.read_csv(path, dtype=str)
    cases.assign(day="2020-3-" + cases["day"]).to_csv(path, index=False)
    dated = reidsim.run(scenario, overrides=cumulative).analysis.periods
    pd.testing.assert_frame_equal(dated, numbered.assign(period="2020-3-" + numbered["period"]))


# Runners.


def test_records_are_released_as_their_day_is(scenario):
    result = reidsim.run(scenario)
    periods = result.analysis.periods
    levels = periods[[f"level {name}" for name in plain.NAMES]].to_numpy().tolist()
    assert levels == [[*map(float, strategy.split(","))] for strategy in periods["strategy"]]
    of_day = periods.set_index(["policy", "period"])["strategy"]
    for _, row in result.records.iterrows():
        node = tuple(map(int, row["strategy"].split(",")))
        day, person = CASES[row["record"]]
        assert (row["period"], row["strategy"]) == (str(day), of_day[row["policy"], str(day)])
        shown, told = plain.generalized(person, node), tuple(row[list(plain.NAMES)])
        assert told[1:] == shown[1:]
        assert (told[0] == "*") == (shown[0] == "*")
        assert (told[0] == person[0]) == (node[0] == 0 or (node[0] == 1 and person[0] == "40"))
