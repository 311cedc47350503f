"""What equips adversaries in several kinds of game: attacks that are drawn, and resources as partial knowledge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.simple_behaviours import RandomAttacks
from reidsim.agents.accuracy import InaccurateLinker
from reidsim.agents.profile import Holdings
from reidsim.errors import InputError
from reidsim.games.record_game import Linker
from reidsim.random_streams import random_stream
from reidsim.scenarios.adversary_schema import PlannerSection, WeightedSection
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.schema import EconomicsSection


def drawn_planner(
    section: WeightedSection, own: EconomicsSection, seed: int, agents: AgentsSection
) -> Adversary | None:
    """Return an adversary whose attacks at random are drawn, as in rounds that are; None of any other.

    Parameters
    ----------
    section : WeightedSection
        Of one of several adversaries.
    own : EconomicsSection
        Of the adversary; see `reidsim.scenarios.agents.economics_of`.
    seed : int
        Of the scenario.
    agents : AgentsSection
        Whose mode says if attacks at random are drawn, or what is to be expected of them.
    """
    if agents.mode != "sampling" or not isinstance(section, PlannerSection) or section.planner != "random":
        return None
    number = int(random_stream(seed, "agents").integers(2**63))
    return RandomAttacks(own.adversary_gain, own.cost, section.rate, number)


class ToldByShares(Protocol):
    """A resource that tells attributes of a share of people."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that it tells; all if there are none."""
        ...

    @property
    def share(self) -> float:
        """Probability that it tells them of a person."""
        ...


def knowledge_held(
    resources: Mapping[str, ToldByShares], holds: Holdings, names: Sequence[str], n: int
) -> Knowledge:  # fmt: skip
    """Return what resources tell together of each of n persons with some quasi-identifiers.

    Each tells its attributes of a share of people, independently of the others.
    """
    everybody = np.zeros(n, dtype=np.intp)
    sources = []
    for name in sorted(holds):
        resource = resources[name]
        group = AttributeGroup(resource.attributes or tuple(names))
        sources.append(Source(name, (SourceProfile((group,), resource.share),), everybody))
    return Knowledge(tuple(names), tuple(sources))


def linker_of(section: WeightedSection, linker: Linker, expected_accuracy: float) -> Linker:
    """Return what an adversary links with, whose resources may say what is wrong, or be taken for it."""
    if min(section.accuracy, expected_accuracy) < 1.0:
        return InaccurateLinker(linker, section.accuracy, expected_accuracy)
    return linker


def check_has_resource(section: WeightedSection, where: str) -> None:
    """Check that an adversary who needs resources holds or may buy one.

    Raises
    ------
    InputError
    """
    if section.needs_resources and not (section.holds or section.buys):
        raise InputError(
            "a planner without the resource that it needs", where=f"{where}.holds", found=[],
            expected="a resource that it holds or buys",
        )  # fmt: skip


def check_accuracy(section: WeightedSection, adversary: Adversary, where: str) -> None:
    """Check that an adversary whose resources are not all right attempts a record once.

    Raises
    ------
    InputError
    """
    if section.is_inaccurate and isinstance(adversary, SequentialAdversary):
        raise InputError("accuracy is of planners who attempt a record once", where=f"{where}.accuracy")
