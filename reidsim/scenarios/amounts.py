"""Amounts of money in scenarios."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

# Above the limit, payoffs lose the digits that tell strategies apart.
Money = Annotated[float, Field(ge=0, le=1e15, description="currency units per record")]
