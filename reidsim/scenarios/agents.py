"""Several adversaries: alone, uncertain, in repeated rounds, in cross-play.

All kinds of scenario share these functions. In the default setting (`settings_of`), adversaries have no resources: the
linker and planner of each adversary come from the games of the study in which it is the only adversary.

The adversaries of cross-play are one adversary per planner, adversaries with other linkage (partial knowledge, attack
in stages), the scenario's own adversary or adversaries, and the types of repeated rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import Adversary, AlwaysAttacks, NeverAttacks, RandomAttacks, planners
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.agents.profile import AdversaryProfile, Equip, Equipment, Holdings, InaccurateLinker, Learning, Setting
from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among
from reidsim.games.composite import AdversaryType, Together, TypesGame, averaged
from reidsim.games.cross_play import Game, Opponent, record_game_of
from reidsim.games.record_game import Linker, RecordGame
from reidsim.releases.lattice import Floats, MaskingSpace, StrategySpace
from reidsim.scenarios.adversary_schema import (
    TOGETHER,
    AdversarySection,
    AgentsSection,
    BeliefsSection,
    EconomicsSection,
    PlannerSection,
    WeightedSection,
    naming_adversary,
    opponent_names,
)
from reidsim.scenarios.adversary_schema import economics_of as true_and_believed
from reidsim.scenarios.registry import require_by_agents
from reidsim.scenarios.resources import check_buyer
from reidsim.scenarios.scenario import Scenario, Study, World
from reidsim.scenarios.schema import Discrete, ScenarioHead, UncertaintySection

S = TypeVar("S", bound=ScenarioHead)


def scenario_alone(scenario: S, name: str) -> S:
    """Return the scenario with one named adversary as its only adversary.

    The adversary's own gain and cost, if any, replace the amounts of the economics, and the publisher knows them.
    """
    sections: dict[str, Any] = {
        key: getattr(scenario, key) for key in ("adversary", "adversaries", "economics", "beliefs")
    }
    section, schema = sections["adversaries"][name], type(sections["adversary"])
    values = {key: getattr(section, key) for key in schema.model_fields}
    changes: dict[str, Any] = {
        # Validated before. Validating again would refuse names of objects passed in Python.
        "adversary": schema.model_construct(**values),
        "adversaries": {},
        "economics": sections["economics"].model_copy(update=section.amounts),
        "beliefs": sections["beliefs"].model_copy(update=dict.fromkeys(section.amounts)),
    }
    return scenario.model_copy(update=changes)


WHO_COMES = "adversary"


def who_may_come(uncertainty: UncertaintySection | None) -> tuple[str, ...]:
    """Return the names of the possible adversaries of an uncertain ``adversary``.

    Each name occurs once. The result is empty if the adversary is certain, or one of its values is a section.
    """
    parameter = None if uncertainty is None else uncertainty.parameters.get(WHO_COMES)
    names = parameter.values if isinstance(parameter, Discrete) else ()
    return tuple(dict.fromkeys(map(str, names))) if all(isinstance(name, str) for name in names) else ()


def without_adversary_uncertainty(loaded: Scenario[S]) -> Scenario[S]:
    """Return a scenario without the uncertainty about the adversary.

    Correlations with the adversary are removed too, and section ``uncertainty`` if nothing else is uncertain. Without
    uncertainty about named adversaries, `loaded` itself is returned.
    """
    if not who_may_come(loaded.scenario.uncertainty):
        return loaded
    content = dict(loaded.content)
    section = content.pop("uncertainty")
    parameters = {key: value for key, value in section["parameters"].items() if key != WHO_COMES}
    pairs = [pair for pair in section.get("correlations", ()) if WHO_COMES not in pair["keys"]]
    changed = section | {"parameters": parameters} | ({"correlations": pairs} if "correlations" in section else {})
    return loaded.with_content(content | ({"uncertainty": changed} if parameters else {}))


# Name of the adversary of a scenario without named adversaries.
OWN_ADVERSARY = "adversary"
P = TypeVar("P", bound=PlannerSection)


def types_of(scenario: ScenarioHead) -> list[tuple[str, str, WeightedSection]]:
    """Return name, key path and section of each adversary type.

    A scenario without named adversaries has one type, `OWN_ADVERSARY`, with weight 1 and key path ``adversary``.
    """
    several: Mapping[str, WeightedSection] = getattr(scenario, "adversaries", {})
    own = [(OWN_ADVERSARY, "adversary", WeightedSection())]
    return [(name, f"adversaries.{name}", section) for name, section in several.items()] or own


def economics_of(
    section: WeightedSection, economics: EconomicsSection, agents: AgentsSection, *, sequential: bool = False
) -> EconomicsSection:
    """Return the economics of an adversary, with the expected fine in its cost.

    `section` is the adversary's section; `agents` has the probability of detection and the fine. The adversary's own
    gain and cost, if stated, replace those of `economics`. The fine is not added for a sequential attack, because its
    planner models fines itself.
    """
    gain = economics.adversary_gain if section.gain is None else section.gain
    cost = economics.cost if section.cost is None else section.cost
    return economics.model_copy(update={"gain": gain, "cost": cost + (0.0 if sequential else _fine(agents))})


def _fine(agents: AgentsSection) -> float:
    """Return the expected fine per exploit: probability of detection times fine.

    It is in currency units.
    """
    return agents.enforcement.detection * agents.enforcement.fine


def with_detection(adversary: P, agents: AgentsSection) -> P:
    """Return an adversary's section with the detection and fines of rounds.

    In the parameters of its sequential attack, the probability of detection and the fine of section ``agents`` replace
    the adversary's own; the probability is equal for all exploits. The section is returned unchanged if the adversary
    does not attack sequentially, or if that probability is 0.
    """
    if not (adversary.plans_sequentially and agents.enforcement.detection > 0):
        return adversary
    # Beyond these bounds the logistic function is 0 or 1 in double precision.
    share = min(max(agents.enforcement.detection, 1e-300), 1 - 1e-16)
    odds = math.log(share / (1.0 - share))
    rules = {"penalty": agents.enforcement.fine, "detection_intercept": odds, "detection_slope": 0.0}
    return adversary.model_copy(update={"sequential": adversary.sequential.model_copy(update=rules)})


def profile_of(
    name: str,
    section: WeightedSection,
    agents: AgentsSection,
    equip: Equip,
    both: Iterable[tuple[EconomicsSection, Adversary]],
    prices: Mapping[str, float] = MappingProxyType({}),
) -> AdversaryProfile:
    """Return the profile of an adversary, with the publisher's belief about it.

    Parameters
    ----------
    name : str
        Name of the adversary.
    section : WeightedSection
        Its section, with resources, budget, accuracy and weight.
    agents : AgentsSection
        States the probability of detection and the fine.
    equip : Equip
        Returns the linker and planner for a set of resources; see `Equipment`.
    both : iterable of (EconomicsSection, Adversary)
        Economics and planner: first the true ones, then the ones in which the publisher believes.
    prices : mapping of str to float
        Price of each resource in currency units; 0 for resources without an entry.

    Raises
    ------
    InputError
        If an adversary with inaccurate resources attacks sequentially; the message names the key
        ``adversary.accuracy``, see `naming_adversary`.
    """
    fine = _fine(agents)
    has_errors = section.accuracy < 1 or section.expected_accuracy is not None
    problem = "accuracy is not supported for sequential attacks"

    def profile(economics: EconomicsSection, planner: Adversary) -> AdversaryProfile:
        own = economics_of(section, economics, agents)
        refuse_first(
            (has_errors and isinstance(planner, SequentialAdversary), problem, "adversary.accuracy", None, None)
        )
        planner = planner.adversary if isinstance(planner, ErringAdversary) else planner
        outlays: dict[str, Any] = {"expected_fine": fine, "cheapest": own.cost - fine}
        if isinstance(planner, SequentialAdversary):
            # The sequential planner models fines itself.
            attack = planner.attack
            access, exploit = attack.access_cost + attack.link_cost, attack.exploit_cost
            outlays = {"access_outlay": access, "exploit_outlay": exploit, "cheapest": access + exploit}
        return AdversaryProfile(
            name=name,
            equip=equip,
            planner=planner,
            weight=section.weight,
            gain=own.adversary_gain,
            holds=frozenset(section.holds or ()),
            prices={resource: prices.get(resource, 0.0) for resource in section.buys},
            budget=math.inf if section.budget is None else section.budget,
            draws_targets=section.selection == "random",
            expected_accuracy=section.accuracy if section.expected_accuracy is None else section.expected_accuracy,
            accuracy=section.accuracy,
            learns=section.expected_accuracy is not None,
            experience=section.experience,
            **outlays,
        )

    true, believed = (profile(*each) for each in both)
    return replace(true, believed=believed)


def rules_of(scenario: ScenarioHead, agents: AgentsSection) -> dict[str, Any]:
    """Return the fields of a `Setting` that follow from sections ``agents`` and ``measures``, by name.

    With learning, the prior has one entry per adversary, in the order of `types_of`.
    """
    learning = None
    if (rules := agents.learning) is not None:
        priors = [rules.prior, rules.prior_absent] if agents.together == "all" else [rules.prior]
        counts = np.array([[prior.get(name, 1.0) for prior in priors] for name, _, _ in types_of(scenario)])
        learning = Learning(counts if len(priors) > 1 else counts[:, 0], rules.noticed)
    # Rules that have the same name in the section and in `Setting`.
    names = ("rounds", "mode", "enforcement", "participation", "foresees", "tolerance", "remembers")
    others = {"meeting": agents.together, "learning": learning, "measures": scenario.measures.parameters}
    return {**others, **{name: getattr(agents, name) for name in names}}


def are_equipped(scenario: ScenarioHead) -> bool:
    """Return whether a named adversary has keys about resources, budget or accuracy.

    The keys are holds, buys, budget, selection, accuracy, expected_accuracy and experience. False for a
    scenario without rounds.
    """
    in_rounds = getattr(scenario, "agents", None) is not None
    return in_rounds and any(section.needs_resources or section.of_rounds for _, _, section in types_of(scenario))


def left_out_of_rounds(scenario: ScenarioHead) -> tuple[str, ...]:
    """Return a warning that names the keys ignored by a single game, as a tuple.

    The tuple has one text, or none for a scenario without section ``agents``.
    """
    if getattr(scenario, "agents", None) is None:
        return ()
    used = {key for _, _, section in types_of(scenario) for key in section.of_rounds}
    keys = listed(key for key in WeightedSection.model_fields if key in used)
    and_keys = f" and {keys} in section adversaries" if used else ""
    several = getattr(scenario, "adversaries", {})
    whom = "the adversaries of section adversaries" if several else "the adversary of the scenario"
    return (f"section agents{and_keys} is ignored: only one round is evaluated, against {whom}",)


def check_resources(
    scenario: ScenarioHead,
    resources: Collection[str],
    buyers: Mapping[str, Collection[str]],
    own: Mapping[str, Collection[str]],
) -> None:
    """Check that each adversary's resources exist and that it may have them.

    Parameters
    ----------
    scenario : ScenarioHead
    resources : collection of str
        Names of all resources of the scenario.
    buyers : mapping of str to collection of str
        Names of the adversaries who may have each resource; anyone may have a resource without an entry.
    own : mapping of str to collection of str
        Resources that each adversary uses if it has neither of the keys ``holds`` and ``buys``.

    Raises
    ------
    InputError
        If a resource does not exist, or an adversary may not have it; the message names the key.
    """
    otherwise = "the name of a section [resources.NAME]"
    for name, path, section in types_of(scenario):
        for where, names in ((f"{path}.holds", section.holds or ()), (f"{path}.buys", section.buys)):
            require_among("no such resource", names, resources, where=where, otherwise=otherwise)
            check_buyer(name, where, names, buyers)
        if not section.needs_resources:
            check_buyer(name, path, own[name], buyers)


def knowledge_held(resources: Mapping[str, Any], holds: Holdings, names: Sequence[str], n: int) -> Knowledge:
    """Return the background knowledge about n people from all resources that are held.

    Each resource held contains each person with probability ``share``, independently of other people and resources. If
    it contains the person, the adversary knows its attributes of the person.

    Parameters
    ----------
    resources : mapping of str to object
        Each has ``attributes`` (all quasi-identifiers if empty) and ``share``, the probability that a person is in the
        resource.
    holds : frozenset of str
        Names of the resources that the adversary holds.
    names : sequence of str
        Quasi-identifiers.
    n : int
        Number of people.
    """
    groups = {name: (AttributeGroup(resources[name].attributes or tuple(names)),) for name in sorted(holds)}
    profiles = {name: (SourceProfile(group, resources[name].share),) for name, group in groups.items()}
    sources = (Source(name, profile, np.zeros(n, dtype=np.intp)) for name, profile in profiles.items())
    return Knowledge(tuple(names), tuple(sources))


def linker_of(section: WeightedSection, linker: Linker, expected_accuracy: float) -> Linker:
    """Return the linker of an adversary whose resources may contain errors.

    It is `linker` itself if both the true accuracy in `section` and the accuracy that the adversary expects are 1.
    """
    if min(section.accuracy, expected_accuracy) < 1.0:
        return InaccurateLinker(linker, section.accuracy, expected_accuracy)
    return linker


def settings_of(kind: Any, study: Study[Any]) -> Callable[[str, int, int], Setting]:
    """Return a function that makes the setting of repeated rounds.

    Its arguments are the policy, the number of the study's draw, and the number of the repetition of all rounds on
    that draw.

    Raises
    ------
    InputError
        If the kind has no decision maker, economics or adversary, or an adversary has the key ``holds`` or ``buys``.
    """
    scenario, agents = study.scenario, kind.agents_of(study.scenario)
    has_none = not (kind.decides and hasattr(scenario, "economics") and hasattr(scenario, "adversary"))
    no_resources, expected = "this kind of scenario has no resources", "no keys holds and buys"
    with locating(study.loaded.path):
        refuse_first(
            (has_none, "this kind of scenario does not support rounds of agents", "game", kind.name, None),
            *(
                (section.needs_resources, no_resources, f"{path}.{'buys' if section.buys else 'holds'}", None, expected)
                for _, path, section in types_of(scenario)
            ),
        )

    def setting(policy: str, replication: int, draw: int) -> Setting:
        played, world = kind.policy(policy), study.world(replication)
        require_by_agents(played, kind.policies.values(), f"{kind.decider}.policies", study.loaded.path)
        truth, belief, defender = record_game_of(world.truth), world.belief, played.defender(study, replication)
        amounts = (np.asarray(each, dtype=np.float64) for each in (truth.benefit, truth.loss, belief.loss))
        benefit, loss, believed_loss = (np.broadcast_to(each, (truth.n_records,)) for each in amounts)
        return Setting(
            space=truth.space,
            cell_of_subject=kind.row_of_record(study, replication),
            benefit=benefit,
            loss=loss,
            believed_loss=believed_loss,
            meet=getattr(truth.space, "meet", None),
            profiles=tuple(_profile_alone(study, agents, replication, *each) for each in types_of(scenario)),
            solve=lambda name, game: defender.choose(game),
            is_fixed=lambda name: played.is_rule,
            forbids_attacks=lambda name: played.forbids_attacks,
            seed=scenario.seed,
            replication=replication * agents.draws + draw,
            **rules_of(scenario, agents),
        )

    return setting


def _profile_alone(
    study: Study[Any], agents: AgentsSection, draw: int, name: str, path: str, section: WeightedSection
) -> AdversaryProfile:
    """Return the profile of an adversary type, with the publisher's belief about it.

    Its linker and planner are from the games of the study in which this adversary is the only one. `draw` is the number
    of the study's draw; `name`, `path` and `section` belong to the type, see `types_of`. The adversary's own gain and
    cost apply, and the publisher knows them. The cost, or the parameters of a sequential attack, include detection and
    fines of section ``agents``.

    Raises
    ------
    InputError
        If inaccurate resources are combined with a sequential attack, or the adversary cannot play.
    """
    both, is_named = true_and_believed(study.scenario), path != "adversary"
    if is_named:
        study = study.with_adversary(scenario_alone(study.scenario, name).adversary)
    scenario: Any = study.scenario
    sequential = scenario.adversary.plans_sequentially
    economics = economics_of(section, scenario.economics, agents, sequential=sequential)
    update = {"adversary": with_detection(scenario.adversary, agents), "economics": economics}
    beliefs: BeliefsSection | None = getattr(scenario, "beliefs", None)
    if beliefs is not None:
        cost = beliefs.cost if beliefs.cost is None or sequential else beliefs.cost + _fine(agents)
        update["beliefs"] = beliefs.model_copy(update={"cost": cost} | dict.fromkeys(section.amounts))
    world = study.with_sections(**update).world(draw)
    games = record_game_of(world.truth), record_game_of(world.belief)

    def equip(holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment:
        return Equipment(linker_of(section, games[believed].linker, expected_accuracy), games[believed].adversary)

    with naming_adversary(name if is_named else None):
        return profile_of(name, section, agents, equip, zip(both, (game.adversary for game in games), strict=True))


NO_STAGES = "the scenario names no attack recipe"
NO_RECIPE = "the scenario names no knowledge recipe"
ONE_STAGE = "the attack has no inference stages, so it equals the one-shot attack"

# The true game against an adversary, and the game that the defender believes in.
Games = tuple[Game, Game]
A = TypeVar("A", bound=Study[Any])


@dataclass(frozen=True, eq=False)
class Opponents:
    """The adversaries of a scenario.

    Parameters
    ----------
    opponents : tuple of Opponent
        Adversaries, in the order of `opponent_names`.
    own : str
        Name of the scenario's own adversary; empty if it is not among them.
    left_out : tuple of str
        Sentences about adversaries that cannot play.
    ideas : dict of str to RecordGame or MaskingGame
        Further games in which a defender may plan although no adversary plays like that, by name; see
        `types_of_setting`.
    """

    opponents: tuple[Opponent, ...] = ()
    own: str = ""
    left_out: tuple[str, ...] = ()
    ideas: dict[str, Game] = field(default_factory=dict)

    def beside(self, others: Opponents) -> Opponents:
        """Return the opponents of `others`, followed by those of this object.

        In `left_out`, the sentences of this object come first. The scenario's own adversary is that of `others`.
        """
        return replace(
            others,
            opponents=(*others.opponents, *self.opponents),
            left_out=(*self.left_out, *others.left_out),
            ideas={**others.ideas, **self.ideas},
        )


@dataclass(frozen=True)
class OpponentOptions:
    """Options for adversaries that the scenario does not describe.

    Parameters
    ----------
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; by default the scenario's.
    stages : str, optional
        Attack recipe of the multistage adversary; by default the scenario's.
    attack_rate : float
        Probability with which the random adversary attacks a record.
    """

    knowledge: str | None = None
    stages: str | None = None
    attack_rate: float = 0.5

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Names of the adversaries whose recipe is in the options."""
        given = {"partial-knowledge": self.knowledge, "multistage": self.stages}
        return tuple(name for name, needed in given.items() if needed is not None)


