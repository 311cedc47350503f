"""Attacks of one adversary on a whole file, without and with a budget of exploits.

Without a budget (`plan_file`): the model. One adversary attacks a file of R records. It knows every record's group size
g in the registry from the start. The prior is equal for all records, and the presence and position of the records'
persons are independent. Access is paid once and takes one step. Then each step is one action: link one record (C_l,
before its first exploit), exploit the next candidate of one linked record, or stop for good. Every action, on any
record, advances the common clock by one step, and money is discounted by gamma per step. Exploit j of a group of size g
(after j exploits without a hit) costs C_e, hits with probability ``h = 1 / (g / prior - j)`` (Eq. 3) and is detected,
independently, with probability p_j (Eq. 4; j counts the exploits of that record). The gain comes one step later. The
penalty is charged for every detected exploit, at the time given by `penalty_timing`. A record with a hit is finished,
which takes no step. Without `detection_ends_attack`, detection has no further consequence. With it, a detected exploit
is the last exploit of the whole attack, on all records (a hit of that exploit still counts).

Why it can be solved exactly. Each record, unlinked or linked with j exploits made, is a chain that moves only when the
adversary acts on it. An exploit passes on ``a = gamma`` of all later money, or ``a = gamma (1 - p_j)`` if detection
ends the attack: the end is the same for every record, so it acts as a discount that depends on the chain. This is a
(semi-Markov) bandit with stopping as an arm that pays nothing, so the index rule of Gittins is optimal: act on the
record with the highest index, and stop when no index is above 0. The index of a state is the best ratio, over numbers
of steps ahead, of the expected discounted reward to the expected loss of discount: the amount for which the adversary
would give up the whole attack. A limit on penalties (n_f) would link the records by more than the clock; it is not
supported.

A record's path is known until a hit, so the ratios are slopes of the concave majorant of the cumulative points (loss of
discount, reward) along the path. The pieces of the majorant are the record's stages: a stage, once begun, is finished
unless it hits, and the stages of a record have falling levels. Over the file, the rule plays all stages by falling
level. The value is the sum over stages of their reward times the discount that the earlier stages pass on, which is a
product over independent records. The re-identification probabilities follow in the same way with gamma = 1. (Summed by
parts, this is Whittle's formula for the value of a bandit, the integral of 1 - the product of the discounts passed on
up to each level.) With gamma = 1 and no end by detection, records do not compete: indices are infinite or 0, and all
orders are equally good.

With a budget of B exploits (`plan_with_budget`): the model. The adversary pays once for access, which takes one step,
and knows every record's group size from the start. It can then act on the records in any order, and return to them, but
makes no more than B exploits in total; links are not counted. Hits, detection, costs and penalties (charged for every
detected exploit) are as without a budget, and detection has no further consequence. Unlike there, waiting is free: a
record's money is discounted by the record's own steps (its link is step 0, exploit j is step 1 + j, its gain one step
later), as if records were planned one by one. Only the budget links the records. A budget that never runs out gives the
sum of the records' separate values, and with discount 1 no amount is discounted. (On one clock with gamma = .9, no more
than a few dozen exploits matter, and a budget would hardly bind.)

The bound. Let an exploit also cost a price c >= 0. Any plan within the budget makes at most B exploits in every case,
so its value is at most ``c B`` plus its payoff at that price. Without the budget, the records are independent, so no
plan earns more at that price than the sum over records of the best payoff of each record. Hence ``c B + sum U(c)`` is
an upper bound for every c, and the lowest of these bounds is used. A plan for one record is a number m of exploits
after which to stop. The record's U(c) is the maximum of (expected reward) - c (expected exploits), which follows from
the concave majorant of the two along the record's path: ``U(c) = sum over stages of (reward - c use)+`` with stages of
falling level reward / use, as above. The lowest bound thus fills the budget with stages by falling level, the last one
in part: it is the payoff of B exploits if the budget had to hold only on average.

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

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import (
    Floats,
    SequentialAttack,
    Sizes,
    checked_group_sizes,
    exploit_values,
    running_products,
    running_sums,
)
from reidsim.adversaries.sequential.planning import value_after_access
from reidsim.core.errors import InputError, refuse_first
from reidsim.core.numerics import compiled

# Maximum number of states, over all distinct group sizes, for which stages are computed.
_MOST_STATES = 100_000_000


@dataclass(frozen=True)
class FilePlan:
    """Plan for a file; amounts in currency units for the whole file.

    Parameters
    ----------
    value : float
        V(x_0), the initial expected discounted payoff, net of the cost of access; 0 without access.
    value_after_access : float
        Expected discounted payoff once access is paid.
    reidentified : ndarray of float64, shape (n_records,)
        P_reid, the probability that each record is re-identified; 0 without access. Records of equal size are attacked
        in random order.
    exploits : ndarray of float64, shape (n_records,)
        Expected number of exploits (people the adversary acts against); 0 without access.
    standard_error : float
        Standard error of `value_after_access`; 0 if it is exact, as without a budget.
    upper_bound : float
        Upper bound on the payoff of any plan after access.
    price : float
        Price c per exploit that gives the lowest bound; 0 if no budget binds on average.
    """

    value: float
    value_after_access: float
    reidentified: Floats
    exploits: Floats
    standard_error: float
    upper_bound: float
    price: float

    @property
    def accesses(self) -> bool:
        """Whether the registry is accessed: its discounted value exceeds the access cost."""
        return self.value > 0


class _Stages(NamedTuple):
    """Stages of all distinct group sizes with a level above 0.

    They are sorted by falling level, then by growing group size. A stage is a run of consecutive actions on one record,
    which the adversary completes unless one of them hits; see the module's docstring. Arrays have shape (n_stages,).

    Attributes
    ----------
    at : ndarray of int
        Number of the distinct group size.
    start, end : ndarray of int64
        The stage makes exploits ``start``, ..., ``end - 1``; a stage with start 0 first links the record.
    level : ndarray of float64
        Expected reward per unit of the resource for which records compete (discount, or exploits of a budget), both
        seen from the time of linking.
    reward : ndarray of float64
        Expected reward of the stage, seen from its start, given that the record reaches it.
    people : ndarray of float64
        Group size divided by the prior.
    """

    at: Sizes
    start: Sizes
    end: Sizes
    level: Floats
    reward: Floats
    people: Floats


class _File:
    """A file's distinct group sizes, their stages, and the terms of each action.

    `steps` has a column for linking and one for each exploit. Its rows are: expected outlay; use of the resource for
    which records compete; and the shares of later rewards and of later use that remain after a miss.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    group_sizes : ndarray of shape (n_records,)
        Number of matching records in the registry.
    budget : bool
        Whether records compete for exploits of a budget, not for discount.

    Raises
    ------
    InputError
        If the file is empty, a group size is not a whole number of 0 or more, penalties are limited, or the group sizes
        that are worth linking are together too large.
    """

    def __init__(self, attack: SequentialAttack, group_sizes: NDArray[np.number], *, budget: bool) -> None:
        self.attack = attack
        sizes = np.atleast_1d(checked_group_sizes(group_sizes))
        limit, expected = attack.max_penalties, "no limit in a plan for a whole file"
        problem, shape = "group sizes of the file have the wrong shape", "one size for each record, at least one record"
        refuse_first(
            (attack.counts_penalties, "penalties are limited", "max_penalties", limit, expected),
            (sizes.ndim != 1 or not sizes.size, problem, "group sizes", sizes.shape, shape),
        )
        self.distinct, self.position, self.counts = np.unique(sizes, return_inverse=True, return_counts=True)
        values = exploit_values(attack, int(self.distinct.max())).at(self.distinct)
        linked = self.distinct[value_after_access(attack, values) > 0]
        if linked.sum() > _MOST_STATES:
            raise InputError(
                "group sizes too large for a plan of a whole file",
                found=int(linked.max()),
                hint="the attack is profitable at this size; limit the group sizes",
            )
        n, discount = int(linked.max(initial=0)), attack.discount
        ends, one = np.append(0.0, 1.0 - attack.going_on(n)), np.ones(n + 1)
        cost = np.append(attack.link_cost, attack.exploit_cost + attack.detection(n) * attack.penalty_due)
        # The loss of discount equals 1 - passed, written without cancellation.
        use = np.append(0.0, one[1:]) if budget else 1.0 - discount + discount * ends
        self.passed = discount * (1.0 - ends)
        self.steps = np.stack([cost, use, self.passed, one if budget else self.passed])
        self.gain_due = float(discount * attack.gain)
        parts = [_majorant(int(size), float(attack.prior), self.gain_due, self.steps) for size in linked]
        none = (np.zeros(0, np.int64),) * 2 + (np.zeros(0),) * 2
        start, end, level, reward = (np.concatenate(item) for item in zip(none, *parts, strict=True))
        order = np.argsort(-level, kind="stable")
        at = np.searchsorted(self.distinct, np.repeat(linked, [len(part[0]) for part in parts]))[order]
        people = self.distinct[at] / attack.prior
        self.stages = _Stages(at, start[order], end[order], level[order], reward[order], people)

    def by_size(self, amounts: Floats) -> Floats:
        """Return the sum of an amount over the stages of each distinct group size.

        `amounts` has shape (n_stages,); the result has shape (n_distinct,).
        """
        return np.bincount(self.stages.at, amounts, minlength=len(self.distinct)).astype(np.float64)

    def plan(self, value: float, outcomes: tuple[Floats, Floats], error: float, bound: float, price: float) -> FilePlan:
        """Return the `FilePlan` with `value` after access, in currency units.

        `outcomes` are P_reid and expected exploits by distinct group size; both become 0 if access does not pay.
        `error`, `bound` and `price` are the plan's `standard_error`, `upper_bound` and `price`.
        """
        net = self.attack.discount * value - self.attack.access_cost
        reidentified, exploits = (np.where(net > 0, each, 0.0)[self.position] for each in outcomes)
        return FilePlan(max(net, 0.0), value, reidentified, exploits, error, bound, price)


def plan_file(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> FilePlan:
    """Plan an attack on all records of a file with one registry and one clock.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack; `access_cost` is paid once for the file.
    group_sizes : ndarray of shape (n_records,)
        Number of matching records in the registry, whole numbers of 0 or more.

    Returns
    -------
    FilePlan

    Raises
    ------
    InputError
        If the file is empty, a group size is not a whole number of 0 or more, penalties are limited, or the group sizes
        that are worth linking are together too large.
    """
    file = _File(attack, group_sizes, budget=False)
    at, start, end, _, reward, people = file.stages
    counts, passed = file.counts[at].astype(np.float64), file.passed

    # Discounts on the common clock, for amounts.
    turn = _turn(file.stages, counts, passed)
    own = np.where(start > 0, running_products(passed)[start + 1] * (people - start) / people, 1.0)
    value = float((counts * turn * own * reward).sum())

    # The same order of stages without discount, for probabilities.
    passed = passed / attack.discount
    turn = _turn(file.stages, counts, passed) if attack.detection_ends_attack else np.ones(len(at))
    reach = running_products(passed)[1:-1]
    made, made_in_order = running_sums(reach), running_sums(np.arange(len(reach)) * reach)
    tries = made[end] - made[start]
    missing = tries - (made_in_order[end] - made_in_order[start]) / people
    outcomes = file.by_size(turn * tries / people), file.by_size(turn * missing)
    return file.plan(value, outcomes, error=0.0, bound=value, price=0.0)


def plan_with_budget(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    budget: int,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
) -> FilePlan:
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
    FilePlan

    Raises
    ------
    InputError
        If the file is empty or a group size is not a whole number of 0 or more; if penalties are limited or detection
        ends the attack; or if the group sizes that are worth linking are together too large.
    """
    if attack.detection_ends_attack:
        problem, where = "a budget cannot be planned if detection ends the attack", "detection_ends_attack"
        raise InputError(problem, where=where, found=True, expected="false")
    file = _File(attack, group_sizes, budget=True)
    at, start, end, level, reward, stage_people = file.stages
    counts, length = file.counts[at], end - start
    arrives = (stage_people - start) / stage_people
    worth = np.where(start > 0, attack.discount ** (1.0 + start), 1.0)
    # The lowest upper bound over prices, and the price that gives it.
    rewards, arriving = counts * arrives * worth * reward, counts * arrives
    used = np.cumsum(arriving * (length - length * (length - 1) / 2 / (stage_people - start)))
    last = int(np.searchsorted(used, budget))
    bound, price = float(rewards.sum()), 0.0
    if last < len(used):
        before = used[last - 1] if last else 0.0
        part = (budget - before) / (used[last] - before)
        bound, price = float(rewards[:last].sum() + part * rewards[last]), float(level[last])
    # Maximum number of exploits of a record, by distinct size.
    planned = np.zeros(len(file.distinct), np.int64)
    np.maximum.at(planned, at, end)
    people = np.maximum(file.distinct, 1) / attack.prior
    if budget >= (file.counts * planned).sum():
        exploits = planned - planned * (planned - 1) / 2 / people
        return file.plan(bound, (planned / people, exploits), error=0.0, bound=bound, price=price)
    linked = np.where(planned > 0, file.counts, 0)
    past = np.cumsum(linked)[at]
    first = past - counts
    beginning, best, earned = _beginnings(file, worth)
    size = np.repeat(np.arange(len(planned)), linked)
    most, chance = planned[size], 1.0 / people[size]
    cases = prod(int(each) + 1 for each in most) if len(size) <= np.log2(draws) else np.inf
    exact = cases <= draws
    if exact:
        each_case = (np.array(case, dtype=np.int64) for case in product(*(range(number + 1) for number in most)))
        worlds = ((float(np.where(hits == most, 1.0 - chance * most, chance).prod()), hits) for hits in each_case)
    else:
        random = ((rng.random(len(size)) * people[size]).astype(np.int64) for _ in range(draws))
        worlds = ((1.0 / draws, hits) for hits in random)
    tally = np.zeros((3, len(at)))
    found = np.array(
        [
            (weight, _one_case(file.stages, first, past, beginning, best, earned, hits, budget, price, weight, tally))
            for weight, hits in worlds
        ]
    ).T
    value = float(sum(found[0] * found[1]) if exact else found[1].mean())
    error = 0.0 if exact else float(found[1].std(ddof=1) / np.sqrt(draws))
    # Divided by the number of records that reach the stage, so a stage that is always played adds no noise.
    tried, made = tally[1:] / np.where(tally[0] > 0, tally[0], 1.0)
    return file.plan(value, (file.by_size(tried / stage_people), file.by_size(arrives * made)), error, bound, price)


