"""Linkers of directions "person" and "both", and the search for a release that no change of two records improves.

In direction "record", an adversary takes a shared row and searches for its person; the result depends on that row
alone. In direction "person", it takes a person and searches for the person's row. Every shared row that fits the
person's true values is a candidate, so each record's strategy affects the results for other persons. In direction
"both", the adversary uses the direction with the higher success probability.

So the best strategy of a record depends on the strategies of all others. Here a row is a released record; it fits a
person if the person's values, generalized like the row, equal the row. The search visits the records in turn. Each
record takes the strategy with the highest total payoff for the publisher, given the strategies of the other records.
This is repeated until no record has a better strategy. Then pairs of records are changed together: one is generalized
or withheld so that the other can be released at a finer level. Each step raises the total payoff, so the search ends,
at a local optimum. Nothing is proved about changes of three records, nor about exchanges that the limit on comparisons
skips in a large table.

A release without attacks is searched by the same steps: each row that a person lacks costs more than all benefits.
Exceeded limits on sensitive values cost as much.

If there are too many records and strategies, no search is made. Each record then takes its best strategy in direction
"record", or stays unchanged, and a few records are suppressed, whose rows fit every person; see `_few_suppressed`.
Equal records can then be one row of the game, with a number of people, except for the suppressed ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Linkage, Response
from reidsim.core.errors import InputError
from reidsim.core.numerics import borrowing, compiled
from reidsim.games.composite import PeopleLattice, PeopleLinkage, parts_of, with_each
from reidsim.games.directions.effects import (
    Harm,
    PersonLimits,
    Release,
    benefit_in,
    effect_on_others,
    harm_of,
    own_harm,
    release_of,
    reread,
    share_as,
    total_harm,
)
from reidsim.games.directions.exclusions import benefit_of_each, without_exclusions
from reidsim.games.directions.partitions import best_partition, release_of_equal_rows
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import (
    WITHHELD,
    Choice,
    Constraint,
    FixedLinkage,
    Linker,
    RecordGame,
    linker_of_release,
    shared_rows,
)
from reidsim.linkage.partition import FittingRows
from reidsim.linkage.people import ranges
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies

LookedUp = Literal["person", "both"]
# Limit on combinations of payoff parameters times records, for each of which a reply is computed; a million take 0.1 s.
MOST_HELD = 1_000_000_000
# Numbers of rows whose replies are computed at once.
_AT_A_TIME = 1_000_000
# Numbers of people who fit each record, and the harm for them, if only rows matter.
_NOBODY = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0))


class DirectedLinker:
    """Linker of persons to rows; in direction "both", also of rows to people.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice with one row per record; or a `PeopleLattice`, in which a record holds all rows of a person.
    direction : {"person", "both"}
        Whether the adversary searches for the row of a person, or uses the better of the two directions for each
        record.
    by_record : Linker
        Linker from rows to people, as in direction "record".
    released : Linker
        Linker from rows to the people of the release: the group size of a row counts the people whose records are
        released, if all records have the same strategy. It is `by_record` if the adversary counts the people of the
        release, so that it knows everybody in it.
    kind : ndarray of int64, shape (n_records,)
        Index of each record's payoff parameters. An adversary replies in the same way to all records of a kind.
    people : ndarray of int64, shape (n_records,), optional
        Number of equal records that each record of the lattice represents; 1 by default, as the search requires.
    """

    def __init__(
        self,
        lattice: GeneralizationLattice,
        direction: LookedUp,
        by_record: Linker,
        released: Linker,
        kind: NDArray[np.int64],
        people: NDArray[np.int64] | None = None,
    ) -> None:
        self.lattice, self.direction, self.by_record, self.kind = lattice, direction, by_record, kind
        self.people = np.ones(len(kind), dtype=np.int64) if people is None else people
        row_sets = lattice.row_sets if isinstance(lattice, PeopleLattice) else None
        self.rows = FittingRows(lattice, row_sets, self.people)
        self.people_have_several = row_sets is not None and int(row_sets.rows.sum()) > row_sets.n_sets
        self._released, self.counts_release = released, by_record is released
        # The releases of all policies are evaluated under several payoff parameters, and against several adversaries.
        self._of_release = lru_cache(maxsize=8)(self._counted)
        self._of_weighted = lru_cache(maxsize=8)(self._weighted)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage if the whole release had one strategy.

        The group size of each record (of all, or of `rows`), true and believed, counts the people of the release in its
        equivalence class: the rows of a class fit the persons of the class. In direction "both", it is the smaller of
        this and the group size in direction "record".
        """
        sizes = self._released.link(strategy, rows).group_sizes
        if self.direction == "both":
            sizes = np.minimum(sizes, self.by_record.link(strategy, rows).group_sizes)
        return Linkage(sizes, sizes)

    def with_strategies(self, strategies: Strategies) -> FixedLinkage:
        """Return the linker of a release, with the linkage of each record.

        `strategies` (n_records,) holds one strategy per record, -1 if withheld.

        The group size of a record's person, true and believed, is the number of released rows that fit it, at least 1;
        in direction "both", at most the number of people who fit the person's row.
        """
        # A choice of a user may have integers of another size.
        return self._of_release(strategies.astype(np.int64).tobytes())

    def _counted(self, release: bytes) -> FixedLinkage:
        strategies = np.frombuffer(release, dtype=np.int64)
        sizes: Floats = np.maximum(self.rows.of_records(strategies), 1).astype(np.float64)
        self._limit(sizes, strategies)
        whole = np.array_equal(sizes, np.rint(sizes))
        return FixedLinkage.from_sizes(sizes.astype(np.int64) if whole else sizes)

    def weighted(self, strategies: Strategies) -> Floats:
        """Return 1 / success probability of a guess weighted to rarer rows, (n_records,).

        The release is `strategies` (n_records,). The adversary draws one of the rows that fit a person. The probability
        of a row is proportional to 1 over the number of people of the release that the row fits. In direction "both",
        the result is at most the number of people who fit the person's row. The result is 1 for a withheld record
        (strategy -1).
        """
        return self._of_weighted(strategies.astype(np.int64).tobytes())

    def _weighted(self, release: bytes) -> Floats:
        strategies = np.frombuffer(release, dtype=np.int64)
        people = np.ones(len(self.rows.cell_of_entry))
        released = linker_of_release(self._released, strategies)
        for strategy, rows in shared_rows(strategies):
            linked = released.link(strategy, rows)
            linked = linked.of_records if isinstance(linked, PeopleLinkage) else linked
            people[ranges(self.rows.begin[rows], np.diff(self.rows.begin)[rows])[0]] = linked.group_sizes
        found = self.rows.least(self.rows.weight_of_entries(strategies, 1 / people) * people)
        sizes: Floats = np.where(strategies != WITHHELD, found, 1.0)
        self._limit(sizes, strategies)
        return sizes

    def _limit(self, sizes: Floats, strategies: Strategies) -> None:
        """Limit group sizes in place to the people who fit each row, in direction "both".

        In direction "person", and for withheld records (strategy -1), sizes are unchanged. `sizes` and `strategies`
        have shape (n_records,).
        """
        if self.direction == "both":
            linker = linker_of_release(self.by_record, strategies)
            for strategy, rows in shared_rows(strategies):
                sizes[rows] = np.minimum(sizes[rows], linker.link(strategy, rows).group_sizes)


