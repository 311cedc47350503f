"""Draw populations and samples, with the true uniqueness of the sampled records."""

from dataclasses import dataclass

import numpy as np

from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.uniqueness import SampleCells

SHAPE = (40, 2, 8, 6, 9, 5)
PEOPLE = 100_000


@dataclass
class Sample:
    cells: SampleCells
    population_uniques: int
    staying: float
    """Share of the sample uniques that are population uniques."""
    share: float
    """Mean over sample uniques of 1 / group size in the population."""


def falling(n, power):
    chances = 1 / np.arange(1, n + 1) ** power
    return chances / chances.sum()


def drawn(rng, chances, given):
    """Draw a value per person; `given` selects the person's row of probabilities."""
    place = (rng.random(len(given))[:, None] > chances.cumsum(axis=1)[given]).sum(axis=1)
    return np.minimum(place, chances.shape[1] - 1)


def independent(rng):
    return np.column_stack([rng.choice(n, PEOPLE, p=falling(n, 1.0)) for n in SHAPE])


def chained(rng):
    """Draw attributes that depend on the previous one: pairwise interactions only."""
    columns = [rng.choice(SHAPE[0], PEOPLE, p=falling(SHAPE[0], 0.5))]
    for n, before in zip(SHAPE[1:], SHAPE, strict=False):
        columns.append(drawn(rng, rng.dirichlet(np.full(n, 0.6), size=before), columns[-1]))
    return np.column_stack(columns)


def hidden(rng):
    """Draw attributes from 40 latent classes: interactions of any order."""
    kind = rng.choice(40, PEOPLE, p=falling(40, 0.7))
    return np.column_stack([drawn(rng, rng.dirichlet(np.full(n, 0.3), size=40), kind) for n in SHAPE])


POPULATIONS = {"independent": independent, "chained": chained, "hidden": hidden}


def sample(name: str, rate: float, *, strata: bool, seed: int) -> Sample:
    """Draw a population and sample it.

    With strata, rates differ by the third attribute.
    """
    rng = np.random.default_rng((seed, *name.encode()))
    people = POPULATIONS[name](rng)
    rates = rate * (np.array([0.4, 1.0, 2.0])[people[:, 2] % 3] if strata else np.ones(PEOPLE))
    sampled = rng.random(PEOPLE) < rates
    _, cell, sizes = np.unique(people, axis=0, return_inverse=True, return_counts=True)
    cell = cell.ravel()[sampled]
    alone = np.bincount(cell, minlength=len(sizes))[cell] == 1
    true = sizes[cell[alone]]
    cells = SampleCells.of_records(list(people[sampled].T), 1 / rates[sampled])
    return Sample(cells, int((sizes == 1).sum()), float((true == 1).mean()), float((1 / true).mean()))


def frequencies_of(groups_by_size):
    """Return the group frequencies of a mapping of size to number of groups."""
    sizes = sorted(groups_by_size)
    return GroupFrequencies(np.array(sizes), np.array([groups_by_size[size] for size in sizes]))
