"""Defenders with several generalizations: local and multi-dimensional recoding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.defenders.same_form import Withholding
from reidsim.games.full_domain.multi_dimensional import Recoding, within_limit
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.linkage.number_checks import most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

# Limit on records times nodes, whose classes are held in memory. If no two records agree, each product takes 45 bytes,
# so the limit is 900 MB.
_MOST_CLASSES = 20_000_000


@dataclass(frozen=True, eq=False)
class LocalRecoding(Withholding):
    """Choose the best single strategy in rounds, each for the records still withheld.

    The rounds end when no strategy has a payoff above 0 for the records left. Group sizes come from the game's linkage
    and do not depend on which other records a round shares: the group of a record in a later round is still counted
    among the people of the population. Each round may withhold any number of records; the limit applies to the records
    left after the last round. If more are left, all records are withheld.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given. Rows with weight 0 are withheld.
    limit : float
        Share of the records that may be withheld, in [0, 1]; the number of records is rounded down.
    no_attack : bool
        Whether to withhold the records of each round on which an attack pays; a later round may share them.
    minimum : int
        Least protective strategy allowed; 0 allows every strategy.
    rounds : int
        Maximum number of rounds.
    admissible
        Not used.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "local-recoding"
    rounds: int = 100

    def choose(self, game: Game) -> Choice:
        """Return for each record the strategy of the round that shares it; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        played, n = record_game_of(game), game.n_records
        weights = self.weights_of(np.arange(n))
        # The limit applies after the last round, and limits on sensitive attributes are not used.
        form = replace(self.same_form(), limit=1.0, admissible=None)
        strategies = np.full(n, WITHHELD, dtype=np.int64)
        left, evaluated = np.flatnonzero(weights), 0
        for _ in range(self.rounds):
            if not len(left):
                break
            found = form.best_of(played, left)
            evaluated += found.evaluated
            if not found.payoff > 0:
                break
            strategies[left[found.shared]] = found.form
            left = left[~found.shared]
        if weights[left].sum() > most_within(self.limit, weights.sum()):
            strategies[:] = WITHHELD
        return Choice(strategies, "rounds", np.full(n, evaluated, dtype=np.int64), exact=False)


@dataclass(frozen=True, eq=False)
class MultiDimensional(Withholding):
    """Split the domain into regions and release each region at its own node.

    This is multi-dimensional global recoding; see `reidsim.games.full_domain.multi_dimensional` for the method. This
    defender accepts every adversary that decides record by record. Records that do not pay are withheld.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    limit : float
        Share of the records that may be withheld, in [0, 1]; the number of records is rounded down.
    no_attack : bool
        Whether to withhold the records on which an attack pays.
    minimum : int
        Least protective node allowed; 0 allows every node.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are withheld.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "multi-dimensional"

    def choose(self, game: Game) -> Choice:
        """Return the node of each record's region; see `Defender`.

        Raises
        ------
        InputError
            If the strategies are not nodes of a lattice, or records times nodes exceed 20 million.
        """
        played = record_game_of(game)
        n, space = played.n_records, played.space
        if not isinstance(space, GeneralizationLattice):
            raise InputError(
                "multi-dimensional recoding needs generalization hierarchies",
                where=self.name,
                expected="a generalization lattice",
            )
        if n * space.size > _MOST_CLASSES:
            expected = f"at most {_MOST_CLASSES:,} records times releases"
            raise InputError("too many classes to compare", where=self.name, found=n * space.size, expected=expected)
        weights = self.weights_of(np.arange(n))
        regions = _Regions(self, played, space, weights)
        total = weights.sum()
        most = most_within(self.limit, total)
        found, bound = within_limit(regions.best, regions.one_node, int(total), most, regions.best_case)
        evaluated = np.full(n, len(regions.forms), dtype=np.int64)
        return Choice(found.strategies, "splits", evaluated, exact=bound <= found.payout + regions.tie)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Equivalence classes of the records at one node.

    Parameters
    ----------
    of_record : ndarray of int32, shape (n_records,)
        The class of each record.
    member : ndarray of int64, shape (n_classes,)
        One record of each class.
    pays, withheld : ndarray of float64, shape (n_classes,)
        Sum of the payoffs of the class's shared records, in currency units, and number of its withheld records.
    shared : ndarray of bool, shape (n_records,)
        Whether the record is shared.
    """

    of_record: NDArray[np.int32]
    member: NDArray[np.int64]
    pays: Floats
    withheld: Floats
    shared: NDArray[np.bool_]


class _Regions:
    """Recodings of a record game; see `within_limit` for the methods."""

    def __init__(
        self, defender: MultiDimensional, game: RecordGame, lattice: GeneralizationLattice, weights: Floats
    ) -> None:
        self._defender, self._game, self._lattice, self._weights = defender, game, lattice, weights
        self.best_case = float(weights @ game.benefit)
        self.tie = INDIFFERENCE * max(self.best_case, 1.0)
        minimum = np.array([defender.minimum])
        # Ascending node numbers put more specific nodes first, so that the parts of a class precede the class itself.
        self.forms = [form for form in range(lattice.size) if lattice.at_least(form, minimum)[0]]
        self._classes = {form: self._classes_in(form) for form in self.forms}

    def best(self, charge: float) -> Recoding:
        """Return the recoding with the highest value at a charge; see `Recoding.value`."""
        worth: dict[int, Floats] = {}
        split: dict[int, NDArray[np.int64]] = {}
        for form in self.forms:
            classes = self._classes[form]
            worth[form] = classes.pays - charge * classes.withheld
            split[form] = np.full(len(classes.member), WITHHELD)
            for part in self._lattice.predecessors(form):
                if part not in worth:
                    continue
                whole = classes.of_record[self._classes[part].member]
                parts = np.bincount(whole, weights=worth[part], minlength=len(classes.member))
                better = parts > worth[form] + self.tie
                worth[form] = np.where(better, parts, worth[form])
                split[form][better] = part
        regions = np.full(self._lattice.n_records, self.forms[-1], dtype=np.int64)
        strategies = regions.copy()
        for form in reversed(self.forms):
            here = np.flatnonzero(regions == form)
            below = split[form][self._classes[form].of_record[here]]
            regions[here] = np.where(below == WITHHELD, form, below)
        for form in np.unique(regions).tolist():
            here = regions == form
            strategies[here] = np.where(self._classes[form].shared[here], form, WITHHELD)
        withheld = float(self._weights[strategies == WITHHELD].sum())
        return Recoding(regions, strategies, float(worth[self.forms[-1]].sum()) + charge * withheld, int(withheld))

    def one_node(self) -> Recoding | None:
        """Return the best single node within the limit on withheld records, or None.

        One node applies to all records. Records whose release does not pay or is not allowed are withheld.
        """
        found = self._defender.same_form().best_of(self._game, np.arange(self._lattice.n_records))
        if found.form == WITHHELD:
            return None
        regions = np.full(self._lattice.n_records, found.form, dtype=np.int64)
        strategies = np.where(found.shared, regions, WITHHELD)
        return Recoding(regions, strategies, found.payoff, int(self._weights[~found.shared].sum()))

    def _classes_in(self, form: int) -> _Classes:
        outcome = self._game.outcome(form)
        shared = outcome.publisher_payoff > self._game.tie()
        if self._defender.no_attack:
            shared &= ~outcome.response.invited
        if self._defender.admissible is not None:
            shared &= self._defender.admissible.at(form)
        of_record = classes_at(self._lattice, form)
        member = np.unique(of_record, return_index=True)[1]
        pays, withheld = (
            np.asarray(np.bincount(of_record, weights=self._weights * amount), dtype=np.float64)
            for amount in (np.where(shared, outcome.publisher_payoff, 0.0), ~shared)
        )
        return _Classes(of_record.astype(np.int32), member, pays, withheld, shared)
