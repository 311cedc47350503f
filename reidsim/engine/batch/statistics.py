"""The tables of a batch, its statistics and its result.

Statistics are means with confidence intervals, quantiles, paired differences and required runs. Runs form a table of
points (draws of the uncertain parameters) by replications (draws of all other random quantities). Replication *r* has
the same draws at every point and under every policy. The error of a mean over the table comes from both: its variance
is estimated as the variance of the point means divided by the number of points, plus the variance of the replication
means divided by the number of replications (crossed random effects; the estimate is rather too large than too small),
with the degrees of freedom of Welch and Satterthwaite. With one replication, the interval covers only the uncertainty
of the parameters; with one point, only the uncertainty from the other draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import COMPLETE, GROUP_COLUMNS, Design, RunOutcome, scenario_columns
from reidsim.engine.results import RunResult

# Columns that come after the measures in the table of runs.
_LAST = ("state", "error", "seed", "run")


def batch_tables(name: str, design: Design, outcomes: Iterable[RunOutcome]) -> dict[str, pd.DataFrame]:
    """Return the tables of a batch.

    They do not depend on the order in which the runs finished.

    Parameters
    ----------
    name : str
        Name of the scenario.
    design : Design
    outcomes : iterable of RunOutcome

    Returns
    -------
    dict of str to DataFrame
        ``runs`` has one row per run and policy, sorted by point, replication and the scenario's order of policies, and
        one row without measures for each failed run. Its columns are ``scenario``, ``point``, ``replication``, the
        group (such as ``policy``), the measures, ``state``, ``error``, ``seed``, ``run`` (key) and one column per key
        path of the points. The other tables hold the rows of all successful runs, with additional columns ``point`` and
        ``replication``.
    """
    ordered = sorted(outcomes, key=lambda outcome: (outcome.task.point, outcome.task.replication))
    names = dict.fromkeys(chain(("runs",), *(outcome.tables for outcome in ordered)))
    tables = {table: _stacked(table, ordered) for table in names}
    runs, number = tables["runs"]
    ends = [(outcome.state, outcome.error, outcome.task.key, outcome.task.seed) for outcome in ordered]
    of_run = pd.DataFrame(ends, columns=["state", "error", "run", "seed"])
    runs = pd.concat([runs, of_run.iloc[number].reset_index(drop=True)], axis=1).assign(scenario=name)
    first = ["scenario", "point", "replication", *(column for column in GROUP_COLUMNS if column in runs)]
    runs = runs[[*first, *(column for column in runs if column not in (*first, *_LAST)), *_LAST]]
    at_points = scenario_columns(design).iloc[runs["point"].to_numpy()].reset_index(drop=True)
    return {**{table: rows for table, (rows, _) in tables.items()}, "runs": pd.concat([runs, at_points], axis=1)}


def design_of_runs(runs: pd.DataFrame, facts: Mapping[str, Any]) -> Design:
    """Return the design of a batch from its table of runs; see `batch_tables`.

    `facts` is the manifest's entry ``design``. Values in columns of mixed types are JSON text, as in the table.
    """
    keys = runs.columns[list(runs.columns).index("run") + 1 :]
    points = runs.drop_duplicates("point")[keys].reset_index(drop=True)
    return Design(points, facts["replications"], tuple(facts["swept"]), facts["samples"])


def _stacked(table: str, outcomes: Sequence[RunOutcome]) -> tuple[pd.DataFrame, Any]:
    """Return one table with the rows of all runs, and the run of each row.

    The run is an index in `outcomes`. In table ``runs``, a failed run has one row of missing values.
    """
    parts = [outcome.tables.get(table, {}) for outcome in outcomes]
    heights = [len(next(iter(part.values()), ())) for part in parts]
    if table == "runs":
        heights = [height or int(each.state != COMPLETE) for height, each in zip(heights, outcomes, strict=True)]
    number = np.repeat(np.arange(len(outcomes)), heights)
    place = np.array([(each.task.point, each.task.replication) for each in outcomes], dtype=np.int64).reshape(-1, 2)
    columns: dict[str, Any] = {"point": place[number, 0], "replication": place[number, 1]}
    for column in dict.fromkeys(chain(*parts)):
        cells = (part.get(column) or [None] * height for part, height in zip(parts, heights, strict=True))
        columns[column] = _typed([*chain.from_iterable(cells)])
    return pd.DataFrame(columns), number


def _typed(values: list[Any]) -> pd.Series[Any]:
    """Return a column with a type that depends only on the types of its values.

    If all values are int, the type is int64. Other mixtures of int, float and None give float64, where None becomes
    NaN. If all values are bool, the type is bool. Any other values become text, where None stays missing.
    """
    types = set(map(type, values))
    if types <= {int, float, type(None)}:
        return pd.Series(values, dtype=np.int64 if types == {int} else np.float64)
    if types == {bool}:
        return pd.Series(values, dtype=np.bool_)
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult(RunResult):
    """The result of a batch.

    Its table of records is empty; `analysis` has quantiles over the records of each run instead (``distributions``),
    the tables of rounds with ``point`` and ``replication`` of the run (see `reidsim.engine.single_run.analysis_of`),
    and the tables ``statistics`` and ``differences``.

    Parameters
    ----------
    design : Design
        Points and replications.
    """

    design: Design = field(default_factory=lambda: Design(pd.DataFrame(index=range(1))))

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        design = design_of_runs(tables["runs"], common["manifest"]["design"])
        return replace(super().restored(tables, facts, common), design=design)

    @property
    def statistics(self) -> pd.DataFrame:
        """Means with confidence intervals, and quantiles over runs.

        One row per point of the sweep, policy and measure; see `statistics_table`. The table is empty if no run is
        successful.
        """
        return self.analysis.named.get("statistics", pd.DataFrame())

    @property
    def differences(self) -> pd.DataFrame:
        """Differences of measures to the first policy in the same run.

        See `differences_table`. The table is empty if there are no two policies to compare.
        """
        return self.analysis.named.get("differences", pd.DataFrame())

    @property
    def summary(self) -> pd.DataFrame:
        """Averages of measures over samples and replications.

        One row per point of the sweep (if any) and policy; in assessments, per point, size of the release and
        adversary. One column per measure. Rows without a successful run are left out, so the table may be empty.
        """
        table = self.statistics
        if table.empty:
            return pd.DataFrame()
        keys = [column for column in table.columns if column in (*self.design.swept, "policy", "records", "knowledge")]
        wide = table.pivot(index=keys, columns="measure", values="mean")
        # Show only combinations that were run, in their order: keys that change together are not crossed, and in a
        # sweep over policies each point has its own policies.
        done = table.loc[table["runs"] > 0, keys].drop_duplicates()
        wide = wide.loc[pd.MultiIndex.from_frame(done) if len(keys) > 1 else pd.Index(done[keys[0]])]
        return wide[[measure for measure in table["measure"].unique() if measure in wide]]


def batch_warnings(outcomes: Sequence[RunOutcome], design: Design, runs: pd.DataFrame) -> tuple[str, ...]:
    """Return warnings about failed runs, and the warnings of the successful runs.

    A warning of several runs appears once, with their number if not all runs have it. There is one warning per state of
    failed runs. If there are several replications, and their results are equal at every point, there is a warning.

    Parameters
    ----------
    outcomes : sequence of RunOutcome
    design : Design
    runs : DataFrame
        Table ``runs`` from `batch_tables`.
    """
    warnings, n_runs = [], len(outcomes)
    for state in sorted({outcome.state for outcome in outcomes} - {COMPLETE}):
        own = [outcome for outcome in outcomes if outcome.state == state]
        warnings.append(
            f"{len(own)} of {n_runs} runs ended as {state!r} and are left out of the statistics; the first, run "
            f"{own[0].task.key}: {own[0].error}"
        )
    said = Counter(warning for outcome in outcomes for warning in outcome.warnings)
    warnings += [each if number == n_runs else f"{number} of {n_runs} runs: {each}" for each, number in said.items()]
    if design.replications > 1:
        complete = runs[runs["state"] == COMPLETE]
        run = complete.groupby(["point", "replication"], observed=True)["point"]
        rows = {"row of the run": run.cumcount(), "rows of the run": run.transform("size")}
        distinct = complete.drop(columns=["replication", "seed", "run"]).assign(**rows).drop_duplicates()
        if len(distinct) and not distinct.duplicated(["point", "row of the run"]).any():
            warnings.append("all replications are equal: the scenario has no random draws")
    return tuple(warnings)


Floats = NDArray[np.float64]
LEVEL = 0.95
# Shares of the squared half-width that are allotted to points; replications get the rest. `required_runs` tries all.
_SHARES = np.arange(0.05, 1, 0.05)
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def mean_interval(values: Floats, level: float = LEVEL) -> dict[str, NDArray[Any]]:
    """Return the mean of runs with its confidence interval.

    The module docstring describes the method.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_points, n_replications)
        NaN for runs without a value, which are ignored.
    level : float
        Confidence level, in (0, 1).

    Returns
    -------
    dict of str to ndarray
        ``runs`` (number of runs with a value), ``mean``, ``standard_error``, and the bounds ``low`` and ``high``. The
        mean is NaN without a run, the others if there are fewer than two runs.
    """
    from scipy.special import stdtrit

    mean, _, n = _moments(values.reshape(*values.shape[:-2], -1))
    errors, degrees = np.zeros(mean.shape), np.zeros(mean.shape)
    for axis in (-1, -2):
        # Means over one axis vary only with the draws of the other axis.
        _, variance, draws = _moments(_moments(np.moveaxis(values, axis, -1))[0])
        share = np.where(draws > 1, variance / np.maximum(draws, 1), 0.0)
        errors += share
        degrees += share**2 / np.maximum(draws - 1, 1)
    standard_error = np.where(n > 1, np.sqrt(errors), np.nan)
    freedom = np.divide(errors**2, degrees, out=np.ones_like(degrees), where=degrees > 0)
    half = stdtrit(freedom, (1 + level) / 2) * standard_error
    return {"runs": n, "mean": mean, "standard_error": standard_error, "low": mean - half, "high": mean + half}


def _required(variance: Floats, n: NDArray[np.int64], half_width: float | Floats) -> Floats:
    """Return the smallest number of independent draws for a given half-width.

    `variance` is the sample variance of the present `n` draws, and the interval is the t interval of their mean at
    level 0.95. The result has the shape of `variance`: NaN if `n` is below 2 or the half-width is not positive;
    otherwise at least 2.
    """
    from scipy.special import ndtri, stdtrit

    share = (1 + LEVEL) / 2
    wanted = np.broadcast_to(np.asarray(half_width, dtype=np.float64), variance.shape)
    usable = (n > 1) & (wanted > 0)
    scaled = variance[usable] / wanted[usable] ** 2
    # The t quantile depends on the number of draws. The number for the normal quantile is too small by a few draws.
    needed = np.maximum(np.ceil(ndtri(share) ** 2 * scaled), 2.0)
    while (is_lacking := stdtrit(needed - 1, share) ** 2 * scaled > needed).any():
        needed += is_lacking
    found = np.full(variance.shape, np.nan)
    found[usable] = needed
    return found


def required_runs(values: Floats, half_width: float | Floats) -> tuple[Floats, Floats]:
    """Return the number of runs that gives an interval a certain half-width.

    The interval is that of `mean_interval` at level 0.95. The number of runs is points times replications. One
    replication suffices if the means of replications do not differ, and one point suffices if the means of points do
    not differ. If both differ, the squared half-width is divided between them in the way (of those in `_SHARES`) that
    needs the fewest runs.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_points, n_replications)
        NaN for runs without a value, which are ignored.
    half_width : float or ndarray of float64
        Required distance from the mean to either bound of the interval; positive.

    Returns
    -------
    runs, points : ndarray of float64
        Number of runs, and number of points among these runs. NaN if there are fewer than two runs, or the half-width
        is not positive.
    """
    # The means over replications vary with the points, and the means over points with the replications.
    (of_points, n_points), (of_replications, n_replications) = (
        _moments(_moments(np.moveaxis(values, axis, -1))[0])[1:] for axis in (-1, -2)
    )
    wanted = np.broadcast_to(half_width, of_points.shape)
    # Results of identical draws may differ by rounding errors.
    rounding = (1e-6 * wanted) ** 2
    points_differ, replications_differ = of_points > rounding, of_replications > rounding
    alone = np.where(replications_differ | (n_points < 2), 0.0, 1.0)
    shares = np.array([np.where(points_differ & replications_differ, share, alone) for share in _SHARES])
    needed_points, needed_replications = (
        np.where(part > 0, _required(np.broadcast_to(variance, part.shape), n, part**0.5 * wanted), 1.0)
        for variance, n, part in ((of_points, n_points, shares), (of_replications, n_replications, 1 - shares))
    )
    runs = needed_points * needed_replications
    fewest, of_them = (
        np.take_along_axis(needed, runs.argmin(axis=0)[None], axis=0)[0] for needed in (runs, needed_points)
    )
    return fewest, np.where(np.isfinite(fewest), of_them, np.nan)


def error_of_estimates(errors: Floats) -> Floats:
    """Return the standard error of a mean over runs whose values are estimates.

    Only the errors of these estimates count, not the differences between runs. Each replication is estimated from its
    own draws, so errors of replications are independent. Points of the same replication share their draws, so their
    errors may be fully correlated: they are added, which gives an upper bound.

    Parameters
    ----------
    errors : ndarray of float64, shape (..., n_points, n_replications)
        Standard error of each run's value, 0 if it is exact; NaN for runs without a value, which are ignored.

    Returns
    -------
    ndarray of float64
        NaN if no run has a value.
    """
    n = np.isfinite(errors).sum(axis=(-2, -1))
    return np.where(n > 0, np.sqrt((np.nansum(errors, axis=-2) ** 2).sum(axis=-1)) / np.maximum(n, 1), np.nan)


def quantiles(values: Floats, shares: Any) -> Floats:
    """Return quantiles over runs, linearly interpolated between neighbouring values.

    The result is NaN if no run has a value.

    Parameters
    ----------
    values : ndarray of float64, shape (..., n_runs)
        NaN for runs without a value, which are ignored.
    shares : sequence of float
        Levels of the quantiles, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (n_shares, ...)
    """
    table = pd.DataFrame(values.reshape(-1, values.shape[-1]).T).quantile(list(shares))
    return np.asarray(table.to_numpy().reshape(-1, *values.shape[:-1]))


def _moments(values: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return mean, sample variance and number of finite values along the last axis.

    Other values are ignored. The mean is NaN if there is no finite value, the variance if there are fewer than two.
    """
    known = np.ma.masked_invalid(values)
    mean, variance = (np.ma.filled(each, np.nan) for each in (known.mean(axis=-1), known.var(axis=-1, ddof=1)))
    return mean, variance, known.count(axis=-1)


