"""Link perturbed records to their most probable people, by likelihood.

A released record r comes from person j with likelihood ``L_j(r)``, the product over columns of the probability of the
released label given the person's value. If every person is equally probable beforehand, Bayes' rule gives the
posterior probability ``L_j(r) / sum of L_i(r) over all people i``. The adversary names a person with the highest
posterior probability. Without noise, the likelihood is 1 for the people in the record's group and 0 for others, and the
probability of a right guess is one over the group size (Wan et al. 2015, Eq. 4).

An adversary may also start from person j and look for its rows. Let ``p(r) = L_j(r) / sum of L_i(r) over all people i``
and ``o(r) = p(r) / (1 - p(r))``. The file holds one or more rows of each of its people, and all of them are equally
probable to be j. The adversary names a row r and compares it with one random row of every other person of the file.
The posterior probability that r is a row of person j is ``o(r)``, divided by ``o(r)`` plus the sum, over the other
people of the file, of the mean of ``o`` over their rows; see `match_rows`. Without noise and with equal
generalizations, it is one over the number of people with a row that fits the person.

Sums and maxima over people are computed column by column. The labels of a record up to a column are its beginning; the
values of a person after a column are its ending. Likelihoods are computed once for records with equal beginnings, and
people with equal endings are added up. So the time grows with the distinct beginnings times the distinct endings, not
with records times people. The sum of o is the sum of the powers of p. Of rows that fit no person with a
large p, the first eight powers are added up; the other rows are kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.populations.population import Codes, Counts, distinct_rows

Floats = NDArray[np.float64]

# Likelihoods that differ by less than this fraction count as equal.
_EQUAL = 1e-12
# Rows with a p of at least this number are kept apart. The powers of a smaller p beyond the eighth add at most 1e-12 of
# it. On 30,000 people with five columns, the sums take 2.7 times as long as the sum of p; a sum by pair, 15 times.
_APART, _POWERS = 0.03, 8


class Match(NamedTuple):
    """Most probable people of each record; arrays of shape (n_records,).

    In the result of `match_rows`, these are the most probable rows of each person.

    Attributes
    ----------
    likelihood : ndarray of float64
        Likelihood of the most probable people.
    tied : ndarray of float64
        Number of these people.
    total : ndarray of float64
        Sum of the likelihoods of all people.
    first : ndarray of float64
        Number of the first cell of these people.
    """

    likelihood: Floats
    tied: Floats
    total: Floats
    first: Floats

    @property
    def size(self) -> Floats:
        """One over `probability`; without noise, the number of people in the record's group."""
        return self.total / self.likelihood

    @property
    def probability(self) -> Floats:
        """Probability that one of the most probable people, drawn at random, is the person of the record."""
        return np.divide(self.likelihood, self.total, out=np.zeros_like(self.total), where=self.total > 0)

    def success(self, own: Floats) -> Floats:
        """Return the chance that a random guess among the most probable people is right.

        Parameters
        ----------
        own : ndarray of float64, shape (n_records,)
            Likelihood of each record's own person; 0 if this person is not among the candidates.
        """
        among = (own > 0) & (own >= self.likelihood * (1 - _EQUAL))
        return np.divide(1.0, self.tied, out=np.zeros_like(self.total), where=among)


def joint_likelihood(labels: Codes, values: Codes, columns: Sequence[Floats]) -> Floats:
    """Return the likelihood of each released record, given one person per record, shape (n_records,).

    Parameters
    ----------
    labels : ndarray of int, shape (n_records, n_columns)
        Number of the released label of each record and column.
    values : ndarray of int, shape (n_records, n_columns)
        Codes of the values of the person.
    columns : sequence of ndarray of float64, shape (n_labels, n_values)
        For each column, the probability (or density) of each label given each value.
    """
    found = np.ones(len(labels))
    for place, column in enumerate(columns):
        found *= column[labels[:, place], values[:, place]]
    return found


