"""Run cross-play: every defender against every adversary of a scenario; equilibria of the payoffs.

In the matrix game, the defender chooses a row of the payoff table, the adversary a column, and both may randomize
(mix). Payoffs are means over all random draws, because neither player knows the draw. Each point of a sweep is a
separate game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.batch.design import (
    COMPLETE,
    Design,
    RunTask,
    ScenarioWork,
    Tables,
    columns_of_table,
    draw_of,
    scenario_columns,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.runner import Ended, run_job
from reidsim.engine.batch.statistics import LEVEL, Measured, mean_interval, measured, statistics_table
from reidsim.engine.results import Result, begun, make_manifest, measures_in_manifest
from reidsim.errors import InputError, locating, refuse_first, require_among
from reidsim.games.cross_play import cross_play, matrix_of
from reidsim.games.defenders.defender import Defender
from reidsim.games.double_oracle import Sum, double_oracle
from reidsim.games.matrix_games import Floats, Mixtures, equilibrium, exploitability, pure_exploitability, zero_sum
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, REGRET
from reidsim.scenarios.agents import (
    WHO_COMES,
    OpponentOptions,
    Opponents,
    are_equipped,
    left_out_of_rounds,
    who_may_come,
    without_adversary_uncertainty,
)
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.wording import counted


@dataclass(frozen=True)
class CrossPlayOptions(OpponentOptions):
    """Options of cross-play.

    Parameters
    ----------
    knowledge, stages, attack_rate
        See `OpponentOptions`.
    equilibrium : bool
        Whether to compute optimal mixtures and equilibria of the payoffs.
    double_oracle : {"zero-sum", "general-sum"}, optional
        Game in which to run the double oracle; default: do not run it. It adds best replies to mixtures until the gains
        of both players from further best replies sum to at most the tolerance. In the zero-sum game, the adversary
        minimizes the defender's payoff; in the general-sum game, it maximizes its own payoff.
    tolerance : float
        Tolerance of the double oracle, in currency units per record, above 0.

    Raises
    ------
    InputError
        If an option is invalid.
    """

    equilibrium: bool = False
    double_oracle: Sum | None = None
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if self.double_oracle is not None:
            require_among("unknown kind of game", (self.double_oracle,), get_args(Sum), where="double_oracle")
        rate, tolerance = self.attack_rate, self.tolerance
        refuse_first(
            (not 0 <= rate <= 1, "value out of range", "attack_rate", rate, "a number from 0 to 1"),
            (not 0 < tolerance < float("inf"), "tolerance out of range", "tolerance", tolerance, "an amount above 0"),
        )
        # A relative path in a call refers to the working folder, not to the scenario's; workers may have another one.
        if self.knowledge is not None and Path(self.knowledge).suffix == ".toml":
            object.__setattr__(self, "knowledge", str(Path(self.knowledge).absolute()))
        if self.stages is not None:
            object.__setattr__(self, "stages", str(Path(self.stages).absolute()))

    @property
    def facts(self) -> dict[str, Any]:
        """The options as plain data, for the manifest."""
        told: dict[str, Any] = {"knowledge": self.knowledge, "stages": self.stages, "attack_rate": self.attack_rate}
        if self.equilibrium:
            told["equilibrium"] = True
        if self.double_oracle is not None:
            told |= {"double_oracle": self.double_oracle, "tolerance": self.tolerance}
        return told


@dataclass(frozen=True, eq=False)
class CrossPlayResult(Result):
    """Outcomes of every defender against every adversary of a scenario.

    Parameters
    ----------
    name : str
        Scenario.
    table : DataFrame
        One row per defender, adversary planned against and adversary met (see `reidsim.games.cross_play.CrossPlay`),
        and per run, if there are several runs. A failed run has one row without measures.
    manifest : dict
        Scenario, versions and options that produced the result.
    warnings : tuple of str
        Reasons why adversaries or defenders cannot play.
    design : Design, optional
        Points and replications; None for a single run.
    replies : dict of str to DataFrame
        Tables ``double_oracle`` and ``double_oracle_mixtures``, if best replies were requested; see `DoubleOracle`.
    equilibria : dict of str to DataFrame
        Tables ``equilibria``, ``mixtures`` and ``exploitability``, if requested; see `equilibrium_tables`.
    """

    name: str
    table: pd.DataFrame
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    design: Design | None = field(default=None)
    replies: dict[str, pd.DataFrame] = field(default_factory=dict)
    equilibria: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of `table` from successful runs; may be empty."""
        return self.table[self.table["state"] == COMPLETE] if "state" in self.table else self.table

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures in `table`, by column.

        Labels and definitions are from the scenario's kind.
        """
        return measures_among((*measures_in_manifest(self.manifest), REGRET), self.table.columns)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Means with intervals, and quantiles over runs; see `statistics_table`.

        One row per point of the sweep, defender, adversary planned against, adversary met and measure. The table is
        empty for a single run, or if every run failed.
        """
        if self.design is None or self.runs.empty:
            return pd.DataFrame()
        return statistics_table(measured(self.table, self.design))

    @cached_property
    def worst_cases(self) -> pd.DataFrame:
        """Least payoff and largest regret of each defender; see `worst_cases_table`.

        The table is empty if every run failed.
        """
        return pd.DataFrame() if self.runs.empty else worst_cases_table(*self.arranged)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return the mean of a measure over successful runs, as a matrix.

        It has one row per defender and adversary planned against, and one column per adversary met; see `matrix_of`.
        """
        return matrix_of(self.runs, measure)

    def __repr__(self) -> str:
        runs = "" if self.design is None else f", {counted(self.design.n_runs, 'run')}"
        players = "every run failed"
        if len(self.runs):
            adversaries = counted(self.runs["adversary"].nunique(), "adversary", "adversaries")
            players = f"{counted(self.runs['defender'].nunique(), 'defender')}, {adversaries}"
        return f"CrossPlayResult({self.name!r}: {players}{runs})"

    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the results folder, by name, without empty ones.

        They are ``cross_play``, ``statistics``, ``worst_cases``, and the tables of `equilibria` and `replies`.
        """
        tables = {"cross_play": self.table, "statistics": self.statistics, "worst_cases": self.worst_cases}
        tables |= {**self.equilibria, **self.replies}
        return {name: table for name, table in tables.items() if len(table)}

    @property
    def arranged(self) -> tuple[pd.DataFrame, Design]:
        """The table with columns for point, replication and state, and the design.

        A single run is point 0, replication 0.
        """
        if self.design is not None:
            return self.table, self.design
        return self.table.assign(point=0, replication=0, state=COMPLETE), Design(pd.DataFrame(index=range(1)))


