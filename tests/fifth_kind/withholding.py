"""A kind of scenario that the package does not have: a publisher shares each record as it is, or withholds it."""

import hashlib
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from reidsim.games.defenders.fixed import FixedForms
from reidsim.kinds import (
    BestReply,
    Kind,
    Linkage,
    MaskingSpace,
    Policy,
    PublisherScenario,
    RecordGame,
    Study,
    World,
    economics_of,
    planner,
)


class WithholdingScenario(PublisherScenario):
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="people among whom each record hides")


@dataclass(frozen=True)
class ByClass:
    """Links a shared record to all people of its class, a withheld one to nobody in particular."""

    sizes: np.ndarray

    def link(self, strategy, rows=None):
        sizes = self.sizes if rows is None else self.sizes[rows]
        return Linkage(sizes, sizes) if strategy == 0 else Linkage(np.full(len(sizes), 1e12), np.full(len(sizes), 1e12))


class WithholdingStudy(Study[WithholdingScenario]):
    @property
    def fingerprint(self):
        return hashlib.sha256(repr(self.scenario.sizes).encode()).hexdigest()

    def world(self, draw=0):
        truth, belief = (self.game(economics) for economics in economics_of(self.scenario))
        return World(truth, belief, np.ones(len(self.scenario.sizes), dtype=np.int64))

    def game(self, economics):
        sizes = np.array(self.scenario.sizes, dtype=np.float64)
        adversary = planner(self.scenario.adversary, economics.adversary_gain, economics.cost, loaded=self.loaded)
        space = MaskingSpace(("record",), np.ones(1), len(sizes))
        return RecordGame(space, ByClass(sizes), adversary, np.array(economics.benefit), np.array(economics.loss))


class WithholdingKind(Kind):
    name = "withholding"
    words = "a publisher shares each record as it is, or not at all"
    schema = WithholdingScenario
    policies = {  # noqa: RUF012 - as of every kind
        "basic": Policy("basic", "Basic game", "what pays more", lambda study, draw: BestReply("basic")),
        "no-attack": Policy(
            "no-attack", "No-Attack", "what pays more of what nobody attacks",
            lambda study, draw: BestReply("no-attack", no_attack=True), forbids_attacks=True,
        ),
        "share-all": Policy(
            "share-all", "Share all", "every record is shared", lambda study, draw: FixedForms("share-all", 0),
            is_rule=True,
        ),
    }  # fmt: skip

    def build(self, loaded):
        return WithholdingStudy(loaded)


WITHHOLDING = WithholdingKind()
