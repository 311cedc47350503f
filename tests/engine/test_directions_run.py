"""Scenarios in which adversaries look for known people in the shared rows."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from tiers import cases

import reidsim
from reidsim.adversaries.response import arrays_of
from reidsim.audit.release import TrueRecords
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.scenario import Scenario

FILES = {
    "people.toml": """kind = "counts"
file = "people.csv"
count = "people"
[columns]
age = "age"
sex = "sex"
village = "village"
""",
    "people.csv": """age,sex,village,people
30,F,Dale,14
30,M,Dale,7
30,F,Hill,2
30,M,Hill,9
40,F,Dale,11
40,M,Dale,2
40,M,Hill,1
50,F,Dale,5
50,F,Hill,8
50,M,Hill,3
""",
    "patients.csv": """age,sex,village
30,F,Dale
30,M,Dale
30,F,Hill
40,F,Dale
40,M,Dale
40,M,Hill
50,F,Dale
50,M,Hill
50,F,Dale
50,F,Dale
""",
    "game.toml": """seed = 3
[population]
recipe = "people.toml"
holds_release = false
[release]
path = "patients.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 150
cost = 20
[publisher]
unit = "UNIT"
k = 3
policies = ["basic", "no-attack", "full-domain", "record-level", "opt-in", "k-anonymity", "no-protection"]
[adversary]
planner = "one-shot"
""",
}
PATIENTS = [tuple(row.values()) for row in csv.DictReader(io.StringIO(FILES["patients.csv"]))]
LOOKED_UP = {"adversary.direction": "person"}


def write(folder, unit):
    """Write the scenario of a clinic; return its path."""
    for name, content in FILES.items():
        (folder / name).write_text(content.replace("UNIT", unit))
    return folder / "game.toml"


def values_of(released, patient):
    """Return whether a patient's values fit a released row of the clinic."""
    age, sex, village = released

    def among(shown, value):
        if shown in ("*", value):
            return True
        low, _, high = shown.strip("[]").partition("-") if "-" in shown else (shown, "", shown)
        return low.isdigit() and int(low) <= int(value) <= int(high)

    return among(age, patient[0]) and sex in ("*", patient[1]) and village in ("*", patient[2])


@pytest.mark.parametrize("unit", ["record", "table"])
def test_records_succeed_as_often_as_rows_fit_them(tmp_path, unit):
    """The expected value is computed from the labels in records.parquet only."""
    found = reidsim.run(write(tmp_path, unit), overrides=LOOKED_UP).records.set_index("policy")
    for policy in ("basic", "no-attack", "k-anonymity", "record-level"):
        records = found.loc[policy]
        for mine, expected, success in zip(*shared_and_chances(records), records["success_probability"], strict=True):
            assert success == pytest.approx(expected if mine else 0.0)
    assert not found.loc["no-attack", "attacked"].any()


def shared_and_chances(records):
    """Return whether each patient's row is shared, and 1 / the number of rows that fit the patient."""
    rows = records[["age", "sex", "village"]].astype("str").to_numpy().tolist()
    shared = (records["strategy"].astype("str") != "withheld").tolist()
    fitting = [sum(s and values_of(row, patient) for row, s in zip(rows, shared, strict=True)) for patient in PATIENTS]
    return shared, [1 / max(number, 1) for number in fitting]


def test_the_utility_lost_to_searches_for_persons_is_reported(tmp_path):
    path = write(tmp_path, "record")
    result, alone = (reidsim.run(path, overrides={"adversary.direction": d}) for d in ("both", "record"))
    found = result.summary
    for policy in ("basic", "no-attack", "opt-in", "record-level"):
        before = alone.records.set_index("policy").loc[policy]
        price = alone.summary.loc[policy, "utility"] - found.loc[policy, "utility"]
        assert found.loc[policy, "utility_price"] == pytest.approx(price, abs=1e-12)
        of_rows = zip(*shared_and_chances(before), before["success_probability"], strict=True)
        attacked = sum(mine and 150 * max(success, chance) > 20 for mine, chance, success in of_rows)
        assert found.loc[policy, "exposed_by_record"] == pytest.approx(attacked / 10)
    assert found.loc["k-anonymity", ["utility_price", "exposed_by_record"]].isna().all()
    assert "utility_price" not in alone.summary


