"""The best strategy of every record of a large table: groups are split from the most general node on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.record_game import WITHHELD, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.linkage.partition import Integers, Positions, Rollup, split, vertices
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

# Fewest parts of the search: progress is reported after each.
_PARTS = 64


class Held(NamedTuple):
    """The best strategy found so far of each record.

    Attributes
    ----------
    payoff : ndarray of float64, shape (n_records,)
    strategies : ndarray of int64, shape (n_records,)
        ``WITHHELD`` (-1) where none is found.
    evaluated : ndarray of int64, shape (n_records,)
        Strategies whose payoff was computed.
    """

    payoff: Floats
    strategies: Strategies
    evaluated: Integers


def iceberg(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> dict[str, Choice]:
    """Find the best strategy of every record under each of several constraints, in a lattice of many nodes.

    A vertex of the search tree fixes the levels of some attributes and leaves the others out (`Rollup`). Of a group at
    a vertex two things bound every node beneath it: no record in it loses less information than by the levels fixed,
    with the others at level 0; and no group is larger than this one. So with n its size, L the loss and v the benefit
    at the least information loss, no strategy beneath it pays a record more than v - L / n if an attack on n people
    pays, and more than v if not; under the No-Attack constraint nothing beneath it is allowed in the first case, as an
    attack on fewer people pays, too. A group is split no further when this is less than each of its records has
    already, or equal to it with a higher strategy number. Every strategy is evaluated or beneath such a group; hence
    payoff and strategy are those of `backward_induction`.

    Why this order. From the most specific node on (`branch_and_bound`), nothing bounds the search for a strategy that
    is not attacked until one is found, and nearly every record is alone in its group at nearly every node visited: of
    300,000 records and 69,120 strategies it would make some 50,000 tables of 300,000 groups. From the most general node
    on, groups too small for the constraint are left out with all that is beneath them.

    Parameters
    ----------
    game : RecordGame
        Others than those of `fits` are played by `branch_and_bound`, and so are constraints on sensitive columns.
    constraints : mapping of str to Constraint
    progress : callable, optional
        Called with parts done and in all.

    Returns
    -------
    dict of str to Choice
        Exact; `evaluated` counts the strategies whose payoff was computed.
    """
    # Whether a group may be released is no matter of its size alone where the values of sensitive columns count.
    if not fits(game) or any(constraint.admissible is not None for constraint in constraints.values()):
        return {
            name: branch_and_bound(game, constraint, partial(progress, number, len(constraints)))
            for number, (name, constraint) in enumerate(constraints.items())
        }
    found: dict[str, Held] = {}
    # What is not attacked is also a strategy of those policies that allow attacks.
    for number, name in enumerate(sorted(constraints, key=lambda name: not constraints[name].no_attack)):
        constraint = constraints[name]
        before = [held for other, held in found.items() if _is_narrower(constraints[other], constraint)]
        step = partial(_told, progress, number, len(constraints))
        found[name] = _search(game, constraint, before[0] if before else None, step)
    return {name: Choice(found[name].strategies, "iceberg", found[name].evaluated, exact=True) for name in constraints}


def fits(game: RecordGame) -> bool:
    """Tell whether group sizes are all that payoffs depend on: one attempt at a record, among people counted."""
    adversary, linker, space = game.adversary, game.linker, game.space
    return (
        type(adversary) is OneShotAdversary
        and type(adversary.risk) is UniformGuess
        and type(space) is GeneralizationLattice
        and type(linker) is PopulationLinker
        and linker.believed_group_sizes in (None, linker.group_sizes)
        and linker.group_sizes.holds_records
        and linker.group_sizes.rollup is not None
    )


def _is_narrower(first: Constraint, second: Constraint) -> bool:
    """Tell whether whatever the first constraint allows the second allows."""
    same = first.minimum is second.minimum or second.minimum is None
    return first.no_attack and not second.no_attack and same


def _told(progress: Callable[[int, int], object], number: int, constraints: int, done: int, total: int) -> None:
    progress(number * total + done, constraints * total)


def _search(
    game: RecordGame, constraint: Constraint, before: Held | None, progress: Callable[[int, int], object]
) -> Held:
    assert isinstance(game.linker, PopulationLinker)  # noqa: S101 # as `fits` found
    assert isinstance(game.adversary, OneShotAdversary)  # noqa: S101
    assert isinstance(game.space, GeneralizationLattice)  # noqa: S101
    rollup, n = game.linker.group_sizes.rollup, game.n_records
    assert rollup is not None  # noqa: S101
    adversary, space = game.adversary, game.space
    price = np.asarray(adversary.cost) * np.float64(1 + INDIFFERENCE)
    amounts = np.array([np.broadcast_to(each, (n,)) for each in (game.benefit, game.loss, adversary.gain, price)])
    lowest = np.zeros((len(rollup.shape), 1 if constraint.minimum is None else n), dtype=np.int16)
    if constraint.minimum is not None:
        lowest[:] = np.asarray(constraint.minimum) // rollup.strides[:, None] % rollup.shape[:, None]
    held = Held(np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64), np.zeros(n, dtype=np.int64))
    if before is not None:
        held = Held(before.payoff.copy(), before.strategies.copy(), held.evaluated)
    if constraint.minimum is None:
        # Sharing everything, and suppressing everything: most groups are left out at once.
        for strategy in (space.most_specific, space.size - 1):
            outcome = game.outcome(strategy)
            better = constraint.allows(space, strategy, outcome.response.invited)
            better &= _better(outcome.publisher_payoff, strategy, held, game.tie())
            held.payoff[better], held.strategies[better] = outcome.publisher_payoff[better], strategy
            held.evaluated[:] += 1
    least = _least_safe(amounts) if constraint.no_attack else 0
    records = np.where(np.arange(rollup.codes.shape[1]) < n, 0, -1)
    parts = vertices(rollup.shape.tolist(), _PARTS)
    buffers = np.empty((len(rollup.shape) + 1, len(records)), dtype=np.int32)
    buffers[0] = np.arange(len(records))
    counts = np.zeros((int(rollup.n_groups.max()), 3), dtype=np.int64)
    for done, first_levels in enumerate(parts, start=1):
        fixed = np.full(len(rollup.shape), -1, dtype=np.int64)
        fixed[: len(first_levels)] = first_levels
        _walk(
            0, 0, len(records), int(rollup.people.sum()), 0.0, 0, fixed, rollup, records, amounts, lowest, least,
            constraint.no_attack, buffers, counts, np.zeros(len(rollup.shape), dtype=np.int64), held,
        )  # fmt: skip
        progress(done, len(parts))
    return held


def _better(payoff: Floats, strategies: Strategies | int, held: Held, tie: Floats) -> NDArray[np.bool_]:
    """Tell of which records strategies are better than what is held; see `branch_and_bound`."""
    with np.errstate(invalid="ignore"):
        # Where neither is allowed, both are minus infinity.
        ahead = payoff - held.payoff
    return np.asarray((ahead > tie) | ((ahead >= -tie) & (strategies < held.strategies)))


def _least_safe(amounts: Floats) -> int:
    """Return a number of people among whom some record may not be attacked; among fewer, all are."""
    _, _, gain, price = amounts
    with np.errstate(divide="ignore", invalid="ignore"):
        people = np.where(gain > 0, gain / price, 0.0).min(initial=np.inf)
    # One less, against rounding.
    return int(min(max(people - 1.0, 0.0), 2.0**62))


@numba.njit(cache=True)
def _wins(payoff: float, strategy: int, record: int, amounts: Floats, held: Held) -> bool:
    """Tell whether a strategy that pays so much is better than what is held of a record; see `branch_and_bound`."""
    ahead, tie = payoff - held.payoff[record], INDIFFERENCE * (amounts[0, record] + amounts[1, record])
    return bool(ahead > tie or (ahead >= -tie and strategy < held.strategies[record]))


@numba.njit(cache=True)
def _walk(
    depth: int,
    begin: int,
    end: int,
    size: int,
    lost: float,
    strategy: int,
    fixed: Integers,
    rollup: Rollup,
    records: Integers,
    amounts: Floats,
    lowest: NDArray[np.int16],
    least: int,
    no_attack: bool,
    buffers: Positions,
    counts: Integers,
    levels: Integers,
    held: Held,
) -> None:
    """Search beneath a vertex, for the rows of one group, of `size` people.

    Parameters
    ----------
    lost : float
        Least information that a record of the group loses by the levels fixed, `levels`, which make up `strategy`.
    fixed : ndarray of int64, shape (n_attributes,)
        The only level to be walked of each attribute; all, where -1.
    records : ndarray of int64, shape (n_rows,)
        0 for records, -1 for other people.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and what an attack must be worth more than.
    lowest : ndarray of int16, shape (n_attributes, n_records) or (n_attributes, 1)
        Least level of each record's attributes; one column if all may be at level 0.
    least : int
        Fewest people of a group that matters.
    """
    benefit, loss, gain, price = amounts
    is_bounded = lowest.shape[1] > 1 or len(benefit) == 1
    if depth == len(rollup.shape):
        for place in range(begin, end):
            record = buffers[depth, place]
            if records[record] < 0:
                continue
            attacked = gain[record] * (1.0 / size) > price[record]
            loses, allowed = 0.0, not (attacked and no_attack)
            for at in range(len(levels)):
                if levels[at] > 0:
                    loses += rollup.losses[at, levels[at], rollup.codes[at, record]]
                if is_bounded and levels[at] < lowest[at, record]:
                    allowed = False
            if not allowed:
                continue
            payoff = benefit[record] * (0.0 if loses > NO_BENEFIT else 1.0 - loses)
            payoff -= loss[record] * (1.0 / size) if attacked else 0.0
            held.evaluated[record] += 1
            if _wins(payoff, strategy, record, amounts, held):
                held.payoff[record], held.strategies[record] = payoff, strategy
        return
    column = rollup.codes[depth]
    for level in range(rollup.shape[depth]):
        if fixed[depth] >= 0 and fixed[depth] != level:
            continue
        levels[depth] = level
        number = strategy + level * rollup.strides[depth]
        starts, sizes = split(
            buffers[depth], begin, end, buffers[depth + 1], column, rollup.groups[depth, level],
            rollup.people, records, 0, 1, least, counts,
        )  # fmt: skip
        for group in range(len(sizes)):
            people = max(sizes[group], 1)
            some = column[buffers[depth + 1, starts[group]]]
            loses = lost + rollup.least_losses[depth, level, some]
            share, found = 1.0 / people, False
            for place in range(starts[group], starts[group + 1]):
                record = buffers[depth + 1, place]
                if records[record] < 0 or (is_bounded and level < lowest[depth, record]):
                    continue
                most = benefit[record] * (1.0 - loses)
                if gain[record] * share > price[record]:
                    if no_attack:
                        continue
                    most -= loss[record] * share
                if _wins(most, number, record, amounts, held):
                    found = True
                    break
            if found:
                _walk(
                    depth + 1, starts[group], starts[group + 1], people, loses, number, fixed, rollup, records, amounts,
                    lowest, least, no_attack, buffers, counts, levels, held,
                )  # fmt: skip
