"""What the command line tells by the code with which it ends."""

from __future__ import annotations

EXIT_CODES = {
    0: "done; there may be warnings on standard error",
    2: "something given was wrong: command, option, scenario, file; or what was asked for cannot be written",
    130: "interrupted (Ctrl-C); no results folder is left behind, except that of a batch",
    141: "the reader of a pipe went away, as in `reidsim list | head -1`; nothing is said, what had to be written is",
    143: "ended by SIGTERM (`kill`, a job scheduler, a container that is stopped); the same as 130 otherwise",
}
