"""Define the kind of scenario in which people may join a genomic database.

The sections of a scenario come first. The study has the people, their relatives and the game. The policies are rules
and processes that determine who joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.agents.attack import PARTICIPATION
from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows
from reidsim.core.files import read_toml, resolve
from reidsim.core.numerics import random_stream
from reidsim.core.tables import read_table, require_columns
from reidsim.core.validation import Section
from reidsim.core.wording import BLACK, BLUE, GREEN, GREY, VERMILION, columns_of, counted, in_words, measures_worded
from reidsim.games.cross_play import Defender
from reidsim.games.outcomes import (
    PUBLISHER_PAYOFF,
    REIDENTIFIED,
    RISK,
    SHARE_ATTACKED,
    UTILITY,
    Equilibrium,
    own_measures,
)
from reidsim.games.participation.families import Crowd, Families, Flags, Values, outcome, profile, unsettled
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.linkage.relatives import NO_PARENT, Ancestry, Matching, Relatives, relatives_within
from reidsim.populations.catalogue import make_genealogy
from reidsim.populations.population import exactly_one
from reidsim.scenarios.agents import OpponentOptions
from reidsim.scenarios.kind import AnalysisTables, Kind, Progress, RecordTable, digest_of
from reidsim.scenarios.registry import Look, Policies, Policy
from reidsim.scenarios.scenario import Scenario, Study, World
from reidsim.scenarios.schema import Count, Money, ReadIf, ScenarioHead, Share, Text, distinct

PolicyName = Literal["nobody", "everybody", "from-nobody", "from-everybody", "planner"]
POLICY_NAMES: tuple[PolicyName, ...] = get_args(PolicyName)

_Generations = Annotated[int, Field(ge=1, le=8)]


class ParticipationPopulationSection(Section):
    """The people who may join, and their relationships.

    Attributes
    ----------
    couples
        number of couples in the present generation of a random population (N_0)
    children
        with `couples`: mean number of children per couple (r)
    types
        with `couples`: number of types of people, all of equal size
    recipe
        bundled genealogy, or path of a genealogy recipe; replaces `couples`
    people
        with `recipe`: number of people in each generation; default: as in the recipe
    generations
        with `recipe`: number of generations, founders included; default: as in the recipe
    living
        with `recipe`: number of latest generations, whose people decide
    path
        pedigree file with the columns person, father and mother (empty if unknown) and optionally decides (yes or no);
        replaces `couples`
    """

    couples: Annotated[float, Field(ge=1_000, le=10_000_000_000)] | None = None
    children: Annotated[float, Field(ge=2, le=20)] = 2.5
    types: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    recipe: str | None = None
    people: Annotated[int, Field(ge=2)] | None = None
    generations: Count | None = None
    living: Count = 3
    path: Text | None = None

    _one_way = exactly_one("couples", "recipe", "path", problem="the population is missing or given twice")

    @model_validator(mode="after")
    def _keys_of_way(self) -> ParticipationPopulationSection:
        given = next(key for key in ("couples", "recipe", "path") if getattr(self, key) is not None)
        keys = {"children": "couples", "types": "couples"}
        keys |= dict.fromkeys(("people", "generations", "living"), "recipe")
        foreign = [(key, way) for key, way in keys.items() if key in self.model_fields_set and way != given]
        other = "the key belongs to another kind of population"
        return self.unless(*((True, other, key, f"key {way} in place of {given}", None) for key, way in foreign))


class MatchingSection(Section):
    """Conditions under which a search of the database finds relatives.

    Attributes
    ----------
    genome
        length of the genome, in Morgans (L)
    segment
        smallest length of a shared segment that is detected, in Morgans (m)
    segments
        smallest number of shared segments in a match (n_s)
    matches
        smallest number of matches that identify a person who is not in the database (n_u)
    found_within
        largest distance of a relative that a member benefits from finding, in generations; two meioses count as one
        generation (g_maxc)
    traced_within
        largest distance of a relative whose match helps to identify a person, in generations; two meioses count as one
        generation (g_maxi)
    """

    genome: Annotated[float, Field(gt=0, le=1_000)] = 35.0
    segment: Annotated[float, Field(ge=0, le=10)] = 0.06
    segments: Annotated[int, Field(ge=1, le=20)] = 2
    matches: Annotated[int, Field(ge=1, le=20)] = 2
    found_within: _Generations = 3
    traced_within: _Generations = 5

    @model_validator(mode="after")
    def _near_ones_are_traced(self) -> MatchingSection:
        most = self.traced_within
        problem, expected = "found_within is greater than traced_within", f"at most {most}, the value of traced_within"
        return self.unless((self.found_within > most, problem, "found_within", expected))


class JoiningSubjectsSection(Section):
    """The payoffs of joining, and how people decide.

    Attributes
    ----------
    benefit
        benefit of finding a relative in the database (b)
    services
        net value of other services to a member (v); may be negative
    harm
        harm of being identified (c)
    spread
        variation of the amounts among people: each amount is multiplied by a factor drawn uniformly between 1 -
        `spread` and 1 + `spread`
    concern
        concern for relatives: weight of a relative's payoff, multiplied by the relatedness
    policies
        policies to compare, each named once
    """

    benefit: Money
    services: Annotated[float, Field(ge=-1_000_000_000, le=1_000_000_000)] = 0.0
    harm: Money
    spread: Share = 0.0
    concern: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    policies: Annotated[tuple[PolicyName, ...], distinct("policy given twice")] = Field(
        default=POLICY_NAMES, min_length=1
    )


_OF_FAMILIES = ReadIf(
    lambda section, scenario: scenario.population.couples is None, "with recipe or path, not with couples"
)


class EquilibriaSection(Section):
    """Search for equilibria, and tests of their stability.

    Attributes
    ----------
    starts
        number of random starting points of best responses, in addition to no members and all people
    largest
        largest family, in people, whose strategy profiles are all enumerated
    lost
        shares of members who drop out at random
    draws
        number of random draws of drop-outs for each share
    """

    starts: Annotated[int, Field(ge=0, le=1_000), _OF_FAMILIES] = 8
    largest: Annotated[int, Field(ge=1, le=20), _OF_FAMILIES] = 12
    lost: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.01, 0.05, 0.2)
    draws: Annotated[int, Field(ge=1, le=10_000), _OF_FAMILIES] = 10


class ParticipationFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    equilibria
        settings of the search for equilibria and of the tests of their stability
    """

    equilibria: EquilibriaSection = EquilibriaSection()


