"""Check inference of sensitive values from a released file against limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from reidsim.audit.matching import Matching, match
from reidsim.errors import InputError
from reidsim.linkage.sensitive_values import AttributeLimits, GroupValues, SensitiveAttribute
from reidsim.reports.shared.records import SharedRecords
from reidsim.wording import counted

DEFINITION = (
    "for each shared row, the sensitive values of the matching records of the release; for each person with a "
    "shared row, the sensitive values of the shared rows that match the person's true values; distances are from all "
    "values of the release"
)


@dataclass(frozen=True)
class Inference:
    """Inference of a sensitive column from a file, compared with its limits.

    Parameters
    ----------
    column : str
    limits : AttributeLimits
    fewest_values : int
        Minimum number of distinct values among the records that match a row, or the rows that match a person.
    largest_share : float
        Largest share of a value among them: the highest probability of a correct inference.
    largest_distance : float
        Largest earth mover's distance from the distribution of values in all records.
    rows_beyond, people_beyond : int
        Number of rows, and number of people, for which the limits do not hold.
    """

    column: str
    limits: AttributeLimits
    fewest_values: int
    largest_share: float
    largest_distance: float
    rows_beyond: int
    people_beyond: int

    def facts(self) -> dict[str, Any]:
        """Return the fields as plain data with their definition; limits that are set only."""
        limits = {key: limit for key, limit in vars(self.limits).items() if limit is not None}
        return {"definition": DEFINITION, **vars(self), "limits": limits}


def inference_of(shared: SharedRecords, written: pd.DataFrame) -> list[Inference]:
    """Return the inference of each sensitive column from a file; empty without limits.

    Parameters
    ----------
    shared : SharedRecords
    written : DataFrame
        Columns of the file, as read back.
    """
    source, limited = shared.source, shared.source.limited
    if limited is None or not len(written):
        return []
    quasi = shared.quasi_identifiers
    released = written[list(quasi)].rename(columns=quasi)
    matching = match(released, source.truth[list(released.columns)], source.hierarchies)
    fits = _fits(matching)
    return [
        _inference(each, limited.limits, source.frame, written, shared.own, matching, fits)
        for each in limited.attributes
        if each.name in written.columns
    ]


def _fits(matching: Matching) -> sparse.csr_matrix:
    """Return the matches of true values and released values, shape (n_cells, n_forms)."""
    cells, forms = [], []
    for form_of_cell in matching.fits():
        here = np.flatnonzero(form_of_cell >= 0)
        cells.append(here)
        forms.append(form_of_cell[here])
    pairs = np.concatenate(cells), np.concatenate(forms)
    ones = np.ones(len(pairs[0]), dtype=np.int64)
    return sparse.csr_matrix((ones, pairs), shape=(matching.n_cells, matching.n_forms))


def _inference(
    attribute: SensitiveAttribute,
    limits: AttributeLimits,
    frame: pd.DataFrame,
    written: pd.DataFrame,
    own: NDArray[np.intp],
    matching: Matching,
    fits: sparse.csr_matrix,
) -> Inference:
    n_values = attribute.levels.shape[1]
    number = dict(zip(frame[attribute.name].str.strip(), attribute.codes.tolist(), strict=True))
    # Written values come from source records, so each value has a code.
    codes = written[attribute.name].str.strip().map(number).to_numpy(dtype=np.int64)
    overall = np.bincount(attribute.codes, minlength=n_values) / len(attribute.codes)

    def table(place: NDArray[np.intp], values: NDArray[np.int64], n: int) -> sparse.csr_matrix:
        return sparse.csr_matrix((np.ones(len(place), dtype=np.int64), (place, values)), shape=(n, n_values))

    def values_of(counts: sparse.csr_matrix) -> GroupValues:
        pairs = counts.tocoo()
        group, value = pairs.row.astype(np.int64), pairs.col.astype(np.int64)
        return GroupValues.of(group, value, pairs.data, counts.shape[0], overall, attribute.levels)

    of_row = values_of(fits.T @ table(matching.cell_of_truth, attribute.codes, matching.n_cells))
    of_person = values_of(fits @ table(matching.form_of_release, codes, matching.n_forms))
    cell_of_person, form_of_row = matching.cell_of_truth[own], matching.form_of_release
    groups = [(of_row, form_of_row), (of_person, cell_of_person)]
    return Inference(
        attribute.name,
        limits,
        min(int(values.distinct[place].min()) for values, place in groups),
        max(float(values.largest_share[place].max()) for values, place in groups),
        max(float(values.distance()[place].max()) for values, place in groups),
        *(int((~limits.hold(values)[place]).sum()) for values, place in groups),
    )


def require_limits(inferred: Sequence[Inference], shared: SharedRecords) -> None:
    """Check that a file meets the inference limits of its scenario.

    Raises
    ------
    InputError
        If it does not; the message names the column, the limits and the alternatives.
    """
    for each in inferred:
        if each.rows_beyond or each.people_beyond:
            rows, people = counted(each.rows_beyond, "row"), counted(each.people_beyond, "person", "people")
            raise InputError(
                f"not written: under policy {shared.policy!r} the file reveals more of column {each.column!r} than "
                f"the scenario allows, for {rows} and for {people} with known quasi-identifiers",
                where="publisher.sensitive",
                found=f"{counted(each.fewest_values, 'value')} among the matching rows, one value in "
                f"{each.largest_share:.2%} of these rows, t-closeness {each.largest_distance:.4g}",
                expected=each.limits.describe(),
                hint='set publisher.unit = "table", try other policies, or use --accept-risk to write the file anyway',
            )
