"""Figures of runs and sweeps of table scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from reidsim.figures import style
from reidsim.figures.studies import Swept, lines_or_maps, short_name, swept_of
from reidsim.kinds.tables.figures.full_domain import full_domain_runtimes, payout_curves, payout_front
from reidsim.kinds.tables.figures.records import (
    EXTREMES,
    REFERENCE,
    payoff_difference_curves,
    payoff_difference_scatter,
    strategy_payoffs,
)
from reidsim.kinds.tables.figures.sequential import (
    attack_thresholds,
    belief_risks,
    exploits_by_group_size,
    payoff_by_group_size,
    risk_by_group_size,
)
from reidsim.kinds.tables.policy import policy_named
from reidsim.palette import BLACK, VERMILION
from reidsim.scenarios.people import once_each

_DEVIATION = ["publisher_payoff_difference", "share_optimal"]
_THRESHOLD = "attack_threshold"
_DETERRENTS = {
    "economics.cost": "exploit_cost",
    "adversary.sequential.access_cost": "access_cost",
    "adversary.sequential.penalty": "penalty",
    "adversary.sequential.detection_intercept": "detection",
}


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name and figure of each plot of a sweep.

    Figures of the papers are included if the sweep has their data.
    """
    swept = swept_of(result)
    if swept is None:
        return
    if _THRESHOLD in swept.table and not swept.second:
        yield "attack-thresholds", _thresholds(swept)
    if set(_DEVIATION) <= set(swept.table) and not swept.second and not swept.others:
        lines = swept.lines(_DEVIATION).dropna(subset=_DEVIATION)
        if len(lines["policy"].unique()) == 1:
            yield "search-deviation", search_deviation(lines)
    runtimes = _runtimes(result, swept)
    if runtimes is not None:
        yield "full-domain-runtimes", full_domain_runtimes(runtimes)
    elif _is_payout(swept):
        yield f"payout-curves-{short_name(swept.along[0])}", payout_curves(_payouts(swept))
    else:
        yield from lines_or_maps(swept)


