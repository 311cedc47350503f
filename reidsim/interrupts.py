"""Interrupts (Ctrl-C) that libraries swallowed: remembered as they come, and asked for where nothing would be lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_interrupts: list[int] = []
_kept: list[str] = []


def remember() -> None:
    """Note interrupts as they come: libraries that are being imported may take one for a part that is missing."""
    _interrupts.clear()
    _kept.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _interrupted):
        signal.signal(signal.SIGINT, _interrupted)


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


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)