# Suffix of columns with the standard error of an estimated measure.
ERROR = "_standard_error"
_NOT_MEASURES = (*GROUP_COLUMNS, "scenario", "point", "replication", "state", "error", "seed", "run")


@dataclass(frozen=True, eq=False)
class Measured:
    """The measures of a batch's successful runs, as arrays.

    Parameters
    ----------
    values : dict of str to ndarray of float64, shape (n_swept, n_groups, n_samples, n_replications)
        Value of each measure, by measure; NaN if a run has no value.
    errors : dict of str to ndarray of float64, the same shape
        Standard error of each value; only for measures that a run may estimate.
    swept : DataFrame
        One row per point of the sweep, one column per key path.
    groups : DataFrame
        The groups whose measures are compared, one per row: policies; in assessments, adversaries by size of the
        release; in cross-play, defenders with the adversary planned against and the adversary met.
    """

    values: dict[str, Floats]
    errors: dict[str, Floats]
    swept: pd.DataFrame
    groups: pd.DataFrame


def measured(runs: pd.DataFrame, design: Design) -> Measured:
    """Return the measures of runs by swept point, group, sample and replication.

    Parameters
    ----------
    runs : DataFrame
        Table ``runs`` from `batch_tables`; failed runs are ignored. Several independently drawn releases in one run
        (column ``sample``) are replaced by their mean, with the standard error of this mean.
    design : Design

    Returns
    -------
    Measured
        Without measures and groups if no run is successful.
    """
    at_points = scenario_columns(design)
    swept = at_points.loc[:: design.samples, list(design.swept)].reset_index(drop=True)
    ended_well = runs[runs["state"] == COMPLETE]
    names = [column for column in GROUP_COLUMNS if column in runs and column != "sample"]
    if ended_well.empty or not names:
        return Measured({}, {}, swept, pd.DataFrame())
    numbers = runs.select_dtypes(["number", "bool"]).columns
    numeric = [column for column in numbers if column not in (*_NOT_MEASURES, *at_points.columns)]
    # ``risk_standard_error`` belongs to ``risk``. Without a column ``x``, ``x_standard_error`` belongs to ``x_risk``.
    of_errors = {error: error.removesuffix(ERROR) for error in numeric if error.endswith(ERROR)}
    error_of = {name if name in numeric else f"{name}_risk": error for error, name in of_errors.items()}
    measures = [column for column in numeric if column not in error_of.values()]
    if "sample" in runs:
        squares = ended_well.assign(**{error: ended_well[error] ** 2 for error in error_of.values()})
        grouped = squares.groupby(["point", "replication", *names], sort=False, observed=True)
        errors = {error: np.sqrt(grouped[error].mean() / grouped[error].count()) for error in error_of.values()}
        ended_well = grouped[numeric].mean().assign(**errors).reset_index()
    groups = ended_well[names].drop_duplicates().reset_index(drop=True)
    group = ended_well[names].merge(groups.assign(position=np.arange(len(groups))), how="left", on=names)["position"]
    swept_point, sample = divmod(ended_well["point"].to_numpy(), design.samples)
    place = (swept_point, group.to_numpy(dtype=np.int64), sample, ended_well["replication"].to_numpy())

    def arranged(column: str) -> Floats:
        table = np.full((len(swept), len(groups), design.samples, design.replications), np.nan)
        table[place] = ended_well[column].to_numpy(dtype=np.float64)
        return table

    errors = {measure: arranged(error) for measure, error in error_of.items()}
    return Measured({measure: arranged(measure) for measure in measures}, errors, swept, groups)


