"""Compile functions that are called millions of times with many arrays.

numba counts references to every array that a function takes from a tuple, with atomic operations. In a function that
runs for microseconds, they are most of the work. A function that neither creates nor returns arrays does not need
them, because its caller holds the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import types

# numba's type annotations lack the option and the function.
_njit: Any = numba.njit
_unliteral: Any = types.unliteral
_Function = TypeVar("_Function", bound=Callable[..., Any])


def borrowing(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator for functions that only borrow arrays.

    Such a function neither creates nor returns arrays, nor assigns to slices. Its callees are compiled in the same way,
    unless they are `owning`. Options are passed to `numba.njit`.
    """
    return _compiled_once(_nrt=False, **options)


def owning() -> Callable[[_Function], _Function]:
    """Return a decorator for functions that may create arrays.

    They can be called by `borrowing` functions.
    """
    return _compiled_once(_nrt=True)


def _compiled_once(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function once for all whole numbers.

    Otherwise numba compiles a function again for each constant that another compiled function passes to it.
    """

    def decorator(function: _Function) -> _Function:
        dispatcher = _njit(cache=True, **options)(function)
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(_unliteral, args)), {name: _unliteral(each) for name, each in kws.items()}
        )
        return cast("_Function", dispatcher)

    return decorator
