"""The tables that the command `attributes` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from reidsim.engine.attributes.run import AttributesResult
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.measures import Measure
from reidsim.reports.terminal_table import titled_table

# Measures that are shown, in tables and figures.
SHOWN = (PUBLISHER_PAYOFF, RISK)


def attributes_tables(result: AttributesResult) -> Iterator[Table]:
    """Lay out payoff and risk without each column, and its share of them; a table for each policy."""
    for policy in result.table["policy"].unique():
        rows = result.table[result.table["policy"] == policy].set_index(["attribute", "measure"])
        names = [measure.label if measure is not RISK else "Risk" for measure in SHOWN]
        columns = ("column", *(heading for name in names for heading in (f"{name} without", "share")))
        caption = "shares of the difference between all columns and none"
        table = titled_table(f"{result.name}: {policy}", columns, caption)
        for attribute in rows.index.unique("attribute"):
            cells = [
                text
                for measure in SHOWN
                for row in [rows.loc[(attribute, measure.column)]]
                for text in (
                    measure.text(round(row["without"], 6)),
                    _share(measure, row["share"], row["standard_error"]),
                )
            ]
            table.add_row(Text(str(attribute)), *cells)
        first = rows.index.unique("attribute")[0]
        for label, column in (("all kept", "all"), ("none kept", "none")):
            whole = [measure.text(round(rows.loc[(first, measure.column), column], 6)) for measure in SHOWN]
            table.add_row(label, *(text for value in whole for text in (value, "")))
        yield table


def _share(measure: Measure, share: float, error: float) -> str:
    own = measure.text(round(share, 6))
    return f"{own} ± {measure.text(round(error, 6))}" if error > 0 else own