class Players:
    """The players of one run of cross-play.

    Parameters
    ----------
    study : Study
    options : CrossPlayOptions
    draw : int
        Number of the study's draw.

    Attributes
    ----------
    study : Study
        The study whose rows all players use.
    opponents : Opponents
        The adversaries.
    defenders : list of Defender

    Raises
    ------
    InputError
        If the scenario has no policies, or if the scenario's own adversary, or an adversary whose recipe is in the
        options, cannot play. Other adversaries that cannot play are listed in `Opponents.left_out`.
    """

    def __init__(self, study: Any, options: CrossPlayOptions, draw: int = 0) -> None:
        kind = kind_of(study.scenario)
        kind.policies_of(study.scenario)
        self.draw = draw
        self.study, others = kind.opponents(study, options, draw)
        self.opponents: Opponents = kind.opponent_types(self.study, draw).beside(others)
        names = kind.cross_play_policies(self.study)
        self.defenders: list[Defender] = [kind.policy(name).defender(self.study, draw) for name in names]

    def play(self, options: CrossPlayOptions, report: Progress) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
        """Play every defender against every adversary; add best replies, if requested.

        Returns
        -------
        tables : dict of str to DataFrame
            ``runs``, and the tables of `DoubleOracle`.
        left_out : tuple of str
            Warnings about players that cannot play, and about settings that are ignored.

        Raises
        ------
        InputError
            If best replies are requested, but no policy plans, or no policy can plan against several adversaries.
        """
        scenario, opponents = self.study.scenario, self.opponents
        players, own, weights = opponents.opponents, opponents.own, self.study.world(self.draw).weights
        progress = partial(report, "playing")
        play = cross_play(players, self.defenders, own=own, ideas=opponents.ideas, weights=weights, progress=progress)
        # Settings of rounds have no effect in a single game, except on equipped adversaries.
        rounds = () if are_equipped(scenario) else left_out_of_rounds(scenario)
        tables, left_out = {"runs": play.table}, (*rounds, *opponents.left_out, *play.left_out)
        if options.double_oracle is None:
            return tables, left_out
        oracle = next((defender for defender in self.defenders if defender.plans), None)
        if oracle is None:
            problem, expected = "no policy plans against the adversary", "a policy that responds to the adversary"
            raise InputError(problem, where="double_oracle", expected=expected)
        replies = double_oracle(
            play,
            players,
            oracle,
            own=own,
            game=options.double_oracle,
            tolerance=options.tolerance,
            weights=weights,
            progress=partial(report, "adding best replies"),
        )
        tables |= {"double_oracle": replies.iterations, "double_oracle_mixtures": replies.mixtures}
        return tables, (*left_out, *replies.left_out)


