"""Set of original values that a cell of a released file may stand for.

A cell can be a value or a label of the scenario's hierarchy, ``*``, an interval in the notation of ARX, sdcMicro or
this package (``[20, 30[``, ``[20,30)``, ``(20,30]``, ``20-29``, ``>=90``, ``90+``), a set (``{a, b}``), or a value with
masked characters (``372**``). A label that several groups share denotes the values of all these groups.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.audit.notation import ColumnReader, Positions
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy

Members = NDArray[np.bool_]

# Notations of suppressed cells in files of other programs, in addition to a star.
_MISSING = ("", "NA")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)


class CellReader:
    """Reader of the cells of a column.

    Parameters
    ----------
    hierarchy : Hierarchy
        Hierarchy of the column's attribute.
    renamed : mapping of str to str, optional
        Category that a value in files denotes, by value.
    """

    def __init__(self, hierarchy: Hierarchy, renamed: Mapping[str, str] | None = None) -> None:
        self._categories, self._renamed = hierarchy.attribute.categories, dict(renamed or {})
        levels = zip(hierarchy.groups.tolist(), hierarchy.labels, strict=True)
        labels = [[labels[group] for group in groups] for groups, labels in levels]
        self._reader = ColumnReader(self._categories, list(zip(*labels, strict=True)))
        self._read: dict[str, Members | None] = {}

    def read(self, text: str) -> Members | None:
        """Return which categories a cell may denote, shape (n_categories,), or None.

        The result is None if the cell cannot be read or no category fits. A suppressed cell may denote any category:
        stars only, or empty or ``NA`` if this is no label of the hierarchy.
        """
        text = text.strip()
        if text not in self._read:
            members = np.zeros(len(self._categories), dtype=np.bool_)
            members[self._positions(text)] = True
            self._read[text] = members if members.any() else None
        return self._read[text]

    def _positions(self, text: str) -> Positions:
        named = next((name for name in (text, self._renamed.get(text)) if name in self._reader.labels), None)
        if set(text) == {SUPPRESSED} or (named is None and text in _MISSING):
            return np.arange(len(self._categories))
        if named is not None:
            return self._reader.labels[named]
        if found := _SET.fullmatch(text):
            elements = [self.read(element) for element in re.split(r"[,;]", found[1])]
            readable = [members for members in elements if members is not None]
            # An element that cannot be read could denote any value, so the whole set counts as not readable.
            return np.flatnonzero(np.any(readable, axis=0)) if len(readable) == len(elements) else np.arange(0)
        fitting = self._reader.fitting(text)
        start = text.rstrip(SUPPRESSED)
        if not len(fitting) and start != text and SUPPRESSED not in start:
            # The number of stars at the end may exceed the number of masked characters.
            fitting = np.flatnonzero([category.startswith(start) for category in self._categories])
        return fitting
