"""Attack on a whole file with at most B exploits: upper bound and index policy.

The index policy nearly attains the upper bound.

The model. The adversary pays once for access, which takes one step, and knows every record's group size from the start.
It can then act on the records in any order, and return to them, but makes no more than B exploits in total; links are
not counted. Hits, detection, costs and penalties (charged for every detected exploit) are as in `file_attack`, and
detection has no further consequence. Unlike in `file_attack`, waiting is free: a record's money is discounted by the
record's own steps (its link is step 0, exploit j is step 1 + j, its gain one step later), as if records were planned
one by one. Only the budget links the records. A budget that never runs out gives the sum of the records' separate
values, and with discount 1 no amount is discounted. (On one clock with gamma = .9, no more than a few dozen exploits
matter, and a budget would hardly bind.)

The bound. Let an exploit also cost a price c >= 0. Any plan within the budget makes at most B exploits in every case,
so its value is at most ``c B`` plus its payoff at that price. Without the budget, the records are independent, so no
plan earns more at that price than the sum over records of the best payoff of each record. Hence ``c B + sum U(c)`` is
an upper bound for every c, and the lowest of these bounds is used. A plan for one record is a number m of exploits
after which to stop. The record's U(c) is the maximum of (expected reward) - c (expected exploits), which follows from
the concave majorant of the two along the record's path: ``U(c) = sum over stages of (reward - c use)+`` with stages of
falling level reward / use (see `file_attack`). The lowest bound thus fills the budget with stages by falling level, the
last one in part: it is the payoff of B exploits if the budget had to hold only on average.

The policy. Stages are played by falling level, records of equal size in a fixed order, until the budget is used up; a
hit saves the rest of a record's stages for other records. If a stage begins with less budget than it may need, the
policy plays the best beginning of the stage within the remaining budget, if that has a positive payoff, and then gives
up the record. The value of the policy is a lower bound on the best value. It is exact if the budget cannot run out, or
if the file is small enough to enumerate all positions of the records' persons. Otherwise, it is a mean over random
draws of these positions, with a standard error. Each stage enters the mean with its expectation at its start. Expected
exploits less actual exploits have mean 0; this difference, valued at the price of the bound, is subtracted as a control
variate and removes most of the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.file_attack import Stages, checked_file, sizes_worth_linking, stages_of
from reidsim.errors import InputError

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]


@dataclass(frozen=True)
class BudgetPlan:
    """Plan for a file within a budget; amounts in currency units for the whole file.

    Parameters
    ----------
    value : float
        Expected payoff of the index policy, discounted to the time before access and net of its cost; 0 without access.
    value_after_access : float
        Expected payoff of the index policy after access is paid.
    standard_error : float
        Standard error of `value_after_access`; 0 if it is exact.
    upper_bound : float
        Upper bound on the payoff of any plan after access.
    gap : float
        ``1 - value_after_access / upper_bound``, or 0 if that is negative or the bound is 0. Relative to the bound, the
        policy's payoff is below the payoff of the best plan by at most this share, up to the standard error.
    price : float
        Price c per exploit that gives the lowest bound; 0 if the budget does not bind on average.
    accesses : bool
        Whether the discounted `value_after_access` exceeds the cost of access; False if they are equal.
    reidentified : ndarray of float64, shape (n_records,)
        P_reid, the probability that the policy re-identifies each record; 0 without access. Records of equal size are
        attacked in random order.
    exploits : ndarray of float64, shape (n_records,)
        Expected number of exploits (people the adversary acts against) for each record; 0 without access.
    """

    value: float
    value_after_access: float
    standard_error: float
    upper_bound: float
    gap: float
    price: float
    accesses: bool
    reidentified: Floats
    exploits: Floats


def plan_with_budget(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    budget: int,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
) -> BudgetPlan:
    """Plan an attack on a file with at most `budget` exploits.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack; `access_cost` is paid once for the file.
    group_sizes : ndarray of shape (n_records,)
        Number of matching records in the registry, whole numbers of 0 or more.
    budget : int
        B, maximum number of exploits, 1 or more.
    rng : Generator
        Source of the draws of the persons' positions; not used if the value is exact.
    draws : int
        Number of draws, 2 or more. A file with no more cases (combinations of the exploit, if any, that hits each
        record) than this is enumerated exactly.

    Returns
    -------
    BudgetPlan

    Raises
    ------
    InputError
        If the file is empty or a group size is not a whole number of 0 or more; if penalties are limited or detection
        ends the attack; if the group sizes that are worth linking are together too large; or if the budget or the
        number of draws is out of range.
    """
    sizes = checked_file(attack, group_sizes)
    if attack.detection_ends_attack:
        expected = "false"
        raise InputError(
            "a budget cannot be planned if detection ends the attack",
            where="detection_ends_attack",
            found=True,
            expected=expected,
        )
    for name, number, least in (("budget", budget, 1), ("draws", draws, 2)):
        if not (least <= number < np.inf and number == int(number)):
            expected = f"a whole number of {least} or more"
            raise InputError("value out of range", where=name, found=number, expected=expected)
    budget, draws = int(budget), int(draws)
    distinct, position, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    worth_linking, _ = sizes_worth_linking(attack, distinct)
    steps = _steps(attack, int(worth_linking.max(initial=0)))
    stages = stages_of(worth_linking, attack.prior, attack.discount * attack.gain, steps)
    at = np.searchsorted(distinct, stages.size)
    bound, price = _bound(attack, stages, counts[at], budget)
    # Maximum number of exploits of a record, by distinct size.
    planned = np.zeros(len(distinct), np.int64)
    np.maximum.at(planned, at, stages.end)
    people = np.maximum(distinct, 1) / attack.prior
    if budget >= (counts * planned).sum():
        value, error = bound, 0.0
        reidentified, exploits = planned / people, planned - planned * (planned - 1) / 2 / people
    else:
        table = _table(attack, stages, steps, at, counts, planned)
        value, error, reidentified, exploits = _play(table, people, planned, budget, price, rng, draws)
    accesses = attack.discount * value > attack.access_cost
    return BudgetPlan(
        value=attack.discount * value - attack.access_cost if accesses else 0.0,
        value_after_access=value,
        standard_error=error,
        upper_bound=bound,
        gap=max(0.0, 1.0 - value / bound) if bound > 0 else 0.0,
        price=price,
        accesses=accesses,
        reidentified=reidentified[position] * accesses,
        exploits=exploits[position] * accesses,
    )


class _Table(NamedTuple):
    """Tables of the policy, per stage unless stated otherwise."""

    start: Sizes
    end: Sizes
    people: Floats  # g / prior
    at: NDArray[np.intp]  # number of its distinct size
    first: Sizes  # first record of the stage's size, among the records worth linking
    last: Sizes  # one past the last such record
    beginning: Sizes  # position of the stage's item for 0 exploits in the two tables below
    best: Sizes  # by stage and exploits left: maximum number of exploits to make
    reward: Floats  # by stage and maximum number of exploits: expected reward, given that the record reaches the stage


def _steps(attack: SequentialAttack, exploits: int) -> Floats:
    """Return the terms of linking and of each exploit, for `stages_of`.

    Column 0 is linking, and column j the j-th exploit. The rows are: expected outlay; number of exploits (0 for
    linking, else 1); and the shares of later rewards and of later exploits that remain after a miss.
    """
    cost = attack.exploit_cost + attack.detection(exploits) * attack.penalty_due
    one = np.ones(exploits + 1)
    return np.stack([np.append(attack.link_cost, cost), np.append(0.0, one[1:]), attack.discount * one, one])


def _bound(attack: SequentialAttack, stages: Stages, counts: NDArray[np.intp], budget: int) -> tuple[float, float]:
    """Return the lowest upper bound over prices, and the price that gives it.

    The price is 0 if all stages together are expected to use less than the budget.
    """
    people, length = stages.size / attack.prior, stages.end - stages.start
    arrives = counts * (people - stages.start) / people
    reward = arrives * _discount_at(attack, stages.start) * stages.reward
    used = np.cumsum(arrives * (length - length * (length - 1) / 2 / (people - stages.start)))
    last = int(np.searchsorted(used, budget))
    if last == len(used):
        return float(reward.sum()), 0.0
    before = used[last - 1] if last else 0.0
    part = (budget - before) / (used[last] - before)
    return float(reward[:last].sum() + part * reward[last]), float(stages.level[last])


def _discount_at(attack: SequentialAttack, start: Sizes) -> Floats:
    """Return the discount factor from the record's first step to a stage's start."""
    return np.where(start > 0, attack.discount ** (1.0 + start), 1.0)


def _table(
    attack: SequentialAttack,
    stages: Stages,
    steps: Floats,
    at: NDArray[np.intp],
    counts: NDArray[np.intp],
    planned: Sizes,
) -> _Table:
    last = np.cumsum(np.where(planned > 0, counts, 0))
    people = stages.size / attack.prior
    beginning = np.cumsum(stages.end - stages.start + 1) - (stages.end - stages.start + 1)
    worth = _discount_at(attack, stages.start)
    best, reward = _beginnings(stages.start, stages.end, people, worth, steps, attack.discount * attack.gain, beginning)
    first = (last - counts)[at]
    return _Table(stages.start, stages.end, people, at, first, last[at], beginning, best, reward)


def _play(
    table: _Table,
    people: Floats,
    planned: Sizes,
    budget: int,
    price: float,
    rng: np.random.Generator,
    draws: int,
) -> tuple[float, float, Floats, Floats]:
    """Return the policy's value, standard error, P_reid and expected exploits.

    The standard error is 0 if all cases are enumerated. P_reid and expected exploits are given per record, by distinct
    group size.
    """
    counts = np.zeros(len(planned), np.int64)
    counts[table.at] = table.last - table.first
    size = np.repeat(np.arange(len(planned)), counts)
    tally = np.zeros((3, len(table.start)))
    cases = prod(int(most) + 1 for most in planned[size]) if len(size) <= np.log2(draws) else np.inf
    value, error = 0.0, 0.0
    if cases <= draws:
        hit = 1.0 / people[size]
        for case in product(*(range(most + 1) for most in planned[size])):
            hits = np.array(case, dtype=np.int64)
            weight = float(np.where(hits == planned[size], 1.0 - hit * planned[size], hit).prod())
            value += weight * _one_case(table, hits, budget, price, weight, tally)
    else:
        found = np.zeros(draws)
        for draw in range(draws):
            hits = (rng.random(len(size)) * people[size]).astype(np.int64)
            found[draw] = _one_case(table, hits, budget, price, 1.0 / draws, tally)
        value, error = float(found.mean()), float(found.std(ddof=1) / np.sqrt(draws))
    # Divided by the number of records that reach the stage, so a stage that is always played adds no noise.
    most, made = tally[1:] / np.where(tally[0] > 0, tally[0], 1.0)
    arrives = (table.people - table.start) / table.people
    reidentified, exploits = np.zeros(len(planned)), np.zeros(len(planned))
    np.add.at(reidentified, table.at, most / table.people)
    np.add.at(exploits, table.at, arrives * made)
    return value, error, reidentified, exploits


@numba.njit(cache=True)
def _beginnings(
    start: Sizes, end: Sizes, people: Floats, worth: Floats, steps: Floats, gain_due: float, beginning: Sizes
) -> tuple[Sizes, Floats]:
    """Return the tables `best` and `reward` of `_Table`.

    For a stage and k exploits left, `best` holds the number of exploits, at most k, with the highest expected reward
    (the lowest number among ties), and `reward` the expected reward of k exploits that end at a hit.
    """
    total = 0 if len(end) == 0 else beginning[-1] + end[-1] - start[-1] + 1
    best, reward = np.zeros(total, np.int64), np.zeros(total)
    for i in range(len(start)):
        b = beginning[i]
        weight = worth[i]
        earned = 0.0
        if start[i] == 0:
            earned = -steps[0, 0]
            weight *= steps[2, 0]
        for j in range(start[i], end[i]):
            hit = 1.0 / (people[i] - j)
            k = b + j - start[i] + 1
            earned += weight * (hit * gain_due - steps[0, j + 1])
            weight *= (1.0 - hit) * steps[2, j + 1]
            reward[k] = earned
            best[k] = k - b if earned > reward[b + best[k - 1]] else best[k - 1]
    return best, reward


@numba.njit(cache=True)
def _one_case(table: _Table, hits: Sizes, budget: int, price: float, weight: float, tally: Floats) -> float:
    """Return the payoff of the policy if exploit ``hits[r]`` of record r would hit.

    If the policy makes fewer exploits of a record, none of them hits. The control variate (see the module's docstring)
    is already subtracted. Adds to `tally`, which has three rows and one column per stage: the number of records that
    reach the stage, the maximum number of exploits that they may then make, and the expected number of exploits.
    """
    given_up = np.zeros(len(hits), np.bool_)
    left, value = budget, 0.0
    for i in range(len(table.start)):
        start, length, people = table.start[i], table.end[i] - table.start[i], table.people[i]
        for r in range(table.first[i], table.last[i]):
            if hits[r] < start:
                continue
            tally[0, i] += weight
            most = 0 if given_up[r] else table.best[table.beginning[i] + min(length, left)]
            given_up[r] = most < length
            if most == 0:
                continue
            made = min(most, hits[r] - start + 1)
            expected = most - most * (most - 1) / 2 / (people - start)
            value += table.reward[table.beginning[i] + most] - price * (expected - made)
            tally[1, i] += weight * most
            tally[2, i] += weight * expected
            left -= made
    return float(value)
