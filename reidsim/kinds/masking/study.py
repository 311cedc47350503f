"""Build the games of a masking scenario: strategies, attack and payoff parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, RecordsFile, load_knowledge
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
    Stage,
)
from reidsim.adversaries.rationality import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.core.errors import InputError, locating, nearest, refuse_first
from reidsim.core.randomness import random_stream
from reidsim.games.masking.game import MaskingGame, PartialKnowledgeGame, PartialMaskingSpace
from reidsim.games.masking.opponents import game_against_several
from reidsim.kinds.masking.schema import MaskingAdversarySection, MaskingBeliefsSection, MaskingScenario
from reidsim.kinds.masking.tables import NO_ALLELE, MaskingTables, linked_in_stages, masking_tables, named_loci
from reidsim.populations.population import Domain
from reidsim.releases.lattice import Floats
from reidsim.releases.masking import MaskingSpace, entropy, minority_weights
from reidsim.scenarios.agents import OWN_ADVERSARY, named, scenario_alone
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.resources import IdentifySection, InferSurnameSection, StageSection, check_buyer, stage_of
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.study import Study, World, digest_of

# The true game and the believed game.
Games = tuple[MaskingGame, MaskingGame]


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
    _drawn: dict[int, dict[str | None, Games]] = field(default_factory=dict, init=False, repr=False)

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

    def games(self, draw: int) -> Games:
        """Return the true and the believed `MaskingGame` of a draw.

        With several adversaries, they are the games against the first one alone; subjects and strategies are equal in
        the games against all adversaries.

        Raises
        ------
        InputError
            For the reasons given in `games_against_each`.
        """
        return next(iter(self.games_against_each(draw).values()))

    def games_against_each(self, draw: int) -> dict[str | None, Games]:
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

    def _games(self, replication: int) -> dict[str | None, Games]:
        def drawn(sizes: Mapping[str, int] | None = None) -> dict[str | None, MultistageWorld]:
            return self.tables.draw(random_stream(self.scenario.seed, "tables", replication), sizes, replication)

        beliefs = self.scenario.beliefs
        worlds = drawn()
        believed = drawn(beliefs.sizes) if beliefs.sizes else worlds
        if beliefs.lists == "coverage":
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
                    belief = study._game(believed[name], space, scenario.beliefs.believed_economics(scenario.economics))
            games[name] = truth, belief
        return games

    def with_loaded(self, loaded: Scenario[MaskingScenario]) -> MaskingStudy:
        """Return the study of a scenario with other payoff parameters or beliefs.

        The people and files are not read again; the tables are drawn anew.
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
        parts = (section.attributes, weights, world.n_targets, kept, groups, total)
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
        unlike = [*(name for name in given if name not in names), *(name for name in names if name not in given)]
        if unlike:
            problem, expected = "weights do not match the attributes", f"a weight for each of {', '.join(names)}"
            raise InputError(problem, where="subjects.weights", found=unlike[0], expected=expected)
        return np.array([given[name] for name in names])

    @property
    def fingerprint(self) -> str:
        """SHA-256, as text, of the people or files that are the sources of the tables."""
        sources = [self.tables.people.values, *(table.columns for table in self.tables.files.values())]
        columns = [column for source in sources for column in source.items()]
        return digest_of(
            "", [part for name, values in columns for part in (np.frombuffer(name.encode(), np.uint8), values)]
        )

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
        section, amounts = self.scenario.adversary, (economics.benefit, economics.loss)
        belief = section.confidence_threshold, section.overconfident
        attack = MultistageAttack(self.stages, economics.adversary_gain, economics.cost, *belief)
        own = section.planner != "one-shot" or section.errs
        plan = self.planned(section, attack, world) if own else None
        if self.domain is None:
            return MaskingGame(space, attack, world, *amounts, planner=plan)
        knowledge = self.knowledge(world.targets, self.domain)
        return PartialKnowledgeGame(space, attack, world, *amounts, planner=plan, knowledge=knowledge)

    def _check_search_path(self, game: MaskingGame) -> None:
        record, where, last = self.scenario.figures.search_path, "figures.search_path", game.n_records - 1
        if record is None:
            return
        erring = "greedy search needs an adversary with perfect rationality"
        perfect = 'adversary.rationality = "perfect"'
        staged = "surname inference from loci at the end of the attributes, then identify"
        refuse_first(
            (record > last, "no such record", where, record, f"0 to {last}"),
            (self.scenario.adversary.errs, erring, where, record, perfect),
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
        raise InputError(
            "the attribute has no weight, because no resource contains it",
            where="subjects.attributes",
            found=attribute,
            expected="the attribute in a resource, or key subjects.weights",
        )

    def _levels(self, world: MultistageWorld, attribute: str) -> tuple[Floats, tuple[NDArray[np.int64], ...]]:
        """Return the kept shares of an attribute's levels, and the groups of its values.

        `world` has the tables of targets and resources, in which the largest number is sought for intervals.

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
            with named(name):
                alone[name] = _against_one(replace(loaded, scenario=scenario_alone(loaded.scenario, name)), tables)
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
    """Return the study against the single adversary of a scenario.

    Its stages are the scenario's or, with background knowledge, one stage that identifies. `tables` may be shared
    between studies.
    """
    scenario, tables = loaded.scenario, replace(tables, loaded=loaded)
    if scenario.adversary.knowledge is not None:
        domain = tables.domain(scenario.linked_on)
        return MaskingStudy(loaded, tables, (Identify(scenario.linked_on, scenario.register),), domain)
    return MaskingStudy(loaded, tables, tuple(_stage(stage, loaded, tables) for stage in scenario.adversary.stages))


def _require_used(scenario: MaskingScenario) -> None:
    """Check that a stage uses each attribute, if surnames are inferred from all loci.

    The most frequent cause is a locus that the genealogy lacks; it would count as shared without risk.

    The check applies only if some stage infers a surname without naming its loci, and all attacks end with a stage that
    identifies.

    Raises
    ------
    InputError
        If an attribute that subjects can share is not used.
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
    scenario, subjects = loaded.scenario, loaded.scenario.subjects.attributes
    # With files for several adversaries, an adversary may link on attributes that are alleles for another adversary.
    alleles = named_loci(scenario) if tables.files else tables.people.loci
    loci = section.loci or tuple(set(scenario.resources[section.resource].attributes).intersection(alleles, subjects))
    if set(loci) <= set(subjects):
        # Compiled solvers need the loci in the order of the strategies' digits.
        loci = tuple(a for a in subjects if a in loci)
    if not loci:
        expected = f"loci among the attributes of both resource {section.resource!r} and the subjects"
        raise InputError("the stage has no loci", where="adversary.stages", expected=expected)
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
        groups[[labels.index(label) for label in group]] = labels.index(group[0])
    return groups
