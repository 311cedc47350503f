"""Choose generalizations under policies, several in one pass where their games allow."""

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
from reidsim.kinds.tables.looked_up import choose_looked_up
from reidsim.releases.strategy_space import Strategies

if TYPE_CHECKING:
    # Sections make default publishers, which read the registry, while the study's module is imported.
    from reidsim.kinds.tables.study import TablesStudy

# Name of the solver of multi-dimensional recoding.
SPLITS = "splits"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TablesChoice(Choice):
    """A choice of generalizations with the way it was found.

    Parameters
    ----------
    planned_payout : float
        Payout over all records that the publisher expected; NaN if unknown.
    nodes : tuple of int
        Nodes of the table: one, or one per round of local recoding; empty for other policies or without solution.
    gap : float
        Bound on the payout's distance from the optimum, as a share of the best case; NaN without bound.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ndarray of int64, shape (n_cells,), optional
        Node in whose classes each cell is decided on, released or not.
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
    """Return the generalization of each cell's records in the game that the publisher believes in.

    Raises
    ------
    InputError
        If the policy cannot be played in this game.
    """
    return choose_all(study, (policy,), game)[policy]


def choose_all(
    study: TablesStudy, policies: Sequence[str], game: RecordGame, *, progress: Progress | None = None
) -> dict[str, Choice]:
    """Return the choices of policies of the package; those that optimize each record are solved in one pass.

    Parameters
    ----------
    study : TablesStudy
        Of the records that are shared.
    policies : sequence of str
    game : RecordGame
        Against the adversaries in whom the publisher believes.
    progress : callable, optional
        Called with the number of policies done and of all.
    """
    publisher, report_all = study.scenario.publisher, progress or (lambda done, total: None)
    for name in policies:
        if publisher.attribute_limits and not study.policy(name).meets_attribute_limits:
            raise InputError("this policy does not keep to limits on sensitive columns", where=name)
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
        # Policies that plan on one game are solved together: each generalization is linked once.
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
    """Return the constraint under which a policy optimizes the generalization of each record."""
    rule, lowest = study.policy(policy), study.lattice.index(study.minimum)
    minimum = study.safe_harbor_strategies if rule.within_safe_harbor else None
    if lowest:
        everywhere = np.full(study.space.n_records, lowest, dtype=np.int64)
        minimum = everywhere if minimum is None else study.lattice.join(minimum, everywhere)
    return Constraint(rule.forbids_attacks, minimum, study.admissible)


def planned(study: TablesStudy, policy: str, game: RecordGame) -> RecordGame:
    """Return the game on which a policy plans: with an eager adversary if only larger classes count as safe."""
    return eager(game) if _plans_eagerly(study, policy) else game


def _plans_eagerly(study: TablesStudy, policy: str) -> bool:
    return study.scenario.publisher.safe_class == "above" and study.policy(policy).forbids_attacks