def _beginnings(file: _File, worth: Floats) -> tuple[Sizes, Sizes, Floats]:
    """Return the arguments `beginning`, `best` and `rewards` of `_one_case`.

    The items of stage i (a run of consecutive actions on one record) start at ``beginning[i]``, one for each k from 0
    to the stage's number of exploits. With k exploits left, `best` is the number of exploits, at most k, with the
    highest expected reward (the lowest number among ties). `rewards` is the expected reward of k exploits, or fewer if
    one of them hits. `worth` is the discount factor from the record's first step to each stage's start.
    """
    (link_cost, cost), linking = np.split(file.steps[0], [1]), file.attack.discount
    best, rewards = [np.zeros(0, np.int64)], [np.zeros(0)]
    _, starts, ends, _, _, people = file.stages
    for start, end, among, weight in zip(starts, ends, people, worth, strict=True):
        hit = 1.0 / (among - np.arange(start, end))
        weights = np.cumprod(np.append(weight if start else weight * linking, (1.0 - hit) * linking))[:-1]
        paid, rewards_of = 0.0 if start else -link_cost, weights * (hit * file.gain_due - cost[start:end])
        earned = np.append(0.0, np.cumsum(np.append(paid, rewards_of))[1:])
        highest = np.maximum.accumulate(earned)
        rises = np.append(False, highest[1:] > highest[:-1])
        best.append(np.maximum.accumulate(np.where(rises, np.arange(len(rises)), 0)))
        rewards.append(earned)
    items = ends - starts + 1
    return np.cumsum(items) - items, np.concatenate(best), np.concatenate(rewards)


