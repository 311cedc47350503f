"""Attack of one adversary on a whole file: order of exploits and time to stop.

The model. One adversary attacks a file of R records. It knows every record's group size g in the registry from the
start. The prior is equal for all records, and the presence and position of the records' persons are independent. Access
is paid once and takes one step. Then each step is one action: link one record (C_l, before its first exploit), exploit
the next candidate of one linked record, or stop for good. Every action, on any record, advances the common clock by one
step, and money is discounted by gamma per step. Exploit j of a group of size g (after j exploits without a hit) costs
C_e, hits with probability ``h = 1 / (g / prior - j)`` (Eq. 3) and is detected, independently, with probability p_j
(Eq. 4; j counts the exploits of that record). The gain comes one step later. The penalty is charged for every detected
exploit, at the time given by `penalty_timing`. A record with a hit is finished, which takes no step. Without
`detection_ends_attack`, detection has no further consequence. With it, a detected exploit is the last exploit of the
whole attack, on all records (a hit of that exploit still counts).

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import SequentialAttack, checked_group_sizes
from reidsim.adversaries.sequential.exploit_values import exploit_values, running_sums
from reidsim.adversaries.sequential.planning import value_after_access
from reidsim.errors import InputError

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]

# Maximum number of states, over all distinct group sizes, for which stages are computed.
_MOST_STATES = 100_000_000

# Row of the shares of later rewards in the terms of `stages_of`.
_PASSED_REWARD = 2


@dataclass(frozen=True)
class FilePlan:
    """Plan for a file; amounts in currency units for the whole file.

    Parameters
    ----------
    value : float
        V(x_0), the initial expected discounted payoff; 0 without access.
    value_after_access : float
        Expected discounted payoff once access is paid.
    accesses : bool
        Whether `access_threshold` exceeds the cost of access; False if they are equal.
    access_threshold : float
        Lowest access cost at which the adversary does not access, ``discount x value_after_access``.
    size_threshold : int or None
        Smallest group size not worth linking after access; None if it exceeds the largest size of the file.
    reidentified : ndarray of float64, shape (n_records,)
        P_reid, the probability that each record is re-identified; 0 without access. Records of equal size are attacked
        in random order.
    exploits : ndarray of float64, shape (n_records,)
        Expected number of exploits (people the adversary acts against) for each record; 0 without access.
    """

    value: float
    value_after_access: float
    accesses: bool
    access_threshold: float
    size_threshold: int | None
    reidentified: Floats
    exploits: Floats


@dataclass(frozen=True)
class Stages:
    """Stages of all distinct group sizes with a level above 0, by falling level.

    A stage is a run of consecutive actions on one record, which the adversary completes unless one of them hits; see
    the module's docstring. Arrays have shape (n_stages,).

    Parameters
    ----------
    size : ndarray of int64
        Group size.
    start, end : ndarray of int64
        The stage makes exploits ``start``, ..., ``end - 1``; a stage with start 0 first links the record.
    level : ndarray of float64
        Expected reward per unit of the resource for which records compete (discount, or exploits of a budget), both
        seen from the time of linking.
    reward : ndarray of float64
        Expected reward of the stage, seen from its start, given that the record reaches it.
    """

    size: Sizes
    start: Sizes
    end: Sizes
    level: Floats
    reward: Floats


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
    sizes = checked_file(attack, group_sizes)
    distinct, position, count = np.unique(sizes, return_inverse=True, return_counts=True)
    worth_linking, size_threshold = sizes_worth_linking(attack, distinct)
    steps = _steps(attack, int(worth_linking.max(initial=0)))
    stages = stages_of(worth_linking, attack.prior, attack.discount * attack.gain, steps)
    at = np.searchsorted(distinct, stages.size)
    people, counts = stages.size / attack.prior, count[at].astype(np.float64)

    # Discounts on the common clock, for amounts.
    passed = steps[_PASSED_REWARD]
    turn = _turn(stages, people, counts, passed)
    own = np.where(stages.start > 0, _running(passed)[stages.start + 1] * (people - stages.start) / people, 1.0)
    value = float((counts * turn * own * stages.reward).sum())

    # The same order of stages without discount, for probabilities.
    passed = passed / attack.discount
    turn = _turn(stages, people, counts, passed) if attack.detection_ends_attack else np.ones(len(at))
    reach = _running(passed)[1:-1]
    made, made_in_order = running_sums(reach), running_sums(np.arange(len(reach)) * reach)
    tries = made[stages.end] - made[stages.start]
    missing = tries - (made_in_order[stages.end] - made_in_order[stages.start]) / people
    reidentified = np.bincount(at, turn * tries / people, minlength=len(distinct))
    exploits = np.bincount(at, turn * missing, minlength=len(distinct))

    threshold = attack.discount * value
    accesses = threshold > attack.access_cost
    return FilePlan(
        value=threshold - attack.access_cost if accesses else 0.0,
        value_after_access=value,
        accesses=accesses,
        access_threshold=threshold,
        size_threshold=size_threshold,
        reidentified=np.where(accesses, reidentified, 0.0)[position],
        exploits=np.where(accesses, exploits, 0.0)[position],
    )


def checked_file(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> Sizes:
    """Return the group sizes of a file, shape (n_records,).

    Raises InputError if penalties are limited, the sizes are not one row, or a size is not a whole number of 0 or more.
    """
    if attack.counts_penalties:
        expected = "no limit in a plan for a whole file"
        raise InputError("penalties are limited", where="max_penalties", found=attack.max_penalties, expected=expected)
    sizes = np.atleast_1d(checked_group_sizes(group_sizes))
    if sizes.ndim != 1 or not sizes.size:
        raise InputError(
            "group sizes of the file have the wrong shape",
            where="group sizes",
            found=sizes.shape,
            expected="one size for each record, at least one record",
        )
    return sizes


def sizes_worth_linking(attack: SequentialAttack, distinct: Sizes) -> tuple[Sizes, int | None]:
    """Return the group sizes worth linking after access, and the smallest other size.

    The second value is the smallest size that is not worth linking, among all sizes up to the largest of the file,
    whether they occur or not; None if all are worth linking.
    """
    values = exploit_values(attack, int(distinct.max(initial=0)))
    away = value_after_access(attack, values, np.arange(1, values.largest + 1)) <= 0
    threshold = int(away.argmax()) + 1 if away.any() else None
    worth_linking = distinct[value_after_access(attack, values, distinct) > 0]
    if worth_linking.sum() > _MOST_STATES:
        raise InputError(
            "group sizes too large for a plan of a whole file",
            found=int(worth_linking.max()),
            hint="the attack is profitable at this size; limit the group sizes",
        )
    return worth_linking, threshold


def stages_of(distinct: Sizes, prior: float, gain_due: float, steps: Floats) -> Stages:
    """Return the stages of group sizes, by falling level, then by growing size.

    Parameters
    ----------
    distinct : ndarray of int64, shape (n_sizes,)
        Distinct group sizes.
    prior : float
        Probability that a record's person is in the registry.
    gain_due : float
        Value of a hit at the time of the exploit, in currency units.
    steps : ndarray of float64, shape (4, 1 + n_exploits)
        Column 0 is linking, and column j the j-th exploit. The rows are: expected outlay; use of the resource for which
        records compete; and the shares of later rewards and of later use that remain after a miss.
    """
    parts = [_majorant(int(size), prior, gain_due, steps)[:-1] for size in distinct]
    size = np.repeat(distinct, [len(part[0]) for part in parts])
    if not len(size):
        none = np.zeros(0, np.int64)
        return Stages(none, none, none, np.zeros(0), np.zeros(0))
    start, end, level, reward = (np.concatenate(item) for item in zip(*parts, strict=True))
    order = np.argsort(-level, kind="stable")
    return Stages(size[order], start[order], end[order], level[order], reward[order])


def _steps(attack: SequentialAttack, exploits: int) -> Floats:
    """Return the terms of linking and of each exploit, for `stages_of`.

    The use is the loss of discount. The last two rows are equal.
    """
    detection, discount = attack.detection(exploits), attack.discount
    ends = detection if attack.detection_ends_attack else np.zeros(exploits)
    cost = np.append(attack.link_cost, attack.exploit_cost + detection * attack.penalty_due)
    passed = np.append(discount, discount * (1.0 - ends))
    # The loss equals 1 - passed, written without cancellation.
    return np.stack([cost, np.append(1.0 - discount, 1.0 - discount + discount * ends), passed, passed])


def _running(factors: Floats) -> Floats:
    """Return the products of the first 0, 1, ... factors, shape (n + 1,)."""
    return np.concatenate([[1.0], np.cumprod(factors)])


def _turn(stages: Stages, people: Floats, counts: Floats, passed: Floats) -> Floats:
    """Return the discount that all other records pass on before each stage.

    The result has shape (n_stages,) and is averaged over the random order of records of equal size. A record that was
    played up to m exploits, unless it hit before, passes on the mean of the product of its factors.
    """
    kept = _running(passed)[1:]
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


@numba.njit(cache=True)
def _ratio(reward: float, use: float) -> float:
    if use > 0.0:
        return reward / use
    if reward > 0.0:
        return np.inf
    return -np.inf if reward < 0.0 else 0.0


@numba.njit(cache=True)
def _majorant(size: int, prior: float, gain_due: float, steps: Floats) -> tuple[Sizes, Sizes, Floats, Floats, Floats]:
    """Return a record's stages (start, end, level, reward) and its states' indices.

    Item 0 of the indices is the unlinked state, and item j the state before the j-th exploit. From the last exploit
    backwards, each step is merged with the following pieces while their ratio is higher than its own; the final ratio
    is the index. All quantities are relative to the time of the step, so nothing underflows.
    """
    index = np.zeros(size + 1)
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
        index[end] = max(_ratio(r, u), 0.0)
    n = top + 1
    starts, stops = np.zeros(n, np.int64), np.zeros(n, np.int64)
    level, worth = np.zeros(n), np.zeros(n)
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
    return starts[:n], stops[:n], level[:n], worth[:n], index
