"""Draw sweeps: payoffs along the keys of a sweep as lines, or over two keys as maps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from reidsim.core.validation import validated
from reidsim.core.wording import VERMILION, Measure, columns_of
from reidsim.figures import style
from reidsim.figures.maps import colour_bar, draw_cells, signed_colours
from reidsim.games.outcomes import (
    ADVERSARY_PAYOFF,
    GENERALIZATION_INTENSITY,
    PUBLISHER_PAYOFF,
    SHARE_ATTACKED,
)
from reidsim.scenarios.kind import gain_goes_with_loss
from reidsim.scenarios.schema import SweepSection, rows_along

_PLAYERS = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF)
_MAPPED = [*columns_of((GENERALIZATION_INTENSITY, SHARE_ATTACKED)), *style.PAYOFFS]
# Draw a map over two axes if the second has more values than can be distinguished as lines.
_MOST_LINES = 6
_FILES = (".csv", ".csv.gz", ".parquet", ".toml")
# Maximum number of figures, one for each combination of the sweep's other values.
_MOST_FIGURES = 6


@dataclass(frozen=True)
class Swept:
    """A sweep arranged for drawing.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy, with a column per key of the sweep, ``policy``, a column per measure with its
        mean, and the intervals of the means (see `style.interval_of`).
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
        ``policy``, the keys in `others` and the measures, with their intervals. In a one-at-a-time sweep, the lines
        have the points at which the keys of the other groups have the scenario's own values.
        """
        parts = []
        names = (name for measure in measures for name in (measure, *style.interval_of(measure)))
        columns = [*self.others, "policy", *(name for name in names if name in self.table)]
        for key in self.along:
            group = next((group for group in self.in_turn if key in group), ())
            rows = rows_along(self.table, self.in_turn, group, self.content).sort_values(key, kind="stable")
            settings = [
                ", ".join(f"{style.key_words(other)} {_value_words(row[other])}" for other in self.others)
                for row in rows.to_dict("records")
            ]
            named: dict[str, Any] = {"key": key, "parameter": key.removeprefix("economics."), "setting": settings}
            parts.append(rows[columns].assign(**named, value=rows[key].astype(np.float64)))
        return pd.concat(parts, ignore_index=True)


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs along numeric keys, or of maps over two keys.

    `result` is that of a batch. Nothing is yielded if it has no sweep that can be drawn; see `swept_of`.
    """
    if (swept := swept_of(result)) is not None:
        yield from lines_or_maps(swept)


