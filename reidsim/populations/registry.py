"""Identified registries: simple random samples of a population, by cell."""

from __future__ import annotations

import numpy as np

from reidsim.errors import InputError
from reidsim.populations.population import Population
from reidsim.random_counts import draw_multivariate_hypergeometric


def draw_registry(
    population: Population, size: int, rng: np.random.Generator, *, name: str = "registry", source: str = ""
) -> Population:
    """Return a registry: a simple random sample of `size` people.

    People are drawn without replacement.

    Parameters
    ----------
    population : Population
        A population with integer counts.
    size : int
        Number of people in the registry.
    rng : numpy.random.Generator
        Source of the draw.
    name, source : str
        Name and source of the registry.

    Returns
    -------
    Population
        The cells with a drawn person; the counts (int64) sum to `size`, and no cell has more people than in
        `population`. The share ``size / population.total`` is the prior probability of Xia et al. 2015 that a person
        is in the registry.

    Raises
    ------
    InputError
        If `size` is less than 1 or exceeds the population, or the population has expected counts.

    Notes
    -----
    The counts of all cells have a multivariate hypergeometric distribution: a cell with n of N people has on average
    ``n size / N`` people in the registry, with variance ``n (size/N) (1 - size/N) (N - n) / (N - 1)``. Xia et al. (CIKM
    2015, section 6.2) assume that their registry is such a sample.
    """
    counts = population.whole_counts("a registry cannot be drawn from expected counts")
    people = int(counts.sum())
    if not 1 <= size <= people:
        expected = f"1 to {people}, the number of people in {population.name!r}"
        raise InputError("size of the registry out of range", where="size", found=size, expected=expected)
    drawn = draw_multivariate_hypergeometric(rng, counts, size)
    listed = drawn > 0
    return Population(population.domain, population.cells[listed], drawn[listed], name=name, source=source)
