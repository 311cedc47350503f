"""The defender who shares all records in one form in which none is rare: k-anonymity, whoever attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.people import PeopleLattice
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.linkage.number_checks import check_share, most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice

# Utilities closer than this, as a share of the records, are equal.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class KAnonymity:
    """Shares all records in the one form that keeps most utility while each looks like at least k - 1 others.

    Records that look like fewer others are withheld, up to a limit (Sweeney 2002, Achieving k-anonymity privacy
    protection using generalization and suppression). Of forms that keep as much the lowest number wins.

    Parameters
    ----------
    k : int
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    limit : float
        Share of the records that may be withheld (rounded down).
    minimum : int
        Only forms at least as protective as this one; any, if 0.
    name : str

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

    def __post_init__(self) -> None:
        check_share("limit", self.limit)
        if self.k < 1:
            raise InputError("k of k-anonymity too small", where=self.name, found=self.k, expected="1 or more")

    def choose(self, game: Game) -> Choice:
        """Return the form, the same for all records that are shared; see `Defender`.

        Raises
        ------
        InputError
            If records are not shared by levels of hierarchies, or there are more than a million forms.
        """
        n, space = game.n_records, record_game_of(game).space
        if not isinstance(space, GeneralizationLattice):
            raise InputError("classes are those of levels of hierarchies", where=self.name, expected="a lattice")
        require_comparable(self.name, space.size)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        minimum, most = np.array([self.minimum]), most_within(self.limit, weights.sum())
        allowed = [form for form in range(space.size) if space.at_least(form, minimum)[0]]
        bounds = np.array([weights @ space.utility(form) for form in allowed])
        tie = _TIE * float(weights.sum())
        best, best_form, chosen, evaluated = -1.0, WITHHELD, np.full(n, WITHHELD, dtype=np.int64), 0
        for position in np.argsort(-bounds, kind="stable").tolist():
            if bounds[position] < best - tie:
                break
            form = allowed[position]
            evaluated += 1
            shared = self._class_sizes(space, form, weights) >= self.k
            kept = float(weights[shared] @ space.utility(form)[shared])
            better = kept > best + tie or (kept >= best - tie and form < best_form)
            if better and weights[~shared].sum() <= most:
                best, best_form, chosen = kept, form, np.where(shared, form, WITHHELD)
        return Choice(chosen, "fixed", np.full(n, evaluated, dtype=np.int64), exact=False)

    @staticmethod
    def _class_sizes(lattice: GeneralizationLattice, form: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many of the records look like each one in a form, shape (n_records,); or how many people do."""
        if isinstance(lattice, PeopleLattice):
            return lattice.class_sizes(form).astype(np.float64)
        of_record = classes_at(lattice, form)
        return np.asarray(np.bincount(of_record, weights=weights)[of_record])