@dataclass(frozen=True, kw_only=True)
class CrossPlayWork(ScenarioWork):
    """A callable that does one run of cross-play.

    Parameters
    ----------
    play : CrossPlayOptions
    """

    play: CrossPlayOptions
    table: ClassVar[str] = "cross_play"

    @property
    def options(self) -> dict[str, Any]:
        """The options of cross-play; see `ScenarioWork.options`."""
        return {"cross_play": self.play.facts}

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        with locating(self.loaded.path):
            tables, left_out = self._players(task).play(self.play, lambda task, done, total: None)
        return {name: columns_of_table(found) for name, found in tables.items()}, left_out

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that the players of a task can play; return the hash of its data.

        Raises
        ------
        InputError
            If a file of the scenario, or a player that must play, cannot be used.
        """
        with locating(self.loaded.path):
            self._players(task)
            return self.study_at(task).fingerprint

    def _players(self, task: RunTask) -> Players:
        study = self.study_at(task)
        return Players(study, self.play, draw_of(study.scenario, task.replication))


def has_several_plays(scenario: ScenarioHead) -> bool:
    """Return whether cross-play of a scenario is a batch.

    It is a batch if the scenario has several replications, a sweep, or uncertain parameters other than the choice among
    named adversaries: in cross-play, all of these play.
    """
    named = {WHO_COMES} if who_may_come(scenario.uncertainty) else set()
    drawn = scenario.uncertainty is not None and set(scenario.uncertainty.parameters) > named
    return scenario.replications > 1 or scenario.sweep is not None or drawn


def cross_play_loaded(
    loaded: Scenario[ScenarioHead],
    options: CrossPlayOptions | None = None,
    executor: Executor | None = None,
    **keeping: Any,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario."""
    options, loaded = options or CrossPlayOptions(), without_adversary_uncertainty(loaded)
    if not has_several_plays(loaded.scenario):
        return _once(loaded, options, keeping.get("progress"))
    return run_job(CrossPlayWork(loaded, play=options), partial(_result, options), executor, **keeping)


def _once(loaded: Scenario[ScenarioHead], options: CrossPlayOptions, progress: Progress | None) -> CrossPlayResult:
    """Play once, at the scenario's own values; an error in a game is raised."""
    kind, clock, report = begun(loaded, progress)
    with locating(loaded.path):
        # Called before data are read, so that a scenario without policies fails at once.
        kind.policies_of(loaded.scenario)
        players = Players(kind.build(loaded), options)
        clock.lap("build")
        tables, warnings = players.play(options, report)
    clock.lap("play")
    facts = {"cross_play": options.facts, "own_adversary": players.opponents.own, **kind.facts(players.study)}
    manifest = make_manifest(loaded, clock.laps, facts)
    result = CrossPlayResult(loaded.name, tables.pop("runs"), manifest, warnings, replies=tables)
    return _with_equilibria(result, options)


