"""A registry is a sample without replacement of exactly the requested size."""

from itertools import product
from math import comb

import numpy as np
import pytest

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.populations.resources import draw_registry


def people(counts: list[int] | list[float] | np.ndarray) -> Population:
    domain = Domain((Attribute("zip", tuple(f"z{n}" for n in range(len(counts)))),))
    return Population(domain, np.arange(len(counts), dtype=np.int32)[:, None], np.asarray(counts), name="town")


def by_cell(population: Population) -> dict[tuple[int, ...], int]:
    return dict(zip(map(tuple, population.cells.tolist()), population.counts.tolist(), strict=True))


@pytest.mark.deep
def test_every_outcome_has_its_probability() -> None:
    counts, size, draws = [1, 2, 3, 2], 5, 20_000
    population, rng = people(counts), np.random.default_rng(7)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        listed = by_cell(draw_registry(population, size, rng))
        outcome = tuple(listed.get((cell,), 0) for cell in range(len(counts)))
        seen[outcome] = seen.get(outcome, 0) + 1
    possible = {
        outcome: np.prod([comb(n, k) for n, k in zip(counts, outcome, strict=True)]) / comb(sum(counts), size)
        for outcome in product(*(range(n + 1) for n in counts))
        if sum(outcome) == size
    }
    assert sum(possible.values()) == pytest.approx(1)
    assert set(seen) <= set(possible)
    expected = np.array([draws * p for p in possible.values()])
    observed = np.array([seen.get(outcome, 0) for outcome in possible])
    # Chi-square: mean n - 1, standard deviation sqrt(2 (n - 1)); five of them.
    degrees = len(possible) - 1
    assert ((observed - expected) ** 2 / expected).sum() < degrees + 5 * (2 * degrees) ** 0.5


@pytest.mark.parametrize("size", [-1, 0, 10])
def test_size_that_cannot_be_drawn(size: int) -> None:
    with pytest.raises(InputError) as caught:
        draw_registry(people([4, 5]), size, np.random.default_rng(0))
    assert (caught.value.where, caught.value.found) == ("size", size)
    assert caught.value.expected == "1 to 9, the number of people in 'town'"


def test_expected_counts_cannot_be_drawn_from() -> None:
    with pytest.raises(InputError, match="town: a registry cannot be drawn from expected counts"):
        draw_registry(people([4.0, 5.0]), 3, np.random.default_rng(0))
