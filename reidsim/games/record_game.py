"""Stackelberg game between a publisher and an adversary, played by record.

This module has the game, its linkers (which return group sizes under each strategy) and constraints, and the choice of
a strategy for each record. Outcomes of choices and their measures are in `reidsim.games.outcomes`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, Response, arrays_of
from reidsim.core.errors import refuse_first
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.people import AttributeLimits, GainsFrom, RowSets, SensitiveAttribute, SensitiveGroups
from reidsim.populations.population import Counts
from reidsim.releases.lattice import Floats, Rows, Strategies, StrategySpace


@dataclass(frozen=True)
class AdmissibleGroups:
    """Check of each record's group at a node against limits on sensitive values.

    Parameters
    ----------
    groups : SensitiveGroups
        Sensitive values of the group of each record.
    limits : AttributeLimits
        Limits on the values within a group.
    columns : tuple of SensitiveAttribute
        Sensitive columns of all records of the table, for games that form groups themselves; `at` does not use them.
    row_sets : RowSets, optional
        The rows of `groups` that belong to each record of the game, if people have several rows.
    """

    groups: SensitiveGroups
    limits: AttributeLimits
    columns: tuple[SensitiveAttribute, ...] = ()
    row_sets: RowSets | None = None

    def at(self, strategy: int, rows: Rows | None = None) -> NDArray[np.bool_]:
        """Return whether each record, or each of `rows`, may be released at a node.

        The node is given by its number, `strategy`. A record may be released if its group meets the limits. A person
        with several rows may be released if the groups of all its rows meet the limits.
        """
        within = self.groups.within(self.limits, strategy)
        if self.row_sets is not None:
            within = self.row_sets.combined(np.logical_and, within)
        return within if rows is None else within[rows]


# Strategy of a record that is not released.
WITHHELD = -1
# Product of distinct strategies and records from which group sizes are counted for all strategies together.
_MANY_LINKED = 5_000_000


class Linker(Protocol):
    """Interface that links records shared under the same strategy to people.

    The rows of a linker are the records of a game, numbered from 0.
    """

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        `rows` are record numbers; the linkage has one entry for each of them.

        For group sizes, true and as the adversary believes, see `Linkage`.
        """
        ...


@runtime_checkable
class ReleaseLinker(Linker, Protocol):
    """Linker that supports releases in which each record has its own strategy.

    Where linkage depends on the strategies of all records, `link` assumes that all have the same strategy.
    """

    def with_strategies(self, strategies: Strategies) -> Linker:
        """Return a linker for a release with these strategies (n_records,).

        A strategy of -1 marks a withheld record. Records keep their numbers. Call `link` of the result only with
        released records and with their strategy. The result can be this linker itself.
        """
        ...


def linker_of_release(linker: Linker, strategies: Strategies) -> Linker:
    """Return the linker for a release in which each record has its own strategy.

    A linker that is not a `ReleaseLinker` is returned unchanged. `strategies` (n_records,) holds -1 for withheld
    records.
    """
    return linker.with_strategies(strategies) if isinstance(linker, ReleaseLinker) else linker


