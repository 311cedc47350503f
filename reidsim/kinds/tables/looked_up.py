"""How each policy of a publisher of tables picks generalizations if persons are looked up in the shared rows."""

from __future__ import annotations

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
) -> Choice:
    """Pick the generalization of each record where how one is shared changes what is found of others.

    Policies of single records go from what they pick in direction "record" to a release in which no record has a better
    form. Those of one form for all take their classes to be shared whole; if a policy forbids attacks and that leaves
    anybody at risk, these are withheld. A search that is printed in a paper, and rules, do not look at others.

    Parameters
    ----------
    study : TablesStudy
    policy : str
    game : RecordGame
        On which the policy plans.
    linker : DirectedLinker
        Of the game.
    constraint : Constraint
        Of the policy, if it picks the best generalization of each record.
    """
    chosen, publisher = study.policy(policy), study.scenario.publisher
    separate = chosen.separates_records(publisher)
    choice = chosen.pick(study, by_record(game) if separate else game, lambda: None)
    if chosen.improves_each(publisher):
        return best_release(game, linker, choice, **chosen.improvement(study, constraint))
    if separate or not chosen.forbids_attacks:
        return choice
    strategies = without_attacked(game, choice.strategies)
    withheld = study.weights[strategies == WITHHELD].sum()
    if withheld > most_within(study.scenario.publisher.suppression_limit, study.n_subjects):
        strategies = np.full_like(strategies, WITHHELD)
    return replace(choice, strategies=strategies)
