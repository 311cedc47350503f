"""The points of a batch, swept or drawn from distributions, and the scenario at each point."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.plain_data import override, value_at
from reidsim.core.randomness import random_stream
from reidsim.errors import InputError, locating
from reidsim.scenarios import design_schema as schema
from reidsim.scenarios.design_schema import SweepSection, SweepValues
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES, who_may_come

Floats = NDArray[np.float64]
# Sections that concern batches and results, not a single run.
_NOT_OF_A_RUN = ("replications", "sweep", "uncertainty", "stress", "figures")


@dataclass(frozen=True, eq=False)
class Design:
    """The points of a batch, and the number of replications at each point.

    Parameters
    ----------
    points : DataFrame
        One row per point, one column per key path. A point is a point of the sweep with one sample of the uncertain
        parameters. All samples of the first point of the sweep come first, then all samples of the second, and so on.
    replications : int
        Number of runs at each point.
    swept : tuple of str
        Keys of the sweep; the other keys are uncertain parameters.
    samples : int
        Number of samples of the uncertain parameters at each point of the sweep.
    """

    points: pd.DataFrame
    replications: int = 1
    swept: tuple[str, ...] = ()
    samples: int = 1

    @property
    def n_runs(self) -> int:
        """Number of runs: points times replications."""
        return len(self.points) * self.replications

    @property
    def facts(self) -> dict[str, Any]:
        """The size of the design, for the manifest."""
        sizes = {"points": len(self.points), "replications": self.replications, "samples": self.samples}
        return {**sizes, "swept": list(self.swept), "runs": self.n_runs}

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """Values of all points as plain data, by key."""
        return {str(key): [_plain(value) for value in self.points[key]] for key in self.points.columns}

    def values(self, point: int) -> dict[str, Any]:
        """Return the value of each key at a point, as plain data."""
        return {key: column[point] for key, column in self.columns.items()}

    def alike(self, free: Collection[str]) -> NDArray[np.int64]:
        """Return, for each point, the first point that differs at most in keys of `free`.

        The result has shape (n_points,) and holds numbers of points.
        """
        columns = [column for key, column in self.columns.items() if key not in free]
        first: dict[str, int] = {}
        texts = [json.dumps([column[point] for column in columns], default=str) for point in range(len(self.points))]
        return np.array([first.setdefault(text, point) for point, text in enumerate(texts)], dtype=np.int64)


def is_batch(scenario: ScenarioHead) -> bool:
    """Return whether a scenario is run as a batch.

    It is if it has a sweep, uncertain parameters, or several replications that a single run cannot draw itself. (In
    kinds with `Kind.numbers_draws`, one run can draw several replications from the same study.)
    """
    many = scenario.replications > 1 and not kind_of(scenario).numbers_draws
    return many or scenario.sweep is not None or scenario.uncertainty is not None


def has_several_runs(scenario: ScenarioHead) -> bool:
    """Return whether a scenario consists of several runs that are kept in a journal.

    A journal is used for batches and for several numbered replications; see `has_numbered_replications`.
    """
    return is_batch(scenario) or (has_numbered_replications(scenario) and scenario.replications > 1)


def has_numbered_replications(scenario: ScenarioHead) -> bool:
    """Return whether a replication is determined by the scenario's seed and a number.

    This holds for kinds with `Kind.numbers_draws`, without section ``agents``. Otherwise, each replication has its own
    seed.
    """
    return kind_of(scenario).numbers_draws and getattr(scenario, "agents", None) is None


def draw_of(scenario: ScenarioHead, replication: int) -> int:
    """Return the number of the study's draw in a replication of cross-play.

    The result is 0 if replications are not numbered.
    """
    return replication if has_numbered_replications(scenario) else 0


def design_of(loaded: Scenario[ScenarioHead]) -> Design:
    """Return the points of a sweep, crossed with the samples of uncertain parameters.

    Without either, there is one point, without keys.

    Raises
    ------
    InputError
        If the correlations of the uncertain parameters are not a positive definite matrix or need more samples, if a
        key of a one-at-a-time sweep has no value in the scenario, or if key ``adversary`` is an uncertain parameter
        whose values are names of adversaries.
    """
    scenario = loaded.scenario
    if who_may_come(scenario.uncertainty):
        problem, where = "a run cannot draw among named adversaries", f"uncertainty.parameters.{WHO_COMES}"
        found = ", ".join(who_may_come(scenario.uncertainty))
        expected = "reidsim stress or reidsim cross-play, which support named adversaries"
        raise InputError(problem, source=loaded.path, where=where, found=found, expected=expected)
    with locating(loaded.path):
        swept = pd.DataFrame(index=range(1))
        if scenario.sweep is not None:
            swept = sweep_points(scenario.sweep, own_values(loaded, scenario.sweep.one_at_a_time))
        drawn = None if scenario.uncertainty is None else draw_points(scenario.uncertainty, scenario.seed)
    points = swept if drawn is None else swept.merge(drawn, how="cross")
    samples = 1 if drawn is None else len(drawn)
    return Design(points, scenario.replications, tuple(map(str, swept.columns)), samples)


def sweep_points(sweep: SweepSection, own: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return the points of a sweep, one row per point, one column per key path.

    The last keys change fastest. In a one-at-a-time sweep, repeated points are left out.

    Parameters
    ----------
    sweep : SweepSection
    own : mapping of str to object, optional
        The scenario's values of the keys that are swept one at a time.
    """
    axes = []
    for axis in sweep.axes:
        rows = []
        for group in axis:
            # Keys of the other groups of an axis have the scenario's own values.
            keep = {key: own[key] for other in axis if other != group for key in other} if own else {}
            columns = (_values(sweep.values[key]) for key in group)
            rows += [{**keep, **dict(zip(group, values, strict=True))} for values in zip(*columns, strict=True)]
        axes.append(rows)
    points = [{key: value for part in parts for key, value in part.items()} for parts in itertools.product(*axes)]
    if sweep.one_at_a_time:
        # Every key of a one-at-a-time sweep may contribute the point of the scenario's own values; keep it once.
        by_text = {}
        for point in points:
            plain = [float(point[key]) if type(point[key]) is int else point[key] for key in sweep.values]
            by_text[json.dumps(plain, default=str)] = point
        points = [*by_text.values()]
    # Columns have the scenario's order of keys, even if some keys change together.
    return pd.DataFrame({key: _column([point[key] for point in points]) for key in sweep.values})


