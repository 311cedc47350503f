"""Points of a batch, and the runs at each point as tasks for a worker.

Points are swept or drawn from distributions. Tasks, outcomes and the callables that do runs can be pickled, so that
runs can be done in any process.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, locating
from reidsim.core.interrupts import caused
from reidsim.core.numerics import random_stream, replication_seed
from reidsim.core.validation import override, value_at
from reidsim.engine.results import LEVELS, OUTCOMES, distributions_of_result, quantile_rows, quantiles_of_people
from reidsim.engine.single_run import check_once, run_once
from reidsim.games.outcomes import Equilibrium, measures_table
from reidsim.scenarios import schema
from reidsim.scenarios.adversary_schema import economics_of
from reidsim.scenarios.agents import WHO_COMES, who_may_come
from reidsim.scenarios.kind import PolicyOutcome, equilibria_of, kind_of
from reidsim.scenarios.kind import data_key as data_key
from reidsim.scenarios.scenario import Scenario, Study

Floats = NDArray[np.float64]
# Sections that concern batches and results, not a single run.
_NOT_OF_A_RUN = ("replications", "sweep", "uncertainty", "stress", "figures")


@dataclass(frozen=True, eq=False)
class Design:
    """The points of a batch, and the number of replications at each point.

    Parameters
    ----------
    points : DataFrame
        One row per point, one column per key path. A point combines a point of the sweep and one sample of the
        uncertain parameters. All samples of the first point of the sweep come first, then all samples of the second,
        and so on.
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

    @cached_property
    def columns(self) -> dict[str, list[Any]]:
        """Values of all points as plain data, by key."""
        return {str(key): column.tolist() for key, column in self.points.items()}

    def values(self, point: int) -> dict[str, Any]:
        """Return the value of each key at a point, as plain data."""
        return {key: column[point] for key, column in self.columns.items()}

    def alike(self, free: Collection[str]) -> NDArray[np.int64]:
        """Return, for each point, the first point with equal values of the other keys.

        The other keys are all keys except `free`. The result has shape (n_points,) and holds numbers of points.
        """
        first: dict[str, int] = {}
        fixed = [[value for key, value in self.values(n).items() if key not in free] for n in range(len(self.points))]
        alike = (first.setdefault(json.dumps(values, default=str), n) for n, values in enumerate(fixed))
        return np.fromiter(alike, dtype=np.int64)


def is_batch(scenario: schema.ScenarioHead) -> bool:
    """Return whether a scenario is run as a batch.

    It is a batch if it has a sweep, uncertain parameters, or several replications that a single run cannot draw itself.
    (In kinds with `Kind.numbers_draws`, one run can draw several replications from the same study.)
    """
    many = scenario.replications > 1 and not kind_of(scenario).numbers_draws
    return many or scenario.sweep is not None or scenario.uncertainty is not None


def has_several_runs(scenario: schema.ScenarioHead) -> bool:
    """Return whether a scenario consists of several runs, which a journal keeps.

    A journal is used for batches and for several numbered replications; see `has_numbered_replications`.
    """
    return is_batch(scenario) or (has_numbered_replications(scenario) and scenario.replications > 1)


def has_numbered_replications(scenario: schema.ScenarioHead) -> bool:
    """Return whether a replication is determined by the scenario's seed and a number.

    This holds for kinds with `Kind.numbers_draws`, without section ``agents``. Otherwise, each replication has its own
    seed.
    """
    return kind_of(scenario).numbers_draws and getattr(scenario, "agents", None) is None


def draw_of(scenario: schema.ScenarioHead, replication: int) -> int:
    """Return the number of the study's draw in a replication, from 0.

    It is `replication` if replications are numbered (see `has_numbered_replications`); otherwise, it is 0.
    """
    return replication if has_numbered_replications(scenario) else 0


