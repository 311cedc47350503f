"""The sequential attack as an adversary of the library: replies to any release whose group sizes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import PlanLinkage, best_plan
from reidsim.adversaries.response import INDIFFERENCE, Linkage, ListedCandidates, Response, one_over
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import BinomialBelief, plan_known, plan_listed, plan_unknown
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess, plan_unconfirmed
from reidsim.errors import InputError
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True)
class SequentialAdversary:
    """Plans access, linkage and exploits of each record on its own, as a factored Markov decision process.

    It attacks a record when accessing the registry for it is worth more than nothing; the record is re-identified with
    probability P_reid (Xia et al. 2015, Eq. 5).

    A linkage that tells how likely an attempt is to name the right person, rather than how many people match, counts as
    a group of one over that probability, rounded up to whole candidates; where nobody can be named, as nobody. Of the
    plans of an attack in stages the one with which a single attempt pays most is used, at its price as a cost of
    linking. As with any group whose size was believed to be another, the true one is found on linking.

    In a list that was drawn it acts against the people who agree with what is released, and takes the record's person
    for one of them with the attack's prior times the list's coverage; what follows is worked out given who is in the
    list. If a plan in stages infers something, that is told by the chance of an attempt, as above.

    Parameters
    ----------
    attack : SequentialAttack
    registry_size : int, optional
        Records of the registry. If given, the adversary knows before access only this and the share of people who
        match (the unknown-group model, Eq. 6); else it knows the group size.
    signal : UnconfirmedSuccess, optional
        What it sees instead of whether an exploit hit.

    Raises
    ------
    InputError
        If success is unconfirmed and groups are unknown.
    """

    attack: SequentialAttack
    registry_size: int | None = None
    signal: UnconfirmedSuccess | None = None

    def __post_init__(self) -> None:
        if self.signal is not None and self.registry_size is not None:
            raise InputError("unconfirmed success is planned for known groups only")

    @property
    def decides_on(self) -> frozenset[str]:
        """What of a linkage the decision to access rests on."""
        if self.registry_size is not None:
            return frozenset({"match_probability"})
        return frozenset({"believed_group_sizes", "plan_believed", "plans", "prices"})

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        if isinstance(linkage, PlanLinkage) and linkage.plan_believed is not None:
            return self._respond_by_plan(linkage)
        if linkage.candidates is not None:
            return self._listed(linkage.candidates)
        if linkage.by_chance:
            known = linkage.believed_group_sizes is linkage.group_sizes
            believed = whole_candidates(linkage.believed_group_sizes)
            return self._planned(Linkage(believed if known else whole_candidates(linkage.group_sizes), believed))
        return self._planned(linkage)

    def _planned(self, linkage: Linkage) -> Response:
        sizes, believed = linkage.group_sizes, linkage.believed_group_sizes
        if self.registry_size is not None:
            if linkage.match_probability is None:
                raise InputError("a planner of unknown groups needs the share of people who match")
            belief = BinomialBelief(self.registry_size, linkage.match_probability)
            plan = plan_unknown(self.attack, sizes, belief)
            hoped = plan
        elif self.signal is not None:
            hoped = plan_unconfirmed(self.attack, self.signal, believed)
            plan = hoped
            if believed is not sizes:
                plan = plan_unconfirmed(self.attack, self.signal, sizes, accesses=hoped.accesses)
        else:
            hoped = plan_known(self.attack, believed)
            # A group that turns out different is found on linking, so only the decision to access rests on belief.
            plan = hoped if believed is sizes else plan_known(self.attack, sizes, accesses=hoped.accesses)
        return Response(
            attacks=plan.accesses,
            success=plan.reidentified,
            believed_success=hoped.reidentified,
            adversary_payoff=plan.true_payoff,
            exploits=np.where(plan.accesses, plan.exploits, 0.0),
            gain=self.attack.gain,
        )

    def _listed(self, candidates: ListedCandidates) -> Response:
        if self.registry_size is not None or self.signal is not None:
            raise InputError("people of a drawn list are exploited by planners who know groups and see each success")
        names = ("attacks", "success", "believed_success", "adversary_payoff", "exploits")
        found = {name: np.zeros(len(candidates.sizes), dtype=bool if name == "attacks" else float) for name in names}
        # One for each list.
        for coverage in np.unique(candidates.coverage).tolist():
            here = candidates.coverage == coverage
            attack = replace(self.attack, prior=self.attack.prior * coverage)
            sizes = candidates.sizes[here]
            plan = plan_listed(attack, sizes, candidates.among[here])
            hoped = plan_known(attack, sizes).reidentified
            replies = (plan.accesses, plan.reidentified, hoped, plan.true_payoff, plan.exploits)
            for name, reply in zip(names, replies, strict=True):
                found[name][here] = reply
        return Response(**found)

    def _respond_by_plan(self, linkage: PlanLinkage) -> Response:
        """Reply to an attack in stages: with the plan of each record that pays most in a single attempt."""
        believed, success, prices = linkage.plan_believed, linkage.plan_success, linkage.prices
        assert believed is not None and success is not None and prices is not None  # noqa: S101, PT018 # they come together
        if self.registry_size is not None:
            raise InputError("a planner of unknown groups needs the share of people who match")
        plan = best_plan(self.attack.gain, believed, prices)
        replies = [
            replace(self, attack=replace(self.attack, link_cost=self.attack.link_cost + float(price)))._planned(
                Linkage(whole_candidates(one_over(success[number])), whole_candidates(one_over(believed[number])))
            )
            for number, price in enumerate(prices)
        ]
        if linkage.candidates is not None:
            # The first plan infers nothing.
            replies[0] = self._listed(linkage.candidates)
        each = np.arange(believed.shape[1])
        return Response(
            **{
                name: np.stack([getattr(reply, name) for reply in replies])[plan, each]
                for name in ("attacks", "success", "believed_success", "adversary_payoff", "exploits")
            },
            gain=self.attack.gain,
        )


def whole_candidates(sizes: Counts) -> NDArray[np.int64]:
    """Return sizes of groups as whole candidates, rounded up; 0 where they are infinite, as nobody can be named."""
    finite = np.isfinite(sizes)
    # One over one over 3 must not count as 4.
    return np.where(finite, np.ceil(np.where(finite, sizes, 0.0) * (1 - INDIFFERENCE)), 0).astype(np.int64)
