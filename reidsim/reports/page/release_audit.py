"""Tabulate the audit of the rows that each policy of a run would release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reidsim.reports.shared.audited import DEFINITION, audit_warnings, by_fitting_rows
from reidsim.reports.shared.limit import odds
from reidsim.reports.shared.releases import Releases
from reidsim.reports.writer import Cell, Table
from reidsim.wording import Code

# Maximum number of policies shown on the first page.
_POLICIES_SHOWN = 4


def read_back_table(releases: Releases, ranked: Sequence[str]) -> Table:
    """Return the table of audits of the releases, in the order of `ranked`."""
    rows: list[list[Cell]] = []
    for policy in ranked[:_POLICIES_SHOWN]:
        counted = releases.by_policy[policy].counted
        keys = ("smallest_class", "people_who_fit_one_alone", "people_more_exposed_than_promised")
        rows.append(
            [
                Code(policy),
                *(_number(counted.audit[key]) for key in keys),
                odds(counted.risk.record),
                odds(counted.risk.person),
                "yes" if releases.is_within_limit(policy) else "NO",
            ]
        )
    header = [
        "Release",
        "Smallest class, people",
        "People who match only one row",
        "People easier to find than computed",
        "Highest risk of a record",
        "Highest risk of a person searched for",
        f"Within the limit of {odds(releases.limit.value)}",
    ]
    caption = "Counted in the rows of each release; no file written by reidsim share for this run was found"
    if releases.written is not None:
        policy, digest = releases.sidecar["policy"], releases.sidecar["sha256"]
        caption = (
            f"Read back from the written file {releases.written.name} (release {policy}, SHA-256 {digest[:12]}...), "
            "and counted in the rows of the other releases"
        )
    kept = sorted({name for policy in ranked for name in releases.by_policy[policy].shared.kept_columns})
    caption += f"; kept columns: {', '.join(kept)}" if kept else "; no column is kept"
    return Table(header, rows, caption, frozenset({0, 6}))


def release_audit(releases: Releases) -> dict[str, Any]:
    """Return the values of the template `release_audit`: other counts and warnings."""
    rows: list[list[Cell]] = []
    warnings: list[str] = []
    for name, release in releases.by_policy.items():
        audit = release.counted.audit
        fewest = (_number(audit[key]) for key in ("fewest_people_of_a_row", "fewest_rows_of_a_person"))
        rows.append([Code(name), *fewest, by_fitting_rows(audit)])
        warnings += audit_warnings(audit, name, release.shared.forms.highest_risk)
    header = [
        "Release",
        "Fewest people who match a row",
        "Fewest people whose rows a person matches",
        "People by the number of people whose rows match them",
    ]
    table = Table(header, rows, "The rows of each release", frozenset({0, 3}))
    return {"definition": DEFINITION, "table": table, "warnings": warnings}


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"
