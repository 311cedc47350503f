"""What `reidsim new` found in a file, as a table in the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from reidsim.drafts.draft import COLUMNS_FILE, Draft, columns_by_use
from reidsim.drafts.scenario_text import in_a_line

# Columns of each use that are shown; the file of columns has them all.
_SHOWN = 12
_LONGEST_NAME = 24


def draft_table(draft: Draft, title: str) -> Table:
    """Return a table of the columns: the quasi-identifiers, then the others by what was made of them."""
    table = Table(title=Text(in_a_line(title)), title_justify="left", box=box.SQUARE, title_style="")
    table.add_column("column", overflow="fold", max_width=_LONGEST_NAME)
    table.add_column("type")
    table.add_column("values", justify="right")
    table.add_column("missing", justify="right")
    table.add_column("use")
    hidden = 0
    for use, profiles in columns_by_use(draft).items():
        for profile in profiles[:_SHOWN]:
            table.add_row(
                Text(in_a_line(profile.name, _LONGEST_NAME) or "(no name)"),
                profile.kind,
                f"{profile.distinct:,}",
                f"{profile.missing:,}",
                use if use == "quasi-identifier" else "left out",
            )
        hidden += max(0, len(profiles) - _SHOWN)
    table.caption = f"{draft.records:,} records; {COLUMNS_FILE} gives reasons"
    if hidden:
        table.caption += f" and {hidden:,} more columns"
    table.caption_justify = "left"
    return table
