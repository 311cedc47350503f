"""Figures of a cohort's risks against the accepted one: by group of people, and while the cohort grows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from reidsim.figures.inputs import checked, only_value, refuse_repeated
from reidsim.figures.spacing import scale_axis
from reidsim.figures.style import given_name, label_axes, legend_below, new_figure, sentence
from reidsim.kinds.assessment.risk_tables import EVERYBODY
from reidsim.palette import BLACK, GREY, SKY_BLUE, VERMILION

# Ends of the interval of the draws.
_DRAWS_WITHIN = (0.05, 0.95)
_KEYS = ("records", "knowledge", "attribute", "value")


def cohort_figures(cohorts: pd.DataFrame) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of the risks by group, and by size where there are several."""
    yield "cohort-groups", cohort_groups(cohorts)
    if len(cohorts["records"].unique()) > 1:
        yield "cohort-growth", cohort_growth(cohorts)


def _checked(cohorts: pd.DataFrame) -> pd.DataFrame:
    numbers = ("records", "replication", "draw", "percentile_risk", "threshold", "percentile")
    table = checked(cohorts, "cohorts", text=("knowledge", "attribute", "value"), numbers=numbers)
    refuse_repeated(table, (*_KEYS, "replication", "draw"), "cohorts")
    return table


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over samples and draws, with the ends of the interval of the draws."""
    risks = table.groupby(list(_KEYS), sort=False)["percentile_risk"]
    low, high = (risks.quantile(end) for end in _DRAWS_WITHIN)
    means = table.groupby(list(_KEYS), sort=False)[["percentile_risk", "threshold", "percentile"]].mean()
    return means.assign(low=low, high=high).reset_index()


def _risk_label(means: pd.DataFrame) -> str:
    return f"Risk that {float(only_value(means, 'percentile', 'cohorts')):.0%} do not exceed"


def cohort_groups(cohorts: pd.DataFrame) -> Figure:
    """Draw the risk of each group against the accepted one, in the largest cohort that is real (Xia et al. 2023).

    Parameters
    ----------
    cohorts : DataFrame
        One row per size, sample, adversary and group, with columns ``records``, ``replication``, ``draw``,
        ``knowledge``, ``attribute``, ``value``, ``percentile_risk``, ``threshold``, ``percentile`` and ``simulated``.

    Returns
    -------
    Figure
        One panel per adversary: groups on the y axis, their risk as a dot, red above the dashed line of the accepted
        risk; averaged over samples.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, or has two rows for the same point.
    """
    means = _means(_checked(cohorts[~cohorts["simulated"]]))
    means = means[means["records"] == means["records"].max()]
    names = list(means["knowledge"].unique())
    groups = list(dict.fromkeys(zip(means["attribute"], means["value"], strict=True)))
    position = {group: -number for number, group in enumerate(groups)}
    height = max(2.2, 0.8 + 0.24 * len(groups))
    figure, grid = new_figure(1, len(names), panel=(3.6, height), sharey=True)
    for name, axes in zip(names, grid[0], strict=True):
        rows = means[means["knowledge"] == name]
        y = [position[group] for group in zip(rows["attribute"], rows["value"], strict=True)]
        colours = np.where(rows["percentile_risk"] > rows["threshold"], VERMILION, BLACK)
        axes.scatter(rows["percentile_risk"], y, c=colours.tolist(), s=22, zorder=3)
        axes.axvline(rows["threshold"].iloc[0], color=GREY, linestyle="--", linewidth=1)
        axes.set_xlim(left=0)
        label_axes(
            axes, title=sentence(given_name(name)), x=f"{_risk_label(means)}\n({_accepted(means).get_label()}: dashed)"
        )
    labels = [value if attribute == EVERYBODY else f"{attribute}: {value}" for attribute, value in groups]
    grid[0][0].set_yticks([position[group] for group in groups], labels)
    return figure


def cohort_growth(cohorts: pd.DataFrame) -> Figure:
    """Draw the risk against the accepted one, by size of the cohort (Xia et al. 2023).

    Parameters
    ----------
    cohorts : DataFrame
        As of `cohort_groups`.

    Returns
    -------
    Figure
        One panel per adversary: everybody as a black line, groups as light ones, the accepted risk dashed; averaged
        over samples and draws, with bands from the 5th to the 95th percentile of these.

    Raises
    ------
    InputError
        If the table is empty, lacks a column, or has two rows for the same point.
    """
    means = _means(_checked(cohorts))
    names = list(means["knowledge"].unique())
    figure, grid = new_figure(1, len(names), panel=(3.6, 3.2), sharey=True)
    for name, axes in zip(names, grid[0], strict=True):
        rows = means[means["knowledge"] == name]
        for (attribute, _), line in rows.groupby(["attribute", "value"], sort=False):
            line = line.sort_values("records")
            whole = attribute == EVERYBODY
            axes.plot(
                line["records"], line["percentile_risk"], color=BLACK if whole else SKY_BLUE, zorder=3 if whole else 2,
                marker="o" if whole else None, markersize=4, linewidth=1.5 if whole else 0.8,
            )  # fmt: skip
            axes.fill_between(
                line["records"], line["low"], line["high"], color=GREY if whole else SKY_BLUE, alpha=0.4, linewidth=0,
                zorder=2 if whole else 1,
            )  # fmt: skip
        axes.axhline(rows["threshold"].iloc[0], color=GREY, linestyle="--", linewidth=1)
        scale_axis(axes, "x", np.sort(rows["records"].unique()).astype(np.float64))
        axes.tick_params(axis="x", rotation=30)
        label_axes(
            axes,
            title=sentence(given_name(name)),
            x="People in the cohort",
            y=_risk_label(means) if axes is grid[0][0] else "",
        )
    legend_below(
        figure,
        [
            Line2D([], [], color=BLACK, marker="o", markersize=4, label="everybody"),
            Line2D([], [], color=SKY_BLUE, linewidth=0.8, label="a group"),
            _accepted(means),
            *[Patch(color=GREY, alpha=0.4, linewidth=0, label="9 of 10 draws")]
            * bool((means["low"] < means["high"]).any()),
        ],
    )
    return figure


def _accepted(means: pd.DataFrame) -> Line2D:
    accepted = float(only_value(means, "threshold", "cohorts"))
    return Line2D([], [], color=GREY, linestyle="--", linewidth=1, label=f"accepted risk, {accepted:g}")
