"""Lattice-based search: greedy descent, Algorithm 2 of Wan et al. 2015 (Table 5)."""

from __future__ import annotations

import numpy as np

from reidsim.games.record_game import Choice, RecordGame


def lattice_search(game: RecordGame) -> Choice:
    """Return the choice of a greedy search from the most specific strategy.

    As in the printed algorithm, a node that is not attacked is returned. Otherwise the search moves to the child (a
    strategy one step less specific) with the largest ``v(g) - L pi(g)``, if this value is at least the node's own;
    later children win ties. Here v(g) is the benefit of strategy g, L the publisher's loss, and pi(g) the success
    probability of an attack. The printed comparison also subtracts the loss for children that would not be attacked;
    payoffs of the returned strategy do not. If the adversary attacks with some frequency, the loss is multiplied by
    this frequency. The printed loop never ends if no child is better; by the accompanying text, the search halts there.

    The search takes no constraint, because a greedy path need not reach a strategy that satisfies it.

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
                charge, often = game.loss[rows] * outcome.response.success, outcome.response.often
                charged = game.benefit_of(child, rows) - (charge if often is None else charge * often)
                better = charged >= best - tie[rows]
                best[better] = charged[better]
                chosen[better] = child
                evaluated[rows] += 1
            current[rows] = chosen
            moved.append(rows[chosen != node])
        active = np.concatenate(moved) if moved else np.empty(0, dtype=np.intp)
    return Choice(current, "lattice-search", evaluated, exact=False)
