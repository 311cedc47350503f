"""Build the games of a masking scenario: strategies, attack and payoff parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.stages import Identify, InferSurname, Stage
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.errors import InputError, locating, nearest
from reidsim.games.defenders.defender import Game
from reidsim.games.masking.always_shared import PartialMaskingSpace
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.games.masking.several_adversaries import game_against_several
from reidsim.kinds.masking.knowledge import KnowledgeOfSubjects
from reidsim.kinds.masking.policy import MaskingPolicy, policy_named
from reidsim.kinds.masking.schema import MaskingBeliefsSection, MaskingScenario
from reidsim.kinds.masking.table_sources import linked_in_stages, masking_tables, named_loci
from reidsim.kinds.masking.tables import NO_ALLELE, MaskingTables
from reidsim.random_streams import replication_stream
from reidsim.releases.masking import MaskingSpace, entropy, minority_weights
from reidsim.scenarios.agents import OWN_ADVERSARY, meeting_of
from reidsim.scenarios.attack_recipe import (
    IdentifySection,
    InferSurnameSection,
    StageSection,
    stage_of,
)
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.resource_schema import check_buyer
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.several_adversaries import loaded_alone, named
from reidsim.scenarios.study import Study, World

Floats = NDArray[np.float64]
# The true game and the believed game.
Games = tuple[MaskingGame, MaskingGame]


@dataclass(frozen=True, eq=False)
class MaskingStudy(Study[MaskingScenario]):
    """A masking scenario with its data, whose games are drawn by replication.

    Parameters
    ----------
    loaded : Scenario
    tables : MaskingTables
    stages : tuple of Stage
        Stages of the attack.
    knowledge : KnowledgeOfSubjects, optional
        Background knowledge of the adversary about subjects; None for full knowledge.
    alone : dict of str to MaskingStudy
        With several adversaries: the study against each alone; this study then has no stages.
    """

    tables: MaskingTables
    stages: tuple[Stage, ...]
    knowledge: KnowledgeOfSubjects | None = None
    alone: dict[str, MaskingStudy] = field(default_factory=dict)
    _drawn: dict[int, dict[str | None, Games]] = field(default_factory=dict, init=False, repr=False)

    def policy(self, name: str) -> MaskingPolicy:
        """Return a policy by name; see `policy_named`."""
        return policy_named(name)

    @property
    def draws(self) -> int:
        """Number of draws of the tables."""
        return self.scenario.replications

    @property
    def each(self) -> dict[str | None, MaskingStudy]:
        """The study against each adversary alone, by name.

        With one adversary, this study, under the key None.
        """
        return dict(self.alone.items()) or {None: self}

    def world(self, draw: int = 0) -> World:
        """Return the games of a draw of the tables; every subject represents itself."""
        truth, belief = zip(*self.games_against_each(draw).values(), strict=True)
        weights = np.ones(truth[0].n_records, dtype=np.int64)
        return World(self._combined(truth), self._combined(belief), weights)

    def _combined(self, games: Sequence[MaskingGame]) -> Game:
        """Combine the games against each adversary into the game against all.

        A single game is returned unchanged.
        """
        if len(games) == 1:
            return games[0]
        several = self.scenario.adversaries
        weights = {name: section.weight for name, section in several.items()}
        together = meeting_of(self.scenario.agents)
        return game_against_several(dict(zip(several, games, strict=True)), weights, together)

    def games(self, draw: int) -> Games:
        """Return the true and the believed game against the first or only adversary.

        Subjects and strategies are equal in the games against all adversaries.

        Raises
        ------
        InputError
            For the reasons given in `games_against_each`.
        """
        return next(iter(self.games_against_each(draw).values()))

    def games_against_each(self, draw: int) -> dict[str | None, Games]:
        """Draw the tables and return the games against each adversary alone, by name.

        Each value consists of the true game and the believed game. The games of the most recent draw are cached.

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

    def _games(self, replication: int) -> dict[str | None, Games]:
        def drawn(sizes: Mapping[str, int] | None = None) -> dict[str | None, MultistageWorld]:
            return self.tables.draw(replication_stream(self.scenario.seed, "tables", replication), sizes, replication)

        worlds = believed = drawn()
        if self.scenario.beliefs.sizes:
            believed = drawn(self.scenario.beliefs.sizes)
        if self.scenario.beliefs.lists == "coverage":
            # Adversaries whose attacks end on the same resource and attributes share one world.
            guessed = {id(world): replace(world, by_coverage=True) for world in believed.values()}
            believed = {name: guessed[id(world)] for name, world in believed.items()}
        space, games = self.space(next(iter(worlds.values()))), {}
        for name, study in self.each.items():
            scenario = study.scenario
            with named(name):
                truth = belief = study._game(worlds[name], space, scenario.economics)
                study._check_search_path(truth)
                if scenario.beliefs != MaskingBeliefsSection():
                    economics = scenario.beliefs.of(scenario.economics)
                    belief = study._game(believed[name], space, economics)
            games[name] = truth, belief
        return games

    def with_loaded(self, loaded: Scenario[MaskingScenario]) -> MaskingStudy:
        """Return the study of a scenario with other payoff parameters or beliefs."""
        alone = {name: study.with_loaded(loaded_alone(loaded, name)) for name, study in self.alone.items()}
        return replace(self, loaded=loaded, alone=alone)

    def space(self, world: MultistageWorld) -> MaskingSpace:
        """Return the targets' strategy space in a world, with utilities."""
        section = self.scenario.subjects
        weights = self.weights(world)
        kept, groups = self._levels(world)
        n = world.n_targets
        total = float(weights.sum())
        if section.minority_support:
            values = world.targets.matrix(section.attributes)
            reference = tuple(self._carrier(world, attribute) for attribute in section.attributes)
            unknown = tuple(NO_ALLELE if attribute in self.loci else None for attribute in section.attributes)
            with locating(where="subjects.minority_support"):
                weights = minority_weights(weights, values, reference, section.minority_support, unknown)
        if section.always_shared:
            n_always = len(section.always_shared)
            return PartialMaskingSpace(section.attributes, weights, n, kept, groups, total, n_always)
        return MaskingSpace(section.attributes, weights, n, kept, groups, total)

    def weights(self, world: MultistageWorld) -> Floats:
        """Return the weight of each attribute in the utility, shape (n_attributes,).

        By default, it is the entropy of the attribute's known values in the first resource with the attribute. The
        scenario may set equal weights (1), or a weight for each attribute.

        Raises
        ------
        InputError
            If no resource has an attribute, or the scenario's weights do not fit the attributes.
        """
        section = self.scenario.subjects
        if section.weights == "uniform":
            return np.ones(len(section.attributes))
        if section.weights == "entropy":
            return np.array([entropy(self._carrier(world, attribute)) for attribute in section.attributes])
        given = section.weights
        unknown = [name for name in given if name not in section.attributes]
        lacking = [name for name in section.attributes if name not in given]
        if unknown or lacking:
            raise InputError(
                "weights do not match the attributes",
                where="subjects.weights",
                found=(unknown or lacking)[0],
                expected=f"a weight for each of {', '.join(section.attributes)}",
            )
        return np.array([given[name] for name in section.attributes])

    @property
    def loci(self) -> frozenset[str]:
        """Attributes whose values are alleles; alleles may be unknown."""
        stages = [stage for study in self.each.values() for stage in study.stages]
        inferred = [stage.loci for stage in stages if isinstance(stage, InferSurname)]
        return frozenset(self.tables.loci).union(*inferred)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the people or files that are the sources of the tables."""
        digest = hashlib.sha256()
        columns = [*self.tables.values.items()]
        columns += [item for table in self.tables.files.values() for item in table.columns.items()]
        for name, values in columns:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def _game(self, world: MultistageWorld, space: MaskingSpace, economics: EconomicsSection) -> MaskingGame:
        adversary = self.scenario.adversary
        gain, cost = economics.adversary_gain, economics.cost
        attack = MultistageAttack(self.stages, gain, cost, adversary.confidence_threshold, adversary.overconfident)
        planned: Adversary | None = None
        if adversary.planner == "one-shot" and adversary.errs:
            perfect = attack if self.knowledge is None else OneShotAdversary(gain, cost)
            planned = adversary.erring(perfect, "adversary.rationality")
        elif adversary.planner != "one-shot":
            coverage = presence_of(world, attack.identify.resource)
            planned = planner(adversary, gain, cost, loaded=self.loaded, coverage=coverage)
        amounts = (economics.benefit, economics.loss)
        if self.knowledge is not None:
            about = self.knowledge.about(world.targets)
            return PartialKnowledgeGame(space, attack, world, *amounts, planner=planned, knowledge=about)
        return MaskingGame(space, attack, world, *amounts, planner=planned)

    def _check_search_path(self, game: MaskingGame) -> None:
        record, where = self.scenario.figures.search_path, "figures.search_path"
        if record is None:
            return
        if record >= game.n_records:
            raise InputError("no such record", where=where, found=record, expected=f"0 to {game.n_records - 1}")
        if self.scenario.adversary.errs:
            raise InputError(
                "greedy search needs an adversary with perfect rationality",
                where=where,
                found=record,
                expected='adversary.rationality = "perfect"',
            )
        if not game.is_compiled:
            expected = "surname inference from loci at the end of the attributes, then identify"
            raise InputError("greedy search needs a two-stage attack", where=where, expected=expected)

    def _carrier(self, world: MultistageWorld, attribute: str) -> NDArray[np.int64]:
        """Return an attribute's known values in the first resource with the attribute."""
        for name, section in self.scenario.resources.items():
            if attribute in section.attributes:
                table = world.resource(name)
                return table.column(attribute)[table.known((attribute,))]
        raise InputError(
            "the attribute has no weight, because no resource contains it",
            where="subjects.attributes",
            found=attribute,
            expected="the attribute in a resource, or key subjects.weights",
        )

    def _levels(self, world: MultistageWorld) -> tuple[tuple[Floats, ...], tuple[tuple[NDArray[np.int64], ...], ...]]:
        section = self.scenario.subjects
        kept: list[Floats] = []
        groups: list[tuple[NDArray[np.int64], ...]] = []
        for attribute in section.attributes:
            levels = section.generalize.get(attribute)
            if levels is None:
                kept.append(np.array([1.0, 0.0]))
                groups.append(())
                continue
            kept.append(np.array([1.0, *levels.kept, 0.0]))
            labels = self.tables.labels.get(attribute)
            where = f"subjects.generalize.{attribute}"
            if levels.widths and labels is not None:
                raise InputError(
                    "widths need an attribute with whole numbers", where=f"{where}.widths", expected="groups"
                )
            if levels.widths:
                tables = (world.targets, *world.resources.values())
                largest = max(int(table.columns[attribute].max()) for table in tables if attribute in table.columns)
                values = np.arange(largest + 1)
                groups.append(tuple(values // width for width in levels.widths))
            else:
                groups.append(tuple(_grouping(labels or (), level, f"{where}.groups") for level in levels.groups))
        return tuple(kept), tuple(groups)


def build_masking_study(loaded: Scenario[MaskingScenario], before: MaskingTables | None = None) -> MaskingStudy:
    """Read the files and recipes of a scenario, and build its attack.

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
    with locating(loaded.path):
        tables, alone = masking_tables(loaded, before), {}
        if loaded.scenario.adversaries:
            for name in loaded.scenario.adversaries:
                with named(name):
                    alone[name] = _against_one(loaded_alone(loaded, name), tables)
            study = MaskingStudy(loaded, tables, (), alone=alone)
        else:
            study = _against_one(loaded, tables)
        _require_used(loaded.scenario)
        if loaded.scenario.agents is None:
            for own, each in study.each.items():
                where = "adversary" if own is None else f"adversaries.{own}"
                used = dict.fromkeys(stage.resource for stage in each.stages)
                check_buyer(own or OWN_ADVERSARY, where, used, tables.buyers)
        return study


def presence_of(world: MultistageWorld, resource: str) -> float:
    """Return a sequential planner's prior that a target is in the resource.

    The prior is 1 for a drawn list, because linkage to the list accounts for its coverage.
    """
    if resource in world.lists:
        return 1.0
    return 1.0 if world.registered is None else float(world.registered.mean())


def _against_one(loaded: Scenario[MaskingScenario], tables: MaskingTables) -> MaskingStudy:
    """Return the study against one adversary; several studies may share the tables."""
    scenario, tables = loaded.scenario, replace(tables, loaded=loaded)
    if scenario.adversary.knowledge is not None:
        knowledge = KnowledgeOfSubjects.of(scenario.adversary.knowledge, tables)
        return MaskingStudy(loaded, tables, (Identify(scenario.linked_on, scenario.register),), knowledge)
    return MaskingStudy(loaded, tables, tuple(_stage(stage, loaded, tables) for stage in scenario.adversary.stages))


def _require_used(scenario: MaskingScenario) -> None:
    """Refuse attributes that no stage uses where surnames are inferred from all loci.

    The most frequent cause is a locus that the genealogy lacks; it would count as shared without risk.
    """
    used: set[str] = set()
    by_default: list[InferSurnameSection] = []
    for one in scenario.each.values():
        stages = one.adversary.stages
        if stages and not isinstance(stages[-1], IdentifySection):
            return  # The attack itself reports this error.
        used |= linked_in_stages(one) | {*one.linked_on}
        for stage in stages:
            if isinstance(stage, InferSurnameSection):
                used |= {*(stage.loci or scenario.resources[stage.resource].attributes)}
                by_default += [stage] if stage.loci is None else []
    unused = [name for name in scenario.subjects.attributes if name not in used]
    if by_default and unused:
        raise InputError(
            "no stage of the attack uses the attribute",
            where="subjects.attributes",
            found=unused[0],
            expected=f"a locus of resource {by_default[0].resource!r}, or an attribute used for linkage",
        )


def _stage(section: StageSection, loaded: Scenario[MaskingScenario], tables: MaskingTables) -> Stage:
    if not isinstance(section, InferSurnameSection):
        return stage_of(section, loaded.folder)
    scenario = loaded.scenario
    carried = scenario.resources[section.resource].attributes
    subjects = scenario.subjects.attributes
    # With files for several adversaries, an adversary may link on attributes that are alleles for another adversary.
    alleles = named_loci(scenario) if tables.files else tables.loci
    loci = section.loci or tuple(a for a in subjects if a in carried and a in alleles)
    if set(loci) <= set(subjects):
        # Compiled solvers need the loci in the order of the strategies' digits.
        loci = tuple(a for a in subjects if a in loci)
    if not loci:
        raise InputError(
            "the stage has no loci",
            where="adversary.stages",
            expected=f"loci among the attributes of both resource {section.resource!r} and the subjects",
        )
    return stage_of(section, loaded.folder, loci)


def _grouping(labels: tuple[str, ...], level: tuple[tuple[str, ...], ...], where: str) -> NDArray[np.int64]:
    """Return the group of each category; an unlisted category is its own group."""
    groups = np.arange(len(labels))
    for group in level:
        for label in group:
            if label not in labels:
                raise InputError("not a value of the attribute", where=where, found=label, hint=nearest(label, labels))
        groups[[labels.index(label) for label in group]] = labels.index(group[0])
    return groups
