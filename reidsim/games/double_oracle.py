"""Double oracle: the game of cross-play with all plans that a solver can make, solved by adding best replies.

The table of cross-play has the plans that somebody thought of. A defender who mixes may have better ones: best replies
to mixtures of adversaries. The game of few plans and adversaries is solved, each player's best reply to the other's
mixture is added, and so on until both have next to nothing to gain (McMahan, Gordon and Blum 2003; with equilibria of
games that are not zero-sum it is PSRO of Lanctot et al. 2017, with exact replies).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
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

# Whether the adversary who comes is the one that hurts the defender most, or the one that gains most.
Sum = Literal["zero-sum", "general-sum"]
# A reply is new if it pays more than known plans by this share of the payoffs' size.
_NEW = 1e-9


@dataclass(frozen=True, eq=False)
class DoubleOracle:
    """The result of a double oracle.

    Parameters
    ----------
    iterations : DataFrame
        One row per iteration: ``iteration``, ``defenders`` and ``adversaries`` (how many are in the game),
        ``publisher_payoff`` and ``adversary_payoff`` of its solution, ``exploitability`` (how much both could gain in
        sum by best replies among all plans and adversaries), ``best_exploitability`` (the least so far), and
        the strategies added for the next: ``added_defender``, ``added_adversary``.
    mixtures : DataFrame
        Of the iteration with the least exploitability, one row per strategy of positive probability: ``player``,
        ``strategy``, ``plans_against``, ``probability``.
    left_out : tuple of str
        Adversaries that take no part, and whether it ended before the tolerance.
    """

    iterations: pd.DataFrame
    mixtures: pd.DataFrame
    left_out: tuple[str, ...]


@dataclass(eq=False)
class _Plans:
    """The rows of the game: plans of cross-play, then best replies, with payoffs against every adversary."""

    names: list[tuple[str, str]]
    payoff: Floats
    adversary_payoff: Floats
    played: list[int] = field(default_factory=list)

    def add(self, name: tuple[str, str], payoff: Floats, adversary_payoff: Floats) -> int:
        self.names.append(name)
        self.payoff = np.vstack([self.payoff, payoff])
        self.adversary_payoff = np.vstack([self.adversary_payoff, adversary_payoff])
        return len(self.names) - 1


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
    """Add best replies until nobody can gain more than a tolerance.

    Both players know the true amounts and the other's mixture; the publisher's beliefs do not matter.

    Parameters
    ----------
    play : CrossPlay
        Of these opponents; its rows are plans that can be added, too.
    opponents : sequence of Opponent
    oracle : Defender
        Plans the best reply to a mixture of adversaries.
    own : str
        The adversary to begin with.
    game : {"zero-sum", "general-sum"}
        Whether the adversary who comes is the one that hurts the defender most, or the one that gains most itself. In
        the latter case the games are solved by the equilibrium that is best for the defender.
    tolerance : float
        In currency units per record, above 0.
    most_iterations : int
    weights : ndarray of int64, shape (n_records,), optional
        Number of records of each row of the games; 1, if not given.
    progress : callable, optional
        Called with iterations done and at most to do.

    Raises
    ------
    InputError
        If there are too many releases to plan against several adversaries, nobody is left, or the tolerance is not
        above 0.
    """
    if not tolerance > 0:
        raise InputError("not a tolerance", where="tolerance", found=tolerance, expected="an amount above 0")
    if not can_plan_against_all(opponents):
        raise InputError("too many releases to plan against several adversaries", expected=f"at most {MOST_FORMS:,}")
    payoff, theirs = play.matrix("publisher_payoff"), play.matrix("adversary_payoff")
    playing = [each for each in opponents if each.name in payoff.columns and not _come_together(each)]
    left_out = [
        f"double oracle leaves {each.name!r} out: several who come together are no single adversary"
        for each in opponents
        if _come_together(each)
    ]
    if not playing:
        raise InputError("no adversary that comes alone", where="double oracle")
    names = [each.name for each in playing]
    pairs = play.table.iloc[:: payoff.shape[1]]
    plans = _Plans(
        list(zip(pairs["defender"], pairs["plans_against"], strict=True)),
        payoff[names].to_numpy(),
        theirs[names].to_numpy(),
    )
    first = own if own in names else names[0]
    if (oracle.name, first) not in plans.names:
        raise InputError("no plan to begin with", where="double oracle", found=f"{oracle.name} vs {first}")
    plans.played.append(plans.names.index((oracle.name, first)))
    columns = [names.index(first)]
    rows: list[dict[str, Any]] = []
    solutions: list[tuple[Mixtures, list[int], list[int]]] = []
    zero = game == "zero-sum"
    for iteration in range(1, most_iterations + 1):
        if progress is not None:
            progress(iteration - 1, most_iterations)
        their_payoff = -plans.payoff if zero else plans.adversary_payoff
        part = np.ix_(plans.played, columns)
        solved = zero_sum(plans.payoff[part]) if zero else equilibrium(plans.payoff[part], their_payoff[part])
        mixture = np.zeros(len(names))
        mixture[columns] = solved.columns
        reply = _reply(plans, playing, oracle, mixture, weights)
        column_values = solved.rows @ (-plans.payoff if zero else plans.adversary_payoff)[plans.played]
        column = int(column_values.argmax())
        gains = (
            max(float(plans.payoff[reply] @ mixture) - solved.row_payoff, 0.0),
            max(float(column_values[column]) - solved.column_payoff, 0.0),
        )
        their_mean = float(solved.rows @ plans.adversary_payoff[part] @ solved.columns)
        solutions.append((solved, list(plans.played), list(columns)))
        ended = fsum(gains) <= tolerance
        new_row = not ended and gains[0] > 0 and reply not in plans.played
        new_column = not ended and gains[1] > 0 and column not in columns
        rows.append(
            {
                "iteration": iteration,
                "defenders": len(plans.played),
                "adversaries": len(columns),
                "publisher_payoff": solved.row_payoff,
                "adversary_payoff": their_mean,
                "exploitability": fsum(gains),
                "best_exploitability": min(fsum(gains), rows[-1]["best_exploitability"] if rows else np.inf),
                "added_defender": row_name(*plans.names[reply]) if new_row else "",
                "added_adversary": names[column] if new_column else "",
            }
        )
        if new_row:
            plans.played.append(reply)
        if new_column:
            columns.append(column)
        if not new_row and not new_column:
            break
    table = pd.DataFrame(rows)
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
    """Return the row of the best reply to a mixture of adversaries; a new row only if it beats all known rows."""
    faced = {each.name: share for each, share in zip(playing, mixture.tolist(), strict=True) if share > 0}
    games = {each.name: record_game_of(each.truth) for each in playing if each.name in faced}
    if len(faced) == 1:
        choice = oracle.choose(next(each.truth for each in playing if each.name in faced))
    else:
        choice = oracle.choose(mixed_game(games, faced))
    outcomes = np.array([averages_of(paid_in(oracle, each.truth, choice), choice, weights)[:2] for each in playing])
    known = plans.payoff @ mixture
    scale = max(1.0, float(np.abs(plans.payoff).max()))
    if float(outcomes[:, 0] @ mixture) <= known.max() + _NEW * scale:
        return int(known.argmax())
    against = ", ".join(f"{share:.3g} {name}" for name, share in faced.items())
    return plans.add((oracle.name, against), outcomes[:, 0], outcomes[:, 1])


def _mixtures(
    plans: _Plans, adversaries: list[str], solved: Mixtures, played: list[int], columns: list[int]
) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for row, probability in zip(played, solved.rows.tolist(), strict=True):
        name, against = plans.names[row]
        rows.append({"player": "defender", "strategy": name, "plans_against": against, "probability": probability})
    for column, probability in zip(columns, solved.columns.tolist(), strict=True):
        name = adversaries[column]
        rows.append({"player": "adversary", "strategy": name, "plans_against": "", "probability": probability})
    table = pd.DataFrame(rows)
    return table[table["probability"] > 0].reset_index(drop=True)
