"""Draw equilibria, best responses and drop-outs of people who may join a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter
from pandas.api.types import is_numeric_dtype

from reidsim.core.wording import BLACK, BLUE, GREY, ORANGE, Measure, measures_among
from reidsim.figures import style


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a run of this kind.

    The names are ``best-replies``, ``equilibria`` and ``survival``. A figure is left out if its table is empty; see
    `ParticipationKind.analyse` for the tables.
    """
    found = result.analysis
    if "replies" in found.tables():
        yield "best-replies", best_replies(found.replies, found.equilibria)
    if "equilibria" in found.tables():
        yield "equilibria", equilibria_found(found.equilibria)
    if "survival" in found.tables():
        yield "survival", survival_of_losses(found.survival)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name ``participation`` and its Figure for a sweep of one numeric key.

    Nothing is yielded if the sweep changes several keys, or a key whose values are not numbers; see
    `participation_along`.
    """
    keys = result.design.swept
    if len(keys) == 1 and is_numeric_dtype(result.runs[keys[0]]):
        yield "participation", participation_along(result.runs, keys[0], result.measures)


def participation_along(runs: pd.DataFrame, key: str, measures: Sequence[Measure]) -> Figure:
    """Draw participation and payoff of each policy against a key.

    Values are means over replications.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy: ``policy``, the key, ``participation`` and ``publisher_payoff``.
    key : str
        Key path of the swept number, the horizontal axis.
    measures : sequence of Measure
        Measures of the scenario; the labels of participation and payoff are the titles of the panels.

    Returns
    -------
    Figure
        Two panels, share of people who join and mean payoff per person; one line per policy.
    """
    columns = ("participation", "publisher_payoff")
    look = style.looks(list(dict.fromkeys(runs["policy"])))
    figure, [row] = style.new_figure(1, 2, panel=(4.2, 3.0))
    means = runs.groupby(["policy", key], observed=True, as_index=False)[list(columns)].mean()
    for axes, (column, measure) in zip(row, measures_among(measures, columns).items(), strict=True):
        handles = style.draw_lines(axes, means, key, column, look)
        if column == "participation":
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
        style.label_axes(axes, title=measure.label, x=style.parameter_label(key))
    style.legend_below(figure, handles)
    return figure


def best_replies(replies: pd.DataFrame, equilibria: pd.DataFrame) -> Figure:
    """Draw the share of people who would join against the share who have joined.

    Equilibria are marked on the diagonal. A dashed curve of the share without concern for relatives is added if it
    differs. The axes are logarithmic from the smallest computed share, and linear between 0 % and that share.

    Parameters
    ----------
    replies, equilibria : DataFrame
        See `ParticipationKind.analyse`.
    """
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.6, 3.4))
    shares = [0.0, *replies["participation"]]
    handles = axes.plot(shares, shares, color=GREY, label="as many as have joined")
    if not replies["would_join"].equals(replies["selfish"]):
        handles += axes.plot(
            replies["participation"], replies["selfish"], color=ORANGE, linestyle="--", label="without concern for kin"
        )
    handles += axes.plot(replies["participation"], replies["would_join"], color=BLUE, label="would join")
    # A linear scale between 0 % and the smallest computed share gives 0 % a place on the axis.
    least = float(replies.loc[replies["participation"] > 0, "participation"].min())
    at = equilibria["participation"].to_numpy(dtype=np.float64)
    handles += axes.plot(at, at, color=BLACK, marker="o", linestyle="", clip_on=False, label="equilibrium")
    decades = 10.0 ** np.arange(np.ceil(np.log10(least) - 1e-9), 1)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        axes.set(**{f"{name}scale": SymmetricalLogScale(axis, linthresh=least), f"{name}lim": (0.0, 1.0)})
        axis.set_major_locator(FixedLocator([0.0, *decades]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    style.label_axes(axes, title="Best replies", x="Share of people in the database", y="Share who would join")
    style.legend_below(figure, handles, columns=2)
    return figure


def equilibria_found(equilibria: pd.DataFrame) -> Figure:
    """Draw participation and mean payoff at each equilibrium.

    Parameters
    ----------
    equilibria : DataFrame
        One row per equilibrium: ``participation`` (share of people who join) and ``publisher_payoff`` (mean payoff per
        person, in currency units).

    Returns
    -------
    Figure
        One panel with one mark per equilibrium: participation on the x axis, payoff on the y axis.
    """
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    x, y = equilibria["participation"], equilibria["publisher_payoff"]
    axes.plot(x, y, color=BLUE, marker="o", linestyle="", clip_on=False)
    style.zero_line(axes)
    axes.set_xlim(-0.02, 1.02)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    style.label_axes(axes, title="Equilibria", x="Participation", y=f"Person's payoff\n({style.UNIT})", numbers="y")
    return figure


def survival_of_losses(survival: pd.DataFrame) -> Figure:
    """Draw the share of draws that return to each equilibrium after drop-outs.

    Parameters
    ----------
    survival : DataFrame
        See `ParticipationKind.analyse`.

    Returns
    -------
    Figure
        One line per equilibrium: share of participants who drop out on the x axis, share of draws whose best responses
        return to the equilibrium on the y axis.
    """
    names = {
        number: f"{part['participation'].iloc[0]:.2%} in"
        for number, part in survival.groupby("equilibrium", sort=True, observed=True)
    }
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.0))
    handles = []
    for (number, name), look in zip(names.items(), style.looks([str(each) for each in names]).values(), strict=True):
        rows = survival[survival["equilibrium"] == number].sort_values("lost")
        handles += style.draw_line(axes, rows["lost"], rows["returned"], look, name)
    axes.set_ylim(-0.03, 1.03)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, decimals=None, symbol=" %"))
    style.label_axes(axes, title="After drop-outs", x="Share of participants who drop out", y="Draws that recover")
    style.legend_below(figure, handles)
    return figure