def opponents_by_planner(study: Study[Any], options: OpponentOptions, draw: int = 0) -> Opponents:
    """Return the adversaries of a scenario in one draw of its study.

    Each planner that is `compared` gives a perfectly rational adversary without partial knowledge and stages; the
    adversaries ``multistage`` and ``partial-knowledge`` have the recipe in the options, else that of the scenario. The
    scenario's own adversary is added, or replaces the one of the same name. Adversaries that cannot play are left out,
    with the reason. The rows of the study must distinguish records by every
    attribute that any of the adversaries uses for linkage.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one whose recipe is in the options, cannot play.
    """
    own: AdversarySection = study.scenario.adversary
    world, rate = study.world(draw), {"rate": options.attack_rate}

    def against(planner: str = "one-shot", **changes: object) -> Games:
        plain = dict[str, Any](planner=planner, knowledge=None, stages=None, parameters={}, rationality="perfect")
        games = study_against(study, **(plain | changes)).world(draw)
        return games.truth, games.belief

    def linked(key: str, recipe: str | None, problem: str) -> Games:
        if recipe is None:
            raise InputError(problem, expected=f"adversary.{key}, or the option --{key}")
        return against(**{key: recipe})

    makers: dict[str, Callable[[], Games]] = {
        name: partial(against, name, **(rate if "rate" in planner.keys else {}))
        for name, planner in planners.items()
        if planner.compared
    }
    makers["multistage"] = partial(linked, "stages", options.stages or own.stages, NO_STAGES)
    makers["partial-knowledge"] = partial(linked, "knowledge", options.knowledge or own.knowledge, NO_RECIPE)
    name = name_of(own, "partial-knowledge" if own.knowledge is not None else "multistage" if own.stages else "")
    makers[name] = lambda: (world.truth, world.belief)
    return played_by(name, makers, options.asks_for)


