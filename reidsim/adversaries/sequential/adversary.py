"""The sequential attack as an adversary, for releases with known group sizes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.attempt import PlannedAttempt
from reidsim.adversaries.multistage.attack import PlanLinkage, best_plan
from reidsim.adversaries.response import INDIFFERENCE, Linkage, ListedCandidates, Response, arrays_of, one_over
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import BinomialBelief, Plan, plan_known, plan_listed, plan_unknown
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess
from reidsim.errors import InputError
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True)
class SequentialAdversary:
    """Adversary who plans access, linkage and exploits separately for each record.

    The plan is the optimal policy of a factored Markov decision process. The adversary attacks a record if access to
    the registry has a positive expected payoff. The record is then re-identified with probability P_reid (Xia et al.
    2015, Eq. 5).

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
        If success is unconfirmed, and groups are unknown or the solver is a linear program.
    """

    attack: SequentialAttack
    registry_size: int | None = None
    signal: UnconfirmedSuccess | None = None

    def __post_init__(self) -> None:
        if self.signal is not None and self.registry_size is not None:
            raise InputError("unconfirmed success needs known group sizes")
        if self.signal is not None and self.attack.solver != "backward-induction":
            raise InputError(
                "unconfirmed success needs backward induction",
                where="solver",
                found=self.attack.solver,
            )

    @property
    def decides_on(self) -> frozenset[str]:
        """Linkage fields on which the decision to access depends."""
        if self.registry_size is not None:
            return frozenset({"match_probability"})
        return frozenset({"believed_group_sizes", "candidates", "plan_believed", "plans", "prices"})

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return self.weigh(linkage, rows).made()

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> PlannedAttempt:
        """Return the attack on each record with its expected payoff; see `Weighing`.

        Raises
        ------
        InputError
            If groups are unknown, and the linkage has no `match_probability` or is a multi-stage attack; or if the
            linkage has candidates in a drawn list, and groups are unknown or success is unconfirmed.
        """
        if isinstance(linkage, PlanLinkage):
            return self._of_best_plan(linkage)
        if linkage.candidates is None and linkage.by_chance:
            known = linkage.believed_group_sizes is linkage.group_sizes
            believed = whole_candidates(linkage.believed_group_sizes)
            linkage = Linkage(believed if known else whole_candidates(linkage.group_sizes), believed)
        hoped, plan = self._plans(linkage)
        return PlannedAttempt(
            success=plan.reidentified,
            believed_success=hoped.reidentified,
            worth=hoped.worth,
            payoff=plan.true_payoff,
            pays=hoped.pays,
            exploits=plan.exploits,
            gain=self.attack.gain,
        )

    def _plans(self, linkage: Linkage) -> tuple[Plan, Plan]:
        """Return the believed plan and the true plan, with access for every record."""
        if linkage.candidates is not None:
            return self._listed(linkage.candidates, linkage.among)
        sizes, believed = linkage.group_sizes, linkage.believed_group_sizes
        accesses = np.ones(np.shape(sizes), dtype=np.bool_)
        if self.registry_size is not None:
            if linkage.match_probability is None:
                raise InputError("planning with unknown group sizes needs a match probability")
            belief = BinomialBelief(self.registry_size, linkage.match_probability)
            plan = plan_unknown(self.attack, sizes, belief, accesses=accesses)
            return plan, plan
        hoped = plan_known(self.attack, believed, accesses=accesses, signal=self.signal)
        if believed is sizes:
            return hoped, hoped
        # The adversary learns the true group size on access, so only the decision to access depends on the belief.
        return hoped, plan_known(self.attack, sizes, accesses=accesses, signal=self.signal)

    def _listed(self, candidates: ListedCandidates, among: NDArray[np.bool_] | None) -> tuple[Plan, Plan]:
        """Return the believed plan and the true plan for candidates in drawn lists."""
        if self.registry_size is not None or self.signal is not None:
            raise InputError("drawn lists need known group sizes and confirmed success")
        hoped, found = _no_plan(len(candidates.sizes)), _no_plan(len(candidates.sizes))
        # Coverage is part of the attack's prior, so each list needs its own plan.
        for coverage in np.unique(candidates.coverage).tolist():
            here = candidates.coverage == coverage
            attack = replace(self.attack, prior=self.attack.prior * coverage)
            sizes = candidates.sizes[here]
            planned = plan_known(attack, sizes, accesses=np.ones(len(sizes), dtype=np.bool_))
            listed = planned if among is None else plan_listed(attack, sizes, among[here], planned)
            for item in fields(Plan):
                getattr(hoped, item.name)[here] = getattr(planned, item.name)
                getattr(found, item.name)[here] = getattr(listed, item.name)
        return hoped, found

    def _of_best_plan(self, linkage: PlanLinkage) -> PlannedAttempt:
        """Return the outcome of a multi-stage attack by each record's best plan.

        The best plan is the plan with the highest payoff of a single attempt.
        """
        believed, success, prices = linkage.plan_believed, linkage.plan_success, linkage.prices
        if self.registry_size is not None:
            raise InputError("planning with unknown group sizes needs a match probability")
        plan = best_plan(self.attack.gain, believed, prices)
        by_plan = [
            replace(self, attack=replace(self.attack, link_cost=self.attack.link_cost + float(price))).weigh(
                Linkage(
                    whole_candidates(one_over(success[number])),
                    whole_candidates(one_over(believed[number])),
                    # Only the first plan, without inference, uses the list's candidates.
                    candidates=None if number else linkage.candidates,
                    among=None if number else linkage.among,
                ),
            )
            for number, price in enumerate(prices)
        ]
        records = np.arange(believed.shape[1])
        of_records: dict[str, Any] = {
            name: np.stack([getattr(one, name) for one in by_plan])[plan, records] for name in arrays_of(by_plan[0])
        }
        return replace(by_plan[0], **of_records)


def _no_plan(n: int) -> Plan:
    """Return a plan of shape (n,) to be filled."""
    flags = ("accesses", "pays")
    return Plan(**{item.name: np.zeros(n, np.bool_ if item.name in flags else np.float64) for item in fields(Plan)})


def whole_candidates(sizes: Counts) -> NDArray[np.int64]:
    """Return group sizes rounded up to whole candidates.

    An infinite group size gives 0, because no person can be re-identified.
    """
    finite = np.isfinite(sizes)
    # 1 / (1 / 3) can exceed 3 by rounding and must not become 4.
    return np.where(finite, np.ceil(np.where(finite, sizes, 0.0) * (1 - INDIFFERENCE)), 0).astype(np.int64)
