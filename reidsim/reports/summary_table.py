"""The table that a run prints: its measures by policy."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table
from rich.text import Text

# What each measure is called, and how its values are printed.
_ROWS = {
    "publisher_payoff": ("Publisher's payoff", "{:,.2f}"),
    "adversary_payoff": ("Adversary's payoff", "{:,.2f}"),
    "utility": ("Utility", "{:.4f}"),
    "generalization_intensity": ("Generalization intensity", "{:.4f}"),
    "share_attacked": ("Records attacked", "{:.2%}"),
    "risk": ("Re-identification risk", "{:.4f}"),
    "risk_if_attacked": ("Risk of attacked records", "{:.4f}"),
    "share_unchanged": ("Records shared unchanged", "{:.2%}"),
    "share_suppressed": ("Records suppressed", "{:.2%}"),
}


# So many columns of policies fit 80 characters.
_POLICIES_ABREAST = 4


def summary_tables(summary: pd.DataFrame, title: str) -> Iterator[Table]:
    """Lay out the measures of a run in tables of at most four policies, which fit 80 characters."""
    for start in range(0, len(summary), _POLICIES_ABREAST):
        yield _table(summary.iloc[start : start + _POLICIES_ABREAST], title)


def _table(summary: pd.DataFrame, title: str) -> Table:
    """Lay out the measures of a run, one row each, one column per policy.

    Parameters
    ----------
    summary : DataFrame
        Indexed by policy; see `reidsim.RunResult.summary`.
    title : str
    """
    table = Table(
        title=Text(title),
        title_justify="left",
        caption="means over all records; payoffs per record",
        caption_justify="left",
    )
    table.add_column("")
    for policy in summary.index:
        table.add_column(str(policy), justify="right")
    for measure, (name, form) in _ROWS.items():
        values = ["-" if pd.isna(value) else form.format(value) for value in summary[measure]]
        table.add_row(name, *values)
    return table
