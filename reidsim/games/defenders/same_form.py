"""Defenders who must treat all records alike: one form for the whole dataset."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.linkage.number_checks import check_share, most_within
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows


class FormOfAll(NamedTuple):
    """The best form of some records, and what comes of it.

    Parameters
    ----------
    form : int
        ``WITHHELD`` (-1) if nothing that is allowed pays.
    shared : ndarray of bool, shape (n_rows,)
        Which of the records are shared in it.
    payoff : float
        In sum, in currency units.
    evaluated : int
        Forms computed.
    exact : bool
        Whether no other pays more.
    """

    form: int
    shared: NDArray[np.bool_]
    payoff: float
    evaluated: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Withholding:
    """A defender who plans for all records together and may withhold some of them.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    limit : float
        Share of the records that may be withheld (rounded down).
    no_attack : bool
        Withhold the records that would be attacked.
    minimum : int
        Only forms at least as protective as this one; any, if 0.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    plans: ClassVar[bool] = True

    name: str
    weights: NDArray[np.int64] | None = None
    limit: float = 1.0
    no_attack: bool = False
    minimum: int = 0

    def __post_init__(self) -> None:
        check_share("limit", self.limit)

    def weights_of(self, rows: Rows) -> Floats:
        """Return the records that some rows stand for, shape (n_rows,)."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class SameForm(Withholding):
    """Picks the one form for all records that pays most in sum.

    Forms are taken in order of falling benefit in sum, which bounds the payoff in sum, until the bound is below the
    best payoff found; so the choice is exact. Of equal sums the lowest number wins.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    suppresses : bool
        Whether records that pay nothing in the form are withheld, as in full-domain generalization with suppression
        (Prasser et al. 2017). Without it all are shared, or none.
    limit : float
        Share of the records that may be withheld (rounded down), where `suppresses`.
    no_attack : bool
        Withhold the attacked records where `suppresses`, or else only take forms in which no record is attacked.
    minimum : int
        Only forms at least as protective as this one; any, if 0.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "full-domain"
    suppresses: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the same form for all records that are shared; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million forms.
        """
        plain = self.weights is None and not (self.suppresses or self.no_attack or self.minimum)
        if plain and isinstance(game, MaskingGame) and game.is_compiled:
            return same_strategy(game)
        found = self.best_of(record_game_of(game), np.arange(game.n_records))
        return _choice(found, "same-form")

    def best_of(self, game: RecordGame, rows: Rows) -> FormOfAll:
        """Return the best form of some records, as if there were no others to choose for.

        Raises
        ------
        InputError
            If there are more than a million forms.
        """
        size = game.space.size
        require_comparable(self.name, size)
        held = _Incumbent(self, game, rows)
        minimum = np.array([self.minimum])
        allowed = [form for form in range(size) if not self.minimum or game.space.at_least(form, minimum)[0]]
        bounds = np.array([held.bound(form) for form in allowed])
        for position in np.argsort(-bounds, kind="stable").tolist():
            if not held.can_be_beaten_by(bounds[position]):
                break
            held.offer(allowed[position])
        return held.found(exact=True)


@dataclass(frozen=True, eq=False)
class AnytimeForm(SameForm):
    """Looks for the one form for all records that pays most, within a number of forms computed.

    A climb follows the best successor from the least protective form to the most protective, and moves from the best
    form found to a better neighbour while there is one (of a lattice also to the forms one step more specific). The
    rest of the budget goes to forms in order of falling benefit in sum; once that is below the best payoff, the choice
    is exact. A larger budget never finds less.

    Parameters
    ----------
    most_evaluated : int
        Forms computed at most.
    others
        See `SameForm`.

    Raises
    ------
    InputError
        If the budget is below 1, or the limit is not a share.
    """

    name: str = "anytime"
    most_evaluated: int = field(default=100, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most_evaluated < 1:
            raise InputError(
                "budget of releases too small", where=self.name, found=self.most_evaluated, expected="1 or more"
            )

    def choose(self, game: Game) -> Choice:
        """Return the same form for all records that are shared; see `Defender`."""
        return _choice(self.best_of(record_game_of(game), np.arange(game.n_records)), "anytime-form")

    def best_of(self, game: RecordGame, rows: Rows) -> FormOfAll:
        """Return the best form found for some records, as if there were no others to choose for."""
        held = _Incumbent(self, game, rows)
        exact = all(held.evaluated < self.most_evaluated for _ in self._steps(held, game))
        return held.found(exact=exact)

    def _steps(self, held: _Incumbent, game: RecordGame) -> Iterator[None]:
        """Work out form after form; yield before each, so that the search can be stopped there."""
        here = self.minimum
        yield from held.offers([here])
        while above := list(game.space.successors(here)):
            yield from held.offers(above)
            here = max(above, key=held.payoff)
        best = None
        while held.form != best:
            best = held.form
            yield from held.offers(self._neighbours(game, best))
        opened, seen = [(-held.bound(self.minimum), self.minimum)], {self.minimum}
        while opened and held.can_be_beaten_by(-opened[0][0]):
            _, form = heapq.heappop(opened)
            yield from held.offers([form])
            for below in game.space.successors(form):
                if below not in seen:
                    seen.add(below)
                    heapq.heappush(opened, (-held.bound(below), below))

    def _neighbours(self, game: RecordGame, form: int) -> list[int]:
        if form == WITHHELD:
            return []
        space = game.space
        before = list(space.predecessors(form)) if isinstance(space, GeneralizationLattice) else []
        minimum = np.array([self.minimum])
        return [each for each in (*before, *space.successors(form)) if space.at_least(each, minimum)[0]]


class _Incumbent:
    """The best form so far, of those computed."""

    def __init__(self, defender: SameForm, game: RecordGame, rows: Rows) -> None:
        n = len(rows)
        self._defender, self._game, self._rows = defender, game, rows
        self._weights = defender.weights_of(rows)
        self._tie = INDIFFERENCE * float(self._weights @ (game.benefit + game.loss)[rows])
        self._most_withheld = most_within(defender.limit, self._weights.sum()) if defender.suppresses else 0
        self._payoffs: dict[int, float] = {}
        self._withheld = payoff_of_withholding(game, rows)
        # Any number of records may be withheld if nothing is released.
        self._best, self.form = float(self._weights @ self._withheld), WITHHELD
        self._shared = np.zeros(n, dtype=np.bool_)

    @property
    def evaluated(self) -> int:
        """Forms computed."""
        return len(self._payoffs)

    def bound(self, form: int) -> float:
        """Return the most that a form can pay in sum: its benefit if nobody attacks."""
        return float(self._weights @ self._game.benefit_of(form, self._rows))

    def can_be_beaten_by(self, bound: float) -> bool:
        """Tell whether a form that pays at most `bound` may be as good."""
        return bound >= self._best - self._tie

    def payoff(self, form: int) -> float:
        """Return what a form that was computed pays in sum."""
        return self._payoffs[form]

    def offers(self, forms: list[int]) -> Iterator[None]:
        """Work out the forms that were not yet; yield before each."""
        for form in forms:
            if form not in self._payoffs:
                yield
                self.offer(form)

    def offer(self, form: int) -> None:
        """Work out a form, and keep it if it is the best; one that is not allowed pays nothing."""
        outcome = self._game.outcome(form, self._rows)
        shared = self._shared_in(outcome.publisher_payoff, outcome.response.invited)
        total = float(self._weights[shared] @ outcome.publisher_payoff[shared])
        total += float(self._weights[~shared] @ self._withheld[~shared])
        allowed = len(self._rows) == 0 or self._weights[~shared].sum() <= self._most_withheld
        self._payoffs[form] = total if allowed else -np.inf
        first = self.form == WITHHELD or form < self.form
        if allowed and (total > self._best + self._tie or (total >= self._best - self._tie and first)):
            self._best, self.form, self._shared = total, form, shared

    def found(self, *, exact: bool) -> FormOfAll:
        return FormOfAll(self.form, self._shared, self._best, self.evaluated, exact)

    def _shared_in(self, payoff: Floats, invited: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which records are shared in a form."""
        if not self._defender.suppresses:
            refused = self._defender.no_attack and invited.any()
            return np.full(len(payoff), not refused)
        pays = payoff > self._withheld + self._game.tie(self._rows)
        return np.asarray(pays & ~invited if self._defender.no_attack else pays)


def _choice(found: FormOfAll, solver: str) -> Choice:
    strategies = np.where(found.shared, found.form, WITHHELD).astype(np.int64)
    evaluated = np.full(len(strategies), found.evaluated, dtype=np.int64)
    return Choice(strategies, solver, evaluated, found.exact)
