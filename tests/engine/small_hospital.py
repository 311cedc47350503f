"""Small files with several rows per person, and their game in plain Python.

The game follows the model page and uses no code of the package: classes are sets of people, and payoffs are computed
person by person.
"""

import math
import random
from dataclasses import dataclass, field, replace
from itertools import product

import pandas as pd

ATTRIBUTES = {"age": 8, "sex": 2, "ward": 3}
# Group of each value, by level.
LEVELS = {
    "age": [lambda v: v, lambda v: v // 2, lambda v: v // 4, lambda v: 0],
    "sex": [lambda v: v, lambda v: 0],
    "ward": [lambda v: v, lambda v: 0],
}
SAME = 1e-12
NODES = list(product(*(range(len(levels)) for levels in LEVELS.values())))


@dataclass(frozen=True)
class Hospital:
    """Rows of (person, household, age, sex, ward), population, payoff parameters.

    A population row is (age, sex, ward).
    """

    rows: list
    population: list
    benefit: float = 100.0
    loss: float = 300.0
    gain: float = 120.0
    cost: float = 50.0
    benefits: list = field(default_factory=list)

    @property
    def people(self):
        """Return the people in the order in which they appear."""
        return list(dict.fromkeys(row[0] for row in self.rows))

    def rows_of(self, person):
        """Return the row numbers of a person."""
        return [number for number, row in enumerate(self.rows) if row[0] == person]

    def frame(self):
        """Return the rows as a table of text."""
        return pd.DataFrame(self.rows, columns=["pid", "hid", *ATTRIBUTES]).astype(str)

    def people_frame(self):
        """Return the population as a table of text."""
        return pd.DataFrame(self.population, columns=list(ATTRIBUTES)).astype(str)


def random_hospital(seed, *, n_rows=14, n_people=7, **amounts):
    """Draw a file in which people of one household are often in one ward."""
    rng = random.Random(seed)  # noqa: S311 - a small file
    rows = []
    for number in range(n_rows):
        person = number if number < n_people else rng.randrange(n_people)
        # The lowest and the highest value occur, so that drafted intervals equal the levels.
        cell = [rng.randrange(size) for size in ATTRIBUTES.values()]
        cell = {0: [0, 0, 0], 1: [7, 1, 2]}.get(number, cell)
        same = [row for row in rows if row[0] == person]
        if same and rng.random() < 0.6:
            cell = list(same[0][2:])
            cell[0] = min(cell[0] + rng.randrange(2), 7)
        rows.append((person, person // 2, *cell))
    rng.shuffle(rows)
    # Every value occurs, so that domains equal the values of the levels.
    population = [row[2:] for row in {row[0]: row for row in rows}.values()]
    population += [tuple(rng.randrange(size) for size in ATTRIBUTES.values()) for _ in range(12)]
    population += [tuple(value % size for size in ATTRIBUTES.values()) for value in range(8)]
    population += [row[2:] for row in rows]
    return Hospital(rows, population, **amounts)


def seen(cell, node):
    """Return the released values of a row at a node."""
    return tuple(levels[level](value) for value, levels, level in zip(cell, LEVELS.values(), node, strict=True))


def people_alike(hospital, cell, node, risk):
    """Return the number of people who share a row's released values."""
    if risk == "journalist":
        return max(sum(seen(other, node) == seen(cell, node) for other in hospital.population), 1)
    return len({row[0] for row in hospital.rows if seen(row[2:], node) == seen(cell, node)})


def utility(cell, node, values):
    """Return the share of a row's benefit that a node keeps.

    `values` are the values of each attribute's domain.
    """
    lost = whole = 0.0
    for position, (levels, level) in enumerate(zip(LEVELS.values(), node, strict=True)):
        group = [v for v in values[position] if levels[level](v) == levels[level](cell[position])]
        lost += math.log(len(group))
        whole += math.log(len(values[position]))
    return 0.0 if lost / whole > 1 - SAME else 1 - lost / whole


@dataclass(frozen=True)
class Played:
    """The results of a form for one person."""

    publisher: float
    adversary: float
    attacked: bool
    success: float
    utility: float

    @property
    def risk(self):
        """Return the probability that the person is re-identified."""
        return self.success if self.attacked else 0.0


def values_of(hospital, risk):
    """Return each attribute's values in the population, or in the rows without one."""
    cells = hospital.population if risk == "journalist" else [row[2:] for row in hospital.rows]
    return [sorted({cell[position] for cell in cells}) for position in range(len(ATTRIBUTES))]


def play(hospital, person, node, risk, released=None):
    """Release all rows of a person at a node; the adversary attacks the best row.

    Classes count the people of `released`, if given.
    """
    values, cells = values_of(hospital, risk), [hospital.rows[number][2:] for number in hospital.rows_of(person)]
    success = max(1 / people_alike(released or hospital, cell, node, risk) for cell in cells)
    kept = [utility(cell, node, values) for cell in cells]
    benefits = [hospital.benefits[number] for number in hospital.rows_of(person)] if hospital.benefits else None
    each = benefits or [hospital.benefit] * len(cells)
    benefit = sum(b * u for b, u in zip(each, kept, strict=True)) / len(cells)
    share = benefit * len(cells) / sum(each) if sum(each) else sum(kept) / len(kept)
    attacked = hospital.gain * success > hospital.cost * (1 + SAME)
    return Played(
        benefit - hospital.loss * success * attacked,
        (hospital.gain * success - hospital.cost) * attacked,
        attacked,
        success,
        share,
    )


def best_of_person(hospital, person, risk, *, no_attack=False):
    """Return the first form with the best payoff for a person, or None."""
    tie = SAME * (hospital.benefit + hospital.loss)
    best = None
    for node in NODES:
        played = play(hospital, person, node, risk)
        if (not no_attack or not played.attacked) and (best is None or played.publisher > best[1].publisher + tie):
            best = node, played
    return best


def best_of_table(hospital, risk, *, no_attack=False, limit=1.0):
    """Return the best single form for all people, or None if none keeps the limit.

    People whose release is not profitable are suppressed. Without attacks under prosecutor risk, this is repeated,
    because suppressed people leave their classes.
    """
    tie = SAME * (hospital.benefit + hospital.loss)
    best = None
    for node in NODES:
        kept, left = hospital.people, math.inf
        while len(kept) < left:
            left, released = len(kept), replace(hospital, rows=[row for row in hospital.rows if row[0] in kept])
            released = released if no_attack and risk == "prosecutor" else hospital
            played = {person: play(hospital, person, node, risk, released) for person in kept}
            kept = {p: each for p, each in played.items() if (not each.attacked if no_attack else each.publisher > tie)}
        if len(hospital.people) - len(kept) > math.floor(limit * len(hospital.people) * (1 + SAME)):
            continue
        payout = sum(each.publisher for each in kept.values())
        ahead = math.inf if best is None else payout - best[2]
        scale = SAME * max(hospital.benefit * len(hospital.people), 1.0)
        first = best is None or (sum(node), node) < (sum(best[0]), best[0])
        if ahead > scale or (first and ahead >= -scale):
            best = node, kept, payout
    return best


def household_risk(hospital, risk_of):
    """Return the mean over people of the largest risk in their household."""
    household = {row[0]: row[1] for row in hospital.rows}
    return sum(
        max(risk_of[other] for other in hospital.people if household[other] == household[person])
        for person in hospital.people
    ) / len(hospital.people)
