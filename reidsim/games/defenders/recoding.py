"""Defenders between one form for all records and a form for each: local recoding and multi-dimensional recoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.defenders.same_form import SameForm, Withholding
from reidsim.games.full_domain.multi_dimensional import Recoding, within_limit
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.linkage.number_checks import most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

# Records times forms whose classes are kept in memory: 45 bytes each where no two records look alike, 900 MB in all.
_MOST_CLASSES = 20_000_000


@dataclass(frozen=True, eq=False)
class LocalRecoding(Withholding):
    """Picks the one form that pays most, then again for the records that it withholds, until that pays nothing more.

    Group sizes are those of the game's linkage, whoever else is shared in the form: a record of a later round hides
    among the people of a population who look like it. Each round may withhold any number of records; the limit holds
    for what is left after the last one.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    limit : float
        Share of the records that may be withheld (rounded down).
    no_attack : bool
        Withhold the attacked records of each round.
    minimum : int
        Only forms at least as protective as this one; any, if 0.
    rounds : int
        The most rounds.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "local-recoding"
    rounds: int = 100

    def choose(self, game: Game) -> Choice:
        """Return the form of the round in which each record is shared; see `Defender`."""
        played, n = record_game_of(game), game.n_records
        weights = self.weights_of(np.arange(n))
        form = SameForm(self.name, self.weights, no_attack=self.no_attack, minimum=self.minimum, suppresses=True)
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
    """Splits the domain into regions, each shared in its own form: multi-dimensional global recoding.

    See `reidsim.games.full_domain.multi_dimensional`; here against any adversary who decides on records one by one.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Records that each row of the game stands for; one each, if not given.
    limit : float
        Share of the records that may be withheld (rounded down).
    no_attack : bool
        Withhold the attacked records.
    minimum : int
        Only forms at least as protective as this one; any, if 0.

    Raises
    ------
    InputError
        If the limit is not a share.
    """

    name: str = "multi-dimensional"

    def choose(self, game: Game) -> Choice:
        """Return the form of each record's region; see `Defender`.

        Raises
        ------
        InputError
            If records are not shared by levels of hierarchies, or their classes are too many to compare.
        """
        played = record_game_of(game)
        n, space = played.n_records, played.space
        if not isinstance(space, GeneralizationLattice):
            raise InputError("regions are split by levels of hierarchies", where=self.name, expected="a lattice")
        if n * space.size > _MOST_CLASSES:
            expected = f"records times releases of at most {_MOST_CLASSES:,}"
            raise InputError("too many classes to compare", where=self.name, found=n * space.size, expected=expected)
        weights = self.weights_of(np.arange(n))
        regions = _Regions(self, played, space, weights)
        total = weights.sum()
        found, bound = within_limit(regions, int(total), most_within(self.limit, total), regions.best_case)
        evaluated = np.full(n, len(regions.forms), dtype=np.int64)
        return Choice(found.strategies, "splits", evaluated, exact=bound <= found.payout + regions.tie)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Records that look alike in a form.

    Parameters
    ----------
    of_record : ndarray of int32, shape (n_records,)
    member : ndarray of int64, shape (n_classes,)
        A record of each.
    pays, withheld : ndarray of float64, shape (n_classes,)
        What the records that are shared pay in sum, and how many are not.
    shared : ndarray of bool, shape (n_records,)
    """

    of_record: NDArray[np.int32]
    member: NDArray[np.int64]
    pays: Floats
    withheld: Floats
    shared: NDArray[np.bool_]


class _Regions:
    """Recodings of a game by splits, whatever withholding a record is charged with."""

    def __init__(
        self, defender: MultiDimensional, game: RecordGame, lattice: GeneralizationLattice, weights: Floats
    ) -> None:
        self._defender, self._game, self._lattice, self._weights = defender, game, lattice, weights
        self.best_case = float(weights @ game.benefit)
        self.tie = INDIFFERENCE * max(self.best_case, 1.0)
        minimum = np.array([defender.minimum])
        # From the most specific form on, so that parts come before the whole.
        self.forms = [form for form in range(lattice.size) if lattice.at_least(form, minimum)[0]]
        self._classes = {form: self._classes_in(form) for form in self.forms}

    def best(self, charge: float) -> Recoding:
        """Return the recoding worth most when each withheld record is charged for."""
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
        """Return the best form for all records that keeps to the limit, if there is one."""
        rule = self._defender
        form = SameForm(
            rule.name, rule.weights, rule.limit, rule.no_attack, rule.minimum,
            admissible=rule.admissible, suppresses=True,
        )  # fmt: skip
        found = form.best_of(self._game, np.arange(self._lattice.n_records))
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
