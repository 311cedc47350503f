"""Draw equilibria, best responses and drop-outs of people who may join a database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import FixedLocator, NullLocator
from pandas.api.types import is_numeric_dtype

from reidsim.core.numerics import wilson_interval
from reidsim.core.wording import BLACK, BLUE, GREY, ORANGE, measures_among
from reidsim.figures import style
from reidsim.figures.sweeps import sensitivity_lines
from reidsim.kinds.participation.kind import EquilibriaSection


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
        section = result.manifest["content"].get("figures", {}).get("equilibria", {})
        # Only drop-outs from families, whose equilibria are searched from several starts, are random.
        draws = EquilibriaSection(**section).draws if found.equilibria["starts"].notna().all() else 0
        yield "survival", survival_of_losses(found.survival, draws)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name ``participation`` and its Figure for a sweep of one numeric key.

    It shows means over replications of participation and payoff. Nothing is yielded if the sweep changes several keys,
    or a key whose values are not numbers.
    """
    keys, columns = result.design.swept, ["participation", "publisher_payoff"]
    if len(keys) == 1 and is_numeric_dtype(result.runs[keys[0]]):
        means = style.means_with_intervals(result.runs, ["policy", keys[0]], columns)
        lines = means.rename(columns={keys[0]: "value"}).assign(parameter=keys[0])
        yield "participation", sensitivity_lines(lines, list(measures_among(result.measures, columns).values()))


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
    axes.plot(shares, shares, color=GREY, label="as many as have joined")
    if not replies["would_join"].equals(replies["selfish"]):
        axes.plot(
            replies["participation"], replies["selfish"], color=ORANGE, linestyle="--", label="without concern for kin"
        )
    axes.plot(replies["participation"], replies["would_join"], color=BLUE, label="would join")
    # A linear scale between 0 % and the smallest computed share gives 0 % a place on the axis.
    least = float(replies.loc[replies["participation"] > 0, "participation"].min())
    at = equilibria["participation"].to_numpy(dtype=np.float64)
    axes.plot(at, at, color=BLACK, marker="o", linestyle="", clip_on=False, label="equilibrium")
    decades = 10.0 ** np.arange(np.ceil(np.log10(least) - 1e-9), 1)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        axes.set(**{f"{name}scale": SymmetricalLogScale(axis, linthresh=least), f"{name}lim": (0.0, 1.0)})
        style.percent_ticks(axis)
        axis.set_major_locator(FixedLocator([0.0, *decades]))
        axis.set_minor_locator(NullLocator())
    style.label_axes(axes, title="Best replies", x="Share of people in the database", y="Share who would join")
    style.legend_below(figure, columns=2)
    return figure


def equilibria_found(equilibria: pd.DataFrame) -> Figure:
    """Draw the mean payoff at each equilibrium.

    Parameters
    ----------
    equilibria : DataFrame
        One row per equilibrium: ``participation`` (share of people who join) and ``publisher_payoff`` (mean payoff per
        person, in currency units).

    Returns
    -------
    Figure
        One row per equilibrium, named by its participation: a dot at the payoff, with the amount beside it.
    """
    payoffs, rows = equilibria["publisher_payoff"], range(len(equilibria))
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 0.6 + 0.27 * len(equilibria)))
    axes.hlines(rows, 0, payoffs, color=BLUE, linewidth=1)
    axes.plot(payoffs, rows, color=BLUE, marker="o", linestyle="", clip_on=False)
    axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
    for row, payoff in zip(rows, payoffs, strict=True):
        offset, side = ((-6, 0), "right") if payoff < 0 else ((6, 0), "left")
        style.write_at(axes, style.money_text(payoff), (payoff, row), offset, ha=side, va="center")
    axes.margins(x=0.15)
    style.name_rows(axes, map(_equilibrium_name, equilibria["participation"]))
    axes.tick_params(axis="y", length=0)
    style.label_axes(axes, x=f"Person's payoff ({style.CURRENCY})", numbers="x")
    return figure


def survival_of_losses(survival: pd.DataFrame, draws: int) -> Figure:
    """Draw the share of draws that return to each equilibrium after drop-outs.

    Parameters
    ----------
    survival : DataFrame
        See `ParticipationKind.analyse`.
    draws : int
        Number of random draws of drop-outs behind each share; 0 if nothing is drawn.

    Returns
    -------
    Figure
        One row per equilibrium, named by its participation, with a mark per share of participants who drop out: the
        share of draws whose best responses return to the equilibrium, with its 95 % interval (Wilson) if draws are
        random. Drop-outs from nobody are not random.
    """
    participation = survival.groupby("equilibrium", sort=True, observed=True)["participation"].first()
    losses = sorted(survival["lost"].unique())
    apart = 0.7 / len(losses)
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 0.6 + (0.1 + 0.16 * len(losses)) * len(participation)))
    for place, (lost, look) in enumerate(zip(losses, style.looks(map(str, losses)).values(), strict=True)):
        rows = survival[survival["lost"] == lost].set_index("equilibrium").loc[participation.index]
        at = np.arange(len(rows)) + (place - (len(losses) - 1) / 2) * apart
        random = rows["participation"].to_numpy() > 0 if draws else np.zeros(len(rows), dtype=bool)
        for row, share in zip(at[random], rows["returned"][random], strict=True):
            axes.plot(wilson_interval(share, draws), [row, row], color=look.colour, linewidth=1)
        label = f"{100 * lost:g}% drop out"
        style.draw_line(axes, rows["returned"], at, look, label=label, marks=len(rows), linestyle="none")
    axes.set_xlim(-0.03, 1.03)
    if draws:
        style.percent_ticks(axes.xaxis)
        style.label_axes(axes, x=f"Share of {draws} draws that recover, with 95% interval")
    else:
        axes.set_xticks([0, 1], ["does not recover", "recovers"])
    style.name_rows(axes, map(_equilibrium_name, participation))
    axes.tick_params(axis="y", length=0)
    style.legend_below(figure)
    return figure


def _equilibrium_name(participation: float) -> str:
    return f"{100 * participation:.4g}% join"
