"""Lists drawn from people: who is in each, and what it says of them, with values missing and wrong.

What an adversary sees (`PeopleList.columns`) and who each record is about (`PeopleList.person`) are kept apart. Whether
a person is in one list may go with being in another; see `Ties`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from reidsim.errors import InputError, locating
from reidsim.populations.sampling import UNKNOWN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# The generator of a decision about a list, or about all of them.
Streams = Callable[[str], np.random.Generator]

# The stream of what is common to all lists; no list has a name like it.
_COMMON = ""


@dataclass(frozen=True, eq=False)
class PeopleList:
    """A list of some people.

    Parameters
    ----------
    name : str
    person : ndarray of int64, shape (n_records,)
        Row of the people that each record is about, in random order; nobody has two. -1 where it is about somebody who
        is not one of them.
    columns : mapping of str to ndarray of int64, shape (n_records,)
        What the list says; ``UNKNOWN`` (-1) where a value is missing.
    n_people : int
        People that it was drawn from.
    """

    name: str
    person: Integers
    columns: Mapping[str, Integers]
    n_people: int

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.person)

    @property
    def coverage(self) -> float:
        """Share of the people who are in the list."""
        return float((self.person >= 0).sum() / self.n_people)

    @cached_property
    def record_of(self) -> Integers:
        """The record of each person, -1 for people without one, shape (n_people,)."""
        record = np.full(self.n_people, -1, dtype=np.int64)
        known = self.person >= 0
        record[self.person[known]] = np.flatnonzero(known)
        return record


@dataclass(frozen=True, eq=False)
class ListRule:
    """How a list is drawn.

    Parameters
    ----------
    attributes : tuple of str
        What it carries.
    chance : ndarray of float64, shape (n_people,)
        Probability that a person is in it; with `size` the weight of being drawn.
    size : int, optional
        Exact number of records, drawn one after the other without replacement by weight.
    errors : mapping of str to float
        Probability that a value is wrong: that of somebody else whose value is another, drawn from the people.
    missing : mapping of str to float or ndarray of float64, shape (n_people,)
        Probability that a value is missing, of a person who is in the list; a wrong value is missing as often.
    """

    attributes: tuple[str, ...]
    chance: Floats
    size: int | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float | Floats] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Ties:
    """How a person's memberships go together: through a Gaussian copula, so that who is in each list stays as it was.

    Each person has a standard normal number for each list, and is in the list if it is below the quantile of the
    person's probability; or, with a fixed size, if the clock that it drives rings early. `strength` is the correlation
    of the numbers of two lists.

    Parameters
    ----------
    names : tuple of str
        Lists, in order.
    strength : float or mapping of str to mapping of str to float
        One for all pairs, in [0, 1]: what is common to all lists has that share of each number's variance. Or by pair
        of names, in (-1, 1); pairs that are not named have 0. Then a list is drawn given those before it.

    Raises
    ------
    InputError
        If a correlation is out of range, a name is unknown or a pair is given twice, or correlations contradict each
        other.
    """

    names: tuple[str, ...]
    strength: float | Mapping[str, Mapping[str, float]] = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.strength, Mapping):
            if not 0 <= self.strength <= 1:
                raise InputError("correlation out of range", where="together", found=self.strength, expected="0 to 1")
            return
        self._factor  # noqa: B018 - raises what is wrong with it

    @cached_property
    def _factor(self) -> Floats:
        """The lower triangle whose product with independent numbers has the correlations."""
        assert isinstance(self.strength, Mapping)  # noqa: S101 # asked for pairs only
        correlation = np.eye(len(self.names))
        for name, others in self.strength.items():
            for other, strength in others.items():
                where = f"together.{name}.{other}"
                for each in (name, other):
                    if each not in self.names:
                        raise InputError(
                            "not a list that is drawn", where=where, found=each, expected=f"of {', '.join(self.names)}"
                        )
                i, j = self.names.index(name), self.names.index(other)
                if i == j or not -1 < strength < 1:
                    expected = "two lists" if i == j else "above -1, below 1"
                    raise InputError("correlation out of range", where=where, found=strength, expected=expected)
                if correlation[i, j] not in (0.0, strength):
                    raise InputError("pair given twice", where=where, found=strength, expected=correlation[i, j])
                correlation[i, j] = correlation[j, i] = strength
        try:
            factor = np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise InputError(
                "correlations that contradict each other", where="together", expected="a positive definite matrix"
            ) from None
        return factor

    def uniforms(self, n_people: int, streams: Streams) -> Iterator[tuple[str, Floats]]:
        """Yield for each list a uniform number of each person, shape (n_people,): low ones are in the list."""
        if isinstance(self.strength, Mapping):
            own: list[Floats] = []
            for name, row in zip(self.names, self._factor, strict=True):
                own.append(streams(name).standard_normal(n_people))
                used = np.flatnonzero(row)
                number = sum((row[k] * own[k] for k in used[1:]), row[used[0]] * own[used[0]])
                yield name, ndtr(number)
            return
        common = streams(_COMMON).standard_normal(n_people) if self.strength else None
        for name in self.names:
            number = streams(name).standard_normal(n_people)
            if common is not None:
                number *= np.sqrt(1.0 - self.strength)
                number += np.sqrt(self.strength) * common
            yield name, ndtr(number)


def draw_lists(
    people: Mapping[str, Integers], rules: Mapping[str, ListRule], ties: float | Mapping[str, Mapping[str, float]],
    membership: Streams, contents: Streams,
) -> dict[str, PeopleList]:  # fmt: skip
    """Draw lists from people.

    Parameters
    ----------
    people : mapping of str to ndarray of int64, shape (n_people,)
        Their attributes, whole numbers of 0 or more; ``UNKNOWN`` (-1) where a value is not known.
    rules : mapping of str to ListRule
    ties : float or mapping
        See `Ties`.
    membership, contents : callable
        Return the generator of a list by its name, of who is in it and of what it says.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], too few people can be drawn, nobody was, an attribute does not exist, or
        has no other value to be mistaken for.
    """
    n_people = len(next(iter(people.values())))
    lists = {}
    for name, uniform in Ties(tuple(rules), ties).uniforms(n_people, membership):
        with locating(where=f"resources.{name}"):
            person = members(rules[name], uniform)
            lists[name] = list_of(name, people, person, rules[name], contents(name))
    return lists


def members(rule: ListRule, uniform: Floats) -> Integers:
    """Return who is in a list, in ascending order, given a uniform number of each person; low ones come first."""
    chance = rule.chance
    outside = ~((chance >= 0) & (chance <= 1))
    if outside.any():
        found = float(chance[outside][0])
        raise InputError("probability outside [0, 1]", where="coverage", found=found, expected="0 to 1")
    if rule.size is None:
        person = np.flatnonzero((uniform < chance) | (chance >= 1))
        if not len(person):
            raise InputError("nobody is listed", where="coverage", expected="a larger coverage or population")
        return person
    possible = np.flatnonzero(chance > 0)
    if not 1 <= rule.size <= len(possible):
        raise InputError("size that cannot be drawn", where="size", found=rule.size, expected=f"1 to {len(possible)}")
    # Exponential clocks that run at each person's weight: the first to ring are a weighted draw without replacement.
    rings = -np.log1p(-uniform[possible]) / chance[possible]
    return np.sort(possible[np.argpartition(rings, rule.size - 1)[: rule.size]])


def list_of(
    name: str, people: Mapping[str, Integers], person: Integers, rule: ListRule, rng: np.random.Generator
) -> PeopleList:
    """Make the list of some people, who come in ascending order; see `draw_lists`."""
    for where, named in (("attributes", rule.attributes), ("errors", rule.errors), ("missing", rule.missing)):
        for attribute in named:
            if attribute not in people or attribute not in rule.attributes:
                carried = rule.attributes if attribute in people else tuple(people)
                raise InputError("no such attribute", where=where, found=attribute, expected=f"of {', '.join(carried)}")
    columns = {}
    for attribute in rule.attributes:
        values = people[attribute][person]
        share = rule.errors.get(attribute, 0.0)
        if share > 0:
            wrong = np.flatnonzero((rng.random(len(values)) < share) & (values != UNKNOWN))
            values[wrong] = _others(people[attribute], values[wrong], rng, attribute)
        lost = rule.missing.get(attribute, 0.0)
        if np.ndim(lost) or lost > 0:
            values[rng.random(len(values)) < (np.asarray(lost)[person] if np.ndim(lost) else lost)] = UNKNOWN
        columns[attribute] = values
    order = rng.permutation(len(person))
    columns = {attribute: values[order] for attribute, values in columns.items()}
    return PeopleList(name, person[order], columns, len(people[rule.attributes[0]]))


def _others(population: Integers, values: Integers, rng: np.random.Generator, attribute: str) -> Integers:
    """Return for each value another one, drawn from the people who have another."""
    known = population[population != UNKNOWN]
    found, counts = np.unique(known, return_counts=True)
    ends = np.cumsum(counts)
    own = np.searchsorted(found, values)
    others = ends[-1] - counts[own]
    if len(values) and not others.all():
        raise InputError("everybody has the same value, so none is wrong", where="errors", found=attribute)
    place = (rng.random(len(values)) * others).astype(np.int64)
    # Places of those who have the value itself are passed over.
    place += np.where(place >= ends[own] - counts[own], counts[own], 0)
    return np.asarray(found[np.searchsorted(ends, place, side="right")], dtype=np.int64)
