"""Figures of a sweep: outcomes along each key that changes, one line per policy, or maps over two of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.engine.batch.result import BatchResult
from reidsim.games.measures import ADVERSARY_PAYOFF, GENERALIZATION_INTENSITY, PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.kinds.tables.measures import PUBLISHER_PAYOFF_DIFFERENCE, SHARE_OPTIMAL
from reidsim.measures import columns_of
from reidsim.reports.figures.full_domain import full_domain_runtimes, payout_curves
from reidsim.reports.figures.lines import search_deviation, sensitivity_lines
from reidsim.reports.figures.maps import ALL_RECORDS, parameter_maps
from reidsim.reports.figures.masking_lines import LINE_MEASURES, masking_lines
from reidsim.reports.figures.sequential_scales import attack_thresholds
from reidsim.reports.figures.style import LOSS_AND_GAIN, number_text, policy_name
from reidsim.reports.figures.sweep_values import is_own, lines_of_runs
from reidsim.reports.varied_gain import gain_goes_with_loss
from reidsim.scenarios.design_schema import SweepSection
from reidsim.validation import validated

_PAYOFFS = columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF))
_MAPPED = [*columns_of((GENERALIZATION_INTENSITY, SHARE_ATTACKED)), *_PAYOFFS]
_DEVIATION = columns_of((PUBLISHER_PAYOFF_DIFFERENCE, SHARE_OPTIMAL))
_THRESHOLD = "attack_threshold"
# Two axes make a map if both have more values than could be told apart as lines.
_MOST_LINES = 6
# Figures of the other values of a sweep; the first few tell the story.
_MOST_FIGURES = 6
_RULES = ("safe-harbor", "no-protection", "suppress-all")
_DETERRENTS = {
    "economics.cost": "exploit_cost",
    "adversary.sequential.access_cost": "access_cost",
    "adversary.sequential.penalty": "penalty",
    "adversary.sequential.detection_intercept": "detection",
}


@dataclass(frozen=True)
class _Swept:
    """A sweep as figures see it.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy: keys, ``policy``, means of the measures.
    along : tuple of str
        Keys with numbers along which lines are drawn, one at a time.
    others : tuple of str
        Keys that tell lines, or figures, apart.
    second : str
        Key of the second axis of a map; empty if lines are drawn.
    in_turn : tuple of tuple of str
        Groups of keys of which one changes at a time, if lines are drawn along them.
    content : mapping
        The scenario.
    """

    table: pd.DataFrame
    along: tuple[str, ...]
    others: tuple[str, ...]
    second: str
    in_turn: tuple[tuple[str, ...], ...]
    content: Mapping[str, Any]

    def line(self, key: str) -> pd.DataFrame:
        """Return the rows in which the keys that change in turn with `key` have the scenario's own values."""
        rows = self.table
        for group in self.in_turn:
            for other in group if key not in group else ():
                rows = rows[is_own(rows[other], self.content, other)]
        return rows.sort_values(key, kind="stable")

    def lines(self, measures: list[str]) -> pd.DataFrame:
        """Return all lines below each other, with columns ``key``, ``value``, ``setting`` and ``policy``."""
        parts = []
        for key in self.along:
            rows = self.line(key)
            part = rows[[*self.others, "policy", *measures]].assign(key=key, value=rows[key].astype(np.float64))
            part["setting"] = [self._setting(values) for values in rows[list(self.others)].itertuples(index=False)]
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def _setting(self, values: tuple[Any, ...]) -> str:
        return ", ".join(
            f"{key.rpartition('.')[2]} {number_text(value) if isinstance(value, float) else value}"
            for key, value in zip(self.others, values, strict=True)
        )


def sweep_figures(result: BatchResult) -> Iterator[tuple[str, Figure]]:
    """Yield name and figure for what a sweep shows.

    Lines of payoffs by policy along every key with numbers, or maps over two of them that are crossed; the figures of
    the papers where the game has one: group sizes that deter a sequential attack, distance of lattice-based search from
    the optimum, relative payouts and run times at dataset level, payoff, privacy and utility in the masking game.
    """
    content = result.manifest["content"]
    if content.get("game") == "masking" and "sweep" in content:
        lines = lines_of_runs(result.runs, validated(SweepSection, content["sweep"], result.name), content)
        for name, measure in LINE_MEASURES.items() if len(lines) else ():
            yield name, masking_lines(lines, measure)
        return
    swept = _swept(result)
    if swept is None:
        return
    if _THRESHOLD in swept.table and not swept.second:
        yield "attack-thresholds", _thresholds(swept)
    if set(_DEVIATION) <= set(swept.table) and not swept.second and not swept.others:
        lines = _named(swept.lines(_DEVIATION).dropna(subset=_DEVIATION))
        if len(lines["policy"].unique()) == 1:
            yield "search-deviation", search_deviation(lines)
    runtimes = _runtimes(result, swept)
    if runtimes is not None:
        yield "full-domain-runtimes", full_domain_runtimes(runtimes)
    elif _is_payout(swept):
        yield f"payout-curves-{_short(swept.along[0])}", payout_curves(_payouts(swept))
    elif swept.second:
        yield from _numbered("sweep-map", _maps(swept))
    elif set(_PAYOFFS) <= set(swept.table):
        yield from _numbered("sweep-lines", _payoff_lines(swept))


