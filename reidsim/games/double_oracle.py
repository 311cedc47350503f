"""Double oracle: solve cross-play over all plans by adding best responses.

The cross-play table contains a fixed list of plans. A defender who mixes plans may have better ones: best responses to
mixtures of adversaries. The algorithm solves the game with few plans and adversaries, adds each player's best response
to the other's mixture, and repeats this until both players can gain almost nothing (McMahan, Gordon and Blum 2003). If
the game is not zero-sum, it is PSRO of Lanctot et al. 2017, with exact responses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import refuse_first
from reidsim.games.adversary_types import TypesGame
from reidsim.games.cross_play import (
    MOST_FORMS,
    CrossPlay,
    Opponent,
    averages_of,
    can_plan_against_all,
    mixed_game,
    row_name,
)
from reidsim.games.defenders.defender import Defender, paid_in, record_game_of
from reidsim.games.matrix_games import Floats, Mixtures, equilibrium, zero_sum

# Objective of the adversary: to lower the defender's payoff ("zero-sum"), or to raise its own ("general-sum").
Sum = Literal["zero-sum", "general-sum"]
# A response is added only if it pays more than all known plans by this share of the largest absolute payoff.
_NEW = 1e-9
_ITERATIONS = (
    "iteration",
    "defenders",
    "adversaries",
    "publisher_payoff",
    "adversary_payoff",
    "exploitability",
    "added_defender",
    "added_adversary",
)


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


@dataclass(eq=False)
class _Plans:
    """Plans of the defender: plans of cross-play, then best responses.

    Payoffs, means over records in currency units, have one row per plan and one column per adversary: `payoff` of the
    defender, `adversary_payoff` of the adversary. `names` holds defender and adversary planned against.
    """

    names: list[tuple[str, str]]
    payoff: Floats
    adversary_payoff: Floats


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
    """Add best responses until the players' gains in sum are at most a tolerance.

    The first game has one adversary, `own`, and one plan, the oracle's plan against it. Best responses are computed
    with the true payoff parameters against the other's mixture; the publisher's beliefs are not used. The search also
    ends if no new best response is found.

    Parameters
    ----------
    play : CrossPlay
        Cross-play of these opponents; its plans can also be added as best responses.
    opponents : sequence of Opponent
        Opponents with several adversaries at the same time, or without a column in `play`, are excluded.
    oracle : Defender
        Defender that plans the best response to a mixture of adversaries.
    own : str
        Name of the adversary in the first game. If it is excluded, the first opponent that is not.
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
        excluded, cross-play has no plan of the oracle against the first adversary, or the tolerance is not above 0.
    """
    problem, most = "too many releases for a plan against several adversaries", f"at most {MOST_FORMS:,}"
    refuse_first(
        (not tolerance > 0, "tolerance out of range", "tolerance", tolerance, "an amount above 0"),
        (not can_plan_against_all(opponents), problem, None, None, most),
    )
    payoff, theirs = play.matrix("publisher_payoff"), play.matrix("adversary_payoff")
    together = [each.name for each in opponents if _come_together(each)]
    playing = [each for each in opponents if each.name in payoff.columns and each.name not in together]
    left_out = [f"double oracle leaves {name!r} out: its adversaries attack together" for name in together]
    where, names = "double oracle", [each.name for each in playing]
    refuse_first((not playing, "no adversary attacks alone", where, None, None))
    pairs = play.table.iloc[:: payoff.shape[1]]
    known = list(zip(pairs["defender"], pairs["plans_against"], strict=True))
    plans, first = _Plans(known, payoff[names].to_numpy(), theirs[names].to_numpy()), own if own in names else names[0]
    missing, found = (oracle.name, first) not in known, f"{oracle.name} vs {first}"
    refuse_first((missing, "the initial plan is missing", where, found, None))
    played = [known.index((oracle.name, first))]
    columns = [names.index(first)]
    rows: list[tuple[Any, ...]] = []
    solutions: list[tuple[Mixtures, list[int], list[int]]] = []
    zero = game == "zero-sum"
    for iteration in range(1, most_iterations + 1):
        if progress is not None:
            progress(iteration - 1, most_iterations)
        their_payoff = -plans.payoff if zero else plans.adversary_payoff
        part = np.ix_(played, columns)
        solved = zero_sum(plans.payoff[part]) if zero else equilibrium(plans.payoff[part], their_payoff[part])
        mixture = np.zeros(len(names))
        mixture[columns] = solved.columns
        reply = _reply(plans, playing, oracle, mixture, weights)
        column_values = solved.rows @ their_payoff[played]
        column = int(column_values.argmax())
        gains = (
            max(float(plans.payoff[reply] @ mixture) - solved.row_payoff, 0.0),
            max(float(column_values[column]) - solved.column_payoff, 0.0),
        )
        their_mean = float(solved.rows @ plans.adversary_payoff[part] @ solved.columns)
        solutions.append((solved, list(played), list(columns)))
        ended = fsum(gains) <= tolerance
        new_row = not ended and gains[0] > 0 and reply not in played
        new_column = not ended and gains[1] > 0 and column not in columns
        added = (row_name(*plans.names[reply]) if new_row else "", names[column] if new_column else "")
        payoffs = (solved.row_payoff, their_mean, fsum(gains))
        rows.append((iteration, len(played), len(columns), *payoffs, *added))
        played += [reply] * new_row
        columns += [column] * new_column
        if not new_row and not new_column:
            break
    table = pd.DataFrame(rows, columns=list(_ITERATIONS))
    table.insert(6, "best_exploitability", table["exploitability"].cummin())
    best = int(table["exploitability"].argmin())
    if table["best_exploitability"].iloc[-1] > tolerance:
        left = table["best_exploitability"].iloc[-1]
        left_out.append(f"double oracle ended after {len(table)} iterations with an exploitability of {left:.3g}")
    return DoubleOracle(table, _mixtures(plans, names, *solutions[best]), tuple(left_out))


def _come_together(opponent: Opponent) -> bool:
    game = record_game_of(opponent.truth)
    return isinstance(game, TypesGame) and game.together != "one-of"


def _reply(
    plans: _Plans, playing: Sequence[Opponent], oracle: Defender, mixture: Floats, weights: NDArray[np.int64] | None
) -> int:
    """Return the position in `plans.names` of the best response to mixed adversaries.

    The oracle's new plan is appended to `plans` only if it pays more than all known plans, by more than 1e-9 times the
    largest absolute payoff (at least 1). Otherwise, the best known plan is returned, the first of equal ones.

    Parameters
    ----------
    plans : _Plans
        Known plans and their payoffs.
    playing : sequence of Opponent
        Adversaries, in the order of the columns of the payoffs.
    oracle : Defender
        Defender that plans the best response.
    mixture : ndarray of float64, shape (n_adversaries,)
        Probability of each adversary.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records of each row of the games; 1, if None.
    """
    faced = {each.name: share for each, share in zip(playing, mixture.tolist(), strict=True) if share > 0}
    games = {each.name: record_game_of(each.truth) for each in playing if each.name in faced}
    alone = next(each.truth for each in playing if each.name in faced)
    choice = oracle.choose(alone if len(faced) == 1 else mixed_game(games, faced))
    outcomes = np.array([averages_of(paid_in(oracle, each.truth, choice), choice, weights)[:2] for each in playing])
    known = plans.payoff @ mixture
    scale = max(1.0, float(np.abs(plans.payoff).max()))
    if float(outcomes[:, 0] @ mixture) <= known.max() + _NEW * scale:
        return int(known.argmax())
    against = ", ".join(f"{share:.3g} {name}" for name, share in faced.items())
    plans.names.append((oracle.name, against))
    plans.payoff = np.vstack([plans.payoff, outcomes[:, 0]])
    plans.adversary_payoff = np.vstack([plans.adversary_payoff, outcomes[:, 1]])
    return len(plans.names) - 1


def _mixtures(
    plans: _Plans, adversaries: list[str], solved: Mixtures, played: list[int], columns: list[int]
) -> pd.DataFrame:
    defenders = [plans.names[row] for row in played]
    table = pd.DataFrame(
        {
            "player": ["defender"] * len(played) + ["adversary"] * len(columns),
            "strategy": [name for name, _ in defenders] + [adversaries[column] for column in columns],
            "plans_against": [against for _, against in defenders] + [""] * len(columns),
            "probability": np.concatenate([solved.rows, solved.columns]),
        }
    )
    return table[table["probability"] > 0].reset_index(drop=True)
