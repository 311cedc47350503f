"""Small files in which people have several rows, and their game as the rule of the model page says it, in plain Python.

Nothing here is taken from the package: classes are sets of people, payoffs are computed person by person.
"""

import math
import random
from dataclasses import dataclass, field
from itertools import product

import pandas as pd

ATTRIBUTES = {"age": 8, "sex": 2, "ward": 3}
# Groups of each value by level.
LEVELS = {
    "age": [lambda v: v, lambda v: v // 2, lambda v: v // 4, lambda v: 0],
    "sex": [lambda v: v, lambda v: 0],
    "ward": [lambda v: v, lambda v: 0],
}
SAME = 1e-12
NODES = list(product(*(range(len(levels)) for levels in LEVELS.values())))


@dataclass(frozen=True)
class Hospital:
    """Rows of (person, household, age, sex, ward), people of the population as (age, sex, ward), and amounts."""

    rows: list
    population: list
    benefit: float = 100.0
    loss: float = 300.0
    gain: float = 120.0
    cost: float = 50.0
    benefits: list = field(default_factory=list)

    @property
    def people(self):
        """People in the order in which they appear."""
        return list(dict.fromkeys(row[0] for row in self.rows))

    def rows_of(self, person):
        """Numbers of the rows of a person."""
        return [number for number, row in enumerate(self.rows) if row[0] == person]

    def frame(self):
        """The rows as a table of text."""
        return pd.DataFrame(self.rows, columns=["pid", "hid", *ATTRIBUTES]).astype(str)

    def people_frame(self):
        """The population as a table of text."""
        return pd.DataFrame(self.population, columns=list(ATTRIBUTES)).astype(str)


def random_hospital(seed, *, n_rows=14, n_people=7, **amounts):
    """Draw a file; people of one household are often of one ward."""
    rng = random.Random(seed)  # noqa: S311 - a small file
    rows = []
    for number in range(n_rows):
        person = number if number < n_people else rng.randrange(n_people)
        # The lowest and the highest value are there, so that intervals are those of the levels.
        cell = [rng.randrange(size) for size in ATTRIBUTES.values()]
        cell = {0: [0, 0, 0], 1: [7, 1, 2]}.get(number, cell)
        same = [row for row in rows if row[0] == person]
        if same and rng.random() < 0.6:
            cell = list(same[0][2:])
            cell[0] = min(cell[0] + rng.randrange(2), 7)
        rows.append((person, person // 2, *cell))
    rng.shuffle(rows)
    # Every value occurs, so that domains are those of the levels.
    population = [row[2:] for row in {row[0]: row for row in rows}.values()]
    population += [tuple(rng.randrange(size) for size in ATTRIBUTES.values()) for _ in range(12)]
    population += [tuple(value % size for size in ATTRIBUTES.values()) for value in range(8)]
    population += [row[2:] for row in rows]
    return Hospital(rows, population, **amounts)


def seen(cell, node):
    """What is shared of a row in a form."""
    return tuple(levels[level](value) for value, levels, level in zip(cell, LEVELS.values(), node, strict=True))


def people_alike(hospital, cell, node, risk):
    """Number of people among whom a row hides."""
    if risk == "journalist":
        return max(sum(seen(other, node) == seen(cell, node) for other in hospital.population), 1)
    return len({row[0] for row in hospital.rows if seen(row[2:], node) == seen(cell, node)})


def utility(cell, node, values):
    """Share of the benefit of a row that a form keeps; `values` are those that each attribute has."""
    lost = whole = 0.0
    for position, (levels, level) in enumerate(zip(LEVELS.values(), node, strict=True)):
        group = [v for v in values[position] if levels[level](v) == levels[level](cell[position])]
        lost += math.log(len(group))
        whole += math.log(len(values[position]))
    return 0.0 if lost / whole > 1 - SAME else 1 - lost / whole


@dataclass(frozen=True)
class Played:
    """What a form leads to for a person."""

    publisher: float
    adversary: float
    attacked: bool
    success: float
    utility: float

    @property
    def risk(self):
        """Probability that the person is re-identified."""
        return self.success if self.attacked else 0.0


def values_of(hospital, risk):
    """Values of each attribute: those of the population, if there is one, else those of the rows."""
    cells = hospital.population if risk == "journalist" else [row[2:] for row in hospital.rows]
    return [sorted({cell[position] for cell in cells}) for position in range(len(ATTRIBUTES))]


def play(hospital, person, node, risk):
    """Share all rows of a person in a form, and let the adversary reply by the best of them."""
    values, cells = values_of(hospital, risk), [hospital.rows[number][2:] for number in hospital.rows_of(person)]
    success = max(1 / people_alike(hospital, cell, node, risk) for cell in cells)
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
    """The form that pays most for a person, of equals the first; None if none is allowed."""
    tie = SAME * (hospital.benefit + hospital.loss)
    best = None
    for node in NODES:
        played = play(hospital, person, node, risk)
        if (not no_attack or not played.attacked) and (best is None or played.publisher > best[1].publisher + tie):
            best = node, played
    return best


def best_of_table(hospital, risk, *, no_attack=False, limit=1.0):
    """The one form that pays most for all, with those suppressed who do not pay; None if none keeps to the limit."""
    tie = SAME * (hospital.benefit + hospital.loss)
    best = None
    for node in NODES:
        played = {person: play(hospital, person, node, risk) for person in hospital.people}
        kept = {
            person: each
            for person, each in played.items()
            if (not each.attacked if no_attack else each.publisher > tie)
        }
        if len(played) - len(kept) > math.floor(limit * len(played) * (1 + SAME)):
            continue
        payout = sum(each.publisher for each in kept.values())
        ahead = math.inf if best is None else payout - best[2]
        scale = SAME * max(hospital.benefit * len(played), 1.0)
        first = best is None or (sum(node), node) < (sum(best[0]), best[0])
        if ahead > scale or (first and ahead >= -scale):
            best = node, kept, payout
    return best


def household_risk(hospital, risk_of):
    """Mean over people of the largest risk in their household."""
    household = {row[0]: row[1] for row in hospital.rows}
    return sum(
        max(risk_of[other] for other in hospital.people if household[other] == household[person])
        for person in hospital.people
    ) / len(hospital.people)
