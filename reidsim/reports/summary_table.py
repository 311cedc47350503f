"""Lay out the measures of a run by policy as terminal tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pandas as pd
from rich.table import Table

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.batch.result import BatchResult
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.sweep_tables import sweep_tables
from reidsim.reports.terminal_table import columns_that_fit, text_with_interval, titled_table
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.report_sentences import GAIN, LOSS, gain_goes_with_loss

_SHORTEST_VALUE = 8
_SHORTEST_INTERVAL = 17


def summary_tables(
    summary: pd.DataFrame,
    title: str,
    measures: Iterable[Measure],
    *,
    half_widths: pd.DataFrame | None = None,
    units: tuple[str, str] = ("record", "records"),
) -> Iterator[Table]:
    """Lay out the measures of a run, with as many policies per table as fit.

    Parameters
    ----------
    summary : DataFrame
        Measures indexed by policy, or by size of the release and adversary.
    title : str
    measures : iterable of Measure
        Measures of the scenario's kind; other columns are not shown.
    half_widths : DataFrame, optional
        Half-widths of confidence intervals, with the same shape as `summary`; shown next to the values.
    units : tuple of str
        Unit of counts, singular and plural.
    """
    shown = measures_among(measures, summary.columns)
    if summary.index.nlevels > 1:
        for size, rows in summary.groupby(level=0, sort=False, observed=True):
            halves = None if half_widths is None else half_widths.loc[rows.index].droplevel(0)
            of_size = f"{title}, {size:,} records"
            yield from summary_tables(rows.droplevel(0), of_size, shown.values(), half_widths=halves, units=units)
        return
    longest = max((len(measure.label) for measure in shown.values()), default=0)
    shortest = _SHORTEST_VALUE if half_widths is None else _SHORTEST_INTERVAL
    for some in columns_that_fit(longest, (max(len(str(policy)), shortest) for policy in summary.index)):
        yield _table(summary.iloc[some], title, shown, half_widths, units)


def batch_tables(result: BatchResult, title: str) -> Iterator[Table]:
    """Lay out the means of a batch with confidence intervals.

    Of a sweep, only the first measure is shown; see `sweep_tables`. There is no table if no run is complete.
    """
    found = result.statistics
    if found.empty:
        return
    found = found.assign(half_width=(found["high"] - found["low"]) / 2)
    swept = list(result.design.swept)
    groups = [column for column in ("policy", "records", "knowledge") if column in found]
    measures = measures_among(result.measures, found["measure"].unique())
    order = list(measures)
    means, halves = (
        found.pivot(index=[*swept, *groups], columns="measure", values=value)[order].loc[
            pd.MultiIndex.from_frame(found[[*swept, *groups]].drop_duplicates())
            if len(swept) + len(groups) > 1
            else pd.Index(found[groups[0]].unique(), name=groups[0])
        ]
        for value in ("mean", "half_width")
    )
    if not swept:
        units = counted_units(result.manifest["content"])
        yield from summary_tables(means, title, measures.values(), half_widths=halves, units=units)
        return
    wide, intervals = (of[order[0]].unstack(groups, sort=False) for of in (means, halves))
    tables = list(sweep_tables(measures[order[0]], wide, intervals, result.manifest["content"], title))
    if gain_goes_with_loss(result.manifest["content"], swept):
        tables[-1].caption = f"{tables[-1].caption}\n{GAIN} is not set: the gain equals {LOSS} at each point"
    yield from tables


def _table(
    summary: pd.DataFrame,
    title: str,
    measures: Mapping[str, Measure],
    half_widths: pd.DataFrame | None,
    units: tuple[str, str],
) -> Table:
    """Return a table with one row per measure and one column per policy."""
    has_payoffs = PUBLISHER_PAYOFF.column in summary
    has_intervals = half_widths is not None and not half_widths.isna().all(axis=None)
    caption = f"means over all {units[1]}" + (f"; payoffs per {units[0]}" if has_payoffs else "")
    caption += "\n± half-width of the 95% confidence interval" if has_intervals else ""
    rows = []
    for column, measure in measures.items():
        halves = [None] * len(summary) if half_widths is None else half_widths.loc[summary.index, column]
        values = [text_with_interval(measure, value, half) for value, half in zip(summary[column], halves, strict=True)]
        rows.append([measure.label, *values])
    return titled_table(title, ["", *summary.index], caption, rows=rows)
