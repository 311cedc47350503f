"""From the worth of linked groups to the decision to attack: known groups, and groups known only in distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import SequentialAttack, checked_group_sizes
from reidsim.adversaries.sequential.exploit_values import ExploitValues, exploit_values
from reidsim.adversaries.sequential.programs import attack_programs
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess, unconfirmed_values
from reidsim.errors import InputError

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]

# Belief in group sizes this many standard deviations above the mean is below 1e-20 of the whole.
_SPREAD = 12.0


@dataclass(frozen=True)
class Plan:
    """Plan for each record; arrays of one shape.

    Parameters
    ----------
    value : ndarray of float64
        V(x_0), the payoff that the adversary expects at the outset under its belief; 0 where it does not access.
    accesses : ndarray of bool
        Whether it accesses the registry (it stays out when indifferent).
    reidentified : ndarray of float64
        P_reid: probability that it re-identifies the record, given the true group size (Eq. 5).
    exploits : ndarray of float64
        Expected number of people it acts against, given the true group size.
    true_payoff : ndarray of float64
        Expected discounted payoff of its plan, given the true group size.
    worth : ndarray of float64
        Worth of access under its belief, below 0 where it is a loss.
    pays : ndarray of bool
        Whether that is more than nothing.
    """

    value: Floats
    accesses: NDArray[np.bool_]
    reidentified: Floats
    exploits: Floats
    true_payoff: Floats
    worth: Floats
    pays: NDArray[np.bool_]


@dataclass(frozen=True)
class BinomialBelief:
    """Belief of an adversary who knows the registry's size and the share of people who match (Eq. 6).

    Parameters
    ----------
    registry_size : int
        n.
    match_probability : ndarray of float64
        P(r[QI]): share of the population with the record's values.
    """

    registry_size: int
    match_probability: Floats

    def __post_init__(self) -> None:
        if self.registry_size < 0:
            raise InputError("registry size is negative", found=self.registry_size)
        share = np.asarray(self.match_probability)
        if share.size and not (share.min() >= 0 and share.max() <= 1):
            worst = share[~((share >= 0) & (share <= 1))].flat[0].item()
            raise InputError("probability out of range", where="match probability", found=worst, expected="0 to 1")


def plan_known(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    *,
    accesses: NDArray[np.bool_] | None = None,
    signal: UnconfirmedSuccess | None = None,
) -> Plan:
    """Plan when the group size in the registry is known at the outset.

    Parameters
    ----------
    attack : SequentialAttack
    group_sizes : ndarray
        Registry records that match, whole numbers of 0 or more, any shape.
    accesses : ndarray of bool, optional
        Where it accesses, if that was decided on another belief.
    signal : UnconfirmedSuccess, optional
        Signal seen instead of the success of an exploit; `reidentified` is then the probability of
        claiming the right person.

    Returns
    -------
    Plan
    """
    sizes = checked_group_sizes(group_sizes)
    largest = int(sizes.max(initial=0))
    values = _values(attack, sizes) if signal is None else unconfirmed_values(attack, signal, largest)
    if signal is not None or attack.solver == "backward-induction":
        worth = attack.discount * value_after_access(attack, values, sizes) - attack.access_cost
    else:
        worth = attack_programs(attack).known_access(sizes)
    return _plan(attack, values, sizes, worth, accesses)


def plan_listed(
    attack: SequentialAttack, group_sizes: NDArray[np.number], among: NDArray[np.bool_], planned: Plan
) -> Plan:
    """Plan as `plan_known`, with outcomes given the registry's true members, unknown to the adversary.

    Its plan rests on the attack's prior. That is a mixture: with the prior the record's person is one of the group, any
    of them equally likely; so the mean given either case follows from the mean over both and the other case.

    Parameters
    ----------
    attack : SequentialAttack
    group_sizes : ndarray, shape (n,)
        Registry records that match, whole numbers of 0 or more.
    among : ndarray of bool, shape (n,)
        Whether the record's person is one of them.
    planned : Plan
        Result of `plan_known`.
    """
    sizes = checked_group_sizes(group_sizes)
    values = _values(attack, sizes)
    links = planned.accesses & (value_after_access(attack, values, sizes) > 0)
    at = np.where(links & (sizes <= values.largest), sizes, 0)
    tries, missing = values.exploits_if_missing[at], values.value_if_missing[at]

    def given(mean: Floats, if_not_among: Floats) -> Floats:
        if_among = (mean - (1.0 - attack.prior) * if_not_among) / attack.prior
        return np.where(among, if_among, if_not_among)

    linked = np.where(links, attack.discount * given(values.value[at], missing) - attack.link_cost, 0.0)
    return replace(
        planned,
        reidentified=np.where(among, tries / np.maximum(sizes, 1), 0.0),
        exploits=given(values.expected_exploits[at], tries),
        true_payoff=np.where(planned.accesses, attack.discount * linked - attack.access_cost, 0.0),
    )


def plan_unknown(
    attack: SequentialAttack,
    group_sizes: NDArray[np.number],
    belief: BinomialBelief,
    *,
    accesses: NDArray[np.bool_] | None = None,
) -> Plan:
    """Plan when only the registry's size and the share of matching people are known before access.

    Parameters
    ----------
    attack : SequentialAttack
    group_sizes : ndarray
        True group sizes in the registry, found after access; outcomes depend on them.
    belief : BinomialBelief
        Its probabilities have the shape of `group_sizes`.
    accesses : ndarray of bool, optional
        Where it accesses, if not where that is worth something.

    Returns
    -------
    Plan
    """
    sizes = checked_group_sizes(group_sizes)
    if attack.solver == "backward-induction":
        worth = attack.discount * expected_after_access(attack, belief) - attack.access_cost
    else:
        worth = attack_programs(attack).unknown_access(belief)
    return _plan(attack, _values(attack, sizes), sizes, worth, accesses)


def plan_baseline(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> Plan:
    """Plan like the baseline adversary of Eq. 7: one random exploit, or none.

    It weighs ``G prior / g - p_det C_p - C_d - C_l - C_e`` once, without discount, p_det being that of a first exploit.
    """
    sizes = checked_group_sizes(group_sizes)
    hit = np.where(sizes > 0, attack.prior / np.maximum(sizes, 1), 0.0)
    outlay = attack.detection(1)[0] * attack.penalty + attack.access_cost + attack.link_cost + attack.exploit_cost
    payoff = attack.gain * hit - outlay
    attacks = payoff > attack.indifference
    return Plan(
        value=np.maximum(payoff, 0.0),
        accesses=attacks,
        reidentified=np.where(attacks, hit, 0.0),
        exploits=attacks.astype(np.float64),
        true_payoff=np.maximum(payoff, 0.0),
        worth=payoff,
        pays=attacks,
    )


def attack_threshold(attack: SequentialAttack, *, largest: int = 1_000_000) -> int | None:
    """Return the smallest known group size that is not attacked, None if all up to `largest` are."""
    values = exploit_values(attack, largest)
    sizes = np.arange(1, values.largest + 1)
    worth = attack.discount * value_after_access(attack, values, sizes) - attack.access_cost
    away = worth <= attack.indifference
    if away.any():
        return int(sizes[away.argmax()])
    return values.largest + 1 if values.complete else None


def exploits_undetected(attack: SequentialAttack, group_sizes: NDArray[np.number]) -> Sizes:
    """Return how many exploits are made in a linked group if none hits and none is detected, shape of the sizes."""
    sizes = checked_group_sizes(group_sizes)
    values = _values(attack, sizes)
    return np.where(sizes <= values.largest, values.exploits_undetected[np.minimum(sizes, values.largest)], 0)


def value_after_access(attack: SequentialAttack, values: ExploitValues, sizes: Sizes) -> Floats:
    """Return V_access(g), the worth of holding the registry when the group size is g, same shape as `sizes`."""
    at = np.minimum(sizes, values.largest)
    worth = np.where(sizes > values.largest, 0.0, values.value[at])
    return np.maximum(0.0, attack.discount * worth - attack.link_cost)


def expected_after_access(attack: SequentialAttack, belief: BinomialBelief) -> Floats:
    """Return the belief's mean of V_access, same shape as its probabilities.

    Only sizes up to the table's cut contribute, so the cost does not grow with the registry. Weights come from
    scipy at the most likely of these sizes, and follow from there by the ratio of neighbouring binomial terms, which
    keeps full relative accuracy where a start at 0 would underflow.
    """
    n = belief.registry_size
    share = np.asarray(belief.match_probability, dtype=np.float64)
    mean = n * share.max(initial=0.0)
    values = _table(attack, int(min(n, np.ceil(mean + _SPREAD * np.sqrt(mean) + 60.0))))
    worth = value_after_access(attack, values, np.arange(values.largest + 1))
    last = int(np.flatnonzero(worth)[-1]) if worth.any() else 0
    if last == 0:
        return np.zeros(share.shape)
    distinct, position = np.unique(share, return_inverse=True)
    start = np.clip(np.floor((n + 1.0) * distinct), 1, min(last, n)).astype(np.int64)
    weight = scipy.stats.binom.pmf(start, n, distinct)
    mean_worth = _sum_binomial(worth[: last + 1], n, distinct, start, weight)
    return np.asarray(mean_worth[position].reshape(share.shape))


def _values(attack: SequentialAttack, sizes: Sizes) -> ExploitValues:
    """Return a table of the worth of linked groups of these sizes, computed by the attack's solver."""
    if attack.solver != "backward-induction":
        return attack_programs(attack).values(sizes)
    return _table(attack, int(sizes.max(initial=0)))


