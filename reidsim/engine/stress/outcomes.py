"""Outcomes of every policy at many parameter points, whatever the game.

Where a kind can plan under any amounts of money at once, points that differ in these alone are computed here, in
milliseconds each; all others are runs of the batch engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.measures import Measure, columns_of
from reidsim.engine.batch import Design, Executor
from reidsim.engine.batch.design import at_point, check_points
from reidsim.engine.batch.runner import point_tables
from reidsim.engine.distributions import LEVELS
from reidsim.engine.stress.planning import believed_values
from reidsim.errors import InputError, listed, require_among
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import REIDENTIFIED, RISK_QUANTILE, averages
from reidsim.games.reidentified import reidentified_in
from reidsim.random_streams import nested_stream
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
from reidsim.scenarios.stress_schema import StressSection
from reidsim.scenarios.study import AmountPoints, Progress

Planning = Literal["informed", "as-believed"]
Drawn = Callable[[], np.random.Generator]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outputs at every point.

    Parameters
    ----------
    table : DataFrame
        One row per point and policy: ``point``, ``policy`` and the outputs, averaged over replications; missing where
        a run failed or has no such output.
    failures : DataFrame
        One row per point that has a failed run: ``point`` and ``error``.
    """

    table: pd.DataFrame
    failures: pd.DataFrame

    def matrix(self, output: str, policies: tuple[str, ...], n_points: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return an output as an array, shape (n_policies, n_points).

        Raises
        ------
        InputError
            If no run has it.
        """
        if output not in self.table:
            raise InputError(
                "no run of the scenario has this output", where="stress", found=output,
                expected=f"one of {listed([name for name in self.table if name not in ('point', 'policy')], 20)}",
            )  # fmt: skip
        wide = self.table.pivot(index="policy", columns="point", values=output)
        return wide.reindex(index=list(policies), columns=range(n_points)).to_numpy(dtype=np.float64)


class Evaluator(Protocol):
    """Computes outputs at points of the scenario's keys."""

    def at(self, points: pd.DataFrame, planning: Planning) -> Outcomes:
        """Return the outputs of every policy at every point, a row of `points`, one column per key path.

        Raises
        ------
        InputError
            If the scenario cannot have the values of a point; before anything is computed.
        """
        ...


def outputs_among(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """Return what a stress test may ask for, of the measures of a kind: these, and the quantile of the risk."""
    return (*measures, RISK_QUANTILE)


def chosen_outputs(scenario: ScenarioHead, section: StressSection) -> tuple[str, ...]:
    """Return the outputs asked for; if none are, those of the default that the game has."""
    if "outputs" in section.model_fields_set:
        return section.outputs
    has = columns_of(outputs_among(kind_of(scenario).measures))
    return tuple(output for output in section.outputs if output in has)


def chosen_policies(scenario: ScenarioHead, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the policies to be compared, all of the scenario's if none is wanted in particular.

    Raises
    ------
    InputError
        If the scenario does not have one of them.
    """
    own = kind_of(scenario).policies_of(scenario)
    require_among("not a policy of the scenario", wanted, own, where="stress.policies")
    return wanted or own


def can_be_played_at_once(scenario: ScenarioHead, keys: tuple[str, ...]) -> bool:
    """Tell whether points of these keys are points of one study that takes milliseconds at each."""
    return scenario.replications == 1 and kind_of(scenario).amounts_at_once(scenario, keys)


def economics_at(
    loaded: LoadedScenario[ScenarioHead], values: Mapping[str, Any]
) -> tuple[EconomicsSection, EconomicsSection]:
    """Return what is true at a point of a scenario that has amounts, and what the publisher believes there."""
    return economics_of(at_point(loaded, values).scenario)


def asks_for_people(scenario: ScenarioHead, section: StressSection) -> bool:
    """Tell whether any output of a stress test is about the number of people re-identified."""
    outputs = {*chosen_outputs(scenario, section), *(() if section.discovery is None else (section.discovery.output,))}
    return bool(outputs & set(columns_of(REIDENTIFIED)))


def measures_of(
    equilibrium: Equilibrium, weights: NDArray[np.int64], risk_level: float, drawn_by: Drawn | None = None
) -> dict[str, float]:
    """Return what an equilibrium leads to.

    Parameters
    ----------
    equilibrium : Equilibrium
    weights : ndarray of int64, shape (n_rows,)
    risk_level : float
        Of the quantile ``risk_quantile`` of the risk.
    drawn_by : callable, optional
        Returns the generator of what may have to be drawn of the number of people re-identified; that number is left
        out, if not given.

    Returns
    -------
    dict of str to float
        The averages over records of `runs.parquet`, and the rest by column.
    """
    quantile = float(np.quantile(np.repeat(equilibrium.risk, weights), risk_level))
    people = {} if drawn_by is None else reidentified_in(equilibrium, weights, drawn_by).measures()
    return {**averages(equilibrium, weights), RISK_QUANTILE.column: quantile, **people}


def drawn_at(loaded: LoadedScenario[ScenarioHead], point: int) -> Drawn:
    """Return what draws at a point."""
    return lambda: nested_stream(loaded.scenario.seed, "reidentified", (0, point))


def checked_economics(
    loaded: LoadedScenario[ScenarioHead], points: pd.DataFrame
) -> list[tuple[EconomicsSection, EconomicsSection]]:
    """Return the economics of `economics_at` at every point.

    Raises
    ------
    InputError
        If the scenario cannot have the values of a point; names the point and the key.
    """
    design = Design(points)
    try:
        return [economics_at(loaded, design.values(point)) for point in range(len(points))]
    except InputError:
        # The slower check of all points tells which point is at fault.
        check_points(loaded, design)
        raise


@dataclass(frozen=True, eq=False)
class AmountEvaluator:
    """Outputs of a scenario at points of its amounts of money.

    Parameters
    ----------
    loaded : LoadedScenario
    points : AmountPoints
    policies : tuple of str
    risk_level : float
        Of ``risk_quantile``.
    progress : callable, optional
    people : bool
        Whether the number of people re-identified is asked for.
    """

    loaded: LoadedScenario[ScenarioHead]
    points: AmountPoints
    policies: tuple[str, ...]
    risk_level: float
    progress: Callable[[int, int], None] | None = None
    people: bool = False

    def at(self, points: pd.DataFrame, planning: Planning) -> Outcomes:
        """See `Evaluator`; as believed, each policy is planned once, with all of the scenario's own prices."""
        economics = checked_economics(self.loaded, points)
        _, own_belief = economics_at(self.loaded, {})
        fixed = {policy: self.points.plan(policy, own_belief) for policy in self.policies}
        rows, weights = [], self.points.study.world(0).weights
        for point, (truth, believed) in enumerate(economics):
            for policy in self.policies:
                informed = (
                    planning == "informed"
                    and believed != own_belief
                    and not kind_of(self.loaded.scenario).policy(policy).is_rule
                )
                plan = self.points.plan(policy, believed) if informed else fixed[policy]
                draws = drawn_at(self.loaded, point) if self.people else None
                measures = measures_of(plan.equilibrium(truth), weights, self.risk_level, draws)
                rows.append({"point": point, "policy": policy, **measures})
            if self.progress is not None:
                self.progress(point + 1, len(economics))
        return Outcomes(pd.DataFrame(rows), _no_failures())


@dataclass(frozen=True, eq=False)
class BatchEvaluator:
    """Outputs of any scenario at points of any key, as runs of the batch engine.

    Parameters
    ----------
    loaded : LoadedScenario
    policies : tuple of str
    risk_level : float
        Of ``risk_quantile``; one of those that the engine keeps (`quantile_column`), or there is none.
    executor : Executor, optional
        Of the batch engine; what it takes for best if not given.
    progress : callable, optional
    folder : Path, optional
        Where runs that ended are kept, and found when the call is repeated.
    """

    loaded: LoadedScenario[ScenarioHead]
    policies: tuple[str, ...]
    risk_level: float
    executor: Executor | None = None
    progress: Progress | None = None
    folder: Path | None = None

    def at(self, points: pd.DataFrame, planning: Planning) -> Outcomes:
        """See `Evaluator`; as believed, the beliefs are held at the scenario's own values."""
        scenario = self.loaded.scenario
        if planning == "as-believed":
            pinned = believed_values(scenario, map(str, points.columns))
            points = points.assign(**pinned)
        return self.outcomes_at(points)

    def outcomes_at(self, points: pd.DataFrame, **options: Any) -> Outcomes:
        """Return the outputs that runs leave at some points; options are those of `point_tables`.

        Raises
        ------
        InputError
            If every run failed.
        """
        tables = point_tables(
            self.loaded, points, replications=self.loaded.scenario.replications, executor=self.executor,
            progress=self.progress, folder=self.folder, **options,
        )  # fmt: skip
        runs = _with_risk_quantile(tables, quantile_column(self.risk_level))
        ended_well = runs["state"] == "complete"
        failed = runs[~ended_well]
        if not ended_well.any():
            raise InputError("every run failed", source=self.loaded.path, found=str(failed["error"].iloc[0]))
        failures = failed.groupby("point", sort=True, observed=True)["error"].first().reset_index()
        measures = [
            column for column in columns_of(outputs_among(kind_of(self.loaded.scenario).measures)) if column in runs
        ]
        kept = runs[ended_well & runs["policy"].isin(self.policies)]
        table = kept.groupby(["point", "policy"], sort=False, observed=True)[measures].mean().reset_index()
        # A mean over the replications that happened to end well would not compare with that of another point.
        table.loc[table["point"].isin(failures["point"]), measures] = np.nan
        return Outcomes(table, failures)


def quantile_column(level: float) -> str | None:
    """Return the column of the engine's distributions over records with a quantile, or None if it keeps another."""
    return next((name for name, kept in LEVELS.items() if kept == level), None)


def _with_risk_quantile(tables: Mapping[str, pd.DataFrame], column: str | None) -> pd.DataFrame:
    """Return the runs with their ``risk_quantile``, where the engine keeps it."""
    distributions = tables.get("distributions")
    if column is None or distributions is None or "policy" not in distributions:
        return tables["runs"]
    risk = distributions[distributions["measure"] == "risk"]
    found = risk[["point", "replication", "policy", column]].rename(columns={column: RISK_QUANTILE.column})
    return tables["runs"].merge(found, on=["point", "replication", "policy"], how="left")


def _no_failures() -> pd.DataFrame:
    return pd.DataFrame({"point": pd.Series(dtype=np.int64), "error": pd.Series(dtype=str)})
