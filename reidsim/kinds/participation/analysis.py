"""Find the equilibria of a participation game, and test them against drop-outs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from reidsim.games.participation.crowd import Crowd
from reidsim.games.participation.families import Families, profile
from reidsim.games.participation.game import Flags, outcome
from reidsim.kinds.participation.study import ParticipationStudy
from reidsim.scenarios.study import AnalysisTables, Progress

# Number of shares of participants at which best responses are computed for a curve: more make a smoother figure.
_DRAWN = 200
# A random population has returned to an equilibrium if its share of participants differs by at most this fraction.
_BACK = 1e-4
# Enumerate the profiles of at most this many families: each takes 2 ** (number of people) evaluations.
_MOST_FAMILIES = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class ParticipationAnalysis(AnalysisTables):
    """Tables on the equilibria of a participation game.

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
        people who gain by being in; ``selfish``, the same share without concern for relatives.
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
    """Return the equilibria of a study and their stability against drop-outs.

    Starts from which best responses do not converge are listed in `left_out`.
    """
    game = study.game
    return _of_crowd(study, game) if isinstance(game, Crowd) else _of_families(study, game, report)


def _of_crowd(study: ParticipationStudy, game: Crowd) -> ParticipationAnalysis:
    shares = game.equilibria()
    rows, survival = [], []
    for number, share in enumerate(shares):
        joined = game.keenest(share)
        found, traced = game.chances_of(share)
        values = game.values
        inside = values.benefit * found + values.services - values.harm
        payoff = joined * inside - (1 - joined) * values.harm * traced
        risk = joined + (1 - joined) * traced
        rows.append((number, share, float(payoff.mean()), float(risk.mean()), pd.NA))
        for lost in study.scenario.figures.equilibria.lost:
            after = game.returns(share, lost)
            survival.append((number, share, lost, float(abs(after - share) <= _BACK * max(share, _BACK)), after))
    at = np.geomspace(1e-4, 1.0, _DRAWN)
    selfish = game.without_concern()
    replies = {
        "participation": at,
        "would_join": [game.wishing(share) for share in at.tolist()],
        "selfish": [selfish.wishing(share) for share in at.tolist()],
    }
    return ParticipationAnalysis(
        equilibria=_equilibria(rows), survival=_survival(survival), replies=pd.DataFrame(replies)
    )


def _of_families(study: ParticipationStudy, game: Families, report: Progress) -> ParticipationAnalysis:
    starts, rng = study.starts(), study.stream(2)
    ends: dict[bytes, tuple[Flags, int]] = {}
    left_out = []
    for number, (name, start) in enumerate(starts.items()):
        report("computing equilibria", number, len(starts))
        end, settled = game.replies(start)
        if settled:
            ends[end.tobytes()] = (end, ends.get(end.tobytes(), (end, 0))[1] + 1)
        else:
            left_out.append(f"best responses from {name} do not converge")
    rows, survival = [], []
    for number, (end, count) in enumerate(sorted(ends.values(), key=lambda found: int(found[0].sum()))):
        found = outcome(game, end)
        rows.append((number, end.mean(), found.payoff.mean(), found.identified.mean(), count))
        for lost in study.scenario.figures.equilibria.lost:
            afters = [game.replies(end & (rng.random(len(end)) >= lost), rng)[0] for _ in range(_draws(study, end))]
            back = float(np.mean([np.array_equal(after, end) for after in afters]))
            survival.append((number, end.mean(), lost, back, float(np.mean([after.mean() for after in afters]))))
    return ParticipationAnalysis(
        equilibria=_equilibria(rows),
        survival=_survival(survival),
        families=_small_families(game),
        left_out=tuple(left_out),
    )


def _draws(study: ParticipationStudy, end: Flags) -> int:
    return study.scenario.figures.equilibria.draws if end.any() else 1


def _small_families(game: Families) -> pd.DataFrame:
    rows = []
    small = [people for people in game.families() if 2 <= len(people) <= game.largest]
    for number, people in enumerate(small[:_MOST_FAMILIES]):
        equilibria, _ = game.of(people).profiles()
        joined = [int(profile(found, len(people)).sum()) for found in np.flatnonzero(equilibria).tolist()]
        for size, count in zip(*np.unique(joined, return_counts=True), strict=True):
            rows.append((number, len(people), int(size), int(count)))
    return pd.DataFrame(rows, columns=["family", "people", "joined", "equilibria"])


def _equilibria(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = ["equilibrium", "participation", "publisher_payoff", "risk", "starts"]
    return pd.DataFrame(rows, columns=columns).astype({"starts": "Int64"})


def _survival(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    columns = ["equilibrium", "participation", "lost", "returned", "participation_after"]
    return pd.DataFrame(rows, columns=columns)
