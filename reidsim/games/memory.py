"""Games against adversaries who remember: what was released of a record before is known, whatever is released now.

Who fits a record fits all that was ever released of it. Where generalizations nest, the sets of values that two
releases stand for intersect, attribute by attribute, in the more specific of the two; of masked records, an attribute
that was shown once is known. So whatever was released of a record is as much as one strategy of the same space, and
linking by all of it is linking by that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import PlannedResponse
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary, Linkage, Response
from reidsim.games.adversary_types import TypesLinker
from reidsim.games.record_game import WITHHELD, Linker, PopulationLinker, RecordGame, shared_rows
from reidsim.populations.domain import distinct_rows
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Returns the strategies that stand for two together, given both, all of them shared.
Meet = Callable[[Strategies, Strategies], Strategies]


def known_of(now: Strategies, past: Strategies, meet: Meet) -> Strategies:
    """Return what is known of records: what is released now and what was before, -1 where nothing is, shape (n,).

    Parameters
    ----------
    now, past : ndarray of int64, shape (n,)
    meet : callable
        See `Meet`.
    """
    known = np.where(now == WITHHELD, past, now)
    # Most is released as before.
    both = np.flatnonzero((now != past) & (now != WITHHELD) & (past != WITHHELD))
    known[both] = meet(now[both], past[both])
    return known


@dataclass(frozen=True)
class RememberedLinkage(Linkage):
    """What linking by all that is known of records yields.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)
        Which row each record is for the adversary.
    parts : tuple of tuples
        Of each strategy that all the knowledge of some records is as much as: where they are among those linked,
        which rows they are for the adversary, and what linking them yields.
    """

    cells: Rows = field(kw_only=True)
    parts: tuple[tuple[Rows, Rows, Linkage], ...] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class RememberingLinker:
    """Links records by what is released and what was before (a `Linker`).

    Parameters
    ----------
    linkers : tuple of Linker
        Of the cells, which may differ by record: who may be taken for whom depends on who took part in what.
    which : ndarray of int, shape (n,)
        The linker of each record if it is released now.
    cells : ndarray of int, shape (n,)
        The row of each record to that linker.
    past : ndarray of int64, shape (n,)
        What was released before is as much as this strategy; -1 where nothing was.
    meet : callable
        See `Meet`.
    unreleased : ndarray of int, shape (n,), optional
        The linker of each record if it is not released now: candidates are those of the earlier releases. `which`, if
        not given.
    """

    linkers: tuple[Linker, ...]
    which: Rows
    cells: Rows
    past: Strategies
    meet: Meet
    unreleased: Rows | None = None

    @cached_property
    def _pasts(self) -> tuple[Strategies, Rows]:
        # Records share few of them.
        first, code = distinct_rows([self.past - WITHHELD], len(self.past))
        return self.past[first], code

    def link(self, strategy: int, rows: Rows | None = None) -> RememberedLinkage:
        """Link all records, or those of `rows`, of which `strategy` is released now.

        `WITHHELD` links by the earlier releases alone, for records that have one.
        """
        rows = np.arange(len(self.past)) if rows is None else np.asarray(rows)
        return self._together(tuple(self._parts(strategy, rows)), self.cells[rows])

    def link_each(self, strategies: Strategies, rows: Rows) -> RememberedLinkage:
        """Do the same for some records, each of which is released as a strategy of its own, (n_rows,) both."""
        known, cells = known_of(strategies, self.past[rows], self.meet), self.cells[rows]
        if len(self.linkers) == 1 and isinstance(self.linkers[0], PopulationLinker):
            return self._together(((np.arange(len(rows)), cells, self.linkers[0].link_each(known, cells)),), cells)
        return self._together(tuple(self._linked(known, self._linker_of(strategies, rows), rows)), cells)

    def _linker_of(self, strategies: Strategies | int, rows: Rows) -> Rows:
        """Return the linker of some records, given what each is released as now."""
        if self.unreleased is None:
            return self.which[rows]
        return np.where(np.equal(strategies, WITHHELD), self.unreleased[rows], self.which[rows])

    @staticmethod
    def _together(parts: tuple[tuple[Rows, Rows, Linkage], ...], cells: Rows) -> RememberedLinkage:
        if len(parts) == 1:
            linked = parts[0][2]
            return RememberedLinkage(
                linked.group_sizes, linked.believed_group_sizes, linked.match_probability, by_chance=linked.by_chance,
                cells=cells, parts=parts,
            )  # fmt: skip
        true = believed = np.empty(len(cells))
        for places, _, linked in parts:
            true[places] = linked.group_sizes
        if any(linked.believed_group_sizes is not linked.group_sizes for _, _, linked in parts):
            believed = np.empty(len(cells))
            for places, _, linked in parts:
                believed[places] = linked.believed_group_sizes
        by_chance = any(linked.by_chance for _, _, linked in parts)
        return RememberedLinkage(true, believed, by_chance=by_chance, cells=cells, parts=parts)

    def _parts(self, strategy: int, rows: Rows) -> Iterator[tuple[Rows, Rows, Linkage]]:
        past = self.past[rows]
        if len(self.linkers) == 1 and ((past == strategy) | (past == WITHHELD)).all():
            cells = self.cells[rows]
            yield np.arange(len(rows)), cells, self.linkers[0].link(strategy, cells)
            return
        distinct, code = self._pasts
        known = known_of(np.full(len(distinct), strategy, dtype=np.int64), distinct, self.meet)[code[rows]]
        yield from self._linked(known, self._linker_of(strategy, rows), rows)

    def _linked(self, known: Strategies, which: Rows, rows: Rows) -> Iterator[tuple[Rows, Rows, Linkage]]:
        """Link records of which so much is known, each by one of the linkers; see `RememberedLinkage.parts`."""
        key = known * len(self.linkers) + which
        for each, places in shared_rows(key):
            cells = self.cells[rows[places]]
            form, linker = divmod(each, len(self.linkers))
            yield places, cells, self.linkers[linker].link(form, cells)


@dataclass(frozen=True, eq=False)
class RememberingAdversary:
    """An adversary who replies to all that is known of a record.

    Parameters
    ----------
    adversary : Adversary
        Of the cells.
    """

    adversary: Adversary

    def of(self, adversary: Adversary) -> RememberingAdversary:
        """Return the same for another adversary."""
        return replace(self, adversary=adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`. The linkage tells the rows."""
        if not isinstance(linkage, RememberedLinkage):
            raise TypeError(f"not the linkage of an adversary who remembers: {type(linkage).__name__}")
        if type(self.adversary) is OneShotAdversary:
            # Of each record it looks at group sizes alone.
            return self.adversary.respond(linkage, linkage.cells)
        replies = [(places, self.adversary.respond(linked, cells)) for places, cells, linked in linkage.parts]
        if len(replies) == 1:
            return replies[0][1]
        planned = all(isinstance(reply, PlannedResponse) for _, reply in replies)
        kind = PlannedResponse if planned else Response
        return kind(**{item.name: _of_all(replies, item.name) for item in fields(kind)})


