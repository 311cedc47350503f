"""The results folder of a batch.

The folder gets a manifest when the batch begins, and the tables at the end. In between, finished runs can be read from
its journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ValidationError

from reidsim.engine.batch.batch_tables import batch_tables
from reidsim.engine.batch.data_files import require_unchanged
from reidsim.engine.batch.design import content_of_run, design_of
from reidsim.engine.batch.journal import JOURNAL, keeps_runs, not_kept, read_places
from reidsim.engine.batch.runner import tasks_of
from reidsim.engine.batch.tasks import code_version, error_line
from reidsim.engine.release_file import sha256_of
from reidsim.engine.results import keep_private, require_no_links, require_sound, scenario_hash, sync, write_json
from reidsim.errors import InputError
from reidsim.file_sizes import require_parquet_fits
from reidsim.scenarios.load import Scenario, scenario_kind
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import validated

MANIFEST = "manifest.json"
RUNNING = "running"
COMPLETE = "complete"
INCOMPLETE = "incomplete"
_RUN_AGAIN = "run the batch again with another folder"
# Manifest entries that must be unchanged to resume a batch, with their descriptions in the error message.
_IDENTITY = {
    "scenario_hash": "another scenario",
    "seed": "another seed",
    "cross_play": "other options, or from another command",
    "data_hash": "other data",
}
# Manifest keys that hold the options of a command; the table of runs of the command has the same name.
_OPTIONS = ("cross_play",)


class _DesignPart(BaseModel):
    files: dict[str, str] = {}


class _Manifest(BaseModel):
    """The entries of a manifest that must be present or well-formed for this module."""

    scenario: str
    scenario_file: str
    content: dict[str, Any]
    design: _DesignPart
    state: str
    tables: dict[str, str] = {}
    warnings: list[Any] = []


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a results folder.

    Raises
    ------
    InputError
        If there is no valid manifest, it does not describe a batch, its scenario was changed after the run, or the
        folder contains links.
    """
    require_no_links(folder)
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        hint = "run the scenario with --resume to rebuild the file" if keeps_runs(folder) else None
        expected = f"a folder with a valid {MANIFEST}"
        raise InputError("not a results folder", source=folder, expected=expected, hint=hint) from None
    if not isinstance(manifest, dict) or "design" not in manifest:
        raise InputError("the folder holds no batch", source=folder, expected="the results of a batch")
    try:
        _Manifest.model_validate(manifest, strict=True)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"][:2])
        problem = "not the manifest of a batch"
        raise InputError(problem, source=path, where=where, expected="a manifest written by reidsim run") from None
    require_sound(manifest, path)
    return manifest


def read_stored_tables(folder: Path, manifest: Mapping[str, Any], needed: str) -> dict[str, pd.DataFrame]:
    """Return all tables in the folder of a complete batch, by name.

    Raises
    ------
    InputError
        If the table `needed`, or a table in the manifest, is missing, was changed or cannot be read.
    """
    for name in (f"{needed}.parquet", *manifest.get("tables", ())):
        if not (folder / name).is_file():
            raise InputError("file missing from a complete batch", source=folder / name, hint="run the batch again")
    return {path.stem: read_stored(path, manifest) for path in sorted(folder.glob("*.parquet"))}