def _turn(stages: _Stages, counts: Floats, passed: Floats) -> Floats:
    """Return the expected discount of each stage by earlier actions on other records.

    The result has shape (n_stages,). It is the expected product of the factors of all actions on other records before
    the stage, averaged over the random order of records of equal size. An action on a record is made only if no earlier
    exploit of the record hit. `counts` is the number of records of each stage's group size, shape (n_stages,). `passed`
    is the factor of each exploit, by number of exploits of the record made before.
    """
    people, kept = stages.people, running_products(passed)[1:]
    hits = running_sums(kept[1:])

    def share(m: Sizes) -> Floats:
        return (hits[m] + kept[m] * (people - m)) / people

    before, after = np.where(stages.start > 0, share(stages.start), 1.0), share(stages.end)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A factor of 0 means that the attack has ended; the ratio is then not needed.
        drop = np.where(before > 0, np.minimum(np.log(after / before), 0.0), 0.0)
        others = running_sums(counts * drop)[:-1] - np.log(before)
        # Mean of rho ** 0, ..., rho ** (K - 1) with rho = exp(drop), over the positions of K equal records.
        tied = np.where(drop < 0, np.expm1(counts * drop) / (counts * np.expm1(drop)), 1.0)
    return np.where(before > 0, np.exp(np.minimum(others, 0.0)) * tied, 0.0)


