"""What a node pays at many parameter points, from the sizes of its classes (Prasser et al. 2017, Eqs. 3 to 9).

A class of ``k`` people whose records keep utility ``u`` is attacked where ``G > C k``, and kept where it pays: ``B u``
where it is not attacked, ``B u - L / k > 0`` where it is. So all that a point asks of a class is whether ``k`` is at
least ``G / C`` and whether ``u k`` exceeds ``L / B``. Both ratios of all points are sorted; each class is put once
into a table by how many of them leave it unattacked and how many keep it under attack, and each point reads its sums
off the table. That makes many points cost little more than one.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.full_domain.class_table import ClassTable, part
from reidsim.games.full_domain.prices import FourArrays, Prices
from reidsim.releases.strategy_space import Floats

# What is suppressed: what does not pay, or what is not safe; safe are classes that are not attacked, or in the strict
# No-Attack game only those of more than G / C people.
BASIC, NO_ATTACK, NO_ATTACK_STRICT = range(3)
# Columns of the outcomes of a node.
PAYOUT, SUPPRESSED, ATTACKED, ADVERSARY = range(4)
# Stretches of equal length between 0 and the highest threshold; where each begins among the thresholds is looked up.
_STRETCHES = 256
# Ranges narrower than this are not divided: the number of stretches to a unit would overflow.
_LEAST_RANGE = 1e-200
# Losses closer than this to 1 are suppression: rounding must not leave a benefit of 1e-16.
_SUPPRESSED_ABOVE = 1.0 - 1e-12


class Ratios(NamedTuple):
    """One ratio of prices at all points.

    Attributes
    ----------
    values : ndarray of float64, shape (n_values + 2,)
        Distinct, in rising order, then without limit, so that a look-up ends.
    of_point : ndarray of int64, shape (n_points,)
        Position of each point's value among them.
    per_unit : float
        Stretches to a unit.
    begin : ndarray of int64
        How many values are below each stretch, or fewer.
    """

    values: Floats
    of_point: NDArray[np.int64]
    per_unit: float
    begin: NDArray[np.int64]

    @classmethod
    def of(cls, ratios: Floats) -> Ratios:
        """Sort the ratios of points (n_points,)."""
        values, of_point = np.unique(ratios, return_inverse=True)
        highest = float(values[np.isfinite(values)].max(initial=0.0))
        # Without a range to divide, all is one stretch.
        per_unit = _STRETCHES / highest if highest > _LEAST_RANGE else 0.0
        # A little lower, as a product with `per_unit` may be rounded up.
        lowest = np.arange(_STRETCHES) * (highest / _STRETCHES) * (1 - 1e-9)
        begin = np.searchsorted(values, lowest) if per_unit else np.zeros(1, np.int64)
        return cls(np.append(values, [np.inf, np.inf]), of_point, per_unit, begin)


class Thresholds(NamedTuple):
    """What decides on classes at each point, for prices that are the same for all records.

    Attributes
    ----------
    attacked_below : Ratios
        Classes of fewer people are attacked (``G / C``).
    ruinous_at : Ratios
        Attacked classes whose people times utility are no more are suppressed (``L / B``).
    """

    attacked_below: Ratios
    ruinous_at: Ratios

    @classmethod
    def of(cls, prices: Prices, rule: int) -> Thresholds:
        """Compute the thresholds of prices for one kind of record."""
        benefit, loss, gain, cost = (array[:, 0] for array in prices.arrays)
        # Equality must not turn into an attack by rounding; nor, in the strict No-Attack game, into safety.
        rounding = 1 + INDIFFERENCE if rule == NO_ATTACK_STRICT else 1 / (1 + INDIFFERENCE)
        attacked_below = _ratio(gain, cost) * rounding
        if rule == NO_ATTACK:
            # There, classes above the threshold are safe: here that of exactly this size is, too.
            attacked_below = np.nextafter(attacked_below, -np.inf)
        ruinous_at = np.where(benefit > 0, _ratio(loss, benefit), np.inf) * (1 + INDIFFERENCE)
        return cls(Ratios.of(attacked_below), Ratios.of(ruinous_at))


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide amounts; nothing by nothing is nothing, anything else by nothing is without limit."""
    return np.divide(above, below, out=np.where(above > 0, np.inf, 0.0), where=below > 0)


