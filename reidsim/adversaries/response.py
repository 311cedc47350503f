"""Linkage results and adversaries' replies to released records."""

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

# Money amounts are equal if they differ by less than this fraction of their scale. Exact comparison would not do:
# 300 x (1/75) and 4, or log 2 + log 3 and log 6, differ by rounding alone, and the choice between equal amounts must
# not depend on the currency unit or the order of attributes.
INDIFFERENCE = 1e-12
# Weights are decimal inputs, so their sum is 1 only up to rounding.
_ROUNDING = 1e-9


def arrays_of(instance: Any) -> dict[str, NDArray[Any]]:
    """Return the array fields of a dataclass instance, by name."""
    values = {item.name: getattr(instance, item.name) for item in fields(instance)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class ListedCandidates:
    """Candidates of each record in a list, for adversaries who exploit them in turn.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        Number of people in the list who match the record.
    coverage : ndarray of float64, shape (n,)
        Probability that the record's person is in the list, as the adversary believes. It is separate from the
        adversary's own prior.
    """

    sizes: Counts
    coverage: Floats


@dataclass(frozen=True)
class Linkage:
    """Result of linking released records to a population.

    Parameters
    ----------
    group_sizes : ndarray, shape (n,)
        True group sizes: number of people who have the released values. They determine the outcomes of attacks.
    believed_group_sizes : ndarray, shape (n,)
        Group sizes that the adversary believes in. They determine its decisions.
    match_probability : ndarray of float64, shape (n,), optional
        Share of the population with the released values, for adversaries who do not know group sizes before access.
    by_chance : bool
        Whether group sizes are not counts of people, but one over the probability that an attempt succeeds.
    candidates : ListedCandidates, optional
        Candidates in a drawn list; `by_chance` is then true.
    among : ndarray of bool, shape (n,), optional
        With `candidates`: whether the record's person is truly one of the candidates. Default: attempts succeed with
        the probability that the adversary believes in.
    """

    group_sizes: Counts
    believed_group_sizes: Counts
    match_probability: Floats | None = None
    by_chance: bool = field(default=False, kw_only=True)
    candidates: ListedCandidates | None = field(default=None, kw_only=True)
    among: NDArray[np.bool_] | None = field(default=None, kw_only=True)

    def inaccurate(self, accuracy: float, expected: float) -> Linkage:
        """Return the linkage through a resource with wrong entries.

        The group sizes become effective group sizes: a uniform guess among that many people succeeds as often as the
        adversary does. Match probabilities and candidates are not kept.

        Parameters
        ----------
        accuracy, expected : float
            True share of correct entries, and share that the adversary expects; both above 0.
        """
        true, believed = np.asarray(self.group_sizes / accuracy), np.asarray(self.believed_group_sizes / expected)
        return Linkage(true, believed, by_chance=True)

    def as_believed(self) -> Self:
        """Return the linkage as if the adversary's beliefs were true.

        It serves players who know no more than the adversary.
        """
        return replace(self, group_sizes=self.believed_group_sizes, among=None)


@dataclass(frozen=True)
class Presence:
    """Distribution of the set of adversaries who are present.

    Parameters
    ----------
    weights : tuple of float
        Probability that each adversary is present; with `one_of`, their sum is at most 1.
    one_of : bool
        Whether at most one adversary is present; otherwise, adversaries are present independently.
    """

    weights: tuple[float, ...] = (1.0,)
    one_of: bool = True

    def cases(self) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield each possible set of present adversaries with its probability.

        Each item is the probability and the indices of the adversaries; the cases are mutually exclusive.
        """
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
    """The adversary's reply to each released record; arrays of equal shape.

    Parameters
    ----------
    attacks : ndarray of bool
        Whether the adversary attacks the record.
    success : ndarray of float64
        True success probability of an attack; can be 0 where no attack is made.
    believed_success : ndarray of float64
        Success probability that the adversary believes in and uses for its decision.
    adversary_payoff : ndarray of float64
        Expected payoff under the true probability, in currency units per record; 0 without attack.
    exploits : ndarray of float64
        Expected number of exploits (people the adversary acts against); 0 without attack.
    frequency : ndarray of float64, optional
        Probability of an attack where `attacks` is true, in (0, 1]. Default: 1. Payoff and exploits are expectations
        that include this probability.
    pays : ndarray of bool, optional
        Whether an attack is profitable as the adversary believes, for adversaries who also make unprofitable attacks.
        Default: `attacks`.
    gain : float or ndarray of float64, optional
        Payoff of a success less payoff of a failure, in currency units per record. Without it, only the expected
        payoff is known, not its distribution.
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
        """Whether an attack is profitable, as the adversary believes.

        The No-Attack game rules out these attacks. Mistaken attacks of an adversary who errs cannot be ruled out.
        """
        return self.attacks if self.pays is None else self.pays

    @property
    def by_type(self) -> tuple[Response, ...]:
        """Replies of the individual adversaries; for a single adversary, this reply."""
        return (self,)

    @property
    def presence(self) -> Presence:
        """Distribution of the set of adversaries who are present."""
        return Presence()

    @property
    def reidentified(self) -> Floats:
        """Probability that the record is attacked and re-identified."""
        if self.frequency is None:
            return np.where(self.attacks, self.success, 0.0)
        return np.where(self.attacks, self.success * self.frequency, 0.0)

    @property
    def attack_probability(self) -> Floats:
        """Probability that the record is attacked."""
        return np.asarray(self.attacks if self.frequency is None else self.attacks * self.frequency, dtype=np.float64)

    @property
    def often(self) -> Floats | None:
        """Probability of an attack by any adversary where `attacks` is true; None means 1."""
        return self.frequency

    @property
    def success_of_attacks(self) -> Floats:
        """Success probability of an attack by any adversary."""
        return self.success


def one_over(chance: Floats) -> Floats:
    """Return one over a probability, infinite where it is 0."""
    return np.asarray(np.divide(1.0, chance, out=np.full(np.shape(chance), np.inf), where=chance > 0))


class Adversary(Protocol):
    """A planner, which replies to many released records in one call."""

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to linked records.

        Parameters
        ----------
        linkage : Linkage
            Result of linking the records.
        rows : ndarray of int, optional
            Indices of these records, for adversaries whose gain or cost differs by record. Default: all records.
        """
        ...
