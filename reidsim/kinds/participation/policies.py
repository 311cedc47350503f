"""Policies of people who may join a genomic database."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from reidsim.games.record_game import WITHHELD, Choice
from reidsim.palette import BLACK, BLUE, GREEN, GREY, VERMILION
from reidsim.scenarios.policy import Look, Policies, Policy

POLICIES: Policies[Policy] = Policies()


class Joining(Policy):
    """A rule or process that determines who joins; by default, best-reply dynamics."""

    by_agents = False

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return whether each person joins, shape (n_people,), and whether this is proved.

        For best-reply dynamics, "proved" means that they converge to an equilibrium.

        Parameters
        ----------
        game : JoiningGame
        starts : dict of str to ndarray of bool, shape (n_people,)
            Sets of participants to start from, by name; see `ParticipationStudy.starts`.
        """
        return cast("tuple[Any, bool]", game.replies(starts[self.name.removeprefix("from-")]))

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
        """Return the set of participants that the policy's name fixes, and True."""
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
    """The set of participants with the largest sum of payoffs over all people."""

    label, look = "Planner", Look(GREEN, "v")
    description = "set of members with the largest sum of payoffs over all people"

    def joined(self, game: Any, starts: dict[str, Any]) -> tuple[Any, bool]:
        """Return the participants with the largest sum of payoffs found.

        The second result is whether no other set can have a larger sum.
        """
        return cast("tuple[Any, bool]", game.best_plan(list(starts.values())))
