"""Draw payoffs, masks, search paths and sweeps of masking games (Wan et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure

from reidsim.core.validation import validated
from reidsim.core.wording import BLACK, GREY, VERMILION, Measure
from reidsim.figures import style
from reidsim.games.outcomes import RISK, UTILITY
from reidsim.kinds.masking.kind import PRIVACY_FAIRNESS, SUBJECT_PAYOFF, USEFULNESS, USEFULNESS_FAIRNESS
from reidsim.kinds.masking.policies import POLICIES
from reidsim.scenarios.schema import RESERVED_NAMES, SweepSection, rows_along, value_labels

_PRIVACY = "privacy (1 \N{MINUS SIGN} risk)"
_FAIRNESS = [USEFULNESS.column, USEFULNESS_FAIRNESS.column, PRIVACY_FAIRNESS.column]
# Figures of lines, and the measure that each shows.
_LINE_MEASURES = {
    "lines-payoff": SUBJECT_PAYOFF,
    "lines-privacy": RISK,
    "lines-utility": UTILITY,
    "lines-usefulness": USEFULNESS,
    "lines-fairness": USEFULNESS_FAIRNESS,
}
_ATTACKED, _BAR = "#F6D5C3", "#4D4D4D"
# Cells of a map: released by subjects who are not attacked or attacked, at an intermediate level, and masked.
_COLOURS = ("white", _ATTACKED, "#8C8C8C", BLACK)
# Height of the panel above a map, inches.
_ABOVE = 0.5


def run_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each plot of a run of this kind.

    The names are ``effectiveness``; ``strategy-map``, if a policy masks attribute by attribute; ``fairness``, if there
    are several subjects and fairness is known; and ``search-path``, if the run has this table.
    """
    runs, records = result.runs, result.records
    yield "effectiveness", effectiveness(runs, records)
    mapped = masks_by_attribute(records["policy"])
    if mapped:
        yield "strategy-map", strategy_map(records, mapped)
    # Fairness compares groups, which need at least two subjects.
    several = len(records["record"].unique()) > 1
    if several and set(_FAIRNESS) <= set(runs) and runs[_FAIRNESS].notna().all(axis=1).any():
        yield "fairness", usefulness_and_fairness(runs)
    path = result.analysis.tables().get("search_path")
    if path is not None:
        yield "search-path", search_path_figure(path)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and Figure of each measure along the lines of a sweep.

    The names are ``lines-payoff``, ``lines-privacy``, ``lines-utility``, ``lines-usefulness`` and ``lines-fairness``,
    without measures that are missing; see `masking_lines`. Nothing is yielded for a batch without a sweep.
    """
    content = result.manifest["content"]
    if "sweep" in content:
        lines = lines_of_runs(result.runs, validated(SweepSection, content["sweep"], result.name), content)
        for name, measure in _LINE_MEASURES.items() if len(lines) else ():
            if measure.column in lines and lines[measure.column].notna().any():
                yield name, masking_lines(lines, measure)


def effectiveness(runs: pd.DataFrame, records: pd.DataFrame) -> Figure:
    """Draw payoffs by policy, and privacy against utility (Wan et al. 2021, Fig. 2).

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy, with columns ``replication``, ``policy``, ``publisher_payoff`` (money per
        record), ``utility`` and ``risk``.
    records : DataFrame
        One row per record and policy of a single replication, with columns ``record``, ``policy`` and
        ``publisher_payoff``. Used only if there is a single replication.

    Returns
    -------
    Figure
        Three panels of ranges: payoff, utility and privacy (1 - risk). Ranges are over the means of replications; for a
        single replication, that of payoffs is over subjects.
    """
    several = len(runs["replication"].unique()) > 1
    runs = runs.assign(**{_PRIVACY: 1 - runs[RISK.column]})
    payoff = f"{'Mean payoff' if several else 'Payoff of a subject'}\n({style.UNIT})"
    panels = (
        (runs if several else records, "publisher_payoff", payoff),
        (runs, "utility", "Mean utility"),
        (runs, _PRIVACY, f"Mean {_PRIVACY}"),
    )
    look = style.looks(style.known_first(runs["policy"], POLICIES))
    figure, row = style.range_panels(panels, look, width=2.9, values="replications" if several else "subjects")
    row[0].axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
    for axes in row[1:]:
        axes.set_xlim(-0.03, 1.03)
    return figure


def strategy_map(records: pd.DataFrame, policies: Sequence[str]) -> Figure:
    """Draw masked attributes of all subjects, by policy (Wan et al. 2021, Fig. 3).

    Parameters
    ----------
    records : DataFrame
        One row per record and policy, with the columns of records.parquet: ``record``, ``policy``, ``attacked``,
        ``publisher_payoff`` (money per record), ``success_probability``, ``utility`` and one column per attribute: its
        released value, missing if masked.
    policies : sequence of str
        Policies to show.

    Returns
    -------
    Figure
        One panel per policy, for at most ten policies, with one row per attribute and one column per subject. Cells are
        black if masked and grey if released at an intermediate level. Subjects who are not attacked are on the left,
        attacked subjects on the right with a shaded background; in both groups, the number of masked attributes falls
        from left to right. Above a map: the number of attributes that each subject masks. Right of it: the share of
        subjects who mask each attribute. Title: mean utility loss, payoff and risk.
    """
    attributes = [str(column) for column in records.columns if column not in RESERVED_NAMES]
    columns = min(2, len(policies))
    rows, height = -(-len(policies) // columns), max(1.2, len(attributes) * 0.165)
    layout = style.Layout(h_pad=0.03, hspace=0)
    figure = Figure(figsize=(columns * 5.6, rows * (height + _ABOVE + 0.9)), layout=layout, facecolor="white")
    parts = figure.subfigures(rows, columns, squeeze=False).ravel()
    for letter, part, policy in zip("abcdefghij", parts, policies, strict=False):
        part.suptitle(f"({letter}) {style.policy_name(policy)}", x=0.01, ha="left", fontsize=10)
        _map(part, records[records["policy"] == policy], attributes, height)
    return figure


def masks_by_attribute(policies: Iterable[str]) -> list[str]:
    """Return the names of policies that `strategy_map` shows, in its order.

    They are the built-in policies among `policies` that decide attribute by attribute (`MaskingPolicy.masks`).
    """
    return [name for name in style.known_first(policies, POLICIES) if name in POLICIES and POLICIES[name].masks]


def search_path_figure(path: pd.DataFrame) -> Figure:
    """Draw the outcomes along a greedy search against the confidence of the inference.

    See `search_path_table`.

    Parameters
    ----------
    path : DataFrame
        One row per strategy, with columns ``step`` (missing off the path; such rows are not drawn), ``confidence``
        (missing without an inference, drawn at 0), ``attacked``, ``utility``, ``payoff``, ``privacy`` and
        ``recommended_by``.

    Returns
    -------
    Figure
        Panels of utility, payoff and privacy; a line joins the strategies in the order of the search. Attacked
        strategies are red; strategies that a policy recommends have a ring.
    """
    table = path[path["step"].notna()].fillna({"confidence": 0.0}).sort_values("step")
    attacked, ringed = table["attacked"].to_numpy(dtype=bool), (table["recommended_by"] != "").to_numpy()
    panels = {"utility": "Utility", "payoff": f"Payoff ({style.UNIT})", "privacy": style.sentence(_PRIVACY)}
    figure, grid = style.new_figure(1, len(panels), panel=(3.4, 3.2))
    for axes, (name, words) in zip(grid[0], panels.items(), strict=True):
        x, y = table["confidence"], table[name]
        axes.plot(x, y, color=GREY, linewidth=0.7, zorder=1)
        for chosen, face, edge, size, label in (
            (attacked, VERMILION, VERMILION, 18, "Attacked"),
            (~attacked, BLACK, BLACK, 18, "Not attacked"),
            (ringed, "none", BLACK, 70, "Recommended by a policy"),
        ):
            axes.scatter(x[chosen], y[chosen], s=size, facecolors=face, edgecolors=edge, label=label, zorder=3)
        style.label_axes(axes, x="Confidence of the inference", y=words, numbers="xy")
    style.legend_below(figure)
    return figure


def usefulness_and_fairness(runs: pd.DataFrame) -> Figure:
    """Draw usefulness, privacy and the fairness of both, with a row per policy.

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy, with columns ``replication``, ``policy``, ``risk``, ``usefulness``,
        ``usefulness_fairness`` and ``privacy_fairness``; where fairness is missing, the row is not drawn.

    Returns
    -------
    Figure
        One panel per measure, from 0 to 1, with the range over replications. Privacy is 1 - risk.
    """
    complete = runs.dropna(subset=_FAIRNESS)
    complete = complete.assign(**{_PRIVACY: 1 - complete[RISK.column]})
    look = style.looks(style.known_first(complete["policy"], POLICIES))
    measures = {USEFULNESS.column: USEFULNESS.label, USEFULNESS_FAIRNESS.column: USEFULNESS_FAIRNESS.label}
    measures |= {_PRIVACY: f"Mean {_PRIVACY}", PRIVACY_FAIRNESS.column: PRIVACY_FAIRNESS.label}
    drawn = [(complete, column, label) for column, label in measures.items()]
    figure, row = style.range_panels(drawn, look, width=2.3, values="replications")
    for axes in row:
        axes.set_xlim(-0.03, 1.03)
    return figure


def masking_lines(lines: pd.DataFrame, measure: Measure) -> Figure:
    """Draw a measure along each line of a sweep, by policy, with its spread.

    Parameters
    ----------
    lines : DataFrame
        One row per line, value, replication and policy, with columns ``line``, ``value`` (text), ``policy`` and
        the measure; see `lines_of_runs`.
    measure : Measure
        Measure to draw; risk is drawn as privacy, 1 - risk.

    Returns
    -------
    Figure
        One panel per line. If all values are numbers, the x axis is numeric; otherwise the values are evenly spaced.
        Points are means over replications, with 95% confidence intervals. Where lines coincide, the lower one is wider.
    """
    column, label = measure.column, style.measure_label(measure)
    table = lines.dropna(subset=[column])
    if measure is RISK:
        table, label = table.assign(**{column: 1 - table[column]}), style.sentence(_PRIVACY)
    table = style.means_with_intervals(table, ["line", "policy", "value"], [column])
    names, look = table["line"].unique(), style.looks(style.known_first(table["policy"], POLICIES))
    figure, every = style.panels(len(names), 2, panel=(4.6 if len(names) > 1 else 5.4, 2.9), sharey=True)
    for name, axes in zip(names, every, strict=True):
        here = table[table["line"] == name]
        values = list(dict.fromkeys(here["value"]))
        positions = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy()
        numeric = not np.isnan(positions).any()
        if numeric:
            style.number_ticks(axes.xaxis)
        else:
            positions = np.arange(len(values), dtype=np.float64)
            axes.set_xticks(positions, values)
            axes.margins(x=0.3)
        here = here.assign(position=here["value"].map(dict(zip(values, positions, strict=True))))
        joined: dict[str, Any] = {} if numeric else {"linestyle": "none"}
        style.draw_lines(axes, here, "position", column, look, **joined)
        style.label_axes(axes, x=name, y=label if axes is every[0] else "", numbers="y")
    style.legend_below(figure)
    return figure


def lines_of_runs(runs: pd.DataFrame, sweep: SweepSection, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the runs on each line of a sweep, in a single table.

    Lines follow the axis with the most values. If an axis changes several keys in turn, each key has a line. Each
    combination of the values of the other axes has its own line.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy, with ``state`` and a column for each key.
    sweep : SweepSection
        Axes of the sweep.
    content : mapping
        The scenario as plain data.

    Returns
    -------
    DataFrame
        The rows of `runs` with state "complete", with two more columns of text: ``line``, its name, and ``value``, the
        value of its key. The text of a list is its length, if the lengths are distinct.
    """
    runs = runs[runs["state"] == "complete"]
    longest = max(sweep.axes, key=lambda axis: sum(sweep.values[group[0]].size for group in axis))
    others = [key for axis in sweep.axes if axis != longest for group in axis for key in group]
    parts = []
    for group in longest:
        rows = rows_along(runs, longest, group, content)
        (labels, what), words = value_labels(rows[group[0]]), style.sentence(style.key_words(group[0]))
        line = pd.Series(f"{style.with_unit(words, group[0])}{what}", rows.index)
        for key in others:
            line += rows[key].map(lambda value, key=key: f", {style.key_words(key)} {_text(value)}")
        part, numbers = rows.assign(line=line, value=labels), pd.to_numeric(labels, errors="coerce")
        parts.append(part if numbers.isna().any() else part.iloc[np.argsort(numbers.to_numpy(), kind="stable")])
    return pd.concat(parts, ignore_index=True)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _map(part: SubFigure, table: pd.DataFrame, attributes: list[str], height: float) -> None:
    released, attacked = table[attributes], table["attacked"].to_numpy()
    masked = released.isna().to_numpy()
    between = released.apply(lambda column: column.astype("str").str.startswith("group of ")).to_numpy() & ~masked
    # Among subjects with equally many masked attributes, sort equal masks together.
    order = np.lexsort((*masked.T[::-1], -masked.sum(axis=1), attacked))
    masked, between, attacked = masked[order], between[order], attacked[order]
    (n_subjects, n_attributes), n_safe = masked.shape, int((~attacked).sum())
    ratios = {"height_ratios": [_ABOVE, height], "width_ratios": [1, 0.13], "hspace": 0, "wspace": 0}
    (top, corner), (centre, side) = part.subplots(2, 2, gridspec_kw=ratios).tolist()
    corner.set_axis_off()
    cells = np.array(list(map(to_rgb, _COLOURS)))[np.select([masked.T, between.T], [3, 2], attacked.astype(np.int64))]
    centre.imshow(cells, aspect="auto", interpolation="nearest", extent=(0, n_subjects, n_attributes - 0.5, -0.5))
    centre.set_yticks(range(n_attributes), attributes, fontsize=9, parse_math=False)
    centre.tick_params(labelsize=9, length=0)
    style.label_axes(centre, x=f"Subjects: {n_safe:,} not attacked, {n_subjects - n_safe:,} attacked", numbers="x")
    centre.xaxis.get_major_locator().set_params(integer=True)
    centre.set_yticks(np.arange(n_attributes - 1) + 0.5, minor=True)
    centre.grid(axis="y", which="minor", color="#D9D9D9", linewidth=0.4)
    centre.tick_params(axis="y", which="minor", length=0)
    for axes in (top, centre) if 0 < n_safe < n_subjects else ():
        axes.axvline(n_safe, color=VERMILION, linewidth=1)
    top.stairs(masked.sum(axis=1), np.arange(n_subjects + 1), fill=True, color=_BAR)
    top.axvspan(n_safe, n_subjects, color=_ATTACKED, linewidth=0, zorder=0)
    top.set(xlim=(0, n_subjects), ylim=(0, n_attributes), yticks=[0, n_attributes], xticks=[], ylabel="Masked")
    side.barh(np.arange(n_attributes), masked.mean(axis=0), height=0.8, color=_BAR)
    side.set(ylim=(n_attributes - 0.5, -0.5), xlim=(0, 1), yticks=[], xticks=[0.5, 1])
    style.write_out(side.xaxis)
    style.label_axes(side, x="Share")
    for axes in (top, side):
        axes.tick_params(labelsize=9, length=2)
        axes.spines[["top", "right"]].set_visible(False)
    risk = np.where(table["attacked"], table["success_probability"], 0.0).mean()
    texts = {
        "left": f"utility loss {1 - table['utility'].mean():.3f}",
        "center": f"payoff {style.money_text(table['publisher_payoff'].mean())}",
        "right": f"risk {risk:.3f}",
    }
    for place, text in texts.items():
        top.set_title(text, fontsize=9, loc=place, pad=3, parse_math=False)
