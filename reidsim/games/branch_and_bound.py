"""Branch and bound: the lattice-based search continued until the optimum is proved."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.memory import require_memory
from reidsim.releases.strategy_space import Floats, Rows

_MOST_OPEN = 4_000_000
# Bytes of an open node besides its records, and after how many more of both it is asked whether as many are free.
_OF_OPEN, _ASKED = 512, 2**26
_TOO_MANY = "too many strategies that may be best, for branch and bound"
_FEWER = "fewer attributes or levels have fewer"


def branch_and_bound(
    game: RecordGame, constraint: Constraint | None = None, progress: Callable[[], object] = lambda: None
) -> Choice:
    """Find the best strategy of every record while working out few of them.

    Nodes are visited from the most specific on, those with the highest average utility first; a record visits a
    node only if a visited node just above it left that node open. Two rules close nodes, with v(g) the benefit of a
    strategy and U(g) <= v(g) its payoff:

    1. Below a node g that is allowed and not attacked nothing is visited.
    2. A node g is not visited when v(g) is below the best payoff found, or equal to it with a higher strategy number.

    Why no better strategy is missed. The payoff is the benefit less an expected loss: U(g) = v(g) - L q(g) p(g), with q
    the probability of an attack, which is 0 or 1 unless the adversary errs or attacks at random, and p that of its
    success. So U(g) <= v(g), whatever the adversary does. Let h lie below g. Generalizing never raises the benefit, so
    U(h) <= v(h) <= v(g): v(g) bounds everything beneath g, itself included. If g is not attacked, q(g) = 0 and U(g) =
    v(g), so no h below pays more; h also has a higher strategy number, so it would lose a tie; and g itself is allowed.
    That is rule 1. Only limits on sensitive attributes forbid a node that is not attacked: it stays open, as a
    generalization of a forbidden node may be allowed, and one of an allowed node forbidden. Rule 2 discards only
    strategies whose payoff cannot exceed the best found or that would lose the tie against it, for every h below g has
    a higher number than g. Every strategy allowed by the constraint lies below its starting node, and each is either
    visited or beneath a closed node. Hence payoff and strategy are those of `backward_induction`.

    Against an adversary who may attack every form, such as one with logit errors, rule 1 closes nothing, and rule 2
    alone carries the search. What an adversary makes of its chances is not asked: the bound needs no order of attacks.

    Parameters
    ----------
    game : RecordGame
    constraint : Constraint, optional
    progress : callable, optional
        Called at each strategy; how many there will be is not known.

    Returns
    -------
    Choice
        Exact; `evaluated` counts the strategies whose payoff was computed.

    Raises
    ------
    InputError
        If so many strategies may be best that they would not fit into the memory that is free.
    """
    constraint = constraint or Constraint()
    space, n = game.space, game.n_records
    tie = game.tie()
    best = np.full(n, -np.inf)
    strategies = np.full(n, WITHHELD, dtype=np.int64)
    evaluated = np.zeros(n, dtype=np.int64)
    open_rows: dict[int, list[Rows]] = {}
    is_open = np.zeros(n, dtype=np.bool_)
    # Parents never follow their children in this order: utility does not rise downwards, numbers do.
    queue: list[tuple[float, int]] = []

    taken = 0

    def take(size: int) -> None:
        nonlocal taken
        taken += size
        if taken >= _ASKED:
            require_memory(taken, _TOO_MANY, hint=_FEWER)
            taken = 0

    def leave_open(node: int, rows: Rows) -> None:
        if not len(rows):
            return
        if node not in open_rows:
            if len(queue) >= _MOST_OPEN:
                raise InputError(_TOO_MANY, found=len(queue), expected=f"fewer than {_MOST_OPEN:,}", hint=_FEWER)
            take(_OF_OPEN)
            open_rows[node] = []
            heapq.heappush(queue, (-space.average_utility(node), node))
        open_rows[node].append(rows)

    def wins(node: int, rows: Rows, payoff: Floats) -> NDArray[np.bool_]:
        ahead, rounding = payoff - best[rows], tie[rows]
        return np.asarray((ahead > rounding) | ((ahead >= -rounding) & (node < strategies[rows])))

    if constraint.minimum is None:
        leave_open(space.most_specific, np.arange(n))
    else:
        for start in np.unique(constraint.minimum).tolist():
            leave_open(start, np.flatnonzero(constraint.minimum == start))

    while queue:
        progress()
        _, node = heapq.heappop(queue)
        # The same as sorting them without repeats, at a tenth of the time.
        for rows in open_rows.pop(node):
            is_open[rows] = True
        rows = np.flatnonzero(is_open)
        is_open[rows] = False
        benefit = game.benefit_of(node, rows)
        can_win = wins(node, rows, benefit)
        rows, benefit = rows[can_win], benefit[can_win]
        if not len(rows):
            continue
        response = game.adversary.respond(game.linker.link(node, rows), rows)
        payoff = benefit - game.loss[rows] * response.reidentified
        evaluated[rows] += 1
        allowed = constraint.allows(space, node, response.invited, rows)
        better = wins(node, rows, payoff) & allowed
        best[rows[better]] = payoff[better]
        strategies[rows[better]] = node
        unsettled = rows[response.attacks | ~allowed]
        take(unsettled.nbytes)
        for child in space.successors(node):
            leave_open(child, unsettled)
    return Choice(strategies, "branch-and-bound", evaluated, exact=True)
