"""Draw risks under partial knowledge, their reductions, and risks of cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reidsim.core.wording import BLACK, GREY, SKY_BLUE, VERMILION
from reidsim.figures import style
from reidsim.kinds.assessment.kind import EVERYBODY, RISKS_OF_PERSONS
from reidsim.kinds.assessment.study import WORST_CASE
from reidsim.scenarios.kind import once_each

_RISKS = ("journalist", "prosecutor", "marketer")
# Smallest risk on logarithmic axes.
_LEAST = 1e-4
_KEYS = ["records", "knowledge", "attribute", "value"]


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a run of this kind.

    These are always ``person-risks`` (of the smallest release) and ``risk-reductions``. With table ``cohorts``, there
    is ``cohort-groups`` and, for several sizes, ``cohort-growth``. With table ``settings``, there is
    ``capability-reductions``, unless the median reduction of every adversary is missing.
    """
    tables = result.analysis.tables()
    # The curves show one release; the smallest has the largest risks.
    records = result.records[result.records["records"] == result.records["records"].min()]
    yield "person-risks", risk_curves(once_each(records, result.manifest["content"]))
    # A reduction is undefined if the worst-case risk of all persons is 0.
    told = {name: tables[name].dropna(subset=["median"]) for name in ("reductions", "settings") if name in tables}
    yield "risk-reductions", risk_reductions(told["reductions"])
    if "cohorts" in tables:
        yield "cohort-groups", cohort_groups(tables["cohorts"])
        if len(tables["cohorts"]["records"].unique()) > 1:
            yield "cohort-growth", cohort_growth(tables["cohorts"])
    if "settings" in told and (told["settings"]["knowledge"] != WORST_CASE).any():
        yield "capability-reductions", capability_reductions(told["settings"])


def risk_curves(records: pd.DataFrame) -> Figure:
    """Draw the distribution of each person's risks, by adversary (cf. Xia et al. 2021, Fig. 2).

    Parameters
    ----------
    records : DataFrame
        One row per person and adversary of a single release, with columns ``records`` (equal in every row),
        ``knowledge``, ``journalist``, ``prosecutor`` and ``marketer``.

    Returns
    -------
    Figure
        One panel per risk, one step function per adversary: the share of persons with at most the risk on the x axis,
        which is logarithmic from 0.0001 to 1.
    """
    figure, [row] = style.new_figure(1, len(_RISKS), panel=(2.9, 2.7), sharex=True, sharey=True)
    for risk, axes in zip(_RISKS, row, strict=True):
        _draw_shares(axes, records.set_index("knowledge")[risk])
        style.label_axes(axes, title=RISKS_OF_PERSONS[risk].label, x="Risk")
    row[0].set(xscale="log", xlim=(_LEAST, 1.2), ylim=(0, 1.02))
    style.log_ticks(row[0].xaxis, 1 / _LEAST)
    style.percent_ticks(row[0].yaxis)
    style.label_axes(row[0], y=f"Share of {int(records['records'].iloc[0]):,} persons\nwith at most this risk")
    style.legend_below(figure)
    return figure


def risk_reductions(reductions: pd.DataFrame) -> Figure:
    """Draw marketer risk reductions by size of release (Xia et al. 2021, Table 3).

    Reductions are relative to the worst case.

    Parameters
    ----------
    reductions : DataFrame
        One row per size, sample, adversary and risk, with columns ``records``, ``replication``, ``knowledge``,
        ``risk``, ``q1``, ``median`` and ``q3`` (percent).

    Returns
    -------
    Figure
        One panel per adversary: medians as a line and interquartile ranges as bars, averaged over samples.
    """
    reductions = reductions[reductions["risk"] == "marketer"]
    adversaries = list(reductions["knowledge"].unique())
    figure, grid = style.new_figure(1, len(adversaries), panel=(4.0, 3.2))
    for name, axes in zip(adversaries, grid[0], strict=True):
        rows = reductions[reductions["knowledge"] == name].groupby("records")[["q1", "median", "q3"]].mean()
        sizes = rows.index.to_numpy(dtype=np.float64)
        axes.plot(sizes, rows["median"], color=BLACK, marker="o", markersize=4, label="Median person")
        bars: dict[str, Any] = {"color": SKY_BLUE, "linewidth": 4, "zorder": 1}
        axes.vlines(sizes, rows["q1"], rows["q3"], label="First to third quartile", **bars)
        style.scale_axis(axes, "x", sizes)
        style.percent_ticks(axes.yaxis, whole=100)
        style.label_axes(axes, title=style.given_name(name), x="Records", y="Reduction of marketer risk")
    style.legend_below(figure)
    return figure


