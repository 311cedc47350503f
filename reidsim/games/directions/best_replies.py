"""Search for a release that no change to one or two records improves.

The strategy of each record affects how many rows fit other persons, so the best strategy of a record depends on the
strategies of all others. Here a row is a released record; it fits a person if the person's values, generalized like the
row, equal the row. The search visits the records in turn. Each record takes the strategy with the highest total payoff
for the publisher, given the strategies of the other records. This is repeated until no record has a better strategy.
Then two records change at once: one is generalized or withheld so that the other can be released at a finer level. Each
step raises the total payoff, so the search ends, at a local optimum. Nothing is proved about changes of three records,
nor about exchanges that the limit on comparisons skips in a large table.

If there are too many records and strategies, no search is made. Each record then takes its best strategy in direction
"record", and a few records are suppressed, whose rows fit every person; see `few_suppressed`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.numerics import borrowing, owning
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
# Largest product of records and strategies that is searched; the search takes about 4 seconds per million.
MOST_SEARCHED = 20_000_000
Allowed = NDArray[np.bool_]
Records = NDArray[np.int64]
# Accept a repair whose rate is at least this share of the best rate still in the queue, without further comparison. A
# higher share gives better repairs and recomputes more rates.
_NEAR = 0.8
# Limit on comparisons of values in exchanges: a constant for any table (0.5 s), plus a number for each combination of
# record, cell and attribute. With 20,000 records and 8 attributes, exchanges then take a fifth of the time of the
# search before them.
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
    """Return a release whose total payoff no change to a single record raises.

    With more than 20 million records times strategies, the release of `few_suppressed` is returned without a search.

    Parameters
    ----------
    game : RecordGame
    linker : DirectedLinker
        Linker of the game.
    present : Choice
        Start of the search, such as the best release in direction "record".
    constraint : Constraint, optional
        If it forbids attacks, an attack pays on no record of the release; records that cannot be shared safely are
        withheld. The release then has the highest benefit found, and single changes may still raise its payoff.
    may_withhold : bool
        Whether records may be withheld to raise the total payoff.
    forms : ndarray of bool, shape (n_strategies,), optional
        Strategies that may be used; all, if not given.

    Returns
    -------
    Choice
        Not proved optimal. `evaluated` is the mean number of strategies per record, rounded up.

    Raises
    ------
    InputError
        If there are too many records or payoff parameters, see `by_rows_of`, or sensitive values, see
        `PersonLimits.fitting_values`.
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
        # Replies may also depend on properties of a record other than its payoff parameters.
        choice = search.choice(without_attacked(game, safe))
        return choice if limits is None else replace(choice, strategies=_kept_within(game, limits, choice, constraint))
    start = present.strategies
    if limits is not None:
        start = _Search(game, linker, replies.ignored(), allowed, limits).safe_from(start)
    # The release without attacks is already computed, and may be the better start.
    started = [search.best_from(each, may_withhold=may_withhold) for each in (start, safe)]
    return search.choice(search.exchanged(max(started, key=search.payoff), may_withhold=may_withhold))


def _kept_within(game: RecordGame, limits: PersonLimits, choice: Choice, constraint: Constraint) -> Strategies:
    """Withhold records until limits on sensitive values and the constraint hold.

    The no-attack constraint applies only if it is set.
    """
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
    """Return a release that protects persons by fully suppressing a few records.

    A fully suppressed row fits every person. The number of suppressed records is the largest number of rows that must
    fit a person for an attack in direction "person" not to pay; the records that lose least benefit are taken. No
    record is suppressed if `forms` excludes this. If attacks are forbidden, records that are still attacked are
    withheld. Otherwise the present release is kept if its payoff is as high.

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
    """Return the publisher's total payoff of a release, in currency units."""
    released = game.with_strategies(strategies)
    return sum(
        float(released.outcome(strategy, rows).publisher_payoff.sum()) for strategy, rows in shared_rows(strategies)
    )


def _allowed(game: RecordGame, constraint: Constraint, forms: NDArray[np.bool_] | None) -> Allowed:
    """Return which strategies each record may take, (n_records, n_strategies).

    The no-attack constraint is not applied.
    """
    n, size = game.n_records, game.space.size
    allowed = np.ones((n, size), dtype=np.bool_) if forms is None else np.tile(forms, (n, 1))
    if constraint.restricts_forms:
        anyhow = replace(constraint, no_attack=False)
        for form in range(size):
            allowed[:, form] &= anyhow.allows(game.space, form, np.zeros(n, dtype=np.bool_))
    return allowed


class Need(NamedTuple):
    """Excess over the limits on sensitive values, as a harm that must not change.

    Its `value_weight` is 0, and every change is allowed, without limits or if the main harm includes the excess.
    """

    harm: Harm
    margins: Margins
    work: Work