def own_values(loaded: Scenario[ScenarioHead], keys: Iterable[str]) -> dict[str, Any]:
    """Return a scenario's own values of some keys, by key path.

    Raises
    ------
    InputError
        If the scenario has no value of one of the keys.
    """
    found = {}
    for key in keys:
        try:
            found[key] = value_at(loaded.content, key)
        except KeyError:
            expected = "a value in the scenario, used while other keys change"
            problem, where = "the scenario sets no value for the key", "sweep.one_at_a_time"
            raise InputError(problem, where=where, found=key, expected=expected) from None
    return found


def at_point(
    loaded: Scenario[ScenarioHead], values: Mapping[str, Any], seed: int | None = None
) -> Scenario[ScenarioHead]:
    """Return the scenario of a single run, with the values of a point.

    Parameters
    ----------
    loaded : Scenario
    values : mapping of str to object
        Values of the point, by key path.
    seed : int, optional
        Seed of the run; default: the scenario's seed.

    Raises
    ------
    InputError
        If a key does not exist or its value is invalid; the message names the key.
    """
    # Copy only the sections that change.
    changed = {key.partition(".")[0] for key in values}
    content = {
        key: deepcopy(value) if key in changed else value
        for key, value in loaded.content.items()
        if key not in _NOT_OF_A_RUN
    }
    if seed is not None:
        content["seed"] = seed
    override(content, values)
    return loaded.with_content(content)


def content_of_run(loaded: Scenario[ScenarioHead]) -> dict[str, Any]:
    """Return the scenario of a single run as plain data, in a canonical order.

    The keys of a section have the order of the schema. Names chosen by the user, such as names of attributes, keep the
    order of the file, because this order can change outcomes.
    """
    return at_point(loaded, {}).scenario.model_dump(by_alias=True)


def scenarios_at(loaded: Scenario[ScenarioHead], design: Design) -> Iterator[Scenario[ScenarioHead]]:
    """Yield the scenario at every point.

    Raises
    ------
    InputError
        At the first invalid point; the message names the key and the values of the point.
    """
    for point in range(len(design.points)):
        values = design.values(point)
        try:
            found = at_point(loaded, values)
            found.refuse_code()
        except InputError as error:
            shown = ", ".join(f"{key} = {value!r}" for key, value in values.items())
            hint = "; ".join(part for part in (error.hint, f"the point is {shown}") if part)
            raise error.but(source=None, hint=hint).located(loaded.path, f"point {point}") from None
        yield found


