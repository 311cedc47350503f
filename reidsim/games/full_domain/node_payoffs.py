"""Outcomes of a node from group sizes.

Follows Prasser et al. 2017, Eqs. 3 to 9.

With the publisher's benefit B and loss L, and the adversary's gain G and cost C, a record in a class of ``k`` people
that keeps utility ``u`` is attacked if ``k < G / C``. It is kept if it is not attacked and ``B u > 0``, or if it is
attacked and ``B u - L / k > 0``, that is if ``u k > L / B``. Other records are suppressed. In the No-Attack game
exactly the records that are not attacked are kept. `Terms` holds both ratios; `record_payoff` applies them to one
record.
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
    """Benefit, loss, gain and cost for each kind of record.

    Records of a kind have the same payoff parameters.

    Parameters
    ----------
    benefit, loss : ndarray of float64, shape (n_kinds,)
        Publisher's benefit from an ungeneralized record, and loss if the record is re-identified; currency units per
        record. One number is accepted if it is equal for all kinds.
    gain, cost : ndarray of float64, shape (n_kinds,)
        Adversary's gain from a re-identified record, and cost of an attempt; currency units per record.

    Raises
    ------
    InputError
        If an amount is negative or not finite; the message names the first such amount.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    def __post_init__(self) -> None:
        given = [np.atleast_1d(np.asarray(getattr(self, item.name), dtype=np.float64)) for item in fields(self)]
        for item, array in zip(fields(self), np.broadcast_arrays(*given), strict=True):
            if not (array >= 0).all() or not np.isfinite(array).all():
                wrong = array[~((array >= 0) & np.isfinite(array))][0].item()
                raise InputError("payoff parameter out of range", where=item.name, found=wrong, expected="0 or more")
            # Compiled functions warn of views of broadcast arrays.
            object.__setattr__(self, item.name, np.array(array, order="C"))

    @classmethod
    def of_kinds(cls, benefit: ArrayLike, loss: ArrayLike, gain: ArrayLike, cost: ArrayLike) -> Prices:
        """Return the payoff parameters from numbers or lists; see `Prices`."""
        return cls(*map(np.asarray, (benefit, loss, gain, cost)))

    @property
    def n_kinds(self) -> int:
        """Number of kinds of records, each with its own payoff parameters."""
        return len(self.benefit)


class Terms(NamedTuple):
    """Payoff parameters and decision ratios; arrays of shape (n_kinds,).

    Attributes
    ----------
    benefit, loss, gain, cost : ndarray of float64
        In currency units per record; see `Prices`.
    safe_from : ndarray of float64
        Smallest group size that is not attacked (``G / C``, or the next larger number in a strict No-Attack game).
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
        """Return the terms with the decision ratios for the payoff parameters `prices`.

        `no_attack` is true for the No-Attack game. If it is also `strict`, a group size of exactly ``G / C`` (gain /
        cost) is not safe; `strict` has no effect on the other game. Ratios allow for rounding.
        """
        benefit, loss, gain, cost = prices.benefit, prices.loss, prices.gain, prices.cost
        # Rounding must not turn equality into an attack, nor into safety in the strict game.
        safe_from = _ratio(gain, cost) / (1 + INDIFFERENCE)
        if no_attack and strict:
            safe_from = np.nextafter(_ratio(gain, cost) * (1 + INDIFFERENCE), np.inf)
        ruinous_at = np.where(benefit > 0, _ratio(loss, benefit), np.inf) * (1 + INDIFFERENCE)
        if no_attack:
            ruinous_at = np.full_like(ruinous_at, np.inf)
        return cls(benefit, loss, gain, cost, safe_from, ruinous_at, no_attack)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the ratio of two payoff parameters, `above` / `below`, by kind.

    0 / 0 is 0; any other value divided by 0 is infinite. The arrays have shape (n_kinds,).
    """
    return np.divide(above, below, out=np.where(above > 0, np.inf, 0.0), where=below > 0)


@numba.njit(cache=True)
def utility_of(loss: float) -> float:
    """Return the utility of a record: 1 - information loss (`loss`), at least 0.

    It is 0 for a loss within rounding (1e-12) of 1 or above.
    """
    return 0.0 if loss > _SUPPRESSED_ABOVE else 1.0 - loss


def utilities_of(loss: Floats) -> Floats:
    """Return the utility of each record, given its information loss; see `utility_of`."""
    return np.where(loss > _SUPPRESSED_ABOVE, 0.0, 1.0 - loss)


