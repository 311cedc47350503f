"""Releases in which no change of one record's form pays the publisher more, nor an exchange between two records.

How one record is shared changes how many rows fit others, so that the best form of each depends on those of all. One
record after the other takes the form in which the publisher gets most in sum, given how the others are shared; that is
repeated until no record has a better one. Then two records change at once: one is generalized or withheld so that the
other can be released finer. Each step pays more, so the search ends, at a local optimum. Nothing is proved about
changes of three records, nor about exchanges that a limit on their work leaves out in a large table.

Many records with many forms are not searched: each is shared as is best in direction "record", and a few are suppressed
whose rows fit everybody; see `few_suppressed`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

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
    own_harm,
    release_of,
    reread,
    rows_of,
    share_as,
    total_harm,
    work_for,
)
from reidsim.games.directions.harm import Replies, by_rows_of, replies_in
from reidsim.games.directions.linker import DirectedLinker, by_record, without_attacked
from reidsim.games.directions.person_limits import PersonLimits
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame, shared_rows
from reidsim.releases.strategy_space import Strategies

SOLVER, SOLVER_OF_LARGE = "one-record-at-a-time", "few-suppressed"
# Records times forms that are searched, which takes about 4 seconds per million.
MOST_SEARCHED = 20_000_000
Allowed = NDArray[np.bool_]
Records = NDArray[np.int64]
# A repair that does so much of what the best one may do is as good.
_NEAR = 0.8
# Limit on comparisons of values in exchanges: in any table (0.5 s), and for each pair of a record and distinct values.
# With 20,000 records and 8 attributes exchanges then take a fifth of the time of the search before them.
_FEW_COMPARISONS, _COMPARISONS_PER_PAIR = 200_000_000, 0.5


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
        If there are too many records or amounts.
    """
    constraint = constraint or Constraint()
    limits = None if constraint.admissible is None else PersonLimits(constraint.admissible, linker.rows)
    if game.n_records * game.space.size > MOST_SEARCHED:
        choice = few_suppressed(game, linker, present, constraint, forms)
        return choice if limits is None else replace(choice, strategies=_kept_within(game, limits, choice, constraint))
    replies = replies_in(game, linker)
    allowed = _allowed(game, constraint, forms)
    search = _Search(game, linker, replies, allowed, limits)
    safe = search.exchanged_safely(search.safe_from(present.strategies))
    if constraint.no_attack:
        # An adversary may reply to a record in ways that its amounts do not tell.
        choice = search.choice(without_attacked(game, safe))
        return choice if limits is None else replace(choice, strategies=_kept_within(game, limits, choice, constraint))
    start = present.strategies
    if limits is not None:
        start = _Search(game, linker, replies.ignored(), allowed, limits).safe_from(start)
    # A release in which nobody is at risk is at hand, and may be a better start.
    started = [search.best_from(each, may_withhold=may_withhold) for each in (start, safe)]
    return search.choice(search.exchanged(max(started, key=search.payoff), may_withhold=may_withhold))


def _kept_within(game: RecordGame, limits: PersonLimits, choice: Choice, constraint: Constraint) -> Strategies:
    """Withhold records until the limits on sensitive values hold, and nobody is attacked if that is forbidden."""
    strategies = choice.strategies
    while True:
        within = limits.without_exceeding(strategies)
        kept = without_attacked(game, within) if constraint.no_attack else within
        if np.array_equal(kept, strategies):
            return kept
        strategies = kept


