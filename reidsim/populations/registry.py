"""Identified registries: simple random samples of a population, counted by cell."""

from __future__ import annotations

import numpy as np

from reidsim.errors import InputError
from reidsim.populations.population import Population
from reidsim.random_counts import draw_multivariate_hypergeometric


def draw_registry(
    population: Population, size: int, rng: np.random.Generator, *, name: str = "registry", source: str = ""
) -> Population:
    """Draw a registry: `size` different people of a population, every set of that many being equally likely.

    Parameters
    ----------
    population : Population
        In whole people.
    size : int
        People in the registry.
    rng : numpy.random.Generator
    name, source : str
        Of the registry.

    Returns
    -------
    Population
        Over the cells with a drawn person; its counts (int64) sum to `size`, and no cell has more people than in
        `population`. The share of the population that it lists, ``size`` over
        ``population.total``, is the prior of Xia et al. 2015 that a person is in the registry.

    Raises
    ------
    InputError
        If `size` is not from 1 to the people of the population, or the population has expected counts.

    Notes
    -----
    The counts of all cells together are multivariate hypergeometric, so a cell of n people out of N has
    ``n size / N`` in the registry on average, with variance ``n (size/N) (1 - size/N) (N - n) / (N - 1)``. Xia et
    al. (CIKM 2015, section 6.2) take their registry for such a sample.
    """
    counts = population.whole_counts("a registry cannot be drawn from expected counts")
    people = int(counts.sum())
    if not 1 <= size <= people:
        expected = f"1 to {people}, the number of people in {population.name!r}"
        raise InputError("size of the registry out of range", where="size", found=size, expected=expected)
    drawn = draw_multivariate_hypergeometric(rng, counts, size)
    listed = drawn > 0
    return Population(population.domain, population.cells[listed], drawn[listed], name=name, source=source)
