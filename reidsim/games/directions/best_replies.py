"""Releases in which no change of one record's form pays the publisher more: exact for one record at a time.

How one record is shared changes how many rows fit others, so that the best form of each depends on those of all. One
record after the other takes the form in which the publisher gets most in sum, given how the others are shared; that is
repeated until no record has a better one. Each step pays more, so it ends, at a local optimum, for which nothing
is proved about changes of several records at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.directions.effects import (
    Harm,
    Margins,
    Release,
    Work,
    benefit_in,
    effect_on_others,
    harm_of,
    margins_of,
    release_of,
    share_as,
    total_harm,
    work_for,
)
from reidsim.games.directions.harm import Replies, replies_in
from reidsim.games.directions.linker import DirectedLinker, without_attacked
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.releases.strategy_space import Strategies

SOLVER = "one-record-at-a-time"
Allowed = NDArray[np.bool_]
Records = NDArray[np.int64]
# A repair that does so much of what the best one may do is as good.
_NEAR = 0.8


def best_release(
    game: RecordGame,
    linker: DirectedLinker,
    present: Choice,
    constraint: Constraint | None = None,
    *,
    may_withhold: bool = False,
    forms: NDArray[np.bool_] | None = None,
) -> Choice:
    """Return a release from which no change of one record's form pays more in sum.

    Parameters
    ----------
    game : RecordGame
    linker : DirectedLinker
        Of the game.
    present : Choice
        Where the search begins, such as what is best in direction "record".
    constraint : Constraint, optional
        If it forbids attacks, nobody is attacked in the release; a record that cannot be shared so is withheld.
    may_withhold : bool
        Whether records are withheld where that pays more.
    forms : ndarray of bool, shape (n_forms,), optional
        Only these forms; all, if not given.

    Returns
    -------
    Choice
        Not proved optimal.

    Raises
    ------
    InputError
        If there are too many records, forms or amounts.
    """
    constraint = constraint or Constraint()
    replies = replies_in(game, linker)
    allowed = _allowed(game, constraint, forms)
    search = _Search(game, linker, replies, allowed)
    safe = search.safe_from(present.strategies)
    if constraint.no_attack:
        # An adversary may reply to a record in ways that its amounts do not tell.
        safe = without_attacked(game, safe)
        return search.choice(safe)
    # A release in which nobody is at risk is at hand, and may be a better start.
    started = [search.best_from(start, may_withhold=may_withhold) for start in (present.strategies, safe)]
    return search.choice(max(started, key=search.payoff))


def _allowed(game: RecordGame, constraint: Constraint, forms: NDArray[np.bool_] | None) -> Allowed:
    """Return which forms each record may take, attacked or not, shape (n_records, n_forms)."""
    n, size = game.n_records, game.space.size
    allowed = np.ones((n, size), dtype=np.bool_) if forms is None else np.tile(forms, (n, 1))
    if constraint.minimum is not None:
        anyhow = Constraint(minimum=constraint.minimum)
        for form in range(size):
            allowed[:, form] &= anyhow.allows(game.space, form, np.zeros(n, dtype=np.bool_))
    return allowed


class _Search:
    """Coordinate steps from one release to better ones."""

    def __init__(self, game: RecordGame, linker: DirectedLinker, replies: Replies, allowed: Allowed) -> None:
        self._game, self._linker, self._replies, self._allowed = game, linker, replies, allowed
        self._looked_at = 0

    def choice(self, strategies: Strategies) -> Choice:
        """Return a release as a choice."""
        n = len(strategies)
        return Choice(strategies, SOLVER, np.full(n, -(-self._looked_at // max(n, 1)), dtype=np.int64), exact=False)

    def payoff(self, strategies: Strategies) -> float:
        """Return what the publisher gets in sum."""
        release = self._release(strategies)
        return _total_benefit(release) - total_harm(release, self._replies.loss)

    def best_from(self, strategies: Strategies, *, may_withhold: bool) -> Strategies:
        """Return a release that pays most as far as changes of one record go."""
        release, loss = self._release(strategies), self._replies.loss
        margins, work = margins_of(release, loss), self._work(release)
        tie = self._game.tie()
        self._until_none_moves(
            lambda records: _pay_more(release, loss, margins, self._allowed, tie, may_withhold, work, records)
        )
        return release.strategies

    def _until_none_moves(self, step: Callable[[Records], Records]) -> None:
        """Look at records in turn, those that moved last first, until none of all of them moves."""
        everybody = np.arange(self._game.n_records)
        records = everybody
        while True:
            moved = step(records)
            self._looked_at += len(records) * self._game.space.size
            if not len(moved) and len(records) == len(everybody):
                return
            records = moved if len(moved) else everybody

    def safe_from(self, strategies: Strategies) -> Strategies:
        """Return a release in which nobody is at risk, and that keeps most benefit as far as such changes go."""
        safe, at = self._allowed & self._replies.unattacked, np.arange(len(strategies))
        # Whoever is at risk on account of its row's people cannot stay as it is.
        kept = np.where((strategies >= 0) & safe[at, np.maximum(strategies, 0)], strategies, WITHHELD)
        few = self._repaired(kept, safe, few=True, at_most=np.inf)
        lost = self._benefit(kept) - self._benefit(few)
        many = self._repaired(kept, safe, few=False, at_most=lost)
        return few if self._benefit(few) >= self._benefit(many) else many

    def _benefit(self, strategies: Strategies) -> float:
        return float(_total_benefit(self._release(strategies)))

    def _repaired(self, strategies: Strategies, safe: Allowed, *, few: bool, at_most: float) -> Strategies:
        """Return a release near another in which rows enough fit everybody who is shared.

        With `few`, the records of least benefit take their most general form first, whose rows fit most people. Once
        repairs are about to cost more than `at_most` in benefit, everything is withheld.
        """
        replies, release, shortage = self._replies, self._release(strategies), self._replies.shortage
        margins, work = margins_of(release, shortage), self._work(release)
        if few:
            _suppress_few(release, shortage, margins, safe, work)
        if not self._repair(release, shortage, margins, safe, work, at_most):
            return np.full_like(strategies, WITHHELD)
        tie = self._game.tie()
        self._until_none_moves(
            lambda records: _share_more(release, shortage, margins, safe, replies.needed, tie, work, records)
        )
        return release.strategies

    def _repair(
        self, release: Release, shortage: Harm, margins: Margins, safe: Allowed, work: Work, at_most: float
    ) -> bool:
        """Change records until rows enough fit everybody who is shared, at a low cost in benefit.

        Whoever adds most fitting rows for its benefit goes first. Every change makes the shortage less, so it ends.
        Where none does, those who lack rows are withheld.

        Returns
        -------
        bool
            Whether that was done; if not, it was about to cost more than `at_most`.
        """
        n, left, lost = len(release.strategies), total_harm(release, shortage), 0.0
        while left > 0:
            gains, forms = np.zeros(n), np.zeros(n, dtype=np.int64)
            _all_repairs(release, shortage, margins, safe, work, gains, forms)
            self._looked_at += safe.size
            queue = [(-gain, record) for record, gain in enumerate(gains.tolist()) if gain > 0]
            heapq.heapify(queue)
            moved = False
            while queue and left > 0:
                _, record = heapq.heappop(queue)
                gain, form = _repair_of(release, shortage, margins, safe, record, work)
                # What others gained when they were looked at last mostly has become less, too.
                if gain > 0 and queue and gain < -_NEAR * queue[0][0]:
                    heapq.heappush(queue, (-gain, record))
                elif gain > 0:
                    lost += _change(release, shortage, margins, record, form, work)
                    moved, left = True, total_harm(release, shortage)
                    # Later repairs mostly do less for what they cost.
                    if lost + left / gain > at_most:
                        return False
            if not moved:
                _withhold_short(release, shortage, margins, work)
                left = total_harm(release, shortage)
        return True

    def _release(self, strategies: Strategies) -> Release:
        return release_of(self._linker.lattice, self._linker.rows, self._game.benefit, strategies)

    def _work(self, release: Release) -> Work:
        return work_for(release, self._game.space.size)


@numba.njit(cache=True)
def _total_benefit(release: Release) -> float:
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            total += benefit_in(release, record, release.strategies[record])
    return total


@numba.njit(cache=True)
def _change(release: Release, shortage: Harm, margins: Margins, record: int, form: int, work: Work) -> float:
    """Share a record in another form, or withhold it; return the benefit lost."""
    lost = benefit_in(release, record, release.strategies[record])
    lost -= benefit_in(release, record, form) if form >= 0 else 0.0
    share_as(release, shortage, margins, record, form, work)
    return lost


@numba.njit(cache=True)
def _pay_more(
    release: Release,
    loss: Harm,
    margins: Margins,
    allowed: NDArray[np.bool_],
    tie: NDArray[np.float64],
    may_withhold: bool,
    work: Work,
    records: Records,
) -> Records:
    """Let each record in turn take the form that pays most in sum; return those that change."""
    moved = np.zeros(len(records), dtype=np.bool_)
    for number in range(len(records)):
        record = records[number]
        present = effect_on_others(release, loss, margins, record, work)
        form, rows = release.strategies[record], release.fitting[release.cell[record]]
        # Who must be shared takes the best form there is.
        now = 0.0 if may_withhold else -np.inf
        if form >= 0:
            now = benefit_in(release, record, form) - harm_of(release, loss, record, form, rows)
        else:
            rows += 1
        scale = abs(present)
        best, chosen = -np.inf, form
        for other in range(allowed.shape[1]):
            scale = max(scale, abs(work.gained[other]))
            if allowed[record, other]:
                own = benefit_in(release, record, other) - harm_of(release, loss, record, other, rows)
                value = own + work.gained[other] - present
                if value > best + tie[record]:
                    best, chosen = value, other
        if may_withhold and -present > best + tie[record]:
            best, chosen = -present, -1
        # Sums over many persons are rounded; what is no more than that is no gain.
        if chosen != form and best > now + tie[record] + INDIFFERENCE * scale:
            share_as(release, loss, margins, record, chosen, work)
            moved[number] = True
    return records[moved]


@numba.njit(cache=True)
def _share_more(
    release: Release,
    shortage: Harm,
    margins: Margins,
    safe: NDArray[np.bool_],
    needed: NDArray[np.int64],
    tie: NDArray[np.float64],
    work: Work,
    records: Records,
) -> Records:
    """Let each record in turn take the safe form of most benefit in which nobody else comes to lack a row."""
    moved = np.zeros(len(records), dtype=np.bool_)
    for number in range(len(records)):
        record = records[number]
        form = release.strategies[record]
        # A record that can be shared safely is, even if that has no benefit.
        now = benefit_in(release, record, form) if form >= 0 else -2 * tie[record] - 1e-300
        if form < 0 and release.fitting[release.cell[record]] + 1 < needed[record]:
            continue
        better = False
        for other in range(safe.shape[1]):
            if safe[record, other] and benefit_in(release, record, other) > now + tie[record]:
                better = True
                break
        if not better:
            continue
        present = effect_on_others(release, shortage, margins, record, work)
        best, chosen = now, form
        for other in range(safe.shape[1]):
            if safe[record, other] and work.gained[other] == present:
                value = benefit_in(release, record, other)
                if value > best + tie[record]:
                    best, chosen = value, other
        if chosen != form:
            share_as(release, shortage, margins, record, chosen, work)
            moved[number] = True
    return records[moved]


@numba.njit(cache=True)
def _repair_of(
    release: Release, shortage: Harm, margins: Margins, safe: NDArray[np.bool_], record: int, work: Work
) -> tuple[float, int]:
    """Return by how many rows the shortage falls at most per benefit that one record loses, and the form it takes."""
    form = release.strategies[record]
    if form < 0:
        return 0.0, -1
    present = effect_on_others(release, shortage, margins, record, work)
    now, least = benefit_in(release, record, form), 1e-9 * release.benefit[record] + 1e-300
    best, chosen = 0.0, form
    for other in range(safe.shape[1]):
        less = work.gained[other] - present
        if safe[record, other] and less > 0:
            rate = less / max(now - benefit_in(release, record, other), least)
            if rate > best:
                best, chosen = rate, other
    own = harm_of(release, shortage, record, form, release.fitting[release.cell[record]])
    if own - present > 0 and (own - present) / max(now, least) > best:
        best, chosen = (own - present) / max(now, least), -1
    return best, chosen


@numba.njit(cache=True)
def _all_repairs(
    release: Release,
    shortage: Harm,
    margins: Margins,
    safe: NDArray[np.bool_],
    work: Work,
    gains: NDArray[np.float64],
    forms: NDArray[np.int64],
) -> None:
    for record in range(len(gains)):
        gains[record], forms[record] = _repair_of(release, shortage, margins, safe, record, work)


@numba.njit(cache=True)
def _suppress_few(release: Release, shortage: Harm, margins: Margins, safe: NDArray[np.bool_], work: Work) -> None:
    """Share the records of least benefit in their most general form until nobody lacks a row."""
    n = len(release.strategies)
    benefit = np.full(n, np.inf)
    for record in range(n):
        if release.strategies[record] >= 0:
            benefit[record] = benefit_in(release, record, release.strategies[record])
    last = safe.shape[1] - 1
    for record in np.argsort(benefit):
        if release.strategies[record] >= 0 and safe[record, last]:
            if total_harm(release, shortage) <= 0:
                return
            effect_on_others(release, shortage, margins, record, work)
            share_as(release, shortage, margins, record, last, work)


def _withhold_short(release: Release, shortage: Harm, margins: Margins, work: Work) -> None:
    """Withhold all who lack rows."""
    short = [
        record
        for record in np.flatnonzero(release.strategies >= 0).tolist()
        if harm_of(release, shortage, record, 0, release.fitting[release.cell[record]]) > 0
    ]
    for record in short:
        effect_on_others(release, shortage, margins, record, work)
        share_as(release, shortage, margins, record, WITHHELD, work)
