"""Solving a record-level study: every policy of its scenario, evaluated on the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.experiments.run_result import MEASURES
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.lattice_search import lattice_search
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.scenarios.build import RecordStudy
from reidsim.scenarios.given import given_policies


def solve_policies(study: RecordStudy, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Equilibrium]:
    """Play every policy of the scenario: choose by what the publisher believes, evaluate by what is true.

    Returns
    -------
    dict of str to Equilibrium
        Per policy, in the scenario's order; arrays over the distinct cells of the records.
    """
    policies: tuple[str, ...] = study.scenario.publisher.policies
    own = {policy.name: policy.choose(study.belief) for policy in given_policies(study.loaded.given, policies)}
    constraints = {name: constraint_of(name, study) for name in policies if not is_fixed(name) and name not in own}
    choices = _solve(study.belief, constraints, study.scenario.publisher.solver, progress)
    fixed = {name: fixed_choice(name, study) for name in policies if is_fixed(name)}
    return {name: evaluate(study.truth, {**own, **choices, **fixed}[name]) for name in policies}


def is_fixed(policy: str) -> bool:
    """Tell whether a policy is a rule rather than a game."""
    return policy in ("safe-harbor", "no-protection", "suppress-all")


def constraint_of(policy: str, study: RecordStudy) -> Constraint:
    """Return what the publisher restricts itself to under a game policy."""
    if policy == "sh-friendly":
        return Constraint(minimum=study.safe_harbor)
    return Constraint(no_attack=policy == "no-attack")


def fixed_choice(policy: str, study: RecordStudy) -> Choice:
    """Return the strategies that a rule prescribes."""
    n = study.lattice.n_records
    if policy == "safe-harbor":
        if study.safe_harbor is None:
            raise InputError("section missing", source=study.loaded.path, where="safe_harbor")
        strategies = study.safe_harbor
    elif policy == "no-protection":
        strategies = np.full(n, study.lattice.most_specific, dtype=np.int64)
    else:
        strategies = np.full(n, study.lattice.size - 1, dtype=np.int64)
    return Choice(strategies, "fixed", np.zeros(n, dtype=np.int64), exact=False)


def _solve(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    solver: str,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Choice]:
    if not constraints:
        return {}
    if solver == "backward-induction":
        return backward_induction(game, constraints, progress=progress)
    if solver == "branch-and-bound":
        return {name: branch_and_bound(game, constraint) for name, constraint in constraints.items()}
    return {name: lattice_search(game) for name in constraints}


def summarise(study: RecordStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Average the outcomes of each policy over all records.

    Returns
    -------
    DataFrame
        Indexed by policy, one column per name in `MEASURES`. ``risk`` is the mean probability of re-identification
        over all records, ``risk_if_attacked`` over the attacked ones (missing when there is none).
    """
    weights = study.multiplicity
    rows = [averages(equilibrium, weights) for equilibrium in equilibria.values()]
    return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"), columns=list(MEASURES))


def averages(equilibrium: Equilibrium, weights: NDArray[np.int64]) -> dict[str, float]:
    """Average the outcomes of cells over their records, `weights` (n_cells,) in each; by name in `MEASURES`."""
    attacked = equilibrium.attacked
    intensity = equilibrium.generalization_intensity
    risk = np.where(attacked, equilibrium.success_probability, 0.0)
    any_attack = (weights * attacked).sum() > 0
    return {
        "publisher_payoff": np.average(equilibrium.publisher_payoff, weights=weights),
        "adversary_payoff": np.average(equilibrium.adversary_payoff, weights=weights),
        "utility": np.average(equilibrium.utility, weights=weights),
        "generalization_intensity": np.average(intensity, weights=weights),
        "share_attacked": np.average(attacked, weights=weights),
        "risk": np.average(risk, weights=weights),
        "risk_if_attacked": np.average(risk, weights=weights * attacked) if any_attack else np.nan,
        "share_unchanged": np.average(intensity == 0, weights=weights),
        "share_suppressed": np.average(intensity == 1, weights=weights),
    }


def record_table(study: RecordStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return one row per record and policy, with the quasi-identifiers as released (missing when withheld).

    Returns
    -------
    DataFrame
        Columns record, policy, strategy, publisher_payoff, adversary_payoff, attacked, success_probability, utility,
        generalization_intensity and the quasi-identifiers; records numbered from 0 in the order of the release.
    """
    return outcomes_by_record(study.lattice, study.cell_of_record, equilibria)


def outcomes_by_record(
    lattice: GeneralizationLattice, cells: NDArray[np.intp], equilibria: Mapping[str, Equilibrium]
) -> pd.DataFrame:
    """Return the table of `record_table`; `cells` (n_records,) tells the cell of each record."""
    used, parts = sorted({int(s) for e in equilibria.values() for s in np.unique(e.strategies)}), []
    position = {strategy: at for at, strategy in enumerate(used)}
    names = ["withheld" if strategy == WITHHELD else lattice.describe(strategy) for strategy in used]
    labels = pd.Index(names, dtype="str")
    for number, equilibrium in enumerate(equilibria.values()):
        record = equilibrium.expand(cells)
        strategy_code = np.array([position[s] for s in equilibrium.strategies.tolist()], dtype=np.int32)[cells]
        outcome = pd.DataFrame(
            {
                "record": np.arange(len(cells)),
                "policy": pd.Categorical.from_codes(
                    np.full(len(cells), number), categories=pd.Index(list(equilibria), dtype="str")
                ),
                "strategy": pd.Categorical.from_codes(strategy_code, categories=labels),
                "publisher_payoff": record.publisher_payoff,
                "adversary_payoff": record.adversary_payoff,
                "attacked": record.attacked,
                "success_probability": record.success_probability,
                "utility": record.utility,
                "generalization_intensity": record.generalization_intensity,
            }
        )
        parts.append(pd.concat([outcome, lattice.released(record.strategies, cells)], axis=1))
    return pd.concat(parts, ignore_index=True)
