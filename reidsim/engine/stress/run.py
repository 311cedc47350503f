"""Running a stress test: from a scenario to tables of what its uncertain parameters mean for the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.engine.batch import Executor
from reidsim.engine.batch.data_files import DataFiles
from reidsim.engine.batch.design import Design, sweep_points
from reidsim.engine.batch.folder import COMPLETE, INCOMPLETE
from reidsim.engine.memory import build_within_memory
from reidsim.engine.results import Clock, Result, make_manifest
from reidsim.engine.stress.checks import check_stress, says_who_comes, uncertainty_of, wanted_parts
from reidsim.engine.stress.guarantee import guarantee_table
from reidsim.engine.stress.outcomes import (
    AmountEvaluator,
    BatchEvaluator,
    Evaluator,
    Outcomes,
    asks_for_people,
    can_be_played_at_once,
    checked_economics,
    chosen_outputs,
    chosen_policies,
    drawn_at,
    economics_at,
    measures_of,
)
from reidsim.engine.stress.parts import (
    PAYOFF,
    box_table,
    curve_table,
    left_out_blocks,
    map_table,
    robustness,
    sample_table,
    sensitivity_table,
    strategy_table,
    wide_intervals,
)
from reidsim.engine.stress.planning import belief_key, known_keys
from reidsim.engine.stress.sensitivity import design_points, robustness_points, sensitivity_design, stress_seeds
from reidsim.engine.stress.whoever_comes import OpponentEvaluator
from reidsim.errors import InputError, locating
from reidsim.games.robust import robust_choices
from reidsim.progress import watched
from reidsim.scenarios.design_schema import UncertaintySection
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES
from reidsim.scenarios.stress_schema import PolicyMapSection, RobustnessSection, SensitivitySection
from reidsim.scenarios.study import AmountPoints, Progress


@watched
def stress(
    scenario: str | Path,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    method: str | None = None,
    samples: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    runs: str | Path | None = None,
) -> StressResult:
    """Work out what the uncertain parameters of a scenario mean for the decision.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario, or a TOML file, with a section ``stress``, ``uncertainty`` or both.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    allow_code : bool
        Whether modules that the scenario names as adversary or policy may run.
    method : str, optional
        ``sobol`` or ``morris``: work out sensitivity by this method.
    samples : int, optional
        Of the sensitivity analysis.
    executor : Executor, optional
        Where runs of the batch engine are done.
    progress : callable, optional
        Called with what is being done, how much is done and how much there is.
    runs : str or Path, optional
        Folder in which runs of the batch engine that ended are kept, and found when the call is repeated.

    Returns
    -------
    StressResult

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used, or asks for what its game does not have.
    """
    loaded = load_scenario(scenario, overrides, seed=seed, allow_code=allow_code)
    return stress_loaded(
        with_method(loaded, method, samples),
        executor=executor,
        progress=progress,
        runs=None if runs is None else Path(runs),
    )


def with_method(
    loaded: LoadedScenario[ScenarioHead], method: str | None, samples: int | None
) -> LoadedScenario[ScenarioHead]:
    """Return the scenario with another method or number of samples of the sensitivity analysis.

    Raises
    ------
    InputError
        If the method cannot have this number of samples.
    """
    given = {name: value for name, value in (("method", method), ("samples", samples)) if value is not None}
    if not given:
        return loaded
    content = dict(loaded.content)
    section = dict(content.get("stress", {}))
    section["sensitivity"] = {**section.get("sensitivity", {}), **given}
    content["stress"] = section
    try:
        return replace(loaded.with_content(content), origins=loaded.origins)
    except InputError as error:
        # The file itself is valid, so it is what was given that is not.
        raise error.but(source="--method" if samples is None else "--samples", where=None) from None


def stress_loaded(
    loaded: LoadedScenario[ScenarioHead],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    runs: Path | None = None,
) -> StressResult:
    """Stress a scenario that has been read; see `stress`."""
    check_stress(loaded)
    loaded.makers()
    with locating(loaded.path):
        return _Stress(loaded, executor, progress or (lambda task, done, total: None), runs).run()


class _Stress:
    """A stress test in the making."""

    def __init__(
        self,
        loaded: LoadedScenario[ScenarioHead],
        executor: Executor | None,
        report: Progress,
        folder: Path | None,
    ) -> None:
        self._loaded, self._scenario = loaded, loaded.scenario
        self._executor, self._report, self._folder = executor, report, folder
        self._section = wanted_parts(self._scenario)
        self._policies = chosen_policies(self._scenario, self._section.policies)
        self._tables: dict[str, pd.DataFrame] = {}
        self._warnings: list[str] = []
        self._facts: dict[str, Any] = {"points": {}, "failed_points": {}}

    def run(self) -> StressResult:
        """Work out every part."""
        section, clock = self._section, Clock()
        self._report(f"reading {self._loaded.name}", 0, 1)
        files = DataFiles(self._loaded, Design(pd.DataFrame(index=range(1))))
        if section.sensitivity is not None:
            self._sensitivity(self._uncertainty, section.sensitivity)
            clock.lap("sensitivity")
        if section.robustness is not None or section.discovery is not None:
            self._robustness(self._uncertainty, section.robustness or RobustnessSection())
            clock.lap("robustness")
        if section.beliefs:
            self._belief_curves()
            clock.lap("belief_curves")
        if section.map is not None:
            self._map(section.map)
            clock.lap("policy_map")
        if section.guarantee:
            self._tables["guarantee"] = self._guarantee()
            clock.lap("guarantee")
        # Each part reads the data itself, and all must have read the same.
        files.require_unchanged(self._loaded.path)
        self._facts["state"] = INCOMPLETE if any(self._facts["failed_points"].values()) else COMPLETE
        manifest = make_manifest(self._loaded, clock.laps, self._facts)
        tables = {name: self._tables[name] for name in TABLES if name in self._tables}
        return StressResult(self._loaded.name, tables, manifest, tuple(self._warnings))

    # What the scenario holds.

    @property
    def _uncertainty(self) -> UncertaintySection:
        return uncertainty_of(self._scenario)

    @property
    def _kind(self) -> Kind:
        return kind_of(self._scenario)

    @cached_property
    def _points(self) -> AmountPoints:
        points = self._kind.amount_points(build_within_memory(self._loaded, "stress"))
        assert points is not None  # noqa: S101 - asked for where the kind has some
        return points

    @property
    def _people(self) -> bool:
        return asks_for_people(self._scenario, self._section)

    def _evaluator(self, points: pd.DataFrame, task: str) -> Evaluator:
        keys = tuple(map(str, points.columns))
        if can_be_played_at_once(self._scenario, keys):
            level = self._section.risk_level
            return AmountEvaluator(
                self._loaded, self._points, self._policies, level,
                lambda done, total: self._report(task, done, total), self._people,
            )  # fmt: skip
        report: Progress = lambda _, done, total: self._report(task, done, total)  # noqa: E731
        level = self._section.risk_level
        runner = OpponentEvaluator if says_who_comes(points) else BatchEvaluator
        return runner(self._loaded, self._policies, level, self._executor, report, self._folder)

    def _columns(self, outcomes: pd.DataFrame) -> list[str]:
        """Return the outputs asked for, the payoff first, as far as a table has them."""
        wanted = dict.fromkeys((PAYOFF, *chosen_outputs(self._scenario, self._section)))
        return [name for name in wanted if name in outcomes]

    def _note(self, part: str, n_points: int, failures: pd.DataFrame) -> None:
        """Keep how many points a part has, and tell of those that failed."""
        self._facts["points"][part] = n_points
        self._facts["failed_points"][part] = len(failures)
        if len(failures):
            first = failures.iloc[0]
            self._warnings.append(
                f"{part}: runs failed at {len(failures):,} of {n_points:,} points, which were left out; "
                f"point {first['point']}: {first['error']}"
            )

    # The parts.

    def _sensitivity(self, uncertainty: UncertaintySection, section: SensitivitySection) -> None:
        design = sensitivity_design(uncertainty, section, self._scenario.seed)
        points = design_points(uncertainty, design)
        evaluator = self._evaluator(points, "sensitivity")
        outcomes = evaluator.at(points, self._section.planning)
        _, seed = stress_seeds(self._scenario.seed)
        outputs = chosen_outputs(self._scenario, self._section)
        table = sensitivity_table(design, outcomes, self._policies, outputs, section, seed)
        self._tables["sensitivity"] = table
        self._tables["samples"] = sample_table(points, outcomes, self._columns(outcomes.table))
        self._note("sensitivity", len(points), outcomes.failures)
        self._warnings += left_out_blocks(table, design) + wide_intervals(table, design)

    def _robustness(self, uncertainty: UncertaintySection, section: RobustnessSection) -> None:
        points = robustness_points(uncertainty, section.samples, self._scenario.seed)
        keys = tuple(map(str, points.columns))
        evaluator = self._evaluator(points, "robustness")
        outcomes = evaluator.at(points, "as-believed")
        informed = evaluator.at(points, "informed") if isinstance(evaluator, AmountEvaluator) else None
        policies = self._policies
        if (
            self._kind.plans_under_amounts(self._scenario)
            and set(keys) <= set(self._kind.amount_keys)
            and section.criteria
        ):
            outcomes, robust = self._robust_strategies(points, outcomes, section)
            policies += robust
        elif self._kind.plans_under_amounts(self._scenario) and section.criteria:
            reason = "these need payoff parameters as the only uncertain parameters"
            self._warnings.append(f"robustness: no strategies per record; {reason}")
        if informed is None:
            plain = [key for key in keys if key != WHO_COMES or not says_who_comes(points)]
            for key in known_keys(self._scenario, plain):
                self._warnings.append(f"robustness: {key} has no counterpart in beliefs; it is known at every point")
        found = robustness(points, outcomes, policies, section.quantile, informed)
        self._tables["robustness"], self._tables["regrets"] = found.table, found.regrets
        self._note("robustness", len(points), outcomes.failures)
        if (discovery := self._section.discovery) is not None:
            chosen = policies if discovery.policy is None else (discovery.policy,)
            self._tables["boxes"] = box_table(points, uncertainty, outcomes, chosen, discovery)

    def _robust_strategies(
        self, points: pd.DataFrame, outcomes: Outcomes, section: RobustnessSection
    ) -> tuple[Outcomes, tuple[str, ...]]:
        """Add the outcomes of robust strategies, as policies ``robust-maximin`` and so on."""
        truths = [truth for truth, _ in checked_economics(self._loaded, points)]
        study, level = self._points.study, self._section.risk_level
        choices = robust_choices(
            [study.game(truth) for truth in truths],
            section.criteria,
            quantile=section.quantile,
            progress=lambda done, total: self._report("robust strategies", done, total),
        )
        rows = []
        for criterion, robust in choices.items():
            plan = self._points.play(robust.choice.strategies)
            for point, truth in enumerate(truths):
                draws = drawn_at(self._loaded, point) if self._people else None
                measures = measures_of(plan.equilibrium(truth), study.world(0).weights, level, draws)
                rows.append({"point": point, "policy": f"robust-{criterion}", **measures})
        self._tables["robust_strategies"] = strategy_table(self._kind, study, choices)
        added = tuple(f"robust-{criterion}" for criterion in choices)
        return Outcomes(pd.concat([outcomes.table, pd.DataFrame(rows)]), outcomes.failures), added

    def _belief_curves(self) -> None:
        section, scenario = self._section, self._scenario
        keys = [key for curve in section.beliefs for key in (curve.key, belief_key(scenario, curve.key)) if key]
        evaluator = self._evaluator(pd.DataFrame(columns=keys), "belief curves")
        table, failures = curve_table(scenario, section.beliefs, evaluator, self._columns)
        self._tables["belief_curves"] = table
        self._note("belief_curves", len(table) // len(self._policies), failures)

    def _map(self, section: PolicyMapSection) -> None:
        evaluator = self._evaluator(sweep_points(section.as_sweep()), "map")
        table, failures = map_table(section, evaluator, self._policies, self._section.planning)
        self._tables["policy_map"] = table
        self._note("policy_map", len(table), failures)

    def _guarantee(self) -> pd.DataFrame:
        _, believed = economics_at(self._loaded, {})
        return guarantee_table(self._points, self._policies, believed)


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
    """What a stress test found.

    Parameters
    ----------
    name : str
        Scenario.
    tables : dict of str to DataFrame
        Those of `TABLES` that were asked for.
    manifest : dict
        What made the result.
    warnings : tuple of str
        What a reader of the result should know.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"StressResult({self.name!r}: {', '.join(self.tables)})"

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return its tables."""
        return self.tables
