"""Cross-play: every defender plays against every adversary, including adversaries that it did not plan against."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, declared_information
from reidsim.core.errors import InputError, require_among
from reidsim.core.numerics import dot
from reidsim.core.wording import columns_of
from reidsim.games.composite import AdversaryType, TypesGame, parts_of, payoff_of_withholding
from reidsim.games.directions.best_replies import best_release, by_record, directed_linker
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import best_first, same_strategy
from reidsim.games.outcomes import (
    ADVERSARY_PAYOFF,
    PUBLISHER_PAYOFF,
    REGRET,
    RISK,
    SHARE_ATTACKED,
    UTILITY,
    Equilibrium,
    evaluate,
)
from reidsim.games.record_game import WITHHELD, AdmissibleGroups, Choice, Constraint, RecordGame
from reidsim.games.solvers import branch_and_bound
from reidsim.releases.lattice import Rows, Strategies, space_of_all

# Largest number of strategies that a defender enumerates; more would take too long.
_MOST_FORMS = 1_000_000

# A masking game is a record game with its own compiled solvers.
Game = RecordGame | MaskingGame


class Defender(Protocol):
    """Interface of a solver or policy that chooses the release of each record.

    Implementations are, for example, `BestReply`, which depends on the adversary, and `FixedForms`, which does not.
    """

    @property
    def name(self) -> str:
        """Name of the defender in results."""
        ...

    @property
    def plans(self) -> bool:
        """Whether the defender's choice depends on the adversary.

        If not, the choice is the same in games that differ only in their adversaries.
        """
        ...

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record in the game that the defender believes in.

        A strategy of -1 withholds the record; see `Choice`.

        Raises
        ------
        InputError
            If the defender cannot play this game.
        """
        ...


def paid_in(defender: Defender, game: Game, choice: Choice) -> Game:
    """Return the game in which the payoffs of a defender's choice are evaluated.

    Most defenders receive the payoffs of the true game. A defender has a method `paid_in` that returns another game if
    its choice changes the linkage, or if it is defined against an adversary with less background knowledge.

    Parameters
    ----------
    defender : Defender
        Defender that made the choice.
    game : RecordGame or MaskingGame
        The true game.
    choice : Choice
        The defender's choice.

    Returns
    -------
    RecordGame or MaskingGame
        `game` itself, if the defender has no such method.
    """
    own: Callable[[Game, Choice], Game] | None = getattr(defender, "paid_in", None)
    return game if own is None else own(game, choice)


def require_comparable(name: str, n_forms: int) -> None:
    """Check that a defender can enumerate the strategies of a game.

    `n_forms` is the number of strategies; `name` is the defender's name, for the message only.

    Raises
    ------
    InputError
        If there are more than a million strategies.
    """
    if n_forms > _MOST_FORMS:
        raise InputError("too many releases to compare", where=name, found=n_forms, expected=f"at most {_MOST_FORMS:,}")


def record_game_of(game: Game) -> RecordGame:
    """Return a game as a `RecordGame`.

    A `MaskingGame` has a record game; a `RecordGame` is returned itself.
    """
    return game.record_game if isinstance(game, MaskingGame) else game


def outcome_of(game: Game, choice: Choice) -> Equilibrium:
    """Return the outcome of a choice in the game with the true parameters.

    The result is an `Equilibrium`. In a masking game, compiled functions compute it; otherwise, see `evaluate`.
    """
    return game.evaluate(choice) if isinstance(game, MaskingGame) else evaluate(game, choice)


def withholding(game: Game, choice: Choice) -> Choice:
    """Return a choice in which unprofitable records are withheld in addition.

    Records whose payoff in `game` is below the payoff of withholding get strategy -1. The payoff of withholding is 0,
    or the payoff that an earlier release of the record leaves. Records with equal payoffs (within the tie tolerance)
    are not withheld.
    """
    payoff = outcome_of(game, choice).publisher_payoff - payoff_of_withholding(record_game_of(game))
    allowance = INDIFFERENCE * (np.asarray(game.benefit) + np.asarray(game.loss))
    strategies = np.where(payoff >= -allowance, choice.strategies, WITHHELD)
    return Choice(strategies, choice.solver, choice.evaluated, choice.exact)