@compiled()
def _ratio(reward: float, use: float) -> float:
    if use > 0.0:
        return reward / use
    return np.sign(reward) * np.inf if reward != 0.0 else 0.0


@compiled()
def _majorant(size: int, prior: float, gain_due: float, steps: Floats) -> tuple[Sizes, Sizes, Floats, Floats]:
    """Return a record's stages with a positive reward: start, end, level and reward.

    The record's group has `size` people. `prior` is the probability that the record's person is in the registry;
    `gain_due` is the gain of a hit, discounted to the time of the exploit. For `steps`, one column per step, see
    `_File`; for the items of the result, see `_Stages`. Stages are formed from the last step backwards. Each step
    begins a stage, which absorbs the next stage while that one has a higher ratio of reward to use (loss of discount,
    or exploits of a budget). So the ratios fall from stage to stage, and the result ends before the first stage without
    a positive reward. Reward and use of a stage are relative to the time of its first step, so nothing underflows.
    """
    ends = np.zeros(size + 1, np.int64)
    reward, use = np.zeros(size + 1), np.zeros(size + 1)
    passed = np.zeros((size + 1, 2))
    top = -1
    for end in range(size, -1, -1):
        at = end
        hit = 1.0 / (size / prior - (end - 1)) if end > 0 else 0.0
        r, u = hit * gain_due - steps[0, end], steps[1, end]
        p, q = (1.0 - hit) * steps[2, end], (1.0 - hit) * steps[3, end]
        while top >= 0 and _ratio(reward[top], use[top]) * (p / q if q > 0.0 else 1.0) > _ratio(r, u):
            r, u = r + p * reward[top], u + q * use[top]
            p, q = p * passed[top, 0], q * passed[top, 1]
            at = ends[top]
            top -= 1
        top += 1
        ends[top], reward[top], use[top], passed[top, 0], passed[top, 1] = at, r, u, p, q
    starts, stops = np.zeros(top + 1, np.int64), np.zeros(top + 1, np.int64)
    level, worth = np.zeros(top + 1), np.zeros(top + 1)
    scale, start, n = 1.0, 0, 0
    while top >= 0 and reward[top] > 0.0:
        starts[n], stops[n], worth[n] = start, ends[top], reward[top]
        level[n] = scale * _ratio(reward[top], use[top])
        if n > 0:
            level[n] = min(level[n], level[n - 1])
        start = ends[top]
        scale *= passed[top, 0] / passed[top, 1] if passed[top, 1] > 0.0 else 1.0
        n += 1
        top -= 1
    return starts[:n], stops[:n], level[:n], worth[:n]


