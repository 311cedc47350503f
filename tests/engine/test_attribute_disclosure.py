"""Limits on sensitive columns, and adversaries who gain from inference."""

import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from attribute_oracle import DISEASE_LEVELS, DISEASES, Hospital, distance, hospitals
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from shared_files import unknown
from tiers import examples

import reidsim
from reidsim.audit.release import diversity
from reidsim.core.errors import InputError
from reidsim.linkage.people import GroupValues, SensitiveAttribute
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.audited import summary_of
from reidsim.reports.shared.file import share_run


def any_hospital(persons):
    """Return hospitals with limits, gains from an inference, or both."""
    kinds = ({}, {"limits": False, "gains": True}, {"gains": True})
    return st.one_of(*(hospitals(persons=persons, **kind) for kind in kinds))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hospital")


@examples(80, fast=4)
@given(
    st.booleans().flatmap(any_hospital),
    st.sampled_from(["backward-induction", "branch-and-bound"]),
)
def test_each_person_gets_its_best_admissible_generalization(folder, hospital, solver):
    path = hospital.write(folder, f'solver = "{solver}"\npolicies = ["basic", "no-attack", "record-level"]')
    records = reidsim.run(path).records
    for policy in ("basic", "no-attack", "record-level"):
        found = records[records["policy"] == policy]
        if hospital.persons:
            found = found.drop_duplicates("person")
        expected = [hospital.best_of_person(n, no_attack=policy == "no-attack") for n in range(len(hospital.people))]
        least = 0.0 if policy == "record-level" else -np.inf
        payoffs = [max(payoff, least) for payoff, _ in expected]
        assert found["publisher_payoff"].to_numpy() == pytest.approx(payoffs, abs=1e-7)
        if policy != "record-level":
            assert (found["strategy"] == "withheld").tolist() == [node is None for _, node in expected]


@pytest.mark.deep
@examples(40, fast=4)
@given(
    st.booleans().flatmap(any_hospital),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(["record", "both"]),
)
def test_the_table_gets_the_node_of_highest_payout_with_inadmissible_groups_suppressed(
    folder, hospital, limit, direction
):
    publisher = f'unit = "table"\npolicies = ["basic", "no-attack", "k-anonymity"]\nk = 2\nsuppression_limit = {limit}'
    # If all records have one generalization, the rows that fit a person are the record's group.
    looks_up = f'direction = "{direction}"' if hospital.gains_from == "identity" and not hospital.persons else ""
    result = reidsim.run(hospital.write(folder, publisher, looks_up))
    optima = result.analysis.optima.set_index("policy")
    for policy, no_attack in (("basic", False), ("no-attack", True)):
        expected = hospital.payout_of_table(no_attack=no_attack, suppression_limit=limit)
        assert optima["payout"][policy] == pytest.approx(expected, abs=1e-6)
    expected = hospital.utility_of_anonymity(2, limit)
    assert result.summary["utility"]["k-anonymity"] == pytest.approx(expected or 0.0, abs=1e-9)


@examples(40, fast=4)
@given(st.booleans().flatmap(lambda persons: hospitals(persons=persons)))
def test_policies_that_choose_release_nothing_beyond_the_limits(folder, hospital):
    policies = ["record-level", "full-domain", "opt-in", "k-anonymity", "anytime"]
    policies += [] if hospital.persons else ["multi-dimensional"]
    path = hospital.write(folder, f"policies = {json.dumps([*policies, 'no-protection'])}")
    result = reidsim.run(path)
    assert (result.summary["beyond_limits"][policies] == 0).all()
    beyond = [not hospital.allowed(person, (0, 0)) for person in range(len(hospital.people))]
    assert result.summary["beyond_limits"]["no-protection"] == pytest.approx(np.mean(beyond))


@examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(DISEASES)), min_size=1, max_size=15),
    st.booleans(),
)
def test_distances_are_those_of_the_cheapest_transport(rows, hierarchical):
    group = np.array([row[0] for row in rows])
    code = np.array([DISEASES.index(row[1]) for row in rows])
    levels = (
        np.array([pd.factorize(np.array(list(level.values())))[0] for level in DISEASE_LEVELS])
        if hierarchical
        else None
    )
    attribute = SensitiveAttribute.from_codes("disease", code, levels)
    overall = np.bincount(code, minlength=attribute.levels.shape[1]) / len(code)
    n_values = attribute.levels.shape[1]
    pairs, count = np.unique(group * n_values + code, return_counts=True)
    people = np.bincount(group, minlength=4)
    found = GroupValues.from_counts(pairs // n_values, pairs % n_values, count, people, overall, attribute.levels)
    everybody = [row[1] for row in rows]
    for number in set(group.tolist()):
        values = [row[1] for row in rows if row[0] == number]
        expected = distance(values, everybody, hierarchical=hierarchical)
        assert found.distance()[number] == pytest.approx(expected, abs=1e-12)
        assert transport(values, everybody, hierarchical=hierarchical) == pytest.approx(expected, abs=1e-9)
    # The audit of a file finds the same values where it measures the same quantity.
    classes = pd.factorize(group)[0].astype(np.int64)
    audited = diversity("disease", pd.Series(everybody), classes)
    present = sorted(set(group.tolist()))
    assert audited["distinct"] == found.distinct[present].min()
    if not hierarchical:
        assert audited["closeness"] == pytest.approx(found.distance()[present].max())


def transport(values, everybody, *, hierarchical):
    """Return the earth mover's distance as the solution of its linear program."""
    height = len(DISEASE_LEVELS) - 1

    def apart(one, other):
        lowest = next(level for level, of in enumerate(DISEASE_LEVELS) if of[one] == of[other])
        return lowest / height if hierarchical else float(one != other)

    costs = [apart(one, other) for one in DISEASES for other in DISEASES]
    rows = np.kron(np.eye(4), np.ones(4))
    columns = np.kron(np.ones(4), np.eye(4))
    sums = [values.count(d) / len(values) for d in DISEASES] + [everybody.count(d) / len(everybody) for d in DISEASES]
    return linprog(costs, A_eq=np.vstack([rows, columns]), b_eq=sums).fun


RECORDS = tuple(
    (age, sex, disease)
    for age in range(4)
    for sex in range(2)
    for disease in (("flu", "flu", "asthma") if age < 2 else ("cold", "flu", "ulcer", "asthma"))
)
WARD = Hospital(RECORDS, {"max_inference": 0.5}, hierarchical=False, gains_from="identity", loss=90, gain=40, cost=15)


def results_of(ward, folder, publisher):
    folder.mkdir(exist_ok=True)
    result = reidsim.run(ward.write(folder, publisher))
    return result.summary, open_results(result.save(folder / "results"))


@pytest.mark.parametrize(
    ("value", "other"),
    [
        *(("HIV", other) for other in ("hiv", "HI\u200bV", " HIV", "\uff28IV")),
        *(("1000", other) for other in ("01000", "1000.0", "1000,00", "1,000", "1,000.00", "1.000", "1 000")),
        *(("2024-01-05", other) for other in ("05.01.2024", "5.1.2024", "2024/1/5", "5-1-2024")),
        *(("NA", other) for other in ("", "n/a", "NULL", "?", ".")),
        ("2.5", "2,50"),
    ],
)
def test_notations_of_a_sensitive_value_are_one_value(value, other, tmp_path):
    ages = ["30", "30", "30", "40", "40"]
    stays = pd.DataFrame({"age": ages, "sex": ["F"] * 3 + ["M"] * 2, "dx": [value, other, value, "flu", "cold"]})
    stays.to_csv(tmp_path / "stays.csv", index=False)
    loaded = reidsim.Scenario.from_frames(
        tmp_path / "stays.csv",
        hierarchies={"age": "suppress", "sex": "suppress"},
        economics={"benefit": 9, "loss": 60, "cost": 30},
        publisher={"policies": ["no-attack"], "sensitive": ["dx"], "l_diversity": 2},
    )
    result = loaded.run()
    named = [warning for warning in result.warnings if "notations of one value: " in warning]
    assert len(named) == (other.strip() != value)
    # The class of people aged 30 would have two spellings of one value.
    assert "30" not in set(result.records["age"])
    root = {"dx": {"rule": "suppress"}}
    grouped = loaded.with_(publisher__t_closeness=1.0, publisher__sensitive_hierarchies=root).run()
    pd.testing.assert_frame_equal(grouped.records, result.records)


def test_the_shared_file_keeps_to_the_largest_inference(tmp_path):
    summary, run = results_of(WARD, tmp_path, 'unit = "table"\npolicies = ["basic", "no-protection"]')
    assert summary["inference"].tolist() == [pytest.approx(0.25), pytest.approx(2 / 3)]
    assert summary["beyond_limits"].tolist() == [0, pytest.approx(12 / 28)]
    sidecar, _ = share_run(run, tmp_path / "shared.csv", policy="basic", kept=unknown("disease"), max_risk=1.0)
    shared = pd.read_csv(tmp_path / "shared.csv", dtype=str)
    largest = shared.groupby(["age", "sex"])["disease"].agg(lambda values: values.value_counts(normalize=True).max())
    (facts,) = sidecar["audit"]["inference"]
    assert facts["largest_share"] == largest.max() == 0.25
    assert facts["rows_beyond"] == facts["people_beyond"] == 0
    (kept,) = sidecar["audit"]["kept"]
    assert facts["largest_distance"] >= kept["closeness"]
    # One t-closeness is printed for a column with limits: the distance that the limit applies to.
    closeness = re.findall("t-closeness ([0-9.]+)", summary_of(sidecar))
    assert closeness == [f"{facts['largest_distance']:.4g}"]


def test_a_file_beyond_the_limits_is_not_written(tmp_path):
    path = tmp_path / "shared.csv"
    _, run = results_of(WARD, tmp_path, 'unit = "table"\npolicies = ["no-protection"]')
    with pytest.raises(InputError, match=r"publisher\.sensitive: not written: .* for 12 rows and for 12 people"):
        share_run(run, path, kept=unknown("disease"), max_risk=1.0)
    assert not path.exists()
    sidecar, _ = share_run(run, path, kept=unknown("disease"), accept_risk=True)
    assert sidecar["audit"]["inference"][0]["people_beyond"] == 12
    # A file without the sensitive column reveals nothing about it.
    assert "inference" not in share_run(run, tmp_path / "without.csv", max_risk=1.0)[0]["audit"]


def test_a_file_within_the_limits_by_row_may_be_beyond_them_for_a_person(tmp_path):
    # Records of age 1 are released as age 0-1, in a group of four; records of age 0 are released unchanged. Both
    # rows that fit a person of age 1 therefore have the flu.
    records = ((0, 0, "flu"), (0, 0, "cold"), (1, 0, "flu"), (1, 0, "flu"))
    ward = Hospital(records, {"max_inference": 0.75}, hierarchical=False, gains_from="identity", loss=0, gain=0, cost=9)
    path = tmp_path / "shared.csv"
    summary, run = results_of(ward, tmp_path, 'policies = ["basic"]')
    assert summary["beyond_limits"].tolist() == [0]
    with pytest.raises(InputError, match=r"for 2 rows and for 2 people .*found '1 value .* 100\.00%"):
        share_run(run, path, kept=unknown("disease"), max_risk=1.0)
    assert not path.exists()
    _, run = results_of(ward, tmp_path / "table", 'unit = "table"\npolicies = ["basic"]')
    sidecar, _ = share_run(run, path, kept=unknown("disease"), max_risk=1.0)
    assert sidecar["audit"]["inference"][0]["largest_share"] == 0.75
    # A plan for adversaries who look people up keeps the file within the limits for them, too.
    scenario = ward.write(tmp_path, 'policies = ["basic"]', 'direction = "both"')
    run = open_results(reidsim.run(scenario).save(tmp_path / "looked up"))
    sidecar, _ = share_run(run, tmp_path / "looked up.csv", kept=unknown("disease"), max_risk=1.0)
    assert sidecar["audit"]["inference"][0]["people_beyond"] == 0
    assert len(pd.read_csv(tmp_path / "looked up.csv")) == 4


def test_a_person_counts_once_for_each_value_in_a_shared_file(tmp_path):
    # By rows, one value in two is the flu; by people, everybody has it.
    records = ((0, 0, "flu"), (0, 0, "cold"), (0, 0, "ulcer"), (0, 0, "flu"))
    ward = replace(WARD, records=records, limits={"max_inference": 0.75}, persons=(0, 0, 0, 1))
    summary, run = results_of(ward, tmp_path, 'unit = "table"\npolicies = ["no-protection"]')
    assert summary["inference"].tolist() == summary["beyond_limits"].tolist() == [1]
    with pytest.raises(InputError, match=r"for 4 rows and for 2 people .*one value for 100\.00%"):
        share_run(run, tmp_path / "shared.csv", kept=unknown("disease"), max_risk=1.0)
    with pytest.raises(InputError, match=r'release\.person: .*adversary\.direction = "record"'):
        reidsim.run(ward.write(tmp_path, 'policies = ["basic"]', 'direction = "both"'))


@pytest.mark.deep
@examples(30, fast=4)
@given(hospitals(), st.sampled_from(["person", "both"]))
def test_files_planned_for_people_who_are_looked_up_are_within_the_limits(folder, hospital, direction):
    policies = ["basic", "opt-in"]
    path = hospital.write(folder, f"policies = {policies}", f'direction = "{direction}"')
    result = reidsim.run(path)
    with TemporaryDirectory() as place:
        run = open_results(result.save(Path(place) / "results"))
        for policy in policies:
            if (result.records.set_index("policy").loc[[policy], "strategy"].astype("str") == "withheld").all():
                continue
            shared = Path(place) / f"{policy}.csv"
            sidecar, _ = share_run(run, shared, policy=policy, kept=unknown("disease"), max_risk=1.0)
            (facts,) = sidecar["audit"]["inference"]
            assert facts["rows_beyond"] == facts["people_beyond"] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"publisher.sensitive": "sex"}, "publisher.sensitive: the column is a quasi-identifier"),
        ({"kept": {"sex": {"share": True}}}, "kept.sex: the column is a quasi-identifier; found 'sex'"),
        ({"publisher.sensitive": "nothing"}, "nothing"),
        ({"publisher.sensitive": ["disease", "disease"]}, "publisher.sensitive: column given twice"),
        ({"publisher.l_diversity": 1}, "publisher.l_diversity"),
        ({"publisher.policies": ["local-recoding"]}, "publisher.policies: the policy does not support limits"),
        ({"publisher.solver": "iceberg"}, r"publisher\.solver.*backward-induction or branch-and-bound"),
        ({"publisher.solver": "lattice-search"}, "publisher.solver: .*lattice-search does not support"),
        ({"release.person": "sex"}, "release.person"),
        ({"agents": {"rounds": 2}}, "agents: not supported together with publisher.max_inference"),
        ({"adversary.gains_from": "either", "adversary.planner": "fmdp"}, "adversary.planner: .* needs a gain"),
        ({"adversary.gains_from": "either", "adversary.risk": "sample"}, "adversary.risk: not supported with gains"),
        (
            {
                "publisher.sensitive_hierarchies": {"disease": {"rule": "table", "file": "age.csv"}},
                "publisher.t_closeness": 0.3,
            },
            "value outside the categories of 'disease'",
        ),
    ],
)  # fmt: skip
def test_unsupported_combinations_are_refused(changes, message, tmp_path):
    path = WARD.write(tmp_path, 'policies = ["basic"]')
    with pytest.raises(InputError, match=message):
        reidsim.run(path, overrides=changes)