def few_suppressed(
    game: RecordGame,
    linker: DirectedLinker,
    present: Choice,
    constraint: Constraint,
    forms: NDArray[np.bool_] | None = None,
) -> Choice:
    """Return a release that protects persons by the rows of a few records in their most general form.

    As many records as must fit a person take that form: those that lose least benefit. If attacks are forbidden,
    whoever is attacked even so is withheld; else the present release stays if it pays more.

    Parameters
    ----------
    game, linker, constraint, forms
        See `best_release`.
    present : Choice
        The best release in direction "record" under the constraint.
    """
    strategies, last = present.strategies.copy(), game.space.size - 1
    shared = np.flatnonzero(strategies != WITHHELD)
    kind, _, needed = by_rows_of(game, linker)
    attacked = np.zeros(game.n_records, dtype=np.bool_)
    if linker.direction == "both":
        attacked = by_record(game).outcome(last).response.invited
    if forms is None or forms[last]:
        usable = shared[constraint.allows(game.space, last, attacked)[shared]]
        benefit = np.zeros(game.n_records)
        for strategy, rows in shared_rows(strategies):
            benefit[rows] = game.benefit_of(strategy, rows)
        lost = benefit[usable] - game.benefit_of(last, usable)
        rows_needed = int(needed[kind[shared]].max(initial=0))
        strategies[usable[np.argsort(lost, kind="stable")[:rows_needed]]] = last
    if constraint.no_attack:
        strategies = without_attacked(game, strategies)
    elif _payoff(game, strategies) <= _payoff(game, present.strategies):
        strategies = present.strategies
    return Choice(strategies, SOLVER_OF_LARGE, present.evaluated, exact=False)


def _payoff(game: RecordGame, strategies: Strategies) -> float:
    """Return the publisher's total payoff of a release."""
    given = game.given(strategies)
    return sum(
        float(given.outcome(strategy, rows).publisher_payoff.sum()) for strategy, rows in shared_rows(strategies)
    )


def _allowed(game: RecordGame, constraint: Constraint, forms: NDArray[np.bool_] | None) -> Allowed:
    """Return which forms each record may take, attacked or not, shape (n_records, n_forms)."""
    n, size = game.n_records, game.space.size
    allowed = np.ones((n, size), dtype=np.bool_) if forms is None else np.tile(forms, (n, 1))
    if constraint.restricts_forms:
        anyhow = replace(constraint, no_attack=False)
        for form in range(size):
            allowed[:, form] &= anyhow.allows(game.space, form, np.zeros(n, dtype=np.bool_))
    return allowed


class Need(NamedTuple):
    """Limits on sensitive values as a harm that no change may cause; of no weight without limits."""

    harm: Harm
    margins: Margins
    work: Work