@dataclass(frozen=True)
class BestReply:
    """Defender that chooses for each record the release with the highest payoff.

    The search is branch and bound or, in a masking game, best-first search. If the adversary searches all released rows
    for a given person (direction "person" or "both"), the choice for one record changes the group sizes of other
    records. The search is then exact for one record at a time; see `reidsim.games.directions.best_replies`.

    Parameters
    ----------
    name : str
        Name in results.
    no_attack : bool
        Whether to consider only releases that the adversary does not attack.
    may_withhold : bool
        Whether a record is withheld if its best payoff is below the payoff of withholding (0 without earlier releases).
        A masking game always allows this.
    """

    plans: ClassVar[bool] = True

    name: str = "basic"
    no_attack: bool = False
    may_withhold: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the strategy with the highest payoff of each record in a game.

        A record is withheld (-1) if no strategy is allowed. It is also withheld if its highest payoff is below the
        payoff of withholding, provided that `may_withhold` is set or the game is a masking game. The choice is exact
        unless the adversary searches all released rows for a given person; see the class.
        """
        if isinstance(game, MaskingGame):
            return best_first(game, no_attack=self.no_attack)
        constraint = Constraint(no_attack=self.no_attack)
        if (linker := directed_linker(game)) is not None:
            alone = branch_and_bound(by_record(game), constraint)
            safe = branch_and_bound(by_record(game), Constraint(no_attack=True))
            return best_release(game, linker, alone, constraint, safe=safe, may_withhold=self.may_withhold)
        choice = branch_and_bound(game, constraint)
        return withholding(game, choice) if self.may_withhold else choice


@dataclass(frozen=True, eq=False)
class SameForm:
    """Defender with the single strategy for all records of highest total payoff.

    Either all records are shared or none. Strategies are evaluated in order of falling total benefit, which is an upper
    bound of the total payoff. The search ends when the bound falls below the best payoff found, so the choice is exact.
    Of strategies with equal total payoff, the lowest number is chosen. If no allowed strategy pays at least as much as
    withholding all records, all are withheld.

    Parameters
    ----------
    name : str
        Name in results.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records that each row of the game represents; 1 if not given.
    no_attack : bool
        Whether to allow only strategies under which an attack pays on no record.
    """

    plans: ClassVar[bool] = True

    name: str = "full-domain"
    weights: NDArray[np.int64] | None = None
    no_attack: bool = False

    def choose(self, game: Game) -> Choice:
        """Return the best single strategy for all records, or withhold all (-1).

        Raises
        ------
        InputError
            If there are more than a million strategies, except in a masking game that `same_strategy` solves.
        """
        if isinstance(game, MaskingGame) and game.is_compiled and self.weights is None and not self.no_attack:
            return same_strategy(game)
        form, evaluated = self.best_of(record_game_of(game), np.arange(game.n_records))
        strategies, evaluations = (np.full(game.n_records, each, dtype=np.int64) for each in (form, evaluated))
        return Choice(strategies, "same-form", evaluations, exact=True)

    def best_of(self, game: RecordGame, rows: Rows) -> tuple[int, int]:
        """Return the best single strategy for `rows`, and how many were evaluated.

        `rows` are record numbers; all other records are ignored. The strategy is ``WITHHELD`` (-1) if no allowed
        strategy pays at least as much as withholding all of `rows`.

        Raises
        ------
        InputError
            If there are more than a million strategies.
        """
        require_comparable(self.name, game.space.size)
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows].astype(np.float64)
        tie = INDIFFERENCE * dot(weights, game.benefit[rows] + game.loss[rows])
        bounds = np.array([dot(weights, game.benefit_of(form, rows)) for form in range(game.space.size)])
        best, most, evaluated = WITHHELD, dot(weights, payoff_of_withholding(game, rows)), 0
        for form in np.argsort(-bounds, kind="stable").tolist():
            if not bounds[form] >= most - tie:
                break
            outcome, evaluated = game.outcome(form, rows), evaluated + 1
            payoff = dot(weights, outcome.publisher_payoff)
            better = payoff > most + tie or (payoff >= most - tie and (best == WITHHELD or form < best))
            if better and not (self.no_attack and outcome.response.invited.any()):
                best, most = form, payoff
        return best, evaluated


@dataclass(frozen=True)
class OptIn:
    """Defender that shares a record unchanged if this pays more than withholding it.

    Otherwise, the record is withheld.

    Parameters
    ----------
    name : str
        Name in results.
    admissible : AdmissibleGroups, optional
        Limits on sensitive attributes; a record whose group violates them without generalization is also withheld.
    """

    plans: ClassVar[bool] = True

    name: str = "opt-in"
    admissible: AdmissibleGroups | None = None

    def choose(self, game: Game) -> Choice:
        """Return the better of sharing and withholding for each record; see `Defender`.

        Sharing means the most specific strategy, without generalization. A record is withheld (-1) if sharing does not
        pay more than withholding, or if the values of its group exceed the limits of `admissible`.
        """
        n = game.n_records
        everything = np.full(n, record_game_of(game).space.most_specific, dtype=np.int64)
        evaluated = np.ones(n, dtype=np.int64)
        payoff = outcome_of(game, Choice(everything, self.name, evaluated, exact=False)).publisher_payoff
        worth = payoff > payoff_of_withholding(record_game_of(game))
        if self.admissible is not None:
            worth &= self.admissible.at(record_game_of(game).space.most_specific)
        return Choice(np.where(worth, everything, WITHHELD), self.name, evaluated, exact=True)


@dataclass(frozen=True, eq=False)
class FixedForms:
    """Defender that releases each record by a prescribed strategy.

    The adversary has no effect on the strategies.

    Parameters
    ----------
    name : str
        Name in results.
    strategies : int or ndarray of int64, shape (n_records,)
        The prescribed strategies; ``WITHHELD`` (-1) for records that are not shared.
    """

    plans: ClassVar[bool] = False

    name: str
    strategies: int | Strategies

    def choose(self, game: Game) -> Choice:
        """Return the prescribed strategy of each record, whatever the adversary.

        If one number is prescribed, it applies to all records. The choice is not exact, and no strategy is evaluated.
        """
        n = game.n_records
        strategies = np.broadcast_to(np.asarray(self.strategies, dtype=np.int64), (n,)).copy()
        return Choice(strategies, self.name, np.zeros(n, dtype=np.int64), exact=False)


CROSS_PLAY_MEASURES = (PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, SHARE_ATTACKED, RISK, REGRET)
CROSS_PLAY_COLUMNS = ("defender", "plans_against", "adversary", *columns_of(CROSS_PLAY_MEASURES))
# Largest number of strategies for plans against several adversaries. Such plans take longer per strategy, because
# compiled solvers support only one adversary.
MOST_FORMS = 2**20
# Names of plans against all adversaries: as equally likely types, and against the worst type for each record.
ALL_TYPES, WORST_TYPE = "all-types", "worst-type"


@dataclass(frozen=True, eq=False)
class Opponent:
    """An adversary that defenders face in cross-play, and may plan against.

    Parameters
    ----------
    name : str
        Name of the adversary in results.
    truth : RecordGame or MaskingGame
        Game against the adversary with the true parameters; it determines the payoffs. For an adversary who acts at
        random, a `TypesGame` of its possible behaviours gives the expected payoffs.
    belief : RecordGame or MaskingGame, optional
        Game against the adversary with the parameters that the defender believes in when it plans; `truth`, if not
        given.
    among_all : bool
        Whether plans against all adversaries include this one.
    """

    name: str
    truth: Game
    belief: Game | None = None
    among_all: bool = True

    @property
    def planned(self) -> Game:
        """Game in which a defender plans against this adversary.

        It is `belief`, or `truth` if `belief` is not given.
        """
        return self.truth if self.belief is None else self.belief


@dataclass(frozen=True, eq=False)
class CrossPlay:
    """Outcomes of every defender against every adversary.

    Parameters
    ----------
    table : DataFrame
        One row per defender, adversary planned against and adversary faced. Columns: ``defender``, ``plans_against``,
        ``adversary``, ``publisher_payoff``, ``adversary_payoff``, ``utility``, ``share_attacked``, ``risk``,
        ``regret``. ``plans_against`` is empty for a defender that does not plan. Measures are means over records, money
        in currency units. ``regret`` is the payoff of a best response to the adversary faced, which may withhold
        records, less the defender's payoff. Adversaries in `left_out` have no rows.
    left_out : tuple of str
        Messages about players that cannot play, with the reason, and about plans that are not made because there are
        too many strategies.
    """

    table: pd.DataFrame
    left_out: tuple[str, ...]

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return the mean of one measure of cross-play as a DataFrame.

        It has one row per defender and adversary planned against, and one column per adversary faced; see `matrix_of`.
        `measure` is the name of a column, such as ``"publisher_payoff"``.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        return matrix_of(self.table, measure)


def matrix_of(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return a measure of cross-play as a matrix, a DataFrame.

    Rows are defenders with the adversary planned against, named by `row_name`; columns are adversaries faced. Both are
    in the order of their first appearance in the table. A combination without a row in the table is missing (NaN). In
    the table of a batch, the mean is over the runs.

    Parameters
    ----------
    table : DataFrame
        One row per defender, adversary planned against and adversary faced; in a batch, such rows for each run; columns
        `CROSS_PLAY_COLUMNS`.
    measure : str
        Column of the measure, such as ``"regret"``.

    Raises
    ------
    InputError
        If there is no such measure.
    """
    require_measure(measure)
    means = table.groupby(["defender", "plans_against", "adversary"], sort=False, observed=True)[measure].mean()
    # Rows and columns keep the order in which they first appear over all runs.
    wide = means.unstack("adversary", sort=False)
    names = pd.Index([row_name(defender, against) for defender, against in wide.index], name="defender")
    return pd.DataFrame(wide.to_numpy(), index=names, columns=pd.Index(wide.columns.tolist()))


