"""The multi-stage adversary, who uses only profitable stages (Wan et al. 2021)."""

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
    """Linkage under each plan, that is, under each set of inference stages.

    Group sizes are the group sizes of the plan without inference. An unavailable plan has success and believed success
    0.

    Parameters
    ----------
    plans : tuple of tuple of int
        Inference stages of each plan, as positions in `MultistageAttack.inferences`. Plans with fewer stages come
        first, then plans with earlier stages; plan 0 has none.
    plan_believed, plan_success : ndarray of float64, shape (n_plans, n)
        Success probability, as the adversary believes and in truth.
    prices : ndarray of float64, shape (n_plans,)
        Price of the stages of each plan, in currency units per record.
    """

    plans: tuple[tuple[int, ...], ...] = field(kw_only=True)
    plan_believed: Floats = field(kw_only=True)
    plan_success: Floats = field(kw_only=True)
    prices: Floats = field(kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> PlanLinkage:
        """Return the linkage through a resource with wrong entries, for every plan.

        The resource of the last stage has the wrong entries, so the success probability of every plan changes. See
        `Linkage.inaccurate` for the parameters.
        """
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
        """Return the linkage as if the adversary's beliefs were true, for every plan."""
        return replace(super().as_believed(), plan_success=self.plan_believed)


@dataclass(frozen=True)
class StagedAttempt(Attempt):
    """An attempt by the plan with the highest payoff; arrays of shape (n,).

    Parameters
    ----------
    plan : ndarray of int64
        Position of the plan in the linkage; plan 0 has no inference.
    used : ndarray of int64
        Inference stages of the plan, as bits: the sum of 2**k over its stages k.
    """

    plan: NDArray[np.int64]
    used: NDArray[np.int64]


@dataclass(frozen=True)
class PlannedResponse(Response):
    """A reply with the plan used for each record; arrays of shape (n,).

    Parameters
    ----------
    plan : ndarray of int64
        Position of the plan in the linkage; plan 0 has no inference.
    used : ndarray of int64
        Inference stages of the plan, as bits: the sum of 2**k over its stages k.
    """

    plan: NDArray[np.int64]
    used: NDArray[np.int64]


@dataclass(frozen=True)
class MultistageAttack:
    """Adversary who can infer unreleased attributes before linking to a registry.

    The adversary can skip any inference stage. A plan is the set of stages used. Its believed success probability is
    the product of the stages' confidences, divided by the number of people in the registry who match all released and
    inferred values. A stage is unavailable if its confidence is 0 or below the threshold; a plan is unavailable if one
    of its stages is, or if no person matches. The adversary chooses the plan with the highest believed payoff ``gain x
    success - prices - cost``; a plan with more stages must be strictly better. The adversary attacks if that payoff is
    above 0. The true success probability is 1 / matching people if all inferred values are correct and the target is in
    the registry, else 0.

    An overconfident adversary believes that an inference is correct if its confidence reaches the threshold: the
    believed success probability of a plan is 1 / matching people. This affects its decisions, not the true success
    probability.

    Parameters
    ----------
    stages : tuple of InferSurname, InferByLinkage or Identify
        Stages in the order in which they are carried out; Identify comes last.
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attack, in currency units per record.
    confidence_threshold : float
        theta, lowest confidence at which a stage is available, in [0, 1].
    overconfident : bool
        Whether the adversary believes that available inferences are correct (Wan et al. 2021).

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
            raise InputError(
                "stages out of order", found=kinds, expected="inference stages, then one Identify stage at the end"
            )
        inferred = [stage.infers for stage in self.inferences]
        require_distinct("two stages infer the same attribute", inferred)

    @property
    def inferences(self) -> tuple[Inference, ...]:
        """Inference stages: all stages except the last."""
        return tuple(stage for stage in self.stages if not isinstance(stage, Identify))

    @property
    def identify(self) -> Identify:
        """The last stage, which links to the registry."""
        last = self.stages[-1]
        assert isinstance(last, Identify)  # noqa: S101 # checked when it was made
        return last

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Attributes that at least one stage can use."""
        names = [name for s in self.stages for name in (s.loci if isinstance(s, InferSurname) else s.on)]
        return tuple(dict.fromkeys(names))

    def one_stage(self) -> MultistageAttack:
        """Return the attack without inference, which links on released attributes only."""
        inferred = [stage.infers for stage in self.inferences]
        on = tuple(name for name in self.identify.on if name not in inferred)
        return replace(self, stages=(replace(self.identify, on=on),))

    def check_attributes(self, released: tuple[str, ...]) -> None:
        """Check that each stage links on released or previously inferred attributes.

        Raises
        ------
        InputError
            If a stage needs another attribute; the message names the stage and the attribute.
        """
        known = list(released)
        for number, stage in enumerate(self.stages, start=1):
            needed = stage.loci if isinstance(stage, InferSurname) else stage.on
            problem = "attribute is neither released nor inferred by an earlier stage"
            require_among(problem, needed, known, where=f"stage {number}", shown=20)
            if not isinstance(stage, Identify):
                known.append(stage.infers)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> StagedAttempt:
        """Return the attempt by the best plan; see `Weighing` and `respond`."""
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
        """Return the reply to each record; see `Adversary`.

        A linkage without plans counts as linkage on released attributes only.
        """
        attempt = self.weigh(linkage, rows)
        reply = attempt.made(attempt.pays)
        return PlannedResponse(**vars(reply), plan=attempt.plan, used=attempt.used)


def best_plan(gain: float | Floats, believed: Floats, prices: Floats) -> NDArray[np.int64]:
    """Return each record's plan with the highest payoff of a single attempt, (n,).

    Among equal payoffs, the first plan is used; plans with fewer stages come first in a `PlanLinkage`.

    Parameters
    ----------
    gain : float or ndarray of float64, shape (n,)
        Gain from a success, in currency units per record.
    believed : ndarray of float64, shape (n_plans, n)
        Believed success probability of each plan.
    prices : ndarray of float64, shape (n_plans,)
        Price of each plan, in currency units per record.

    Returns
    -------
    ndarray of int64, shape (n,)
        Position of the plan.
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
    """Return the two-stage attack of Wan et al. 2021.

    The first stage infers the surname through the resource "genealogy"; the second one links surname and demographics
    to the resource "registry". Defaults follow the paper.

    Parameters
    ----------
    loci : tuple of str
        Loci from which the surname is inferred.
    mutation_rates : ndarray of float64, shape (n_loci,)
        Mutations of each locus per generation.
    linked : tuple of str
        Attributes used for linkage in addition to the surname.
    gain, cost : float or ndarray of float64, shape (n_records,)
        Gain from a success and cost of an attack, in currency units per record.
    confidence_threshold : float
        theta, lowest confidence at which the first stage is available.
    effective_population : float
        N_e, effective population size.
    """
    ancestry = Ancestry(np.asarray(mutation_rates, dtype=np.float64), effective_population)
    stages = (InferSurname(loci, ancestry), Identify((*linked, "surname")))
    return MultistageAttack(stages, gain, cost, confidence_threshold)