@dataclass(frozen=True)
class PopulationLinker:
    """Linker of records to the people of a population who share the released values.

    Parameters
    ----------
    group_sizes : GroupSizes
        Group sizes in the population or, with `population`, in a registry drawn from it.
    population : GroupSizes, optional
        Group sizes in the whole population, if `group_sizes` counts a registry drawn from it.
    """

    group_sizes: GroupSizes
    population: GroupSizes | None = None

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        True and believed group sizes are equal. With a registry, the linkage also has the share of the population with
        the released values (`match_probability`); see `Linker`.
        """
        sizes = self.group_sizes.at(strategy, rows)
        population = self.population or self.group_sizes
        everybody = sizes if population is self.group_sizes else population.at(strategy, rows)
        return self._linkage(sizes, everybody)

    def with_strategies(self, strategies: Strategies) -> Linker:
        """Return a linker with precomputed group sizes of a release with these strategies.

        This linker itself is returned if the number of distinct strategies of released records times the number of all
        records is below 5 million, or the group sizes of different strategies cannot be computed together. For
        `strategies` and the use of the result, see `ReleaseLinker.with_strategies`.
        """
        rows = np.flatnonzero(strategies != WITHHELD)
        if len(np.unique(strategies[rows])) * len(strategies) < _MANY_LINKED:
            return self
        groups = (self.group_sizes, self.population or self.group_sizes)
        counted = {key: each.each(strategies[rows], rows) for key, each in {id(each): each for each in groups}.items()}
        known = {key: sizes for key, sizes in counted.items() if sizes is not None}
        if len(known) < len(counted):
            return self
        return FixedLinkage(self._linkage(*(known[id(each)] for each in groups)), rows)

    def _linkage(self, sizes: Counts, everybody: Counts) -> Linkage:
        if self.population is None:
            return Linkage(sizes, sizes, by_chance=self.group_sizes.by_chance)
        return Linkage(sizes, sizes, np.asarray(everybody / self.population.total))


@dataclass(frozen=True)
class AttributeLinker:
    """Linker for an adversary who gains from inferring a sensitive value.

    The group sizes of the linkage, true and believed, are 1 over the success probability.

    Parameters
    ----------
    groups : SensitiveGroups
        Sensitive values of the group of each record.
    gains_from : {"attribute", "either"}
        With "attribute", a correct sensitive value pays; with "either", a correct value or a correct identity. See
        `SensitiveGroups.success`.
    """

    groups: SensitiveGroups
    gains_from: GainsFrom

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        Group sizes are 1 / success probability of an attempt; see `Linker`.
        """
        sizes = 1.0 / self.groups.success(self.gains_from, strategy)
        sizes = sizes if rows is None else sizes[rows]
        return Linkage(sizes, sizes, by_chance=True)


