"""Repeated releases, against a plain program written from the documentation."""

import csv
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.agents.model import ReidentificationModel
from reidsim.kinds.tables.build import build_study, setting_of
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import share_run
from reidsim.scenarios.scenario import Scenario

AGES, SEXES = range(20, 24), ("F", "M")
# Released labels of an age and a sex, by level.
LEVELS = (
    (lambda age: (age,), lambda age: (20, 21) if age < 22 else (22, 23), lambda age: (20, 21, 22, 23)),
    (lambda sex: (sex,), lambda sex: SEXES),
)
NODES = tuple(product(range(3), range(2)))
BENEFIT, TIE = 100.0, 1e-12

SCENARIO = """
title = "A small world"
[release]
path = "records.csv"
[population]
path = "people.csv"
[attributes.age]
hierarchy = {{ rule = "groups", groups = [[["20", "21"], ["22", "23"]], [["20", "21", "22", "23"]]] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = {loss}
gain = {gain}
cost = {cost}
[beliefs]
cost = {believed_cost}
[adversary]
risk = "{risk}"
[publisher]
policies = {policies}
"""
POLICIES = ("basic", "no-attack", "independent", "hold-first", "no-protection")


@st.composite
def worlds(draw):
    """Draw people, the records among them with their waves, and payoff parameters."""
    person = st.tuples(st.sampled_from(AGES), st.sampled_from(SEXES))
    records = draw(st.lists(person, min_size=1, max_size=7))
    others = draw(st.lists(person, max_size=5))
    # Every age and sex is in the population, so that the domain of each attribute is known.
    others += [(age, sex) for age in AGES for sex in SEXES[: 1 + (age == 20)]]
    waves = draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=len(records), max_size=len(records))
    )
    amounts = {
        "loss": draw(st.sampled_from([30.0, 150.0, 300.0, 700.0])),
        "gain": draw(st.sampled_from([20.0, 60.0])),
        "cost": draw(st.sampled_from([4.0, 7.0, 11.0, 25.0])),
        "believed_cost": draw(st.sampled_from([4.0, 7.0, 11.0, 25.0])),
    }
    return records, others, waves, amounts, draw(st.sampled_from(["prosecutor", "journalist"]))


