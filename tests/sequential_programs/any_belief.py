"""Plan under any explicit belief on group sizes; `plan_unknown` is binomial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential import planning
from reidsim.adversaries.sequential.attack import SequentialAttack, checked_group_sizes
from reidsim.adversaries.sequential.planning import Floats, Plan
from reidsim.errors import InputError


def plan_distribution(
    attack: SequentialAttack, group_sizes: NDArray[np.number], possible: NDArray[np.number], probabilities: Floats
) -> Plan:
    """Plan under any belief on group sizes.

    Parameters
    ----------
    attack : SequentialAttack
    group_sizes : ndarray, shape (n,)
        True group sizes in the registry.
    possible : ndarray, shape (n_possible,)
        Group sizes with a positive probability in the adversary's belief.
    probabilities : ndarray of float64, shape (n, n_possible)
        The belief about each record; rows sum to 1.

    Raises
    ------
    InputError
        If a row of probabilities has a negative entry or does not sum to 1.
    """
    sizes, held = checked_group_sizes(group_sizes), checked_group_sizes(possible)
    sums = probabilities.sum(axis=1)
    wrong = ~((np.abs(sums - 1) <= 1e-9) & (probabilities >= 0).all(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        expected = "probabilities that sum to 1"
        raise InputError("not a distribution", where=f"row {row + 1}", found=float(sums[row]), expected=expected)
    values = planning._values(attack, np.concatenate([sizes, held]))
    expected_value = probabilities @ planning.value_after_access(attack, values, held)
    return planning._plan(attack, values, sizes, attack.discount * expected_value - attack.access_cost)
