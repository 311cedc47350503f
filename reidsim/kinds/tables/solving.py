"""Choose generalizations under policies, in one pass for several if possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.directions.linker import directed_linker
from reidsim.games.full_domain.any_adversary import eager
from reidsim.games.full_domain.nodes import NodeOutcomes
from reidsim.games.iceberg import iceberg
from reidsim.games.record_game import Choice, Constraint, RecordGame
from reidsim.kinds.tables.person_lookup import choose_looked_up
from reidsim.releases.strategy_space import Strategies

if TYPE_CHECKING:
    # Avoids a circular import: the study's module imports the schema, whose default publisher reads the registry.
    from reidsim.kinds.tables.study import TablesStudy

# Name of the solver of multi-dimensional recoding.
SPLITS = "splits"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TablesChoice(Choice):
    """A choice of generalizations with details of its search.

    Parameters
    ----------
    planned_payout : float
        Payout over all records that the publisher expects, in currency units; NaN if unknown.
    nodes : tuple of int
        Nodes of the table: one, or one per round of local recoding; empty for other policies and without a solution.
    gap : float
        Bound on the difference between the payout and the optimum, as a share of the best case; NaN without a bound.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ndarray of int64, shape (n_cells,), optional
        Node whose equivalence classes are the units of decision for each cell, released or not.
    listed : NodeOutcomes, optional
        Outcomes of the nodes evaluated, if a search with a budget kept them.
    """

    planned_payout: float = np.nan
    nodes: tuple[int, ...] = ()
    gap: float = 0.0
    unproved_rounds: int = 0
    classes: Strategies | None = None
    listed: NodeOutcomes | None = None


def choose(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Return a policy's generalization of each cell in the publisher's game.

    Raises
    ------
    InputError
        If the policy cannot be played in this game.
    """
    return choose_all(study, (policy,), game)[policy]


def choose_all(
    study: TablesStudy, policies: Sequence[str], game: RecordGame, *, progress: Progress | None = None
) -> dict[str, Choice]:
    """Return the choices of policies of the package, by policy.

    Backward induction and the iceberg solver handle policies that optimize each record in one pass.

    Parameters
    ----------
    study : TablesStudy
        Study of the records to release.
    policies : sequence of str
    game : RecordGame
        Game against the adversaries that the publisher expects.
    progress : callable, optional
        Called with the number of steps done and the total.

    Raises
    ------
    InputError
        If a policy cannot be played in this game, or ignores limits on sensitive columns that the scenario sets.
    """
    publisher, report_all = study.scenario.publisher, progress or (lambda done, total: None)
    for name in policies:
        if publisher.attribute_limits and not study.policy(name).meets_attribute_limits:
            raise InputError("the policy does not support limits on sensitive columns", where=name)
    if (linker := directed_linker(game)) is not None:
        return {
            name: choose_looked_up(
                study,
                name,
                planned(study, name, game),
                linker,
                constraint_of(study, name),
                partial(choose, study, name),
            )
            for name in policies
        }
    each = [name for name in policies if study.policy(name).picks_each(publisher)]
    choices: dict[str, Choice] = {}
    if publisher.solver in ("backward-induction", "iceberg"):
        # Policies that plan on the same game are solved together, so that each generalization is linked only once.
        for strict in (False, True):
            group = [name for name in each if _plans_eagerly(study, name) == strict]
            if not group:
                continue
            constraints = {name: constraint_of(study, name) for name in group}
            played = eager(game) if strict else game
            if publisher.solver == "iceberg":
                choices |= iceberg(played, constraints, report_all)
            else:
                choices |= backward_induction(played, constraints, progress=progress)
    together = bool(choices)
    for number, name in enumerate(policies):
        report = partial(report_all, number, len(policies))
        if not together:
            report()
        if name not in choices:
            choices[name] = study.policy(name).pick(study, game, report)
    return {name: choices[name] for name in policies}


def constraint_of(study: TablesStudy, policy: str) -> Constraint:
    """Return the constraint of a policy on the generalization of each record.

    It combines the policy's own constraint (no attack, or Safe Harbor) with the minimum levels of attributes and the
    limits on sensitive columns.
    """
    rule, lowest = study.policy(policy), study.lattice.index(study.minimum)
    minimum = study.safe_harbor_strategies if rule.within_safe_harbor else None
    if lowest:
        everywhere = np.full(study.space.n_records, lowest, dtype=np.int64)
        minimum = everywhere if minimum is None else study.lattice.join(minimum, everywhere)
    return Constraint(rule.forbids_attacks, minimum, study.admissible)


def planned(study: TablesStudy, policy: str, game: RecordGame) -> RecordGame:
    """Return the game on which a policy plans.

    If only classes above gain/cost people count as safe, a no-attack policy plans against an eager adversary, who
    attacks also when indifferent.
    """
    return eager(game) if _plans_eagerly(study, policy) else game


def _plans_eagerly(study: TablesStudy, policy: str) -> bool:
    return study.scenario.publisher.safe_class == "above" and study.policy(policy).forbids_attacks
