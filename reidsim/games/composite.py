"""Linkers and adversaries made of several: adversary types, records of a person, or releases of a record.

Each combines several linkages, or replies, into one of the usual format. So the solvers of record games accept it.

- Adversary types (`TypesGame`, a Bayesian Stackelberg game): the publisher does not know which adversary will attack.
  It knows adversary types, each with a weight, a linker and an attack plan. Each type replies separately to the
  released record.
- Records of a person (`PeopleLinker`, `PeopleAdversary`): a person with several records is attacked through the best of
  these records.
- Releases of a record (`RememberingLinker`, `RememberingAdversary`): an adversary remembers all earlier releases. A
  person then matches a record if the person matches every release of it. Where generalizations nest, the sets of values
  of two releases intersect, attribute by attribute, in the more specific of the two. For masked records, an attribute
  that was shown once is known. So all releases of a record together carry the same information as a single strategy of
  the same space, and linking on all of them equals linking on that strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import (
    Adversary,
    AlwaysAttacks,
    Linkage,
    NeverAttacks,
    OneShotAdversary,
    PlanLinkage,
    Presence,
    RandomAttacks,
    Response,
    arrays_of,
    declared_information,
    one_over,
)
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.core.errors import InputError
from reidsim.games.record_game import WITHHELD, Linker, RecordGame, linker_of_release, shared_rows
from reidsim.linkage.people import RowSets, best_entries
from reidsim.populations.population import Counts, distinct_rows
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies, StrategySpace

Together = Literal["one-of", "all", "worst"]


@dataclass(frozen=True)
class AdversaryType:
    """One adversary type that the publisher may face.

    Parameters
    ----------
    name : str
        Name of the type, for results and messages.
    weight : float
        Probability of this type or, with "all", probability that it is present; in [0, 1]. With "worst", the size of a
        positive weight does not matter. A type of weight 0 does not attack.
    linker : Linker
        Linker that this type uses.
    adversary : Adversary
        Adversary that replies to the linkage.
    """

    name: str
    weight: float
    linker: Linker
    adversary: Adversary


@dataclass(frozen=True)
class TypesLinkage(Linkage):
    """Linkage of each type.

    The fields of `Linkage`, such as group sizes, have the values of the first type. Each type replies to its own
    linkage in `by_type`.

    Parameters
    ----------
    by_type : tuple of Linkage
        One linkage per type.
    """

    by_type: tuple[Linkage, ...] = ()


@dataclass(frozen=True)
class TypesLinker:
    """Linker for all adversary types, which calls each distinct linker once.

    Parameters
    ----------
    types : tuple of AdversaryType
        Adversary types; one or more.
    """

    types: tuple[AdversaryType, ...]

    def link(self, strategy: int, rows: Rows | None = None) -> TypesLinkage:
        """Return the linkage of all records, or of `rows`, for each adversary type.

        All are released under `strategy`. The result is a `TypesLinkage` with one linkage per type, in the order of the
        types; see `Linker`.
        """
        distinct = {id(each.linker): each.linker for each in self.types}
        done = {key: linker.link(strategy, rows) for key, linker in distinct.items()}
        by_type = tuple(done[id(each.linker)] for each in self.types)
        first = by_type[0]
        return TypesLinkage(first.group_sizes, first.believed_group_sizes, first.match_probability, by_type)


@dataclass(frozen=True)
class TypesResponse(Response):
    """Combined reply of types of which a random set is present ("one-of" or "all").

    The other parameters are the same as in `Response`, except `success` and `frequency`. Where a type of positive
    weight attacks, `success` is the probability that the record is attacked and re-identified; elsewhere, it is this
    probability if all types attacked. `frequency` is the probability that any type attacks, or 1 where no type of
    positive weight attacks.

    Parameters
    ----------
    replies : tuple of Response
        Reply of each type.
    coming : Presence
        Distribution of the set of types that is present.
    """

    replies: tuple[Response, ...] = field(kw_only=True)
    coming: Presence = field(kw_only=True)

    @property
    def by_type(self) -> tuple[Response, ...]:
        """Reply of each adversary type, in the order of the types."""
        return self.replies

    @property
    def presence(self) -> Presence:
        """Distribution of the set of adversary types that is present."""
        return self.coming

    @property
    def reidentified(self) -> Floats:
        """True probability that any adversary attacks and re-identifies each record.

        It accounts for the probability that each adversary is present.
        """
        return np.where(self.attacks, self.success, 0.0)

    @property
    def success_of_attacks(self) -> Floats:
        """Probability of re-identification given an attack by any type.

        Where no type attacks, it is `success`: the probability of re-identification if all types attacked.
        """
        return np.divide(self.success, self.attack_probability, out=self.success.copy(), where=self.attacks)


@dataclass(frozen=True)
class TypesAdversary:
    """All adversary types of a game combined into a single adversary.

    Parameters
    ----------
    types : tuple of AdversaryType
        Types with their weights and adversaries.
    together : {"one-of", "all", "worst"}
        See `TypesGame`.
    """

    types: tuple[AdversaryType, ...]
    together: Together

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the combined reply of all types; see `Adversary`.

        A linkage other than `TypesLinkage` applies to all types. `rows` are the record numbers of the linkage; all, if
        not given. The result is a `TypesResponse`, except with "worst".

        Returns
        -------
        Response
            `attacks` is true where any type of positive weight attacks. Where there is an attack, `success` is the
            probability that the record is re-identified; elsewhere, the same probability if all types attacked.
            `believed_success` is this probability as the types believe it, if all attacked. Payoff and exploits are
            sums over types, weighted by their weights. `frequency` is 1 where no type attacks. Elsewhere, it is the
            probability of an attack: with "one-of", the sum of the types' attack probabilities times weights; with
            "all", the probability that any type attacks. With "worst", `success`, payoff and exploits of an attacked
            record are taken from the type most likely to re-identify it (the first of these, if equal),
            `believed_success` is the largest of any type, and there is no `frequency`.
        """
        by_type = linkage.by_type if isinstance(linkage, TypesLinkage) else (linkage,) * len(self.types)
        responses = [each.adversary.respond(linked, rows) for each, linked in zip(self.types, by_type, strict=True)]

        def stacked(name: str) -> Any:
            return np.array([getattr(reply, name) for reply in responses])

        weights = np.array([each.weight for each in self.types])
        present = weights > 0
        success, believed, payoff, exploits, reidentified = map(
            stacked, ("success", "believed_success", "adversary_payoff", "exploits", "reidentified")
        )
        attacked, invited = (np.asarray(stacked(name)[present].any(axis=0)) for name in ("attacks", "invited"))
        pays = invited if any(reply.pays is not None for reply in responses) else None
        if self.together == "worst":
            worst = np.where(present[:, None], reidentified, -1.0).argmax(axis=0)
            each = np.arange(len(attacked))
            return Response(
                attacks=attacked,
                success=np.where(attacked, reidentified[worst, each], success[present].max(axis=0)),
                believed_success=believed[present].max(axis=0),
                adversary_payoff=payoff[worst, each],
                exploits=exploits[worst, each],
                pays=pays,
            )
        return TypesResponse(
            attacks=attacked,
            success=np.where(attacked, self._by_any(weights, reidentified), self._by_any(weights, success)),
            believed_success=self._by_any(weights, believed),
            adversary_payoff=_weighted(weights, payoff),
            exploits=_weighted(weights, exploits),
            frequency=np.where(attacked, self._by_any(weights, stacked("attack_probability")), 1.0),
            pays=pays,
            replies=tuple(responses),
            coming=Presence(tuple(weights.tolist()), self.together == "one-of"),
        )

    def _by_any(self, weights: Floats, probability: Floats) -> Floats:
        """Return the probability of an event by any adversary type, shape (n,).

        `weights` (n_types,) is the probability of each type, and `probability`, shape (n_types, n), the probability of
        the event, given that the type is present. With "one-of", the result is the weighted sum; otherwise, types are
        present and act independently. It is at most 1.
        """
        if self.together == "one-of":
            by_any = _weighted(weights, probability)
        else:
            by_any = np.zeros(probability.shape[1])
            for weight, of_type in zip(weights, probability, strict=True):
                by_any += weight * of_type * (1.0 - by_any)
        # Rounding of weights and sums must not raise a probability above 1.
        return np.minimum(by_any, 1.0)


