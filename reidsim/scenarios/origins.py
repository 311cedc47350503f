"""Sources of a scenario's values.

They are the text of its files, with comments, and the sources of its recipes.

The manifest of every results folder keeps them, so that a report can cite them after the files change or disappear.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names, resolve
from reidsim.errors import InputError
from reidsim.overrides import with_texts
from reidsim.validation import read_text, read_toml

_BUNDLED_FOLDERS = ("populations", "populations/knowledge")
# Keys that do not affect the game.
_NOT_OF_THE_GAME = ("title", "source", "game", "figures")


class RecipeOrigin(TypedDict):
    """Name of a recipe in the scenario, its title, and the sources of its figures."""

    name: str
    title: str
    sources: list[str]


class Origins(TypedDict):
    """Sources of a scenario's values.

    `texts` holds the text of the scenario's file, after the texts of the files that it extends. `recipes` holds the
    recipes that the scenario names.
    """

    texts: list[str]
    recipes: list[RecipeOrigin]


def origins_of(path: Path, content: Mapping[str, Any]) -> Origins:
    """Read the sources of a scenario's values from its files and recipes.

    Parameters
    ----------
    path : Path
        Path of the scenario's file.
    content : mapping
        The scenario as plain data, overrides included; recipes that cannot be read are skipped.

    Raises
    ------
    InputError
        If the file, or a file that it extends, cannot be read.
    """
    return {"texts": [read_text(file) for file in _extended(path)], "recipes": recipe_origins(content, path.parent)}


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


def recipe_origins(content: Mapping[str, Any], folder: Path | None) -> list[RecipeOrigin]:
    """Return the titles and sources of the recipes that a scenario names.

    Recipes that cannot be read are skipped.

    Parameters
    ----------
    content : mapping
        The scenario as plain data, overrides included.
    folder : Path, optional
        Folder in which relative paths start. Without it, recipes with a relative path are skipped.
    """
    found: list[RecipeOrigin] = []
    for name in _recipe_names(content):
        path = _recipe_file(name, folder)
        try:
            recipe = None if path is None else read_toml(path)
        except InputError:
            recipe = None
        if recipe is not None:
            title = recipe.get("title")
            found.append(
                {"name": name, "title": title if isinstance(title, str) else "", "sources": _source_texts(recipe)}
            )
    return found


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


def _recipe_names(content: Mapping[str, Any]) -> list[str]:
    """Return the recipe names in a scenario, in order of appearance."""
    bundled = {name for folder in _BUNDLED_FOLDERS for name in bundled_names(folder)}
    texts = [value for _, value in leaves(content) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if text in bundled or text.endswith(".toml")))


def _recipe_file(name: str, folder: Path | None) -> Path | None:
    if not name.endswith(".toml"):
        folders = [bundled for bundled in _BUNDLED_FOLDERS if name in bundled_names(bundled)]
        return bundled_folder(folders[0]) / f"{name}.toml" if folders else None
    if name.startswith(BUNDLED):
        return bundled_folder("populations") / name.removeprefix(BUNDLED)
    if Path(name).is_absolute():
        return Path(name)
    return folder / name if folder is not None else None


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
