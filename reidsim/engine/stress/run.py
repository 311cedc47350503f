"""Run a stress test: effects of uncertain parameters on outcomes and decision."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch import Executor
from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import Design, sweep_points
from reidsim.engine.batch.folder import COMPLETE, INCOMPLETE
from reidsim.engine.results import Clock, Result, make_manifest
from reidsim.engine.stress.adversary_points import name_adversaries
from reidsim.engine.stress.checks import check_stress, uncertainty_of, wanted_parts
from reidsim.engine.stress.guarantee import guarantee_table
from reidsim.engine.stress.outcomes import (
    Evaluator,
    Outcomes,
    asks_for_people,
    can_be_played_at_once,
    chosen_outputs,
    chosen_policies,
    economics_at,
)
from reidsim.engine.stress.planning import belief_key, known_keys
from reidsim.engine.stress.robustness import robustness_table
from reidsim.engine.stress.sensitivity import design_points, robustness_points, sensitivity_design, stress_seeds
from reidsim.engine.stress.tables import (
    PAYOFF,
    box_table,
    curve_points,
    curve_table,
    map_table,
    numbers_or_text,
    regret_table,
    sample_table,
    sensitivity_table,
    sensitivity_warnings,
    strategy_table,
)
from reidsim.errors import InputError, locating
from reidsim.games.robust import robust_choices
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES
from reidsim.scenarios.stress_schema import PolicyMapSection, RobustnessSection, SensitivitySection
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


def stress_loaded(
    loaded: Scenario[ScenarioHead],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    runs: Path | None = None,
) -> StressResult:
    """Compute the effects of a scenario's uncertain parameters on the decision."""
    check_stress(loaded)
    loaded.makers()
    with locating(loaded.path):
        return _Stress(loaded, executor, progress or (lambda task, done, total: None), runs).run()


