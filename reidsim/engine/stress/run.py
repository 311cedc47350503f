"""Run a stress test: effects of uncertain parameters on outcomes and decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.measures import columns_of
from reidsim.engine.batch.design import COMPLETE, Design, check_points, draw_points, sweep_points
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.folder import INCOMPLETE, DataFiles
from reidsim.engine.results import LEVELS, Clock, Result, begun, make_manifest
from reidsim.engine.stress import analyses
from reidsim.engine.stress.analyses import (
    PAYOFF,
    numbers_or_text,
    sensitivity_design,
    sensitivity_table,
    sensitivity_warnings,
    stress_seeds,
)
from reidsim.engine.stress.outcomes import (
    QUANTILE_COLUMNS,
    Evaluator,
    Outcomes,
    Planning,
    belief_key,
    belief_points,
    believed_values,
    can_be_played_at_once,
    chosen_outputs,
    chosen_policies,
    known_keys,
    name_adversaries,
    outputs_among,
)
from reidsim.errors import InputError, listed, locating, require_among
from reidsim.games.measures import REIDENTIFIED, RISK_QUANTILE
from reidsim.games.robust import robust_choices
from reidsim.scenarios import design_schema as schema
from reidsim.scenarios.agents import WHO_COMES
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead, economics_of
from reidsim.scenarios.study import Progress


def with_method(loaded: Scenario[ScenarioHead], method: str | None, samples: int | None) -> Scenario[ScenarioHead]:
    """Return the scenario with another sensitivity method or number of samples.

    The result requests a sensitivity analysis, even if the scenario did not. If both options are None, the scenario is
    returned unchanged.

    Raises
    ------
    InputError
        If the number of samples is invalid for the method.
    """
    given = {f"stress.sensitivity.{name}": value for name, value in (("method", method), ("samples", samples))}
    try:
        return loaded.overridden({key: value for key, value in given.items() if value is not None})
    except InputError as error:
        # The scenario file was valid before, so the option must be invalid.
        raise error.but(source="--method" if samples is None else "--samples", where=None) from None


def wanted_parts(scenario: ScenarioHead) -> schema.StressSection:
    """Return the section ``stress`` of a scenario.

    If it requests no analysis, sensitivity and robustness with default options are added. Discovery adds robustness,
    whose points it examines.
    """
    section, added = scenario.stress or schema.StressSection(), dict[str, Any]()
    if not section.has_parts:
        added = {"sensitivity": schema.SensitivitySection(), "robustness": schema.RobustnessSection()}
    elif section.discovery is not None and section.robustness is None:
        added = {"robustness": schema.RobustnessSection()}
    return section.model_copy(update=added)


def uncertainty_of(scenario: ScenarioHead) -> schema.UncertaintySection:
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


def parts_of(scenario: ScenarioHead, section: schema.StressSection) -> Iterator[Part]:
    """Yield the analyses that evaluate points.

    See `Evaluator.at` for planning. The points of belief curves include the believed values.

    Raises
    ------
    InputError
        If correlations are not consistent, or the scenario has no belief about the key of a curve.
    """
    if section.sensitivity is not None:
        uncertainty = uncertainty_of(scenario)
        points = sensitivity_design(uncertainty, section.sensitivity, scenario.seed).points(uncertainty)
        yield "sensitivity", section.sensitivity, section.planning, [points]
    if section.robustness is not None:
        uncertainty, samples = uncertainty_of(scenario), section.robustness.samples
        if samples is not None:
            uncertainty = uncertainty.model_copy(update={"samples": samples})
        yield "robustness", section.robustness, "as-believed", [draw_points(uncertainty, scenario.seed)]
    if section.beliefs:
        curves = []
        for number, curve in enumerate(section.beliefs):
            sweeps = [
                values and schema.SweepSection(values={curve.key: values}) for values in (curve.true, curve.believed)
            ]
            true, believed = (sweep and sweep_points(sweep)[curve.key].tolist() for sweep in sweeps)
            with locating(where=f"stress.beliefs[{number}]"):
                curves.append(belief_points(scenario, curve.key, true, believed))
        yield "belief_curves", section.beliefs, "informed", curves
    if section.map is not None:
        yield "policy_map", section.map, section.planning, [sweep_points(section.map.as_sweep())]


def check_stress(loaded: Scenario[ScenarioHead]) -> None:
    """Check every analysis and point of a stress test, without solving a game.

    Raises
    ------
    InputError
        If a key is not supported or a point is invalid; the message names the file and the key or point.
    """
    section = wanted_parts(loaded.scenario)
    with locating(loaded.path):
        _check_section(loaded.scenario, section)
        for _, _, planning, drawn in parts_of(loaded.scenario, section):
            for points in drawn:
                if planning == "as-believed":
                    points = points.assign(**believed_values(loaded.scenario, map(str, points.columns)))
                check_points(loaded, Design(points.drop(columns=WHO_COMES) if name_adversaries(points) else points))


def _check_section(scenario: ScenarioHead, section: schema.StressSection) -> None:
    """Check that the game supports the policies, outputs and analyses of a section.

    Raises
    ------
    InputError
        If it lacks one of them; the message names the key.
    """
    policies, kind = chosen_policies(scenario, section.policies), kind_of(scenario)
    drawn = section.sensitivity is not None or section.robustness is not None
    at_once = can_be_played_at_once(scenario, tuple(uncertainty_of(scenario).parameters) if drawn else ())
    wanted = [("stress.outputs", output) for output in chosen_outputs(scenario, section)]
    if section.discovery is not None:
        wanted.append(("stress.discovery.output", section.discovery.output))
        if section.discovery.policy is not None:
            own, where = (section.discovery.policy,), "stress.discovery.policy"
            require_among("not among the compared policies", own, policies, where=where)
    for where, output in wanted:
        if output == RISK_QUANTILE.column and not at_once and section.risk_level not in QUANTILE_COLUMNS:
            problem, expected = "batches do not compute this quantile", listed(x for x in LEVELS.values() if 0 < x < 1)
            where, found = "stress.risk_level", section.risk_level
            raise InputError(problem, where=where, found=found, expected=f"one of {expected}")
        problem, has = f"not an output of game {kind.name!r}", sorted(columns_of(outputs_among(kind.measures)))
        require_among(problem, (output,), has, where=where, shown=20)
    if section.guarantee and not kind.plans_under_amounts(scenario):
        raise InputError("the guarantee needs a record-level game", where="stress.guarantee")


def stress_loaded(
    loaded: Scenario[ScenarioHead],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    runs: Path | None = None,
) -> StressResult:
    """Compute the effects of a scenario's uncertain parameters on the decision."""
    check_stress(loaded)
    with locating(loaded.path):
        _, clock, report = begun(loaded, progress)
        return _Stress(loaded, executor, report, runs).run(clock)


