"""Draw figures of runs and sweeps of table scenarios.

Some are figures of Wan et al. 2015, Xia et al. 2015 and Prasser et al. 2017.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from reidsim.core.wording import BLACK, BLUE, GREY, VERMILION
from reidsim.figures import style
from reidsim.figures.sweeps import Swept, lines_or_maps, swept_of
from reidsim.games.outcomes import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.kinds.tables.schema import policy_named
from reidsim.scenarios.kind import once_each

# Default reference policy of comparisons by record.
REFERENCE = "safe-harbor"
# Policies that are not drawn by default: their extreme payoffs stretch the axes and do not help to compare the others.
EXTREMES = ("no-protection", "suppress-all")
_SIDES = ((PUBLISHER_PAYOFF, "Publisher"), (ADVERSARY_PAYOFF, "Adversary"))
# Shapes and fills differ, so that the markers can be distinguished in greyscale.
_REPLIES: tuple[tuple[bool, str, dict[str, Any]], ...] = (
    (False, "Not attacked", {"marker": "o", "color": BLUE, "markerfacecolor": "none"}),
    (True, "Attacked", {"marker": "^", "color": VERMILION, "markerfacecolor": VERMILION}),
)
_METHODS = {
    "safe-harbor": "Safe Harbor",
    "no-protection": "No protection",
    "basic": "Full-domain",
    "no-attack": "Full-domain",
    "sh-friendly": "Full-domain, SH-friendly",
    "record-level": "Record-level",
    "record-level-no-attack": "Record-level",
}
_PLANNED_WITH = {
    "prosecutor": ", risks from the dataset",
    "journalist": ", risks from the population",
    "sample": ", risks estimated from the sample",
}
# Title of a column of panels, and the policy and pruning of each of its lines.
_RUNTIME_PANELS: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = (
    ("Basic game", (("basic", True), ("basic", False), ("record-level", True))),
    ("No-attack game", (("no-attack", True), ("no-attack", False), ("record-level-no-attack", True))),
)
_RUNTIME_LINES = ("full-domain, with pruning", "full-domain, every node", "record-level")
_DEVIATION = ["publisher_payoff_difference", "share_optimal"]
_THRESHOLD = "attack_threshold"
_INTERCEPT = "adversary.sequential.detection_intercept"
_DETERRENTS = {
    "economics.cost": "exploit_cost",
    "adversary.sequential.access_cost": "access_cost",
    "adversary.sequential.penalty": "penalty",
    _INTERCEPT: "detection",
}
_GROUP_SIZE = "Group size in the registry (records)"
_BASELINE = "Baseline: one exploit"
# Sign of the risk difference, marker shape, edge colour, face colour and label. Shapes and fills differ, so that the
# markers can be distinguished in greyscale.
_SIGNS = ((1, "^", "white", VERMILION, "the group is known"), (-1, "o", BLUE, "none", "it is unknown"))
# Columns that `by_group_size` draws, with the first word of the figure's name and the axis label.
_CURVES = {
    "risk": ("risk", "Probability of re-identification"),
    "value": ("payoff", f"Adversary's expected payoff\nat the outset ({style.UNIT})"),
    "exploits": ("exploits", "Candidates exploited before terminating\n(none hit, none detected)"),
}
# Axis labels of known parameters; panels follow this order.
_PARAMETER_LABELS = {
    "access_cost": f"Cost of accessing the registry ({style.UNIT})",
    "exploit_cost": f"Cost of an exploit ({style.CURRENCY} per exploit)",
    "penalty": f"Penalty ({style.CURRENCY} per detected exploit)",
    "detection": "Probability that the first exploit is detected",
}


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a run, in the order of the papers.

    They are ``payout-front``, ``strategies``, ``payoff-differences`` and ``payoff-scatter``, the curves by group size
    and ``belief-risks``, as far as the run has their tables. Figures of payoff differences are drawn only if the
    publisher generalizes by record, and the run has policy ``safe-harbor`` and at least one policy other than
    ``safe-harbor``, ``no-protection`` and ``suppress-all``.
    """
    tables, content, policies = result.analysis.tables(), result.manifest["content"], list(result.summary.index)
    if "front" in tables:
        yield "payout-front", payout_front(tables["front"], tables["optima"])
    if "strategies" in tables:
        yield "strategies", strategy_payoffs(tables["strategies"])
    # With one generalization for all records, differences to Safe Harbor by record are not informative.
    of_records = content.get("publisher", {}).get("unit", "record") == "record"
    if of_records and REFERENCE in policies and set(policies) - {REFERENCE, *EXTREMES}:
        records = once_each(result.records, content)
        yield "payoff-differences", payoff_difference_curves(records)
        yield "payoff-scatter", payoff_difference_scatter(records)
    for column, (name, _) in _CURVES.items() if "attacks" in tables else ():
        yield f"{name}-by-group-size", by_group_size(tables["attacks"], column)
    if "beliefs" in tables:
        yield "belief-risks", belief_risks(tables["beliefs"])


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a sweep; none without a numeric key.

    Figures of the papers are included if the sweep has their data: ``attack-thresholds``, ``search-deviation``,
    ``full-domain-runtimes`` or ``payout-curves-KEY``. Without the last two, there are lines or maps of the payoffs.
    """
    swept = swept_of(result)
    if swept is None:
        return
    if _THRESHOLD in swept.table and not swept.second:
        # Thresholds are equal for all policies. A detection intercept is drawn as a probability.
        lines = swept.lines([_THRESHOLD])
        lines = lines[lines["policy"] == swept.table["policy"].iloc[0]]
        thresholds = lines.assign(
            parameter=lines["key"].map(lambda key: _DETERRENTS.get(key, key)),
            value=lines["value"].where(lines["key"] != _INTERCEPT, 1 / (1 + np.exp(-lines["value"]))),
            setting=lines["setting"].replace("", "as in the scenario"),
            threshold=lines[_THRESHOLD],
        )
        yield "attack-thresholds", attack_thresholds(thresholds)
    if set(_DEVIATION) <= set(swept.table) and not swept.second and not swept.others:
        lines = swept.lines(_DEVIATION).dropna(subset=_DEVIATION)
        if len(lines["policy"].unique()) == 1:
            yield "search-deviation", search_deviation(lines)
    runtimes: pd.DataFrame = result.analysis.tables().get("runtimes", pd.DataFrame())
    pruned = tuple(swept.along) == ("economics.loss",) and swept.others == ("publisher.prune",)
    if pruned and "nodes_evaluated" in runtimes:
        points = result.design.points.iloc[runtimes["point"].to_numpy()].reset_index(drop=True)
        runtimes = runtimes.assign(value=points["economics.loss"], pruned=points["publisher.prune"])
        yield "full-domain-runtimes", full_domain_runtimes(runtimes)
    elif (payouts := _payouts(swept)) is not None:
        yield f"payout-curves-{swept.along[0].removeprefix('economics.')}", payout_curves(payouts)
    else:
        yield from lines_or_maps(swept)


def _payouts(swept: Swept) -> pd.DataFrame | None:
    """Return the table that `payout_curves` draws; None if the sweep does not fit it.

    A sweep fits if it changes one payoff parameter other than the benefit, and no other key except ``beliefs.risk``,
    the risk with which the publisher plans. The scenario must choose one generalization for the table
    (``publisher.unit``), with a positive benefit and without columns of payoff parameters. `swept` has the sweep's
    results; see `Swept`.
    """
    economics, along, others = swept.content["economics"], tuple(swept.along), set(swept.others)
    of_table = swept.content.get("publisher", {}).get("unit") == "table" and not swept.second
    priced = len(along) == 1 and along[0].startswith("economics.") and others <= {"beliefs.risk"}
    changes = "economics.benefit" in along or economics.get("columns")
    if not (of_table and priced) or changes or not float(economics["benefit"]) > 0:
        return None
    lines = swept.lines(["publisher_payoff"]).dropna(subset="publisher_payoff")
    risk = lines["beliefs.risk"] if "beliefs.risk" in lines else pd.Series("", index=lines.index)
    # Rules do not plan, so that the planned risk does not apply to them.
    risk = risk.mask(lines["policy"].map(lambda policy: policy_named(policy).is_rule), "")
    lines = lines.assign(relative_payout=lines["publisher_payoff"] / float(economics["benefit"]), risk=risk)
    return lines.drop_duplicates(["parameter", "value", "policy", "risk"])


def payout_curves(curves: pd.DataFrame) -> Figure:
    """Draw payouts by parameter value, game and planned risk (Prasser 2017, Fig. 5).

    Parameters
    ----------
    curves : DataFrame
        One row per value, policy and planned risk, with columns ``parameter`` (only the first parameter is drawn),
        ``value``, ``policy``, ``risk`` (with which the publisher plans; empty for policies with a fixed rule) and
        ``relative_payout`` (share of the best case, in which all records are unchanged and none is attacked).

    Returns
    -------
    Figure
        One row of panels per game (basic, No-Attack) that occurs, one panel per planned risk; policies with a fixed
        rule are in every panel.
    """
    parameter, letters = str(curves["parameter"].iloc[0]), iter(ascii_lowercase)
    curves = curves[curves["parameter"] == parameter].sort_values("value")
    of_rule = curves["policy"].map(lambda policy: policy_named(policy).is_rule)
    of_game = curves["policy"].map(lambda policy: policy_named(policy).forbids_attacks)
    games = [game for game in (False, True) if (~of_rule & (of_game == game)).any()] or [False]
    risks = [risk for risk in _PLANNED_WITH if (curves["risk"] == risk).any()] or [""]
    look = style.looks(list(dict.fromkeys(_METHODS.get(policy, policy) for policy in curves["policy"])))
    figure, grid = style.new_figure(len(games), len(risks), panel=(4.6, 3.0), sharey=True)
    for game, row in zip(games, grid, strict=True):
        for risk, axes in zip(risks, row, strict=True):
            here = curves[(of_game == game) & (curves["risk"] == risk) | of_rule]
            for policy, points in here.groupby("policy", sort=False, observed=True):
                name, x, y = _METHODS.get(str(policy), str(policy)), points["value"], points["relative_payout"]
                style.draw_line(axes, x, y, look[name], label=name, marks=8)
            style.percent_ticks(axes.yaxis)
            title = f"({next(letters)}) {'No-attack' if game else 'Basic'} game{_PLANNED_WITH.get(risk, '')}"
            style.label_axes(axes, title=title, x=style.parameter_label(parameter), numbers="x")
        style.label_axes(row[0], y="Publisher's payout\n(share of the best case)")
    style.legend_below(figure)
    return figure


def full_domain_runtimes(runtimes: pd.DataFrame) -> Figure:
    """Draw run times and nodes evaluated against the publisher's loss (Prasser 2017, Fig. 6).

    Parameters
    ----------
    runtimes : DataFrame
        One row per replication, value, policy and ``pruned``, with columns ``value`` (of the loss), ``policy``,
        ``pruned`` (whether the search skipped nodes that cannot be best), ``seconds`` (run time of the policy) and
        ``nodes_evaluated``.

    Returns
    -------
    Figure
        One column of panels per game: above, run times of full-domain generalization with and without pruning and of
        record-level generalization, as medians of replications with their range; below, the nodes that the full-domain
        searches evaluate. A line without runs is left out.
    """
    runs = runtimes.assign(milliseconds=1000 * runtimes["seconds"]).groupby(["policy", "pruned"], observed=True)
    rows = ("milliseconds", "Run time (ms)", 3), ("nodes_evaluated", "Nodes evaluated", 2)
    look = style.looks(_RUNTIME_LINES)
    figure, grid = style.new_figure(2, 2, panel=(4.2, 2.4), sharex=True, sharey="row")
    for row, (column, label, number) in zip(grid, rows, strict=True):
        for axes, (title, lines) in zip(row, _RUNTIME_PANELS, strict=True):
            for name, line in zip(_RUNTIME_LINES[:number], lines, strict=False):
                if line in runs.groups:
                    by_loss = runs.get_group(line).groupby("value")[column]
                    middle = by_loss.median()
                    around = np.abs([middle - by_loss.min(), by_loss.max() - middle])
                    own: dict[str, Any] = {"color": look[name].colour, "capsize": 2, "elinewidth": 0.8}
                    axes.errorbar(middle.index, middle, around, fmt="none", **own)
                    style.draw_line(axes, middle.index, middle, look[name], label=name, clip_on=False)
            heading, x = (title, "") if row is grid[0] else ("", style.parameter_label("loss"))
            style.label_axes(axes, title=heading, x=x, y=label if axes is row[0] else "", numbers="xy")
        row[0].set_ylim(bottom=0)
    style.legend_below(figure)
    return figure


def payout_front(front: pd.DataFrame, chosen: pd.DataFrame) -> Figure:
    """Draw the Pareto front of nodes by payout and share of records attacked.

    Parameters
    ----------
    front : DataFrame
        The nodes of the front: one row per policy and node, with columns ``policy``, ``node``, ``relative_payout``
        (planned, as a share of the best case) and ``share_attacked``.
    chosen : DataFrame
        The chosen node of each policy, with columns ``policy`` and ``node``.

    Returns
    -------
    Figure
        One step line per policy, of the payout against the share attacked, with a marker per node and a ring around the
        chosen node. The front of a policy that allows no attack is a single node.
    """
    figure, [[axes]] = style.new_figure(1, 1, panel=(5.2, 3.4))
    ring: dict[str, Any] = {"color": BLACK, "markersize": 12, "markerfacecolor": "none"}
    for policy, look in style.ordered_looks(front["policy"]).items():
        nodes = front[front["policy"] == policy].sort_values("share_attacked")
        points: dict[str, Any] = {"marker": look.marker, "markersize": 5, "markerfacecolor": "white"}
        shown = nodes["share_attacked"], nodes["relative_payout"]
        style.draw_steps(axes, *shown, look, style.policy_name(policy), linewidth=0.8, **points)
        picked = nodes[nodes["node"].isin(chosen.loc[chosen["policy"] == policy, "node"])]
        axes.plot(picked["share_attacked"], picked["relative_payout"], "o", **ring)
    style.percent_ticks(axes.xaxis, axes.yaxis)
    axes.margins(0.08, 0.12)
    style.label_axes(axes, x=SHARE_ATTACKED.label, y="Payout planned\n(share of the best case)")
    style.legend_below(figure, [_marker("o", "Chosen", **ring)])
    return figure


def payoff_difference_curves(records: pd.DataFrame, reference: str = REFERENCE) -> Figure:
    """Draw the distribution of payoff differences (Wan et al. 2015, Fig. 6).

    A difference is a record's payoff less its payoff under a reference policy. The logit scale of the y axis shows both
    tails, because most differences of the adversary's payoff are 0.

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with columns ``record``, ``policy``, ``publisher_payoff`` and
        ``adversary_payoff`` (money per record). Rows of different policies are matched by ``record``.
    reference : str
        The policy whose payoffs are subtracted.

    Returns
    -------
    Figure
        One curve per policy, except the reference, no-protection and suppress-all; the publisher on the left, the
        adversary on the right. A point is the share of records (y) with a difference of at most x (currency units per
        record).
    """
    _, differences = _compared(records, reference)
    figure, grid = style.new_figure(1, 2, panel=(4.5, 3.4), sharey=True)
    for (measure, player), axes, letter in zip(_SIDES, grid[0], "ab", strict=True):
        for policy, look in style.looks(differences).items():
            values = np.sort(differences[policy][measure.column].to_numpy())
            shares = (np.arange(len(values)) + 0.5) / len(values)
            style.draw_steps(axes, values, shares, look, style.policy_name(policy))
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
        x = f"{measure.label} minus that under {style.policy_name(reference)}\n({style.UNIT})"
        style.label_axes(axes, title=f"({letter}) {player}", x=x, numbers="x")
    # The scale ends before 0 and 1, and so do the shares, which count a record itself by half.
    grid[0][0].set(yscale="logit", ylim=(shares[0], shares[-1]))
    grid[0][0].yaxis.set_major_locator(FixedLocator([1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999]))
    grid[0][0].yaxis.set_minor_locator(NullLocator())
    style.write_out(grid[0][0].yaxis)
    style.label_axes(grid[0][0], y="Share of records at or below")
    style.legend_below(figure)
    return figure


def payoff_difference_scatter(records: pd.DataFrame, reference: str = REFERENCE) -> Figure:
    """Draw payoff differences against reference payoffs (Wan et al. 2015, Fig. 7).

    A difference is a record's payoff less its payoff under a reference policy.

    Parameters
    ----------
    records : DataFrame
        See `payoff_difference_curves`.
    reference : str
        The policy whose payoffs are subtracted.

    Returns
    -------
    Figure
        One row of panels per policy, except the reference, no-protection and suppress-all; the publisher on the left,
        the adversary on the right; one point per record, drawn as pixels even in vector formats.
    """
    (payoffs, differences), letters = _compared(records, reference), iter(ascii_lowercase)
    figure, grid = style.new_figure(len(differences), 2, panel=(4.2, 2.5), sharex="col", sharey="col")
    for (policy, look), row in zip(style.looks(differences).items(), grid, strict=True):
        for (measure, player), axes in zip(_SIDES, row, strict=True):
            x, y = payoffs[measure.column], differences[policy][measure.column]
            axes.scatter(x, y, color=look.colour, s=7, alpha=0.3, linewidths=0, rasterized=True)
            style.zero_line(axes)
            title = f"({next(letters, '')}) {style.policy_name(policy)}: {player.lower()}"
            style.label_axes(axes, title=title, y=f"Payoff difference\n({style.UNIT})", numbers="y")
    for (measure, _), axes in zip(_SIDES, grid[-1], strict=True):
        style.label_axes(axes, x=f"{measure.label} under {style.policy_name(reference)}\n({style.UNIT})", numbers="x")
    return figure


def _compared(records: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return both players' payoffs under a reference, and differences to them.

    `records` has one row per record and policy, see `payoff_difference_curves`; `reference` is the name of a policy.
    The first result is a DataFrame with one row per record, indexed by ``record``, and columns ``publisher_payoff`` and
    ``adversary_payoff``. The second has such a DataFrame of differences per policy, in display order: all policies
    except the reference, no-protection and suppress-all. Differences within rounding errors are 0.
    """
    columns, differences = [measure.column for measure, _ in _SIDES], dict[str, pd.DataFrame]()
    by_policy = records.groupby("policy", sort=False, observed=True)
    payoffs = {name: rows.set_index("record")[columns].astype(np.float64) for name, rows in by_policy}
    base = payoffs[reference]
    for policy in style.ordered_policies(records["policy"]):
        if policy not in (reference, *EXTREMES):
            own = payoffs[policy].loc[base.index]
            # Sums in a different order differ by rounding errors, which are not payoff differences.
            rounding = 1e-9 * np.maximum(own.abs(), base.abs()).max()
            differences[policy] = (own - base).where((own - base).abs() > rounding, 0.0)
    return base, differences


