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
from reidsim.engine.results import sha256_of
from reidsim.errors import InputError, listed
from reidsim.populations.census import SEGMENTS
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
    source : Path, optional
        Path in error messages; default: the path of the scenario.

    Attributes
    ----------
    hashes : dict of str to str
        SHA-256 by file name, in alphabetical order. The name is the path relative to the scenario's folder if the file
        is below it, ``bundled:`` plus the path for a bundled file, and otherwise the absolute path. Recipes, and the
        files that recipes name, are included. A missing or unreadable file has no entry; the runs that need it fail.
    """

    def __init__(
        self,
        loaded: Scenario[ScenarioHead],
        design: Design,
        options: Mapping[str, Any] | None = None,
        source: Path | None = None,
    ) -> None:
        self._paths, self._source = _paths(loaded, design, options), source or loaded.path
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

    def require_unchanged(self) -> None:
        """Check that no file has changed since the batch began.

        Read a file only if its stamp changed.

        Raises
        ------
        InputError
            If a file changed or is missing; the message names the files.
        """
        now = dict(self.hashes)
        for name in self.hashes:
            stamp = _stamp(self._paths[name])
            if stamp != self._stamps[name]:
                del now[name]
                with contextlib.suppress(InputError):
                    now[name] = sha256_of(self._paths[name])
                self._stamps[name] = stamp
        require_unchanged(self.hashes, now, self._source)


def _paths(loaded: Scenario[ScenarioHead], design: Design, options: Mapping[str, Any] | None) -> dict[str, Path]:
    """Return the path of each file that the runs of a batch read, by name."""
    found = _Files(loaded.folder.absolute())
    for name in _UNNAMED:
        found.note(bundled_folder("populations") / "figures" / name)
    # A swept value can be a file name, the name of a recipe, or a section with such names.
    swept = {
        key: [*{repr(value): value for value in column if isinstance(value, str | dict | list | tuple)}.values()]
        for key, column in design.points.items()
    }
    first = at_point(loaded, design.values(0)).content
    for content in ({"recipe": list(_UNNAMED_RECIPES)}, first, options or {}, swept):
        found.follow(content, found.home)
    return {name: found.paths[name][0] for name in sorted(found.paths)}


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
    found = _Files(loaded.folder.absolute())
    for content in (loaded.content, *({key: value} for key, value in values)):
        found.follow(content, found.home)
    own = [paths for name, paths in found.paths.items() if not name.startswith(BUNDLED)]
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
    if changed := changed_files(before, now):
        names = listed(name if name in now else f"{name} (missing)" for name in changed)
        problem, expected = "data files changed since the batch began", "the same data for all runs of a batch"
        hint = "restore the files, or begin a new batch"
        raise InputError(f"{problem}: {names}", source=source, expected=expected, hint=hint)


class _Files:
    """Files named in the content of a scenario and, recursively, of its recipes.

    Parameters
    ----------
    home : Path
        Folder of the scenario; names of files are relative to it.

    Attributes
    ----------
    paths : dict of str to list of Path
        Paths of each file, by file name.
    """

    def __init__(self, home: Path) -> None:
        self.home, self.paths = home, dict[str, list[Path]]()

    def follow(self, content: Any, base: Path, key: str = "") -> None:
        """Add every existing file named in plain data.

        Parameters
        ----------
        content : object
            Content of a scenario or recipe.
        base : Path
            Folder to which relative paths in the content refer.
        key : str
            Key path of the content; only texts under some keys can be names of recipes.
        """
        if isinstance(content, Mapping):
            if {"folder", "state"} <= content.keys():
                # A recipe of census files, which names only their folder and state.
                folder = data_file(str(content["folder"]), base, "populations")
                for part in ("geo", *(f"000{segment}" for segment in SEGMENTS.values())):
                    self.note(folder / f"{content['state']}{part}2010.sf1")
            for name, value in content.items():
                self.follow(value, base, f"{key}.{name}")
        elif isinstance(content, list | tuple):
            for value in content:
                self.follow(value, base, key)
        elif isinstance(content, str | Path) and str(content):
            for path in _meant(str(content), base, key):
                if self.note(path) and path.suffix == ".toml":
                    with contextlib.suppress(InputError):
                        self.follow(read_toml(path), path.parent)

    def note(self, path: Path) -> bool:
        """Add the path of an existing file; return whether the file is new."""
        try:
            if not path.is_file():
                return False
            true, home = path.resolve(), self.home.resolve()
            folders = {f"{BUNDLED}{among}/": bundled_folder(among).resolve() for among in ("scenarios", "populations")}
        except (OSError, ValueError):
            # The text is not a valid path; for example, it is too long.
            return False
        names = (
            f"{start}{true.relative_to(folder).as_posix()}"
            for start, folder in {**folders, "": home}.items()
            if true.is_relative_to(folder)
        )
        paths = self.paths.setdefault(next(names, true.as_posix()), [])
        paths.append(path)
        return len(paths) == 1


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