def statistics_table(found: Measured) -> pd.DataFrame:
    """Return mean, interval and quantiles over runs of every measure.

    Returns
    -------
    DataFrame
        One row per combination of swept values, group (such as a policy; see `Measured`) and measure: the swept keys,
        the group, ``measure``, ``runs`` (number of runs with a value), ``mean``, ``standard_error``, ``low``, ``high``
        (95 % interval, see `mean_interval`), the quantiles over runs ``q05``, ``q25``, ``median``, ``q75``, ``q95``,
        ``runs_for_1_percent`` (number of runs that gives an interval of 1 % of the mean to either side; see
        `required_runs`) and ``points_for_1_percent`` (number of samples of the uncertain parameters among these runs;
        each sample has equally many replications). If some measures are estimates within a run, there is a column
        ``estimation_error``: the part of the mean's standard error that comes from the estimation, missing for the
        other measures. The table is empty if no run is successful.
    """
    parts = {}
    for measure, values in found.values.items():
        interval = mean_interval(values)
        levels = quantiles(values.reshape(*values.shape[:2], -1), QUANTILES.values())
        needed = required_runs(values, 0.01 * np.abs(interval["mean"]))
        named = zip((*QUANTILES, "runs_for_1_percent", "points_for_1_percent"), (*levels, *needed), strict=True)
        parts[measure] = interval | dict(named)
        if found.errors:
            errors = found.errors.get(measure, np.full_like(values, np.nan))
            parts[measure]["estimation_error"] = error_of_estimates(errors)
    return _interleaved(found.swept.merge(found.groups, how="cross"), parts)