def _result(options: CrossPlayOptions, ended: Ended) -> CrossPlayResult:
    """Return the result of a finished batch of cross-play.

    The equilibria that `options` request are computed from the tables of the batch.
    """
    tables = ended.tables
    runs = tables["cross_play" if ended.stored else "runs"]
    replies = {name: table for name, table in tables.items() if name.startswith("double_oracle")}
    found = CrossPlayResult(ended.loaded.name, runs, ended.manifest, ended.warnings, ended.design, replies)
    result = _with_equilibria(found, options)
    # The stored warnings already include the warnings about equilibria.
    return replace(result, warnings=ended.warnings) if ended.stored else result


def _with_equilibria(result: CrossPlayResult, options: CrossPlayOptions) -> CrossPlayResult:
    """Return the result with equilibria, if they are requested and a run succeeded.

    Warnings name defenders that were left out and concepts without a solution; see `equilibrium_tables`.
    """
    if not options.equilibrium or result.runs.empty:
        return result
    runs, design = result.arranged
    tables, left_out = equilibrium_tables(runs[runs["state"] == COMPLETE], design)
    return replace(result, equilibria=tables, warnings=(*result.warnings, *left_out))


# Solution concepts: the mixture with the highest guaranteed payoff, the mixture with the lowest largest regret, and the
# Nash equilibria that are best and worst for the defender.
MAXIMIN, MINIMAX_REGRET, BEST, WORST = "maximin", "minimax-regret", "nash-best", "nash-worst"
CONCEPTS = (MAXIMIN, MINIMAX_REGRET, BEST, WORST)
_EQUILIBRIA = ("concept", "publisher_payoff", "adversary_payoff", "value", "exploitability")
_MIXTURES = ("concept", "player", "strategy", "plans_against", "probability")


