"""Build the setting in which a table scenario is played in repeated rounds.

A setting (`reidsim.agents.profile.Setting`) has the fixed parameters of a multi-round model.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import DrawnListsLinker, KnowledgeLinker
from reidsim.adversaries.response import Adversary
from reidsim.agents.profile import AdversaryProfile, Equip, Equipment, Holdings, PlannedReleases, Setting, Solve
from reidsim.core.errors import listed, locating, refuse_first
from reidsim.games.record_game import Linker
from reidsim.kinds.tables.schema import policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.lattice import Rows, StrategySpace
from reidsim.releases.m_invariance import counterfeits_of, forms_of_groups, m_invariant_groups
from reidsim.scenarios.adversary_schema import AgentsSection, WeightedSection
from reidsim.scenarios.agents import (
    OWN_ADVERSARY,
    check_resources,
    economics_of,
    knowledge_held,
    linker_of,
    named,
    profile_of,
    rules_of,
    types_of,
    with_detection,
)
from reidsim.scenarios.schema import EconomicsSection

# Largest number of cached equipments. A learning adversary expects a different accuracy in each round, so that the
# cache would otherwise grow with the rounds.
_MOST_MADE = 64


def _equip(study: TablesStudy, section: WeightedSection, planners: tuple[Adversary, Adversary]) -> Equip:
    """Return an `Equip`: a function that returns an adversary's linker and planner.

    Its arguments are the resources held, the accuracy that the adversary expects, and whether the publisher's beliefs
    apply; see `Equip`. The result of the function is None if the adversary needs resources and has none.

    Parameters
    ----------
    study : TablesStudy
        Study against this adversary alone, on the records of the participants.
    section : WeightedSection
        Settings of the adversary.
    planners : tuple of Adversary
        True planner, and the planner in which the publisher believes.
    """
    scenario, lattice, resources = study.scenario, study.lattice, study.scenario.resources

    @cache
    def by_resources(holds: Holdings, believed: bool) -> Linker:
        held = [name for name in resources if name in holds]
        if study.drawn is not None and resources[held[0]].is_list:
            guessed = believed and scenario.beliefs.lists == "coverage"
            return DrawnListsLinker(lattice, study.drawn, held, guessed=guessed)
        risk = scenario.planned_risk if believed else scenario.adversary.risk
        knowledge = knowledge_held(resources, holds, lattice.domain.names, lattice.n_records)
        return KnowledgeLinker(lattice, study.people(risk), knowledge)

    @lru_cache(_MOST_MADE)
    def equip(holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        if section.needs_resources and not holds:
            return None
        linker = by_resources(holds, believed) if section.needs_resources else study.own_linker(believed=believed)
        linker = linker_of(section, linker, expected_accuracy)
        return Equipment(*study.of_people(linker, planners[believed]))

    return equip


def setting_of(study: TablesStudy, agents: AgentsSection) -> Setting:
    """Return the `Setting` in which a study is played in repeated rounds.

    With one generalization for the table, or under prosecutor risk, records of data subjects who do not participate
    count neither in class sizes nor in the sum that the publisher maximizes.

    Parameters
    ----------
    study : TablesStudy
        Study on all records.
    agents : AgentsSection
        Rules of the rounds.

    Raises
    ------
    InputError
        If an adversary lacks a resource or cannot be used in rounds; see `profiles_of`. The error names the scenario
        file.
    """
    with locating(study.loaded.path):
        profiles = profiles_of(study, agents)

    def among(setting: Setting, participants: NDArray[np.int64]) -> Setting:
        part = study.among(participants)
        return replace(setting, profiles=profiles_of(part, agents), solve=part.solve)

    def split(cells: Rows, participants: NDArray[np.int64]) -> tuple[StrategySpace, Solve]:
        part = study.split(cells, participants)
        return part.space, part.solve

    scenario, waves, releases = study.scenario, study.waves, dict[str, Any]()
    if waves is not None:
        releases = {"rounds": len(waves.labels), "schedule": waves.schedule, "waves": waves.labels}
    by_release = "prosecutor" in scenario.risks
    return Setting(
        space=study.space,
        cell_of_subject=study.row_of_subject,
        benefit=study.of_cells(study.prices.benefit),
        loss=study.of_cells(study.prices.loss),
        believed_loss=study.of_cells(study.believed_prices.loss),
        profiles=profiles,
        solve=study.solve,
        is_fixed=lambda policy: policy_named(policy).is_rule,
        forbids_attacks=lambda policy: policy_named(policy).forbids_attacks,
        # Group sizes under journalist risk are counted in the population and do not depend on participation.
        among=among if scenario.publisher.unit == "table" or by_release else None,
        meet=study.lattice.meet,
        split=split,
        profiles_among=(lambda participants: profiles_of(study.among(participants), agents)) if by_release else None,
        seed=scenario.seed,
        reply_of=lambda policy: policy_named(policy).replies,
        **(rules_of(scenario, agents) | releases),
    )


def planned_releases(study: TablesStudy, policy: str) -> PlannedReleases:
    """Return the m-invariant releases of all waves, with counterfeit records.

    A wave is one of several successive releases. The result is a `PlannedReleases`: the generalization of each record
    in each wave, and the counterfeits that complete equivalence classes. `policy` is the name of the policy and has no
    effect, as only ``m-invariance`` plans all releases before the first round.

    Raises
    ------
    InputError
        If more than one in m of the new records of a wave have the same sensitive value, so that no groups exist.
    """
    waves, section = study.waves, study.scenario.releases
    assert waves is not None and waves.sensitive is not None and section is not None  # noqa: S101, PT018 - checked with the scenario
    codes = study.lattice.codes[study.cell_of_record]
    with locating(study.loaded.path):
        groupings = m_invariant_groups(waves.schedule, waves.sensitive, codes, section.m)
        forms = np.stack([forms_of_groups(each, study.lattice, study.cell_of_record) for each in groupings])
    first = np.unique(waves.sensitive, return_index=True)[1]
    added = []
    for number, each in enumerate(groupings):
        like, value = counterfeits_of(each, waves.sensitive)
        added.append(np.column_stack([np.full(len(like), number), like, first[value]]))
    return PlannedReleases(forms, np.concatenate(added))


def profiles_of(study: TablesStudy, agents: AgentsSection) -> tuple[AdversaryProfile, ...]:
    """Return the `AdversaryProfile` of each adversary type in repeated rounds.

    Raises
    ------
    InputError
        If an adversary lacks a resource that it needs, names a resource that does not exist or that it may not have,
        combines drawn lists with other resources, or has inaccurate resources in sequential attacks; or if the records
        have different gains or costs that would apply to it.
    """
    alone = {each or OWN_ADVERSARY: against for each, against in study.each.items()}
    resources, drawn, economics = study.scenario.resources, study.drawn, _economics(study)
    lists = study.scenario.lists
    buyers = {name: section.buyers for name, section in resources.items() if section.buyers is not None}
    prices = {each: section.price or 0.0 for each, section in resources.items()}
    if drawn is not None:
        prices, buyers = {**prices, **drawn.prices}, {**buyers, **drawn.buyers}
    check_resources(
        study.scenario, resources, buyers, {name: each.scenario.adversary.holds or () for name, each in alone.items()}
    )
    profiles = []
    for name, where, section in types_of(study.scenario):
        with named(None if None in study.owns else name):
            # Resources that the adversary holds become its equipment.
            adversary, equipped = with_detection(alone[name].scenario.adversary, agents), section.needs_resources
            own = alone[name].with_adversary(adversary.model_copy(update={"holds": ()} if equipped else {}))
            held_or_bought = (*(section.holds or ()), *section.buys)
            has_none = section.needs_resources and not held_or_bought
            problem, expected = "the adversary has no resource to attack with", "at least one resource in holds or buys"
            refuse_first((has_none, problem, f"{where}.holds", [], expected))
            others = [each for each in held_or_bought if each not in lists]
            problem, both = "drawn lists cannot be combined with other resources", 0 < len(others) < len(held_or_bought)
            expected = f"a `kind` for {next(iter(others), '')!r}, or none of {listed(lists)}"
            refuse_first((both, problem, where, listed(held_or_bought), expected))
            amounts = (economics, own.scenario.beliefs.believed_economics(economics))
            sequential = own.scenario.adversary.plans_sequentially
            charged = [economics_of(section, each, agents, sequential=sequential) for each in amounts]
            true, believed = (own.planner(each.adversary_gain, each.cost) for each in charged)
            equip = _equip(own, section, (true, believed))
            planners = zip(amounts, (true, believed), strict=True)
            profiles.append(profile_of(name, section, agents, equip, planners, prices))
    return tuple(profiles)


def _economics(study: TablesStudy) -> EconomicsSection:
    """Return the payoff parameters with the gain and cost common to all records.

    They apply to adversaries without a gain or cost of their own.

    Raises
    ------
    InputError
        If such an adversary needs an amount that differs by record.
    """
    amounts = {}
    for price in ("gain", "cost"):
        given = getattr(study.prices, price)
        amounts[price] = float(given.flat[0])
        for _, path, section in types_of(study.scenario):
            differs = getattr(section, price) is None and (given != given.flat[0]).any()
            problem = f"rounds of agents need the same {price} for all records"
            refuse_first((differs, problem, f"{path}.{price}", None, "an amount"))
    return study.scenario.economics.model_copy(update=amounts)
