"""Outcomes of every policy at many parameter points of a scenario.

For some kinds of scenario, one study can be solved again under other payoff parameters. Points of these kinds that
differ in payoff parameters only are computed here, in milliseconds each: 200 points of `wan2015-stress` take 4 s as
believed and 12 s informed, as runs of the batch engine 45 s. All other points are runs of the batch engine.

With planning ``as-believed``, the publisher plans with the beliefs that it has at the scenario's own values, even if
other values are true at a point. The section ``beliefs`` of a scenario holds the believed values: ``beliefs.cost`` is
the belief about ``economics.cost``, and ``beliefs.sizes.genealogy`` about ``resources.genealogy.size``. The publisher
plans with the scenario's own value of a payoff parameter that has no belief key, such as ``economics.benefit``, and
knows the true value of every other key without one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import Measure, columns_of
from reidsim.core.plain_data import value_if_any
from reidsim.core.randomness import random_stream
from reidsim.engine.batch.design import (
    Design,
    RunTask,
    ScenarioWork,
    Tables,
    at_point,
    draw_of,
    run_tables,
    scenarios_at,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.runner import evaluate
from reidsim.engine.cross_play import CrossPlayOptions, Players
from reidsim.engine.results import LEVELS
from reidsim.errors import InputError, listed, locating, not_among, require_among
from reidsim.games.cross_play import Opponent
from reidsim.games.measures import RISK_QUANTILE, averages
from reidsim.games.reidentified import reidentified_in
from reidsim.scenarios.agents import WHO_COMES, names_adversaries
from reidsim.scenarios.design_schema import StressSection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
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


# Columns with quantiles in a batch's distributions over records, by level.
QUANTILE_COLUMNS = {level: name for name, level in LEVELS.items()}


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
        economics, (_, own_belief) = self.economics(points), economics_of(self.loaded.scenario)
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
        the batch engine keeps the quantile at this level; see `QUANTILE_COLUMNS`.

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
        runs, distributions, level = tables["runs"], tables.get("distributions"), QUANTILE_COLUMNS.get(self.risk_level)
        if level is not None and distributions is not None and "policy" in distributions:
            risk = distributions[distributions["measure"] == "risk"].rename(columns={level: RISK_QUANTILE.column})
            place = ["point", "replication", "policy"]
            runs = runs.merge(risk[[*place, RISK_QUANTILE.column]], on=place, how="left")
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
                world = study.world(draw)
                choices = {policy: found.choice for policy, found in kind.play(plans, draw, self.policies).items()}
            else:
                players = Players(study, CrossPlayOptions(), draw)
                against = Players(plans, CrossPlayOptions(), draw) if self.planned else players
                study = players.study
                world = replace(study.world(draw), truth=opponent_named(players, comes).truth)
                met, own = (opponent_named(against, name).planned for name in (comes, against.opponents.own))
                defenders = {policy: kind.policy(policy).defender(against.study, draw) for policy in self.policies}
                choices = {
                    policy: defender.choose(met if self.informed and defender.plans else own)
                    for policy, defender in defenders.items()
                }
            equilibria = {
                policy: kind.outcome(study, world, kind.policy(policy).defender(study, draw), choice)
                for policy, choice in choices.items()
                if choice is not None
            }
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
    players = Players(kind_of(loaded.scenario).build(loaded), CrossPlayOptions())
    for name in names:
        opponent_named(players, name)


def opponent_named(players: Players, name: str) -> Opponent:
    """Return the adversary of cross-play with this name.

    Raise an InputError if it cannot play.
    """
    opponents = {opponent.name: opponent for opponent in players.opponents.opponents}
    if name in opponents:
        return opponents[name]
    reasons = [reason for reason in players.opponents.left_out if f"{name!r} cannot play" in reason]
    error = not_among("no adversary of this name in cross-play", name, [*opponents], where=_WHERE)
    raise error.but(hint=reasons[0]) if reasons else error


Planning = Literal["informed", "as-believed"]


def belief_key(scenario: ScenarioHead, key: str) -> str | None:
    """Return the key path of the publisher's belief about `key`.

    None if the kind of scenario has no such belief.
    """
    beliefs = getattr(scenario, "beliefs", None)
    known = () if beliefs is None else type(beliefs).model_fields
    match key.split("."):
        case ["economics" | "adversary", name] if name in known:
            return f"beliefs.{name}"
        case ["resources", name, "size"] if "sizes" in known:
            return f"beliefs.sizes.{name}"
    return None


def own_value(scenario: ScenarioHead, key: str) -> Any:
    """Return the scenario's value of a key; None if it has none.

    If the scenario does not state the adversary's gain, the gain equals the publisher's loss.
    """
    if key == "economics.gain" and isinstance(economics := getattr(scenario, "economics", None), EconomicsSection):
        return economics.adversary_gain
    if key.startswith("adversary.") and getattr(scenario, "adversaries", None):
        # Several adversaries may have different values.
        return None
    return value_if_any(scenario.model_dump(by_alias=True), key)


def believed_values(scenario: ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return beliefs fixed at the scenario's own values, by key path of ``beliefs``.

    Setting them at a point keeps the publisher's beliefs while the true values change. `keys` are key paths of true
    values or of beliefs; keys without a belief key are left out. A belief that the scenario does not state equals the
    scenario's own value. If the loss is among `keys` and neither the gain nor the belief about it is stated, the
    believed gain is added; it equals the believed loss.
    """
    pinned = {}
    for key in keys:
        beliefs, truth = belief_key(scenario, key), key
        if key.startswith("beliefs."):
            name = key.removeprefix("beliefs.")
            section = "economics" if name in EconomicsSection.model_fields else "adversary"
            beliefs, truth = key, f"{section}.{name}"
            if name.startswith("sizes."):
                truth = f"resources.{name.removeprefix('sizes.')}.size"
        if beliefs is not None:
            stated = own_value(scenario, beliefs)
            pinned[beliefs] = own_value(scenario, truth) if stated is None else stated
    return _with_gain(scenario, pinned)


