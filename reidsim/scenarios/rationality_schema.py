"""Schema of an adversary's rationality: perfect, logit noise or prospect theory."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from reidsim.adversaries.attempt import Weighing
from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.planners.base import EXPECTED_PAYOFF, SINGLE_ATTEMPT, provided_by
from reidsim.adversaries.rationality import LEAST_WEIGHTING, ProspectTheory
from reidsim.adversaries.response import Adversary
from reidsim.core.capabilities import require_provided
from reidsim.errors import InputError
from reidsim.validation import Section

Rationality = Literal["perfect", "logit", "prospect", "prospect-logit"]
Precision = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Weighting = Annotated[float, Field(ge=LEAST_WEIGHTING, le=1)]
Curvature = Annotated[float, Field(gt=0, le=1)]


class ProspectSection(Section):
    """Cumulative prospect theory of Tversky and Kahneman (1992).

    Defaults are the medians that they estimated.

    Attributes
    ----------
    gain_weighting
        gamma: exponent of the weighting function for probabilities of gains
    loss_weighting
        delta: exponent of the weighting function for probabilities of losses
    gain_curvature
        alpha: exponent of the value function for gains
    loss_curvature
        beta: exponent of the value function for losses
    loss_aversion
        weight of a loss relative to a gain of the same amount
    """

    gain_weighting: Weighting = 0.61
    loss_weighting: Weighting = 0.69
    gain_curvature: Curvature = 0.88
    loss_curvature: Curvature = 0.88
    loss_aversion: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.25

    def theory(self) -> ProspectTheory:
        """Return the parameters as a `ProspectTheory`."""
        return ProspectTheory(**self.model_dump())


class RationalitySection(Section):
    """The rationality of an adversary's decision to attack.

    Attributes
    ----------
    rationality
        decision rule: `perfect` attacks if the expected payoff W is above 0; `logit` attacks with probability 1/(1 +
        exp(-precision W)); the `prospect` rules use the value of the prospect as W
    precision
        lambda: precision of the logit rules, per currency unit (`logit`) or per unit of value (`prospect-logit`)
    prospect
        parameters of the rules `"prospect"` and `"prospect-logit"`
    """

    rationality: Rationality = "perfect"
    precision: Precision | None = None
    prospect: ProspectSection = ProspectSection()

    @property
    def errs(self) -> bool:
        """Whether the adversary's rationality is not perfect."""
        return self.rationality != "perfect"

    def check_rationality(self, planner: str) -> None:
        """Check that the keys are consistent and that the planner supports them.

        Raises
        ------
        InputError
            If keys are inconsistent or not supported; the message names the key.
        """
        noisy, weighs = self.rationality in ("logit", "prospect-logit"), self.rationality.startswith("prospect")
        if noisy and self.precision is None:
            raise InputError(
                "key missing",
                where="precision",
                expected=f'a number of 0 or more with rationality = "{self.rationality}"',
            )
        if not noisy and self.precision is not None:
            raise InputError(
                "a precision needs logit noise",
                where="precision",
                found=self.precision,
                expected='this key only with rationality = "logit" or "prospect-logit"',
            )
        if not weighs and self.prospect != ProspectSection():
            raise InputError(
                "the section needs prospect theory",
                where="prospect",
                expected='this section only with rationality = "prospect" or "prospect-logit"',
            )
        needs = [EXPECTED_PAYOFF] * self.errs + [SINGLE_ATTEMPT] * weighs
        require_provided(
            needs,
            provided_by(planner),
            needed_by=f"rationality {self.rationality!r}",
            provider=f"planner {planner!r}",
            where="rationality",
        )

    def erring(self, adversary: Adversary, where: str) -> Adversary:
        """Return an adversary that decides with the section's rationality.

        It is `adversary` itself if rationality is perfect.

        Raises
        ------
        InputError
            If the adversary has no method ``weigh``; the message names the key `where`.
        """
        if not self.errs:
            return adversary
        if not isinstance(adversary, Weighing):
            raise InputError(
                "an adversary without an expected payoff of an attack cannot make errors",
                where=where,
                found=self.rationality,
                expected="an adversary with a method weigh(linkage, rows)",
            )
        weighs = self.rationality.startswith("prospect")
        return ErringAdversary(adversary, self.precision, self.prospect.theory() if weighs else None)


# Values that make a copied section perfectly rational.
PERFECT: dict[str, Any] = {"rationality": "perfect", "precision": None, "prospect": ProspectSection()}
