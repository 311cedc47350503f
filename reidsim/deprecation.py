"""Former names of parameters: they still work, and say what they are called now."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_PACKAGE = str(Path(__file__).parent)


def level_outside() -> int:
    """Return the level of the stack at which a warning of the calling function is that of whoever uses the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def formerly(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take parameters by their former names, with a warning.

    Parameters
    ----------
    **names : str
        Former name of each parameter, by the name it has now, such as ``overrides="set"``.

    Returns
    -------
    callable
        A decorator. The function then raises a `TypeError` if a parameter is given by both names.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, former in names.items():
                if former in kwargs:
                    if name in kwargs:
                        raise TypeError(f"{function.__name__}() got {name!r} and its former name {former!r}")
                    message = f"{function.__name__}(): argument {former!r} is now called {name!r}"
                    warnings.warn(message, DeprecationWarning, stacklevel=level_outside())
                    kwargs[name] = kwargs.pop(former)
            return function(*args, **kwargs)

        return called

    return decorate
