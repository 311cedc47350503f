"""Small tables with a sensitive column, solved by enumeration in plain Python.

Limits follow their definitions: distinct l-diversity (Machanavajjhala et al. 2007), t-closeness with the earth
mover's distance (Li et al. 2007; recursive sum over the hierarchy, as in ARX), largest share of a value.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

ATTRIBUTES = {
    "age": [["0", "1", "2", "3"], ["0-1", "0-1", "2-3", "2-3"], ["*", "*", "*", "*"]],
    "sex": [["F", "M"], ["*", "*"]],
}
DISEASES = ("asthma", "cold", "flu", "ulcer")
# Label of each disease at each level; the last is the root.
DISEASE_LEVELS = [
    dict(zip(DISEASES, DISEASES, strict=True)),
    dict(zip(DISEASES, ("lung", "lung", "lung", "stomach"), strict=True)),
    dict.fromkeys(DISEASES, "*"),
]
NODES = list(itertools.product(range(3), range(2)))


@dataclass(frozen=True)
class Hospital:
    """A table and the parameters of its game."""

    records: tuple[tuple[int, int, str], ...]
    limits: dict[str, float]
    hierarchical: bool
    gains_from: str
    loss: float
    gain: float
    cost: float
    persons: tuple[int, ...] | None = None

    @property
    def people(self) -> list[list[int]]:
        """The records of each person, in the order of first records; by default, each record is another person."""
        of_record = self.persons or tuple(range(len(self.records)))
        return [[n for n, owner in enumerate(of_record) if owner == person] for person in dict.fromkeys(of_record)]

    def values(self, group: Collection[int]) -> list[str]:
        """Return the different diseases of each person in a group of records."""
        return [disease for mine in self.people for disease in sorted({self.records[n][2] for n in mine if n in group})]

    def members(self, group: Collection[int]) -> int:
        """Return the number of people in a group of records."""
        return sum(any(n in group for n in mine) for mine in self.people)

    def group(self, record: int, node: tuple[int, int]) -> list[int]:
        """Return the records that agree with a record at a node."""
        own = label(self.records[record], node)
        return [other for other, values in enumerate(self.records) if label(values, node) == own]

    def admissible(self, group: list[int]) -> bool:
        """Return whether a group is within all limits."""
        values, everybody = self.values(group), self.values(range(len(self.records)))
        counts = Counter(values)
        checks = {
            "l_diversity": lambda limit: len(counts) >= limit,
            "max_inference": lambda limit: max(counts.values()) <= limit * self.members(group) + 1e-9,
            "t_closeness": lambda limit: distance(values, everybody, hierarchical=self.hierarchical) <= limit + 1e-9,
        }
        return all(checks[name](limit) for name, limit in self.limits.items())

    def success(self, group: list[int]) -> float:
        """Return the success probability of an attack, over all its outcomes."""
        times, n = Counter(self.values(group)).most_common(1)[0][1], self.members(group)
        if self.gains_from == "identity":
            return 1 / n
        if self.gains_from == "attribute":
            return times / n
        # The data subject is equally likely to be any member of the group, and so is the person whom the attack names.
        # The first `times` members have the asserted disease.
        wins = sum(named == true or true < times for named in range(n) for true in range(n))
        return wins / n**2

    def payoff(self, person: int, node: tuple[int, int]) -> tuple[float, bool]:
        """Return the publisher's payoff of a person at a node, and whether it is attacked.

        The attack uses the person's record with the highest success probability.
        """
        chance = max(self.success(self.group(record, node)) for record in self.people[person])
        attacked = self.gain * chance > self.cost * (1 + 1e-12)
        return 100 * utility(node) - attacked * self.loss * chance, attacked

    def allowed(self, person: int, node: tuple[int, int]) -> bool:
        """Return whether the groups of all records of a person are within all limits."""
        return all(self.admissible(self.group(record, node)) for record in self.people[person])

    def best_of_person(self, person: int, *, no_attack: bool) -> tuple[float, tuple[int, int] | None]:
        """Return a person's best payoff and its first node, or None if no node is allowed."""
        best, at = -math.inf, None
        for node in NODES:
            value, attacked = self.payoff(person, node)
            if self.allowed(person, node) and not (no_attack and attacked) and value > best + 1e-9:
                best, at = value, node
        return (0.0, None) if at is None else (best, at)

    def payout_of_table(self, *, no_attack: bool, suppression_limit: float) -> float:
        """Return the highest payout of one node for all records.

        People in inadmissible or unprofitable groups are suppressed.
        """
        best = 0.0
        for node in NODES:
            payout, suppressed = 0.0, 0
            for person in range(len(self.people)):
                value, attacked = self.payoff(person, node)
                kept = self.allowed(person, node)
                kept &= not attacked and value >= -1e-9 if no_attack else value > 1e-9
                payout += value if kept else 0.0
                suppressed += not kept
            if suppressed <= math.floor(suppression_limit * len(self.people) + 1e-9):
                best = max(best, payout)
        return best

    def utility_of_anonymity(self, k: int, suppression_limit: float) -> float | None:
        """Return the highest utility of one node for all records, or None.

        Small and inadmissible groups are suppressed.
        """
        best = None
        for node in NODES:
            kept = [
                self.allowed(person, node) and all(self.members(self.group(n, node)) >= k for n in self.people[person])
                for person in range(len(self.people))
            ]
            if kept.count(False) <= math.floor(suppression_limit * len(kept) + 1e-9):
                value = utility(node) * sum(kept) / len(kept)
                best = value if best is None else max(best, value)
        return best

    def write(self, folder: Path, publisher: str, adversary: str = "") -> Path:
        """Write the table and its scenario; return the path of the scenario."""
        owners = self.persons or range(len(self.records))
        lines = ["person,age,sex,disease"]
        for owner, (age, sex, disease) in zip(owners, self.records, strict=True):
            lines.append(f"{owner},{age},{'FM'[sex]},{disease}")
        (folder / "hospital.csv").write_text("\n".join(lines) + "\n")
        for name, levels in ATTRIBUTES.items():
            rows = [";".join(row) for row in zip(*levels, strict=True)]
            (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
        rows = [";".join(level[disease] for level in DISEASE_LEVELS) for disease in DISEASES]
        (folder / "disease.csv").write_text("\n".join(rows) + "\n")
        sensitive = 'sensitive = ["disease"]\n' if self.limits or self.gains_from != "identity" else ""
        tree = 'sensitive_hierarchies = { disease = { rule = "table", file = "disease.csv" } }\n'
        scenario = f"""
[release]
path = "hospital.csv"
{'person = "person"' if self.persons else ""}
[attributes.age]
hierarchy = {{ rule = "table", file = "age.csv" }}
[attributes.sex]
hierarchy = {{ rule = "table", file = "sex.csv" }}
[economics]
benefit = 100
loss = {self.loss}
gain = {self.gain}
cost = {self.cost}
[adversary]
risk = "prosecutor"
gains_from = "{self.gains_from}"
{adversary}
[publisher]
{publisher}
{sensitive}{tree if self.hierarchical and "t_closeness" in self.limits else ""}"""
        scenario += "".join(f"{name} = {limit}\n" for name, limit in self.limits.items())
        path = folder / "hospital.toml"
        path.write_text(scenario)
        return path


def label(record: tuple[int, int, str], node: tuple[int, int]) -> tuple[str, ...]:
    """Return a record as released at a node."""
    return tuple(
        levels[level][value] for levels, level, value in zip(ATTRIBUTES.values(), node, record[:2], strict=True)
    )


def utility(node: tuple[int, int]) -> float:
    """Return one minus the entropy loss (Wan et al. 2015, Eqs. 1 to 3).

    All groups of a level have equal sizes.
    """
    sizes = [(1, 2, 4)[node[0]], (1, 2)[node[1]]]
    return 1 - sum(map(math.log, sizes)) / (math.log(4) + math.log(2))


def distance(values: list[str], everybody: list[str], *, hierarchical: bool) -> float:
    """Return the earth mover's distance between two samples of diseases."""
    extra = {d: values.count(d) / len(values) - everybody.count(d) / len(everybody) for d in DISEASES}
    if not hierarchical:
        return sum(abs(amount) for amount in extra.values()) / 2
    height, total, below = len(DISEASE_LEVELS) - 1, 0.0, {(0, d): amount for d, amount in extra.items()}
    for level in range(1, height + 1):
        above: dict[tuple[int, str], float] = {}
        for node in {DISEASE_LEVELS[level][d] for d in DISEASES}:
            children = {DISEASE_LEVELS[level - 1][d] for d in DISEASES if DISEASE_LEVELS[level][d] == node}
            amounts = [below[level - 1, child] for child in children]
            positive = sum(amount for amount in amounts if amount > 0)
            negative = -sum(amount for amount in amounts if amount < 0)
            total += level / height * min(positive, negative)
            above[level, node] = sum(amounts)
        below |= above
    return total


@st.composite
def hospitals(draw, *, limits: bool = True, gains: bool = False, persons: bool = False) -> Hospital:
    """Draw a small table with limits, gains from an inference, or both."""
    record = st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from(DISEASES))
    records = draw(st.lists(record, min_size=1, max_size=12))
    # A limit above the largest distance in a table never binds.
    given = {
        "l_diversity": st.integers(2, 3),
        "t_closeness": st.sampled_from([0.1, 0.2, 0.3, 0.5]),
        "max_inference": st.sampled_from([0.34, 0.5, 0.6, 0.75]),
    }
    names = draw(st.sets(st.sampled_from(sorted(given)), min_size=1)) if limits else ()
    return Hospital(
        tuple(records),
        {name: draw(given[name]) for name in sorted(names)},
        draw(st.booleans()),
        draw(st.sampled_from(["attribute", "either"])) if gains else "identity",
        draw(st.sampled_from([0.0, 90.0, 300.0])),
        draw(st.sampled_from([40.0, 100.0])),
        draw(st.sampled_from([0.0, 15.0, 30.0, 45.0])),
        tuple(draw(st.lists(st.integers(0, 4), min_size=len(records), max_size=len(records)))) if persons else None,
    )