class _Stress:
    """A running stress test; each analysis adds tables, warnings and manifest entries."""

    def __init__(
        self, loaded: Scenario[ScenarioHead], executor: Executor | None, report: Progress, folder: Path | None
    ) -> None:
        self._loaded, self._scenario, self._report = loaded, loaded.scenario, report
        self._kind = kind_of(loaded.scenario)
        self._section = section = wanted_parts(loaded.scenario)
        self._policies = chosen_policies(loaded.scenario, section.policies)
        people = asks_for_people(loaded.scenario, section)
        self._evaluator = Evaluator(loaded, self._policies, section.risk_level, people, executor, folder, report)
        self._tables: dict[str, pd.DataFrame] = {}
        self._warnings: list[str] = []
        self._facts: dict[str, Any] = {"points": {}, "failed_points": {}}

    def run(self) -> StressResult:
        """Perform every requested analysis."""
        section, clock = self._section, Clock()
        self._report(f"reading {self._loaded.name}", 0, 1)
        files = DataFiles(self._loaded, Design(pd.DataFrame(index=range(1))))
        if section.sensitivity is not None:
            self._sensitivity(section.sensitivity)
            clock.lap("sensitivity")
        if section.robustness is not None or section.discovery is not None:
            self._robustness(section.robustness or RobustnessSection())
            clock.lap("robustness")
        if section.beliefs:
            self._belief_curves()
            clock.lap("belief_curves")
        if section.map is not None:
            self._map(section.map)
            clock.lap("policy_map")
        if section.guarantee:
            _, believed = economics_at(self._loaded, {})
            self._tables["guarantee"] = guarantee_table(self._evaluator.plans, self._policies, believed)
            clock.lap("guarantee")
        # Each part reads the data files itself; all parts must have read the same data.
        files.require_unchanged(self._loaded.path)
        self._facts["state"] = INCOMPLETE if any(self._facts["failed_points"].values()) else COMPLETE
        manifest = make_manifest(self._loaded, clock.laps, self._facts)
        tables = {name: self._tables[name] for name in TABLES if name in self._tables}
        return StressResult(self._loaded.name, tables, manifest, tuple(self._warnings))

    def _columns(self, outcomes: pd.DataFrame) -> list[str]:
        """Return the columns of the chosen outputs that exist, with the payoff first."""
        wanted = dict.fromkeys((PAYOFF, *chosen_outputs(self._scenario, self._section)))
        return [name for name in wanted if name in outcomes]

    def _note(self, part: str, n_points: int, failures: pd.DataFrame) -> None:
        """Record the number of points of an analysis; add a warning about failed points."""
        self._facts["points"][part] = n_points
        self._facts["failed_points"][part] = len(failures)
        if len(failures):
            first = failures.iloc[0]
            self._warnings.append(
                f"{part}: runs failed at {len(failures):,} of {n_points:,} points, which were left out; "
                f"point {first['point']}: {first['error']}"
            )

    def _sensitivity(self, section: SensitivitySection) -> None:
        uncertainty, seed = uncertainty_of(self._scenario), self._scenario.seed
        design = sensitivity_design(uncertainty, section, seed)
        points = design_points(uncertainty, design)
        outcomes = self._evaluator.at(points, self._section.planning, "sensitivity")
        outputs = chosen_outputs(self._scenario, self._section)
        table = sensitivity_table(design, outcomes, self._policies, outputs, section, stress_seeds(seed)[1])
        self._tables["sensitivity"] = table
        self._tables["samples"] = sample_table(points, outcomes, self._columns(outcomes.table))
        self._note("sensitivity", len(points), outcomes.failures)
        self._warnings += sensitivity_warnings(table, design)

    def _robustness(self, section: RobustnessSection) -> None:
        uncertainty, policies = uncertainty_of(self._scenario), self._policies
        points = robustness_points(uncertainty, section.samples, self._scenario.seed)
        keys = tuple(map(str, points.columns))
        outcomes, informed = self._evaluator.at(points, "as-believed", "robustness"), None
        known: list[str] = []
        if can_be_played_at_once(self._scenario, keys):
            informed = self._evaluator.at(points, "informed", "robustness")
        else:
            plain = [key for key in keys if key != WHO_COMES or not name_adversaries(points)]
            known = known_keys(self._scenario, plain)
        if section.criteria and self._kind.plans_under_amounts(self._scenario):
            if set(keys) <= set(self._kind.amount_keys):
                outcomes, robust = self._robust_strategies(points, outcomes, section)
                policies += robust
            else:
                reason = "robust strategies need payoff parameters as the only uncertain parameters"
                self._warnings.append(f"robustness: no strategies per record; {reason}")
        for key in known:
            self._warnings.append(
                f"robustness: {key} has no counterpart in beliefs; the publisher knows its value at every point"
            )
        payoffs = outcomes.matrix(PAYOFF, policies, len(points))
        self._tables["robustness"] = robustness_table(list(policies), payoffs, section.quantile)
        gain = pd.Series(dtype=np.float64)
        if informed is not None:
            gain = informed.table.groupby("policy", observed=True)[PAYOFF].mean()
        self._tables["robustness"]["informed_payoff"] = [float(gain.get(policy, np.nan)) for policy in policies]
        self._tables["regrets"] = regret_table(points, policies, payoffs)
        self._note("robustness", len(points), outcomes.failures)
        if (discovery := self._section.discovery) is not None:
            chosen = policies if discovery.policy is None else (discovery.policy,)
            self._tables["boxes"] = box_table(points, uncertainty, outcomes, chosen, discovery)

    def _robust_strategies(
        self, points: pd.DataFrame, outcomes: Outcomes, section: RobustnessSection
    ) -> tuple[Outcomes, tuple[str, ...]]:
        """Return the outcomes with robust strategies as further policies, and their names.

        A robust strategy is chosen for each record by a criterion over all points; the policy is named ``robust-`` plus
        the criterion. Also stores table ``robust_strategies``.
        """
        truths = [truth for truth, _ in self._evaluator.economics(points)]
        plans = self._evaluator.plans
        choices = robust_choices(
            [plans.study.game(truth) for truth in truths],
            section.criteria,
            quantile=section.quantile,
            progress=lambda done, total: self._report("robust strategies", done, total),
        )
        rows = []
        for criterion, robust in choices.items():
            plan = plans.play(robust.choice.strategies)
            for point, truth in enumerate(truths):
                measures = self._evaluator.measures(plan, truth, point)
                rows.append({"point": point, "policy": f"robust-{criterion}", **measures})
        self._tables["robust_strategies"] = strategy_table(self._kind, plans.study, choices)
        added = tuple(f"robust-{criterion}" for criterion in choices)
        return Outcomes(pd.concat([outcomes.table, pd.DataFrame(rows)]), outcomes.failures), added

    def _belief_curves(self) -> None:
        parts, failures = [], []
        for key, points in curve_points(self._scenario, self._section.beliefs):
            outcomes = self._evaluator.at(points, "informed", "belief curves")
            columns = self._columns(outcomes.table)
            parts.append(curve_table(key, belief_key(self._scenario, key), points, outcomes, columns))
            failures.append(outcomes.failures)
        table = pd.concat(parts, ignore_index=True)
        for column in ("true", "believed"):
            table[column] = numbers_or_text(table[column].tolist())
        self._tables["belief_curves"] = table
        self._note("belief_curves", len(table) // len(self._policies), pd.concat(failures, ignore_index=True))

    def _map(self, section: PolicyMapSection) -> None:
        points = sweep_points(section.as_sweep())
        outcomes = self._evaluator.at(points, self._section.planning, "map")
        payoffs = outcomes.matrix(PAYOFF, self._policies, len(points))
        self._tables["policy_map"] = map_table(section, points, self._policies, payoffs)
        self._note("policy_map", len(points), outcomes.failures)


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
