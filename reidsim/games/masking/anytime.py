"""Masking games too large for a proof: the best found within a budget, and how far it can be from the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reidsim.errors import InputError
from reidsim.games.masking.best_first import search
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.greedy import greedy
from reidsim.games.record_game import Choice
from reidsim.releases.strategy_space import Floats


@dataclass(frozen=True)
class BoundedChoice(Choice):
    """A choice with a bound on what a better one could bring.

    Parameters
    ----------
    gap : ndarray of float64, shape (n_records,)
        No strategy pays more than the chosen one plus this, in currency units per record; 0 where it is proved best.
    """

    gap: Floats


def anytime(game: MaskingGame, *, most_evaluated: int = 20_000, no_attack: bool = False) -> BoundedChoice:
    """Find a good strategy of every subject within a number of strategies computed, with an optimality gap.

    Greedy search gives the first strategy; best-first search then improves on it. Whenever it stops, no strategy
    that it has not visited has a benefit above that of the next one, so the difference between that benefit and the
    best payoff bounds what can still be gained. With a larger budget the payoff never falls and the gap never grows.

    Parameters
    ----------
    game : MaskingGame
        Against a two-stage attack, with any number of attributes.
    most_evaluated : int
        Strategies computed per subject by the best-first search.
    no_attack : bool
        Only strategies that are not attacked.

    Returns
    -------
    BoundedChoice
        Exact if every gap is 0.

    Raises
    ------
    InputError
        If the budget is below 1, or the attack is not a two-stage attack.
    """
    if most_evaluated < 1:
        raise InputError("budget of strategies too small", found=most_evaluated, expected="1 or more")
    first = greedy(game, no_attack=no_attack)
    strategies, payoffs, evaluated, bounds = search(
        game, no_attack=no_attack, most_evaluated=most_evaluated, incumbents=first.strategies
    )
    # Withholding a record pays 0, so that much is certain.
    gap = np.maximum(bounds - np.maximum(payoffs, 0.0), 0.0)
    choice = game.chosen("anytime", strategies, payoffs, evaluated + first.evaluated, exact=bool((gap == 0).all()))
    return BoundedChoice(choice.strategies, choice.solver, choice.evaluated, choice.exact, gap)
