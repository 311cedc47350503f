"""What a record-level run draws besides its policies: one record's strategies, and how a sequential planner behaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reidsim.kinds.tables.release import coded_records
from reidsim.kinds.tables.sequential_figures import attack_table, belief_table, file_table
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.study import AnalysisTables

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordFigures(AnalysisTables):
    """Tables behind the figures; empty where the scenario does not ask for them.

    Parameters
    ----------
    strategies : DataFrame
        The whole strategy space of one record.
    attacks, beliefs, file_attack : DataFrame
        Behaviour of the sequential planner; see `reidsim.kinds.tables.sequential_figures`.
    """

    strategies: pd.DataFrame = field(default_factory=pd.DataFrame)
    attacks: pd.DataFrame = field(default_factory=pd.DataFrame)
    beliefs: pd.DataFrame = field(default_factory=pd.DataFrame)
    file_attack: pd.DataFrame = field(default_factory=pd.DataFrame)


def figure_tables(study: TablesStudy, *, progress: Progress | None = None) -> RecordFigures:
    """Work out everything that the scenario's section ``figures`` asks for."""
    work = _work(study)
    tables: dict[str, Any] = {}
    for done, (name, make) in enumerate(work.items()):
        if progress is not None:
            progress(done, len(work))
        tables[name] = make()
    if progress is not None and work:
        progress(len(work), len(work))
    return RecordFigures(**tables)


def _work(study: TablesStudy) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return what makes each table that the scenario asks for."""
    wanted = study.scenario.figures
    work: dict[str, Callable[[], pd.DataFrame]] = {}
    if (record := wanted.strategies) is not None:
        work["strategies"] = lambda: strategy_table(study, record)
    if (sequential := wanted.sequential) is not None:
        work["attacks"] = lambda: attack_table(study, sequential)
        if sequential.beliefs:
            work["beliefs"] = lambda: belief_table(study, sequential)
        if (file_attack := sequential.file_attack) is not None:
            work["file_attack"] = lambda: file_table(study, sequential, file_attack)
    return work


def strategy_table(study: TablesStudy, record: Mapping[str, str]) -> pd.DataFrame:
    """Play every strategy for one record (Wan et al. 2015, Fig. 5).

    Returns
    -------
    DataFrame
        One row per strategy in lattice order: record, strategy, generalization_intensity, utility,
        publisher_payoff, adversary_payoff, attacked, success_probability and the quasi-identifiers as released.
    """
    codes = coded_records(study.lattice.domain, [record], "figures.strategies")
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
