"""Interrupts: Ctrl-C and SIGTERM end the program with one message and the exit code of the signal.

Libraries may catch an interrupt, so it is recorded as it arrives, and checked where no work would be lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

# The signals of interrupts, and Python's default handler of each. A terminal sends the first; `kill`, job
# schedulers and stopped containers send the second, which also reaches programs that a script starts in the background,
# where the first is ignored.
STOPPING: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}

_interrupts: list[int] = []
_kept: list[str] = []
_handled: set[signal.Signals] = set()


def remember() -> None:
    """Record interrupts until `forget`: a library may mistake one during its import for a missing dependency."""
    forget()
    if threading.current_thread() is not threading.main_thread():
        return
    for number, default in STOPPING.items():
        # Signals that the parent process ignores or handles are not changed.
        if signal.getsignal(number) == default:
            signal.signal(number, _interrupted)
            _handled.add(number)


def forget() -> None:
    """Discard recorded interrupts and restore the handlers, for later work of the process outside the program."""
    while _handled:
        number = _handled.pop()
        signal.signal(number, STOPPING[number])
    _interrupts.clear()
    _kept.clear()


def came() -> bool:
    """Return whether there was an interrupt."""
    return bool(_interrupts)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if there was an interrupt that a library caught."""
    if _interrupts:
        raise KeyboardInterrupt


def tell_kept(what: str) -> None:
    """Record the results that remain after an interrupt, for `message`."""
    _kept[:] = [what]


def message() -> str:
    """Return the message of a program that an interrupt ends."""
    return f"interrupted; {_kept[0] if _kept else 'nothing was written'}"


def exit_code() -> int:
    """Return the exit code of a program that an interrupt ends: 128 and the number of the first signal that came."""
    return 128 + (_interrupts[0] if _interrupts else signal.SIGINT)


def caused(error: BaseException | None) -> bool:
    """Return whether an interrupt caused an error: compiled code, for example, raises SystemError."""
    return carries(error, KeyboardInterrupt)


def carries(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Return whether an error, or an error that caused it, is of a class."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)
