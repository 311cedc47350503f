"""Full-domain game: one node for all records, and suppression of some records.

The walk of the lattice reaches every node once, by raising attributes one after the other; the last attribute runs
through its levels fastest. A node's table is rolled up from the table of the node whose last raised attribute is one
level lower. At any time only the tables on the path to the current node are held. All nodes reached from a node
generalize it. So a bound on the payout (the publisher's payoff over all records) of a node and of all its
generalizations can close the whole branch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, OneShotAdversary
from reidsim.core.numerics import compiled
from reidsim.games.composite import TypesAdversary, parts_of, payoff_of_withholding, with_each
from reidsim.games.directions.best_replies import DirectedLinker
from reidsim.games.full_domain.class_table import ClassTable, Ints, RollUp, finest_classes
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Prices, RecordGame, most_within
from reidsim.populations.population import Population
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows

# Columns of the outcomes of a node.
PAYOUT, SUPPRESSED, ATTACKED, ADVERSARY = range(4)
# Losses above this count as suppression; otherwise rounding could leave a benefit of 1e-16.
_SUPPRESSED_ABOVE = 1.0 - 1e-12


class Terms(NamedTuple):
    """Payoff parameters and decision ratios; arrays of shape (n_kinds,).

    Attributes
    ----------
    benefit, loss, gain, cost : ndarray of float64
        In currency units per record; see `Prices`.
    safe_from : ndarray of float64
        Smallest group size that is not attacked (``G / C``, or the next larger number in a strict No-Attack game).
    ruinous_at : ndarray of float64
        Attacked records whose group size times utility is not larger are suppressed (``L / B``); infinite in the
        No-Attack game.
    keeps_worthless : bool
        Whether records that are not attacked are kept even without utility, as in the No-Attack game.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats
    safe_from: Floats
    ruinous_at: Floats
    keeps_worthless: bool


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the ratio of two payoff parameters, `above` / `below`, by kind.

    0 / 0 is 0; any other value divided by 0 is infinite. The arrays have shape (n_kinds,).
    """
    return np.divide(above, below, out=np.where(above > 0, np.inf, 0.0), where=below > 0)


def utilities_of(loss: Floats) -> Floats:
    """Return the utility of each record: 1 - information loss (`loss`), at least 0.

    It is 0 for a loss within rounding (1e-12) of 1 or above.
    """
    return np.where(loss > _SUPPRESSED_ABOVE, 0.0, 1.0 - loss)


@compiled()
def record_outcomes(loss: Floats, people: Floats, terms: Terms, kind: Ints) -> Floats:
    """Return the outcome of each record at a node, shape (4, n_records).

    The rows are the publisher's payoff, whether the record is suppressed, whether it is attacked (0 or 1), and the
    adversary's payoff; amounts are in currency units. All except the second are 0 for a suppressed record. `loss`
    (information losses), `people` (group sizes, of which less than 1 counts as 1) and `kind` (positions in the arrays
    of `terms`) have shape (n_records,). The loop has no branches because attacks are hard to predict for the processor.
    """
    outcomes = np.empty((4, len(loss)))
    for i in range(len(loss)):
        own, size = kind[i], max(people[i], 1.0)
        utility = 0.0 if loss[i] > _SUPPRESSED_ABOVE else 1.0 - loss[i]
        worth = terms.benefit[own] * utility
        safe = size >= terms.safe_from[own]
        attacked = ~safe & (utility * size > terms.ruinous_at[own])
        kept = attacked | (safe & ((worth > 0.0) | terms.keeps_worthless))
        outcomes[PAYOUT, i] = kept * (worth - attacked * (terms.loss[own] / size))
        outcomes[SUPPRESSED, i], outcomes[ATTACKED, i] = 1 - kept, attacked
        outcomes[ADVERSARY, i] = attacked * (terms.gain[own] / size - terms.cost[own])
    return outcomes


@compiled()
def node_totals(of_classes: Floats, released: Ints, starts: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Add up the outcomes of the records of each node.

    Parameters
    ----------
    of_classes : ndarray of float64, shape (4, n_classes)
        Outcome of a record of each class; see `record_outcomes`. The classes of a node follow each other.
    released : ndarray of int64, shape (n_classes,)
        Number of records of each class.
    starts : ndarray of int64, shape (n_nodes + 1,)
        Position at which the classes of each node begin, and the end of the last.

    Returns
    -------
    ndarray of float64, shape (n_nodes, 4)
        Outcomes of each node; see `FullDomainGame.outcomes`.
    ndarray of bool, shape (n_classes,)
        Whether each class has records that are kept.
    """
    outcomes = np.zeros((len(starts) - 1, 4))
    for node in range(len(outcomes)):
        for i in range(starts[node], starts[node + 1]):
            for which in range(4):
                outcomes[node, which] += of_classes[which, i] * released[i]
    return outcomes, (of_classes[SUPPRESSED] == 0) & (released > 0)


