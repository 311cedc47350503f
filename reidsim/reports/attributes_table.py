"""The tables that the command `attributes` prints."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from reidsim.engine.attributes.run import AttributesResult
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.measures import Measure

# Measures that are shown, in tables and figures.
SHOWN = (PUBLISHER_PAYOFF, RISK)


def attributes_tables(result: AttributesResult) -> Iterator[Table]:
    """Lay out payoff and risk without each column, and its share of them; a table for each policy."""
    for policy in result.table["policy"].unique():
        rows = result.table[result.table["policy"] == policy].set_index(["attribute", "measure"])
        table = Table(
            title=Text(f"{result.name}: {policy}"),
            title_justify="left",
            caption="shares of the difference between all columns and none",
            caption_justify="left",
        )
        table.add_column("column")
        for measure in SHOWN:
            name = measure.label if measure is not RISK else "Risk"
            table.add_column(f"{name} without", justify="right")
            table.add_column("share", justify="right")
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
