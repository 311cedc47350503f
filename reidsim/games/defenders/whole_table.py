"""Defenders that plan for all records together, with one or a few generalizations."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.numerics import dot
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of, require_comparable
from reidsim.games.full_domain.multi_dimensional import Recoding, within_limit
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.same_strategy import same_strategy
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.people import PeopleLattice
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice, RecordGame, most_within
from reidsim.linkage.row_groups import classes_at
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Limit on records times nodes, whose classes are held in memory. If no two records agree, each product takes 45 bytes,
# so the limit is 900 MB.
_MOST_CLASSES = 20_000_000
# Utilities closer than this, as a share of the records, are equal.
_TIE = 1e-12


class FormOfAll(NamedTuple):
    """The best single strategy for a set of records, and its outcome.

    Attributes
    ----------
    form : int
        The strategy; ``WITHHELD`` (-1) if no allowed strategy pays as much as withholding all records.
    shared : ndarray of bool, shape (n_rows,)
        Whether the record is shared.
    payoff : float
        The publisher's payoff, summed over shared and withheld records, in currency units.
    evaluated : int
        Number of strategies whose payoff was computed.
    """

    form: int
    shared: NDArray[np.bool_]
    payoff: float
    evaluated: int


@dataclass(frozen=True, eq=False)
class Withholding:
    """Base class of defenders that plan for all records together.

    They may withhold some records.

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
        Least protective strategy allowed; 0 allows every strategy.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are withheld.
    """

    plans: ClassVar[bool] = True

    name: str
    weights: NDArray[np.int64] | None = None
    limit: float = 1.0
    no_attack: bool = False
    minimum: int = 0
    admissible: AdmissibleGroups | None = field(default=None, kw_only=True)

    def same_form(self) -> SameForm:
        """Return the defender with one strategy and the same rules, which withholds records that do not pay."""
        own = {item.name: getattr(self, item.name) for item in fields(Withholding)}
        return SameForm(**own, suppresses=True)

    def weights_of(self, rows: Rows) -> Floats:
        """Return the number of records that each of `rows` represents, shape (n_rows,)."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class SameForm(Withholding):
    """Choose the single strategy for all records with the highest total payoff.

    Strategies are evaluated in order of falling total benefit, which is an upper bound of the total payoff. The search
    ends when the bound falls below the best payoff found, so the choice is exact. Of strategies with equal total
    payoff, the lowest number is chosen. If no strategy is allowed or pays as much as withholding, all records are
    withheld.

    Parameters
    ----------
    name : str
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    suppresses : bool
        Whether records that pay no more than withholding are withheld, as in full-domain generalization with
        suppression (Prasser et al. 2017). If False, either all records are shared or none.
    limit : float
        Share of the records that may be withheld, in [0, 1], if `suppresses`; the number of records is rounded down.
    no_attack : bool
        If `suppresses`, withhold the records on which an attack pays; otherwise allow only strategies under which an
        attack pays on no record.
    minimum : int
        Least protective strategy allowed; 0 allows every strategy.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes. If `suppresses`, withhold the records of groups that violate them; otherwise
        allow only strategies under which no group does.
    """

    name: str = "full-domain"
    suppresses: bool = False

    def choose(self, game: Game) -> Choice:
        """Return one strategy for all records that are shared; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million strategies, except in a masking game that `same_strategy` solves.
        """
        plain = self.weights is None and not (self.suppresses or self.no_attack or self.minimum)
        if plain and isinstance(game, MaskingGame) and game.is_compiled:
            return same_strategy(game)
        found = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies = np.where(found.shared, found.form, WITHHELD).astype(np.int64)
        return Choice(strategies, "same-form", np.full(len(strategies), found.evaluated, dtype=np.int64), exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> FormOfAll:
        """Return the best single strategy for `rows`, ignoring all other records.

        Without `suppresses`, either all of them are shared or none.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        require_comparable(self.name, game.space.size)
        weights, withheld = self.weights_of(rows), payoff_of_withholding(game, rows)
        needed, tie = withheld + game.tie(rows), INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        most_withheld = most_within(self.limit, weights.sum()) if self.suppresses else 0
        minimum = np.array([self.minimum])
        allowed = [form for form in range(game.space.size) if not self.minimum or game.space.at_least(form, minimum)[0]]
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in allowed])
        # The limit on withheld records does not apply if no record is released.
        best = FormOfAll(WITHHELD, np.zeros(len(rows), dtype=np.bool_), dot(weights, withheld), 0)
        evaluated = 0
        for position in np.argsort(-bounds, kind="stable").tolist():
            if not bounds[position] >= best.payoff - tie:
                break
            form, evaluated = allowed[position], evaluated + 1
            outcome = game.outcome(form, rows)
            admitted = ~outcome.response.invited if self.no_attack else np.ones(len(rows), dtype=np.bool_)
            if self.admissible is not None:
                admitted &= self.admissible.at(form, rows)
            shared = admitted & (outcome.publisher_payoff > needed)
            if not self.suppresses:
                shared = np.full(len(rows), admitted.all())
            payoff = dot(weights, np.where(shared, outcome.publisher_payoff, withheld))
            first = best.form == WITHHELD or form < best.form
            better = payoff > best.payoff + tie or (payoff >= best.payoff - tie and first)
            if better and (len(rows) == 0 or weights[~shared].sum() <= most_withheld):
                best = FormOfAll(form, shared, payoff, 0)
        return best._replace(evaluated=evaluated)


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
    """

    name: str = "multi-dimensional"

    def choose(self, game: Game) -> Choice:
        """Return the node of each record's region; see `Defender`.

        Raises
        ------
        InputError
            If records times nodes exceed 20 million.
        """
        played = record_game_of(game)
        n, space = played.n_records, played.space
        assert isinstance(space, GeneralizationLattice)  # noqa: S101 - tables are shared under lattices
        if n * space.size > _MOST_CLASSES:
            expected = f"at most {_MOST_CLASSES:,} records times releases"
            raise InputError("too many classes to compare", where=self.name, found=n * space.size, expected=expected)
        weights = self.weights_of(np.arange(n))
        regions, total = _Regions(self, played, space, weights), weights.sum()
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


@dataclass(frozen=True, eq=False)
class KAnonymity:
    """Release all records at the k-anonymous node with the highest utility.

    Records in equivalence classes of fewer than k records are withheld, up to a limit (Sweeney 2002, Achieving
    k-anonymity privacy protection using generalization and suppression). Classes are counted among the records of the
    game, not in a population. The utility of a node is the sum over the records that are not withheld. Of nodes with
    equal utility, the node with the lowest number is chosen. If every node withholds too many records, all records are
    withheld.

    Parameters
    ----------
    k : int
        Minimum size of an equivalence class, in records; in people, if people have several records.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    limit : float
        Share of the records that may be withheld, in [0, 1]; the number of records is rounded down.
    minimum : int
        Least protective node allowed; 0 allows every node.
    name : str
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; records of groups that violate them are also withheld.
    """

    plans: ClassVar[bool] = False

    k: int = 2
    weights: NDArray[np.int64] | None = None
    limit: float = 0.0
    minimum: int = 0
    name: str = "k-anonymity"
    admissible: AdmissibleGroups | None = None

    def choose(self, game: Game) -> Choice:
        """Return one node for all shared records, -1 for the others; see `Defender`.

        Raises
        ------
        InputError
            If there are more than a million nodes.
        """
        space = record_game_of(game).space
        require_comparable(self.name, space.size)
        assert isinstance(space, GeneralizationLattice)  # noqa: S101 - tables are shared under lattices
        chosen, evaluated = _most_useful(self, space)
        return Choice(chosen, "fixed", np.full(len(chosen), evaluated, dtype=np.int64), exact=False)


def _most_useful(rule: KAnonymity, lattice: GeneralizationLattice) -> tuple[Strategies, int]:
    """Return the strategies of k-anonymity, and the number of nodes whose classes were counted.

    Nodes are searched in order of falling utility bound. A more general node has classes at least as large and
    therefore withholds no more records. So a node that withholds too many records rules out all more specific nodes. On
    a path from a node to the top, bisection finds the first node within the limit. Neither property holds with limits
    on sensitive attributes: a group within the limits and a group that violates them may merge into a group that
    violates them.
    """
    n = lattice.n_records
    weights = np.ones(n) if rule.weights is None else rule.weights.astype(np.float64)
    most, tie = most_within(rule.limit, weights.sum()), _TIE * float(weights.sum())
    levels = lattice.all_levels(np.arange(lattice.size))
    bounds = np.full(lattice.size, weights.sum())
    for position, losses in enumerate(lattice.record_losses):
        bounds -= (losses @ weights)[levels[:, position]]
    refused = np.asarray((levels < np.array(lattice.levels(rule.minimum))).any(axis=1))
    best, best_form, chosen = -1.0, WITHHELD, np.full(n, WITHHELD, dtype=np.int64)
    permits: dict[int, bool] = {}

    def permitted(form: int) -> bool:
        """Return whether a node withholds few enough records; keep it if it is the best so far."""
        nonlocal best, best_form, chosen
        if form not in permits:
            shared = _class_sizes(lattice, form, weights) >= rule.k
            if rule.admissible is not None:
                shared &= rule.admissible.at(form)
            permits[form] = bool(weights[~shared].sum() <= most)
            if permits[form]:
                kept = float(weights[shared] @ lattice.utility(form)[shared])
                if kept > best + tie or (kept >= best - tie and form < best_form):
                    best, best_form, chosen = kept, form, np.where(shared, form, WITHHELD)
            elif rule.admissible is None:
                refused.reshape(lattice.shape)[tuple(slice(level + 1) for level in lattice.levels(form))] = True
        return permits[form]

    for form in np.argsort(-bounds, kind="stable").tolist():
        if bounds[form] < best - tie:
            break
        if refused[form]:
            continue
        # A path of successors with the highest utility bound, up to the top.
        path = [form]
        while rule.admissible is None and (above := list(lattice.successors(path[-1]))):
            path.append(max(above, key=bounds.__getitem__))
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if permitted(path[middle]) else (middle + 1, high)
    return chosen, len(permits)


def _class_sizes(lattice: GeneralizationLattice, form: int, weights: Floats) -> Floats:
    """Return the class size of each record at a node, (n_records,), in people if they have several records."""
    if isinstance(lattice, PeopleLattice):
        return lattice.class_sizes(form).astype(np.float64)
    of_record = classes_at(lattice, form)
    return np.asarray(np.bincount(of_record, weights=weights)[of_record])
