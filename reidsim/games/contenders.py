"""Strategies that may win whatever one-shot adversaries do: the others are left out, once for many games.

From round to round, and from belief to belief, a game changes in how likely each adversary is, in what it takes groups
to be and in what attacks are worth; in how records are linked and in what is at stake for the publisher it mostly does
not. What follows from the latter alone is worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.games.adversary_types import TypesGame
from reidsim.games.memory import RememberingAdversary, RememberingLinker
from reidsim.games.record_game import Constraint, Linker, RecordGame
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace
from reidsim.threads import done_in_threads

# Per record, on average; where more may win, working out all of them needs less memory.
_MOST_KEPT = 32


@dataclass(frozen=True, eq=False)
class Contenders:
    """The strategies that may win in a game and in all that differ from it in adversaries' amounts and beliefs alone.

    A strategy cannot win if it pays less without any attack than another one under the worst: with benefit b, loss L,
    utility u and the probability r of being re-identified, h is left out where

        b u(h) < max over allowed g of  b u(g) - L R(g)  -  tie,

    R(g) being the probability that somebody succeeds if every type comes and attacks. Why nothing is lost: whatever its
    amounts and beliefs, a one-shot adversary attacks once or not at all, and succeeds with probability 1 / group size,
    which depends on linkage alone, by what was released before as well if it remembers. So r(g) <= R(g), whether one of
    the types comes, any number or the worst. With that g, h pays b u(h) < b u(g) - L R(g) - tie <= U(g) - tie at most:
    it is neither the best nor equal to the best up to `RecordGame.tie`, and `backward_induction` keeps the first of
    those that are. A strategy that the minimum forbids is never that g. Utility does not rise downwards: all below a
    strategy that is left out are left out.

    Parameters
    ----------
    space : StrategySpace
    linkers : tuple of Linker
        Of each type that may attack.
    benefit, loss : ndarray of float64, shape (n_records,)
    minimum : ndarray of int64, shape (n_records,), optional
    strategies : tuple of (int, ndarray of int), or None
        Those that may win, ascending, and for which records; none if they are too many to be listed.
    """

    space: StrategySpace
    linkers: tuple[Linker, ...]
    benefit: Floats
    loss: Floats
    minimum: Strategies | None
    strategies: tuple[tuple[int, Rows], ...] | None

    @classmethod
    def of(cls, game: RecordGame, constraint: Constraint) -> Contenders | None:
        """Find the contenders of a game; None if one of its adversaries is not one-shot, or no attack is allowed."""
        linkers = _linkers(game)
        if linkers is None or constraint.no_attack:
            return None
        found = _in_parts(game, constraint)
        return cls(game.space, linkers, game.benefit, game.loss, constraint.minimum, found)

    def are_of(self, game: RecordGame, constraint: Constraint) -> bool:
        """Tell whether they are the contenders of another game, too."""
        linkers = _linkers(game)
        return (
            linkers is not None
            and game.space is self.space
            and len(linkers) == len(self.linkers)
            and all(_link_alike(one, other) for one, other in zip(linkers, self.linkers, strict=True))
            and _same(game.benefit, self.benefit)
            and _same(game.loss, self.loss)
            and not constraint.no_attack
            and _same(constraint.minimum, self.minimum)
        )


def _link_alike(first: Linker, second: Linker) -> bool:
    """Tell whether two linkers are one, or link by one past; the latter are made anew whenever they are asked for."""
    if not isinstance(first, RememberingLinker) or not isinstance(second, RememberingLinker):
        return first is second
    return (
        len(first.linkers) == len(second.linkers)
        and all(one is other for one, other in zip(first.linkers, second.linkers, strict=True))
        and first.which is second.which
        and first.cells is second.cells
        and first.past is second.past
    )


def _same(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return first is second or np.array_equal(first, second)


def _linkers(game: RecordGame) -> tuple[Linker, ...] | None:
    """Return what each type that may attack links with; None if more is needed to tell how likely it succeeds."""
    types = game.types if isinstance(game, TypesGame) else (game,)
    linkers = []
    for each in types:
        adversary = each.adversary
        if isinstance(adversary, RememberingAdversary):
            adversary = adversary.adversary
        if isinstance(adversary, NeverAttacks):
            continue
        if not isinstance(adversary, OneShotAdversary) or not isinstance(adversary.risk, UniformGuess):
            return None
        linkers.append(each.linker)
    return tuple(linkers)


def _in_parts(game: RecordGame, constraint: Constraint) -> tuple[tuple[int, Rows], ...] | None:
    parts = game.parts()
    found: list[dict[int, Rows] | None] = [None] * len(parts)

    def find(number: int) -> None:
        records, part = parts[number]
        found[number] = _contenders(part, constraint.of(records))

    list(done_in_threads(find, range(len(parts)), len(parts)))
    every = [each for each in found if each is not None]
    if len(every) < len(parts):
        return None
    starts = [records.start for records, _ in parts]
    return tuple(
        (strategy, np.concatenate(
            [each[strategy] + start for each, start in zip(every, starts, strict=True) if strategy in each]
        ))
        for strategy in sorted(set().union(*every))
    )  # fmt: skip


def _contenders(game: RecordGame, constraint: Constraint) -> dict[int, Rows] | None:
    space, tie, linkers = game.space, game.tie(), _linkers(game) or ()
    # What the best of the strategies met pays at least; those above come first.
    sure = np.full(game.n_records, -np.inf)
    alive: dict[int, Rows] = {space.most_specific: np.arange(game.n_records)}
    found: list[tuple[int, Rows, Floats]] = []
    kept = 0
    for strategy in range(space.size):
        if strategy not in alive:
            continue
        rows = alive.pop(strategy)
        most = game.benefit_of(strategy, rows)
        may_win = most >= sure[rows] - tie[rows]
        rows, most = rows[may_win], most[may_win]
        if not len(rows):
            continue
        for below in space.successors(strategy):
            if below not in alive or len(rows) < len(alive[below]):
                alive[below] = rows
        allowed = constraint.allows(space, strategy, np.zeros(len(rows), dtype=np.bool_), rows)
        if not allowed.all():
            rows, most = rows[allowed], most[allowed]
        safe = np.ones(len(rows))
        for linker in linkers:
            safe *= 1.0 - UniformGuess().success_probability(linker.link(strategy, rows).group_sizes)
        sure[rows] = np.fmax(sure[rows], most - game.loss[rows] * (1.0 - safe))
        found.append((strategy, rows, most))
        kept += len(rows)
        if kept > _MOST_KEPT * game.n_records:
            return None
    still = ((strategy, rows[most >= sure[rows] - tie[rows]]) for strategy, rows, most in found)
    return {strategy: rows for strategy, rows in still if len(rows)}