def search_deviation(deviations: pd.DataFrame) -> Figure:
    """Draw the deviation of lattice search from the optimum by parameter.

    This is Fig. 12 of Wan et al. 2015.

    Parameters
    ----------
    deviations : DataFrame
        One row per parameter and value, with columns ``parameter``, ``value``, ``publisher_payoff_difference`` (mean
        absolute difference of the publisher's payoff from the optimum, in currency units per record; Eq. 6 of the
        paper) and ``share_optimal`` (share of records with the optimal payoff).

    Returns
    -------
    Figure
        One panel per parameter: the difference on the left axis, the share on the right one.
    """
    parameters = style.ordered_parameters(deviations["parameter"])
    figure, grid = style.new_figure(1, len(parameters), panel=(4.8, 3.0))
    for parameter, axes, letter in zip(parameters, grid[0], "abcdefghijklmnopqrstuvwxyz", strict=False):
        here = deviations[deviations["parameter"] == parameter].sort_values("value")
        marks: dict[str, Any] = {"markersize": 5, "markevery": max(1, len(here) // 12), "clip_on": False}
        label, right = "mean payoff difference from the optimum", axes.twinx()
        difference = axes.plot(here["value"], here[_DEVIATION[0]], color=BLACK, marker="o", label=label, **marks)
        marks |= {"linestyle": "--", "marker": "s", "markerfacecolor": "white"}
        label = "records with the optimal payoff (right axis)"
        share = right.plot(here["value"], here[_DEVIATION[1]], color=VERMILION, label=label, **marks)
        # Both axes end where the search equals the optimum. Markers there are not clipped.
        axes.set_ylim(bottom=0)
        right.set_ylim(min(right.get_ylim()[0], 0.99), 1)
        style.scale_axis(axes, "x", np.unique(here["value"]))
        style.number_ticks(axes.yaxis)
        right.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.6g}%"))
        right.spines["top"].set_visible(False)
        right.tick_params(labelsize=9)
        title, x = f"({letter}) By {style.key_words(parameter)}", style.parameter_label(parameter)
        y = f"Publisher's payoff difference, D\N{LATIN SUBSCRIPT SMALL LETTER P}\n({style.UNIT})"
        style.label_axes(axes, title=title, x=x, y=y)
        style.label_axes(right, y="Share of records\nwith the optimal payoff")
    style.legend_below(figure, [*difference, *share], columns=len(parameters))
    return figure


def _thresholds(swept: Swept) -> Figure:
    policy = swept.table["policy"].iloc[0]
    lines = swept.lines([_THRESHOLD])
    lines = lines[lines["policy"] == policy]
    is_odds = lines["key"] == "adversary.sequential.detection_intercept"
    value = lines["value"].where(~is_odds, 1 / (1 + np.exp(-lines["value"])))
    parameter = lines["key"].map(lambda key: _DETERRENTS.get(key, key))
    setting = lines["setting"].replace("", "as in the scenario")
    return attack_thresholds(
        lines.assign(parameter=parameter, value=value, setting=setting, threshold=lines[_THRESHOLD])
    )


def _is_payout(swept: Swept) -> bool:
    at_dataset_level = swept.content.get("publisher", {}).get("unit") == "table" and not swept.second
    priced = len(swept.along) == 1 and swept.along[0].startswith("economics.")
    return at_dataset_level and priced and set(swept.others) <= {"beliefs.risk"} and _benefit(swept) > 0


def _payouts(swept: Swept) -> pd.DataFrame:
    lines = swept.lines(["publisher_payoff"]).dropna(subset="publisher_payoff")
    lines["relative_payout"] = lines["publisher_payoff"] / _benefit(swept)
    risk = lines["beliefs.risk"] if "beliefs.risk" in lines else pd.Series("", index=lines.index)
    # Rules do not plan, so that the planned risk does not apply to them.
    lines["risk"] = risk.mask(lines["policy"].map(lambda policy: policy_named(policy).is_rule), "")
    return lines.drop_duplicates(["parameter", "value", "policy", "risk"])


def _benefit(swept: Swept) -> float:
    """Return the benefit common to all records and points; 0 if it varies."""
    economics = swept.content["economics"]
    changes = "economics.benefit" in swept.along or economics.get("columns")
    return 0.0 if changes else float(economics["benefit"])


def _runtimes(result: Any, swept: Swept) -> pd.DataFrame | None:
    """Return median run times with and without pruning along the loss.

    There is one row per value, policy and ``pruned``, with the median ``seconds`` over replications. The result is None
    for sweeps of any other design.
    """
    table: pd.DataFrame = result.analysis.tables().get("runtimes", pd.DataFrame())
    along = tuple(swept.along) == ("economics.loss",) and swept.others == ("publisher.prune",)
    if not along or "nodes_evaluated" not in table:
        return None
    points = result.design.points.iloc[table["point"].to_numpy()].reset_index(drop=True)
    found = table.assign(value=points[swept.along[0]], pruned=points["publisher.prune"])
    return found.groupby(["value", "policy", "pruned"], sort=False, observed=True)["seconds"].median().reset_index()


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the name and figure of each plot of a run, in the order of the papers."""
    tables = result.analysis.tables()
    if "front" in tables:
        yield "payout-front", payout_front(tables["front"], tables["optima"])
    if "strategies" in tables:
        yield "strategies", strategy_payoffs(tables["strategies"])
    # With one generalization for all records, differences to Safe Harbor by record are not informative.
    of_records = result.manifest["content"].get("publisher", {}).get("unit", "record") == "record"
    policies = list(result.summary.index)
    if of_records and REFERENCE in policies and set(policies) - {REFERENCE, *EXTREMES}:
        records = once_each(result.records, result.manifest["content"])
        yield "payoff-differences", payoff_difference_curves(records, REFERENCE)
        yield "payoff-scatter", payoff_difference_scatter(records, REFERENCE)
    if "attacks" in tables:
        yield "risk-by-group-size", risk_by_group_size(tables["attacks"])
        yield "payoff-by-group-size", payoff_by_group_size(tables["attacks"])
        yield "exploits-by-group-size", exploits_by_group_size(tables["attacks"])
    if "beliefs" in tables:
        yield "belief-risks", belief_risks(tables["beliefs"])
