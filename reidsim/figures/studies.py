"""Draw sweeps, stress tests, attributions and switch points."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.measures import Measure, columns_of
from reidsim.core.palette import GREY
from reidsim.core.validation import validated
from reidsim.figures import style
from reidsim.figures.maps import ALL_RECORDS, parameter_maps
from reidsim.games.measures import ADVERSARY_PAYOFF, GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.scenarios.kind import gain_goes_with_loss, loss_text
from reidsim.scenarios.schema import SweepSection, rows_along

_PAYOFFS = columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF))
_MAPPED = [*columns_of((GENERALIZATION_INTENSITY, SHARE_ATTACKED)), *_PAYOFFS]
# Draw a map over two axes if the second has more values than can be distinguished as lines.
_MOST_LINES = 6
_FILES = (".csv", ".csv.gz", ".parquet", ".toml")
# Maximum number of figures, one for each combination of the sweep's other values.
_MOST_FIGURES = 6
# Index drawn as a bar, and the index that is marked on it.
_BARS = {
    "total": ("total (bar) and first-order (mark)", "first-order"),
    "mu_star": ("mu* (bar) and sigma (mark)", "sigma"),
}
_COLUMNS = 3
# A switch point has a label unless it is within this share of the axis of the previous label.
_APART = 0.1


@dataclass(frozen=True)
class Swept:
    """A sweep arranged for drawing.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy, with a column per key of the sweep, ``policy``, and a column per measure with its
        mean.
    along : tuple of str
        Numeric keys along which lines are drawn, one at a time.
    others : tuple of str
        Keys that distinguish lines or figures.
    second : str
        Key of the second axis of a map; empty for lines.
    in_turn : tuple of tuple of str
        Groups of keys of a one-at-a-time sweep: at each point, the keys of at most one group differ from the scenario's
        values. Empty for other sweeps.
    content : mapping
        The scenario as plain data.
    """

    table: pd.DataFrame
    along: tuple[str, ...]
    others: tuple[str, ...]
    second: str
    in_turn: tuple[tuple[str, ...], ...]
    content: Mapping[str, Any]

    def lines(self, measures: list[str]) -> pd.DataFrame:
        """Return the points of all lines in one table.

        There is one row per key in `along`, point on its lines and policy: ``key``, ``parameter`` (the short name of
        the key), ``value`` (of this key, ascending), ``setting`` (values of the keys in `others`, in words),
        ``policy``, the keys in `others` and the measures. In a one-at-a-time sweep, the lines have the points at which
        the keys of the other groups have the scenario's own values.
        """
        parts = []
        for key in self.along:
            group = next((group for group in self.in_turn if key in group), ())
            rows = rows_along(self.table, self.in_turn, group, self.content).sort_values(key, kind="stable")
            settings = [
                ", ".join(f"{style.key_words(other)} {_value_words(row[other])}" for other in self.others)
                for row in rows.to_dict("records")
            ]
            named: dict[str, Any] = {"key": key, "parameter": short_name(key), "value": rows[key].astype(np.float64)}
            parts.append(rows[[*self.others, "policy", *measures]].assign(**named, setting=settings))
        return pd.concat(parts, ignore_index=True)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs along numeric keys, or of maps over two keys.

    `result` is that of a batch. Nothing is yielded if it has no sweep that can be drawn; see `swept_of`.
    """
    swept = swept_of(result)
    if swept is not None:
        yield from lines_or_maps(swept)


