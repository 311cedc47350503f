"""Where the values of a scenario come from: the text of its files, comments included, and the sources of its recipes.

Kept in the manifest of every results folder, so that a report can say it when the files have changed or are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names, resolve
from reidsim.errors import InputError
from reidsim.validation import read_text, read_toml

_BUNDLED_FOLDERS = ("populations", "populations/knowledge")
# What says nothing of the game.
_NOT_OF_THE_GAME = ("title", "source", "game", "figures")


class RecipeOrigin(TypedDict):
    """What a recipe says of itself: its name in the scenario, its title, and the sources of its figures."""

    name: str
    title: str
    sources: list[str]


class Origins(TypedDict):
    """What a scenario's files say of where its values come from.

    The texts of the scenario's file and of those that it extends, the extended first; and the recipes it names.
    """

    texts: list[str]
    recipes: list[RecipeOrigin]


def origins_of(path: Path, content: Mapping[str, Any]) -> Origins:
    """Read what a scenario's files say of where its values come from.

    Parameters
    ----------
    path : Path
        The scenario's file.
    content : mapping
        The scenario as run, which says what recipes it uses; those that cannot be read are left out.

    Raises
    ------
    InputError
        If the file, or one that it extends, cannot be read.
    """
    return {"texts": [read_text(file) for file in _extended(path)], "recipes": recipe_origins(content, path.parent)}


def recipe_origins(content: Mapping[str, Any], folder: Path | None) -> list[RecipeOrigin]:
    """Return what the recipes that a scenario names say of themselves, as far as they can be read.

    Parameters
    ----------
    content : mapping
        The scenario as run.
    folder : Path, optional
        Where relative paths start; recipes that have one are left out if it is not given.
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
    """Yield the values of a scenario that concern the game, by key path; a hierarchy is one value."""
    for key, value in content.items():
        path = f"{above}.{key}" if above else str(key)
        if path in _NOT_OF_THE_GAME or value is None:
            continue
        # What a key path stands for, as in sweeps, is a value and no section.
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
    """Return the scenario's file, after those that it extends."""
    files: list[Path] = []
    file: Path | None = path
    while file is not None and file not in files:
        files.insert(0, file)
        extends = read_toml(file).get("extends")
        file = resolve(extends, "scenarios", "scenario", base=file.parent) if isinstance(extends, str) else None
    return files


def _recipe_names(content: Mapping[str, Any]) -> list[str]:
    """Return names of recipes among the values of a scenario, in their order."""
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
    """Return every text under a key ``source``, those of parts after that of the whole."""
    if isinstance(recipe, Mapping):
        own = recipe.get("source")
        parts = [text for key, value in recipe.items() if key != "source" for text in _source_texts(value)]
        return list(dict.fromkeys([own, *parts] if isinstance(own, str) and own else parts))
    if isinstance(recipe, list):
        return list(dict.fromkeys(text for value in recipe for text in _source_texts(value)))
    return []