class _Search:
    """Coordinate steps from one release to better ones."""

    def __init__(
        self,
        game: RecordGame,
        linker: DirectedLinker,
        replies: Replies,
        allowed: Allowed,
        limits: PersonLimits | None = None,
    ) -> None:
        self._game, self._linker, self._replies, self._allowed, self._limits = game, linker, replies, allowed, limits
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
        release, loss, margins, work = self._begin(strategies, self._replies.loss, 0.0)
        need, tie = self._need(release, loss, margins), self._game.tie()
        self._until_none_moves(
            lambda records: _pay_more(release, loss, margins, need, self._allowed, tie, may_withhold, work, records)
        )
        return release.strategies

    def exchanged(self, strategies: Strategies, *, may_withhold: bool) -> Strategies:
        """Return a release that no exchange between two records improves; of a large table, few are tried."""
        release, loss, margins, work = self._begin(strategies, self._replies.loss, 0.0)
        need, tie = self._need(release, loss, margins), self._game.tie()
        self._exchange(
            release, loss, margins, need, self._allowed, work, lambda records: _pay_more(
                release, loss, margins, need, self._allowed, tie, may_withhold, work, records
            ), finer=False, may_withhold=may_withhold,
        )  # fmt: skip
        return release.strategies

    def exchanged_safely(self, strategies: Strategies) -> Strategies:
        """Do the same for a release in which nobody is at risk, and stay with such releases."""
        needed, tie = self._replies.needed, self._game.tie()
        # A row that is lacking costs more than all benefit; a power of 2 keeps sums exact.
        dear = 2.0 ** np.ceil(np.log2(1.0 + 2.0 * self._game.benefit.sum()))
        shortage = self._replies.shortage
        shortage = shortage._replace(weight=dear * shortage.weight)
        release, shortage, margins, work = self._begin(strategies, shortage, dear)
        need, safe = self._need(release, shortage, margins), self._allowed & self._replies.unattacked
        self._exchange(
            release, shortage, margins, need, safe, work,
            lambda records: _share_more(release, shortage, margins, safe, needed, tie, work, records),
            finer=True, may_withhold=True,
        )  # fmt: skip
        return release.strategies

    def _exchange(
        self,
        release: Release,
        harm: Harm,
        margins: Margins,
        need: Need,
        allowed: Allowed,
        work: Work,
        step: Callable[[Records], Records],
        *,
        finer: bool,
        may_withhold: bool,
    ) -> None:
        """Exchange until no exchange improves the release, or the limit on comparisons is reached; see `_exchange_of`.

        After each exchange, single records change by `step` where they now can.
        """
        n = len(allowed)
        left = _FEW_COMPARISONS + int(_COMPARISONS_PER_PAIR * n * len(release.cells) * len(release.levels))
        tie, record, clean = self._game.tie(), 0, 0
        while clean < n and left > 0:
            found, record, clean, left, looked_at = _next_exchange(
                release, harm, margins, need, allowed, tie, finer, may_withhold, work, record, clean, left
            )
            self._looked_at += looked_at
            if found:
                self._until_none_moves(step)

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
        found = few if self._benefit(few) >= self._benefit(many) else many
        if self._limits is None:
            return found
        suppressed = np.where(safe[:, -1], self._game.space.size - 1, WITHHELD)
        everybody = self._repaired(suppressed, safe, few=False, at_most=np.inf)
        return found if self._benefit(found) >= self._benefit(everybody) else everybody

    def _benefit(self, strategies: Strategies) -> float:
        return float(_total_benefit(self._release(strategies)))

    def _repaired(self, strategies: Strategies, safe: Allowed, *, few: bool, at_most: float) -> Strategies:
        """Return a release near another in which rows enough fit everybody who is shared.

        With `few`, the records of least benefit take their most general form first, whose rows fit most people. Once
        repairs are about to cost more than `at_most` in benefit, everything is withheld.
        """
        replies = self._replies
        release, shortage, margins, work = self._begin(strategies, replies.shortage, 1.0)
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

    def _begin(self, strategies: Strategies, harm: Harm, value_weight: float) -> tuple[Release, Harm, Margins, Work]:
        """Return a release, and the harm in it with excess over limits at a weight."""
        release = self._release(strategies)
        if self._limits is not None:
            harm = harm._replace(values=self._limits.of(release.strategies), value_weight=value_weight)
        return release, harm, margins_of(release, harm), self._work(release)

    def _need(self, release: Release, harm: Harm, margins: Margins) -> Need:
        """Return what limits on sensitive values need, where the harm does not contain it."""
        n, nobody = len(release.strategies), np.zeros((0, 0))
        weight = 1.0 if self._limits is not None and harm.value_weight == 0.0 else 0.0
        kind, by_rows = np.zeros(n, dtype=np.int64), np.zeros((1, n + 2))
        alone = Harm(kind, by_rows, np.zeros(n), nobody.astype(np.float32), nobody, harm.values, weight)
        none = np.zeros(len(release.cells))
        return Need(alone, Margins(none, none.copy(), margins.shared), self._work(release))

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
    need: Need,
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
        form, rows = release.strategies[record], rows_of(release, record)
        needs, limited = 0.0, need.harm.value_weight > 0.0
        if limited:
            needs = effect_on_others(release, need.harm, need.margins, record, need.work)
            if form < 0 and own_harm(release, need.harm, record, 0) > 0:
                continue
        # Who must be shared takes the best form there is.
        now = 0.0 if may_withhold else -np.inf
        if form >= 0:
            now = benefit_in(release, record, form) - harm_of(release, loss, record, form, rows)
        scale = abs(present)
        best, chosen = -np.inf, form
        for other in range(allowed.shape[1]):
            scale = max(scale, abs(work.gained[other]))
            if allowed[record, other] and not (limited and need.work.gained[other] != needs):
                own = benefit_in(release, record, other) - harm_of(release, loss, record, other, rows)
                value = own + work.gained[other] - present
                if value > best + tie[record]:
                    best, chosen = value, other
        if may_withhold and needs == 0.0 and -present > best + tie[record]:
            best, chosen = -present, -1
        # Sums over many persons are rounded; what is no more than that is no gain.
        if chosen != form and best > now + tie[record] + INDIFFERENCE * scale:
            share_as(release, loss, margins, record, chosen, work)
            moved[number] = True
    return records[moved]


