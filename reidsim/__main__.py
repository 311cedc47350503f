"""Run the command line: ``reidsim`` or ``python -m reidsim``."""

from __future__ import annotations

import gc
import os
import sys

from reidsim.core.files import address_limit, memory_text

# Address space of the process after the imports that commands and figures need, bytes.
_PROGRAM_ADDRESSES = 1_000 * 10**6
# OpenBLAS reserves address space for each thread at import and retries forever if there is none; the memory pool of
# Arrow reserves a gigabyte.
_FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def main() -> None:
    """Run the command line.

    If a limit of the address space (``ulimit -v``) is too low for the program itself, print an error and exit with code
    2.
    """
    _open_closed_streams()
    # Imports make many objects and no garbage: at Python's threshold, collections take a ninth of `run wan2015`.
    gc.set_threshold(10_000)
    limit = address_limit()
    if limit is not None:
        os.environ.update(_FRUGAL)
        if limit < _PROGRAM_ADDRESSES:
            print(
                f"reidsim: not enough memory: the program itself needs {memory_text(_PROGRAM_ADDRESSES)} of "
                f"address space; found a limit of {memory_text(limit)} (ulimit -v)",
                file=sys.stderr,
            )
            sys.exit(2)
    from reidsim.cli import main as command_line

    try:
        command_line()
    finally:
        # Without this, the interpreter runs several garbage collections over all imported modules before it exits.
        gc.freeze()


def _open_closed_streams() -> None:
    """Replace closed standard streams by the null device.

    Otherwise, the next opened file would receive the number of the closed stream. If standard output is closed, nobody
    could read the output: print an error and exit with code 2.
    """
    no_output = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The operating system assigns the lowest free number, which is the number of the closed stream.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the program ends
    if no_output:
        print("reidsim: standard output is closed; expected a terminal, a file or a pipe", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
