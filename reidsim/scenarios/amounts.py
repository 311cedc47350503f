"""Field types shared by scenario sections.

Amounts of money, shares, counts and non-empty text.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reidsim.populations.recipe import Delimiter, Money, Seed, Share

__all__ = ["Count", "Delimiter", "Money", "PersonKey", "PopulationSeed", "Seed", "Share", "Text"]

Count = Annotated[int, Field(ge=1)]
PopulationSeed = Annotated[
    Seed | None, Field(description="random seed of the population; default: the seed of its recipe")
]
Text = Annotated[str, Field(min_length=1)]
# One column, or several columns whose combined values identify a person.
PersonKey = Text | Annotated[tuple[Text, ...], Field(min_length=2)]