def written(folder, world, extra="", last=math.inf):
    records, others, waves, amounts, risk = world
    with (folder / "records.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "sex", "enters", "leaves"])
        for (age, sex), (enters, stay) in zip(records, waves, strict=True):
            rows.writerow([age, sex, enters, enters + stay if enters + stay <= last else ""])
    pd.DataFrame([*records, *others], columns=["age", "sex"]).to_csv(folder / "people.csv", index=False)
    path = folder / "world.toml"
    path.write_text(SCENARIO.format(policies=list(POLICIES), risk=risk, **amounts) + extra)
    return path


class Plain:
    """One policy in one world, from the pages Agents and The record-level game only."""

    def __init__(self, world, policy):
        self.records, others, _, amounts, risk = world
        self.people, self.policy, self.prosecutor = [*self.records, *others], policy, risk == "prosecutor"
        self.loss, self.gain = amounts["loss"], amounts["gain"]
        self.cost, self.believed_cost = amounts["cost"], amounts["believed_cost"]
        # Participants by round; the consistent values of each person's releases by round.
        self.rounds, self.releases = [], [{} for _ in self.records]
        self.held = [None for _ in self.records]
        self.before = {}

    def values(self, person, node):
        return [levels[level](value) for levels, level, value in zip(LEVELS, node, self.records[person], strict=True)]

    def utility(self, person, node):
        lost = sum(math.log(len(values)) for values in self.values(person, node))
        return 1 - lost / (math.log(len(AGES)) + math.log(len(SEXES)))

    def is_linked(self, person, releases, of_all):
        """Return whether a person took part in all rounds of a record, and has a release in no other round."""
        took_part = all(person in self.rounds[number] for number in releases)
        return took_part and all(number in releases for number in of_all[person])

    def success(self, releases, of_all):
        """Return the success probability of an attack on a record.

        `releases` are the record's, `of_all` the releases of each person's record.
        """
        among = self.people if not self.prosecutor else [
            record for person, record in enumerate(self.records) if self.is_linked(person, releases, of_all)
        ]  # fmt: skip
        fitting = [
            one for one in among
            if all(value in values for shown in releases.values() for value, values in zip(one, shown, strict=True))
        ]  # fmt: skip
        return 1 / max(len(fitting), 1)

    def risk(self, releases, of_all, cost):
        """Return the re-identification probability of a record and the adversary's expected payoff.

        Both are 0 without an attack. For the parameters see `success`.
        """
        if not releases:
            return 0.0, 0.0
        success = self.success(releases, of_all)
        attacked = self.gain * success > cost * (1 + TIE)
        return (success, self.gain * success - cost) if attacked else (0.0, 0.0)

    def choose(self, person):
        """Return the levels at which a record is released; None if it is withheld."""
        if self.policy == "no-protection":
            return (0, 0)
        if self.policy == "hold-first" and self.held[person] is not None:
            return self.held[person]
        alone = self.policy in ("independent", "hold-first")
        of_all, best, chosen = [{}] * len(self.records) if alone else self.releases, -math.inf, None
        for node in NODES:
            releases = of_all[person] | {len(self.rounds) - 1: self.values(person, node)}
            risk, _ = self.risk(releases, of_all, self.believed_cost)
            payoff = BENEFIT * self.utility(person, node) - self.loss * risk
            if self.policy == "no-attack" and risk > 0:
                continue
            if payoff > best + TIE * (BENEFIT + self.loss):
                best, chosen = payoff, node
        return chosen

    def play(self, participants):
        """Play one round and return the means over all people of the file."""
        self.rounds.append(participants)
        chosen = {person: self.choose(person) for person in participants}
        utility = dict.fromkeys(range(len(self.records)), 0.0)
        for person, node in chosen.items():
            if node is not None:
                self.held[person] = self.held[person] or node
                self.releases[person][len(self.rounds) - 1] = self.values(person, node)
                utility[person] = self.utility(person, node)
        known = chosen.keys() & self.before.keys()
        changed = sum(chosen[person] != self.before[person] for person in known)
        self.before = chosen
        replies = [self.risk(releases, self.releases, self.cost) for releases in self.releases]
        risk, n = [one for one, _ in replies], len(self.records)
        return {
            "publisher_payoff": sum(BENEFIT * utility[person] - self.loss * risk[person] for person in range(n)) / n,
            "adversary_payoff": sum(worth for _, worth in replies) / n,
            "utility": sum(utility.values()) / n,
            "share_attacked": sum(one > 0 for one in risk) / n,
            "risk": sum(risk) / n,
            "participation": len(participants) / n,
            # Of people who were absent before, the program may count the cell's change.
            "changed": (changed / n, (changed + len(chosen) - len(known)) / n),
        }


def require_same(found, expected):
    low, high = expected.pop("changed")
    assert low - 1e-9 <= found["changed"] <= high + 1e-9
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


# Three people are released in groups of three; after others leave or join, one of them is withheld.
SMALL = {"loss": 150.0, "gain": 20.0, "cost": 7.0, "believed_cost": 7.0}
OTHERS = [(20, "F"), (20, "M"), (21, "F"), (22, "F"), (23, "F")]
LEAVE = ([(20, "F"), (21, "F"), (22, "F")], OTHERS, [(0, 1), (0, 4), (0, 1)], SMALL, "prosecutor")
COMES = ([(20, "F"), (21, "F"), (22, "F")], OTHERS, [(0, 2), (0, 4), (1, 1)], SMALL, "prosecutor")


@pytest.mark.deep
@examples(400, fast=4)
@example(LEAVE)
@example(COMES)
@given(worlds())
def test_waves_agree_with_a_program_written_from_the_documentation(tmp_path_factory, world):
    path = written(tmp_path_factory.mktemp("waves"), world, '[releases]\nenters = "enters"\nleaves = "leaves"\n')
    rounds = reidsim.run(path).analysis.rounds
    spans = [(enters, enters + stay) for enters, stay in world[2]]
    times = sorted({time for span in spans for time in span})
    for policy in POLICIES:
        plain, own = Plain(world, policy), rounds[rounds["policy"] == policy]
        for found in own.to_dict("records"):
            wave = times[found["round"] - 1]
            require_same(found, plain.play([p for p, (first, end) in enumerate(spans) if first <= wave < end]))


@examples(400, fast=4)
@given(worlds(), st.integers(0, 1000))
def test_rounds_agree_with_a_program_written_from_the_documentation(tmp_path_factory, world, seed):
    """People join and leave by their own decisions; the model supplies participation."""
    rule = "[agents]\nrounds = 5\n[agents.participation]\nreward = 1\nharm = 6\nspread = 1.5\nlearning_rate = 0.7\n"
    path = written(tmp_path_factory.mktemp("rounds"), world, rule)
    study = build_study(Scenario.load(path, {"seed": seed}))
    world_of_study = setting_of(study, study.scenario.agents)
    for policy in POLICIES:
        plain, model = Plain(world, policy), ReidentificationModel(world_of_study, policy)
        for _ in range(5):
            participants = np.flatnonzero(model.participates).tolist()
            model.step()
            require_same(model.measures, plain.play(participants))
        model.release()


def file_risk(plain, last):
    """Return the highest risk of a row and of a person in the file of a round, over all assignments of rows."""
    of_all, present = plain.releases, plain.rounds[last]
    rows = [person for person in present if last in of_all[person]]
    fits = {
        row: [
            person
            for person in present
            if plain.is_linked(person, of_all[row], of_all)
            and all(value in shown for value, shown in zip(plain.records[person], of_all[row][last], strict=True))
        ]
        for row in rows
    }
    people = {row: set() for row in rows}
    for chosen in product(*fits.values()):
        if len(set(chosen)) == len(chosen):
            for row, person in zip(rows, chosen, strict=True):
                people[row].add(person)
    of_person = [sum(person in people[row] for row in rows) for person in rows]
    highest = max((plain.success(of_all[row], of_all) for row in rows), default=0.0)
    return max((highest, *(1 / len(people[row]) for row in rows))), max((1 / n for n in of_person), default=0.0)


# In the file of the second wave, two people fit the rows with a suppressed age. Their earlier releases differ.
NEWCOMERS = ([(20, "F"), (20, "F"), (22, "F")] * 2, OTHERS, [(0, 4)] * 3 + [(1, 4)] * 3, SMALL, "prosecutor")


@pytest.mark.deep
@examples(100, fast=4)
@example(NEWCOMERS)
@given(worlds())
def test_share_counts_all_assignments_of_linked_rows(tmp_path_factory, world):
    folder, world = tmp_path_factory.mktemp("share"), (*world[:4], "prosecutor")
    last = max(enters for enters, _ in world[2])
    path = written(folder, world, '[releases]\nenters = "enters"\nleaves = "leaves"\n', last)
    run = open_results(reidsim.run(path).save(folder / "run"))
    spans = [(enters, enters + stay) for enters, stay in world[2]]
    times = sorted({time for span in spans for time in span if time <= last})
    for policy in POLICIES:
        plain = Plain(world, policy)
        for time in times:
            plain.play([p for p, (first, end) in enumerate(spans) if first <= time < end])
        if not any(len(times) - 1 in releases for releases in plain.releases):
            continue
        sidecar, _ = share_run(run, folder / f"{policy}.csv", policy=policy, accept_risk=True)
        found = sidecar["risk"]["record"], sidecar["risk"]["person"]
        assert found == pytest.approx(file_risk(plain, len(times) - 1), rel=1e-9), policy
