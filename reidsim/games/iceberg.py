"""Exact search for large tables that splits groups from the most general node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.record_game import WITHHELD, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import branch_and_bound
from reidsim.linkage.partition import Integers, Positions, Rollup, split, vertices
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Strategies

# Minimum number of parts of the search; progress is reported after each part.
_PARTS = 64


class Held(NamedTuple):
    """Best strategy found so far for each record.

    Attributes
    ----------
    payoff : ndarray of float64, shape (n_records,)
        The publisher's payoff, in currency units; minus infinity where no strategy is found yet.
    strategies : ndarray of int64, shape (n_records,)
        ``WITHHELD`` (-1) where no strategy is found yet.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies whose payoff was computed.
    """

    payoff: Floats
    strategies: Strategies
    evaluated: Integers


def iceberg(
    game: RecordGame,
    constraints: Mapping[str, Constraint],
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> dict[str, Choice]:
    """Return the best strategy of every record under each constraint.

    The search is meant for lattices of many nodes. A vertex of the search tree fixes the levels of some attributes and
    omits the others (`Rollup`). For a group at a vertex, two facts bound every node beneath the vertex. First, no
    record of the group loses less information than with the fixed levels and all other levels at 0. Second, no group
    beneath is larger than this group. Let n be the size of the group, L the publisher's loss, and v the benefit at this
    least information loss. Then a strategy beneath pays a record at most v - L / n if an attack on a group of n people
    pays, and at most v otherwise. Under the No-Attack constraint, no strategy beneath is allowed in the first case,
    because an attack on fewer people pays as well.

    A group is not split further if, for each of its records, this bound is below the best payoff found, or equal to it
    with a higher strategy number. Every strategy is either evaluated or lies beneath such a group. Hence payoff and
    strategy are the same as in `backward_induction`.

    Reason for this order: if the search starts at the most specific node (`branch_and_bound`), nothing bounds it until
    it finds a strategy that is not attacked, and nearly every record is alone in its group at nearly every node
    visited. With 300,000 records and 69,120 strategies, it would make some 50,000 tables of 300,000 groups. If the
    search starts at the most general node, groups too small for the constraint are skipped with all nodes beneath them.

    Parameters
    ----------
    game : RecordGame
        If `fits` is false for the game, or a constraint limits sensitive columns, `branch_and_bound` is used instead.
    constraints : mapping of str to Constraint
    progress : callable, optional
        Called with the number of parts of the search done and the total number; with `branch_and_bound`, at each node
        with the number of constraints done and their total number.

    Returns
    -------
    dict of str to Choice
        Exact choices, by name of the constraint; a record is withheld if no strategy satisfies the constraint.
        `evaluated` counts the strategies whose payoff was computed.
    """
    # With limits on sensitive columns, the size of a group alone does not determine whether it may be released.
    if not fits(game) or any(constraint.admissible is not None for constraint in constraints.values()):
        return {
            name: branch_and_bound(game, constraint, partial(progress, number, len(constraints)))
            for number, (name, constraint) in enumerate(constraints.items())
        }
    found: dict[str, Held] = {}
    # No-Attack constraints come first: their solutions are also allowed by constraints that permit attacks.
    for number, name in enumerate(sorted(constraints, key=lambda name: not constraints[name].no_attack)):
        constraint = constraints[name]
        before = [held for other, held in found.items() if _is_narrower(constraints[other], constraint)]

        def step(done: int, total: int, number: int = number) -> None:
            progress(number * total + done, len(constraints) * total)

        found[name] = _search(game, constraint, before[0] if before else None, step)
    return {name: Choice(found[name].strategies, "iceberg", found[name].evaluated, exact=True) for name in constraints}


def fits(game: RecordGame) -> bool:
    """Return whether payoffs depend on counted group sizes alone.

    The search requires this. It means one attempt per record, a uniform guess within the group, equal true and believed
    group sizes, and a generalization lattice.
    """
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
    """Return whether a solution under the first constraint is allowed by the second.

    The result is true only if the first constraint forbids attacks, the second does not, and the second has no
    `minimum` or the same one.
    """
    same = first.minimum is second.minimum or second.minimum is None
    return first.no_attack and not second.no_attack and same


def _search(
    game: RecordGame, constraint: Constraint, before: Held | None, progress: Callable[[int, int], object]
) -> Held:
    # As `fits` found: a population linker with a roll-up, a one-shot adversary and a lattice.
    linker, adversary, space, n = cast("Any", game.linker), cast("Any", game.adversary), game.space, game.n_records
    rollup: Rollup = linker.group_sizes.rollup
    price = np.asarray(adversary.cost) * np.float64(1 + INDIFFERENCE)
    amounts = np.array([np.broadcast_to(each, (n,)) for each in (game.benefit, game.loss, adversary.gain, price)])
    lowest = np.zeros((len(rollup.shape), 1 if constraint.minimum is None else n), dtype=np.int16)
    if constraint.minimum is not None:
        lowest[:] = np.asarray(constraint.minimum) // rollup.strides[:, None] % rollup.shape[:, None]
    held = Held(np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64), np.zeros(n, dtype=np.int64))
    if before is not None:
        held = Held(before.payoff.copy(), before.strategies.copy(), held.evaluated)
    if constraint.minimum is None:
        # Evaluate the unchanged and the fully suppressed release first, so that most groups are skipped at once.
        for strategy in (space.most_specific, space.size - 1):
            outcome = game.outcome(strategy)
            better = constraint.allows(space, strategy, outcome.response.invited)
            ahead = outcome.publisher_payoff - held.payoff
            better &= (ahead > game.tie()) | ((ahead >= -game.tie()) & (strategy < held.strategies))
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
            0,
            0,
            len(records),
            int(rollup.people.sum()),
            0.0,
            0,
            fixed,
            rollup,
            records,
            amounts,
            lowest,
            least,
            constraint.no_attack,
            buffers,
            counts,
            np.zeros(len(rollup.shape), dtype=np.int64),
            held,
        )
        progress(done, len(parts))
    return held


def _least_safe(amounts: Floats) -> int:
    """Return a group size below which an attack on every record pays, or 0."""
    _, _, gain, price = amounts
    with np.errstate(divide="ignore", invalid="ignore"):
        people = np.where(gain > 0, gain / price, 0.0).min(initial=np.inf)
    # One less, so that rounding errors cannot exclude a group that is not attacked.
    return int(min(max(people - 1.0, 0.0), 2.0**62))


@numba.njit(cache=True)
def _wins(payoff: float, strategy: int, record: int, amounts: Floats, held: Held) -> bool:
    """Return whether a strategy's payoff beats the best found so far.

    It does if it is larger by more than the tie tolerance, or equal within it and the strategy's number is lower.
    """
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
    """Search beneath a vertex for better strategies of the records of a group.

    Better strategies are written to `held`.

    Parameters
    ----------
    depth : int
        Number of attributes whose levels the vertex fixes; all of them at a node of the lattice.
    begin, end : int
        The group: positions in ``buffers[depth]``, which holds row numbers.
    size : int
        Number of people in the group.
    lost : float
        Least information loss of a record of the group under the fixed levels, `levels`, which make up `strategy`.
    fixed : ndarray of int64, shape (n_attributes,)
        The only level of each attribute to be searched; -1 for all levels.
    records : ndarray of int64, shape (n_rows,)
        0 for records, -1 for other people.
    amounts : ndarray of float64, shape (4, n_records)
        Benefit, loss, gain, and cost of an attack including the tie tolerance, in currency units. An attack pays if its
        expected gain exceeds this cost.
    lowest : ndarray of int16, shape (n_attributes, n_records) or (n_attributes, 1)
        Lowest allowed level of each record's attributes; one column if level 0 is allowed for all records.
    least : int
        Smallest group size that is searched; smaller groups are skipped.
    no_attack : bool
        Whether strategies under which an attack pays are forbidden.
    buffers, counts
        Work arrays.
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
            buffers[depth],
            begin,
            end,
            buffers[depth + 1],
            column,
            rollup.groups[depth, level],
            rollup.people,
            records,
            0,
            1,
            least,
            counts,
        )
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
                    depth + 1,
                    starts[group],
                    starts[group + 1],
                    people,
                    loses,
                    number,
                    fixed,
                    rollup,
                    records,
                    amounts,
                    lowest,
                    least,
                    no_attack,
                    buffers,
                    counts,
                    levels,
                    held,
                )
