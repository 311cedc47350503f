"""Compute optional tables of record-level runs: strategies, sequential attacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.file_attack import plan_file, plan_with_budget
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.errors import InputError
from reidsim.kinds.tables.release import coded_records
from reidsim.kinds.tables.study import TablesStudy
from reidsim.random_streams import random_stream
from reidsim.scenarios.figures_schema import FileAttackSection, SequentialFiguresSection
from reidsim.scenarios.study import AnalysisTables

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordFigures(AnalysisTables):
    """Tables behind optional figures; a table that was not requested is empty.

    Parameters
    ----------
    strategies : DataFrame
        Outcomes of every strategy for a single record; see `strategy_table`.
    attacks, beliefs, file_attack : DataFrame
        Behaviour of the sequential planner; see `attack_table`, `belief_table` and `file_table`.
    """

    strategies: pd.DataFrame = field(default_factory=pd.DataFrame)
    attacks: pd.DataFrame = field(default_factory=pd.DataFrame)
    beliefs: pd.DataFrame = field(default_factory=pd.DataFrame)
    file_attack: pd.DataFrame = field(default_factory=pd.DataFrame)


def figure_tables(study: TablesStudy, *, progress: Progress | None = None) -> RecordFigures:
    """Compute the tables that the scenario section ``figures`` requests."""
    wanted, work = study.scenario.figures, dict[str, Callable[[], pd.DataFrame]]()
    if (record := wanted.strategies) is not None:
        work["strategies"] = lambda: strategy_table(study, record)
    if (sequential := wanted.sequential) is not None:
        work["attacks"] = lambda: attack_table(study, sequential)
        if sequential.beliefs:
            work["beliefs"] = lambda: belief_table(study, sequential)
        if (file_attack := sequential.file_attack) is not None:
            work["file_attack"] = lambda: file_table(study, sequential, file_attack)
    tables: dict[str, Any] = {}
    for name, make in work.items():
        if progress is not None:
            progress(len(tables), len(work))
        tables[name] = make()
    if progress is not None and work:
        progress(len(work), len(work))
    return RecordFigures(**tables)


def strategy_table(study: TablesStudy, record: Mapping[str, str]) -> pd.DataFrame:
    """Evaluate every strategy for a single record (Wan et al. 2015, Fig. 5).

    Parameters
    ----------
    study : TablesStudy
    record : mapping of str to str
        Value of each quasi-identifier.

    Returns
    -------
    DataFrame
        One row per strategy in lattice order: ``record`` (its values, in every row), ``strategy``,
        ``generalization_intensity``, ``utility``, ``publisher_payoff`` and ``adversary_payoff`` (in currency units),
        ``attacked``, ``success_probability`` and the quasi-identifiers as released.
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


def settings_of(study: TablesStudy, section: SequentialFiguresSection) -> dict[str, SequentialAttack]:
    """Return the sequential attack under each setting of the comparison, by name."""
    base = study.sequential_attack(study.scenario.economics)
    return {name: replace(base, **change.model_dump(exclude_none=True)) for name, change in section.settings.items()}


def attack_table(study: TablesStudy, section: SequentialFiguresSection) -> pd.DataFrame:
    """Plan the attack for each group size (Xia et al. 2015, Figs. 6 to 8).

    Returns
    -------
    DataFrame
        Per setting, planner ("fmdp", or "baseline": one random exploit, Eq. 7) and group size: value (expected payoff
        at the outset, in currency units), risk (probability of re-identification) and exploits (number of exploits if
        none succeeds and none is detected).
    """
    sizes = np.arange(1, section.largest_group + 1)
    parts = []
    for setting, attack in settings_of(study, section).items():
        plans = {"fmdp": plan_known(attack, sizes), "baseline": plan_baseline(attack, sizes)}
        for planner, plan in plans.items():
            made = exploits_undetected(attack, sizes) if planner == "fmdp" else np.ones_like(sizes)
            part = pd.DataFrame({"group_size": sizes, "value": plan.value, "risk": plan.reidentified})
            part["exploits"] = np.where(plan.accesses, made, 0)
            parts.append(part.assign(setting=setting, planner=planner))
    columns = ["setting", "planner", "group_size", "value", "risk", "exploits"]
    return pd.concat(parts, ignore_index=True)[columns]


