"""Measures of participation games, and their equilibria under drop-outs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.agents.measures import PARTICIPATION
from reidsim.core.measures import in_words, measures_worded
from reidsim.games.measures import PUBLISHER_PAYOFF, REIDENTIFIED, RISK, SHARE_ATTACKED, UTILITY
from reidsim.games.participation.crowd import Crowd
from reidsim.games.participation.families import Families, profile
from reidsim.games.participation.game import Flags, outcome
from reidsim.kinds.participation.study import ParticipationStudy
from reidsim.scenarios.study import AnalysisTables, Progress
from reidsim.validation import read_toml

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
