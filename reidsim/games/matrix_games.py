"""Games of two players who each pick one of some strategies, or mix them: values and equilibria of payoff matrices.

In a zero-sum game an optimal mixture is the solution of a linear program. Else an equilibrium is one of a program in
mixed integers, whose binary variables are the supports (Sandholm, Gilpin and Conitzer 2005). Unlike Lemke and Howson's
method it takes matrices with equal rows, of which comparisons of policies are full, and finds the equilibrium that is
best, or worst, for one player. Once the supports are known, two linear programs give the mixtures to their last digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError

Floats = NDArray[np.float64]
# Mixtures that are off by more, as a share of the range of payoffs, are no equilibrium.
_ACCURATE = 1e-5


@dataclass(frozen=True, eq=False)
class Mixtures:
    """How two players mix their strategies, and what they get.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows,)
        Probability of each strategy of the player who picks a row.
    columns : ndarray of float64, shape (n_columns,)
        The same of the player who picks a column.
    row_payoff, column_payoff : float
    """

    rows: Floats
    columns: Floats
    row_payoff: float
    column_payoff: float


def zero_sum(payoff: Floats) -> Mixtures:
    """Return optimal mixtures of a zero-sum game: nobody can make sure of more.

    Parameters
    ----------
    payoff : ndarray of float64, shape (n_rows, n_columns)
        Of the player who picks a row; the other pays it.

    Raises
    ------
    InputError
        If the matrix is empty, or has a payoff that is no number.
    """
    scaled, _, _ = _scaled(payoff)
    rows, columns = _maximin(scaled), _maximin(1.0 - scaled.T)
    value = float(rows @ payoff @ columns)
    return Mixtures(rows, columns, value, -value)


def equilibrium(row_payoff: Floats, column_payoff: Floats, *, for_rows: Literal["best", "worst"] = "best") -> Mixtures:
    """Return the Nash equilibrium of a game that pays the player who picks a row most, or least.

    Parameters
    ----------
    row_payoff, column_payoff : ndarray of float64, shape (n_rows, n_columns)
    for_rows : {"best", "worst"}

    Raises
    ------
    InputError
        If a matrix is empty, has a payoff that is no number, or no equilibrium is found to within rounding.
    """
    first, first_range, _ = _scaled(row_payoff)
    second, second_range, _ = _scaled(column_payoff)
    sign = 1.0 if for_rows == "best" else -1.0
    rows, columns = _by_supports(first, second, sign)
    found = Mixtures(rows, columns, float(rows @ row_payoff @ columns), float(rows @ column_payoff @ columns))
    if exploitability(row_payoff, column_payoff, found) > _ACCURATE * (first_range + second_range):
        raise InputError("no equilibrium found to within rounding", expected="payoffs of about the same size")
    return found


def exploitability(row_payoff: Floats, column_payoff: Floats, mixtures: Mixtures) -> float:
    """Return how much both players could gain, in sum, by their best replies: 0 in an equilibrium, never less."""
    best_row = float((row_payoff @ mixtures.columns).max()) - mixtures.row_payoff
    best_column = float((mixtures.rows @ column_payoff).max()) - mixtures.column_payoff
    return max(best_row, 0.0) + max(best_column, 0.0)


def pure_exploitability(payoff: Floats, value: float) -> Floats:
    """Return by how much each row's least payoff is below the value of the zero-sum game, shape (n_rows,).

    Parameters
    ----------
    payoff : ndarray of float64, shape (n_rows, n_columns)
    value : float
        What the best mixture makes sure of.
    """
    return np.asarray(np.maximum(value - payoff.min(axis=1), 0.0))


def _scaled(payoff: Floats) -> tuple[Floats, float, float]:
    """Return payoffs as shares of their range, from 0 to 1, with the range and the least of them."""
    if payoff.ndim != 2 or not payoff.size or not np.isfinite(payoff).all():
        raise InputError("not the payoffs of a game", found=f"shape {payoff.shape}", expected="numbers in every cell")
    low = float(payoff.min())
    width = float(payoff.max()) - low
    return (payoff - low) / (width or 1.0), width, low


def _maximin(payoff: Floats) -> Floats:
    """Return the mixture of rows whose least payoff over columns is largest."""
    from scipy.optimize import linprog

    n_rows, n_columns = payoff.shape
    # The last variable is what the mixture makes sure of.
    below = np.hstack([-payoff.T, np.ones((n_columns, 1))])
    whole = np.append(np.ones(n_rows), 0.0)[None]
    bounds = [(0, None)] * n_rows + [(None, None)]
    found = linprog(np.append(np.zeros(n_rows), -1.0), below, np.zeros(n_columns), whole, [1.0], bounds, method="highs")
    if not found.success:
        raise InputError("no optimal mixture found", found=str(found.message))
    return _mixture(found.x[:n_rows])


def _by_supports(first: Floats, second: Floats, sign: float) -> tuple[Floats, Floats]:
    """Return an equilibrium of payoffs from 0 to 1, the first player's best (sign 1) or worst (sign -1)."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    m, n = first.shape
    size = 2 * m + 2 * n + 2
    x, y, in_x, in_y = (slice(0, m), slice(m, m + n), slice(m + n, 2 * m + n), slice(2 * m + n, 2 * m + 2 * n))
    u, v = size - 2, size - 1
    # A strategy pays at most what the player gets, and exactly that where it is in the support.
    most_rows, played_rows, support_rows = (np.zeros((m, size)) for _ in range(3))
    most_rows[:, y], most_rows[:, u] = -first, 1.0
    played_rows[:] = most_rows
    played_rows[:, in_x] = np.eye(m)
    support_rows[:, x], support_rows[:, in_x] = -np.eye(m), np.eye(m)
    most_columns, played_columns, support_columns = (np.zeros((n, size)) for _ in range(3))
    most_columns[:, x], most_columns[:, v] = -second.T, 1.0
    played_columns[:] = most_columns
    played_columns[:, in_y] = np.eye(n)
    support_columns[:, y], support_columns[:, in_y] = -np.eye(n), np.eye(n)
    whole = np.zeros((2, size))
    whole[0, x], whole[1, y] = 1.0, 1.0
    constraints = [
        LinearConstraint(np.vstack([most_rows, support_rows, most_columns, support_columns]), 0.0, np.inf),
        LinearConstraint(np.vstack([played_rows, played_columns]), -np.inf, 1.0),
        LinearConstraint(whole, 1.0, 1.0),
    ]
    cost, whole_numbers = np.zeros(size), np.zeros(size)
    cost[u] = -sign
    whole_numbers[in_x], whole_numbers[in_y] = 1, 1
    found = milp(cost, integrality=whole_numbers, bounds=Bounds(0.0, 1.0), constraints=constraints)
    if not found.success:
        raise InputError("no equilibrium found", found=str(found.message))
    rows, columns = found.x[in_x] > 0.5, found.x[in_y] > 0.5
    exact_rows = _indifferent(second.T, rows, columns, 0.0)
    exact_columns = _indifferent(first, columns, rows, sign)
    if exact_rows is None or exact_columns is None:
        # Supports that are right up to the accuracy of the solver only: so is its own solution.
        return _mixture(found.x[x]), _mixture(found.x[y])
    return exact_rows, exact_columns


