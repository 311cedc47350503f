"""How useful and how fair shared data are, by policy (Wan et al. 2021, Figs. S1 and S2)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures import style
from reidsim.figures.inputs import checked, refuse_repeated
from reidsim.games.measures import RISK
from reidsim.kinds.masking.figures.subjects import masking_look, ordered_masking_policies, policy_legend
from reidsim.kinds.masking.measures import PRIVACY_FAIRNESS, USEFULNESS, USEFULNESS_FAIRNESS

FAIRNESS_COLUMNS = (USEFULNESS.column, USEFULNESS_FAIRNESS.column, PRIVACY_FAIRNESS.column)


def usefulness_and_fairness(runs: pd.DataFrame) -> Figure:
    """Draw fairness against usefulness and against privacy, by policy.

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy, with columns ``replication``, ``policy``, ``risk``, ``usefulness``,
        ``usefulness_fairness`` and ``privacy_fairness``; missing where a policy shares nothing.

    Returns
    -------
    Figure
        One mark per replication and policy: on the left fairness of usefulness against usefulness, on the right
        fairness of privacy against mean privacy (1 - risk).

    Raises
    ------
    InputError
        If the table is empty or lacks a column, or a replication has two rows for a policy.
    """
    complete = runs.dropna(subset=list(FAIRNESS_COLUMNS))
    table = checked(complete, "runs", text=("policy",), numbers=("replication", RISK.column, *FAIRNESS_COLUMNS))
    refuse_repeated(table, ("replication", "policy"), "runs")
    table["privacy"] = 1 - table[RISK.column]
    policies = ordered_masking_policies(table["policy"])
    figure, grid = style.new_figure(1, 2, panel=(4.4, 3.6))
    panels = (
        (USEFULNESS.column, USEFULNESS.label, USEFULNESS_FAIRNESS, "(a) Usefulness"),
        ("privacy", "Mean privacy (1 \N{MINUS SIGN} risk)", PRIVACY_FAIRNESS, "(b) Privacy"),
    )
    for axes, (column, words, fairness, title) in zip(grid[0], panels, strict=True):
        for policy in policies:
            rows, look = table[table["policy"] == policy], masking_look(policy)
            axes.scatter(
                rows[column],
                rows[fairness.column],
                s=40,
                marker=look.marker,
                color=look.colour,
                alpha=0.75,
                linewidths=0,
            )
        style.number_ticks(axes.xaxis, axes.yaxis)
        style.label_axes(axes, title=title, x=words, y=fairness.label)
    policy_legend(figure, policies)
    return figure
