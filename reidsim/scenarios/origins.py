"""Sources of a scenario's values.

They are the text of its files, with comments, and the sources of its recipes.

The manifest of every results folder keeps them, so that a report can cite them after the files change or disappear.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names, resolve
from reidsim.core.plain_data import with_texts
from reidsim.errors import InputError
from reidsim.validation import read_text, read_toml

_BUNDLED_FOLDERS = ("populations", "populations/knowledge")
# Keys that do not affect the game.
_NOT_OF_THE_GAME = ("title", "source", "game", "figures")


def origins_of(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Read the sources of a scenario's values from its files and recipes.

    Parameters
    ----------
    path : Path
        Path of the scenario's file.
    content : mapping
        The scenario as plain data, overrides included; recipes that cannot be read are skipped.

    Returns
    -------
    dict
        ``texts``: text of the scenario's file, after the texts of the files that it extends. ``recipes``: name, title
        and sources of each recipe that the scenario names.

    Raises
    ------
    InputError
        If the file, or a file that it extends, cannot be read.
    """
    names = {name: folder for folder in reversed(_BUNDLED_FOLDERS) for name in bundled_names(folder)}
    texts = [value for _, value in leaves(content) if isinstance(value, str)]
    recipes = []
    for name in dict.fromkeys(text for text in texts if text in names or text.endswith(".toml")):
        file = path.parent / name
        if name.startswith(BUNDLED):
            file = bundled_folder("populations") / name.removeprefix(BUNDLED)
        elif not name.endswith(".toml"):
            file = bundled_folder(names[name]) / f"{name}.toml"
        with suppress(InputError):
            recipe = read_toml(file)
            title = recipe.get("title")
            title = title if isinstance(title, str) else ""
            recipes.append({"name": name, "title": title, "sources": _source_texts(recipe)})
    return {"texts": [read_text(file) for file in _extended(path)], "recipes": recipes}


def hashed_files(content: Any, folder: Path) -> Any:
    """Return plain data with the SHA-256 of each file in place of its name, and the content of each recipe.

    Texts that do not name an existing file are kept.
    """

    def hashed(text: str) -> Any:
        path = folder / text
        if not os.path.isfile(path):
            return text
        if path.suffix == ".toml":
            return hashed_files(read_toml(path), path.parent)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return with_texts(content, hashed)


def leaves(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the key path and value of all keys of a scenario that affect the game.

    Sections and lists of sections are yielded key by key, with positions from 0 in lists; a hierarchy and other values
    as a whole. Keys with value None are left out. `above` is the key path of `content`.
    """
    for key, value in content.items():
        path = f"{above}.{key}" if above else str(key)
        if path in _NOT_OF_THE_GAME or value is None:
            continue
        # A key with a dot is a key path, as in sweeps; its value is not a section of the scenario.
        if isinstance(value, Mapping) and value and key != "hierarchy" and "." not in key:
            yield from leaves(value, path)
        elif isinstance(value, list | tuple) and value and all(isinstance(entry, Mapping) for entry in value):
            for place, entry in enumerate(value):
                yield from leaves(entry, f"{path}.{place}")
        else:
            yield path, _without_none(value)


def _without_none(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return value


def _extended(path: Path) -> list[Path]:
    """Return the scenario's file, after the files that it extends."""
    files: list[Path] = []
    file: Path | None = path
    while file is not None and file not in files:
        files.insert(0, file)
        extends = read_toml(file).get("extends")
        file = resolve(extends, "scenarios", "scenario", base=file.parent) if isinstance(extends, str) else None
    return files


def _source_texts(recipe: object) -> list[str]:
    """Return every text under a key ``source``, each once.

    The text of a section precedes the texts of its subsections.
    """
    if isinstance(recipe, Mapping):
        own = recipe.get("source")
        parts = [text for key, value in recipe.items() if key != "source" for text in _source_texts(value)]
        return list(dict.fromkeys([own, *parts] if isinstance(own, str) and own else parts))
    if isinstance(recipe, list):
        return list(dict.fromkeys(text for value in recipe for text in _source_texts(value)))
    return []
