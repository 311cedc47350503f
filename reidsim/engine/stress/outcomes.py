"""Outcomes of every policy at many parameter points of a scenario.

For some kinds of scenario, one study can be solved again under other payoff parameters. Points of these kinds that
differ in payoff parameters only are computed here, in milliseconds each: 200 points of `wan2015-stress` take 4 s as
believed and 12 s informed, as runs of the batch engine 45 s. All other points are runs of the batch engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import Measure, columns_of
from reidsim.core.randomness import random_stream
from reidsim.engine.batch.design import Design, at_point, draw_of, scenarios_at
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.runner import evaluate
from reidsim.engine.batch.tasks import RunTask, ScenarioWork, Tables, run_tables
from reidsim.engine.cross_play.run import CrossPlayOptions, Table, table_of
from reidsim.engine.results import LEVELS
from reidsim.engine.stress.planning import Planning, believed_values, planned_amounts
from reidsim.errors import InputError, listed, locating, not_among, require_among
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.measures import RISK_QUANTILE, averages
from reidsim.games.reidentified import reidentified_in
from reidsim.scenarios.design_schema import StressSection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
from reidsim.scenarios.several_adversaries import WHO_COMES, names_adversaries
from reidsim.scenarios.study import Progress

Floats = NDArray[np.float64]
_WHERE = f"uncertainty.parameters.{WHO_COMES}"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outputs of every policy at every point.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy: ``point`` (number, from 0), ``policy`` and the outputs, averaged over
        replications. If one run of a point failed, all outputs of the point are missing, or its rows are.
    failures : DataFrame
        One row per point with a failed run: ``point`` and ``error``, the message of its first failed run.
    """

    table: pd.DataFrame
    failures: pd.DataFrame

    def matrix(self, output: str, policies: tuple[str, ...], n_points: int) -> Floats:
        """Return an output as an array, shape (n_policies, n_points).

        Policies have the given order. Missing outputs are NaN.

        Raises
        ------
        InputError
            If no run has the output.
        """
        if output not in self.table:
            has = [name for name in self.table if name not in ("point", "policy")]
            problem, expected = "no run of the scenario has this output", f"one of {listed(has, 20)}"
            raise InputError(problem, where="stress", found=output, expected=expected)
        wide = self.table.pivot(index="policy", columns="point", values=output)
        return wide.reindex(index=list(policies), columns=range(n_points)).to_numpy(dtype=np.float64)


