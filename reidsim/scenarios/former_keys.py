"""Keys of former scenarios, and what says the same today.

`FORMER_KEYS` is all there is to know about them: a scenario that holds one is refused with where it moved, and whatever
rewrites scenarios can go by it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reidsim.errors import InputError, listed
from reidsim.overrides import value_if_any
from reidsim.validation import read_toml


@dataclass(frozen=True)
class FormerKey:
    """A key that scenarios of a game used to have.

    Parameters
    ----------
    game : str
        The value of the scenario's key ``game``; ``*`` for all games.
    key : str
        Key path; what is below it moved along.
    now : str
        Key path that has taken its place, with the same values; empty if no single key has.
    instead : str
        What is written instead where no single key has taken its place.
    """

    game: str
    key: str
    now: str = ""
    instead: str = ""

    def __str__(self) -> str:
        """Return what to write for it."""
        return f"{self.now or self.instead} in place of {self.key}"


_NOTHING = object()
_TOLD = read_toml(Path(__file__).with_suffix(".toml"))
# Values of the key ``game`` that scenarios used to have, and what to write instead.
FORMER_GAMES: dict[str, str] = _TOLD["games"]
FORMER_KEYS = tuple(FormerKey(game, key, **told) for game, keys in _TOLD["keys"].items() for key, told in keys.items())


def former_keys(content: Mapping[str, Any], game: str) -> list[FormerKey]:
    """Return the former keys that a scenario holds, given as plain data; no section that they alone make up."""
    there = [former for former in FORMER_KEYS if former.game == game and holds(content, former.key)]
    return [former for former in there if not _is_made_up(content, former.key, there)]


def holds(content: Mapping[str, Any], key: str) -> bool:
    """Tell whether plain data hold anything at a key path."""
    return value_if_any(content, key, _NOTHING) is not _NOTHING


def refuse_former(content: Mapping[str, Any], game: str, source: str | Path) -> None:
    """Refuse a scenario of the former form.

    Parameters
    ----------
    content : mapping
        The scenario as plain data.
    game : str
    source : str or Path
        The scenario's file.

    Raises
    ------
    InputError
        Names each former key that it holds, and what has taken its place.
    """
    if game in FORMER_GAMES:
        raise InputError(
            "former value", source=source, where="game", found=game, expected=FORMER_GAMES[game], hint=_hint(source)
        )
    found = former_keys(content, game)
    if found:
        raise InputError(
            "former key" if len(found) == 1 else "former keys",
            source=source,
            where=listed((former.key for former in found), len(found)),
            expected="; ".join(map(str, found)),
            hint=_hint(source),
        )


def _hint(source: str | Path) -> str | None:
    """Return the command that rewrites a file."""
    return f"reidsim upgrade {shlex.quote(str(source))} rewrites it" if isinstance(source, Path) else None


def _is_made_up(content: Mapping[str, Any], key: str, there: Iterable[FormerKey]) -> bool:
    """Tell whether everything in a section is a former key of its own, or a section of such keys."""
    section = value_if_any(content, key)
    if not isinstance(section, Mapping) or not section:
        return False
    own = [f"{former.key}." for former in there if former.key != key]
    return all(any(below.startswith(f"{key}.{name}.") for below in own) for name in section)
