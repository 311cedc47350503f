"""A scenario's text as statements: headers, keys with their values, and the lines between them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

KeyPath = tuple[str, ...]


@dataclass
class Statement:
    """A header, or a key with its value; or a line between them.

    Parameters
    ----------
    lines : list of str
        With their ends.
    path : tuple of str
        What it sets, from the root on; empty for lines between statements.
    own : tuple of str
        The key as written: of a header that is all of the path.
    is_header : bool
    value : object
        Of a key.
    dropped : bool
        Whether it is commented out.
    """

    lines: list[str]
    path: KeyPath = ()
    own: KeyPath = ()
    is_header: bool = False
    value: Any = None
    dropped: bool = False
    above: list[str] = field(default_factory=list)


def statements_of(text: str) -> Iterator[Statement]:
    """Yield what a valid TOML text is made of, in order."""
    section: KeyPath = ()
    gathered: list[str] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if not gathered and (not line.strip() or line.lstrip().startswith("#")):
            yield Statement([line])
            continue
        if not gathered and line.lstrip().startswith("["):
            section = _only_path(tomllib.loads(line))
            yield Statement([line], section, section, is_header=True)
            continue
        gathered.append(line)
        try:
            found = tomllib.loads("".join(gathered))
        except tomllib.TOMLDecodeError:
            # A value that goes on in the next line.
            continue
        own = _key("".join(gathered))
        value: Any = found
        for part in own:
            value = value[part]
        yield Statement(gathered, (*section, *own), own, value=value)
        gathered = []


def _only_path(content: Any) -> KeyPath:
    """Return the path of a header that was parsed alone."""
    path: list[str] = []
    while content:
        if isinstance(content, list):
            content = content[0]
            continue
        ((name, content),) = content.items()
        path.append(name)
    return tuple(path)


def _key(text: str) -> KeyPath:
    """Return the key of a statement, as a path."""
    for match in re.finditer("=", text):
        try:
            content: Any = tomllib.loads(f"{text[: match.start()]}= 0")
        except tomllib.TOMLDecodeError:
            # Inside a quoted key.
            continue
        path: list[str] = []
        while isinstance(content, dict):
            ((name, content),) = content.items()
            path.append(name)
        return tuple(path)
    raise AssertionError(text)


def written_path(line: str, parts: KeyPath) -> str:
    """Return how a line writes a key path: with spaces or quotes, as TOML allows."""
    quoted = [rf"""["']?{re.escape(part)}["']?""" for part in parts]
    match = re.search(r"\s*\.\s*".join(quoted), line)
    assert match is not None, line  # noqa: S101 - the path was read from it
    return match[0]


def comment_of(text: str) -> str:
    """Return the comment after a value, empty if there is none."""
    for match in re.finditer("#", text):
        try:
            tomllib.loads(text[: match.start()])
        except tomllib.TOMLDecodeError:
            continue
        return text[match.start() :].rstrip()
    return ""


def sections_of(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield sections with their keys, for a value at a path."""
    if not isinstance(value, dict):
        yield path[:-1], {path[-1]: value}
        return
    plain = {key: below for key, below in value.items() if not isinstance(below, dict)}
    if plain or not value:
        yield path, plain
    for key, below in value.items():
        if isinstance(below, dict):
            yield from sections_of((*path, key), below)
