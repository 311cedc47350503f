"""Audit a released file by the true values of its people.

It counts the rows that fit each person, and the people who fit each row. l-diversity and t-closeness of kept columns
are computed over the equivalence classes of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from reidsim.audit.notation import ColumnReader, Positions, is_all_numbers, numeric_order, text_of
from reidsim.linkage.people import RowSets
from reidsim.linkage.sensitive_values import GroupValues
from reidsim.populations.domain import distinct_rows

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Number of cells or forms whose people are counted at once, which limits the memory for pairs.
_ROWS_AT_ONCE = 1_000


class Matching(NamedTuple):
    """The match between distinct true rows (cells) and distinct released rows (forms).

    Attributes
    ----------
    cell_of_truth : ndarray of int, shape (n_truth,)
        Cell of each true row.
    form_of_release : ndarray of int, shape (n_released,)
        Form of each released row.
    fits : csr_array of bool, shape (n_cells, n_forms)
        Whether the values of each cell fit each form.
    """

    cell_of_truth: NDArray[np.intp]
    form_of_release: NDArray[np.intp]
    fits: csr_array


@dataclass(frozen=True, eq=False)
class ReleaseAudit:
    """Group sizes in a release, as counted by a fully informed recipient.

    The recipient has the true values of all people. If no persons are given, every row is another person.

    Parameters
    ----------
    matching : Matching
        Match between the true values of all records and the shared rows.
    rows_of_person : ndarray of int64, shape (n_people,)
        Group size of each person: number of people with a shared row that fits the person's true values. It is the
        minimum over the person's shared rows, or over all rows of the person if none is shared.
    is_shared : ndarray of bool, shape (n_people,)
        Whether at least one row of the person is shared.
    people_of_row : ndarray of int64, shape (n_shared,)
        Group size of each shared row: number of people in the release whose true values fit the row.
    misfits : int
        Number of shared rows that do not fit the true values of their own record.
    class_sizes : ndarray of int64, shape (n_classes,)
        Number of people in each equivalence class (shared rows with equal released quasi-identifiers).
    """

    matching: Matching
    rows_of_person: Counts
    is_shared: NDArray[np.bool_]
    people_of_row: Counts
    misfits: int
    class_sizes: Counts

    @property
    def people(self) -> int:
        """Number of people with true values, including people without a shared row."""
        return len(self.rows_of_person)

    @property
    def risk_of_row(self) -> float:
        """Highest probability that the person of a shared row is identified.

        It is one over the smallest group size in `people_of_row` that is not 0; 0 if there is none.
        """
        return _one_in(self.people_of_row)

    @property
    def risk_of_person(self) -> float:
        """Highest probability that a shared person's row is identified.

        It is one over the smallest group size of a shared person in `rows_of_person` that is not 0; 0 if there is none.
        """
        return _one_in(self.rows_of_person[self.is_shared])

    def easier_than(self, promised: NDArray[np.float64]) -> int:
        """Return the number of shared people whose risk exceeds the promised risk.

        The risk is one over the group size in `rows_of_person`; people whose group is empty are not counted.

        Parameters
        ----------
        promised : ndarray of float64, shape (n_people,)
            Promised probability of re-identification of each person.
        """
        found = self.is_shared & (self.rows_of_person > 0)
        risk = 1 / np.maximum(self.rows_of_person, 1)
        return int((found & (risk > promised * (1 + 1e-9))).sum())


def audit_release(
    released: pd.DataFrame,
    truth: pd.DataFrame,
    own: NDArray[np.intp],
    *,
    persons: NDArray[np.generic] | None = None,
    hierarchies: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> ReleaseAudit:
    """Return the audit of a release that was read from its file.

    It has group sizes, class sizes, and the number of rows that do not fit their record.

    Parameters
    ----------
    released : DataFrame
        Quasi-identifiers of the shared rows, as text; see `reidsim.audit.notation` for the notation of cells.
    truth : DataFrame
        True values of all records, shared or not, in the same columns.
    own : ndarray of int, shape (n_shared,)
        Record of each shared row: its row in `truth`, from 0.
    persons : ndarray, shape (n_records,), optional
        Person of each record; default: each record is another person.
    hierarchies : mapping of str to sequence of sequence of str, optional
        Rows of the hierarchy of each column that has one, by column name: the value, then its labels.
    """
    cell, form, fits = matching = _match(released, truth, hierarchies or {})
    person = np.arange(len(truth)) if persons is None else pd.factorize(np.asarray(persons))[0].astype(np.int64)
    owner = person[own]
    shared_record = np.isin(np.arange(len(truth)), own)
    shared_person = np.isin(np.arange(int(person.max(initial=-1)) + 1), owner)
    counts = shared_record | ~shared_person[person]
    rows_of_person = np.full(len(shared_person), np.iinfo(np.int64).max)
    rows, people = _membership(form, owner, fits.shape[1]), _membership(cell, person, fits.shape[0])
    np.minimum.at(rows_of_person, person[counts], _people_in(fits, *rows)[cell[counts]])
    people_of_row = _people_in(fits.T.tocsr(), *people)[form]
    misfits = len(own) - int(fits[cell[own], form].sum())
    return ReleaseAudit(matching, rows_of_person, shared_person, people_of_row, misfits, rows[0] @ rows[1])


def _membership(group: NDArray[np.intp], person: Counts, n_groups: int) -> tuple[csr_array, Counts]:
    """Return the distinct sets of groups with rows of a person, and people per set.

    The first result, shape (n_groups, n_sets), marks the groups of each set; the second has shape (n_sets,).

    Parameters
    ----------
    group : ndarray of int, shape (n_rows,)
        Group of each row, from 0 to `n_groups` - 1.
    person : ndarray of int64, shape (n_rows,)
        Person of each row.
    n_groups : int
        Number of groups.
    """
    sets, _ = RowSets.from_rows(group, np.unique(person, return_inverse=True)[1])
    marks = np.ones(len(sets.cells), dtype=np.bool_)
    return csr_array((marks, (sets.cells, sets.owner)), shape=(n_groups, sets.n_sets)), sets.people


def _people_in(fits: csr_array, groups: csr_array, people: Counts) -> Counts:
    """Return the number of distinct people in the groups marked by each row of `fits`.

    The shape is (n_rows,). `fits` has shape (n_rows, n_groups); `groups` and `people` are the results of `_membership`.
    """
    starts = range(0, max(fits.shape[0], 1), _ROWS_AT_ONCE)
    return np.concatenate([fits[start : start + _ROWS_AT_ONCE] @ groups @ people for start in starts])


def values_of_groups(
    fits: csr_array,
    group: NDArray[np.intp],
    person: Counts,
    code: Counts,
    levels: Counts,
    overall: NDArray[np.float64],
) -> GroupValues:
    """Return the values of a sensitive column in the groups that each row of `fits` marks.

    Parameters
    ----------
    fits : csr_array of bool, shape (n_rows, n_groups)
        Whether each row marks each group.
    group, person, code : ndarray of int64, shape (n_records,)
        Group, person and value of each record. A person counts once for each of its values.
    levels, overall : ndarray
        See `GroupValues.from_counts`.
    """
    n_values = levels.shape[1]
    pairs, pair = np.unique(group * n_values + code, return_inverse=True)
    sets, _ = RowSets.from_rows(pair, np.unique(person, return_inverse=True)[1])
    # A set is split by value, so that a person counts once for each value.
    parts, part = np.unique(sets.owner * n_values + pairs[sets.cells] % n_values, return_inverse=True)
    marks = np.ones(len(part), dtype=np.bool_)
    part_of_group = csr_array((marks, (pairs[sets.cells] // n_values, part)), shape=(fits.shape[1], len(parts)))
    place = np.arange(len(parts)), parts % n_values
    people = csr_array((sets.people[parts // n_values], place), shape=(len(parts), n_values))
    starts = range(0, max(fits.shape[0], 1), _ROWS_AT_ONCE)
    found = vstack([fits[start : start + _ROWS_AT_ONCE] @ part_of_group @ people for start in starts]).tocoo()
    of_row = _people_in(fits, *_membership(group, person, fits.shape[1]))
    row, value = found.row.astype(np.int64), found.col.astype(np.int64)
    return GroupValues.from_counts(row, value, found.data, of_row, overall, levels)


def _match(released: pd.DataFrame, truth: pd.DataFrame, hierarchies: Mapping[str, Sequence[Sequence[str]]]) -> Matching:
    """Match the distinct rows of true values and of released labels.

    Both tables hold text and have the same columns. `hierarchies` has the rows of the hierarchy of a column, by column
    name: the value, then its labels. The labels of a column are divided into layers, so that a value fits at most one
    label of a layer. Forms whose labels come from the same layers then share no cell, and cells can be matched with all
    these forms by one key.
    """
    columns, values, labels = [], [], []
    for name in truth.columns:
        value, distinct = pd.factorize(text_of(truth[name]))
        label, texts = pd.factorize(text_of(released[name]))
        reader = ColumnReader(list(distinct), hierarchies.get(str(name), ()))
        columns.append(_layers(len(distinct), [reader.fitting(text) for text in texts]))
        values.append(value)
        labels.append(label)
    (first_cell, cell), (first_form, form) = distinct_rows(values, len(truth)), distinct_rows(labels, len(released))
    labels = [label[first_form] for label in labels]
    used = [layer[label] for (layer, _), label in zip(columns, labels, strict=True)]
    first, combination = distinct_rows(used, len(first_form))
    pairs = [np.zeros((2, 0), dtype=np.intp)]
    for number, example in enumerate(first.tolist()):
        forms = np.flatnonzero(combination == number)
        fitting = np.zeros((len(columns), len(first_cell)), dtype=np.intp)
        for place, (_, label_at) in enumerate(columns):
            fitting[place] = label_at[used[place][example]][values[place][first_cell]]
        possible = np.flatnonzero((fitting >= 0).all(axis=0))
        rows = [np.concatenate([label[forms], found[possible]]) for label, found in zip(labels, fitting, strict=True)]
        keys = distinct_rows(rows, len(forms) + len(possible))[1]
        # The forms are distinct, so their keys are distinct, too.
        form_of_key = np.full(int(keys.max(initial=-1)) + 1, -1, dtype=np.intp)
        form_of_key[keys[: len(forms)]] = forms
        found = form_of_key[keys[len(forms) :]]
        pairs.append(np.stack([possible, found])[:, found >= 0])
    cells, forms = np.concatenate(pairs, axis=1)
    fits = csr_array((np.ones(len(cells), dtype=np.bool_), (cells, forms)), shape=(len(first_cell), len(first_form)))
    return Matching(cell, form, fits)


def _layers(n_values: int, fits: Sequence[Positions]) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Divide a column's labels into layers with at most one fitting label per value.

    Parameters
    ----------
    n_values : int
        Number of true values.
    fits : sequence of ndarray of int
        Numbers of the values that fit each label.

    Returns
    -------
    ndarray of int, shape (n_labels,)
        Layer of each label, from 0.
    list of ndarray of int, shape (n_values,)
        For each layer, the label that each value fits; -1 if none.
    """
    layer_of_label = np.zeros(len(fits), dtype=np.intp)
    label_at: list[NDArray[np.intp]] = []
    # Widest labels first: if labels are nested, a label then overlaps only earlier labels that contain it.
    for label in sorted(range(len(fits)), key=lambda label: -len(fits[label])):
        free = next((n for n, layer in enumerate(label_at) if (layer[fits[label]] < 0).all()), len(label_at))
        if free == len(label_at):
            label_at.append(np.full(n_values, -1, dtype=np.intp))
        label_at[free][fits[label]] = label
        layer_of_label[label] = free
    return layer_of_label, label_at