def _table(attack: SequentialAttack, largest: int) -> ExploitValues:
    """Return a table that reaches `largest`, or is complete; tables are kept, as every node asks for one."""
    try:
        return _kept_values(attack, 1 << max(largest - 1, 0).bit_length())
    except InputError:
        # Rounded up it may be too large where it is not; if it is, the message names the original size.
        return exploit_values(attack, largest)


@lru_cache(maxsize=64)
def _kept_values(attack: SequentialAttack, largest: int) -> ExploitValues:
    return exploit_values(attack, largest)


def _plan(
    attack: SequentialAttack,
    values: ExploitValues,
    sizes: Sizes,
    expected: Floats,
    accesses: NDArray[np.bool_] | None = None,
) -> Plan:
    """Return a plan that accesses where `expected` is positive, or as given by `accesses`; arrays of one shape."""
    at = np.where(sizes <= values.largest, sizes, 0)
    reidentified = attack.prior * values.exploits_if_missing[at] / np.maximum(sizes, 1)
    linked = value_after_access(attack, values, sizes)
    pays = expected > attack.indifference
    accesses = pays if accesses is None else accesses
    links = accesses & (linked > 0)
    return Plan(
        value=np.where(pays, expected, 0.0),
        accesses=accesses,
        reidentified=np.where(links, reidentified, 0.0),
        exploits=np.where(links, values.expected_exploits[at], 0.0),
        true_payoff=np.where(accesses, attack.discount * linked - attack.access_cost, 0.0),
        worth=expected,
        pays=pays,
    )


@numba.njit(cache=True)
def _sum_binomial(worth: Floats, n: int, share: Floats, start: Sizes, weight: Floats) -> Floats:
    """Sum worth[k] Binomial(k; n, p) over k >= 1 for each p, from its weight at `start` outwards."""
    sums = np.zeros(len(share))
    last = min(len(worth) - 1, n)
    for i in range(len(share)):
        p = share[i]
        if p <= 0.0 or start[i] > last:
            continue
        if p >= 1.0:
            if n <= last:
                sums[i] = worth[n]
            continue
        odds = p / (1.0 - p)
        term = weight[i]
        total = term * worth[start[i]]
        for k in range(start[i], last):
            term *= (n - k) / (k + 1.0) * odds
            total += term * worth[k + 1]
            if term < 1e-30 * weight[i]:
                break
        term = weight[i]
        for k in range(start[i], 1, -1):
            term *= k / ((n - k + 1.0) * odds)
            total += term * worth[k - 1]
            if term < 1e-30 * weight[i]:
                break
        sums[i] = total
    return sums