def test_a_promise_that_rests_on_an_even_guess_says_so(tmp_path):
    """Two patients are released unchanged; eight suppressed rows also fit them."""
    result = reidsim.run(write(tmp_path, "record"), overrides=LOOKED_UP)
    assert result.summary.loc["no-attack", ["share_attacked", "share_unchanged", "share_suppressed"]].tolist() == [
        0.0, 0.2, 0.8,
    ]  # fmt: skip
    # Of nine rows, one fits 1 or 2 people of 10 and the others all 10.
    assert result.summary.loc["no-attack", "exposed_to_weighted"] == pytest.approx(0.2)
    warnings = [text for text in result.warnings if text.startswith("no-attack")]
    assert len(warnings) == 1
    assert "2 of 10 people" in warnings[0]


def test_amounts_by_record_count(tmp_path):
    """A patient with a small gain needs fewer rows; withheld patients hide no others."""
    path = write(tmp_path, "table")
    gains = [10.0, 10, 10, 10, 10, 10, 10, 500, 500, 500]
    table = pd.read_csv(tmp_path / "patients.csv").assign(worth=gains)
    table.to_csv(tmp_path / "patients.csv", index=False)
    changed = {"economics.columns": {"gain": "worth"}, **LOOKED_UP}
    for unit in ("record", "table"):
        policies = {"publisher.unit": unit, "publisher.policies": ["no-attack"]}
        result = reidsim.run(path, overrides={**policies, **changed})
        records = result.records.set_index("policy").loc["no-attack"]
        assert not records["attacked"].any()
        assert (records["success_probability"].to_numpy() * gains <= 20 + 1e-9).all()
        # Then a full-domain release is at worst suboptimal, never unsafe; the record-level policy shares some records.
        assert unit == "table" or result.summary.loc["no-attack", "utility"] > 0.5


def test_no_more_are_withheld_than_the_limit_allows(tmp_path):
    path = write(tmp_path, "table")
    table = pd.read_csv(tmp_path / "patients.csv").assign(worth=[10.0] * 7 + [500] * 3)
    table.to_csv(tmp_path / "patients.csv", index=False)
    changed = {"economics.columns": {"gain": "worth"}, "publisher.policies": ["no-attack"], **LOOKED_UP}
    for limit, withheld in ((0.3, 3), (0.2, 10)):
        records = reidsim.run(path, overrides={"publisher.suppression_limit": limit, **changed}).records
        assert (records["strategy"].astype("str") == "withheld").sum() == withheld


def write_stays(folder, seed):
    """Write hospital stays of 40 people in 20 households, and a scenario.

    Returns the path of the scenario and the stays.
    """
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    stays = pd.DataFrame(
        {
            "who": who,
            "household": who // 2,
            "age": rng.choice([30, 40, 50], 40)[who],
            "sex": rng.choice(["F", "M"], 40)[who],
            "village": rng.choice(["Dale", "Hill", "Moor"], len(who)),
        }
    )
    stays.to_csv(folder / "stays.csv", index=False)
    text = FILES["game.toml"].replace("UNIT", "record").replace("patients.csv", "stays.csv")
    text = text[: text.index("[population]")] + text[text.index("[release]") :]
    text = text.replace('path = "stays.csv"', 'path = "stays.csv"\nperson = "who"\nhousehold = "household"')
    (folder / "stays.toml").write_text(text.replace("[adversary]", '[adversary]\nrisk = "prosecutor"'))
    return folder / "stays.toml", stays


