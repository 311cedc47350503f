"""Two-player games with payoff matrices: values and Nash equilibria.

In a zero-sum game, an optimal mixture is the solution of a linear program.

Any other finite game is first solved by the method of Lemke and Howson (1964), in integers and with lexicographic
pivoting (von Stengel 2002). The method ends at an equilibrium for every matrix, including matrices with equal rows. A
branch-and-bound search then finds the equilibrium that is best, or worst, for the row player (the player who picks a
row). In an equilibrium, each strategy has probability 0 or is a best response. A node of the search decides between the
two for some strategies. Its linear programs bound the row player's payoff, and find mixtures that violate the condition
as little as possible for the other strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from math import fsum
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.games.composite import TypesGame
from reidsim.games.cross_play import (
    MOST_FORMS,
    CrossPlay,
    Defender,
    Opponent,
    averages_of,
    can_plan_against_all,
    mixed_game,
    paid_in,
    record_game_of,
    row_name,
)

# Objective of the adversary: to lower the defender's payoff ("zero-sum"), or to raise its own ("general-sum").
Sum = Literal["zero-sum", "general-sum"]
# A response is added only if it pays more than all known plans by this share of the largest absolute payoff.
_NEW = 1e-9


@dataclass(frozen=True, eq=False)
class DoubleOracle:
    """The result of a double oracle; money is in currency units per record.

    Parameters
    ----------
    iterations : DataFrame
        One row per iteration: ``iteration``, ``defenders`` and ``adversaries`` (numbers of plans and of adversaries in
        the game), ``publisher_payoff`` and ``adversary_payoff`` of its solution, ``exploitability`` (sum of the gains
        of both players by best responses among all plans and adversaries), ``best_exploitability`` (the least so far),
        and the strategies added for the next iteration: ``added_defender``, ``added_adversary``; empty if none.
    mixtures : DataFrame
        Solution of the iteration with the least exploitability, one row per strategy of positive probability:
        ``player`` ("defender" or "adversary"), ``strategy`` (name of the defender or adversary), ``plans_against``
        (empty for adversaries and for defenders that do not plan), ``probability``.
    left_out : tuple of str
        Messages about excluded adversaries, and about an end before the tolerance was reached.
    """

    iterations: pd.DataFrame
    mixtures: pd.DataFrame
    left_out: tuple[str, ...]


def double_oracle(
    play: CrossPlay,
    opponents: Sequence[Opponent],
    oracle: Defender,
    *,
    own: str,
    game: Sum = "zero-sum",
    tolerance: float = 0.01,
    most_iterations: int = 100,
    weights: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DoubleOracle:
    """Solve the game of defender plans against adversaries by a double oracle.

    The first game has one adversary, `own`, and one plan, the oracle's plan against it. Each iteration solves the
    current game and adds each player's best response to the other's mixture. The search ends when the sum of both
    players' gains by best responses is at most `tolerance`, or if no new best response is found. Best responses are
    computed with the true payoff parameters; the publisher's beliefs are not used.

    Parameters
    ----------
    play : CrossPlay
        Cross-play of these opponents; its plans can also be added as best responses.
    opponents : sequence of Opponent
        Opponents with several adversaries at the same time, or without a column in `play`, are excluded.
    oracle : Defender
        Defender that plans the best response to a mixture of adversaries.
    own : str
        Name of the adversary in the first game. If it is excluded, the first game has the first opponent that is not
        excluded.
    game : {"zero-sum", "general-sum"}
        Objective of the adversary: to lower the defender's payoff, or to raise its own. With "general-sum", each game
        is solved by the equilibrium that is best for the defender.
    tolerance : float
        Largest exploitability at which the algorithm stops, in currency units per record; above 0.
    most_iterations : int
        Maximum number of iterations.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records of each row of the games; 1, if not given.
    progress : callable, optional
        Called before each iteration with the number of iterations done and the maximum number.

    Raises
    ------
    InputError
        If there are too many strategies to plan against several adversaries (`MOST_FORMS`), all adversaries are
        excluded, or cross-play has no plan of the oracle against the first adversary.
    """
    if not can_plan_against_all(opponents):
        problem = "too many releases for a plan against several adversaries"
        raise InputError(problem, expected=f"at most {MOST_FORMS:,}")
    payoffs, their_payoffs = play.matrix("publisher_payoff"), play.matrix("adversary_payoff")
    # Types who come one at a time can be mixed with other adversaries.
    games = {each.name: record_game_of(each.truth) for each in opponents}
    together = [name for name, each in games.items() if isinstance(each, TypesGame) and each.together != "one-of"]
    playing = [each for each in opponents if each.name in payoffs.columns and each.name not in together]
    left_out = [f"double oracle leaves {name!r} out: its adversaries attack together" for name in together]
    if not playing:
        raise InputError("no adversary attacks alone", where="double oracle")
    names = [each.name for each in playing]
    # Plans of the defender: plans of cross-play, then best responses. Payoffs have one row per plan.
    pairs = play.table.iloc[:: payoffs.shape[1]]
    known = list(zip(pairs["defender"], pairs["plans_against"], strict=True))
    payoff, theirs = payoffs[names].to_numpy(), their_payoffs[names].to_numpy()
    first = own if own in names else names[0]
    if (oracle.name, first) not in known:
        raise InputError("the initial plan is missing", where="double oracle", found=row_name(oracle.name, first))
    played = [known.index((oracle.name, first))]
    columns = [names.index(first)]
    rows: list[dict[str, Any]] = []
    solutions: list[tuple[Mixtures, list[int], list[int]]] = []
    zero = game == "zero-sum"
    for iteration in range(1, most_iterations + 1):
        if progress is not None:
            progress(iteration - 1, most_iterations)
        their_payoff = -payoff if zero else theirs
        part = np.ix_(played, columns)
        solved = zero_sum(payoff[part]) if zero else equilibrium(payoff[part], their_payoff[part])
        mixture = np.zeros(len(names))
        mixture[columns] = solved.columns
        plan, outcomes = _reply(playing, oracle, mixture, weights)
        expected, scale = payoff @ mixture, max(1.0, float(np.abs(payoff).max()))
        reply = int(expected.argmax())
        # The oracle's plan is added only if it pays more than all known plans.
        if float(outcomes[0] @ mixture) > expected.max() + _NEW * scale:
            reply = len(known)
            known.append(plan)
            payoff, theirs = np.vstack([payoff, outcomes[0]]), np.vstack([theirs, outcomes[1]])
        column_values = solved.rows @ their_payoff[played]
        column = int(column_values.argmax())
        gains = (
            max(float(payoff[reply] @ mixture) - solved.row_payoff, 0.0),
            max(float(column_values[column]) - solved.column_payoff, 0.0),
        )
        solutions.append((solved, list(played), list(columns)))
        ended = fsum(gains) <= tolerance
        new_row = not ended and gains[0] > 0 and reply not in played
        new_column = not ended and gains[1] > 0 and column not in columns
        rows.append(
            {
                "iteration": iteration,
                "defenders": len(played),
                "adversaries": len(columns),
                "publisher_payoff": solved.row_payoff,
                "adversary_payoff": float(solved.rows @ theirs[part] @ solved.columns),
                "exploitability": fsum(gains),
                "added_defender": row_name(*known[reply]) if new_row else "",
                "added_adversary": names[column] if new_column else "",
            }
        )
        played += [reply] * new_row
        columns += [column] * new_column
        if not new_row and not new_column:
            break
    table = pd.DataFrame(rows)
    table.insert(6, "best_exploitability", table["exploitability"].cummin())
    best = int(table["exploitability"].argmin())
    if table["best_exploitability"].iloc[-1] > tolerance:
        left = table["best_exploitability"].iloc[-1]
        left_out.append(f"double oracle ended after {len(table)} iterations with an exploitability of {left:.3g}")
    return DoubleOracle(table, _mixtures(known, names, *solutions[best]), tuple(left_out))


def _reply(
    playing: Sequence[Opponent], oracle: Defender, mixture: Floats, weights: NDArray[np.int64] | None
) -> tuple[tuple[str, str], Floats]:
    """Return the name and the outcomes of the oracle's best response to a mixture.

    The name is a pair: the oracle's name, and the adversaries of positive probability with their probabilities as text.
    The outcomes, shape (2, n_adversaries), are means over records, in currency units: payoffs of the defender and of
    each adversary.

    Parameters
    ----------
    playing : sequence of Opponent
        Adversaries, in the order of the columns of the payoffs.
    oracle : Defender
        Defender that plans the best response.
    mixture : ndarray of float64, shape (n_adversaries,)
        Probability of each adversary.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records of each row of the games; 1, if None.
    """
    faced = {each: share for each, share in zip(playing, mixture.tolist(), strict=True) if share > 0}
    if len(faced) == 1:
        choice = oracle.choose(next(iter(faced)).truth)
    else:
        games = {each.name: record_game_of(each.truth) for each in faced}
        choice = oracle.choose(mixed_game(games, {each.name: share for each, share in faced.items()}))
    outcomes = [averages_of(paid_in(oracle, each.truth, choice), choice, weights)[:2] for each in playing]
    against = ", ".join(f"{share:.3g} {each.name}" for each, share in faced.items())
    return (oracle.name, against), np.array(outcomes).T


def _mixtures(
    plans: list[tuple[str, str]], adversaries: list[str], solved: Mixtures, played: list[int], columns: list[int]
) -> pd.DataFrame:
    defenders = [plans[row] for row in played]
    table = pd.DataFrame(
        {
            "player": ["defender"] * len(played) + ["adversary"] * len(columns),
            "strategy": [name for name, _ in defenders] + [adversaries[column] for column in columns],
            "plans_against": [against for _, against in defenders] + [""] * len(columns),
            "probability": np.concatenate([solved.rows, solved.columns]),
        }
    )
    return table[table["probability"] > 0].reset_index(drop=True)


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# A decision for each strategy of a player: none (0), `_UNPLAYED` or `_BEST`.
Decided = NDArray[np.int8]
_UNPLAYED, _BEST = np.int8(1), np.int8(2)
# Mixtures count as an equilibrium if the sum of both players' possible gains is at most this share of the payoff range.
_ACCURATE = 1e-9
# Factor that turns payoffs from 0 to 1 into integers, so that Lemke and Howson's method has no rounding error.
_WHOLE = 2.0**53
_TOLERANCES = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
# Status of `scipy.optimize.linprog` for infeasible constraints.
_INFEASIBLE = 2


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixed strategies of two players in a matrix game, and their expected payoffs.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows,)
        Probability of each strategy of the player who picks a row.
    columns : ndarray of float64, shape (n_columns,)
        Probability of each strategy of the player who picks a column.
    row_payoff, column_payoff : float
        Expected payoff of each player.
    """

    rows: Floats
    columns: Floats
    row_payoff: float
    column_payoff: float


