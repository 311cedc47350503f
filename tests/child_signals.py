"""Start programs from tests and interrupt them, with known signal settings.

A program inherits the signals that its parent ignores. A script that runs the tests in the background makes them
ignore SIGINT, and every program that they start would ignore it too. A small program therefore resets the signals and
then replaces itself by the requested command, under the same process id. `preexec_fn` would reset them in a fork of
the test process, which is unsafe when that process has threads.
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
    """Return a command line that restores default signals before running a command.

    Signals in `ignored` stay ignored.
    """
    numbers = ",".join(str(int(number)) for number in ignored)
    return [sys.executable, "-I", "-S", "-c", SET_AND_BECOME, numbers, *command]


def stopped(command, moment, number=signal.SIGINT, *, ignored=(), cwd=None):
    """Start a command, send it a signal at a given moment, and return its result.

    Parameters
    ----------
    command : list of str
    moment : callable
        Receives the process and returns when the signal is to be sent.
    number : int
        Signal to send, after each signal in `ignored`.
    ignored : sequence of int
        Signals that the command ignores from its start.
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
    """Return a function that waits until a condition holds while a process runs."""

    def wait(process):
        deadline = time.monotonic() + 120
        while not condition():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    return wait


def has_content(path):
    """Return whether a file exists and is not empty."""
    return path.is_file() and path.stat().st_size > 0


def processes_with(mark):
    """Return the ids of processes whose initial environment contains a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            held = mark.encode() in path.read_bytes()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        # The resource tracker of multiprocessing, once started, runs until the tests end.
        if held and command and b"resource_tracker" not in command and int(path.parent.name) != os.getpid():
            found.append(command)
    return found
