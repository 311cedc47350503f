"""An additional kind of scenario: share each record unchanged, or withhold it."""

import hashlib
from typing import Annotated

import numpy as np
from pydantic import Field

from reidsim import kinds
from reidsim.games.cross_play import FixedForms


class WithholdingScenario(kinds.PublisherScenario):
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="people among whom each record hides")


class WithholdingStudy(kinds.Study[WithholdingScenario]):
    @property
    def fingerprint(self):
        return hashlib.sha256(repr(self.scenario.sizes).encode()).hexdigest()

    def link(self, strategy, rows=None):
        """Link a shared record to the people of its class, a withheld one to nobody."""
        sizes = np.array(self.scenario.sizes, float)[slice(None) if rows is None else rows]
        return kinds.Linkage(*[sizes if strategy == 0 else np.full(len(sizes), 1e12)] * 2)

    def world(self, draw=0):
        truth, belief = map(self.game, kinds.economics_of(self.scenario))
        return kinds.World(truth, belief, np.ones(len(self.scenario.sizes), dtype=np.int64))

    def game(self, economics):
        adversary = kinds.planner(self.scenario.adversary, economics.adversary_gain, economics.cost, loaded=self.loaded)
        space = kinds.MaskingSpace(("record",), np.ones(1), len(self.scenario.sizes))
        return kinds.RecordGame(space, self, adversary, np.array(economics.benefit), np.array(economics.loss))


POLICIES = kinds.Policies()


@POLICIES.register("basic")
class Basic(kinds.Policy):
    label, description = "Basic game", "what pays more"

    def choose(self, study, game, draw):
        return kinds.BestReply(self.name, no_attack=self.forbids_attacks).choose(game)


@POLICIES.register("no-attack")
class NoAttack(Basic):
    label, description, forbids_attacks = "No-Attack", "what pays more of what nobody attacks", True


@POLICIES.register("share-all")
class ShareAll(kinds.Policy):
    label, description, is_rule = "Share all", "as it is", True

    def choose(self, study, game, draw):
        return FixedForms(self.name, 0).choose(game)


class WithholdingKind(kinds.Kind):
    name = "withholding"
    words = "a publisher shares each record as it is, or not at all"
    schema = WithholdingScenario
    policies = POLICIES
    build = staticmethod(WithholdingStudy)


WITHHOLDING = WithholdingKind()
