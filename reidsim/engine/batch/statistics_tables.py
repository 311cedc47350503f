"""Statistics of a batch as tables: per point of the sweep, policy and measure, and differences between policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.one_run import GROUP_COLUMNS
from reidsim.engine.batch.statistics import (
    LEVEL,
    QUANTILES,
    MeanInterval,
    error_of_estimates,
    mean_interval,
    paired_difference,
    quantiles,
    required_replications,
)
from reidsim.engine.batch.tasks import COMPLETE

Floats = NDArray[np.float64]

# Columns of runs that tell how far an estimate of the run may be off, by the end of their names.
ERROR = "_standard_error"
_NOT_MEASURES = (*GROUP_COLUMNS, "scenario", "point", "replication", "state", "error", "seed", "run")


@dataclass(frozen=True, eq=False)
class Measured:
    """The measures of a batch's complete runs.

    Parameters
    ----------
    values : dict of str to ndarray of float64, shape (n_swept, n_groups, n_samples, n_replications)
        By measure; NaN where there is none.
    errors : dict of str to ndarray of float64, the same shape
        Standard error of each value, of the measures that a run may estimate.
    swept : DataFrame
        One row per point of the sweep, one column per key path.
    groups : DataFrame
        What is compared, one row per group: policies, or adversaries by size of the release.
    """

    values: dict[str, Floats]
    errors: dict[str, Floats]
    swept: pd.DataFrame
    groups: pd.DataFrame

    def columns(self, of_groups: pd.DataFrame | None = None) -> pd.DataFrame:
        """Return the columns that say what rows of a table are about, groups changing fastest."""
        return self.swept.merge(self.groups if of_groups is None else of_groups, how="cross")


def measured(runs: pd.DataFrame, design: Design) -> Measured:
    """Arrange the measures of runs by point of the sweep, group, sample and replication.

    Parameters
    ----------
    runs : DataFrame
        As `batch_tables` makes it. Several releases in one run, drawn apart, count as one, their mean.
    design : Design
    """
    at_points = scenario_columns(design)
    swept = at_points.loc[:: design.samples, list(design.swept)].reset_index(drop=True)
    ended_well = runs[runs["state"] == COMPLETE]
    names = [column for column in GROUP_COLUMNS if column in runs and column != "sample"]
    if ended_well.empty or not names:
        return Measured({}, {}, swept, pd.DataFrame())
    numeric = [
        column
        for column in runs.columns
        if column not in (*_NOT_MEASURES, *at_points.columns) and pd.api.types.is_numeric_dtype(runs[column].dtype)
    ]
    error_of = _error_columns(numeric)
    measures = [column for column in numeric if column not in error_of.values()]
    if "sample" in runs:
        keys = ["point", "replication", *names]
        squares = ended_well.assign(**{error: ended_well[error] ** 2 for error in error_of.values()})
        grouped = squares.groupby(keys, sort=False)
        means = grouped[numeric].mean()
        for error in error_of.values():
            means[error] = np.sqrt(means[error] / grouped[error].count())
        ended_well = means.reset_index()
    groups = ended_well[names].drop_duplicates().reset_index(drop=True)
    group = ended_well[names].merge(groups.assign(position=np.arange(len(groups))), how="left", on=names)["position"]
    point = ended_well["point"].to_numpy()
    place = (
        point // design.samples,
        group.to_numpy(dtype=np.int64),
        point % design.samples,
        ended_well["replication"].to_numpy(),
    )
    shape = (len(swept), len(groups), design.samples, design.replications)

    def arranged(column: str) -> Floats:
        table = np.full(shape, np.nan)
        table[place] = ended_well[column].to_numpy(dtype=np.float64)
        return table

    values = {measure: arranged(measure) for measure in measures}
    errors = {measure: arranged(error) for measure, error in error_of.items()}
    return Measured(values, errors, swept, groups)


def _error_columns(columns: Sequence[str]) -> dict[str, str]:
    """Return by measure the column with its standard error: ``risk_standard_error`` of ``risk``, and so on."""
    found = {}
    for error in columns:
        name = error.removesuffix(ERROR)
        if error.endswith(ERROR):
            found[name if name in columns else f"{name}_risk"] = error
    return found


def statistics_table(found: Measured, level: float = LEVEL) -> pd.DataFrame:
    """Return mean, interval and quantiles over runs of every measure.

    Returns
    -------
    DataFrame
        One row per point of the sweep, group and measure: the swept keys, the group, ``measure``, ``runs`` (that have a
        value), ``mean``, ``standard_error``, ``low``, ``high``, ``q05``, ``q25``, ``median``, ``q75``, ``q95``,
        ``runs_for_1_percent`` (runs that make the interval at most 1 % of the mean wide to either side), and where runs
        estimate measures, ``estimation_error``: as much of the mean's standard error as comes from that.
    """
    parts = {}
    for measure, values in found.values.items():
        interval = mean_interval(values, level)
        flat = values.reshape(*values.shape[:2], -1)
        spread = dict(zip(QUANTILES, quantiles(flat, QUANTILES.values()), strict=True))
        needed = required_replications(flat, 0.01 * np.abs(interval.mean), level)
        columns = {**_interval_columns(interval), **spread, "runs_for_1_percent": needed}
        if found.errors:
            errors = found.errors.get(measure, np.full_like(values, np.nan))
            columns["estimation_error"] = error_of_estimates(errors)
        parts[measure] = columns
    return _interleaved(found.columns(), parts)


def differences_table(found: Measured, level: float = LEVEL) -> pd.DataFrame:
    """Return differences between groups that met the same random draws, run by run, to the first group of their kind.

    Returns
    -------
    DataFrame
        One row per point of the sweep, group but the first, and measure: the swept keys, the group, ``reference`` (the
        first policy, or adversary of the same release), ``measure``, ``runs``, ``mean``, ``standard_error``, ``low``,
        ``high`` and ``share_above`` (share of runs in which the group has more than the reference).
    """
    if found.groups.empty:
        return pd.DataFrame()
    compared = str(found.groups.columns[-1])
    strata = list(found.groups.columns[:-1])
    number = pd.Series(np.arange(len(found.groups)))
    first = number.groupby([found.groups[name] for name in strata]).transform("min") if strata else number * 0
    others = np.flatnonzero(number != first)
    if not len(others):
        return pd.DataFrame()
    reference = first.to_numpy()[others]
    groups = found.groups.iloc[others].assign(reference=found.groups[compared].to_numpy()[reference])
    parts = {}
    for measure, values in found.values.items():
        one, other = values[:, others], values[:, reference]
        interval = paired_difference(one, other, level)
        both = np.isfinite(one) & np.isfinite(other)
        above = (both & (one > other)).sum(axis=(-2, -1)) / np.maximum(both.sum(axis=(-2, -1)), 1)
        share = np.where(interval.n > 0, above, np.nan)
        parts[measure] = {**_interval_columns(interval), "share_above": share}
    return _interleaved(found.columns(groups), parts)


def _interval_columns(interval: MeanInterval) -> dict[str, NDArray[Any]]:
    return {
        "runs": interval.n,
        "mean": interval.mean,
        "standard_error": interval.standard_error,
        "low": interval.low,
        "high": interval.high,
    }


def _interleaved(about: pd.DataFrame, parts: Mapping[str, dict[str, NDArray[Any]]]) -> pd.DataFrame:
    """Put the columns of all measures together, the rows of one point and group next to each other.

    The columns are used up, so that there are never two tables of them.
    """
    if not parts:
        return pd.DataFrame()
    rows = about.loc[about.index.repeat(len(parts))].reset_index(drop=True)
    rows["measure"] = np.tile(np.array([*parts], dtype=object), len(about))
    columns = {
        name: np.stack([part.pop(name).ravel() for part in parts.values()], axis=-1).ravel()
        for name in [*next(iter(parts.values()))]
    }
    return pd.concat([rows.astype({"measure": "str"}), pd.DataFrame(columns, copy=False)], axis=1)