def study_against(study: A, **changes: object) -> A:
    """Return a study with some keys of its adversary changed.

    `changes` are new values by key of section ``adversary``; ``planner``, the name of a built-in planner, must be among
    them. The registry and the belief about group sizes of a sequential attack are kept only if the changed adversary
    attacks sequentially and the changes set no recipe of knowledge or stages.
    """
    own: AdversarySection = study.scenario.adversary
    is_sequential = "sequential" in planners[str(changes.get("planner"))].keys
    if not is_sequential or changes.get("stages") or changes.get("knowledge"):
        changes["sequential"] = own.sequential.model_copy(update={"registry": None, "belief": "known"})
    return study.with_adversary(own.model_copy(update=changes))


def name_of(section: PlannerSection, linked_by: str) -> str:
    """Return the name of an adversary, composed of planner, linkage and rationality.

    They are joined by hyphens. `linked_by` is the name of the linkage, such as ``multistage``, or empty. The planner
    ``one-shot`` is omitted if there is a linkage; the rationality is omitted if it is perfect.
    """
    name = section.planner
    if linked_by:
        name = linked_by if name == "one-shot" else f"{name}-{linked_by}"
    return f"{name}-{section.rationality}" if section.errs else name


def with_adversaries(others: Opponents, alone: Mapping[str, World], together: World) -> Opponents:
    """Return other opponents, followed by the scenario's named adversaries.

    The last opponent, ``types``, is all named adversaries together. It is the scenario's own adversary in cross-play.
    `alone` holds the games against each named adversary, `together` the games against all of them.

    Raises
    ------
    InputError
        If an adversary cannot play.
    """
    own = []
    for name, world in {**alone, TOGETHER: together}.items():
        with locating(where=None if name == TOGETHER else f"adversaries.{name}"):
            own.append(_opponent(name, (world.truth, world.belief), among_all=name != TOGETHER))
    return replace(others, opponents=(*others.opponents, *own), own=TOGETHER)


