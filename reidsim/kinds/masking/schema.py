"""Policies and schema of a masking scenario.

Compiled searches need one adversary with a two-stage attack; the general solvers support all adversaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.core.errors import InputError, listed, locating, nearest, refuse_first, require_among, require_distinct
from reidsim.core.numerics import random_stream
from reidsim.core.validation import Section
from reidsim.core.wording import BLACK, BLUE, GREEN, GREY, ORANGE, SKY_BLUE, VERMILION
from reidsim.games.cross_play import Game, OptIn, SameForm, withholding
from reidsim.games.masking import searches
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.opponents import without_inference
from reidsim.games.record_game import Choice, Constraint
from reidsim.games.solvers import backward_induction
from reidsim.releases.lattice import MaskingSpace
from reidsim.releases.records import k_anonymous_cells
from reidsim.scenarios import registry, schema
from reidsim.scenarios.adversary_schema import (
    AgentsSection,
    EconomicsSection,
    PlannerSection,
    WeightedSection,
    check_adversaries,
)
from reidsim.scenarios.agents import named, scenario_alone
from reidsim.scenarios.resources import (
    DrawnResourceSection,
    IdentifySection,
    ListBeliefsSection,
    StageSection,
    Together,
    check_together,
    drawn_lists_of,
)

# Solvers for any adversary; the other solvers need one adversary with a two-stage attack.
GENERAL_SOLVERS = {"best-first": searches.best_first, "backward-induction": searches.masking_backward_induction}

WHERE = "subjects.policies"
Solver = Literal["scenario", "greedy", "anytime"]


class MaskingPolicy(registry.Policy):
    """Base class of policies of data subjects who mask attributes of their records.

    Attributes
    ----------
    search : {"scenario", "greedy", "anytime"}, optional
        Solver of a policy that compares strategies: the scenario's solver, or a fixed one.
    takes_best : bool
        Whether the policy finds, by an exact solver, the best of a set of strategies that does not depend on payoff
        parameters.
    masks : bool
        Whether the policy decides attribute by attribute, so that a map of its strategies is informative.
    row : int, optional
        Position among the rows of cross-play; None if cross-play omits the policy.
    """

    search: ClassVar[Solver | None] = None
    takes_best: ClassVar[bool] = False
    masks: ClassVar[bool] = False
    row: ClassVar[int | None] = 100

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game that determines the policy's payoffs; by default `game`.

        For policies with `in_another_game`, it is the game in which the adversary makes no inferences. `choice` has no
        effect.
        """
        return without_inference(game) if self.in_another_game else game


class OwnMaskingPolicy(registry.OwnPolicy, MaskingPolicy):
    """User-defined policy in a masking scenario; see `OwnPolicy`."""


# In the order of figures: baselines before games.
POLICIES: registry.Policies[MaskingPolicy] = registry.Policies()


def policy_named(name: str) -> MaskingPolicy:
    """Return the `MaskingPolicy` with a name.

    A name outside the registry belongs to a user-defined policy, an `OwnMaskingPolicy`.
    """
    return POLICIES[name] if name in POLICIES else OwnMaskingPolicy(name, WHERE)