def capability_reductions(settings: pd.DataFrame) -> Figure:
    """Draw median reductions of overall risk over all combinations of capabilities.

    The reduction is relative to the risk in the worst case, in which the adversary knows all attributes. Xia et al.
    2021 list such reductions in Table 4.

    Parameters
    ----------
    settings : DataFrame
        One row per combination of capabilities (``p_m``, ``p_fm``, ``p_cu``, ``p_c``), sample and adversary
        (``knowledge``), with the ``median`` reduction over persons, in percent. Rows whose ``knowledge`` is the worst
        case are ignored, and so are other columns.

    Returns
    -------
    Figure
        One panel with one distribution function per adversary: the share of combinations by median reduction. The
        median of a combination is averaged over samples.
    """
    settings = settings[settings["knowledge"] != WORST_CASE]
    figure, ((axes,),) = style.new_figure(1, 1, panel=(6.4, 3.6))
    keys = ["knowledge", "p_m", "p_fm", "p_cu", "p_c"]
    _draw_shares(axes, settings.groupby(keys, sort=False, observed=True)["median"].mean())
    style.label_axes(axes, x="Reduction of overall risk, median person", y="Share of settings")
    style.percent_ticks(axes.xaxis, whole=100)
    style.percent_ticks(axes.yaxis)
    style.legend_below(figure)
    return figure


def cohort_groups(cohorts: pd.DataFrame) -> Figure:
    """Draw the risk of each group and the accepted risk (Xia et al. 2023).

    The figure shows only cohorts that are not simulated, of the largest size.

    Parameters
    ----------
    cohorts : DataFrame
        One row per size, sample, adversary and group, with columns ``records``, ``replication``, ``draw``,
        ``knowledge``, ``attribute``, ``value``, ``percentile_risk``, ``threshold`` (the accepted risk), ``percentile``
        and ``simulated``; see `cohort_table`.

    Returns
    -------
    Figure
        One panel per adversary: groups on the y axis and their risk as a dot, averaged over samples, with a line from
        the 5th to the 95th percentile over samples. The accepted risk is a dashed line; dots above it are red.
    """
    means = _means(cohorts[~cohorts["simulated"]])
    means = means[means["records"] == means["records"].max()]
    groups = list(dict.fromkeys(zip(means["attribute"], means["value"], strict=True)))
    position = {group: -number for number, group in enumerate(groups)}
    panel = 3.6, max(2.2, 0.8 + 0.24 * len(groups))
    figure, grid = style.new_figure(1, means["knowledge"].nunique(), panel=panel, sharex=True, sharey=True)
    for (name, rows), axes in zip(means.groupby("knowledge", sort=False, observed=True), grid[0], strict=True):
        y = [position[group] for group in zip(rows["attribute"], rows["value"], strict=True)]
        colours = np.where(rows["percentile_risk"] > rows["threshold"], VERMILION, BLACK)
        axes.scatter(rows["percentile_risk"], y, c=colours.tolist(), s=22, zorder=3)
        axes.hlines(y, rows["low"], rows["high"], colors=colours.tolist(), linewidth=0.8)
        axes.axvline(rows["threshold"].iloc[0], **_accepted(means))
        axes.set_xlim(left=0)
        style.label_axes(axes, title=style.given_name(str(name)), x=_risk_label(means), numbers="x")
    labels = [value if attribute == EVERYBODY else f"{attribute}: {value}" for attribute, value in groups]
    grid[0][0].set_yticks(list(position.values()), labels)
    style.legend_below(figure)
    return figure


