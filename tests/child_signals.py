"""Programs that tests start and interrupt, with signals set as a test wants them, whoever started the tests.

A program inherits what its starter ignores: tests run in the background of a script ignore SIGINT, and so would all
that they start. The signals are set by a small program that then becomes the one asked for, under the same process id;
`preexec_fn` would set them in a fork of the tests, which is not safe where there are threads.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SET_AND_BECOME = """
import os, signal, sys
ignored = [int(number) for number in sys.argv[1].split(",") if number]
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
os.execvp(sys.argv[2], sys.argv[2:])
"""


def with_signals(command, *, ignored=()):
    """Return the command that runs another with both signals as a terminal leaves them, but for those ignored."""
    numbers = ",".join(str(int(number)) for number in ignored)
    return [sys.executable, "-I", "-S", "-c", SET_AND_BECOME, numbers, *command]


def stopped(command, moment, number=signal.SIGINT, *, ignored=(), cwd=None):
    """Start a command, send it signals at a moment, and return how it ended.

    Parameters
    ----------
    command : list of str
    moment : callable
        Is given the process, and returns when the signal is to be sent.
    number : int
        The signal; those ignored are sent before it.
    ignored : sequence of int
        Signals that the command is started to ignore.
    cwd : path, optional
        Working folder of the command.

    Returns
    -------
    tuple of int, str, str
        Exit code, standard output and standard error.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen(with_signals(command, ignored=ignored), stdout=pipe, stderr=pipe, text=True, cwd=cwd)
    try:
        moment(process)
        for each in ignored:
            process.send_signal(each)
            time.sleep(0.1)
        assert process.poll() is None, "it ended before it could be stopped"
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, out, err


def once(condition):
    """Return the moment at which a condition holds, of a process that is still running."""

    def wait(process):
        deadline = time.monotonic() + 120
        while not condition():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    return wait


def has_content(path):
    """Tell whether a file is there and not empty."""
    return path.is_file() and path.stat().st_size > 0


def processes_with(mark):
    """Return the processes that have a variable in the environment they started with."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            held = mark.encode() in path.read_bytes()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        # The tracker of multiprocessing, once there, stays until the tests end.
        if held and command and b"resource_tracker" not in command and int(path.parent.name) != os.getpid():
            found.append(command)
    return found
