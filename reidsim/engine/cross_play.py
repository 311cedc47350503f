"""Run every defender against every adversary; equilibria of the payoffs.

In the matrix game, the defender chooses a row of the payoff table, the adversary a column, and both may randomize
(mix). Payoffs are means over all random draws, because neither player knows the draw. Each point of a sweep is a
separate game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, locating, refuse_first, require_among
from reidsim.core.wording import Measure, measures_among
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
from reidsim.engine.batch.statistics import LEVEL, design_of_runs, mean_interval, measured, statistics_table
from reidsim.engine.results import Result, begun, common_fields, measures_in_manifest
from reidsim.games.cross_play import Defender, cross_play, matrix_of
from reidsim.games.matrix_games import Floats, Mixtures, Sum, double_oracle, equilibrium, exploitability, zero_sum
from reidsim.games.outcomes import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, REGRET
from reidsim.scenarios.agents import (
    WHO_COMES,
    OpponentOptions,
    Opponents,
    are_equipped,
    left_out_of_rounds,
    who_may_come,
    without_adversary_uncertainty,
)
from reidsim.scenarios.kind import Progress, kind_of
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import ScenarioHead


@dataclass(frozen=True)
class CrossPlayOptions(OpponentOptions):
    """Options of cross-play.

    Parameters
    ----------
    knowledge, stages, attack_rate
        See `OpponentOptions`.
    equilibrium : bool
        Whether to compute the defender's maximin and minimax-regret mixtures, and Nash equilibria of the payoffs.
    double_oracle : {"zero-sum", "general-sum"}, optional
        Game in which to run the double oracle; default: do not run it. It adds best responses to mixtures until the
        gains of both players from further best responses sum to at most the tolerance. In the zero-sum game, the
        adversary minimizes the defender's payoff; in the general-sum game, it maximizes its own payoff.
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
        for name, path in (("knowledge", self.knowledge), ("stages", self.stages)):
            if path is not None and (name == "stages" or Path(path).suffix == ".toml"):
                object.__setattr__(self, name, str(Path(path).absolute()))

    @property
    def facts(self) -> dict[str, Any]:
        """The options as plain data, for the manifest.

        ``equilibrium`` is missing if it is False, ``double_oracle`` and ``tolerance`` if no double oracle is run.
        """
        oracle = {"double_oracle": self.double_oracle, "tolerance": self.tolerance} if self.double_oracle else {}
        players = {"knowledge": self.knowledge, "stages": self.stages, "attack_rate": self.attack_rate}
        return players | ({"equilibrium": True} if self.equilibrium else {}) | oracle