def planned_amounts(scenario: ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return the scenario's own values of those payoff parameters that no belief can replace, by key path.

    A publisher who plans as believed uses them at every point. Rounds of agents plan anew, so they use none.
    """
    kind = kind_of(scenario)
    amounts = () if not kind.decides or kind.in_rounds(scenario) else kind.amount_keys
    fixed = [key for key in keys if key in amounts and key.startswith("economics.") and not belief_key(scenario, key)]
    return {key: own_value(scenario, key) for key in fixed}


def known_keys(scenario: ScenarioHead, keys: Iterable[str]) -> list[str]:
    """Return the keys whose true value the publisher knows at every point.

    These are keys without a belief, except the payoff parameters in `planned_amounts`.
    """
    others = [key for key in keys if belief_key(scenario, key) is None and not key.startswith("beliefs.")]
    return [key for key in others if key not in planned_amounts(scenario, others)]


def belief_points(
    scenario: ScenarioHead, key: str, true: Iterable[Any] | None, believed: Iterable[Any] | None
) -> pd.DataFrame:
    """Return the points of a belief curve: every true with every believed value.

    True values change fastest.

    Parameters
    ----------
    scenario : ScenarioHead
    key : str
        Key path of the true value, such as ``economics.cost``.
    true, believed : iterable, optional
        True and believed values; default: the scenario's own value, and its own belief.

    Returns
    -------
    DataFrame
        One row per point. Columns: `key` (true value), its belief key (believed value), and ``beliefs.gain`` if `key`
        is the loss and the gain follows it.

    Raises
    ------
    InputError
        If the key has no belief key, or the scenario has no own value where `true` or `believed` is not given.
    """
    beliefs = belief_key(scenario, key)
    if beliefs is None:
        fields = getattr(scenario, "beliefs", None)
        others = {"sizes", "lists"}
        names = [f"economics.{name}" for name in type(fields).model_fields if name not in others] if fields else []
        expected = f"a parameter with beliefs: {listed(names)}" if names else "a game with beliefs"
        raise InputError("the publisher has no belief about this parameter", where="key", found=key, expected=expected)
    values = []
    own = ("true", true, own_value(scenario, key)), ("believed", believed, believed_values(scenario, [key])[beliefs])
    for name, given, default in own:
        if given is None and default is None:
            raise InputError("the scenario sets no value for the key", where=name, expected=f"values of {key}")
        values.append([default] if given is None else list(given))
    rows = [{key: t, **_with_gain(scenario, {beliefs: b})} for b in values[1] for t in values[0]]
    return pd.DataFrame(rows).astype(object)


def _with_gain(scenario: ScenarioHead, beliefs: dict[str, Any]) -> dict[str, Any]:
    """Add the believed gain, equal to the believed loss, if the gain follows the loss.

    This is the case if the loss is among `beliefs` and the scenario states neither the gain nor a belief about it.
    """
    economics = getattr(scenario, "economics", None)
    follows = isinstance(economics, EconomicsSection) and economics.gain is None
    unstated = own_value(scenario, "beliefs.gain") is None
    if "beliefs.loss" in beliefs and "beliefs.gain" not in beliefs and follows and unstated:
        return {**beliefs, "beliefs.gain": beliefs["beliefs.loss"]}
    return beliefs
