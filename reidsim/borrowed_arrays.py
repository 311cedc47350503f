"""How functions are compiled that are called by the million with many arrays.

numba counts references to every array that a function takes from a tuple, in atomic operations. In a function that
takes microseconds they are most of the work, and nobody needs them if it neither makes arrays nor returns any: its
caller holds the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

# The types of numba do not know the option.
_njit: Any = numba.njit
_Function = TypeVar("_Function", bound=Callable[..., Any])


def borrowing(**options: Any) -> Callable[[_Function], _Function]:
    """Return the decorator of a function that neither makes nor returns arrays, nor assigns to slices.

    Its callees are compiled in the same way, unless they are `owning`. Options go to `numba.njit`.
    """
    return cast("Callable[[_Function], _Function]", _njit(cache=True, _nrt=False, **options))


def owning() -> Callable[[_Function], _Function]:
    """Return the decorator of a function that may do these, and is called by functions that borrow."""
    return cast("Callable[[_Function], _Function]", _njit(cache=True, _nrt=True))