@numba.njit(cache=True)
def _changes(
    release: Release,
    harm: Harm,
    margins: Margins,
    allowed: NDArray[np.bool_],
    may_withhold: bool,
    work: Work,
    record: int,
    lower: NDArray[np.float64],
    more: NDArray[np.float64],
) -> None:
    """Find by how much each change of one record lowers all harm, and by how much it raises the record's benefit.

    Fills `lower` and `more`, shape (n_forms + 1,), the last for withholding; -inf where a change is not allowed.
    """
    form = release.strategies[record]
    present = effect_on_others(release, harm, margins, record, work)
    benefit, own = 0.0, 0.0
    if form >= 0:
        benefit, own = benefit_in(release, record, form), own_harm(release, harm, record, form)
    for other in range(allowed.shape[1]):
        lower[other] = -np.inf
        if allowed[record, other]:
            lower[other] = work.gained[other] - present + own - own_harm(release, harm, record, other)
            more[other] = benefit_in(release, record, other) - benefit
    lower[-1], more[-1] = (own - present, -benefit) if may_withhold else (-np.inf, 0.0)


@numba.njit(cache=True)
def _lacks(release: Release, harm: Harm) -> int:
    """Return the first values of a shared record that suffer harm; -1 if there are none."""
    for record in range(len(release.strategies)):
        form = release.strategies[record]
        for entry in range(release.begin[record], release.begin[record + 1]):
            cell = release.own[entry]
            if form >= 0 and harm_of(release, harm, record, form, release.fitting[cell]) > 0:
                return int(cell)
    return -1


@numba.njit(cache=True)
def _benefit_to_fit(release: Release, record: int, cell: int) -> float:
    """Return the largest benefit of a form in which a record's row fits some values; -inf if there is none."""
    best = -np.inf
    for entry in range(release.begin[record], release.begin[record + 1]):
        form, own = 0, release.own[entry]
        for attribute in range(len(release.levels)):
            groups = release.groups[attribute]
            mine, theirs = release.cells[own, attribute], release.cells[cell, attribute]
            level = 0
            while level < release.levels[attribute] and groups[level, mine] != groups[level, theirs]:
                level += 1
            if level == release.levels[attribute]:
                form = -1
                break
            form += level * release.strides[attribute]
        if form >= 0:
            best = max(best, benefit_in(release, record, form))
    return best


@numba.njit(cache=True)
def _next_exchange(
    release: Release,
    harm: Harm,
    margins: Margins,
    need: Need,
    allowed: NDArray[np.bool_],
    tie: NDArray[np.float64],
    finer: bool,
    may_withhold: bool,
    work: Work,
    record: int,
    clean: int,
    left: int,
) -> tuple[bool, int, int, int, int]:
    """Try records in turn until an exchange improves the release; see `_exchange_of`.

    Parameters
    ----------
    record : int
        The first record to try.
    clean : int
        Records tried without success since the last exchange.
    left : int
        Comparisons of two values that are allowed.

    Returns
    -------
    tuple
        Whether two records changed, the next record, records tried without success, comparisons left, and strategies
        evaluated.
    """
    n, size = allowed.shape
    comparisons, looked_at = len(release.cells) * len(release.levels), 0
    lower, more, lower_need = np.empty((2, size + 1)), np.empty((2, size + 1)), np.empty((2, size + 1))
    while clean < n and left > 0:
        found, spent = _exchange_of(
            release, harm, margins, need, allowed, tie, finer, may_withhold, work, record, lower, more, lower_need, left
        )
        left -= spent
        looked_at += spent // comparisons
        if found:
            return True, record, 0, left, looked_at
        record, clean = (record + 1) % n, clean + 1
    return False, record, clean, left, looked_at


