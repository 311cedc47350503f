"""A policy as one object, from which runs, tables, reports and figures take all that they know about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender


@dataclass(frozen=True)
class Look:
    """How figures draw a policy whose look is always the same.

    Parameters
    ----------
    colour : str
        As ``#rrggbb``.
    marker : str
        As matplotlib names it.
    """

    colour: str
    marker: str


@dataclass(frozen=True)
class Policy:
    """A way of deciding what is shared; all that any part of the package knows about it.

    Parameters
    ----------
    name : str
        As scenarios and tables write it.
    label : str
        As figures write it.
    words : str
        What it does, in one sentence.
    defender : callable
        Makes the `Defender` that follows it, of a study and the number of a draw.
    is_rule : bool
        Whether it shares the same whoever attacks; else it is a best reply.
    forbids_attacks : bool
        Whether it shares only what nobody attacks.
    needs_safe_harbor : bool
        Whether the scenario must say what Safe Harbor restricts.
    by_agents : bool
        Whether it can be played round after round.
    in_another_game : bool
        Whether its payoffs accrue against another adversary than those of the others, so that they do not compare.
    look : Look, optional
        How figures draw it; they find a look for a policy that has none.
    """

    name: str
    label: str
    words: str
    defender: Callable[[Any, int], Defender]
    is_rule: bool = False
    forbids_attacks: bool = False
    needs_safe_harbor: bool = False
    by_agents: bool = True
    in_another_game: bool = False
    look: Look | None = None
