"""A kind of scenario that the package does not have: a publisher shares each record as it is, or withholds it."""

import hashlib
from typing import Annotated

import numpy as np
from pydantic import Field

from reidsim import kinds
from reidsim.games.defenders.fixed import FixedForms


class WithholdingScenario(kinds.PublisherScenario):
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="people among whom each record hides")


class WithholdingStudy(kinds.Study[WithholdingScenario]):
    @property
    def fingerprint(self):
        return hashlib.sha256(repr(self.scenario.sizes).encode()).hexdigest()

    def link(self, strategy, rows=None):
        """Link a shared record to all people of its class, a withheld one to nobody in particular."""
        sizes = np.array(self.scenario.sizes, float)[slice(None) if rows is None else rows]
        return kinds.Linkage(*[sizes if strategy == 0 else np.full(len(sizes), 1e12)] * 2)

    def world(self, draw=0):
        truth, belief = map(self.game, kinds.economics_of(self.scenario))
        return kinds.World(truth, belief, np.ones(len(self.scenario.sizes), dtype=np.int64))

    def game(self, economics):
        adversary = kinds.planner(self.scenario.adversary, economics.adversary_gain, economics.cost, loaded=self.loaded)
        space = kinds.MaskingSpace(("record",), np.ones(1), len(self.scenario.sizes))
        return kinds.RecordGame(space, self, adversary, np.array(economics.benefit), np.array(economics.loss))


BASIC = kinds.Policy("basic", "Basic game", "what pays more", lambda *_: kinds.BestReply("basic"))
NO_ATTACK = kinds.Policy(
    "no-attack", "No-Attack", "what pays more of what nobody attacks",
    lambda *_: kinds.BestReply("no-attack", no_attack=True), forbids_attacks=True,
)  # fmt: skip
SHARE_ALL = kinds.Policy("share-all", "Share all", "as it is", lambda *_: FixedForms("share-all", 0), is_rule=True)


class WithholdingKind(kinds.Kind):
    name = "withholding"
    words = "a publisher shares each record as it is, or not at all"
    schema = WithholdingScenario
    policies = {policy.name: policy for policy in (BASIC, NO_ATTACK, SHARE_ALL)}  # noqa: RUF012 - as of every kind
    build = staticmethod(WithholdingStudy)


WITHHOLDING = WithholdingKind()
