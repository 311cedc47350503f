"""Define the kind of scenario in which people may join a genomic database.

Its policies are rules and processes that determine who joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from reidsim.agents.attack import PARTICIPATION
from reidsim.core.errors import InputError
from reidsim.core.measures import columns_of, in_words, measures_worded
from reidsim.core.palette import BLACK, BLUE, GREEN, GREY, VERMILION
from reidsim.core.validation import read_toml
from reidsim.core.wording import counted
from reidsim.games.cross_play import Defender
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import PUBLISHER_PAYOFF, REIDENTIFIED, RISK, SHARE_ATTACKED, UTILITY
from reidsim.games.participation.families import Crowd, Families, Flags, outcome, profile, unsettled
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.participation.schema import ParticipationScenario
from reidsim.kinds.participation.study import ParticipationStudy, build_participation_study
from reidsim.scenarios.agents import OpponentOptions
from reidsim.scenarios.kind import Control, Kind, Slider, amount_slider
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import Look, Policies, Policy
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, World, record_table

_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
_FIRST = in_words((PUBLISHER_PAYOFF, PARTICIPATION, UTILITY, SHARE_ATTACKED, RISK), _WORDS["games"])
# Measures that `ParticipationKind.summarise` computes, in column order.
SUMMARY = (*_FIRST, *measures_worded(_WORDS["own"]).values())
MEASURES = (*SUMMARY, *in_words(REIDENTIFIED, _WORDS["games"]))
# Number of shares of participants at which best responses are computed for a curve: more make a smoother figure.
_DRAWN = 200
# A random population has returned to an equilibrium if its share of participants differs by at most this fraction.
_BACK = 1e-4
# Enumerate the profiles of at most this many families: each takes 2 ** (number of people) evaluations.
_MOST_FAMILIES = 200


POLICIES: Policies[Policy] = Policies()


class Joining(Policy):
    """Base class of policies: a rule or process that determines which people join.

    By default, it is best-reply dynamics from the set of participants in the policy's name, such as ``nobody`` in
    ``from-nobody``.
    """

    by_agents = False

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return whether each person joins, (n_people,), and whether this is proved.

        This default plays best-reply dynamics. The second result is then whether they converge to an equilibrium.

        Parameters
        ----------
        game : JoiningGame
            Game of the people who decide; people may be types of people.
        starts : dict of str to ndarray of bool, shape (n_people,)
            Sets of participants to start from, by name; see `ParticipationStudy.starts`.
        """
        return cast("tuple[Any, bool]", game.replies(starts[self.name.removeprefix("from-")]))

    def choose(self, study: Any, game: Any, draw: int) -> Choice:
        """Return a `Choice` with strategy 0 for each person who joins, -1 for the others.

        `game` is the study's game of people who decide (`Families` or `Crowd`); `draw` has no effect. The choice is
        marked exact if `joined` is proved.
        """
        joined, proved = self.joined(game, study.starts())
        strategies = np.where(joined, 0, WITHHELD).astype(np.int64)
        return Choice(strategies, self.name, np.full(len(joined), 2, dtype=np.int64), exact=proved)


