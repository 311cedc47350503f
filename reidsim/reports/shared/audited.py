"""The audit of a file to be shared, in words and as the sidecar holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reidsim.audit.release import ReleaseAudit, audit_release
from reidsim.reports.shared.records import SharedRecords
from reidsim.wording import counted

# Numbers of fitting rows that are told together; up to 10 and 19 are below thresholds in use (k = 11, k = 20).
_UP_TO = (0, 1, 2, 4, 10, 19)
# Kept columns that are told in a line.
_MOST_KEPT = 4
DEFINITION = (
    "counted in the file as written, assuming knowledge of who is in it and of all true quasi-identifiers: for each "
    "shared row, the people of the release whose true values fit it; for each person, the people whose shared rows fit "
    "their true values (the fewest, over the person's rows). An equivalence class is the set of people whose shared "
    "rows agree"
)


def audit_of(shared: SharedRecords, written: pd.DataFrame) -> ReleaseAudit:
    """Audit a table of shared records as it was read back.

    Parameters
    ----------
    shared : SharedRecords
        Which records they are, and what is true of them.
    written : DataFrame
        The columns of the file.
    """
    source, quasi = shared.source, shared.quasi_identifiers
    released = written[list(quasi)].rename(columns=quasi)
    return audit_release(
        released,
        source.truth[list(released.columns)],
        np.flatnonzero(shared.forms.shared),
        persons=source.persons,
        hierarchies=source.hierarchies,
        kept=written[[name for name in written.columns if name not in quasi]],
    )


def more_exposed(shared: SharedRecords, audit: ReleaseAudit) -> int | None:
    """Return how many people are found in the file more easily than the game has it; None if it does not say.

    A game in which the adversary does not know who is in the file, or not all quasi-identifiers, promises less than the
    file can be held to.
    """
    if not shared.source.columns.counts_release:
        return None
    persons = shared.source.persons
    person = np.arange(shared.records) if persons is None else pd.factorize(persons)[0]
    promised = np.zeros(audit.people)
    np.maximum.at(promised, person, shared.forms.success)
    return audit.easier_than(promised)


def audit_facts(shared: SharedRecords, audit: ReleaseAudit) -> dict[str, Any]:
    """Return an audit as plain data."""
    shown = audit.rows_of_person[audit.is_shared]
    numbers, people = np.unique(audit.rows_of_person, return_counts=True)
    return {
        "definition": DEFINITION,
        "people": audit.people,
        "people_shared": int(audit.is_shared.sum()),
        "fewest_people_of_a_row": int(audit.people_of_row.min()) if len(audit.people_of_row) else None,
        "risk_of_a_row": audit.risk_of_row,
        "fewest_rows_of_a_person": int(shown.min()) if len(shown) else None,
        "risk_of_a_person": audit.risk_of_person,
        "people_by_fitting_rows": {str(n): k for n, k in zip(numbers.tolist(), people.tolist(), strict=True)},
        "people_who_fit_one_alone": int((shown == 1).sum()),
        "people_more_exposed_than_promised": more_exposed(shared, audit),
        "smallest_class": int(audit.class_sizes.min()) if len(audit.class_sizes) else None,
        "rows_that_do_not_fit_their_record": audit.misfits,
        "kept": [vars(column) for column in audit.kept],
    }


def audit_warnings(facts: Mapping[str, Any], policy: str, highest: float) -> tuple[str, ...]:
    """Say where a file contradicts what the game promises of it."""
    warnings = []
    exposed, people = facts["people_more_exposed_than_promised"], facts["people"]
    if exposed:
        warnings.append(
            f"{policy}: by their true values, {exposed:,} of {counted(people, 'person', 'people')} are easier to find "
            f"than the success probability of their own records says (at most {highest:.4f}); "
            f"{facts['people_who_fit_one_alone']:,} fit only one person's rows"
        )
    if facts["rows_that_do_not_fit_their_record"]:
        misfits = counted(facts["rows_that_do_not_fit_their_record"], "shared row")
        warnings.append(f"true values do not fit {misfits} of the same record, or cells cannot be read")
    return tuple(warnings)


def audit_lines(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what an audit found, in at most three lines."""
    people = counted(facts["people"], "person", "people")
    if facts["people_shared"] == 0:
        return (f"read back: nobody of {people} is in the file",)
    kept = [
        f"{column['name']} {counted(column['distinct'], 'value')} (entropy {column['entropy']:.2f}), t-closeness "
        f"{column['closeness']:.2f} ({column['distance']} distance)"
        for column in facts["kept"][:_MOST_KEPT]
    ]
    more = len(facts["kept"]) - _MOST_KEPT
    return (
        f"read back: every row fits {facts['fewest_people_of_a_row']:,} or more of {people}; every person shared fits "
        f"the rows of {facts['fewest_rows_of_a_person']:,} or more",
        f"people by the number of people whose rows fit them: {by_fitting_rows(facts)}",
        *((f"most revealing class: {'; '.join(kept)}{f'; and {more} more' if more > 0 else ''}",) if kept else ()),
    )


def by_fitting_rows(facts: Mapping[str, Any]) -> str:
    """Say how many people fit how many rows, small numbers one by one."""
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
