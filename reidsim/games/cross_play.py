"""Cross-play: every defender against every adversary, planned against or not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, declared_information
from reidsim.core.errors import InputError, not_among, refuse_first, require_among, require_distinct
from reidsim.core.measures import columns_of
from reidsim.games.adversary_types import AdversaryType, TypesGame, parts_of
from reidsim.games.defenders.defender import BestReply, Defender, Game, outcome_of, paid_in, record_game_of
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, REGRET, RISK, SHARE_ATTACKED, UTILITY
from reidsim.games.record_game import Choice, RecordGame
from reidsim.releases.masking import space_of_all

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
        in currency units. ``regret`` is the payoff of a best reply to the adversary faced, which may withhold records,
        less the defender's payoff. Adversaries in `left_out` have no rows.
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
    """Return the mean of a measure over runs as a matrix, a DataFrame.

    Rows are defenders with the adversary planned against, named by `row_name`; columns are adversaries faced. Both are
    in the order of their first appearance in the table. A combination without a row in the table is missing (NaN).

    Parameters
    ----------
    table : DataFrame
        One row per defender, adversary planned against and adversary faced, and per run, if there are several; columns
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
    measures = columns_of(CROSS_PLAY_MEASURES)
    require_among("no such measure", (measure,), measures, where=where, shown=20)


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
        Adversaries, whose games have the same records, strategies, benefits and losses.
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
        If there is no adversary, `own` is not among them or cannot play, two adversaries or two defenders have the same
        name, or an adversary declares information that is not available.
    """
    own = _checked(opponents, defenders, own)
    if against_each is None:
        against_each = [defender.name for defender in defenders if defender.plans][:1]
    cannot: dict[str, InputError] = {}

    def played(opponent: Opponent, paid: Game, choice: Choice) -> NDArray[np.float64] | None:
        """Return `averages_of` the choice; None once the adversary has failed to play.

        The payoffs of `choice` are evaluated in the game `paid`. The first error of the adversary is kept in `cannot`.
        """
        if opponent.name not in cannot:
            try:
                return averages_of(paid, choice, weights)
            except InputError as error:
                # Some adversaries fail only under some strategies, for example with a group size of 2.5 people.
                cannot[opponent.name] = error
        return None

    best, best_reply = {}, BestReply(may_withhold=True)
    for opponent in opponents:
        try:
            best[opponent.name] = played(opponent, opponent.truth, best_reply.choose(opponent.truth))
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
            measures, most = played(opponent, truth, choice), best[opponent.name]
            if measures is not None and most is not None:
                regret = _regret(most[0], measures[0], opponent.truth)
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


def _checked(opponents: Sequence[Opponent], defenders: Sequence[Defender], own: str | None) -> str:
    """Check all players; return the name of the scenario's own adversary.

    The own adversary is `own`, or the first opponent, if `own` is not given.

    Raises
    ------
    InputError
        If there is no opponent, `own` is not among them, two adversaries or two defenders have the same name, or an
        adversary declares information that is not available.
    """
    names = [opponent.name for opponent in opponents]
    own = names[0] if own is None and names else own
    if own is None or own not in names:
        raise not_among("no such adversary", own, names, shown=20)
    for kind, given in (("adversaries", names), ("defenders", [defender.name for defender in defenders])):
        require_distinct(f"two {kind} have the same name", given)
    for opponent in opponents:
        for game in (record_game_of(opponent.truth), record_game_of(opponent.planned)):
            for part in parts_of(game):
                declared_information(part.adversary)
    return own


def can_plan_against_all(opponents: Sequence[Opponent]) -> bool:
    """Return whether plans against several adversaries at once are possible.

    They are if the game of the first of `opponents` has at most 2**20 (`MOST_FORMS`) strategies.
    """
    return record_game_of(opponents[0].truth).space.size <= MOST_FORMS


def all_types(opponents: Sequence[Opponent], *, worst: bool = False) -> TypesGame:
    """Return the game to plan in against all opponents.

    The adversaries are equally likely types or, with `worst`, each record faces the adversary that is worst for it.
    Each is the adversary that the defender believes in.
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
        share, several = weights[called], isinstance(game, TypesGame)
        together = game.together if isinstance(game, TypesGame) else "one-of"
        problem = "adversaries who attack together cannot be one adversary type"
        refuse_first((together != "one-of", problem, called, together, None))
        for part in parts_of(game):
            key = (id(part.linker), id(part.adversary))
            name = f"{called}: {part.name}" if several else called
            # The same adversary, alone and as part of another, is one type.
            known = types.get(key, AdversaryType(name, 0.0, part.linker, part.adversary))
            weight = min(known.weight + share * part.weight, 1.0)
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
    outcome, each = outcome_of(game, choice), np.ones(game.n_records, dtype=np.int64) if weights is None else weights
    return np.array([measure.compute(outcome, each) for measure in CROSS_PLAY_MEASURES if measure.compute])


def _regret(best: float, payoff: float, game: Game) -> float:
    """Return the best mean payoff less a mean payoff; 0 for rounding error.

    Both are in currency units per record. A difference of at most 1e-9 times the game's mean benefit plus loss counts
    as rounding error; otherwise, the result can be negative.
    """
    scale = float(np.mean(np.asarray(game.benefit) + np.asarray(game.loss)))
    behind = best - payoff
    return 0.0 if abs(behind) <= INDIFFERENCE * scale * 1e3 else behind
