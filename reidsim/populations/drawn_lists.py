"""Lists drawn from people, whose values can be wrong or missing.

The columns of a list, which an adversary sees, are stored separately from the true person of each record. Memberships
of a person in several lists can be correlated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from reidsim.errors import InputError, locating, not_among
from reidsim.populations.population import UNKNOWN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# A function that returns the random generator of a list, given its name.
Streams = Callable[[str], np.random.Generator]
# Correlation of memberships: one value for all pairs of lists, or values by pair of names.
Correlation = float | Mapping[str, Mapping[str, float]]

# Name of the random stream of the factor common to all lists; no list has this name.
_COMMON = ""


@dataclass(frozen=True, eq=False)
class PeopleList:
    """A list of records about some people.

    Parameters
    ----------
    name : str
        Name of the list.
    person : ndarray of int64, shape (n_records,)
        True person of each record, in random order, or -1 for records about other people. No person has two records.
    columns : mapping of str to ndarray of int64, shape (n_records,)
        Values in the list, by attribute; ``UNKNOWN`` (-1) for a missing value.
    n_people : int
        Number of people from whom the list was drawn.
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
        """Share of the `n_people` people who have a record in the list."""
        return float((self.person >= 0).sum() / self.n_people)

    @cached_property
    def record_of(self) -> Integers:
        """Record of each person, shape (n_people,); -1 for people without a record."""
        record = np.full(self.n_people, -1, dtype=np.int64)
        known = self.person >= 0
        record[self.person[known]] = np.flatnonzero(known)
        return record


@dataclass(frozen=True, eq=False)
class ListRule:
    """The parameters of drawing a list.

    Parameters
    ----------
    attributes : tuple of str
        Attributes of the list.
    chance : ndarray of float64, shape (n_people,)
        Probability that each person is in the list; with `size`, weight of the person in the draw.
    size : int, optional
        Number of records; people are drawn one after the other without replacement, with these weights. Default: each
        person is drawn independently.
    errors : mapping of str to float
        Probability that a value is wrong, by attribute. A wrong value is the value of a random person with another
        value.
    missing : mapping of str to float or ndarray of float64, shape (n_people,)
        Probability that a value is missing, by attribute; independent of whether the value is wrong.
    """

    attributes: tuple[str, ...]
    chance: Floats
    size: int | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float | Floats] = field(default_factory=dict)


def draw_lists(
    people: Mapping[str, Integers],
    rules: Mapping[str, ListRule],
    correlation: Correlation,
    membership: Streams,
    contents: Streams,
) -> dict[str, PeopleList]:
    """Return lists drawn from people, by name.

    Parameters
    ----------
    people : mapping of str to ndarray of int64, shape (n_people,)
        Values as integers of 0 or more, by attribute; ``UNKNOWN`` (-1) for a missing value.
    rules : mapping of str to ListRule
        Parameters of each list, by name.
    correlation : float or mapping
        See `membership_numbers`.
    membership, contents : callable
        Functions that return the random generator of the membership, and of the values, of a list, given its name.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], too few people can be drawn, no person was drawn, an attribute does not
        exist, or an attribute with errors has only one value.
    """
    n_people = len(next(iter(people.values())))
    lists = {}
    for name, uniform in membership_numbers(tuple(rules), correlation, n_people, membership):
        with locating(where=f"resources.{name}"):
            lists[name] = _list(name, people, _members(rules[name], uniform), rules[name], contents(name))
    return lists


def membership_numbers(
    names: tuple[str, ...], correlation: Correlation, n_people: int, streams: Streams
) -> Iterator[tuple[str, Floats]]:
    """Yield, for each list, one uniform number per person.

    People with low numbers are in the list. The numbers of a person have a Gaussian copula, so the correlation does not
    change the distribution of the members of a single list.

    Parameters
    ----------
    names : tuple of str
        Names of the lists, in order.
    correlation : float or mapping of str to mapping of str to float
        Correlation of the normal variables of two lists. Either one value in [0, 1] for all pairs, the share of the
        variance from a common factor; or a value in (-1, 1) by pair of names (0 for other pairs), in which case each
        list is drawn conditional on the lists before it.
    n_people : int
        Number of people.
    streams : callable
        Function that returns the random generator of a list, given its name.

    Raises
    ------
    InputError
        If a correlation is out of range, a name is unknown, a pair is given twice, or the correlations are not
        consistent.
    """
    if isinstance(correlation, Mapping):
        own: list[Floats] = []
        for name, row in zip(names, _cholesky_factor(names, correlation), strict=True):
            own.append(streams(name).standard_normal(n_people))
            used = np.flatnonzero(row)
            yield name, ndtr(sum((row[k] * own[k] for k in used[1:]), row[used[0]] * own[used[0]]))
        return
    if not 0 <= correlation <= 1:
        raise InputError("correlation out of range", where="together", found=correlation, expected="0 to 1")
    common = streams(_COMMON).standard_normal(n_people) if correlation else None
    for name in names:
        number = streams(name).standard_normal(n_people)
        if common is not None:
            number *= np.sqrt(1.0 - correlation)
            number += np.sqrt(correlation) * common
        yield name, ndtr(number)


