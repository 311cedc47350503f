"""Audit a released file by the true values of its people.

It counts the rows that fit each person, and the people who fit each row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from reidsim.audit.diversity import Diversity, diversity
from reidsim.audit.matching import Matching, match

Counts = NDArray[np.int64]

# Maximum number of pairs of groups and people in memory at the same time.
_MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class ReleaseAudit:
    """Group sizes in a release, as counted by a fully informed recipient.

    The recipient has the true values of all people. If no persons are given, every row is another person.

    Parameters
    ----------
    rows_of_person : ndarray of int64, shape (n_people,)
        Group size of each person: number of people with a shared row that fits the person's true values. It is the
        minimum over the person's shared rows, or over all rows of the person if none is shared.
    is_shared : ndarray of bool, shape (n_people,)
        Whether at least one row of the person is shared.
    people_of_row : ndarray of int64, shape (n_shared,)
        Group size of each shared row: number of people in the release whose true values fit the row.
    misfits : int
        Number of shared rows that do not fit the true values of their own person.
    class_sizes : ndarray of int64, shape (n_classes,)
        Number of people in each equivalence class (shared rows with equal released quasi-identifiers).
    kept : tuple of Diversity
        l-diversity and t-closeness of each kept column.
    """

    rows_of_person: Counts
    is_shared: NDArray[np.bool_]
    people_of_row: Counts
    misfits: int
    class_sizes: Counts
    kept: tuple[Diversity, ...] = ()

    @property
    def people(self) -> int:
        """Number of people in the release, including people without a shared row."""
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
    kept: pd.DataFrame | None = None,
) -> ReleaseAudit:
    """Return the audit of a release that was read from its file.

    Parameters
    ----------
    released : DataFrame
        Quasi-identifiers of the shared rows, as text; see `reidsim.audit.notation` for the notation of cells.
    truth : DataFrame
        True values of all records, shared or not, in the same columns.
    own : ndarray of int, shape (n_shared,)
        Record of each shared row.
    persons : ndarray, shape (n_records,), optional
        Person of each record; default: each record is another person.
    hierarchies : mapping of str to rows, optional
        Hierarchies as text, by column: the value, then its labels.
    kept : DataFrame, optional
        The other columns of the shared rows.
    """
    n_records = len(truth)
    person = np.arange(n_records) if persons is None else pd.factorize(np.asarray(persons))[0].astype(np.int64)
    n_people = int(person.max(initial=-1)) + 1
    matching = match(released, truth, hierarchies or {})
    owner = person[own]
    people_of_form, misfits, fitting = _count(matching, person, owner, own)
    rows_of_record = fitting[matching.cell_of_truth]
    shared_record, shared_person = np.zeros(n_records, dtype=bool), np.zeros(n_people, dtype=bool)
    shared_record[own], shared_person[owner] = True, True
    counts = shared_record | ~shared_person[person]
    rows_of_person = np.full(n_people, np.iinfo(np.int64).max)
    np.minimum.at(rows_of_person, person[counts], rows_of_record[counts])
    classes = matching.form_of_release
    sizes = np.bincount(_distinct_pairs(classes, owner, n_people)[0], minlength=matching.n_forms)
    columns = () if kept is None else tuple(diversity(str(name), kept[name], classes) for name in kept.columns)
    return ReleaseAudit(
        rows_of_person, shared_person, people_of_form[classes], misfits, sizes.astype(np.int64), columns
    )


def _count(matching: Matching, person: Counts, owner: Counts, own: NDArray[np.intp]) -> tuple[Counts, int, Counts]:
    """Return people by form, the number of misfits, and owners by cell.

    A form is a distinct released row, and a cell a distinct true row. The first array holds, for each form, the number
    of people with true values that fit it; the last one, for each cell, the number of people with a shared row that
    fits it. A misfit is a shared row that does not fit its own record.

    Parameters
    ----------
    matching : Matching
        Match of cells and forms.
    person : ndarray of int64, shape (n_records,)
        Person of each record.
    owner : ndarray of int64, shape (n_shared,)
        Person of each shared row.
    own : ndarray of int, shape (n_shared,)
        Record of each shared row.
    """
    n_people = int(person.max(initial=-1)) + 1
    cells, people = _distinct_pairs(matching.cell_of_truth, person, n_people)
    forms, owners = _distinct_pairs(matching.form_of_release, owner, n_people)
    # Owners whose rows have a single form are counted by form, and people whose records have a single cell by cell. All
    # other people may occur in several forms or cells, so pairs are counted to count each person once.
    several, moved = np.bincount(owners, minlength=n_people) > 1, np.bincount(people, minlength=n_people) > 1
    alone = np.bincount(forms[~several[owners]], minlength=matching.n_forms)
    settled = np.bincount(cells[~moved[people]], minlength=matching.n_cells)
    cells, people = cells[moved[people]], people[moved[people]]
    people_of_form = np.zeros(matching.n_forms, dtype=np.int64)
    fitting = np.zeros(matching.n_cells, dtype=np.int64)
    fits_own = np.zeros(len(own), dtype=bool)
    met: list[tuple[Counts, Counts]] = []
    own_cell = matching.cell_of_truth[own]
    for form_of_cell in matching.fits():
        here = np.flatnonzero(form_of_cell >= 0)
        fitting[here] += alone[form_of_cell[here]]
        people_of_form += np.bincount(form_of_cell[here], settled[here], matching.n_forms).astype(np.int64)
        found = form_of_cell[cells]
        pairs, _ = _distinct_pairs(found[found >= 0], people[found >= 0], n_people)
        people_of_form += np.bincount(pairs, minlength=matching.n_forms)
        fits_own |= form_of_cell[own_cell] == matching.form_of_release
        if several.any():
            met.append((here, form_of_cell[here]))
    if several.any():
        of_several = several[owners]
        fitting += _owners_of_several(matching, met, forms[of_several], owners[of_several], n_people)
    return people_of_form, int((~fits_own).sum()), fitting


def _owners_of_several(
    matching: Matching, met: Sequence[tuple[Counts, Counts]], forms: Counts, owners: Counts, n_people: int
) -> Counts:
    """Return, for each cell, the number of owners with rows of several forms that fit.

    Each owner is counted once.
    """
    cells, fits = (np.concatenate([pair[place] for pair in met]) for place in (0, 1))
    shape = (matching.n_forms, n_people)
    owns = sparse.csr_matrix((np.ones(len(forms), dtype=np.int32), (forms, owners)), shape=shape)
    fit = sparse.csr_matrix(
        (np.ones(len(cells), dtype=np.int32), (cells, fits)), shape=(matching.n_cells, matching.n_forms)
    )
    pairs = np.cumsum(fit @ np.diff(owns.indptr).astype(np.int64))
    counts = np.zeros(matching.n_cells, dtype=np.int64)
    start = 0
    while start < matching.n_cells:
        done = pairs[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(pairs, done + _MOST_PAIRS)))
        counts[start:end] = np.diff((fit[start:end] @ owns).indptr)
        start = end
    return counts


def _distinct_pairs(groups: Counts, people: Counts, n_people: int) -> tuple[Counts, Counts]:
    """Return the distinct pairs of group and person."""
    if np.bincount(people, minlength=1).max() == 1:
        return groups, people
    pairs = np.unique(groups * max(n_people, 1) + people)
    return pairs // max(n_people, 1), pairs % max(n_people, 1)


def _one_in(counts: Counts) -> float:
    found = counts[counts > 0]
    return float(1 / found.min()) if len(found) else 0.0
