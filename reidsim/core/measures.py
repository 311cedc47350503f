"""A measure as one object, from which tables, reports, figures, stress tests and reference pages take its words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Measure:
    """A number that says what a policy, an adversary or a round leads to.

    Parameters
    ----------
    column : str
        Of tables.
    label : str
        What it is called; begins with a capital.
    format : str
        How its values are written, as of `str.format`.
    definition : str
        What it means, without a full stop at the end.
    """

    column: str
    label: str
    format: str
    definition: str

    @property
    def in_text(self) -> str:
        """The label inside a sentence."""
        return self.label[:1].lower() + self.label[1:]

    def text(self, value: float) -> str:
        """Write a value; a dash if there is none."""
        return "-" if math.isnan(value) else self.format.format(0.0 if math.isclose(value, 0, abs_tol=1e-12) else value)


def columns_of(measures: Iterable[Measure]) -> list[str]:
    """Return the columns of some measures."""
    return [measure.column for measure in measures]


def measures_among(measures: Iterable[Measure], columns: Iterable[object]) -> dict[str, Measure]:
    """Return the measures that a table has, by column, in the order of the measures."""
    present = set(columns)
    return {measure.column: measure for measure in measures if measure.column in present}


def measures_worded(words: Mapping[str, Mapping[str, str]]) -> dict[str, Measure]:
    """Return the measures that some words say, by column."""
    return {column: Measure(column, **told) for column, told in words.items()}


def in_words(measures: Iterable[Measure], words: Mapping[str, Mapping[str, str]]) -> tuple[Measure, ...]:
    """Return measures with other words where there are some, by column."""
    return tuple(replace(measure, **words.get(measure.column, {})) for measure in measures)
