"""Full-domain game against any adversary of a record game.

An example is a game against several adversary types at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage
from reidsim.games.adversary_types import AdversaryType, TypesAdversary, TypesGame
from reidsim.games.full_domain.class_table import ClassTable, Ints, RollUp, finest_classes
from reidsim.games.full_domain.game import NO_SOLUTION, NOBODY, Followed, FullDomainGame, Visit
from reidsim.games.full_domain.node_payoffs import ADVERSARY, ATTACKED, PAYOUT, SUPPRESSED
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import AdmissibleGroups, Outcome, RecordGame
from reidsim.releases.strategy_space import Floats, Rows

# Largest number of people for which the adversary's replies are computed once for every class size; they take 25 bytes
# per person.
_MOST_SIZES = 2_000_000


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
    """

    # Other adversaries than the expected ones may attack the smaller parts.
    splits_at_equal_payoff: ClassVar[bool] = False

    record_game: RecordGame
    by_size: bool = False
    admissible: AdmissibleGroups | None = None
    cells: Rows | None = None

    @classmethod
    def from_record_game(
        cls,
        game: FullDomainGame,
        record_game: RecordGame,
        *,
        by_size: bool = False,
        admissible: AdmissibleGroups | None = None,
    ) -> AnyAdversaryGame:
        """Replace the one-shot adversary of a game by the adversaries of a record game.

        The records of `record_game` are the cells of the game. For the other parameters see `AnyAdversaryGame`. In the
        No-Attack game, adversaries attack when indifferent if only larger classes are safe; see `safe_class` of
        `FullDomainGame`. `by_size` is dropped if records of a class differ in payoff parameters or loss, or with
        `admissible`.
        """
        given = {item.name: getattr(game, item.name) for item in fields(FullDomainGame)}
        strict = game.no_attack and game.safe_class == "above"
        record_game = eager(record_game) if strict else record_game
        by_size = by_size and game.by_class and admissible is None
        return cls(**given, record_game=record_game, by_size=by_size, admissible=admissible)

    def among(self, cells: Rows) -> Self:
        """Return the game of the records of some cells, without a suppression limit.

        A cell is a distinct record; `cells` holds cell numbers. The adversary links the records as before, and replies
        are computed by record (`by_size` is False).
        """
        return replace(super().among(cells), cells=cells if self.cells is None else self.cells[cells], by_size=False)

    @cached_property
    def by_class(self) -> bool:
        """Whether replies depend only on class sizes; the same as `by_size`.

        Otherwise, the record game evaluates every cell (distinct record).
        """
        return self.by_size

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

    def outcomes(self, node: int, table: ClassTable, followed: Followed) -> Floats:
        """Return the outcomes of a node, shape (4,).

        They are the publisher's payoff over all records, the numbers of suppressed and of attacked records, and the
        adversary's payoff; see `FullDomainGame.outcomes`. A suppressed record pays the publisher 0, or minus the
        expected loss from its earlier releases. The number of attacked records is expected. Without `by_size`, `table`
        and `followed` are not used.
        """
        if self.by_size:
            return super().outcomes(node, table, followed)
        outcome = self.record_game.outcome(node, self.cells)
        kept, outcomes = self._kept(node, outcome), np.empty(4)
        records = np.where(kept, self.released, 0).astype(np.float64)
        # Sums instead of dot products: the threads of a short dot product take many times longer on a busy machine.
        outcomes[PAYOUT] = (records * outcome.publisher_payoff).sum()
        outcomes[PAYOUT] += ((self.released - records) * self._withheld).sum()
        outcomes[SUPPRESSED] = self.n_records - records.sum()
        outcomes[ATTACKED] = (records * outcome.response.attack_probability).sum()
        outcomes[ADVERSARY] = (records * outcome.response.adversary_payoff).sum()
        return outcomes

    def payoffs_at(self, visit: Visit) -> tuple[Ints, Ints, Ints, Floats, NDArray[np.bool_]]:
        """Return the payoffs of every cell with records at a node.

        The node is that of `visit`. The results are keys of classes, and for each such cell: position of its class in
        the keys, number of records, publisher's payoff of a record, and whether the records are kept; see
        `FullDomainGame.payoffs_at`.
        """
        rows, outcome = np.flatnonzero(self.released), self.record_game.outcome(visit.node, self.cells)
        keys, class_of = np.unique(self.finest[0].keys_at(self.lattice.codes[rows], visit.levels), return_inverse=True)
        kept = self._kept(visit.node, outcome)
        return keys, class_of, self.released[rows], outcome.publisher_payoff[rows], kept[rows]

    def outcomes_of_tables(self, tables: ClassTable, starts: Ints) -> Floats:
        """Return the outcomes of nodes from class tables, shape (n_tables, 4).

        `tables` holds the classes of all nodes, one node after the other, and `starts` (n_tables + 1,) the position at
        which each node's classes begin; see `class_outcomes`. It requires `by_size`.
        """
        kept, payoff, replies = self._classes(tables)
        records = np.where(kept, tables.released, 0).astype(np.float64)
        suppressed = tables.released - records
        amounts = np.empty((4, len(records)))
        amounts[PAYOUT], amounts[SUPPRESSED] = records * payoff, suppressed
        amounts[ATTACKED], amounts[ADVERSARY] = records * replies[2], records * replies[3]
        return np.array([amounts[:, begin:end].sum(axis=1) for begin, end in itertools.pairwise(starts.tolist())])

    def may_keep(self, table: ClassTable) -> NDArray[np.bool_]:
        """Return whether each class of a table keeps records, shape (n_classes,).

        This requires `by_size`; see `FullDomainGame.may_keep`.
        """
        return self._classes(table)[0] & (table.released > 0)

    def _classes(self, table: ClassTable) -> tuple[NDArray[np.bool_], Floats, list[Any]]:
        """Return whether each class is kept, the payoff of a record, and the replies.

        The first two have shape (n_classes,); the payoff is the publisher's if the record is kept, in currency units.
        For the replies, four arrays of the same shape, see `_replies`. A group size below 1 counts as 1. Classes
        without records are not treated separately.
        """
        game, sizes = self.record_game, np.maximum(table.people, 1.0)
        known = self._by_whole_size
        replies = self._replies(sizes) if known is None else [each[sizes.astype(np.int64)] for each in known]
        reidentified, invited = replies[:2]
        payoff = game.benefit[0] * (1.0 - table.loss) - game.loss[0] * reidentified
        tie = INDIFFERENCE * (game.benefit[0] + game.loss[0])
        return (~invited & (payoff >= -tie) if self.no_attack else payoff > tie), payoff, replies

    def _replies(self, sizes: Floats) -> list[Any]:
        """Return the adversary's replies to classes of these sizes, in people.

        `sizes` (n_classes,) holds group sizes. The results, arrays of the same shape, are `reidentified`, `invited`,
        `attack_probability` and `adversary_payoff`; see `Response`.
        """
        response = self.record_game.adversary.respond(Linkage(sizes, sizes))
        return [response.reidentified, response.invited, response.attack_probability, response.adversary_payoff]

    @cached_property
    def _by_whole_size(self) -> list[Any] | None:
        """The adversary's replies to classes of 0, 1, 2, ... people; 0 counts as 1.

        For the four arrays see `_replies`. None if counts of people are not whole numbers, or their total is above 2
        million.
        """
        people = self.finest[1].people
        if people.sum() > _MOST_SIZES or (people % 1.0).any():
            return None
        return self._replies(np.maximum(np.arange(people.sum() + 1.0), 1.0))

    def kept_at(self, node: int) -> NDArray[np.bool_]:
        """Return whether the records of each cell are kept at a node, shape (n_cells,).

        The records of a cell (distinct record) are kept or suppressed together, by the replies of the record game. No
        record is kept at node -1 (`NO_SOLUTION`).
        """
        if node == NO_SOLUTION:
            return np.zeros(self.lattice.n_records, dtype=np.bool_)
        return self._kept(node, self.record_game.outcome(node, self.cells))

    def _kept(self, node: int, outcome: Outcome) -> NDArray[np.bool_]:
        if self.no_attack:
            # An adversary who makes errors may attack nevertheless, so that sharing a record can cause a loss.
            shared = outcome.publisher_payoff >= self._withheld - self.record_game.tie(self.cells)
            shared &= ~outcome.response.invited
        else:
            shared = outcome.publisher_payoff > self._withheld + self.record_game.tie(self.cells)
        return np.asarray(shared if self.admissible is None else shared & self.admissible.at(node, self.cells))

    @cached_property
    def _withheld(self) -> Floats:
        return payoff_of_withholding(self.record_game, self.cells)