class Baseline(MaskingPolicy):
    """Base class of policies with a fixed rule of Wan et al. 2021.

    The rule ignores payoffs; the subclass's name selects it in `fixed_choice`.
    """

    is_rule = True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the prescribed strategies, one per subject.

        They depend on the policy's name, the scenario's rates and, for random policies, its seed and the number of the
        draw of the tables, `draw`; `game` is not used. A withheld record has -1.
        """
        section, rng = study.scenario.subjects, random_stream(study.scenario.seed, "policies", draw)
        linked = {name for each in study.scenario.each.values() for name in each.linked_on}
        rates = {"opt_in_rate": section.opt_in_rate, "sharing_rate": section.sharing_rate}
        return searches.fixed_choice(study.games(draw)[0], self.name, rng, linked=linked, **rates)


@POLICIES.register("no-protection")
class NoProtection(Baseline):
    """Policy under which subjects share every attribute."""

    label, description, row = "No protection", "all attributes are shared", 6


@POLICIES.register("demographics-only")
class DemographicsOnly(Baseline):
    """Policy that shares only the attributes on which the last attack stage links.

    With several adversaries, these are the attributes of all their attacks.
    """

    label, description = "Demographics only", "only the attributes by which the adversary looks people up are shared"
    in_another_game, look, row = True, registry.Look(GREY, "D"), 7


@POLICIES.register("random-opt-in")
class RandomOptIn(Baseline):
    """Policy that shares everything at random, with probability ``opt_in_rate``.

    Otherwise the record is withheld. Subjects are drawn independently.
    """

    label, description = "Random opt-in", "all attributes or none are shared, at random"
    look, row = registry.Look(ORANGE, "<"), 8


@POLICIES.register("random-masking")
class RandomMasking(Baseline):
    """Policy that shares each attribute at random, with probability ``sharing_rate``.

    The draws of subjects and attributes are independent.
    """

    label, description = "Random masking", "each attribute is shared or masked at random"
    masks, look, row = True, registry.Look(BLACK, "P"), 9


@POLICIES.register(registry.K_ANONYMITY)
class KAnonymous(MaskingPolicy):
    """Policy that masks values until the table of the subjects is k-anonymous.

    Each record then shares its released values with at least k - 1 other records.
    """

    label, is_rule, masks, look, row = "k-anonymity", True, True, registry.Look(GREY, "h"), 10
    description = (
        "values are masked, at small cost in utility, until each record is in a group of at least "
        "k records with the same shared values"
    )

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of strategies that make the table k-anonymous.

        Each subject has the strategy that masks its suppressed values; `game` is not used. See `k_anonymous_cells`.

        Raises
        ------
        InputError
            If the scenario gives several k and the policy's name has none.
        """
        section, (own, _) = study.scenario.subjects, study.games(draw)
        values, k = own.world.targets.matrix(section.attributes), registry.k_of(self, section.k, "subjects.k")
        strategies = own.space.masking(k_anonymous_cells(values, k, study.weights(own.world)))
        return Choice(strategies, self.name, np.zeros(len(strategies), dtype=np.int64), exact=False)


@POLICIES.register("opt-in")
class OptInGame(MaskingPolicy):
    """Policy that shares everything or withholds the record, whichever pays more.

    With equal payoffs, the record is withheld.
    """

    label = "Opt-in game"
    description = "all attributes are shared if the subject's payoff is positive, otherwise none"
    takes_best, look, row = True, registry.Look(GREEN, "o"), 5

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the better of two strategies for each subject.

        They are sharing all attributes, and withholding (-1), which is chosen if payoffs are equal.
        """
        return OptIn().choose(_compiled(game))


class SearchPolicy(MaskingPolicy):
    """Policy that searches for each subject's strategy with the largest payoff.

    The solver is the scenario's, ``subjects.solver``, or the policy's own.
    """

    search: ClassVar[Solver | None] = "scenario"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the best strategy of each subject that the solver finds.

        If `forbids_attacks` is set, only strategies are considered under which no attack pays. If `in_another_game` is
        set, the game is played against an adversary without inference.

        Raises
        ------
        InputError
            If the solver does not support the adversary, or several adversaries.
        """
        section, no_attack, by_scenario = study.scenario.subjects, self.forbids_attacks, self.search == "scenario"
        played, solver = _compiled(game), section.solver if by_scenario else str(self.search)
        if self.in_another_game:
            played = without_inference(played)
        if not isinstance(played, MaskingGame):
            if not by_scenario:
                raise _refused("several adversaries", WHERE, self.name)
            if solver == "backward-induction":
                return withholding(played, backward_induction(played, Constraint(no_attack=no_attack)))
            return withholding(played, searches.best_against_several(played, no_attack=no_attack))
        if solver in GENERAL_SOLVERS:
            return GENERAL_SOLVERS[solver](played, no_attack=no_attack)
        if not played.is_compiled:
            raise _refused("this adversary", "subjects.solver", solver)
        if solver == "greedy":
            return searches.greedy(played, no_attack=no_attack)
        return searches.anytime(played, most_evaluated=section.most_evaluated, no_attack=no_attack)


@POLICIES.register("masking")
class Masking(SearchPolicy):
    """Masking game of Wan et al. 2021: best strategy of each subject."""

    label, masks, look, row = "Masking game", True, registry.Look(BLUE, "^"), 0
    description = (
        "set of shared attributes with the highest payoff for the subject, whether or not the record is attacked"
    )