def _of_all(replies: Sequence[tuple[Rows, Response]], name: str) -> Any:
    """Put one field of replies to some records each together, None where no reply says anything."""
    given = [getattr(reply, name) for _, reply in replies]
    # How payoffs vary is known if it is of all.
    if all(each is None for each in given) or (name == "gain" and any(each is None for each in given)):
        return None
    kinds = {"attacks": np.bool_, "pays": np.bool_, "plan": np.int64, "used": np.int64}
    values: NDArray[Any] = np.zeros(sum(len(places) for places, _ in replies), dtype=kinds.get(name, np.float64))
    for (places, reply), each in zip(replies, given, strict=True):
        # Who says neither how often nor where it pays attacks always, and where it pays.
        values[places] = each if each is not None else 1.0 if name == "frequency" else reply.attacks
    return values


def linker_with_past(game: RecordGame) -> RememberingLinker | None:
    """Return what links the records of a game by what was released before; None where nobody remembers."""
    linkers = [each.linker for each in game.linker.types] if isinstance(game.linker, TypesLinker) else [game.linker]
    return next((linker for linker in linkers if isinstance(linker, RememberingLinker)), None)


def payoff_of_withholding(game: RecordGame, rows: Rows | None = None) -> Floats:
    """Return what the publisher gets of each record, or of each of `rows`, that it does not release, shape (n,).

    That is 0, less what it expects to lose by what was released before.
    """
    rows = np.arange(game.n_records) if rows is None else np.asarray(rows)
    payoff, linker = np.zeros(len(rows)), linker_with_past(game)
    if linker is None:
        return payoff
    shown = np.flatnonzero(linker.past[rows] != WITHHELD)
    if len(shown):
        response = game.adversary.respond(game.linker.link(WITHHELD, rows[shown]), rows[shown])
        payoff[shown] = -game.loss[rows[shown]] * response.reidentified
    return payoff
