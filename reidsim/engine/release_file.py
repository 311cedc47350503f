"""The released file of a run: its path and hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from reidsim.bundled import BUNDLED, data_file
from reidsim.errors import InputError, reading
from reidsim.file_sizes import require_no_device
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead

# Folder of the files of scenarios that come with reidsim.
_BUNDLED_AMONG = "scenarios"


def release_file_facts(loaded: LoadedScenario[ScenarioHead]) -> dict[str, Any]:
    """Return the path and SHA-256 of the file whose records a scenario shares; nothing if they come from elsewhere.

    Returns
    -------
    dict
        Empty, or the keys ``scenario_file``, the path of the scenario as seen from the working folder, and
        ``release_file`` with ``path``, as seen from there, and ``sha256``; and if labels of attributes are in
        files, ``hierarchies`` with the same of each.
    """
    kind, scenario = kind_of(loaded.scenario), loaded.scenario
    text = kind.release_file(scenario)
    if text is None or text in loaded.given:
        return {}
    scenario_file = _shown(loaded.path)
    facts: dict[str, Any] = _facts(data_file(text, loaded.folder, _BUNDLED_AMONG), text)
    try:
        files = kind.shared_columns(scenario).hierarchies or {}
    except InputError:
        # Records that differ from their file are not shared.
        return {"scenario_file": scenario_file, "release_file": facts}
    hierarchies = {
        name: _facts(loaded.folder / file.path, file.path)
        for name, file in files.items()
        if file.path not in loaded.given
    }
    if hierarchies:
        facts["hierarchies"] = hierarchies
    return {"scenario_file": scenario_file, "release_file": facts}


def _facts(path: Path, text: str) -> dict[str, str]:
    return {"path": text if text.startswith(BUNDLED) else _shown(path), "sha256": sha256_of(path)}


def find_release_file(shown: str) -> Path:
    """Return the path of a file in `release_file_facts`, as seen from the working folder."""
    return data_file(shown, Path(), _BUNDLED_AMONG)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    require_no_device(path)
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shown(path: Path) -> str:
    """Return a path without detours, relative if it was."""
    if path.is_absolute():
        return str(path)
    try:
        return os.path.relpath(path.resolve())
    except ValueError:
        # On another drive there is no relative path.
        return str(path.resolve())


def require_hash(path: Path, told: str, problem: str, *, hint: str | None = None) -> None:
    """Refuse a file with another SHA-256.

    Raises
    ------
    InputError
        With the begin of both, or if the file cannot be read.
    """
    found = sha256_of(path)
    if found != told:
        raise InputError(
            problem, source=path, found=f"SHA-256 {found[:12]}...", expected=f"{str(told)[:12]}...", hint=hint
        )
