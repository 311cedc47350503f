"""The adversary's gain at points of a batch: where a scenario does not state it, it is the loss of each point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

GAIN, LOSS = "economics.gain", "economics.loss"


def gain_goes_with_loss(content: Mapping[str, Any], varied: Collection[str]) -> bool:
    """Tell whether the gain of a scenario differs from point to point because the loss does.

    Parameters
    ----------
    content : mapping
        The scenario as plain data.
    varied : collection of str
        Keys with values of their own at each point.
    """
    economics = content.get("economics")
    if LOSS not in varied or GAIN in varied or not isinstance(economics, Mapping):
        return False
    columns = economics.get("columns")
    own_column = isinstance(columns, Mapping) and columns.get("gain") is not None
    return economics.get("gain") is None and not own_column
