"""Work sent to other computers, with the files that it reads, which these may have at the same place or not at all."""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reidsim.bundled import bundled_folder
from reidsim.engine.batch.data_files import files_named
from reidsim.engine.batch.tasks import RunTask, Tables, Work
from reidsim.engine.release_file import sha256_of
from reidsim.errors import InputError, listed
from reidsim.scenarios.parts import module_files

# Files of more bytes are not sent: every computer has to see them.
MOST_BYTES = 64 << 20
_BUNDLED = ("scenarios", "populations")


@dataclass(frozen=True)
class Shipment:
    """Some work, and what its files hold.

    Parameters
    ----------
    work : bytes
        Pickled.
    hashes : dict of str to str
        SHA-256 by absolute path.
    contents : dict of str to bytes
        By absolute path; empty if all are too large to be sent.
    folder : str
        Where the scenario's relative paths start.
    bundled : dict of str to str
        Where the sender has the folders that come with reidsim.
    """

    work: bytes
    hashes: dict[str, str]
    contents: dict[str, bytes]
    folder: str
    bundled: dict[str, str]

    def unpacked(self) -> Work:
        """Return the work, on the computer that is to do it; its files are those sent, if others or none are here.

        Raises
        ------
        InputError
            If others or none are here, and none was sent, or a part of the scenario's own cannot be imported.
        """
        work: Work = pickle.loads(self.work)  # noqa: S301 - from the process that gave the work
        places = {there: str(bundled_folder(name)) for name, there in self.bundled.items()}
        lacking = [path for path, content in self.hashes.items() if not _holds(Path(path), content)]
        if lacking and not self.contents:
            raise InputError(
                f"a dask worker does not see the same files: {listed(lacking)}", where="scheduler",
                expected=f"them on every computer, as more than {MOST_BYTES >> 20} MiB of files are not sent along",
            )  # fmt: skip
        if lacking:
            root = Path(tempfile.mkdtemp(prefix="reidsim-"))
            atexit.register(partial(shutil.rmtree, root, ignore_errors=True))
            for path, content in self.contents.items():
                place = _below(root, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            # Recipes may name a folder alone.
            parents = (str(Path(path).parent) for path in self.contents)
            sent = {path: str(_below(root, path)) for path in (self.folder, *self.contents, *parents)}
            places = {**sent, **places}
        places = {there: here for there, here in places.items() if there != here}
        moved = _moved_work(work, places) if places else work
        _require_parts(moved)
        return moved


def shipment(work: Work, tasks: Iterable[RunTask], *, far: bool) -> Shipment:
    """Return some work with the files that its tasks read; without any if it stays on this computer.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    loaded = getattr(work, "loaded", None)
    if not far or loaded is None:
        return Shipment(pickle.dumps(work), {}, {}, "", {})
    bundled = {name: str(bundled_folder(name)) for name in _BUNDLED}
    values = {repr(value): (key, value) for task in tasks for key, value in task.values.items()
              if isinstance(value, str | dict | list)}  # fmt: skip
    # Where the package is, its own files are.
    named = {*files_named(loaded, values.values())}
    for part in loaded.own_parts:
        named.update(module_files(part.name, loaded.folder.absolute()))
    paths = [path for path in sorted(named) if not any(path.is_relative_to(folder) for folder in bundled.values())]
    small = sum(path.stat().st_size for path in paths) <= MOST_BYTES
    return Shipment(
        pickle.dumps(_with_path(work, loaded.path.absolute())),
        {str(path): sha256_of(path) for path in paths},
        {str(path): path.read_bytes() for path in paths if small},
        os.path.abspath(loaded.folder),
        bundled,
    )


@dataclass(frozen=True)
class _Moved:
    """Work whose files are elsewhere than where its tasks say.

    Parameters
    ----------
    work : callable
    places : dict of str to str
        Where each file or folder is, by where it is said to be.
    """

    work: Work
    places: dict[str, str]

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        return self.work(replace(task, values=_moved(task.values, self.places)))


def _require_parts(work: Any) -> None:
    """Check that adversaries and policies of the scenario's own can be imported here, before any run needs them."""
    loaded = getattr(getattr(work, "work", work), "loaded", None)
    try:
        if loaded is not None:
            loaded.makers()
    except InputError as error:
        raise InputError(
            f"a dask worker lacks a part: {error.problem}", where=error.where, found=error.found,
            expected="its module beside the scenario, or installed wherever workers run",
        ) from None  # fmt: skip


def _moved_work(work: Any, places: dict[str, str]) -> _Moved:
    loaded = work.loaded.with_content(_moved(work.loaded.content, places))
    path = Path(_moved(str(loaded.folder), places)) / loaded.path.name
    return _Moved(_with_path(replace(work, loaded=loaded), path), places)


def _with_path(work: Any, path: Path) -> Any:
    return replace(work, loaded=replace(work.loaded, path=path))


def _moved(content: Any, places: dict[str, str]) -> Any:
    """Return plain data in which paths say where files are."""
    if isinstance(content, dict):
        return {key: _moved(value, places) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_moved(value, places) for value in content]
    if not isinstance(content, str) or not os.path.isabs(content):
        return content
    path = Path(os.path.abspath(content))
    for there in (path, *path.parents):
        if str(there) in places:
            return str(Path(places[str(there)]) / path.relative_to(there))
    return content


def _below(root: Path, path: str) -> Path:
    return root / Path(path).relative_to(Path(path).anchor)


def _holds(path: Path, content: str) -> bool:
    try:
        return sha256_of(path) == content
    except InputError:
        return False