def _weighted(weights: Floats, amounts: Floats) -> Floats:
    """Return sums over adversary types of weight times amount, shape (n,).

    `weights` has shape (n_types,), and `amounts` has shape (n_types, n).
    """
    # Add type by type, so that rounding of a record's sum does not depend on other records.
    total = np.zeros(amounts.shape[1])
    for weight, of_type in zip(weights, amounts, strict=True):
        total += weight * of_type
    return total


class TypesGame(RecordGame):
    """One publisher against several adversary types, one game per record.

    Let ``r_t`` be the probability that type t re-identifies the released record, 0 if it does not attack. The publisher
    gets ``benefit x utility - loss x r``, where

    - "one-of": the attacker has one type, drawn with the weights: ``r = sum of w_t r_t``;
    - "all": each type is present with probability ``w_t``, attempts are independent, and the loss is incurred once:
      ``r = 1 - product of (1 - w_t r_t)``;
    - "worst": the attacker is the type of positive weight that is worst for the record: ``r = max of r_t``.

    Every solver of record games accepts this game and stays exact. The solvers require only that a strategy without
    attack keeps its whole benefit.

    Parameters
    ----------
    space : StrategySpace
        Strategies under which records can be shared.
    types : sequence of AdversaryType
        Types with their weights, linkers and adversaries.
    benefit, loss : ndarray of float64, shape (n_records,)
        The publisher's benefit of sharing the record unchanged, and its loss if the record is re-identified, in
        currency units.
    together : {"one-of", "all", "worst"}
        Rule that combines the types, see above.
    """

    types: tuple[AdversaryType, ...]
    together: Together

    def __init__(
        self,
        space: StrategySpace,
        types: Sequence[AdversaryType],
        benefit: Floats,
        loss: Floats,
        together: Together = "one-of",
    ) -> None:
        super().__init__(space, TypesLinker(tuple(types)), TypesAdversary(tuple(types), together), benefit, loss)
        # The class is frozen.
        vars(self).update(types=tuple(types), together=together)

    def with_strategies(self, strategies: Strategies) -> TypesGame:
        """Return the game of a release with these strategies.

        Each type's linker is replaced by its linker for the release, if linkage depends on the whole release.
        `strategies` (n_records,) holds -1 for withheld records; see `RecordGame.with_strategies`.
        """
        linkers = {id(each.linker): each.linker for each in self.types}
        released = {key: linker_of_release(linker, strategies) for key, linker in linkers.items()}
        return self.with_types([replace(each, linker=released[id(each.linker)]) for each in self.types])

    def with_types(self, types: Sequence[AdversaryType]) -> TypesGame:
        """Return the same game against other types, combined by the same rule."""
        return TypesGame(self.space, types, self.benefit, self.loss, self.together)