@numba.njit(cache=True)
def utility_of(loss: float) -> float:
    """Return what is left of the benefit of a record with this information loss."""
    return 0.0 if loss > _SUPPRESSED_ABOVE else 1.0 - loss


@numba.njit(cache=True)
def _basic_at_one_point(
    table: ClassTable,
    attacked_below: float,
    ruinous_at: float,
    benefit: float,
    harm: float,
    gain: float,
    cost: float,
    outcomes: Floats,
) -> None:
    """Fill in the only row of the outcomes of a node in the basic game."""
    released, people, loss = table.released, table.people, table.loss
    worth = odds = attacked = unattacked = total = 0.0
    # Without branches, as it is hard to foresee what becomes of a class.
    for i in range(len(released)):
        count = float(released[i])
        utility, size = utility_of(loss[i]), max(people[i], 1.0)
        safe = size >= attacked_below
        left_alone = count * (safe & (utility > 0.0))
        borne = count * (~safe & (utility * size > ruinous_at))
        worth += (left_alone + borne) * utility
        odds += borne / size
        attacked += borne
        unattacked += left_alone
        total += count
    if benefit == 0.0:
        unattacked = 0.0
    outcomes[0, PAYOUT] = benefit * worth - harm * odds
    outcomes[0, SUPPRESSED] = total - attacked - unattacked
    outcomes[0, ATTACKED] = attacked
    outcomes[0, ADVERSARY] = gain * odds - cost * attacked


@numba.njit(cache=True)
def basic_payoffs(
    tables: ClassTable,
    starts: NDArray[np.int64],
    thresholds: Thresholds,
    prices: FourArrays,
    asked: NDArray[np.bool_],
    outcomes: Floats,
) -> None:
    """Fill in the outcomes of nodes in the basic game, shape (n_nodes, n_points, 4), at the points asked for.

    Prices have shape (n_points,); the classes of each node begin at `starts`.
    """
    for number in range(len(outcomes)):
        table = part(tables, starts[number], starts[number + 1])
        _basic_payoffs(table, thresholds, prices, asked, outcomes[number])


@numba.njit(cache=True)
def _basic_payoffs(
    table: ClassTable, thresholds: Thresholds, prices: FourArrays, asked: NDArray[np.bool_], outcomes: Floats
) -> None:
    benefit, harm, gain, cost = prices
    attacked_below, attack_of, attack_per_unit, attack_begin = thresholds.attacked_below
    ruinous_at, ruin_of, ruin_per_unit, ruin_begin = thresholds.ruinous_at
    released, people, loss = table.released, table.people, table.loss
    points = len(benefit)
    if points == 1:
        _basic_at_one_point(table, attacked_below[0], ruinous_at[0], benefit[0], harm[0], gain[0], cost[0], outcomes)
        return
    # Worth, odds and records by how many ratios leave a class unattacked, and how many would not make it a loss; of
    # the ratios between the lowest and the highest of the points asked for.
    least_attack, most_attack = _range(attack_of, asked)
    least_ruin, most_ruin = _range(ruin_of, asked)
    attacks, ruins = most_attack + 1 - least_attack, most_ruin + 1 - least_ruin
    sums = np.zeros((attacks + 1, ruins + 1, 3))
    total = 0.0
    # Hardly a branch, as it is hard to foresee what becomes of a class.
    for i in range(len(released)):
        count = float(released[i])
        total += count
        utility, size = utility_of(loss[i]), max(people[i], 1.0)
        amount = utility * size
        count *= utility > 0.0
        # Few stretches hold more than one ratio.
        safe = _first(size, attack_per_unit, attack_begin)
        safe += attacked_below[safe] <= size
        while attacked_below[safe] <= size:
            safe += 1
        borne = _first(amount, ruin_per_unit, ruin_begin)
        borne += ruinous_at[borne] < amount
        while ruinous_at[borne] < amount:
            borne += 1
        sums_here = sums[_clipped(safe, least_attack, attacks), _clipped(borne, least_ruin, ruins)]
        sums_here[0] += count * utility
        sums_here[1] += count / size
        sums_here[2] += count
    for safe in range(attacks + 1):
        worth, odds, attacked = 0.0, 0.0, 0.0
        for borne in range(ruins, -1, -1):
            worth += sums[safe, borne, 0]
            odds += sums[safe, borne, 1]
            attacked += sums[safe, borne, 2]
            sums[safe, borne] = worth, odds, attacked
    rows = sums.reshape(attacks + 1, -1)
    for safe in range(1, attacks + 1):
        for column in range(rows.shape[1]):
            rows[safe, column] += rows[safe - 1, column]
    for point in range(points):
        if not asked[point]:
            continue
        attack, ruin = attack_of[point] - least_attack, ruin_of[point] + 1 - least_ruin
        worth, odds, attacked = sums[attack, ruin]
        unattacked = sums[attacks, 0, 2] - sums[attack, 0, 2] if benefit[point] > 0 else 0.0
        kept_worth = sums[attacks, 0, 0] - sums[attack, 0, 0] + worth
        outcomes[point, PAYOUT] = benefit[point] * kept_worth - harm[point] * odds
        outcomes[point, SUPPRESSED] = total - attacked - unattacked
        outcomes[point, ATTACKED] = attacked
        outcomes[point, ADVERSARY] = gain[point] * odds - cost[point] * attacked


