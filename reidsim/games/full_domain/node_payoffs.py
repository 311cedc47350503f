"""Outcomes of a node at several parameter points, from group sizes.

Follows Prasser et al. 2017, Eqs. 3 to 9.

With the publisher's benefit B and loss L, and the adversary's gain G and cost C, a record in a class of ``k`` people
that keeps utility ``u`` is attacked if ``k < G / C``. It is kept if it is not attacked and ``B u > 0``, or if it is
attacked and ``B u - L / k > 0``, that is if ``u k > L / B``. Other records are suppressed. In the No-Attack game
exactly the records that are not attacked are kept. `Terms` holds both ratios; `record_payoff` applies them to one
record.

If all records of a class have the same payoff parameters, `class_outcomes` sorts the ratios of all points and adds each
class to a table, indexed by the number of ratios for which the class is not attacked and the number of ratios for which
it is kept under attack. The sums of each point are read from this table, so many points cost little more than one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, Ints, part
from reidsim.releases.strategy_space import Floats

# Columns of the outcomes of a node.
PAYOUT, SUPPRESSED, ATTACKED, ADVERSARY = range(4)
# Losses above this count as suppression; otherwise rounding could leave a benefit of 1e-16.
_SUPPRESSED_ABOVE = 1.0 - 1e-12


@dataclass(frozen=True, eq=False)
class Prices:
    """Benefit, loss, gain and cost at each parameter point, for each kind of record.

    Records of a kind have the same payoff parameters.

    Parameters
    ----------
    benefit, loss : ndarray of float64, shape (n_points, n_kinds)
        Publisher's benefit from an ungeneralized record, and loss if the record is re-identified; currency units per
        record. Scalars, (n_points,) and (n_points, n_kinds) are accepted and broadcast.
    gain, cost : ndarray of float64, shape (n_points, n_kinds)
        Adversary's gain from a re-identified record, and cost of an attempt; currency units per record.

    Raises
    ------
    InputError
        If an amount is negative or not finite.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    def __post_init__(self) -> None:
        given = [np.asarray(getattr(self, item.name), dtype=np.float64) for item in fields(self)]
        spread = np.broadcast_arrays(*(array if array.ndim > 1 else array.reshape(-1, 1) for array in given))
        for item, array in zip(fields(self), spread, strict=True):
            if not (array >= 0).all() or not np.isfinite(array).all():
                wrong = array[~((array >= 0) & np.isfinite(array))][0].item()
                raise InputError("payoff parameter out of range", where=item.name, found=wrong, expected="0 or more")
            # Compiled functions warn of views of broadcast arrays.
            object.__setattr__(self, item.name, np.array(array, order="C"))

    @classmethod
    def of_kinds(cls, benefit: ArrayLike, loss: ArrayLike, gain: ArrayLike, cost: ArrayLike) -> Prices:
        """Return the payoff parameters at one point from arrays of shape (n_kinds,)."""
        return cls(*(np.atleast_2d(np.asarray(price, dtype=np.float64)) for price in (benefit, loss, gain, cost)))

    @property
    def n_points(self) -> int:
        """Number of parameter points."""
        return len(self.benefit)

    @property
    def n_kinds(self) -> int:
        """Number of kinds of records."""
        return int(self.benefit.shape[1])

    @property
    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Benefit, loss, gain and cost, (n_points, n_kinds) each."""
        return self.benefit, self.loss, self.gain, self.cost

    def points(self, numbers: NDArray[np.intp]) -> Prices:
        """Return the payoff parameters at some points, given the points' numbers from 0."""
        return Prices(*(array[numbers] for array in self.arrays))


