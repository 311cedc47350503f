"""The program of a worker process; `ProcessExecutor` starts this file as a script.

The worker reads pickled objects from standard input, first the work and then one task after the other. It writes each
outcome to standard output before it reads the next task. It ends when its parent ends, even in the middle of a run. The
package is imported only after this is ensured, because an import takes seconds (minutes, if memory is short).
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import time

READY = "ready"
# Interval at which a worker checks that its parent exists.
_LOOK_SECONDS = 0.2


def end_with_parent(parent: int) -> None:
    """Wait until the process with the ID `parent` has ended, then end this process.

    A run in progress is not completed. `parent` must be the parent of this process.
    """
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def main() -> None:
    """Run the tasks that the parent process sends, until it closes the pipe.

    The first message of standard output is `READY`; then comes one `RunOutcome` per task. Interrupts are ignored.
    """
    # For the reason given in `reidsim.__main__`.
    gc.set_threshold(10_000)
    # Ctrl-C is handled by the parent, which then ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Redirect standard input and output, so that output of libraries cannot corrupt the messages.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    try:
        work = pickle.load(inbox)  # noqa: S301 - sent by the parent process
        from reidsim.engine.batch.design import attempt

        message: object = READY
        while True:
            pickle.dump(message, outbox)
            outbox.flush()
            message = attempt(work, pickle.load(inbox))  # noqa: S301
    except (EOFError, BrokenPipeError):
        os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, args=(int(sys.argv[1]),), daemon=True).start()
    main()