def lines_or_maps(swept: Swept) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of maps, if the sweep has a second axis, else of lines.

    Both show the payoffs. The name is ``sweep-map`` or ``sweep-lines``, with ``-1``, ``-2``, ... if there are several
    figures (at most six). Without columns of both payoffs, no lines are drawn.
    """
    name, drawn = "sweep-lines", []
    if swept.second:
        name, drawn = "sweep-map", list(_maps(swept))
    elif set(_PAYOFFS) <= set(swept.table):
        drawn = list(_payoff_lines(swept))
    for number, figure in enumerate(drawn, start=1):
        yield name if len(drawn) == 1 else f"{name}-{number}", figure


def swept_of(result: Any) -> Swept | None:
    """Return the statistics of a batch arranged for drawing; see `Swept`.

    The result is None for a batch without a sweep, policies or complete runs, and for a sweep without a numeric key
    that identifies its points.
    """
    content, found = result.manifest["content"], result.statistics
    if "sweep" not in content or found.empty or "policy" not in found or "records" in found:
        return None
    keys = list(result.design.swept)
    wide = found.pivot_table(index=[*keys, "policy"], columns="measure", values="mean", sort=False, observed=True)
    table = wide.reset_index()
    if table.empty:
        return None
    axes = validated(SweepSection, content["sweep"], result.name).axes
    drawn = {axis: tuple(key for group in axis if (key := _leading(group, table))) for axis in axes}
    ordered = sorted(
        axes, key=lambda axis: (-len(axis), -max((table[key].nunique() for key in drawn[axis]), default=0))
    )
    chosen = [axis for axis in ordered if drawn[axis]]
    if not chosen:
        return None
    first, second = chosen[0], ""
    if len(chosen) > 1 and all(len(axis) == 1 for axis in chosen[:2]) and set(_MAPPED) <= set(table):
        key = drawn[chosen[1]][0]
        second = key if table[key].nunique() > _MOST_LINES else ""
    taken = chosen[: 2 if second else 1]
    others = tuple(key for axis in axes if axis not in taken for group in axis for key in group)
    return Swept(table, drawn[first], others, second, first if len(first) > 1 else (), content)


def _leading(group: tuple[str, ...], table: pd.DataFrame) -> str:
    """Return the first numeric key of a group that identifies its points; "" if none.

    The keys of a group vary together. A key identifies the points if all its values in `table` are finite, and it has
    as many distinct values as the group has combinations, at least two.
    """
    for key in group:
        column = table[key]
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            continue
        # If the values of a key repeat, they do not identify the values of the group's other keys.
        if np.isfinite(column).all() and column.nunique() == len(table[list(group)].drop_duplicates()) > 1:
            return key
    return ""


def _payoff_lines(swept: Swept) -> Iterator[Figure]:
    lines = swept.lines(_PAYOFFS).dropna(subset=_PAYOFFS)
    if gain_goes_with_loss(swept.content, (*swept.along, *swept.others)):
        lines["parameter"] = lines["parameter"].replace("loss", style.LOSS_AND_GAIN)
    for setting in list(dict.fromkeys(lines["setting"]))[:_MOST_FIGURES]:
        figure = sensitivity_lines(lines[lines["setting"] == setting])
        if setting:
            figure.suptitle(setting, fontsize=11, parse_math=False)
        yield figure


def _maps(swept: Swept) -> Iterator[Figure]:
    y, x = sorted((swept.along[0], swept.second), key=list(swept.table.columns).index)
    names = {y: short_name(y), x: short_name(x)}
    economics = swept.content.get("economics", {})
    case = (
        (float(economics["benefit"]), float(economics["loss"])) if set(names.values()) == {"benefit", "loss"} else None
    )
    if case is not None and names[y] == "loss":
        x, y = y, x
    grouped = swept.table.dropna(subset=_MAPPED).groupby(["policy", *swept.others], sort=False, observed=True)
    for values, rows in itertools.islice(grouped, _MOST_FIGURES):
        title = ", ".join((style.policy_name(str(values[0])), *(_value_words(value) for value in values[1:])))
        if len(rows) == rows[x].nunique() * rows[y].nunique():
            maps = rows[[*_MAPPED, x, y]].rename(columns=names).assign(record=ALL_RECORDS)
            yield parameter_maps(maps, case=case, axes=(names[y], names[x]), title=title)


def _value_words(value: object) -> str:
    """Return a value of a scenario key as a title shows it.

    A float is formatted by `style.number_text`. Of a path, only the last part is kept; the name of a table or TOML file
    also loses its suffixes, and hyphens become spaces.
    """
    if isinstance(value, float):
        return style.number_text(value)
    name = str(value).rpartition("/")[2]
    return name.partition(".")[0].replace("-", " ") if name.endswith(_FILES) else name


def short_name(key: str) -> str:
    """Return a scenario key without the ``economics.`` of payoff parameters.

    Other keys are unchanged.
    """
    return key.removeprefix("economics.")


def sensitivity_lines(lines: pd.DataFrame) -> Figure:
    """Draw the payoffs under each policy against one parameter at a time.

    The figure corresponds to Fig. 11 of Wan et al. 2015.

    Parameters
    ----------
    lines : DataFrame
        One row per parameter, value and policy, with columns ``parameter`` (such as ``"loss"`` or ``"cost"``),
        ``value``, ``policy``, ``publisher_payoff`` and ``adversary_payoff`` (averages, money per record).

    Returns
    -------
    Figure
        One row per parameter, with the publisher on the left and the adversary on the right, and one line per policy.
        The x axis is logarithmic if the values are spaced by a factor.
    """
    parameters = style.ordered_parameters(lines["parameter"])
    look = style.ordered_looks(lines["policy"])
    figure, grid = style.new_figure(len(parameters), 2, panel=(4.4, 2.7))
    letters, sides = (
        iter("abcdefghijklmnopqrstuvwxyz"),
        ((PUBLISHER_PAYOFF, "Publisher"), (ADVERSARY_PAYOFF, "Adversary")),
    )
    for parameter, row in zip(parameters, grid, strict=True):
        here = lines[lines["parameter"] == parameter].sort_values("value")
        for (measure, side), axes in zip(sides, row, strict=True):
            handles = style.draw_lines(axes, here, "value", measure.column, look)
            style.scale_axis(axes, "x", np.unique(here["value"]))
            style.label_axes(
                axes,
                title=f"({next(letters, '')}) {side}, by {style.key_words(parameter)}",
                x=style.parameter_label(parameter),
                y=f"{measure.label}\n({style.UNIT})",
                numbers="y",
            )
    style.legend_below(figure, handles)
    return figure


def sensitivity_bars(indices: pd.DataFrame, measures: Mapping[str, Measure]) -> Figure:
    """Draw the sensitivity indices of every output, with a bar per policy.

    Each output has one panel, in which the parameters are side by side.

    Parameters
    ----------
    indices : DataFrame
        Table ``sensitivity`` of a stress test: one row per ``output``, ``policy``, ``index`` (its name) and
        ``parameter``, with ``value`` and its interval, ``low`` and ``high``. Indices of pairs of parameters (``other``
        is not empty) and missing indices are not drawn.
    measures : mapping of str to Measure
        Measure of each output, by column name; it gives the title of the panel.

    Returns
    -------
    Figure
        Bars are total indices and marks first-order indices (Sobol), or bars are mu* and marks sigma (Morris), with the
        intervals of the bars.
    """
    table = indices[(indices["other"] == "") & indices["value"].notna()]
    bar = "total" if (table["index"] == "total").any() else "mu_star"
    title, mark = _BARS[bar]
    outputs, parameters = table["output"].unique(), table["parameter"].unique()
    look = style.ordered_looks(table["policy"])
    figure, every = style.panels(len(outputs), _COLUMNS, panel=(3.8, 2.9))
    figure.suptitle(title, fontsize=10)
    width = 0.8 / len(look)
    by_bar = table.set_index(["output", "policy", "index", "parameter"])[["value", "low", "high"]].astype(np.float64)
    for output, axes in zip(outputs, every, strict=True):
        for place, (policy, own) in enumerate(look.items()):
            at = np.arange(len(parameters)) + (place - (len(look) - 1) / 2) * width
            bars, marks = (by_bar.reindex([(output, policy, of, name) for name in parameters]) for of in (bar, mark))
            spread = np.abs(bars[["low", "high"]].to_numpy().T - bars["value"].to_numpy())
            axes.bar(at, bars["value"], width * 0.9, color=own.colour, alpha=0.6, label=style.policy_name(policy))
            axes.errorbar(at, bars["value"], yerr=np.nan_to_num(spread), fmt="none", ecolor=GREY, elinewidth=0.8)
            axes.plot(at, marks["value"], linestyle="none", marker=own.marker, color=own.colour, markersize=4)
        axes.set_xticks(range(len(parameters)), [style.key_words(name) for name in parameters], fontsize=9)
        style.label_axes(axes, title=measures[output].label, numbers="y")
    style.legend_below(figure, style.patches(look, alpha=0.6), columns=2 if len(outputs) == 1 else 4)
    return figure


def regret_curves(regrets: pd.DataFrame) -> Figure:
    """Draw the distribution of payoff and regret over the points, by policy.

    Parameters
    ----------
    regrets : DataFrame
        Table ``regrets`` of a stress test: one row per point and policy, with ``policy``, ``publisher_payoff`` and
        ``regret`` (money per record). Rows without a regret are omitted.

    Returns
    -------
    Figure
        Two panels, payoff and regret: the share of points (y) with at most the value (x), one line per policy.
    """
    table = regrets[regrets["regret"].notna()]
    look = style.ordered_looks(table["policy"])
    figure, [row] = style.new_figure(1, 2, panel=(4.4, 3.0))
    labels = ("publisher_payoff", "Payoff", "Share of points at or below"), ("regret", "Regret", "")
    for axes, (column, name, label) in zip(row, labels, strict=True):
        handles = [
            line
            for policy, values in ((policy, table.loc[table["policy"] == policy, column]) for policy in look)
            for line in style.draw_shares(axes, values.to_numpy(), look[policy], style.policy_name(policy))
        ]
        axes.set_ylim(0, 1.02)
        style.label_axes(axes, x=f"{name} ({style.UNIT})", y=label, numbers="x")
    style.legend_below(figure, handles)
    return figure


def belief_curves(curves: pd.DataFrame, payoff: Measure = PUBLISHER_PAYOFF) -> Figure:
    """Draw the payoff of policies whose publisher is mistaken about one parameter.

    Parameters
    ----------
    curves : DataFrame
        Rows of a single key in the table ``belief_curves`` of a stress test: ``key``, ``true`` and ``believed`` (values
        of the key, numbers), ``policy`` and the payoff. The key is a parameter of the scenario.
    payoff : Measure
        The publisher's payoff, with its label.

    Returns
    -------
    Figure
        One panel per believed value, over the true value; then one panel per true value, over the believed value. A
        panel whose x values are all equal is omitted. A vertical line marks where both agree. Only the first six of
        all panels are drawn.
    """
    curves = curves.drop_duplicates()
    name = str(curves["key"].iloc[0])
    words = style.key_words(name)
    drawn = [
        (f"{style.sentence(words)} {verb} {value:.6g}", x, fixed, rows)
        for x, fixed, verb in (("true", "believed", "believed to be"), ("believed", "true", "is"))
        for value, rows in curves.groupby(fixed, observed=True)
        if rows[x].min() < rows[x].max()
    ]
    # A grid of beliefs and truths has too many panels; draw the first few.
    drawn = drawn[: 2 * _COLUMNS] or [(style.sentence(words), "true", "believed", curves)]
    look = style.ordered_looks(curves["policy"])
    figure, every = style.panels(len(drawn), _COLUMNS, panel=(4.0, 3.0))
    for (title, x, fixed, rows), axes in zip(drawn, every, strict=True):
        handles = style.draw_lines(axes, rows, x, payoff.column, look, marker=None)
        axes.axvline(rows[fixed].iloc[0], color=GREY, linewidth=0.8, zorder=0.5)
        label = style.with_unit(f"{x.capitalize()} {words}", name)
        style.label_axes(axes, title=title, x=label, y=f"{payoff.label}\n({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=2 if len(drawn) == 1 else 4)
    return figure


def attribute_shares(table: pd.DataFrame, measures: Sequence[Measure]) -> Figure:
    """Draw the Shapley share of each column, one panel per measure.

    A bar shows the share of a column (attribute) under a policy. Error bars of two standard errors are drawn where
    shares are estimates (a standard error is not 0).

    Parameters
    ----------
    table : DataFrame
        One row per policy, attribute and measure, with columns ``policy``, ``attribute``, ``measure`` (its column
        name), ``share`` and ``standard_error``.
    measures : sequence of Measure
        Measures of the panels, at most three.
    """
    attributes = list(table["attribute"].unique())
    look = style.ordered_looks(table["policy"])
    places, height = np.arange(len(attributes)), 0.8 / len(look)
    figure, [row] = style.new_figure(1, len(measures), panel=(4.4, 0.9 + 0.45 * len(attributes)))
    for measure, letter, axes in zip(measures, "abc", row, strict=False):
        for place, (policy, own) in enumerate(look.items()):
            rows = table[(table["policy"] == policy) & (table["measure"] == measure.column)]
            rows = rows.set_index("attribute").loc[attributes]
            at, errors = places + (place - (len(look) - 1) / 2) * height, 2 * rows["standard_error"].to_numpy()
            axes.barh(at, rows["share"], height=height, color=own.colour, xerr=errors if errors.any() else None)
        axes.axvline(0, color=GREY, linewidth=0.8)
        labels = attributes if axes is row[0] else [""] * len(attributes)
        axes.set_yticks(places, labels, fontsize=9, parse_math=False)
        axes.invert_yaxis()
        style.label_axes(axes, title=f"({letter}) {measure.label}", x="Shapley share of the column", numbers="x")
    style.legend_below(figure, style.patches(look))
    return figure


def switch_lines(lines: pd.DataFrame, bands: pd.DataFrame, *, parameter: str, own: float) -> Figure:
    """Draw payoffs against a payoff parameter, over bands of the best policy.

    Parameters
    ----------
    lines : DataFrame
        One row per value of the parameter and policy: ``value``, ``policy`` and ``publisher_payoff`` (per record).
    bands : DataFrame
        One row per interval of the parameter, ascending: ``low``, ``high`` and ``policy``, the best policy, empty where
        it is unknown. Intervals with an unknown policy have no colour.
    parameter : str
        Name of the payoff parameter, such as ``"loss"``.
    own : float
        The scenario's own value, marked by a line.
    """
    look = style.ordered_looks(lines["policy"])
    figure, [[axes]] = style.new_figure(1, 1, panel=(6.4, 3.6))
    handles = style.draw_lines(axes, lines, "value", "publisher_payoff", look, marker=None, linewidth=1.6)
    for band in bands[bands["policy"].isin(look)].to_dict("records"):
        axes.axvspan(band["low"], band["high"], color=look[band["policy"]].colour, alpha=0.08, linewidth=0)
    low, high = bands["low"].min(), bands["high"].max()
    named = low
    for value in bands["low"].to_numpy()[1:]:
        axes.axvline(value, color=GREY, linewidth=0.8)
        if value - named > _APART * (high - low):
            named, above = value, ("data", "axes fraction")
            style.write_at(axes, loss_text(value), (value, 1.0), (0, 3), xycoords=above, ha="center")
    if low <= own <= high:
        handles.append(axes.axvline(own, color=GREY, linewidth=1.2, linestyle=":", label="as in the scenario"))
    axes.set_xlim(low, high)
    style.label_axes(axes, x=style.parameter_label(parameter), y=f"Publisher's payoff ({style.UNIT})", numbers="xy")
    style.legend_below(figure, handles, columns=3)
    return figure
