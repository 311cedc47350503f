"""The policies of people who may join."""

from __future__ import annotations

from typing import Any

import numpy as np

from reidsim.games.record_game import WITHHELD, Choice
from reidsim.palette import BLACK, BLUE, GREEN, GREY, VERMILION
from reidsim.scenarios.policy import Look, Policies, Policy

POLICIES: Policies[Policy] = Policies()


class Joining(Policy):
    """A rule or process by which people join."""

    by_agents = False

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return who joins, shape (n_people,), and whether that is proved to be final."""
        joined, settled = game.replies(starts[self.name.removeprefix("from-")])
        return joined, settled

    def choose(self, study: Any, game: Any, draw: int) -> Choice:
        """Return 0 for each person who joins, -1 for the others."""
        joined, proved = self.joined(game, study.starts())
        strategies = np.where(joined, 0, WITHHELD).astype(np.int64)
        return Choice(strategies, self.name, np.full(len(joined), 2, dtype=np.int64), exact=proved)


@POLICIES.register("nobody")
class Nobody(Joining):
    """No member."""

    label, description, look, is_rule = "Nobody", "nobody joins", Look(GREY, "s"), True

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the fixed set."""
        return starts[self.name], True


@POLICIES.register("everybody")
class Everybody(Nobody):
    """Everybody a member."""

    label, description, look = "Everybody", "everybody joins", Look(BLACK, "D")


@POLICIES.register("from-nobody")
class FromNobody(Joining):
    """Best-reply dynamics from no member."""

    label, look = "From nobody", Look(BLUE, "o")
    description = "best replies in turn, starting from nobody, until nobody wants to change"


@POLICIES.register("from-everybody")
class FromEverybody(Joining):
    """Best-reply dynamics from everybody."""

    label, look = "From everybody", Look(VERMILION, "^")
    description = "best replies in turn, starting from everybody"


@POLICIES.register("planner")
class SocialPlanner(Joining):
    """The set of members with the largest welfare."""

    label, description, look = "Planner", "the members with the largest sum of payoffs", Look(GREEN, "v")

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the members with the largest sum of payoffs."""
        joined, proved = game.best_plan(list(starts.values()))
        return joined, proved
