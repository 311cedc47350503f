"""Run cross-play: every defender against every adversary of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, get_args

import pandas as pd

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.batch.design import Design, draw_of
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.runner import Ended, run_job
from reidsim.engine.batch.statistics import measured, statistics_table
from reidsim.engine.batch.tasks import COMPLETE, RunTask, ScenarioWork, Tables, columns_of_table
from reidsim.engine.cross_play.equilibria import equilibrium_tables, worst_cases_table
from reidsim.engine.results import Result, begun, make_manifest, measures_in_manifest
from reidsim.errors import InputError, locating, refuse_first, require_among
from reidsim.games.cross_play import cross_play, matrix_of
from reidsim.games.defenders.defender import Defender
from reidsim.games.double_oracle import Sum, double_oracle
from reidsim.games.measures import REGRET
from reidsim.linkage.number_checks import check_share
from reidsim.scenarios.agents import are_equipped, left_out_of_rounds
from reidsim.scenarios.cross_play_adversaries import OpponentOptions, Opponents
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES, who_may_come, without_adversary_uncertainty
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
        check_share("attack_rate", self.attack_rate)
        if self.double_oracle is not None:
            require_among("unknown kind of game", (self.double_oracle,), get_args(Sum), where="double_oracle")
        wrong, found = not 0 < self.tolerance < float("inf"), self.tolerance
        refuse_first((wrong, "tolerance out of range", "tolerance", found, "an amount above 0"))
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


@dataclass(frozen=True, eq=False)
class Table:
    """The players of one run of cross-play.

    Parameters
    ----------
    study : Study
        The study whose rows all players use.
    opponents : Opponents
        The adversaries.
    defenders : list of Defender
    draw : int
        Number of the study's draw.
    """

    study: Any
    opponents: Opponents
    defenders: list[Defender]
    draw: int

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


def table_of(study: Any, options: CrossPlayOptions, draw: int = 0) -> Table:
    """Return the players of a run of cross-play.

    Parameters
    ----------
    study : Study
    options : CrossPlayOptions
    draw : int
        Number of the study's draw.

    Raises
    ------
    InputError
        If the scenario has no policies, or if the scenario's own adversary, or an adversary whose recipe is in the
        options, cannot play. Other adversaries that cannot play are listed in `Opponents.left_out`.
    """
    kind = kind_of(study.scenario)
    kind.policies_of(study.scenario)
    study, others = kind.opponents(study, options, draw)
    opponents = kind.opponent_types(study, draw).beside(others)
    defenders = [kind.policy(name).defender(study, draw) for name in kind.cross_play_policies(study)]
    return Table(study, opponents, defenders, draw)


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
            tables, left_out = self._table(task).play(self.play, lambda task, done, total: None)
        return {name: columns_of_table(found) for name, found in tables.items()}, left_out

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that the players of a task can play; return the hash of its data.

        Raises
        ------
        InputError
            If a file of the scenario, or a player that must play, cannot be used.
        """
        with locating(self.loaded.path):
            self._table(task)
            return self.study_at(task).fingerprint

    def _table(self, task: RunTask) -> Table:
        study = self.study_at(task)
        return table_of(study, self.play, draw_of(study.scenario, task.replication))


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
        table = table_of(kind.build(loaded), options)
        clock.lap("build")
        tables, warnings = table.play(options, report)
    clock.lap("play")
    facts = {"cross_play": options.facts, "own_adversary": table.opponents.own, **kind.facts(table.study)}
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
