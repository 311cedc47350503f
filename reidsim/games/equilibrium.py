"""Outcome of a choice of strategies in the game with the true parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Response, arrays_of
from reidsim.games.attempts import Attempts
from reidsim.games.record_game import WITHHELD, Choice, RecordGame, shared_rows
from reidsim.releases.lattice import Floats, Rows


@dataclass(frozen=True)
class Equilibrium:
    """Outcome of each record, arrays of shape (n_records,).

    Money is in currency units per record. A withheld record (strategy -1) is not shared: no benefit, no attack, utility
    0 and generalization intensity 1.

    Parameters
    ----------
    strategies : ndarray of int64
        The publisher's strategy; -1 where the record is withheld.
    publisher_payoff, adversary_payoff : ndarray of float64
        Expected payoffs.
    attacked : ndarray of bool
        Whether the adversary attacks, with certainty or with probability `frequency`.
    success_probability : ndarray of float64
        Probability that an attack would succeed, whether or not it is made; 0 if the record is withheld. With several
        adversaries, probability that the record is re-identified, given that any of them attacks.
    utility, generalization_intensity : ndarray of float64
        Share of the full benefit that the release keeps, and distance from sharing everything (0) towards sharing
        nothing (1); in [0, 1].
    solver : str
        Name of the solver or policy that chose the strategies.
    evaluated : ndarray of int64
        Number of strategies whose payoff the solver computed.
    exact : bool
        Whether the strategies are proved optimal under the publisher's beliefs.
    frequency : ndarray of float64, optional
        Probability of an attack (by any adversary) where `attacked`; 1, if not given.
    gap : ndarray of float64, optional
        Upper bound on the payoff that a better strategy could add, in currency units per record, if the solver computes
        one.
    attempts : Attempts, optional
        Attempts of each adversary given that it is present, with the amounts at stake, if known.
    """

    strategies: NDArray[np.int64]
    publisher_payoff: Floats
    adversary_payoff: Floats
    attacked: NDArray[np.bool_]
    success_probability: Floats
    utility: Floats
    generalization_intensity: Floats
    solver: str
    evaluated: NDArray[np.int64]
    exact: bool
    frequency: Floats | None = None
    gap: Floats | None = None
    attempts: Attempts | None = None

    def __repr__(self) -> str:
        return f"Equilibrium({len(self.strategies):,} records, {self.solver})"

    @property
    def withheld(self) -> NDArray[np.bool_]:
        """Whether each record is withheld (not released), shape (n_records,)."""
        return np.asarray(self.strategies == WITHHELD)

    @property
    def attack_probability(self) -> Floats:
        """Probability that each record is attacked, shape (n_records,); 0 if withheld."""
        return np.asarray(self.attacked if self.frequency is None else self.attacked * self.frequency, dtype=np.float64)

    @property
    def risk(self) -> Floats:
        """Probability that each record is attacked and re-identified, shape (n_records,)."""
        return np.asarray(self.attack_probability * self.success_probability)

    def expand(self, rows: Rows) -> Equilibrium:
        """Return the outcome with one entry per element of `rows` (record numbers).

        This expands, for example, an outcome by cell to an outcome by record. The result has no `attempts` (they are
        None).
        """
        arrays: dict[str, Any] = {name: array[rows] for name, array in arrays_of(self).items()}
        return replace(self, **arrays, attempts=None)


def evaluate(game: RecordGame, choice: Choice) -> Equilibrium:
    """Compute the outcome of the chosen strategies in a game.

    Parameters
    ----------
    game : RecordGame
        Game with the true parameters.
    choice : Choice
        Strategies, possibly chosen in a game with the publisher's beliefs.

    Returns
    -------
    Equilibrium
        `solver`, `evaluated` and `exact` are taken from the choice; `gap` is not computed.
    """
    n = game.n_records
    strategies = choice.strategies
    game = game.with_strategies(strategies)
    publisher, adversary, success, utility = np.zeros((4, n))
    attacked = np.zeros(n, dtype=np.bool_)
    frequency: Floats | None = None
    replies: list[tuple[Response, Rows]] = []

    for strategy, rows in shared_rows(strategies):
        outcome = game.outcome(strategy, rows)
        publisher[rows] = outcome.publisher_payoff
        adversary[rows] = outcome.response.adversary_payoff
        attacked[rows] = outcome.response.attacks
        success[rows] = outcome.response.success_of_attacks
        utility[rows] = outcome.utility
        replies.append((outcome.response, rows))
        if outcome.response.frequency is not None:
            frequency = np.ones(n) if frequency is None else frequency
            frequency[rows] = outcome.response.frequency

    intensity = game.space.generalization_intensity(np.maximum(strategies, 0))
    return Equilibrium(
        strategies=strategies,
        publisher_payoff=publisher,
        adversary_payoff=adversary,
        attacked=attacked,
        success_probability=success,
        utility=utility,
        generalization_intensity=np.where(strategies == WITHHELD, 1.0, intensity),
        solver=choice.solver,
        evaluated=choice.evaluated,
        exact=choice.exact,
        frequency=frequency,
        attempts=Attempts.of_replies(replies, game.loss),
    )
