"""The file that a worker process runs: it binds the worker to its parent's life, and only then imports the package.

Importing takes seconds, in which a worker would not notice that its parent is gone, and under memory pressure minutes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

# Of <sys/prctl.h>.
_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.2


def end_with_parent(parent: int) -> None:
    """End this process as soon as its parent ends, or now if that is gone.

    Parameters
    ----------
    parent : int
        Process that started this one.
    """
    if not (sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) == 0):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # It may have ended before it could be watched.
    if os.getppid() != parent:
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    from reidsim.engine.batch.executors.worker import main

    main()