@numba.njit(cache=True)
def record_payoff(loss: float, people: float, terms: Terms, kind: int) -> tuple[float, bool, bool]:
    """Return the payoff of a record, whether it is attacked, and whether it is kept.

    The payoff is the publisher's, in currency units. A suppressed record has payoff 0 and is not attacked. A group size
    below 1 counts as 1. The code has no branches because attacks are hard to predict for the processor.

    Parameters
    ----------
    loss : float
        Information loss of the record, in [0, 1].
    people : float
        Group size of the record, in people.
    terms : Terms
        Payoff parameters and decision ratios.
    kind : int
        Kind of the record: its position in the arrays of `terms`.
    """
    utility, size = utility_of(loss), max(people, 1.0)
    worth = terms.benefit[kind] * utility
    safe = size >= terms.safe_from[kind]
    attacked = ~safe & (utility * size > terms.ruinous_at[kind])
    kept = attacked | (safe & ((worth > 0.0) | terms.keeps_worthless))
    return kept * (worth - attacked * (terms.loss[kind] / size)), attacked, kept


@numba.njit(cache=True)
def record_payoffs(loss: Floats, people: Floats, terms: Terms, kind: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the publisher's payoff of each record, and whether it is kept.

    `loss` (information losses), `people` (group sizes) and `kind` (positions in the arrays of `terms`) have shape
    (n_records,), as do both results. Payoffs are in currency units per record; a suppressed record has payoff 0. See
    `record_payoff`.
    """
    payoff, kept = np.empty(len(loss)), np.empty(len(loss), dtype=np.bool_)
    for i in range(len(loss)):
        payoff[i], _, kept[i] = record_payoff(loss[i], people[i], terms, kind[i])
    return payoff, kept


@numba.njit(cache=True)
def record_outcomes(released: Ints, loss: Floats, people: Floats, terms: Terms, kind: Ints) -> Floats:
    """Return the outcomes of a node from its records one by one, shape (4,).

    They are the publisher's payoff over all records, the numbers of suppressed and of attacked records, and the
    adversary's payoff; amounts are in currency units. `released` (number of records of each row), `loss` (information
    losses), `people` (group sizes) and `kind` (positions in the arrays of `terms`) have shape (n_rows,).
    """
    payout = suppressed = attacks = adversary = 0.0
    for i in range(len(released)):
        count, of = float(released[i]), kind[i]
        payoff, attacked, kept = record_payoff(loss[i], people[i], terms, of)
        payout += count * payoff
        suppressed += count * (1 - kept)
        attacks += count * attacked
        adversary += count * attacked * (terms.gain[of] / max(people[i], 1.0) - terms.cost[of])
    return np.array([payout, suppressed, attacks, adversary])


@numba.njit(cache=True)
def class_outcomes(tables: ClassTable, starts: Ints, terms: Terms) -> Floats:
    """Return the outcomes of nodes, given their class tables, shape (n_tables, 4).

    The columns are the publisher's payoff over all records, the numbers of suppressed and of attacked records, and the
    adversary's payoff; amounts are in currency units.

    Parameters
    ----------
    tables : ClassTable
        The tables of all nodes, one after the other.
    starts : ndarray of int64, shape (n_tables + 1,)
        Position of the first class of each table, and the end of the last table.
    terms : Terms
        Payoff parameters of a single kind of record.
    """
    outcomes = np.zeros((len(starts) - 1, 4))
    for number in range(len(outcomes)):
        table = part(tables, starts[number], starts[number + 1])
        kind = np.zeros(len(table.keys), dtype=np.int64)
        outcomes[number] = record_outcomes(table.released, table.loss, table.people, terms, kind)
    return outcomes


@numba.njit(cache=True)
def may_be_kept(table: ClassTable, terms: Terms) -> NDArray[np.bool_]:
    """Return which classes of a table keep records, shape (n_classes,).

    A class keeps records if it has any, and its records are not suppressed: they have utility (or the game is a
    No-Attack game), and are not attacked or pay in spite of the attack. `terms` holds the payoff parameters of a single
    kind of record.
    """
    kept = np.empty(len(table.keys), dtype=np.bool_)
    for i in range(len(kept)):
        utility, size = utility_of(table.loss[i]), max(table.people[i], 1.0)
        kept[i] = utility > 0.0 or terms.keeps_worthless
        kept[i] &= size >= terms.safe_from[0] or utility * size > terms.ruinous_at[0]
        kept[i] &= table.released[i] > 0
    return kept