def directed_linker(game: RecordGame) -> DirectedLinker | None:
    """Return the `DirectedLinker` of a game; None in direction "record".

    Raises
    ------
    InputError
        If the adversary types do not all share one linker.
    """
    linkers = [each.linker for each in parts_of(game)]
    directed = [linker for linker in linkers if isinstance(linker, DirectedLinker)]
    if not directed:
        return None
    if len({*map(id, linkers)}) > 1:
        expected = "the same direction and the same risk for all adversaries"
        raise InputError("adversaries have different directions or risks", expected=expected)
    return directed[0]


def by_record(game: RecordGame) -> RecordGame:
    """Return the same game in direction "record", from released rows to people.

    Each `DirectedLinker` is replaced by its linker in this direction; other linkers are unchanged.
    """
    return with_each(
        game,
        lambda each: replace(each, linker=each.linker.by_record) if isinstance(each.linker, DirectedLinker) else each,
    )


def without_attacked(game: RecordGame, strategies: Strategies) -> Strategies:
    """Withhold records until an attack pays on no remaining record.

    Each round withholds all records on which an attack pays. The result is a new array of strategies (n_records,), -1
    for withheld records.

    A withheld row no longer fits other persons, so an attack on them may become profitable. The loop ends, at the
    latest when all records are withheld.
    """
    strategies = strategies.copy()
    while True:
        released, attacked = game.with_strategies(strategies), np.zeros(len(strategies), dtype=np.bool_)
        for strategy, rows in shared_rows(strategies):
            attacked[rows] = released.outcome(strategy, rows).response.invited
        if not attacked.any():
            return strategies
        strategies[attacked] = WITHHELD


def replies_in(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.int64], NDArray[np.bool_], Harm]:
    """Return the adversary's replies in a game with a directed linker.

    In direction "person", a reply depends on the number of rows that fit the person; in direction "record", on the
    strategy of the record.

    Returns
    -------
    needed : ndarray of int64, shape (n_records,)
        Number of rows that must fit a person so that an attack in direction "person" does not pay; 1 if no such attack
        pays, and more than the number of records if such an attack always pays.
    unattacked : ndarray of bool, shape (n_records, n_strategies)
        Whether an attack in direction "record" does not pay under a strategy; true for all in direction "person".
    loss : Harm
        The publisher's expected loss, in currency units.

    Raises
    ------
    InputError
        If records times combinations of payoff parameters exceed `MOST_HELD`.
    """
    kind, needed = needed_rows(game, linker)
    sizes = np.arange(1, game.n_records + 2)
    # Without a row that fits, the reply is as with one.
    by_rows = np.stack(
        [
            _reply_by_rows(game, sizes, record).reidentified[np.r_[0, : len(sizes)]]
            for record in np.unique(kind, return_index=True)[1].tolist()
        ]
    )
    people, by_people, unattacked = _by_people(game, linker)
    return needed[kind], unattacked, Harm(kind, by_rows, np.array(game.loss), people, by_people)


def shortage(needed: NDArray[np.int64], weight: float) -> Harm:
    """Return the rows that each person lacks to be safe, weighted, as harm.

    A person is safe if no attack in direction "person" pays. The result is a `Harm`. `needed` (n_records,) is the
    number of rows that must fit each person to be safe; each row that is lacking counts `weight`, in currency units.
    """
    n_records = len(needed)
    needs, kind = np.unique(needed, return_inverse=True)
    lacking = np.maximum(needs[:, None] - np.arange(n_records + 2), 0).astype(np.float64)
    return Harm(kind.astype(np.int64), lacking, np.full(n_records, weight), *_NOBODY)