class Terms(NamedTuple):
    """Payoff parameters and decision ratios; arrays of shape (n_points, n_kinds).

    Attributes
    ----------
    benefit, loss, gain, cost : ndarray of float64
        In currency units per record; see `Prices`.
    safe_from : ndarray of float64
        Smallest group size that is not attacked (``G / C``).
    ruinous_at : ndarray of float64
        Attacked records whose group size times utility is not larger are suppressed (``L / B``); infinite in the
        No-Attack game.
    keeps_worthless : bool
        Whether records that are not attacked are kept even without utility, as in the No-Attack game.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats
    safe_from: Floats
    ruinous_at: Floats
    keeps_worthless: bool

    @classmethod
    def from_prices(cls, prices: Prices, no_attack: bool, strict: bool) -> Terms:
        """Return the terms with the decision ratios; `no_attack` for the No-Attack game.

        In a strict No-Attack game, a group size of exactly ``G / C`` is not safe.
        """
        benefit, loss, gain, cost = prices.arrays
        # Rounding must not turn equality into an attack, nor into safety in the strict game.
        safe_from = _ratio(gain, cost) / (1 + INDIFFERENCE)
        if no_attack and strict:
            safe_from = np.nextafter(_ratio(gain, cost) * (1 + INDIFFERENCE), np.inf)
        ruinous_at = np.where(benefit > 0, _ratio(loss, benefit), np.inf) * (1 + INDIFFERENCE)
        if no_attack:
            ruinous_at = np.full_like(ruinous_at, np.inf)
        return cls(benefit, loss, gain, cost, safe_from, ruinous_at, no_attack)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the ratio of two payoff parameters.

    0 / 0 is 0; any other value divided by 0 is infinite.
    """
    return np.divide(above, below, out=np.where(above > 0, np.inf, 0.0), where=below > 0)


@numba.njit(cache=True)
def utility_of(loss: float) -> float:
    """Return the utility of a record: 1 - information loss, at least 0.

    It is 0 for a loss within rounding of 1.
    """
    return 0.0 if loss > _SUPPRESSED_ABOVE else 1.0 - loss


def utilities_of(loss: Floats) -> Floats:
    """Return the utility of each record; see `utility_of`."""
    return np.where(loss > _SUPPRESSED_ABOVE, 0.0, 1.0 - loss)


@numba.njit(cache=True)
def record_payoff(loss: float, people: float, terms: Terms, point: int, kind: int) -> tuple[float, bool, bool]:
    """Return the payoff of a record, whether it is attacked, and whether it is kept.

    A suppressed record has payoff 0 and is not attacked. A group size below 1 counts as 1. The code has no branches
    because attacks are hard to predict for the processor.
    """
    utility, size = utility_of(loss), max(people, 1.0)
    worth = terms.benefit[point, kind] * utility
    safe = size >= terms.safe_from[point, kind]
    attacked = ~safe & (utility * size > terms.ruinous_at[point, kind])
    kept = attacked | (safe & ((worth > 0.0) | terms.keeps_worthless))
    return kept * (worth - attacked * (terms.loss[point, kind] / size)), attacked, kept


