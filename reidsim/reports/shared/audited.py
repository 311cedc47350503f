"""Audit the released records of a policy, as plain data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from reidsim.audit.diversity import diversity
from reidsim.audit.matching import Matching, match
from reidsim.audit.release import ReleaseAudit, audit_release
from reidsim.errors import InputError
from reidsim.linkage.sensitive_values import AttributeLimits, GroupValues, SensitiveAttribute
from reidsim.reports.shared.kept import singled_out
from reidsim.reports.shared.limit import FileRisk, odds
from reidsim.reports.shared.records import SharedRecords
from reidsim.reports.writer import render
from reidsim.wording import counted

# Upper ends of the classes of numbers of people in `by_fitting_rows`; k = 11 and k = 20 are thresholds in use.
_UP_TO = (0, 1, 2, 4, 10, 19)
DEFINITION = (
    "counted in the written file for an adversary who knows its people and all true quasi-identifiers: for each "
    "shared row, the people of the release with matching true values; for each person, the people whose rows match "
    "their true values (the fewest, over the person's rows). An equivalence class is the set of people whose shared "
    "rows are equal in all quasi-identifiers"
)

RISK_OF_FILE = (
    "highest probability, over the records and the people of the file, that an adversary identifies the person of a "
    "record or finds a record of a person, counted in the written file; the adversary knows who is in the file, all "
    "quasi-identifiers, and every kept column that is not declared unknown to outsiders"
)
RISK_OF_GAME = (
    "highest probability, over the shared records, that an attack on the record identifies its person, as the game "
    "computes it for an adversary who does not know who is in the file, or not all quasi-identifiers"
)


INFERENCE = (
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

    @property
    def is_beyond(self) -> bool:
        """Whether the limits do not hold for some row or person."""
        return bool(self.rows_beyond or self.people_beyond)

    def facts(self) -> dict[str, Any]:
        """Return the fields as plain data with their definition; limits that are set only."""
        limits = {key: limit for key, limit in vars(self.limits).items() if limit is not None}
        return {"definition": INFERENCE, **vars(self), "limits": limits}


@dataclass(frozen=True, eq=False)
class Release:
    """Released rows of a policy, and their audit.

    Parameters
    ----------
    shared : SharedRecords
        Released rows with the kept columns.
    risk : FileRisk
    audit : dict
        Other counts, in the format of sidecars.
    people_of_row : ndarray of int64, shape (n_real_rows,)
        Number of people whose true values match each row, without counterfeit rows.
    inferred : list of Inference
        Inference of each sensitive column with limits from the rows.
    """

    shared: SharedRecords
    risk: FileRisk
    audit: dict[str, Any]
    people_of_row: NDArray[np.int64]
    inferred: list[Inference]

    @property
    def keeps_promise(self) -> bool:
        """Whether the rows confirm the game.

        No person may be easier to find than the game computes, and each row must match its source record.
        """
        return (
            not self.audit["people_more_exposed_than_promised"] and not self.audit["rows_that_do_not_fit_their_record"]
        )

    @property
    def revealed(self) -> list[str]:
        """Sensitive columns whose inference from the rows exceeds the scenario's limits."""
        return [each.column for each in self.inferred if each.is_beyond]


def read_back(shared: SharedRecords, table: pd.DataFrame) -> Release:
    """Audit the released rows of a policy.

    Parameters
    ----------
    shared : SharedRecords
    table : DataFrame
        Columns of the released file, or `shared.table` if no file was written.

    Raises
    ------
    InputError
        If the rows would not protect the column that the policy promises to protect, or kept columns single out too
        many people.
    """
    audited = _audit_of(shared, table)
    audit = _audit_facts(shared, audited)
    # Counterfeits have no person, but a reader of the file counts their values.
    kept, classes = table[shared.kept_columns], _classes_of(shared, table)
    audit["kept"] = [vars(diversity(name, kept[name], classes)) for name in shared.kept_columns]
    if sensitive := _sensitive_facts(shared, table):
        audit["sensitive"] = sensitive
    inferred = _inference_of(shared, table)
    if inferred:
        audit["inference"] = [each.facts() for each in inferred]
    real, most = shared.is_real, shared.kept.max_singled_out
    person, quasi = shared.person_of_record[shared.own[real]], table.loc[real, list(shared.quasi_identifiers)]
    audit["singled_out"] = singled_out(quasi, kept[real], person, shared.declared, most)
    return Release(shared, _file_risk(shared, table, audited), audit, audited.people_of_row, inferred)


