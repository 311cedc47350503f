"""The table that a run prints: its measures by policy."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table
from rich.text import Text

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


def summary_tables(summary: pd.DataFrame, title: str, defender: str = "publisher") -> Iterator[Table]:
    """Lay out the measures of a run in tables of as many policies as fit 80 characters; `defender` is who decides."""
    if summary.index.nlevels > 1:
        for size, rows in summary.groupby(level=0, sort=False):
            yield from summary_tables(rows.droplevel(0), f"{title}, {size:,} records", defender)
        return
    # Three characters between columns, two at each end.
    room = _WIDTH - 4 - max(len(_ROWS[measure][0]) for measure in summary.columns if measure in _ROWS)
    start, used = 0, 0
    for position, policy in enumerate(summary.index):
        width = 3 + max(len(str(policy)), _SHORTEST_VALUE)
        if used + width > room and position > start:
            yield _table(summary.iloc[start:position], title, defender)
            start, used = position, 0
        used += width
    yield _table(summary.iloc[start:], title, defender)


def _table(summary: pd.DataFrame, title: str, defender: str) -> Table:
    """Lay out the measures of a run, one row each, one column per policy.

    Parameters
    ----------
    summary : DataFrame
        Indexed by policy; see `reidsim.RunResult.summary`.
    title : str
    defender : str
    """
    has_payoffs = "publisher_payoff" in summary
    table = Table(
        title=Text(title),
        title_justify="left",
        caption="means over all records" + ("; payoffs per record" if has_payoffs else ""),
        caption_justify="left",
    )
    table.add_column("", no_wrap=True)
    for policy in summary.index:
        table.add_column(str(policy), justify="right")
    for measure, (name, form) in _ROWS.items():
        if measure not in summary:
            continue
        values = ["-" if pd.isna(value) else form.format(value) for value in summary[measure]]
        table.add_row(name.format(defender=defender.capitalize()), *values)
    return table
