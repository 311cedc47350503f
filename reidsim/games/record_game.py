"""Stackelberg game between a publisher and an adversary, played by record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, Response
from reidsim.errors import InputError
from reidsim.games.attributes import AdmissibleGroups
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace

# Strategy of a record that is not released.
WITHHELD = -1
# Product of distinct strategies and records from which group sizes are counted for all strategies at once.
_MANY_LINKED = 50_000_000


class Linker(Protocol):
    """Link records that are shared under the same strategy.

    The rows of a linker are the records of a game, numbered from 0.
    """

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all records, or of `rows`, shared under `strategy`.

        `rows` are record numbers; the linkage has one entry for each of them.
        """
        ...


@runtime_checkable
class JointLinker(Linker, Protocol):
    """Link records whose linkage depends on the strategies of all records.

    `link` assumes that all records have the same strategy.
    """

    def given(self, strategies: Strategies) -> Linker:
        """Return the linker for a release with these strategies (n_records,).

        A strategy of -1 marks a withheld record.
        """
        ...


@dataclass(frozen=True)
class PopulationLinker:
    """Link records to the people of a population who share the released values.

    Parameters
    ----------
    group_sizes : GroupSizes
        Group sizes in the true population.
    believed_group_sizes : GroupSizes, optional
        Group sizes in the population that the adversary believes in; `group_sizes`, if not given.
    population : GroupSizes, optional
        Group sizes in the whole population, if `group_sizes` counts a registry drawn from it.
    """

    group_sizes: GroupSizes
    believed_group_sizes: GroupSizes | None = None
    population: GroupSizes | None = None

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the group sizes of records shared under `strategy`; see `Linker`."""
        true = self.group_sizes.at(strategy, rows)
        believed = true if self.believed_group_sizes is None else self.believed_group_sizes.at(strategy, rows)
        if self.population is None:
            return Linkage(true, believed, by_chance=self.group_sizes.by_chance)
        everybody = true if self.population is self.group_sizes else self.population.at(strategy, rows)
        return Linkage(true, believed, np.asarray(everybody / self.population.total))

    def with_strategies(self, strategies: Strategies) -> Linker:
        """Return a linker with the group sizes under these strategies, computed at once.

        The result links only released records, each under its strategy. If the strategies (n_records,) have few
        distinct values, or the sizes cannot be computed at once, this linker is returned.
        """
        rows = np.flatnonzero(strategies != WITHHELD)
        if len(np.unique(strategies[rows])) * len(strategies) < _MANY_LINKED:
            return self
        chosen, found = strategies[rows], dict[str, Counts | None]()
        for name in ("group_sizes", "believed_group_sizes", "population"):
            groups = getattr(self, name)
            same = next((other for other in found if getattr(self, other) is groups), None)
            sizes = None if groups is None else found[same] if same is not None else groups.each(chosen, rows)
            if sizes is None and groups is not None:
                return self
            found[name] = sizes
        true, believed, everybody = found.values()
        assert true is not None  # noqa: S101 # there are group sizes in every linker
        share = None if self.population is None or everybody is None else np.asarray(everybody / self.population.total)
        by_chance = self.group_sizes.by_chance
        return _LinkedOnce(rows, Linkage(true, true if believed is None else believed, share, by_chance=by_chance))

    def link_each(self, strategies: Strategies, rows: Rows) -> Linkage:
        """Return the linkage of records, each shared under its own strategy.

        Both arrays have shape (n_rows,). No strategy is -1.
        """
        parts = [(places, self.link(strategy, rows[places])) for strategy, places in shared_rows(strategies)]
        if len(parts) < 2:
            return parts[0][1] if parts else self.link(0, rows)

        def spread(each: Sequence[np.ndarray]) -> np.ndarray:
            values = np.empty(len(rows), dtype=each[0].dtype)
            for (places, _), part in zip(parts, each, strict=True):
                values[places] = part
            return values

        true = spread([linked.group_sizes for _, linked in parts])
        believed = true
        if self.believed_group_sizes is not None:
            believed = spread([linked.believed_group_sizes for _, linked in parts])
        shares = [linked.match_probability for _, linked in parts if linked.match_probability is not None]
        return Linkage(true, believed, spread(shares) if shares else None, by_chance=parts[0][1].by_chance)


@dataclass(frozen=True)
class _LinkedOnce:
    """Look up the precomputed linkage of a single choice of strategies (a `Linker`).

    Parameters
    ----------
    rows : ndarray of int, shape (n_released,)
        The records that are released, ascending.
    linkage : Linkage
        Linkage of each released record under its strategy.
    """

    rows: Rows
    linkage: Linkage

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage of all released records, or `rows`, by their own strategy.

        `strategy` is not used; all `rows` must be released. See `Linker`.
        """
        at = slice(None) if rows is None else np.searchsorted(self.rows, rows)
        linked = self.linkage
        true = linked.group_sizes[at]
        believed = true if linked.believed_group_sizes is linked.group_sizes else linked.believed_group_sizes[at]
        share = None if linked.match_probability is None else linked.match_probability[at]
        return Linkage(true, believed, share, by_chance=linked.by_chance)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a strategy by record; arrays of equal shape.

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
        If a benefit or loss is negative, or has another shape than () or (n_records,).
    """

    space: StrategySpace
    linker: Linker
    adversary: Adversary
    benefit: Floats
    loss: Floats

    def __post_init__(self) -> None:
        for name in ("benefit", "loss"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.shape not in ((), (self.n_records,)):
                expected = f"one amount, or one for each of {self.n_records} records"
                raise InputError(f"{name} of the publisher has the wrong shape", found=given.shape, expected=expected)
            amounts = np.broadcast_to(given, (self.n_records,))
            if len(amounts) and not amounts.min() >= 0:
                raise InputError(
                    f"{name} of the publisher is negative", found=float(amounts.min()), expected="0 or more"
                )
            object.__setattr__(self, name, amounts)

    def __repr__(self) -> str:
        return f"RecordGame({self.space}, {type(self.adversary).__name__})"

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.space.n_records

    def given(self, strategies: Strategies) -> RecordGame:
        """Return the game with linkage for these strategies (n_records,).

        The result is this game unless linkage of a record depends on the strategies of others (`JointLinker`).
        """
        linker = self.linker
        return replace(self, linker=linker.given(strategies)) if isinstance(linker, JointLinker) else self

    def tie(self, rows: Rows | None = None) -> Floats:
        """Return the tie tolerance of each record, or of `rows`, in currency units.

        Payoffs of the publisher closer than this count as equal.
        """
        of = slice(None) if rows is None else rows
        return np.asarray(INDIFFERENCE * (self.benefit[of] + self.loss[of]))

    def benefit_of(self, strategy: int, rows: Rows | None = None) -> Floats:
        """Return v(g), the benefit of sharing all records, or `rows`, under `strategy`.

        It is the publisher's payoff without an attack, in currency units per record.
        """
        benefit = self.benefit if rows is None else self.benefit[rows]
        return benefit * self.space.utility(strategy, rows)

    def outcome(self, strategy: int, rows: Rows | None = None) -> Outcome:
        """Return payoff, utility and the adversary's reply under `strategy`.

        The outcome covers all records, or `rows`.
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
        Allow only strategies under which an attack does not pay (the No-Attack game). An adversary who errs may attack
        such a strategy even so.
    minimum : ndarray of int64, shape (n_records,), optional
        Allow only strategies at least as protective as this one (for a Safe-Harbor-friendly game: Safe Harbor).
    admissible : AdmissibleGroups, optional
        Allow only strategies within the limits on sensitive attributes.
    """

    no_attack: bool = False
    minimum: Strategies | None = None
    admissible: AdmissibleGroups | None = None

    @property
    def restricts_forms(self) -> bool:
        """Whether some strategies may be forbidden whatever the adversary's reply."""
        return self.minimum is not None or self.admissible is not None

    def allows(
        self, space: StrategySpace, strategy: int, invited: NDArray[np.bool_], rows: Rows | None = None
    ) -> NDArray[np.bool_]:
        """Return for which records the strategy is allowed, shape of `invited`.

        `invited` marks the records on which an attack pays: all records, or `rows`.
        """
        allowed = ~invited if self.no_attack else np.ones(invited.shape, dtype=np.bool_)
        if self.minimum is not None:
            distinct, position = self._distinct_minima
            reached = space.at_least(strategy, distinct)
            allowed &= reached[position if rows is None else position[rows]]
        if self.admissible is not None:
            allowed &= self.admissible.at(strategy, rows)
        return allowed

    @cached_property
    def _distinct_minima(self) -> tuple[Strategies, Rows]:
        # Records share few minima, and every strategy is compared with them.
        distinct, position = np.unique(np.asarray(self.minimum), return_inverse=True)
        return distinct, position


def shared_rows(strategies: Strategies) -> Iterator[tuple[int, Rows]]:
    """Yield each strategy in use and the rows of its records, both ascending.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_records,)
        ``WITHHELD`` (-1) where a record is not shared; these records are left out.
    """
    order = np.argsort(strategies, kind="stable")
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
    """

    strategies: Strategies
    solver: str
    evaluated: NDArray[np.int64]
    exact: bool
