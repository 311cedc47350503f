"""What a cell of any released file stands for: the set of values that it may have been.

Read are values and labels of the scenario's hierarchy, ``*``, intervals as ARX, sdcMicro and this package write them
(``[20, 30[``, ``[20,30)``, ``(20,30]``, ``20-29``, ``>=90``, ``90+``), sets (``{a, b}``), and values of which some
characters are ``*`` (``372**``). A label that stands for several groups stands for all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy

Members = NDArray[np.bool_]

# How files of other programs write a cell that was suppressed, besides a star.
_MISSING = ("", "NA")
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER}|-inf|-Inf|)\s*[,;]\s*({_NUMBER}|inf|Inf|)\s*([\[\])])")
_DASH = re.compile(rf"({_NUMBER})\s*(?:-|\N{{EN DASH}}|\.\.|to)\s*({_NUMBER})")
_BOUND = re.compile(rf"(<=|>=|<|>|\N{{LESS-THAN OR EQUAL TO}}|\N{{GREATER-THAN OR EQUAL TO}})\s*({_NUMBER})")
_FROM = re.compile(rf"({_NUMBER})\s*\+")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_SEPARATOR = re.compile(r"\s*[,;]\s*")


class CellReader:
    """Reads the cells of one column.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of the column's attribute.
    renamed : mapping of str to str, optional
        Category that a value in files stands for.
    """

    def __init__(self, hierarchy: Hierarchy, renamed: Mapping[str, str] | None = None) -> None:
        categories = hierarchy.attribute.categories
        self._categories, self._renamed = categories, dict(renamed or {})
        self._size = len(categories)
        self._by_label: dict[str, Members] = {}
        for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True):
            for number, label in enumerate(labels):
                known = self._by_label.get(label)
                self._by_label[label] = (groups == number) if known is None else known | (groups == number)
        # A top code such as 90+ counts as its number.
        numbers = [re.fullmatch(rf"({_NUMBER})\+?", category) for category in categories]
        self._numbers = np.array([math.nan if found is None else float(found[1]) for found in numbers])
        self._read: dict[str, Members | None] = {}

    def read(self, text: str) -> Members | None:
        """Return which categories a cell stands for, shape (n_categories,); None if it cannot be read, or fits none."""
        text = text.strip()
        if text not in self._read:
            found = self._first_reading(text)
            self._read[text] = found if found is not None and found.any() else None
        return self._read[text]

    def _first_reading(self, text: str) -> Members | None:
        if text and set(text) == {SUPPRESSED}:
            return np.ones(self._size, dtype=np.bool_)
        for name in (text, self._renamed.get(text)):
            if name is not None and name in self._by_label:
                return self._by_label[name]
        if text in _MISSING:
            return np.ones(self._size, dtype=np.bool_)
        readings: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Members | None]], ...] = (
            (_SET, self._set),
            (_BRACKETS, self._interval),
            (_DASH, lambda found: self._between(float(found[1]), float(found[2]))),
            (_BOUND, self._bounded),
            (_FROM, lambda found: self._between(float(found[1]), math.inf)),
            (re.compile(_NUMBER), lambda found: self._between(float(found[0]), float(found[0]))),
        )
        for pattern, reading in readings:
            match = pattern.fullmatch(text)
            if match is not None:
                return reading(match)
        return self._masked(text) if SUPPRESSED in text else None

    def _set(self, found: re.Match[str]) -> Members | None:
        members = np.zeros(self._size, dtype=np.bool_)
        for element in _SEPARATOR.split(found[1].strip()):
            read = self.read(element)
            if read is None:
                return None
            members |= read
        return members

    def _interval(self, found: re.Match[str]) -> Members:
        low = -math.inf if found[2] in ("", "-inf", "-Inf") else float(found[2])
        high = math.inf if found[3] in ("", "inf", "Inf") else float(found[3])
        above = self._numbers >= low if found[1] == "[" else self._numbers > low
        below = self._numbers <= high if found[4] == "]" else self._numbers < high
        return np.asarray(above & below)

    def _between(self, low: float, high: float) -> Members:
        return np.asarray((self._numbers >= low) & (self._numbers <= high))

    def _bounded(self, found: re.Match[str]) -> Members:
        bound = float(found[2])
        compared = {
            "<": self._numbers < bound, ">": self._numbers > bound, "<=": self._numbers <= bound,
            ">=": self._numbers >= bound,
        }  # fmt: skip
        sign = found[1].replace("\N{LESS-THAN OR EQUAL TO}", "<=").replace("\N{GREATER-THAN OR EQUAL TO}", ">=")
        return np.asarray(compared[sign])

    def _masked(self, text: str) -> Members:
        """Read a value with hidden characters; stars at its end may also stand for more of them than there are."""
        pattern = re.compile(re.escape(text).replace(re.escape(SUPPRESSED), "."))
        members = np.array([pattern.fullmatch(category) is not None for category in self._categories])
        if members.any() or SUPPRESSED in text.rstrip(SUPPRESSED):
            return members
        return np.array([category.startswith(text.rstrip(SUPPRESSED)) for category in self._categories])
