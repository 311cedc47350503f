"""Compile functions that are called millions of times with many arrays.

numba counts references to every array that a function takes from a tuple, with atomic operations. In a function that
runs for microseconds, they are most of the work. A function that neither creates nor returns arrays does not need
them, because its caller holds the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

# numba's type annotations lack the option.
_njit: Any = numba.njit
_Function = TypeVar("_Function", bound=Callable[..., Any])


def borrowing(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator for functions that only borrow arrays.

    Such a function neither creates nor returns arrays, nor assigns to slices. Its callees are compiled in the same way,
    unless they are `owning`. Options are passed to `numba.njit`.
    """
    return cast("Callable[[_Function], _Function]", _njit(cache=True, _nrt=False, **options))


def owning() -> Callable[[_Function], _Function]:
    """Return a decorator for functions that may create arrays.

    They can be called by `borrowing` functions.
    """
    return cast("Callable[[_Function], _Function]", _njit(cache=True, _nrt=True))
