"""Build the games of a masking scenario, and its adversaries in rounds and in cross-play."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, RecordsFile, load_knowledge
from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
    Stage,
)
from reidsim.adversaries.response import Adversary, OneShotAdversary, planners
from reidsim.agents.profile import Equipment, Holdings, Setting
from reidsim.core.errors import InputError, locating, nearest, refuse_first
from reidsim.core.numerics import random_stream
from reidsim.games.masking.game import MaskingGame, PartialKnowledgeGame, PartialMaskingSpace
from reidsim.games.masking.opponents import game_against_several
from reidsim.games.record_game import Linker, RecordGame
from reidsim.kinds.masking.policies import check_policies, policy_named
from reidsim.kinds.masking.schema import MaskingAdversarySection, MaskingBeliefsSection, MaskingScenario
from reidsim.kinds.masking.tables import NO_ALLELE, MaskingTables, linked_in_stages, masking_tables, named_loci
from reidsim.populations.population import Domain
from reidsim.releases.lattice import Floats, MaskingSpace, entropy, minority_weights
from reidsim.scenarios import agents as scenario_agents
from reidsim.scenarios.adversary_schema import (
    TOGETHER,
    AgentsSection,
    EconomicsSection,
    WeightedSection,
    naming_adversary,
)
from reidsim.scenarios.adversary_schema import economics_of as economics_and_belief
from reidsim.scenarios.agents import ONE_STAGE, OWN_ADVERSARY, Games, OpponentOptions, Opponents, scenario_alone
from reidsim.scenarios.kind import digest_of
from reidsim.scenarios.resources import IdentifySection, InferSurnameSection, StageSection, check_buyer, stage_of
from reidsim.scenarios.scenario import Scenario, Study, World, planner

# The true game and the believed game.
MaskingGames = tuple[MaskingGame, MaskingGame]


@dataclass(frozen=True, eq=False)
class MaskingStudy(Study[MaskingScenario]):
    """A masking scenario with its data; its games are drawn anew for each replication.

    Parameters
    ----------
    loaded : Scenario
    tables : MaskingTables
    stages : tuple of Stage
        Stages of the attack; empty with several adversaries.
    domain : Domain, optional
        Attributes on which an adversary with background knowledge links; None for full knowledge.
    alone : dict of str to MaskingStudy
        With several adversaries: the study against each alone, by name; this study then has no stages. Otherwise empty.
    """

    tables: MaskingTables
    stages: tuple[Stage, ...]
    domain: Domain | None = None
    alone: dict[str, MaskingStudy] = field(default_factory=dict)
    _drawn: dict[int, dict[str | None, MaskingGames]] = field(default_factory=dict, init=False, repr=False)

    @property
    def draws(self) -> int:
        """Number of draws of the tables in a run: the scenario's ``replications``."""
        return self.scenario.replications

    @property
    def each(self) -> Mapping[str | None, MaskingStudy]:
        """Study against each adversary alone, by name of the adversary.

        With one adversary, it is this study, under the key None.
        """
        return dict(self.alone.items()) or {None: self}

    def world(self, draw: int = 0) -> World:
        """Return the true and the believed game of a draw of the tables, as a `World`.

        Every row is a subject, with weight 1. With several adversaries, both games are `TypesGame`; see
        `game_against_several`.
        """
        games, weights = self.games_against_each(draw), np.ones(self.games(draw)[0].n_records, dtype=np.int64)
        if len(games) == 1:
            return World(*self.games(draw), weights)
        present = {name: section.weight for name, section in self.scenario.adversaries.items()}
        views = [{str(name): both[view] for name, both in games.items()} for view in (0, 1)]
        together = "one-of" if self.scenario.agents is None else self.scenario.agents.together
        truth, belief = (game_against_several(view, present, together) for view in views)
        return World(truth, belief, weights)

    def games(self, draw: int) -> MaskingGames:
        """Return the true and the believed `MaskingGame` of a draw.

        With several adversaries, they are the games against the first one alone; subjects and strategies are equal in
        the games against all adversaries.

        Raises
        ------
        InputError
            For the reasons given in `games_against_each`.
        """
        return next(iter(self.games_against_each(draw).values()))

    def games_against_each(self, draw: int) -> dict[str | None, MaskingGames]:
        """Draw the tables and return the games against each adversary alone.

        The result is a dict by name (None for a single adversary). Each value is a pair of `MaskingGame`, the true and
        the believed one. The games of the most recent draw are cached.

        Parameters
        ----------
        draw : int
            Number of the draw of the tables, from 0.

        Raises
        ------
        InputError
            If an attack or the figures do not fit the tables.
        """
        if draw not in self._drawn:
            self._drawn.clear()
            with locating(self.loaded.path):
                self._drawn[draw] = self._games(draw)
        return self._drawn[draw]

    def _games(self, draw: int) -> dict[str | None, MaskingGames]:
        beliefs, stream = self.scenario.beliefs, partial(random_stream, self.scenario.seed, "tables", draw)
        worlds = believed = self.tables.draw(stream(), replication=draw)
        if beliefs.sizes:
            believed = self.tables.draw(stream(), beliefs.sizes, draw)
        if beliefs.lists == "coverage":
            # Adversaries whose attacks end on the same resource and attributes share one world.
            guessed = {id(world): replace(world, by_coverage=True) for world in believed.values()}
            believed = {name: guessed[id(world)] for name, world in believed.items()}
        space, games = self.space(next(iter(worlds.values()))), {}
        for name, study in self.each.items():
            scenario = study.scenario
            with naming_adversary(name):
                truth = belief = study._game(worlds[name], space, scenario.economics)
                study._check_search_path(truth)
                if scenario.beliefs != MaskingBeliefsSection():
                    belief = study._game(believed[name], space, scenario.beliefs.believed_economics(scenario.economics))
            games[name] = truth, belief
        return games

    def with_loaded(self, loaded: Scenario[MaskingScenario]) -> MaskingStudy:
        """Return the study of a scenario with other payoff parameters or beliefs.

        The people and files are not read again; the tables are drawn anew for the next game.
        """
        alone = {
            name: study.with_loaded(replace(loaded, scenario=scenario_alone(loaded.scenario, name)))
            for name, study in self.alone.items()
        }
        return replace(self, loaded=loaded, alone=alone)

    def space(self, world: MultistageWorld) -> MaskingSpace:
        """Return the strategy space of the targets of a world, with utilities.

        A strategy is a level for each attribute, from shared to masked. The result is a `MaskingSpace`, or a
        `PartialMaskingSpace` if some attributes are always shared. With ``minority_support``, the weight of a value
        depends on its frequency in a resource.

        Parameters
        ----------
        world : MultistageWorld
            Targets (the data subjects) and resources.

        Raises
        ------
        InputError
            If the weights or levels of the scenario do not fit the attributes, or minority support does not fit the
            values.
        """
        section, weights = self.scenario.subjects, self.weights(world)
        kept, groups = zip(*(self._levels(world, attribute) for attribute in section.attributes), strict=True)
        total = float(weights.sum())
        if section.minority_support:
            inferring = [stage for study in self.each.values() for stage in study.stages]
            alleles = {name for stage in inferring if isinstance(stage, InferSurname) for name in stage.loci}
            alleles.update(self.tables.people.loci)
            reference = tuple(self._carrier(world, attribute) for attribute in section.attributes)
            unknown = tuple(NO_ALLELE if attribute in alleles else None for attribute in section.attributes)
            values = world.targets.matrix(section.attributes)
            with locating(where="subjects.minority_support"):
                weights = minority_weights(weights, values, reference, section.minority_support, unknown)
        parts = (section.attributes, weights, world.targets.n_rows, kept, groups, total)
        n_always = len(section.always_shared)
        return PartialMaskingSpace(*parts, n_always=n_always) if n_always else MaskingSpace(*parts)

    def weights(self, world: MultistageWorld) -> Floats:
        """Return the weight of each attribute in the utility, shape (n_attributes,).

        By default, it is the entropy, in the resources of `world`, of the attribute's known values in the first
        resource with the attribute. The scenario may set equal weights (1), or a weight for each attribute.

        Raises
        ------
        InputError
            If no resource has an attribute, or the scenario's weights do not fit the attributes.
        """
        names, given = self.scenario.subjects.attributes, self.scenario.subjects.weights
        if given == "uniform":
            return np.ones(len(names))
        if isinstance(given, str):
            return np.array([entropy(self._carrier(world, attribute)) for attribute in names])
        for name in (*given, *names):
            problem, expected = "weights do not match the attributes", f"a weight for each of {', '.join(names)}"
            refuse_first((name not in names or name not in given, problem, "subjects.weights", name, expected))
        return np.array([given[name] for name in names])

    @property
    def fingerprint(self) -> str:
        """SHA-256, as text, of the people or files that are the sources of the tables."""
        sources = [self.tables.people.values, *(table.columns for table in self.tables.files.values())]
        columns = [column for each in sources for column in each.items()]
        return digest_of("", [p for name, values in columns for p in (np.frombuffer(name.encode(), np.uint8), values)])

    def knowledge(self, targets: PersonTable, domain: Domain) -> Knowledge:
        """Return the adversary's background `Knowledge` about the given subjects.

        Parameters
        ----------
        targets : PersonTable
            True values of the subjects.
        domain : Domain
            Attributes on which the adversary links, with their categories.

        Raises
        ------
        InputError
            If the recipe is invalid or does not fit the subjects. For subjects from a file, the message names the file
            and the row.
        """
        people, columns = self.tables.people, []
        for attribute in domain.attributes:
            values = targets.column(attribute.name)
            known = None if attribute.name in people.labels else np.array(attribute.categories, dtype=np.int64)
            columns.append(values if known is None else np.searchsorted(known, values))
        records = RecordsFile(targets.name, self.scenario.targets.columns) if self.tables.files else None
        codes, recipe = np.column_stack(columns).astype(np.int32), str(self.scenario.adversary.knowledge)
        try:
            return load_knowledge(recipe, domain, codes, base=self.loaded.folder, records=records)
        except InputError as error:
            raise error if error.source else error.located(self.loaded.path, "adversary.knowledge") from None

    def planned(self, section: MaskingAdversarySection, attack: MultistageAttack, world: MultistageWorld) -> Adversary:
        """Return the planner that a section describes, with an attack's gain and cost.

        Parameters
        ----------
        section : MaskingAdversarySection
        attack : MultistageAttack
            Attack with gain and cost; it is itself the planner of a one-shot adversary with full knowledge and perfect
            rationality.
        world : MultistageWorld
            Targets and resources, for the prior that a target is in the resource of a sequential attack.

        Raises
        ------
        InputError
            If the planner cannot be made.
        """
        if section.planner == "one-shot":
            once = attack if self.domain is None else OneShotAdversary(attack.gain, attack.cost)
            return section.erring(once, "adversary.rationality")
        coverage = presence_of(world, attack.identify.resource)
        return planner(section, attack.gain, attack.cost, loaded=self.loaded, coverage=coverage)

    def _game(self, world: MultistageWorld, space: MaskingSpace, economics: EconomicsSection) -> MaskingGame:
        section = self.scenario.adversary
        belief = section.confidence_threshold, section.overconfident
        attack = MultistageAttack(self.stages, economics.adversary_gain, economics.cost, *belief)
        plan = self.planned(section, attack, world) if section.planner != "one-shot" or section.errs else None
        parts = (space, attack, world, economics.benefit, economics.loss)
        if self.domain is None:
            return MaskingGame(*parts, planner=plan)
        return PartialKnowledgeGame(*parts, planner=plan, knowledge=self.knowledge(world.targets, self.domain))

    def _check_search_path(self, game: MaskingGame) -> None:
        record, where, last = self.scenario.figures.search_path, "figures.search_path", game.n_records - 1
        erring = "greedy search needs an adversary with perfect rationality"
        staged = "surname inference from loci at the end of the attributes, then identify"
        if record is not None:
            refuse_first(
                (record > last, "no such record", where, record, f"0 to {last}"),
                (self.scenario.adversary.errs, erring, where, record, 'adversary.rationality = "perfect"'),
                (not game.is_compiled, "greedy search needs a two-stage attack", where, None, staged),
            )

    def _carrier(self, world: MultistageWorld, attribute: str) -> NDArray[np.int64]:
        """Return an attribute's known values in a world's first resource that has it.

        The result has shape (n_known,), int64; unknown values are omitted. `world` has the tables of the resources,
        whose order is the scenario's.

        Raises
        ------
        InputError
            If no resource contains the attribute.
        """
        for name, section in self.scenario.resources.items():
            if attribute in section.attributes:
                table = world.resource(name)
                return table.column(attribute)[table.known((attribute,))]
        problem, where = "the attribute has no weight, because no resource contains it", "subjects.attributes"
        expected = "the attribute in a resource, or key subjects.weights"
        raise InputError(problem, where=where, found=attribute, expected=expected)

    def _levels(self, world: MultistageWorld, attribute: str) -> tuple[Floats, tuple[NDArray[np.int64], ...]]:
        """Return the kept shares of an attribute's levels, and the groups of its values.

        `world` has the tables of targets and resources; intervals reach up to the largest number in these tables.

        Returns
        -------
        ndarray of float64, shape (n_levels,)
            Share of the attribute's weight that remains at each level: 1 if shared, ..., 0 if masked.
        tuple of ndarray of int64, shape (n_values,)
            Group of each value at each level between shared and masked; empty without such levels.

        Raises
        ------
        InputError
            If the scenario has widths for an attribute with text values, or groups a value that the attribute lacks.
        """
        levels, labels = self.scenario.subjects.generalize.get(attribute), self.tables.people.labels.get(attribute)
        if levels is None:
            return np.array([1.0, 0.0]), ()
        kept, where = np.array([1.0, *levels.kept, 0.0]), f"subjects.generalize.{attribute}"
        if not levels.widths:
            each = (_grouping(tuple(labels or ()), level, f"{where}.groups") for level in levels.groups)
            return kept, tuple(each)
        whole = "widths need an attribute with whole numbers"
        refuse_first((labels is not None, whole, f"{where}.widths", None, "groups"))
        tables = (world.targets, *world.resources.values())
        largest = max(int(table.columns[attribute].max()) for table in tables if attribute in table.columns)
        return kept, tuple(np.arange(largest + 1) // width for width in levels.widths)


def build_masking_study(loaded: Scenario[MaskingScenario], before: MaskingTables | None = None) -> MaskingStudy:
    """Read the files and recipes of a masking scenario, and return its study.

    The study contains the stages of each adversary's attack.

    Parameters
    ----------
    loaded : Scenario
    before : MaskingTables, optional
        Tables of another scenario; their people are reused if the population is the same.

    Raises
    ------
    InputError
        If a file or value cannot be used.
    """
    scenario, alone = loaded.scenario, {}
    with locating(loaded.path):
        tables = masking_tables(loaded, before)
        for name in scenario.adversaries:
            with naming_adversary(name):
                alone[name] = _against_one(replace(loaded, scenario=scenario_alone(scenario, name)), tables)
        study = MaskingStudy(loaded, tables, (), alone=alone) if alone else _against_one(loaded, tables)
        _require_used(scenario)
        for own, each in study.each.items() if scenario.agents is None else ():
            where = "adversary" if own is None else f"adversaries.{own}"
            used = dict.fromkeys(stage.resource for stage in each.stages)
            check_buyer(own or OWN_ADVERSARY, where, used, tables.buyers)
        return study


def presence_of(world: MultistageWorld, resource: str) -> float:
    """Return a sequential planner's prior probability that a target is in a resource.

    It is the share of registered targets of the world, or 1 if registration is unknown. It is also 1 for a drawn list,
    because linkage to the list accounts for its coverage.

    Parameters
    ----------
    world : MultistageWorld
    resource : str
        Name of the resource on which the last stage links.
    """
    return 1.0 if resource in world.lists or world.registered is None else float(world.registered.mean())


def _against_one(loaded: Scenario[MaskingScenario], tables: MaskingTables) -> MaskingStudy:
    """Return the study of a scenario with a single adversary.

    Without background knowledge, the attack has the scenario's stages. An adversary with background knowledge has one
    stage, which links the attributes that it may know to its resource. `tables` may be shared between studies.
    """
    scenario, tables = loaded.scenario, replace(tables, loaded=loaded)
    if scenario.adversary.knowledge is not None:
        domain = tables.domain(scenario.linked_on)
        return MaskingStudy(loaded, tables, (Identify(scenario.linked_on, scenario.register),), domain)
    return MaskingStudy(loaded, tables, tuple(_stage(stage, loaded, tables) for stage in scenario.adversary.stages))


def _require_used(scenario: MaskingScenario) -> None:
    """Check that a stage of an attack uses each attribute that subjects can share.

    The check applies only if some stage infers a surname without naming its loci, and all attacks end with a stage that
    identifies. An unused attribute, usually a locus that the genealogy lacks, would count as shared without risk.

    Raises
    ------
    InputError
        If an attribute is not used; the message names the first one.
    """
    attacks, used = list(scenario.each.values()), set[str]()
    if any(one.adversary.stages and not isinstance(one.adversary.stages[-1], IdentifySection) for one in attacks):
        return  # The attack itself reports this error.
    inferring = [s for one in attacks for s in one.adversary.stages if isinstance(s, InferSurnameSection)]
    used.update(*(linked_in_stages(one) | {*one.linked_on} for one in attacks))
    used.update(*(stage.loci or scenario.resources[stage.resource].attributes for stage in inferring))
    by_default = [stage.resource for stage in inferring if stage.loci is None]
    unused = [name for name in scenario.subjects.attributes if name not in used]
    if by_default and unused:
        raise InputError(
            "no stage of the attack uses the attribute",
            where="subjects.attributes",
            found=unused[0],
            expected=f"a locus of resource {by_default[0]!r}, or an attribute used for linkage",
        )


def _stage(section: StageSection, loaded: Scenario[MaskingScenario], tables: MaskingTables) -> Stage:
    if not isinstance(section, InferSurnameSection):
        return stage_of(section, loaded.folder)
    scenario, subjects = loaded.scenario, loaded.scenario.subjects.attributes
    # With files for several adversaries, an adversary may link on attributes that are alleles for another adversary.
    alleles = named_loci(scenario) if tables.files else tables.people.loci
    loci = section.loci or tuple(set(scenario.resources[section.resource].attributes).intersection(alleles, subjects))
    if set(loci) <= set(subjects):
        # Compiled solvers need the loci in the order of the strategies' digits.
        loci = tuple(a for a in subjects if a in loci)
    expected = f"loci among the attributes of both resource {section.resource!r} and the subjects"
    refuse_first((not loci, "the stage has no loci", "adversary.stages", None, expected))
    return stage_of(section, loaded.folder, loci)


def _grouping(labels: tuple[str, ...], level: tuple[tuple[str, ...], ...], where: str) -> NDArray[np.int64]:
    """Return the group of each category, shape (n_labels,), int64.

    A group has the number of its first category in `level`. An unlisted category is its own group.

    Parameters
    ----------
    labels : tuple of str
        Categories of the attribute.
    level : tuple of tuple of str
        Groups of categories at this level.
    where : str
        Key path of the groups, for messages.

    Raises
    ------
    InputError
        If a group has a text that is not a category.
    """
    groups = np.arange(len(labels))
    for group in level:
        for label in group:
            if label not in labels:
                raise InputError("not a value of the attribute", where=where, found=label, hint=nearest(label, labels))
            groups[labels.index(label)] = labels.index(group[0])
    return groups


# Sections for further computations on a scenario, which do not affect its games.
_NOT_PLAYED = ("figures", "agents", "stress", "sweep", "uncertainty", "adversaries")


@dataclass(eq=False)
class _MaskingEquip:
    """Callable that returns an adversary's linker and planner, given its resources.

    See `reidsim.agents.profile.Equip`. Without the resource of the attack's last stage, the adversary cannot attack,
    and the result is None.

    Parameters
    ----------
    study : MaskingStudy
        Study against this adversary alone.
    games : tuple of MaskingGame
        The true and the believed game against this adversary alone.
    section : WeightedSection
        Settings of the adversary in rounds.
    agents : AgentsSection
        Rules of the rounds.
    """

    study: MaskingStudy
    games: MaskingGames
    section: WeightedSection
    agents: AgentsSection
    _linkers: dict[tuple[Holdings, int], Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        game, held = self.games[believed], self._held(holds)
        if game.attack.identify.resource not in held:
            return None
        attack = replace(game.attack, stages=stages_with(game.attack, held))
        # The linker of a game also contains linkage without stages, such as linkage with partial knowledge.
        linker, key = game.record_game.linker, (held, id(game))
        if key not in self._linkers:
            inferring = attack.inferences or type(linker) is MultistageLinker
            self._linkers[key] = MultistageLinker(attack, game.world, game.space) if inferring else linker
        linker = scenario_agents.linker_of(self.section, self._linkers[key], expected_accuracy)
        return Equipment(linker, self.adversary(attack, believed=believed))

    def _held(self, holds: Holdings) -> Holdings:
        return holds if self.section.needs_resources else frozenset(self.study.scenario.resources)

    def lists(self, holds: Holdings, used: int) -> tuple[str, ...]:
        """Return the names of resources that an attack used: inferences, then last stage.

        `holds` has the names of the adversary's resources. Bit i of `used` is set if the attack used the inference of
        stage i, from 0, of the stages that these resources allow.
        """
        stages = stages_with(self.games[0].attack, self._held(holds))
        inferred = [stage.resource for number, stage in enumerate(stages[:-1]) if used >> number & 1]
        return (*inferred, *(stage.resource for stage in stages[-1:]))

    def adversary(self, attack: MultistageAttack, *, believed: bool = False) -> Adversary:
        """Return the planner of an attack, with the adversary's gain and cost in rounds.

        Parameters
        ----------
        attack : MultistageAttack
            Attack with only the stages for which the adversary has the resources; its gain and cost are replaced.
        believed : bool
            Whether gain and cost are the ones that the data subjects believe in.
        """
        section, economics = self.study.scenario.adversary, economics_and_belief(self.study.scenario)[believed]
        own = scenario_agents.economics_of(self.section, economics, self.agents, sequential=section.plans_sequentially)
        attack = replace(attack, gain=own.adversary_gain, cost=own.cost)
        return self.study.planned(
            scenario_agents.with_detection(section, self.agents), attack, self.games[believed].world
        )

    def check(self, where: str) -> None:
        """Check that the adversary has or may buy the resource of its attack.

        Raises
        ------
        InputError
            If it lacks the resource; the message names the key below `where`, the key path of the adversary's section.
        """
        section, register = self.section, self.games[0].attack.identify.resource
        holds, expected = list(section.holds or ()), f"{register!r} in holds or buys"
        lacking = section.needs_resources and register not in {*holds, *section.buys}
        refuse_first((lacking, "the adversary lacks the resource of its attack", f"{where}.holds", holds, expected))


def stages_with(attack: MultistageAttack, holds: Holdings) -> tuple[Stage, ...]:
    """Return the stages of an attack that can be carried out with the resources held.

    A stage without its resource is left out. The adversary then cannot infer the attribute of this stage, and no later
    stage links on it. An inference by linkage without any attribute to link on is also left out. `holds` has names of
    resources.
    """
    lost = {stage.infers for stage in attack.inferences if stage.resource not in holds}
    stages: list[Stage] = []
    for stage in attack.stages:
        if stage.resource not in holds:
            continue
        if isinstance(stage, Identify | InferByLinkage):
            stage = replace(stage, on=tuple(name for name in stage.on if name not in lost))
            if isinstance(stage, InferByLinkage) and not stage.on:
                lost.add(stage.infers)
                continue
        stages.append(stage)
    return tuple(stages)


def setting_of(study: MaskingStudy, agents: AgentsSection, policy: str, replication: int, draw: int) -> Setting:
    """Return the `Setting` of repeated rounds in which data subjects follow a policy.

    Parameters
    ----------
    study : MaskingStudy
    agents : AgentsSection
        Rules of the rounds.
    policy : str
        Name of the policy. Under a policy with `in_another_game`, adversaries link on released attributes only and
        infer no attribute.
    replication : int
        Number of the draw of the tables, from 0.
    draw : int
        Number of the run of all rounds on these tables, from 0.

    Raises
    ------
    InputError
        If an adversary lacks a required resource, names an unknown one or one that it may not have, or has inaccurate
        resources in sequential attacks; or if adversaries remember earlier releases and the levels of an attribute are
        not nested (a group of values splits again at a later level). The message names the scenario file.
    """
    games = study.games_against_each(replication)
    check_policies(study, study.games(replication)[0])
    if policy_named(policy).in_another_game:
        games = {name: (truth.one_stage(), believed.one_stage()) for name, (truth, believed) in games.items()}
    truth, believed = next(iter(games.values()))
    scenario, profiles = study.scenario, []
    used = {own or OWN_ADVERSARY: sorted({stage.resource for stage in e.stages}) for own, e in study.each.items()}
    with locating(study.loaded.path):
        scenario_agents.check_resources(scenario, scenario.resources, study.tables.buyers, used)
        for name, path, section in scenario_agents.types_of(scenario):
            own = name if study.alone else None
            equip = _MaskingEquip(study.each[own], games[own], section, agents)
            with naming_adversary(own):
                equip.check(path)
                views = enumerate(economics_and_belief(equip.study.scenario))
                both = [(amounts, equip.adversary(games[own][i].attack, believed=bool(i))) for i, amounts in views]
                profile = scenario_agents.profile_of(name, section, agents, equip, both, study.tables.prices)
            profiles.append(replace(profile, lists=equip.lists))
        combined = agents.remembers and agents.rounds > 1 and not truth.space.is_nested
        problem = "releases at levels that are not nested cannot be combined"
        expected = "false, or groups that only merge between levels"
        refuse_first((combined, problem, "agents.remembers", True, expected))
    return Setting(
        space=truth.space,
        meet=truth.space.meet,
        cell_of_subject=np.arange(truth.n_records),
        benefit=np.asarray(truth.benefit),
        loss=np.asarray(truth.loss),
        believed_loss=np.asarray(believed.loss),
        profiles=tuple(profiles),
        solve=lambda name, game: policy_named(name).defender(study, replication).choose(game),
        is_fixed=lambda policy: policy_named(policy).is_rule,
        forbids_attacks=lambda policy: policy_named(policy).forbids_attacks,
        seed=scenario.seed,
        replication=replication * agents.draws + draw,
        **scenario_agents.rules_of(scenario, agents),
    )


def masking_adversaries(study: MaskingStudy, options: OpponentOptions, draw: int = 0) -> Opponents:
    """Return the `Opponents` of cross-play in a draw of a scenario's tables.

    In cross-play, each policy plays against each adversary. The adversaries are the scenario's own, one for each
    built-in planner (linking without inference), ``partial-knowledge`` and ``multistage``. The result also has the
    adversaries that cannot play, with the reasons. Named adversaries with resources for rounds are not included; see
    `MaskingKind.opponent_types`.

    Parameters
    ----------
    study : MaskingStudy
    options : OpponentOptions
        Knowledge recipe and attack rate of adversaries that the scenario does not describe.
    draw : int
        Number of the draw of the tables, from 0.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one that the options describe, cannot play.
    """
    if study.alone:
        others, world = _unnamed(study, options, draw), study.world(draw)
        if scenario_agents.are_equipped(study.scenario):
            # The named adversaries play with the resources they own and may buy; see `MaskingKind.opponent_types`.
            return replace(others, own=TOGETHER)
        alone = {str(name): World(*games, world.weights) for name, games in study.games_against_each(draw).items()}
        return scenario_agents.with_adversaries(others, alone, world)
    both = study.games(draw)
    section, knowledge, recipe = study.scenario.adversary, options.knowledge, study.scenario.adversary.knowledge
    staged = bool(both[0].attack.inferences)
    own = scenario_agents.name_of(
        section, "partial-knowledge" if recipe is not None else "multistage" if staged else ""
    )
    # One-shot versions of the games, with the linkage of the scenario's own adversary.
    once = replace(both[0], planner=None), replace(both[1], planner=None)

    def one_stage(game: MaskingGame) -> MaskingGame:
        if recipe is None:
            return game.one_stage()
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    linked = one_stage(once[0]), one_stage(once[1])

    def planned(name: str) -> Callable[[], Games]:
        plan = {"planner": name, "parameters": {}, "rate": options.attack_rate, "rationality": "perfect"}
        changed = section.model_copy(update=plan)

        def game(of: MaskingGame) -> RecordGame:
            coverage = presence_of(linked[0].world, linked[0].attack.identify.resource)
            adversary = planner(changed, of.attack.gain, of.attack.cost, loaded=study.loaded, coverage=coverage)
            return replace(_focused(of), adversary=adversary)

        return lambda: (game(linked[0]), game(linked[1]))

    def informed() -> Games:
        if knowledge is None and recipe is None:
            raise InputError(scenario_agents.NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        if knowledge is None:
            return once
        content = {key: value for key, value in study.loaded.content.items() if key not in _NOT_PLAYED}
        content["adversary"] = {"knowledge": knowledge, "resource": study.scenario.register}
        truth, belief = build_masking_study(study.loaded.with_content(content)).games(draw)
        return _focused(truth), _focused(belief)

    def in_stages() -> Games:
        refuse_first(
            (not staged and recipe is None, ONE_STAGE, None, None, None),
            (not staged, scenario_agents.NO_STAGES, None, None, "adversary.stages in place of adversary.knowledge"),
        )
        return once

    makers = {name: planned(name) for name, each in planners.items() if each.compared}
    # Compiled solvers treat all attributes as relevant and would enumerate maskings of attributes that nobody links on.
    makers["one-shot"] = lambda: (_focused(linked[0]), _focused(linked[1]))
    makers |= {"partial-knowledge": informed, "multistage": in_stages}
    if own != "partial-knowledge" or knowledge is None:
        makers[own] = lambda: both
    return scenario_agents.played_by(own, makers, options.asks_for)


def _unnamed(study: MaskingStudy, options: OpponentOptions, draw: int) -> Opponents:
    """Return the `Opponents` that a scenario with several adversaries does not name.

    They link on the same resource and attributes as the named adversaries. If named adversaries differ in these, no
    unnamed adversary can play, and the result has only the reason. For the parameters, see `masking_adversaries`.

    Raises
    ------
    InputError
        If named adversaries differ in resource or attributes and the options have a knowledge recipe.
    """
    ends = [game.attack.one_stage().identify for game, _ in study.games_against_each(draw).values()]
    if len({(end.resource, frozenset(end.on)) for end in ends}) > 1:
        differ = "link on different resources or attributes"
        problem, expected = f"the adversaries of the scenario {differ}", "the recipe in a section [adversaries.NAME]"
        refuse_first((options.knowledge is not None, problem, "knowledge", options.knowledge, expected))
        reason = f"adversaries that the scenario does not name cannot play: the named adversaries {differ}"
        return Opponents(left_out=(reason,))
    end = IdentifySection(stage="identify", resource=ends[0].resource, on=ends[0].on)
    loaded = study.loaded.with_sections(adversary=MaskingAdversarySection(stages=(end,)), adversaries={})
    plain = MaskingStudy(loaded, replace(study.tables, loaded=loaded), (ends[0],))
    found = masking_adversaries(plain, options, draw)
    # Drop the reason about stages: the named adversaries attack in stages.
    return replace(found, left_out=tuple(reason for reason in found.left_out if ONE_STAGE not in reason))


def _focused(game: MaskingGame) -> RecordGame:
    """Return the `RecordGame` of a masking game, for an adversary without inference.

    Its strategy space enumerates only the levels of the attributes on which the last stage of the attack links. Linker
    and adversary are unchanged.
    """
    return replace(game.record_game, space=replace(game.space, focus=frozenset(game.attack.identify.on)))
