"""Audit a file of released records, as plain data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.diversity import diversity
from reidsim.audit.release import ReleaseAudit, audit_release
from reidsim.errors import InputError
from reidsim.reports.shared.kept import SingledOut
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


def audit_of(shared: SharedRecords, written: pd.DataFrame, known: Sequence[str] = ()) -> ReleaseAudit:
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
        released[f"kept {number}"] = _coded(pd.Index(values).get_indexer(written.loc[real, name].str.strip()))
        truth = truth.assign(**{f"kept {number}": _coded(codes)})
    kept = written[[name for name in written.columns if name not in quasi]]
    audit = audit_release(
        released,
        truth,
        shared.own[real],
        persons=source.persons,
        hierarchies=source.hierarchies,
        kept=kept if real.all() else None,
    )
    if real.all():
        return audit
    # Counterfeits have no person, but a reader of the file counts their values.
    classes = _classes_of(shared, written)
    return replace(audit, kept=tuple(diversity(str(name), kept[name], classes) for name in kept))


def _coded(codes: NDArray[np.intp]) -> NDArray[np.str_]:
    return np.char.add("v", codes.astype(str))


def file_risk(shared: SharedRecords, written: pd.DataFrame, audit: ReleaseAudit) -> FileRisk:
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
        audit = audit_of(shared, written, known)
    promised = shared.forms.highest_risk if shared.source.columns.identifies else 0.0
    return FileRisk(max(audit.risk_of_row, promised), audit.risk_of_person, RISK_OF_FILE, tuple(known))


def singled_out(shared: SharedRecords, written: pd.DataFrame) -> SingledOut:
    """Count the people singled out by the released and kept columns of a file."""
    real = written[shared.is_real]
    person = shared.person_of_record[shared.own[shared.is_real]]
    quasi, kept = real[list(shared.quasi_identifiers)], real[shared.kept_columns]
    return SingledOut.count(quasi, kept, person, shared.declared, shared.kept.max_singled_out)


def _classes_of(shared: SharedRecords, written: pd.DataFrame) -> NDArray[np.int64]:
    """Return the class of each row, including counterfeits, shape (n_rows,)."""
    groups = written.groupby(list(shared.quasi_identifiers), sort=False, dropna=False, observed=True)
    return np.asarray(groups.ngroup(), dtype=np.int64)


def sensitive_facts(shared: SharedRecords, written: pd.DataFrame) -> dict[str, Any]:
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


def more_exposed(shared: SharedRecords, audit: ReleaseAudit) -> int | None:
    """Return the number of people with a higher risk in the file than in the game.

    The result is None if the game assumes that the adversary does not know who is in the file, or not all
    quasi-identifiers, because the game then promises less than the file can be tested for. The result is also None if
    inference of a sensitive value counts as success.
    """
    if not (shared.source.columns.counts_release and shared.source.columns.identifies):
        return None
    promised = np.zeros(audit.people)
    np.maximum.at(promised, shared.person_of_record, shared.forms.success)
    return audit.easier_than(promised)


def audit_facts(shared: SharedRecords, audit: ReleaseAudit) -> dict[str, Any]:
    """Return an audit as plain data; see `DEFINITION` for the counts.

    Minima are None if there is no row; ``people_more_exposed_than_promised`` is None if `more_exposed` is.
    """
    shown = audit.rows_of_person[audit.is_shared]
    numbers, people = np.unique(audit.rows_of_person, return_counts=True)
    return {
        "definition": DEFINITION,
        "people": audit.people,
        "people_shared": int(audit.is_shared.sum()),
        "fewest_people_of_a_row": int(audit.people_of_row.min()) if len(audit.people_of_row) else None,
        "fewest_rows_of_a_person": int(shown.min()) if len(shown) else None,
        "people_by_fitting_rows": {str(n): k for n, k in zip(numbers.tolist(), people.tolist(), strict=True)},
        "people_who_fit_one_alone": int((shown == 1).sum()),
        "people_more_exposed_than_promised": more_exposed(shared, audit),
        "smallest_class": int(audit.class_sizes.min()) if len(audit.class_sizes) else None,
        "rows_that_do_not_fit_their_record": audit.misfits,
        "kept": [vars(column) for column in audit.kept],
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
    told = []
    for at, low in enumerate((0, *(end + 1 for end in _UP_TO))):
        count = int(people[place == at].sum())
        high = _UP_TO[at] if at < len(_UP_TO) else None
        name = f"{low} or more" if high is None else f"{low}" if low == high else f"{low}-{high}"
        if count:
            told.append(f"{name}: {count:,}")
    return ", ".join(told)