@compiled()
def _one_case(
    stages: _Stages,
    first: Sizes,
    last: Sizes,
    beginning: Sizes,
    best: Sizes,
    rewards: Floats,
    hits: Sizes,
    budget: int,
    price: float,
    weight: float,
    tally: Floats,
) -> float:
    """Return the payoff of the policy if exploit ``hits[r]`` of record r would hit.

    If the policy makes no such exploit of a record, no exploit of it hits. The case has probability `weight`, and
    `price` is the price per exploit of the bound. The control variate (see the module's docstring) is already
    subtracted. Adds to `tally`, which has three rows and one column per stage: the number of records that reach the
    stage, the maximum number of exploits that they may then make, and the expected number of exploits.

    The records worth linking are numbered from 0, by group size; the records of stage i are ``first[i]``, ...,
    ``last[i] - 1``. From item ``beginning[i]`` on, `best` has the maximum number of exploits to make, by number of
    exploits left, and `rewards` the expected reward, by maximum number, given that the record reaches the stage.
    """
    given_up = np.zeros(len(hits), np.bool_)
    left, value = budget, 0.0
    for i in range(len(stages.start)):
        start, length, people = stages.start[i], stages.end[i] - stages.start[i], stages.people[i]
        for r in range(first[i], last[i]):
            if hits[r] < start:
                continue
            tally[0, i] += weight
            most = 0 if given_up[r] else best[beginning[i] + min(length, left)]
            given_up[r] = most < length
            if most == 0:
                continue
            made = min(most, hits[r] - start + 1)
            expected = most - most * (most - 1) / 2 / (people - start)
            value += rewards[beginning[i] + most] - price * (expected - made)
            tally[1, i] += weight * most
            tally[2, i] += weight * expected
            left -= made
    return float(value)