def check_points(loaded: Scenario[ScenarioHead], design: Design) -> None:
    """Check that the scenario is valid at every point; see `scenarios_at`."""
    for _ in scenarios_at(loaded, design):
        pass


def makers_of(loaded: Scenario[ScenarioHead], design: Design) -> dict[str, dict[str, str]]:
    """Import the adversaries and policies from users' modules that any point names.

    Return the origin of each by name: module, package and version.

    Raises
    ------
    InputError
        If a module cannot be imported.
    """
    # Numeric values cannot name a module, so keys with only numeric values are skipped.
    others = [key for key, column in design.columns.items() if all(isinstance(value, int | float) for value in column)]
    made: dict[str, dict[str, str]] = {}
    for point in np.unique(design.alike(others)).tolist():
        made |= at_point(loaded, design.values(point)).makers()
    return made


def scenario_columns(design: Design) -> pd.DataFrame:
    """Return the points as columns of a table.

    Numbers, booleans and text are unchanged, other values are JSON.
    """
    return pd.DataFrame({key: _tabular(design.points[key]) for key in design.points.columns}, index=design.points.index)


def _values(values: SweepValues) -> list[Any]:
    if values.listed is not None:
        return list(values.listed)
    space: Any = np.geomspace if values.scale == "log" else np.linspace
    spaced = space(values.start, values.stop, values.points)
    # Keys of counts accept integers only, other numeric keys accept both, so prefer integers if all values are whole.
    whole = bool((spaced == np.rint(spaced)).all() and np.abs(spaced).max() < 2**53)
    return [int(value) for value in spaced] if whole else list(spaced.tolist())


def _column(values: list[Any]) -> pd.Series[Any]:
    kinds = {type(value) for value in values}
    if kinds <= {int, float} or kinds == {bool}:
        return pd.Series(values)
    return pd.Series(values, dtype=object)


def _tabular(column: pd.Series[Any]) -> pd.Series[Any]:
    plain = [_plain(value) for value in column]
    kinds = {type(value) for value in plain}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return pd.Series(plain, index=column.index)
    texts = [value if isinstance(value, str) else json.dumps(value, default=str) for value in plain]
    return pd.Series(texts, index=column.index)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def draw_points(section: schema.UncertaintySection, seed: int) -> pd.DataFrame:
    """Draw points of the uncertain parameters.

    Parameters
    ----------
    section : UncertaintySection
    seed : int
        Root seed; the points come from its stream ``uncertainty``.

    Returns
    -------
    DataFrame
        One row per point, one column per key path.

    Raises
    ------
    InputError
        If the correlations are not consistent.
    """
    keys = list(section.parameters)
    rng = random_stream(seed, "uncertainty")
    shares = spread(section.method, section.samples, len(keys), rng)
    if section.correlations:
        correlation = correlation_matrix(keys, section.correlations)
        correlated = np.flatnonzero((correlation != 0).sum(axis=0) > 1)
        shares[:, correlated] = correlate(shares[:, correlated], correlation[np.ix_(correlated, correlated)], rng)
    columns = {key: quantiles(section.parameters[key], shares[:, number]) for number, key in enumerate(keys)}
    return pd.DataFrame(columns)


def spread(method: str, n: int, n_parameters: int, rng: np.random.Generator) -> Floats:
    """Return `n` points strictly inside the unit cube, shape (n, n_parameters).

    The method is ``latin-hypercube``, ``sobol`` (scrambled sequence) or ``random`` (independent uniform points).
    """
    from scipy.stats import qmc

    if method == "sobol":
        shares = qmc.Sobol(n_parameters, scramble=True, seed=rng).random(n)
    elif method == "latin-hypercube":
        shares = qmc.LatinHypercube(n_parameters, seed=rng).random(n)
    else:
        shares = rng.random((n, n_parameters))
    # Some distributions have no finite quantile at levels 0 and 1.
    return np.clip(np.asarray(shares, dtype=np.float64), 2.0**-53, 1 - 2.0**-53)