def differences_table(found: Measured) -> pd.DataFrame:
    """Return the paired differences of each group to its reference group.

    The values of a pair come from the same run, with the same random draws.

    Returns
    -------
    DataFrame
        One row per point of the sweep, group other than the reference, and measure: the swept keys, the group,
        ``reference`` (the first policy, or the first adversary of the same release), ``measure``, ``runs`` (number of
        runs in which both have a value), ``mean`` (of the group's value minus the reference's), ``standard_error``,
        ``low``, ``high`` (95 % interval) and ``share_above`` (share of these runs in which the group's value exceeds
        the reference's). The table is empty if there is nothing to compare.
    """
    if found.groups.empty:
        return pd.DataFrame()
    *strata, compared = found.groups.columns
    number = pd.Series(np.arange(len(found.groups)))
    by = [found.groups[name] for name in strata] or [number * 0]
    first = number.groupby(by, observed=True).transform("min").to_numpy()
    others = np.flatnonzero(number != first)
    if not len(others):
        return pd.DataFrame()
    reference = first[others]
    groups = found.groups.iloc[others].assign(reference=found.groups[compared].to_numpy()[reference])
    parts = {}
    for measure, values in found.values.items():
        one, other = values[:, others], values[:, reference]
        # Both values come from the same run with the same random draws, so common variation cancels out.
        parts[measure] = interval = mean_interval(one - other)
        above = (one > other).sum(axis=(-2, -1)) / np.maximum(interval["runs"], 1)
        interval["share_above"] = np.where(interval["runs"] > 0, above, np.nan)
    return _interleaved(found.swept.merge(groups, how="cross"), parts)


def _interleaved(about: pd.DataFrame, parts: Mapping[str, dict[str, NDArray[Any]]]) -> pd.DataFrame:
    """Return the columns of all measures as one table.

    Rows of the same point and group are neighbours, one per measure. `about` has the columns that identify point and
    group; `parts` holds, by measure, further columns with one item per row of `about`. Columns are removed from `parts`
    as they are combined, to limit memory. Without measures, the result is empty.
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