def _cholesky_factor(names: tuple[str, ...], by_pair: Mapping[str, Mapping[str, float]]) -> Floats:
    """Return the triangular matrix that gives normal variables these correlations.

    The matrix is lower triangular; it is applied to independent normal variables.
    """
    correlation = np.eye(len(names))
    for name, other, strength in ((n, o, s) for n, others in by_pair.items() for o, s in others.items()):
        where = f"together.{name}.{other}"
        for each in (name, other):
            if each not in names:
                raise not_among("no such list", each, names, where=where)
        i, j = names.index(name), names.index(other)
        if i == j or not -1 < strength < 1:
            expected = "two different lists" if i == j else "above -1, below 1"
            raise InputError("correlation out of range", where=where, found=strength, expected=expected)
        if correlation[i, j] not in (0.0, strength):
            raise InputError("pair given twice", where=where, found=strength, expected=correlation[i, j])
        correlation[i, j] = correlation[j, i] = strength
    try:
        return np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)
    except np.linalg.LinAlgError:
        problem, expected = "correlations are inconsistent", "a positive definite matrix"
        raise InputError(problem, where="together", expected=expected) from None


def _members(rule: ListRule, uniform: Floats) -> Integers:
    """Return the people in a list, in ascending order."""
    chance = rule.chance
    outside = ~((chance >= 0) & (chance <= 1))
    if outside.any():
        found = float(chance[outside][0])
        raise InputError("probability out of range", where="coverage", found=found, expected="0 to 1")
    if rule.size is None:
        person = np.flatnonzero((uniform < chance) | (chance >= 1))
        if not len(person):
            raise InputError("the list is empty", where="coverage", expected="a larger coverage or population")
        return person
    possible = np.flatnonzero(chance > 0)
    if not 1 <= rule.size <= len(possible):
        raise InputError("size out of range", where="size", found=rule.size, expected=f"1 to {len(possible)}")
    # Exponential times with each person's weight as rate: the smallest are a weighted draw without replacement.
    rings = -np.log1p(-uniform[possible]) / chance[possible]
    return np.sort(possible[np.argpartition(rings, rule.size - 1)[: rule.size]])


def _list(
    name: str, people: Mapping[str, Integers], person: Integers, rule: ListRule, rng: np.random.Generator
) -> PeopleList:
    """Return the list with records of the people in `person`.

    `person` is in ascending order.
    """
    for where, named in (("attributes", rule.attributes), ("errors", rule.errors), ("missing", rule.missing)):
        for attribute in named:
            if attribute not in people or attribute not in rule.attributes:
                known = rule.attributes if attribute in people else tuple(people)
                raise not_among("no such attribute", attribute, known, where=where)
    columns = {}
    for attribute in rule.attributes:
        values = people[attribute][person]
        share = rule.errors.get(attribute, 0.0)
        if share > 0:
            wrong = np.flatnonzero((rng.random(len(values)) < share) & (values != UNKNOWN))
            values[wrong] = _other_values(people[attribute], values[wrong], rng, attribute)
        lost = rule.missing.get(attribute, 0.0)
        if np.ndim(lost) or lost > 0:
            values[rng.random(len(values)) < (np.asarray(lost)[person] if np.ndim(lost) else lost)] = UNKNOWN
        columns[attribute] = values
    order = rng.permutation(len(person))
    columns = {attribute: values[order] for attribute, values in columns.items()}
    return PeopleList(name, person[order], columns, len(people[rule.attributes[0]]))


def _other_values(population: Integers, values: Integers, rng: np.random.Generator, attribute: str) -> Integers:
    """Return, for each value, the value of a random person with a different value."""
    found, counts = np.unique(population[population != UNKNOWN], return_counts=True)
    ends = np.cumsum(counts)
    own = np.searchsorted(found, values)
    others = ends[-1] - counts[own]
    if len(values) and not others.all():
        raise InputError(
            "all people have the same value, so no wrong value can be drawn", where="errors", found=attribute
        )
    place = (rng.random(len(values)) * others).astype(np.int64)
    # Skip the people with the value itself.
    place += np.where(place >= ends[own] - counts[own], counts[own], 0)
    return np.asarray(found[np.searchsorted(ends, place, side="right")], dtype=np.int64)
