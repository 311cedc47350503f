"""Strategies that may win whatever one-shot adversaries do: the others are left out, once for many games.

From round to round, and from belief to belief, a game changes in how likely each adversary is, in what it takes groups
to be and in what attacks are worth; in how records are linked and in what is at stake for the publisher it mostly does
not. What follows from the latter alone is worked out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Linkage
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.games.adversary_types import TypesAdversary, TypesGame
from reidsim.games.memory import RememberingAdversary, RememberingLinker
from reidsim.games.record_game import WITHHELD, Constraint, Linker, RecordGame
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace
from reidsim.threads import available_threads, done_in_threads

# Per record, on average; where more may win, working out all of them needs less memory.
_MOST_KEPT = 16
# Pairs of a record and a strategy that are played at once: what is computed of them stays in the cache.
_AT_ONCE = 2**15


class Pairs(NamedTuple):
    """Strategies that may win and records for which they may, arrays of shape (n_pairs,); of each record, ascending.

    Attributes
    ----------
    strategies, rows : ndarray of int32
    most : ndarray of float64
        What the strategy pays if nobody attacks.
    linked : tuple of Linkage
        By each linker of types that may attack.
    """

    strategies: NDArray[np.int32]
    rows: NDArray[np.int32]
    most: Floats
    linked: tuple[Linkage, ...]


@dataclass(frozen=True, eq=False)
class Contenders:
    """The strategies that may win in a game and in all that differ from it in adversaries' amounts and beliefs alone.

    A strategy cannot win if it pays less without any attack than another one under the worst: with benefit b, loss L,
    utility u and the probability r of being re-identified, h is left out where

        b u(h) < max over allowed g before h of  b u(g) - L R(g)  -  tie,

    R(g) being the probability that somebody succeeds if every type comes and attacks. Why nothing is lost: whatever its
    amounts and beliefs, a one-shot adversary attacks once or not at all, and succeeds with probability 1 / group size,
    which depends on linkage alone, by what was released before as well if it remembers. So r(g) <= R(g), whether one of
    the types comes, any number or the worst. With that g, h pays b u(h) < b u(g) - L R(g) - tie <= U(g) - tie at most:
    it is neither the best nor equal to the best up to `RecordGame.tie`, and `backward_induction` keeps the first of
    those that are. A strategy that the constraint forbids is never that g. Utility does not rise downwards: all below a
    strategy that is left out are left out.

    Without a constraint those, too, that do not tell all that is known of a record by all types that may attack: what
    both tell is one strategy, met before, and adversaries do the same about it, while its utility is as high or higher.

    Parameters
    ----------
    space : StrategySpace
    linkers : tuple of Linker
        Of each type that may attack.
    benefit, loss : ndarray of float64, shape (n_records,)
    constraint : Constraint
        Without attacks that it forbids.
    pairs : tuple of Pairs or None
        Those that may win, of neighbouring records each; none if they are too many to be listed.
    """

    space: StrategySpace
    linkers: tuple[Linker, ...]
    benefit: Floats
    loss: Floats
    constraint: Constraint
    pairs: tuple[Pairs, ...] | None

    @classmethod
    def of(cls, game: RecordGame, constraint: Constraint) -> Contenders | None:
        """Find the contenders of a game; None if one of its adversaries is not one-shot, or no attack is allowed."""
        linkers = _linkers(game)
        if linkers is None or constraint.no_attack:
            return None
        found = _in_parts(game, constraint)
        return cls(game.space, linkers, game.benefit, game.loss, constraint, found)

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
            and _same(constraint.minimum, self.constraint.minimum)
            and constraint.admissible == self.constraint.admissible
        )

    def best(self, game: RecordGame) -> Strategies:
        """Return the best strategy of each record in a game whose contenders they are, as `backward_induction` does."""
        assert self.pairs is not None  # noqa: S101 # as the caller has seen
        best = np.full(game.n_records, -np.inf)
        chosen, tie = np.full(game.n_records, WITHHELD, dtype=np.int64), game.tie()

        def compare(pairs: Pairs) -> None:
            for begin in range(0, len(pairs.rows), _AT_ONCE):
                part = slice(begin, begin + _AT_ONCE)
                strategies, rows = pairs.strategies[part], pairs.rows[part].astype(np.intp)
                payoff = pairs.most[part] - game.loss[rows] * _reidentified(game, pairs.linked, rows, part)
                _take_better(strategies, rows, payoff, tie, best, chosen)

        list(done_in_threads(compare, self.pairs, available_threads()))
        return chosen


def _reidentified(game: RecordGame, linked: tuple[Linkage, ...], rows: Rows, part: slice) -> Floats:
    """Return the probability that the records of some pairs are re-identified."""
    replies, of_next = [], iter(linked)
    for each in game.types if isinstance(game, TypesGame) else (game,):
        adversary, own = each.adversary, rows
        if isinstance(adversary, RememberingAdversary):
            assert isinstance(each.linker, RememberingLinker)  # noqa: S101 # which tells what is remembered
            adversary, own = adversary.adversary, each.linker.cells[rows]
        if isinstance(adversary, NeverAttacks):
            true = believed = np.full(len(rows), np.inf)
        else:
            of_all = next(of_next)
            true = believed = of_all.group_sizes[part]
            if of_all.believed_group_sizes is not of_all.group_sizes:
                believed = of_all.believed_group_sizes[part]
        replies.append(adversary.respond(Linkage(true, believed), own))
    if isinstance(game.adversary, TypesAdversary):
        return game.adversary.combined(replies).reidentified
    return replies[0].reidentified


@numba.njit(cache=True, nogil=True)
def _take_better(
    strategies: NDArray[np.int32],
    rows: Rows,
    payoff: Floats,
    tie: Floats,
    best: Floats,
    chosen: Strategies,
) -> None:
    """Take each strategy in turn where it is better than what is held by more than rounding."""
    for pair in range(len(rows)):
        row = rows[pair]
        if payoff[pair] > best[row] + tie[row]:
            best[row], chosen[row] = payoff[pair], strategies[pair]


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


def _in_parts(game: RecordGame, constraint: Constraint) -> tuple[Pairs, ...] | None:
    parts = game.parts()

    def find(number: int) -> tuple[int, Pairs | None]:
        records, part = parts[number]
        return number, _contenders(part, constraint.of(records), records.start)

    found = dict(done_in_threads(find, range(len(parts)), len(parts)))
    pairs = tuple(each for number in range(len(parts)) if (each := found[number]) is not None)
    return pairs if len(pairs) == len(parts) else None


def _contenders(game: RecordGame, constraint: Constraint, first: int) -> Pairs | None:
    """Return the pairs of the records of a game, which are numbered from `first` on; none if they are too many."""
    space, tie, linkers = game.space, game.tie(), _linkers(game) or ()
    # What the best of the strategies met pays at least; those above come first.
    sure = np.full(game.n_records, -np.inf)
    alive: dict[int, Rows] = {space.most_specific: np.arange(game.n_records)}
    found: list[tuple[int, Rows, Floats, list[Linkage]]] = []
    kept, remembering = 0, None if constraint.restricts_forms else _remembering(linkers)
    for strategy in range(space.size):
        if strategy not in alive:
            continue
        rows = alive.pop(strategy)
        if remembering is not None:
            rows = rows[remembering.tells_all(strategy, rows)]
        most = game.benefit_of(strategy, _or_all(rows, game))
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
        linked = {id(linker): linker.link(strategy, _or_all(rows, game)) for linker in linkers}
        safe = np.ones(len(rows))
        for linker in linkers:
            safe *= 1.0 - UniformGuess().success_probability(linked[id(linker)].group_sizes)
        sure[rows] = np.fmax(sure[rows], most - game.loss[rows] * (1.0 - safe))
        found.append((strategy, rows + first, most, [linked[id(linker)] for linker in linkers]))
        kept += len(rows)
        if kept > _MOST_KEPT * game.n_records:
            return None
    if not found:
        return None
    return Pairs(
        np.repeat(np.array([each[0] for each in found], dtype=np.int32), [len(rows) for _, rows, _, _ in found]),
        np.concatenate([rows for _, rows, _, _ in found], dtype=np.int32, casting="same_kind"),
        np.concatenate([most for _, _, most, _ in found]),
        tuple(_joined([linked[number] for *_, linked in found]) for number in range(len(linkers))),
    )


def _or_all(rows: Rows, game: RecordGame) -> Rows | None:
    """Return some of the records of a game, in ascending order; None if these are all, which are looked up faster."""
    return None if len(rows) == game.n_records else rows


def _remembering(linkers: tuple[Linker, ...]) -> RememberingLinker | None:
    """Return a linker that tells what is known of each record by all types that may attack; None if some do not."""
    first = linkers[0] if linkers else None
    if not isinstance(first, RememberingLinker):
        return None
    return first if all(isinstance(each, RememberingLinker) and each.past is first.past for each in linkers) else None


def _joined(linked: Sequence[Linkage]) -> Linkage:
    """Return what linkage yields for all pairs, given that for those of each strategy."""
    true = np.concatenate([each.group_sizes for each in linked])
    if all(each.believed_group_sizes is each.group_sizes for each in linked):
        return Linkage(true, true)
    return Linkage(true, np.concatenate([each.believed_group_sizes for each in linked]))