def _audit_of(shared: SharedRecords, written: pd.DataFrame, known: Sequence[str] = ()) -> ReleaseAudit:
    """Audit a table of released records after it was read back.

    Parameters
    ----------
    shared : SharedRecords
        Records of the file, with their true values.
    written : DataFrame
        Columns of the file, as read back.
    known : sequence of str
        Kept columns that the adversary knows in addition to the quasi-identifiers.
    """
    source, quasi, real = shared.source, shared.quasi_identifiers, shared.is_real
    released = written.loc[real, list(quasi)].rename(columns=quasi).reset_index(drop=True)
    truth = source.truth[list(released.columns)]
    for number, name in enumerate(known):
        # Kept values are released unchanged. Codes in their place cannot be read as intervals or sets.
        codes, values = pd.factorize(source.frame[name].str.strip())
        found = pd.Index(values).get_indexer(written.loc[real, name].str.strip())
        released[f"kept {number}"], true = (np.char.add("v", each.astype(str)) for each in (found, codes))
        truth = truth.assign(**{f"kept {number}": true})
    own = shared.own[real]
    return audit_release(released, truth, own, persons=source.persons, hierarchies=source.hierarchies)


def _file_risk(shared: SharedRecords, written: pd.DataFrame, audit: ReleaseAudit) -> FileRisk:
    """Return the highest risk of a file after it was read back.

    If the scenario's adversary knows who is in the file and all quasi-identifiers, risks are counted in the file; the
    adversary is assumed to know also every kept column that is not declared unknown to outsiders. The risk of a record
    is at least the highest success probability in the game, if the game counts re-identifications.

    Other adversaries cannot determine whether a person is in the file. For them, both risks are the highest success
    probability in the game, because looking up a person succeeds no more often than attacking the matching record.

    Parameters
    ----------
    shared : SharedRecords
    written : DataFrame
        Columns of the file, as read back.
    audit : ReleaseAudit
        Audit of the file, without kept columns.
    """
    if not shared.source.columns.counts_release:
        return FileRisk(shared.forms.highest_risk, shared.forms.highest_risk, RISK_OF_GAME)
    known = [name for name in shared.kept_columns if name not in shared.declared]
    if known:
        audit = _audit_of(shared, written, known)
    promised = shared.forms.highest_risk if shared.source.columns.identifies else 0.0
    return FileRisk(max(audit.risk_of_row, promised), audit.risk_of_person, RISK_OF_FILE, tuple(known))


def _classes_of(shared: SharedRecords, written: pd.DataFrame) -> NDArray[np.int64]:
    """Return the class of each row, including counterfeits, shape (n_rows,)."""
    groups = written.groupby(list(shared.quasi_identifiers), sort=False, dropna=False, observed=True)
    return np.asarray(groups.ngroup(), dtype=np.int64)


def _sensitive_facts(shared: SharedRecords, written: pd.DataFrame) -> dict[str, Any]:
    """Return the diversity of the protected column over all classes, as plain data.

    Entries: name of the column, `m` (see `SensitiveColumn`), the fewest distinct values of a class, and the largest
    share of a value in the rows of a class. It is empty if the policy protects no column, or the file has no rows.

    Raises
    ------
    InputError
        If a class has too few distinct values, or one value in too many of its rows.
    """
    sensitive = shared.sensitive
    if sensitive is None or not len(written):
        return {}
    values = pd.DataFrame({"of": _classes_of(shared, written), "value": written[sensitive.name].str.strip()})
    counts = values.groupby(["of", "value"], observed=True).size().groupby("of", observed=True)
    different, share = counts.size().to_numpy(), (counts.max() / counts.sum()).to_numpy()
    wrong = (different < sensitive.m) | (share * sensitive.m > 1 + 1e-12)
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"policy {shared.policy!r}: {counted(int(wrong.sum()), 'class', 'classes')} of the file would not protect "
            f"column {sensitive.name!r}",
            source=shared.source.run.folder,
            found=f"{counted(int(different[at]), 'value')}, one of them in {share[at]:.0%} of the rows",
            expected=f"at least {sensitive.m} values, each in at most 1 of {sensitive.m} rows",
        )
    return {
        "column": sensitive.name,
        "m": sensitive.m,
        "fewest_values_of_a_class": int(different.min()),
        "largest_share_of_a_value": float(share.max()),
    }


def _audit_facts(shared: SharedRecords, audit: ReleaseAudit) -> dict[str, Any]:
    """Return an audit as plain data; see `DEFINITION` for the counts.

    Minima are None if there is no row. ``people_more_exposed_than_promised`` is the number of people with a higher risk
    in the file than in the game. It is None if the game assumes that the adversary does not know who is in the file, or
    not all quasi-identifiers, because the game then promises less than the file can be tested for; and if inference of
    a sensitive value counts as success.
    """
    shown = audit.rows_of_person[audit.is_shared]
    exposed = None
    if shared.source.columns.counts_release and shared.source.columns.identifies:
        promised = np.zeros(audit.people)
        np.maximum.at(promised, shared.person_of_record, shared.forms.success)
        exposed = audit.easier_than(promised)
    numbers, people = np.unique(audit.rows_of_person, return_counts=True)
    return {
        "definition": DEFINITION,
        "people": audit.people,
        "people_shared": int(audit.is_shared.sum()),
        "fewest_people_of_a_row": int(audit.people_of_row.min()) if len(audit.people_of_row) else None,
        "fewest_rows_of_a_person": int(shown.min()) if len(shown) else None,
        "people_by_fitting_rows": {str(n): k for n, k in zip(numbers.tolist(), people.tolist(), strict=True)},
        "people_who_fit_one_alone": int((shown == 1).sum()),
        "people_more_exposed_than_promised": exposed,
        "smallest_class": int(audit.class_sizes.min()) if len(audit.class_sizes) else None,
        "rows_that_do_not_fit_their_record": audit.misfits,
    }


