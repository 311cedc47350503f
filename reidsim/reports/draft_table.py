"""Lay out the columns of a draft by `reidsim new` as a terminal table."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from reidsim.drafts.draft import COLUMNS_FILE, Draft, columns_by_use
from reidsim.drafts.scenario_text import in_a_line
from reidsim.reports.terminal_table import titled_table

# Maximum number of columns shown per use; the column file lists all.
_SHOWN = 12
_LONGEST_NAME = 24


def draft_table(draft: Draft, title: str) -> Table:
    """Return a table of the columns: quasi-identifiers first, then others by use."""
    rows, hidden = [], 0
    for use, profiles in columns_by_use(draft).items():
        hidden += max(0, len(profiles) - _SHOWN)
        for profile in profiles[:_SHOWN]:
            name = Text(in_a_line(profile.name, _LONGEST_NAME) or "(no name)")
            taken = use if use == "quasi-identifier" else "left out"
            rows.append([name, profile.kind, f"{profile.distinct:,}", f"{profile.missing:,}", taken])
    more = f" and {hidden:,} more columns" if hidden else ""
    caption = f"{draft.records:,} records; {COLUMNS_FILE} gives reasons{more}"
    columns = ("column", "type", "values", "missing", "use")
    table = titled_table(in_a_line(title), columns, caption, ("type", "use"), rows)
    table.box, table.title_style = box.SQUARE, ""
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].max_width = False, "fold", _LONGEST_NAME
    return table