def _indifferent(payoff: Floats, own: NDArray[np.bool_], other: NDArray[np.bool_], sign: float) -> Floats | None:
    """Return the mixture of one player's support that leaves the other indifferent on theirs, if there is one.

    Parameters
    ----------
    payoff : ndarray of float64, shape (n_other, n_own)
        Of the other player.
    own, other : ndarray of bool
        The supports.
    sign : float
        Whether the other player is to get most (1), least (-1), or anything (0).
    """
    from scipy.optimize import linprog

    n = payoff.shape[1]
    at_most = np.hstack([payoff, -np.ones((len(payoff), 1))])
    equal = np.vstack([at_most[other], np.append(np.ones(n), 0.0)])
    wanted = np.append(np.zeros(int(other.sum())), 1.0)
    bounds = [(0.0, 1.0 if inside else 0.0) for inside in own.tolist()] + [(None, None)]
    cost = np.append(np.zeros(n), -sign)
    unplayed = at_most[~other] if (~other).any() else None
    limits = None if unplayed is None else np.zeros(len(unplayed))
    found = linprog(cost, unplayed, limits, equal, wanted, bounds, method="highs")
    return _mixture(found.x[:n]) if found.success else None


def _mixture(probabilities: Floats) -> Floats:
    """Return probabilities whose sum is 1, without what is below rounding."""
    kept = np.where(probabilities > 1e-12, probabilities, 0.0)
    return np.asarray(kept / kept.sum())