def parts_of(game: RecordGame) -> tuple[AdversaryType, ...]:
    """Return the adversary types of a game.

    In a game that is not a `TypesGame`, the single adversary is one type, with an empty name and weight 1.
    """
    return game.types if isinstance(game, TypesGame) else (AdversaryType("", 1.0, game.linker, game.adversary),)


def with_each(game: RecordGame, change: Callable[[AdversaryType], AdversaryType]) -> RecordGame:
    """Return a game with each adversary type (see `parts_of`) replaced by the result of `change`.

    `change` receives an `AdversaryType` and returns one. In a game that is not a `TypesGame`, only the linker and the
    adversary of its result are used.
    """
    types = [change(each) for each in parts_of(game)]
    if isinstance(game, TypesGame):
        return game.with_types(types)
    return replace(game, linker=types[0].linker, adversary=types[0].adversary)


def averaged(types: Sequence[AdversaryType]) -> tuple[AdversaryType, ...]:
    """Return adversary types that differ in name and weight only.

    Each type is replaced by the type of largest weight with the mean gain and cost of all types. Names and weights are
    kept. Means are weighted by the weights of the types. Amounts of money have a mean; linkers and attack plans do not,
    so they are taken from the type of largest weight (the first of these, if several have it).

    Raises
    ------
    InputError
        If a type has no gain and cost (also one of weight 0), or if the mean amounts differ by record and the type of
        largest weight makes a sequential attack.
    """
    weights = np.array([each.weight for each in types])
    gain, cost = (
        sum(share * amount for share, amount in zip(weights / weights.sum(), amounts, strict=True))
        for amounts in zip(*map(_gain_and_cost, types), strict=True)
    )
    heaviest = types[int(weights.argmax())]
    average = replace(heaviest, adversary=repriced(heaviest.adversary, gain, cost))
    return tuple(replace(average, name=each.name, weight=each.weight) for each in types)