class ParticipationScenario(ScenarioHead):
    """People decide whether to join a genomic database; relatives expose each other.

    Attributes
    ----------
    game
        kind of scenario: people decide whether to join a genomic database
    population
        people who may join, and their relationships
    matching
        conditions under which a search of the database finds relatives
    subjects
        payoffs of joining, and policies
    figures
        additional tables and figures
    """

    game: Literal["participation"]
    population: ParticipationPopulationSection
    matching: MatchingSection = MatchingSection()
    subjects: JoiningSubjectsSection
    figures: ParticipationFiguresSection = ParticipationFiguresSection()


_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
_FIRST = in_words((PUBLISHER_PAYOFF, PARTICIPATION, UTILITY, SHARE_ATTACKED, RISK), _WORDS["games"])
# Measures that `ParticipationKind.summarise` computes, in column order.
SUMMARY = (*_FIRST, *measures_worded(_WORDS["own"]).values())
MEASURES = (*SUMMARY, *in_words(REIDENTIFIED, _WORDS["games"]))
# Number of shares of participants at which best responses are computed for a curve: more make a smoother figure.
_DRAWN = 200
# A random population has returned to an equilibrium if its share of participants differs by at most this fraction.
_BACK = 1e-4
# Enumerate the profiles of at most this many families: each takes 2 ** (number of people) evaluations.
_MOST_FAMILIES = 200
POLICIES: Policies[Policy] = Policies()
# Maximum number of people who decide. More people could be studied, but all pairs of relatives are in memory together.
_MOST_PEOPLE = 20_000
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ParticipationStudy(Study[ParticipationScenario]):
    """Scenario of the kind ``participation`` with the people who decide.

    Parameters
    ----------
    loaded : Scenario
    relatives : Relatives, optional
        Relatives of each person; None for a random population, whose pedigree is unknown.
    """

    relatives: Relatives | None

    @property
    def n_people(self) -> int:
        """Number of people, or of types of people, who decide."""
        relatives = self.relatives
        return self.scenario.population.types if relatives is None else len(relatives.starts) - 1

    @property
    def fingerprint(self) -> str:
        """SHA-256, as text, of the relatives, or of the random population's parameters."""
        relatives, section = self.relatives, self.scenario.population
        arrays = () if relatives is None else (relatives.starts, relatives.other, relatives.meioses)
        return digest_of(repr((section.couples, section.children, section.types)), arrays)

    @cached_property
    def game(self) -> Families | Crowd:
        """Game of the people who decide whether to join a genomic database.

        It is `Families` if the relatives of each person are known. Otherwise the population is random, and the game is
        `Crowd`, of types of people. Each person's benefit, services and harm are the scenario's amounts times random
        factors, uniform between 1 minus and 1 plus ``subjects.spread`` and drawn with the scenario's seed.
        """
        scenario, rng = self.scenario, self.stream(0)
        section, subjects = scenario.matching, scenario.subjects
        matching = Matching(section.genome, section.segment, section.segments)
        benefit, services, harm = (
            amount * (1.0 + subjects.spread * rng.uniform(-1.0, 1.0, self.n_people))
            for amount in (subjects.benefit, subjects.services, subjects.harm)
        )
        values = Values(benefit, services, harm, subjects.concern)
        if self.relatives is None:
            ancestry = Ancestry(cast("float", scenario.population.couples), scenario.population.children)
            return Crowd(values, ancestry, matching, section.found_within, section.traced_within, section.matches)
        known = self.relatives
        return Families(
            values=values,
            starts=known.starts,
            other=known.other,
            match=matching.probability(known.meioses, known.relatedness),
            near=known.meioses <= 2 * section.found_within,
            relatedness=known.relatedness,
            needed=section.matches,
            largest=scenario.figures.equilibria.largest,
        )

    def stream(self, number: int) -> np.random.Generator:
        """Return a random generator for one purpose, seeded by the scenario's seed.

        `number` is the purpose: 0 draws the payoff parameters of people, 1 the starts of best responses, 2 drop-outs.
        """
        return random_stream(self.scenario.seed, "participation", 0, number)

    def starts(self) -> dict[str, Flags]:
        """Return the sets of participants from which best responses start, by name.

        Each is a Boolean array of shape (n_people,), True for participants: ``nobody``, ``everybody``, and ``random
        1``, ``random 2`` and so on, as many as ``figures.equilibria.starts``. Random sets are mostly small, and the
        same at each call.
        """
        n, rng = self.n_people, self.stream(1)
        found = {"nobody": np.zeros(n, dtype=np.bool_), "everybody": np.ones(n, dtype=np.bool_)}
        for number in range(1, self.scenario.figures.equilibria.starts + 1):
            found[f"random {number}"] = rng.random(n) < rng.random() ** 3
        return found

    def world(self, draw: int = 0) -> World:
        """Return a `World` whose true and believed games are `game`: beliefs are correct.

        Each row represents one person (or type of people), with weight 1. `draw` has no effect.
        """
        game = cast("Any", self.game)
        return World(game, game, np.ones(self.n_people, dtype=np.int64))


