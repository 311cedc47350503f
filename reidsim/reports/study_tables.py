"""Lay out the results of the commands `stress`, `switch` and `attributes`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd
from rich.table import Table
from rich.text import Text

from reidsim.core.measures import Measure
from reidsim.engine.attributes.run import AttributesResult
from reidsim.engine.results import measures_in_manifest
from reidsim.engine.stress.outcomes import outputs_among
from reidsim.engine.stress.run import StressResult
from reidsim.engine.switch.run import SwitchResult
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED
from reidsim.reports.terminal_table import text_with_interval, texts_of, titled_table
from reidsim.reports.writer import render
from reidsim.scenarios.people import counted_units

# Measures shown in tables and figures of attributes.
SHOWN = (PUBLISHER_PAYOFF, RISK)


# Columns of the robustness table: heading, and format with the column that marks the best policies.
_ROBUSTNESS = {
    "": "{policy}",
    "mean": "{mean_payoff:,.2f}",
    "worst": "{worst_payoff:,.2f}{maximin}",
    "quantile": "{quantile_payoff:,.2f}{quantile_best}",
    "largest regret": "{largest_regret:,.2f}{minimax_regret}",
    "best at": "{share_best:.0%}",
}
_MARKS = ("maximin", "quantile_best", "minimax_regret")
# Printed sensitivity indices, the most important first, and their meaning.
_SOBOL = "{total:.2f} ({first-order:.2f})", "total (first-order)"
_MORRIS = (
    "{mu_star:,.4g} ({sigma:,.4g})",
    "mu_star (sigma): mean change of the output per step of the parameter (and standard deviation)",
)


def stress_tables(result: StressResult, title: str) -> Iterator[Table]:
    """Yield tables of sensitivity, robustness, boxes and broken guarantees.

    Analyses that the stress test did not perform have no table.
    """
    measures = {measure.column: measure for measure in outputs_among(measures_in_manifest(result.manifest))}
    for name, make in (
        ("sensitivity", _sensitivity),
        ("robustness", _robustness),
        ("boxes", _boxes),
        ("guarantee", _guarantee),
    ):
        if name in result.tables:
            yield from make(result.tables[name], title, measures)


def _sensitivity(indices: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    form, caption = _SOBOL if "total" in set(indices["index"]) else _MORRIS
    for output, rows in indices.groupby("output", sort=False, observed=True):
        policies, parameters = rows["policy"].unique(), rows["parameter"].unique()
        single = rows[rows["other"] == ""]
        values = single.pivot(index=["parameter", "policy"], columns="index", values="value").reset_index()
        values["text"] = [text for (text,) in texts_of(values, form)]
        cells = values.pivot(index="parameter", columns="policy", values="text").loc[parameters, policies]
        heading = f"{title}: {measures[str(output)].in_text}"
        shown = cells.reset_index().astype(str).to_numpy().tolist()
        yield titled_table(heading, ["", *policies], caption, rows=shown)


def _robustness(robustness: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    points = int(robustness["points"].iloc[0])
    caption = f"{measures[PUBLISHER_PAYOFF.column].in_text} over {points:,} points; * best by this criterion"
    marks = {name: robustness[name].map({True: "*", False: ""}) for name in _MARKS}
    rows = texts_of(robustness.assign(**marks), *_ROBUSTNESS.values())
    yield titled_table(f"{title}: robustness", _ROBUSTNESS, caption, rows=rows)


def _boxes(boxes: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    output = measures[str(boxes["output"].iloc[0])]
    shown = []
    for (policy, number), rows in boxes.groupby(["policy", "box"], sort=False, observed=True):
        words = "none" if number == 0 else " and ".join(bound_in_words(row) for row in rows.to_dict("records"))
        ((bad, coverage, density),) = texts_of(rows[:1], "{share_bad:.0%}", "{coverage:.0%}", "{density:.0%}")
        shown.append([str(policy), bad, words, coverage, density])
    columns = ("policy", "bad points", "box", "coverage", "density")
    heading = f"{title}: where {output.in_text} is bad"
    yield titled_table(heading, columns, "boxes of a classification tree", ("box",), shown)


def _guarantee(guarantee: pd.DataFrame, title: str, _: Mapping[str, Measure]) -> Iterator[Table]:
    columns = ("policy", "safe records", "parameter", "believed", "breaking", "error")
    caption = "first value at which an attack on a record believed safe is profitable"
    numbers = (f"{{{name}:,.4g}}" for name in columns[3:])
    rows = texts_of(guarantee, "{policy}", "{share_safe:.0%}", "{parameter}", *numbers)
    yield titled_table(f"{title}: errors that break the guarantee", columns, caption, ("parameter",), rows)


def bound_in_words(bound: Mapping[Hashable, Any]) -> str:
    """Return a bound of a box as text, such as ``2.5 < economics.cost <= 7``.

    Without a bound, the text is ``everywhere``.
    """
    if not bound["parameter"]:
        return "everywhere"
    left = "" if pd.isna(bound["low"]) else f"{bound['low']:.4g} < "
    right = "" if pd.isna(bound["high"]) else f" <= {bound['high']:.4g}"
    return f"{left}{bound['parameter']}{right}"


def amount_text(value: float, precision: float = 0.0) -> str:
    """Write an amount with six significant digits, or fewer if its precision is low."""
    is_rough = precision > 0 and value > 0
    digits = max(1, min(6, math.floor(math.log10(value / precision)) + 1)) if is_rough else 6
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def switch_table(result: SwitchResult) -> Table:
    """Return a table of the intervals of an amount, with the best policy in each."""
    gain = "" if not result.link_gain else ", with gain equal to loss"
    one, several = counted_units(result.manifest["content"])
    columns = ("from", "to", "pays most", PUBLISHER_PAYOFF.label, f"{several.capitalize()} attacked", "Risk")
    caption = f"payoff per {one} at both ends; attacked and risk at the middle"
    rows: list[list[str | Text]] = []
    for row in result.intervals.to_dict("records"):
        payoffs = (PUBLISHER_PAYOFF.text(round(row[f"publisher_payoff_{end}"], 6)) for end in ("low", "high"))
        best = Text(str(row["best"]) or "not determined")
        measures = SHARE_ATTACKED.text(row["share_attacked"]), RISK.text(row["risk"])
        rows.append([amount_text(row["low"]), amount_text(row["high"]), best, " to ".join(payoffs), *measures])
    table = titled_table(f"{result.name}: best policy by {result.key}{gain}", columns, caption, ("pays most",), rows)
    table.columns[0].justify, table.columns[1].no_wrap = "right", True
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


def attributes_tables(result: AttributesResult) -> Iterator[Table]:
    """Lay out payoff and risk without each column, and the column's share of them.

    There is one table per policy.
    """
    names = [measure.label if measure is not RISK else "Risk" for measure in SHOWN]
    columns = ("column", *(heading for name in names for heading in (f"{name} without", "share")))
    numbers = ["without", "share", "standard_error", "all", "none"]
    for policy, of_policy in result.table.groupby("policy", sort=False, observed=True):
        rows = of_policy.set_index(["attribute", "measure"])[numbers].astype(float).round(6)
        caption = "shares of the difference between all columns and none"
        table = titled_table(f"{result.name}: {policy}", columns, caption)
        for attribute in rows.index.unique(0).tolist():
            cells = []
            for measure in SHOWN:
                without, share, error = rows.loc[(attribute, measure.column)][numbers[:3]]
                cells += [measure.text(without), text_with_interval(measure, share, error if error > 0 else None)]
            table.add_row(Text(str(attribute)), *cells)
        for label, column in (("all kept", "all"), ("none kept", "none")):
            whole = [measure.text(rows.xs(measure.column, level=1)[column].iloc[0]) for measure in SHOWN]
            table.add_row(label, *(text for value in whole for text in (value, "")))
        yield table
