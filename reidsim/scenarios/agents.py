"""From a scenario to a world of agents: what holds in every kind of game."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.simple_behaviours import RandomAttacks
from reidsim.agents.accuracy import InaccurateLinker
from reidsim.agents.profile import AdversaryProfile, Enforcement, Equip, Holdings, Learning, Meeting, ParticipationRule
from reidsim.errors import InputError, listed, require_among
from reidsim.games.record_game import Linker
from reidsim.random_streams import random_stream
from reidsim.scenarios.adversary_schema import PlannerSection, WeightedSection
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.equipment_schema import EquipmentSection
from reidsim.scenarios.resource_schema import check_buyer
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead

# What the scenario's own adversary is called where it names none.
OWN_ADVERSARY = "adversary"
# Where nothing is for sale.
NOTHING_SOLD: Mapping[str, float] = MappingProxyType({})


def types_of(scenario: ScenarioHead) -> Mapping[str, WeightedSection]:
    """Return whom agents meet, by name: the scenario's own adversary, always there, if it names none."""
    return getattr(scenario, "adversaries", {}) or {OWN_ADVERSARY: WeightedSection()}


def section_of(scenario: ScenarioHead, name: str) -> str:
    """Return the section in which a scenario says who one of those is whom its agents meet."""
    return f"adversaries.{name}" if getattr(scenario, "adversaries", {}) else "adversary"


def meeting_of(agents: AgentsSection | None) -> Meeting:
    """Return whether records meet one of the adversaries, or each of them with its probability."""
    return "one-of" if agents is None else agents.together


def economics_of(
    section: WeightedSection, economics: EconomicsSection, agents: AgentsSection, *, sequential: bool = False
) -> EconomicsSection:
    """Return the economics of an adversary, with the fine to expect for an exploit as a part of its cost.

    A sequential attack accounts for fines itself.
    """
    gain = economics.adversary_gain if section.gain is None else section.gain
    cost = economics.cost if section.cost is None else section.cost
    fine = 0.0 if sequential else expected_fine(agents)
    return economics.model_copy(update={"gain": gain, "cost": cost + fine})


def expected_fine(agents: AgentsSection) -> float:
    """Return what an exploit costs in fines on average."""
    return agents.enforcement.detection * agents.enforcement.fine


def detection_intercept(agents: AgentsSection) -> float:
    """Return h0 of a sequential attack whose exploits are detected with the environment's probability."""
    # Beyond these the logistic function is 0 or 1 to the last digit.
    share = min(max(agents.enforcement.detection, 1e-300), 1 - 1e-16)
    return math.log(share / (1.0 - share))


def sequential_rules(agents: AgentsSection) -> dict[str, float]:
    """Return what a sequential attack accounts for where the environment detects and fines; nothing if it does not."""
    if not agents.enforcement.detection > 0:
        return {}
    return {
        "penalty": agents.enforcement.fine,
        "detection_intercept": detection_intercept(agents),
        "detection_slope": 0.0,
    }


def outlays_of(adversary: Adversary) -> dict[str, Any]:
    """Return the fields of a profile that say what attacks of a sequential planner cost; none of other planners."""
    if isinstance(adversary, ErringAdversary):
        return outlays_of(adversary.adversary)
    if not isinstance(adversary, SequentialAdversary):
        return {}
    attack = adversary.attack
    return {
        # The attack accounts for fines itself.
        "expected_fine": 0.0,
        "access_outlay": attack.access_cost + attack.link_cost,
        "exploit_outlay": attack.exploit_cost,
        "cheapest": attack.access_cost + attack.link_cost + attack.exploit_cost,
        "single_exploit": False,
    }


def profile_of(
    name: str,
    section: WeightedSection,
    agents: AgentsSection,
    equip: Equip,
    both: Iterable[tuple[EconomicsSection, Adversary]],
    prices: Mapping[str, float] = NOTHING_SOLD,
) -> AdversaryProfile:
    """Return the profile of an adversary, given its amounts and planner, true and believed, and what resources cost."""
    true, believed = (_profile(name, section, agents, equip, prices, *each) for each in both)
    return replace(true, believed=believed)


