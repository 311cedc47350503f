"""Draw the outcomes of a sweep: lines along each swept key, or maps over two keys."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.core.measures import columns_of
from reidsim.figures import style
from reidsim.figures.maps import ALL_RECORDS, parameter_maps
from reidsim.games.measures import ADVERSARY_PAYOFF, GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.scenarios.design_schema import SweepSection, rows_along
from reidsim.scenarios.report_sentences import gain_goes_with_loss
from reidsim.validation import validated

_PAYOFFS = columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF))
_MAPPED = [*columns_of((GENERALIZATION_INTENSITY, SHARE_ATTACKED)), *_PAYOFFS]
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
        One row per point and policy: keys, ``policy``, means of the measures.
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
            named: dict[str, Any] = {"key": key, "parameter": short_name(key), "value": rows[key].astype(np.float64)}
            settings = map(self._setting, rows[list(self.others)].to_numpy(dtype=object))
            parts.append(rows[[*self.others, "policy", *measures]].assign(**named, setting=list(settings)))
        return pd.concat(parts, ignore_index=True)

    def _setting(self, values: Iterable[Any]) -> str:
        return ", ".join(
            f"{style.key_words(key)} {style.number_text(value) if isinstance(value, float) else value_words(value)}"
            for key, value in zip(self.others, values, strict=True)
        )


def sweep_figures(result: Any) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of payoffs along numeric keys, or of maps over two keys."""
    swept = swept_of(result)
    if swept is not None:
        yield from lines_or_maps(swept)


def lines_or_maps(swept: Swept) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure of maps, if the sweep has a second axis, else of lines."""
    name, drawn = "sweep-lines", []
    if swept.second:
        name, drawn = "sweep-map", list(_maps(swept))
    elif set(_PAYOFFS) <= set(swept.table):
        drawn = list(_payoff_lines(swept))
    for number, figure in enumerate(drawn, start=1):
        yield name if len(drawn) == 1 else f"{name}-{number}", figure


def swept_of(result: Any) -> Swept | None:
    """Arrange the statistics of a batch for drawing.

    None for a batch without a sweep, policies or complete runs, and for a sweep without a numeric key.
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
    """Return the first numeric key of a group that identifies its points; "" if none."""
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
        title = ", ".join((style.policy_name(str(values[0])), *(value_words(value) for value in values[1:])))
        if len(rows) == rows[x].nunique() * rows[y].nunique():
            maps = rows[[*_MAPPED, x, y]].rename(columns=names).assign(record=ALL_RECORDS)
            yield parameter_maps(maps, case=case, axes=(names[y], names[x]), title=title)


def value_words(value: object) -> str:
    """Return a value of a key as a title shows it; a file by its name, in words."""
    name = str(value).rpartition("/")[2]
    return name.partition(".")[0].replace("-", " ") if name.endswith(_FILES) else name


def short_name(key: str) -> str:
    """Return the short name of a payoff parameter's key; other keys unchanged."""
    return key.removeprefix("economics.")


_SIDES = ((PUBLISHER_PAYOFF, "Publisher"), (ADVERSARY_PAYOFF, "Adversary"))


def sensitivity_lines(lines: pd.DataFrame) -> Figure:
    """Draw the payoffs under each policy against one parameter at a time.

    The figure corresponds to Fig. 11 of Wan et al. 2015.

    Parameters
    ----------
    lines : DataFrame
        One row per parameter, value and policy, with columns ``parameter`` (``"loss"``, ``"benefit"``, ``"cost"``),
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
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    for parameter, row in zip(parameters, grid, strict=True):
        here = lines[lines["parameter"] == parameter].sort_values("value")
        for (measure, side), axes in zip(_SIDES, row, strict=True):
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