def audit_warnings(facts: Mapping[str, Any], policy: str, highest: float) -> tuple[str, ...]:
    """Return warnings if a file contradicts the risk that the game computes."""
    warnings = []
    exposed, people = facts["people_more_exposed_than_promised"], facts["people"]
    if exposed:
        alone = facts["people_who_fit_one_alone"]
        warnings.append(
            f"{policy}: {exposed:,} of {counted(people, 'person', 'people')} are easier to find than the record risk "
            f"suggests (at most {odds(highest)}): an adversary who knows their true values can exclude more rows. "
            f"{counted(alone, 'person matches', 'people match')} the rows of one person only"
        )
    if facts["rows_that_do_not_fit_their_record"]:
        misfits = counted(facts["rows_that_do_not_fit_their_record"], "shared row")
        warnings.append(f"{misfits} do not match the true values of the record, or have cells that cannot be read")
    return tuple(warnings)


def summary_of(sidecar: Mapping[str, Any]) -> str:
    """Return a summary of the sidecar of a released file, in a few lines of text."""
    fitting = by_fitting_rows(sidecar["audit"])
    lines = str(render("shared", {"sidecar": sidecar, "by_fitting_rows": fitting}, "text")).splitlines()
    return "\n".join(filter(str.strip, lines))


def by_fitting_rows(facts: Mapping[str, Any]) -> str:
    """Return, as text, how many people have rows of how many people that fit them.

    `facts` are those of `audit_facts`. A class such as ``2: 14`` means that the true values of 14 people fit the shared
    rows of 2 people. Classes without people are left out.
    """
    numbers = np.array([int(number) for number in facts["people_by_fitting_rows"]])
    people = np.array(list(facts["people_by_fitting_rows"].values()))
    place = np.searchsorted(_UP_TO, numbers)
    lows = (0, *(end + 1 for end in _UP_TO))
    names = [f"{low}" if low == high else f"{low}-{high}" for low, high in zip(lows, _UP_TO, strict=False)]
    counts = np.bincount(place, weights=people, minlength=len(lows)).astype(np.int64).tolist()
    parts = zip([*names, f"{lows[-1]} or more"], counts, strict=True)
    return ", ".join(f"{name}: {count:,}" for name, count in parts if count)


def _inference_of(shared: SharedRecords, written: pd.DataFrame) -> list[Inference]:
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
    places = [(np.flatnonzero(form >= 0), form[form >= 0]) for form in matching.fits()]
    cells, forms = map(np.concatenate, zip(*places, strict=True))
    fits = _counts(cells, forms, (matching.n_cells, matching.n_forms))
    return [
        _inference(each, limited.limits, shared, written, matching, fits)
        for each in limited.attributes
        if each.name in written.columns
    ]


def _counts(rows: NDArray[np.intp], columns: NDArray[np.intp], shape: tuple[int, int]) -> sparse.csr_matrix:
    """Count the pairs of a row and a column."""
    return sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=shape)


def _inference(
    attribute: SensitiveAttribute,
    limits: AttributeLimits,
    shared: SharedRecords,
    written: pd.DataFrame,
    matching: Matching,
    fits: sparse.csr_matrix,
) -> Inference:
    """Compare the inference of a column with its limits.

    `fits` marks the matches of true values and released values, shape (n_cells, n_forms).
    """
    n_values, frame = attribute.levels.shape[1], shared.source.frame
    number = dict(zip(frame[attribute.name].str.strip(), attribute.codes.tolist(), strict=True))
    # Written values come from source records, so each value has a code.
    codes = written[attribute.name].str.strip().map(number).to_numpy(dtype=np.int64)
    overall = np.bincount(attribute.codes, minlength=n_values) / len(attribute.codes)
    cell, form = matching.cell_of_truth, matching.form_of_release
    of_row = fits.T @ _counts(cell, attribute.codes, (matching.n_cells, n_values))
    of_person = fits @ _counts(form, codes, (matching.n_forms, n_values))
    groups = []
    for counts, place in ((of_row, form), (of_person, cell[shared.own])):
        pairs = counts.tocoo()
        group, value = pairs.row.astype(np.int64), pairs.col.astype(np.int64)
        values = GroupValues.from_counts(group, value, pairs.data, counts.shape[0], overall, attribute.levels)
        groups.append((values, place))
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
        if each.is_beyond:
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