def eager(game: RecordGame) -> RecordGame:
    """Return a game in which one-shot adversaries attack when indifferent.

    The result is otherwise equal to `game`. One-shot adversaries within types, or under a restriction such as a budget,
    are included; other adversaries are unchanged.
    """
    if isinstance(game, TypesGame):
        return game.with_types(_eager_types(game.types))
    return replace(game, adversary=_eager_adversary(game.adversary))


def _eager_types(types: tuple[AdversaryType, ...]) -> tuple[AdversaryType, ...]:
    return tuple(replace(each, adversary=_eager_adversary(each.adversary)) for each in types)


def _eager_adversary(adversary: Adversary) -> Adversary:
    if isinstance(adversary, OneShotAdversary):
        # Lower the cost by more than the tolerance for equal amounts, so that indifference turns into attack.
        return replace(adversary, cost=adversary.cost * (1 - 2 * INDIFFERENCE))
    if isinstance(adversary, TypesAdversary):
        return replace(adversary, types=_eager_types(adversary.types))
    if is_dataclass(adversary) and hasattr(adversary, "adversary"):
        # An adversary that makes only some attacks of another one, as within a budget.
        narrowed: Adversary = replace(adversary, adversary=_eager_adversary(adversary.adversary))
        return narrowed
    return adversary
