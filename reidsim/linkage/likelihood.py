"""Link perturbed records to their most probable people, by likelihood.

A released record r comes from person j with likelihood ``L_j(r)``, the product over columns of the probability of the
released label given the person's value. If every person is equally probable beforehand, Bayes' rule gives the
posterior probability ``L_j(r) / sum of L_i(r) over all people i``. The adversary names a person with the highest
posterior probability. Without noise, the likelihood is 1 for the people in the record's group and 0 for others, and the
probability of a right guess is one over the group size (Wan et al. 2015, Eq. 4).

An adversary may also start from person j and look for its row. Every released row is equally probable beforehand, and
the other rows come from people drawn at random. Then the posterior probability of row r is ``L_j(r) / sum of L_i(r)
over all people i``, divided by the sum of this quotient over all rows; see `match_rows`. Without noise, it is one over
the number of rows that fit the person.

Sums and maxima over people are computed column by column. The labels of a record up to a column are its beginning; the
values of a person after a column are its ending. Likelihoods are computed once for records with equal beginnings, and
people with equal endings are added up. So the time grows with the distinct beginnings times the distinct endings, not
with records times people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.populations.population import Codes, Counts, distinct_rows

Floats = NDArray[np.float64]

# Likelihoods that differ by less than this fraction count as equal.
_EQUAL = 1e-12


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
    """

    likelihood: Floats
    tied: Floats
    total: Floats

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

    def match(self, labels: Codes, columns: Sequence[Floats]) -> Match:
        """Return the `Match` of each released record; for the parameters, see `joint_likelihood`."""
        # Columns with few labels and few values per label come first, because they have few distinct beginnings.
        order = np.argsort([len(column) * np.mean(column > 0) for column in columns], kind="stable")
        first, of_record = distinct_rows([labels[:, place] for place in order], len(labels))
        records = first[np.lexsort(labels[first][:, order[::-1]].T)]
        cells = np.flatnonzero(self._people > 0)
        # Sorted by ending, so that equal endings are adjacent.
        cells = cells[np.lexsort(self._values[cells][:, order].T)]
        tables = [np.asarray(columns[place], dtype=np.float64) for place in order]
        widths, sizes = [table.shape[1] for table in tables], [table.size for table in tables]
        starts = labels[records][:, order] * np.array(widths) + np.cumsum([0, *sizes[:-1]])
        endings = _endings(self._values[cells][:, order])
        found = _matched(
            starts, np.concatenate([*map(np.ravel, tables)]), *endings, self._people[cells], self._usual[cells]
        )
        position = np.empty(len(labels), dtype=np.intp)
        position[of_record[records]] = np.arange(len(records))
        return Match(*found[:, position[of_record]])


def match_rows(values: Codes, labels: Codes, columns: Sequence[Floats], usual: Floats) -> Match:
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
        Sum (or mean) of the likelihoods of each row over all people, above 0; the largest of rows with equal labels
        counts.
    """
    first, kind = distinct_rows([*labels.T], len(labels))
    largest = np.zeros(len(first))
    np.maximum.at(largest, kind, usual)
    rows = Candidates(labels[first], np.bincount(kind, minlength=len(first)), largest)
    return rows.match(values, [column.T for column in columns])


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
) -> Floats:
    """Return the likelihood, the number of tied people and the total of each record, shape (3, n_records).

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
    """
    n_records, n_columns = starts.shape
    found = np.zeros((3, n_records))
    # For each column, the endings that fit the labels before it: their numbers, the largest likelihood, the people who
    # have it, and the total. The last one is the empty ending.
    fits, n_fits = np.zeros(start[-1] + 1, np.int64), np.zeros(n_columns + 1, np.int64)
    best, tied, total = np.zeros(len(fits)), np.zeros(len(fits)), np.zeros(len(fits))
    n_fits[0] = len(people)
    fits[: len(people)], best[: len(people)] = np.arange(len(people)), 1.0 / usual
    tied[: len(people)], total[: len(people)] = people, people / usual
    for record in range(n_records):
        same = 0
        while record and same < n_columns and starts[record, same] == starts[record - 1, same]:
            same += 1
        for place in range(same, n_columns):
            first, then = start[place], start[place + 1]
            n_fits[place + 1] = _merged(
                table[starts[record, place] :],
                value[first:],
                shorter[first:],
                n_fits[place],
                (fits[first:], best[first:], tied[first:], total[first:]),
                (fits[then:], best[then:], tied[then:], total[then:]),
            )
        if n_fits[n_columns]:
            found[0, record], found[1, record], found[2, record] = best[-1], tied[-1], total[-1]
    return found


@compiled()
def _merged(
    likelihood: Floats, value: NDArray[np.int64], shorter: NDArray[np.int64], n_longer: int, longer: Any, into: Any
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
        Number, largest likelihood, people and total of the endings that fit, before (input) and after (output).
    """
    fits, best, tied, total = longer
    fits_into, best_into, tied_into, total_into = into
    n, last = 0, -1
    for k in range(n_longer):
        ending = fits[k]
        factor = likelihood[value[ending]]
        if factor == 0.0:
            continue
        most, added = best[k] * factor, total[k] * factor
        if shorter[ending] != last:
            last = shorter[ending]
            fits_into[n], best_into[n], tied_into[n], total_into[n] = last, most, tied[k], added
            n += 1
            continue
        total_into[n - 1] += added
        if most > best_into[n - 1] * (1 + _EQUAL):
            best_into[n - 1], tied_into[n - 1] = most, tied[k]
        elif most >= best_into[n - 1] * (1 - _EQUAL):
            tied_into[n - 1] += tied[k]
    return n