def strategy_payoffs(strategies: pd.DataFrame) -> Figure:
    """Draw payoffs of all strategies of a record (Wan et al. 2015, Fig. 5).

    Parameters
    ----------
    strategies : DataFrame
        One row per strategy in lattice order, with columns ``record`` (the same in every row), ``strategy``,
        ``publisher_payoff``, ``adversary_payoff`` (money per record) and ``attacked``.

    Returns
    -------
    Figure
        Two panels, publisher and adversary; strategies on the x axis, payoffs on the y axis. Filled triangles mark
        strategies that the adversary attacks, hollow circles the others. A ring with name and payoff marks the
        publisher's best strategy (the first, if several are equally good).
    """
    n, best = len(strategies), int(np.argmax(strategies["publisher_payoff"]))
    figure, grid = style.new_figure(2, 1, panel=(8.0, 2.6), sharex=True)
    style.headline(figure, f"Record ({strategies['record'].iloc[0]})")
    ring: dict[str, Any] = {"marker": "o", "markersize": 11, "markeredgewidth": 1.6, "markerfacecolor": "none"}
    for (measure, player), (axes,), letter in zip(_SIDES, grid, "ab", strict=True):
        payoffs = strategies[measure.column].to_numpy()
        axes.axvline(best, color=BLACK, linewidth=0.8, linestyle=":", zorder=1)
        for attacked, label, marker in _REPLIES:
            rows = np.flatnonzero(strategies["attacked"] == attacked)
            axes.plot(rows, payoffs[rows], linestyle="none", markersize=4, label=label, **marker)
        label = "Publisher's best strategy"
        axes.plot(best, payoffs[best], linestyle="none", color=BLACK, label=label, **ring)
        style.zero_line(axes)
        style.label_axes(axes, title=f"({letter}) {player}", y=style.measure_label(measure), numbers="y")
    (top,), (bottom,) = grid
    low, high = top.get_ylim()
    # Add a strip above all points for the text, which is on the wider side of the line.
    top.set(ylim=(low, high + 0.18 * (high - low)), xlim=(-0.02 * n - 0.5, 1.02 * n - 0.5))
    chosen, (offset, side) = strategies.iloc[best], (4, "left") if best < n / 2 else (-4, "right")
    text = f"best: levels {chosen['strategy'].replace(',', ', ')} pay {style.money_text(chosen['publisher_payoff'])}"
    place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": side, "va": "top", "parse_math": False}
    style.write_at(top, text, (best, 1.0), (offset, -2), **place)
    style.label_axes(bottom, x="Strategy (position in lattice order; 0 generalizes nothing)", numbers="x")
    style.legend_below(figure)
    return figure