class Candidates:
    """People to whom records may be linked.

    Parameters
    ----------
    values : ndarray of int, shape (n_cells, n_columns)
        Codes of the values in each cell (combination of values).
    people : ndarray, shape (n_cells,)
        Number of people in each cell.
    usual : ndarray of float64, shape (n_cells,), optional
        Number above 0 by which the likelihoods of a cell are divided; 1 by default.
    """

    def __init__(self, values: Codes, people: Counts, usual: Floats | None = None) -> None:
        self._values, self._people = np.asarray(values), np.asarray(people, dtype=np.float64)
        self._usual = np.ones(len(self._people)) if usual is None else usual

    def match(self, labels: Codes, columns: Sequence[Floats], *, odds: bool = False) -> Match:
        """Return the `Match` of each released record; for the parameters, see `joint_likelihood`.

        With `odds`, `Match.total` is the sum of ``p / (1 - p)`` instead of the likelihoods p, which do not exceed 1 if
        all entries of `columns` are 1.
        """
        # Columns with few labels and few values per label come first, because they have few distinct beginnings.
        order = np.argsort([len(column) * np.mean(column > 0) for column in columns], kind="stable")
        first, of_record = distinct_rows([labels[:, place] for place in order], len(labels))
        records = first[np.lexsort(labels[first][:, order[::-1]].T)]
        cells = np.flatnonzero(self._people > 0)
        # Sorted by ending, so that equal endings are adjacent.
        cells = cells[np.lexsort(self._values[cells][:, order].T)]
        tables = [np.asarray(columns[place], dtype=np.float64) for place in order]
        widths, sizes = [table.shape[1] for table in tables], [table.size for table in tables]
        starts = np.ascontiguousarray(labels[records][:, order] * widths + np.cumsum([0, *sizes[:-1]]))
        endings = _endings(self._values[cells][:, order])
        table, apart, powers = np.concatenate([*map(np.ravel, tables)]), np.inf, 1
        if odds:
            apart, powers = _APART, _POWERS
        found = _matched(starts, table, *endings, self._people[cells], self._usual[cells], cells, apart, powers)
        position = np.empty(len(labels), dtype=np.intp)
        position[of_record[records]] = np.arange(len(records))
        return Match(*found[:, position[of_record]])


def match_rows(
    values: Codes,
    labels: Codes,
    columns: Sequence[Floats],
    usual: Floats,
    person: NDArray[np.integer] | None = None,
) -> Match:
    """Return the `Match` of each person to the released rows: `Candidates.match` with exchanged roles.

    Parameters
    ----------
    values : ndarray of int, shape (n_persons, n_columns)
        Codes of the values of each person.
    labels : ndarray of int, shape (n_rows, n_columns)
        Number of the released label of each row and column.
    columns : sequence of ndarray of float64, shape (n_labels, n_values)
        See `joint_likelihood`.
    usual : ndarray of float64, shape (n_rows,)
        Sum (or mean) of the likelihoods of each row over all people, above 0; equal for rows with equal labels.
    person : ndarray of int, shape (n_rows,), optional
        Person of the file to whom each row belongs: 0, 1, ..., without gaps. If given, each person of the file counts
        once, so that `Match.tied` is a sum over rows of one over the rows of their person. `usual` must be the sum over
        people, who include the person searched. The totals are in the units of the likelihoods, so that
        `Match.probability` is the posterior probability; see the module. Of equally probable labels, it is that of the
        first.
    """
    first, kind = distinct_rows([*labels.T], len(labels))
    # With largest entries of 1, the likelihood of a row never rises from column to column.
    usual_of_kind = usual[first]
    scales = [np.where((most := column.max(axis=1, keepdims=True)) > 0, most, 1.0) for column in columns]
    for place, scale in enumerate(scales):
        usual_of_kind /= scale[labels[first, place], 0]
    weight = np.ones(len(labels)) if person is None else 1.0 / np.bincount(person)[person]
    rows = Candidates(labels[first], np.bincount(kind, weight, len(first)), usual_of_kind)
    scaled = [(column / scale).T for column, scale in zip(columns, scales, strict=True)]
    match = rows.match(values, scaled, odds=person is not None)
    if person is None or not len(labels):
        return match
    # The person of the named row does not count with the mean of its rows, but with this row.
    counts = scipy.sparse.csr_array((np.ones(len(kind)), (person, kind)), shape=(len(labels), len(first)))
    beside = scipy.sparse.csr_array((weight, (kind, person)), shape=(len(first), len(labels))) @ counts
    one, cell = distinct_rows([*values.T], len(values))
    named = match.first[one].astype(np.intp)
    near = beside[named].tocoo()
    odds = joint_likelihood(labels[first][near.col], values[one][near.row], columns) / usual[first][near.col]
    odds /= np.maximum(1.0 - odds, _EQUAL)
    mean = np.bincount(near.row, near.data * odds, len(one)) / np.bincount(kind)[named]
    total = match.total + (odds[near.col == named[near.row]] - mean)[cell]
    total = np.maximum(total * np.maximum(1.0 - match.likelihood, _EQUAL), match.likelihood)
    return match._replace(total=total)