@POLICIES.register("no-attack-masking")
class NoAttackMasking(SearchPolicy):
    """Masking game limited to strategies under which no attack pays."""

    label, masks, forbids_attacks, look, row = "No-attack masking game", True, True, registry.Look(SKY_BLUE, ">"), 1
    description = "set of shared attributes with the highest payoff among the sets without an attack"


@POLICIES.register("one-stage-masking")
class OneStageMasking(SearchPolicy):
    """The masking game against an adversary who infers no attribute before it links."""

    label, masks, in_another_game, look, row = "One-stage masking game", True, True, registry.Look(VERMILION, "X"), None
    description = "masking game against an adversary who makes no inferences"


@POLICIES.register("same-strategy")
class SameStrategy(MaskingPolicy):
    """The strategy, equal for all subjects, with the largest total payoff."""

    label, masks, takes_best, look, row = "Same strategy for all", True, True, registry.Look(BLACK, "*"), 4
    description = "set of shared attributes, equal for all subjects, with the highest total payoff"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the `Choice` of the best strategy that is equal for all subjects.

        All subjects withhold their records (-1) if no common strategy pays as much as this.
        """
        return replace(SameForm(self.name).choose(_compiled(game)), solver="same-strategy")


@POLICIES.register("greedy-masking")
class GreedyMasking(SearchPolicy):
    """The masking game, solved by greedy search; not exact."""

    label, description, row = "Greedy masking", "masking game, solved by greedy search; not exact", 2
    by_agents, search = False, "greedy"


@POLICIES.register("anytime-masking")
class AnytimeMasking(SearchPolicy):
    """The masking game, with at most ``most_evaluated`` strategies tried per subject.

    The key is in the scenario's section ``subjects``.
    """

    label, row, by_agents, search = "Anytime masking", 3, False, "anytime"
    description = "masking game, solved with a limited number of evaluated strategies; not exact"


PolicyName = Annotated[str, registry.PartName(POLICIES, registry.ANONYMITY_PATTERN)]


def _compiled(game: Game) -> Game:
    """Return a `RecordGame` as a `MaskingGame`, if it allows compiled solvers.

    It does if the strategies are of a `MaskingSpace` without focus, and the adversary and its linker are a
    `MultistageAttack` and a `MultistageLinker`. Other games are returned unchanged.
    """
    if isinstance(game, MaskingGame) or not isinstance(game.space, MaskingSpace) or game.space.focus:
        return game
    if not (isinstance(game.adversary, MultistageAttack) and isinstance(game.linker, MultistageLinker)):
        return game
    return MaskingGame(game.space, game.adversary, game.linker.world, game.benefit, game.loss)


def check_policies(study: Any, game: MaskingGame) -> None:
    """Check that a game supports the scenario's policies and solver.

    Parameters
    ----------
    study : MaskingStudy
    game : MaskingGame
        True game of a draw, against the first or only adversary.

    Raises
    ------
    InputError
        If a policy or solver does not support the adversary or several adversaries, or k of k-anonymity exceeds the
        number of subjects; the message names the file, the key and the policy or solver.
    """
    section, adversary, several = study.scenario.subjects, study.scenario.adversary, len(study.each) > 1
    policies, source = [policy_named(name) for name in section.policies], study.loaded.path
    heuristic = [policy.name for policy in policies if policy.search not in (None, "scenario")]
    if several and heuristic:
        raise _refused("several adversaries", WHERE, heuristic[0]).located(source)
    anonymous = [policy for policy in policies if policy.name.startswith(registry.K_ANONYMITY)]
    most = max((registry.k_of(policy, section.k, "subjects.k") for policy in anonymous), default=0)
    with locating(source):
        expected = f"at most {game.n_records}, the number of subjects"
        refuse_first((most > game.n_records, "too few records for k-anonymity", "subjects.k", most, expected))
    if section.solver in GENERAL_SOLVERS or (not several and game.is_compiled):
        return
    stages = ", ".join(stage.stage for stage in adversary.stages)
    against = {
        "several adversaries": several,
        f"rationality {adversary.rationality!r}": adversary.errs,
        f"planner {adversary.planner!r}": adversary.planner != "one-shot",
        "partial knowledge": adversary.knowledge is not None,
        f"an attack with the stages {stages}": True,
    }
    unsupported = next(name for name, holds in against.items() if holds)
    raise _refused(unsupported, "subjects.solver", section.solver).located(source)


def _refused(against: str, where: str, found: str) -> InputError:
    expected = "policies without a search, or with a search of all strategies"
    if where == "subjects.solver":
        expected = f"one of {', '.join(GENERAL_SOLVERS)}"
    return InputError(f"not supported against {against}", where=where, found=found, expected=expected)


TARGETS = "targets"


class PeopleSection(Section):
    """The population that supplies targets and resources.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe, with one row per person
    generations
        number of latest generations of a genealogy from which men are taken; default: all people
    women
        with `generations`: whether women, who have no known alleles, are taken too
    reference_year
        year in which ages are computed from `birth_year`; adds the attribute `age`
    """

    recipe: str
    seed: schema.PopulationSeed = None
    generations: schema.Count | None = None
    women: Annotated[bool, schema.with_key("generations")] = False
    reference_year: int | None = None
    together: Together = 0.0


class TableSection(Section):
    """The people in a table: drawn from the population, or the rows of a file.

    Attributes
    ----------
    size
        number of people drawn from the population
    file
        CSV or Parquet file of people, in place of `size`
    delimiter
        column separator of a CSV file
    columns
        column of the file, by attribute; default: the attribute's name
    """

    size: schema.Count | None = None
    file: schema.Text | None = None
    delimiter: Annotated[schema.Delimiter, schema.with_key("file")] = ","
    columns: Annotated[dict[str, str], schema.with_key("file")] = Field(default={})

    @model_validator(mode="after")
    def _one_origin(self) -> TableSection:
        incomplete = getattr(self, "kind", None) is None and (self.size is None) == (self.file is None)
        problem = "the people of the table are missing or given twice"
        return self.unless((incomplete, problem, "", "either size or file", None))


class TargetsSection(TableSection):
    """The subjects, who decide about their records.

    Attributes
    ----------
    person
        column that identifies the person, without repeated values
    """

    person: Annotated[schema.Text | None, schema.with_key("file")] = None


_INFERRED_FROM = schema.ReadIf(
    lambda section, scenario: any(
        stage.stage == "infer-surname" and scenario.resources.get(stage.resource) is section
        for each in scenario.every_adversary.values()
        for stage in each.stages
    ),
    "with a stage that infers surnames from this resource",
)
_HOLDS = schema.ReadIf(
    lambda section, scenario: not section.is_list and (section.file is None or section.holds == "targets"),
    'without `kind`, and without a file or with the value "targets"',
)
_COUNTED = schema.ReadIf(lambda section, scenario: section.file and not section.is_list, "with a file, without `kind`")


class ResourceSection(DrawnResourceSection, TableSection):
    """A table of people that the adversary has.

    With a `kind`, it is a list drawn from the people; otherwise a sample or a file.

    Attributes
    ----------
    holds
        people in a drawn table: all subjects and other people (`targets`), only people in no table with `targets` and
        no other table with `others` (`others`), or people drawn at random (`anyone`); in a file, `targets` checks that
        all subjects are present
    attributes
        attributes in the table
    missing_alleles
        share of unknown alleles; default: 0.3 in a list of kind `genealogy`, otherwise 0
    count
        column with the number of people in each row; default: one person per row
    """

    holds: Annotated[Literal["targets", "others", "anyone"], _HOLDS] = "anyone"
    attributes: tuple[str, ...] = Field(min_length=1)
    missing_alleles: Annotated[schema.Share | None, _INFERRED_FROM] = None
    count: Annotated[schema.Text | None, _COUNTED] = None

    @model_validator(mode="after")
    def _fits_origin(self) -> ResourceSection:
        file, alleles, kind = self.file, self.missing_alleles, self.kind
        require_distinct("attribute given twice", self.attributes, where="attributes")
        incomplete, drawn = kind == "file" and (file is None or self.size is not None), kind not in (None, "file")
        in_file, empty = "missing_alleles is not supported with a file", "empty cells for missing alleles in the file"
        return self.unless(
            (incomplete, 'a list of kind "file" needs a file', "file", "a file, and no size"),
            (file and drawn, "a drawn list has no file", "file", 'this key only with kind = "file"'),
            (file and alleles, in_file, "missing_alleles", empty),
        )


class GeneralizedAttribute(Section):
    """Levels of an attribute between shared and masked.

    Attributes
    ----------
    widths
        width of the intervals at each level; intervals start at 0, and each width is a multiple of the previous one
    groups
        groups of values at each level; a value without a group stays unchanged
    kept
        share of the attribute's weight that remains at each level, not increasing
    """

    widths: tuple[Annotated[int, Field(ge=2)], ...] = ()
    groups: tuple[tuple[tuple[str, ...], ...], ...] = ()
    kept: tuple[schema.Share, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_way(self) -> GeneralizedAttribute:
        overlap, given = "intervals do not fit into the intervals of the next level", list(self.widths)
        refuse_first(
            *((b % a, overlap, "widths", given, f"a multiple of {a} after {a}") for a, b in pairwise(self.widths))
        )
        widths, groups, kept = len(self.widths), len(self.groups), len(self.kept)
        incomplete = bool(widths) == bool(groups) or (widths or groups) != kept
        found = f"{widths} widths, {groups} groupings, {kept} shares kept"
        expected = "either widths or groups, and one kept share for each level"
        increases = any(finer < wider for finer, wider in pairwise(self.kept))
        return self.unless(
            (incomplete, "the levels are incomplete", "", expected, found),
            (increases, "kept shares increase", "kept", "shares that do not increase"),
        )


class SubjectsSection(Section):
    """The attributes that data subjects may share, their value, and the policies.

    Attributes
    ----------
    attributes
        attributes that subjects can share, with loci last
    always_shared
        attributes that cannot be masked; not with policy `k-anonymity`
    weights
        weight of each attribute in the benefit: its entropy in the first resource that has it, equal weights, or your
        own numbers by attribute
    minority_support
        alpha: additional weight of rare values, or of frequent values if negative
    generalize
        levels between shared and masked, by attribute
    policies
        policies to compare, each named once
    solver
        algorithm that solves the policies that are games
    most_evaluated
        with solver `anytime`: largest number of strategies evaluated per subject
    opt_in_rate
        with policy `random-opt-in`: probability that a subject shares all attributes
    sharing_rate
        with policy `random-masking`: probability that an attribute is shared
    """

    attributes: tuple[str, ...] = Field(min_length=1)
    always_shared: tuple[str, ...] = ()
    weights: Literal["entropy", "uniform"] | dict[str, Annotated[float, Field(ge=0)]] = "entropy"
    minority_support: float = 0.0
    generalize: dict[str, GeneralizedAttribute] = Field(default={})
    policies: tuple[PolicyName, ...] = Field(default=("opt-in", "masking", "no-attack-masking"), min_length=1)
    solver: Annotated[
        Literal["best-first", "backward-induction", "greedy", "anytime"],
        schema.ReadIf(
            lambda section, scenario: any(policy_named(name).search == "scenario" for name in section.policies),
            "with a policy that solves a masking game",
        ),
    ] = "best-first"
    most_evaluated: Annotated[
        schema.Count,
        schema.ReadIf(
            lambda section, scenario: section.solver == "anytime" or "anytime-masking" in section.policies,
            'with solver = "anytime" or policy "anytime-masking"',
        ),
    ] = 20_000
    k: Annotated[registry.AnonymityK, registry.WITH_K_ANONYMITY] = 2
    opt_in_rate: Annotated[schema.Share, registry.with_policy("random-opt-in")] = 0.05
    sharing_rate: Annotated[schema.Share, registry.with_policy("random-masking")] = 0.15

    @model_validator(mode="after")
    def _consistent(self) -> SubjectsSection:
        names, always, reserved = self.attributes, self.always_shared, (*schema.RECORD_COLUMNS, "gap")
        require_distinct("attribute given twice", names, where="attributes")
        for name in names:
            problem = "attribute name reserved for a column of the results"
            self.unless((name in reserved, problem, "attributes", None, name))
        # A policy with several values of k has one name for each k.
        object.__setattr__(self, "policies", registry.with_each_k(self.policies, self.k))
        require_distinct("policy given twice", self.policies, where="policies")
        for name in self.generalize:
            where, problem = f"generalize.{name}", "an always shared attribute is generalized"
            refuse_first((name in always, problem, where, None, None))
            if name not in names:
                raise InputError("not an attribute that can be shared", where=where, hint=nearest(name, names))
        first, anonymous = names[: len(always)], any(name.startswith(registry.K_ANONYMITY) for name in self.policies)
        later = "always shared attributes are not first in the list of attributes"
        suppressed = "policy k-anonymity can suppress every attribute"
        return self.unless(
            (first != always, later, "always_shared", str(list(first)), list(always)),
            (always and anonymous, suppressed, "always_shared", "no always shared attributes"),
        )


_INFERS = schema.ReadIf(
    lambda section, scenario: any(stage.stage != "identify" for stage in section.stages),
    "with a stage that infers an attribute",
)


class MaskingAdversarySection(PlannerSection):
    """How the adversary links, in stages or with background knowledge, and plans.

    Attributes
    ----------
    confidence_threshold
        theta: smallest confidence with which an inference is used
    stages
        stages of the attack in order; the last one is `identify`
    overconfident
        whether the adversary takes an inference that reaches the threshold as certain
    knowledge
        bundled knowledge recipe, or path of a recipe; replaces `stages`
    resource
        with `knowledge`: resource in which the adversary looks people up
    """

    confidence_threshold: Annotated[schema.Share, _INFERS] = 0.5
    stages: tuple[StageSection, ...] = ()
    overconfident: Annotated[bool, _INFERS] = False
    knowledge: str | None = None
    resource: Annotated[str | None, schema.with_key("knowledge")] = None

    @model_validator(mode="after")
    def _consistent(self) -> MaskingAdversarySection:
        informed, names_registry = self.knowledge is not None, self.sequential.registry is not None
        if bool(self.stages) == informed:
            problem = "the attack is given twice" if self.stages else "the attack is missing"
            hint = "in an override, set adversary.stages=[] to remove the stages" if self.stages else None
            raise InputError(problem, expected="either stages or knowledge", hint=hint)
        unknown, masking = self.plans_sequentially and self.sequential.belief == "unknown", "in masking scenarios"
        named, people = "no registry; the last stage names it", "the resource in which the adversary finds people"
        return self.unless(
            (names_registry, f"a registry is not supported {masking}", "sequential.registry", named),
            (unknown, f'belief "unknown" is not supported {masking}', "sequential.belief", "known"),
            (informed and self.resource is None, "key missing", "resource", people),
        )


class WeightedMaskingAdversarySection(WeightedSection, MaskingAdversarySection):
    """A named adversary in `[adversaries]`: its linkage and planning."""


class MaskingBeliefsSection(ListBeliefsSection):
    """Beliefs of the subjects; a parameter without a belief has its true value.

    Attributes
    ----------
    sizes
        number of people that the subjects believe to be in a drawn resource, by resource
    """

    sizes: dict[str, schema.Count] = Field(default={})


class MaskingFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    search_path
        number of the record, counted from 0, whose greedy search is listed; only with two-stage attacks
    """

    search_path: Annotated[
        Annotated[int, Field(ge=0)] | None,
        schema.ReadIf(lambda section, scenario: scenario.agents is None, "without agents"),
    ] = None


