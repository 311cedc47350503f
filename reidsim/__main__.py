"""The command line: ``reidsim``, and ``python -m reidsim``."""

from __future__ import annotations

import gc
import os
import sys

from reidsim.memory import address_limit, memory_text

# Addresses that the program takes up once it has imported what commands and figures need.
_PROGRAM_ADDRESSES = 800 * 10**6
# OpenBLAS reserves addresses for each of its threads as it is imported, and tries for ever where none are left; Arrow's
# own pool reserves a gigabyte.
_FRUGAL = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


def main() -> None:
    """Run the command line, unless a limit of addresses (``ulimit -v``) leaves no room for the program itself."""
    _open_closed_streams()
    limit = address_limit()
    if limit is not None:
        os.environ.update(_FRUGAL)
        if limit < _PROGRAM_ADDRESSES:
            print(
                f"reidsim: not enough memory: the program itself takes up {memory_text(_PROGRAM_ADDRESSES)} of "
                f"addresses; found a limit of {memory_text(limit)} (ulimit -v)",
                file=sys.stderr,
            )
            sys.exit(2)
    from reidsim.cli import main as command_line

    try:
        command_line()
    finally:
        # The interpreter would look through everything that was imported for garbage, several times, before it ends.
        gc.freeze()


def _open_closed_streams() -> None:
    """Replace closed standard streams by the null device, so that no other file gets their numbers.

    Nobody could read the output if standard output is closed: this is an error.
    """
    no_output = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The operating system gives the lowest free number, which is that of the stream.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the program ends
    if no_output:
        print("reidsim: standard output is closed; expected a terminal, a file or a pipe", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