def _endings(values: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct endings of cells: their values from each column on.

    Parameters
    ----------
    values : ndarray of int, shape (n_cells, n_columns)
        Cells, sorted by the last column, then by the column before it, and so on.

    Returns
    -------
    value, shorter : ndarray of int64, shape (n_endings,)
        First value of each ending, and the number of the remaining ending, which begins at the next column.
    start : ndarray of int64, shape (n_columns + 1,)
        Position of the first ending of each column in these arrays, and their length.
    """
    n_cells, n_columns = values.shape
    value, shorter, rows = [], [], np.arange(n_cells)
    for place in range(n_columns):
        changes = (values[rows[1:], place + 1 :] != values[rows[:-1], place + 1 :]).any(axis=1)
        value.append(values[rows, place].astype(np.int64))
        shorter.append(np.cumsum(np.r_[False, changes]) if len(rows) else rows)
        rows = rows[np.r_[True, changes][: len(rows)]]
    return np.concatenate(value), np.concatenate(shorter), np.cumsum([0, *map(len, value)])


@compiled()
def _matched(
    starts: NDArray[np.int64],
    table: Floats,
    value: NDArray[np.int64],
    shorter: NDArray[np.int64],
    start: NDArray[np.int64],
    people: Floats,
    usual: Floats,
    cells: NDArray[np.int64],
    apart: float,
    powers: int,
) -> Floats:
    """Return likelihood, number of tied people, total and first cell of each record, shape (4, n_records).

    Parameters
    ----------
    starts : ndarray of int64, shape (n_records, n_columns)
        Position in `table` of the likelihoods of each record's label in each column, by value; in lexicographic order.
    table : ndarray of float64
        Likelihoods of all columns.
    value, shorter, start : ndarray of int64
        Endings of the people's cells; see `_endings`.
    people, usual : ndarray of float64, shape (n_cells,)
        Number of people in each cell, and divisor of their likelihoods.
    cells : ndarray of int64, shape (n_cells,)
        Number of each cell.
    apart : float
        Cells of at least this likelihood are kept apart, and count with ``p / (1 - p)`` in the total.
    powers : int
        Number of powers of the likelihoods of the other cells that count in the total.
    """
    n_records, n_columns = starts.shape
    found = np.zeros((4, n_records))
    # For each column, the endings that fit the labels before it: their numbers, the largest likelihood, the people who
    # have it, the sums of powers, and the first cell with the largest likelihood. The last column is the empty ending.
    # Cells that are kept apart need more room.
    room = start if apart == np.inf else np.arange(n_columns + 1) * len(people)
    size = room[-1] + (1 if apart == np.inf else len(people))
    fits, n_fits = np.zeros(size, np.int64), np.zeros(n_columns + 1, np.int64)
    best, tied, total, higher = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros((size, powers - 1))
    cell = np.zeros(size, np.int64)
    n_fits[0] = len(people)
    fits[: len(people)], best[: len(people)] = np.arange(len(people)), 1.0 / usual
    tied[: len(people)], total[: len(people)], cell[: len(people)] = people, people / usual, cells
    for place in range(powers - 1):
        higher[: len(people), place] = people / usual ** (place + 2)
    for record in range(n_records):
        same = 0
        while record and same < n_columns and starts[record, same] == starts[record - 1, same]:
            same += 1
        for place in range(same, n_columns):
            first, then = room[place], room[place + 1]
            n_fits[place + 1] = _merged(
                table[starts[record, place] :],
                value[start[place] :],
                shorter[start[place] :],
                n_fits[place],
                (fits[first:], best[first:], tied[first:], total[first:], higher[first:], cell[first:]),
                (fits[then:], best[then:], tied[then:], total[then:], higher[then:], cell[then:]),
                apart,
            )
        for k in range(room[n_columns], room[n_columns] + n_fits[n_columns]):
            if best[k] > found[0, record] * (1 + _EQUAL):
                found[0, record], found[1, record], found[3, record] = best[k], 0.0, cell[k]
            if best[k] >= found[0, record] * (1 - _EQUAL):
                found[1, record] += tied[k]
                found[3, record] = min(found[3, record], cell[k])
            is_apart = best[k] >= apart
            sums = total[k] + higher[k].sum()
            found[2, record] += tied[k] * best[k] / max(1.0 - best[k], _EQUAL) if is_apart else sums
    return found


@compiled()
def _merged(
    likelihood: Floats,
    value: NDArray[np.int64],
    shorter: NDArray[np.int64],
    n_longer: int,
    longer: Any,
    into: Any,
    apart: float,
) -> int:
    """Drop the first column of endings, add up endings that become equal, and return their number.

    Parameters
    ----------
    likelihood : ndarray of float64
        Likelihood of the record's label by value.
    value, shorter : ndarray of int64
        First value of each ending, and the remaining ending.
    n_longer : int
        Number of the endings in `longer`.
    longer, into : tuple of ndarray
        Number, largest likelihood, people, sums of powers and first cell of the endings that fit, before (input) and
        after (output).
    apart : float
        Endings of at least this likelihood are not added up.
    """
    fits, best, tied, total, higher, cell = longer
    fits_into, best_into, tied_into, total_into, higher_into, cell_into = into
    # `sums` is the position of the endings that were added up and equal the last one.
    n, last, sums = 0, -1, -1
    for k in range(n_longer):
        ending = fits[k]
        factor = likelihood[value[ending]]
        if factor == 0.0:
            continue
        most, added = best[k] * factor, total[k] * factor
        if shorter[ending] != last:
            last, sums = shorter[ending], -1
        power, to = factor, sums
        if sums < 0 or most >= apart:
            to, n = n, n + 1
            sums = sums if most >= apart else to
            fits_into[to], best_into[to], tied_into[to], total_into[to] = last, most, tied[k], added
            cell_into[to] = cell[k]
            for place in range(higher.shape[1]):
                power *= factor
                higher_into[to, place] = higher[k, place] * power
            continue
        total_into[to] += added
        for place in range(higher.shape[1]):
            power *= factor
            higher_into[to, place] += higher[k, place] * power
        if most > best_into[to] * (1 + _EQUAL):
            best_into[to], tied_into[to], cell_into[to] = most, tied[k], cell[k]
        elif most >= best_into[to] * (1 - _EQUAL):
            tied_into[to] += tied[k]
            cell_into[to] = min(cell_into[to], cell[k])
    return n