class MaskingScenario(schema.ScenarioHead):
    """Data subjects choose the attributes to share; an adversary attacks in stages.

    Attributes
    ----------
    game
        kind of scenario: data subjects choose the attributes to share
    replications
        number of random draws of subjects and resources; 1 with files
    population
        population of subjects and resources; not needed with files
    targets
        data subjects, the targets of the adversary
    resources
        tables of people that the adversary has
    economics
        true payoff parameters
    beliefs
        values that the subjects believe in place of the true values
    adversary
        linkage and planning of the adversary; needed unless there are `adversaries`
    adversaries
        named adversaries; a section `[adversary]` beside them gives their defaults
    subjects
        attributes that subjects may share, the value of sharing, and policies
    agents
        repeated rounds with several adversaries; default: one game without rounds
    figures
        additional tables and figures
    """

    read_if: ClassVar[Mapping[str, schema.ReadIf]] = {
        "population": schema.ReadIf(
            lambda section, scenario: scenario.targets.size is not None,
            "with tables that are drawn from the population",
        ),
        "resources.*.coverage": schema.ReadIf(lambda section, scenario: section.is_list, "with `kind`"),
        "population.together": schema.ReadIf(
            lambda section, scenario: len(drawn_lists_of(scenario.resources)) > 1, "with at least two lists"
        ),
    }

    game: Literal["masking"]
    replications: schema.Count = 1
    population: PeopleSection | None = None
    targets: TargetsSection
    resources: dict[str, ResourceSection] = Field(min_length=1)
    economics: EconomicsSection
    beliefs: MaskingBeliefsSection = MaskingBeliefsSection()
    # An adversary needs stages or knowledge: a missing section is an error unless there are several adversaries.
    adversary: MaskingAdversarySection = MaskingAdversarySection.model_construct()
    adversaries: dict[str, WeightedMaskingAdversarySection] = Field(default={})
    subjects: SubjectsSection
    agents: AgentsSection | None = None
    figures: MaskingFiguresSection = MaskingFiguresSection()

    @property
    def each(self) -> Mapping[str | None, MaskingScenario]:
        """Scenario against each adversary alone, by name of the adversary.

        With one adversary, it is the scenario itself, under the key None.
        """
        return {name: scenario_alone(self, name) for name in self.adversaries} or {None: self}

    @model_validator(mode="after")
    def _somebody_attacks(self) -> MaskingScenario:
        check_adversaries(self.adversaries, self.agents)
        missing = not self.adversaries and "adversary" not in self.model_fields_set
        path = self.adversaries and self.figures.search_path is not None
        several = "[adversary] in place of [adversaries]"
        sections = "[adversary], or several by name as [adversaries.NAME]"
        refuse_first(
            (missing, "key missing", "adversary", None, sections),
            (path, "the figure needs a single adversary", "figures.search_path", None, several),
        )
        for name, scenario in self.each.items():
            with named(name):
                scenario._check_attack()
        return self

    @model_validator(mode="after")
    def _tables_fit(self) -> MaskingScenario:
        lists, population = drawn_lists_of(self.resources), self.population
        self.beliefs.check_lists(lists)
        sized = [name for name, table in self.resources.items() if table.size is not None and not table.is_list]
        for name in self.beliefs.sizes:
            where, expected = f"beliefs.sizes.{name}", f"one of {listed(sized)}"
            refuse_first((name not in sized, "no such drawn resource", where, None, expected))
        if population is not None:
            check_together(population.together, lists)
        tables: dict[str, TableSection] = {TARGETS: self.targets, **self.resources}
        drawn = [name for name, table in tables.items() if name in lists or table.size is not None]
        mixed, only = "some tables are drawn and others are files", "only drawn tables or only files"
        origin = f"a population, from which {next(iter(drawn), None)!r} is drawn"
        reserved, repeated = "resource name reserved for the table of targets", not drawn and self.replications > 1
        refuse_first(
            (TARGETS in self.resources, reserved, f"resources.{TARGETS}", None, "another name"),
            (drawn and len(drawn) < len(tables), mixed, None, drawn, only),
            (drawn and population is None, "section missing", "population", None, origin),
            (repeated, "all replications of files are equal", "replications", self.replications, "1"),
        )
        return self

    def _check_attack(self) -> None:
        """Check that the adversary's resources exist and fit its background knowledge.

        With background knowledge, its resource must contain an attribute that subjects can share, and must not have
        missing alleles.

        Raises
        ------
        InputError
            If a resource does not exist or does not fit; the message names the key.
        """
        for number, stage in enumerate(self.adversary.stages):
            where = f"adversary.stages[{number}].resource"
            require_among("no such resource", (stage.resource,), self.resources, where=where)
        if self.adversary.knowledge is not None:
            where, register = "adversary.resource", self.register
            require_among("no such resource", (register,), self.resources, where=where)
            problem = "the resource contains no attribute that subjects can share"
            expected = f"a resource with some of {', '.join(self.subjects.attributes)}"
            refuse_first((not self.linked_on, problem, where, register, expected))
            where, alleles = f"resources.{register}.missing_alleles", self.resources[register].missing_alleles
            refuse_first((alleles, "the resource of the attack has missing alleles", where, alleles, "0.0"))

    @property
    def register(self) -> str:
        """Name of the resource on which the last stage of the attack links.

        With background knowledge, it is the adversary's resource.
        """
        return self.adversary.resource or self.adversary.stages[-1].resource

    @property
    def linked_on(self) -> tuple[str, ...]:
        """Attributes on which the last stage of the attack links, a tuple of names.

        With background knowledge, these are the attributes of the resource that subjects can share. It is empty if the
        last stage does not identify.
        """
        if self.adversary.knowledge is not None:
            carried = self.resources[self.register].attributes
            return tuple(name for name in self.subjects.attributes if name in carried)
        last = self.adversary.stages[-1]
        return last.on if isinstance(last, IdentifySection) else ()
