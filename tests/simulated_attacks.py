"""Simulate the sequential adversary's optimal policy on one linked group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import SequentialAttack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SimulatedAttacks:
    """Outcomes of independent attacks on one linked group, shape (n_attacks,).

    Parameters
    ----------
    succeeded : ndarray of bool
        Whether the record was re-identified.
    exploits, detections : ndarray of int64
        Number of exploited people, and number of detections.
    payoff : ndarray of float64
        Payoff in currency units, discounted to the state in which the group was linked.
    """

    succeeded: NDArray[np.bool_]
    exploits: NDArray[np.int64]
    detections: NDArray[np.int64]
    payoff: Floats


def exploit_policy(attack: SequentialAttack, group_size: int) -> NDArray[np.bool_]:
    """Return whether the adversary makes each exploit, by full backward induction.

    Returns
    -------
    ndarray of bool, shape (group_size, n_counts)
        ``policy[j, m]``: whether exploit j is made after m paid penalties; one column if penalties are not counted.
    """
    most = attack.max_penalties if attack.counts_penalties and attack.max_penalties is not None else 0
    counts = min(most, group_size) + 1
    detection = attack.detection(group_size)
    policy = np.zeros((group_size, counts), dtype=np.bool_)
    worth = np.zeros(counts)
    paid = np.arange(counts)
    after = np.minimum(paid + 1, counts - 1)
    levied = np.ones(counts, dtype=np.bool_) if most == 0 else paid < most
    for j in range(group_size - 1, -1, -1):
        hit = 1.0 / (group_size / attack.prior - j)
        caught = detection[j]
        continued = np.zeros(counts) if attack.detection_ends_attack else worth[after]
        going_on = (1.0 - caught) * worth + caught * continued
        exploit = (
            -attack.exploit_cost
            - caught * attack.penalty_due * levied
            + attack.discount * (hit * attack.gain + (1.0 - hit) * going_on)
        )
        policy[j] = exploit > attack.indifference
        worth = np.where(policy[j], exploit, 0.0)
    return policy


def simulate_attacks(
    attack: SequentialAttack, group_size: int, n_attacks: int, rng: np.random.Generator
) -> SimulatedAttacks:
    """Simulate the optimal policy on a linked group.

    The data subject is one of ``group_size / prior`` equally likely people; the group holds `group_size` of them.

    Parameters
    ----------
    attack : SequentialAttack
    group_size : int
    n_attacks : int
    rng : numpy.random.Generator

    Returns
    -------
    SimulatedAttacks
    """
    policy = exploit_policy(attack, group_size)
    counts = policy.shape[1]
    detection = attack.detection(group_size)
    # Position of the data subject in the order of exploits; beyond the group if not in the registry.
    target = rng.random(n_attacks) * (group_size / attack.prior)
    caught = rng.random((group_size, n_attacks)) < detection[:, None]
    active = np.ones(n_attacks, dtype=np.bool_)
    succeeded = np.zeros(n_attacks, dtype=np.bool_)
    exploits, detections, paid = (np.zeros(n_attacks, dtype=np.int64) for _ in range(3))
    payoff = np.zeros(n_attacks)
    for j in range(group_size):
        worth = attack.discount**j
        active &= policy[j, np.minimum(paid, counts - 1)]
        if not active.any():
            break
        hit = active & (np.floor(target) == j)
        seen = active & caught[j]
        fined = seen if attack.max_penalties is None else seen & (detections < attack.max_penalties)
        payoff -= worth * (attack.exploit_cost * active + attack.penalty_due * fined)
        payoff += worth * attack.discount * attack.gain * hit
        exploits += active
        detections += seen
        succeeded |= hit
        if counts > 1:
            paid = np.minimum(paid + seen, counts - 1)
        active &= ~hit
        if attack.detection_ends_attack:
            active &= ~seen
    return SimulatedAttacks(succeeded, exploits, detections, payoff)
