"""Draw the figures of the web page from the tables of a result."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from reidsim.figures.style import (
    label_axes,
    legend_below,
    new_figure,
    policy_name,
)
from reidsim.palette import BLUE, GREY, ORANGE, VERMILION

FORMS = ("as it is", "generalized", "suppressed", "withheld")
_FORM_COLOURS = (BLUE, ORANGE, VERMILION, GREY)
_PANEL = (5.2, 3.0)
_MASKED = "*"
_WITHHELD = "withheld"


def form_shares(records: pd.DataFrame, attributes: list[str], policy: str) -> pd.DataFrame:
    """Return the share of records by form of release, for each attribute.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, as in a results folder.
    attributes : list of str
        Columns of the released quasi-identifiers, in the order of the strategies' levels.
    policy : str

    Returns
    -------
    DataFrame
        Index: attribute. One column for each of `FORMS`: share of the records whose value of the attribute is released
        unchanged, generalized, suppressed or not released because the record is withheld; each row sums to 1.
    """
    chosen = records[records["policy"] == policy]
    strategies = chosen["strategy"].astype(str)
    withheld = (strategies == _WITHHELD).to_numpy()
    counts = pd.DataFrame(0.0, index=pd.Index(attributes, name="attribute"), columns=list(FORMS))
    levels = _levels(strategies, attributes)
    for attribute in attributes:
        value = chosen[attribute]
        gone = (value.isna() | (value.astype(str) == _MASKED)).to_numpy() & ~withheld
        as_is = (levels[attribute].to_numpy() == 0) & ~withheld & ~gone
        shares = (as_is, ~as_is & ~gone & ~withheld, gone, withheld)
        counts.loc[attribute] = [float(np.mean(share)) for share in shares]
    return counts


def _levels(strategies: pd.Series, attributes: list[str]) -> pd.DataFrame:
    """Return the level of each attribute of each record, from the strategy's name.

    Suppressed and withheld attributes have arbitrary levels.
    """
    rows = {}
    for strategy in strategies.unique():
        if all(part.isdigit() for part in strategy.split(",")):
            rows[strategy] = [int(level) for level in strategy.split(",")]
        else:
            rows[strategy] = [int(f" {name}~" in f" {strategy}") for name in attributes]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=attributes)
    return table.loc[strategies].reset_index(drop=True)


def form_bars(shares: pd.DataFrame, policy: str) -> Figure:
    """Draw the table of `form_shares` as stacked bars."""
    figure, [[axes]] = new_figure(1, 1, panel=(_PANEL[0], max(_PANEL[1], 0.24 * len(shares) + 1)))
    places, left = np.arange(len(shares)), np.zeros(len(shares))
    handles = []
    for form, colour, hatch in zip(FORMS, _FORM_COLOURS, ("", "//", "..", "xx"), strict=True):
        width = shares[form].to_numpy()
        axes.barh(places, width, left=left, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        handles.append(Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=form))
        left += width
    axes.set_yticks(places, list(shares.index))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    label_axes(axes, title=f"How attributes are shared: {policy_name(policy)}", x="Share of records")
    legend_below(figure, handles, columns=2)
    return figure
