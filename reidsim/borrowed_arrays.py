"""How functions are compiled that are called by the million with many arrays.

numba counts references to every array that a function takes from a tuple, in atomic operations. In a function that
takes microseconds they are most of the work, and nobody needs them if it neither makes arrays nor returns any: its
caller holds what it reads.
"""

from __future__ import annotations

from typing import Any, Final

# What such a function calls is compiled in the same way, unless it says `OWNED`.
BORROWED: Final[dict[str, Any]] = {"cache": True, "_nrt": False}
"""Options of `numba.njit` for a function that neither makes nor returns arrays, nor assigns to slices."""

OWNED: Final[dict[str, Any]] = {"cache": True, "_nrt": True}
"""Options of one that may, and is called by functions that borrow."""
