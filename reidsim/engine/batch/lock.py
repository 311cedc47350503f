"""A lock on a folder, which the operating system releases when the process ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from reidsim.errors import InputError

_NAME = ".lock"
# Opening a symbolic link would empty its target, so links are not followed.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for the duration of the block.

    Raises
    ------
    InputError
        If another process, or another batch of this process, holds the lock, or the folder cannot be written.
    """
    path = folder / _NAME
    descriptor = _hold(path)
    try:
        # The process ID is written for the error message of other processes.
        with contextlib.suppress(OSError):
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        # Remove the file before the lock is released; otherwise another process could lock a removed file.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _hold(path: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", source=path.parent) from None
        try:
            _lock(descriptor)
        except OSError:
            writer = _writer(path)
            os.close(descriptor)
            hint = f"wait until process {writer} ends" if writer else None
            raise InputError("another batch is writing to the folder", source=path.parent, hint=hint) from None
        # The former holder may have removed the file between opening and locking.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _writer(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # Lock a byte far beyond the content (Windows), so that the content stays readable.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
