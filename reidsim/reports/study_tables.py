"""Lay out the results of the commands `switch` and `attributes`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from reidsim.core.measures import Measure
from reidsim.engine.attributes.run import AttributesResult
from reidsim.engine.switch.run import SwitchResult
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED
from reidsim.reports.terminal_table import titled_table
from reidsim.reports.writer import render
from reidsim.scenarios.people import counted_units


def amount_text(value: float, precision: float = 0.0) -> str:
    """Write an amount with six significant digits, or fewer if its precision is low."""
    if precision > 0 and value > 0:
        digits = max(1, min(6, math.floor(math.log10(value / precision)) + 1))
        return f"{float(f'{value:.{digits}g}'):,.10g}"
    return f"{float(f'{value:.6g}'):,.10g}"


def switch_table(result: SwitchResult) -> Table:
    """Return a table of the intervals of an amount, with the best policy in each."""
    gain = "" if not result.link_gain else ", with gain equal to loss"
    one, several = counted_units(result.manifest["content"])
    columns = ("from", "to", "pays most", PUBLISHER_PAYOFF.label, f"{several.capitalize()} attacked", "Risk")
    caption = f"payoff per {one} at both ends; attacked and risk at the middle"
    table = titled_table(f"{result.name}: best policy by {result.key}{gain}", columns, caption, ("pays most",))
    low, high = table.columns[:2]
    low.justify, high.no_wrap = "right", True
    for row in result.intervals.to_dict("records"):
        ends = (row["publisher_payoff_low"], row["publisher_payoff_high"])
        table.add_row(
            amount_text(row["low"]),
            amount_text(row["high"]),
            Text(str(row["best"]) or "not determined"),
            " to ".join(PUBLISHER_PAYOFF.text(round(end, 6)) for end in ends),
            SHARE_ATTACKED.text(row["share_attacked"]),
            RISK.text(row["risk"]),
        )
    return table


def switch_text(result: SwitchResult) -> list[str]:
    """Return sentences on the best policy at the scenario's value, and on switches.

    The switches are the nearest ones below and above the scenario's value at which another policy becomes the best.
    """
    facts = result.manifest["switch"]
    # A policy that only ties with the chosen policy does not replace it.
    changes = result.switches[result.switches["below"] != result.switches["above"]]
    context = {
        "result": result,
        "facts": facts,
        "amount": amount_text,
        "throughout": "" if len(changes) or facts["unsettled"] else result.intervals["policy"].iloc[0],
        "below": changes[changes["value"] <= result.own].tail(1).to_dict("records"),
        "above": changes[changes["value"] > result.own].head(1).to_dict("records"),
    }
    return str(render("switch", context, "text")).strip().splitlines()


# Measures shown in tables and figures.
SHOWN = (PUBLISHER_PAYOFF, RISK)


def attributes_tables(result: AttributesResult) -> Iterator[Table]:
    """Lay out payoff and risk without each column, and the column's share of them.

    There is one table per policy.
    """
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
