"""The game of a publisher who generalizes a whole dataset in one way and suppresses the records that do not pay."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.games.full_domain.node_payoffs import (
    NO_ATTACK_STRICT,
    Thresholds,
    basic_payoffs,
    may_be_kept,
    no_attack_payoffs,
    payoffs_by_record,
    record_payoffs,
)
from reidsim.games.full_domain.prices import FourArrays, Prices
from reidsim.games.full_domain.risk import finest_classes
from reidsim.games.full_domain.walk import NOBODY, Followed
from reidsim.linkage.number_checks import most_within
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

NO_SOLUTION = -1


@dataclass(frozen=True, eq=False)
class FullDomainGame:
    """One publisher against a one-shot adversary, at dataset level (Prasser et al. 2017).

    The publisher picks one node of the lattice for the whole dataset. A record of a class of ``k`` people is attacked
    where ``G > C k`` and pays ``B (1 - IL) - [attacked] L / k``; it is suppressed where that is not above zero. The
    class sizes of the others do not change by that. In the No-Attack game (`no_attack`) records of classes of at most
    ``G / C`` people are suppressed instead (with ``G = 0`` none), which is k-anonymity under prosecutor risk and k-map
    under journalist risk; `safe_class` says whether a class of exactly that size is safe.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Over distinct cells of the records; where prices differ by record, over distinct cells and prices.
    released : ndarray of int64, shape (n_cells,)
        Records in each cell.
    prices : Prices
        At each parameter point, for each kind of record.
    kind : ndarray of int64, shape (n_cells,), optional
        The kind of each cell's records; may be left out when there is one kind.
    population : Population, optional
        Over the lattice's domain: journalist risk. Prosecutor risk if not given.
    no_attack : bool
    safe_class : {"above", "at-least"}
        Whether classes of more than ``G / C`` people are safe in the No-Attack game, as in ARX, or of at least as many,
        as the adversary does not attack when indifferent.
    suppression_limit : float
        A node is feasible if no more than this share of the records (rounded down) is suppressed.
    minimum : sequence of int, optional
        Lowest level allowed for each attribute (Safe-Harbor-friendly).

    Raises
    ------
    InputError
        If there is no record, a limit is not in [0, 1], or numbers of cells, kinds or levels do not fit together.
    """

    lattice: GeneralizationLattice
    released: NDArray[np.int64]
    prices: Prices
    kind: NDArray[np.int64] | None = None
    population: Population | None = None
    no_attack: bool = False
    safe_class: Literal["above", "at-least"] = "above"
    suppression_limit: float = 1.0
    minimum: Sequence[int] | None = None

    def __post_init__(self) -> None:
        cells = self.lattice.n_records
        if self.released.shape != (cells,) or not self.released.sum() > 0 or (self.released < 0).any():
            raise InputError(
                "no records in the cells of the lattice", found=self.released.shape, expected=f"counts of {cells} cells"
            )
        if not 0 <= self.suppression_limit <= 1:
            raise InputError(
                "not a share of the records", where="suppression limit", found=self.suppression_limit, expected="0 to 1"
            )
        if self.kind is None and self.prices.n_kinds > 1:
            raise InputError(
                "payoff parameters by kind of record, but no kinds", found=self.prices.n_kinds, expected="one price"
            )
        if self.kind is not None and (
            self.kind.shape != (cells,) or self.kind.min() < 0 or self.kind.max() >= self.prices.n_kinds
        ):
            raise InputError(
                "kinds do not fit the cells and payoff parameters",
                found=self.kind.shape,
                expected=f"{cells} numbers below {self.prices.n_kinds}",
            )
        self.lattice.index(self.lowest)

    def at_points(self, numbers: NDArray[np.intp]) -> FullDomainGame:
        """Return the game at some of its parameter points, with what does not depend on them as computed here."""
        part = copy.copy(self)
        for name in ("best_case", "thresholds", "_columns", "_everywhere", "_bound_losses"):
            part.__dict__.pop(name, None)
        object.__setattr__(part, "prices", self.prices.points(numbers))
        return part

    @cached_property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.released.sum())

    @property
    def lowest(self) -> tuple[int, ...]:
        """Lowest level of each attribute."""
        return tuple(self.minimum) if self.minimum is not None else (0,) * len(self.lattice.shape)

    @cached_property
    def most_suppressed(self) -> int:
        """The most records that may be suppressed."""
        return most_within(self.suppression_limit, self.n_records)

    @cached_property
    def best_case(self) -> Floats:
        """The payout if every record were shared as it is and none attacked, shape (n_points,)."""
        return np.asarray(self.prices.benefit @ self._by_kind(self.released))

    @cached_property
    def cell_kind(self) -> NDArray[np.int64]:
        """The kind of each cell, shape (n_cells,)."""
        return np.zeros(self.lattice.n_records, dtype=np.int64) if self.kind is None else self.kind.astype(np.int64)

    def cell_prices(self, point: int = 0) -> FourArrays:
        """Return benefit, loss, gain and cost of each cell's records at a point, shape (n_cells,) each."""
        benefit, loss, gain, cost = (np.ascontiguousarray(each[point, self.cell_kind]) for each in self.prices.arrays)
        return benefit, loss, gain, cost

    def _by_kind(self, amounts: NDArray[np.number[Any]]) -> Floats:
        """Add up amounts of cells (n_cells,) by kind of record, shape (n_kinds,)."""
        sums = np.bincount(self.cell_kind, weights=amounts, minlength=self.prices.n_kinds)
        return np.asarray(sums, dtype=np.float64)

    @cached_property
    def finest(self) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
        """What rolls classes up, the ungeneralized classes, and the class of each cell."""
        return finest_classes(self.lattice, self.released, self.population)

    @cached_property
    def by_class(self) -> bool:
        """Whether all records of a class pay the same, so that classes can stand for their records."""
        return self.prices.n_kinds == 1 and self.finest[0].loss_is_of_class

    @property
    def outcomes_of_classes(self) -> bool:
        """Whether nothing but the sizes and losses of its classes matters for what a node leads to."""
        return self.by_class

    @property
    def rule(self) -> int:
        """What is suppressed, as compiled functions read it; see `node_payoffs`."""
        return NO_ATTACK_STRICT if self.no_attack and self.safe_class == "above" else int(self.no_attack)

    @cached_property
    def thresholds(self) -> Thresholds:
        """The ratios of prices that decide on classes at each point; for one kind of record."""
        return Thresholds.of(self.prices, self.rule)

    @property
    def followed(self) -> Followed:
        """Rows to follow in a walk: none when classes stand for their records."""
        if self.by_class:
            return NOBODY
        cells = self.lattice.n_records
        return Followed(np.arange(cells), self.finest[2], np.zeros(cells))

    def outcomes(self, node: int, table: ClassTable, followed: Followed) -> Floats:
        """Return payout, suppressed records, attacked records and adversary's payoff of a node, shape (n_points, 4).

        Here they follow from the sizes of the node's classes alone; elsewhere more of `node` may matter. Of classes
        that are not in the table, nothing is counted.
        """
        if self.by_class:
            starts = np.array([0, len(table.keys)])
            return np.asarray(self.outcomes_of_tables(table, starts, self._everywhere)[0])
        outcomes, rows = np.zeros((self.prices.n_points, 4)), followed.rows
        payoffs_by_record(
            self.released[rows], followed.group_of, followed.loss, self.cell_kind[rows], table.people,
            self.prices.arrays, self.rule, outcomes,
        )  # fmt: skip
        return outcomes

    def outcomes_of_tables(self, tables: ClassTable, starts: NDArray[np.int64], points: NDArray[np.bool_]) -> Floats:
        """Return the outcomes of tables of classes that stand for their records, shape (n_tables, n_points, 4).

        The tables follow one another; `starts` (n_tables + 1,) tells where each begins, and their end. At points that
        are not asked for, outcomes are perhaps 0.
        """
        outcomes = np.zeros((len(starts) - 1, self.prices.n_points, 4))
        if self.no_attack:
            no_attack_payoffs(tables, starts, self.thresholds.attacked_below, self._columns[0], points, outcomes)
        else:
            basic_payoffs(tables, starts, self.thresholds, self._columns, points, outcomes)
        return outcomes

    def may_keep(self, table: ClassTable, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which classes of a table keep records at one of some points, shape (n_classes,).

        No class does that is part of one that does not, and loses as much or more. For games whose classes stand for
        their records.
        """
        return np.asarray(may_be_kept(table, self.thresholds, points, self.no_attack))

    @cached_property
    def _everywhere(self) -> NDArray[np.bool_]:
        return np.ones(self.prices.n_points, dtype=np.bool_)

    @cached_property
    def _columns(self) -> FourArrays:
        # Prices of the only kind of records, (n_points,) each.
        benefit, loss, gain, cost = (np.ascontiguousarray(each[:, 0]) for each in self.prices.arrays)
        return benefit, loss, gain, cost

    @cached_property
    def _bound_losses(self) -> list[list[Floats | float]]:
        # Benefit that each level of each attribute takes from all records: (n_points,), or a number at one point.
        def taken(loss: Floats) -> Floats | float:
            lost = np.asarray(self.prices.benefit @ self._by_kind(self.released * loss))
            return lost if len(lost) > 1 else float(lost[0])

        return [[taken(loss) for loss in losses] for losses in self.lattice.record_losses]

    def bound(self, levels: Sequence[int]) -> Floats:
        """Return the most that a node, or one that generalizes it, can pay, shape (n_points,).

        That is the benefit at the node if nobody attacks (the maximal payout of Eq. 6).
        """
        lost: Floats | float = 0.0
        for taken, level in zip(self._bound_losses, levels, strict=True):
            if level:
                lost = lost + taken[level]
        return np.asarray(self.best_case - lost)

    def classes_at(self, node: int) -> tuple[ClassTable, NDArray[np.int32]]:
        """Return the classes at a node, and the class of each cell."""
        roll_up, table, group_of = self.finest
        return roll_up.at(table, self.lattice.levels(node), group_of)

    def sizes_at(self, node: int) -> Floats:
        """Return among how many people a record of each cell hides at a node, shape (n_cells,)."""
        table, group_of = self.classes_at(node)
        return np.asarray(np.maximum(table.people[group_of], 1.0))

    def kept_at(self, node: int, point: int = 0) -> NDArray[np.bool_]:
        """Tell which cells' records are kept at a node, shape (n_cells,)."""
        if node == NO_SOLUTION:
            return np.zeros(self.lattice.n_records, dtype=np.bool_)
        sizes, loss = self.sizes_at(node), 1.0 - self.lattice.utility(node)
        return np.asarray(record_payoffs(loss, sizes, self.cell_prices(point), self.rule)[1])
