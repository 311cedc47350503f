"""From a scenario of the masking game to its games: what subjects can share, and who attacks how."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.stages import Identify, InferSurname, Stage
from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.errors import InputError, nearest
from reidsim.games.masking.always_shared import PartialMaskingGame, PartialMaskingSpace
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.kinds.masking.knowledge import KnowledgeOfSubjects
from reidsim.kinds.masking.policies import MaskingPolicy, policy_named
from reidsim.kinds.masking.schema import MaskingBeliefsSection, MaskingScenario
from reidsim.kinds.masking.tables import NO_ALLELE, MaskingTables, masking_tables
from reidsim.random_streams import replication_stream
from reidsim.releases.masking import MaskingSpace, entropy, minority_weights
from reidsim.scenarios.attack_stages import (
    IdentifySection,
    InferSurnameSection,
    StageSection,
    stage_of,
)
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.planners import planner
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead
from reidsim.scenarios.study import Study, World

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MaskingStudy(Study[MaskingScenario]):
    """A masking game ready to be drawn and solved, replication by replication.

    Parameters
    ----------
    loaded : LoadedScenario
    tables : MaskingTables
    stages : tuple of Stage
        Of the attack.
    knowledge : KnowledgeOfSubjects, optional
        What the adversary may know about subjects; everything, if not given.
    """

    tables: MaskingTables
    stages: tuple[Stage, ...]
    knowledge: KnowledgeOfSubjects | None = None
    _drawn: dict[int, tuple[MaskingGame, MaskingGame]] = field(default_factory=dict, init=False, repr=False)

    def policy(self, name: str) -> MaskingPolicy:
        """Return a policy of this kind by its name."""
        return policy_named(name)

    @property
    def draws(self) -> int:
        """How often tables are drawn."""
        return self.scenario.replications

    def world(self, draw: int = 0) -> World:
        """Return the games of a draw of the tables; every subject stands for itself."""
        truth, belief = self.games(draw)
        return World(truth, belief, np.ones(truth.n_records, dtype=np.int64))

    def games(self, draw: int) -> tuple[MaskingGame, MaskingGame]:
        """Draw the tables and return the game as it is, and as subjects believe it to be; the last ones are kept.

        Raises
        ------
        InputError
            If the attack or the figures do not fit the tables.
        """
        if draw not in self._drawn:
            self._drawn.clear()
            self._drawn[draw] = self._games(draw)
        return self._drawn[draw]

    def _games(self, replication: int) -> tuple[MaskingGame, MaskingGame]:
        scenario = self.scenario
        try:
            world = self.tables.draw(replication_stream(scenario.seed, "tables", replication))
            space = self.space(world)
            truth = self._game(world, space, scenario.economics)
            self._check_search_path(truth)
            beliefs = scenario.beliefs
            if beliefs == MaskingBeliefsSection():
                return truth, truth
            if beliefs.sizes:
                world = self.tables.draw(replication_stream(scenario.seed, "tables", replication), beliefs.sizes)
            return truth, self._game(world, space, beliefs.of(scenario.economics))
        except InputError as error:
            raise error.located(self.loaded.path) from None

    def space(self, world: MultistageWorld) -> MaskingSpace:
        """Return what the targets of some tables can share and what it is worth."""
        section = self.scenario.subjects
        weights = self.weights(world)
        kept, groups = self._levels(world)
        n = world.n_targets
        total = float(weights.sum())
        if section.minority_support:
            values = world.targets.matrix(section.attributes)
            reference = tuple(self._carrier(world, attribute) for attribute in section.attributes)
            unknown = tuple(NO_ALLELE if attribute in self.loci else None for attribute in section.attributes)
            try:
                weights = minority_weights(weights, values, reference, section.minority_support, unknown)
            except InputError as error:
                raise error.located(where="subjects.minority_support") from None
        if section.always_shared:
            n_always = len(section.always_shared)
            return PartialMaskingSpace(section.attributes, weights, n, kept, groups, total, n_always)
        return MaskingSpace(section.attributes, weights, n, kept, groups, total)

    def weights(self, world: MultistageWorld) -> Floats:
        """Return the worth of each attribute, shape (n_attributes,): by entropy, that among those who carry it."""
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
                "weights do not fit the attributes",
                where="subjects.weights",
                found=(unknown or lacking)[0],
                expected=f"a weight for each of {', '.join(section.attributes)}",
            )
        return np.array([given[name] for name in section.attributes])

    @property
    def loci(self) -> frozenset[str]:
        """Attributes whose values are alleles, some of which may not be known."""
        inferred = [stage.loci for stage in self.stages if isinstance(stage, InferSurname)]
        return frozenset(self.tables.loci).union(*inferred)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the people or files that tables are drawn from."""
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
        planned = None
        if adversary.planner != "one-shot":
            registered = world.registered
            coverage = 1.0 if registered is None else float(registered.mean())
            planned = planner(adversary, gain, cost, loaded=self.loaded, coverage=coverage)
        amounts = (economics.benefit, economics.loss)
        if self.knowledge is not None:
            about = self.knowledge.about(world.targets)
            return PartialKnowledgeGame(space, attack, world, *amounts, planner=planned, knowledge=about)
        if isinstance(space, PartialMaskingSpace):
            return PartialMaskingGame(space, attack, world, *amounts, planner=planned)
        return MaskingGame(space, attack, world, *amounts, planner=planned)

    def _check_search_path(self, game: MaskingGame) -> None:
        record, where = self.scenario.figures.search_path, "figures.search_path"
        if record is None:
            return
        if record >= game.n_records:
            raise InputError("no such record", where=where, found=record, expected=f"0 to {game.n_records - 1}")
        if not game.is_compiled:
            expected = "one surname inferred from the loci, which come last among the attributes, then identify"
            raise InputError("greedy search is of two-stage attacks only", where=where, expected=expected)

    def _carrier(self, world: MultistageWorld, attribute: str) -> NDArray[np.int64]:
        """Return the column of an attribute in the first resource that carries it."""
        for name, section in self.scenario.resources.items():
            if attribute in section.attributes:
                return world.resource(name).column(attribute)
        raise InputError(
            "no resource carries the attribute, whose worth is therefore not known",
            where="subjects.attributes",
            found=attribute,
            expected="it among the attributes of a resource, or weights that are given",
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
                raise InputError("intervals are of whole numbers", where=f"{where}.widths", expected="groups")
            if levels.widths:
                tables = (world.targets, *world.resources.values())
                largest = max(int(table.columns[attribute].max()) for table in tables if attribute in table.columns)
                values = np.arange(largest + 1)
                groups.append(tuple(values // width for width in levels.widths))
            else:
                groups.append(tuple(_grouping(labels or (), level, f"{where}.groups") for level in levels.groups))
        return tuple(kept), tuple(groups)


def is_masking(loaded: LoadedScenario[ScenarioHead]) -> TypeGuard[LoadedScenario[MaskingScenario]]:
    """Tell whether in a scenario data subjects choose what to share."""
    return isinstance(loaded.scenario, MaskingScenario)


def build_masking_study(loaded: LoadedScenario[MaskingScenario]) -> MaskingStudy:
    """Read everything that a scenario names and put the attack together.

    Raises
    ------
    InputError
        If a file or value cannot be used.
    """
    try:
        scenario = loaded.scenario
        tables = masking_tables(loaded, alleles=_named_loci(scenario))
        if scenario.adversary.knowledge is not None:
            knowledge = KnowledgeOfSubjects.of(scenario.adversary.knowledge, tables)
            return MaskingStudy(loaded, tables, (Identify(scenario.linked_on, scenario.register),), knowledge)
        stages = tuple(_stage(section, loaded, tables) for section in scenario.adversary.stages)
        _require_used(scenario)
    except InputError as error:
        raise error.located(loaded.path) from None
    return MaskingStudy(loaded, tables, stages)


def _require_used(scenario: MaskingScenario) -> None:
    """Refuse attributes that no stage can use where surnames are inferred from all loci.

    Most often that is a locus that the genealogy lacks, which would count as shared free of risk.
    """
    stages = scenario.adversary.stages
    used = {name for stage in stages if not isinstance(stage, InferSurnameSection) for name in stage.on}
    by_default = [stage for stage in stages if isinstance(stage, InferSurnameSection) and stage.loci is None]
    if not isinstance(stages[-1], IdentifySection):
        return  # The attack itself says what is wrong.
    for stage in by_default:
        used |= set(scenario.resources[stage.resource].attributes)
    unused = [name for name in scenario.subjects.attributes if name not in used]
    if by_default and unused:
        raise InputError(
            "no stage of the attack uses the attribute",
            where="subjects.attributes",
            found=unused[0],
            expected=f"a locus that resource {by_default[0].resource!r} carries, or an attribute linked on",
        )


def _named_loci(scenario: MaskingScenario) -> tuple[str, ...]:
    """Return the attributes that files hold as alleles: those named as loci, and all of a genealogy not linked on."""
    stages = scenario.adversary.stages
    linked = {name for stage in stages if not isinstance(stage, InferSurnameSection) for name in stage.on}
    loci: list[str] = []
    for stage in stages:
        if isinstance(stage, InferSurnameSection):
            carried = scenario.resources[stage.resource].attributes
            loci += stage.loci or ()
            loci += [name for name in carried if name not in linked and name != stage.infers]
    return tuple(dict.fromkeys(loci))


def _stage(section: StageSection, loaded: LoadedScenario[MaskingScenario], tables: MaskingTables) -> Stage:
    if not isinstance(section, InferSurnameSection):
        return stage_of(section, loaded.folder)
    carried = loaded.scenario.resources[section.resource].attributes
    subjects = loaded.scenario.subjects.attributes
    loci = section.loci or tuple(a for a in subjects if a in carried and a in tables.loci)
    if set(loci) <= set(subjects):
        # In the order of the strategies' digits, which compiled solvers ask for.
        loci = tuple(a for a in subjects if a in loci)
    if not loci:
        raise InputError(
            "no loci to infer from", where="adversary.stages",
            expected=f"loci among the attributes of resource {section.resource!r} and of the subjects",
        )  # fmt: skip
    return stage_of(section, loaded.folder, loci)


def _grouping(labels: tuple[str, ...], level: tuple[tuple[str, ...], ...], where: str) -> NDArray[np.int64]:
    """Return the group of each category; categories that are not listed stay alone."""
    groups = np.arange(len(labels))
    for group in level:
        for label in group:
            if label not in labels:
                raise InputError("not a value of the attribute", where=where, found=label, hint=nearest(label, labels))
        groups[[labels.index(label) for label in group]] = labels.index(group[0])
    return groups
