"""Full-domain game: one node for all records, and suppression of some records.

The walk of the lattice reaches every node once, by raising attributes one after the other; the last attribute runs
through its levels fastest. A node's table is rolled up from the table of the node whose last raised attribute is one
level lower. At any time only the tables on the path to the current node are held. All nodes reached from a node
generalize it. So a bound on the payout of a node and of all its generalizations can close the whole branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.class_table import ClassTable, Ints, RollUp, finest_classes
from reidsim.games.full_domain.node_payoffs import (
    Prices,
    Terms,
    class_outcomes,
    may_be_kept,
    record_outcomes,
    record_payoffs,
)
from reidsim.games.record_game import most_within
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows

# Node number of a solution without a node: no record is released.
NO_SOLUTION = -1


@dataclass(frozen=True)
class Followed:
    """Rows whose classes the walk follows through the lattice; arrays of equal shape.

    Parameters
    ----------
    rows : ndarray of int
        Row numbers.
    group_of : ndarray of int32
        Class of each row.
    loss : ndarray of float64
        Information loss of each row.
    """

    rows: Rows
    group_of: NDArray[np.int32]
    loss: Floats

    def take(self, keep: NDArray[np.bool_]) -> Followed:
        """Return the rows selected by the mask `keep`, with their classes and losses."""
        return Followed(self.rows[keep], self.group_of[keep], self.loss[keep])


# Follows no rows.
NOBODY = Followed(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int32), np.empty(0))


# Returns the rows to follow into the branch of a node, or None to close it, given node, levels, and the rows followed,
# with the losses at the node and the classes at the node before it.
Enter = Callable[[int, Sequence[int], Followed], Followed | None]


class Visit(NamedTuple):
    """A node that a walk reaches.

    Attributes
    ----------
    node : int
        Number of the node.
    levels : tuple of int
        Its levels.
    table : ClassTable
        Its classes.
    followed : Followed
        The rows followed to it.
    """

    node: int
    levels: tuple[int, ...]
    table: ClassTable
    followed: Followed


@dataclass(frozen=True, eq=False)
class FullDomainGame:
    """Full-domain game against a one-shot adversary (Prasser et al. 2017).

    The publisher picks one node of the lattice for the whole dataset. A record in a class of ``k`` people is attacked
    if ``G > C k`` and pays ``B (1 - IL) - [attacked] L / k``, with the publisher's benefit B and loss L, the
    adversary's gain G and cost C (`prices`), and the information loss IL. It is suppressed if that is not above zero.
    Suppression does not change the class sizes of other records. In the No-Attack game (`no_attack`) records of classes
    of at most ``G / C`` people are suppressed instead (with ``G = 0`` none), which is k-anonymity under prosecutor risk
    and k-map under journalist risk; `safe_class` determines whether a class of exactly that size is safe.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over distinct cells of the records; if payoff parameters differ by record, over distinct pairs of cell
        and parameters.
    released : ndarray of int64, shape (n_cells,)
        Number of records in each cell.
    prices : Prices
        Payoff parameters of each kind of record.
    kind : ndarray of int64, shape (n_cells,), optional
        Kind of each cell's records; not needed if there is a single kind.
    population : Population, optional
        Population over the lattice's domain. If given, journalist risk applies: group sizes count its people. Otherwise
        prosecutor risk applies: group sizes count the records.
    no_attack : bool
        Whether to play the No-Attack game.
    safe_class : {"above", "at-least"}
        Whether classes of more than ``G / C`` people are safe in the No-Attack game, as in ARX, or of at least as many,
        as the adversary does not attack when indifferent. It has no effect on the other game.
    suppression_limit : float
        A node is feasible if no more than this share of the records, in [0, 1], is suppressed; the number of records is
        rounded down.
    minimum : sequence of int, optional
        Lowest level allowed for each attribute (Safe-Harbor-friendly); 0, if not given.
    """

    # Whether multi-dimensional recoding splits a class if that pays as much.
    splits_at_equal_payoff: ClassVar[bool] = True

    lattice: GeneralizationLattice
    released: NDArray[np.int64]
    prices: Prices
    kind: NDArray[np.int64] | None = None
    population: Population | None = None
    no_attack: bool = False
    safe_class: Literal["above", "at-least"] = "above"
    suppression_limit: float = 1.0
    minimum: Sequence[int] | None = None

    def among(self, cells: Rows) -> Self:
        """Return the game of the records of some cells, without a suppression limit.

        A cell is a distinct record; `cells` holds cell numbers. Under prosecutor risk, group sizes then count only the
        records of these cells.
        """
        lattice = self.lattice
        lattice = GeneralizationLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes)
        kind = None if self.kind is None else self.kind[cells]
        return replace(self, lattice=lattice, released=self.released[cells], kind=kind, suppression_limit=1.0)

    @cached_property
    def n_records(self) -> int:
        """Number of records, over all cells."""
        return int(self.released.sum())

    @property
    def lowest(self) -> tuple[int, ...]:
        """Lowest allowed level of each attribute; 0 without minimum levels."""
        return tuple(self.minimum) if self.minimum is not None else (0,) * len(self.lattice.shape)

    @cached_property
    def most_suppressed(self) -> int:
        """Largest number of records that may be suppressed: the share, rounded down."""
        return most_within(self.suppression_limit, self.n_records)

    @cached_property
    def best_case(self) -> float:
        """Publisher's payoff over all records without generalization and attacks.

        It is in currency units.
        """
        return self._benefit_of(self.released)

    @cached_property
    def cell_kind(self) -> NDArray[np.int64]:
        """Kind of the records of each cell, ndarray of int64, shape (n_cells,).

        It is the position of their payoff parameters in the arrays of `prices`; 0 if there is a single kind.
        """
        return np.zeros(self.lattice.n_records, dtype=np.int64) if self.kind is None else self.kind.astype(np.int64)

    @cached_property
    def finest(self) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
        """Roll-up of classes, the ungeneralized classes, and the class of each cell.

        See `finest_classes`; a cell is a distinct record, and the last result has shape (n_cells,).
        """
        return finest_classes(self.lattice, self.released, self.population)

    @cached_property
    def by_class(self) -> bool:
        """Whether all records of a class pay the same, so that classes replace records.

        They do if all records have the same payoff parameters, and all values in a group of a hierarchy have the same
        information loss.
        """
        return self.prices.n_kinds == 1 and self.finest[0].loss_is_of_class

    @cached_property
    def terms(self) -> Terms:
        """Payoff parameters, with the ratios that decide whether records are kept.

        They are arrays by kind of record; see `Terms`.
        """
        return Terms.from_prices(self.prices, self.no_attack, self.safe_class == "above")

    @property
    def followed(self) -> Followed:
        """Cells whose classes a walk of the lattice follows, ungeneralized.

        They are all cells (distinct records), or none if classes represent their records (`by_class`).
        """
        if self.by_class:
            return NOBODY
        cells = self.lattice.n_records
        return Followed(np.arange(cells), self.finest[2], np.zeros(cells))

    def walk(
        self, enter: Enter = lambda node, levels, followed: followed, followed: Followed | None = None
    ) -> Iterator[Visit]:
        """Yield the nodes at or above the lowest levels, except in closed branches.

        The lowest node comes first.

        Parameters
        ----------
        enter : callable
            Takes a node, its levels, and the rows followed to it, with the losses at the node and the classes at the
            node before it. Returns the rows to follow from there on, or None to close the branch: the node and its
            generalizations that would be reached from it. By default, no branch is closed.
        followed : Followed, optional
            Rows (cells) to follow, with their ungeneralized classes; the game's, if not given.

        Yields
        ------
        Visit
        """
        (roll_up, finest, _), lattice, lowest = self.finest, self.lattice, self.lowest
        followed = self.followed if followed is None else followed
        order, levels, node = roll_up.order, list(lowest), lattice.index(lowest)
        table, group_of = roll_up.at(finest, levels, followed.group_of)
        loss = np.zeros(len(followed.rows))
        for at, level in enumerate(levels):
            loss += lattice.losses[at][level][lattice.codes[followed.rows, at]]
        entered = enter(node, levels, Followed(followed.rows, group_of, loss))
        if entered is None:
            return
        yield Visit(node, lowest, table, entered)
        # Entry d holds the table and rows with attributes up to depth d at their current level and all later attributes
        # at their lowest. An outdated entry at a greater depth is replaced as soon as an earlier attribute is raised.
        tables, rows = [table] * len(order), [entered] * len(order)
        depth = last = len(order) - 1
        while depth >= 0:
            position, entered = order[depth], None
            level, losses = levels[position], lattice.losses[position]
            if level + 1 < lattice.shape[position]:
                levels[position] += 1
                here = rows[depth]
                added = (losses[level + 1] - losses[level])[lattice.codes[here.rows, position]]
                raised = Followed(here.rows, here.group_of, here.loss + added)
                entered = enter(node + lattice.strides[position], levels, raised)
            if entered is None:
                node -= (level - lowest[position]) * lattice.strides[position]
                levels[position] = lowest[position]
                depth -= 1
                continue
            node += lattice.strides[position]
            table, inverse = roll_up.up(tables[depth], position, level, follow=len(entered.rows) > 0)
            entered = Followed(entered.rows, inverse[entered.group_of], entered.loss)
            yield Visit(node, tuple(levels), table, entered)
            tables[depth:] = [table] * (last + 1 - depth)
            rows[depth:] = [entered] * (last + 1 - depth)
            depth = last

    def outcomes(self, node: int, table: ClassTable, followed: Followed) -> Floats:
        """Return the outcomes of a node, shape (4,).

        The columns are the publisher's payoff over all records (payout), numbers of suppressed and of attacked records,
        and the adversary's payoff over all records; amounts in currency units. `table` holds the classes of the node,
        and `followed` the rows followed to it, which are used if records of a class differ.

        This class computes them from the classes of the node; subclasses may use the node itself.
        """
        if self.by_class:
            return np.asarray(self.outcomes_of_tables(table, np.array([0, len(table.keys)]))[0])
        rows, people = followed.rows, table.people[followed.group_of]
        return record_outcomes(self.released[rows], followed.loss, people, self.terms, self.cell_kind[rows])

    def outcomes_of_tables(self, tables: ClassTable, starts: Ints) -> Floats:
        """Return the outcomes of nodes from class tables, shape (n_tables, 4).

        For parameters and columns see `class_outcomes`. It requires `by_class`.
        """
        return class_outcomes(tables, starts, self.terms)

    def may_keep(self, table: ClassTable) -> NDArray[np.bool_]:
        """Return which classes of a table keep records, shape (n_classes,).

        This requires `by_class`. A class keeps records if it has any, and these are not suppressed at the node of the
        table. A part of a class that keeps none, with at least its information loss, keeps none either.
        """
        return may_be_kept(table, self.terms)

    def payoffs_at(self, visit: Visit) -> tuple[Ints, Ints, Ints, Floats, NDArray[np.bool_]]:
        """Return the publisher's payoffs of the records at a node.

        The node, its classes and the rows followed to it are those of `visit`.

        Returns
        -------
        keys : ndarray of int64
            Keys of the classes with records, ascending; see `RollUp.keys_at`.
        class_of, released : ndarray of int64, shape (n_rows,)
            Position in `keys` and number of records of each row: a class, or a cell if records of a class differ.
        payoff : ndarray of float64, shape (n_rows,)
            Publisher's payoff of a record.
        kept : ndarray of bool, shape (n_rows,)
            Whether the records are kept.
        """
        table, followed, occupied = visit.table, visit.followed, np.flatnonzero(visit.table.released)
        if self.by_class:
            class_of, released, kind = np.arange(len(occupied)), table.released[occupied], np.zeros_like(occupied)
            loss, people = table.loss[occupied], table.people[occupied]
        else:
            class_of, released, kind = np.searchsorted(occupied, followed.group_of), self.released, self.cell_kind
            loss, people = followed.loss, table.people[followed.group_of]
        return table.keys[occupied], class_of, released, *record_payoffs(loss, people, self.terms, kind)

    def _benefit_of(self, records: NDArray[np.int64] | Floats) -> float:
        """Return the publisher's benefit from ungeneralized records, in currency units.

        `records` (n_cells,) is the number of records of each cell, not necessarily whole.
        """
        by_kind = np.bincount(self.cell_kind, weights=records, minlength=self.prices.n_kinds)
        return float(self.prices.benefit @ by_kind)

    @cached_property
    def _lost_benefit(self) -> list[list[float]]:
        # Indexed by attribute and level.
        return [[self._benefit_of(self.released * loss) for loss in losses] for losses in self.lattice.record_losses]

    def bound(self, levels: Sequence[int]) -> float:
        """Bound the payout of a node and its generalizations from above.

        `levels` are the node's levels. The result is in currency units over all records. The bound is the benefit at
        the node without any attack (the maximal payout of Eq. 6).
        """
        lost = sum((lost[level] for lost, level in zip(self._lost_benefit, levels, strict=True) if level), 0.0)
        return self.best_case - lost

    def sizes_at(self, node: int) -> Floats:
        """Return the group size of a record of each cell at a node, shape (n_cells,).

        It is the number of people in the class of the records, under the risk model of the game, before suppression; at
        least 1.
        """
        roll_up, table, group_of = self.finest
        table, group_of = roll_up.at(table, self.lattice.levels(node), group_of)
        return np.maximum(table.people[group_of], 1.0)

    def kept_at(self, node: int) -> NDArray[np.bool_]:
        """Return whether the records of each cell are kept at a node, shape (n_cells,).

        Records that are not kept are suppressed. No record is kept at node -1 (`NO_SOLUTION`).
        """
        if node == NO_SOLUTION:
            return np.zeros(self.lattice.n_records, dtype=np.bool_)
        loss = 1.0 - self.lattice.utility(node)
        return record_payoffs(loss, self.sizes_at(node), self.terms, self.cell_kind)[1]
