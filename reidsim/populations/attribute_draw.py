"""Draw people from an attribute model, as counts by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reidsim.core.randomness import draw_multinomial, first_above
from reidsim.errors import InputError
from reidsim.populations.domain import Codes, Domain
from reidsim.populations.value_groups import Combinations

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Drawn counts (int64) or expected counts (float64)
Number = TypeVar("Number", np.int64, np.float64)

# The people of a cell with at most this many people are drawn one by one, which is faster than binomial draws.
_FEW = 16
# Number of table entries (cells x values) to split at a time; limits memory and does not affect the result.
_SPLIT_ENTRIES = 1 << 21

# Maximum number of cells with an expected count: unlike drawn people, all of them are stored.
_MOST_EXPECTED_CELLS = 20_000_000


@dataclass(frozen=True)
class ConditionalShares:
    """Shares of an attribute's values, conditional on groups of earlier attributes.

    Parameters
    ----------
    given : tuple of int
        Positions of the attributes on which the shares depend.
    combinations : Combinations
        Combinations of the groups of these attributes.
    shares : ndarray of float64, shape (n_combinations, n_values)
        Share of each value, given the combination; each row sums to 1. Rows of combinations without people are
        placeholders.
    """

    given: tuple[int, ...]
    combinations: Combinations
    shares: Floats

    @cached_property
    def cumulative(self) -> Floats:
        """Cumulative sums of the shares along each row, same shape.

        They are exactly 1 from the last positive share on.
        """
        sums = np.cumsum(self.shares, axis=1)
        last = self.shares.shape[1] - 1 - (self.shares[:, ::-1] > 0).argmax(axis=1)
        sums[np.arange(self.shares.shape[1]) >= last[:, None]] = 1.0
        return np.ascontiguousarray(sums)


@dataclass(frozen=True)
class AttributeModel:
    """A domain and the conditional shares of each attribute's values.

    Shares are conditional on earlier attributes.

    Parameters
    ----------
    domain : Domain
        Attributes in the order in which they are drawn.
    conditionals : tuple of ConditionalShares
        One element per attribute, in order.
    """

    domain: Domain
    conditionals: tuple[ConditionalShares, ...]


def draw_counts(model: AttributeModel, people: int, seed: int) -> tuple[Codes, Integers]:
    """Return a draw of the number of people in each cell.

    Cells are split by one attribute after the other: the people of a cell are distributed over the values of the next
    attribute by one multinomial draw. This is equal in distribution to drawing person by person, but time and memory
    depend on the number of occupied cells instead of people.

    Parameters
    ----------
    model : AttributeModel
        Domain and conditional shares.
    people : int
        Number of people to draw.
    seed : int
        Seed of the draw.

    Returns
    -------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Occupied cells in the order of their codes.
    counts : ndarray of int64, shape (n_cells,)
        Number of people in each cell; the sum is `people`.
    """
    root = np.random.SeedSequence(seed, spawn_key=tuple(b"counts by cell"))
    many, few = map(np.random.default_rng, root.spawn(2))

    def split(conditional: ConditionalShares, rows: Integers, counts: Integers) -> Integers:
        table = np.zeros((len(counts), conditional.shares.shape[1]), dtype=np.int64)
        large, small = np.flatnonzero(counts > _FEW), np.flatnonzero(counts <= _FEW)
        table[large] = draw_multinomial(many, counts[large], conditional.shares[rows[large]])
        _deal(conditional.cumulative, rows, counts, small, few.random(int(counts[small].sum())), table)
        return table

    return _split_by_attribute(model, np.array([people], dtype=np.int64), split)


def expected_counts(model: AttributeModel, people: int) -> tuple[Codes, Floats]:
    """Return the expected count of each cell with positive probability.

    The result has the same form as that of `draw_counts`, with counts of dtype float64; they sum to `people`.

    Raises
    ------
    InputError
        If there are more than 20 million such cells.
    """
    return _split_by_attribute(
        model,
        np.array([people], dtype=np.float64),
        lambda conditional, rows, counts: np.asarray(counts[:, None] * conditional.shares[rows]),
    )


def _split_by_attribute(
    model: AttributeModel,
    counts: NDArray[Number],
    split: Callable[[ConditionalShares, Integers, NDArray[Number]], NDArray[Number]],
) -> tuple[Codes, NDArray[Number]]:
    """Split one cell with all people by each attribute in turn.

    Return codes and counts of cells.
    """
    # Called only to raise an error if the domain is too large for keys.
    model.domain.keys(np.zeros((0, len(model.domain.shape)), dtype=np.int32))
    codes = np.zeros((1, 0), dtype=np.int32)
    for attribute, conditional in zip(model.domain.attributes, model.conditionals, strict=True):
        parts: list[tuple[Codes, NDArray[Number]]] = []
        step, n_cells = max(_SPLIT_ENTRIES // attribute.size, 1), 0
        for start in range(0, len(codes), step):
            part, held = codes[start : start + step], counts[start : start + step]
            rows = conditional.combinations.of_codes([part[:, earlier] for earlier in conditional.given], len(part))
            table = split(conditional, rows, held)
            cell, value = np.nonzero(table)
            parts.append((np.column_stack([part[cell], value.astype(np.int32)]), table[cell, value]))
            n_cells += len(cell)
            if counts.dtype == np.float64 and n_cells > _MOST_EXPECTED_CELLS:
                where, expected = f"attribute {attribute.name!r}", f"at most {_MOST_EXPECTED_CELLS:,} cells"
                problem, hint = "too many cells for expected counts", "draw whole people instead"
                raise InputError(problem, where=where, expected=expected, hint=hint)
        codes = np.concatenate([part for part, _ in parts])
        counts = np.concatenate([part for _, part in parts])
    return codes, counts


@njit(cache=True)
def _deal(
    cumulative: Floats, rows: Integers, counts: Integers, cells: Integers, uniforms: Floats, table: Integers
) -> None:
    """Add the people of some cells, each with a value drawn, to a table (cell, value).

    `cumulative` holds the cumulative shares by row, and `rows` the row of each cell. Each person uses one number of
    `uniforms`.
    """
    used = 0
    for cell in cells:
        for _ in range(counts[cell]):
            table[cell, first_above(cumulative[rows[cell]], uniforms[used])] += 1
            used += 1