def test_a_limit_or_gain_without_a_sensitive_column_is_refused(tmp_path):
    plain = Hospital(RECORDS, {}, hierarchical=False, gains_from="identity", loss=90, gain=40, cost=15)
    path = plain.write(tmp_path, 'policies = ["basic"]')
    with pytest.raises(InputError, match=r"publisher\.max_inference: no sensitive column"):
        reidsim.run(path, overrides={"publisher.max_inference": 0.5})
    with pytest.raises(InputError, match=r"adversary\.gains_from: no sensitive column"):
        reidsim.run(path, overrides={"adversary.gains_from": "attribute"})
    with pytest.raises(InputError, match=r"publisher\.sensitive: the key has no effect"):
        reidsim.run(path, overrides={"publisher.sensitive": "disease"})


def test_adversaries_of_one_scenario_may_gain_from_different_successes(tmp_path):
    path = WARD.write(tmp_path, 'policies = ["no-protection"]\nsensitive = "disease"').read_text()
    text = path.replace('sensitive = ["disease"]\nmax_inference = 0.5\n', "")
    (tmp_path / "ward.toml").write_text(text)
    own = {"broker": {"weight": 0.25}, "insurer": {"weight": 0.75, "gains_from": "attribute"}}
    changes = {"economics.cost": 1}
    risk = {
        gains: reidsim.run(tmp_path / "ward.toml", overrides={**changes, "adversary.gains_from": gains}).summary["risk"]
        for gains in ("attribute", "either")
    }
    identity = 8 / 28
    assert risk["attribute"].iloc[0] == pytest.approx((12 * 2 / 3 + 16 / 4) / 28)
    assert risk["either"].iloc[0] == pytest.approx((12 * (2 / 3 + 1 / 9) + 16 * (1 / 4 + 3 / 16)) / 28)
    summary = reidsim.run(tmp_path / "ward.toml", overrides={**changes, "adversaries": own}).summary
    assert summary["risk"].iloc[0] == pytest.approx(0.25 * identity + 0.75 * risk["attribute"].iloc[0])
