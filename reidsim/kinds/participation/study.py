"""Build the people, pedigree and game of a scenario of kind ``participation``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.bundled import resolve
from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows, require_among
from reidsim.core.randomness import random_stream
from reidsim.core.tables import read_table, require_columns
from reidsim.games.participation.families import Crowd, Families, Flags, Values
from reidsim.kinds.participation.schema import ParticipationScenario
from reidsim.linkage.relatives import NO_PARENT, Ancestry, Matching, Relatives, relatives_within
from reidsim.populations.files import make_genealogy
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.study import Study, World, digest_of

# Maximum number of people who decide. More people could be studied, but all pairs of relatives are in memory at once.
_MOST_PEOPLE = 20_000
_STREAM = "participation"


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
        `Crowd`, of types of people. The benefits and harms of people are drawn with the scenario's seed, around the
        scenario's amounts.
        """
        scenario = self.scenario
        section, subjects, rng = scenario.matching, scenario.subjects, self.stream(0)
        matching = Matching(section.genome, section.segment, section.segments)
        spread = (1.0 + subjects.spread * rng.uniform(-1.0, 1.0, self.n_people) for _ in range(3))
        amounts = (subjects.benefit, subjects.services, subjects.harm)
        benefit, services, harm = (amount * each for amount, each in zip(amounts, spread, strict=True))
        values = Values(benefit, services, harm, subjects.concern)
        if self.relatives is None:
            people = scenario.population
            assert people.couples is not None  # noqa: S101 - the schema guarantees it; for the type checker
            within = (section.found_within, section.traced_within, section.matches)
            return Crowd(values, Ancestry(people.couples, people.children), matching, *within)
        known = self.relatives
        return Families(
            values,
            known.starts,
            known.other,
            matching.probability(known.meioses, known.relatedness),
            known.meioses <= 2 * section.found_within,
            known.relatedness,
            section.matches,
            scenario.figures.equilibria.largest,
        )

    def stream(self, number: int) -> np.random.Generator:
        """Return a random generator for one purpose, seeded by the scenario's seed.

        `number` is the purpose: 0 draws the payoff parameters of people, 1 the starts of best replies, 2 drop-outs.
        """
        return random_stream(self.scenario.seed, _STREAM, 0, number)

    def starts(self) -> dict[str, Flags]:
        """Return the sets of participants from which best replies start, by name.

        Each is a Boolean array of shape (n_people,), True for participants: ``nobody``, ``everybody``, and ``random
        1``, ``random 2`` and so on, as many as ``figures.equilibria.starts``. Random sets are mostly small, and equal
        at each call.
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


def build_participation_study(loaded: Scenario[ParticipationScenario]) -> ParticipationStudy:
    """Return the study of a scenario of the kind ``participation``.

    The recipe or pedigree file is read, and relatives are searched; a random population (``population.couples``) has
    none.

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
    return ParticipationStudy(loaded, relatives_within(father, mother, rows, loaded.scenario.matching.traced_within))


Ints = NDArray[np.int64]
_PARENTS = ("father", "mother")


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
    require_columns(table, ["person", *_PARENTS], path)
    names, parents = table["person"], []
    refuse_rows(names.eq(""), "the person has no name", source=path, column="person")
    refuse_rows(names.duplicated(), "person given twice", source=path, column="person", found=names)
    for column in _PARENTS:
        known, rows = table[column], pd.Index(names).get_indexer(pd.Index(table[column]))
        wrong, expected = (rows < 0) & known.ne("").to_numpy(), "a name in column person, or an empty cell"
        refuse_rows(wrong, "no such person", source=path, column=column, found=known, expected=expected)
        parents.append(rows.astype(np.int64))
    both = enumerate(zip(*(rows.tolist() for rows in parents), strict=True))
    above = {row: [parent for parent in known if parent != NO_PARENT] for row, known in both}
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        row = min(error.args[1])
        problem = "a person is their own ancestor"
        raise InputError(problem, source=path, where=f"row {row + 1}", found=names[row]) from None
    decides = table["decides"].tolist() if "decides" in table else ["yes"] * len(names)
    for number, answer in enumerate(decides):
        where = f"row {number + 1}, column 'decides'"
        require_among("value not allowed", (answer,), ("yes", "no"), source=path, where=where)
    rows = np.flatnonzero(np.array(decides) == "yes").astype(np.int64)
    if not len(rows):
        raise InputError("no person decides", source=path, where="column 'decides'", expected="yes in at least one row")
    return parents[0], parents[1], rows
