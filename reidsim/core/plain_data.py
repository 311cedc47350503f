"""Change nested plain data by key path, and write them as TOML."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from reidsim.core.errors import InputError
from reidsim.core.validation import validated

Model = TypeVar("Model", bound=BaseModel)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100
# Maximum length of an inline table, characters.
_SHORT = 70


def parse_override(text: str) -> tuple[str, object]:
    """Split ``economics.loss=600`` into key path and value.

    The value is parsed as TOML; if it is not valid TOML, it is text.

    Raises
    ------
    InputError
        If ``=`` or a part of the key is missing, or the value has too many digits or levels.
    """
    key, separator, value = text.partition("=")
    key = key.strip()
    if not separator or not all(part for part in key.split(".")):
        raise InputError("cannot be read", source="--set", found=text, expected="KEY=VALUE, such as economics.loss=600")
    try:
        parsed = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return key, value.strip()
    except (ValueError, RecursionError) as error:
        # Numbers with thousands of digits, and lists with a thousand levels.
        raise InputError(f"cannot be read: {error}", source="--set", where=key) from None
    return key, parsed["value"] if len(parsed) == 1 else value.strip()


def override(content: dict[str, Any], changes: Mapping[str, object]) -> None:
    """Replace values of nested plain data, in place.

    The keys of `changes` are key paths such as ``economics.loss``; a list entry is addressed by its position: 0, 1, ...
    Missing keys and sections are added. List entries can be replaced but not added.

    Raises
    ------
    InputError
        If a key path continues below a value that is neither a section nor a list, or contains a list position that
        does not exist; or if UTF-8 cannot encode the text of a value.
    """
    for key, value in changes.items():
        try:
            # Command-line arguments may not be text.
            str(value).encode()
        except UnicodeEncodeError:
            raise InputError("not valid text", source="--set", where=key) from None
        *sections, last = key.split(".")
        table: Any = content
        for depth, section in enumerate(sections, start=1):
            if isinstance(table, list):
                table = table[_entry(table, section, ".".join(sections[: depth - 1]))]
            else:
                table = table.setdefault(section, {})
            if not isinstance(table, dict | list):
                where, problem = ".".join(sections[:depth]), "is a value, not a section"
                raise InputError(problem, source="--set", where=where, found=table, expected="a section")
        place = _entry(table, last, ".".join(sections)) if isinstance(table, list) else last
        table[place] = deepcopy(value)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the union of plain data, in which values of `above` have priority.

    Sections are merged key by key; other values are replaced as a whole.
    """
    both = dict(below)
    for key, value in above.items():
        before = both.get(key)
        both[key] = merged(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return both


def with_texts(content: Any, change: Callable[[str], Any]) -> Any:
    """Return plain data in which `change` has replaced every text except keys.

    `change` is called with each text in sections and lists, at any depth, and returns the new value.
    """
    if isinstance(content, Mapping):
        return {key: with_texts(value, change) for key, value in content.items()}
    if isinstance(content, list):
        return [with_texts(value, change) for value in content]
    return change(content) if isinstance(content, str) else content


def value_at(content: Any, key: str) -> Any:
    """Return the value at a key path of plain data.

    The entries of a list have the keys 0, 1, ...

    Raises
    ------
    KeyError
        If the key does not exist.
    """
    for part in key.split("."):
        if isinstance(content, list):
            content = {str(place): entry for place, entry in enumerate(content)}
        if not isinstance(content, Mapping):
            raise KeyError(key)
        content = content[part]
    return content


def value_if_any(content: Any, key: str, nothing: Any = None) -> Any:
    """Return the value at a key path of plain data, or `nothing` without such a key."""
    try:
        return value_at(content, key)
    except KeyError:
        return nothing


def validated_after(
    changes: Mapping[str, object],
    model: type[Model],
    content: Mapping[str, Any],
    source: str | Path,
    *,
    seed_given: bool = False,
    names: Collection[str] = (),
) -> Model:
    """Return plain data after overrides as a validated object; see `validated`.

    `changes` are the overrides by key path; `content` already includes them. If a change caused an error, the error
    names the change, not the file. `seed_given` is true if ``seed`` has its own option.

    Raises
    ------
    InputError
        If the data are invalid; the message names the change or the file, the key path, the value found and the allowed
        values.
    """
    try:
        return validated(model, content, source, names)
    except InputError as error:
        culprit = next((key for key in changes if _overlap(key, error.where or "")), None)
        if culprit is None:
            raise
        by_option = seed_given and culprit == "seed"
        raise error.but(source="seed" if by_option else "--set", where=None if by_option else error.where) from None


def _entry(entries: list[Any], key: str, where: str) -> int:
    """Return the position of a list entry, given its key, a number from 0 as text.

    `where` is the key path of the list, for messages.

    Raises
    ------
    InputError
        If the key is not a number, or the list has no such entry.
    """
    if not key.isdecimal() or int(key) >= len(entries):
        expected = f"a position from 0 to {len(entries) - 1}" if entries else "no position: the list is empty"
        raise InputError("no such list entry", source="--set", where=where, found=key, expected=expected)
    return int(key)


def _overlap(key: str, where: str) -> bool:
    """Return whether a key path and an error's location are equal or nested.

    `where` is the location in the error, such as ``stages[0].loci``. False if it is empty.
    """
    place = where.partition(":")[0].replace("[", ".[")
    return bool(place) and (f"{place}.".startswith(f"{key}.") or f"{key}.".startswith(f"{place}."))


def toml_text(content: Mapping[str, Any]) -> str:
    """Return plain data (text, numbers, booleans, lists, tables) as TOML text.

    Missing values (None) are omitted, because TOML has no notation for them.

    Raises
    ------
    TypeError
        For values of other types.
    """
    return "\n".join(_table(content, "")).lstrip("\n") + "\n"


def inline_toml(value: object) -> str:
    """Return a value as TOML text on one line, as after ``KEY =``.

    Entries that are None are omitted. A `TypeError` is raised for values that are not text, numbers, booleans, lists or
    sections.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        # repr gives the shortest text that is read back as the same number.
        return repr(value)
    if isinstance(value, Mapping):
        entries = [f"{toml_key(key)} = {inline_toml(entry)}" for key, entry in value.items() if entry is not None]
        return f"{{ {', '.join(entries)} }}" if entries else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline_toml(entry) for entry in value if entry is not None) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def toml_key(key: str) -> str:
    """Return one part of a key path, quoted if necessary."""
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _table(content: Mapping[str, Any], path: str) -> list[str]:
    """Return the TOML lines of a table: its values, then its subtables with headings.

    `path` is the key path of the table, empty for the whole document. If all subtables of a table below are short, they
    are written inline.
    """
    tables = {key: value for key, value in content.items() if _holds_tables(value)}
    entries = [entry for value in tables.values() for entry in (value if isinstance(value, list | tuple) else [value])]
    if path and all(len(inline_toml(entry)) <= _SHORT for entry in entries):
        tables = {}
    lines = [
        f"{toml_key(key)} = {_value(value)}"
        for key, value in content.items()
        if key not in tables and value is not None
    ]
    for key, value in tables.items():
        place = f"{path}.{toml_key(key)}" if path else toml_key(key)
        if isinstance(value, Mapping):
            inner = _table(value, place)
            # A table that contains only tables with headings needs no heading.
            lines += inner if inner[:1] == [""] else ["", f"[{place}]", *inner]
        else:
            for entry in value:
                lines += ["", f"[[{place}]]", *_table(entry, place)]
    return lines


def _holds_tables(value: object) -> bool:
    """Return whether a value is a table, or a list of at least one and only tables."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(entry, Mapping) for entry in value)
    return isinstance(value, Mapping)


def _value(value: object) -> str:
    text = inline_toml(value)
    if len(text) <= _WIDTH or not isinstance(value, list | tuple):
        return text
    return "[\n" + "".join(f"  {inline_toml(entry)},\n" for entry in value if entry is not None) + "]"


def _quoted(text: str) -> str:
    # TOML cannot represent one half of a surrogate pair.
    quoted = json.dumps(re.sub("[\ud800-\udfff]", "\ufffd", text), ensure_ascii=False)
    return "".join(sign if sign.isprintable() else f"\\U{ord(sign):08X}" for sign in quoted)
