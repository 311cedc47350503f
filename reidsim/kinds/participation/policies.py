"""Every policy of people who may join: its name, its words, and who joins by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reidsim.games.record_game import WITHHELD, Choice
from reidsim.palette import BLACK, BLUE, GREEN, GREY, VERMILION
from reidsim.scenarios.policy import Look, Policy

if TYPE_CHECKING:
    from reidsim.kinds.participation.study import ParticipationStudy


@dataclass(frozen=True, eq=False)
class Joiners:
    """Says who joins by a policy.

    Parameters
    ----------
    name : str
    study : ParticipationStudy
    """

    name: str
    study: ParticipationStudy

    @property
    def plans(self) -> bool:
        """Whether people reply to each other."""
        return self.name not in ("nobody", "everybody")

    def choose(self, game: Any) -> Choice:
        """Return who joins (0) and who does not (-1) in a game of joining; exact where that is proved."""
        starts = self.study.starts()
        if not self.plans:
            joined, proved = starts[self.name], True
        elif self.name == "planner":
            joined, proved = game.best_plan(list(starts.values()))
        else:
            joined, proved = game.replies(starts[self.name.removeprefix("from-")])
        strategies = np.where(joined, 0, WITHHELD).astype(np.int64)
        return Choice(strategies, self.name, np.full(len(joined), 2, dtype=np.int64), exact=proved)


def _policy(name: str, label: str, words: str, look: Look, *, is_rule: bool = False) -> Policy:
    return Policy(
        name, label, words, lambda study, draw: Joiners(name, study), is_rule=is_rule, by_agents=False, look=look
    )


_POLICIES = (
    _policy("nobody", "Nobody", "nobody joins", Look(GREY, "s"), is_rule=True),
    _policy("everybody", "Everybody", "everybody joins", Look(BLACK, "D"), is_rule=True),
    _policy(
        "from-nobody",
        "From nobody",
        "best replies in turn, starting from nobody, until nobody wants to change",
        Look(BLUE, "o"),
    ),
    _policy("from-everybody", "From everybody", "best replies in turn, starting from everybody", Look(VERMILION, "^")),
    _policy("planner", "Planner", "the members with the largest sum of payoffs", Look(GREEN, "v")),
)
POLICIES = {policy.name: policy for policy in _POLICIES}
