"""The adversary who attacks in stages and uses each only if it believes that it pays (Wan et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.attempt import Attempt, of_rows
from reidsim.adversaries.multistage.stages import Identify, Inference, InferSurname, Stage
from reidsim.adversaries.response import INDIFFERENCE, Linkage, Response
from reidsim.errors import InputError, require_among, require_distinct
from reidsim.linkage.number_checks import check_share
from reidsim.linkage.risk import chance_of_guess
from reidsim.linkage.surname_inference.tmrca import Ancestry
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class PlanLinkage(Linkage):
    """Linkage under each plan, that is for each choice of stages to use.

    Group sizes are the ones of the plan without inference. A plan that is not available has success and believed
    success 0.

    Parameters
    ----------
    plans : tuple of tuple of int
        The inference stages that each plan uses; fewer stages first, then in declared order.
    plan_believed, plan_success : ndarray of float64, shape (n_plans, n)
        Probability of naming the right person, as the adversary believes and in truth.
    prices : ndarray of float64, shape (n_plans,)
    """

    plans: tuple[tuple[int, ...], ...] = field(kw_only=True)
    plan_believed: Floats = field(kw_only=True)
    plan_success: Floats = field(kw_only=True)
    prices: Floats = field(kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> PlanLinkage:
        """Return the same with the chances of every plan, which ends in the resource that is not all right."""
        sizes = super().inaccurate(accuracy, expected)
        return replace(
            self,
            group_sizes=sizes.group_sizes,
            believed_group_sizes=sizes.believed_group_sizes,
            plan_believed=self.plan_believed * expected,
            plan_success=self.plan_success * accuracy,
            by_chance=True,
        )

    def as_believed(self) -> Self:
        """Return the same as it would be if the adversary were right, under every plan."""
        return replace(super().as_believed(), plan_success=self.plan_believed)


@dataclass(frozen=True)
class StagedAttempt(Attempt):
    """An attempt by the plan of stages that pays most.

    Parameters
    ----------
    plan : ndarray of int64
        Position among the plans of the linkage; 0 infers nothing.
    used : ndarray of int64
        The inference stages of that plan: the sum of 2 to the number of each.
    """

    plan: NDArray[np.int64]
    used: NDArray[np.int64]


@dataclass(frozen=True)
class PlannedResponse(Response):
    """A reply, with the number of the plan behind each.

    Parameters
    ----------
    plan : ndarray of int64
        Position among the plans of the linkage; 0 infers nothing.
    used : ndarray of int64
        The inference stages of that plan: the sum of 2 to the number of each.
    """

    plan: NDArray[np.int64]
    used: NDArray[np.int64]


@dataclass(frozen=True)
class MultistageAttack:
    """An adversary who may infer attributes that were not released before linking to a registry.

    The adversary may leave out any inference stage. A plan is the set of stages used: it is believed to succeed with
    the product of their confidences over the number of people of the registry who match all values released and
    inferred. A stage is not available where its confidence is below the threshold, a plan where nobody matches. The
    plan with the highest believed payoff ``gain x success - prices - cost`` is chosen; one that uses more stages
    must be strictly better. The adversary attacks if that payoff is above 0. In truth the attack names the right
    person with probability 1 / matching people if all inferred values are right and the target is in the registry,
    and else never.

    An overconfident adversary believes an inference to be right once its confidence reaches the threshold: plans
    are believed to succeed with 1 / matching people. This changes its decisions, not the truth.

    Parameters
    ----------
    stages : tuple of InferSurname, InferByLinkage or Identify
        In the order in which they are carried out; Identify comes last.
    gain, cost : float or ndarray of shape (n_records,)
        Worth of naming the right person and price of an attack, in currency units per record.
    confidence_threshold : float
        theta, in [0, 1].
    overconfident : bool
        Whether it believes inferences with that confidence to be right (Wan et al. 2021).

    Raises
    ------
    InputError
        If stages are out of order, an attribute is inferred twice, or an amount or the threshold is out of range.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset({"believed_group_sizes", "plan_believed", "plans", "prices"})

    stages: tuple[Stage, ...]
    gain: float | Floats
    cost: float | Floats
    confidence_threshold: float = 0.5
    overconfident: bool = False

    def __post_init__(self) -> None:
        check_share("confidence_threshold", self.confidence_threshold)
        for name in ("gain", "cost"):
            amounts = np.asarray(getattr(self, name), dtype=np.float64)
            if not (amounts.size and amounts.min() >= 0 and np.isfinite(amounts).all()):
                lowest = float(amounts.min()) if amounts.size else "nothing"
                raise InputError(f"{name} of the adversary out of range", found=lowest, expected="0 or more, finite")
        ends = [isinstance(stage, Identify) for stage in self.stages]
        if not ends or not ends[-1] or any(ends[:-1]):
            kinds = [type(stage).__name__ for stage in self.stages]
            raise InputError("stages out of order", found=kinds, expected="inferences, then Identify once, at the end")
        inferred = [stage.infers for stage in self.inferences]
        require_distinct("attribute inferred by two stages", inferred)

    @property
    def inferences(self) -> tuple[Inference, ...]:
        """All stages but the last."""
        return tuple(stage for stage in self.stages if not isinstance(stage, Identify))

    @property
    def identify(self) -> Identify:
        """The last stage."""
        last = self.stages[-1]
        assert isinstance(last, Identify)  # noqa: S101 # checked when it was made
        return last

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Attributes that any stage can use."""
        names = [name for s in self.stages for name in (s.loci if isinstance(s, InferSurname) else s.on)]
        return tuple(dict.fromkeys(names))

    def one_stage(self) -> MultistageAttack:
        """Return the attack of the same adversary without any inference, linking on released attributes alone."""
        inferred = [stage.infers for stage in self.inferences]
        on = tuple(name for name in self.identify.on if name not in inferred)
        return replace(self, stages=(replace(self.identify, on=on),))

    def check_attributes(self, released: tuple[str, ...]) -> None:
        """Check that each stage links on attributes that are released or inferred before.

        Raises
        ------
        InputError
            Naming the stage and the attribute.
        """
        known = list(released)
        for number, stage in enumerate(self.stages, start=1):
            needed = stage.loci if isinstance(stage, InferSurname) else stage.on
            problem = "attribute neither released nor inferred by an earlier stage"
            require_among(problem, needed, known, where=f"stage {number}", shown=20)
            if not isinstance(stage, Identify):
                known.append(stage.infers)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> StagedAttempt:
        """Return the worth of an attempt by the best plan; see `Weighing` and `respond`."""
        gain, cost = of_rows(self.gain, rows), of_rows(self.cost, rows)
        plans: tuple[tuple[int, ...], ...] = ((),)
        if isinstance(linkage, PlanLinkage):
            plans, prices = linkage.plans, linkage.prices
            believed_by_plan, success_by_plan = linkage.plan_believed, linkage.plan_success
        else:
            believed_by_plan = chance_of_guess(linkage.believed_group_sizes)[None]
            success_by_plan = chance_of_guess(linkage.group_sizes)[None]
            prices = np.zeros(1)
        plan = best_plan(gain, believed_by_plan, prices)
        each = np.arange(len(plan))
        used = np.array([sum(1 << stage for stage in stages) for stages in plans], dtype=np.int64)[plan]
        return StagedAttempt(
            success_by_plan[plan, each], believed_by_plan[plan, each], gain, prices[plan] + cost, plan, used
        )

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> PlannedResponse:
        """Return the reply to each record; a linkage without plans is linked on released attributes alone."""
        attempt = self.weigh(linkage, rows)
        reply = attempt.made(attempt.pays)
        return PlannedResponse(**vars(reply), plan=attempt.plan, used=attempt.used)


def best_plan(gain: float | Floats, believed: Floats, prices: Floats) -> NDArray[np.int64]:
    """Return the plan of each record that pays most in a single attempt; one of more stages must be strictly better.

    Parameters
    ----------
    gain : float or ndarray of float64, shape (n,)
    believed : ndarray of float64, shape (n_plans, n)
    prices : ndarray of float64, shape (n_plans,)
    """
    plan = np.zeros(believed.shape[1], dtype=np.int64)
    best = gain * believed[0] - prices[0]
    for number in range(1, len(prices)):
        worth = gain * believed[number] - prices[number]
        better = worth > best + INDIFFERENCE * gain
        best = np.where(better, worth, best)
        plan[better] = number
    return plan


def two_stage_attack(
    loci: tuple[str, ...],
    mutation_rates: Floats,
    *,
    linked: tuple[str, ...] = ("age", "state"),
    gain: float | Floats = 150.0,
    cost: float | Floats = 10.0,
    confidence_threshold: float = 0.5,
    effective_population: float = 10_000.0,
) -> MultistageAttack:
    """Return the published attack: genealogy to surname, then surname and demographics to identity.

    Defaults follow Wan et al. 2021: gain 150, cost 10, theta .5, N_e 10,000.
    """
    ancestry = Ancestry(np.asarray(mutation_rates, dtype=np.float64), effective_population)
    stages = (InferSurname(loci, ancestry), Identify((*linked, "surname")))
    return MultistageAttack(stages, gain, cost, confidence_threshold)
