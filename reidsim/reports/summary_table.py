"""The table that a run prints: its measures by policy."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table
from rich.text import Text

from reidsim.engine.batch.result import BatchResult

# What each measure is called, and how its values are printed.
_ROWS = {
    "publisher_payoff": ("{defender}'s payoff", "{:,.2f}"),
    "adversary_payoff": ("Adversary's payoff", "{:,.2f}"),
    "utility": ("Utility", "{:.4f}"),
    "generalization_intensity": ("Generalization intensity", "{:.4f}"),
    "share_attacked": ("Records attacked", "{:.2%}"),
    "risk": ("Re-identification risk", "{:.4f}"),
    "risk_if_attacked": ("Risk of attacked records", "{:.4f}"),
    "share_unchanged": ("Records shared unchanged", "{:.2%}"),
    "share_suppressed": ("Records suppressed", "{:.2%}"),
    "participation": ("Participation", "{:.2%}"),
    "prosecutor_risk": ("Prosecutor risk", "{:.4f}"),
    "journalist_risk": ("Journalist risk", "{:.4f}"),
    "marketer_risk": ("Marketer risk", "{:.4f}"),
    "overall_risk": ("Overall risk", "{:.4f}"),
    "usefulness": ("Usefulness", "{:.4f}"),
    "usefulness_fairness": ("Fairness of usefulness", "{:.4f}"),
    "privacy_fairness": ("Fairness of privacy", "{:.4f}"),
}


_WIDTH = 80
_SHORTEST_VALUE = 8
_SHORTEST_INTERVAL = 17
# Points of a sweep that are printed.
_MOST_POINTS = 20


def summary_tables(
    summary: pd.DataFrame, title: str, defender: str = "publisher", *, half_widths: pd.DataFrame | None = None
) -> Iterator[Table]:
    """Lay out the measures of a run in tables of as many policies as fit 80 characters.

    Parameters
    ----------
    summary : DataFrame
        Indexed by policy, or by size of the release and adversary.
    title : str
    defender : str
        Who decides.
    half_widths : DataFrame, optional
        Of confidence intervals, shown beside the values; of the same form as `summary`.
    """
    if summary.index.nlevels > 1:
        for size, rows in summary.groupby(level=0, sort=False):
            halves = None if half_widths is None else half_widths.loc[rows.index].droplevel(0)
            yield from summary_tables(rows.droplevel(0), f"{title}, {size:,} records", defender, half_widths=halves)
        return
    # Three characters between columns, two at each end.
    room = _WIDTH - 4 - max(len(_ROWS[measure][0]) for measure in summary.columns if measure in _ROWS)
    shortest = _SHORTEST_VALUE if half_widths is None else _SHORTEST_INTERVAL
    start, used = 0, 0
    for position, policy in enumerate(summary.index):
        width = 3 + max(len(str(policy)), shortest)
        if used + width > room and position > start:
            yield _table(summary.iloc[start:position], title, defender, half_widths)
            start, used = position, 0
        used += width
    yield _table(summary.iloc[start:], title, defender, half_widths)


def batch_tables(result: BatchResult, title: str) -> Iterator[Table]:
    """Lay out the means of a batch with their confidence intervals; of a sweep, the first measure alone."""
    found = result.statistics
    if found.empty:
        return
    found = found.assign(half_width=(found["high"] - found["low"]) / 2)
    swept = list(result.design.swept)
    groups = [column for column in ("policy", "records", "knowledge") if column in found]
    order = list(found["measure"].unique())
    means, halves = (
        found.pivot(index=[*swept, *groups], columns="measure", values=value)[order].loc[
            pd.MultiIndex.from_frame(found[[*swept, *groups]].drop_duplicates())
            if len(swept) + len(groups) > 1
            else pd.Index(found[groups[0]].unique(), name=groups[0])
        ]
        for value in ("mean", "half_width")
    )
    if not swept:
        yield from summary_tables(means, title, result.defender, half_widths=halves)
        return
    yield _sweep_table(means[order[0]], halves[order[0]], groups, title, result.defender)


def _sweep_table(means: pd.Series[float], halves: pd.Series[float], groups: list[str], title: str, who: str) -> Table:
    """Lay out one measure at the points of a sweep, one row each, one column per policy."""
    name, form = _ROWS.get(str(means.name), (str(means.name), "{:,.4g}"))
    texts = pd.Series(
        [_shown(mean, half, form) for mean, half in zip(means, halves, strict=True)], index=means.index, dtype=object
    )
    keys = [level for level in means.index.names if level not in groups]
    wide = texts.unstack(groups, sort=False)
    table = Table(title=Text(f"{title}\n{name.format(defender=who.capitalize())}"), title_justify="left")
    for key in keys:
        table.add_column(str(key))
    for group in wide.columns:
        parts = group if isinstance(group, tuple) else (group,)
        table.add_column(", ".join(map(str, parts)), justify="right")
    for values, row in zip(wide.index, wide.to_numpy()[:_MOST_POINTS], strict=False):
        place = values if isinstance(values, tuple) else (values,)
        table.add_row(*(f"{value:,g}" if isinstance(value, float) else str(value) for value in place), *row)
    left = len(wide) - _MOST_POINTS
    shown = "" if halves.isna().all() else "means, with the half-width of their 95% interval; "
    table.caption = f"{shown}other measures in statistics.parquet" + (f", as {left:,} more points" if left > 0 else "")
    table.caption_justify = "left"
    return table


def _shown(value: float, half: float | None, form: str) -> str:
    if pd.isna(value):
        return "-"
    return form.format(value) if half is None or pd.isna(half) else f"{form.format(value)} ± {form.format(half)}"


def _table(summary: pd.DataFrame, title: str, defender: str, half_widths: pd.DataFrame | None) -> Table:
    """Lay out the measures of a run, one row each, one column per policy; see `summary_tables`."""
    has_payoffs = "publisher_payoff" in summary
    has_intervals = half_widths is not None and not half_widths.isna().all(axis=None)
    table = Table(
        title=Text(title),
        title_justify="left",
        caption="means over all records"
        + ("; payoffs per record" if has_payoffs else "")
        + ("\n± half-width of the 95% confidence interval" if has_intervals else ""),
        caption_justify="left",
    )
    table.add_column("", no_wrap=True)
    for policy in summary.index:
        table.add_column(str(policy), justify="right")
    for measure, (name, form) in _ROWS.items():
        if measure not in summary:
            continue
        halves = [None] * len(summary) if half_widths is None else half_widths.loc[summary.index, measure]
        values = [_shown(value, half, form) for value, half in zip(summary[measure], halves, strict=True)]
        table.add_row(name.format(defender=defender.capitalize()), *values)
    return table
