"""Read a column of a released file: its labels, and the probability of each label given the true value.

The model of noise of a column (`NoiseSection`) describes how another program changed its values; see
`reidsim.releases.noise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import refuse_first, refuse_rows, require_among
from reidsim.core.files import data_file, require_memory
from reidsim.core.tables import numbers, read_table, sniff_delimiter
from reidsim.kinds.tables.schema import Noise, NoiseSection
from reidsim.populations.population import Attribute
from reidsim.releases import noise as models
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import Floats
from reidsim.releases.records import CellReader

Integers = NDArray[np.int64]

# Bytes of memory per label and value of a model while it is built, and the tolerance of sums of probabilities.
_OF_ENTRY, _ROUNDING = 40, 1e-6


class ReleasedColumn(NamedTuple):
    """An attribute of a released file.

    Attributes
    ----------
    number : ndarray of int64, shape (n_rows,)
        Number of the label of each row.
    model : ndarray of float64, shape (n_labels, n_values)
        Probability of each label given each true value, up to a factor per label.
    levels : ndarray of int64, shape (2, n_labels)
        Hierarchy levels of the labels. First row: the lowest level at which the label equals a group of the hierarchy,
        or -1 if there is none. Second row: the lowest level at which one group contains all values of the label, or the
        highest level if there is none. With noise, both are -1.
    """

    number: Integers
    model: Floats
    levels: Integers


def read_column(
    cells: pd.Series[str],
    noise: Noise,
    hierarchy: Hierarchy,
    own: NDArray[np.integer] | None,
    label: Callable[[str], str],
    folder: Path,
) -> ReleasedColumn:
    """Return a column of a released file with its model of noise.

    Parameters
    ----------
    cells : Series of str
        Text of the column; its name is the column's name in messages.
    noise : Noise
        Model of noise of the attribute.
    hierarchy : Hierarchy
        Hierarchy of the attribute.
    own : ndarray of int, shape (n_rows,), optional
        Code of the true value of each row; None for synthetic rows.
    label : callable
        Function that returns the category for a value as it is written in files.
    folder : Path
        Folder of the scenario.

    Raises
    ------
    InputError
        If a cell cannot be read, or is impossible given the true value of its record; if a model needs numbers, or the
        original records of synthetic rows; or if the matrix cannot be used.
    """
    attribute, where = hierarchy.attribute, f"noise.{hierarchy.attribute.name}"
    number, labels = pd.factorize(cells.str.strip())
    require_memory(len(labels) * attribute.size * _OF_ENTRY, "too many labels for memory", where=str(cells.name))
    levels = np.full((2, len(labels)), -1)
    section = noise if isinstance(noise, NoiseSection) else NoiseSection.model_construct()
    refuse = partial(refuse_rows, column=cells.name, found=cells)
    if noise == "unknown":
        model = models.unknown(len(labels), attribute.size)
    elif noise == "estimated":
        problem = "a model can be estimated only from rows that belong to records"
        refuse_first((own is None, problem, where, noise, "a model with parameters"))
        model = _estimated(number, np.asarray(own), labels, attribute)
    elif section.matrix is not None:
        table = _transition_matrix(data_file(section.matrix, folder, "scenarios"), attribute, label)
        expected = f"a column of {section.matrix}"
        refuse(~np.isin(labels, table.columns)[number], "no such label in the matrix", expected=expected)
        model = table[labels].to_numpy().T
        refuse((model.sum(axis=1) == 0)[number], "the label has probability 0 for every value")
    elif section.deviation is not None:
        values, given = _as_numbers(attribute.categories), _as_numbers(labels)
        other = next((each for each, value in zip(attribute.categories, values, strict=True) if np.isnan(value)), None)
        refuse_first((other is not None, "normal noise needs numbers", where, other, "whole or decimal numbers"))
        is_suppressed = np.array([set(label) <= {SUPPRESSED} for label in labels])
        expected = f"a number, or {SUPPRESSED}"
        refuse((np.isnan(given) & ~is_suppressed)[number], "the cell cannot be read", expected=expected)
        model = models.with_added(np.where(is_suppressed, 0.0, given), values, section.deviation)
        model[is_suppressed] = 1.0
    else:
        reader = CellReader(hierarchy, label)
        read = [*map(reader.read, labels)]
        expected = "a value, a label of its hierarchy, *, an interval such as [20, 30[, or a set such as {a, b}; or a "
        expected += f"model of noise ({where})"
        refuse(
            np.array([members is None for members in read])[number],
            "the cell cannot be read",
            expected=lambda row: (
                ", ".join(f"another element than {each!r}" for each in reader.unknown(cells.iloc[row])) or expected
            ),
        )
        members = np.array(read, dtype=np.bool_).reshape(len(read), attribute.size)
        sets, number_of = np.unique(members, axis=0, return_inverse=True)
        number, model, levels = number_of.ravel()[number], models.of_sets([*sets]), _levels_of(hierarchy.groups, sets)
        if section.keep is not None:
            # Each value of a set counts as equally frequent. A set is drawn if one of its values is drawn.
            shares = (np.bincount(number) / len(number) / model.sum(axis=1)) @ model
            model, levels = model @ models.replaced(section.keep, shares), np.full_like(levels, -1)
    if own is not None:
        stray = model[number, own] <= 0
        value = attribute.categories[own[stray.argmax()]]
        expected = f"a value or group with {value!r}, the record's own value, or {where} for a changed value"
        refuse(stray, "the row does not belong to this record", expected=expected)
    return ReleasedColumn(number.astype(np.int64), model, levels)


def _as_numbers(texts: Iterable[str]) -> Floats:
    """Return texts as numbers; NaN for other texts and numbers that are not finite."""
    values = np.asarray(pd.to_numeric(pd.Series([*texts], dtype="str"), errors="coerce"), dtype=np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _transition_matrix(path: Path, attribute: Attribute, label: Callable[[str], str]) -> pd.DataFrame:
    """Read a PRAM matrix: one row per category, in their order, and one column per released label.

    Raises
    ------
    InputError
        If a category has no row or several, or a row is not a distribution.
    """
    table = read_table(path, delimiter=sniff_delimiter(path))
    values = table.iloc[:, 0].map(label)
    refuse_rows(values.duplicated(), "value with several rows", source=path, column=table.columns[0], found=values)
    require_among("value without a row in the matrix", attribute.categories, [*values], where=str(path))
    table = pd.DataFrame({name: numbers(table, name, path) for name in table.columns[1:]})
    wrong, found = (table.sum(axis=1) - 1.0).abs() > _ROUNDING, table.sum(axis=1)
    refuse_rows(wrong, "probabilities that do not sum to 1", source=path, found=found, expected="a sum of 1")
    return table.set_axis(pd.Index(values)).loc[[*attribute.categories]]


def _estimated(number: Integers, own: NDArray[np.integer], labels: pd.Index[str], attribute: Attribute) -> Floats:
    """Return the model of a column that is estimated from its records, shape (n_labels, n_values).

    There are up to three simple models: the label does not depend on the value; a value is kept or drawn anew, if each
    label is a value; and normal noise is added, if labels and values are numbers.
    """
    shares = np.bincount(number) / len(number)
    simple = [np.repeat(shares[:, None], attribute.size, axis=1)]
    codes = attribute.labels.get_indexer(labels)
    if (codes >= 0).all():
        # The share of unchanged values is keep + (1 - keep) x the chance that a value is drawn in its own place.
        drawn = np.asarray(np.bincount(codes, shares, attribute.size), dtype=np.float64)
        same = drawn[own].mean()
        keep = 1.0 if same == 1.0 else max((np.mean(codes[number] == own) - same) / (1.0 - same), 0.0)
        simple.append(models.replaced(keep, drawn)[codes])
    given, values = _as_numbers(labels), _as_numbers(attribute.categories)
    deviation = np.sqrt(np.mean((given[number] - values[own]) ** 2))
    if deviation > 0 and not np.isnan(given).any() and not np.isnan(values).any():
        # Densities become probabilities by Bayes' rule, so that each label keeps its share in the file.
        density = models.with_added(given, values, deviation)
        of_values = np.bincount(own, minlength=attribute.size) / len(own)
        simple.append(shares[:, None] * density / (density @ of_values)[:, None])
    return models.estimated(number, own, simple)


def _levels_of(groups: NDArray[np.int32], sets: NDArray[np.bool_]) -> Integers:
    """Return the hierarchy levels of sets of values, shape (2, n_sets); see `ReleasedColumn.levels`.

    Parameters
    ----------
    groups : ndarray of int32, shape (n_levels, n_values)
        Group of each value at each level.
    sets : ndarray of bool, shape (n_sets, n_values)
        Whether each value is in the set; no set is empty.
    """
    levels = []
    for members in sets:
        covering = [level for level, of_value in enumerate(groups) if np.ptp(of_value[members]) == 0]
        exact = [level for level in covering if (groups[level] == groups[level][members][0]).sum() == members.sum()]
        levels.append(((exact or [-1])[0], (covering or [len(groups) - 1])[0]))
    return np.array(levels).T
