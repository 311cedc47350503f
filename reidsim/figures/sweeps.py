"""Draw sweeps: payoffs along the keys of a sweep as lines, or over two keys as maps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.validation import validated
from reidsim.core.wording import Measure, columns_of
from reidsim.figures import style
from reidsim.figures.maps import parameter_maps
from reidsim.games.outcomes import GENERALIZATION_INTENSITY, SHARE_ATTACKED
from reidsim.scenarios.kind import gain_goes_with_loss
from reidsim.scenarios.schema import SweepSection, rows_along

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


def sensitivity_lines(lines: pd.DataFrame, measures: Sequence[Measure] = style.PLAYERS) -> Figure:
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
    style.legend_below(figure)
    return figure
