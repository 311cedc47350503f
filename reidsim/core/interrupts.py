"""Handle Ctrl-C and SIGTERM: end with one message and the signal's exit code.

Libraries may catch an interrupt. Interrupts are therefore recorded on arrival and checked where no work is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

# Signals of interrupts, and Python's default handler of each. A terminal sends SIGINT. `kill`, job schedulers and
# container engines send SIGTERM, which also reaches background programs of a script; these ignore SIGINT.
STOPPING: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}

_interrupts: list[int] = []
_kept: list[str] = []
_handled: set[signal.Signals] = set()


def remember() -> None:
    """Record interrupts until `forget`.

    Otherwise a library may mistake an interrupt during its import for a missing dependency. Interrupts are SIGINT and
    SIGTERM; a signal that already has another handler is left as it is. Outside the main thread, nothing is recorded.
    """
    forget()
    if threading.current_thread() is not threading.main_thread():
        return
    for number, default in STOPPING.items():
        # Keep signals that the parent process ignores or handles.
        if signal.getsignal(number) == default:
            signal.signal(number, _interrupted)
            _handled.add(number)


def forget() -> None:
    """Discard recorded interrupts and restore the default handlers.

    Work of the process after the program then handles interrupts as usual.
    """
    while _handled:
        number = _handled.pop()
        signal.signal(number, STOPPING[number])
    _interrupts.clear()
    _kept.clear()


def came() -> bool:
    """Return whether an interrupt was recorded."""
    return bool(_interrupts)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if an interrupt was recorded.

    A library may have caught it.
    """
    if _interrupts:
        raise KeyboardInterrupt


def tell_kept(description: str) -> None:
    """Record a description of the results that remain after an interrupt.

    It replaces an earlier description and becomes part of `ending`.
    """
    _kept[:] = [description]


def ending() -> tuple[str, int]:
    """Return the message and exit code of a program that an interrupt ends.

    The message includes the text of `tell_kept`, if any; the code is 128 plus the number of the first signal recorded
    (of SIGINT if there is none).
    """
    number = _interrupts[0] if _interrupts else signal.SIGINT
    return f"interrupted; {_kept[0] if _kept else 'nothing was written'}", 128 + number


def caused(error: BaseException | None, kind: type[BaseException] = KeyboardInterrupt) -> bool:
    """Return whether an error, or one in its chain of causes, is of the class `kind`.

    By default, this tells whether an interrupt caused it. The result is False for None. Compiled code, for example,
    raises SystemError after an interrupt.
    """
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)