def design_of(loaded: Scenario[Any]) -> Design:
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
        swept = drawn = pd.DataFrame(index=range(1))
        if scenario.sweep is not None:
            own = {}
            for key in scenario.sweep.one_at_a_time:
                try:
                    own[key] = value_at(loaded.content, key)
                except KeyError:
                    expected = "a value in the scenario, used while other keys change"
                    problem, where = "the scenario sets no value for the key", "sweep.one_at_a_time"
                    raise InputError(problem, where=where, found=key, expected=expected) from None
            swept = sweep_points(scenario.sweep, own)
        if scenario.uncertainty is not None:
            drawn = draw_points(scenario.uncertainty, scenario.seed)
    return Design(swept.merge(drawn, how="cross"), scenario.replications, tuple(map(str, swept.columns)), len(drawn))


def sweep_points(sweep: schema.SweepSection, own: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return the points of a sweep, one row per point, one column per key path.

    The last keys change fastest. In a one-at-a-time sweep, repeated points are left out.

    Parameters
    ----------
    sweep : schema.SweepSection
    own : mapping of str to object, optional
        The scenario's values of the keys that are swept one at a time; a key keeps this value while another one varies.
    """
    axes = list[list[dict[str, Any]]]()
    for axis in sweep.axes:
        axes.append([])
        for group in axis:
            # Keys of the other groups of an axis have the scenario's own values.
            keep = {key: own[key] for other in axis if other != group for key in other} if own else {}
            columns = (_values(sweep.values[key]) for key in group)
            axes[-1] += [{**keep, **dict(zip(group, values, strict=True))} for values in zip(*columns, strict=True)]
    points = [dict(itertools.chain(*(part.items() for part in parts))) for parts in itertools.product(*axes)]
    if sweep.one_at_a_time:
        # Every key of a one-at-a-time sweep may contribute the point of the scenario's own values; keep it once.
        by_text = {}
        for point in points:
            plain = [float(point[key]) if type(point[key]) is int else point[key] for key in sweep.values]
            by_text[json.dumps(plain, default=str)] = point
        points = [*by_text.values()]
    # Columns have the scenario's order of keys, even if some keys change together.
    table = {}
    for key in sweep.values:
        values = [point[key] for point in points]
        types = set(map(type, values))
        table[key] = pd.Series(values, dtype=None if types <= {int, float} or types == {bool} else object)
    return pd.DataFrame(table)


def at_point(loaded: Scenario[Any], values: Mapping[str, Any], seed: int | None = None) -> Scenario[Any]:
    """Return the scenario of a single run, with the values of a point.

    Sections on replications, sweep, uncertainty, stress tests and figures are removed.

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
    content = {key: deepcopy(value) for key, value in loaded.content.items() if key not in _NOT_OF_A_RUN}
    override(content, values if seed is None else {"seed": seed, **values})
    return loaded.with_content(content)


def content_of_run(loaded: Scenario[Any]) -> dict[str, Any]:
    """Return the scenario of a single run as plain data, in a canonical order.

    The keys of a section have the order of the schema. Names chosen by the user, such as names of attributes, keep the
    order of the file, because this order can change outcomes.
    """
    return at_point(loaded, {}).scenario.model_dump(by_alias=True)  # type: ignore[no-any-return]


def scenarios_at(loaded: Scenario[Any], design: Design) -> Iterator[Scenario[Any]]:
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
            found.check_parts()
        except InputError as error:
            shown = ", ".join(f"{key} = {value!r}" for key, value in values.items())
            hint = "; ".join(part for part in (error.hint, f"the point is {shown}") if part)
            raise error.but(source=None, hint=hint).located(loaded.path, f"point {point}") from None
        yield found


def check_points(loaded: Scenario[Any], design: Design) -> dict[str, dict[str, str]]:
    """Check that the scenario is valid at every point; see `scenarios_at`.

    Return the origins of the user-defined parts that any point names, by name of the part; see `Scenario.makers`. An
    `InputError` is raised at the first invalid point.
    """
    return {name: origin for found in scenarios_at(loaded, design) for name, origin in found.makers().items()}


def scenario_columns(design: Design) -> pd.DataFrame:
    """Return the points as a table, one row per point and one column per key path.

    Columns of only numbers, only booleans or only text are unchanged. In other columns, text is unchanged and every
    other value becomes JSON text.
    """
    columns = {}
    for key, values in design.columns.items():
        kinds = set(map(type, values))
        is_plain = kinds <= {int, float} or kinds in ({bool}, {str})
        columns[key] = values if is_plain else [v if isinstance(v, str) else json.dumps(v, default=str) for v in values]
    return pd.DataFrame(columns, index=design.points.index)


def _values(values: schema.SweepValues) -> list[Any]:
    if values.listed is not None:
        return list(values.listed)
    space: Any = np.geomspace if values.scale == "log" else np.linspace
    spaced = space(values.start, values.stop, values.points)
    # Keys of counts accept integers only, other numeric keys accept both, so prefer integers if all values are whole.
    whole = bool((spaced == np.rint(spaced)).all() and np.abs(spaced).max() < 2**53)
    return [int(value) for value in spaced] if whole else list(spaced.tolist())


def draw_points(section: schema.UncertaintySection, seed: int) -> pd.DataFrame:
    """Draw points of the uncertain parameters.

    There are ``section.samples`` points, drawn by ``section.method`` (see `spread`), with the section's rank
    correlations if it has any.

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
        If the correlations are not consistent, or there are too few samples for them.
    """
    keys = list(section.parameters)
    rng = random_stream(seed, "uncertainty")
    shares = spread(section.method, section.samples, len(keys), rng)
    if section.correlations:
        correlation = np.eye(len(keys))
        for each in section.correlations:
            pair = [keys.index(key) for key in each.keys]
            correlation[pair, pair[::-1]] = each.rank
        correlated = np.flatnonzero((correlation != 0).sum(axis=0) > 1)
        shares[:, correlated] = correlate(shares[:, correlated], correlation[np.ix_(correlated, correlated)], rng)
    return pd.DataFrame({key: quantiles(section.parameters[key], shares[:, number]) for number, key in enumerate(keys)})


def spread(method: str, n: int, n_parameters: int, rng: np.random.Generator) -> Floats:
    """Return `n` points strictly inside the unit cube, shape (n, n_parameters).

    The method is ``latin-hypercube``, ``sobol`` (scrambled sequence) or ``random`` (independent uniform points).
    """
    from scipy.stats import qmc

    if method == "random":
        shares = rng.random((n, n_parameters))
    else:
        make = qmc.Sobol if method == "sobol" else qmc.LatinHypercube
        shares = make(n_parameters, scramble=True, seed=rng).random(n)
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
        One value per level: float64; int64 (rounded) for distributions of integers; for a discrete distribution, the
        listed values (rounded, if it is one of integers) as objects.
    """
    if isinstance(distribution, schema.Discrete):
        weights = np.ones(len(distribution.values)) if distribution.weights is None else np.array(distribution.weights)
        bounds = np.cumsum(weights / weights.sum())
        at = np.minimum(np.searchsorted(bounds, shares, side="right"), np.flatnonzero(weights)[-1])
        values = np.empty(len(at), dtype=object)
        values[:] = [distribution.values[number] for number in at.tolist()]
        return np.array([*map(round, values)], dtype=object) if distribution.whole else values
    from scipy import stats

    low = -np.inf if distribution.low is None else float(distribution.low)
    high = np.inf if distribution.high is None else float(distribution.high)
    match distribution:
        case schema.Uniform():
            found = low + (high - low) * shares
        case schema.LogUniform():
            found = stats.loguniform.ppf(shares, low, high)
        case schema.Triangular(mode=mode):
            found = stats.triang.ppf(shares, (mode - low) / (high - low), low, high - low)
        case schema.Beta(a=a, b=b):
            found = stats.beta.ppf(shares, a, b, low, high - low)
        case schema.Normal(mean=mean, sd=sd):
            found = stats.truncnorm.ppf(shares, (low - mean) / sd, (high - mean) / sd, mean, sd)
        case schema.LogNormal(median=median, sigma=sigma):
            with np.errstate(divide="ignore"):
                ends = (np.log([max(low, 0.0), high]) - np.log(median)) / sigma
            found = np.exp(stats.truncnorm.ppf(shares, *ends, np.log(median), sigma))
    found = np.clip(np.asarray(found, dtype=np.float64), low, high)
    return np.rint(found).astype(np.int64) if distribution.whole else found


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

    Returns
    -------
    ndarray of float64, shape (n, n_parameters)

    Raises
    ------
    InputError
        If the correlations are not consistent (their matrix is not positive definite), or there are not more than two
        points per parameter.
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
    scores = ndtri(np.arange(1, n + 1) / (n + 1))
    shuffled = np.column_stack([rng.permutation(scores) for _ in range(n_parameters)])
    found = np.linalg.cholesky(np.corrcoef(shuffled, rowvar=False))
    target = shuffled @ np.linalg.inv(found).T @ np.linalg.cholesky(of_scores).T
    ranks = np.argsort(np.argsort(target, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(shares, axis=0), ranks, axis=0)


# Columns of tables, by name of the table, as plain data for one line of the journal.
Tables = dict[str, dict[str, list[Any]]]

COMPLETE = "complete"
FAILED = "failed"
TIMEOUT = "timeout"
KILLED = "killed"
NOT_COMPLETE = (FAILED, TIMEOUT, KILLED)

# Folders of the package whose code does not affect results.
_FACES = ("commands", "figures", "reports", "web")


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run: its place in the design, its seed, and the values of its scenario.

    Parameters
    ----------
    key : str
        Hash of everything that determines the outcome; see `tasks_of`. Runs with equal keys, also in different batches,
        have equal outcomes.
    point, replication : int
        Numbers of the point and of the replication, from 0.
    seed : int
        Root seed of the run's random draws.
    values : dict
        Values of the point, by key path.
    """

    key: str
    point: int
    replication: int
    seed: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run.

    Parameters
    ----------
    task : RunTask
    state : str
        ``complete``, ``failed`` (the run raised an error), ``timeout`` (it took too long) or ``killed`` (its process
        died, more than once).
    tables : dict
        Columns of the run's tables, by name of the table, without identifiers of the run; empty unless complete.
    error : str
        Error message, in one line; empty if complete.
    warnings : tuple of str
    seconds : float
        Duration of the run.
    """

    task: RunTask
    state: str
    tables: Tables = field(default_factory=dict)
    error: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


# A callable that runs a task and returns its tables and warnings.
Work = Callable[[RunTask], tuple[Tables, tuple[str, ...]]]


def attempt(work: Work, task: RunTask) -> RunOutcome:
    """Run a task with `work` and return its outcome.

    An error gives an outcome with state ``failed``, unless an interrupt caused it; then KeyboardInterrupt is raised.
    """
    begun = time.perf_counter()
    try:
        tables, warnings = work(task)
    except Exception as error:  # other runs of the batch continue
        if caused(error):
            raise KeyboardInterrupt from error
        return RunOutcome(task, FAILED, error=error_line(error), seconds=time.perf_counter() - begun)
    return RunOutcome(task, COMPLETE, tables, warnings=warnings, seconds=time.perf_counter() - begun)


def error_line(error: BaseException) -> str:
    """Return the type and message of an error as one line, such as ``ValueError: x``."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def tasks_of(loaded: Scenario[Any], design: Design, content: Mapping[str, Any]) -> list[RunTask]:
    """Return the tasks of a batch, sorted so that neighbours can share a study.

    Tasks are sorted by replication, then by the values of keys other than payoff parameters, then by point. The key of
    a task is a hash of its point, replication and seed, of `content` and of the program.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    content : mapping
        Scenario of a single run without the values of a point, as plain data; see `content_of_run`. The order of its
        keys affects the hash, because the order of attributes can change outcomes. The order of key paths in a point's
        values has no effect; the order within a value has.
    """
    seed, replications = loaded.scenario.seed, range(design.replications)
    numbered = has_numbered_replications(loaded.scenario)
    seeds = [seed if numbered else replication_seed(seed, number) for number in replications]
    values = [design.values(point) for point in range(len(design.points))]
    alike = design.alike(kind_of(loaded.scenario).amount_keys).tolist()
    of_all = hashlib.sha256(f"[{json.dumps(content, default=str)}, ".encode())

    def task(number: int, point: int) -> RunTask:
        parts, of_run = [dict(sorted(values[point].items())), number, seeds[number], code_version()], of_all.copy()
        of_run.update(json.dumps(parts, default=str)[1:].encode())
        return RunTask(of_run.hexdigest()[:16], point, number, seeds[number], values[point])

    runs = itertools.product(replications, range(len(values)))
    return [task(*run) for run in sorted(runs, key=lambda run: (run[0], alike[run[1]], run[1]))]


@cache
def code_version() -> str:
    """Return the versions of the program and numpy, and a hash of source files.

    The hash covers all files that affect results.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if len(place.parts) > 1 and place.parts[0] not in _FACES:
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return f"reidsim {version('reidsim')} {digest.hexdigest()[:12]}, numpy {version('numpy')}"


# Columns that identify the rows of a run (each game has some of them); other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample", "defender", "plans_against", "adversary")
# Columns of a table of runs that identify the run or its state.
_IDENTITY = ("scenario", "point", "replication", "state", "seed", "error", "run")


# Number of cached studies per thread. Tasks are ordered so that neighbours share a study; more studies take memory.
_KEPT_STUDIES = 2


class Studies(threading.local):
    """A cache, for each thread, of the last two studies it used, by data key.

    The data key is the text of `data_key`. Each thread has its own studies; a pickled cache is empty.
    """

    def __init__(self) -> None:
        self.kept: dict[str, Study[Any]] = {}
        self.planner: Any = None

    def __reduce__(self) -> tuple[type[Studies], tuple[()]]:
        """Pickle as an empty cache, because studies are large."""
        return Studies, ()

    def get(self, loaded: Scenario[Any]) -> Study[Any]:
        """Return the study of a scenario, from the cache if its data are the same.

        A cached study gets the values of `loaded`. Otherwise, the study is built, and replaces the one that has not
        been used for longest if the cache is full.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        """
        key = data_key(loaded)
        study = self.kept.pop(key, None)
        if study is None:
            kind, last = kind_of(loaded.scenario), next(reversed(self.kept.values()), None)
            same = last is not None and kind_of(last.scenario) is kind
            study = kind.build_after(loaded, last) if same else kind.build(loaded)
        self.kept[key] = study
        if len(self.kept) > _KEPT_STUDIES:
            del self.kept[next(iter(self.kept))]
        return study.with_loaded(loaded)

    def planner_of(self, study: Study[Any]) -> Any:
        """Return the planner of a study for any payoff parameters; see `Kind.amount_points`.

        The last planner is returned again for a study with the same data. In between, only payoff parameters may
        change.
        """
        key = data_key(study.loaded)
        if self.planner is None or data_key(self.planner.study.loaded) != key:
            self.planner = kind_of(study.scenario).amount_points(study)
        return self.planner


@dataclass(frozen=True)
class ScenarioWork:
    """A callable that does runs of one scenario.

    Parameters
    ----------
    loaded : Scenario
        The scenario without the values of a point.
    studies : Studies
        Cache of studies between runs.

    Attributes
    ----------
    table : str
        Name of the table of runs in results folders.
    """

    loaded: Scenario[Any]
    studies: Studies = field(default_factory=Studies, repr=False, compare=False)
    table: ClassVar[str] = "runs"

    @property
    def options(self) -> dict[str, Any]:
        """Options beside the scenario, as plain data by command.

        They are part of the manifest and of the key of every run. By default, there are none.
        """
        return {}

    def study_at(self, task: RunTask) -> Study[Any]:
        """Return the study at the point of a task, with the seed of the task."""
        return self.studies.get(at_point(self.loaded, task.values, task.seed))

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings.

        Tables are lists of values by table and column: ``runs`` (one row per policy), ``distributions`` and, depending
        on the kind of scenario, ``runtimes`` or the tables of rounds.
        """
        kind = kind_of(self.loaded.scenario)
        if not kind.decides or self.loaded.scenario.in_rounds:
            return _run_any(at_point(self.loaded, task.values, task.seed))
        with locating(self.loaded.path):
            study = self.study_at(task)
            draw = task.replication if kind.numbers_draws else 0
            planned = kind.amounts_at_once(study.scenario, list(task.values))
            outcomes = self._planned(study) if planned else kind.play(study, draw, timed=True)
            tables = run_tables(study, draw, equilibria_of(outcomes))
            measured = {policy: each for policy, each in outcomes.items() if each.seconds is not None}
            if measured:
                tables["runtimes"] = columns_of_table(kind.runtimes(measured))
            return tables, tuple(kind.warnings(study, draw, outcomes))

    def _planned(self, study: Study[Any]) -> Mapping[str, PolicyOutcome]:
        planner, (truth, believed) = self.studies.planner_of(study), economics_of(study.scenario)
        policies = kind_of(study.scenario).policies_of(study.scenario)
        return {name: PolicyOutcome(planner.plan(name, believed).equilibrium(truth)) for name in policies}

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files of a task's run can be used; return a hash of the data.

        The result is None for scenarios without a decision maker.

        Raises
        ------
        InputError
            If a file cannot be used.
        """
        if not kind_of(self.loaded.scenario).decides:
            check_once(at_point(self.loaded, task.values, task.seed))
            return None
        return self.study_at(task).fingerprint


# Names of the tables by round of scenarios with agents.
ROUND_TABLES = ("rounds", "adversaries", "through")


def _run_any(loaded: Scenario[Any]) -> tuple[Tables, tuple[str, ...]]:
    result = run_once(loaded)
    runs, analysis = result.runs, result.analysis.tables()
    if "knowledge" in runs:
        # An assessment has several releases per run, identified by size and sample number.
        runs = runs.rename(columns={"replication": "sample"})
    tables = {"runs": runs, "distributions": distributions_of_result(result)}
    tables |= {name: analysis[name] for name in ROUND_TABLES if name in analysis}
    plain = {name: table.drop(columns=[*_IDENTITY], errors="ignore") for name, table in tables.items() if len(table)}
    return {name: columns_of_table(table) for name, table in plain.items()}, result.warnings


def run_tables(study: Study[Any], draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Any]:
    """Return the measures of policies, and quantiles of outcomes over records.

    The result holds plain columns (`columns_of_table`) of the tables ``runs`` (one row per policy) and
    ``distributions`` (one row per policy and outcome; see `quantile_rows`). `equilibria` are the outcomes of policies
    in the study's draw with number `draw`.
    """
    kind = kind_of(study.scenario)
    found, rows = kind.reidentified(study, draw, equilibria), kind.row_of_subject(study, draw)
    runs: dict[str, list[Any]] = {"policy": [*equilibria]}
    for table in (
        kind.summarise(study, draw, equilibria),
        measures_table(found),
        kind.further_measures(study, equilibria),
    ):
        runs |= columns_of_table(table if [*table.index] == runs["policy"] else table.reindex(runs["policy"]))
    by_record = [
        row
        for policy, each in equilibria.items()
        for row in quantile_rows({"policy": policy}, {name: getattr(each, name)[rows] for name in OUTCOMES})
    ]
    distributions = [*by_record, *quantiles_of_people(found)]
    columns = {name: [row[name] for row in distributions] for name in ("policy", "measure", *LEVELS)}
    return {"runs": runs, "distributions": columns}


def columns_of_table(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a table as lists, by name.

    Missing values become None, except that missing numbers stay NaN.
    """
    numbers = set(table.select_dtypes(["number", "bool"]).columns)
    return {
        str(name): column.tolist() if name in numbers else column.astype(object).where(column.notna(), None).tolist()
        for name, column in table.items()
    }
