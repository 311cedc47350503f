"""A study cut down to a part of its work, from the time of which that of all of it is expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Portions:
    """How a study is cut down.

    Parameters
    ----------
    units : int
        Of work, in which the time of a run is linear: rows of games that are solved one by one, for instance.
    study_of : callable
        Returns the study of some of them, `least` to `units`, of which nothing has been computed.
    least : int
        Fewer cannot be played.
    """

    units: int
    study_of: Callable[[int], Any]
    least: int = 1


class CutDown:
    """Whether the studies of a kind can be cut down; they cannot, if it does not say so."""

    def portions(self, study: Any) -> Portions | None:
        """Return how a study is cut down to tell the time that it takes; None if its time cannot be told from less."""
        return None