def _swept(result: BatchResult) -> _Swept | None:
    """Arrange the statistics of a batch for drawing; None if there is nothing to draw along."""
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
    return _Swept(table, drawn[first], others, second, first if len(first) > 1 else (), content)


def _leading(group: tuple[str, ...], table: pd.DataFrame) -> str:
    """Return the first key of a group that has several numbers, by which it can be drawn; empty if there is none."""
    for key in group:
        column = table[key]
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            continue
        # A key whose values repeat does not tell what the group's other keys are.
        if np.isfinite(column).all() and column.nunique() == len(table[list(group)].drop_duplicates()) > 1:
            return key
    return ""


def _payoff_lines(swept: _Swept) -> Iterator[Figure]:
    lines = _named(swept.lines(_PAYOFFS).dropna(subset=_PAYOFFS))
    if gain_goes_with_loss(swept.content, (*swept.along, *swept.others)):
        lines["parameter"] = lines["parameter"].replace("loss", LOSS_AND_GAIN)
    for setting in list(dict.fromkeys(lines["setting"]))[:_MOST_FIGURES]:
        figure = sensitivity_lines(lines[lines["setting"] == setting])
        if setting:
            figure.suptitle(setting, fontsize=11, parse_math=False)
        yield figure


def _maps(swept: _Swept) -> Iterator[Figure]:
    y, x = sorted((swept.along[0], swept.second), key=list(swept.table.columns).index)
    names = {y: _short(y), x: _short(x)}
    economics = swept.content.get("economics", {})
    case = (
        (float(economics["benefit"]), float(economics["loss"])) if set(names.values()) == {"benefit", "loss"} else None
    )
    if case is not None and names[y] == "loss":
        x, y = y, x
    grouped = swept.table.dropna(subset=_MAPPED).groupby(["policy", *swept.others], sort=False)
    for values, rows in itertools.islice(grouped, _MOST_FIGURES):
        title = ", ".join((policy_name(str(values[0])), *(str(value).rpartition("/")[2] for value in values[1:])))
        if len(rows) == rows[x].nunique() * rows[y].nunique():
            maps = rows[[*_MAPPED, x, y]].rename(columns=names).assign(record=ALL_RECORDS)
            yield parameter_maps(maps, case=case, axes=(names[y], names[x]), title=title)


def _thresholds(swept: _Swept) -> Figure:
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


def _of_whole_table(content: Mapping[str, Any]) -> bool:
    """Tell of the content of a scenario whether all records share one generalization; former results say so by game."""
    return content.get("game") == "full-domain" or content.get("publisher", {}).get("unit") == "table"


def _is_payout(swept: _Swept) -> bool:
    at_dataset_level = _of_whole_table(swept.content) and not swept.second
    priced = len(swept.along) == 1 and swept.along[0].startswith("economics.")
    return at_dataset_level and priced and set(swept.others) <= {"beliefs.risk"} and _benefit(swept) > 0


def _payouts(swept: _Swept) -> pd.DataFrame:
    lines = _named(swept.lines(["publisher_payoff"]).dropna(subset="publisher_payoff"))
    lines["relative_payout"] = lines["publisher_payoff"] / _benefit(swept)
    risk = lines["beliefs.risk"] if "beliefs.risk" in lines else pd.Series("", index=lines.index)
    # Rules plan with nothing.
    lines["risk"] = risk.where(~lines["policy"].isin(_RULES), "")
    return lines.drop_duplicates(["parameter", "value", "policy", "risk"])


def _benefit(swept: _Swept) -> float:
    """Return the benefit that all records have at all points; 0 if there is none."""
    economics = swept.content["economics"]
    changes = "economics.benefit" in swept.along or economics.get("columns")
    return 0.0 if changes else float(economics["benefit"])


def _runtimes(result: BatchResult, swept: _Swept) -> pd.DataFrame | None:
    """Return the run times of a sweep with and without pruning along one price; None if it is none."""
    table = result.analysis.tables().get("runtimes", pd.DataFrame())
    if "nodes_evaluated" not in table or swept.others != ("publisher.prune",) or len(swept.along) != 1:
        return None
    if not swept.along[0].startswith("economics."):
        return None
    points = result.design.points.iloc[table["point"].to_numpy()].reset_index(drop=True)
    found = table.assign(value=points[swept.along[0]], pruned=points["publisher.prune"])
    return found.groupby(["value", "policy", "pruned"], sort=False)["seconds"].median().reset_index()


def _named(lines: pd.DataFrame) -> pd.DataFrame:
    return lines.assign(parameter=lines["key"].map(_short))


def _short(key: str) -> str:
    """Return the name under which figures know a price; other keys as they are."""
    return key.removeprefix("economics.")


def _numbered(name: str, figures: Iterator[Figure]) -> Iterator[tuple[str, Figure]]:
    drawn = list(figures)
    for number, figure in enumerate(drawn, start=1):
        yield name if len(drawn) == 1 else f"{name}-{number}", figure