def search_deviation(deviations: pd.DataFrame) -> Figure:
    """Draw the deviation of lattice search (Wan et al. 2015, Fig. 12).

    It is the deviation from the optimum, along each parameter of a sweep.

    Parameters
    ----------
    deviations : DataFrame
        One row per parameter (payoff parameter that the sweep changes) and value, with columns ``parameter``,
        ``value``, ``publisher_payoff_difference`` (mean absolute difference of the publisher's payoff from the optimum,
        in currency units per record; Eq. 6 of the paper) and ``share_optimal`` (share of records with the optimal
        payoff).

    Returns
    -------
    Figure
        One column of panels per parameter: the difference above, the share below.
    """
    parameters = style.ordered_parameters(deviations["parameter"])
    rows = (
        (_DEVIATION[0], f"Mean payoff difference\n({style.UNIT})"),
        (_DEVIATION[1], "Records with the\noptimal payoff"),
    )
    figure, grid = style.new_figure(2, len(parameters), panel=(4.4, 2.2), sharex="col", sharey="row")
    for row, (column, label) in zip(grid, rows, strict=True):
        for parameter, axes in zip(parameters, row, strict=True):
            here = deviations[deviations["parameter"] == parameter].sort_values("value")
            style.draw_line(axes, here["value"], here[column], style.Look(BLUE, "-", "o"), clip_on=False)
            style.scale_axis(axes, "x", np.unique(here["value"]))
            style.label_axes(axes, x=style.parameter_label(parameter) if row is grid[1] else "", numbers="y")
        style.label_axes(row[0], y=label)
    # Both axes end where the search equals the optimum; markers there are not clipped.
    grid[0][0].set_ylim(bottom=0)
    grid[1][0].set_ylim(min(grid[1][0].get_ylim()[0], 0.99), 1)
    style.percent_ticks(grid[1][0].yaxis)
    return figure


