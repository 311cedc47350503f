"""What a scenario works out besides its policies: one record's strategies, maps, lines, deviation of a heuristic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.experiments.record_measures import search_deviation
from reidsim.experiments.run_result import AnalysisTables
from reidsim.experiments.sequential_analysis import (
    attack_table,
    belief_table,
    file_table,
    runtime_table,
    threshold_table,
)
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import evaluate
from reidsim.games.lattice_search import lattice_search
from reidsim.games.parameter_grid import (
    Options,
    ParameterPoints,
    average_outcomes,
    fixed_options,
    undominated_options,
)
from reidsim.kinds.tables.policies import POLICIES
from reidsim.kinds.tables.release import coded_records
from reidsim.kinds.tables.solving import constraint_of, rule_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.analysis_schema import LinesSection, MapsSection
from reidsim.scenarios.schema import EconomicsSection

PARAMETERS = ("benefit", "loss", "cost")
ALL_RECORDS = "all records"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Analysis(AnalysisTables):
    """Tables behind the figures; empty where the scenario does not ask for them.

    Parameters
    ----------
    strategies : DataFrame
        The whole strategy space of one record.
    maps : DataFrame
        Over benefit and loss, for single records and averaged over all.
    lines : DataFrame
        Every policy while one parameter changes.
    deviations : DataFrame
        Lattice-based search against the optimum while one parameter changes.
    attacks, beliefs, file_attack, thresholds, runtimes : DataFrame
        Behaviour of the sequential planner; see `reidsim.experiments.sequential_analysis`.
    """

    strategies: pd.DataFrame = field(default_factory=pd.DataFrame)
    maps: pd.DataFrame = field(default_factory=pd.DataFrame)
    lines: pd.DataFrame = field(default_factory=pd.DataFrame)
    deviations: pd.DataFrame = field(default_factory=pd.DataFrame)
    attacks: pd.DataFrame = field(default_factory=pd.DataFrame)
    beliefs: pd.DataFrame = field(default_factory=pd.DataFrame)
    file_attack: pd.DataFrame = field(default_factory=pd.DataFrame)
    thresholds: pd.DataFrame = field(default_factory=pd.DataFrame)
    runtimes: pd.DataFrame = field(default_factory=pd.DataFrame)


def analyse(study: TablesStudy, *, progress: Progress | None = None) -> Analysis:
    """Work out everything that the scenario's section ``analysis`` asks for.

    In maps and lines the publisher knows the parameters of each point. The adversary's gain follows the loss unless
    the scenario states a gain.
    """
    work = _work(study)
    left_out = []
    # Maps and lines thin each record's strategies by a rule that holds for an adversary who weighs one exploit.
    if study.scenario.adversary.planner != "one-shot":
        for name in sorted({"maps", "lines"} & set(work)):
            del work[name]
            left_out.append(f"analysis.{name} is worked out for planner one-shot only and was left out")
    tables = {}
    for done, (name, make) in enumerate(work.items()):
        if progress is not None:
            progress(done, len(work))
        tables[name] = make()
    if progress is not None and work:
        progress(len(work), len(work))
    return Analysis(**tables, left_out=tuple(left_out))


def _work(study: TablesStudy) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return what makes each table that the scenario asks for."""
    wanted = study.scenario.analysis
    work: dict[str, Callable[[], pd.DataFrame]] = {}
    if (record := wanted.strategies) is not None:
        work["strategies"] = lambda: strategy_table(study, record)
    if (maps := wanted.maps) is not None:
        work["maps"] = lambda: map_table(study, maps)
    if (lines := wanted.lines) is not None:
        work["lines"] = lambda: line_table(study, lines)
    if (deviation := wanted.search_deviation) is not None:
        work["deviations"] = lambda: deviation_table(study, deviation)
    if (sequential := wanted.sequential) is not None:
        work["attacks"] = lambda: attack_table(study, sequential)
        if sequential.beliefs:
            work["beliefs"] = lambda: belief_table(study, sequential)
        if (file_attack := sequential.file_attack) is not None:
            work["file_attack"] = lambda: file_table(study, sequential, file_attack)
        if sequential.thresholds is not None:
            work["thresholds"] = lambda: threshold_table(study, sequential)
        if (runtimes := sequential.runtimes) is not None:
            work["runtimes"] = lambda: runtime_table(study, runtimes)
    return work


def strategy_table(study: TablesStudy, record: Mapping[str, str]) -> pd.DataFrame:
    """Play every strategy for one record (Wan et al. 2015, Fig. 5).

    Returns
    -------
    DataFrame
        One row per strategy in lattice order: record, strategy, generalization_intensity, utility,
        publisher_payoff, adversary_payoff, attacked, success_probability and the quasi-identifiers as released.
    """
    codes = coded_records(study.lattice.domain, [record], "analysis.strategies")
    game, lattice = study.game_of(codes), study.lattice_of(codes)
    outcomes = [game.outcome(strategy) for strategy in range(lattice.size)]
    outcome_table = pd.DataFrame(
        {
            "record": ", ".join(record[name] for name in lattice.domain.names),
            "strategy": [lattice.describe(strategy) for strategy in range(lattice.size)],
            "generalization_intensity": lattice.generalization_intensity(np.arange(lattice.size)),
            "utility": [outcome.utility[0] for outcome in outcomes],
            "publisher_payoff": [outcome.publisher_payoff[0] for outcome in outcomes],
            "adversary_payoff": [outcome.response.adversary_payoff[0] for outcome in outcomes],
            "attacked": [bool(outcome.response.attacks[0]) for outcome in outcomes],
            "success_probability": [outcome.response.success[0] for outcome in outcomes],
        }
    )
    every = np.arange(lattice.size)
    released = lattice.released(every, np.zeros_like(every)).astype("str")
    return pd.concat([outcome_table, released], axis=1)


