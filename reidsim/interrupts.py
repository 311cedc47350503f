"""Interrupts: Ctrl-C and SIGTERM end the program alike, with one message and the exit code of the signal.

Those that libraries swallowed are remembered as they come, and asked for where nothing would be lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

# The signals that interrupt, and how Python handles each unless told otherwise. A terminal sends the first; `kill`, job
# schedulers and containers that are stopped send the second. It also reaches a program that was started with the first
# ignored, as shells start what a script runs in the background.
STOPPING: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}

_interrupts: list[int] = []
_kept: list[str] = []
_handled: set[signal.Signals] = set()


def remember() -> None:
    """Note interrupts as they come, until `forget`: libraries being imported may take one for a missing part."""
    forget()
    if threading.current_thread() is not threading.main_thread():
        return
    for number, default in STOPPING.items():
        # What the starter has ignored, or handles in its own way, stays so.
        if signal.getsignal(number) == default:
            signal.signal(number, _interrupted)
            _handled.add(number)


def forget() -> None:
    """Forget what came and handle signals as before: work that is done later in this process is not the program's."""
    while _handled:
        number = _handled.pop()
        signal.signal(number, STOPPING[number])
    _interrupts.clear()
    _kept.clear()


def came() -> bool:
    """Tell whether there was an interrupt."""
    return bool(_interrupts)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt if there was an interrupt that something swallowed."""
    if _interrupts:
        raise KeyboardInterrupt


def tell_kept(what: str) -> None:
    """Note what an interrupt leaves behind, to be told when the program ends because of it."""
    _kept[:] = [what]


def message() -> str:
    """Return what to tell when the program ends because of an interrupt."""
    return f"interrupted; {_kept[0] if _kept else 'nothing was written'}"


def exit_code() -> int:
    """Return the exit code of a program that an interrupt ends: 128 and the number of the first signal that came."""
    return 128 + (_interrupts[0] if _interrupts else signal.SIGINT)


def caused(error: BaseException | None) -> bool:
    """Tell whether an error is what became of an interrupt: compiled code, for one, makes a SystemError of it."""
    return carries(error, KeyboardInterrupt)


def carries(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Tell whether an error, or one of those that led to it, is of a kind."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)
