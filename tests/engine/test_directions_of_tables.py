"""One generalization for a table whose people are searched for, or have several rows, against brute force."""

from itertools import product
from math import floor, log

import numpy as np
import pandas as pd
import pytest
from tiers import cases

import reidsim

SCENARIO = """[release]
path = "stays.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4], start = 20 }
[attributes.ward]
hierarchy = { rule = "suppress" }
[attributes.town]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 60
cost = 20
[publisher]
unit = "table"
k = 3
policies = ["no-attack", "basic", "k-anonymity"]
"""
WIDTHS = (1, 2, 4, 8)
NODES = [*product(range(4), range(2), range(2))]
DIRECTIONS, RISKS = ("record", "person", "both"), ("prosecutor", "journalist")


def random_stays(seed, *, several, by_record):
    """Return the stays of people, with one gain per person, and the people of a population."""
    rng = np.random.default_rng(seed)

    def drawn(n):
        age = np.concatenate([np.arange(20, 28), rng.integers(20, 28, n - 8)])
        return {"age": age, "ward": rng.choice(list("abcd"), n), "town": rng.choice(["N", "S"], n)}

    n = 30
    who = np.concatenate([np.arange(22), rng.integers(0, 22, n - 22)]) if several else np.arange(n)
    gain = rng.choice([40.0, 60.0, 120.0], n, p=[0.3, 0.5, 0.2]) if by_record else np.full(n, 60.0)
    every_value = {"age": [*range(20, 28)], "ward": [*"abcdabcd"], "town": [*"NSNSNSNS"]}
    people = pd.concat([pd.DataFrame(every_value), pd.DataFrame(drawn(30))], ignore_index=True)
    return pd.DataFrame({"who": who, **drawn(n), "gain": gain[who]}), people


class PlainTable:
    """The stays at a node, counted in plain Python."""

    def __init__(self, stays, people, direction, risk):
        columns = ["age", "ward", "town"]
        self.rows = {person: rows[columns].to_numpy().tolist() for person, rows in stays.groupby("who")}
        self.gain = stays.groupby("who")["gain"].first().to_dict()
        self.people = [[row] for row in people[columns].to_numpy().tolist()]
        self.people = self.people if risk == "journalist" else [*self.rows.values()]
        self.direction, self.several = direction, len(self.rows) < len(stays)
        self.domain = len(set(stays["ward"])), len(set(stays["town"]))
        if risk == "journalist":
            self.domain = 4, 2

    def shown(self, row, node):
        return (row[0] - 20) // WIDTHS[node[0]], "*" if node[1] else row[1], "*" if node[2] else row[2]

    def utility(self, node):
        """Return the utility of a row, equal for all rows."""
        wards, towns = self.domain
        lost = log(WIDTHS[node[0]]) + log(wards if node[1] else 1) + log(towns if node[2] else 1)
        return 1 - lost / log(8 * wards * towns)

    def released(self, node, policy, *, counts_release):
        """Return the payoff of each person who is released at a node after all rounds of suppression."""
        shown = {person: {self.shown(row, node) for row in rows} for person, rows in self.rows.items()}
        everybody = [{self.shown(row, node) for row in rows} for rows in self.people]
        kept, payoff = set(shown), {}
        while True:
            by_person, by_row = {}, {}
            for person in kept:
                by_person[person] = max(1 / sum(row in shown[other] for other in kept) for row in shown[person])
                by_row[person] = max(1 / max(sum(row in other for other in everybody), 1) for row in shown[person])
            attacks, pays = set(), set()
            for person in kept:
                success = {"record": by_row, "person": by_person}.get(self.direction, {}).get(person)
                success = max(by_person[person], by_row[person]) if success is None else success
                success = by_person[person] if counts_release else success
                worth = 100 * self.utility(node)
                attacked = self.gain[person] * success > 20 * (1 + 1e-9)
                attacks |= {person} if attacked else set()
                payoff[person] = worth - self.gain[person] * success * attacked
                safe = by_person[person] <= (1 + 1e-9) / 3 if policy == "k-anonymity" else not attacked
                pays |= {person} if (payoff[person] > 1e-9 if policy == "basic" else safe) else set()
            # In direction "record", suppression does not change the people whose values match a row.
            if pays == kept or (self.direction == "record" and not counts_release):
                return {person: payoff[person] for person in pays}
            kept = pays

    def best(self, policy, limit, *, counts_release):
        """Return the best node and the payoffs of its released people; None if no node keeps the limit."""
        found = []
        for node in NODES:
            payoff = self.released(node, policy, counts_release=counts_release)
            if len(self.rows) - len(payoff) <= floor(limit * len(self.rows) + 1e-9):
                value = self.utility(node) * len(payoff) if policy == "k-anonymity" else sum(payoff.values())
                found.append((-round(value, 7), sum(node), node, payoff))
        return min(found)[2:] if found else None


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("by_record", [False, True])
@pytest.mark.parametrize("seed", cases(range(36), range(6)))
def test_the_table_gets_the_best_node_after_suppression_is_stable(tmp_path, seed, by_record, several):
    direction, risk, limit = [*product(DIRECTIONS, RISKS, (1.0, 0.2))][(5 * seed + 4) % 12]
    stays, people = random_stays(seed, several=several, by_record=by_record)
    stays.to_csv(tmp_path / "stays.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    text = SCENARIO + f'suppression_limit = {limit}\n[adversary]\ndirection = "{direction}"\nrisk = "{risk}"\n'
    text = text.replace('stays.csv"', 'stays.csv"\nperson = "who"') if several else text
    text = text.replace("cost = 20", 'cost = 20\ncolumns = { gain = "gain", loss = "gain" }') if by_record else text
    text += '[population]\npath = "people.csv"\nholds_release = false\n' if risk == "journalist" else ""
    text = text.replace("k = 3", 'k = 3\nsearch = "anytime"\nnodes = 1000') if seed % 3 == 2 else text
    (tmp_path / "game.toml").write_text(text)
    result = reidsim.run(tmp_path / "game.toml")
    table = PlainTable(stays, people, direction, risk)
    for policy in ("no-attack", "basic", "k-anonymity"):
        # These policies promise groups of released people, also if the adversary counts people whose values match.
        counts = policy == "k-anonymity" or (policy == "no-attack" and several and risk == "prosecutor")
        best = table.best(policy, limit, counts_release=counts)
        records = result.records.set_index("policy").loc[policy].sort_values("record")
        node, payoff = best or ((), {})
        expected = [",".join(map(str, node)) if person in payoff else "withheld" for person in stays["who"]]
        assert records["strategy"].astype("str").tolist() == expected, policy
        if policy != "k-anonymity":
            paid = sum(payoff.values()) / len(table.rows)
            assert result.summary.loc[policy, "publisher_payoff"] == pytest.approx(paid, abs=1e-9)