@POLICIES.register("nobody")
class Nobody(Joining):
    """Policy under which no person joins."""

    label, description, look, is_rule = "Nobody", "no person joins", Look(GREY, "s"), True

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the set in `starts` with the policy's name, shape (n_people,), and True.

        The set of ``nobody`` is empty; that of ``everybody`` has all people. `game` is not used.
        """
        return starts[self.name], True


@POLICIES.register("everybody")
class Everybody(Nobody):
    """Policy under which all people join."""

    label, description, look = "Everybody", "all people join", Look(BLACK, "D")


@POLICIES.register("from-nobody")
class FromNobody(Joining):
    """Policy of best-reply dynamics that start with an empty database.

    People join or leave as long as they gain by this; see `JoiningGame.replies`.
    """

    label, look = "From nobody", Look(BLUE, "o")
    description = "sequence of best responses that starts with no members and ends when no person gains by a change"


@POLICIES.register("from-everybody")
class FromEverybody(Joining):
    """Policy of best-reply dynamics that start with all people in the database.

    People leave or join as long as they gain by this; see `JoiningGame.replies`.
    """

    label, look = "From everybody", Look(VERMILION, "^")
    description = (
        "sequence of best responses that starts with all people as members and ends when no person gains by a change"
    )


@POLICIES.register("planner")
class SocialPlanner(Joining):
    """Policy with the set of participants that has the largest sum of all payoffs.

    If the optimum cannot be proved, it is the best set found.
    """

    label, look = "Planner", Look(GREEN, "v")
    description = "set of members with the largest sum of payoffs over all people"

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return whether each person joins, (n_people,), and whether this is optimal.

        The people who join are the set of participants with the largest sum of payoffs over all people that is found.
        The second result is True if no other set can have a larger sum.

        Parameters
        ----------
        game : JoiningGame
        starts : dict of str to ndarray of bool, shape (n_people,)
            Sets of participants from which the search starts, by name.
        """
        return cast("tuple[Any, bool]", game.best_plan(list(starts.values())))