def played_by(own: str, makers: Mapping[str, Callable[[], Games]], wanted: Collection[str]) -> Opponents:
    """Return all adversaries that can play: those of `opponent_names`, then others.

    For every other one, `Opponents.left_out` has a sentence with the reason.

    Parameters
    ----------
    own : str
        Name of the scenario's own adversary.
    makers : mapping of str to callable
        Functions that return the true and the believed game, by name of the adversary.
    wanted : collection of str
        Names of the adversaries that options describe.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one in `wanted`, cannot play.
    """
    opponents, left_out = [], []
    for name in filter(makers.get, dict.fromkeys((*opponent_names(), *makers))):
        try:
            opponents.append(_opponent(name, makers[name]()))
        except InputError as error:
            if name == own or name in wanted:
                raise
            left_out.append(f"adversary {name!r} cannot play: {error}")
    return Opponents(tuple(opponents), own, tuple(left_out))


def _opponent(name: str, games: Games, *, among_all: bool = True) -> Opponent:
    """Return an opponent; compute one response in each game, because some errors occur only in a response."""
    for game in map(record_game_of, games):
        game.outcome(game.space.most_specific)
    return Opponent(name, *games, among_all=among_all)


# Two further games in which a defender may plan.
AVERAGE_TYPE, WORST_OF_TYPES = "average-type", "worst-of-types"
LEFT_OUT = (
    "cross-play evaluates one round of section agents; each adversary has all resources in holds and buys; prices of "
    "resources, budgets, exclusion, learning, participation and further rounds are ignored"
)


