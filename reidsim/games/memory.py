"""Games against adversaries who remember all earlier releases of a record.

A person matches a record if the person matches every release of it. Where generalizations nest, the sets of values of
two releases intersect, attribute by attribute, in the more specific of the two. For masked records, an attribute that
was shown once is known. So all releases of a record together carry the same information as a single strategy of
the same space, and linking on all of them equals linking on that strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary, Linkage, Response
from reidsim.games.adversary_types import TypesLinker
from reidsim.games.record_game import WITHHELD, Linker, RecordGame, shared_rows
from reidsim.populations.population import distinct_rows
from reidsim.releases.lattice import Floats, Rows, Strategies

# Returns the strategies equivalent to two releases together, given the strategies of both; none is `WITHHELD`.
Meet = Callable[[Strategies, Strategies], Strategies]


def known_of(now: Strategies, past: Strategies, meet: Meet) -> Strategies:
    """Return the strategy equivalent to all releases of each record, shape (n,).

    It is -1 for a record without a current or earlier release.

    Parameters
    ----------
    now, past : ndarray of int64, shape (n,)
        Strategy of the current release, and strategy equivalent to the earlier releases; -1 where there is none.
    meet : callable
        Returns the strategies equivalent to two releases together, given the strategies of both; called only for
        records with two different releases.
    """
    known = np.where(now == WITHHELD, past, now)
    # Most records keep their strategy; `meet` is called only for records that change it.
    both = np.flatnonzero((now != past) & (now != WITHHELD) & (past != WITHHELD))
    known[both] = meet(now[both], past[both])
    return known


@dataclass(frozen=True)
class RememberedLinkage(Linkage):
    """Linkage on the current and all earlier releases of each record.

    A cell is a row of the underlying linkers and of the adversary's arrays, such as its gain and cost.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)
        Cell of each record.
    parts : tuple of tuples
        One tuple per group of records with the same equivalent strategy and linker: positions among the linked
        records, their cells, and their linkage.
    """

    cells: Rows = field(kw_only=True)
    parts: tuple[tuple[Rows, Rows, Linkage], ...] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class RememberingLinker:
    """Link on the intersection of the current and all earlier releases (a `Linker`).

    Parameters
    ----------
    linkers : tuple of Linker
        Linkers, whose rows are cells (`RememberedLinkage`). Records may have different linkers, since the candidates
        depend on participation in the releases.
    which : ndarray of int, shape (n,)
        Index of the linker of each record if it is released now.
    cells : ndarray of int, shape (n,)
        Cell of each record: its row number in that linker.
    past : ndarray of int64, shape (n,)
        Strategy equivalent to all earlier releases; -1 where there is none.
    meet : callable
        Returns the strategies equivalent to two releases together, given the strategies of both.
    unreleased : ndarray of int, shape (n,), optional
        Index of the linker of each record if it is not released now, so that its candidates are the candidates of the
        earlier releases; `which`, if not given.
    """

    linkers: tuple[Linker, ...]
    which: Rows
    cells: Rows
    past: Strategies
    meet: Meet
    unreleased: Rows | None = None

    @cached_property
    def _pasts(self) -> tuple[Strategies, Rows]:
        # Many records share an equivalent strategy, so each distinct strategy is combined once.
        first, code = distinct_rows([self.past - WITHHELD], len(self.past))
        return self.past[first], code

    def link(self, strategy: int, rows: Rows | None = None) -> RememberedLinkage:
        """Return the linkage of all records, or `rows`, now released under `strategy`.

        It is on the current and all earlier releases. `rows` are record numbers. `WITHHELD` links on the earlier
        releases alone; it requires records with an earlier release.
        """
        rows = np.arange(len(self.past)) if rows is None else np.asarray(rows)
        distinct, code = self._pasts
        known = known_of(np.full(len(distinct), strategy, dtype=np.int64), distinct, self.meet)[code[rows]]
        which = self.which if strategy != WITHHELD or self.unreleased is None else self.unreleased
        parts = []
        for key, places in shared_rows(known * len(self.linkers) + which[rows]):
            equivalent, linker = divmod(key, len(self.linkers))
            cells = self.cells[rows[places]]
            parts.append((places, cells, self.linkers[linker].link(equivalent, cells)))

        linked = [(places, linkage) for places, _, linkage in parts]
        true = _joined(linked, "group_sizes")
        equal = all(each.believed_group_sizes is each.group_sizes for _, each in linked)
        return RememberedLinkage(
            true,
            true if equal else _joined(linked, "believed_group_sizes"),
            _joined(linked, "match_probability"),
            by_chance=any(each.by_chance for _, each in linked),
            cells=self.cells[rows],
            parts=tuple(parts),
        )


@dataclass(frozen=True, eq=False)
class RememberingAdversary:
    """An adversary who replies to the current and all earlier releases of a record.

    Parameters
    ----------
    adversary : Adversary
        Adversary who replies to each linked record; the rows of its arrays are cells (`RememberedLinkage`).
    """

    adversary: Adversary

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each linked record; see `Adversary`.

        The adversary of this object replies to the current and all earlier releases. `rows` is not used: the cells are
        taken from the linkage.

        Raises
        ------
        TypeError
            If the linkage is not a `RememberedLinkage`.
        """
        if not isinstance(linkage, RememberedLinkage):
            raise TypeError(f"not the linkage of an adversary who remembers: {type(linkage).__name__}")
        if type(self.adversary) is OneShotAdversary:
            # A one-shot adversary uses group sizes alone, so all parts can be answered in one call.
            return self.adversary.respond(linkage, linkage.cells)
        replies = [(places, self.adversary.respond(linked, cells)) for places, cells, linked in linkage.parts]
        if len(replies) == 1:
            return replies[0][1]
        # Without a frequency, the adversary always attacks; without `pays`, attacks pay exactly where it attacks.
        default: dict[str, Callable[[Any], Any]] = {"frequency": lambda reply: 1.0, "pays": lambda reply: reply.attacks}
        names = [item.name for item in fields(Response)]
        return Response(**{name: _joined(replies, name, default.get(name, lambda reply: None)) for name in names})