def zero_sum(payoff: Floats) -> Mixtures:
    """Return the optimal mixtures of a zero-sum game.

    Each mixture maximizes the payoff that its player can guarantee.

    Parameters
    ----------
    payoff : ndarray of float64, shape (n_rows, n_columns)
        Payoff of the player who picks a row; the column player's payoff is its negative.

    Raises
    ------
    InputError
        If the matrix is empty or not two-dimensional, an entry is not finite, or the linear programming solver fails.
    """
    scaled = _scaled(payoff)
    rows, columns = _maximin(scaled), _maximin(1.0 - scaled.T)
    value = float(rows @ payoff @ columns)
    return Mixtures(rows, columns, value, -value)


def equilibrium(row_payoff: Floats, column_payoff: Floats, *, for_rows: Literal["best", "worst"] = "best") -> Mixtures:
    """Return the Nash equilibrium with the row player's highest or lowest payoff.

    The result is accurate to 1e-9 of the range of payoffs: the players' gains by best responses are at most this in
    sum, and another equilibrium may be better or worse by as much.

    Parameters
    ----------
    row_payoff, column_payoff : ndarray of float64, shape (n_rows, n_columns)
        Payoff of each player.
    for_rows : {"best", "worst"}
        Whether the row player's payoff is the highest or the lowest.

    Raises
    ------
    InputError
        If a matrix is empty or not two-dimensional, an entry is not finite, or the linear programming solver fails.
    """
    first, second = _scaled(row_payoff), _scaled(column_payoff)
    rows, columns = _extreme(first, second, 1.0 if for_rows == "best" else -1.0)
    return Mixtures(rows, columns, float(rows @ row_payoff @ columns), float(rows @ column_payoff @ columns))


