"""The data files of a batch, and the check that they do not change."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reidsim.adversaries.knowledge.load import RECIPES
from reidsim.bundled import BUNDLED, bundled_folder, data_file
from reidsim.engine.batch.design import Design, at_point
from reidsim.engine.release_file import sha256_of
from reidsim.errors import InputError, listed
from reidsim.populations.sf1 import SEGMENTS
from reidsim.scenarios.load import RECIPE_KEYS, Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import read_toml

# Keys of scenarios and recipes that name a recipe, or whose section has such keys.
_NAMES_OF_RECIPES = frozenset({key.rstrip(".*").rpartition(".")[2] for key in RECIPE_KEYS} | {"recipe", "population"})
_RECIPE_FOLDERS = ("populations", RECIPES)
# Bundled files that are read although no scenario or recipe names them.
_UNNAMED = ("us-2010-zip3.csv.gz", "ystr-loci.csv.gz", "voter-lists-by-state.csv.gz", "voter-lists-assumed.csv.gz")
_UNNAMED_RECIPES = ("twitter-use-by-age",)


class DataFiles:
    """Hashes of all files that a batch reads, taken when it begins.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    options : mapping, optional
        Command-line options, which may also name files.

    Attributes
    ----------
    hashes : dict of str to str
        SHA-256 by file name, in alphabetical order. The name is the path relative to the scenario's folder if the file
        is below it, ``bundled:`` plus the path for a bundled file, and otherwise the absolute path. Recipes, and the
        files that recipes name, are included. A missing or unreadable file has no entry; the runs that need it fail.
    """

    def __init__(
        self, loaded: Scenario[ScenarioHead], design: Design, options: Mapping[str, Any] | None = None
    ) -> None:
        self._paths = _paths(loaded, design, options)
        # Taken before the files are hashed, so that a change in between is detected.
        self._stamps = {name: _stamp(path) for name, path in self._paths.items()}
        self.hashes: dict[str, str] = {}
        for name, path in self._paths.items():
            with contextlib.suppress(InputError):
                self.hashes[name] = sha256_of(path)

    @property
    def digest(self) -> str:
        """A hash over the names and hashes of all files, in 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.hashes, sort_keys=True).encode()).hexdigest()[:16]

    def require_unchanged(self, source: Path) -> None:
        """Check that no file has changed since the batch began.

        Read a file only if its stamp changed.

        Parameters
        ----------
        source : Path
            Path of the batch, for the error message.

        Raises
        ------
        InputError
            If a file changed or is missing; the message names the files.
        """
        now = dict(self.hashes)
        for name in self.hashes:
            stamp = _stamp(self._paths[name])
            if stamp == self._stamps[name]:
                continue
            try:
                now[name] = sha256_of(self._paths[name])
            except InputError:
                del now[name]
            self._stamps[name] = stamp
        require_unchanged(self.hashes, now, source)