def types_of_setting(setting: Setting, space: StrategySpace | None = None) -> Opponents:
    """Return the adversary types of repeated rounds as opponents.

    Each type plays alone under its name; the game against all types together is named ``types``.

    A defender may also plan in the games ``average-type`` (every type replaced by the one of largest weight, with the
    mean gain and cost of all types) and ``worst-of-types`` (for each record, against the type that is worst for it).
    The first one may be missing; `Opponents.left_out` has the reason, and a note on settings that are ignored.

    Parameters
    ----------
    setting : Setting
    space : StrategySpace, optional
        Strategy space of the games; by default that of the setting.

    Raises
    ------
    InputError
        If a type cannot play.
    """
    space, together = setting.space if space is None else space, setting.meeting
    # Without a focus, searches would mask attributes that nobody looks at in every way.
    assert not isinstance(space, MaskingSpace) or space.focus is not None  # noqa: S101
    # The true types, then the believed ones.
    types = [[_equipped(each, space, believed=believed) for each in setting.profiles] for believed in (False, True)]

    def opponent(name: str, of: Sequence[Sequence[AdversaryType]], met: Together, *, among_all: bool) -> Opponent:
        truth = _played(space, of[0], setting.benefit, setting.loss, met)
        belief = _played(space, of[1], setting.benefit, setting.believed_loss, met)
        return Opponent(name, truth, belief, among_all=among_all)

    alone = [
        opponent(profile.name, [[replace(each[n], weight=1.0)] for each in types], "one-of", among_all=True)
        for n, profile in enumerate(setting.profiles)
    ]
    found = _ideas(space, types[1], setting.benefit, setting.believed_loss, together)
    opponents = (*alone, opponent(TOGETHER, types, together, among_all=False))
    return replace(found, opponents=opponents, left_out=(LEFT_OUT, *found.left_out))


