"""Choose generalizations against adversaries who look people up in released rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reidsim.games.directions.best_replies import best_release
from reidsim.games.directions.linker import DirectedLinker, by_record, without_attacked
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.linkage.number_checks import most_within

if TYPE_CHECKING:
    from reidsim.kinds.tables.study import TablesStudy


def choose_looked_up(
    study: TablesStudy,
    policy: str,
    game: RecordGame,
    linker: DirectedLinker,
    constraint: Constraint,
    alone: Callable[[RecordGame], Choice],
) -> Choice:
    """Return a policy's choice against adversaries who look people up.

    A policy that optimizes each record starts from its choice in direction "record", in which the adversary looks for
    the person of a record, and changes records until no change improves the release. A no-attack policy with one
    generalization for the table withholds the records that are still attacked; it withholds all records if this exceeds
    the suppression limit. Rules and the lattice search of Wan et al. 2015 ignore the direction.

    Parameters
    ----------
    study : TablesStudy
    policy : str
    game : RecordGame
        Game on which the policy plans.
    linker : DirectedLinker
        Linker of the game.
    constraint : Constraint
        Constraint of the policy; used if the policy optimizes each record.
    alone : callable
        Function that returns the choice of the policy in a game with direction "record".
    """
    chosen, publisher = study.policy(policy), study.scenario.publisher
    separate = chosen.separates_records(publisher)
    choice = alone(by_record(game)) if separate else chosen.pick(study, game, lambda: None)
    if chosen.improves_each(publisher):
        return best_release(game, linker, choice, **chosen.improvement(study, constraint))
    if separate or not chosen.forbids_attacks:
        return choice
    strategies = without_attacked(game, choice.strategies)
    withheld = study.weights[strategies == WITHHELD].sum()
    if withheld > most_within(study.scenario.publisher.suppression_limit, study.n_subjects):
        strategies = np.full_like(strategies, WITHHELD)
    return replace(choice, strategies=strategies)
