"""The k-anonymity defender, which is independent of the adversary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.people import PeopleLattice
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice
from reidsim.linkage.number_checks import check_share, most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice

# Utilities closer than this, as a share of the records, are equal.
_TIE = 1e-12


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

    Raises
    ------
    InputError
        If k is below 1, or the limit is not a share.
    """

    plans: ClassVar[bool] = False

    k: int = 2
    weights: NDArray[np.int64] | None = None
    limit: float = 0.0
    minimum: int = 0
    name: str = "k-anonymity"
    admissible: AdmissibleGroups | None = None

    def __post_init__(self) -> None:
        check_share("limit", self.limit)
        if self.k < 1:
            raise InputError("k of k-anonymity too small", where=self.name, found=self.k, expected="1 or more")

    def choose(self, game: Game) -> Choice:
        """Return one node for all shared records, -1 for the others; see `Defender`.

        Raises
        ------
        InputError
            If the strategies are not nodes of a lattice, or there are more than a million nodes.
        """
        n, space = game.n_records, record_game_of(game).space
        if not isinstance(space, GeneralizationLattice):
            raise InputError(
                "k-anonymity needs generalization hierarchies", where=self.name, expected="a generalization lattice"
            )
        require_comparable(self.name, space.size)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        search = _Search(self, space, weights)
        search.run()
        return Choice(search.chosen, "fixed", np.full(n, search.evaluated, dtype=np.int64), exact=False)


class _Search:
    """Search the nodes in order of falling utility bound, with pruning.

    A more general node has classes at least as large and therefore withholds no more records. So a node that withholds
    too many records rules out all more specific nodes. On a path from a node to the top, bisection finds the first node
    within the limit. Neither property holds with limits on sensitive attributes: a group within the limits and a group
    that violates them may merge into a group that violates them.
    """

    def __init__(self, rule: KAnonymity, lattice: GeneralizationLattice, weights: NDArray[np.float64]) -> None:
        self._rule, self._lattice, self._weights = rule, lattice, weights
        self._most, self._tie = most_within(rule.limit, weights.sum()), _TIE * float(weights.sum())
        levels = lattice.all_levels(np.arange(lattice.size))
        self._bounds = np.full(lattice.size, weights.sum())
        for position, losses in enumerate(lattice.record_losses):
            self._bounds -= (losses @ weights)[levels[:, position]]
        self._allowed = np.asarray((levels >= np.array(lattice.levels(rule.minimum))).all(axis=1))
        self._refused = np.zeros(lattice.shape, dtype=np.bool_)
        self._permits: dict[int, bool] = {}
        self._best, self._form = -1.0, WITHHELD
        self.chosen = np.full(lattice.n_records, WITHHELD, dtype=np.int64)

    @property
    def evaluated(self) -> int:
        """Number of nodes whose classes were counted."""
        return len(self._permits)

    def run(self) -> None:
        refused = self._refused.reshape(-1)
        for form in np.argsort(-self._bounds, kind="stable").tolist():
            if self._bounds[form] < self._best - self._tie:
                break
            if not self._allowed[form] or refused[form]:
                continue
            if self._rule.admissible is not None:
                self._permitted(form)
                continue
            way = [form, *self._way_up(form)]
            low, high = 0, len(way)
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if self._permitted(way[middle]) else (middle + 1, high)

    def _way_up(self, form: int) -> Iterator[int]:
        """Yield a path of successors with the highest utility bound, up to the top."""
        while above := list(self._lattice.successors(form)):
            form = max(above, key=self._bounds.__getitem__)
            yield form

    def _permitted(self, form: int) -> bool:
        """Return whether a node withholds few enough records; keep it if best so far."""
        if form not in self._permits:
            self._permits[form] = self._evaluate(form)
        return self._permits[form]

    def _evaluate(self, form: int) -> bool:
        shared = self._class_sizes(form) >= self._rule.k
        if self._rule.admissible is not None:
            shared &= self._rule.admissible.at(form)
        if self._weights[~shared].sum() > self._most and self._rule.admissible is not None:
            return False
        if self._weights[~shared].sum() > self._most:
            self._refused[tuple(slice(level + 1) for level in self._lattice.levels(form))] = True
            return False
        kept = float(self._weights[shared] @ self._lattice.utility(form)[shared])
        if kept > self._best + self._tie or (kept >= self._best - self._tie and form < self._form):
            self._best, self._form = kept, form
            self.chosen = np.where(shared, form, WITHHELD)
        return True

    def _class_sizes(self, form: int) -> NDArray[np.float64]:
        """Return the class size of each record at a node, shape (n_records,).

        Sizes count people if people have several records, and records otherwise.
        """
        if isinstance(self._lattice, PeopleLattice):
            return self._lattice.class_sizes(form).astype(np.float64)
        of_record = classes_at(self._lattice, form)
        return np.asarray(np.bincount(of_record, weights=self._weights)[of_record])
