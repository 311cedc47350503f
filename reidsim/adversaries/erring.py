"""The adversary who errs: it decides with noise, or by prospects in place of expectations, whether to attack."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reidsim.adversaries.attempt import Attempt, Weighing
from reidsim.adversaries.information import declared_information
from reidsim.adversaries.multistage.attack import PlannedResponse, StagedAttempt
from reidsim.adversaries.rationality import ProspectTheory, logit_choice
from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, Response
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Rows

# A probability of attack below this is none: dividing by it must not lose the payoff of an attack.
_NEVER = 1e-200


@dataclass(frozen=True)
class ErringAdversary:
    """Plans as another adversary does, and errs in whether it attacks.

    It errs in whether it attacks a record, not in how: of an attack in stages the plan is that which pays most, of a
    sequential attack all decisions after access are optimal. With W the worth of the attack as it believes, it attacks
    with probability ``1 / (1 + exp(-precision * W))`` (the quantal response of McKelvey and Palfrey 1995, not attacking
    being worth 0), or where W is above 0 if there is no precision. W is the expected payoff, or the value of the
    prospect.

    Parameters
    ----------
    adversary : OneShotAdversary, MultistageAttack, SequentialAdversary or other Weighing
    precision : float, optional
        lambda, per currency unit, or per unit of value of prospects; 0 or more. No noise, if not given.
    prospect : ProspectTheory, optional
        Expected payoffs are taken as they are, if not given.

    Raises
    ------
    InputError
        If the adversary does not tell what an attack is worth, or the precision is out of range.
    """

    adversary: Adversary
    precision: float | None = None
    prospect: ProspectTheory | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.adversary, Weighing):
            raise InputError(
                "an adversary without a value of an attack cannot err",
                found=type(self.adversary).__name__,
                expected="one with a method weigh(linkage, rows)",
            )
        if self.precision is not None and not 0 <= self.precision < np.inf:
            raise InputError("precision out of range", found=self.precision, expected="0 or more, finite")

    @property
    def decides_on(self) -> frozenset[str]:
        """What of a linkage the decision rests on: as without errors."""
        return declared_information(self.adversary)

    def of(self, adversary: Adversary) -> ErringAdversary:
        """Return the same errors of another adversary."""
        return replace(self, adversary=adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`.

        With a precision, every record that may be attacked counts as attacked, with its `frequency`; `pays` tells where
        an attack pays.
        """
        assert isinstance(self.adversary, Weighing)  # noqa: S101 # checked when it was made
        attempt = self.adversary.weigh(linkage, rows)
        worth, pays = attempt.worth, attempt.pays
        if self.prospect is not None:
            if not isinstance(attempt, Attempt):
                raise InputError(
                    "prospects are weighed of one attempt that hits or does not", found=type(self.adversary).__name__
                )
            worth = self.prospect.worth(attempt.believed_success, attempt.gain, attempt.price)
            pays = worth > INDIFFERENCE * self.prospect.of_price(attempt.price)
        chance = pays.astype(np.float64) if self.precision is None else logit_choice(worth, self.precision)
        # What costs nothing and can bring nothing is not done, by mistake or otherwise.
        attacks = (chance > _NEVER) & ((worth != 0) | (attempt.believed_success > 0))
        chance = np.where(attacks, chance, 0.0)
        reply = Response(
            attacks=attacks,
            success=attempt.success,
            believed_success=attempt.believed_success,
            adversary_payoff=chance * attempt.payoff,
            exploits=chance * attempt.exploits,
            frequency=None if self.precision is None else np.where(attacks, chance, 1.0),
            pays=None if self.precision is None else pays,
            gain=attempt.gain,
        )
        if isinstance(attempt, StagedAttempt):
            return PlannedResponse(**vars(reply), plan=attempt.plan, used=attempt.used)
        return reply