class ParticipationKind(Kind):
    """Game of people who decide whether to join a genomic database; see `Kind`."""

    name = "participation"
    words = "people decide whether to join a genomic database, in which members expose their relatives"
    schema = ParticipationScenario
    measures = MEASURES
    drawn_by = "reidsim.kinds.participation.figures"
    policies = POLICIES
    decides = "subject"
    amount_keys = ("subjects.benefit", "subjects.services", "subjects.harm")

    def build(self, loaded: Scenario[Any]) -> ParticipationStudy:
        """Read or simulate the people who decide, and return the `ParticipationStudy`.

        Raises
        ------
        InputError
            If a recipe or file cannot be used, or too many people decide.
        """
        return build_participation_study(loaded)

    def describe(self, study: ParticipationStudy) -> str:
        """Return a line on the number of people who decide, for display.

        It contains their mean number of relatives or, for a random population, the number of people of the present
        generation and of their types.
        """
        if study.relatives is None:
            couples = study.scenario.population.couples
            return f"{2 * (couples or 0):,.0f} people of {counted(study.n_people, 'type')}"
        pairs = len(study.relatives.other) / study.n_people
        return f"{counted(study.n_people, 'person', 'people')}, {pairs:,.1f} relatives each"

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario content (a dict) that determines the relatives.

        The keys are ``game``, ``population`` and ``matching``; keys that the scenario does not set are absent.
        """
        content = loaded.content
        return {key: content[key] for key in ("game", "population", "matching") if key in content}

    def outcome(self, study: ParticipationStudy, world: World, defender: Defender, choice: Choice) -> Equilibrium:
        """Return the `Equilibrium` of the people's decisions, with one entry per person.

        A person with strategy 0 or above in `choice` joins and shares the whole record. The publisher's payoff is the
        person's own payoff, without the concern for relatives; the adversary's payoff is 0. Every person counts as
        attacked; the success probability is the probability of being identified, 1 for participants. Utility is the
        probability of being in the database and finding a relative there.

        `world` and `defender` are not used.
        """
        joined = choice.strategies >= 0
        found, n = outcome(study.game, joined), len(joined)
        return Equilibrium(
            strategies=choice.strategies,
            publisher_payoff=found.payoff,
            adversary_payoff=np.zeros(n),
            attacked=np.ones(n, dtype=np.bool_),
            success_probability=found.identified,
            utility=found.found,
            generalization_intensity=np.where(joined, 0.0, 1.0),
            solver=choice.solver,
            evaluated=choice.evaluated,
            exact=choice.exact,
        )

    def summarise(self, study: ParticipationStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy, the index: mean outcomes over all people.

        Columns are the measures in `SUMMARY`. ``participation`` is the share of people who join;
        ``exposed_by_relatives`` is the mean risk of the people who stay out, missing if all join; ``unsettled`` is the
        share of people who would gain by changing their decision.
        """
        summary = super().summarise(study, draw, equilibria)
        out = {policy: found.withheld for policy, found in equilibria.items()}
        summary["participation"] = [1.0 - each.mean() for each in out.values()]
        exposed = [found.risk[out[policy]] for policy, found in equilibria.items()]
        summary["exposed_by_relatives"] = [risk.mean() if len(risk) else np.nan for risk in exposed]
        summary["unsettled"] = [unsettled(study.game, ~each).mean() for each in out.values()]
        return summary[columns_of(SUMMARY)]

    def records(self, study: ParticipationStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return a table of one row per person (or type of people) and policy.

        The strategy is ``joined`` or ``withheld``. The columns are those of `record_table` without the adversary's
        payoff and the generalization intensity.
        """
        table = record_table(equilibria, np.arange(study.n_people), lambda strategy: "joined")
        return table.drop(columns=["adversary_payoff", "generalization_intensity"])

    def analyse(self, study: ParticipationStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the equilibria and their stability, as a `ParticipationAnalysis`."""
        return analyse_participation(study, report)

    def facts(self, study: ParticipationStudy) -> dict[str, Any]:
        """Return facts about the people who decide, for the manifest, by key.

        They are ``records`` (number of people, or of types of people), ``strategies`` (2) and ``data_hash``.
        """
        return {"records": study.n_people, "strategies": 2, "data_hash": study.fingerprint}

    def warnings(self, study: ParticipationStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield texts that warn of best replies that cycle and of plans without proof.

        A plan is the choice of policy ``planner``. `draw` has no effect.
        """
        for policy, found in outcomes.items():
            if policy.startswith("from-") and not found.equilibrium.exact:
                yield f"{policy}: best responses do not converge; the result is not an equilibrium"
            if policy == "planner" and not found.equilibrium.exact:
                yield "planner: families are too large to enumerate; a larger sum of payoffs may exist"

    def opponents(self, study: ParticipationStudy, options: OpponentOptions, draw: int = 0) -> Any:
        """Raise `InputError`: this kind has no cross-play, as no adversary decides."""
        raise InputError(
            "this kind of scenario has no strategic adversary",
            source=study.loaded.path,
            where="game",
            found=self.name,
            expected="a kind of scenario with an adversary",
        )

    def controls(self, scenario: ParticipationScenario) -> Iterator[Control]:
        """Yield the page's sliders for benefit, harm and the concern for relatives."""
        subjects = scenario.subjects
        yield amount_slider("subjects.benefit", "Benefit of finding a relative", subjects.benefit)
        yield amount_slider("subjects.harm", "Harm of being identified", subjects.harm)
        yield Slider("subjects.concern", "Concern for relatives", subjects.concern, max(5.0, 3 * subjects.concern), 0.1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ParticipationAnalysis(AnalysisTables):
    """Tables on the equilibria of a participation game; some may be empty.

    Parameters
    ----------
    equilibria : DataFrame
        One row per equilibrium, in order of rising participation: ``equilibrium`` (number, from 0), ``participation``
        (share of people who join), ``publisher_payoff`` (mean payoff per person), ``risk`` (mean probability of being
        identified) and ``starts``, the number of starts from which best responses reach it (missing for a random
        population).
    survival : DataFrame
        One row per equilibrium and share of participants who drop out: ``equilibrium``, ``participation``, ``lost``
        (the share), ``returned``, the share of draws whose best responses return to the equilibrium, and
        ``participation_after``, the mean participation that they reach. A random population is not drawn: ``returned``
        is 0 or 1.
    replies : DataFrame
        Only for a random population, one row per ``participation`` from 0.01 % to 100 %: ``would_join``, the share of
        people who gain by being in if that share of people has joined; ``selfish``, the same share without concern for
        relatives.
    families : DataFrame
        Only with known relatives, one row per family and number of participants that occurs in its equilibria:
        ``family`` (number, from 0), ``people``, ``joined`` (number of participants) and ``equilibria`` (number of
        equilibria with as many). Families have at least two and at most ``figures.equilibria.largest`` people; only the
        first 200 are included.
    """

    equilibria: pd.DataFrame = field(default_factory=pd.DataFrame)
    survival: pd.DataFrame = field(default_factory=pd.DataFrame)
    replies: pd.DataFrame = field(default_factory=pd.DataFrame)
    families: pd.DataFrame = field(default_factory=pd.DataFrame)


def analyse_participation(study: ParticipationStudy, report: Progress) -> ParticipationAnalysis:
    """Return a study's equilibria and their stability, as `ParticipationAnalysis`.

    Its `left_out` lists the starts from which best responses do not converge. `report` is called with the progress.
    """
    game, further = study.game, dict[str, Any]()
    if isinstance(game, Crowd):
        rows, survival = _of_crowd(study, game)
        at, selfish = np.geomspace(1e-4, 1.0, _DRAWN), game.without_concern()
        curves = {"would_join": map(game.wishing, at.tolist()), "selfish": map(selfish.wishing, at.tolist())}
        replies = {name: list(curve) for name, curve in curves.items()}
        further["replies"] = pd.DataFrame({"participation": at, **replies})
    else:
        rows, survival, left_out = _of_families(study, game, report)
        families = pd.DataFrame(_small_families(game), columns=["family", "people", "joined", "equilibria"])
        further |= {"families": families, "left_out": tuple(left_out)}
    columns = ["equilibrium", "participation", "publisher_payoff", "risk", "starts"]
    equilibria = pd.DataFrame(rows, columns=columns).astype({"starts": "Int64"})
    columns = ["equilibrium", "participation", "lost", "returned", "participation_after"]
    return ParticipationAnalysis(equilibria=equilibria, survival=pd.DataFrame(survival, columns=columns), **further)


def _of_crowd(study: ParticipationStudy, game: Crowd) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    rows, survival, values = [], [], game.values
    for number, share in enumerate(game.equilibria()):
        joined, (found, traced) = game.keenest(share), game.chances_of(share)
        inside = values.benefit * found + values.services - values.harm
        payoff = joined * inside - (1 - joined) * values.harm * traced
        risk = joined + (1 - joined) * traced
        rows.append((number, share, float(payoff.mean()), float(risk.mean()), pd.NA))
        for lost in study.scenario.figures.equilibria.lost:
            after = game.returns(share, lost)
            survival.append((number, share, lost, float(abs(after - share) <= _BACK * max(share, _BACK)), after))
    return rows, survival


def _of_families(
    study: ParticipationStudy, game: Families, report: Progress
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]:
    section, starts, rng = study.scenario.figures.equilibria, study.starts(), study.stream(2)
    ends, rows, survival, left_out = dict[bytes, tuple[Flags, int]](), [], [], []
    for number, (name, start) in enumerate(starts.items()):
        report("computing equilibria", number, len(starts))
        end, settled = game.replies(start)
        if settled:
            ends[end.tobytes()] = (end, ends.get(end.tobytes(), (end, 0))[1] + 1)
        else:
            left_out.append(f"best responses from {name} do not converge")
    for number, (end, count) in enumerate(sorted(ends.values(), key=lambda found: int(found[0].sum()))):
        found = outcome(game, end)
        rows.append((number, end.mean(), found.payoff.mean(), found.identified.mean(), count))
        draws = section.draws if end.any() else 1
        for lost in section.lost:
            afters = [game.replies(end & (rng.random(len(end)) >= lost), rng)[0] for _ in range(draws)]
            back = float(np.mean([np.array_equal(after, end) for after in afters]))
            survival.append((number, end.mean(), lost, back, float(np.mean([after.mean() for after in afters]))))
    return rows, survival, left_out


def _small_families(game: Families) -> Iterator[tuple[int, int, int, int]]:
    small = [people for people in game.families() if 2 <= len(people) <= game.largest]
    for number, people in enumerate(small[:_MOST_FAMILIES]):
        equilibria, _ = game.among(people).profiles()
        joined = [int(profile(found, len(people)).sum()) for found in np.flatnonzero(equilibria).tolist()]
        for size, count in zip(*np.unique(joined, return_counts=True), strict=True):
            yield number, len(people), int(size), int(count)


PARTICIPATION_KIND = ParticipationKind()