# Node number of a solution without a node: no record is released.
NO_SOLUTION = -1


class Followed(NamedTuple):
    """Rows whose classes the walk follows through the lattice; arrays of equal shape.

    Attributes
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
    adversary's gain G and cost C (`prices`), and the information loss IL. The record is suppressed if this payoff is
    not above zero. Suppression does not change the class sizes of other records. In the No-Attack game (`no_attack`),
    records of classes of at most ``G / C`` people are suppressed instead (none, if ``G = 0``), which is k-anonymity
    under prosecutor risk and k-map under journalist risk; `safe_class` determines whether a class of exactly that size
    is safe.

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
        """Largest number of records that may be suppressed.

        It is `suppression_limit` times the number of records, rounded down.
        """
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

        This holds if all records have the same payoff parameters, and all values in a group of a hierarchy have the
        same information loss.
        """
        return self.prices.n_kinds == 1 and self.finest[0].loss_is_of_class

    @property
    def relaxed(self) -> FullDomainGame | None:
        """Game that is computed by class and bounds this one; None if there is no such game.

        Each node of it has at least the payout and at most the suppressed records that the node has in this game.
        """
        return self if self.by_class else None

    @cached_property
    def terms(self) -> Terms:
        """Payoff parameters, with the ratios that decide whether records are kept.

        They are arrays by kind of record; see `Terms`. Ratios allow for rounding.
        """
        prices = self.prices
        benefit, loss, gain, cost = prices.benefit, prices.loss, prices.gain, prices.cost
        # Rounding must not turn equality into an attack, nor into safety in the strict game.
        safe_from = _ratio(gain, cost) / (1 + INDIFFERENCE)
        if self.no_attack and self.safe_class == "above":
            safe_from = np.nextafter(_ratio(gain, cost) * (1 + INDIFFERENCE), np.inf)
        profitable = (benefit > 0) & (not self.no_attack)
        ruinous_at = np.where(profitable, _ratio(loss, benefit), np.inf) * (1 + INDIFFERENCE)
        return Terms(benefit, loss, gain, cost, safe_from, ruinous_at, keeps_worthless=self.no_attack)

    @property
    def followed(self) -> Followed:
        """Cells whose classes a walk of the lattice follows, at the ungeneralized node.

        The result has all cells (distinct records), their ungeneralized classes and an information loss of 0. It is
        empty if all records of a class pay the same, so that results are computed by class (`by_class`).
        """
        if self.by_class:
            return NOBODY
        cells = self.lattice.n_records
        return Followed(np.arange(cells), self.finest[2], np.zeros(cells))

    def walk(
        self, enter: Enter = lambda node, levels, followed: followed, followed: Followed | None = None
    ) -> Iterator[Visit]:
        """Yield the nodes at or above the lowest levels, except in closed branches.

        The lowest node comes first; if its branch is closed, no node is yielded.

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

    def at(self, node: int) -> Visit:
        """Return the `Visit` of a node, with its classes and all cells followed.

        `node` is the node's number.
        """
        (roll_up, table, group_of), levels = self.finest, self.lattice.levels(node)
        table, group_of = roll_up.at(table, levels, group_of)
        cells = np.arange(self.lattice.n_records)
        return Visit(node, levels, table, Followed(cells, group_of, 1.0 - self.lattice.utility(node)))

    def of_cells(self, visit: Visit) -> Floats:
        """Return the outcome of a record of each cell at a node, shape (4, n_cells).

        For the rows see `record_outcomes`. `visit` must follow all cells, unless a subclass uses the node itself.
        """
        people, terms = visit.table.people[visit.followed.group_of], self.terms_at(visit.table)
        return np.asarray(record_outcomes(visit.followed.loss, people, terms, self.cell_kind))

    def terms_at(self, table: ClassTable) -> Terms:
        """Return the payoff parameters and decision ratios at the node with the classes `table`; here `terms`."""
        return self.terms

    def of_classes(self, table: ClassTable) -> Floats:
        """Return the outcome of a record of each class of `table`, shape (4, n_classes).

        For the rows see `record_outcomes`. This requires `by_class`. If a class is suppressed, so is every part of the
        class that has at least the same information loss; searches use this.
        """
        return np.asarray(record_outcomes(table.loss, table.people, self.terms_at(table), np.zeros_like(table.keys)))

    def penalties(self, sizes: Floats) -> Floats:
        """Return the least amount by which the payoff of a record falls below its benefit, by group size (`sizes`).

        The benefit is that at the node. The amount, in currency units, is infinite if the record is suppressed. This
        requires `by_class`.
        """
        attacked = np.inf if self.no_attack else self.prices.loss[0] / sizes
        return np.where(sizes >= self.terms.safe_from[0], 0.0, attacked)

    def bounds(self, tables: ClassTable, starts: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return bounds on the outcomes of branches, and the classes with records that a branch may keep.

        Records of a class of `tables` agree in the attributes that a branch fixes; the classes of a branch follow each
        other. For the parameters and the results see `node_totals`. A node of a branch has at most the payout and at
        least the number of suppressed records in its row. This requires `by_class`.
        """
        return node_totals(self.of_classes(tables), tables.released, starts)

    def outcomes(self, visit: Visit) -> Floats:
        """Return the outcomes of a node, shape (4,).

        They are the publisher's payoff over all records (payout), the numbers of suppressed and of attacked records,
        and the adversary's payoff over all records; amounts in currency units. If records of a class differ, `visit`
        must follow all cells.
        """
        if self.by_class:
            return np.asarray((self.of_classes(visit.table) * visit.table.released).sum(axis=1))
        return np.asarray((self.of_cells(visit) * self.released).sum(axis=1))

    def rounds(self, visit: Visit) -> Iterator[Floats]:
        """Yield the outcomes of a node after each round of suppression, each of shape (4,); the last are `outcomes`.

        The payout never rises from round to round, and the number of suppressed records never falls. Here, a single
        round is stable. `visit` is as in `outcomes`.
        """
        yield self.outcomes(visit)

    def outcomes_by_row(self, visit: Visit) -> tuple[Ints, Ints, Ints, Floats]:
        """Return the outcomes of the classes or cells with records at a node.

        Returns
        -------
        keys : ndarray of int64
            Keys of the classes with records, ascending; see `RollUp.keys_at`.
        class_of, released : ndarray of int64, shape (n_rows,)
            Position in `keys` and number of records of each row: a class, or a cell if records of a class differ.
        outcomes : ndarray of float64, shape (4, n_rows)
            Outcome of a record of each row; see `record_outcomes`.
        """
        if self.by_class:
            rows = np.flatnonzero(visit.table.released)
            released, outcomes = visit.table.released, self.of_classes(visit.table)
            return visit.table.keys[rows], np.arange(len(rows)), released[rows], outcomes[:, rows]
        rows = np.flatnonzero(self.released)
        keys, class_of = np.unique(self.finest[0].keys_at(self.lattice.codes[rows], visit.levels), return_inverse=True)
        return keys, class_of, self.released[rows], self.of_cells(visit)[:, rows]

    def _benefit_of(self, records: NDArray[np.int64] | Floats) -> float:
        """Return the publisher's benefit from ungeneralized records, in currency units.

        `records` (n_cells,) is the number of records of each cell, not necessarily whole.
        """
        by_kind = np.bincount(self.cell_kind, weights=records, minlength=self.prices.n_kinds)
        return float(self.prices.benefit @ by_kind)

    @cached_property
    def lost_benefit(self) -> list[list[float]]:
        """Benefit that all records together lose at each level of each attribute, in currency units."""
        return [[self._benefit_of(self.released * loss) for loss in losses] for losses in self.lattice.record_losses]

    def bound(self, levels: Sequence[int]) -> float:
        """Return an upper bound on the payout of a node and of its generalizations.

        `levels` are the node's levels. The result is in currency units over all records. The bound is the benefit at
        the node without any attack (the maximal payout of Eq. 6).
        """
        lost = sum((lost[level] for lost, level in zip(self.lost_benefit, levels, strict=True) if level), 0.0)
        return self.best_case - lost

    def sizes_at(self, node: int) -> Floats:
        """Return the group size of a record of each cell at a node, shape (n_cells,).

        It is the number of people in the class of the records, under the risk model of the game, before suppression; at
        least 1.
        """
        visit = self.at(node)
        return np.maximum(visit.table.people[visit.followed.group_of], 1.0)

    def kept_at(self, node: int) -> NDArray[np.bool_]:
        """Return whether the records of each cell are kept at a node, shape (n_cells,).

        Records that are not kept are suppressed. No record is kept at node -1 (`NO_SOLUTION`).
        """
        if node == NO_SOLUTION:
            return np.zeros(self.lattice.n_records, dtype=np.bool_)
        return np.asarray(self.of_cells(self.at(node))[SUPPRESSED] == 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageRiskGame(FullDomainGame):
    """No-Attack game that limits the mean of 1 / class size over the records kept.

    Classes smaller than k are suppressed, where k is the smallest size, at each node, with which the mean is within the
    limit. It requires prosecutor risk, a single kind of record and `no_attack`; the adversary's gain and cost have no
    effect.

    Parameters
    ----------
    max_average_risk : float
        Largest mean, in (0, 1].
    """

    max_average_risk: float

    def _largest(self, released: Ints) -> tuple[Ints, int]:
        """Return the sizes of classes, descending, and how many of the largest have a mean within the limit."""
        sizes = -np.sort(-released[released > 0])
        number = np.arange(1, len(sizes) + 1)
        return sizes, int((number <= self.max_average_risk * (1 + INDIFFERENCE) * np.cumsum(sizes)).sum())

    def terms_at(self, table: ClassTable) -> Terms:
        """Return the terms with the smallest class size that the node keeps as the size safe from attacks."""
        sizes, most = self._largest(table.released)
        return self.terms._replace(safe_from=np.append(sizes + 1.0, 1.0)[most : most + 1])

    def penalties(self, sizes: Floats) -> Floats:
        """Return 0 for each group size, because the sizes that a node keeps depend on all of its classes."""
        return np.zeros_like(sizes)

    def bounds(self, tables: ClassTable, starts: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return bounds on the outcomes of branches; see `FullDomainGame.bounds`.

        A node has smaller classes than its branch, so it keeps no more classes, and their records are in no more
        classes of the branch. A class that is too small in the branch may be kept at a node.
        """
        outcomes, worth = np.zeros((len(starts) - 1, 4)), self.prices.benefit * utilities_of(tables.loss)
        for outcome, begin, end in zip(outcomes, starts[:-1], starts[1:], strict=True):
            released = tables.released[begin:end]
            sizes, most = self._largest(released)
            outcome[PAYOUT] = -np.partition(-worth[begin:end] * released, most - 1)[:most].sum()
            outcome[SUPPRESSED] = sizes[most:].sum()
        return outcomes, tables.released > 0


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyAdversaryGame(FullDomainGame):
    """Full-domain game against adversaries who respond record by record.

    The adversaries of a record game respond to every record at a node. Everything else is as in `FullDomainGame`:
    records that do not pay are suppressed, and every search accepts the game. The searches only require that a record
    pays at most its benefit at the node, which also holds for adversaries who make errors. The No-Attack game
    suppresses records that any adversary attacks, and records that would be profitable to attack for an adversary who
    makes errors. If only larger classes are safe (`safe_class`), the game made by `from_record_game` also suppresses
    records to which a one-shot adversary is indifferent.

    For the other parameters see `FullDomainGame`.

    Parameters
    ----------
    record_game : RecordGame
        Game whose records are the lattice's cells, with the benefits of `prices`. Gain and cost of `prices` have no
        effect.
    by_size : bool
        Whether responses depend only on the group size of a record as this game counts it, losses are equal for all
        records, and the larger of two classes never keeps fewer records. The game is then computed by class instead of
        by record, and branch search accepts it. This holds for one or several one-shot adversaries: each attacks up to
        some class size, the success probability falls with size, and under every rule for several types the probability
        that any type succeeds rises with the probability of each type.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are suppressed.
    cells : ndarray of int, shape (n_cells,), optional
        Record of `record_game` of each cell, if not all are cells of this game.
    unlimited : AnyAdversaryGame, optional
        The game without `admissible`, if it is computed by size; searches bound nodes by it.
    """

    # Other adversaries than the expected ones may attack the smaller parts.
    splits_at_equal_payoff: ClassVar[bool] = False

    record_game: RecordGame
    by_size: bool = False
    admissible: AdmissibleGroups | None = None
    cells: Rows | None = None
    unlimited: AnyAdversaryGame | None = None

    @classmethod
    def from_record_game(
        cls,
        game: FullDomainGame,
        record_game: RecordGame,
        *,
        by_size: bool = False,
        admissible: AdmissibleGroups | None = None,
    ) -> AnyAdversaryGame:
        """Return the game with a record game's adversaries in place of the one-shot one.

        The records of `record_game` are the cells of the game. For the other parameters see `AnyAdversaryGame`. In the
        No-Attack game, adversaries attack when indifferent if only larger classes are safe; see `safe_class` of
        `FullDomainGame`. `by_size` is dropped if records of a class differ in payoff parameters or loss. With
        `admissible`, it holds for the `unlimited` game alone.
        """
        given = {item.name: getattr(game, item.name) for item in fields(FullDomainGame)}
        strict = game.no_attack and game.safe_class == "above"
        record_game = eager(record_game) if strict else record_game
        whole = cls(**given, record_game=record_game, by_size=by_size and game.by_class)
        if admissible is None:
            return whole
        return replace(whole, by_size=False, admissible=admissible, unlimited=whole if whole.by_size else None)

    def among(self, cells: Rows) -> Self:
        """Return the game of the records of some cells, without a suppression limit.

        A cell is a distinct record; `cells` holds cell numbers. The adversary links the records as before, and replies
        are computed by record (`by_size` is False).
        """
        cells_of_game = cells if self.cells is None else self.cells[cells]
        return replace(super().among(cells), cells=cells_of_game, by_size=False, unlimited=None)

    @cached_property
    def by_class(self) -> bool:
        """Whether replies depend only on class sizes; the same as `by_size`.

        Otherwise, the record game evaluates every cell (distinct record).
        """
        return self.by_size

    @property
    def relaxed(self) -> FullDomainGame | None:
        """Game that is computed by class and bounds this one, or None; limits can only suppress more records."""
        return self if self.by_size else self.unlimited

    @property
    def followed(self) -> Followed:
        """Cells whose classes a walk of the lattice follows: none.

        The record game finds the people who match a cell.
        """
        return NOBODY

    @cached_property
    def finest(self) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
        """The roll-up, the ungeneralized classes and the class of each cell.

        The last has shape (n_cells,). Without `by_size`, the table of classes holds a single empty class, to which all
        cells belong, because the record game counts group sizes itself.
        """
        if self.by_size:
            return finest_classes(self.lattice, self.released, self.population)
        nobody = ClassTable(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
        nowhere: NDArray[np.int32] = np.zeros(self.lattice.n_records, dtype=np.int32)
        return RollUp(self.lattice, self.lattice.codes), nobody, nowhere

    def of_cells(self, visit: Visit) -> Floats:
        """Return the outcome of a record of each cell at a node, shape (4, n_cells).

        See `FullDomainGame.of_cells`; only the number of the node is used. A suppressed record pays the publisher 0, or
        minus the expected loss from its earlier releases. The number of attacked records is expected. Against searches
        for persons, suppression is repeated until it is stable.
        """
        *_, last = self._rounds_of_cells(visit)
        return last

    def rounds(self, visit: Visit) -> Iterator[Floats]:
        """Yield the outcomes after each round of suppression; see `FullDomainGame.rounds`."""
        if self.by_class:
            yield self.outcomes(visit)
        else:
            yield from ((of_cells * self.released).sum(axis=1) for of_cells in self._rounds_of_cells(visit))

    def _rounds_of_cells(self, visit: Visit) -> Iterator[Floats]:
        game, kept = self.record_game, np.ones(self.lattice.n_records, dtype=np.bool_)
        if self.admissible is not None:
            kept = self.admissible.at(visit.node, self.cells)
        rows = np.arange(game.n_records) if self.cells is None else self.cells
        searched = any(isinstance(each.linker, DirectedLinker) for each in parts_of(game))
        while True:
            # The linker of a release in which all records have one strategy is slower.
            if searched and (self.cells is not None or not kept.all()):
                # A suppressed record is no candidate in a search for a person, so that others may be easier to find.
                strategies = np.full(game.n_records, WITHHELD, dtype=np.int64)
                strategies[rows[kept]] = visit.node
                game = self.record_game.with_strategies(strategies)
            outcome = game.outcome(visit.node, self.cells)
            payoff, response = outcome.publisher_payoff, outcome.response
            pays = self._pays(payoff - self._withheld, game.tie(self.cells), response.invited)
            settled, kept = not searched or bool(pays[kept].all()), kept & pays
            yield _outcomes(kept, payoff, self._withheld, response.attack_probability, response.adversary_payoff)
            if settled:
                return

    def of_classes(self, table: ClassTable) -> Floats:
        """Return the outcome of a record of each class of `table`, shape (4, n_classes).

        For the rows see `record_outcomes`. This requires `by_size`. A group size below 1 counts as 1.
        """
        game = self.record_game
        reidentified, invited, attacked, gained = self._replies(np.maximum(table.people, 1.0))
        payoff = game.benefit[0] * (1.0 - table.loss) - game.loss[0] * reidentified
        kept = self._pays(payoff, game.tie(np.zeros(1, dtype=np.intp)), invited > 0)
        return _outcomes(kept, payoff, 0.0, attacked, gained)

    def penalties(self, sizes: Floats) -> Floats:
        """Return the expected losses by group size; see `FullDomainGame.penalties`. This requires `by_size`."""
        reidentified, invited, *_ = self._replies(sizes)
        return np.where((invited > 0) & self.no_attack, np.inf, self.record_game.loss[0] * reidentified)

    def _replies(self, sizes: Floats) -> Floats:
        """Return the adversary's reply to classes of some sizes, shape (4, n_sizes).

        Rows: probability of re-identification, 1 if an attack pays, probability of attack, adversary's payoff.
        """
        reply = self.record_game.adversary.respond(Linkage(sizes, sizes))
        return np.array([reply.reidentified, reply.invited, reply.attack_probability, reply.adversary_payoff])

    def _pays(self, ahead: Floats, tie: Floats, invited: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each record is kept rather than suppressed.

        `ahead` is its payoff less the payoff of suppression, `tie` the tie tolerance, and `invited` whether an attack
        on it pays. A record is kept if `ahead` exceeds `tie`. In the No-Attack game, it is kept if no attack on it pays
        and `ahead` is at least ``-tie``.
        """
        # An adversary who makes errors may attack without an expected profit, so that sharing a record causes a loss.
        return ~invited & (ahead >= -tie) if self.no_attack else ahead > tie

    @cached_property
    def _withheld(self) -> Floats:
        return payoff_of_withholding(self.record_game, self.cells)


def _outcomes(
    kept: NDArray[np.bool_], payoff: Floats, withheld: Floats | float, attacked: Floats, gained: Floats
) -> Floats:
    return np.array(
        [np.where(kept, payoff, withheld), ~kept, np.where(kept, attacked, 0.0), np.where(kept, gained, 0.0)]
    )


def eager(game: RecordGame) -> RecordGame:
    """Return a game in which one-shot adversaries attack when indifferent.

    The result is otherwise equal to `game`. One-shot adversaries within types, or under a restriction such as a budget,
    are included; other adversaries are unchanged.
    """
    return with_each(game, lambda each: replace(each, adversary=_eager_adversary(each.adversary)))


def _eager_adversary(adversary: Adversary) -> Adversary:
    if isinstance(adversary, OneShotAdversary):
        # Lower the cost by more than the tolerance for equal amounts, so that indifference turns into attack.
        return replace(adversary, cost=adversary.cost * (1 - 2 * INDIFFERENCE))
    if isinstance(adversary, TypesAdversary):
        types = tuple(replace(each, adversary=_eager_adversary(each.adversary)) for each in adversary.types)
        return replace(adversary, types=types)
    if is_dataclass(adversary) and hasattr(adversary, "adversary"):
        # An adversary that makes only some attacks of another one, as within a budget.
        narrowed: Adversary = replace(adversary, adversary=_eager_adversary(adversary.adversary))
        return narrowed
    return adversary
