"""What an adversary does about each record, given the form in which it was shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import fsum, prod
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Floats, Rows

# Money amounts closer than this share of their scale are equal. A stated tolerance rather than exact comparison,
# because 300 x (1/75) and 4, or log 2 + log 3 and log 6, differ by rounding alone, and the choice between equals must
# not depend on the unit of money or the order of attributes.
INDIFFERENCE = 1e-12
# Weights are given as decimal numbers, whose sum is 1 only up to rounding.
_ROUNDING = 1e-9


def arrays_of(instance: Any) -> dict[str, NDArray[Any]]:
    """Return the fields of a dataclass that are arrays, by name."""
    values = {item.name: getattr(instance, item.name) for item in fields(instance)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class ListedCandidates:
    """The people of a list who agree with each record, for adversaries who act against one after the other.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        How many there are.
    coverage : ndarray of float64, shape (n,)
        Probability that the person is in the list, as the adversary believes, besides a prior of its own.
    """

    sizes: Counts
    coverage: Floats


@dataclass(frozen=True)
class Linkage:
    """What linking the shared form of records to a population yields.

    Parameters
    ----------
    group_sizes : ndarray, shape (n,)
        People who really share the released values.
    believed_group_sizes : ndarray, shape (n,)
        The same as the adversary believes it to be. Decisions rest on it, outcomes on `group_sizes`.
    match_probability : ndarray of float64, shape (n,), optional
        Share of the whole population that has the released values, for adversaries who know no more before access.
    by_chance : bool
        Whether group sizes are no counts of people but one over the probability that an attempt names the right person.
    candidates : ListedCandidates, optional
        Where people are looked up in a list that was drawn; group sizes are then by chance.
    among : ndarray of bool, shape (n,), optional
        With `candidates`: whether the record's person is one of them, in truth; if not given, an attempt succeeds as
        the adversary believes.
    """

    group_sizes: Counts
    believed_group_sizes: Counts
    match_probability: Floats | None = None
    by_chance: bool = field(default=False, kw_only=True)
    candidates: ListedCandidates | None = field(default=None, kw_only=True)
    among: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> Linkage:
        """Return what linkage yields if only shares of what is linked with are right, in truth and as believed.

        Group sizes become effective ones, in which a uniform guess succeeds as often as the adversary does.
        """
        true, believed = np.asarray(self.group_sizes / accuracy), np.asarray(self.believed_group_sizes / expected)
        return Linkage(true, believed, by_chance=True)

    def as_believed(self) -> Self:
        """Return the same as it would be if the adversary were right: for those who know no more than it does."""
        return replace(self, group_sizes=self.believed_group_sizes, among=None)


@dataclass(frozen=True)
class Presence:
    """Which of several adversaries come.

    Parameters
    ----------
    weights : tuple of float
        Probability that each comes.
    one_of : bool
        Whether one of them comes at most; else each comes or not independently of the others.
    """

    weights: tuple[float, ...] = (1.0,)
    one_of: bool = True

    def cases(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield the probability of each case, and the numbers of those who come in it; cases exclude each other."""
        if self.one_of:
            yield from ((weight, (number,)) for number, weight in enumerate(self.weights) if weight > 0)
            nobody = 1.0 - fsum(self.weights)
            if nobody > _ROUNDING:
                yield nobody, ()
            return
        for comes in product(*((True, False) if 0 < weight < 1 else (weight > 0,) for weight in self.weights)):
            chances = (weight if there else 1.0 - weight for weight, there in zip(self.weights, comes, strict=True))
            yield prod(chances), tuple(number for number, there in enumerate(comes) if there)


@dataclass(frozen=True)
class Response:
    """The adversary's reply to each shared record; arrays of one shape.

    Parameters
    ----------
    attacks : ndarray of bool
        Whether it attacks.
    success : ndarray of float64
        True probability that an attack names the right person.
    believed_success : ndarray of float64
        The probability on which the decision rests.
    adversary_payoff : ndarray of float64
        Expected payoff under the true probability, in currency units per record; 0 without attack.
    exploits : ndarray of float64
        Expected number of people it acts against.
    frequency : ndarray of float64, optional
        How often it attacks where `attacks`, in (0, 1]; always, if not given. Payoff and exploits are expectations over
        that, too.
    pays : ndarray of bool, optional
        Whether the adversary believes that an attack pays, if it may attack where it does not; where it attacks, if not
        given.
    gain : float or ndarray of float64, optional
        By how much a success pays more than a failure, in currency units per record. Where it is not given, the
        expected payoff is known and how it varies is not.
    """

    attacks: NDArray[np.bool_]
    success: Floats
    believed_success: Floats
    adversary_payoff: Floats
    exploits: Floats
    frequency: Floats | None = field(default=None, kw_only=True)
    pays: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    gain: float | Floats | None = field(default=None, kw_only=True)

    @property
    def invited(self) -> NDArray[np.bool_]:
        """Where an attack pays, as the adversary believes: what the No-Attack game rules out.

        Nobody can rule out the attacks of an adversary who errs.
        """
        return self.attacks if self.pays is None else self.pays

    @property
    def by_type(self) -> tuple[Response, ...]:
        """The replies of several adversaries that it is made of; this alone, if it is of one."""
        return (self,)

    @property
    def presence(self) -> Presence:
        """How likely each of them comes."""
        return Presence()

    @property
    def reidentified(self) -> Floats:
        """Probability that the record is re-identified: the success probability where there is an attack."""
        if self.frequency is None:
            return np.where(self.attacks, self.success, 0.0)
        return np.where(self.attacks, self.success * self.frequency, 0.0)

    @property
    def attack_probability(self) -> Floats:
        """Probability that the record is attacked."""
        return np.asarray(self.attacks if self.frequency is None else self.attacks * self.frequency, dtype=np.float64)

    @property
    def often(self) -> Floats | None:
        """How often there is an attack where `attacks`, whoever makes it; always, if None."""
        return self.frequency

    @property
    def success_of_attacks(self) -> Floats:
        """Probability that an attack names the right person, whoever makes it."""
        return self.success


def one_over(chance: Floats) -> Floats:
    """Return one over a probability, infinite where it is 0."""
    return np.asarray(np.divide(1.0, chance, out=np.full(np.shape(chance), np.inf), where=chance > 0))


class Adversary(Protocol):
    """A planner: replies to many shared records in one call."""

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to records linked as `linkage` says.

        `rows` tells which records these are, for adversaries whose gain or cost differs by record.
        """
        ...
