"""Draw people from an attribute model, as counts by cell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.attribute_model.model import AttributeModel, build_model
from reidsim.populations.attribute_model.recipe import AttributeModelRecipe
from reidsim.populations.domain import Codes
from reidsim.populations.population import Population
from reidsim.random_counts import draw_multinomial, first_above

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


def attribute_model_population(
    recipe: AttributeModelRecipe, folder: Path, *, name: str, expected: bool, seed: int
) -> Population:
    """Return the population of an attribute model, as counts by cell.

    Its recipe is of kind ``attribute-model``.

    Parameters
    ----------
    recipe : AttributeModelRecipe
        Parsed recipe.
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the population.
    expected : bool
        Whether to return expected counts (float64) instead of a draw; only for models with few cells.
    seed : int
        Seed of the draw.

    Returns
    -------
    Population
        Population over the recipe's attributes, in order; its total is ``recipe.people``.

    Raises
    ------
    InputError
        If the recipe or one of its files cannot be used, the domain has 2**62 cells or more, or expected counts of more
        than 20 million cells are required.
    """
    model = build_model(recipe, folder)
    cells, counts = expected_counts(model, recipe.people) if expected else draw_counts(model, recipe.people, seed)
    return Population(model.domain, cells, counts, name=name, source=recipe.source)


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
    many, few = (
        np.random.default_rng(entropy)
        for entropy in np.random.SeedSequence(seed, spawn_key=tuple(b"counts by cell")).spawn(2)
    )
    keys, counts = _split_by_attribute(
        model,
        np.array([people], dtype=np.int64),
        lambda position, rows, held: _draw_split(model, position, rows, held, many, few),
    )
    return _decode(keys, model.domain.shape), counts


def expected_counts(model: AttributeModel, people: int) -> tuple[Codes, Floats]:
    """Return the expected count of each cell with positive probability.

    The result has the same form as that of `draw_counts`, with counts of dtype float64; they sum to `people`.

    Raises
    ------
    InputError
        If there are more than 20 million such cells.
    """
    cells = [0] * len(model.conditionals)

    def split(position: int, rows: Integers, counts: Floats) -> Floats:
        shares = model.conditionals[position].shares[rows]
        cells[position] += int(np.count_nonzero(shares))
        if cells[position] > _MOST_EXPECTED_CELLS:
            where, expected = f"attribute {model.domain.names[position]!r}", f"at most {_MOST_EXPECTED_CELLS:,} cells"
            problem, hint = "too many cells for expected counts", "draw whole people instead"
            raise InputError(problem, where=where, expected=expected, hint=hint)
        return np.asarray(counts[:, None] * shares)

    keys, counts = _split_by_attribute(model, np.array([people], dtype=np.float64), split)
    return _decode(keys, model.domain.shape), counts


def _split_by_attribute(
    model: AttributeModel,
    counts: NDArray[Number],
    split: Callable[[int, Integers, NDArray[Number]], NDArray[Number]],
) -> tuple[Integers, NDArray[Number]]:
    """Split one cell with all people by each attribute in turn.

    Return mixed-radix keys and counts of cells.
    """
    shape = model.domain.shape
    # Called only to raise an error if the domain is too large for keys.
    model.domain.keys(np.zeros((0, len(shape)), dtype=np.int32))
    keys = np.zeros(1, dtype=np.int64)
    for position, conditional in enumerate(model.conditionals):
        size = shape[position]
        step = max(_SPLIT_ENTRIES // size, 1)
        parts: list[tuple[Integers, NDArray[Number]]] = []
        for start in range(0, len(keys), step):
            part = slice(start, start + step)
            given = [_digit(keys[part], shape[:position], earlier) for earlier in conditional.given]
            row = conditional.combinations.of_codes(given, len(keys[part]))
            table = split(position, row, counts[part])
            cell, value = np.nonzero(table)
            parts.append((keys[part][cell] * size + value, table[cell, value]))
        keys = np.concatenate([part_keys for part_keys, _ in parts])
        counts = np.concatenate([part_counts for _, part_counts in parts])
    return keys, counts


def _draw_split(
    model: AttributeModel,
    position: int,
    rows: Integers,
    counts: Integers,
    many: np.random.Generator,
    few: np.random.Generator,
) -> Integers:
    """Return random counts with the people of each cell split by an attribute.

    The result has shape (n_cells, n_values).
    """
    conditional = model.conditionals[position]
    table = np.zeros((len(counts), conditional.shares.shape[1]), dtype=np.int64)
    is_few = counts <= _FEW
    large = np.flatnonzero(~is_few)
    table[large] = draw_multinomial(many, counts[large], conditional.shares[rows[large]])
    small = np.flatnonzero(is_few)
    uniforms = few.random(int(counts[small].sum()))
    _deal(conditional.cumulative, rows, counts, small, uniforms, table)
    return table


def _digit(keys: Integers, radices: tuple[int, ...], position: int) -> Integers:
    """Return the code at `position` of each mixed-radix key over `radices`."""
    below = int(np.prod(radices[position + 1 :], dtype=np.int64))
    return (keys // below) % radices[position]


def _decode(keys: Integers, shape: tuple[int, ...]) -> Codes:
    """Return the codes of mixed-radix keys, shape (n, n_attributes)."""
    codes = np.empty((len(keys), len(shape)), dtype=np.int32)
    rest = keys.copy()
    for position in range(len(shape) - 1, -1, -1):
        rest, codes[:, position] = np.divmod(rest, shape[position])
    return codes


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