def ideas_of_several(study: Study[Any], draw: int = 0) -> Opponents:
    """Return the games ``average-type`` and ``worst-of-types`` for planning.

    The result has no opponents; the games are in `Opponents.ideas`. See `types_of_setting`. There are none if the
    scenario has only one adversary. ``average-type`` may be left out, with the reason in `Opponents.left_out`.
    """
    game = study.world(draw).belief
    if not isinstance(game, TypesGame):
        return Opponents()
    return _ideas(game.space, game.types, game.benefit, game.loss, game.together)


def _ideas(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> Opponents:
    """Return the games against the average type and the worst type, for planning.

    The result has no opponents; the games are in `Opponents.ideas`. If types cannot be averaged, only the second game
    is there, and `Opponents.left_out` has the reason.
    """
    ideas: dict[str, Game] = {WORST_OF_TYPES: _played(space, types, benefit, loss, "worst")}
    try:
        average = _played(space, averaged(tuple(types)), benefit, loss, together)
    except InputError as error:
        return Opponents(left_out=(f"no policy plans against {AVERAGE_TYPE!r}: {error}",), ideas=ideas)
    return Opponents(ideas={AVERAGE_TYPE: average, **ideas})


def _played(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> RecordGame:
    """Return the game against adversary types.

    It is a `TypesGame`, or a plain `RecordGame` if a single type always comes. `benefit` and `loss` are in currency
    units per record. `together` states whether one type comes (``one-of``), each independently (``all``) or the worst
    for a record (``worst``).
    """
    parts = [part for each in types for part in _parts(each, together)]
    if len(parts) == 1 and together == "one-of":
        return RecordGame(space, parts[0].linker, parts[0].adversary, benefit, loss)
    return TypesGame(space, parts, benefit, loss, together)


def _equipped(profile: AdversaryProfile, space: StrategySpace, *, believed: bool) -> AdversaryType:
    """Return the adversary type of a profile, with all its resources.

    These are the resources that it holds or may buy. With `believed`, it is the type in which the publisher believes.

    Raises
    ------
    InputError
        If its resources allow no attack, or do not fit the records of `space`.
    """
    seen = profile.believed if believed and profile.believed is not None else profile
    with locating(where=f"adversaries.{profile.name}"):
        equipment = seen.equip(seen.holds | frozenset(seen.prices), seen.expected_accuracy, believed=believed)
        if equipment is None:
            raise InputError("the adversary has no resources that allow an attack")
        if len(equipment.linker.link(space.most_specific).group_sizes) != space.n_records:
            raise InputError("the resources of the adversary do not distinguish records by inferred attributes")
    return AdversaryType(profile.name, profile.weight, equipment.linker, equipment.adversary)


def _parts(each: AdversaryType, together: Together) -> list[AdversaryType]:
    """Return types of fixed behaviour that give the expected outcome of a type.

    The result is a list with the type itself, `each`, unless it attacks at random. A random attacker becomes a type
    that always attacks and one that never does, weighted by its attack rate. The second one is left out unless
    `together` is ``one-of``.
    """
    random = each.adversary
    if not isinstance(random, RandomAttacks):
        return [each]
    attacks, stays = ("attacks", random.rate, AlwaysAttacks), ("does not", 1.0 - random.rate, NeverAttacks)
    return [
        replace(each, name=f"{each.name} {does}", weight=each.weight * share, adversary=made(random.gain, random.cost))
        for does, share, made in ((attacks, stays) if together == "one-of" else (attacks,))
    ]
