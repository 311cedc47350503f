"""Default setting of repeated rounds, for kinds without resources of adversaries.

Linker and planner of each adversary come from the games of the study in which it is the only adversary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.errors import InputError
from reidsim.games.defenders.defender import record_game_of
from reidsim.games.record_game import RecordGame
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.agents import (
    check_accuracy,
    economics_of,
    expected_fine,
    linker_of,
    profile_of,
    rules_of,
    section_of,
    sequential_rules,
    types_of,
)
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.policy import require_by_agents
from reidsim.scenarios.schema import BeliefsSection
from reidsim.scenarios.schema import economics_of as economics_and_belief
from reidsim.scenarios.several_adversaries import scenario_alone
from reidsim.scenarios.study import Study

if TYPE_CHECKING:
    from reidsim.scenarios.kind import Kind


@dataclass(frozen=True, eq=False)
class _Equip:
    """Callable that returns an adversary's linker and planner from its study's games.

    See `reidsim.agents.profile.Equip`.
    """

    section: WeightedSection
    truth: RecordGame
    belief: RecordGame

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment:
        game = self.belief if believed else self.truth
        linker = linker_of(self.section, game.linker, expected_accuracy)
        return Equipment(linker, game.adversary)


def settings_of(kind: Kind, study: Study[Any]) -> Callable[[str, int, int], Setting]:
    """Return a function that makes the setting of repeated rounds.

    Its arguments are the policy, the number of the study's draw, and the number of the repetition of all rounds on
    that draw.

    Raises
    ------
    InputError
        If the kind has no decision maker, economics or adversary, or an adversary has the key ``holds`` or ``buys``.
    """
    scenario, agents = study.scenario, kind.agents_of(study.scenario)
    if not kind.decides or not all(hasattr(scenario, name) for name in ("economics", "adversary")):
        raise InputError(
            "this kind of scenario does not support rounds of agents",
            source=study.loaded.path,
            where="game",
            found=kind.name,
        )
    for name, section in types_of(scenario).items():
        if section.needs_resources:
            raise InputError(
                "this kind of scenario has no resources",
                source=study.loaded.path,
                where=f"{section_of(scenario, name)}.{'buys' if section.buys else 'holds'}",
                expected="no keys holds and buys",
            )

    def setting(policy: str, replication: int, draw: int) -> Setting:
        played, world = kind.policy(policy), study.world(replication)
        require_by_agents(played, kind.policies.values(), f"{kind.decider}.policies", study.loaded.path)
        truth, belief, defender = record_game_of(world.truth), world.belief, played.defender(study, replication)
        each = (truth.n_records,)
        return Setting(
            space=truth.space,
            cell_of_subject=kind.row_of_record(study, replication),
            benefit=np.broadcast_to(np.asarray(truth.benefit, dtype=np.float64), each),
            loss=np.broadcast_to(np.asarray(truth.loss, dtype=np.float64), each),
            believed_loss=np.broadcast_to(np.asarray(belief.loss, dtype=np.float64), each),
            meet=getattr(truth.space, "meet", None),
            profiles=tuple(_profile(study, agents, replication, *each) for each in types_of(scenario).items()),
            solve=lambda name, game: defender.choose(game),
            is_fixed=lambda name: played.is_rule,
            forbids_attacks=lambda name: played.forbids_attacks,
            seed=scenario.seed,
            replication=replication * agents.draws + draw,
            **rules_of(scenario, agents),
        )

    return setting


def _profile(
    study: Study[Any], agents: AgentsSection, draw: int, name: str, section: WeightedSection
) -> AdversaryProfile:
    """Return the profile of an adversary.

    The profile uses the games of the study in which this adversary is the only one.
    """
    both = economics_and_belief(study.scenario)
    if name in getattr(study.scenario, "adversaries", {}):
        study = study.with_adversary(scenario_alone(study.scenario, name).adversary)
    where, world = section_of(study.scenario, name), _study_against(study, agents, section).world(draw)
    equip = _Equip(section, record_game_of(world.truth), record_game_of(world.belief))
    check_accuracy(section, equip(frozenset(), 1.0).adversary, where)
    planners = (equip(frozenset(), 1.0, believed=believed).adversary for believed in (False, True))
    return profile_of(name, section, agents, equip, zip(both, planners, strict=True))


def _study_against(study: Study[Any], agents: AgentsSection, section: WeightedSection) -> Study[Any]:
    """Return the study with an adversary's own gain and cost.

    The cost, or the sequential attack, includes detection and fines of the rounds.
    """
    scenario: Any = study.scenario
    adversary, sequential = scenario.adversary, scenario.adversary.plans_sequentially
    economics = economics_of(section, scenario.economics, agents, sequential=sequential)
    if sequential:
        rules = adversary.sequential.model_copy(update=sequential_rules(agents))
        adversary = adversary.model_copy(update={"sequential": rules})
    update = {"adversary": adversary, "economics": economics}
    beliefs: BeliefsSection | None = getattr(scenario, "beliefs", None)
    if beliefs is not None:
        fine = 0.0 if sequential else expected_fine(agents)
        believed = {
            "gain": beliefs.gain if section.gain is None else None,
            "cost": None if section.cost is not None or beliefs.cost is None else beliefs.cost + fine,
        }
        update["beliefs"] = beliefs.model_copy(update=believed)
    return study.with_loaded(study.loaded.with_sections(**update))
