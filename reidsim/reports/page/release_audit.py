"""What the audit says of the files that a run would share, policy by policy."""

from __future__ import annotations

from collections.abc import Iterator

from reidsim.errors import InputError
from reidsim.reports.page.blocks import Block, Bullets, Cell, Table, paragraph
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.audited import DEFINITION, audit_facts, audit_of, audit_warnings, by_fitting_rows
from reidsim.reports.shared.forms import policies_of
from reidsim.reports.shared.records import records_of_policy, source_records
from reidsim.wording import Code

_POLICIES_A_TABLE = 4
_ROWS = {
    "Fewest people who fit a row": "fewest_people_of_a_row",
    "Fewest people whose rows a person fits": "fewest_rows_of_a_person",
    "Smallest equivalence class": "smallest_class",
    "People who fit only one person's rows": "people_who_fit_one_alone",
    "People easier to find than their records' success probability says": "people_more_exposed_than_promised",
}


def audit_blocks(run: StoredRun) -> Iterator[Block]:
    """Yield what can be counted in the records as each policy releases them; nothing where they are from no file."""
    if "release_file" not in run.manifest or "records" not in run.tables:
        return
    try:
        source = source_records(run)
        shared = [records_of_policy(source, policy) for policy in policies_of(run)]
        facts = {each.policy: audit_facts(each, audit_of(each, each.table)) for each in shared}
    except InputError as error:
        yield paragraph(f"The records as released were not audited: {error}", kind="warning")
        return
    yield paragraph(
        f"These numbers are {DEFINITION}. They do not rely on the game, whose risk of a record is about whose row it "
        "is; looking up a person asks which row is theirs."
    )
    names = list(facts)
    for start in range(0, len(names), _POLICIES_A_TABLE):
        shown = names[start : start + _POLICIES_A_TABLE]
        rows: list[list[Cell]] = [
            [label, *(_number(facts[name][key]) for name in shown)] for label, key in _ROWS.items()
        ]
        yield Table(["", *(Code(name) for name in shown)], rows, "The records as released")
    yield paragraph("People by the number of people whose rows fit them:")
    yield Bullets(tuple((Code(name), f": {by_fitting_rows(facts[name])}.") for name in names))
    for each in shared:
        for warning in audit_warnings(facts[each.policy], each.policy, each.forms.highest_risk):
            yield paragraph(warning, kind="warning")


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"
