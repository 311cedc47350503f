"""A process that does runs, started by `ProcessExecutor`.

It reads pickled objects from its standard input, first the work and then lists of tasks, and writes each outcome to its
standard output as soon as it has it. It ends when its input does, even in the middle of a run: no worker outlives the
process that started it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import sys
import threading
from typing import IO, Any

READY = "ready"


def main() -> None:
    """Do what the process at the other end of the pipes asks for."""
    # The starter decides when to stop; Ctrl-C is meant for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Whatever libraries read or print stays out of the way of the messages.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    work = pickle.load(inbox)  # noqa: S301 - from the process that started this one
    from reidsim.engine.batch.tasks import attempt

    _send(outbox, READY)
    chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(inbox, chunks), daemon=True).start()
    while True:
        for task in chunks.get():
            _send(outbox, attempt(work, task))


def _receive(inbox: IO[bytes], chunks: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            chunks.put(pickle.load(inbox))  # noqa: S301 - from the process that started this one
        except (EOFError, OSError, pickle.UnpicklingError):
            os._exit(0)


def _send(outbox: IO[bytes], message: object) -> None:
    try:
        pickle.dump(message, outbox)
        outbox.flush()
    except OSError:
        # Nobody is there to take it.
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(0)