def belief_table(study: TablesStudy, section: SequentialFiguresSection) -> pd.DataFrame:
    """Compare risks under known and unknown group sizes (Xia et al. 2015, Fig. 9).

    The records are unchanged, without generalization.

    Returns
    -------
    DataFrame
        Per setting and distinct pair of group_size (in the registry) and match_probability (share of the population
        with the record's values): risk_known, risk_unknown and records (number of records).
    """
    if study.own.registry is None:
        raise InputError(
            "the attack has no registry",
            source=study.loaded.path,
            where="adversary.sequential.registry",
            expected="a population",
        )
    link = study.truth.linker.link(study.lattice.most_specific)
    share = link.match_probability
    assert share is not None  # noqa: S101 - a linker of a registry knows the population
    parts = []
    for setting, attack in settings_of(study, section).items():
        belief = BinomialBelief(round(study.own.registry.total), share)
        cells = pd.DataFrame(
            {
                "group_size": link.group_sizes,
                "match_probability": share,
                "risk_known": plan_known(attack, link.group_sizes).reidentified,
                "risk_unknown": plan_unknown(attack, link.group_sizes, belief).reidentified,
                "records": study.weights,
            }
        )
        pairs = cells.groupby(
            ["group_size", "match_probability", "risk_known", "risk_unknown"], as_index=False, observed=True
        )
        parts.append(pd.DataFrame(pairs["records"].sum()).assign(setting=setting))
    table = pd.concat(parts, ignore_index=True)
    columns = ["setting", "group_size", "match_probability", "risk_known", "risk_unknown", "records"]
    return pd.DataFrame(table, columns=columns)


def file_table(study: TablesStudy, section: SequentialFiguresSection, file_attack: FileAttackSection) -> pd.DataFrame:
    """Compare separate attacks on records with one attack on the whole file.

    The attack on the file pays for access once. The records are unchanged, without generalization. Settings with a
    limit on penalties are omitted, because the penalties of records in one file would depend on each other.

    Returns
    -------
    DataFrame
        Per setting and plan ("one by one", "whole file", "whole file with budget"): value (expected payoff at the
        outset, sum over all records, in currency units), upper_bound (on the value of any plan within the budget),
        standard_error (of the value, which is simulated if a budget binds; risk and exploits are then also estimates),
        share_attacked (share of records that may be exploited), risk (mean probability of re-identification) and
        exploits (expected number).
    """
    sizes = np.asarray(study.group_sizes.at(study.lattice.most_specific))[study.cell_of_record]
    rows = []
    for setting, attack in settings_of(study, section).items():
        if attack.counts_penalties:
            continue
        alone, whole = plan_known(attack, sizes), plan_file(attack, sizes)
        plans: list[tuple[str, float, float, float, Any]] = [
            ("one by one", alone.value.sum(), np.nan, 0.0, alone),
            ("whole file", whole.value, np.nan, 0.0, whole),
        ]
        if file_attack.budget is not None and not attack.detection_ends_attack:
            rng = random_stream(study.scenario.seed, "file-attack")
            plan = plan_with_budget(attack, sizes, file_attack.budget, rng, draws=file_attack.draws)
            bound = attack.discount * plan.upper_bound - attack.access_cost
            error = attack.discount * plan.standard_error
            plans.append(("whole file with budget", plan.value, bound, error, plan))
        for name, *value, found in plans:
            risk, exploits = float(found.reidentified.mean()), found.exploits
            rows.append((setting, name, *value, float((exploits > 0).mean()), risk, float(exploits.sum())))
    columns = ["setting", "plan", "value", "upper_bound", "standard_error", "share_attacked", "risk", "exploits"]
    return pd.DataFrame(rows, columns=columns)
