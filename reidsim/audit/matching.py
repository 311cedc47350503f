"""Match released rows with true rows, without building a table of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.notation import ColumnReader, text_of
from reidsim.populations.domain import distinct_rows

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matching:
    """The match between distinct true rows (cells) and distinct released rows (forms).

    Parameters
    ----------
    cell_of_truth : ndarray of int, shape (n_truth,)
        Cell of each true row.
    form_of_release : ndarray of int, shape (n_released,)
        Form of each released row.
    n_cells, n_forms : int
        Numbers of cells and forms.
    """

    cell_of_truth: NDArray[np.intp]
    form_of_release: NDArray[np.intp]
    n_cells: int
    n_forms: int
    _values: Codes
    _labels: Codes
    _layer_of_label: tuple[Codes, ...]
    _label_at: tuple[tuple[Codes, ...], ...]

    def fits(self) -> Iterator[Codes]:
        """Yield, for disjoint sets of forms, the form that each cell fits, -1 if none.

        The labels of a column are divided into layers, so that a value fits at most one label of a layer. Forms whose
        labels come from the same layers then share no cell, and cells can be matched with all these forms by one key.
        """
        n_columns = self._labels.shape[1]
        if not n_columns:
            yield np.full(self.n_cells, min(self.n_forms, 1) - 1, dtype=np.int64)
            return
        layers = np.column_stack([self._layer_of_label[c][self._labels[:, c]] for c in range(n_columns)])
        first, combination = distinct_rows(list(layers.T), len(layers))
        for number, example in enumerate(first.tolist()):
            forms = np.flatnonzero(combination == number)
            cells = np.column_stack(
                [self._label_at[c][layers[example, c]][self._values[:, c]] for c in range(n_columns)]
            )
            possible = np.flatnonzero((cells >= 0).all(axis=1))
            found = np.full(self.n_cells, -1, dtype=np.int64)
            rows = np.concatenate([self._labels[forms], cells[possible]])
            keys = distinct_rows(list(rows.T), len(rows))[1]
            # The forms are distinct, so their keys are distinct, too.
            form_of_key = np.full(int(keys.max(initial=-1)) + 1, -1, dtype=np.int64)
            form_of_key[keys[: len(forms)]] = forms
            found[possible] = form_of_key[keys[len(forms) :]]
            yield found


def match(released: pd.DataFrame, truth: pd.DataFrame, hierarchies: Mapping[str, Sequence[Sequence[str]]]) -> Matching:
    """Return the match between the rows of two tables of text with the same columns.

    Parameters
    ----------
    released : DataFrame
        Released rows; see `ColumnReader` for the notation of cells.
    truth : DataFrame
        True rows.
    hierarchies : mapping of str to rows
        Hierarchies as text, by column, for columns that have one.
    """
    n_columns = truth.shape[1]
    values = np.empty((len(truth), n_columns), dtype=np.int64)
    labels = np.empty((len(released), n_columns), dtype=np.int64)
    layer_of_label, label_at = [], []
    for place, name in enumerate(truth.columns):
        values[:, place], distinct = pd.factorize(text_of(truth[name]))
        labels[:, place], cells = pd.factorize(text_of(released[name]))
        layer, at = _layers(ColumnReader(list(distinct), hierarchies.get(str(name), ())), list(cells))
        layer_of_label.append(layer)
        label_at.append(at)
    first_cell, cell = distinct_rows(list(values.T), len(values))
    first_form, form = distinct_rows(list(labels.T), len(labels))
    sizes, layers = (len(first_cell), len(first_form)), (tuple(layer_of_label), tuple(label_at))
    return Matching(cell, form, *sizes, values[first_cell], labels[first_form], *layers)


def _layers(reader: ColumnReader, cells: Sequence[str]) -> tuple[Codes, tuple[Codes, ...]]:
    """Return the layer of each label, and the fitting label of each value.

    The second result holds, for each layer, the label that each value fits, -1 if none.
    """
    fits = [reader.fitting(cell) for cell in cells]
    layer_of_label = np.zeros(len(cells), dtype=np.int64)
    at: list[Codes] = []
    # Widest labels first: if labels are nested, a label then overlaps only earlier labels that contain it.
    for label in sorted(range(len(cells)), key=lambda label: -len(fits[label])):
        free = next((n for n, layer in enumerate(at) if (layer[fits[label]] < 0).all()), None)
        if free is None:
            free = len(at)
            at.append(np.full(len(reader.values), -1, dtype=np.int64))
        at[free][fits[label]] = label
        layer_of_label[label] = free
    return layer_of_label, tuple(at)