def _profile(
    name: str,
    section: WeightedSection,
    agents: AgentsSection,
    equip: Equip,
    prices: Mapping[str, float],
    economics: EconomicsSection,
    planner: Adversary,
) -> AdversaryProfile:
    fine = expected_fine(agents)
    own = economics_of(section, economics, agents)
    expected = section.accuracy if section.expected_accuracy is None else section.expected_accuracy
    return replace(
        AdversaryProfile(
            name=name,
            equip=equip,
            weight=section.weight,
            gain=own.adversary_gain,
            cheapest=own.cost - fine,
            holds=frozenset(section.holds or ()),
            prices={resource: prices.get(resource, 0.0) for resource in section.buys},
            budget=math.inf if section.budget is None else section.budget,
            draws_targets=section.selection == "random",
            expected_accuracy=expected,
            accuracy=section.accuracy,
            learns=section.expected_accuracy is not None,
            experience=section.experience,
            expected_fine=fine,
        ),
        **outlays_of(planner),
    )


def rules_of(scenario: ScenarioHead, agents: AgentsSection) -> dict[str, Any]:
    """Return the fields of a `Setting` that a scenario gives directly."""
    names = list(types_of(scenario))
    learning = None
    if agents.learning is not None:
        prior = np.array([agents.learning.prior.get(name, 1.0) for name in names])
        if agents.together == "all":
            absent = np.array([agents.learning.prior_absent.get(name, 1.0) for name in names])
            prior = np.stack([prior, absent], axis=1)
        learning = Learning(prior, agents.learning.noticed)
    taking_part = agents.participation
    return {
        "meeting": agents.together,
        "rounds": agents.rounds,
        "mode": agents.mode,
        "enforcement": Enforcement(**agents.enforcement.model_dump()),
        "learning": learning,
        "participation": None if taking_part is None else ParticipationRule(**taking_part.model_dump()),
        "foresees": agents.foresees,
        "tolerance": agents.tolerance,
        "remembers": agents.remembers,
    }


def are_equipped(scenario: ScenarioHead) -> bool:
    """Tell whether adversaries of a scenario differ in what they hold, buy or take to be right in rounds of agents."""
    several = getattr(scenario, "adversaries", {}).values()
    in_rounds = getattr(scenario, "agents", None) is not None
    return in_rounds and any(section.needs_resources or section.of_rounds for section in several)


def left_out_of_rounds(scenario: ScenarioHead) -> tuple[str, ...]:
    """Return what one game leaves out of a scenario with agents, one sentence; nothing where there are none."""
    if getattr(scenario, "agents", None) is None:
        return ()
    several = getattr(scenario, "adversaries", {})
    keys = [key for key in EquipmentSection.model_fields if any(key in each.of_rounds for each in several.values())]
    told = f", and {listed(keys)} of section adversaries" if keys else ""
    return (f"section agents{told} is left out: one round, against {_whom(scenario)}",)


def _whom(scenario: ScenarioHead) -> str:
    return "those of section adversaries" if getattr(scenario, "adversaries", None) else "the adversary of the scenario"


def check_resources(
    scenario: ScenarioHead,
    resources: Collection[str],
    buyers: Mapping[str, Collection[str]],
    own: Mapping[str, Collection[str]],
) -> None:
    """Check that adversaries name resources that there are, and that they may have.

    Parameters
    ----------
    scenario : ScenarioHead
    resources : collection of str
        All that there are.
    buyers : mapping of str to collection of str
        Who may have each.
    own : mapping of str to collection of str
        What each adversary uses if it neither holds nor buys.

    Raises
    ------
    InputError
    """
    for name, section in types_of(scenario).items():
        where = section_of(scenario, name)
        for key in ("holds", "buys"):
            named, otherwise = getattr(section, key) or (), "a section [resources.NAME] of it"
            require_among("no such resource", named, resources, where=f"{where}.{key}", otherwise=otherwise)
            check_buyer(name, f"{where}.{key}", getattr(section, key) or (), buyers)
        if not section.needs_resources:
            check_buyer(name, where, own[name], buyers)


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
