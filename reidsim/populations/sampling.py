"""Draws of missing attributes of records from the population."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Codes, keys_of_both
from reidsim.populations.population import Counts, Population

UNKNOWN = -1


def complete_records(
    population: Population,
    codes: Codes,
    rng: np.random.Generator,
    *,
    among: NDArray[np.bool_] | None = None,
    row_numbers: NDArray[np.integer] | None = None,
) -> Codes:
    """Draw the unknown attributes of records, given the known attributes.

    Each record is completed with a cell that agrees with its known values, drawn with probability proportional to
    the people in the cell.

    Parameters
    ----------
    population : Population
        People whose values are drawn.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Codes over ``population.domain``; ``UNKNOWN`` (-1) for values to draw.
    rng : numpy.random.Generator
        Source of the draws.
    among : ndarray of bool, shape (n_cells,), optional
        Mask of the cells that may be drawn; default: all cells.
    row_numbers : ndarray of int, shape (n_records,), optional
        Numbers of the records in messages; default: 1, 2, ...

    Returns
    -------
    ndarray of int32, shape (n_records, n_attributes)

    Raises
    ------
    InputError
        If no person in the cells that may be drawn agrees with the known values of a record.
    """
    completed = codes.copy()
    names = np.arange(1, len(codes) + 1) if row_numbers is None else row_numbers
    patterns, kind = np.unique(codes == UNKNOWN, axis=0, return_inverse=True)
    cells = population.cells if among is None else population.cells[among]
    counts = population.counts if among is None else population.counts[among]
    for number, unknown in enumerate(patterns):
        rows = np.flatnonzero(kind.ravel() == number)
        if unknown.any():
            chosen = _draw_matching(population, cells, counts, codes[rows], ~unknown, names[rows], rng)
            completed[np.ix_(rows, unknown)] = cells[np.ix_(chosen, unknown)]
    return completed


def _draw_matching(
    population: Population,
    cells: Codes,
    counts: Counts,
    codes: Codes,
    known: NDArray[np.bool_],
    row_numbers: NDArray[np.integer],
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    cell_keys, keys = keys_of_both(cells[:, known], codes[:, known])
    order = np.argsort(cell_keys, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(counts[order], dtype=np.float64)])
    start = np.searchsorted(cell_keys[order], keys, side="left")
    stop = np.searchsorted(cell_keys[order], keys, side="right")
    if (start == stop).any():
        at = int(np.flatnonzero(start == stop)[0])
        values = zip(population.domain.attributes, codes[at].tolist(), known, strict=True)
        found = ", ".join(f"{each.name} = {each.categories[code]}" for each, code, is_known in values if is_known)
        problem = f"nobody in population {population.name!r} matches a record, so missing attributes cannot be drawn"
        raise InputError(problem, where=f"row {row_numbers[at]}", found=found)
    low, high = cumulative[start], cumulative[stop]
    position = np.searchsorted(cumulative, low + rng.random(len(keys)) * (high - low), side="right") - 1
    chosen: NDArray[np.intp] = order[np.clip(position, start, stop - 1)]
    return chosen
