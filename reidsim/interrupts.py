"""Interrupts (Ctrl-C) that libraries swallowed: remembered as they come, and asked for where nothing would be lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType

_interrupts: list[int] = []


def remember() -> None:
    """Note interrupts as they come: libraries that are being imported may take one for a part that is missing."""
    _interrupts.clear()
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


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)