def exploitability(row_payoff: Floats, column_payoff: Floats, mixtures: Mixtures) -> float:
    """Return the sum of both players' gains by best responses to the other's mixture.

    It is 0 in an equilibrium, and never negative. `row_payoff` and `column_payoff`, shape (n_rows, n_columns), hold
    each player's payoffs; `mixtures` holds their mixed strategies and expected payoffs.
    """
    best_row = float((row_payoff @ mixtures.columns).max()) - mixtures.row_payoff
    best_column = float((mixtures.rows @ column_payoff).max()) - mixtures.column_payoff
    return max(best_row, 0.0) + max(best_column, 0.0)


def _scaled(payoff: Floats) -> Floats:
    """Return payoffs as shares of their range, from 0 to 1; 0 if all are equal.

    The lowest entry of the matrix `payoff` becomes 0, and the highest 1.

    Raises
    ------
    InputError
        If the matrix is empty or not two-dimensional, or an entry is not finite.
    """
    if payoff.ndim != 2 or not payoff.size or not np.isfinite(payoff).all():
        raise InputError("invalid payoff matrix", found=f"shape {payoff.shape}", expected="a number in every cell")
    low = float(payoff.min())
    return np.asarray((payoff - low) / ((float(payoff.max()) - low) or 1.0))