def _paths(loaded: Scenario[ScenarioHead], design: Design, options: Mapping[str, Any] | None) -> dict[str, Path]:
    """Return the path of each file that the runs of a batch read, by name."""
    folder = loaded.folder.absolute()
    found: dict[str, list[Path]] = {}
    for name in _UNNAMED:
        _note(bundled_folder("populations") / "figures" / name, folder, found)
    _follow({"recipe": list(_UNNAMED_RECIPES)}, folder, folder, found)
    _follow(at_point(loaded, design.values(0)).content, folder, folder, found)
    _follow(options or {}, folder, folder, found)
    for key in design.points.columns:
        # A swept value can be a file name, the name of a recipe, or a section with such names.
        others = {repr(value): value for value in design.points[key] if isinstance(value, str | dict | list | tuple)}
        _follow({key: list(others.values())}, folder, folder, found)
    return {name: found[name][0] for name in sorted(found)}


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return file attributes that change when the file is written or replaced.

    The result is None if it is missing.
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def files_named(loaded: Scenario[ScenarioHead], values: Iterable[tuple[str, Any]]) -> list[Path]:
    """Return the existing files named by a scenario, its recipes and swept values.

    Bundled files are left out. Paths are absolute and sorted.

    Parameters
    ----------
    loaded : Scenario
    values : iterable of tuple
        Pairs of key path and value, in addition to the scenario's own.
    """
    folder = loaded.folder.absolute()
    found: dict[str, list[Path]] = {}
    for content in (loaded.content, *({key: value} for key, value in values)):
        _follow(content, folder, folder, found)
    own = [paths for name, paths in found.items() if not name.startswith(BUNDLED)]
    return sorted({Path(os.path.abspath(path)) for paths in own for path in paths})


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of files whose content has changed or that are missing.

    New files do not count.
    """
    return [name for name, content in before.items() if now.get(name) != content]


def require_unchanged(before: Mapping[str, str], now: Mapping[str, str], source: Path) -> None:
    """Check that the files of a batch are unchanged since it began.

    Parameters
    ----------
    before, now : mapping of str to str
        SHA-256 by file name; see `DataFiles.hashes`.
    source : Path
        Path of the batch, for the error message.

    Raises
    ------
    InputError
        If a file of `before` changed or is missing; the message names the files.
    """
    changed = changed_files(before, now)
    if changed:
        names = listed(name if name in now else f"{name} (missing)" for name in changed)
        raise InputError(
            f"data files changed since the batch began: {names}",
            source=source,
            expected="the same data for all runs of a batch",
            hint="restore the files, or begin a new batch",
        )


def _follow(content: Any, base: Path, home: Path, found: dict[str, list[Path]], key: str = "") -> None:
    """Add every file named in `content` to `found`.

    Files named in recipes are added recursively.

    Parameters
    ----------
    content : object
        Content of a scenario or recipe, as plain data.
    base : Path
        Folder to which relative paths in the content refer.
    home : Path
        Folder of the scenario; file names are relative to it.
    found : dict
        Paths of each file, by file name; changed in place.
    key : str
        Key path of the content; only texts under some keys can be names of recipes.
    """
    if isinstance(content, Mapping):
        for path in _census_files(content, base):
            _note(path, home, found)
        for name, value in content.items():
            _follow(value, base, home, found, f"{key}.{name}")
    elif isinstance(content, list | tuple):
        for value in content:
            _follow(value, base, home, found, key)
    elif isinstance(content, str | Path) and str(content):
        for path in _meant(str(content), base, key):
            if _note(path, home, found) and path.suffix == ".toml":
                with contextlib.suppress(InputError):
                    _follow(read_toml(path), path.parent, home, found)


def _meant(text: str, base: Path, key: str) -> Iterator[Path]:
    """Yield the paths to which a text may refer, whether or not they exist.

    ``bundled:...`` refers to a bundled file of scenarios or populations, other text to a path relative to `base` and,
    under some keys, also to a bundled recipe.
    """
    if text.startswith(BUNDLED):
        for among in ("scenarios", "populations"):
            yield bundled_folder(among) / text.removeprefix(BUNDLED)
        return
    yield base / text
    if _NAMES_OF_RECIPES & set(key.split(".")):
        for among in _RECIPE_FOLDERS:
            yield bundled_folder(among) / f"{text}.toml"


def _census_files(recipe: Mapping[str, Any], base: Path) -> list[Path]:
    """Return the census files of a recipe, which names only their folder and state.

    The list is empty for other recipes.
    """
    if not {"folder", "state"} <= recipe.keys():
        return []
    folder = data_file(str(recipe["folder"]), base, "populations")
    parts = ["geo", *(f"000{segment}" for segment in SEGMENTS.values())]
    return [folder / f"{recipe['state']}{part}2010.sf1" for part in parts]


def _note(path: Path, home: Path, found: dict[str, list[Path]]) -> bool:
    """Add the path of an existing file to `found`, by file name.

    Return whether the file is new there.
    """
    try:
        if not path.is_file():
            return False
        name = _name(path.resolve(), home)
    except (OSError, ValueError):
        # The text is not a valid path; for example, it is too long.
        return False
    is_new = name not in found
    found.setdefault(name, []).append(path)
    return is_new


def _name(path: Path, home: Path) -> str:
    for among in ("scenarios", "populations"):
        bundled = bundled_folder(among).resolve()
        if path.is_relative_to(bundled):
            return f"{BUNDLED}{among}/{path.relative_to(bundled).as_posix()}"
    home = home.resolve()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else path.as_posix()
