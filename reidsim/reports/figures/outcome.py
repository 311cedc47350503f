"""The figure of a result, whatever it is of: payoffs by policy, along what was swept, by defender and adversary."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.engine.batch.result import BatchResult
from reidsim.engine.cross_play import CrossPlayResult
from reidsim.engine.run_result import RunResult
from reidsim.engine.stress.result import StressResult
from reidsim.errors import InputError
from reidsim.games.measures import ADVERSARY_PAYOFF, MEASURES, PUBLISHER_PAYOFF, RISK
from reidsim.measures import Measure, measures_among
from reidsim.palette import BLUE, VERMILION
from reidsim.reports.figures.cross_play import cross_play_maps
from reidsim.reports.figures.inputs import checked
from reidsim.reports.figures.stress import figures_of as stress_figures
from reidsim.reports.figures.style import UNIT, label_axes, new_figure, number_ticks, policy_name
from reidsim.reports.figures.sweep import sweep_figures

_COLOURS = {PUBLISHER_PAYOFF.column: BLUE, ADVERSARY_PAYOFF.column: VERMILION}
# Inches of a policy.
_ROW = 0.45


def plot(result: RunResult | CrossPlayResult | StressResult) -> Figure:
    """Draw the figure that tells most of a result; the results folder has them all.

    Parameters
    ----------
    result : RunResult, BatchResult, CrossPlayResult or StressResult

    Returns
    -------
    Figure
        Payoffs by policy; of a sweep, along what was swept; of cross-play, payoff and risk of every defender against
        every adversary; of a stress test, its first figure.

    Raises
    ------
    InputError
        If there is nothing to draw.
    """
    if isinstance(result, CrossPlayResult):
        return cross_play_maps(result.matrix(PUBLISHER_PAYOFF.column), result.matrix(RISK.column))
    if isinstance(result, StressResult):
        figures = list(stress_figures(result))
    else:
        figures = list(sweep_figures(result)) if isinstance(result, BatchResult) else []
    if figures:
        return figures[0][1]
    if isinstance(result, StressResult) or "policy" not in result.runs or PUBLISHER_PAYOFF.column not in result.runs:
        raise InputError("nothing to draw", source=result.name, expected="payoffs of policies")
    return payoffs_by_policy(result.summary.reset_index(), result.measures)


def payoffs_by_policy(summary: pd.DataFrame, measures: Iterable[Measure] = MEASURES) -> Figure:
    """Draw the payoffs of both players under each policy as bars, with their amounts.

    Parameters
    ----------
    summary : DataFrame
        One row per policy (and point): ``policy``, ``publisher_payoff`` and ``adversary_payoff``, money per record.
    measures : iterable of Measure
        Those of the scenario's kind.
    """
    table = checked(summary, "summary", text=("policy",), numbers=list(_COLOURS))
    names = [policy_name(policy) for policy in table["policy"]]
    figure, grid = new_figure(1, 2, panel=(4.2, 0.8 + _ROW * len(table)), sharey=True)
    places = np.arange(len(table))
    for (column, measure), axes in zip(measures_among(measures, _COLOURS).items(), grid[0], strict=True):
        bars = axes.barh(places, table[column], color=_COLOURS[column], height=0.6)
        axes.bar_label(bars, fmt=measure.format, fontsize=8, padding=3)
        axes.margins(x=0.2)
        label_axes(axes, title=measure.label, x=UNIT)
        number_ticks(axes.xaxis)
    grid[0][0].set_yticks(places, names, parse_math=False)
    grid[0][0].invert_yaxis()
    return figure
