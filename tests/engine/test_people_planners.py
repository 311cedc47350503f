"""Adversaries of every kind look for people by the best of each person's rows."""

from dataclasses import replace

import numpy as np
import pytest
from small_hospital import NODES, people_alike, play, random_hospital
from staged_clinic import FILES
from test_people import game_of

from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

TOP = NODES[-1]
RECIPE = """
[[sources]]
kind = "groups"
name = "neighbours"
[[sources.profile]]
presence = 0.8
[[sources.profile.groups]]
attributes = ["age"]
probability = 0.5
[[sources.profile.groups]]
attributes = ["sex", "ward"]
"""
# A neighbour's knowledge: positions of the known attributes, with probabilities.
KNOWN = [((), 0.2), ((1, 2), 0.4), ((0, 1, 2), 0.4)]


def by_person(study, node, risk="prosecutor"):
    """Compute replies to every row and return the row chosen for each person."""
    reply = study.planner(*study.gain_and_cost(study.prices)).respond(
        study.own_linker().link(node, study.cell_of_record)
    )
    found = []
    for person in range(study.n_subjects):
        rows = np.flatnonzero(study.persons.of_record == person).tolist()
        keys = (reply.attacks, reply.believed_success, reply.success, reply.adversary_payoff)
        best = max(rows, key=lambda row: tuple(key[row] for key in keys))
        found.append([getattr(reply, name)[best] for name in ("attacks", "success", "adversary_payoff", "exploits")])
    return np.array(found, dtype=float)


PLANNERS = {
    "known": {"cost": 20, "access_cost": 3, "penalty": 15, "detection_intercept": -1.0},
    "unknown": {"cost": 30, "access_cost": 2, "belief": "unknown"},
    "registry": {"cost": 25, "registry": True},
}


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_sequential_adversary_goes_for_the_best_row(planner):
    hospital, given = random_hospital(4), dict(PLANNERS[planner])
    risk = "prosecutor"
    if given.pop("registry", False):
        risk, given["registry"] = "journalist", hospital.people_frame().iloc[::2]
    amounts = {"gain": 120, "cost": given.pop("cost")}
    study = game_of(hospital, risk, adversary={"planner": "fmdp", "sequential": given}, amounts=amounts).build()
    attacked = set()
    for node in range(len(NODES)):
        reply = study.truth.outcome(node).response
        expected = by_person(study, node, risk)
        names = ("attacks", "success", "adversary_payoff", "exploits")
        found = np.column_stack([getattr(reply, name) for name in names])[study.row_of_subject]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        attacked |= set(reply.attacks.tolist())
    assert attacked == {True, False}


def test_partial_knowledge_is_averaged_by_row_before_the_best_row_is_taken(tmp_path):
    hospital, recipe = random_hospital(9), tmp_path / "neighbours.toml"
    recipe.write_text(RECIPE)
    game = game_of(hospital, adversary={"knowledge": recipe}, amounts={"gain": 120, "cost": 50})
    study = game.build()
    for number, node in enumerate(NODES):
        success = study.truth.outcome(number).response.success[study.row_of_subject]
        for place, person in enumerate(hospital.people):
            rows = [hospital.rows[row][2:] for row in hospital.rows_of(person)]
            chances = []
            for cell in rows:
                told = [tuple(node[a] if a in known else TOP[a] for a in range(3)) for known, _ in KNOWN]
                sizes = [people_alike(hospital, cell, seen, "prosecutor") for seen in told]
                chances.append(sum(p / size for (_, p), size in zip(KNOWN, sizes, strict=True)))
            assert success[place] == pytest.approx(max(chances), abs=1e-12)


def test_an_attack_in_stages_goes_for_the_best_row(tmp_path):
    for name, text in FILES.items():
        if name == "patients.csv":
            # The two women of Hill, who differ only in the inferred attribute, become one person; so do a clerk and a
            # smith.
            keys = ["pid", "a", "b", "c", "c", "d", "e", "f", "d", "e"]
            text = "\n".join(f"{line},{key}" for line, key in zip(text.strip().split("\n"), keys, strict=True)) + "\n"
        (tmp_path / name).write_text(text.replace('"patients.csv"', '"patients.csv"\nperson = "pid"'))
    study = build_study(Scenario.load(tmp_path / "clinic.toml"))
    assert study.n_subjects == 6
    assert study.lattice.n_records == 9
    for node in range(study.lattice.size):
        reply = study.truth.outcome(node).response
        found = np.column_stack([reply.attacks, reply.success, reply.adversary_payoff, reply.exploits])
        np.testing.assert_allclose(found[study.row_of_subject], by_person(study, node, "journalist"), atol=1e-12)


def test_k_anonymity_withholds_people_until_no_class_is_small():
    hospital = random_hospital(12, n_rows=30, n_people=12)
    limit, k = 0.35, 3
    publisher = {"k": k, "suppression_limit": limit}
    game = game_of(hospital, unit="table", publisher=publisher, policies=["k-anonymity"])
    records = game.run().records
    best = None
    for node in NODES:
        kept, left = hospital.people, 99
        # A person who is withheld leaves the classes of all their rows.
        while len(kept) < left:
            left, released = len(kept), replace(hospital, rows=[row for row in hospital.rows if row[0] in kept])
            small = {r[0] for r in released.rows if people_alike(released, r[2:], node, "prosecutor") < k}
            kept = [person for person in kept if person not in small]
        total = sum(play(hospital, person, node, "prosecutor").utility for person in kept)
        if len(hospital.people) - len(kept) <= limit * len(hospital.people) and (
            best is None or total > best[0] + 1e-9
        ):
            best = total, node, kept
    assert best is not None
    shared = records["strategy"].astype(str) != "withheld"
    assert set(records["person"][shared]) == {hospital.people.index(person) for person in best[2]}
    assert set(records["strategy"][shared]) == {",".join(map(str, best[1]))}


def test_who_stays_away_takes_all_rows_along_and_hides_nobody():
    hospital = random_hospital(14, n_rows=24, n_people=10)
    rule = {"reward": 4, "harm": 30, "spread": 1.5, "learning_rate": 0.8}
    amounts = {"benefit": 100, "loss": 300, "gain": 120, "cost": 20}
    game = game_of(hospital, household=None, amounts=amounts, policies=["no-protection"])
    result = game.rounds(3, participation=rule)
    stays = result.records.groupby("person")["participates"].agg(["min", "max"])
    assert (stays["min"] == stays["max"]).all()
    part = [person for person in hospital.people if stays["max"][hospital.people.index(person)]]
    assert 0 < len(part) < len(hospital.people)
    left = type(hospital)([row for row in hospital.rows if row[0] in part], [])
    for row, told in zip(hospital.rows, result.records["success_probability"], strict=True):
        if row[0] in part:
            cells = [other[2:] for other in left.rows if other[0] == row[0]]
            assert told == pytest.approx(1 / min(people_alike(left, cell, NODES[0], "prosecutor") for cell in cells))
