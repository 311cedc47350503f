"""Write plain data as TOML, so that an executed scenario can be saved and rerun."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDTH = 100
# Maximum length of an inline table, characters.
_SHORT = 70


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
    """Return a value on one line, as after ``KEY =``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # repr gives the shortest text that is read back as the same number.
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(
            f"{toml_key(key)} = {inline_toml(entry)}" for key, entry in value.items() if entry is not None
        )
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline_toml(entry) for entry in value if entry is not None) + "]"
    raise TypeError(f"no TOML for {type(value).__name__}")


def toml_key(key: str) -> str:
    """Return one part of a key path, quoted if necessary."""
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _table(content: Mapping[str, Any], path: str) -> list[str]:
    """Return the lines of a table: its values, then its subtables with headings."""
    below = {key: value for key, value in content.items() if _needs_heading(value, path)}
    if below:
        # Inline tables would precede tables with headings, but the order of attributes can matter.
        below = {key: value for key, value in content.items() if _holds_tables(value)}
    lines = [
        f"{toml_key(key)} = {_value(value)}" for key, value in content.items() if key not in below and value is not None
    ]
    for key, value in below.items():
        place = f"{path}.{toml_key(key)}" if path else toml_key(key)
        if isinstance(value, Mapping):
            inner = _table(value, place)
            # A table that contains only tables with headings needs no heading.
            bare = bool(inner) and inner[0] == ""
            heading = [] if bare else ["", f"[{place}]"]
            lines += [*heading, *inner]
        else:
            for entry in value:
                lines += ["", f"[[{place}]]", *_table(entry, place)]
    return lines


def _needs_heading(value: object, path: str) -> bool:
    """Return whether a value needs a heading; short tables of a section are inline."""
    if not _holds_tables(value):
        return False
    entries = value if isinstance(value, list | tuple) else [value]
    return not path or any(len(inline_toml(entry)) > _SHORT for entry in entries)


def _holds_tables(value: object) -> bool:
    """Return whether a value is a table or a list of only tables."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(isinstance(entry, Mapping) for entry in value)
    return isinstance(value, Mapping)


def _value(value: object) -> str:
    text = inline_toml(value)
    if len(text) <= _WIDTH or not isinstance(value, list | tuple):
        return text
    return "[\n" + "".join(f"  {inline_toml(entry)},\n" for entry in value if entry is not None) + "]"


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(sign) or _escaped(sign) for sign in text) + '"'


def _escaped(sign: str) -> str:
    if sign.isprintable():
        return sign
    code = ord(sign)
    # TOML cannot represent one half of a surrogate pair.
    return "\\uFFFD" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
