"""An adversary who errs: noisy attack decisions, or prospects instead of payoffs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reidsim.adversaries.rationality import ProspectTheory, logit_choice
from reidsim.adversaries.response import INDIFFERENCE, Linkage, Response, Weighing, declared_information
from reidsim.core.errors import InputError
from reidsim.releases.strategy_space import Rows

# Smaller attack probabilities count as 0: the expected payoff divided by the probability must give back the payoff.
_NEVER = 1e-200


@dataclass(frozen=True)
class ErringAdversary:
    """Adversary who plans like another adversary, but errs in the decision to attack.

    Errors concern only the decision whether to attack a record, not the attack itself: a multi-stage attack uses the
    plan with the highest payoff, and all decisions of a sequential attack after access are optimal. Let W be the worth
    of the attack as the adversary believes: the expected payoff, or the value of the prospect. The adversary attacks
    with probability ``1 / (1 + exp(-precision * W))``: the quantal response of McKelvey and Palfrey (1995), where not
    attacking is worth 0. Without a precision, it attacks if W is above 0.

    Parameters
    ----------
    adversary : OneShotAdversary, MultistageAttack, SequentialAdversary or other Weighing
        Adversary without errors.
    precision : float, optional
        lambda, 0 or more, per currency unit or per unit of prospect value. Default: decisions without noise.
    prospect : ProspectTheory, optional
        Valuation of prospects. Default: expected payoffs.
    """

    adversary: Weighing
    precision: float | None = None
    prospect: ProspectTheory | None = None

    @property
    def decides_on(self) -> frozenset[str]:
        """Linkage fields on which the decision depends, as without errors."""
        return declared_information(self.adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`.

        With a precision, every record with a positive attack probability counts as attacked, except where worth and
        believed success probability are both 0. `frequency` is that probability, and `pays` is true where an attack is
        profitable.

        Raises
        ------
        InputError
            If prospects are used with an attack that is not a single attempt.
        """
        attempt = self.adversary.weigh(linkage, rows)
        worth, pays = attempt.worth, attempt.pays
        if self.prospect is not None:
            if attempt.price is None:
                raise InputError(
                    "prospect theory needs an attack of a single attempt that succeeds or fails",
                    found=type(self.adversary).__name__,
                )
            worth = self.prospect.worth(attempt.believed_success, attempt.gain, attempt.price)
            pays = worth > INDIFFERENCE * self.prospect.of_price(attempt.price)
        chance = pays.astype(np.float64) if self.precision is None else logit_choice(worth, self.precision)
        # An attack with zero worth and zero believed success probability is never made, not even by mistake.
        attacks = (chance > _NEVER) & ((worth != 0) | (attempt.believed_success > 0))
        chance = np.where(attacks, chance, 0.0)
        return Response(
            attacks=attacks,
            success=attempt.success,
            believed_success=attempt.believed_success,
            adversary_payoff=chance * attempt.payoff,
            exploits=chance * attempt.exploits,
            frequency=None if self.precision is None else np.where(attacks, chance, 1.0),
            pays=None if self.precision is None else pays,
            gain=attempt.gain,
            plan=attempt.plan,
            used=attempt.used,
        )
