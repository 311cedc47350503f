"""The sequential attack as an adversary of the library: replies to any release whose group sizes are known."""

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
    """Plans access, linkage and exploits of each record on its own, as a factored Markov decision process.

    It attacks a record when accessing the registry for it is worth more than nothing; the record is re-identified with
    probability P_reid (Xia et al. 2015, Eq. 5).

    A linkage with the probability of naming the right person, instead of the number of people who match, counts as
    a group whose size is the inverse of that probability, rounded up; probability 0 counts as an empty group. Of the
    plans of an attack in stages the one with which a single attempt pays most is used, at its price as a cost of
    linking. As with any group whose size was believed to be another, the true one is found on linking.

    In a list that was drawn it acts against the people who agree with the released values, and takes the person of the
    record to be among them with the attack's prior times the list's coverage; outcomes are computed given the list's
    members, or as it believes where the linkage does not contain them. If a plan in stages infers something, it takes
    the chance of an attempt, as above.

    Parameters
    ----------
    attack : SequentialAttack
    registry_size : int, optional
        Records of the registry. If given, the adversary knows before access only this and the share of people who
        match (the unknown-group model, Eq. 6); else it knows the group size.
    signal : UnconfirmedSuccess, optional
        Signal seen instead of whether an exploit hit.

    Raises
    ------
    InputError
        If success is unconfirmed and groups are unknown, or the solver is a linear program.
    """

    attack: SequentialAttack
    registry_size: int | None = None
    signal: UnconfirmedSuccess | None = None

    def __post_init__(self) -> None:
        if self.signal is not None and self.registry_size is not None:
            raise InputError("unconfirmed success is planned for known groups only")
        if self.signal is not None and self.attack.solver != "backward-induction":
            raise InputError(
                "unconfirmed success is planned by backward induction only",
                where="solver",
                found=self.attack.solver,
            )

    @property
    def decides_on(self) -> frozenset[str]:
        """Attributes of a linkage on which the decision to access depends."""
        if self.registry_size is not None:
            return frozenset({"match_probability"})
        return frozenset({"believed_group_sizes", "candidates", "plan_believed", "plans", "prices"})

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return self.weigh(linkage, rows).made()

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> PlannedAttempt:
        """Return the worth of accessing the registry for each record; see `Weighing`."""
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
        """Return the believed plan and the true one, with access to the registry for every record."""
        if linkage.candidates is not None:
            return self._listed(linkage.candidates, linkage.among)
        sizes, believed = linkage.group_sizes, linkage.believed_group_sizes
        accesses = np.ones(np.shape(sizes), dtype=np.bool_)
        if self.registry_size is not None:
            if linkage.match_probability is None:
                raise InputError("a planner of unknown groups needs the share of people who match")
            belief = BinomialBelief(self.registry_size, linkage.match_probability)
            plan = plan_unknown(self.attack, sizes, belief, accesses=accesses)
            return plan, plan
        hoped = plan_known(self.attack, believed, accesses=accesses, signal=self.signal)
        if believed is sizes:
            return hoped, hoped
        # A group that turns out different is found on linking, so only the decision to access rests on belief.
        return hoped, plan_known(self.attack, sizes, accesses=accesses, signal=self.signal)

    def _listed(self, candidates: ListedCandidates, among: NDArray[np.bool_] | None) -> tuple[Plan, Plan]:
        """Return the same for people of drawn lists, who are in them or not."""
        if self.registry_size is not None or self.signal is not None:
            raise InputError("people of a drawn list are exploited by planners who know groups and see each success")
        hoped, found = _no_plan(len(candidates.sizes)), _no_plan(len(candidates.sizes))
        # One for each list.
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
        """Return the outcome of an attack in stages by the plan of each record that pays most in a single attempt."""
        believed, success, prices = linkage.plan_believed, linkage.plan_success, linkage.prices
        if self.registry_size is not None:
            raise InputError("a planner of unknown groups needs the share of people who match")
        plan = best_plan(self.attack.gain, believed, prices)
        by_plan = [
            replace(self, attack=replace(self.attack, link_cost=self.attack.link_cost + float(price))).weigh(
                Linkage(
                    whole_candidates(one_over(success[number])),
                    whole_candidates(one_over(believed[number])),
                    # The first plan infers nothing.
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
    """Return a plan to be filled in, shape (n,)."""
    flags = ("accesses", "pays")
    return Plan(**{item.name: np.zeros(n, np.bool_ if item.name in flags else np.float64) for item in fields(Plan)})


def whole_candidates(sizes: Counts) -> NDArray[np.int64]:
    """Return sizes of groups as whole candidates, rounded up; 0 where they are infinite, as nobody can be named."""
    finite = np.isfinite(sizes)
    # One over one over 3 must not count as 4.
    return np.where(finite, np.ceil(np.where(finite, sizes, 0.0) * (1 - INDIFFERENCE)), 0).astype(np.int64)