@pytest.mark.parametrize("seed", cases(range(6), range(1)))
@pytest.mark.parametrize("direction", ["person", "both"])
def test_audit_of_people_with_several_rows_finds_no_risk_that_makes_an_attack_pay(tmp_path, seed, direction):
    path, stays = write_stays(tmp_path, seed)
    policies = ["no-attack", "record-level-no-attack", "full-domain-no-attack", "k-anonymity", "no-protection"]
    changes = {"adversary.direction": direction, "publisher.policies": policies}
    result = reidsim.run(path, overrides=changes)
    quasi_identifiers = ["age", "sex", "village"]
    for policy in policies:
        records = result.records[result.records["policy"] == policy].reset_index(drop=True)
        shared = np.flatnonzero(records["strategy"].astype("str") != "withheld")
        released = records.loc[shared, quasi_identifiers].astype("str")
        truth = stays[quasi_identifiers].astype("str")
        found = TrueRecords(truth, persons=stays["who"].to_numpy()).audit(released, shared)
        assert found.misfits == 0
        success = records.groupby(stays["who"])["success_probability"].first().to_numpy()
        rows = found.rows_of_person[found.is_shared]
        people = pd.Series(found.people_of_row).groupby(stays.loc[shared, "who"].to_numpy()).min().to_numpy()
        fewest = rows if direction == "person" else np.minimum(rows, people)
        assert success[found.is_shared] == pytest.approx(1 / fewest)
        assert (success[~found.is_shared] == 0).all()
        if "no-attack" in policy:
            # An attack that gains 150 and costs 20 is profitable above a success of 20 / 150.
            assert found.risk_of_person <= 20 / 150 + 1e-12
            assert direction == "person" or found.risk_of_row <= 20 / 150 + 1e-12
    summary = result.summary
    assert summary.loc["no-attack", ["share_attacked", "household_risk"]].tolist() == [0, 0]
    assert summary.loc["no-attack", "utility"] >= summary.loc["full-domain-no-attack", "utility"] - 1e-9


def test_under_sample_risk_a_person_is_looked_up_among_the_rows_of_the_sample(tmp_path):
    path = write(tmp_path, "record")
    policies = ["no-attack", "suppress-all", "no-protection"]
    changes = {
        "release.sampling_fraction": 0.2, "adversary.risk": "sample", "publisher.policies": policies,
    }  # fmt: skip
    alone, both = (reidsim.run(path, overrides={**changes, "adversary.direction": d}) for d in ("record", "both"))
    for policy in policies:
        records = both.records[both.records["policy"] == policy]
        rows = records[["age", "sex", "village"]].astype("str").to_numpy().tolist()
        fitting = np.array([sum(values_of(row, patient) for row in rows) for patient in PATIENTS])
        by_row = alone.records.set_index("policy").loc[policy, "success_probability"].to_numpy()
        success = records["success_probability"].to_numpy()
        assert (success >= 1 / fitting - 1e-12).all()
        if policy != "no-attack":
            assert success == pytest.approx(np.maximum(1 / fitting, by_row))
    assert not both.records.set_index("policy").loc["no-attack", "attacked"].any()