def by_group_size(attacks: pd.DataFrame, column: str) -> Figure:
    """Draw the attack by group size and planner (Xia et al. 2015, Figs. 6 to 8).

    Parameters
    ----------
    attacks : DataFrame
        One row per setting, planner and group size, with columns ``setting``, ``planner`` (``"fmdp"``, or
        ``"baseline"`` for one random exploit), ``group_size`` (in the registry, from 1) and `column`.
    column : {"risk", "value", "exploits"}
        Probability of re-identification, expected payoff at the outset (money per record), or number of exploits before
        termination if none succeeds and none is detected.

    Returns
    -------
    Figure
        One line per setting, and one for the baseline, or one per setting if it differs between them; risks and
        exploits are steps. For exploits, a thin line for exploits of all candidates in the group is drawn in place of
        the baseline.
    """
    everybody = column == "exploits"
    baseline = attacks[attacks["planner"] == ("" if everybody else "baseline")]
    planned = attacks[attacks["planner"] == "fmdp"].groupby("setting", sort=False, observed=True)
    bases = {f"{_BASELINE}, {name}": rows for name, rows in baseline.groupby("setting", sort=False, observed=True)}
    wide = baseline.pivot(index="group_size", columns="setting", values=column)
    if bases and np.isclose(wide, wide.iloc[:, [0]], rtol=1e-9, atol=0).all():
        bases = {_BASELINE: next(iter(bases.values()))}
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    # Risks and exploits jump where the next larger group is not attacked any more.
    steps = "default" if column == "value" else "steps-mid"
    lines = {str(name) if len(planned) > 1 else "Planned attack": rows for name, rows in planned} | bases
    table = pd.concat([rows.assign(policy=name) for name, rows in lines.items()])
    style.draw_lines(axes, table, "group_size", column, style.looks(lines), drawstyle=steps)
    sizes = np.unique(attacks["group_size"])
    style.scale_axis(axes, "x", sizes)
    if axes.get_xscale() == "linear":
        style.number_ticks(axes.xaxis, whole=True)
    style.zero_line(axes)
    style.label_axes(axes, x=_GROUP_SIZE, y=_CURVES[column][1], numbers="y")
    if everybody:
        axes.set_ylim(axes.get_ylim())
        # A straight line is curved on a logarithmic axis, which needs many points.
        sizes = np.linspace(sizes[0], min(sizes[-1], axes.get_ylim()[1]), 500)
        axes.plot(sizes, sizes, color=GREY, linewidth=0.8, zorder=0.6, label="Everybody in the group")
    style.legend_below(figure, columns=3)
    return figure