def read_pedigree(path: Path) -> tuple[Ints, Ints, Ints]:
    """Read a pedigree from a file with the columns person, father and mother.

    An optional column ``decides`` contains yes or no; without it, all people decide.

    Returns
    -------
    father, mother : ndarray of int64, shape (n_rows,)
        Row of each person's parent, from 0; -1 if unknown.
    deciding : ndarray of int64, shape (n_deciding,)
        Rows of the people who decide, ascending.

    Raises
    ------
    InputError
        If a column or name is missing, a person occurs twice, a parent has no row, a person is their own ancestor, a
        value of ``decides`` is not allowed, or no person decides.
    """
    table = read_table(path)
    require_columns(table, ["person", "father", "mother"], path)
    names, parents = table["person"], []
    refuse_rows(names.eq(""), "the person has no name", source=path, column="person")
    refuse_rows(names.duplicated(), "person given twice", source=path, column="person", found=names)
    for column in ("father", "mother"):
        known, rows = table[column], pd.Index(names).get_indexer(pd.Index(table[column]))
        wrong, expected = (rows < 0) & known.ne("").to_numpy(), "a name in column person, or an empty cell"
        refuse_rows(wrong, "no such person", source=path, column=column, found=known, expected=expected)
        parents.append(rows.astype(np.int64))
    pairs = np.column_stack(parents).tolist()
    above = {row: [parent for parent in pair if parent != NO_PARENT] for row, pair in enumerate(pairs)}
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        row, problem = min(error.args[1]), "a person is their own ancestor"
        raise InputError(problem, source=path, where=f"row {row + 1}", found=names[row]) from None
    decides = table.get("decides", pd.Series("yes", index=names.index))
    wrong, expected = ~decides.isin(["yes", "no"]), "yes or no"
    refuse_rows(wrong, "value not allowed", source=path, column="decides", found=decides, expected=expected)
    rows = np.flatnonzero(decides.eq("yes")).astype(np.int64)
    if not len(rows):
        raise InputError("no person decides", source=path, where="column 'decides'", expected="yes in at least one row")
    return parents[0], parents[1], rows