class _Stress:
    """A running stress test; each analysis adds tables and warnings."""

    def __init__(
        self, loaded: Scenario[ScenarioHead], executor: Executor | None, report: Progress, folder: Path | None
    ) -> None:
        self._loaded, self._scenario, self._report = loaded, loaded.scenario, report
        self._section = section = wanted_parts(loaded.scenario)
        self._policies = chosen_policies(loaded.scenario, section.policies)
        self._outputs = chosen_outputs(loaded.scenario, section)
        discovered = () if section.discovery is None else (section.discovery.output,)
        people = bool({*self._outputs, *discovered} & set(columns_of(REIDENTIFIED)))
        self._evaluator = Evaluator(loaded, self._policies, section.risk_level, people, executor, folder, report)
        self._tables: dict[str, pd.DataFrame] = {}
        self._warnings: list[str] = []

    def run(self, clock: Clock) -> StressResult:
        """Perform every requested analysis."""
        facts = dict[str, Any](points={}, failed_points={})
        files = DataFiles(self._loaded, Design(pd.DataFrame(index=range(1))))
        for part, section, planning, drawn in parts_of(self._scenario, self._section):
            found = [(points, self._evaluator.at(points, planning, part.replace("_", " "))) for points in drawn]
            getattr(self, f"_{part}")(section, *found)
            n_points, failures = sum(map(len, drawn)), pd.concat([outcomes.failures for _, outcomes in found])
            facts["points"][part], facts["failed_points"][part] = n_points, len(failures)
            if len(failures):
                first = failures.iloc[0]
                self._warnings.append(
                    f"{part}: runs failed at {len(failures):,} of {n_points:,} points, which were left out; "
                    f"point {first['point']}: {first['error']}"
                )
            clock.lap(part)
        if self._section.guarantee:
            _, believed = economics_of(self._scenario)
            self._tables["guarantee"] = analyses.guarantee_table(self._evaluator.plans, self._policies, believed)
            clock.lap("guarantee")
        # Each part reads the data files itself; all parts must have read the same data.
        files.require_unchanged()
        facts["state"] = INCOMPLETE if any(facts["failed_points"].values()) else COMPLETE
        tables = {name: self._tables[name] for name in TABLES if name in self._tables}
        manifest = make_manifest(self._loaded, clock.laps, facts)
        return StressResult(self._loaded.name, tables, manifest, tuple(self._warnings))

    def _columns(self, outcomes: Outcomes) -> list[str]:
        """Return the columns of the chosen outputs that exist, with the payoff first."""
        return [name for name in dict.fromkeys((PAYOFF, *self._outputs)) if name in outcomes.table]

    def _sensitivity(self, section: schema.SensitivitySection, found: tuple[pd.DataFrame, Outcomes]) -> None:
        (points, outcomes), seed = found, self._scenario.seed
        design = sensitivity_design(uncertainty_of(self._scenario), section, seed)
        table = sensitivity_table(design, outcomes, self._policies, self._outputs, stress_seeds(seed)[1])
        self._tables["sensitivity"] = table
        self._tables["samples"] = analyses.sample_table(points, outcomes, self._columns(outcomes))
        self._warnings += sensitivity_warnings(table, section)

    def _robustness(self, section: schema.RobustnessSection, found: tuple[pd.DataFrame, Outcomes]) -> None:
        (points, outcomes), policies, scenario = found, self._policies, self._scenario
        keys, kind = tuple(map(str, points.columns)), kind_of(scenario)
        informed = pd.Series(dtype=np.float64)
        if at_once := can_be_played_at_once(scenario, keys):
            anew = self._evaluator.at(points, "informed", "robustness")
            informed = anew.table.groupby("policy", observed=True)[PAYOFF].mean()
        if section.criteria and kind.plans_under_amounts(scenario):
            if set(keys) <= set(kind.amount_keys):
                outcomes = self._with_robust_strategies(points, outcomes, section)
                policies += tuple(f"robust-{criterion}" for criterion in section.criteria)
            else:
                reason = "robust strategies need payoff parameters as the only uncertain parameters"
                self._warnings.append(f"robustness: no strategies per record; {reason}")
        plain = [] if at_once else [key for key in keys if key != WHO_COMES or not name_adversaries(points)]
        self._warnings += [
            f"robustness: {key} has no counterpart in beliefs; the publisher knows its value at every point"
            for key in known_keys(scenario, plain)
        ]
        payoffs = outcomes.matrix(PAYOFF, policies, len(points))
        table = analyses.robustness_table(policies, payoffs, section.quantile)
        self._tables["robustness"] = table.assign(informed_payoff=informed.reindex(list(policies)).to_numpy())
        self._tables["regrets"] = analyses.regret_table(points, policies, payoffs)
        if (discovery := self._section.discovery) is not None:
            chosen = policies if discovery.policy is None else (discovery.policy,)
            uncertainty = uncertainty_of(scenario)
            self._tables["boxes"] = analyses.box_table(points, uncertainty, outcomes, chosen, discovery)

    def _with_robust_strategies(
        self, points: pd.DataFrame, outcomes: Outcomes, section: schema.RobustnessSection
    ) -> Outcomes:
        """Return the outcomes with robust strategies as further policies.

        A robust strategy is chosen for each record by a criterion over all points; the policy is named ``robust-`` plus
        the criterion. Also stores table ``robust_strategies``.
        """
        truths, plans = [truth for truth, _ in self._evaluator.economics(points)], self._evaluator.plans
        choices = robust_choices(
            [plans.study.game(truth) for truth in truths],
            section.criteria,
            quantile=section.quantile,
            progress=lambda done, total: self._report("robust strategies", done, total),
        )
        played = {f"robust-{criterion}": plans.play(each.strategies) for criterion, each in choices.items()}
        rows = [
            {"point": point, "policy": policy, **self._evaluator.measures(plan, truth, point)}
            for policy, plan in played.items()
            for point, truth in enumerate(truths)
        ]
        self._tables["robust_strategies"] = analyses.strategy_table(kind_of(self._scenario), plans.study, choices)
        return Outcomes(pd.concat([outcomes.table, pd.DataFrame(rows)]), outcomes.failures)

    def _belief_curves(
        self, curves: Sequence[schema.BeliefCurveSection], *found: tuple[pd.DataFrame, Outcomes]
    ) -> None:
        parts = []
        for curve, (points, outcomes) in zip(curves, found, strict=True):
            believed = belief_key(self._scenario, curve.key)
            parts.append(analyses.curve_table(curve.key, believed, points, outcomes, self._columns(outcomes)))
        table = pd.concat(parts, ignore_index=True)
        plain = {column: numbers_or_text(table[column].tolist()) for column in ("true", "believed")}
        self._tables["belief_curves"] = table.assign(**plain)

    def _policy_map(self, section: schema.PolicyMapSection, found: tuple[pd.DataFrame, Outcomes]) -> None:
        payoffs = found[1].matrix(PAYOFF, self._policies, len(found[0]))
        self._tables["policy_map"] = analyses.map_table(section, found[0], self._policies, payoffs)


# Tables of a stress test, in the order of the analysis.
TABLES = (
    "sensitivity",
    "samples",
    "robustness",
    "regrets",
    "robust_strategies",
    "boxes",
    "belief_curves",
    "policy_map",
    "guarantee",
)


@dataclass(frozen=True, eq=False)
class StressResult(Result):
    """The result of a stress test.

    Parameters
    ----------
    name : str
        Scenario.
    tables : dict of str to DataFrame
        The requested tables of `TABLES`: ``sensitivity`` (see `sensitivity_table`), ``samples`` (its points, see
        `sample_table`), ``robustness`` (see `robustness_table`; additional column ``informed_payoff``: mean payoff if
        the policy is planned anew with the values of each point; missing if points need separate runs), ``regrets``,
        ``robust_strategies``, ``boxes``, ``belief_curves``, ``policy_map`` and ``guarantee`` (see `regret_table`,
        `strategy_table`, `box_table`, `curve_table`, `map_table` and `guarantee_table`).
    manifest : dict
        Scenario, versions and options behind the result.
    warnings : tuple of str
        Notes for readers of the result.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"StressResult({self.name!r}: {', '.join(self.tables)})"

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder, by name."""
        return self.tables