def belief_risks(beliefs: pd.DataFrame) -> Figure:
    """Draw risks by knowledge of the group size (Xia et al. 2015, Fig. 9).

    Parameters
    ----------
    beliefs : DataFrame
        One row per setting and kind of record (equal group size and match probability), with columns ``setting``,
        ``group_size`` (in the registry, from 0), ``match_probability`` (share of the population with the record's
        values), ``risk_known``, ``risk_unknown`` (probabilities of re-identification if the adversary knows the group
        size at the outset, and if it knows only ``match_probability``) and ``records`` (number of records of the kind).

    Returns
    -------
    Figure
        One panel per setting, with a marker for each row whose two risks differ. The area of a marker is proportional
        to the number of records; very small markers are enlarged. The numbers of records are above the panel.
    """
    # Risks that differ only by rounding errors count as equal.
    same = np.isclose(beliefs["risk_known"], beliefs["risk_unknown"], rtol=1e-9, atol=0)
    larger = np.where(same, 0.0, np.sign(beliefs["risk_known"] - beliefs["risk_unknown"]))
    beliefs = beliefs.assign(sign=larger, per_million=1e6 * beliefs["match_probability"])
    # Draw small markers last, on top of large ones.
    shown = beliefs[(larger != 0) & (beliefs["records"] > 0)].sort_values("records", ascending=False, kind="stable")
    kind = "risk only" if (shown[["risk_known", "risk_unknown"]].min(axis=1) == 0).all() else "more risk"
    largest = shown["records"].max() if len(shown) else 1.0
    # Marker area per record in square points; the largest marker has at most 300 square points.
    area, settings = min(24.0, 300 / largest), list(dict.fromkeys(beliefs["setting"]))
    panel = (6.0 if len(settings) == 1 else 4.4, 4.0)
    figure, (grid,) = style.new_figure(1, len(settings), panel=panel, sharex=True, sharey=True)
    for setting, axes in zip(settings, grid, strict=True):
        for sign, marker, edge, face, when in _SIGNS:
            points = shown[(shown["setting"] == setting) & (shown["sign"] == sign)]
            x, y, size = points["group_size"], points["per_million"], np.maximum(area * points["records"], 4)
            label = f"{kind} if {when}"
            axes.scatter(x, y, size, marker=marker, edgecolors=edge, facecolors=face, linewidths=0.6, label=label)
        totals = beliefs[beliefs["setting"] == setting].groupby("sign", observed=True)["records"].sum()
        known, unknown, equal = map(style.number_text, totals.reindex([1, -1, 0], fill_value=0))
        text = f"{kind} if known: {known} records; if unknown: {unknown} records\nsame risk: {equal} records"
        style.write_at(axes, text, (0, 1), (0, 4), xycoords="axes fraction")
        axes.set_title(setting, fontsize=10, loc="left", pad=27, parse_math=False)
        style.label_axes(axes, x=_GROUP_SIZE)
    style.number_ticks(grid[0].xaxis, whole=True)
    _count_axis(grid[0], shown["per_million"].to_numpy())
    style.label_axes(grid[0], y="Share of the population that matches\n(people per million)")
    handles = [
        _marker(marker, f"{kind} if {when}", markeredgecolor=edge, markerfacecolor=face)
        for _, marker, edge, face, when in _SIGNS
    ]
    if len(shown):
        label = f"{style.number_text(largest)} record{'' if largest == 1 else 's'} (area of the marker)"
        handles.append(_marker("o", label, color=GREY, markerfacecolor="none", markersize=np.sqrt(area * largest)))
    style.legend_below(figure, handles, columns=3)
    return figure