def row_name(defender: str, against: str) -> str:
    """Return the name of a row of cross-play: defender and adversary planned against.

    The name is "`defender` vs `against`". For a defender that does not plan, `against` is empty, and the name is the
    defender's.
    """
    return f"{defender} vs {against}" if against else defender


def require_measure(measure: str, where: str | None = None) -> None:
    """Check that cross-play has a column for a measure.

    `where` names the option in the error message.

    Raises
    ------
    InputError
        If cross-play has no such measure.
    """
    require_among("no such measure", (measure,), columns_of(CROSS_PLAY_MEASURES), where=where, shown=20)


def cross_play(
    opponents: Sequence[Opponent],
    defenders: Sequence[Defender],
    *,
    own: str | None = None,
    against_each: Collection[str] | None = None,
    ideas: Mapping[str, Game] | None = None,
    weights: NDArray[np.int64] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CrossPlay:
    """Play every defender against every adversary.

    A planning defender plans against one adversary, and its plan is then evaluated against every adversary. Defenders
    in `against_each` make one plan against each adversary, one against all adversaries as equally likely types, one
    against the worst type for each record, and one in each game of `ideas`. Other defenders plan against `own` only.

    Parameters
    ----------
    opponents : sequence of Opponent
        Adversaries with distinct names, whose games have the same records, strategies, benefits and losses.
    defenders : sequence of Defender
        Solvers and policies, with distinct names.
    own : str, optional
        Name of the scenario's own adversary; the first opponent, if not given.
    against_each : collection of str, optional
        Names of the defenders that plan against every adversary; only the first defender that plans, if not given.
    ideas : mapping of str to RecordGame or MaskingGame, optional
        Additional games to plan in, by their names in the results.
    weights : ndarray of int64, shape (n_records,), optional
        Number of records of each row of the games; 1, if not given.
    progress : callable, optional
        Called before each plan with the number of plans done and the total number.

    Returns
    -------
    CrossPlay
        Adversaries that fail to play under any plan are left out, except `own`, whose error is raised. So are plans
        that a defender fails to make, and plans against all adversaries if there are more than 2**20 strategies or
        fewer than two adversaries to plan against.

    Raises
    ------
    InputError
        If the adversary `own` cannot play, or an adversary declares information that is not available.
    """
    own = opponents[0].name if own is None else own
    for opponent in opponents:
        for each in (*parts_of(record_game_of(opponent.truth)), *parts_of(record_game_of(opponent.planned))):
            declared_information(each.adversary)
    if against_each is None:
        against_each = [defender.name for defender in defenders if defender.plans][:1]
    # The first error of each adversary that fails to play.
    cannot: dict[str, InputError] = {}
    best: dict[str, float] = {}
    for opponent in opponents:
        try:
            best_reply = BestReply(may_withhold=True).choose(opponent.truth)
            best[opponent.name] = averages_of(opponent.truth, best_reply, weights)[0]
        except InputError as error:
            cannot[opponent.name] = error
    playing = [opponent for opponent in opponents if opponent.name not in cannot]
    too_many = f"there are more than {MOST_FORMS:,} possible releases"
    left_out = [f"no defender plans against all adversary types at once: {too_many}"]
    left_out = [] if can_plan_against_all(opponents) else left_out
    plans = [] if own in cannot else list(_plans(playing, defenders, own, against_each, ideas or {}))
    rows: list[tuple[object, ...]] = []
    for done, (defender, against, game) in enumerate(plans):
        if progress is not None:
            progress(done, len(plans))
        try:
            choice = defender.choose(game)
            paid = [paid_in(defender, opponent.truth, choice) for opponent in playing]
        except InputError as error:
            left_out.append(f"defender {defender.name!r} cannot play: {error}")
            continue
        for opponent, truth in zip(playing, paid, strict=True):
            if opponent.name in cannot:
                continue
            try:
                measures = averages_of(truth, choice, weights)
            except InputError as error:
                # Some adversaries fail only under some strategies, for example with a group size of 2.5 people.
                cannot[opponent.name] = error
                continue
            regret = best[opponent.name] - measures[0]
            # A difference of at most 1e-9 times the mean benefit plus loss is rounding error.
            scale = np.mean(opponent.truth.benefit) + np.mean(opponent.truth.loss)
            regret = 0.0 if abs(regret) <= INDIFFERENCE * scale * 1e3 else regret
            rows.append((defender.name, against, opponent.name, *measures, regret))
    if own in cannot:
        raise cannot[own]
    left_out = [f"adversary {name!r} cannot play: {error}" for name, error in cannot.items()] + left_out
    table = pd.DataFrame(rows, columns=list(CROSS_PLAY_COLUMNS))
    table = table[~table["adversary"].isin(list(cannot))].reset_index(drop=True)
    return CrossPlay(table, tuple(dict.fromkeys(left_out)))


def _plans(
    opponents: Sequence[Opponent],
    defenders: Sequence[Defender],
    own: str,
    against_each: Collection[str],
    ideas: Mapping[str, Game],
) -> Iterator[tuple[Defender, str, Game]]:
    """Yield each plan: defender, adversary planned against, and game to plan in.

    The name of the adversary planned against is empty for a defender that does not plan; its game is the game against
    `own`. Plans against all adversaries are named ``"all-types"`` and ``"worst-type"``; they exist only with two
    adversaries or more to plan against, and at most 2**20 strategies. For the parameters see `cross_play`.
    """
    games = {opponent.name: opponent.planned for opponent in opponents}
    counted = [opponent for opponent in opponents if opponent.among_all]
    if len(counted) > 1 and can_plan_against_all(counted):
        games |= {ALL_TYPES: all_types(counted), WORST_TYPE: all_types(counted, worst=True)}
    games |= ideas
    for defender in defenders:
        if not defender.plans:
            yield defender, "", games[own]
        elif defender.name in against_each:
            yield from ((defender, against, game) for against, game in games.items())
        else:
            yield defender, own, games[own]


def can_plan_against_all(opponents: Sequence[Opponent]) -> bool:
    """Return whether a defender can make a plan against several adversaries together.

    The result is True if the game of the first of `opponents` has at most 2**20 (`MOST_FORMS`) strategies.
    """
    return record_game_of(opponents[0].truth).space.size <= MOST_FORMS


def all_types(opponents: Sequence[Opponent], *, worst: bool = False) -> TypesGame:
    """Return the game to plan in against all opponents.

    The adversaries are equally likely types or, with `worst`, each record faces the adversary that is worst for it. The
    game against each adversary is the one that the defender believes in (`Opponent.planned`).
    """
    games = {opponent.name: record_game_of(opponent.planned) for opponent in opponents}
    return mixed_game(games, dict.fromkeys(games, 1.0 / len(games)), worst=worst)


def mixed_game(games: Mapping[str, RecordGame], weights: Mapping[str, float], *, worst: bool = False) -> TypesGame:
    """Return the game against an adversary drawn with these weights.

    An adversary (same linker and planner) that appears in several games is one type with the sum of their weights.

    Parameters
    ----------
    games : mapping of str to RecordGame
        Game against each adversary, by name, all with the same records, benefits and losses. The types of a `TypesGame`
        become separate types.
    weights : mapping of str to float
        Probability of each adversary; the sum is 1.
    worst : bool
        Whether each record faces the adversary of positive weight that is worst for it; the size of a positive weight
        then does not matter.

    Raises
    ------
    InputError
        If a game is a `TypesGame` whose types are not combined by "one-of".
    """
    types: dict[tuple[int, int], AdversaryType] = {}
    for called, game in games.items():
        if isinstance(game, TypesGame) and game.together != "one-of":
            problem = "adversaries who attack together cannot be one adversary type"
            raise InputError(problem, where=called, found=game.together)
        for part in parts_of(game):
            key = (id(part.linker), id(part.adversary))
            name = f"{called}: {part.name}" if isinstance(game, TypesGame) else called
            # The same adversary, alone and as part of another, is one type.
            known = types.get(key, AdversaryType(name, 0.0, part.linker, part.adversary))
            weight = min(known.weight + weights[called] * part.weight, 1.0)
            types[key] = AdversaryType(known.name, weight, part.linker, part.adversary)
    first = next(iter(games.values()))
    space = space_of_all([game.space for game in games.values()])
    return TypesGame(space, tuple(types.values()), first.benefit, first.loss, "worst" if worst else "one-of")


def averages_of(game: Game, choice: Choice, weights: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return means over records of payoffs, utility, share attacked and risk, (5,).

    The order is: publisher's payoff, adversary's payoff (both in currency units per record), utility, share attacked,
    risk. `game` determines the payoffs of `choice`, the strategies. `weights` (n_records,) is the number of records of
    each row of the game; 1, if not given (None).
    """
    outcome = outcome_of(game, choice)
    weights = np.ones(game.n_records, dtype=np.int64) if weights is None else weights
    return np.array([measure.compute(outcome, weights) for measure in CROSS_PLAY_MEASURES if measure.compute])
