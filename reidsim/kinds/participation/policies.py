"""Policies of people who may join a genomic database."""

from __future__ import annotations

from typing import Any

import numpy as np

from reidsim.games.record_game import WITHHELD, Choice
from reidsim.palette import BLACK, BLUE, GREEN, GREY, VERMILION
from reidsim.scenarios.policy import Look, Policies, Policy

POLICIES: Policies[Policy] = Policies()


class Joining(Policy):
    """A rule or process that determines the members."""

    by_agents = False

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the members, shape (n_people,), and whether the result is proved.

        For best replies, "proved" means that they converge.
        """
        joined, settled = game.replies(starts[self.name.removeprefix("from-")])
        return joined, settled

    def choose(self, study: Any, game: Any, draw: int) -> Choice:
        """Return 0 for each person who joins, -1 for the others."""
        joined, proved = self.joined(game, study.starts())
        strategies = np.where(joined, 0, WITHHELD).astype(np.int64)
        return Choice(strategies, self.name, np.full(len(joined), 2, dtype=np.int64), exact=proved)


@POLICIES.register("nobody")
class Nobody(Joining):
    """Nobody joins."""

    label, description, look, is_rule = "Nobody", "no person joins", Look(GREY, "s"), True

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the fixed set of members."""
        return starts[self.name], True


@POLICIES.register("everybody")
class Everybody(Nobody):
    """All people join."""

    label, description, look = "Everybody", "all people join", Look(BLACK, "D")


@POLICIES.register("from-nobody")
class FromNobody(Joining):
    """Best-reply dynamics from an empty database."""

    label, look = "From nobody", Look(BLUE, "o")
    description = "sequence of best responses that starts with no members and ends when no person gains by a change"


@POLICIES.register("from-everybody")
class FromEverybody(Joining):
    """Best-reply dynamics from full participation."""

    label, look = "From everybody", Look(VERMILION, "^")
    description = (
        "sequence of best responses that starts with all people as members and ends when no person gains by a change"
    )


@POLICIES.register("planner")
class SocialPlanner(Joining):
    """The set of members with the largest welfare."""

    label, description, look = (
        "Planner",
        "set of members with the largest sum of payoffs over all people",
        Look(GREEN, "v"),
    )

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the set of members with the largest sum of payoffs."""
        joined, proved = game.best_plan(list(starts.values()))
        return joined, proved