@numba.njit(cache=True)
def _exchange_of(
    release: Release,
    harm: Harm,
    margins: Margins,
    need: Need,
    allowed: NDArray[np.bool_],
    tie: NDArray[np.float64],
    finer: bool,
    may_withhold: bool,
    work: Work,
    record: int,
    lower: NDArray[np.float64],
    more: NDArray[np.float64],
    lower_need: NDArray[np.float64],
    most: int,
) -> tuple[bool, int]:
    """Change a record and another one at once, if the sum of benefit less harm rises by that.

    Parameters
    ----------
    finer : bool
        Whether there is no harm before, nor may there be any after: then one of the two records gains benefit, and
        `record` is that one.
    lower, more, lower_need : ndarray of float64, shape (2, n_forms + 1)
        To work on.
    most : int
        Comparisons of two values that it may take, but for those of the last record.
    others
        See `_pay_more`.

    Returns
    -------
    bool
        Whether two records changed.
    int
        Comparisons that were made.
    """
    n, size = allowed.shape
    entries = len(release.own) / n
    form, once = release.strategies[record], int((entries * len(release.cells) + size) * len(release.levels))
    if len(release.several) > 0:
        once += int(entries * len(release.own)) * len(release.levels)
    limited = need.harm.value_weight > 0.0
    if limited:
        _changes(release, need.harm, need.margins, allowed, may_withhold, need.work, record, lower_need[0], more[0])
    _changes(release, harm, margins, allowed, may_withhold, work, record, lower[0], more[0])
    spent = once
    for new in range(-1, size):
        if spent > most:
            break
        if new == form or lower[0, new] == -np.inf or (finer and more[0, new] <= tie[record]):
            continue
        reread(release, record, work)
        share_as(release, harm, margins, record, new, work)
        # What exceeds limits on sensitive values can also be mended by a row that no longer fits.
        lacks = _lacks(release, harm) if finer and harm.value_weight == 0.0 else -1
        spent += 2 * once
        for other in range(0 if finer else record + 1, n):
            if other == record:
                continue
            if lacks >= 0:
                # Its row has to fit the values that lack one, or is the one that lacks it.
                spent += len(release.levels)
                now = release.strategies[other]
                least = _benefit_to_fit(release, other, lacks)
                least -= benefit_in(release, other, now) if now >= 0 else 0.0
                if least + more[0, new] <= tie[record]:
                    continue
            if limited:
                _changes(
                    release, need.harm, need.margins, allowed, may_withhold, need.work, other, lower_need[1], more[1]
                )
            _changes(release, harm, margins, allowed, may_withhold, work, other, lower[1], more[1])
            spent += once
            best, chosen, scale = 0.0, -2, 0.0
            for form_of_other in range(-1, size):
                if limited and lower_need[0, new] + lower_need[1, form_of_other] != 0.0:
                    continue
                # Whether all harm is gone is exact, before benefits are added.
                less = lower[0, new] + lower[1, form_of_other]
                value = less + (more[0, new] + more[1, form_of_other])
                if value > best:
                    best, chosen = value, form_of_other
                    scale = abs(lower[0, new]) + abs(lower[1, form_of_other])
            if finer and best > 0:
                scale = 0.0
            if chosen > -2 and best > tie[record] + tie[other] + INDIFFERENCE * scale:
                share_as(release, harm, margins, other, chosen, work)
                return True, spent
        reread(release, record, work)
        share_as(release, harm, margins, record, form, work)
    return False, spent


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
        if form < 0 and rows_of(release, record) < needed[record]:
            continue
        if form < 0 and shortage.value_weight > 0.0 and own_harm(release, shortage, record, 0) > 0:
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
    own = own_harm(release, shortage, record, form)
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
        if own_harm(release, shortage, record, 0) > 0
    ]
    for record in short:
        effect_on_others(release, shortage, margins, record, work)
        share_as(release, shortage, margins, record, WITHHELD, work)
