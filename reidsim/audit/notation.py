"""Find the true values that fit a released cell, given only the text of the cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Positions = NDArray[np.intp]

ANYTHING = "*"
_NUMBER = r"-?\d+(?:\.\d+)?"
_AS_NUMBER = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\+?")
_BETWEEN = re.compile(rf"({_NUMBER})\s*(?:-|\N{{EN DASH}}|\.\.|to)\s*({_NUMBER})")
_IN_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER}|-[Ii]nf|)\s*[,;]\s*({_NUMBER}|[Ii]nf|)\s*([\[\])])")
_ONE_SIDED = re.compile(
    rf"(>=|\N{{GREATER-THAN OR EQUAL TO}}|>|<=|\N{{LESS-THAN OR EQUAL TO}}|<)\s*({_NUMBER})|({_NUMBER})\+"
)
_SET = re.compile(r"\{(.*)\}|\[(.*)\]", re.DOTALL)
_OR = " or "
_DAY_OR_MONTH = re.compile(r"(\d{4})-\d{2}(?:-\d{2})?")
_NO_DATE = "not a date"


class ColumnReader:
    """A parser of the released cells of a column.

    A cell is interpreted as the first of the following that applies: any value (``*``); a label of the column's
    hierarchy, which denotes the values with this label; a value itself; a code with masked characters (``372**``); an
    interval (``20-29``, ``[20, 29]``, ``[20, 30[``, ``[20, 30)``, ``[20, inf)``, ``90+``, ``>=90``, ``<18``); a set
    (``{a, b}``, ``[372**, 036**]``, ``a or b``); a number in another notation (``7`` for ``07``). If values are dates
    such as ``1985-03-31``, a month or year denotes its days, an interval of years denotes the days of these years, and
    ``not a date`` denotes all other values. Any other cell fits no value.

    Parameters
    ----------
    values : sequence of str
        Distinct true values, without leading or trailing spaces.
    hierarchy : sequence of sequence of str
        Rows of the column's hierarchy as text, if it has one: the value, then its labels.
    """

    def __init__(self, values: Sequence[str], hierarchy: Sequence[Sequence[str]] = ()) -> None:
        self.values = tuple(values)
        self._position = {value: position for position, value in enumerate(self.values)}
        self.labels = self._labels_of(hierarchy)
        self._masked: dict[tuple[int, ...], Mapping[str, Positions]] = {}

    def _labels_of(self, hierarchy: Sequence[Sequence[str]]) -> dict[str, Positions]:
        members: dict[str, list[int]] = {}
        for row in hierarchy:
            position = self._position.get(row[0].strip())
            for label in {label.strip() for label in row}:
                found = members.setdefault(label, [])
                if position is not None:
                    found.append(position)
        return {label: np.array(sorted(found), dtype=np.intp) for label, found in members.items()}

    def fitting(self, cell: str) -> Positions:
        """Return the positions of the true values that fit a released cell, shape (n,).

        Positions in `values` are distinct. For the notations, see `ColumnReader`. The array is empty if no value fits.
        Spaces around the cell are ignored.
        """
        cell = cell.strip()
        if cell == ANYTHING:
            return np.arange(len(self.values))
        if cell in self.labels:
            return self.labels[cell]
        if cell in self._calendar:
            return self._calendar[cell]
        if cell in self._position:
            return np.array([self._position[cell]], dtype=np.intp)
        if ANYTHING in cell and not _SET.fullmatch(cell):
            return self._unmasked(cell)
        bounds = _interval(cell)
        if bounds is not None:
            return self._within(*bounds)
        listed = _SET.fullmatch(cell)
        if listed:
            parts = [self.fitting(part) for part in re.split(r"[,;]", listed[1] or listed[2] or "") if part.strip()]
            return np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.intp)
        if _OR in cell:
            # The cell cannot simply be split at the word "or", because a value may contain it.
            among = f"{_OR}{cell}{_OR}"
            fits = [position for value, position in self._position.items() if f"{_OR}{value}{_OR}" in among]
            return np.array(sorted(fits), dtype=np.intp)
        number = _as_number(cell)
        return np.zeros(0, dtype=np.intp) if number is None else self._within(number, number, False, False)

    @cached_property
    def _calendar(self) -> dict[str, Positions]:
        """Positions of values by the text of a day, month or year that contains them.

        If some values are days or months, other values are under ``not a date``, except the empty one and years;
        otherwise the result is empty.
        """
        members: dict[str, list[int]] = {}
        for value, position in self._position.items():
            if _DAY_OR_MONTH.fullmatch(value):
                for text in {value[:4], value[:7], value}:
                    members.setdefault(text, []).append(position)
        if members:
            others = {value: at for value, at in self._position.items() if value and not _DAY_OR_MONTH.fullmatch(value)}
            for value in others.keys() & members.keys():
                members[value].append(others[value])
            members[_NO_DATE] = [at for value, at in others.items() if not re.fullmatch(r"\d{4}", value)]
        return {text: np.array(sorted(found), dtype=np.intp) for text, found in members.items()}

    def _unmasked(self, cell: str) -> Positions:
        """Return the positions of values that agree with a cell except at its stars.

        They must have the same length as the cell, with the stars. The result is empty if there are none.
        """
        kept = tuple(place for place, character in enumerate(cell) if character != ANYTHING)
        key = (len(cell), *kept)
        if key not in self._masked:
            groups: dict[str, list[int]] = {}
            for value, position in self._position.items():
                if len(value) == len(cell):
                    groups.setdefault("".join(value[place] for place in kept), []).append(position)
            self._masked[key] = {text: np.array(found, dtype=np.intp) for text, found in groups.items()}
        text = "".join(cell[place] for place in kept)
        return self._masked[key].get(text, np.zeros(0, dtype=np.intp))

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.float64], Positions]:
        """Numbers among the values, ascending, and the position of each in `values`.

        A day or month is replaced by its year. Values that are not numbers are left out.
        """
        years = (_DAY_OR_MONTH.sub(r"\1", value) for value in self.values)
        numbers = {position: _as_number(text) for position, text in enumerate(years)}
        found = {position: number for position, number in numbers.items() if number is not None}
        numeric, positions = np.array(list(found.values())), np.array(list(found), dtype=np.intp)
        order = np.argsort(numeric, kind="stable")
        return numeric[order], positions[order]

    def _within(self, low: float, high: float, above: bool, below: bool) -> Positions:
        """Return the positions of values that are numbers from `low` to `high`.

        They are in ascending order of the numbers. Exclude `low` if `above`, `high` if `below`. A day or month counts
        as its year.
        """
        numbers, positions = self._sorted
        first = int(np.searchsorted(numbers, low, side="right" if above else "left"))
        last = int(np.searchsorted(numbers, high, side="left" if below else "right"))
        return positions[first:last]


def is_all_numbers(values: Sequence[str]) -> bool:
    """Return whether all values that are not empty are numbers.

    Numbers are such as ``48``, ``-1.5``, ``1,5`` or ``90+``. The result is False if there is no number.
    """
    present = [value for value in values if value]
    return bool(present) and all(_as_number(value) is not None for value in present)


def numeric_order(values: Sequence[str]) -> NDArray[np.intp]:
    """Return the positions that sort values numerically, shape (n,).

    Empty values come first. Values must be numbers or empty; equal numbers keep their order.
    """
    numbers = [_as_number(value) if value else -np.inf for value in values]
    return np.argsort(np.array(numbers, dtype=np.float64), kind="stable")


def text_of(column: pd.Series[str]) -> pd.Series[str]:
    """Return a column as text without leading or trailing spaces, with the same index.

    Missing values are "".
    """
    return column.astype("str").mask(column.isna(), "").str.strip()


def _as_number(text: str) -> float | None:
    found = _AS_NUMBER.fullmatch(text)
    return float(found[1].replace(",", ".")) if found else None


def _interval(cell: str) -> tuple[float, float, bool, bool] | None:
    """Return both ends of an interval, and whether each end is open (excluded).

    The results are low end, high end, whether the low end is open, and whether the high end is. A missing end is
    infinite. The result is None if the cell is not an interval; for the notations, see `ColumnReader`.
    """
    if found := _IN_BRACKETS.fullmatch(cell):
        return float(found[2] or "-inf"), float(found[3] or "inf"), found[1] in "](", found[4] in "[)"
    if found := _BETWEEN.fullmatch(cell):
        return float(found[1]), float(found[2]), False, False
    if found := _ONE_SIDED.fullmatch(cell):
        bound, is_open = float(found[2] or found[3]), found[1] in ("<", ">")
        if (found[1] or ">")[0] in "<\N{LESS-THAN OR EQUAL TO}":
            return -np.inf, bound, False, is_open
        return bound, np.inf, is_open, False
    return None
