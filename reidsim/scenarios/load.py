"""From a scenario's name or file, and overrides, to a validated scenario."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.scenarios.schema import Scenario
from reidsim.validation import read_toml, validated

# Keys whose value may be a file. In a scenario file they are relative to it; in an override, to the working folder.
_PATH_KEYS = ("release.path", "attributes.*.hierarchy.file")
# Keys whose value is the name of a bundled population, or a recipe file.
_RECIPE_KEYS = ("population.recipe", "release.table", "adversary.sequential.registry")


@dataclass(frozen=True)
class LoadedScenario:
    """A scenario and where it came from.

    Parameters
    ----------
    name : str
        File name without its ending.
    path : Path
        The file.
    scenario : Scenario
        As run, overrides included.
    content : dict
        The same as plain data, as written.
    """

    name: str
    path: Path
    scenario: Scenario
    content: dict[str, Any]

    @property
    def folder(self) -> Path:
        """Where relative paths of the scenario start."""
        return self.path.parent


def load_scenario(
    name_or_path: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    seed: int | None = None,
) -> LoadedScenario:
    """Read and validate a scenario.

    Parameters
    ----------
    name_or_path : str or Path
        Name of a bundled scenario, or a TOML file.
    overrides : mapping of str to object, optional
        Value by key path, such as ``{"economics.loss": 600}``.
    seed : int, optional
        Replaces the scenario's seed.

    Raises
    ------
    InputError
        Names the file, the key path, the value found and the values allowed.
    """
    path = resolve(name_or_path, "scenarios", "scenario")
    content = read_toml(path)
    changes = dict(overrides or {})
    if seed is not None:
        changes["seed"] = seed
    for key, value in changes.items():
        if not str(value).isprintable() and not _is_text(str(value)):
            raise InputError("not valid text", source="--set", where=key)
        _set(content, key, _from_working_folder(key, value))
    try:
        scenario = validated(Scenario, content, path)
    except InputError as error:
        culprit = next((key for key in changes if _overlap(key, error.where or "")), None)
        if culprit is None:
            raise
        given = "seed" if culprit == "seed" and seed is not None else "--set"
        raise _blamed_on_override(error, given) from None
    return LoadedScenario(path.stem, path, scenario, content)


def parse_override(text: str) -> tuple[str, object]:
    """Split ``economics.loss=600`` into key path and value; the value is TOML, or text if it is not.

    Raises
    ------
    InputError
        If there is no ``=`` or no key.
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
        # Numbers of thousands of digits, and lists nested a thousand deep.
        raise InputError(f"cannot be read: {error}", source="--set", where=key) from None
    return key, parsed["value"] if len(parsed) == 1 else value.strip()


def _is_text(text: str) -> bool:
    """Tell whether a text can be written in UTF-8; what a terminal passes on need not be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _set(content: dict[str, Any], key: str, value: object) -> None:
    *sections, last = key.split(".")
    table = content
    for depth, section in enumerate(sections, start=1):
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            where = ".".join(sections[:depth])
            raise InputError(
                "is a value, not a section", source="--set", where=where, found=table, expected="a section"
            )
    table[last] = deepcopy(value)


def _from_working_folder(key: str, value: object) -> object:
    """Make a relative path absolute, so that an override means the folder in which it is given."""
    if not isinstance(value, str | Path) or not str(value):
        return value
    text = str(value)
    if any(fnmatchcase(key, pattern) for pattern in _PATH_KEYS):
        return str(Path(text).absolute())
    is_file = text.endswith(".toml") or "/" in text or "\\" in text
    return str(Path(text).absolute()) if key in _RECIPE_KEYS and is_file else value


def _overlap(key: str, where: str) -> bool:
    """Tell whether a key path and the place of an error are the same, or one holds the other."""
    place = where.partition(":")[0].replace("[", ".[")
    return bool(place) and (f"{place}.".startswith(f"{key}.") or f"{key}.".startswith(f"{place}."))


def _blamed_on_override(error: InputError, label: str) -> InputError:
    return InputError(
        error.problem, source=label, where=error.where, found=error.found, expected=error.expected, hint=error.hint
    )
