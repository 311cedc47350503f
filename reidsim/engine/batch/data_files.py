"""The data files of a batch, named by its scenario and by recipes, and the check that they are unchanged."""

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
from reidsim.scenarios.load import RECIPE_KEYS, LoadedScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import read_toml

# Keys that name a recipe, of scenarios and of recipes, or hold keys that do.
_NAMES_OF_RECIPES = frozenset({key.rstrip(".*").rpartition(".")[2] for key in RECIPE_KEYS} | {"recipe", "population"})
_RECIPE_FOLDERS = ("populations", RECIPES)
# Files that come with reidsim and are read without being named.
_UNNAMED = ("us-2010-zip3.csv.gz", "ystr-loci.csv.gz", "voter-lists-by-state.csv.gz", "voter-lists-assumed.csv.gz")
_UNNAMED_RECIPES = ("twitter-use-by-age",)


class DataFiles:
    """The files that runs of a batch read, at any point, as they were when it began.

    Parameters
    ----------
    loaded : LoadedScenario
    design : Design
    options : mapping, optional
        Options besides the scenario, which may name files, too.

    Attributes
    ----------
    hashes : dict of str to str
        SHA-256 by name, in alphabetical order: paths relative to the scenario's folder where they are below it;
        ``bundled:`` and the path of bundled files; recipes and the files that they name in turn. A missing or
        unreadable file has none: the runs that need it fail.
    """

    def __init__(
        self, loaded: LoadedScenario[ScenarioHead], design: Design, options: Mapping[str, Any] | None = None
    ) -> None:
        self._paths = _paths(loaded, design, options)
        # Taken before the files are read, so that a change in between is noticed.
        self._stamps = {name: _stamp(path) for name, path in self._paths.items()}
        self.hashes: dict[str, str] = {}
        for name, path in self._paths.items():
            with contextlib.suppress(InputError):
                self.hashes[name] = sha256_of(path)

    @property
    def digest(self) -> str:
        """A hash of all of them."""
        return hashlib.sha256(json.dumps(self.hashes, sort_keys=True).encode()).hexdigest()[:16]

    def require_unchanged(self, source: Path) -> None:
        """Check that the files hold the same data as when the batch began; a file is read only if its stamp changed.

        Parameters
        ----------
        source : Path
            The batch, for the error.

        Raises
        ------
        InputError
            Names the files that changed or are gone.
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


def _paths(loaded: LoadedScenario[ScenarioHead], design: Design, options: Mapping[str, Any] | None) -> dict[str, Path]:
    """Return the path of each file that runs of a batch read, by name."""
    folder = loaded.folder.absolute()
    found: dict[str, list[Path]] = {}
    for name in _UNNAMED:
        _note(bundled_folder("populations") / "figures" / name, folder, found)
    _follow({"recipe": list(_UNNAMED_RECIPES)}, folder, folder, found)
    _follow(at_point(loaded, design.values(0)).content, folder, folder, found)
    _follow(options or {}, folder, folder, found)
    for key in design.points.columns:
        # A swept value can be a file, a name, or a section with either.
        others = {repr(value): value for value in design.points[key] if isinstance(value, str | dict | list | tuple)}
        _follow({key: list(others.values())}, folder, folder, found)
    return {name: found[name][0] for name in sorted(found)}


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change when a file is written or replaced; None if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def files_named(loaded: LoadedScenario[ScenarioHead], values: Iterable[tuple[str, Any]]) -> list[Path]:
    """Return the files that a scenario, its recipes, and values of its keys name, without bundled files.

    Parameters
    ----------
    loaded : LoadedScenario
    values : iterable of tuple
        Key path and value.
    """
    folder = loaded.folder.absolute()
    found: dict[str, list[Path]] = {}
    for content in (loaded.content, *({key: value} for key, value in values)):
        _follow(content, folder, folder, found)
    own = [paths for name, paths in found.items() if not name.startswith(BUNDLED)]
    return sorted({Path(os.path.abspath(path)) for paths in own for path in paths})


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the files whose content has changed; new files do not count."""
    return [name for name, content in before.items() if now.get(name) != content]


def require_unchanged(before: Mapping[str, str], now: Mapping[str, str], source: Path) -> None:
    """Check that the files of a batch are unchanged since it began.

    Parameters
    ----------
    before, now : mapping of str to str
        As `data_files` returns them.
    source : Path
        The batch, for the error.

    Raises
    ------
    InputError
        Names the files that changed or are gone.
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
    """Add every file that plain data name, and the files that recipes among them name, to `found`.

    Parameters
    ----------
    content : object
        Of a scenario or recipe.
    base : Path
        Where its relative paths start.
    home : Path
        Folder of the scenario, by which files are named.
    found : dict
        Paths of each file, by its name; filled.
    key : str
        Path of the content, since only some keys can name recipes.
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
    """Yield the paths that a text can mean."""
    if text.startswith(BUNDLED):
        for among in ("scenarios", "populations"):
            yield bundled_folder(among) / text.removeprefix(BUNDLED)
        return
    yield base / text
    if _NAMES_OF_RECIPES & set(key.split(".")):
        for among in _RECIPE_FOLDERS:
            yield bundled_folder(among) / f"{text}.toml"


def _census_files(recipe: Mapping[str, Any], base: Path) -> list[Path]:
    """Return the files of a recipe that names their folder alone."""
    if not {"folder", "state"} <= recipe.keys():
        return []
    folder = data_file(str(recipe["folder"]), base, "populations")
    parts = ["geo", *(f"000{segment}" for segment in SEGMENTS.values())]
    return [folder / f"{recipe['state']}{part}2010.sf1" for part in parts]


def _note(path: Path, home: Path, found: dict[str, list[Path]]) -> bool:
    """Add a path under its name; return whether it is a new file."""
    try:
        if not path.is_file():
            return False
        name = _name(path.resolve(), home)
    except (OSError, ValueError):
        # The text cannot be a path; it may be too long.
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
