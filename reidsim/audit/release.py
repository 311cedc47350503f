"""Audit a released file by the true values of its people.

It counts the rows that fit each person, and the people who fit each row. l-diversity and t-closeness of kept columns
are computed over the equivalence classes of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.core.tables import coded
from reidsim.linkage.assignments import components, possible_pairs
from reidsim.linkage.people import GroupValues, RowSets
from reidsim.populations.population import added_up, distinct_rows, numbered, row_keys

Positions = NDArray[np.intp]

ANYTHING = "*"
_NUMBER = r"-?\d+(?:\.\d+)?"
_AS_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\+?")
_BETWEEN = re.compile(rf"({_NUMBER})\s*(?:-|\N{{EN DASH}}|\.\.|to)\s*({_NUMBER})")
_IN_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER}|-[Ii]nf|)\s*[,;]\s*({_NUMBER}|[Ii]nf|)\s*([\[\])])")
_ONE_SIDED = re.compile(
    rf"(>=|\N{{GREATER-THAN OR EQUAL TO}}|>|<=|\N{{LESS-THAN OR EQUAL TO}}|<)\s*({_NUMBER})|({_NUMBER})\+"
)
_SET = re.compile(r"\{(.*)\}|\[(.*)\]", re.DOTALL)
_OR = " or "
_DAY_OR_MONTH = re.compile(r"(\d{4})-\d{2}(?:-\d{2})?")
_NO_DATE = "not a date"


class ColumnReader:
    """A parser of the released cells of a column.

    A cell is interpreted as the first of the following that applies: any value (``*``); a label of the column's
    hierarchy, which denotes the values with this label; a value itself; a code with masked characters (``372**``); an
    interval (``20-29``, ``[20, 29]``, ``[20, 30[``, ``[20, 30)``, ``[20, inf)``, ``90+``, ``>=90``, ``<18``); a set
    (``{a, b}``, ``[372**, 036**]``, ``a or b``); a number in another notation (``7`` for ``07``). If values are dates
    such as ``1985-03-31``, a month or year denotes its days, an interval of years denotes the days of these years, and
    ``not a date`` denotes all other values. Any other cell fits no value.

    Parameters
    ----------
    values : sequence of str
        Distinct true values, without leading or trailing spaces.
    hierarchy : sequence of sequence of str
        Rows of the column's hierarchy as text, if it has one: the value, then its labels.
    """

    def __init__(self, values: Sequence[str], hierarchy: Sequence[Sequence[str]] = ()) -> None:
        self.values = tuple(values)
        self._position = {value: position for position, value in enumerate(self.values)}
        self.labels = _grouped(
            (label, self._position.get(row[0].strip())) for row in hierarchy for label in {text.strip() for text in row}
        )
        self._masked: dict[tuple[int, ...], Mapping[str, Positions]] = {}

    def fitting(self, cell: str) -> Positions:
        """Return the positions of the true values that fit a released cell, shape (n,).

        Positions in `values` are distinct. For the notations, see `ColumnReader`. The array is empty if no value fits.
        Spaces around the cell are ignored.
        """
        cell = cell.strip()
        if cell == ANYTHING:
            return np.arange(len(self.values))
        if cell in self.labels:
            return self.labels[cell]
        if cell in self._calendar:
            return self._calendar[cell]
        if cell in self._position:
            return np.array([self._position[cell]], dtype=np.intp)
        if ANYTHING in cell and not _SET.fullmatch(cell):
            return self._unmasked(cell)
        bounds = _interval(cell)
        if bounds is not None:
            return self._within(*bounds)
        listed = _SET.fullmatch(cell)
        if listed:
            parts = [self.fitting(part) for part in re.split(r"[,;]", listed[1] or listed[2] or "") if part.strip()]
            return np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.intp)
        if _OR in cell:
            # The cell cannot simply be split at the word "or", because a value may contain it.
            among = f"{_OR}{cell}{_OR}"
            fits = [position for value, position in self._position.items() if f"{_OR}{value}{_OR}" in among]
            return np.array(sorted(fits), dtype=np.intp)
        number = _as_number(cell)
        return np.zeros(0, dtype=np.intp) if number is None else self._within(number, number, False, False)

    def middle(self, cell: str) -> float:
        """Return the middle of the numbers that a released cell denotes, of a column of numbers.

        A number stands for itself, also if it is no true value. An interval of whole numbers ends at whole numbers, so
        that ``[20, 30)`` has the middle of ``20-29``; an infinite end is replaced by the last true value. The result is
        NaN if the cell denotes no number, or all numbers of the column although it is no number.
        """
        numbers, positions = self._sorted
        number, bounds = _as_number(cell.strip()), _interval(cell.strip())
        if number is not None and (bounds is None or cell.strip() in self._position):
            return number
        covered = numbers[np.isin(positions, self.fitting(cell))]
        if len(covered) == len(numbers) or not (len(covered) or bounds):
            return np.nan
        if bounds is None:
            return float(covered[0] + covered[-1]) / 2
        low, high, above, below = bounds
        step = float((numbers == np.floor(numbers)).all())
        low = low + above * step if np.isfinite(low) else float(covered.min(initial=high))
        high = high - below * step if np.isfinite(high) else float(covered.max(initial=low))
        return (low + high) / 2

    @cached_property
    def _calendar(self) -> dict[str, Positions]:
        """Positions of values by the text of a day, month or year that contains them.

        If some values are days or months, other values are under ``not a date``, except the empty one and years;
        otherwise the result is empty.
        """
        dates = {value: at for value, at in self._position.items() if _DAY_OR_MONTH.fullmatch(value)}
        if not dates:
            return {}
        others = {value: at for value, at in self._position.items() if value and value not in dates}
        found = _grouped((text, at) for value, at in dates.items() for text in {value[:4], value[:7], value})
        for value in others.keys() & found.keys():
            found[value] = np.sort(np.append(found[value], others[value]))
        no_dates = [at for value, at in others.items() if not re.fullmatch(r"\d{4}", value)]
        return found | {_NO_DATE: np.array(no_dates, dtype=np.intp)}

    def _unmasked(self, cell: str) -> Positions:
        """Return the positions of values that agree with a cell except at its stars.

        They must have the same length as the cell, with the stars. The result is empty if there are none.
        """
        kept = tuple(place for place, character in enumerate(cell) if character != ANYTHING)
        key = (len(cell), *kept)
        if key not in self._masked:
            alike = {value: at for value, at in self._position.items() if len(value) == len(cell)}
            self._masked[key] = _grouped(("".join(value[place] for place in kept), at) for value, at in alike.items())
        return self._masked[key].get("".join(cell[place] for place in kept), np.zeros(0, dtype=np.intp))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.float64], Positions]:
        """Numbers among the values, ascending, and the position of each in `values`.

        A day or month is replaced by its year. Values that are not numbers are left out.
        """
        years = (_DAY_OR_MONTH.sub(r"\1", value) for value in self.values)
        # None becomes NaN, which is sorted to the end.
        numbers = np.array([_as_number(text) for text in years], dtype=np.float64)
        order = np.argsort(numbers, kind="stable")[: np.isfinite(numbers).sum()]
        return numbers[order], order

    def _within(self, low: float, high: float, above: bool, below: bool) -> Positions:
        """Return the positions of values that are numbers from `low` to `high`.

        They are in ascending order of the numbers. Exclude `low` if `above`, `high` if `below`. A day or month counts
        as its year.
        """
        numbers, positions = self._sorted
        first = int(np.searchsorted(numbers, low, side="right" if above else "left"))
        last = int(np.searchsorted(numbers, high, side="left" if below else "right"))
        return positions[first:last]


def _grouped(positions: Iterable[tuple[str, int | None]]) -> dict[str, Positions]:
    """Return the ascending positions of each text; None is no position."""
    members: dict[str, list[int]] = {}
    for text, position in positions:
        members.setdefault(text, []).extend(() if position is None else (position,))
    return {text: np.array(sorted(found), dtype=np.intp) for text, found in members.items()}


def is_all_numbers(values: Sequence[str]) -> bool:
    """Return whether all values that are not empty are numbers.

    Numbers are such as ``48``, ``-1.5``, ``1,5`` or ``90+``. The result is False if there is no number.
    """
    present = [value for value in values if value]
    return bool(present) and all(_as_number(value) is not None for value in present)


def denotes_numbers(cell: str) -> bool:
    """Return whether a cell is a number or an interval, also of numbers that no value has."""
    return _as_number(cell) is not None or _interval(cell) is not None


def _as_number(text: str) -> float | None:
    found = _AS_NUMBER.fullmatch(text)
    return float(found[1].replace(",", ".")) if found else None


def _interval(cell: str) -> tuple[float, float, bool, bool] | None:
    """Return both ends of an interval, and whether each end is open (excluded).

    The results are low end, high end, whether the low end is open, and whether the high end is. A missing end is
    infinite. The result is None if the cell is not an interval; for the notations, see `ColumnReader`.
    """
    if found := _IN_BRACKETS.fullmatch(cell):
        return float(found[2] or "-inf"), float(found[3] or "inf"), found[1] in "](", found[4] in "[)"
    if found := _BETWEEN.fullmatch(cell):
        return float(found[1]), float(found[2]), False, False
    if found := _ONE_SIDED.fullmatch(cell):
        bound, is_open = float(found[2] or found[3]), found[1] in ("<", ">")
        if (found[1] or ">")[0] in "<\N{LESS-THAN OR EQUAL TO}":
            return -np.inf, bound, False, is_open
        return bound, np.inf, is_open, False
    return None


Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Number of pairs of a cell and a form whose people are counted in one step, which limits the memory.
_ENTRIES_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class ReleaseAudit:
    """Group sizes in a release, as counted by a fully informed recipient.

    The recipient has the true values of all people. If no persons are given, every row is another person.

    Parameters
    ----------
    cell_of_truth : ndarray of int, shape (n_records,)
        Distinct combination of true values (cell) of each record. If the adversary assigns all rows to records at once,
        the records of people with several rows have other cells, see `TrueRecords.audit`.
    form_of_release : ndarray of int, shape (n_shared,)
        Distinct combination of released values (form) of each shared row.
    possible : csr_array of bool, shape (n_cells, n_forms)
        Whether the values of each cell fit each form and, if the adversary assigns all rows to records at once, the
        pair occurs in an assignment; see `reidsim.linkage.assignments`.
    rows_of_person : ndarray of int64, shape (n_people,)
        Group size of each person: number of people with a shared row that fits the person's true values. It is the
        minimum over the person's shared rows, or over all rows of the person if none is shared.
    is_shared : ndarray of bool, shape (n_people,)
        Whether at least one row of the person is shared.
    represented : ndarray of int64, shape (n_people,)
        Number of people with equal rows whom each person represents; 0 for people who do not take part in the release.
    people_of_row : ndarray of int64, shape (n_shared,)
        Group size of each shared row: number of people in the release whose true values fit the row.
    possible_people_of_row, possible_rows_of_person : ndarray of int64, shape (n_shared,), (n_people,)
        As `people_of_row` and `rows_of_person`, but counted in `possible`.
    misfits : int
        Number of shared rows that do not fit the true values of their own record.
    class_sizes : ndarray of int64, shape (n_classes,)
        Number of people in each equivalence class (shared rows with equal released quasi-identifiers).
    """

    cell_of_truth: NDArray[np.intp]
    form_of_release: NDArray[np.intp]
    possible: scipy.sparse.csr_array
    rows_of_person: Counts
    is_shared: NDArray[np.bool_]
    represented: Counts
    people_of_row: Counts
    possible_people_of_row: Counts
    possible_rows_of_person: Counts
    misfits: int
    class_sizes: Counts

    @property
    def people(self) -> int:
        """Number of people who take part in the release, including people without a shared row."""
        return int(self.represented.sum())

    @property
    def risk_of_row(self) -> float:
        """Highest probability that the person of a shared row is identified.

        It is one over the smallest group size in `possible_people_of_row` that is not 0; 0 if there is none.
        """
        return _one_in(self.possible_people_of_row)

    @property
    def risk_of_person(self) -> float:
        """Highest probability that a shared person's row is identified.

        It is one over the smallest group size of a shared person in `possible_rows_of_person` that is not 0; 0 if there
        is none.
        """
        return _one_in(self.possible_rows_of_person[self.is_shared])

    def easier_than(self, promised: NDArray[np.float64]) -> int:
        """Return the number of shared people whose risk exceeds the promised risk.

        The risk is one over the group size in `rows_of_person`; people whose group is empty are not counted.

        Parameters
        ----------
        promised : ndarray of float64, shape (n_people,)
            Promised probability of re-identification of each person.
        """
        found = self.is_shared & (self.rows_of_person > 0)
        easier = found & (1 / np.maximum(self.rows_of_person, 1) > promised * (1 + 1e-9))
        return int(self.represented[easier].sum())


class TrueRecords:
    """True values of all records, shared or not, with which the recipient of a release compares its rows.

    Parameters
    ----------
    truth : DataFrame
        Quasi-identifiers, as text; one row per record.
    persons : ndarray, shape (n_records,), optional
        Person of each record; default: each record is another person.
    hierarchies : mapping of str to sequence of sequence of str, optional
        Rows of the hierarchy of each column that has one, by column name: the value, then its labels.
    represented : ndarray of int64, shape (n_people,), optional
        Number of people with equal rows whom each person represents, in the order of their first records; default: 1.
    times : ndarray of int64, shape (n_records,), optional
        Number of rows that each record stands for, of the same person or of the people represented; by default, each of
        these people has one such row.
    """

    def __init__(
        self,
        truth: pd.DataFrame,
        persons: NDArray[np.generic] | None = None,
        hierarchies: Mapping[str, Sequence[Sequence[str]]] | None = None,
        represented: Counts | None = None,
        times: Counts | None = None,
    ) -> None:
        self._person = (
            np.arange(len(truth)) if persons is None else pd.factorize(np.asarray(persons))[0].astype(np.int64)
        )
        self._values, self._readers = list[Positions](), dict[str, ColumnReader]()
        for name in map(str, truth.columns):
            codes, values = coded(truth[name])
            self._values.append(codes)
            self._readers[name] = ColumnReader(list(values), (hierarchies or {}).get(name, ()))
        # First record of each distinct combination of true values (cell), and the cell of each record.
        self._first, self._cell = distinct_rows(self._values, len(truth))
        n_people = int(self._person.max(initial=-1)) + 1
        self._represented = np.ones(n_people, np.int64) if represented is None else represented
        self._times = self._represented[self._person] if times is None else times
        # Whether the person of each record has several rows.
        self.has_several = (np.bincount(self._person, self._times) > self._represented)[self._person]

    def audit(
        self,
        released: pd.DataFrame,
        own: NDArray[np.intp],
        present: NDArray[np.bool_] | None = None,
        *,
        assigns: bool = True,
    ) -> ReleaseAudit:
        """Return the audit of a release that was read from its file.

        It has group sizes, class sizes, and the number of rows that do not fit their record.

        Parameters
        ----------
        released : DataFrame
            Quasi-identifiers of the shared rows, as text, in the columns of `truth`; see `reidsim.audit.release` for
            the notation of cells.
        own : ndarray of int, shape (n_shared,)
            Record of each shared row: its row in `truth`, from 0.
        present : ndarray of bool, shape (n_people,), optional
            Whether each person takes part in the release; all do by default. Others are not counted.
        assigns : bool
            Whether the adversary assigns all rows to records at once; otherwise, every row that fits is possible. All
            rows of a person have the same levels. So a row of a person with several rows is assigned only to equal
            rows; other assignments, which might agree with the levels of all rows, are not counted.
        """
        represented = self._represented if present is None else np.where(present, self._represented, 0)
        cell, (form, fits) = self._cell, self._match(released)
        person, owner = self._person, self._person[own]
        shared_person = np.zeros(len(represented), dtype=np.bool_)
        shared_person[owner] = True
        counts = ~shared_person[person]
        counts[own] = True
        rows, people = row_sets(form, owner, represented), row_sets(cell, person, represented)

        def group_sizes(fits: scipy.sparse.csr_array) -> tuple[Counts, Counts]:
            """Return the group size of each person, and of each row, if these pairs fit."""
            of_person = np.full(len(shared_person), np.iinfo(np.int64).max)
            np.minimum.at(of_person, person[counts], people_in(fits, rows)[cell[counts]])
            return of_person, people_in(fits.T.tocsr(), people)[form]

        rows_of_person, people_of_row = possible = group_sizes(fits)
        times = self._times[own]
        misfits = int(times.sum()) - int((fits[cell[own], form] * times).sum())
        sizes = added_up(rows.people[rows.owner], rows.cells, fits.shape[1])
        if assigns and not misfits:
            withheld = represented[person] > 0
            withheld[own] = False
            # A cell of its own for each form of people with several rows, which fits this form, and one for their
            # withheld rows, which fits none.
            has_several = self.has_several
            n_cells, n_forms = fits.shape
            cell = np.where(has_several, n_cells + n_forms, cell)
            cell[own[has_several[own]]] = n_cells + form[has_several[own]]
            own_forms = scipy.sparse.eye_array(n_forms + 1, n_forms, dtype=np.bool_)
            fits = scipy.sparse.csr_array(scipy.sparse.vstack([fits, own_forms]))
            people = row_sets(cell, person, represented)
            found = components(fits, cell[own], form, np.unique(cell[withheld & ~has_several]))
            fits = possible_pairs(fits, found)
            possible = group_sizes(fits)
        return ReleaseAudit(
            cell,
            form,
            fits,
            rows_of_person,
            shared_person,
            represented,
            people_of_row,
            possible[1],
            possible[0],
            misfits,
            sizes,
        )

    def _match(self, released: pd.DataFrame) -> tuple[Positions, scipy.sparse.csr_array]:
        """Return the form of each released row, and whether the values of each cell fit each form."""
        labels, fitting, sizes = [], [], []
        for name, reader in self._readers.items():
            label, texts = coded(released[name])
            labels.append(label)
            fitting.append([reader.fitting(text) for text in texts])
            sizes.append(len(reader.values))
        first, form = distinct_rows(labels, len(released))
        cells, forms = [value[self._first] for value in self._values], [label[first] for label in labels]
        return form, fitting_forms(cells, forms, fitting, sizes, (len(self._first), len(first)))


def fitting_forms(
    cells: Sequence[Positions],
    forms: Sequence[Positions],
    fitting: Sequence[Sequence[Positions]],
    sizes: Sequence[int],
    shape: tuple[int, int],
) -> scipy.sparse.csr_array:
    """Return whether the values of each cell fit each form, shape (n_cells, n_forms).

    The labels of a column are divided into layers, so that a value fits at most one label of a layer. Forms whose
    labels come from the same layers then share no cell, and cells can be matched with all these forms by one key.

    Parameters
    ----------
    cells, forms : sequence of ndarray of int
        For each column, the value of each cell and the label of each form. Forms are distinct.
    fitting : sequence of sequence of ndarray of int
        For each column, the values that fit each label.
    sizes : sequence of int
        Number of values of each column.
    shape : tuple of int
        Number of cells and of forms.
    """
    columns = [_layers(*column) for column in zip(sizes, fitting, strict=True)]
    used = [layer[label] for (layer, _), label in zip(columns, forms, strict=True)]
    first, combination = distinct_rows(used, shape[1])

    @cache
    def label_of_cell(place: int, layer: int) -> Positions:
        return np.asarray(columns[place][1][layer][cells[place]])

    pairs = [np.zeros((2, 0), dtype=np.intp)]
    for number, example in enumerate(first.tolist()):
        own = np.flatnonzero(combination == number)
        labels = [
            np.concatenate([form[own], label_of_cell(place, int(layer[example]))])
            for place, (form, layer) in enumerate(zip(forms, used, strict=True))
        ]
        keys = row_keys(labels, len(own) + shape[0])
        place_of_cell = pd.Index(keys[: len(own)]).get_indexer(pd.Index(keys[len(own) :]))
        found = np.flatnonzero(place_of_cell >= 0)
        pairs.append(np.stack([found, own[place_of_cell[found]]]))
    places = np.concatenate(pairs, axis=1)
    return scipy.sparse.csr_array((np.ones(places.shape[1], dtype=np.bool_), tuple(places)), shape=shape)


def row_sets(group: NDArray[np.intp], person: Counts, represented: Counts) -> RowSets:
    """Return the `RowSets` of the rows of people.

    Parameters
    ----------
    group, person : ndarray of int, shape (n_rows,)
        Group and person of each row.
    represented : ndarray of int64, shape (n_people,)
        Number of people whom each person represents.
    """
    distinct, number = numbered(person)
    sets, set_of_person = RowSets.from_rows(group, number)
    return replace(sets, people=added_up(represented[distinct], set_of_person, sets.n_sets))


def people_in(fits: scipy.sparse.csr_array, people: RowSets) -> NDArray[Any]:
    """Return the number of distinct people with a row in the groups that each row of `fits` marks, shape (n_rows,).

    Parameters
    ----------
    fits : csr_array of bool, shape (n_rows, n_groups)
        Whether each row marks each group.
    people : RowSets
        People by the groups of their rows.
    """
    marks = np.ones(len(people.cells), dtype=np.bool_)
    groups = scipy.sparse.csr_array((marks, (people.cells, people.owner)), shape=(fits.shape[1], people.n_sets))
    return np.concatenate([part @ groups @ people.people for part in _parts(fits)])


def _parts(fits: scipy.sparse.csr_array) -> Iterator[scipy.sparse.csr_array]:
    """Yield the rows of a matrix in parts with about a million entries."""
    n_parts = fits.nnz // _ENTRIES_AT_ONCE + 1
    for start in range(0, max(fits.shape[0], 1), rows := -(-fits.shape[0] // n_parts) or 1):
        yield fits[start : start + rows]


def values_of_groups(
    fits: scipy.sparse.csr_array,
    group: NDArray[np.intp],
    person: Counts,
    code: Counts,
    levels: Counts,
    overall: NDArray[np.float64],
    represented: Counts,
) -> GroupValues:
    """Return the values of a sensitive column in the groups that each row of `fits` marks.

    A person counts once for each of its values in the union of these groups.

    Parameters
    ----------
    fits : csr_array of bool, shape (n_rows, n_groups)
        Whether each row marks each group.
    group, person, code : ndarray of int64, shape (n_records,)
        Group, person and value of each record.
    levels, overall : ndarray
        See `GroupValues.from_counts`.
    represented : ndarray of int64, shape (n_people,)
        See `row_sets`.
    """
    n_values = levels.shape[1]
    pairs, pair = np.unique(group * n_values + code, return_inverse=True)
    sets = row_sets(pair, person, represented)
    # A set is split by value, so that a person counts once for each value.
    parts, part = np.unique(sets.owner * n_values + pairs[sets.cells] % n_values, return_inverse=True)
    marks = np.ones(len(part), dtype=np.bool_)
    part_of_group = scipy.sparse.csr_array(
        (marks, (pairs[sets.cells] // n_values, part)), shape=(fits.shape[1], len(parts))
    )
    place = np.arange(len(parts)), parts % n_values
    people = scipy.sparse.csr_array((sets.people[parts // n_values], place), shape=(len(parts), n_values))
    found = scipy.sparse.vstack([part @ part_of_group @ people for part in _parts(fits)]).tocoo()
    of_row = people_in(fits, row_sets(group, person, represented))
    row, value = found.row.astype(np.int64), found.col.astype(np.int64)
    return GroupValues.from_counts(row, value, found.data, of_row, overall, levels)


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
        For each layer, the label that each value fits; the number of labels if none.
    """
    layer_of_label = np.zeros(len(fits), dtype=np.intp)
    label_at: list[NDArray[np.intp]] = []
    # Widest labels first: if labels are nested, a label then overlaps only earlier labels that contain it.
    for label in sorted(range(len(fits)), key=lambda label: -len(fits[label])):
        free = next((n for n, layer in enumerate(label_at) if (layer[fits[label]] == len(fits)).all()), len(label_at))
        if free == len(label_at):
            label_at.append(np.full(n_values, len(fits), dtype=np.intp))
        label_at[free][fits[label]] = label
        layer_of_label[label] = free
    return layer_of_label, label_at


def _one_in(counts: Counts) -> float:
    return float(np.max(1 / counts[counts > 0], initial=0.0))


def diversity(name: str, column: pd.Series[str], classes: Counts, times: Counts | None = None) -> dict[str, Any]:
    """Return l-diversity and t-closeness of a column in the worst equivalence class.

    A missing cell counts as a value, "".

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series of str
        One value per shared row.
    classes : ndarray of int64, shape (n_rows,)
        Class of each row, numbered from 0.
    times : ndarray of int64, shape (n_rows,), optional
        Number of shared rows that are equal to each row; 1 by default.

    Returns
    -------
    dict
        Plain data: the ``name``; ``distinct``, the smallest number of different values in a class (distinct
        l-diversity); ``entropy``, the smallest exponential of the entropy of the values in a class (entropy
        l-diversity); ``closeness``, the largest earth mover's distance between the distributions of values in a class
        and in all rows (t-closeness), in [0, 1]; and its ground ``distance``: ``ordered``, equal between neighbouring
        values, if all values but the empty one, which comes first, are numbers; otherwise ``equal`` between all values.
        Numbers are 0 without rows.
    """
    codes, values = coded(column)
    if not len(codes):
        return {"name": name, "distinct": 0, "entropy": 0.0, "closeness": 0.0, "distance": "equal"}
    if ordered := is_all_numbers(list(values)):
        # The empty value comes before all numbers.
        numbers = np.array([_as_number(value) if value else -np.inf for value in values], dtype=np.float64)
        codes = np.argsort(np.argsort(numbers, kind="stable"))[codes]
    times = np.ones(len(codes), np.int64) if times is None else times
    sizes = np.bincount(classes, times)
    overall = np.bincount(codes, times, len(values)) / times.sum()
    # One entry for each combination of class and value that occurs, sorted by class and value.
    pairs, pair = np.unique(classes * len(values) + codes, return_inverse=True)
    counts = np.bincount(pair, times)
    of_class, value = np.divmod(pairs, len(values))
    share, present = counts / sizes[of_class], sizes > 0
    entropy = np.exp(np.bincount(of_class, -share * np.log(share)))
    equal = (np.bincount(of_class, np.abs(share - overall[value]) - overall[value]) + 1) / 2
    far = _ordered_distance(of_class, value, share, overall) if ordered else equal
    return {
        "name": name,
        "distinct": int(np.bincount(of_class)[present].min()),
        "entropy": float(entropy[present].min()),
        "closeness": float(np.clip(far[present].max(), 0.0, 1.0)),
        "distance": "ordered" if ordered else "equal",
    }


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