def outputs_among(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """Return the possible outputs of a stress test.

    They are the measures of a kind, and a quantile of the risk.
    """
    return (*measures, RISK_QUANTILE)


def chosen_outputs(scenario: ScenarioHead, section: StressSection) -> tuple[str, ...]:
    """Return the outputs that the section lists.

    If it lists none, return the default outputs that the kind of scenario has.
    """
    has = columns_of(outputs_among(kind_of(scenario).measures))
    return tuple(output for output in section.outputs if output in has or "outputs" in section.model_fields_set)


def chosen_policies(scenario: ScenarioHead, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the policies to compare: `wanted`, or all policies if it is empty.

    Raises
    ------
    InputError
        If the scenario lacks one of the wanted policies.
    """
    own = kind_of(scenario).policies_of(scenario)
    require_among("not a policy of the scenario", wanted, own, where="stress.policies")
    return wanted or own


def can_be_played_at_once(scenario: ScenarioHead, keys: tuple[str, ...]) -> bool:
    """Return whether points that vary only these keys can share one study.

    This needs a kind that solves one study again under other payoff parameters, only payoff parameters among `keys`,
    and a single replication. Such points take milliseconds each.
    """
    return scenario.replications == 1 and kind_of(scenario).amounts_at_once(scenario, keys)


def name_adversaries(points: pd.DataFrame) -> bool:
    """Return whether a column of the points names the adversary of cross-play that policies meet."""
    return WHO_COMES in points and names_adversaries(points[WHO_COMES])


def quantile_column(level: float) -> str | None:
    """Return the column with this quantile in a batch's distributions over records.

    The result is None if there is none.
    """
    return next((name for name, kept in LEVELS.items() if kept == level), None)


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Compute the outputs of policies at points in the space of scenario keys.

    Parameters
    ----------
    loaded : Scenario
    policies : tuple of str
    risk_level : float
        Level of output ``risk_quantile``, the quantile of the risk over records, in [0, 1].
    people : bool
        Whether an output concerns the number of people re-identified.
    executor : Executor, optional
        Executor of the batch engine; default: the one that the batch engine chooses.
    folder : Path, optional
        Folder that keeps finished runs; a repeated call reads them instead of running them again.
    report : callable, optional
        Called with the progress.
    amounts : object, optional
        Planner under any payoff parameters; default: the planner of the scenario's kind.
    """

    loaded: Scenario[ScenarioHead]
    policies: tuple[str, ...]
    risk_level: float
    people: bool = False
    executor: Executor | None = None
    folder: Path | None = None
    report: Progress = lambda task, done, total: None
    amounts: Any = None

    @cached_property
    def plans(self) -> Any:
        """The planner under any payoff parameters; only for kinds that have one."""
        kind = kind_of(self.loaded.scenario)
        points = self.amounts or kind.amount_points(kind.build(self.loaded))
        assert points is not None  # noqa: S101 - ensured by `amounts_at_once` or `plans_under_amounts`
        return points

    def at(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> Outcomes:
        """Return the outputs of every policy at every point.

        Parameters
        ----------
        points : DataFrame
            One row per point, one column per key path.
        planning : {"informed", "as-believed"}
            ``informed``: the publisher plans anew at each point, with the values of the point (for a key about which
            the scenario or the point states a belief, with this belief). ``as-believed``: it plans with its beliefs,
            and the payoff parameters, at the scenario's own values; other keys without beliefs (see `known_keys`) have
            their true values. Outputs always hold under the true values of the point.
        task : str
            Name of the task in progress reports.

        Raises
        ------
        InputError
            If a point is invalid for the scenario; raised before the computation starts.
        """
        if can_be_played_at_once(self.loaded.scenario, tuple(map(str, points.columns))):
            return self.at_once(points, planning, task)
        return self.by_batch(points, planning, task)

    def at_once(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> Outcomes:
        """Return the outputs at points that differ in payoff parameters only; see `at`."""
        economics = self.economics(points)
        _, own_belief = economics_of(self.loaded.scenario)
        fixed = {policy: self.plans.plan(policy, own_belief) for policy in self.policies}
        rows = []
        for point, (truth, believed) in enumerate(economics):
            for policy, plan in fixed.items():
                if planning == "informed" and believed != own_belief:
                    plan = self.plans.plan(policy, believed)
                rows.append({"point": point, "policy": policy, **self.measures(plan, truth, point)})
            self.report(task, point + 1, len(economics))
        return Outcomes(pd.DataFrame(rows), pd.DataFrame({"point": pd.Series(dtype=np.int64), "error": []}))

    def by_batch(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> Outcomes:
        """Return the outputs at points of any keys, computed as runs of the batch engine.

        See `at`. If points name the adversary that policies meet, the publisher plans against this adversary
        (``informed``) or against the scenario's own (``as-believed``). Output ``risk_quantile`` is available only if
        the batch engine keeps the quantile at this level; see `quantile_column`.

        Raises
        ------
        InputError
            If every run failed, or a named adversary cannot play.
        """
        scenario, informed, named = self.loaded.scenario, planning == "informed", name_adversaries(points)
        keys = [str(key) for key in points.columns if key != WHO_COMES or not named]
        planned = {} if informed else planned_amounts(scenario, keys)
        work = None
        if named:
            check_opponents(self.loaded, points[WHO_COMES].unique().tolist())
        if named or planned:
            work = StressWork(self.loaded, policies=self.policies, informed=informed, planned=planned, named=named)
        if not informed:
            points = points.assign(**believed_values(scenario, keys))
        tables = evaluate(
            self.loaded,
            points,
            replications=scenario.replications,
            executor=self.executor,
            progress=lambda _, done, total: self.report(task, done, total),
            folder=self.folder,
            known=(WHO_COMES,) if named else (),
            work=work,
        )
        runs = _with_risk_quantile(tables, quantile_column(self.risk_level))
        ended_well = runs["state"] == "complete"
        failed = runs[~ended_well]
        if not ended_well.any():
            raise InputError("every run failed", source=self.loaded.path, found=str(failed["error"].iloc[0]))
        failures = failed.groupby("point", sort=True, observed=True)["error"].first().reset_index()
        measures = [column for column in columns_of(outputs_among(kind_of(scenario).measures)) if column in runs]
        kept = runs[ended_well & runs["policy"].isin(self.policies)]
        table = kept.groupby(["point", "policy"], sort=False, observed=True)[measures].mean().reset_index()
        # A mean over only the successful replications could not be compared with other points.
        table.loc[table["point"].isin(failures["point"]), measures] = np.nan
        return Outcomes(table, failures)

    def measures(self, plan: Any, truth: EconomicsSection, point: int) -> dict[str, float]:
        """Return the outputs of a plan under the true parameters of a point, by column.

        The number of the point selects the random draws, which are needed only if `people`.
        """
        equilibrium, weights = plan.equilibrium(truth), self.plans.study.world(0).weights
        quantile = float(np.quantile(np.repeat(equilibrium.risk, weights), self.risk_level))
        found = {**averages(equilibrium, weights), RISK_QUANTILE.column: quantile}
        if self.people:
            draw = partial(random_stream, self.loaded.scenario.seed, "reidentified", 0, point)
            found |= reidentified_in(equilibrium, weights, draw).measures()
        return found

    def economics(self, points: pd.DataFrame) -> list[tuple[EconomicsSection, EconomicsSection]]:
        """Return the true and the believed payoff parameters at every point.

        The believed parameters are used by the decision-maker. Without beliefs, both are equal.

        Raises
        ------
        InputError
            If a point is invalid for the scenario; the message names the point and the key.
        """
        return [economics_of(at.scenario) for at in scenarios_at(self.loaded, Design(points))]


def _with_risk_quantile(tables: Mapping[str, pd.DataFrame], column: str | None) -> pd.DataFrame:
    """Return the runs, with ``risk_quantile`` if the engine keeps this quantile."""
    distributions = tables.get("distributions")
    if column is None or distributions is None or "policy" not in distributions:
        return tables["runs"]
    risk = distributions[distributions["measure"] == "risk"]
    found = risk[["point", "replication", "policy", column]].rename(columns={column: RISK_QUANTILE.column})
    return tables["runs"].merge(found, on=["point", "replication", "policy"], how="left")


@dataclass(frozen=True, kw_only=True)
class StressWork(ScenarioWork):
    """A callable that plays policies with plans that a plain run would not make.

    Parameters
    ----------
    policies : tuple of str
    informed : bool
        Whether policies plan against the named adversary; if False, against the scenario's own adversary. Policies that
        do not plan against an adversary are unaffected.
    planned : dict
        Payoff parameters that plans use in place of the values of the point, by key path.
    named : bool
        Whether tasks name the adversary that policies meet.
    """

    policies: tuple[str, ...]
    informed: bool
    planned: dict[str, Any]
    named: bool

    @property
    def options(self) -> dict[str, Any]:
        """How the policies plan; see `ScenarioWork.options`."""
        return {"stress": {name: getattr(self, name) for name in ("policies", "informed", "planned", "named")}}

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        values = dict(task.values)
        comes = values.pop(WHO_COMES) if self.named else None
        loaded, planned = (at_point(self.loaded, {**values, **own}, task.seed) for own in ({}, self.planned))
        kind, draw = kind_of(loaded.scenario), draw_of(loaded.scenario, task.replication)
        with locating(loaded.path):
            study, plans = self.studies.get(loaded), self.studies.get(planned)
            if comes is None:
                truth = study.world(draw).truth
                choices = {policy: found.choice for policy, found in kind.play(plans, draw, self.policies).items()}
            else:
                table = table_of(study, CrossPlayOptions(), draw)
                against = table_of(plans, CrossPlayOptions(), draw) if self.planned else table
                study, truth = table.study, opponent_named(table, comes).truth
                met, own = (opponent_named(against, name).planned for name in (comes, against.opponents.own))
                choices = {}
                for policy in self.policies:
                    defender = kind.policy(policy).defender(against.study, draw)
                    choices[policy] = defender.choose(met if self.informed and defender.plans else own)
            equilibria = {}
            for policy, choice in choices.items():
                assert choice is not None  # noqa: S101 - policies that are played have a choice
                game = paid_in(kind.policy(policy).defender(study, draw), truth, choice)
                equilibria[policy] = outcome_of(game, choice)
            return run_tables(study, draw, equilibria), ()


def check_opponents(loaded: Scenario[ScenarioHead], names: list[str]) -> None:
    """Check that the named adversaries can play at the scenario's own values.

    Raises
    ------
    InputError
        If one of them cannot play, or the scenario has agents.
    """
    if getattr(loaded.scenario, "agents", None) is not None:
        problem, expected = "rounds of agents define their own adversaries", "a scenario without section agents"
        raise InputError(problem, where=_WHERE, expected=expected)
    table = table_of(kind_of(loaded.scenario).build(loaded), CrossPlayOptions())
    for name in names:
        opponent_named(table, name)


def opponent_named(table: Table, name: str) -> Opponent:
    """Return the adversary of cross-play with this name.

    Raise an InputError if it cannot play.
    """
    opponents = {opponent.name: opponent for opponent in table.opponents.opponents}
    if name in opponents:
        return opponents[name]
    reasons = [reason for reason in table.opponents.left_out if f"{name!r} cannot play" in reason]
    error = not_among("no adversary of this name in cross-play", name, [*opponents], where=_WHERE)
    raise error.but(hint=reasons[0]) if reasons else error
