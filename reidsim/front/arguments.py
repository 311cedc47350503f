"""Rewrite scenario errors to name Python arguments instead of file keys."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

GAME = "Game"
# Key paths of a scenario, and the corresponding argument of `Game`. If one argument sets several keys, the key is named
# as well.
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
    """Rewrite scenario errors raised in the context to name arguments of `Game`."""
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
        # Unknown top-level sections can come only from `overrides`.
        return f"argument 'overrides', {where}"
    return argument_of(where)


def argument_of(where: str) -> str:
    """Return the argument from which a key path comes, for error messages."""
    key, colon, rest = where.partition(":")
    for pattern, argument in _ARGUMENTS:
        match = re.fullmatch(pattern, key)
        if match:
            return match.expand(argument) + colon + rest
    is_key = re.fullmatch(r"[a-z_]+(\.[\w\[\]-]+)+|safe_harbor", key)
    return f"argument 'overrides', {where}" if is_key else where