@dataclass(frozen=True, eq=False, repr=False)
class CrossPlayResult(Result):
    """Outcomes of every defender against every adversary of a scenario.

    See `Result` for further parameters.

    Parameters
    ----------
    table : DataFrame
        One row per defender, adversary planned against and adversary met (see `reidsim.games.cross_play.CrossPlay`); in
        a batch, such rows for each run. A failed run has one row without measures.
    design : Design, optional
        Points and replications; None for a single run.
    replies : dict of str to DataFrame
        Tables ``double_oracle`` and ``double_oracle_mixtures``, if the double oracle was requested; see `DoubleOracle`.
    equilibria : dict of str to DataFrame
        Tables ``equilibria``, ``mixtures`` and ``exploitability``, if requested; see `equilibrium_tables`.
    """

    table: pd.DataFrame
    design: Design | None = field(default=None)
    replies: dict[str, pd.DataFrame] = field(default_factory=dict)
    equilibria: dict[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        played, design = tables.pop("cross_play"), common["manifest"].get("design")
        own = {name: table for name, table in tables.items() if name not in ("statistics", "worst_cases")}
        return cls(played, None if design is None else design_of_runs(played, design), own, **common)

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of `table` from successful runs; may be empty."""
        return self.table[self.table["state"] == COMPLETE] if "state" in self.table else self.table

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures in `table`, by column.

        Labels and definitions are from the scenario's kind; in addition, there is the measure ``regret``.
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

    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the results folder, by name, without empty ones.

        They are ``cross_play``, ``statistics``, ``worst_cases``, and the tables of `equilibria` and `replies`.
        """
        own = {"cross_play": self.table, "statistics": self.statistics, "worst_cases": self.worst_cases}
        return {name: table for name, table in (own | self.equilibria | self.replies).items() if len(table)}

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
        """Play every defender against every adversary; run the double oracle if requested.

        `options` state whether to run the double oracle, in which game and to which tolerance; the other options were
        used to make the players. `report` is called with the progress.

        Returns
        -------
        tables : dict of str to DataFrame
            ``runs``, and the tables of `DoubleOracle`.
        left_out : tuple of str
            Warnings about players that cannot play, and about settings that are ignored.

        Raises
        ------
        InputError
            If the double oracle is requested, but no policy plans, or no policy can plan against several adversaries.
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
        planning = [defender for defender in self.defenders if defender.plans]
        if not planning:
            problem, expected = "no policy plans against the adversary", "a policy that responds to the adversary"
            raise InputError(problem, where="double_oracle", expected=expected)
        replies = double_oracle(
            play,
            players,
            planning[0],
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
        """Run a task of the batch; return its tables and warnings.

        Tables are given by name, as columns (`columns_of_table`): ``runs``, and the tables of `DoubleOracle` if it is
        requested.
        """
        with locating(self.loaded.path):
            tables, left_out = self._players(self.study_at(task), task).play(self.play, lambda task, done, total: None)
        return {name: columns_of_table(found) for name, found in tables.items()}, left_out

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that the players of a task can play; return the hash of the study's data.

        The hash is `Study.fingerprint`.

        Raises
        ------
        InputError
            If a file of the scenario cannot be used, or the scenario's own adversary or an adversary whose recipe is an
            option cannot play. Other adversaries that cannot play are left out.
        """
        with locating(self.loaded.path):
            self._players(study := self.study_at(task), task)
            return study.fingerprint

    def _players(self, study: Any, task: RunTask) -> Players:
        return Players(study, self.play, draw_of(study.scenario, task.replication))


def has_several_plays(scenario: ScenarioHead) -> bool:
    """Return whether cross-play of a scenario is a batch.

    It is a batch if the scenario has several replications, a sweep, or uncertain parameters other than the choice among
    named adversaries: in cross-play, all of these play.
    """
    chosen = {WHO_COMES} if who_may_come(scenario.uncertainty) else set()
    is_uncertain = scenario.uncertainty is not None and bool(scenario.uncertainty.parameters.keys() - chosen)
    return scenario.replications > 1 or scenario.sweep is not None or is_uncertain


def cross_play_loaded(
    loaded: Scenario[Any], options: CrossPlayOptions | None = None, executor: Executor | None = None, **keeping: Any
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario.

    All named adversaries play, also if the scenario draws one of them at random.

    Parameters
    ----------
    loaded : Scenario
    options : CrossPlayOptions, optional
    executor : Executor, optional
        Where the runs of a batch are done; not used for a single run (see `has_several_plays`).
    **keeping
        ``progress``, and further arguments of `run_job`, which are not used for a single run.

    Returns
    -------
    CrossPlayResult

    Raises
    ------
    InputError
        If a file of the scenario or an option cannot be used, or the scenario has no policies.
    """
    options, loaded = options or CrossPlayOptions(), without_adversary_uncertainty(loaded)
    if has_several_plays(loaded.scenario):
        return run_job(CrossPlayWork(loaded, play=options), partial(_result, options), executor, **keeping)
    kind, clock, report = begun(loaded, keeping.get("progress"))
    with locating(loaded.path):
        # Called before data are read, so that a scenario without policies fails without delay.
        kind.policies_of(loaded.scenario)
        players = Players(kind.study_of(loaded), options)
        clock.lap("build")
        tables, warnings = players.play(options, report)
    clock.lap("play")
    facts = {"cross_play": options.facts, "own_adversary": players.opponents.own, **kind.facts(players.study)}
    common = common_fields(loaded, clock.laps, facts, warnings)
    return _with_equilibria(CrossPlayResult(tables.pop("runs"), replies=tables, **common), options)


def _result(options: CrossPlayOptions, ended: Ended) -> CrossPlayResult:
    """Return the result of a finished batch of cross-play.

    The equilibria that `options` request are computed from the tables of the batch, `ended`.
    """
    runs = ended.tables["cross_play" if ended.stored else "runs"]
    replies = {name: table for name, table in ended.tables.items() if name.startswith("double_oracle")}
    result = _with_equilibria(CrossPlayResult(runs, ended.design, replies, **ended.common), options)
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
        both players from a best response; for the first two concepts, in the zero-sum game of payoff or regret).
        ``mixtures`` has one row per strategy with positive probability: the swept keys, ``concept``, ``player``
        (``defender`` or ``adversary``), ``strategy`` (name of the defender or adversary), ``plans_against`` (empty for
        adversaries and for defenders that do not plan) and ``probability``. ``exploitability`` has one row per defender
        and adversary planned against: the swept keys, ``defender``, ``plans_against``, ``least_payoff``,
        ``exploitability`` (the value of ``maximin`` minus ``least_payoff``), ``best_reply`` (the adversary with the
        highest own payoff against this defender; the first of ties), ``payoff_then`` (the defender's payoff against
        this adversary) and ``gain_then`` (the defender's gain from its own best response to this adversary).
    left_out : tuple of str
        Warnings about omitted defenders (without a payoff against some adversary) and about concepts for which no
        solution was found.
    """
    swept = scenario_columns(design).loc[:: design.samples, list(design.swept)].reset_index(drop=True)
    parts: dict[str, list[pd.DataFrame]] = {"equilibria": [], "mixtures": [], "exploitability": []}
    left_out: list[str] = []
    for place, own in runs.groupby(runs["point"] // design.samples):
        tables, gone = _of_point(own)
        left_out += gone
        for name, table in tables.items():
            parts[name].append(pd.concat([swept.loc[[place] * len(table)].reset_index(drop=True), table], axis=1))
    found = {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items() if tables}
    return found, tuple(dict.fromkeys(left_out))


def _of_point(runs: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the tables of one point of the sweep by name, and warnings.

    The tables are ``equilibria``, ``mixtures`` and ``exploitability`` of `equilibrium_tables`, without the swept keys.
    There are none if no defender has a payoff against all adversaries. Warnings are about omitted defenders and
    concepts. `runs` are the rows of the point.
    """
    means = runs.groupby([*ROWS, "adversary"], sort=False, observed=True)
    measures = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, REGRET)
    wide = [means[each.column].mean().unstack("adversary", sort=False) for each in measures]
    known = np.isfinite(wide[0].to_numpy()).all(axis=1)
    rows, adversaries = wide[0].index[known], wide[0].columns.tolist()
    reason = "left out of equilibria, because payoffs against some adversaries are missing"
    gone = [f"{reason}: {name}" for name, _ in wide[0].index[~known]]
    if not known.any():
        return {}, gone
    payoff, adversary_payoff, regret = (table.to_numpy()[known] for table in wide)
    value, general = zero_sum(payoff), (payoff, adversary_payoff)
    solutions: dict[str, tuple[tuple[Floats, Floats], Callable[[], Mixtures]]] = {
        MAXIMIN: ((payoff, -payoff), lambda: value),
        MINIMAX_REGRET: ((-regret, regret), lambda: zero_sum(-regret)),
        BEST: (general, lambda: equilibrium(*general, for_rows="best")),
        WORST: (general, lambda: equilibrium(*general, for_rows="worst")),
    }
    players = [("defender", *each) for each in rows] + [("adversary", name, "") for name in adversaries]
    equilibria, mixtures = [], []
    for concept, (game, solution) in solutions.items():
        try:
            mixed = solution()
        except InputError as error:
            gone.append(f"{concept}: {error}")
            continue
        payoffs = (float(mixed.rows @ each @ mixed.columns) for each in general)
        worth = -mixed.row_payoff if concept == MINIMAX_REGRET else mixed.row_payoff
        equilibria.append((concept, *payoffs, worth, exploitability(*game, mixed)))
        probabilities = zip(players, (*mixed.rows.tolist(), *mixed.columns.tolist()), strict=True)
        mixtures += [(concept, *who, probability) for who, probability in probabilities if probability > 0]
    reply = adversary_payoff.argmax(axis=1)
    then = payoff[np.arange(len(payoff)), reply]
    pure = {
        "defender": rows.get_level_values(0),
        "plans_against": rows.get_level_values(1),
        "least_payoff": payoff.min(axis=1),
        "exploitability": np.maximum(value.row_payoff - payoff.min(axis=1), 0.0),
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
    groups = found.groups
    rows, adversaries = groups[ROWS].drop_duplicates(), groups["adversary"].drop_duplicates().tolist()
    row, column = (groups.groupby(keys, sort=False, observed=True).ngroup() for keys in (ROWS, ["adversary"]))
    points = found.swept.map(lambda value: f"{value:g}" if isinstance(value, float) else str(value)).to_dict("records")
    cells = [
        ", ".join((str(name), *(f"{key} = {value}" for key, value in point.items())))
        for point in points
        for name in adversaries
    ]

    def by_cell(measure: str) -> Floats:
        """Return a measure as an array; NaN where a run has no value.

        A case is an adversary at a point of the sweep. The shape is (n_rows, n_cases, n_samples, n_replications).
        """
        n_swept, _, *drawn = found.values[measure].shape
        table = np.full((len(rows), n_swept, len(adversaries), *drawn), np.nan)
        table[row, :, column] = np.moveaxis(found.values[measure], 1, 0)
        return table.reshape(len(rows), -1, *drawn)

    least = _extreme(by_cell(PUBLISHER_PAYOFF.column), cells, "least_payoff", sign=-1.0)
    most = _extreme(by_cell(REGRET.column), cells, "largest_regret", sign=1.0)
    table = pd.concat([rows.reset_index(drop=True), least, most], axis=1)
    return table.assign(
        worst_regret=np.where(most["largest_regret"].isna(), np.nan, np.nanmax(by_cell(REGRET.column), axis=(1, 2, 3))),
        maximin=_best(-table["least_payoff"].to_numpy()),
        minimax_regret=_best(table["largest_regret"].to_numpy()),
    )


def _extreme(by_cell: Floats, cells: list[str], name: str, *, sign: float) -> pd.DataFrame:
    """Return a table with the largest mean of each row over cases, and its case.

    If `sign` is -1, it is the smallest mean. `by_cell` holds values by row, case, sample and replication; means are
    over the last two. `cells` are names of cases. Columns are `name` and, after it, ``_low`` and ``_high`` (interval
    that holds for all cases together) and ``_at`` (the case). They are missing for a row that lacks a value in some run
    in which another row has one.
    """
    played = np.isfinite(by_cell).any(axis=(0, 2, 3))
    values, names = sign * by_cell[:, played], np.array(cells, dtype=object)[played]
    # A mean over only the runs in which a defender could play is not comparable with the means of other defenders.
    missing = (np.isfinite(values) != np.isfinite(values).any(axis=0)).any(axis=(1, 2, 3))
    interval = mean_interval(values, 1 - (1 - LEVEL) / len(names))
    at = np.argmax(np.where(np.isnan(interval["mean"]), -np.inf, interval["mean"]), axis=1)
    mean, low, high = (sign * interval[part].max(axis=1) for part in ("mean", "low", "high"))
    bounds = {name: mean, f"{name}_low": np.minimum(low, high), f"{name}_high": np.maximum(low, high)}
    where = pd.Series(np.where(missing, None, names[at]), dtype="str")
    return pd.DataFrame(bounds).mask(pd.Series(missing), axis=0).assign(**{f"{name}_at": where})


def _best(costs: Floats) -> NDArray[np.bool_]:
    """Return whether each cost is the lowest, or equal to it within `_EQUAL`.

    `_EQUAL` is a fraction of the largest absolute cost, or of 1 if that is larger. Missing costs never count as lowest.
    """
    known = costs[np.isfinite(costs)]
    return np.asarray(costs <= known.min(initial=np.inf) + _EQUAL * np.abs(known).max(initial=1.0))