class Joining(Policy):
    """Base class of policies: a rule or process that determines which people join.

    By default, people join by best-response dynamics that start from the set of participants in the policy's name, such
    as ``nobody`` in ``from-nobody``.
    """

    by_agents = False

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return whether each person joins, (n_people,), and whether this is proved.

        This default plays best-response dynamics. The second result is then whether they converge to an equilibrium.

        Parameters
        ----------
        game : JoiningGame
            Game of the people who decide; people may be types of people.
        starts : dict of str to ndarray of bool, shape (n_people,)
            Sets of participants to start from, by name; see `ParticipationStudy.starts`.
        """
        return cast("tuple[Any, bool]", game.replies(starts[self.name.removeprefix("from-")]))

    def choose(self, study: Any, game: Any, draw: int) -> Choice:
        """Return a `Choice` with strategy 0 for each person who joins, -1 for the others.

        `game` is the study's game of people who decide (`Families` or `Crowd`); `draw` has no effect. The choice is
        marked exact if `joined` is proved.
        """
        joined, proved = self.joined(game, study.starts())
        strategies = np.where(joined, 0, WITHHELD).astype(np.int64)
        return Choice(strategies, self.name, np.full(len(joined), 2, dtype=np.int64), exact=proved)


@POLICIES.register("nobody")
class Nobody(Joining):
    """Policy under which no person joins."""

    label, description, look, is_rule = "Nobody", "no person joins", Look(GREY, "s"), True

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the set in `starts` with the policy's name, shape (n_people,), and True.

        The set of ``nobody`` is empty; that of ``everybody`` has all people. `game` is not used.
        """
        return starts[self.name], True


@POLICIES.register("everybody")
class Everybody(Nobody):
    """Policy under which all people join."""

    label, description, look = "Everybody", "all people join", Look(BLACK, "D")


@POLICIES.register("from-nobody")
class FromNobody(Joining):
    """Policy of best-response dynamics that start with an empty database.

    People join or leave until no person gains by a change, or a limit on rounds is reached; see the game's `replies`.
    """

    label, look = "From nobody", Look(BLUE, "o")
    description = "sequence of best responses that starts with no members and ends when no person gains by a change"


