"""Defenders that plan for all records together, with one or a few generalizations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.numerics import dot
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.people import PeopleLattice
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice, RecordGame, most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Utilities closer than this, as a share of the records, are equal.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class SameForm:
    """Choose the single strategy for all records with the highest total payoff.

    Either all records are shared or none. Strategies are evaluated in order of falling total benefit, which is an upper
    bound of the total payoff. The search ends when the bound falls below the best payoff found, so the choice is exact.
    Of strategies with equal total payoff, the lowest number is chosen. If no strategy is allowed or pays as much as
    withholding, all records are withheld.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    no_attack : bool
        Whether to allow only strategies under which an attack pays on no record.
    """

    plans: ClassVar[bool] = True

    name: str = "full-domain"
    weights: NDArray[np.int64] | None = None
    no_attack: bool = False

    def choose(self, game: Game) -> Choice:
        """Return one strategy for all records; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million strategies, except in a masking game that `same_strategy` solves.
        """
        if isinstance(game, MaskingGame) and game.is_compiled and self.weights is None and not self.no_attack:
            return same_strategy(game)
        form, evaluated = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies, evaluations = (np.full(game.n_records, each, dtype=np.int64) for each in (form, evaluated))
        return Choice(strategies, "same-form", evaluations, exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> tuple[int, int]:
        """Return the best single strategy for `rows`, and the number of strategies evaluated.

        All other records are ignored. The strategy is ``WITHHELD`` (-1) if no allowed strategy pays as much as
        withholding all of `rows`.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        require_comparable(self.name, game.space.size)
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)
        tie = INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in range(game.space.size)])
        best, most, evaluated = WITHHELD, dot(weights, payoff_of_withholding(game, rows)), 0
        for form in np.argsort(-bounds, kind="stable").tolist():
            if not bounds[form] >= most - tie:
                break
            outcome, evaluated = game.outcome(form, rows), evaluated + 1
            payoff = dot(weights, outcome.publisher_payoff)
            better = payoff > most + tie or (payoff >= most - tie and (best == WITHHELD or form < best))
            if better and not (self.no_attack and outcome.response.invited.any()):
                best, most = form, payoff
        return best, evaluated


@dataclass(frozen=True, eq=False)
class KAnonymity:
    """Release all records at the k-anonymous node with the highest utility.

    Records in equivalence classes of fewer than k records are withheld, up to a limit (Sweeney 2002, Achieving
    k-anonymity privacy protection using generalization and suppression). Classes are counted among the records of the
    game, not in a population. The utility of a node is the sum over the records that are not withheld. Of nodes with
    equal utility, the node with the lowest number is chosen. If every node withholds too many records, all records are
    withheld.

    Parameters
    ----------
    k : int
        Minimum size of an equivalence class, in records; in people, if people have several records.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    limit : float
        Share of the records that may be withheld, in [0, 1]; the number of records is rounded down.
    minimum : int
        Least protective node allowed; 0 allows every node.
    name : str
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are also withheld.
    """

    plans: ClassVar[bool] = False

    k: int = 2
    weights: NDArray[np.int64] | None = None
    limit: float = 0.0
    minimum: int = 0
    name: str = "k-anonymity"
    admissible: AdmissibleGroups | None = None

    def choose(self, game: Game) -> Choice:
        """Return one node for all shared records, -1 for the others; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million nodes.
        """
        space = record_game_of(game).space
        require_comparable(self.name, space.size)
        assert isinstance(space, GeneralizationLattice)  # noqa: S101 - tables are shared under lattices
        chosen, evaluated = _most_useful(self, space)
        return Choice(chosen, "fixed", np.full(len(chosen), evaluated, dtype=np.int64), exact=False)


def _most_useful(rule: KAnonymity, lattice: GeneralizationLattice) -> tuple[Strategies, int]:
    """Return the strategies of k-anonymity, and the number of nodes whose classes were counted.

    Nodes are searched in order of falling utility bound. A more general node has classes at least as large and
    therefore withholds no more records. So a node that withholds too many records rules out all more specific nodes. On
    a path from a node to the top, bisection finds the first node within the limit. Neither property holds with limits
    on sensitive attributes: a group within the limits and a group that violates them may merge into a group that
    violates them.
    """
    n = lattice.n_records
    weights = np.ones(n) if rule.weights is None else rule.weights.astype(np.float64)
    most, tie = most_within(rule.limit, weights.sum()), _TIE * float(weights.sum())
    levels = lattice.all_levels(np.arange(lattice.size))
    bounds = np.full(lattice.size, weights.sum())
    for position, losses in enumerate(lattice.record_losses):
        bounds -= (losses @ weights)[levels[:, position]]
    refused = np.asarray((levels < np.array(lattice.levels(rule.minimum))).any(axis=1))
    best, best_form, chosen = -1.0, WITHHELD, np.full(n, WITHHELD, dtype=np.int64)
    permits: dict[int, bool] = {}

    def permitted(form: int) -> bool:
        """Return whether a node withholds few enough records; keep it if it is the best so far."""
        nonlocal best, best_form, chosen
        if form not in permits:
            shared = _class_sizes(lattice, form, weights) >= rule.k
            if rule.admissible is not None:
                shared &= rule.admissible.at(form)
            permits[form] = bool(weights[~shared].sum() <= most)
            if permits[form]:
                kept = float(weights[shared] @ lattice.utility(form)[shared])
                if kept > best + tie or (kept >= best - tie and form < best_form):
                    best, best_form, chosen = kept, form, np.where(shared, form, WITHHELD)
            elif rule.admissible is None:
                refused.reshape(lattice.shape)[tuple(slice(level + 1) for level in lattice.levels(form))] = True
        return permits[form]

    for form in np.argsort(-bounds, kind="stable").tolist():
        if bounds[form] < best - tie:
            break
        if refused[form]:
            continue
        # A path of successors with the highest utility bound, up to the top.
        path = [form]
        while rule.admissible is None and (above := list(lattice.successors(path[-1]))):
            path.append(max(above, key=bounds.__getitem__))
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if permitted(path[middle]) else (middle + 1, high)
    return chosen, len(permits)


def _class_sizes(lattice: GeneralizationLattice, form: int, weights: Floats) -> Floats:
    """Return the class size of each record at a node, (n_records,), in people if they have several records."""
    if isinstance(lattice, PeopleLattice):
        return lattice.class_sizes(form).astype(np.float64)
    of_record = classes_at(lattice, form)
    return np.asarray(np.bincount(of_record, weights=weights)[of_record])