def equilibrium_tables(runs: pd.DataFrame, design: Design) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Return the equilibria of cross-play, and warnings.

    Parameters
    ----------
    runs : DataFrame
        One row per successful run, defender, adversary planned against and adversary met, with its ``point``.
    design : Design

    Returns
    -------
    tables : dict of str to DataFrame
        Payoffs and regrets are in currency units per record. ``equilibria`` has one row per point of the sweep and
        solution concept (`CONCEPTS`): the swept keys, ``concept``, ``publisher_payoff`` and ``adversary_payoff`` of the
        mixtures, ``value`` (``maximin``: the payoff that the defender's mixture guarantees; ``minimax-regret``: its
        largest expected regret; Nash equilibria: the defender's payoff) and ``exploitability`` (sum of the gains of
        both players from a best reply; for the first two concepts, in the zero-sum game of payoff or regret).
        ``mixtures`` has one row per strategy with positive probability: the swept keys, ``concept``, ``player``
        (``defender`` or ``adversary``), ``strategy`` (name of the defender or adversary), ``plans_against`` (empty for
        adversaries and for defenders that do not plan) and ``probability``. ``exploitability`` has one row per defender
        and adversary planned against: the swept keys, ``defender``, ``plans_against``, ``least_payoff``,
        ``exploitability`` (the value of ``maximin`` minus ``least_payoff``), ``best_reply`` (the adversary with the
        highest own payoff against this defender; the first of ties), ``payoff_then`` (the defender's payoff against
        this adversary) and ``gain_then`` (the defender's gain from its own best reply to this adversary).
    left_out : tuple of str
        Warnings about omitted defenders (without a payoff against some adversary) and about concepts for which no
        solution was found.
    """
    swept = scenario_columns(design).loc[:: design.samples, list(design.swept)].reset_index(drop=True)
    parts: dict[str, list[pd.DataFrame]] = {"equilibria": [], "mixtures": [], "exploitability": []}
    left_out: list[str] = []
    for place in range(len(swept)):
        own = runs[runs["point"] // design.samples == place]
        if own.empty:
            continue
        tables, gone = _of_point(own)
        left_out += gone
        for name, table in tables.items():
            about = swept.loc[[place] * len(table)].reset_index(drop=True)
            parts[name].append(pd.concat([about, table], axis=1))
    found = {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items() if tables}
    return found, tuple(dict.fromkeys(left_out))


def _of_point(runs: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the tables of one point of the sweep, and warnings.

    Warnings are about omitted defenders and concepts.
    """
    means = runs.groupby([*ROWS, "adversary"], sort=False, observed=True)
    wide = {
        measure: means[measure].mean().unstack("adversary", sort=False)
        for measure in (PUBLISHER_PAYOFF.column, ADVERSARY_PAYOFF.column, REGRET.column)
    }
    first = wide[PUBLISHER_PAYOFF.column]
    known = np.isfinite(first.to_numpy()).all(axis=1)
    reason = "left out of equilibria, because payoffs against some adversaries are missing"
    gone = [f"{reason}: {name}" for name, _ in first.index[~known]]
    if not known.any():
        return {}, gone
    rows, adversaries = first.index[known], first.columns.tolist()
    payoff, adversary_payoff, regret = (table.to_numpy()[known] for table in wide.values())
    value = zero_sum(payoff)
    found: dict[str, Mixtures] = {MAXIMIN: value, MINIMAX_REGRET: zero_sum(-regret)}
    for concept, which in ((BEST, "best"), (WORST, "worst")):
        try:
            found[concept] = equilibrium(payoff, adversary_payoff, for_rows=which)  # type: ignore[arg-type]
        except InputError as error:
            gone.append(f"{concept}: {error}")
    against = {MAXIMIN: (payoff, -payoff), MINIMAX_REGRET: (-regret, regret)}
    equilibria, mixtures = [], []
    for concept, mixed in found.items():
        games = against.get(concept, (payoff, adversary_payoff))
        payoffs = (float(mixed.rows @ each @ mixed.columns) for each in (payoff, adversary_payoff))
        worth = -mixed.row_payoff if concept == MINIMAX_REGRET else mixed.row_payoff
        equilibria.append((concept, *payoffs, worth, exploitability(*games, mixed)))
        players = [("defender", *each) for each in rows] + [("adversary", name, "") for name in adversaries]
        probabilities = zip(players, (*mixed.rows.tolist(), *mixed.columns.tolist()), strict=True)
        mixtures += [(concept, *who, probability) for who, probability in probabilities if probability > 0]
    reply = adversary_payoff.argmax(axis=1)
    then = payoff[np.arange(len(payoff)), reply]
    pure = {
        "defender": rows.get_level_values(0),
        "plans_against": rows.get_level_values(1),
        "least_payoff": payoff.min(axis=1),
        "exploitability": pure_exploitability(payoff, value.row_payoff),
        "best_reply": [adversaries[number] for number in reply.tolist()],
        "payoff_then": then,
        "gain_then": payoff.max(axis=0)[reply] - then,
    }
    return {
        "equilibria": pd.DataFrame(equilibria, columns=list(_EQUILIBRIA)),
        "mixtures": pd.DataFrame(mixtures, columns=list(_MIXTURES)),
        "exploitability": pd.DataFrame(pure),
    }, gone


# Payoffs and regrets that differ by less than this fraction of the largest absolute value count as equal.
_EQUAL = 1e-9
Told = NDArray[np.bool_]
ROWS = ["defender", "plans_against"]


def worst_cases_table(runs: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Return the least payoff and largest regret of each defender over all cases.

    A case is an adversary met at a point of the sweep. Its payoff and regret are means over all draws.

    Parameters
    ----------
    runs : DataFrame
        One row per run, defender, adversary planned against and adversary met; failed runs are ignored.
    design : Design

    Returns
    -------
    DataFrame
        One row per defender and adversary planned against: ``defender``, ``plans_against``; ``least_payoff`` (currency
        units per record), its 95 % interval ``least_payoff_low`` and ``least_payoff_high``, and the case in which it
        occurs, ``least_payoff_at``; the same columns for ``largest_regret``; ``worst_regret``, the largest regret in a
        single run; ``maximin``, whether no other row has a higher least payoff, and ``minimax_regret``, whether no
        other row has a lower largest regret (several rows if they are equal). If a defender has no payoff in some run
        in which another one has, its values are missing and the last two columns are False. Cases without any payoff
        are ignored. The table is empty if no run succeeded.

    Notes
    -----
    The intervals are simultaneous over all cases: each case has an interval of level 1 - 0.05 / number of cases
    (Bonferroni), and the least payoff lies between the smallest lower bound and the smallest upper bound.
    """
    found = measured(runs, design)
    if not found.values:
        return pd.DataFrame()
    rows, cells = found.groups[ROWS].drop_duplicates(), _cells(found)
    least = _extreme(_by_cell(found, PUBLISHER_PAYOFF.column), cells, "least_payoff", sign=-1.0)
    by_cell = _by_cell(found, REGRET.column)
    most = _extreme(by_cell, cells, "largest_regret", sign=1.0)
    worst = np.where(most["largest_regret"].isna(), np.nan, np.nanmax(by_cell, axis=(1, 2, 3)))
    table = pd.concat([rows.reset_index(drop=True), least, most], axis=1)
    return table.assign(
        worst_regret=worst,
        maximin=_best(-table["least_payoff"].to_numpy()),
        minimax_regret=_best(table["largest_regret"].to_numpy()),
    )


def _cells(found: Measured) -> list[str]:
    """Return the names of the cases.

    Each name consists of an adversary and the swept values.
    """
    shown = found.swept.map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
    points = [[f"{key} = {value}" for key, value in row.items()] for row in shown.to_dict("records")]
    return [", ".join((str(name), *point)) for point in points for name in found.groups["adversary"].drop_duplicates()]


def _by_cell(found: Measured, measure: str) -> Floats:
    """Return a measure by row and case.

    The shape is (n_rows, n_cases, n_samples, n_replications). A row is a defender and the adversary planned against.
    Cases are in the order of `_cells`. Missing values are NaN.
    """
    rows, row = np.unique(found.groups.groupby(ROWS, sort=False, observed=True).ngroup(), return_inverse=True)
    adversaries = found.groups["adversary"].drop_duplicates().tolist()
    column = np.array([adversaries.index(name) for name in found.groups["adversary"]])
    values = found.values[measure]
    n_swept, _, *drawn = values.shape
    table = np.full((len(rows), n_swept, len(adversaries), *drawn), np.nan)
    table[row, :, column] = np.moveaxis(values, 1, 0)
    return table.reshape(len(rows), n_swept * len(adversaries), *drawn)


def _extreme(by_cell: Floats, cells: list[str], name: str, *, sign: float) -> pd.DataFrame:
    """Return the largest mean of each row over cases, its interval and its case.

    If `sign` is -1, it is the smallest mean. Columns are `name` and, after it, ``_low``, ``_high`` and ``_at``. They
    are missing for a row that lacks a value in some run in which another row has one.
    """
    played: Told = np.asarray(np.isfinite(by_cell).any(axis=(0, 2, 3)))
    values, names = sign * by_cell[:, played], [cell for cell, known in zip(cells, played, strict=True) if known]
    # A mean over only the runs in which a defender could play is not comparable with the means of other defenders.
    missing = (np.isfinite(values) != np.isfinite(values).any(axis=0)).any(axis=(1, 2, 3))
    interval = mean_interval(values, 1 - (1 - LEVEL) / len(names))
    at = np.argmax(np.where(np.isnan(interval.mean), -np.inf, interval.mean), axis=1)
    mean, low, high = (sign * part.max(axis=1) for part in (interval.mean, interval.low, interval.high))
    low, high = np.minimum(low, high), np.maximum(low, high)
    numbers = pd.DataFrame({name: mean, f"{name}_low": low, f"{name}_high": high}).mask(pd.Series(missing), axis=0)
    where = [None if gone else names[cell] for cell, gone in zip(at.tolist(), missing.tolist(), strict=True)]
    return numbers.assign(**{f"{name}_at": pd.Series(where, dtype="str")})


def _best(costs: Floats) -> Told:
    """Return a mask of the lowest costs, including all that are equal within `_EQUAL`.

    Missing costs never count as lowest.
    """
    known = costs[np.isfinite(costs)]
    if not len(known):
        return np.zeros(len(costs), dtype=bool)
    return np.asarray(np.nan_to_num(costs, nan=np.inf) <= known.min() + _EQUAL * max(1.0, np.abs(known).max()))