def needed_rows(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of rows that must fit a person so that no attack pays, direction "person".

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Index of the combination of payoff parameters (kind) of each record.
    ndarray of int64, shape (n_kinds,)
        Number of rows that must fit a person of each kind; see `replies_in`.

    Raises
    ------
    InputError
        If records times combinations of payoff parameters exceed `MOST_HELD`.
    """
    n_people = int(linker.people.sum())
    kinds, first, kind = np.unique(linker.kind, return_index=True, return_inverse=True)
    held = len(kinds) * n_people
    if held > MOST_HELD:
        problem = "too many combinations of payoff parameters times records"
        raise InputError(problem, found=held, expected=f"at most {MOST_HELD:,}")
    needed = np.ones(len(kinds), dtype=np.int64)
    for number, record in enumerate(first.tolist()):
        for start in range(1, n_people + 2, _AT_A_TIME):
            sizes = np.arange(start, min(start + _AT_A_TIME, n_people + 2))
            attacked = np.flatnonzero(_reply_by_rows(game, sizes, record).invited)
            needed[number] = sizes[attacked[-1]] + 1 if len(attacked) else needed[number]
    return kind.astype(np.int64), needed


def _reply_by_rows(game: RecordGame, sizes: NDArray[np.int64], record: int) -> Response:
    """Return the reply to the person of a record, by the number of rows that fit it, direction "person"."""
    return game.adversary.respond(Linkage(sizes, sizes), np.full(len(sizes), record, dtype=np.intp))


def _by_people(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.float32], Floats, NDArray[np.bool_]]:
    """Return the adversary's reply in direction "record" to each record by strategy.

    The arrays, shape (n_records, n_strategies), are the number of people who fit the row (at most the number of records
    plus 1), the probability that the person is attacked and re-identified, and whether an attack does not pay. The
    first two have shape (0, 0) in direction "person", and the last is then all True. The second also has shape (0, 0)
    if all numbers of people are integers.
    """
    n_records, n_forms = game.n_records, game.space.size
    if linker.direction == "person":
        return *_NOBODY, np.ones((n_records, n_forms), dtype=np.bool_)
    people = np.empty((n_records, n_forms), dtype=np.float32)
    unattacked = np.empty((n_records, n_forms), dtype=np.bool_)
    reidentified = _NOBODY[1]
    for form in range(n_forms):
        sizes = linker.by_record.link(form).group_sizes
        reply = game.adversary.respond(Linkage(sizes, sizes))
        people[:, form], unattacked[:, form] = np.minimum(sizes, n_records + 1), ~reply.invited
        if not np.issubdtype(sizes.dtype, np.integer):
            # Expected counts need not be integers, so they cannot index the table by number of rows.
            reidentified = np.empty((n_records, n_forms)) if not len(reidentified) else reidentified
            reidentified[:, form] = reply.reidentified
    return people, reidentified, unattacked


SOLVER, SOLVER_OF_LARGE, SOLVER_OF_PEOPLE = "one-record-at-a-time", "few-suppressed", "equal-rows"
# Largest product of records and (records plus strategies) that is searched: a step of one record visits all records and
# all strategies. The search takes about a second per million.
MOST_SEARCHED = 10_000_000
Allowed = NDArray[np.bool_]


def is_searched(n_records: int, n_strategies: int) -> bool:
    """Return whether `best_release` searches a release of so many records."""
    return n_records * (n_records + n_strategies) <= MOST_SEARCHED


class CoarseRows(Exception):  # noqa: N818 - not an error: the study then makes finer rows
    """Signal of releases that generalize only some records of a row of the game.

    Parameters
    ----------
    split : list of tuple
        For each release, the group of each row of the game, shape (n_rows,), -1 if it has none, and how many records of
        each group, in the order of the table, need their own rows, shape (n_groups,).
    """

    def __init__(self, split: list[tuple[Rows, NDArray[np.int64]]]) -> None:
        super().__init__(split)
        self.split = split


# Accept a repair whose rate is at least this share of the best rate still in the queue, without further comparison. A
# higher share gives better repairs and recomputes more rates.
_NEAR = 0.8
# In place of the number of a group, which is not below -1.
_NONE = -2
# Limit on comparisons of values in exchanges; with those that are not counted, they take up to a few seconds.
_MOST_COMPARISONS = 50_000_000
# The search reports between parts of a pass over all records, and between as many records of the search for exchanges;
# at 3,000 records, it then reports several times a second.
_PARTS, _AT_ONCE = 16, 4


def best_release(
    game: RecordGame,
    linker: DirectedLinker,
    present: Choice,
    constraint: Constraint | None = None,
    *,
    safe: Choice | None = None,
    may_withhold: bool = False,
    forms: NDArray[np.bool_] | None = None,
    report: Callable[[], object] = lambda: None,
) -> Choice:
    """Return a release whose total payoff no change to a single record raises.

    If records times (records plus strategies) exceed 10 million, as with 3,000 records and 600 strategies, the release
    of `_few_suppressed` is returned without a search.

    If the adversary counts the people of the release, and attacks are forbidden or sensitive values limited, some
    records are then generalized further, so that no assignment of all rows excludes a person who fits a row. If the
    best partition pays more, it is returned instead. If people have several rows, whose common strategy links them,
    rows are protected by equal rows alone, see `release_of_equal_rows`. Single changes may raise the payoff of the
    result.

    Parameters
    ----------
    game : RecordGame
        Game in direction "person" or "both".
    linker : DirectedLinker
        Linker of the game.
    present : Choice
        Start of the search, such as the best release in direction "record".
    constraint : Constraint, optional
        If it forbids attacks, an attack pays on no record of the release; records that cannot be shared safely are
        withheld. The release then has the highest benefit found, and single changes may still raise its payoff.
    safe : Choice, optional
        Best release without attacks in direction "record", from which the search for a release with attacks starts
        too, as the search without attacks does.
    may_withhold : bool
        Whether records may be withheld to raise the total payoff.
    forms : ndarray of bool, shape (n_strategies,), optional
        Strategies that may be used; all, if not given.
    report : callable, optional
        Called often during the search, which ends if it raises an error.

    Returns
    -------
    Choice
        Not proved optimal. `evaluated` is the mean number of strategies per record, rounded up.

    Raises
    ------
    InputError
        If there are too many records or payoff parameters, see `needed_rows`, or sensitive values, see
        `PersonLimits.fitting_values`.
    CoarseRows
        If only some records of a row are to be suppressed; rows of single records never raise it.
    """
    constraint, size, safe = constraint or Constraint(), game.space.size, safe or present
    forms = np.ones(size, dtype=np.bool_) if forms is None else forms
    limits = None if constraint.admissible is None else PersonLimits(constraint.admissible, linker.rows)

    def allowed(strategy: int, attacked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return constraint.allows(game.space, strategy, attacked) & bool(forms[strategy])

    excludes, lattice = linker.counts_release and (limits is not None or constraint.no_attack), linker.lattice
    if excludes and linker.people_have_several:
        # Scenarios with limits have one record per person in these directions.
        kind, needed = needed_rows(game, linker)
        args = game, lattice, linker.rows, linker.people, needed[kind], allowed, report
        strategies, n_tried = release_of_equal_rows(*args)
        strategies = _valid(game, strategies, constraint, limits)
        return Choice(strategies, SOLVER_OF_PEOPLE, np.full(game.n_records, n_tried), exact=False)
    searched = is_searched(int(linker.people.sum()), size)
    solve = partial(_one_at_a_time, may_withhold=may_withhold, report=report) if searched else _few_suppressed
    choice = solve(game, linker, present, safe, constraint, limits, forms)
    if not excludes:
        return choice
    partition = best_partition(game, lattice, linker.rows, linker.people, allowed, report)
    choices = [
        replace(choice, strategies=_nobody_excluded(game, linker, each, constraint, limits, forms))
        for each in (choice.strategies, partition)
        if each is not None
    ]
    return max(choices, key=lambda each: (evaluate(game, each).publisher_payoff * linker.people).sum())


def _one_at_a_time(
    game: RecordGame,
    linker: DirectedLinker,
    present: Choice,
    safe: Choice,
    constraint: Constraint,
    limits: PersonLimits | None,
    forms: NDArray[np.bool_],
    *,
    may_withhold: bool,
    report: Callable[[], object],
) -> Choice:
    """Return the result of the search; for the parameters see `best_release`."""
    n, size = game.n_records, game.space.size
    anyhow, nobody = replace(constraint, no_attack=False), np.zeros(n, dtype=np.bool_)
    allowed = np.stack([anyhow.allows(game.space, form, nobody) & forms[form] for form in range(size)], axis=1)
    (needed, unattacked, loss), search = replies_in(game, linker), _Search(game, linker, limits, report)
    unattacked_goals = [
        search.safe_from(start.strategies, needed, allowed & unattacked)
        for start in ([present] if safe is present else [present, safe])
    ]
    for goal in unattacked_goals:
        search.exchange(goal)
    best = unattacked_goals[0]
    if not constraint.no_attack:
        first = present.strategies
        if limits is not None:
            within_limits = _Search(game, linker, limits, report)
            first = within_limits.safe_from(first, np.zeros_like(needed), allowed).release.strategies
        # Releases without attacks are already computed. Unchanged records may pay more than all that is found.
        starts = [first, best.release.strategies, np.where(allowed[:, 0], 0, first)]
        starts += [goal.release.strategies for goal in unattacked_goals[1:]]
        goals = [search.goal(start, loss, allowed, may_withhold=may_withhold) for start in starts]
        for goal in goals:
            search.improve(goal)
        best = max(goals, key=lambda goal: total_benefit(goal.release) - total_harm(goal.release))
        search.exchange(best)
    evaluated = np.full(n, -(-search.evaluated // max(n, 1)), dtype=np.int64)
    return Choice(_valid(game, best.release.strategies, constraint, limits), SOLVER, evaluated, exact=False)


def _valid(game: RecordGame, strategies: Strategies, constraint: Constraint, limits: PersonLimits | None) -> Strategies:
    """Withhold the records that break the constraint; return the strategies, shape (n_records,)."""
    while True:
        kept = strategies if limits is None else limits.without_exceeding(strategies)
        # Replies may also depend on properties of a record other than its payoff parameters.
        if constraint.no_attack:
            kept = without_attacked(game, kept)
        if np.array_equal(kept, strategies):
            return kept
        strategies = kept


def _nobody_excluded(
    game: RecordGame,
    linker: DirectedLinker,
    strategies: Strategies,
    constraint: Constraint,
    limits: PersonLimits | None,
    forms: NDArray[np.bool_],
) -> Strategies:
    """Generalize records further until no assignment of all rows to people excludes anybody, shape (n_records,).

    The release is `strategies`. Records that exceed limits afterwards are withheld, and the rest is repeated. For the
    other parameters see `best_release`.

    Raises
    ------
    CoarseRows
        If only some records of a row are to be generalized.
    """
    anyhow = replace(constraint, no_attack=False)

    def allowed(strategy: int, rows: Rows) -> NDArray[np.bool_]:
        usable = np.full(len(rows), forms[strategy])
        return usable & anyhow.allows(game.space, strategy, np.zeros_like(usable), rows)

    lattice, fitting = linker.lattice, linker.rows
    while True:
        changed, apart = without_exclusions(game, lattice, fitting, linker.kind, linker.people, strategies, allowed)
        if apart.any():
            raise CoarseRows([(np.arange(game.n_records), apart)])
        strategies = _valid(game, changed, constraint, limits)
        if np.array_equal(strategies, changed):
            return strategies


def _few_suppressed(
    game: RecordGame,
    linker: DirectedLinker,
    present: Choice,
    safe: Choice,
    constraint: Constraint,
    limits: PersonLimits | None,
    forms: NDArray[np.bool_],
) -> Choice:
    """Return the best of a few releases, some of which protect persons by fully suppressing a few records.

    A fully suppressed row fits every person. The number of suppressed records is the largest number of rows that must
    fit a person for an attack in direction "person" not to pay; the records that lose least benefit are taken. No
    record is suppressed if `forms` excludes this. If attacks are forbidden, the release `safe` with suppressed records
    is returned. Otherwise, it is compared with the present release and the unchanged one, where that is allowed, each
    with and without suppressed records. For the parameters see `best_release`.
    """
    last, attacked = game.space.size - 1, np.zeros(game.n_records, dtype=np.bool_)
    if linker.direction == "both":
        attacked = by_record(game).outcome(last).response.invited
    (kind, needed), people, cautious = needed_rows(game, linker), linker.people, replace(constraint, no_attack=True)

    split: list[tuple[Rows, NDArray[np.int64]]] = []

    def suppressed(strategies: Strategies, within: Constraint = constraint) -> Strategies:
        may_suppress = within.allows(game.space, last, attacked) & forms[last]
        is_shared = strategies != WITHHELD
        usable = np.flatnonzero(is_shared & may_suppress)
        lost = benefit_of_each(game, strategies[usable], usable) - game.benefit_of(last, usable)
        rows_needed = int(needed[kind[is_shared]].max(initial=0))
        order = np.argsort(lost, kind="stable")
        # Rows are in the order of their first records, so that records are taken in the order of the table.
        order = order[np.cumsum(people[usable[order]]) - people[usable[order]] < rows_needed]
        cheapest, most = usable[order], lost[order].max(initial=-np.inf)
        tied, number = usable[lost == most], rows_needed - int(people[usable[lost < most]].sum())
        if number < people[tied].sum() and (people[cheapest[lost[order] == most]] > 1).any():
            split.append((np.where(np.isin(np.arange(game.n_records), tied), 0, -1), np.array([number])))
        return np.where(np.isin(np.arange(game.n_records), cheapest), last, strategies)

    tried = [suppressed(safe.strategies, cautious)]
    if not constraint.no_attack:
        may_stay = constraint.allows(game.space, 0, np.zeros_like(attacked)) & forms[0]
        unchanged = np.where(may_stay, 0, present.strategies)
        tried += [present.strategies, suppressed(present.strategies), unchanged, suppressed(unchanged)]
    if split:
        raise CoarseRows(split)
    tried[0] = _valid(game, tried[0], cautious, limits)
    if not constraint.no_attack:
        tried[0] = np.where(tried[0] == WITHHELD, present.strategies, tried[0])
    choices = [
        replace(present, strategies=_valid(game, each, constraint, limits), solver=SOLVER_OF_LARGE, exact=False)
        for each in tried
    ]
    return (
        choices[0]
        if len(choices) == 1
        else max(choices, key=lambda each: (evaluate(game, each).publisher_payoff * people).sum())
    )


class Goal(NamedTuple):
    """A release that is improved in place, and the rules of its improvement.

    The total benefit of the release less its harm is to be raised.

    Attributes
    ----------
    release : Release
        The release, with the harm to persons.
    allowed : ndarray of bool, shape (n_records, n_strategies)
        Strategies that each record may take.
    tie : ndarray of float64, shape (n_records,)
        Tie tolerance of each record, in currency units.
    may_withhold : bool
        Whether records may be withheld to raise the total.
    is_safe : bool
        Whether the harm consists of prohibitive amounts. A release without harm then stays without harm, and withheld
        records are shared wherever this causes no harm.
    prohibitive : float
        Amount that exceeds all payoffs together, in currency units; a power of 2, so that sums of multiples are exact.
    """

    release: Release
    allowed: Allowed
    tie: Floats
    may_withhold: bool
    is_safe: bool
    prohibitive: float


class Lacks(NamedTuple):
    """Hold the cells that lack rows: those through which a shared record suffers harm.

    A cell is a distinct combination of values; harm from sensitive values does not count.

    Attributes
    ----------
    cells : ndarray of int64, shape (n_entries,)
        The cells; a cell may occur twice.
    is_far : ndarray of bool, shape (n_entries,)
        Whether each cell lacks more than one row.
    common : ndarray of int64, shape (n_attributes, most levels)
        The group that all these cells have in common, by attribute and level; `_NONE` if their groups differ.
    """

    cells: NDArray[np.int64]
    is_far: NDArray[np.bool_]
    common: NDArray[np.int64]


class _Search:
    """Search that improves releases step by step, and counts evaluated strategies.

    Parameters
    ----------
    game : RecordGame
        Game in direction "person" or "both".
    linker : DirectedLinker
        Linker of the game.
    limits : PersonLimits or None
        Limits on the sensitive values of the rows that fit each person; None without limits.
    report : callable
        Called during the search.
    """

    def __init__(
        self, game: RecordGame, linker: DirectedLinker, limits: PersonLimits | None, report: Callable[[], object]
    ) -> None:
        self._game, self._linker, self._limits, self._report = game, linker, limits, report
        self._prohibitive = 2.0 ** np.ceil(np.log2(1.0 + 2.0 * (game.benefit.sum() + game.loss.sum())))
        self.evaluated = 0

    def goal(
        self, strategies: Strategies, harm: Harm, allowed: Allowed, *, may_withhold: bool, is_safe: bool = False
    ) -> Goal:
        """Return a copy of a release with the rules of its improvement.

        `strategies` (n_records,) is the release, and `harm` the harm to persons, to which excesses over limits on
        sensitive values are added. For `allowed`, `may_withhold` and `is_safe` see `Goal`, the class of the result.
        """
        if self._limits is not None:
            harm = harm._replace(values=self._limits.fitting_values(strategies), value_weight=self._prohibitive)
        release = release_of(self._linker.lattice, self._linker.rows, self._game.benefit, strategies, harm)
        return Goal(release, allowed, self._game.tie(), may_withhold, is_safe, self._prohibitive)

    def improve(self, goal: Goal) -> None:
        """Change single records until no such change improves the release, in place.

        A pass over all records is followed by passes over the records that changed, until none changes. The loop ends
        when a pass over all records changes none.
        """
        everybody = np.arange(len(goal.allowed))
        records = everybody
        while True:
            moved = np.concatenate([self._improved(goal, part) for part in np.array_split(records, _PARTS)])
            self.evaluated += len(records) * goal.allowed.shape[1]
            if not len(moved) and len(records) == len(everybody):
                return
            records = moved if len(moved) else everybody

    def _improved(self, goal: Goal, records: NDArray[np.int64]) -> NDArray[np.int64]:
        self._report()
        return _improve(goal, records)

    def exchange(self, goal: Goal) -> None:
        """Exchange records until no exchange improves the release, in place.

        An exchange changes the strategies of two records together. After each exchange, single records change as in
        `improve`. The search also ends at a limit on comparisons.
        """
        n, left = len(goal.allowed), _MOST_COMPARISONS
        record, clean = 0, 0
        while clean < n and left > 0:
            self._report()
            found, record, clean, left, evaluated = _next_exchange(goal, record, clean, left, _AT_ONCE)
            self.evaluated += evaluated
            if found:
                self.improve(goal)

    def safe_from(self, strategies: Strategies, needed: NDArray[np.int64], safe: Allowed) -> Goal:
        """Return a `Goal` with a release without attacks, of high benefit.

        The search starts from `strategies` (n_records,), of which attacked records are withheld first. The result is
        the release of highest benefit among the repairs that are tried; it need not be optimal. `needed` is the number
        of rows that must fit each person, and `safe` marks the strategies that are not attacked in direction "record".
        """
        # A record that is attacked in direction "record" must change, no matter which rows fit its person.
        is_kept = (strategies >= 0) & safe[np.arange(len(strategies)), np.maximum(strategies, 0)]
        kept, harm = np.where(is_kept, strategies, WITHHELD), shortage(needed, self._prohibitive)

        def goal_from(start: Strategies) -> Goal:
            return self.goal(start, harm, safe, may_withhold=True, is_safe=True)

        # With few changes, the records of least benefit are fully suppressed first: their rows fit most people.
        few, many = goal_from(kept), goal_from(kept)
        _suppress_few(few)
        self._repair(few, np.inf)
        found = [few]
        if self._repair(many, total_benefit(goal_from(kept).release) - total_benefit(few.release)):
            found.append(many)
        if self._limits is not None:
            found.append(goal_from(np.where(safe[:, -1], safe.shape[1] - 1, WITHHELD)))
            self._repair(found[-1], np.inf)
        return max(found, key=lambda goal: total_benefit(goal.release))

    def _repair(self, goal: Goal, at_most: float) -> bool:
        """Change records until there is no harm, then improve the release, in place.

        The record whose change removes most harm per unit of benefit lost changes first. Every change lowers the harm,
        so the loop ends. If no change lowers the harm, the harmed records are withheld.

        Parameters
        ----------
        goal : Goal
            Release, with prohibitive harm.
        at_most : float
            Largest acceptable loss of benefit, in currency units.

        Returns
        -------
        bool
            True when done; False if the estimated loss of benefit exceeded `at_most`.
        """
        release, lost = goal.release, 0.0
        left = total_harm(release)
        while left > 0:
            self._report()
            rates, forms = _repairs(goal, np.arange(len(goal.allowed)))
            self.evaluated += goal.allowed.size
            queue = [(-rate, record) for record, rate in enumerate(rates.tolist()) if rate > 0]
            heapq.heapify(queue)
            moved = False
            while queue and left > 0:
                _, record = heapq.heappop(queue)
                rates, forms = _repairs(goal, np.array([record]))
                rate, form = float(rates[0]), int(forms[0])
                # The rates in the queue are out of date; most are now lower as well.
                if rate > 0 and queue and rate < -_NEAR * queue[0][0]:
                    heapq.heappush(queue, (-rate, record))
                elif rate > 0:
                    then = benefit_in(release.worth, record, form) if form >= 0 else 0.0
                    lost += benefit_in(release.worth, record, release.strategies[record]) - then
                    share_as(release, record, form)
                    moved, left = True, total_harm(release)
                    # Later repairs usually have lower rates, so this estimate of the loss is usually too low.
                    if lost + left / rate > at_most:
                        return False
            if not moved:
                shared = np.flatnonzero(release.strategies >= 0).tolist()
                for record in [each for each in shared if own_harm(release, each, 0) > 0]:
                    reread(release, record)
                    share_as(release, record, WITHHELD)
                left = total_harm(release)
        self.improve(goal)
        return True


@borrowing()
def total_benefit(release: Release) -> float:
    """Return the publisher's total benefit from shared records, in currency units."""
    total = 0.0
    for record in range(len(release.strategies)):
        if release.strategies[record] >= 0:
            total += benefit_in(release.worth, record, release.strategies[record])
    return total


@borrowing()
def _changes(goal: Goal, record: int, lower: Floats, more: Floats) -> float:
    """Compute by how much each change of a record lowers harm and raises benefit.

    Harm includes the harm to the record's own person and to others. The function fills `lower` (decrease of harm) and
    `more` (increase of benefit), shape (n_strategies + 1,). The last entry is for withholding; `lower` is -inf where a
    change is not allowed. The result is the largest absolute effect on other persons (see `effect_on_others`), the
    scale of rounding errors.
    """
    release, gained = goal.release, goal.release.gained
    form = release.strategies[record]
    present = effect_on_others(release, record)
    benefit, own, scale = 0.0, 0.0, abs(present)
    if form >= 0:
        benefit, own = benefit_in(release.worth, record, form), own_harm(release, record, form)
    for other in range(len(gained)):
        scale, lower[other], more[other] = max(scale, abs(gained[other])), -np.inf, 0.0
        if goal.allowed[record, other]:
            lower[other] = gained[other] - present + own - own_harm(release, record, other)
            more[other] = benefit_in(release.worth, record, other) - benefit
    lower[-1], more[-1] = (own - present, -benefit) if goal.may_withhold else (-np.inf, 0.0)
    return scale


@compiled()
def _improve(goal: Goal, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each record in turn the strategy of highest total, in place.

    The total is benefit less harm. `records` are record numbers; the result holds the numbers of the records that
    changed. A record changes only if the total rises by more than the tie tolerance. If `goal.is_safe` or records may
    not be withheld, a withheld record is shared even if the total falls, but by less than half of `goal.prohibitive`.
    """
    release, size = goal.release, goal.allowed.shape[1]
    lower, more, moved = np.empty(size + 1), np.empty(size + 1), np.zeros(len(records), dtype=np.bool_)
    for number in range(len(records)):
        record = records[number]
        form, tie = release.strategies[record], goal.tie[record]
        if goal.is_safe and form >= 0:
            # No change lowers the harm, so only a larger benefit is a gain.
            most = -np.inf
            for other in range(size):
                if goal.allowed[record, other]:
                    most = max(most, benefit_in(release.worth, record, other))
            if most <= benefit_in(release.worth, record, form) + tie:
                continue
        scale = _changes(goal, record, lower, more)
        best, chosen = -np.inf, form
        for other in range(size):
            if lower[other] + more[other] > best + tie:
                best, chosen = lower[other] + more[other], other
        if lower[-1] + more[-1] > best + tie:
            best, chosen = lower[-1] + more[-1], -1
        # A difference within the rounding error of sums over many persons is no gain.
        least = tie if goal.is_safe else tie + INDIFFERENCE * scale
        if form < 0 and (goal.is_safe or not goal.may_withhold):
            # Share a withheld record, even at a negative payoff.
            least = -goal.prohibitive / 2
        if chosen != form and best > least:
            share_as(release, record, chosen)
            moved[number] = True
    return records[moved]


@borrowing()
def _set_lacks(release: Release, lacks: Lacks) -> int:
    """Fill `lacks`, and return the number of its cells."""
    number = 0
    for record in range(len(release.strategies)):
        form = release.strategies[record]
        for entry in range(release.begin[record], release.begin[record + 1]):
            cell = release.own[entry]
            rows = release.fitting[cell]
            if form < 0 or harm_of(release.harm, record, form, rows) <= 0:
                continue
            for attribute in range(len(release.worth.levels)):
                for level in range(release.worth.levels[attribute]):
                    group = release.groups[attribute, level, release.cells[cell, attribute]]
                    if number == 0:
                        lacks.common[attribute, level] = group
                    elif lacks.common[attribute, level] != group:
                        lacks.common[attribute, level] = _NONE
            lacks.cells[number] = cell
            lacks.is_far[number] = harm_of(release.harm, record, form, rows + 1) > 0
            number += 1
    return number


@borrowing()
def _can_help(release: Release, record: int, lacks: Lacks, number: int, least: float) -> bool:
    """Return whether a strategy of a record may end the harm, and have at least a benefit of `least`.

    The strategy must add a row to each of the first `number` cells of `lacks`, unless the record is shared and its own
    person is in the cell. A row that fits a cell already cannot be added to it, and one row is too few for a cell that
    lacks more. Only a record with one distinct row is tested for its benefit.
    """
    now, begin, end = release.strategies[record], release.begin[record], release.begin[record + 1]
    levels, strides, groups, cells = release.worth.levels, release.worth.strides, release.groups, release.cells
    form = 0
    for attribute in range(len(levels) if end - begin == 1 else 0):
        value, level = cells[release.own[begin], attribute], 0
        while level < levels[attribute] and groups[attribute, level, value] != lacks.common[attribute, level]:
            level += 1
        if level == levels[attribute]:
            return False
        form += level * strides[attribute]
    if benefit_in(release.worth, record, form) < least:
        return False
    for place in range(number):
        cell, is_own, fits = lacks.cells[place], False, False
        for entry in range(begin, end if now >= 0 else begin):
            own, agrees = release.own[entry], True
            is_own = is_own or own == cell
            for attribute in range(len(levels)):
                level = now // strides[attribute] % levels[attribute]
                if groups[attribute, level, cells[own, attribute]] != groups[attribute, level, cells[cell, attribute]]:
                    agrees = False
                    break
            fits = fits or agrees
        if not is_own and (fits or lacks.is_far[place]):
            return False
    return True


@compiled()
def _next_exchange(goal: Goal, record: int, clean: int, left: int, most: int) -> tuple[bool, int, int, int, int]:
    """Make the first exchange of two records that raises the total.

    Parameters
    ----------
    goal : Goal
        If `is_safe`, the release has no harm, and the record that is tried in turn must gain benefit.
    record : int
        The first record to try.
    clean : int
        Number of records tried without success since the last exchange.
    left : int
        Number of comparisons of two values that are still allowed. It is checked before each strategy of a record, so
        it may be exceeded by the comparisons for one strategy.
    most : int
        Largest number of records to try.

    Returns
    -------
    tuple
        Whether two records changed, the next record, number of records tried without success, comparisons left, and
        number of strategies evaluated.
    """
    release, tie = goal.release, goal.tie
    n, size = goal.allowed.shape
    lower, more, evaluated = np.empty((2, size + 1)), np.empty((2, size + 1)), 0
    n_entries = len(release.own)
    common = np.empty(release.groups.shape[:2], np.int64)
    lacks = Lacks(np.empty(n_entries, np.int64), np.empty(n_entries, np.bool_), common)
    entries, comparisons = len(release.own) / n, len(release.cells) * len(release.worth.levels)
    once = int((entries * len(release.cells) + size) * len(release.worth.levels))
    if len(release.several) > 0:
        once += int(entries * len(release.own)) * len(release.worth.levels)
    for _ in range(most):
        if clean >= n or left <= 0:
            break
        form, spent = release.strategies[record], once
        _changes(goal, record, lower[0], more[0])
        for new in range(-1, size):
            if spent > left:
                break
            if new == form or lower[0, new] == -np.inf or (goal.is_safe and more[0, new] <= tie[record]):
                continue
            reread(release, record)
            share_as(release, record, new)
            # Under limits on sensitive values, no record is skipped: a row that no longer fits can also remove the
            # excess.
            number = 0
            if goal.is_safe and release.harm.value_weight == 0.0:
                number = _set_lacks(release, lacks)
            spent += 2 * once
            for other in range(0 if goal.is_safe else record + 1, n):
                if other == record:
                    continue
                if number > 0:
                    spent += len(release.worth.levels)
                    now = release.strategies[other]
                    least = (benefit_in(release.worth, other, now) if now >= 0 else 0.0) + tie[record] - more[0, new]
                    if not _can_help(release, other, lacks, number, least):
                        continue
                _changes(goal, other, lower[1], more[1])
                spent += once
                best, chosen, scale = 0.0, -2, 0.0
                for form_of_other in range(-1, size):
                    # Add harms before benefits: the sum of harms is exact, so it is 0 exactly if no harm remains.
                    less = lower[0, new] + lower[1, form_of_other]
                    value = less + (more[0, new] + more[1, form_of_other])
                    if value > best:
                        best, chosen = value, form_of_other
                        scale = 0.0 if goal.is_safe else abs(lower[0, new]) + abs(lower[1, form_of_other])
                if chosen > -2 and best > tie[record] + tie[other] + INDIFFERENCE * scale:
                    share_as(release, other, chosen)
                    return True, record, 0, left - spent, evaluated + spent // comparisons
            reread(release, record)
            share_as(release, record, form)
        left -= spent
        evaluated += spent // comparisons
        record, clean = (record + 1) % n, clean + 1
    return False, record, clean, left, evaluated


@compiled()
def _repairs(goal: Goal, records: NDArray[np.int64]) -> tuple[Floats, Strategies]:
    """Return each record's largest fall of harm per benefit lost, and its strategy.

    Both results have shape (len(records),). A benefit lost of less than a billionth of the record's benefit counts as a
    billionth. The strategy is -1 for withholding, and the rate is 0 (with strategy -1) if no change lowers the harm, or
    if the record is withheld.
    """
    release, size = goal.release, goal.allowed.shape[1]
    lower, more = np.empty(size + 1), np.empty(size + 1)
    rates, forms = np.zeros(len(records)), np.full(len(records), -1)
    for number in range(len(records)):
        record = records[number]
        if release.strategies[record] >= 0:
            _changes(goal, record, lower, more)
            least = 1e-9 * release.worth.benefit[record] + 1e-300
            for form in range(size + 1):
                rate = lower[form] / max(-more[form], least)
                if rate > rates[number]:
                    rates[number], forms[number] = rate, form if form < size else -1
    return rates, forms


@compiled()
def _suppress_few(goal: Goal) -> None:
    """Fully suppress the records of least benefit until there is no harm, in place.

    They are suppressed one after the other, the least benefit first. Only shared records for which full suppression is
    allowed are changed; some harm may be left if there are too few.
    """
    release = goal.release
    benefit = np.full(len(release.strategies), np.inf)
    for record in range(len(benefit)):
        if release.strategies[record] >= 0:
            benefit[record] = benefit_in(release.worth, record, release.strategies[record])
    last = goal.allowed.shape[1] - 1
    for record in np.argsort(benefit):
        if release.strategies[record] >= 0 and goal.allowed[record, last]:
            if total_harm(release) <= 0:
                return
            reread(release, record)
            share_as(release, record, last)