def _maximin(payoff: Floats) -> Floats:
    """Return the mixture of rows whose least payoff over columns is largest.

    `payoff`, shape (n_rows, n_columns), holds the row player's payoffs; the result (n_rows,) holds the probability of
    each row.

    Raises
    ------
    InputError
        If the linear programming solver fails.
    """
    from scipy.optimize import linprog

    n_rows, n_columns = payoff.shape
    # The last variable is the guaranteed payoff.
    below = np.hstack([-payoff.T, np.ones((n_columns, 1))])
    whole = np.append(np.ones(n_rows), 0.0)[None]
    bounds = [(0, None)] * n_rows + [(None, None)]
    found = linprog(np.append(np.zeros(n_rows), -1.0), below, np.zeros(n_columns), whole, [1.0], bounds, method="highs")
    if not found.success:
        raise InputError("no optimal mixture found", found=str(found.message))
    return _mixture(found.x[:n_rows])


def _lemke_howson(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return an equilibrium of payoffs from 0 to 1: the two mixtures.

    `first` and `second`, shape (m, n), hold the payoffs of the row and of the column player. The results hold the
    probability of each row, shape (m,), and of each column, shape (n,).

    The tableau holds the polytopes ``payoff @ mixture <= 1``, ``mixture >= 0`` of both players, as integers over one
    denominator. Column 0 is the right-hand side. Columns 1 to k are slacks, one for each reply, because the
    lexicographic comparison of rows uses them; k more columns are the probabilities of the same k strategies (rows of
    the game, then its columns).
    """
    m, n = first.shape
    k, denominator = m + n, 1
    # Payoffs are positive, so both polytopes are bounded.
    own, other = (1 + np.round(_WHOLE * payoff).astype(np.int64).astype(object) for payoff in (first, second.T))
    slacks = np.hstack([np.ones((k, 1)), np.eye(k), np.zeros((k, k))]).astype(np.int64)
    tableau = slacks.astype(object)
    tableau[:m, 1 + k + m :], tableau[m:, 1 + k : 1 + k + m] = own, other
    basis, entering = np.arange(1, k + 1), 1 + k
    while True:
        column = tableau[:, entering].copy()
        tied = np.flatnonzero(column > 0).tolist()
        # The least ratio in lexicographic order; the slacks' columns are independent, so one row is left.
        for key in range(k + 1):
            ratios = [Fraction(tableau[row, key], column[row]) for row in tied]
            tied = [row for row, ratio in zip(tied, ratios, strict=True) if ratio == min(ratios)]
            if len(tied) == 1:
                break
        row, pivot = tied[0], column[tied[0]]
        kept = tableau[row].copy()
        tableau = (tableau * pivot - np.multiply.outer(column, kept)) // denominator
        tableau[row], denominator = kept, pivot
        leaving, basis[row] = int(basis[row]), entering
        if leaving in (1, 1 + k):
            break
        # The slack of a strategy and its probability are complements: one leaves, the other enters.
        entering = leaving + k if leaving <= k else leaving - k
    values = dict(zip((basis - 1 - k).tolist(), tableau[:, 0], strict=True))
    each = [[values.get(strategy, 0) for strategy in own_strategies] for own_strategies in (range(m), range(m, k))]
    rows, columns = (np.array([value / sum(part) for value in part], dtype=np.float64) for part in each)
    return rows, columns


def _extreme(first: Floats, second: Floats, sign: float) -> tuple[Floats, Floats]:
    """Return the row player's best (sign 1) or worst (sign -1) equilibrium.

    The result holds the mixtures of the rows and of the columns: the probability of each. `first` and `second`, shape
    (n_rows, n_columns), hold the payoffs of the row and of the column player, from 0 to 1.

    A node of the search decides for some rows and columns whether they have probability 0 (`_UNPLAYED`) or are best
    responses to the other player's mixture (`_BEST`). Its bound is the lower of two. The first is the best payoff u of
    the row player at a column mixture that meets the node's conditions. The second follows from the other player's
    payoff v: in an equilibrium with mixtures x and y, ``u + weight v = x (A + weight B) y``, which is at most the mean
    over x of the largest entry in each row.
    """
    known_rows, known_columns = _lemke_howson(first, second)
    known = sign * float(known_rows @ first @ known_columns) + _ACCURATE
    # This weight minimizes the variance of A + weight B; the closer the game is to zero-sum, the tighter the second
    # bound.
    covariance = float(((first - first.mean()) * (second - second.mean())).mean())
    weight = max(-covariance / (float(second.var()) or 1.0), 0.0)
    waiting: list[tuple[float, int, Decided, Decided, Floats]] = []
    number = count()

    def add(rows: Decided, columns: Decided, bound: float, solution: Floats | None = None) -> None:
        """Add a node if it may have a better equilibrium than the known one.

        A node is kept in `waiting`. `rows` and `columns` hold its decision for each strategy: none (0), `_UNPLAYED` or
        `_BEST`. `bound` is a known upper bound of the row player's payoff (times `sign`), and `solution` the node's
        best column mixture followed by the payoff u, if known.
        """
        played = columns != _UNPLAYED
        allowed = first[rows != _UNPLAYED][:, played]
        if allowed.size and solution is None:
            cost = np.append(np.zeros(len(columns)), -sign)
            solution = _program(cost, first, rows == _BEST, ~played, float(allowed.max()))
        if not allowed.size or solution is None:
            return
        bound = min(bound, sign * float(solution[-1]))
        if weight:
            worth = np.append((sign * (first + weight * second)[:, played]).max(axis=1), -sign * weight)
            other = _program(-worth, second.T, columns == _BEST, rows == _UNPLAYED, 1.0)
            bound = min(bound, -np.inf if other is None else float(worth @ other))
        if bound > known:
            heappush(waiting, (-bound, next(number), rows, columns, solution))

    add(np.zeros(len(first), dtype=np.int8), np.zeros(first.shape[1], dtype=np.int8), np.inf)
    while waiting:
        # The node with the best bound; an equilibrium at its bound is the best of all.
        negated, _, rows, columns, solution = heappop(waiting)
        column_mixture, payoff = solution[:-1], solution[-1]
        # Find the first player's mixture that minimizes the sum of both players' gains.
        unwanted = payoff - first @ column_mixture
        cost = np.append(unwanted - second @ column_mixture, 1.0)
        reply = _program(cost, second.T, columns == _BEST, rows == _UNPLAYED, 1.0)
        if reply is None:
            continue
        row_mixture, other_payoff = reply[:-1], reply[-1]
        of_rows = row_mixture * unwanted
        of_columns = column_mixture * (other_payoff - row_mixture @ second)
        if of_rows.sum() + of_columns.sum() <= _ACCURATE:
            return _mixture(row_mixture), _mixture(column_mixture)
        # Decide for the strategy that breaks the condition most; one of the two nodes keeps the column mixture.
        if of_rows.max() >= of_columns.max():
            for decision, kept in ((_BEST, None), (_UNPLAYED, solution)):
                add(np.where(np.arange(len(rows)) == of_rows.argmax(), decision, rows), columns, -negated, kept)
        else:
            for decision, kept in ((_UNPLAYED, None), (_BEST, solution)):
                add(rows, np.where(np.arange(len(columns)) == of_columns.argmax(), decision, columns), -negated, kept)
    return known_rows, known_columns


def _program(cost: Floats, payoff: Floats, best: Flags, unplayed: Flags, bound: float) -> Floats | None:
    """Return the mixture of least cost, and a bound on the payoff of replies to it.

    Parameters
    ----------
    cost : ndarray of float64, shape (n_strategies + 1,)
        Cost per unit of each strategy's probability, and per unit of the bound.
    payoff : ndarray of float64, shape (n_replies, n_strategies)
        Payoff of the player who replies.
    best : ndarray of bool, shape (n_replies,)
        Replies that must be best responses to the mixture.
    unplayed : ndarray of bool, shape (n_strategies,)
        Strategies that must have probability 0.
    bound : float
        Largest value of the bound.

    Returns
    -------
    ndarray of float64, shape (n_strategies + 1,), or None
        Probability of each strategy, then the bound: no reply pays more, and replies in `best` pay exactly this. None
        if there is no such mixture.

    Raises
    ------
    InputError
        If the linear programming solver fails otherwise than because there is no such mixture.
    """
    from scipy.optimize import linprog

    n_replies, n = payoff.shape
    differences = np.hstack([payoff, -np.ones((n_replies, 1))])
    equal = np.vstack([differences[best], np.append(np.ones(n), 0.0)])
    values = np.append(np.zeros(int(best.sum())), 1.0)
    bounds = [(0.0, 0.0 if is_unplayed else 1.0) for is_unplayed in unplayed.tolist()] + [(0.0, bound)]
    others = differences[~best]
    found = linprog(cost, others, np.zeros(len(others)), equal, values, bounds, method="highs", options=_TOLERANCES)
    if found.status == _INFEASIBLE:
        return None
    if not found.success:
        raise InputError("no optimal mixture found", found=str(found.message))
    return np.asarray(found.x)


def _mixture(probabilities: Floats) -> Floats:
    """Return probabilities scaled to sum 1, with entries of at most 1e-12 set to 0.

    The result has the shape of `probabilities`, (n_strategies,).
    """
    kept = np.where(probabilities > 1e-12, probabilities, 0.0)
    return np.asarray(kept / kept.sum())
