"""The tables that the command `attributes` prints, and its figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from reidsim.engine.attributes.run import AttributesResult
from reidsim.figures.attributes import attribute_shares
from reidsim.figures.saving import save_figure
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK
from reidsim.measures import Measure

_SHOWN = (PUBLISHER_PAYOFF, RISK)


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
        for measure in _SHOWN:
            name = measure.label if measure is not RISK else "Risk"
            table.add_column(f"{name} without", justify="right")
            table.add_column("share", justify="right")
        for attribute in rows.index.unique("attribute"):
            cells = [
                text
                for measure in _SHOWN
                for row in [rows.loc[(attribute, measure.column)]]
                for text in (
                    measure.text(round(row["without"], 6)),
                    _share(measure, row["share"], row["standard_error"]),
                )
            ]
            table.add_row(Text(str(attribute)), *cells)
        first = rows.index.unique("attribute")[0]
        for label, column in (("all kept", "all"), ("none kept", "none")):
            whole = [measure.text(round(rows.loc[(first, measure.column), column], 6)) for measure in _SHOWN]
            table.add_row(label, *(text for value in whole for text in (value, "")))
        yield table


def _share(measure: Measure, share: float, error: float) -> str:
    own = measure.text(round(share, 6))
    return f"{own} ± {measure.text(round(error, 6))}" if error > 0 else own


def illustrate_attributes(result: AttributesResult, folder: Path) -> list[str]:
    """Draw the figure of a result into a folder; return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    save_figure(attribute_shares(result.table, _SHOWN), folder / "attributes.png")
    return ["attributes.png"]