@dataclass(frozen=True, eq=False)
class Prices:
    """Benefit, loss, gain and cost for each kind of record.

    Records of a kind have the same payoff parameters.

    Parameters
    ----------
    benefit, loss : ndarray of float64, shape (n_kinds,)
        Publisher's benefit from an ungeneralized record, and loss if the record is re-identified; currency units per
        record. One number is accepted if it is equal for all kinds.
    gain, cost : ndarray of float64, shape (n_kinds,)
        Adversary's gain from a re-identified record, and cost of an attempt; currency units per record.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    def __post_init__(self) -> None:
        given = [np.atleast_1d(np.asarray(getattr(self, item.name), dtype=np.float64)) for item in fields(self)]
        for item, array in zip(fields(self), np.broadcast_arrays(*given), strict=True):
            # Compiled functions warn of views of broadcast arrays.
            object.__setattr__(self, item.name, np.array(array, order="C"))

    @property
    def n_kinds(self) -> int:
        """Number of kinds of records, each with its own payoff parameters."""
        return len(self.benefit)


@dataclass(frozen=True, eq=False)
class FixedLinkage:
    """Linker with the precomputed linkage of a single choice of strategies.

    Parameters
    ----------
    linkage : Linkage
        Linkage of each released record under its strategy.
    released : ndarray of int, shape (n_released,), optional
        The records that are released, ascending; all, if not given.
    """

    linkage: Linkage
    released: Rows | None = None

    @classmethod
    def from_sizes(cls, sizes: Counts) -> FixedLinkage:
        """Return the linker with a group size for each record, true and believed.

        `sizes`, in people, has shape (n_records,). All records are released.
        """
        return cls(Linkage(sizes, sizes))

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all released records, or `rows`, by their own strategy.

        `strategy` is not used; all `rows` (record numbers) must be released. See `Linker`.
        """
        if rows is None:
            return self.linkage
        at = rows if self.released is None else np.searchsorted(self.released, rows)
        arrays: dict[str, Any] = {name: array[at] for name, array in arrays_of(self.linkage).items()}
        return replace(self.linkage, **arrays)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a strategy; arrays of equal shape, one entry per record.

    Parameters
    ----------
    publisher_payoff : ndarray of float64
        Benefit of the release less the expected loss from the attack, in currency units per record.
    utility : ndarray of float64
        Share of the full benefit that the release keeps, in [0, 1].
    response : Response
        Reply of the adversary.
    """

    publisher_payoff: Floats
    utility: Floats
    response: Response


@dataclass(frozen=True)
class RecordGame:
    """One publisher against one adversary, played by record (Wan et al. 2015).

    Each record is a separate game. The publisher gets ``benefit x utility`` and expects to lose ``loss x success
    probability`` when the adversary attacks (Table 3). A publisher with mistaken beliefs plans in a game with the
    believed parameters; its choice is then evaluated in the game with the true parameters.

    Parameters
    ----------
    space : StrategySpace
        Strategies under which records can be shared.
    linker : Linker
        Linker that returns group sizes for each strategy.
    adversary : Adversary
        The adversary who replies to the linkage.
    benefit, loss : ndarray of float64, shape (n_records,)
        The publisher's benefit of sharing the record unchanged, and its loss if the record is re-identified, in
        currency units; one number, if equal for all records.

    Raises
    ------
    InputError
        If a benefit or loss is negative or missing (NaN).
    """

    space: StrategySpace
    linker: Linker
    adversary: Adversary
    benefit: Floats
    loss: Floats

    def __post_init__(self) -> None:
        for name in ("benefit", "loss"):
            amounts = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (self.n_records,))
            lowest = float(amounts.min(initial=np.inf))
            refuse_first((not lowest >= 0, f"{name} of the publisher is negative", None, lowest, "0 or more"))
            object.__setattr__(self, name, amounts)

    def __repr__(self) -> str:
        return f"RecordGame({self.space}, {type(self.adversary).__name__})"

    @property
    def n_records(self) -> int:
        """Number of records of the game's strategy space."""
        return self.space.n_records

    def with_strategies(self, strategies: Strategies) -> RecordGame:
        """Return the game of a release with these strategies.

        If linkage depends on the strategies of all records (`ReleaseLinker`), the linker is replaced by its linker for
        the release; otherwise, the game stays the same. `strategies` (n_records,) holds -1 for withheld records.
        """
        return replace(self, linker=linker_of_release(self.linker, strategies))

    def tie(self, rows: Rows | None = None) -> Floats:
        """Return the tie tolerance of each record, or of `rows`, in currency units.

        Payoffs of the publisher closer than this count as equal. It is 1e-12 times benefit plus loss of the record;
        `rows` are record numbers.
        """
        of = slice(None) if rows is None else rows
        return np.asarray(INDIFFERENCE * (self.benefit[of] + self.loss[of]))

    def benefit_of(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return v(g), the benefit of sharing all records, or `rows`, under `strategy`.

        It is the benefit of the unchanged record times the utility of the strategy, and the publisher's payoff without
        an attack; in currency units, one entry for each of `rows` (record numbers).
        """
        return (self.benefit if rows is None else self.benefit[rows]) * self.space.utility(strategy, rows)

    def outcome(self, strategy: int, rows: Rows | None = None) -> Outcome:
        """Return payoff, utility and the adversary's reply under a common strategy.

        All records have the strategy number `strategy`. The payoff is the publisher's. The result, an `Outcome`, has
        one entry per record or, if given, per element of `rows` (record numbers).
        """
        response = self.adversary.respond(self.linker.link(strategy, rows), rows)
        utility = self.space.utility(strategy, rows)
        benefit, loss = (self.benefit, self.loss) if rows is None else (self.benefit[rows], self.loss[rows])
        return Outcome(benefit * utility - loss * response.reidentified, utility, response)


@dataclass(frozen=True)
class Constraint:
    """Constraint on the publisher's strategies.

    Parameters
    ----------
    no_attack : bool
        Allow only strategies under which an attack does not pay (the No-Attack game). An adversary who errs may still
        attack such a strategy.
    minimum : ndarray of int64, shape (n_records,), optional
        Least protective strategy allowed for each record (for a Safe-Harbor-friendly game: the Safe Harbor strategy).
    admissible : AdmissibleGroups, optional
        Allow only strategies under which the record's group meets these limits on sensitive attributes.
    """

    no_attack: bool = False
    minimum: Strategies | None = None
    admissible: AdmissibleGroups | None = None

    def allows(
        self, space: StrategySpace, strategy: int, invited: NDArray[np.bool_], rows: Rows | None = None
    ) -> NDArray[np.bool_]:
        """Return for which records the strategy is allowed, shape of `invited`.

        The strategy must meet all conditions that are set: no attack on the record pays (`no_attack`), the strategy
        generalizes at least as much as the record's `minimum`, and the record's group is `admissible`. `invited` marks
        the records on which an attack pays, among all records, or `rows` (record numbers). `space` compares the
        strategy with `minimum`.
        """
        allowed = ~invited if self.no_attack else np.ones(invited.shape, dtype=np.bool_)
        if self.minimum is not None:
            distinct, position = self._distinct_minima
            allowed &= space.at_least(strategy, distinct)[position if rows is None else position[rows]]
        if self.admissible is not None:
            allowed &= self.admissible.at(strategy, rows)
        return allowed

    def lowest_levels(self, space: StrategySpace) -> tuple[int, ...]:
        """Return the lowest level of each attribute that the minimum of a record allows.

        Strategies of `space` with a lower level are allowed for no record.
        """
        if self.minimum is None:
            return (0,) * len(space.shape)
        distinct, _ = self._distinct_minima
        return tuple(space.all_levels(distinct).min(axis=0, initial=max(space.shape, default=0)).tolist())

    @cached_property
    def _distinct_minima(self) -> tuple[Strategies, Rows]:
        # Records share few minima, and every strategy is compared with them.
        distinct, position = np.unique(np.asarray(self.minimum), return_inverse=True)
        return distinct, position


def most_within(share: float, total: float) -> int:
    """Return `share` times `total`, rounded down to a whole number of records.

    `total`, the number of all records, must be below 10**11. A product that is below a whole number by rounding error
    only counts as this number.
    """
    # The factor corrects rounding: in binary floating point, 0.29 x 100 is slightly less than 29.
    return math.floor(share * total * (1 + 1e-12))


def shared_rows(strategies: Strategies) -> Iterator[tuple[int, Rows]]:
    """Yield each strategy in use and the numbers of its records, both ascending.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record; ``WITHHELD`` (-1) where it is not shared. These records are omitted.
    """
    # Numbers of 16 bits or less are sorted by counting.
    narrow = strategies.astype(np.min_scalar_type(-1 - int(strategies.max(initial=0))))
    order = np.argsort(narrow, kind="stable")
    in_order = strategies[order]
    ends = [*(np.flatnonzero(in_order[1:] != in_order[:-1]) + 1).tolist(), len(order)] if len(order) else []
    for begin, end in zip([0, *ends], ends, strict=False):
        strategy = int(in_order[begin])
        if strategy != WITHHELD:
            yield strategy, order[begin:end]


@dataclass(frozen=True)
class Choice:
    """The strategy that a solver or policy picked for each record.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_records,)
        ``WITHHELD`` (-1) where the record is not released, for example because no strategy satisfies the constraint.
    solver : str
        Name of the solver or policy.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies whose payoff was computed.
    exact : bool
        Whether the choice is proved optimal.

    See Also
    --------
    RunResult : the outcome of the choices of all policies.

    Examples
    --------
    A policy of one's own returns a choice:

    >>> import numpy, reidsim
    >>> reidsim.Choice(numpy.array([0, 3, -1]), "rule", numpy.ones(3, dtype=int), exact=False).strategies.tolist()
    [0, 3, -1]
    """

    strategies: Strategies
    solver: str
    evaluated: NDArray[np.int64]
    exact: bool


@dataclass(frozen=True)
class BoundedChoice(Choice):
    """A choice with a bound on the payoff that a better choice could add.

    Parameters
    ----------
    gap : ndarray of float64, shape (n_records,)
        Upper bound on the payoff of any strategy minus the payoff of the chosen strategy, in currency units per record;
        0 if proved optimal.
    likely_gap : float
        Upper confidence bound of the sum of these differences, from a sample; infinite without a sample.
    drawn : int
        Number of records drawn for this sample and solved exactly.
    """

    gap: Floats
    likely_gap: float = np.inf
    drawn: int = 0