@numba.njit(cache=True)
def _range(ratio_of: NDArray[np.int64], asked: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the positions of the lowest and the highest ratio of the points asked for."""
    lowest, highest = len(ratio_of), 0
    for point in range(len(ratio_of)):
        if asked[point]:
            lowest, highest = min(lowest, ratio_of[point]), max(highest, ratio_of[point])
    return lowest, highest


@numba.njit(cache=True)
def _clipped(number: int, least: int, most: int) -> int:
    """Return by how much a number exceeds the least: 0 if it does not, and no more than the most."""
    return min(max(number - least, 0), most)


@numba.njit(cache=True)
def _first(amount: float, per_unit: float, begin: NDArray[np.int64]) -> int:
    """Return how many ratios are below the stretch that an amount is in."""
    return int(begin[int(min(amount * per_unit, len(begin) - 1.0))])


@numba.njit(cache=True)
def no_attack_payoffs(
    tables: ClassTable,
    starts: NDArray[np.int64],
    attack: Ratios,
    benefit: Floats,
    asked: NDArray[np.bool_],
    outcomes: Floats,
) -> None:
    """Fill in the outcomes of nodes in the No-Attack game, at the points asked for; larger classes alone are kept."""
    for number in range(len(outcomes)):
        table = part(tables, starts[number], starts[number + 1])
        _no_attack_payoffs(table, attack, benefit, asked, outcomes[number])


@numba.njit(cache=True)
def _no_attack_payoffs(
    table: ClassTable, attack: Ratios, benefit: Floats, asked: NDArray[np.bool_], outcomes: Floats
) -> None:
    attacked_below, attack_of, attack_per_unit, attack_begin = attack
    released, people, loss = table.released, table.people, table.loss
    least, most = _range(attack_of, asked)
    attacks = most + 1 - least
    worth = np.zeros(attacks + 1)
    records = np.zeros(attacks + 1)
    total = 0.0
    for i in range(len(released)):
        count, size = released[i], max(people[i], 1.0)
        total += count
        safe = _first(size, attack_per_unit, attack_begin)
        safe += attacked_below[safe] < size
        while attacked_below[safe] < size:
            safe += 1
        safe = _clipped(safe, least, attacks)
        worth[safe] += count * utility_of(loss[i])
        records[safe] += count
    for safe in range(attacks - 1, -1, -1):
        worth[safe] += worth[safe + 1]
        records[safe] += records[safe + 1]
    for point in range(len(benefit)):
        if not asked[point]:
            continue
        first = attack_of[point] + 1 - least
        outcomes[point, PAYOUT] = benefit[point] * worth[first]
        outcomes[point, SUPPRESSED] = total - records[first]
        outcomes[point, ATTACKED] = 0.0
        outcomes[point, ADVERSARY] = 0.0


@numba.njit(cache=True)
def may_be_kept(
    table: ClassTable, thresholds: Thresholds, asked: NDArray[np.bool_], no_attack: bool
) -> NDArray[np.bool_]:
    """Tell which classes keep records at some of the points asked for, shape (n_classes,)."""
    attacked_below = thresholds.attacked_below.values[_range(thresholds.attacked_below.of_point, asked)[0]]
    ruinous_at = thresholds.ruinous_at.values[_range(thresholds.ruinous_at.of_point, asked)[0]]
    kept = np.empty(len(table.keys), dtype=np.bool_)
    for i in range(len(kept)):
        size = max(table.people[i], 1.0)
        utility = utility_of(table.loss[i])
        if no_attack:
            kept[i] = size > attacked_below
        else:
            kept[i] = utility > 0.0 and (size >= attacked_below or utility * size > ruinous_at)
        kept[i] &= table.released[i] > 0
    return kept


@numba.njit(cache=True)
def record_payoff(
    loss: float, people: float, benefit: float, harm: float, gain: float, cost: float, rule: int
) -> tuple[float, bool, bool]:
    """Return what one record pays the publisher, whether it is attacked and whether it is kept."""
    utility = utility_of(loss)
    size = max(people, 1.0)
    if rule != BASIC:
        if rule == NO_ATTACK_STRICT:
            safe = gain == 0.0 or cost * size > gain * (1 + INDIFFERENCE)
        else:
            safe = not gain > cost * size * (1 + INDIFFERENCE)
        return (benefit * utility if safe else 0.0), False, safe
    if not gain > cost * size * (1 + INDIFFERENCE):
        return benefit * utility, False, benefit * utility > 0
    # Rounding must not make a profit of equal amounts.
    kept = benefit * utility * size > harm * (1 + INDIFFERENCE)
    return (benefit * utility - harm / size if kept else 0.0), kept, kept


@numba.njit(cache=True)
def payoffs_by_record(
    released: NDArray[np.int64],
    group_of: NDArray[np.int32],
    loss: Floats,
    kind: NDArray[np.int64],
    people: Floats,
    prices: FourArrays,
    rule: int,
    outcomes: Floats,
) -> None:
    """Fill in the outcomes of a node where prices or losses differ within classes.

    `released`, `group_of`, `loss` and `kind` have shape (n_rows,), `people` that of the classes, prices
    (n_points, n_kinds).
    """
    benefit, harm, gain, cost = prices
    outcomes[:] = 0.0
    for i in range(len(released)):
        count, of = released[i], kind[i]
        size = people[group_of[i]]
        for point in range(len(benefit)):
            payoff, attacked, kept = record_payoff(
                loss[i], size, benefit[point, of], harm[point, of], gain[point, of], cost[point, of], rule
            )
            if not kept:
                outcomes[point, SUPPRESSED] += count
                continue
            outcomes[point, PAYOUT] += count * payoff
            if attacked:
                outcomes[point, ATTACKED] += count
                outcomes[point, ADVERSARY] += count * (gain[point, of] / max(size, 1.0) - cost[point, of])


@numba.njit(cache=True)
def record_payoffs(loss: Floats, people: Floats, prices: FourArrays, rule: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what records pay the publisher, and which are kept; prices have as many rows as the losses, or more."""
    benefit, harm, gain, cost = prices
    payoff, kept = np.empty(len(loss)), np.empty(len(loss), dtype=np.bool_)
    for i in range(len(loss)):
        payoff[i], _, kept[i] = record_payoff(loss[i], people[i], benefit[i], harm[i], gain[i], cost[i], rule)
    return payoff, kept
