"""Rows of one person count as one: plain Python, and equivalent row-level runs."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from small_hospital import (
    NODES,
    Hospital,
    best_of_person,
    best_of_table,
    household_risk,
    people_alike,
    play,
    random_hospital,
)
from tiers import cases

import reidsim
from reidsim.core.errors import InputError
from reidsim.scenarios.kind import keys_of_records

HIERARCHIES = {"age": reidsim.intervals(2, 4), "sex": "suppress", "ward": "suppress"}
RISKS = ("prosecutor", "journalist")


def game_of(
    hospital, risk="prosecutor", *, key="pid", household="hid", frame=None, adversary=None, amounts=None, **more
):
    """Return the game of a file, counted by its key."""
    table = hospital.frame() if frame is None else frame
    people = hospital.people_frame() if risk == "journalist" else None
    economics = {name: getattr(hospital, name) for name in ("benefit", "loss", "gain", "cost")} | (amounts or {})
    return reidsim.Scenario.from_frames(
        table, population=people, hierarchies=HIERARCHIES, adversary=adversary, economics=economics,
        release={"person": key, "household": household if key else None}, **more,
    )  # fmt: skip


def node_of(strategy):
    return tuple(map(int, strategy.split(",")))


@pytest.mark.parametrize(("seed", "risk"), cases([*product(range(4), RISKS)], [(0, "prosecutor"), (1, "journalist")]))
def test_each_person_gets_the_form_that_pays_most(seed, risk):
    hospital = random_hospital(seed, cost=[20.0, 50.0, 35.0][seed % 3])
    result = game_of(hospital, risk, policies=["basic", "no-attack", "no-protection"]).run()
    records = result.records.set_index(["policy", "record"])
    for policy in ("basic", "no-attack", "no-protection"):
        found = {}
        for person in hospital.people:
            if policy == "no-protection":
                best = NODES[0], play(hospital, person, NODES[0], risk)
            else:
                best = best_of_person(hospital, person, risk, no_attack=policy == "no-attack")
            rows = records.loc[policy].iloc[hospital.rows_of(person)]
            assert len(set(rows["strategy"])) == 1
            assert rows["person"].eq(hospital.people.index(person)).all()
            if best is None:
                assert rows["strategy"].iloc[0] == "withheld"
                continue
            assert node_of(rows["strategy"].iloc[0]) == best[0]
            found[person] = best[1]
            for column, value in (
                ("publisher_payoff", best[1].publisher),
                ("adversary_payoff", best[1].adversary),
                ("success_probability", best[1].success),
                ("utility", best[1].utility),
            ):
                np.testing.assert_allclose(rows[column], value, rtol=1e-12, atol=1e-12)
            assert rows["attacked"].eq(best[1].attacked).all()
        measures, n = result.summary.loc[policy], len(hospital.people)
        risks = {person: found[person].risk if person in found else 0.0 for person in hospital.people}
        assert measures["publisher_payoff"] == pytest.approx(sum(f.publisher for f in found.values()) / n, abs=1e-12)
        assert measures["risk"] == pytest.approx(sum(risks.values()) / n, abs=1e-12)
        assert measures["share_attacked"] == pytest.approx(sum(f.attacked for f in found.values()) / n, abs=1e-12)
        assert measures["household_risk"] == pytest.approx(household_risk(hospital, risks), abs=1e-12)


@pytest.mark.parametrize(
    ("seed", "risk", "limit"),
    cases([*product(range(2), RISKS, (1.0, 0.2))], [(0, "prosecutor", 0.2), (1, "journalist", 1.0)]),
)
def test_the_table_gets_the_form_that_pays_most_for_its_people(seed, risk, limit):
    hospital = random_hospital(seed + 50, cost=[20.0, 45.0][seed % 2])
    game = game_of(hospital, risk, unit="table", publisher={"suppression_limit": limit})
    result = game.run()
    for policy in ("basic", "no-attack"):
        best = best_of_table(hospital, risk, no_attack=policy == "no-attack", limit=limit)
        optimum = result.analysis.optima.set_index("policy").loc[policy]
        if best is None:
            assert optimum["suppressed"] == len(hospital.people)
            continue
        node, kept, payout = best
        if kept:
            assert node_of(optimum["node"]) == node
        assert optimum["payout"] == pytest.approx(payout, abs=1e-9)
        assert optimum["suppressed"] == len(hospital.people) - len(kept)
        assert optimum["attacked"] == sum(each.attacked for each in kept.values())
        assert (optimum["records"], optimum["people"]) == (len(hospital.rows), len(hospital.people))
        risks = {person: kept[person].risk if person in kept else 0.0 for person in hospital.people}
        assert result.summary.loc[policy, "household_risk"] == pytest.approx(household_risk(hospital, risks), abs=1e-12)
        assert result.summary.loc[policy, "risk"] == pytest.approx(sum(risks.values()) / len(risks), abs=1e-12)
        classes = result.analysis.classes
        classes = classes[classes["policy"] == policy]
        assert classes["records"].sum() == len(hospital.rows)
        assert classes["publisher_payoff"].sum() == pytest.approx(payout, abs=1e-9)
        withheld = {p for p in hospital.people if p not in kept}
        assert classes["suppressed"].sum() == sum(row[0] in withheld for row in hospital.rows)
        released = result.analysis.released
        sizes = released[released["policy"] == policy]["class_size"].to_numpy()
        shared = [row for row in hospital.rows if row[0] in kept]
        for row, size in zip(hospital.rows, sizes.tolist(), strict=True):
            if row[0] in withheld:
                assert size == 0
            elif node != NODES[-1]:
                assert size == people_alike(Hospital(shared, []), row[2:], node, "prosecutor")


def test_benefits_that_differ_by_record_are_averaged():
    hospital = random_hospital(3)
    amounts = [float(10 * (number % 4)) for number in range(len(hospital.rows))]
    priced = Hospital(hospital.rows, hospital.population, benefits=amounts)
    result = game_of(
        hospital, frame=hospital.frame().assign(worth=amounts), amounts={"columns": {"benefit": "worth"}},
        policies=["no-protection", "basic"],
    ).run()  # fmt: skip
    records = result.records.set_index(["policy", "record"])
    for person in hospital.people:
        for policy in ("no-protection", "basic"):
            row = records.loc[policy].iloc[hospital.rows_of(person)[0]]
            played = play(priced, person, node_of(row["strategy"]), "prosecutor")
            assert row["publisher_payoff"] == pytest.approx(played.publisher, abs=1e-9)
            assert row["utility"] == pytest.approx(played.utility, abs=1e-12)
        payoffs = [play(priced, person, node, "prosecutor").publisher for node in NODES]
        assert records.loc["basic"].iloc[hospital.rows_of(person)[0]]["publisher_payoff"] == pytest.approx(max(payoffs))


VARIANTS = {
    "record": {},
    "branch and bound": {"publisher": {"solver": "branch-and-bound"}},
    "lattice search": {"publisher": {"solver": "lattice-search"}, "policies": ["basic"]},
    "fixed": {"policies": ["opt-in", "suppress-all", "k-anonymity", "random", "anytime", "record-level"]},
    "table": {"unit": "table", "policies": ["basic", "no-attack", "record-level", "k-anonymity"]},
    "limited table": {"unit": "table", "publisher": {"suppression_limit": 0.1}},
    "anytime table": {"unit": "table", "publisher": {"search": "anytime", "nodes": 9}},
    "safe class": {"publisher": {"safe_class": "above"}},
    "minimum": {"attributes": {"age": {"minimum_level": 1}}},
    "beliefs": {"beliefs": {"cost": 5}},
    "sequential": {"adversary": {"planner": "fmdp", "sequential": {"access_cost": 5}}, "amounts": {"cost": 20}},
    "random adversary": {"adversary": {"planner": "random", "rate": 0.4}},
    "agents": {
        "agents": {"rounds": 3}, "adversaries": {"a": {"weight": 0.6}, "b": {"weight": 0.4, "gain": 20}},
    },
    "participation": {
        "agents": {"rounds": 3, "participation": {"reward": 2, "harm": 30}},
        "adversaries": {"a": {"weight": 1.0, "budget": 120}},
    },
}  # fmt: skip


@pytest.mark.parametrize("variant", cases(VARIANTS, ["fixed", "table", "sequential"]))
def test_a_key_that_no_two_rows_share_changes_nothing(variant):
    hospital, risk = random_hospital(5, n_rows=12, n_people=12), RISKS[list(VARIANTS).index(variant) % 2]
    frame = hospital.frame().sample(frac=1, random_state=1).reset_index(drop=True)
    results = []
    for key in (None, "pid"):
        amounts = {"benefit": 100, "loss": 300, "gain": 120, "cost": 50} | VARIANTS[variant].get("amounts", {})
        more = VARIANTS[variant] | {"amounts": amounts, "household": None}
        results.append(game_of(hospital, risk, key=key, frame=frame, **more).run())
    without, keyed = results
    pd.testing.assert_frame_equal(without.summary, keyed.summary, rtol=1e-12, atol=1e-12)
    pd.testing.assert_frame_equal(without.records, keyed.records.drop(columns="person"), rtol=1e-12, atol=1e-12)
    assert keyed.records["person"].tolist()[: len(frame)] == list(range(len(frame)))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pid": ["0", "1", "", "3"]}, "row 3, column 'pid': value missing"),
        ({"hid": ["a", "", "b", "b"]}, "row 2, column 'hid': value missing"),
        (
            {"pid": ["0012", "0007", "0011", "7.0"]},
            "row 4, column 'pid': a key in two forms, which would count as two keys; found '7.0'; expected '0007' as "
            "in row 2, or a key that differs in more than",
        ),
        ({"pid": ["P7", "a  b", "a b", "A b"]}, "row 3, column 'pid': a key in two forms"),
        ({"pid": ["P7", "65 170839 J", "65170839J", "8"]}, "row 3, column 'pid': a key in two forms"),
        ({"pid": ["P7", "8", "9", "p7"]}, "row 4, column 'pid': a key in two forms"),
        ({"pid": ["P7", "Ulm Ost", "9", "ULM OST"]}, "row 4, column 'pid': a key in two forms"),
        ({"pid": ["7", "8", "9", "7,0"]}, "row 4, column 'pid': a key in two forms"),
        ({"hid": ["7", "1", "2", "07"]}, "row 4, column 'hid': a key in two forms"),
        (
            {"pid": list("0101"), "hid": list("aabb")},
            "row 3, column 'hid': records of the same person differ in household",
        ),
    ],
)
def test_keys_that_cannot_be_used_are_told_with_their_row(changes, told):
    frame = pd.DataFrame({"pid": list("0123"), "hid": list("aabb"), "age": list("3467"), "sex": list("0101")} | changes)
    scenario = reidsim.Scenario.from_frames(
        frame, hierarchies={"age": "suppress", "sex": "suppress"}, release={"person": "pid", "household": "hid"},
        economics={"benefit": 1, "loss": 1, "gain": 1, "cost": 1},
    )  # fmt: skip
    with pytest.raises(InputError) as error:
        scenario.run()
    assert told in str(error.value)


def test_numbers_of_constant_width_and_of_other_hospitals_are_keys():
    """The number 7 of one hospital is not 007 of another one."""
    frame = pd.DataFrame({"pid": ["0007", "0012", "0007"], "hospital": ["A", "A", "B"], "of": ["7", "12", "07"]})
    assert keys_of_records(frame, "pid", "stays").tolist() == [0, 1, 0]
    assert keys_of_records(frame.replace({"0012": "aX", "0007": "Ax"}), "pid", "stays").tolist() == [0, 1, 0]
    assert keys_of_records(frame, ("hospital", "of"), "stays").tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="row 3, column 'of': a key in two forms"):
        keys_of_records(frame, "of", "stays")


def test_losses_of_one_person_that_differ_are_an_error():
    hospital = random_hospital(1)
    frame = hospital.frame().assign(lost=np.arange(len(hospital.rows)))
    game = game_of(hospital, frame=frame, amounts={"columns": {"loss": "lost"}})
    with pytest.raises(InputError, match="records of the same person differ in loss"):
        game.run()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"policies": ["multi-dimensional"]}, "'multi-dimensional' needs one record per person, which release.person"),
        ({"policies": ["local-recoding"]}, "'local-recoding' needs group sizes .* which release.person"),
        ({"agents": {"rounds": 2}}, "household risk is not supported in rounds"),
        ({"key": "age"}, "release.person: the column is a quasi-identifier"),
    ],
)
def test_unsupported_combinations_are_refused(more, told):
    with pytest.raises(InputError, match=told):
        game_of(random_hospital(1), **more)
