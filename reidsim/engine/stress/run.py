"""Stress tests: outcomes of policies at many points, and analyses of them.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError, listed, locating, not_among, refuse_first, require_among
from reidsim.core.numerics import random_stream
from reidsim.core.validation import value_if_any
from reidsim.core.wording import Measure, columns_of, counted
from reidsim.engine.batch.design import (
    COMPLETE,
    Design,
    RunTask,
    ScenarioWork,
    Tables,
    at_point,
    check_points,
    design_of,
    draw_of,
    draw_points,
    is_batch,
    run_tables,
    scenarios_at,
    sweep_points,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.folder import INCOMPLETE, DataFiles
from reidsim.engine.batch.runner import evaluate
from reidsim.engine.cross_play import CrossPlayOptions, Players
from reidsim.engine.results import LEVELS, Clock, Result, begun, common_fields
from reidsim.engine.single_run import check_once
from reidsim.engine.stress import analyses
from reidsim.engine.stress.discovery import box_tables
from reidsim.games.cross_play import Opponent
from reidsim.games.outcomes import REIDENTIFIED, RISK_QUANTILE, averages, own_measures, reidentified_in
from reidsim.games.solvers import robust_choices
from reidsim.scenarios import schema
from reidsim.scenarios.adversary_schema import EconomicsSection, economics_of
from reidsim.scenarios.agents import WHO_COMES, without_adversary_uncertainty
from reidsim.scenarios.kind import Progress, kind_of
from reidsim.scenarios.scenario import Scenario

Planning = Literal["informed", "as-believed"]
_WHERE = f"uncertainty.parameters.{WHO_COMES}"
_PLACE = ["point", "replication", "policy"]


def outputs_among(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """Return the possible outputs of a stress test.

    They are `measures`, the measures of a kind of scenario, followed by the user's and by the quantile of the risk.
    """
    return (*measures, *own_measures(), RISK_QUANTILE)


def can_be_played_at_once(scenario: schema.ScenarioHead, keys: tuple[str, ...]) -> bool:
    """Return whether points that vary only these keys can share one study.

    This needs a kind that solves one study again under other payoff parameters, only payoff parameters among `keys`,
    and a single replication. Such points take milliseconds each.
    """
    return scenario.replications == 1 and kind_of(scenario).amounts_at_once(scenario, keys)


def name_adversaries(points: pd.DataFrame) -> bool:
    """Return whether points name the adversary of cross-play that policies meet.

    This is the case if `points` has a column ``adversary`` that holds only names.
    """
    return WHO_COMES in points and all(isinstance(value, str) for value in points[WHO_COMES])


# Columns with quantiles in a batch's distributions over records, by level.
QUANTILE_COLUMNS = {level: name for name, level in LEVELS.items()}


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Computation of the outputs of policies at points in the space of scenario keys.

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
    """

    loaded: Scenario[Any]
    policies: tuple[str, ...]
    risk_level: float
    people: bool = False
    executor: Executor | None = None
    folder: Path | None = None
    report: Progress = lambda task, done, total: None

    @cached_property
    def plans(self) -> Any:
        """Planner under any payoff parameters; see `Kind.amount_points`.

        It exists only for kinds of scenario with such a planner.
        """
        kind = kind_of(self.loaded.scenario)
        return kind.amount_points(kind.build(self.loaded))

    def at(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> analyses.Outcomes:
        """Return the outputs of every policy at every point, as `Outcomes`.

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

    def at_once(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> analyses.Outcomes:
        """Return the outputs at points that differ in payoff parameters only.

        See `at` for the arguments. No runs of the batch engine are needed, and none can fail.
        """
        own, rows = economics_of(self.loaded.scenario)[1], []
        plans = {policy: self.plans.plan(policy, own) for policy in self.policies}
        for point, (truth, believed) in enumerate(self.economics(points)):
            for policy, plan in plans.items():
                if planning == "informed" and believed != own:
                    plan = self.plans.plan(policy, believed)
                rows.append({"point": point, "policy": policy, **self.measures(plan, truth, point)})
            self.report(task, point + 1, len(points))
        return analyses.Outcomes(pd.DataFrame(rows), pd.DataFrame({"point": pd.Series(dtype=np.int64), "error": []}))

    def by_batch(self, points: pd.DataFrame, planning: Planning, task: str = "running") -> analyses.Outcomes:
        """Return the outputs at points of any keys, computed as runs of the batch engine.

        See `at`. If points name the adversary that policies meet, the publisher plans against this adversary
        (``informed``) or against the scenario's own (``as-believed``). Output ``risk_quantile`` is available only if
        the batch engine keeps the quantile at this level; see `QUANTILE_COLUMNS`.

        Raises
        ------
        InputError
            If every run failed, or a named adversary cannot play.
        """
        scenario, named, planned = self.loaded.scenario, name_adversaries(points), dict[str, Any]()
        if named:
            check_opponents(self.loaded, points[WHO_COMES].unique().tolist())
        if planning == "as-believed":
            keys = [str(key) for key in points.columns if key != WHO_COMES or not named]
            planned = planned_amounts(scenario, keys)
            points = points.assign(**believed_values(scenario, keys))
        informed = planning == "informed"
        work = StressWork(self.loaded, policies=self.policies, informed=informed, planned=planned, named=named)
        tables = evaluate(
            self.loaded,
            points,
            replications=scenario.replications,
            executor=self.executor,
            progress=lambda _, done, total: self.report(task, done, total),
            folder=self.folder,
            known=(WHO_COMES,) if named else (),
            work=work if named or planned else None,
        )
        runs, quantiles, level = tables["runs"], tables.get("distributions"), QUANTILE_COLUMNS.get(self.risk_level)
        if level is not None and quantiles is not None and "policy" in quantiles:
            risk = quantiles[quantiles["measure"] == "risk"].rename(columns={level: RISK_QUANTILE.column})
            runs = runs.merge(risk[[*_PLACE, RISK_QUANTILE.column]], on=_PLACE, how="left")
        failures = runs[runs["state"] != COMPLETE].groupby("point", observed=True)["error"].first().reset_index()
        runs = runs[runs["state"] == COMPLETE]
        if runs.empty:
            raise InputError("every run failed", source=self.loaded.path, found=str(failures["error"].iloc[0]))
        measures = [column for column in columns_of(outputs_among(kind_of(scenario).measures)) if column in runs]
        grouped = runs[runs["policy"].isin(self.policies)].groupby(["point", "policy"], sort=False, observed=True)
        table = grouped[measures].mean().reset_index()
        # A mean over only the successful replications could not be compared with other points.
        table.loc[table["point"].isin(failures["point"]), measures] = np.nan
        return analyses.Outcomes(table, failures)

    def measures(self, plan: Any, truth: EconomicsSection, point: int) -> dict[str, float]:
        """Return the outputs of a plan under the true parameters of a point, by column.

        The number of the point selects the random draws, which are needed only if `people`.
        """
        equilibrium, weights = plan.equilibrium(truth), self.plans.study.world(0).weights
        quantile = float(np.quantile(np.repeat(equilibrium.risk, weights), self.risk_level))
        draw = partial(random_stream, self.loaded.scenario.seed, "reidentified", 0, point)
        people = reidentified_in(equilibrium, weights, draw).measures() if self.people else {}
        parameters = self.loaded.scenario.measures.parameters
        return {**averages(equilibrium, weights, parameters), RISK_QUANTILE.column: quantile, **people}

    def economics(self, points: pd.DataFrame) -> list[tuple[EconomicsSection, EconomicsSection]]:
        """Return the true and the believed payoff parameters at every point.

        The result is a list of pairs of `EconomicsSection`. The believed parameters are used by the decision-maker.
        Without beliefs, both are equal.

        Raises
        ------
        InputError
            If a point is invalid for the scenario; the message names the point and the key.
        """
        return [economics_of(at.scenario) for at in scenarios_at(self.loaded, Design(points))]


@dataclass(frozen=True, kw_only=True)
class StressWork(ScenarioWork):
    """A callable that runs a task with plans that a plain run would not make.

    Plans may use other payoff parameters than the point, or be made against an adversary that the task names.

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
        """How the policies plan: all parameters of this class, under key ``stress``.

        See `ScenarioWork.options`.
        """
        return {"stress": {name: getattr(self, name) for name in ("policies", "informed", "planned", "named")}}

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables, and no warnings.

        Tables are those of `run_tables`, by name, as columns. A policy without a choice of strategies has no row.
        """
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


def check_opponents(loaded: Scenario[Any], names: list[str]) -> None:
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
    """Return the adversary of cross-play with this name; see `Opponent`.

    Raises
    ------
    InputError
        If there is none, or it cannot play; the hint then gives the reason.
    """
    opponents = {opponent.name: opponent for opponent in players.opponents.opponents}
    if name in opponents:
        return opponents[name]
    reasons = [reason for reason in players.opponents.left_out if f"{name!r} cannot play" in reason]
    error = not_among("no adversary of this name in cross-play", name, [*opponents], where=_WHERE)
    raise error.but(hint=reasons[0]) if reasons else error


def belief_pair(scenario: schema.ScenarioHead, key: str) -> tuple[str, str | None]:
    """Return the key paths of a true value and of the publisher's belief about it.

    `key` is one of the two. The second is None if the kind of scenario has no such belief.
    """
    known = getattr(type(getattr(scenario, "beliefs", None)), "model_fields", ())
    match key.split("."):
        case ["economics" | "adversary", name] if name in known:
            return key, f"beliefs.{name}"
        case ["resources", name, "size"] if "sizes" in known:
            return key, f"beliefs.sizes.{name}"
        case ["beliefs", "sizes", name]:
            return f"resources.{name}.size", key
        case ["beliefs", *names]:
            section = "economics" if names[0] in EconomicsSection.model_fields else "adversary"
            return ".".join((section, *names)), key
    return key, None


def own_value(scenario: schema.ScenarioHead, key: str) -> Any:
    """Return the scenario's value of a key; None if it has none.

    If the scenario does not state the adversary's gain, the gain equals the publisher's loss. Keys of section
    ``adversary`` have no value if the scenario has several adversaries.
    """
    if key == "economics.gain" and isinstance(economics := getattr(scenario, "economics", None), EconomicsSection):
        return economics.adversary_gain
    if key.startswith("adversary.") and getattr(scenario, "adversaries", None):
        # Several adversaries may have different values.
        return None
    return value_if_any(scenario.model_dump(by_alias=True), key)


def believed_values(scenario: schema.ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return beliefs fixed at the scenario's own values, by key path of ``beliefs``.

    Setting them at a point keeps the publisher's beliefs while the true values change. `keys` are key paths of true
    values or of beliefs; keys without a belief key are left out. A belief that the scenario does not state equals the
    scenario's own value. If the loss is among `keys` and neither the gain nor the belief about it is stated, the
    believed gain is added; it equals the believed loss.
    """
    pinned = {}
    for truth, beliefs in (belief_pair(scenario, key) for key in keys):
        if beliefs is not None:
            stated = own_value(scenario, beliefs)
            pinned[beliefs] = own_value(scenario, truth) if stated is None else stated
    return _with_gain(scenario, pinned)


def planned_amounts(scenario: schema.ScenarioHead, keys: Iterable[str]) -> dict[str, Any]:
    """Return the scenario's own values of payoff parameters without a belief key.

    The result is by key path, and only for parameters among `keys`. A publisher who plans as believed uses these values
    at every point. It is empty for kinds without decisions, and for rounds of agents, who plan anew.
    """
    kind = kind_of(scenario)
    amounts = () if not kind.decides or scenario.in_rounds else kind.amount_keys
    unbelieved = [key for key in keys if key in amounts and belief_pair(scenario, key)[1] is None]
    return {key: own_value(scenario, key) for key in unbelieved if key.startswith("economics.")}


def known_keys(scenario: schema.ScenarioHead, keys: Iterable[str]) -> list[str]:
    """Return the keys whose true value the publisher knows at every point.

    These are keys without a belief, except the payoff parameters in `planned_amounts`.
    """
    others = [key for key in keys if belief_pair(scenario, key)[1] is None]
    return [key for key in others if key not in planned_amounts(scenario, others)]


def belief_points(
    scenario: schema.ScenarioHead, key: str, true: Iterable[Any] | None, believed: Iterable[Any] | None
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
    truth, beliefs = belief_pair(scenario, key)
    if beliefs is None or truth != key:
        fields = getattr(type(getattr(scenario, "beliefs", None)), "model_fields", ())
        names = [f"economics.{name}" for name in fields if name not in ("sizes", "lists")]
        expected = f"a parameter with beliefs: {listed(names)}" if names else "a game with beliefs"
        raise InputError("the publisher has no belief about this parameter", where="key", found=key, expected=expected)
    values = {
        "true": [own_value(scenario, key)] if true is None else true,
        "believed": [believed_values(scenario, [key])[beliefs]] if believed is None else believed,
    }
    for name, each in values.items():
        if each == [None]:
            raise InputError("the scenario sets no value for the key", where=name, expected=f"values of {key}")
    rows = [{key: t, **_with_gain(scenario, {beliefs: b})} for b in values["believed"] for t in values["true"]]
    return pd.DataFrame(rows).astype(object)


def _with_gain(scenario: schema.ScenarioHead, beliefs: dict[str, Any]) -> dict[str, Any]:
    """Return beliefs, with the believed gain added if the gain follows the loss.

    The believed gain is then equal to the believed loss; a gain in `beliefs` is kept. The gain follows the loss if the
    loss is among `beliefs` and the scenario states neither the gain nor a belief about it. Otherwise, `beliefs` is
    returned unchanged.
    """
    economics = getattr(scenario, "economics", None)
    follows = isinstance(economics, EconomicsSection) and economics.gain is None
    if follows and "beliefs.loss" in beliefs and own_value(scenario, "beliefs.gain") is None:
        return {**beliefs, "beliefs.gain": beliefs.get("beliefs.gain", beliefs["beliefs.loss"])}
    return beliefs


def with_method(loaded: Scenario[Any], method: str | None, samples: int | None) -> Scenario[Any]:
    """Return the scenario with another sensitivity method or number of samples.

    The result requests a sensitivity analysis, even if the scenario did not. If both options are None, the scenario is
    returned unchanged.

    Raises
    ------
    InputError
        If there is no such method, or the number of samples is invalid for the method.
    """
    given = {f"stress.sensitivity.{name}": value for name, value in (("method", method), ("samples", samples))}
    try:
        return loaded.overridden({key: value for key, value in given.items() if value is not None})
    except InputError as error:
        # The scenario file was valid before, so the option must be invalid.
        raise error.but(source="--method" if samples is None else "--samples", where=None) from None


def wanted_parts(scenario: schema.ScenarioHead) -> schema.StressSection:
    """Return the section ``stress`` of a scenario.

    If it requests no analysis, sensitivity and robustness with default options are added. Discovery adds robustness,
    whose points it examines.
    """
    section, added = scenario.stress or schema.StressSection(), dict[str, Any]()
    if not section.has_parts:
        added["sensitivity"] = schema.SensitivitySection()
    if added or (section.discovery is not None and section.robustness is None):
        added["robustness"] = schema.RobustnessSection()
    return section.model_copy(update=added)


def uncertainty_of(scenario: schema.ScenarioHead) -> schema.UncertaintySection:
    """Return the section with the uncertain parameters of a scenario.

    Raises
    ------
    InputError
        If the scenario has no such section.
    """
    if scenario.uncertainty is None:
        raise InputError("section missing", where="uncertainty", expected="distributions of the uncertain parameters")
    return scenario.uncertainty


# An analysis with its section, how the publisher plans at its points, and its points; belief curves have one table of
# points per curve.
Part = tuple[str, Any, Planning, list[pd.DataFrame]]


def parts_of(loaded: Scenario[Any], section: schema.StressSection) -> Iterator[Part]:
    """Yield the analyses that evaluate points, in the order of computation.

    Each is a tuple of its name (``sensitivity``, ``tornado``, ``robustness``, ``belief_curves`` or ``policy_map``), its
    section, its planning (see `Evaluator.at`) and a list of tables with one row per point and one column per key path.
    There is one table, or, for belief curves, one per curve, which includes the believed values.

    Raises
    ------
    InputError
        If parameters are uncertain but the scenario has no section ``uncertainty``, correlations are not consistent or
        not supported, a tornado chart varies a parameter without an own value, or the scenario has no belief about the
        key of a curve.
    """
    scenario, defaults = loaded.scenario, loaded.own_parameters()
    if section.sensitivity is not None and section.sensitivity.method == "tornado":
        uncertainty = uncertainty_of(scenario)
        own = {key: defaults.get(key, own_value(scenario, key)) for key in uncertainty.parameters}
        missing = next((key for key, value in own.items() if value is None), None)
        problem = "a tornado chart needs a value of the parameter"
        refuse_first((missing is not None, problem, "uncertainty.parameters", missing, "a value in the scenario"))
        yield "tornado", section.sensitivity, section.planning, [analyses.tornado_points(uncertainty, own)]
    elif section.sensitivity is not None:
        uncertainty = uncertainty_of(scenario)
        points = analyses.sensitivity_design(uncertainty, section.sensitivity, scenario.seed).points(uncertainty)
        yield "sensitivity", section.sensitivity, section.planning, [points]
    if section.robustness is not None:
        uncertainty = uncertainty_of(scenario)
        own = {"samples": section.robustness.samples or uncertainty.samples}
        points = draw_points(uncertainty.model_copy(update=own), scenario.seed)
        yield "robustness", section.robustness, "as-believed", [points]
    if section.beliefs:
        curves = []
        for number, curve in enumerate(section.beliefs):
            true, believed = (
                values and sweep_points(schema.SweepSection(values={curve.key: values}))[curve.key].tolist()
                for values in (curve.true, curve.believed)
            )
            with locating(where=f"stress.beliefs[{number}]"):
                curves.append(belief_points(scenario, curve.key, true, believed))
        yield "belief_curves", section.beliefs, "informed", curves
    if section.map is not None:
        yield "policy_map", section.map, section.planning, [sweep_points(section.map.as_sweep())]


def stress_loaded(
    loaded: Scenario[Any],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    runs: Path | None = None,
) -> StressResult:
    """Compute the effects of a scenario's uncertain parameters on the decision.

    Parameters
    ----------
    loaded : Scenario
        Section ``stress`` states the analyses; default: sensitivity and robustness.
    executor : Executor, optional
        Where runs are done; default: the choice of the batch engine.
    progress : callable, optional
        Called with the task, the completed steps and all steps.
    runs : Path, optional
        Folder that keeps finished runs for a repeated call.

    Returns
    -------
    StressResult

    Raises
    ------
    InputError
        If a key is not supported, a point is invalid, a file cannot be used or changes, or every run of an analysis
        failed.
    """
    stress = _Stress(loaded)
    with locating(loaded.path):
        _, clock, report = begun(loaded, progress)
        return stress.run(clock, executor, report, runs)


class _Stress:
    """A stress test; each analysis adds tables and warnings.

    Raises
    ------
    InputError
        If the game does not support a policy, an output or an analysis of section ``stress`` of the scenario, or a
        point is invalid; the message names the file and the key or point.
    """

    def __init__(self, loaded: Scenario[Any]) -> None:
        self._loaded, self._scenario = loaded, loaded.scenario
        self._section = section = wanted_parts(loaded.scenario)
        self._tables, self._warnings = dict[str, pd.DataFrame](), list[str]()
        kind = kind_of(loaded.scenario)
        has = {*columns_of(outputs_among(kind.measures))}
        # Default outputs that the kind of scenario lacks are left out; such outputs in the section are refused below.
        self._outputs = tuple(each for each in section.outputs if each in has or "outputs" in section.model_fields_set)
        with locating(loaded.path):
            own = kind.policies_of(loaded.scenario)
            require_among("not a policy of the scenario", section.policies, own, where="stress.policies")
            self._policies = section.policies or own
            self._check(has)
            for _, _, planning, tables in parts_of(loaded, section):
                for points in tables:
                    if planning == "as-believed":
                        points = points.assign(**believed_values(loaded.scenario, map(str, points.columns)))
                    check_points(loaded, Design(points.drop(columns=WHO_COMES) if name_adversaries(points) else points))

    def _check(self, has: set[str]) -> None:
        """Check that the game supports the outputs and analyses of the section.

        `has` are the names of the game's outputs. An `InputError` is raised if a requested output is not among them, if
        a batch does not compute the requested quantile of the risk, if discovery names a policy that is not compared,
        or if the game does not support the guarantee.
        """
        scenario, section, kind = self._scenario, self._section, kind_of(self._scenario)
        drawn = section.sensitivity is not None or section.robustness is not None
        at_once = can_be_played_at_once(scenario, tuple(uncertainty_of(scenario).parameters) if drawn else ())
        wanted = {"stress.outputs": self._outputs}
        if (discovery := section.discovery) is not None:
            wanted["stress.discovery.output"] = (discovery.output,)
            chosen = () if discovery.policy is None else (discovery.policy,)
            require_among("not among the compared policies", chosen, self._policies, where="stress.discovery.policy")
        for where, outputs in wanted.items():
            if RISK_QUANTILE.column in outputs and not at_once and section.risk_level not in QUANTILE_COLUMNS:
                problem, found = "batches do not compute this quantile", section.risk_level
                expected = f"one of {listed(level for level in LEVELS.values() if 0 < level < 1)}"
                raise InputError(problem, where="stress.risk_level", found=found, expected=expected)
            require_among(f"not an output of game {kind.name!r}", outputs, sorted(has), where=where, shown=20)
        if section.guarantee and not kind.plans_under_amounts(scenario):
            raise InputError("the guarantee needs a record-level game", where="stress.guarantee")

    def run(self, clock: Clock, executor: Executor | None, report: Progress, folder: Path | None) -> StressResult:
        """Perform every requested analysis; return the result.

        `clock` records the time of each analysis; for the other arguments, see `Evaluator`. A failed point adds a
        warning, and the state is then ``incomplete``.

        Raises
        ------
        InputError
            If every run of an analysis failed, or a data file changed.
        """
        discovery = self._section.discovery
        self._evaluator = Evaluator(
            self._loaded,
            self._policies,
            risk_level=self._section.risk_level,
            people=bool({*self._outputs, discovery and discovery.output} & {*columns_of(REIDENTIFIED)}),
            executor=executor,
            folder=folder,
            report=report,
        )
        facts = dict[str, Any](points={}, failed_points={}, state=COMPLETE)
        files = DataFiles(self._loaded, Design(pd.DataFrame(index=range(1))))
        for part, section, planning, drawn in parts_of(self._loaded, self._section):
            found = [(points, self._evaluator.at(points, planning, part.replace("_", " "))) for points in drawn]
            getattr(self, f"_{part}")(section, *found)
            n_points = sum(map(len, drawn))
            failures = pd.concat([outcomes.failures for _, outcomes in found])
            facts["points"][part], facts["failed_points"][part] = n_points, len(failures)
            if len(failures):
                facts["state"] = INCOMPLETE
                self._warnings.append(
                    f"{part}: runs failed at {len(failures):,} of {n_points:,} points, which were left out; "
                    f"point {failures['point'].iloc[0]}: {failures['error'].iloc[0]}"
                )
            clock.lap(part)
        if self._section.guarantee:
            _, believed = economics_of(self._scenario)
            self._tables["guarantee"] = analyses.guarantee_table(self._evaluator.plans, self._policies, believed)
            clock.lap("guarantee")
        # Each part reads the data files itself; all parts must have read the same data.
        files.require_unchanged()
        return StressResult(self._tables, **common_fields(self._loaded, clock.laps, facts, self._warnings))

    def _columns(self, outcomes: analyses.Outcomes) -> list[str]:
        """Return the columns of the chosen outputs that exist in a table of outcomes.

        The publisher's payoff comes first, also if it is not chosen.
        """
        return [name for name in dict.fromkeys((analyses.PAYOFF, *self._outputs)) if name in outcomes.table]

    def _sensitivity(self, section: schema.SensitivitySection, found: tuple[pd.DataFrame, analyses.Outcomes]) -> None:
        (points, outcomes), seed = found, self._scenario.seed
        design = analyses.sensitivity_design(uncertainty_of(self._scenario), section, seed)
        bootstrap = analyses.stress_seeds(seed)[1]
        table = analyses.sensitivity_table(design, outcomes, self._policies, self._outputs, bootstrap)
        samples = outcomes.table[["point", "policy", *self._columns(outcomes)]]
        self._tables |= {"sensitivity": table, "samples": analyses.at_points(points, samples)}
        self._warnings += analyses.sensitivity_warnings(table, section)

    def _tornado(self, section: schema.SensitivitySection, found: tuple[pd.DataFrame, analyses.Outcomes]) -> None:
        self._tables["tornado"] = analyses.tornado_table(*found, self._policies, self._outputs)

    def _robustness(self, section: schema.RobustnessSection, found: tuple[pd.DataFrame, analyses.Outcomes]) -> None:
        (points, outcomes), policies, scenario = found, self._policies, self._scenario
        keys, kind = tuple(map(str, points.columns)), kind_of(scenario)
        informed = pd.Series(dtype=np.float64)
        strategies = dict[str, pd.DataFrame]()
        if at_once := can_be_played_at_once(scenario, keys):
            anew = self._evaluator.at(points, "informed", "robustness")
            informed = anew.table.groupby("policy", observed=True)[analyses.PAYOFF].mean()
        if section.criteria and kind.plans_under_amounts(scenario):
            if set(keys) <= set(kind.amount_keys):
                rows, strategies["robust_strategies"] = self._robust_strategies(points, section)
                outcomes = replace(outcomes, table=pd.concat([outcomes.table, rows]))
                policies += tuple(f"robust-{criterion}" for criterion in section.criteria)
            else:
                reason = "robust strategies need payoff parameters as the only uncertain parameters"
                self._warnings.append(f"robustness: no strategies per record; {reason}")
        plain = [] if at_once else [key for key in keys if key != WHO_COMES or not name_adversaries(points)]
        self._warnings += [
            f"robustness: {key} has no counterpart in beliefs; the publisher knows its value at every point"
            for key in known_keys(scenario, plain)
        ]
        outputs = {name: outcomes.matrix(name, policies, len(points)) for name in self._columns(outcomes)}
        table = analyses.robustness_table(policies, outputs[analyses.PAYOFF], section.quantile)
        self._tables["robustness"] = table.assign(informed_payoff=informed.reindex(list(policies)).to_numpy())
        self._tables |= {"regrets": analyses.regret_table(points, policies, outputs), **strategies}
        if (discovery := self._section.discovery) is not None:
            chosen = policies if discovery.policy is None else (discovery.policy,)
            self._tables |= box_tables(points, uncertainty_of(scenario), outcomes, chosen, discovery)

    def _robust_strategies(
        self, points: pd.DataFrame, section: schema.RobustnessSection
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the outcomes of robust strategies, and their strategy table.

        The outcomes are rows of further policies, one per criterion, as in `analyses.Outcomes.table`.

        `points` has one row per point and columns of payoff parameters only. A robust strategy is chosen for each
        record by a criterion over all points; the policy is named ``robust-`` plus the criterion.
        """
        truths, plans = [truth for truth, _ in self._evaluator.economics(points)], self._evaluator.plans
        choices = robust_choices(
            [plans.study.game(truth) for truth in truths],
            section.criteria,
            quantile=section.quantile,
            progress=partial(self._evaluator.report, "robust strategies"),
        )
        played = {f"robust-{criterion}": plans.play(each.strategies) for criterion, each in choices.items()}
        rows = [
            {"point": point, "policy": policy, **self._evaluator.measures(plan, truth, point)}
            for policy, plan in played.items()
            for point, truth in enumerate(truths)
        ]
        return pd.DataFrame(rows), analyses.strategy_table(kind_of(self._scenario), plans.study, choices)

    def _belief_curves(
        self, curves: Sequence[schema.BeliefCurveSection], *found: tuple[pd.DataFrame, analyses.Outcomes]
    ) -> None:
        parts = (
            analyses.curve_table(*belief_pair(self._scenario, curve.key), *each, self._columns(each[1]))
            for curve, each in zip(curves, found, strict=True)
        )
        table = pd.concat(parts, ignore_index=True)
        plain = {column: analyses.numbers_or_text(table[column].tolist()) for column in ("true", "believed")}
        self._tables["belief_curves"] = table.assign(**plain)

    def _policy_map(self, section: schema.PolicyMapSection, found: tuple[pd.DataFrame, analyses.Outcomes]) -> None:
        self._tables["policy_map"] = analyses.map_table(section, found[0], self._policies, found[1])


@dataclass(frozen=True, eq=False, repr=False)
class StressResult(Result):
    """The result of a stress test; see `Result` for further parameters.

    Parameters
    ----------
    tables : dict of str to DataFrame
        The requested tables, in this order: ``sensitivity`` (see `sensitivity_table`), ``samples`` (the outputs of each
        policy at its points), ``tornado`` (see `tornado_table`), ``robustness`` (see `robustness_table`; additional
        column ``informed_payoff``: mean payoff if the policy is planned anew with the values of each point; missing if
        points need separate runs), ``regrets``, ``robust_strategies``, ``boxes``, ``peeling``, ``belief_curves``,
        ``policy_map`` and ``guarantee`` (see `regret_table`, `strategy_table`, `box_tables`, `curve_table`, `map_table`
        and `guarantee_table`).
    """

    tables: dict[str, pd.DataFrame]

    @property
    def uncertainties(self) -> pd.DataFrame:
        """Sampled values of the uncertain parameters: a row per point, a column per key path.

        The points are those of the robustness analysis; without it, of the sensitivity analysis. Raises `InputError` if
        the stress test has neither; so do the next two properties.
        """
        keys = list(self.manifest["content"]["uncertainty"]["parameters"])
        return self._sampled.drop_duplicates("point").set_index("point")[keys]

    @property
    def levers(self) -> pd.DataFrame:
        """Compared policies, including robust strategies of each record: one row per ``policy``."""
        return self._sampled[["policy"]].drop_duplicates(ignore_index=True)

    @property
    def outcomes(self) -> pd.DataFrame:
        """Outputs by ``point`` and ``policy`` (the index): a row for each combination of the two.

        With the robustness analysis, there are also ``regret`` and ``best``; see `regret_table`.
        """
        return self._sampled.set_index(["point", "policy"]).drop(columns=self.uncertainties.columns)

    @property
    def _sampled(self) -> pd.DataFrame:
        table = self.tables.get("regrets", self.tables.get("samples"))
        if table is None:
            raise InputError("no sampled points in the results", source=self.name, expected="robustness or sensitivity")
        return table

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        return cls(tables, **common)

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder, by name."""
        return self.tables


def describe(loaded: Scenario[Any]) -> str:
    """Check the inputs of a scenario; return one line on its size.

    For a batch, the values of every point are checked, but data files are read for the first point only. No game is
    solved.

    Raises
    ------
    InputError
        If a file, value, hierarchy, adversary or policy cannot be used, or section ``stress`` requests an output or
        analysis that the game does not have.
    """
    if loaded.scenario.stress is not None:
        # Creating a stress test checks its section and points.
        _Stress(loaded)
    loaded = without_adversary_uncertainty(loaded)
    if not is_batch(loaded.scenario):
        return check_once(loaded)
    design = design_of(loaded)
    check_points(loaded, design)
    points = f"{counted(len(design.points), 'point')}, {counted(design.replications, 'replication')} of each"
    return f"{points}; the first: {check_once(at_point(loaded, design.values(0)))}"