@POLICIES.register("from-everybody")
class FromEverybody(Joining):
    """Policy of best-response dynamics that start with all people in the database.

    People leave or join until no person gains by a change, or a limit on rounds is reached; see the game's `replies`.
    """

    label, look = "From everybody", Look(VERMILION, "^")
    description = (
        "sequence of best responses that starts with all people as members and ends when no person gains by a change"
    )


@POLICIES.register("planner")
class SocialPlanner(Joining):
    """Policy with the set of participants that maximizes the sum of all payoffs.

    The payoffs are those of all people, including people who stay out.

    If the optimum cannot be proved, it is the best set found.
    """

    label, look = "Planner", Look(GREEN, "v")
    description = "set of members with the largest sum of payoffs over all people"

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return whether each person joins, (n_people,), and whether this is optimal.

        The people who join are the set of participants with the largest sum of payoffs over all people that is found.
        The second result is True if no other set can have a larger sum.

        Parameters
        ----------
        game : JoiningGame
        starts : dict of str to ndarray of bool, shape (n_people,)
            Sets of participants from which the search starts, by name.
        """
        return cast("tuple[Any, bool]", game.best_plan(list(starts.values())))


class ParticipationKind(Kind):
    """Game of people who decide whether to join a genomic database; see `Kind`."""

    name = "participation"
    words = "people decide whether to join a genomic database, in which members expose their relatives"
    schema = ParticipationScenario
    measures = MEASURES
    drawn_by = "reidsim.kinds.participation.figures"
    policies = POLICIES
    decides = "subject"
    amount_keys = ("subjects.benefit", "subjects.services", "subjects.harm")

    def build(self, loaded: Scenario[Any]) -> ParticipationStudy:
        """Read or simulate the people who decide, and return the `ParticipationStudy`.

        The recipe or pedigree file is read, and relatives are searched; a random population (``population.couples``)
        has none.

        Raises
        ------
        InputError
            If a recipe or file cannot be used, or more than 20,000 people decide.
        """
        section = loaded.scenario.population
        if section.couples is not None:
            return ParticipationStudy(loaded, None)
        with locating(loaded.path):
            if section.path is not None:
                key, (father, mother, rows) = "population.path", read_pedigree(loaded.folder / section.path)
            else:
                recipe = resolve(str(section.recipe), "populations", "population", base=loaded.folder)
                made = make_genealogy(recipe, people=section.people, generations=section.generations)
                father, mother = made.father.astype(np.int64), made.mother.astype(np.int64)
                key, rows = "population.people", made.living(section.living, women=True)
            many, expected = len(rows), f"at most {_MOST_PEOPLE:,} deciding people"
            refuse_first((many > _MOST_PEOPLE, "too many people for a search of relatives", key, many, expected))
        traced = loaded.scenario.matching.traced_within
        return ParticipationStudy(loaded, relatives_within(father, mother, rows, traced))

    def describe(self, study: ParticipationStudy) -> str:
        """Return a line on the number of people who decide, for display.

        It contains their mean number of relatives or, for a random population, the number of people of the present
        generation and of their types.
        """
        if study.relatives is None:
            return f"{2 * (study.scenario.population.couples or 0):,.0f} people of {counted(study.n_people, 'type')}"
        pairs = len(study.relatives.other) / study.n_people
        return f"{counted(study.n_people, 'person', 'people')}, {pairs:,.1f} relatives each"

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario content (a dict) that determines the relatives.

        The keys are ``game``, ``population`` and ``matching``; keys that the scenario does not set are absent.
        """
        content = loaded.content
        return {key: content[key] for key in ("game", "population", "matching") if key in content}

    def outcome(self, study: ParticipationStudy, world: World, defender: Defender, choice: Choice) -> Equilibrium:
        """Return the `Equilibrium` of the people's decisions, with one entry per person.

        A person with strategy 0 or above in `choice` joins and shares the whole record. The publisher's payoff is the
        person's own payoff, without the concern for relatives; the adversary's payoff is 0. Every person counts as
        attacked; the success probability is the probability of being identified, 1 for participants. Utility is the
        probability of being in the database and finding a relative there.

        `world` and `defender` are not used.
        """
        joined = choice.strategies >= 0
        found, n = outcome(study.game, joined), len(joined)
        return Equilibrium(
            strategies=choice.strategies,
            publisher_payoff=found.payoff,
            adversary_payoff=np.zeros(n),
            attacked=np.ones(n, dtype=np.bool_),
            success_probability=found.identified,
            utility=found.found,
            generalization_intensity=np.where(joined, 0.0, 1.0),
            solver=choice.solver,
            evaluated=choice.evaluated,
            exact=choice.exact,
        )

    def summarise(self, study: ParticipationStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy, the index: mean outcomes over all people.

        Columns are the measures in `SUMMARY`, then the user's. ``participation`` is the share of people who join;
        ``exposed_by_relatives`` is the mean risk of the people who stay out, missing if all join; ``unsettled`` is the
        share of people who would gain by changing their decision.
        """
        summary = super().summarise(study, draw, equilibria)
        out = {policy: found.withheld for policy, found in equilibria.items()}
        summary["participation"] = [1.0 - each.mean() for each in out.values()]
        exposed = [found.risk[out[policy]] for policy, found in equilibria.items()]
        summary["exposed_by_relatives"] = [risk.mean() if len(risk) else np.nan for risk in exposed]
        summary["unsettled"] = [unsettled(study.game, ~each).mean() for each in out.values()]
        return summary[columns_of((*SUMMARY, *own_measures()))]

    def records(self, study: ParticipationStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return a table of one row per person (or type of people) and policy.

        The strategy is ``joined`` or ``withheld``. The columns are those of `RecordTable` without the adversary's
        payoff and the generalization intensity.
        """
        rows = np.arange(study.n_people)
        table = RecordTable(equilibria, rows, lambda policy, strategy: "joined", np.ones_like(rows)).frame()
        return table.drop(columns=["adversary_payoff", "generalization_intensity"])

    def analyse(self, study: ParticipationStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the equilibria and their stability, as `AnalysisTables`.

        Its `left_out` lists the starts from which best responses do not converge. The tables are:

        - ``equilibria``, one row per equilibrium, in order of rising participation: ``equilibrium`` (number, from 0),
          ``participation`` (share of people who join), ``publisher_payoff`` (mean payoff per person), ``risk`` (mean
          probability of being identified) and ``starts``, the number of starts from which best responses reach it
          (missing for a random population).
        - ``survival``, one row per equilibrium and share of participants who drop out: ``equilibrium``,
          ``participation``, ``lost`` (the share), ``returned``, the share of draws whose best responses return to the
          equilibrium, and ``participation_after``, the mean participation that they reach. A random population is not
          drawn: ``returned`` is 0 or 1.
        - ``replies``, only for a random population, one row per ``participation`` from 0.01 % to 100 %: ``would_join``,
          the share of people who gain by being in if that share of people has joined; ``selfish``, the same share
          without concern for relatives.
        - ``families``, only with known relatives, one row per family and number of participants that occurs in its
          equilibria: ``family`` (number, from 0), ``people``, ``joined`` (number of participants) and ``equilibria``
          (number of equilibria with as many). Families have at least two and at most ``figures.equilibria.largest``
          people; only the first 200 are included.
        """
        game = study.game
        if isinstance(game, Crowd):
            rows, survival = _of_crowd(study, game)
            shares = np.geomspace(1e-4, 1.0, _DRAWN)
            curves = {"would_join": game, "selfish": game.without_concern()}
            replies = {name: [each.wishing(share) for share in shares.tolist()] for name, each in curves.items()}
            further, left_out = {"replies": pd.DataFrame({"participation": shares, **replies})}, list[str]()
        else:
            rows, survival, left_out = _of_families(study, game, report)
            columns = ["family", "people", "joined", "equilibria"]
            further = {"families": pd.DataFrame(_small_families(game), columns=columns)}
        columns = ["equilibrium", "participation", "publisher_payoff", "risk", "starts"]
        equilibria = pd.DataFrame(rows, columns=columns).astype({"starts": "Int64"})
        columns = ["equilibrium", "participation", "lost", "returned", "participation_after"]
        tables = {"equilibria": equilibria, "survival": pd.DataFrame(survival, columns=columns), **further}
        return AnalysisTables(tables, tuple(left_out))

    def facts(self, study: ParticipationStudy) -> dict[str, Any]:
        """Return facts about the people who decide, for the manifest, by key.

        They are ``records`` (number of people, or of types of people), ``strategies`` (2) and ``data_hash``.
        """
        return {"records": study.n_people, "strategies": 2, "data_hash": study.fingerprint}

    def warnings(self, study: ParticipationStudy, draw: int, outcomes: Mapping[str, Any]) -> Iterator[str]:
        """Yield warnings of best responses that do not converge, and of unproved plans.

        A plan is the choice of policy ``planner``; it is unproved if a better one may exist. `draw` has no effect.
        """
        for policy, found in outcomes.items():
            if policy.startswith("from-") and not found.equilibrium.exact:
                yield f"{policy}: best responses do not converge; the result is not an equilibrium"
            if policy == "planner" and not found.equilibrium.exact:
                yield "planner: families are too large to enumerate; a larger sum of payoffs may exist"

    def opponents(self, study: ParticipationStudy, options: OpponentOptions, draw: int = 0) -> Any:
        """Raise `InputError`: this kind has no cross-play, as no adversary decides."""
        problem, expected = "this kind of scenario has no strategic adversary", "a kind of scenario with an adversary"
        raise InputError(problem, source=study.loaded.path, where="game", found=self.name, expected=expected)


def _of_crowd(study: ParticipationStudy, game: Crowd) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    rows, survival, values = [], [], game.values
    for number, share in enumerate(game.equilibria()):
        joined, (found, traced) = game.keenest(share), game.chances_of(share)
        inside = values.benefit * found + values.services - values.harm
        payoff = joined * inside - (1 - joined) * values.harm * traced
        risk = joined + (1 - joined) * traced
        rows.append((number, share, float(payoff.mean()), float(risk.mean()), pd.NA))
        for lost in study.scenario.figures.equilibria.lost:
            after = game.returns(share, lost)
            survival.append((number, share, lost, float(abs(after - share) <= _BACK * max(share, _BACK)), after))
    return rows, survival


def _of_families(
    study: ParticipationStudy, game: Families, report: Progress
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]:
    section, starts, rng = study.scenario.figures.equilibria, study.starts(), study.stream(2)
    ends, rows, survival, left_out = dict[bytes, tuple[Flags, int]](), [], [], []
    for number, (name, start) in enumerate(starts.items()):
        report("computing equilibria", number, len(starts))
        end, settled = game.replies(start)
        if settled:
            ends[end.tobytes()] = (end, ends.get(end.tobytes(), (end, 0))[1] + 1)
        else:
            left_out.append(f"best responses from {name} do not converge")
    for number, (end, count) in enumerate(sorted(ends.values(), key=lambda found: int(found[0].sum()))):
        found = outcome(game, end)
        rows.append((number, end.mean(), found.payoff.mean(), found.identified.mean(), count))
        draws = section.draws if end.any() else 1
        for lost in section.lost:
            afters = [game.replies(end & (rng.random(len(end)) >= lost), rng)[0] for _ in range(draws)]
            back = float(np.mean([np.array_equal(after, end) for after in afters]))
            survival.append((number, end.mean(), lost, back, float(np.mean([after.mean() for after in afters]))))
    return rows, survival, left_out


def _small_families(game: Families) -> Iterator[tuple[int, int, int, int]]:
    small = [people for people in game.families() if 2 <= len(people) <= game.largest]
    for number, people in enumerate(small[:_MOST_FAMILIES]):
        equilibria, _ = game.among(people).profiles()
        joined = [int(profile(found, len(people)).sum()) for found in np.flatnonzero(equilibria).tolist()]
        for size, count in zip(*np.unique(joined, return_counts=True), strict=True):
            yield number, len(people), int(size), int(count)


PARTICIPATION_KIND = ParticipationKind()
