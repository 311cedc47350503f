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

_WORDS = {
    "nobody": ("Nobody", "nobody joins", GREY, "s"),
    "everybody": ("Everybody", "everybody joins", BLACK, "D"),
    "from-nobody": (
        "From nobody",
        "best replies in turn, starting from nobody, until nobody wants to change",
        BLUE,
        "o",
    ),
    "from-everybody": ("From everybody", "best replies in turn, starting from everybody", VERMILION, "^"),
    "planner": ("Planner", "the members with the largest sum of payoffs", GREEN, "v"),
}


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


def _policy(name: str) -> Policy:
    label, words, colour, marker = _WORDS[name]
    rule = name in ("nobody", "everybody")
    return Policy(
        name, label, words, lambda study, draw: Joiners(name, study), is_rule=rule, by_agents=False,
        look=Look(colour, marker),
    )  # fmt: skip


POLICIES = {name: _policy(name) for name in _WORDS}