@pytest.mark.parametrize("seed", cases(range(6), range(1)))
@pytest.mark.parametrize("direction", ["record", "both"])
def test_sampled_people_with_several_rows_are_counted_once_with_their_weight(tmp_path, seed, direction):
    """A class counts sampled people once, and the population by the sum of weights."""
    path, stays = write_stays(tmp_path, seed)
    weight = np.random.default_rng(seed).uniform(1, 30, 40).round(2)
    stays.assign(weight=weight[stays["who"]]).to_csv(tmp_path / "stays.csv", index=False)
    changes = {
        "release.weight": "weight",
        "release.estimator": "benedetti-franconi",
        "adversary.risk": "sample",
        "adversary.direction": direction,
        "publisher.policies": ["no-protection", "basic", "no-attack"],
    }
    study = build_study(Scenario.load(path, changes))
    node = 1
    shown = study.lattice.released(np.full(len(stays), node), study.cell_of_record).astype("str")
    classes = [set(stays["who"][(shown == row).all(axis=1)]) for _, row in shown.iterrows()]

    def risk(people):
        f, total = len(people), weight[list(people)].sum()
        return quad(lambda z: 1 / (f + (total - f) * z ** (1 / f)), 0, 1, epsabs=1e-13, epsrel=1e-11, limit=200)[0]

    by_row = pd.Series([risk(people) for people in classes]).groupby(stays["who"]).max().to_numpy()
    linked = study.own_linker() if direction == "both" else study.truth.linker
    linked = linked.by_record if direction == "both" else linked
    assert 1 / linked.link(node).group_sizes[study.row_of_subject] == pytest.approx(by_row, rel=1e-8)
    summary = reidsim.run(path, overrides=changes).summary
    assert summary.loc["no-attack", "share_attacked"] == 0
    # Both searches end at a release that single changes do not improve, so that either may be slightly better.
    payoffs = summary["publisher_payoff"]
    assert payoffs["basic"] >= payoffs["no-attack"] - (1e-3 if direction == "both" else 1e-11) * abs(payoffs["basic"])


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        ({"weight": 2.0}, {}, r"release.estimator: .*one row per person"),
        (
            {},
            {"release.estimator": "benedetti-franconi"},
            r"row 4, column 'weight': .*differ in weight.*row 3.*person, 1$",
        ),
    ],
)
def test_weights_of_people_that_cannot_be_used_are_refused(tmp_path, table, changes, message):
    path, stays = write_stays(tmp_path, 2)
    stays = stays.assign(who=np.arange(len(stays)) // 2 + 0, household=0, weight=np.arange(len(stays)) // 3 + 1)
    stays.assign(**table).to_csv(tmp_path / "stays.csv", index=False)
    with pytest.raises(InputError, match=message):
        build_study(Scenario.load(path, {"release.weight": "weight", "adversary.risk": "sample", **changes}))


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"agents": {"rounds": 2}}, "agents", "needs success probabilities"),
        ({"publisher.solver": "lattice-search", "publisher.policies": ["basic"]}, "publisher.solver", "needs success"),
        ({"publisher.policies": ["local-recoding"]}, "publisher.policies", "'local-recoding' needs success"),
        (
            {"figures.strategies": {"age": "30", "sex": "F", "village": "Dale"}},
            "figures.strategies", 'expected adversary.direction = "record"',
        ),
        ({"adversary.knowledge": "club.toml"}, "adversary.direction", "with knowledge"),
        ({"adversary.stages": "attack.toml"}, "adversary.direction", "with stages"),
        (
            {"adversary.planner": "fmdp", "adversary.sequential.belief": "unknown"},
            "adversary.sequential.belief", "not supported together with direction",
        ),
        (
            {"adversary.planner": "fmdp", "adversary.sequential.registry": "people.toml"},
            "adversary.sequential.registry", "not supported together with direction",
        ),
        ({"adversary.direction": "row"}, "adversary.direction", "record"),
    ],
)  # fmt: skip
def test_unsupported_combinations_are_refused(tmp_path, changes, where, message):
    path = write(tmp_path, "record")
    with pytest.raises(InputError) as error:
        Scenario.load(path, {**LOOKED_UP, **changes})
    assert f"{where}:" in str(error.value)
    assert message in str(error.value)


def test_several_adversaries_look_up_in_one_way(tmp_path):
    path = write(tmp_path, "record")
    several = '[adversaries.a]\nweight = 0.5\ndirection = "both"\n[adversaries.b]\nweight = 0.5\ncost = 45\n'
    path.write_text(path.read_text().replace('[adversary]\nplanner = "one-shot"\n', several))
    with pytest.raises(InputError, match=r"adversaries.b.direction.*found 'record'.*expected both"):
        Scenario.load(path)
    changes = {"adversaries.b.direction": "both", "publisher.policies": ["no-attack"]}
    assert reidsim.run(path, overrides=changes).summary.loc["no-attack", "share_attacked"] == 0


