"""Lay out the results of a stress test as terminal tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd
from rich.table import Table

from reidsim.core.measures import Measure
from reidsim.engine.results import measures_in_manifest
from reidsim.engine.stress.outcomes import outputs_among
from reidsim.engine.stress.run import StressResult
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.terminal_table import titled_table

# Columns of the robustness table, and their headings.
_ROBUSTNESS = {
    "mean_payoff": "mean",
    "worst_payoff": "worst",
    "quantile_payoff": "quantile",
    "largest_regret": "largest regret",
    "share_best": "best at",
}
_BEST = {"worst_payoff": "maximin", "largest_regret": "minimax_regret", "quantile_payoff": "quantile_best"}
# Printed sensitivity indices, the most important first, and their meanings.
_INDICES = {"sobol": ("total", "first-order"), "morris": ("mu_star", "sigma")}
_MEANINGS = {
    "sobol": "",
    "morris": ": mean change of the output per step of the parameter (and standard deviation)",
}


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
    method = "sobol" if "total" in set(indices["index"]) else "morris"
    first, second = _INDICES[method]
    for output, rows in indices.groupby("output", sort=False, observed=True):
        policies = rows["policy"].unique()
        heading = f"{title}: {measures[str(output)].in_text}"
        wide = rows[rows["other"] == ""].pivot(index=["index", "parameter"], columns="policy", values="value")
        texts = wide[policies].map(_index if method == "sobol" else _number)
        cells = texts.loc[first] + " (" + texts.loc[second] + ")"
        shown = [[str(parameter), *cells.loc[parameter]] for parameter in rows["parameter"].unique()]
        yield titled_table(heading, ["", *policies], f"{first} ({second}){_MEANINGS[method]}", rows=shown)


def _robustness(robustness: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    points = int(robustness["points"].iloc[0])
    caption = f"{measures[PUBLISHER_PAYOFF.column].in_text} over {points:,} points; * best by this criterion"
    rows = []
    for row in robustness.to_dict("records"):
        cells = []
        for column in _ROBUSTNESS:
            value = row[column]
            text = "-" if pd.isna(value) else f"{value:.0%}" if column == "share_best" else f"{value:,.2f}"
            cells.append(text + ("*" if column in _BEST and row[_BEST[column]] else ""))
        rows.append([str(row["policy"]), *cells])
    yield titled_table(f"{title}: robustness", ["", *_ROBUSTNESS.values()], caption, rows=rows)


def _boxes(boxes: pd.DataFrame, title: str, measures: Mapping[str, Measure]) -> Iterator[Table]:
    output = measures[str(boxes["output"].iloc[0])]
    columns = ("policy", "bad points", "box", "coverage", "density")
    heading = f"{title}: where {output.in_text} is bad"
    shown = []
    for (policy, number), rows in boxes.groupby(["policy", "box"], sort=False, observed=True):
        words = "none" if number == 0 else " and ".join(bound_in_words(row) for row in rows.to_dict("records"))
        bad, coverage, density = rows.iloc[0][["share_bad", "coverage", "density"]].map(_share)
        shown.append([str(policy), bad, words, coverage, density])
    yield titled_table(heading, columns, "boxes of a classification tree", ("box",), shown)


def _guarantee(guarantee: pd.DataFrame, title: str, _: Mapping[str, Measure]) -> Iterator[Table]:
    columns = ("policy", "safe records", "parameter", "believed", "breaking", "error")
    caption = "first value at which an attack on a record believed safe is profitable"
    rows = [
        [row["policy"], _share(row["share_safe"]), row["parameter"], *(_number(row[column]) for column in columns[3:])]
        for row in guarantee.to_dict("records")
    ]
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


def _number(value: float) -> str:
    return "-" if pd.isna(value) else f"{value + 0.0:,.4g}"


def _index(value: float) -> str:
    return "-" if pd.isna(value) else f"{value + 0.0:.2f}"


def _share(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.0%}"