def cohort_growth(cohorts: pd.DataFrame) -> Figure:
    """Draw the risk and the accepted risk by size of cohort (Xia et al. 2023).

    Parameters
    ----------
    cohorts : DataFrame
        See `cohort_groups`.

    Returns
    -------
    Figure
        One panel per adversary: all people as a black line, groups as light lines, the accepted risk as a dashed line.
        Lines are means over samples and draws; bands extend from the 5th to the 95th percentile over samples and draws.
    """
    means = _means(cohorts)
    look: dict[bool, dict[str, Any]] = {
        True: {"color": BLACK, "marker": "o", "markersize": 4, "zorder": 3, "label": "Everybody"},
        False: {"color": SKY_BLUE, "linewidth": 0.8, "label": "A group"},
    }
    # Legends leave out labels that begin with an underscore.
    draws = "9 of 10 draws" if (means["low"] < means["high"]).any() else "_"
    figure, grid = style.new_figure(1, means["knowledge"].nunique(), panel=(3.6, 3.2), sharey=True)
    for (name, rows), axes in zip(means.groupby("knowledge", sort=False, observed=True), grid[0], strict=True):
        rows = rows.sort_values("records", kind="stable")
        for (attribute, _), line in rows.groupby(["attribute", "value"], sort=False, observed=True):
            own, band = look[attribute == EVERYBODY], line[["low", "high"]].to_numpy().T
            axes.plot(line["records"], line["percentile_risk"], **own)
            axes.fill_between(line["records"], *band, color=own["color"], alpha=0.3, linewidth=0, label=draws)
        axes.axhline(rows["threshold"].iloc[0], **_accepted(means))
        style.scale_axis(axes, "x", np.sort(rows["records"].unique()).astype(np.float64))
        axes.tick_params(axis="x", rotation=30)
        words = _risk_label(means) if axes is grid[0][0] else ""
        style.label_axes(axes, title=style.given_name(str(name)), x="People in the cohort", y=words, numbers="y")
    style.legend_below(figure)
    return figure


def _draw_shares(axes: Axes, values: pd.Series[float]) -> None:
    """Draw, by adversary (index level ``knowledge``), the share of values at or below each value."""
    by_adversary = {str(name): np.sort(own) for name, own in values.groupby("knowledge", sort=False, observed=True)}
    for name, look in style.looks(by_adversary).items():
        own, label = by_adversary[name], style.sentence(style.given_name(name))
        style.draw_steps(axes, own, np.arange(1, len(own) + 1) / len(own), look, label)


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean risk of each group of people over samples and draws.

    Parameters
    ----------
    table : DataFrame
        See `cohort_groups`.

    Returns
    -------
    DataFrame
        One row per size, adversary and group: ``records``, ``knowledge``, ``attribute``, ``value``, the means of
        ``percentile_risk``, ``threshold`` and ``percentile``, and ``low`` and ``high``, the 5th and 95th percentile of
        ``percentile_risk``.
    """
    groups = table.groupby(_KEYS, sort=False, observed=True)
    low, high = (groups["percentile_risk"].quantile(end) for end in (0.05, 0.95))
    return groups[["percentile_risk", "threshold", "percentile"]].mean().assign(low=low, high=high).reset_index()


def _risk_label(means: pd.DataFrame) -> str:
    return f"Risk that {means['percentile'].iloc[0]:.0%} do not exceed"


def _accepted(means: pd.DataFrame) -> dict[str, Any]:
    """Return matplotlib's options for drawing the line of the accepted risk.

    They are its colour, dashes, width and legend label; the label has the accepted risk of the first row of `means`
    (see `_means`).
    """
    label = f"Accepted risk, {means['threshold'].iloc[0]:g}"
    return {"color": GREY, "linestyle": "--", "linewidth": 1, "label": label}