class _Search:
    """Improve a release step by step, and count the strategies that are evaluated."""

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
        """Return a release as a `Choice`.

        `evaluated` is the mean number of strategies per record, rounded up.
        """
        n = len(strategies)
        return Choice(strategies, SOLVER, np.full(n, -(-self._looked_at // max(n, 1)), dtype=np.int64), exact=False)

    def payoff(self, strategies: Strategies) -> float:
        """Return the publisher's total payoff of a release, in currency units."""
        release = self._release(strategies)
        return _total_benefit(release) - total_harm(release, self._replies.loss)

    def best_from(self, strategies: Strategies, *, may_withhold: bool) -> Strategies:
        """Return a release that no change to a single record improves."""
        release, loss, margins, work = self._begin(strategies, self._replies.loss, 0.0)
        need, tie = self._need(release, loss, margins), self._game.tie()
        self._until_none_moves(
            lambda records: _pay_more(release, loss, margins, need, self._allowed, tie, may_withhold, work, records)
        )
        return release.strategies

    def exchanged(self, strategies: Strategies, *, may_withhold: bool) -> Strategies:
        """Return a release that no exchange of two records improves.

        In a large table, only some exchanges are tried.
        """
        release, loss, margins, work = self._begin(strategies, self._replies.loss, 0.0)
        need, tie = self._need(release, loss, margins), self._game.tie()
        self._exchange(
            release,
            loss,
            margins,
            need,
            self._allowed,
            work,
            lambda records: _pay_more(release, loss, margins, need, self._allowed, tie, may_withhold, work, records),
            finer=False,
            may_withhold=may_withhold,
        )
        return release.strategies

    def exchanged_safely(self, strategies: Strategies) -> Strategies:
        """Return a release without attacks that no exchange of two records improves.

        It starts from `strategies`, a release without attacks. In a large table, only some exchanges are tried.
        """
        needed, tie = self._replies.needed, self._game.tie()
        # One missing row costs more than the total benefit; a power of 2 keeps sums exact.
        dear = 2.0 ** np.ceil(np.log2(1.0 + 2.0 * self._game.benefit.sum()))
        shortage = self._replies.shortage
        shortage = shortage._replace(weight=dear * shortage.weight)
        release, shortage, margins, work = self._begin(strategies, shortage, dear)
        need, safe = self._need(release, shortage, margins), self._allowed & self._replies.unattacked
        self._exchange(
            release,
            shortage,
            margins,
            need,
            safe,
            work,
            lambda records: _share_more(release, shortage, margins, safe, needed, tie, work, records),
            finer=True,
            may_withhold=True,
        )
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
        """Exchange records until no exchange improves the release; see `_next_exchange`.

        The loop also stops at the limit on comparisons. After each exchange, `step` changes single records until none
        improves the release.
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
        """Repeat a step, which changes single records, until no record changes.

        The step is applied to all records, then to the records that it changed, until it changes none. It is then
        applied to all records again. The loop ends when a step over all records changes none.
        """
        everybody = np.arange(self._game.n_records)
        records = everybody
        while True:
            moved = step(records)
            self._looked_at += len(records) * self._game.space.size
            if not len(moved) and len(records) == len(everybody):
                return
            records = moved if len(moved) else everybody

    def safe_from(self, strategies: Strategies) -> Strategies:
        """Return a release without attacks, with as much benefit as possible.

        It is the one of highest benefit among the repairs that are tried; it need not be optimal.
        """
        safe, at = self._allowed & self._replies.unattacked, np.arange(len(strategies))
        # A record that is attacked in direction "record" must change, no matter which rows fit its person.
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
        """Return a similar release in which enough rows fit every shared person.

        With `few`, the records of least benefit are fully suppressed first, because their rows then fit most people.
        If the estimated benefit lost by the repairs exceeds `at_most`, all records are withheld.
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
        """Change records until enough rows fit every shared person.

        The record that adds most fitting rows per unit of benefit lost changes first. Every change lowers the shortage,
        so the loop ends. If no change lowers the shortage, the records that lack rows are withheld.

        Returns
        -------
        bool
            True when done; False if the estimated loss of benefit exceeded `at_most`.
        """
        n, left, lost = len(release.strategies), total_harm(release, shortage), 0.0
        while left > 0:
            rates, forms = np.zeros(n), np.zeros(n, dtype=np.int64)
            _repairs(release, shortage, margins, safe, work, np.arange(n), rates, forms)
            self._looked_at += safe.size
            queue = [(-rate, record) for record, rate in enumerate(rates.tolist()) if rate > 0]
            heapq.heapify(queue)
            moved = False
            while queue and left > 0:
                _, record = heapq.heappop(queue)
                _repairs(release, shortage, margins, safe, work, np.array([record]), rates, forms)
                rate, form = float(rates[0]), int(forms[0])
                # The rates in the queue are out of date; most are now lower as well.
                if rate > 0 and queue and rate < -_NEAR * queue[0][0]:
                    heapq.heappush(queue, (-rate, record))
                elif rate > 0:
                    now, then = release.strategies[record], benefit_in(release, record, form) if form >= 0 else 0.0
                    lost += benefit_in(release, record, now) - then
                    share_as(release, shortage, margins, record, form, work)
                    moved, left = True, total_harm(release, shortage)
                    # Later repairs usually have lower rates, so this estimate of the loss is usually too low.
                    if lost + left / rate > at_most:
                        return False
            if not moved:
                _withhold_short(release, shortage, margins, work)
                left = total_harm(release, shortage)
        return True

    def _begin(self, strategies: Strategies, harm: Harm, value_weight: float) -> tuple[Release, Harm, Margins, Work]:
        """Return the release, its harm, margins and work arrays.

        If there are limits on sensitive values, the harm includes the excess over them with weight `value_weight`.
        """
        release = self._release(strategies)
        if self._limits is not None:
            harm = harm._replace(values=self._limits.fitting_values(release.strategies), value_weight=value_weight)
        return release, harm, margins_of(release, harm), self._work(release)

    def _need(self, release: Release, harm: Harm, margins: Margins) -> Need:
        """Return the limits on sensitive values as a separate harm.

        The weight is 0 if there are no limits, or `harm` includes them.
        """
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


@borrowing()
def _total_benefit(release: Release) -> float:
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            total += benefit_in(release, record, release.strategies[record])
    return total


@owning()
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
    """Give each record in turn the strategy of highest total payoff.

    The total is the publisher's payoff over all records. `allowed` has shape (n_records, n_strategies), and `tie`
    (n_records,) is the tie tolerance. Changes that alter the excess of `need` are excluded. Return the records that
    changed.
    """
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
        # A withheld record that must be shared takes the best allowed strategy, even at a negative payoff.
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
        # A difference within the rounding error of sums over many persons is no gain.
        if chosen != form and best > now + tie[record] + INDIFFERENCE * scale:
            share_as(release, loss, margins, record, chosen, work)
            moved[number] = True
    return records[moved]


@borrowing()
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
    """Compute by how much each change of a record lowers harm and raises benefit.

    Fills `lower` (decrease of harm) and `more` (increase of benefit), shape (n_strategies + 1,). The last entry is for
    withholding; `lower` is -inf where a change is not allowed.
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


@borrowing()
def _lacks(release: Release, harm: Harm) -> int:
    """Return the first cell through which a shared record suffers harm, or -1."""
    for record in range(len(release.strategies)):
        form = release.strategies[record]
        for entry in range(release.begin[record], release.begin[record + 1]):
            cell = release.own[entry]
            if form >= 0 and harm_of(release, harm, record, form, release.fitting[cell]) > 0:
                return int(cell)
    return -1


@borrowing()
def _benefit_to_fit(release: Release, record: int, cell: int) -> float:
    """Return the largest benefit of a strategy under which a record fits a cell.

    The result is -inf if there is no such strategy.
    """
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


@owning()
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
    first: int,
    clean: int,
    left: int,
) -> tuple[bool, int, int, int, int]:
    """Make the first exchange of two records that raises total benefit less harm.

    Parameters
    ----------
    finer : bool
        Whether the release has no harm and must stay without harm. Then the record that is tried in turn must gain
        benefit.
    first : int
        The first record to try.
    clean : int
        Number of records tried without success since the last exchange.
    left : int
        Number of comparisons of two values that are still allowed. It is checked before each strategy of a record, so
        it may be exceeded by the comparisons for one strategy.
    release, harm, margins, need, allowed, tie, may_withhold, work
        See `_pay_more`.

    Returns
    -------
    tuple
        Whether two records changed, the next record, number of records tried without success, comparisons left, and
        number of strategies evaluated.
    """
    n, size = allowed.shape
    looked_at, record = 0, first
    lower, more, lower_need = np.empty((2, size + 1)), np.empty((2, size + 1)), np.empty((2, size + 1))
    entries, limited = len(release.own) / n, need.harm.value_weight > 0.0
    once = int((entries * len(release.cells) + size) * len(release.levels))
    if len(release.several) > 0:
        once += int(entries * len(release.own)) * len(release.levels)
    while clean < n and left > 0:
        form, spent = release.strategies[record], once
        if limited:
            _changes(release, need.harm, need.margins, allowed, may_withhold, need.work, record, lower_need[0], more[0])
        _changes(release, harm, margins, allowed, may_withhold, work, record, lower[0], more[0])
        for new in range(-1, size):
            if spent > left:
                break
            if new == form or lower[0, new] == -np.inf or (finer and more[0, new] <= tie[record]):
                continue
            reread(release, record, work)
            share_as(release, harm, margins, record, new, work)
            # Under limits on sensitive values, no record is skipped: a row that no longer fits can also remove the
            # excess.
            lacks = _lacks(release, harm) if finer and harm.value_weight == 0.0 else -1
            spent += 2 * once
            for other in range(0 if finer else record + 1, n):
                if other == record:
                    continue
                if lacks >= 0:
                    # The second record's row must fit the cell that lacks a row, or the second record is in that cell.
                    spent += len(release.levels)
                    now = release.strategies[other]
                    least = _benefit_to_fit(release, other, lacks)
                    least -= benefit_in(release, other, now) if now >= 0 else 0.0
                    if least + more[0, new] <= tie[record]:
                        continue
                if limited:
                    _changes(
                        release,
                        need.harm,
                        need.margins,
                        allowed,
                        may_withhold,
                        need.work,
                        other,
                        lower_need[1],
                        more[1],
                    )
                _changes(release, harm, margins, allowed, may_withhold, work, other, lower[1], more[1])
                spent += once
                best, chosen, scale = 0.0, -2, 0.0
                for form_of_other in range(-1, size):
                    if limited and lower_need[0, new] + lower_need[1, form_of_other] != 0.0:
                        continue
                    # Add harms before benefits: the sum of harms is exact, so it is 0 exactly if no harm remains.
                    less = lower[0, new] + lower[1, form_of_other]
                    value = less + (more[0, new] + more[1, form_of_other])
                    if value > best:
                        best, chosen = value, form_of_other
                        scale = abs(lower[0, new]) + abs(lower[1, form_of_other])
                if finer and best > 0:
                    scale = 0.0
                if chosen > -2 and best > tie[record] + tie[other] + INDIFFERENCE * scale:
                    share_as(release, harm, margins, other, chosen, work)
                    comparisons = len(release.cells) * len(release.levels)
                    return True, record, 0, left - spent, looked_at + spent // comparisons
            reread(release, record, work)
            share_as(release, harm, margins, record, form, work)
        left -= spent
        looked_at += spent // (len(release.cells) * len(release.levels))
        record, clean = (record + 1) % n, clean + 1
    return False, record, clean, left, looked_at


@owning()
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
    """Give each record in turn the safe strategy of most benefit.

    Strategies that leave another person short of rows are excluded, and a withheld record whose own person would be
    short of rows (`needed`, shape (n_records,)) stays withheld. Return the records that changed.
    """
    moved = np.zeros(len(records), dtype=np.bool_)
    for number in range(len(records)):
        record = records[number]
        form = release.strategies[record]
        # Share a withheld record that can be shared safely, even without benefit.
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


@borrowing()
def _repairs(
    release: Release,
    shortage: Harm,
    margins: Margins,
    safe: NDArray[np.bool_],
    work: Work,
    records: Records,
    rates: NDArray[np.float64],
    forms: NDArray[np.int64],
) -> None:
    """Find each record's largest fall of shortage per benefit lost, and its strategy.

    Fills `rates` and `forms`, shape (len(records),). The strategy is -1 for withholding, and the rate is 0 if no change
    lowers the shortage.
    """
    for number in range(len(records)):
        record = records[number]
        form = release.strategies[record]
        rates[number], forms[number] = 0.0, form
        if form < 0:
            continue
        present = effect_on_others(release, shortage, margins, record, work)
        now, least = benefit_in(release, record, form), 1e-9 * release.benefit[record] + 1e-300
        for other in range(safe.shape[1]):
            less = work.gained[other] - present
            if safe[record, other] and less > 0:
                rate = less / max(now - benefit_in(release, record, other), least)
                if rate > rates[number]:
                    rates[number], forms[number] = rate, other
        own = own_harm(release, shortage, record, form)
        if own - present > 0 and (own - present) / max(now, least) > rates[number]:
            rates[number], forms[number] = (own - present) / max(now, least), -1


@owning()
def _suppress_few(release: Release, shortage: Harm, margins: Margins, safe: NDArray[np.bool_], work: Work) -> None:
    """Fully suppress the records of least benefit until no person lacks a row."""
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
            reread(release, record, work)
            share_as(release, shortage, margins, record, last, work)


def _withhold_short(release: Release, shortage: Harm, margins: Margins, work: Work) -> None:
    """Withhold every record whose person lacks rows."""
    short = [
        record
        for record in np.flatnonzero(release.strategies >= 0).tolist()
        if own_harm(release, shortage, record, 0) > 0
    ]
    for record in short:
        reread(release, record, work)
        share_as(release, shortage, margins, record, WITHHELD, work)