def _one_in(counts: Counts) -> float:
    return float(np.max(1 / counts[counts > 0], initial=0.0))


@dataclass(frozen=True)
class Diversity:
    """l-diversity and t-closeness of a kept column in the worst equivalence class.

    Parameters
    ----------
    name : str
        Name of the column.
    distinct : int
        Smallest number of different values in a class (distinct l-diversity); 0 if there is no class.
    entropy : float
        Smallest exponential of the entropy of the values in a class (entropy l-diversity); 0 if there is no class.
    closeness : float
        Largest distance between the distributions of values in a class and in all shared rows (t-closeness), in [0, 1];
        0 if there is no class.
    distance : {"equal", "ordered"}
        Ground distance of the earth mover's distance: ``equal`` between all values, for nominal columns; or
        ``ordered``, equal between neighbouring values, for numeric columns, in which empty cells come first.
    """

    name: str
    distinct: int
    entropy: float
    closeness: float
    distance: Literal["equal", "ordered"]


def diversity(name: str, column: pd.Series[str], classes: Counts) -> Diversity:
    """Return l-diversity and t-closeness of a column in the worst equivalence class.

    A missing cell counts as a value, "". The distance is ordered if all other values are numbers, else equal.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series of str
        One value per shared row.
    classes : ndarray of int64, shape (n_rows,)
        Class of each row, numbered from 0.
    """
    codes, values = pd.factorize(text_of(column))
    ordered = is_all_numbers(list(values))
    if not len(codes):
        return Diversity(name, 0, 0.0, 0.0, "equal")
    if ordered:
        codes = np.argsort(numeric_order(list(values)), kind="stable")[codes]
    sizes = np.bincount(classes)
    overall = np.bincount(codes, minlength=len(values)) / len(codes)
    # One entry for each combination of class and value that occurs, sorted by class and value.
    pairs, counts = np.unique(classes * len(values) + codes, return_counts=True)
    of_class, value = np.divmod(pairs, len(values))
    share, present = counts / sizes[of_class], sizes > 0
    entropy = np.exp(np.bincount(of_class, -share * np.log(share)))
    equal = (np.bincount(of_class, np.abs(share - overall[value]) - overall[value]) + 1) / 2
    far = _ordered_distance(of_class, value, share, overall) if ordered else equal
    return Diversity(
        name,
        int(np.bincount(of_class)[present].min()),
        float(entropy[present].min()),
        float(np.clip(far[present].max(), 0.0, 1.0)),
        "ordered" if ordered else "equal",
    )


