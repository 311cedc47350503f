"""The masking game against a one-stage adversary with partial knowledge.

It is a record game with its own linker, solved by the solvers of record games; the choice names the solver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.masked_records import MaskedRecordLinker
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.errors import InputError
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import RecordGame


@dataclass(frozen=True, eq=False)
class PartialKnowledgeGame(MaskingGame):
    """Masking game against an adversary who links known attributes to a register.

    The background knowledge about a subject, a set of attributes whose values the adversary knows, is random. The
    success probability of a strategy is the mean, over knowledge sets, of 1 / the number of people in the register who
    match the values that are both shared and known (see `KnowledgeLinker`). The adversary decides by this mean and
    infers no surname. Of equally good strategies, the strategy with the lowest number is chosen.

    Parameters
    ----------
    space, attack, world, benefit, loss
        See `MaskingGame`; the attack has one stage, which links on the attributes of the knowledge.
    knowledge : Knowledge
        Background knowledge about the subjects, over the attributes of the last stage.

    Raises
    ------
    InputError
        If the attack infers attributes, or links on attributes that the knowledge does not have; or for the reasons
        given in `MaskingGame`.
    """

    knowledge: Knowledge = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.attack.inferences:
            found = self.attack.inferences[0].infers
            raise InputError(
                "an adversary with partial knowledge cannot infer attributes",
                found=found,
                expected="an Identify stage only",
            )
        on = self.attack.identify.on
        if on != self.knowledge.attributes:
            expected = f"knowledge of {', '.join(on)}"
            raise InputError(
                "the knowledge covers other attributes than the last stage",
                found=self.knowledge.attributes,
                expected=expected,
            )
        super().__post_init__()

    @property
    def is_compiled(self) -> bool:
        """Always False: there are no compiled solvers for partial knowledge."""
        return False

    def one_stage(self) -> MaskingGame:
        """Return the same game, because the attack has no inference."""
        return self

    @cached_property
    def record_game(self) -> RecordGame:
        """The same game as a record game, for solvers of record games."""
        name, world = self.attack.identify.resource, self.world
        linker = MaskedRecordLinker(
            self.space,
            world.targets,
            world.resource(name),
            self.knowledge,
            world.registered,
            world.lists.get(name),
            guessed=world.is_guessed(name),
        )
        adversary = self.planner or OneShotAdversary(self.attack.gain, self.attack.cost)
        return RecordGame(self.space, linker, adversary, np.asarray(self.benefit), np.asarray(self.loss))