def random_scenario(tmp_path, seed, direction):
    """Write a file with few distinct records, and its scenario, whose amounts may differ by record."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 200))
    town = rng.choice(list("ABCD"), n, p=[0.6, 0.2, 0.15, 0.05])
    columns = {"age": rng.choice(rng.integers(20, 60, 5), n), "sex": rng.choice(["F", "M"], n), "town": town}
    pd.DataFrame(columns | {"value": rng.choice([400, 1200], n)}).to_csv(tmp_path / "file.csv", index=False)
    (tmp_path / "file.toml").write_text(f"""[release]
path = "file.csv"
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [10, 20] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[attributes.town]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 1200
loss = 300
cost = {rng.choice([4, 40, 100, 160])}
{'columns.benefit = "value"' if seed % 2 else ""}
[adversary]
risk = "prosecutor"
direction = "{direction}"
[publisher]
policies = ["no-protection", "basic", "no-attack", "opt-in"]
""")
    return tmp_path / "file.toml"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("seed", "direction"),
    cases(
        [(seed, direction) for seed in range(8) for direction in ("person", "both")],
        [(0, "both"), (1, "person"), (3, "both")],
    ),
)
def test_a_large_table_is_played_by_distinct_record_with_the_outcomes_of_its_records(
    tmp_path, monkeypatch, seed, direction
):
    monkeypatch.setattr("reidsim.games.directions.best_replies.MOST_SEARCHED", 0)
    loaded = Scenario.load(random_scenario(tmp_path, seed, direction))
    large, by_record = build_study(loaded, alone=True), build_study(loaded)
    assert by_record.space.n_records == large.n_records
    assert large.fingerprint == by_record.fingerprint
    expected = TABLES.play(by_record)
    for policy, found in TABLES.play(large).items():
        for name, values in arrays_of(found.equilibrium.expand(large.row_of_record)).items():
            np.testing.assert_array_equal(values, getattr(expected[policy].equilibrium, name), f"{policy}: {name}")
    # Both evaluate measures; the second only by record.
    run, batch = reidsim.run(loaded), reidsim.run_batch(loaded, executor="serial")
    measures = [name for name in run.summary.columns if name in batch.summary.columns]
    assert len(measures) > 10
    np.testing.assert_allclose(run.summary[measures], batch.summary[measures].to_numpy(), rtol=1e-12)


def test_a_large_table_has_few_game_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("reidsim.games.directions.best_replies.MOST_SEARCHED", 0)
    ages = pd.DataFrame({"age": [30, 40, 50] * 2_000, "sex": ["F", "M"] * 3_000})
    scenario = reidsim.new(ages).scenario
    study = build_study(scenario, alone=True)
    assert study.n_cells == 6
    # At most gain / cost records are suppressed to protect the others, in each of two releases of two policies.
    assert study.space.n_records <= 6 + 4 * 76
    assert study.weights.sum() == 6_000


@pytest.mark.deep
def test_records_are_written_in_parts(tmp_path, monkeypatch):
    scenario = random_scenario(tmp_path, 1, "both")
    whole = reidsim.run(scenario)
    monkeypatch.setattr("reidsim.scenarios.kind.ROWS_PER_PART", 7)
    in_parts = reidsim.run(scenario)
    pd.testing.assert_frame_equal(in_parts.records, whole.records)
    in_parts.save(tmp_path / "results")
    stored = pd.read_parquet(tmp_path / "results" / "records.parquet")
    pd.testing.assert_frame_equal(stored, whole.records)


def test_too_many_amounts_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("reidsim.games.directions.best_replies.MOST_HELD", 9)
    with pytest.raises(InputError, match=r"too many combinations of payoff parameters.*found 10.*at most 9"):
        reidsim.run(write(tmp_path, "record"), overrides=LOOKED_UP)