def lines_or_maps(swept: Swept) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of maps, if the sweep has a second axis, else of lines.

    Both show the payoffs. The name is ``sweep-map`` or ``sweep-lines``, with ``-1``, ``-2``, ... if there are several
    figures (at most six). Without columns of both payoffs, no lines are drawn.
    """
    name, figures = ("sweep-map", _maps) if swept.second else ("sweep-lines", _payoff_lines)
    drawn = list(figures(swept))
    for number, figure in enumerate(drawn, start=1):
        yield name if len(drawn) == 1 else f"{name}-{number}", figure


def swept_of(result: Any) -> Swept | None:
    """Return the statistics of a batch arranged for drawing; see `Swept`.

    The result is None for a batch without a sweep, policies or successful runs, and for a sweep without a numeric key
    that identifies its points.
    """
    content, found = result.manifest["content"], result.statistics
    if "sweep" not in content or found.empty or "policy" not in found or "records" in found:
        return None
    index = [*result.design.swept, "policy"]
    means, low, high = (
        found.pivot_table(index=index, columns="measure", values=value, sort=False, observed=True)
        for value in ("mean", "low", "high")
    )
    table = means.join([low.add_suffix(" low"), high.add_suffix(" high")]).reset_index()
    if table.empty:
        return None
    axes = validated(SweepSection, content["sweep"], result.name).axes
    keys = {axis: tuple(key for group in axis if (key := _leading(group, table))) for axis in axes}
    drawn = [axis for axis in axes if keys[axis]]
    drawn.sort(key=lambda axis: (-len(axis), -max(table[key].nunique() for key in keys[axis])))
    if not drawn:
        return None
    first, second = drawn[0], ""
    if len(drawn) > 1 and all(len(axis) == 1 for axis in drawn[:2]) and set(_MAPPED) <= set(table):
        (key,) = keys[drawn[1]]
        second = key if table[key].nunique() > _MOST_LINES else ""
    taken = drawn[: 2 if second else 1]
    others = tuple(key for axis in axes if axis not in taken for group in axis for key in group)
    return Swept(table, keys[first], others, second, first if len(first) > 1 else (), content)


def _leading(group: tuple[str, ...], table: pd.DataFrame) -> str:
    """Return the first numeric key of a group that identifies its points; "" if none.

    The keys of a group vary together. A key identifies the points if all its values in `table` are finite, and it has
    as many distinct values as the group has combinations, at least two.
    """
    for key, column in table[list(group)].select_dtypes("number").items():
        # If the values of a key repeat, they do not identify the values of the group's other keys.
        if np.isfinite(column).all() and column.nunique() == len(table[list(group)].drop_duplicates()) > 1:
            return str(key)
    return ""


def _payoff_lines(swept: Swept) -> Iterator[Figure]:
    if not set(style.PAYOFFS) <= set(swept.table):
        return
    lines = swept.lines(style.PAYOFFS).dropna(subset=style.PAYOFFS)
    if gain_goes_with_loss(swept.content, (*swept.along, *swept.others)):
        lines["parameter"] = lines["parameter"].replace("loss", style.LOSS_AND_GAIN)
    for setting in list(dict.fromkeys(lines["setting"]))[:_MOST_FIGURES]:
        figure = sensitivity_lines(lines[lines["setting"] == setting])
        if setting:
            style.headline(figure, setting)
        yield figure


def _maps(swept: Swept) -> Iterator[Figure]:
    y, x = sorted((swept.along[0], swept.second), key=list(swept.table.columns).index)
    names, case = {key: key.removeprefix("economics.") for key in (y, x)}, None
    if set(names.values()) == {"benefit", "loss"}:
        case = float(swept.content["economics"]["benefit"]), float(swept.content["economics"]["loss"])
        y, x = sorted((y, x))
    grouped = swept.table.dropna(subset=_MAPPED).groupby(["policy", *swept.others], sort=False, observed=True)
    for values, rows in itertools.islice(grouped, _MOST_FIGURES):
        title = ", ".join((style.policy_name(str(values[0])), *map(_value_words, values[1:])))
        if len(rows) == rows[x].nunique() * rows[y].nunique():
            maps = rows[[*_MAPPED, x, y]].rename(columns=names)
            yield parameter_maps(maps, case, axes=(names[y], names[x]), title=title)


def _value_words(value: object) -> str:
    """Return a value of a scenario key as a title shows it.

    A float is formatted by `style.number_text`. Of a path, only the last part is kept; the name of a table or TOML file
    also loses its suffixes, and hyphens become spaces.
    """
    if isinstance(value, float):
        return style.number_text(value)
    name = str(value).rpartition("/")[2]
    return name.partition(".")[0].replace("-", " ") if name.endswith(_FILES) else name


def sensitivity_lines(lines: pd.DataFrame, measures: Sequence[Measure] = _PLAYERS) -> Figure:
    """Draw measures under each policy against one parameter at a time.

    The figure of payoffs corresponds to Fig. 11 of Wan et al. 2015.

    Parameters
    ----------
    lines : DataFrame
        One row per parameter, value and policy, with columns ``parameter`` (such as ``"loss"`` or ``"cost"``),
        ``value``, ``policy``, and those of the measures (averages).
    measures : sequence of Measure
        Measures to draw; by default, the payoffs of both players.

    Returns
    -------
    Figure
        One row per parameter, one column per measure, and one line per policy. The x axis is logarithmic if the values
        are spaced by a factor.
    """
    parameters, look = style.ordered_parameters(lines["parameter"]), style.ordered_looks(lines["policy"])
    figure, grid = style.new_figure(len(parameters), len(measures), panel=(4.4, 2.7))
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for parameter, row in zip(parameters, grid, strict=True):
        here = lines[lines["parameter"] == parameter]
        for measure, axes in zip(measures, row, strict=True):
            style.draw_lines(axes, here, "value", measure.column, look)
            style.scale_axis(axes, "x", np.unique(here["value"]))
            x, y = style.parameter_label(parameter), style.measure_label(measure)
            style.label_axes(axes, title=f"({next(letters, '')})", x=x, y=y, numbers="y")
    style.legend_below(figure, axes.get_lines())
    return figure


def parameter_maps(
    maps: pd.DataFrame, case: tuple[float, float] | None = None, *, axes: tuple[str, str], title: str
) -> Figure:
    """Draw both players' strategies and payoffs over two parameters (Wan et al. 2015, Fig. 10).

    Parameters
    ----------
    maps : DataFrame
        A full grid, one row per value of both parameters, with a column for each of them, and averages over all
        records: ``publisher_payoff``, ``adversary_payoff`` (money per record), ``generalization_intensity`` and
        ``share_attacked``.
    case : tuple of float, optional
        Values (y and x) of a case study, marked by a cross; outside the map, only the legend mentions it.
    axes : tuple of str
        Columns on the y axis and on the x axis.
    title : str
        Title of the figure.

    Returns
    -------
    Figure
        Four maps: generalization intensity, share attacked, publisher's payoff and adversary's payoff. Each axis is
        logarithmic if its values are spaced by a factor. More generalization and more attacks are darker; a single
        record is either attacked or not. Payoffs of both signs have colours that are neutral at 0.
    """
    y, x = axes
    figure, grid = style.new_figure(2, 2, panel=(4.4, 3.1), sharex=True, sharey=True)
    style.headline(figure, title)
    # Round up to tenths, so that averages far below 1 are distinguishable.
    darkest = min(1.0, max(0.1, float(np.ceil(10 * maps[GENERALIZATION_INTENSITY.column].max())) / 10))
    attacks: tuple[Any, ...] = "Oranges", (0.0, 1.0), f"{SHARE_ATTACKED.label} (share)"
    if is_binary := maps[SHARE_ATTACKED.column].isin([0, 1]).all():
        attacks = ListedColormap(["white", VERMILION]), (-0.5, 1.5), ""
    panels: list[tuple[Any, ...]] = [
        (GENERALIZATION_INTENSITY, "Publisher's strategy", "Greys", (0.0, darkest), GENERALIZATION_INTENSITY.label),
        (SHARE_ATTACKED, "Adversary's strategy", *attacks),
        *((measure, measure.label, *signed_colours(maps[measure.column]), style.UNIT) for measure in _PLAYERS),
    ]
    for place, letter, (measure, name, *colours, unit) in zip(itertools.chain(*grid), "abcd", panels, strict=True):
        surface = maps.pivot(index=y, columns=x, values=measure.column)
        bar = colour_bar(figure, place, draw_cells(place, surface, *colours), unit)
        if measure is SHARE_ATTACKED and is_binary:
            bar.set_ticks([0, 1], labels=["not attacked", "attacked"])
        style.label_axes(
            place,
            title=f"({letter}) {name}",
            x=style.parameter_label(x),
            y=style.parameter_label(y).replace(" (", "\n("),
        )
        place.label_outer()
        if case is not None:
            # Black with a white rim is visible on black, white and grey.
            rim = [withStroke(linewidth=5, foreground="white")]
            cross: dict[str, Any] = {"linestyle": "none", "marker": "x", "markersize": 9, "markeredgewidth": 2}
            (left, right), (bottom, upper) = place.get_xlim(), place.get_ylim()
            outside = "" if left <= case[1] <= right and bottom <= case[0] <= upper else " (outside the map)"
            amounts = f"V = {style.number_text(case[0])}, L = {style.number_text(case[1])} {style.UNIT}"
            label = f"Case study: {amounts}{outside}"
            place.plot(case[1], case[0], **cross, color="black", path_effects=rim, clip_on=bool(outside), label=label)
    if case is not None:
        style.legend_below(figure, place.get_lines())
    return figure