def attack_thresholds(thresholds: pd.DataFrame) -> Figure:
    """Draw the smallest group size not attacked (Xia et al. 2015, Fig. 10).

    It is drawn by deterrent: a parameter that makes attacks less profitable.

    Parameters
    ----------
    thresholds : DataFrame
        One row per parameter, value and setting, with columns ``parameter`` (``"access_cost"``, ``"exploit_cost"``,
        ``"penalty"`` or ``"detection"``, the probability that the first exploit is detected), ``value``, ``setting``
        and ``threshold`` (the smallest group size, from 1, that is not attacked; missing if every size is).

    Returns
    -------
    Figure
        One panel per parameter, one line per setting; a marker on the upper edge if every size is attacked. The x axis
        is logarithmic if the values grow by a factor, the y axis if thresholds span more than two decades.
    """
    parameters = style.known_first(thresholds["parameter"], _PARAMETER_LABELS)
    look, several = style.looks(thresholds["setting"]), len(parameters) > 1
    figure, panels = style.panels(len(parameters), 2, panel=(4.4 if several else 5.6, 2.9))
    for parameter, axes, letter in zip(parameters, panels, ascii_lowercase, strict=False):
        here = thresholds[thresholds["parameter"] == parameter]
        style.draw_lines(axes, here, "value", "threshold", look, by="setting")
        style.scale_axis(axes, "x", np.unique(here["value"]))
        known = here["threshold"].dropna().to_numpy()
        _count_axis(axes, known)
        if axes.get_yscale() == "linear":
            axes.set_ylim(0, 1.1 * known.max(initial=0) or 1)
        # Markers of later settings are smaller, so that they fit inside earlier ones.
        sizes = dict(zip(look, range(5 + 4 * len(look), 5, -4), strict=True))
        for value, setting in here.loc[here["threshold"].isna(), ["value", "setting"]].itertuples(index=False):
            own, upper = look[setting], axes.get_xaxis_transform()
            size: dict[str, Any] = {"markersize": sizes[setting], "clip_on": False}
            axes.plot(value, 1, own.marker, color=own.colour, markerfacecolor="none", transform=upper, **size)
        # The padding keeps the title clear of markers on the upper edge.
        axes.set_title(f"({letter})" if several else "", fontsize=10, loc="left", pad=11)
        x = _PARAMETER_LABELS.get(parameter, parameter)
        style.label_axes(axes, x=x, y="Smallest group size\nnot attacked (records)")
    at_edge = _marker(_ARROW_UP, "Marker on the upper edge: every size attacked", color=BLACK, markersize=8)
    style.legend_below(figure, [at_edge] if thresholds["threshold"].isna().any() else (), columns=3)
    return figure


# An arrow as a marker, without mathematical text.
_ARROW_UP = Path([(0, -1), (0, 0.4), (-0.4, 0.4), (0, 1), (0.4, 0.4), (0, 0.4), (0, -1)])


def _marker(marker: str | Path, label: str, **options: Any) -> Line2D:
    """Return a legend handle with a marker and a label, without a line.

    `options` are further options of matplotlib's ``Line2D``.
    """
    return Line2D([], [], linestyle="none", marker=marker, label=label, **options)


def _count_axis(axes: Axes, values: NDArray[np.float64]) -> None:
    """Set the scale and the ticks of the y axis, given the plotted values.

    The axis is logarithmic if all `values` are above 0 and the largest is more than 100 times the smallest; otherwise
    it is linear.
    """
    if len(values) and 0 < 100 * values.min() < values.max():
        axes.set_yscale("log")
        style.log_ticks(axes.yaxis, values.max() / values.min())
    else:
        style.number_ticks(axes.yaxis, whole=bool((values == np.round(values)).all()))