def map_table(study: TablesStudy, section: MapsSection) -> pd.DataFrame:
    """Solve the basic game over a grid of benefit and loss (Wan et al. 2015, Figs. 8 to 10).

    Returns
    -------
    DataFrame
        Per map and grid point: record (or "all records"), benefit, loss, generalization_intensity, share_attacked,
        publisher_payoff, adversary_payoff.
    """
    benefit, loss = np.meshgrid(section.benefit.values, section.loss.values, indexing="ij")
    points = _points(study.scenario.economics, benefit=benefit.ravel(), loss=loss.ravel())
    parts = []
    if section.records:
        codes = coded_records(study.lattice.domain, section.records, "analysis.maps.records")
        lattice = study.lattice_of(codes)
        options = undominated_options(lattice, study.game_of(codes).linker)
        for number, record in enumerate(section.records):
            label = ", ".join(record[name] for name in lattice.domain.names)
            one = options.of_record(number)
            parts.append(_point_table(one, np.ones(1, dtype=np.int64), points).assign(record=label))
    if section.dataset:
        options = undominated_options(study.lattice, study.truth.linker)
        parts.append(_point_table(options, study.released, points).assign(record=ALL_RECORDS))
    maps = [part.assign(benefit=points.benefit, loss=points.loss) for part in parts]
    columns = ["record", "benefit", "loss", "generalization_intensity", "share_attacked"]
    return pd.concat(maps, ignore_index=True)[[*columns, "publisher_payoff", "adversary_payoff"]]


def line_table(study: TablesStudy, section: LinesSection) -> pd.DataFrame:
    """Solve every policy of the scenario while one parameter changes (Wan et al. 2015, Fig. 11).

    Returns
    -------
    DataFrame
        Per parameter, value and policy: the averages over records.
    """
    policies = study.scenario.publisher.policies
    options: dict[bool, Options] = {}
    parts = []
    for policy in policies:
        constraint = constraint_of(study, policy)
        if POLICIES[policy].is_rule:
            chosen = rule_of(study, policy)
            own = fixed_options(study.lattice, study.truth.linker, chosen)
        else:
            restricted = constraint.minimum is not None
            if restricted not in options:
                options[restricted] = undominated_options(study.lattice, study.truth.linker, constraint)
            own = options[restricted]
        no_attack = constraint.no_attack and not POLICIES[policy].is_rule
        for parameter, values in _ranges(section).items():
            points = _points(study.scenario.economics, **{parameter: values})
            table = _point_table(own, study.released, points, no_attack=no_attack)
            parts.append(table.assign(parameter=parameter, value=values, policy=policy))
    lines = pd.concat(parts, ignore_index=True)
    return lines[["parameter", "value", "policy", *[c for c in lines if c not in ("parameter", "value", "policy")]]]


def deviation_table(study: TablesStudy, section: LinesSection) -> pd.DataFrame:
    """Compare lattice-based search with the optimum while one parameter changes (Wan et al. 2015, Fig. 12).

    Returns
    -------
    DataFrame
        Per parameter and value: publisher_payoff_difference and adversary_payoff_difference (means of the absolute
        differences, D_p of Eq. 6 and D_a), share_optimal (of records with the optimal payoff) and evaluated
        (strategies worked out per record).
    """
    weights = study.released
    rows = []
    for parameter, values in _ranges(section).items():
        for value in values.tolist():
            economics = _economics(study.scenario.economics, **{parameter: value})
            game = study.game(economics)
            found, best = evaluate(game, lattice_search(game)), evaluate(game, branch_and_bound(game))
            rows.append({"parameter": parameter, "value": value, **search_deviation(found, best, game.tie(), weights)})
    return pd.DataFrame(rows)


def _economics(base: EconomicsSection, **changes: float) -> EconomicsSection:
    return base.model_copy(update=changes)


def _points(base: EconomicsSection, **changes: NDArray[np.float64]) -> ParameterPoints:
    loss = changes.get("loss", base.loss)
    return ParameterPoints.broadcast(
        changes.get("benefit", base.benefit),
        loss,
        loss if base.gain is None else base.gain,
        changes.get("cost", base.cost),
    )


def _point_table(
    options: Options, weights: NDArray[np.int64], points: ParameterPoints, *, no_attack: bool = False
) -> pd.DataFrame:
    return pd.DataFrame(vars(average_outcomes(options, weights, points, no_attack=no_attack)))


def _ranges(section: LinesSection) -> dict[str, NDArray[np.float64]]:
    ranges = {name: getattr(section, name) for name in PARAMETERS}
    return {name: given.values for name, given in ranges.items() if given is not None}
