"""The planner ``fmdp``: a sequential attack as a factored Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import (
    EVERYBODY,
    EXPECTED_PAYOFF,
    GAINS,
    Amount,
    Attempt,
    Linkage,
    PlanLinkage,
    Planner,
    Register,
    Response,
    arrays_of,
    one_over,
    planners,
    whole_candidates,
)
from reidsim.adversaries.sequential.attack import SequentialAttack, UnconfirmedSuccess
from reidsim.adversaries.sequential.planning import BinomialBelief, Plan, plan_known, plan_listed, plan_unknown
from reidsim.core.errors import InputError
from reidsim.releases.lattice import Rows

T = TypeVar("T", Plan, Attempt)


@planners.register("fmdp")
@dataclass(frozen=True)
class SequentialAdversary(Planner):
    """Adversary who plans access, linkage and exploits separately for each record.

    It follows Xia et al. 2015. The plan is the optimal policy of a factored Markov decision process. The adversary
    attacks a record if access to the registry has a positive expected payoff. The record is then re-identified with
    probability P_reid (Xia et al. 2015, Eq. 5).

    Some linkages give a success probability instead of a number of matching people. The group size is then one over
    that probability, rounded up; probability 0 gives an empty group. For a multi-stage attack, the adversary uses the
    plan with the highest payoff of a single attempt, and the plan's price is a linking cost. If the believed group size
    is wrong, the adversary learns the true one on access, and then follows the plan that is optimal for it.

    With a drawn list, the adversary acts against the people who match the released values. It believes that the
    record's person is among them with the attack's prior times the list's coverage. Outcomes are computed with the
    list's true members, or with the adversary's beliefs if the linkage does not contain the members. If a multi-stage
    plan uses an inference stage, the success probability of an attempt is used, as above.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    registry_size : int, optional
        Number of records in the registry. If given, the adversary knows before access only this number and the share
        of people who match (the unknown-group model, Eq. 6). Default: the adversary knows the group size.
    signal : UnconfirmedSuccess, optional
        Signal that replaces the observation of an exploit's success.

    Raises
    ------
    InputError
        If success is unconfirmed and groups are unknown.
    """

    label = "the sequential attack"
    provides = frozenset({EXPECTED_PAYOFF, GAINS})
    keys = ("sequential",)

    attack: SequentialAttack
    registry_size: int | None = None
    signal: UnconfirmedSuccess | None = None

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> SequentialAdversary:
        """Return the `SequentialAdversary`; `cost` is the cost of one exploit.

        The attack's parameters are those of ``section.sequential``. The register's coverage is the prior unless the
        section has one, and the register's size is `registry_size`.

        Raises
        ------
        InputError
            If gain or cost differ by record, or a parameter of the section is out of its range.
        """
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        attack = sequential_attack(section.sequential, float(gain), float(cost), coverage=register.coverage)
        return cls(attack, register.size, section.sequential.unconfirmed)

    def __post_init__(self) -> None:
        if self.signal is not None and self.registry_size is not None:
            raise InputError("unconfirmed success needs known group sizes")

    @property
    def decides_on(self) -> frozenset[str]:
        """Names of the `Linkage` fields on which the decision to access depends."""
        if self.registry_size is not None:
            return frozenset({"match_probability"})
        return frozenset({"believed_group_sizes", "candidates", "plan_believed", "plans", "prices"})

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record: it is attacked if access is profitable.

        For the parameters see `Adversary.respond`; `rows` has no effect. Errors are those of `weigh`.
        """
        return self.weigh(linkage, rows).made()

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: the sequential attack on each record and its payoff.

        The result includes unprofitable attacks, as if every record's registry were accessed. For the parameters see
        `Adversary.respond`; `rows` has no effect.

        Raises
        ------
        InputError
            If groups are unknown, and the linkage has no `match_probability` or is a multi-stage attack; or if the
            linkage has candidates in a drawn list, and groups are unknown or success is unconfirmed.
        """
        if isinstance(linkage, PlanLinkage):
            return self._by_best_plan(linkage)
        hoped, plan = self._plans(linkage)
        return Attempt(
            success=plan.reidentified,
            believed_success=hoped.reidentified,
            worth=hoped.worth,
            payoff=plan.true_payoff,
            pays=hoped.pays,
            exploits=plan.exploits,
            gain=self.attack.gain,
        )

    def _plans(self, linkage: Linkage) -> tuple[Plan, Plan]:
        """Return two `Plan` objects with access for every record: believed and true.

        They are equal if the believed group sizes are the true ones, if group sizes are unknown before access, or if
        the members of a drawn list are not known.

        Raises
        ------
        InputError
            For the reasons given in `weigh`.
        """
        sizes, believed, listed = linkage.group_sizes, linkage.believed_group_sizes, linkage.candidates
        accesses = np.ones(len(sizes), dtype=np.bool_)
        if listed is not None:
            if self.registry_size is not None or self.signal is not None:
                raise InputError("drawn lists need known group sizes and confirmed success")
            # Coverage is part of the attack's prior, so each list needs its own plan.
            coverages, which = np.unique(listed.coverage, return_inverse=True)
            attacks = [replace(self.attack, prior=self.attack.prior * coverage) for coverage in coverages.tolist()]
            hoped = [plan_known(attack, listed.sizes, accesses=accesses) for attack in attacks]
            plans = hoped
            if linkage.among is not None:
                pairs = zip(attacks, hoped, strict=True)
                plans = [plan_listed(attack, listed.sizes, linkage.among, plan) for attack, plan in pairs]
            return _chosen(hoped, which), _chosen(plans, which)
        if linkage.by_chance:
            sizes, believed = whole_candidates(sizes), whole_candidates(believed)
        if self.registry_size is not None:
            if linkage.match_probability is None:
                raise InputError("planning with unknown group sizes needs a match probability")
            belief = BinomialBelief(self.registry_size, linkage.match_probability)
            unknown = plan_unknown(self.attack, sizes, belief, accesses=accesses)
            return unknown, unknown
        # The adversary learns the true group size on access, so only the decision to access depends on the belief.
        expected = plan_known(self.attack, believed, accesses=accesses, signal=self.signal)
        known = believed is sizes
        return expected, expected if known else plan_known(self.attack, sizes, accesses=accesses, signal=self.signal)

    def _by_best_plan(self, linkage: PlanLinkage) -> Attempt:
        """Return the `Attempt` of a multi-stage attack by each record's best plan.

        Raises InputError if group sizes are unknown before access. The best plan is the plan with the highest payoff of
        a single attempt.
        """
        if self.registry_size is not None:
            raise InputError("planning with unknown group sizes needs a match probability")
        by_plan = []
        for number, price in enumerate(linkage.prices.tolist()):
            sizes = (one_over(linkage.plan_success[number]), one_over(linkage.plan_believed[number]))
            # Only the first plan, without inference, uses the list's candidates.
            candidates, among = (None, None) if number else (linkage.candidates, linkage.among)
            priced = replace(self, attack=replace(self.attack, link_cost=self.attack.link_cost + price))
            by_plan.append(priced.weigh(Linkage(*sizes, by_chance=True, candidates=candidates, among=among)))
        return _chosen(by_plan, linkage.best_plan(self.attack.gain))


def sequential_attack(section: Any, gain: float, exploit_cost: float, *, coverage: float = 1.0) -> SequentialAttack:
    """Return a `SequentialAttack` with the parameters of a scenario's section.

    Parameters
    ----------
    section : SequentialSection
        The other parameters.
    gain, exploit_cost : float
        Gain from exploiting the right person and cost of an exploit, in currency units per record.
    coverage : float
        Probability that the record's person is in the register; the prior if the section has none.

    Raises
    ------
    InputError
        If a parameter is out of its range.
    """
    known = {
        field.name: getattr(section, field.name) for field in fields(SequentialAttack) if hasattr(section, field.name)
    }
    prior = coverage if section.prior is None else section.prior
    return SequentialAttack(**{**known, "gain": gain, "exploit_cost": exploit_cost, "prior": prior})


def _chosen(parts: Sequence[T], which: NDArray[np.integer]) -> T:
    """Return the results of each record from the part with its number in `which`.

    Parts are plans or attempts for the same n records. Fields that are not arrays are those of the first part.
    """
    if len(parts) == 1:
        return parts[0]
    records = np.arange(len(which))
    arrays: dict[str, Any] = {
        name: np.stack([getattr(part, name) for part in parts])[which, records] for name in arrays_of(parts[0])
    }
    return replace(parts[0], **arrays)
