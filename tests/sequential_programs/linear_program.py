"""Solve a tabular Markov decision process as a linear program."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from sequential_programs.factored_mdp import TabularMdp

# HiGHS treats matrix entries up to this size as zero; rows are scaled so that relevant entries are larger.
_SMALLEST_ENTRY = 1e-8
# Probabilities below this share of a row's largest do not change a value in double precision.
_NEGLIGIBLE = 1e-14


def solve_linear_program(mdp: TabularMdp) -> NDArray[np.float64]:
    """Return the value of every state.

    The values are the least V with V(x) >= R(x, a) + gamma sum P V(x') for every choice.

    Parameters
    ----------
    mdp : TabularMdp

    Returns
    -------
    ndarray of float64, shape (n_states,)

    Raises
    ------
    RuntimeError
        If the solver does not find the optimum (which always exists for a discount of at most 1 and finite attacks).
    """
    free = np.isnan(mdp.fixed_value)
    values = np.where(free, 0.0, mdp.fixed_value)
    if not free.any():
        return values
    n_choices = len(mdp.reward)
    own = csr_array((np.ones(n_choices), (np.arange(n_choices), mdp.state_of)), shape=mdp.transition.shape)
    left = csr_array(own - mdp.discount * mdp.transition)
    right = mdp.reward + mdp.discount * (mdp.transition @ values)
    # Amounts near 1 keep the solver's absolute tolerances relative.
    unit = max(float(np.abs(right).max(initial=0.0)), 1e-300)
    constraints = csr_array(left[:, free])
    scale = _row_scales(constraints)
    result = scipy.optimize.linprog(
        np.ones(int(free.sum())),
        A_ub=-(diags_array(scale) @ constraints),
        b_ub=-scale * right / unit,
        bounds=(None, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": True},
    )
    if result.status != 0:
        raise RuntimeError(f"linear program not solved: {result.message}")
    values[free] = unit * result.x
    return values


def _row_scales(matrix: csr_array) -> NDArray[np.float64]:
    """Return row factors that lift relevant entries above the solver's zero threshold."""
    scales = np.ones(matrix.shape[0])
    for row in range(matrix.shape[0]):
        entries = np.abs(matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]])
        entries = entries[entries > _NEGLIGIBLE * entries.max(initial=0.0)]
        if len(entries):
            scales[row] = max(1.0, _SMALLEST_ENTRY / entries.min())
    return scales
