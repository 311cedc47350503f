"""Path and hash of the file with the records that a scenario releases."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from reidsim.bundled import BUNDLED, data_file
from reidsim.errors import InputError, reading
from reidsim.file_sizes import require_no_device
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead

# Folder of the data files of bundled scenarios.
_BUNDLED_AMONG = "scenarios"


def release_file_facts(loaded: Scenario[ScenarioHead]) -> dict[str, Any]:
    """Return path and SHA-256 of the file with a scenario's records.

    Returns
    -------
    dict
        Empty if the records do not come from a file. Otherwise ``scenario_file``, the path of the scenario, and
        ``release_file``, a dict with ``path`` and ``sha256``. If hierarchies of attributes are in files,
        ``hierarchies`` maps each such attribute to a dict with ``path`` and ``sha256`` of its file. Relative paths are
        shown relative to the working folder, absolute paths and names of bundled files (``bundled:...``) unchanged.
    """
    kind, scenario = kind_of(loaded.scenario), loaded.scenario
    text = kind.release_file(scenario)
    if text is None:
        return {}
    scenario_file = _shown(loaded.path)
    facts: dict[str, Any] = _facts(data_file(text, loaded.folder, _BUNDLED_AMONG), text)
    try:
        files = kind.shared_columns(scenario).hierarchies or {}
    except InputError:
        # The records of this scenario differ from the file, so they cannot be shared and need no hierarchies.
        return {"scenario_file": scenario_file, "release_file": facts}
    hierarchies = {name: _facts(loaded.folder / file.path, file.path) for name, file in files.items()}
    if hierarchies:
        facts["hierarchies"] = hierarchies
    return {"scenario_file": scenario_file, "release_file": facts}


def _facts(path: Path, text: str) -> dict[str, str]:
    return {"path": text if text.startswith(BUNDLED) else _shown(path), "sha256": sha256_of(path)}


def find_release_file(shown: str) -> Path:
    """Return the path of a file, given its ``path`` in `release_file_facts`.

    A relative path refers to the working folder, ``bundled:...`` to a file of the package.
    """
    return data_file(shown, Path(), _BUNDLED_AMONG)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    require_no_device(path)
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shown(path: Path) -> str:
    """Return the text of a path for a manifest.

    An absolute path is unchanged. A relative path is resolved and shown relative to the working folder.
    """
    if path.is_absolute():
        return str(path)
    try:
        return os.path.relpath(path.resolve())
    except ValueError:
        # A path on another drive (Windows) has no relative form.
        return str(path.resolve())


def require_hash(path: Path, told: str, problem: str, *, hint: str | None = None) -> None:
    """Raise an error unless the file has the expected SHA-256, `told`.

    `problem` and `hint` are parts of the error message.

    Raises
    ------
    InputError
        If the hashes differ (the message shows the first digits of both), or the file cannot be read.
    """
    found = sha256_of(path)
    if found != told:
        raise InputError(
            problem, source=path, found=f"SHA-256 {found[:12]}...", expected=f"{str(told)[:12]}...", hint=hint
        )
