"""What the command line tells by the code with which it ends."""

from __future__ import annotations

EXIT_CODES = {
    0: "done; there may be warnings on standard error",
    2: "the command, an option, the scenario or a file is wrong, or the output cannot be written",
    130: "interrupted (Ctrl-C); no results folder is left behind, except that of a batch",
    141: "the reader of a pipe closed it, as in `reidsim list | head -1`; files are written all the same",
    143: "ended by SIGTERM (`kill`, a job scheduler, a container that is stopped); otherwise as 130",
}
