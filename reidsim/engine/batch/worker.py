"""The program of a worker process; `ProcessExecutor` starts this file as a script.

The worker reads pickled objects from standard input, first the work and then one task after the other. It writes each
outcome to standard output at once. It ends when its parent ends, even in the middle of a run. The package is imported
only after this is ensured, because an import takes seconds (minutes, if memory is short).
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from typing import IO

READY = "ready"
# Constant from <sys/prctl.h>.
_PR_SET_PDEATHSIG = 1
# Interval at which a worker checks that its parent exists, where the system sends no signal at the parent's end.
_LOOK_SECONDS = 0.2


def end_with_parent(parent: int) -> None:
    """Ensure that this process ends as soon as its parent ends.

    If the parent has already ended, this process ends now.

    Parameters
    ----------
    parent : int
        Process ID of the parent.
    """
    if not (sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) == 0):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # The parent may have ended before the signal was requested.
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def main() -> None:
    """Run the tasks that the parent process sends, until it closes the pipe.

    The first message of standard output is `READY`; then comes one `RunOutcome` per task. Interrupts are ignored.
    """
    # Ctrl-C is handled by the parent, which then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Redirect standard input and output, so that output of libraries cannot corrupt the messages.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        work = pickle.load(inbox)  # noqa: S301 - sent by the parent process
        from reidsim.engine.batch.design import attempt

        _send(outbox, READY)
        while True:
            _send(outbox, attempt(work, pickle.load(inbox)))  # noqa: S301
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _send(outbox: IO[bytes], message: object) -> None:
    pickle.dump(message, outbox)
    outbox.flush()


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    main()
