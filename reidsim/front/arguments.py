"""Errors of a scenario that was made in Python: they name the argument, not the key of a file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

GAME = "Game"
# Key paths of a scenario, and the argument of `Game` that they come from; the key is told too where one argument says
# several of them.
_ARGUMENTS = (
    (r"economics\.(?:columns\.)?(benefit|loss)", r"argument '\1'"),
    (r"economics\.(?:columns\.)?(gain|cost)", r"argument 'adversary', \1"),
    (r"adversary\.(?:sequential\.)?(.+)", r"argument 'adversary', \1"),
    (r"adversaries", r"argument 'weights'"),
    (r"adversaries\.([^.]+)\.weight", r"argument 'weights', \1"),
    (r"adversaries\.([^.]+)", r"argument 'adversaries', \1"),
    (r"adversaries\.([^.]+)\.(?:sequential\.)?(.+)", r"argument 'adversaries', \1, \2"),
    (r"publisher\.policies.*", r"argument 'policies'"),
    (r"seed", r"argument 'seed'"),
    (r"population(\.recipe)?", r"argument 'population'"),
    (r"attributes\.([^.]+)\.hierarchy(\..+)?", r"argument 'records', hierarchy of '\1'"),
    (r"attributes\.(.+)", r"argument 'records', \1"),
    (r"release\.(person|household)", r"argument 'records', \1"),
    (r"attributes|release.*", r"argument 'records'"),
)


@contextlib.contextmanager
def named_arguments() -> Iterator[None]:
    """Let errors of a scenario that `Game` made name its arguments."""
    try:
        yield
    except InputError as error:
        if error.source is not None and Path(error.source).name != GAME:
            raise
        where = None if error.where is None else _place(error.where, error.problem)
        raise error.but(source=GAME, where=where) from None


def _place(where: str, problem: str) -> str:
    point, colon, key = where.partition(": ")
    if point.startswith("point ") and colon:
        return f"{point}: {argument_of(key)}"
    if problem == "unknown key" and "." not in where:
        # No argument makes a section that does not exist.
        return f"argument 'overrides', {where}"
    return argument_of(where)


def argument_of(where: str) -> str:
    """Return what messages call the place of an error: the argument that a key path comes from."""
    key, colon, rest = where.partition(":")
    for pattern, argument in _ARGUMENTS:
        match = re.fullmatch(pattern, key)
        if match:
            return match.expand(argument) + colon + rest
    is_key = re.fullmatch(r"[a-z_]+(\.[\w\[\]-]+)+|safe_harbor", key)
    return f"argument 'overrides', {where}" if is_key else where