def quantiles(distribution: schema.Distribution, shares: Floats) -> NDArray[Any]:
    """Return quantiles of a distribution.

    Parameters
    ----------
    distribution : Distribution
    shares : ndarray of float64
        Levels of the quantiles, strictly between 0 and 1.

    Returns
    -------
    ndarray
        float64; int64 (rounded) for distributions of integers; the listed values, as objects, for a discrete
        distribution.
    """
    if isinstance(distribution, schema.Discrete):
        weights = np.ones(len(distribution.values)) if distribution.weights is None else np.array(distribution.weights)
        bounds = np.cumsum(weights / weights.sum())
        at = np.minimum(np.searchsorted(bounds, shares, side="right"), np.flatnonzero(weights)[-1])
        chosen = [distribution.values[number] for number in at.tolist()]
        values = np.empty(len(chosen), dtype=object)
        values[:] = [round(value) for value in chosen] if distribution.whole else chosen
        return values
    low, high = (
        default if bound is None else float(bound)
        for bound, default in ((distribution.low, -np.inf), (distribution.high, np.inf))
    )
    found = np.clip(_continuous(distribution, low, high, shares), low, high)
    return np.rint(found).astype(np.int64) if distribution.whole else found


def _continuous(distribution: Any, low: float, high: float, shares: Floats) -> Floats:
    from scipy import stats

    match distribution:
        case schema.Uniform():
            return low + (high - low) * shares
        case schema.LogUniform():
            found = stats.loguniform.ppf(shares, low, high)
        case schema.Triangular(mode=mode):
            found = stats.triang.ppf(shares, (mode - low) / (high - low), low, high - low)
        case schema.Beta(a=a, b=b):
            found = stats.beta.ppf(shares, a, b, low, high - low)
        case schema.Normal(mean=mean, sd=sd):
            found = stats.truncnorm.ppf(shares, (low - mean) / sd, (high - mean) / sd, mean, sd)
        case _:
            with np.errstate(divide="ignore"):
                ends = (np.log([max(low, 0.0), high]) - np.log(distribution.median)) / distribution.sigma
            found = np.exp(stats.truncnorm.ppf(shares, *ends, np.log(distribution.median), distribution.sigma))
    return np.asarray(found, dtype=np.float64)


def correlation_matrix(keys: list[str], correlations: tuple[schema.CorrelationSection, ...]) -> Floats:
    """Return the matrix of Spearman correlations of all parameters.

    The result has shape (n_parameters, n_parameters).
    """
    matrix = np.eye(len(keys))
    for correlation in correlations:
        first, second = (keys.index(key) for key in correlation.keys)
        matrix[first, second] = matrix[second, first] = correlation.rank
    return matrix


def correlate(shares: Floats, correlation: Floats, rng: np.random.Generator) -> Floats:
    """Reorder each column to get rank correlations (Iman & Conover 1982).

    The correlations of the result approximate `correlation`; the approximation is better for more points. The set of
    values of each column is unchanged, so that a Latin hypercube stays one.

    Parameters
    ----------
    shares : ndarray of float64, shape (n, n_parameters)
    correlation : ndarray of float64, shape (n_parameters, n_parameters)
        Spearman correlations.
    rng : Generator

    Raises
    ------
    InputError
        If the correlations are not consistent, or there are too few points to reach them.
    """
    from scipy.special import ndtri

    n, n_parameters = shares.shape
    # Normal variables with rank correlation r have the (Pearson) correlation 2 sin(pi r / 6).
    of_scores = 2 * np.sin(np.pi * correlation / 6)
    if np.linalg.eigvalsh(of_scores).min() < 1e-9:
        where, expected = "uncertainty.correlations", "a positive definite matrix"
        raise InputError("correlations are inconsistent", where=where, expected=expected)
    if n <= 2 * n_parameters:
        problem, expected = "too few samples for correlated parameters", f"more than {2 * n_parameters} samples"
        raise InputError(problem, where="uncertainty.samples", found=n, expected=expected)
    scores = np.asarray(ndtri(np.arange(1, n + 1) / (n + 1)))
    shuffled = np.column_stack([rng.permutation(scores) for _ in range(n_parameters)])
    found = np.linalg.cholesky(np.corrcoef(shuffled, rowvar=False))
    target = shuffled @ np.linalg.inv(found).T @ np.linalg.cholesky(of_scores).T
    ranks = np.argsort(np.argsort(target, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(shares, axis=0), ranks, axis=0)
