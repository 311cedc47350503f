"""Solvers of record games: backward induction, branch and bound, greedy lattice search."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.core.files import require_memory
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.lattice import Floats, Rows

Progress = Callable[..., object]


def no_progress(done: int = 0, total: int = 1) -> None:
    """Ignore the progress of a computation: `done` of `total` steps; return None."""


def backward_induction(
    game: RecordGame, constraint: Constraint | None = None, progress: Progress = no_progress
) -> Choice:
    """Return the best strategy of every record.

    The search makes one pass over the space. A strategy replaces the best so far if its payoff is larger by more than
    the tie tolerance (`RecordGame.tie`). Among equal payoffs, the first strategy in lattice order is therefore kept, as
    in Algorithm 1. A strategy is skipped for records whose benefit, which bounds the payoff, is not larger than the
    best payoff. Memory is a few arrays with one value per record, independent of the size of the space.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.
    constraint : Constraint, optional
        No constraint, if not given.
    progress : callable, optional
        Called with the number of strategies done and the total number.

    Returns
    -------
    Choice
        Exact choice; a record is withheld if no strategy satisfies the constraint.
    """
    constraint = constraint or Constraint()
    n, size, tie = game.n_records, game.space.size, game.tie()
    best, strategies = np.full(n, -np.inf), np.full(n, WITHHELD, dtype=np.int64)
    for strategy in range(size):
        benefit = game.benefit_of(strategy)
        rows = np.flatnonzero(benefit > best + tie)
        if len(rows):
            response = game.adversary.respond(game.linker.link(strategy, rows), rows)
            payoff = benefit[rows] - game.loss[rows] * response.reidentified
            better = payoff > best[rows] + tie[rows]
            better &= constraint.allows(game.space, strategy, response.invited, rows)
            best[rows[better]], strategies[rows[better]] = payoff[better], strategy
        progress(strategy + 1, size)
    return Choice(strategies, "backward-induction", np.full(n, size, dtype=np.int64), exact=True)


# Largest number of open nodes (nodes that wait for a visit); it bounds memory and time.
_MOST_OPEN = 4_000_000
# Bytes of an open node without its records, and number of bytes allocated between two checks of free memory.
_OF_OPEN, _ASKED = 512, 2**26
_TOO_MANY = "too many candidate strategies for branch and bound"
_FEWER = "use fewer attributes or levels"


def branch_and_bound(
    game: RecordGame, constraint: Constraint | None = None, progress: Progress = no_progress
) -> Choice:
    """Find the best strategy of every record while evaluating only few strategies.

    Nodes are visited in the order of decreasing average utility, starting with the most specific node. A record visits
    a node only if it visited a direct predecessor and left the node open there. Here "below" a node means its
    generalizations. Two rules close nodes, with v(g) the benefit of a strategy and U(g) <= v(g) its payoff:

    1. No node below a node g that is allowed and not attacked is visited.
    2. A node g is not visited if v(g) is below the best payoff found, or equal to it with a higher strategy number.

    No better strategy is missed, for the following reasons. The payoff is the benefit less an expected loss: U(g) =
    v(g) - L q(g) p(g). Here q is the probability of an attack, which is 0 or 1 unless the adversary errs or attacks at
    random, and p is the success probability of the attack. So U(g) <= v(g) for every adversary. Let h lie below g.
    Generalizing never raises the benefit, so U(h) <= v(h) <= v(g): v(g) bounds g and all nodes below it. If g is not
    attacked, q(g) = 0 and U(g) = v(g), so no h below pays more. Since h has a higher strategy number, it would also
    lose a tie. And g itself is allowed. This proves rule 1.

    Only limits on sensitive attributes forbid a node that is not attacked. Such a node stays open, because a
    generalization of a forbidden node may be allowed, and a generalization of an allowed node may be forbidden. Rule 2
    discards only strategies whose payoff cannot exceed the best payoff found, or that would lose the tie against it,
    since every h below g has a higher number than g. Every strategy allowed by the constraint lies below its starting
    node, and is either visited or below a closed node. Hence payoff and strategy are the same as in
    `backward_induction`.

    If an adversary may attack every strategy, such as an adversary with logit errors, rule 1 closes no node, and rule 2
    alone limits the search. The bound makes no assumption about how attacks depend on the success probability.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.
    constraint : Constraint, optional
        No constraint, if not given.
    progress : callable, optional
        Called without arguments at each visited node; their total number is not known in advance.

    Returns
    -------
    Choice
        Exact choice; a record is withheld if no strategy satisfies the constraint. `evaluated` counts the strategies
        whose payoff was computed.

    Raises
    ------
    InputError
        If the open nodes (nodes that wait for a visit) exceed the free memory, or their number would exceed 4 million.
    """
    constraint = constraint or Constraint()
    space, n = game.space, game.n_records
    tie = game.tie()
    best = np.full(n, -np.inf)
    strategies = np.full(n, WITHHELD, dtype=np.int64)
    evaluated = np.zeros(n, dtype=np.int64)
    open_rows: dict[int, list[Rows]] = {}
    is_open = np.zeros(n, dtype=np.bool_)
    # In this order parents precede their children: utility never rises with generalization, and numbers always do.
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
        # Equivalent to `np.unique` of the concatenated rows, in a tenth of the time.
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


def lattice_search(game: RecordGame) -> Choice:
    """Return the choice of a greedy search from the most specific strategy.

    As in the printed algorithm, a node that is not attacked is returned. Otherwise the search moves to the child (a
    strategy one step less specific) with the largest ``v(g) - L pi(g)``, if this value is at least the node's own
    (within the tie tolerance); later children win ties. Here v(g) is the benefit of strategy g, L the publisher's loss,
    and pi(g) the success probability of an attack. The printed comparison also subtracts the loss for children that
    would not be attacked; payoffs of the returned strategy do not. If the adversary attacks with some frequency, the
    loss is multiplied by this frequency. The printed loop never ends if no child is better; by the accompanying text,
    the search halts there.

    The search takes no constraint, because a greedy path need not reach a strategy that satisfies it.

    Parameters
    ----------
    game : RecordGame
        Game that the publisher believes in.

    Returns
    -------
    Choice
        Not exact; no record is withheld. `evaluated` counts the distinct nodes whose value was computed, including the
        first node.
    """
    n = game.n_records
    current = np.full(n, game.space.most_specific, dtype=np.int64)
    evaluated = np.ones(n, dtype=np.int64)
    tie = game.tie()
    active = np.arange(n)
    while len(active):
        moved = []
        for node in np.unique(current[active]).tolist():
            rows = active[current[active] == node]
            start = game.outcome(node, rows)
            rows = rows[start.response.attacks]
            if not len(rows):
                continue
            best = start.publisher_payoff[start.response.attacks]
            chosen = np.full(len(rows), node, dtype=np.int64)
            for child in game.space.successors(node):
                outcome = game.outcome(child, rows)
                charge, often = game.loss[rows] * outcome.response.success, outcome.response.frequency
                charged = game.benefit_of(child, rows) - (charge if often is None else charge * often)
                better = charged >= best - tie[rows]
                best[better] = charged[better]
                chosen[better] = child
                evaluated[rows] += 1
            current[rows] = chosen
            moved.append(rows[chosen != node])
        active = np.concatenate(moved) if moved else np.empty(0, dtype=np.intp)
    return Choice(current, "lattice-search", evaluated, exact=False)