def repriced(adversary: Adversary, gain: Any, cost: Any) -> Adversary:
    """Return an adversary with another gain of a success and cost of an attempt.

    Both are in currency units per record: one number, or one per record. For a sequential attack, the cost is the cost
    of an exploit.

    The adversary within an `ErringAdversary` is repriced.

    Raises
    ------
    InputError
        If the adversary has no gain and cost to replace, or if it makes a sequential attack and the amounts differ by
        record.
    """
    if isinstance(adversary, ErringAdversary):
        return replace(adversary, adversary=cast("Any", repriced(adversary.adversary, gain, cost)))
    if isinstance(adversary, SequentialAdversary):
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        return replace(adversary, attack=replace(adversary.attack, gain=float(gain), exploit_cost=float(cost)))
    if not is_dataclass(adversary):
        raise InputError("the adversary has no gain and cost to replace", found=type(adversary).__name__)
    return cast("Adversary", replace(adversary, gain=gain, cost=cost))


def _gain_and_cost(each: AdversaryType) -> tuple[Any, Any]:
    adversary: Any = each.adversary.adversary if isinstance(each.adversary, ErringAdversary) else each.adversary
    if isinstance(adversary, SequentialAdversary):
        return adversary.attack.gain, adversary.attack.exploit_cost
    if not (hasattr(adversary, "gain") and hasattr(adversary, "cost")):
        problem = "the adversary type has no gain and cost to average"
        expected = "an adversary with a gain and a cost"
        raise InputError(problem, where=each.name, found=type(adversary).__name__, expected=expected)
    return adversary.gain, adversary.cost


# Adversaries whose replies depend on group sizes alone, and whose payoff is never lower with a smaller group.
_BY_SIZE = (OneShotAdversary, AlwaysAttacks, NeverAttacks, RandomAttacks)


@dataclass(frozen=True, eq=False)
class PeopleLattice(GeneralizationLattice):
    """Lattice over people with several records, which have the same generalization.

    A record of this lattice is a row set: all records of a person, shared by people with equal records. The utility of
    a strategy is the mean over the records of the set.

    The other parameters are the same as in `GeneralizationLattice`; `codes` holds the codes of the cells.

    Parameters
    ----------
    row_sets : RowSets
        Row sets over the cells in `codes`.
    benefit_of_cell : ndarray of float64, shape (n_cells,), optional
        Benefit of an unchanged record of each cell, if records differ in benefit. The utility is then the share of the
        total benefit of a person's records that the strategy keeps.
    """

    row_sets: RowSets = field(kw_only=True)
    benefit_of_cell: Floats | None = field(default=None, kw_only=True)

    @cached_property
    def n_records(self) -> int:  # type: ignore[override]
        """Number of row sets: the distinct sets of records that people have."""
        return self.row_sets.n_sets

    @cached_property
    def record_losses(self) -> tuple[Floats, ...]:
        """Mean information loss of the records of each row set, by level.

        There is one array (n_levels, n_sets) per attribute; losses are in [0, 1]. The mean is weighted by
        `benefit_of_cell`, if given.
        """
        return tuple(
            self.of_game_rows(losses[:, self.codes[:, position]]) for position, losses in enumerate(self.losses)
        )

    def of_game_rows(self, amounts: Floats) -> Floats:
        """Return the mean amount of the records of each row set, weighted by `benefit_of_cell`, if given."""
        return self.row_sets.means(amounts, self.benefit_of_cell)

    @cached_property
    def cells(self) -> GeneralizationLattice:
        """Lattice over the cells (distinct records), with one record per cell."""
        return GeneralizationLattice(self.hierarchies, self.codes, self.loss_attributes)


@dataclass(frozen=True)
class PeopleLinkage(Linkage):
    """Linkage of people who may have several records each.

    The group sizes and match probability of a person are those of the record with the smallest believed group; of equal
    records, the one with the smallest true group.

    Parameters
    ----------
    of_records : Linkage
        Linkage of the cells of all records, grouped by person.
    start : ndarray of int64, shape (n + 1,)
        Position of the first cell of each person.
    """

    of_records: Linkage = field(kw_only=True)
    start: NDArray[np.int64] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class PeopleLinker:
    """Linker of people by each of their records.

    Parameters
    ----------
    linker : Linker
        Linker of the cells (distinct records).
    row_sets : RowSets
        Cells of each person's records.
    """

    linker: Linker
    row_sets: RowSets

    def link(self, strategy: int, rows: Rows | None = None) -> PeopleLinkage:
        """Return the linkage of all people, or of `rows`, shared under `strategy`.

        A row is a row set: all records of a person, shared by people with equal records. Its group sizes are those of
        the record with the smallest believed group (of equal records, with the smallest true group).
        """
        cells, start = self.row_sets.cells, self.row_sets.start
        if rows is not None:
            entries, start = self.row_sets.entries_of(np.asarray(rows))
            cells = cells[entries]
        records = self.linker.link(strategy, cells)
        true, believed = _sizes(records)
        worst = best_entries(start, -believed, -true)
        sizes = true[worst]
        return PeopleLinkage(
            group_sizes=sizes,
            believed_group_sizes=sizes if believed is true else believed[worst],
            match_probability=None if records.match_probability is None else records.match_probability[worst],
            by_chance=records.by_chance,
            of_records=records,
            start=start,
        )