def read_stored(path: Path, manifest: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table from the folder of a batch.

    Raises
    ------
    InputError
        If the hash differs from the manifest, the file cannot be read, or the table does not fit into free memory.
    """
    # The manifest of a running batch has no hashes yet.
    if manifest.get("tables", {}).get(path.name) not in (None, sha256_of(path)):
        raise InputError("the file changed since the batch ended", source=path, hint=_RUN_AGAIN)
    require_parquet_fits(path)
    try:
        return pd.read_parquet(path.absolute())
    except (OSError, ValueError) as error:
        problem = f"cannot be read: {error_line(error)}"
        raise InputError(problem, source=path, hint=_RUN_AGAIN) from None


def scenario_of(manifest: Mapping[str, Any], *, allow_code: bool = False) -> Scenario[ScenarioHead]:
    """Return the scenario that a manifest records.

    Parameters
    ----------
    manifest : mapping
    allow_code : bool
        Whether to import Python modules that the scenario names.

    Raises
    ------
    InputError
        If the scenario is not valid in this version of the program.
    """
    path, content = Path(manifest["scenario_file"]), dict(manifest["content"])
    scenario = validated(scenario_kind(content, path, allow_code=allow_code).schema, content, path)
    return Scenario(manifest["scenario"], path, scenario, content, manifest.get("origins", {}), allow_code)


def read_runs(folder: Path) -> pd.DataFrame:
    """Return the finished runs of a batch, which may still be running.

    While it is running, they are read from its journal.

    Returns
    -------
    DataFrame
        Same columns as ``runs.parquet``, or as ``cross_play.parquet`` for cross-play.

    Raises
    ------
    InputError
        If the folder does not hold a batch.
    """
    manifest = read_manifest(folder)
    options = {name: manifest[name] for name in _OPTIONS if name in manifest}
    if manifest["state"] != RUNNING:
        return read_stored(folder / f"{next(iter(options), 'runs')}.parquet", manifest)
    loaded = scenario_of(manifest)
    design = design_of(loaded)
    tasks = tasks_of(loaded, design, content_of_run(loaded) | options)
    return batch_tables(loaded.name, design, read_places(folder / JOURNAL, tasks))["runs"]


def begin(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of a running batch into a folder.

    Raises
    ------
    InputError
        If the manifest cannot be written.
    """
    _write_manifest(folder, {**manifest, "state": RUNNING, "code_version": code_version()})


def require_same(folder: Path, manifest: Mapping[str, Any], are_same: Callable[[], bool]) -> str:
    """Check that a folder holds the batch of a manifest; return the batch's state.

    The state is `RUNNING`, `COMPLETE` or `INCOMPLETE` (ended, with failed runs).

    Parameters
    ----------
    folder : Path
    manifest : mapping
    are_same : callable
        Returns whether the runs in the journal belong to this batch; used if the folder's manifest is damaged.

    Raises
    ------
    InputError
        If the folder holds another batch, or its batch was started with other data or by another program version.
    """
    try:
        found = read_manifest(folder)
    except InputError:
        if are_same():
            return RUNNING
        raise
    for key, what in _IDENTITY.items():
        if key == "data_hash":
            # Called first, because its error names the changed files.
            require_unchanged(found["design"].get("files", {}), manifest["design"]["files"], folder)
        if key == "scenario_hash" and _other_seed_alone(found, manifest):
            key, what = "seed", _IDENTITY["seed"]
        if found.get(key) != manifest.get(key):
            raise InputError(
                f"the folder holds a batch with {what}",
                source=folder,
                found=found.get(key),
                expected=str(manifest.get(key)),
            )
    if found.get("code_version") != code_version():
        raise InputError(
            "the batch was begun with another version of the program",
            source=folder,
            found=found.get("code_version"),
            expected=code_version(),
        )
    return str(found["state"])


def _other_seed_alone(found: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Return whether the scenarios of two manifests differ only in their seeds."""
    if found.get("seed") == manifest["seed"]:
        return False
    content = {**manifest["content"], "seed": found.get("seed")}
    was = {**found.get("content", {}), "seed": found.get("seed")}
    return scenario_hash(content) == scenario_hash(was)


def finish(folder: Path, write: Callable[[Path], Mapping[str, Any]]) -> None:
    """Write the tables into a batch's folder, then the manifest with its state.

    Parameters
    ----------
    folder : Path
    write : callable
        Called with a folder; writes all files except the manifest into it, and returns the manifest.

    Raises
    ------
    InputError
        If the files cannot be written, for example because the disk is full; the journal remains.
    """
    unfinished = None
    try:
        unfinished = Path(tempfile.mkdtemp(prefix=".finishing-", dir=folder))
        manifest = write(unfinished)
        manifest = {**manifest, "tables": {path.name: sha256_of(path) for path in sorted(unfinished.glob("*.parquet"))}}
        keep_private(unfinished)
        sync(unfinished)
        for path in sorted(unfinished.iterdir()):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)
    except OSError as error:
        raise not_kept(folder / JOURNAL, error) from None
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    _write_manifest(folder, {**manifest, "code_version": code_version()})


def forget_journal(folder: Path) -> None:
    """Remove the journal of a batch; its tables hold the same data."""
    with contextlib.suppress(OSError):
        (folder / JOURNAL).unlink()


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    path = folder / f".{MANIFEST}"
    try:
        write_json(path, manifest)
        path.chmod(0o600)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(folder / MANIFEST)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise not_kept(folder / JOURNAL, error) from None