@numba.njit(cache=True)
def record_payoffs(
    loss: Floats, people: Floats, terms: Terms, kind: Ints, point: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the publisher's payoff of each record, and whether it is kept.

    `loss`, `people` (group sizes) and `kind` have shape (n_records,).
    """
    payoff, kept = np.empty(len(loss)), np.empty(len(loss), dtype=np.bool_)
    for i in range(len(loss)):
        payoff[i], _, kept[i] = record_payoff(loss[i], people[i], terms, point, kind[i])
    return payoff, kept


@numba.njit(cache=True)
def record_outcomes(
    released: Ints, loss: Floats, people: Floats, terms: Terms, kind: Ints, points: NDArray[np.bool_]
) -> Floats:
    """Return the outcomes of a node from its records one by one, shape (n_points, 4).

    The columns are those of `FullDomainGame.outcomes`. `released`, `loss`, `people` (group sizes) and `kind` have shape
    (n_rows,). `points` selects the points; outcomes of the others are 0.
    """
    outcomes = np.zeros((len(points), 4))
    for point in range(len(points)):
        if not points[point]:
            continue
        payout = suppressed = attacks = adversary = 0.0
        for i in range(len(released)):
            count, of = float(released[i]), kind[i]
            payoff, attacked, kept = record_payoff(loss[i], people[i], terms, point, of)
            payout += count * payoff
            suppressed += count * (1 - kept)
            attacks += count * attacked
            adversary += count * attacked * (terms.gain[point, of] / max(people[i], 1.0) - terms.cost[point, of])
        outcomes[point] = payout, suppressed, attacks, adversary
    return outcomes


@numba.njit(cache=True)
def class_outcomes(tables: ClassTable, starts: Ints, terms: Terms, points: NDArray[np.bool_]) -> Floats:
    """Return the outcomes of nodes, given their class tables.

    The result has shape (n_tables, n_points, 4).

    The last axis has the columns of `FullDomainGame.outcomes`.

    Parameters
    ----------
    tables : ClassTable
        The tables of all nodes, one after the other.
    starts : ndarray of int64, shape (n_tables + 1,)
        Position of the first class of each table, and the end of the last table.
    terms : Terms
        Payoff parameters of a single kind of record.
    points : ndarray of bool, shape (n_points,)
        Points to compute; the outcomes of other points are 0.
    """
    outcomes = np.zeros((len(starts) - 1, len(points), 4))
    asked = np.flatnonzero(points)
    if len(asked) == 1:
        for number in range(len(outcomes)):
            table = part(tables, starts[number], starts[number + 1])
            kind = np.zeros(len(table.keys), dtype=np.int64)
            outcomes[number] = record_outcomes(table.released, table.loss, table.people, terms, kind, points)
        return outcomes
    # The sorted ratios end with infinity.
    safe_from = np.append(np.unique(terms.safe_from[asked, 0]), np.inf)
    ruinous_at = np.append(np.unique(terms.ruinous_at[asked, 0]), np.inf)
    attack_of = np.searchsorted(safe_from, terms.safe_from[asked, 0])
    ruin_of = np.searchsorted(ruinous_at, terms.ruinous_at[asked, 0])
    for number in range(len(outcomes)):
        table = part(tables, starts[number], starts[number + 1])
        sums, total = _sums(table, safe_from, ruinous_at, terms.keeps_worthless)
        every = len(sums) - 1
        for i in range(len(asked)):
            point, attack, ruin = asked[i], attack_of[i], ruin_of[i]
            worth, odds, attacked = sums[attack, ruin + 1]
            # Sums over the unattacked classes, as the difference between the total sums and the sums up to this index.
            unattacked = sums[every, 0, 2] - sums[attack, 0, 2]
            if terms.benefit[point, 0] == 0.0 and not terms.keeps_worthless:
                unattacked = 0.0
            worth += sums[every, 0, 0] - sums[attack, 0, 0]
            outcomes[number, point, PAYOUT] = terms.benefit[point, 0] * worth - terms.loss[point, 0] * odds
            outcomes[number, point, SUPPRESSED] = total - attacked - unattacked
            outcomes[number, point, ATTACKED] = attacked
            outcomes[number, point, ADVERSARY] = terms.gain[point, 0] * odds - terms.cost[point, 0] * attacked
    return outcomes


@numba.njit(cache=True)
def _sums(table: ClassTable, safe_from: Floats, ruinous_at: Floats, keeps_worthless: bool) -> tuple[Floats, float]:
    """Add up utility, chances of success and records of classes; count all records.

    Entry (i, j) of the sums, of shape (n_safe_from + 1, n_ruinous_at + 1, 3), is over the classes that at most i ratios
    leave unattacked and at least j keep under attack. The last axis holds the sums over records of the utility and of
    1 / group size, and the number of records.
    """
    attacks, ruins = len(safe_from), len(ruinous_at)
    sums, total = np.zeros((attacks, ruins, 3)), 0.0
    for i in range(len(table.released)):
        count = float(table.released[i])
        total += count
        utility, size = utility_of(table.loss[i]), max(table.people[i], 1.0)
        count *= keeps_worthless or utility > 0.0
        safe = np.searchsorted(safe_from, size, side="right")
        borne = np.searchsorted(ruinous_at, utility * size)
        sums[safe, borne, 0] += count * utility
        sums[safe, borne, 1] += count / size
        sums[safe, borne, 2] += count
    for j in range(ruins - 2, -1, -1):
        sums[:, j] += sums[:, j + 1]
    for i in range(1, attacks):
        sums[i] += sums[i - 1]
    return sums, total


@numba.njit(cache=True)
def may_be_kept(table: ClassTable, terms: Terms, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which classes keep records at any selected point, shape (n_classes,)."""
    safe_from, ruinous_at = terms.safe_from[:, 0][points].min(), terms.ruinous_at[:, 0][points].min()
    kept = np.empty(len(table.keys), dtype=np.bool_)
    for i in range(len(kept)):
        utility, size = utility_of(table.loss[i]), max(table.people[i], 1.0)
        kept[i] = (utility > 0.0 or terms.keeps_worthless) and (size >= safe_from or utility * size > ruinous_at)
        kept[i] &= table.released[i] > 0
    return kept
