"""The sequential attack as an adversary of the library: replies to any release whose group sizes are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reidsim.adversaries.response import Linkage, Response
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import BinomialBelief, plan_known, plan_unknown
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess, plan_unconfirmed
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True)
class SequentialAdversary:
    """Plans access, linkage and exploits of each record on its own, as a factored Markov decision process.

    It attacks a record when accessing the registry for it is worth more than nothing; the record is re-identified with
    probability P_reid (Xia et al. 2015, Eq. 5).

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
        return frozenset({"believed_group_sizes" if self.registry_size is None else "match_probability"})

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
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
        )