def _ordered_distance(of_class: Counts, value: Counts, share: Floats, overall: Floats) -> Floats:
    """Return the distance of each class from all rows by ordered values.

    The shape is (n_classes,). It is the mean gap between the cumulative shares of the values in the class and in all
    rows; 0 with a single value. The first three parameters have one entry for each combination of class and value that
    occurs, sorted by class and value: class, value, and share of the value in the class. `overall` has the share of
    each value in all rows. Between two values of a class, the cumulative share of the class is constant and the
    cumulative share of all rows increases. Therefore the gap is summed separately on both sides of the point where the
    two are equal.
    """
    last = len(overall) - 1
    cumulative = np.cumsum(overall)[:-1]
    summed = np.concatenate([[0.0], np.cumsum(cumulative)])
    begins = np.flatnonzero(np.diff(of_class, prepend=-1))
    # The cumulative share of a class is 0 before its first value.
    start, share = np.insert(value, begins, 0), np.insert(share, begins, 0.0)
    of_class = np.insert(of_class, begins, of_class[begins])
    begins += np.arange(len(begins))
    level = np.cumsum(share)
    level -= np.repeat(level[begins], np.diff(begins, append=len(level)))
    end = np.append(start[1:], last)
    end[np.append(begins[1:], len(end)) - 1] = last
    crossing = np.clip(np.searchsorted(cumulative, level), start, end)
    gaps = level * (crossing - start) - (summed[crossing] - summed[start])
    gaps += (summed[end] - summed[crossing]) - level * (end - crossing)
    return np.asarray(np.bincount(of_class, gaps) / max(last, 1), dtype=np.float64)