@dataclass(frozen=True, eq=False)
class PeopleAdversary:
    """An adversary who attacks each person through the best of the person's records.

    Of a person's records, an attacked one is better than one that is not; then the higher believed success probability,
    the higher success probability and the higher payoff of the adversary decide, in this order.

    Parameters
    ----------
    adversary : Adversary
        Adversary of single records. Payoff parameters that are arrays have one entry per person (row set).
    """

    adversary: Adversary

    @property
    def decides_on(self) -> frozenset[str]:
        """Names of the `Linkage` fields on which the decision of `adversary` depends."""
        return declared_information(self.adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each person: the reply to the best of the person's records.

        A linkage other than `PeopleLinkage` is passed on to the adversary of single records. `rows` are numbers of
        people (row sets); all of the linkage, if not given. See `Adversary`.
        """
        if not isinstance(linkage, PeopleLinkage):
            return self.adversary.respond(linkage, rows)
        start = linkage.start
        people = np.arange(len(start) - 1) if rows is None else np.asarray(rows)
        reply = self.adversary.respond(linkage.of_records, np.repeat(people, np.diff(start)))
        best = best_entries(start, reply.attacks, reply.believed_success, reply.success, reply.adversary_payoff)
        arrays: dict[str, Any] = {name: array[best] for name, array in arrays_of(reply).items()}
        return replace(reply, **arrays)


def adversary_of_people(adversary: Adversary) -> Adversary:
    """Return an adversary of people, given an adversary of records.

    It is a `PeopleAdversary`. An adversary whose reply depends on group sizes alone (one-shot, always, never or
    randomly attacking), or who attacks people already, is returned unchanged.
    """
    return adversary if isinstance(adversary, (*_BY_SIZE, PeopleAdversary)) else PeopleAdversary(adversary)


def _sizes(linkage: Linkage) -> tuple[Counts, Counts]:
    """Return true and believed group sizes of a linkage, shape (n,) each.

    For a multistage attack (`PlanLinkage`), they are 1 / success probability, true and believed, of the plan without
    inference.
    """
    if isinstance(linkage, PlanLinkage):
        return one_over(linkage.plan_success[0]), one_over(linkage.plan_believed[0])
    return linkage.group_sizes, linkage.believed_group_sizes


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
    parts : tuple of tuples
        One tuple per group of records with the same equivalent strategy and linker: positions among the linked
        records, their cells, and their linkage.
    """

    parts: tuple[tuple[Rows, Rows, Linkage], ...] = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class RememberingLinker:
    """Linker on the intersection of the current and all earlier releases.

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

        Records are linked on their current and all earlier releases together. `rows` are record numbers.
        `WITHHELD` links on the earlier releases alone; it requires records with an earlier release.
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
        sizes = _joined(linked, "group_sizes")
        equal = all(each.believed_group_sizes is each.group_sizes for _, each in linked)
        return RememberedLinkage(
            group_sizes=sizes,
            believed_group_sizes=sizes if equal else _joined(linked, "believed_group_sizes"),
            match_probability=_joined(linked, "match_probability"),
            by_chance=any(each.by_chance for _, each in linked),
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

        `adversary`, the inner adversary, replies to the linkage on the current and all earlier releases. `rows` is not
        used: the cells are taken from the linkage.

        Raises
        ------
        TypeError
            If the linkage is not a `RememberedLinkage`.
        """
        if not isinstance(linkage, RememberedLinkage):
            raise TypeError(f"not the linkage of an adversary who remembers: {type(linkage).__name__}")
        replies = [(places, self.adversary.respond(linked, cells)) for places, cells, linked in linkage.parts]
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
    return next((each.linker for each in parts_of(game) if isinstance(each.linker, RememberingLinker)), None)


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