def _joined(parts: Sequence[tuple[Rows, Any]], name: str, default: Callable[[Any], Any] = lambda part: None) -> Any:
    """Join a field of all parts into a single array.

    Return None if no part has the field, or if a part lacks it and `default` returns None for this part.

    Parameters
    ----------
    parts : sequence of tuple
        Positions in the joined array, and an object with the field, such as a reply.
    name : str
        Name of the field.
    default : callable, optional
        Returns the values of a part that lacks the field (None), given the part.
    """
    given = [getattr(part, name) for _, part in parts]
    if given and all(each is None for each in given):
        return None
    given = [default(part) if each is None else each for each, (_, part) in zip(given, parts, strict=True)]
    if any(each is None for each in given):
        return None
    values = np.zeros(sum(len(places) for places, _ in parts), dtype=np.result_type(*given, np.bool_))
    for (places, _), each in zip(parts, given, strict=True):
        values[places] = each
    return values


def linker_with_past(game: RecordGame) -> RememberingLinker | None:
    """Return the first linker of a game's adversaries that uses earlier releases.

    It is a `RememberingLinker`; None if no adversary remembers earlier releases.
    """
    linkers = [each.linker for each in game.linker.types] if isinstance(game.linker, TypesLinker) else [game.linker]
    return next((linker for linker in linkers if isinstance(linker, RememberingLinker)), None)


def payoff_of_withholding(game: RecordGame, rows: Rows | None = None) -> Floats:
    """Return the publisher's payoff of withholding each of `rows`, or all, (n,).

    `rows` are record numbers. The payoff is 0 less the expected loss from attacks on earlier releases, in currency
    units; 0 for a record without earlier release, or if no adversary remembers.
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
