"""Lattice-based search: the greedy descent printed as Algorithm 2 of Wan et al. 2015 (Table 5)."""

from __future__ import annotations

import numpy as np

from reidsim.games.record_game import Choice, RecordGame


def lattice_search(game: RecordGame) -> Choice:
    """Descend from the most specific strategy to the best child until no attack pays or no child is better.

    As printed: a node that is not attacked is returned; otherwise the search moves to the child with the largest
    ``v(g) - L pi(g)`` if that is at least the node's own, later children winning ties. The printed comparison
    charges the loss of children that would not be attacked, too; payoffs of the strategy returned do not. A loss
    counts as often as the adversary attacks, if it does so with some frequency. The
    printed loop never ends when no child is better; the text around it says that the search halts there.

    The search knows no constraint: a greedy path need not meet one.

    Returns
    -------
    Choice
        Not exact. `evaluated` counts the distinct nodes whose value was computed, the first one included.
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
