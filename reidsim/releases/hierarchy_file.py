"""Hierarchy files in the format of ARX: one row per value, one column per level."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from reidsim.errors import InputError
from reidsim.tables import DELIMITERS, read_table

# Usual names of the column of values.
_VALUE_HEADER = re.compile(r"(values?|levels?|lvl)[ _-]?0?", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+([.,]\d+)?\+?")


def read_hierarchy_rows(path: Path, *, delimiter: str = ";") -> list[list[str]]:
    """Read the rows of a hierarchy file as text, including a header.

    Raises
    ------
    InputError
        If the file cannot be read, or has a single column in which every row contains another delimiter equally often.
    """
    frame = read_table(path, delimiter=delimiter, header=False)
    rows: list[list[str]] = frame.to_numpy().tolist()
    if frame.shape[1] == 1:
        for other in DELIMITERS:
            counts = {row[0].count(other) for row in rows}
            if len(counts) == 1 and counts != {0}:
                problem, expected = (
                    f"the file has one column, and {other!r} occurs in every row",
                    f"columns separated by {delimiter!r}",
                )
                hint = f"set the delimiter to {other!r}, if that separates the columns"
                raise InputError(problem, source=path, where="row 1", found=rows[0][0], expected=expected, hint=hint)
    return rows


def check_header(
    rows: Sequence[Sequence[str]], *, header: bool, used: Collection[str], names: Collection[str] = ()
) -> None:
    """Check that the first row of a hierarchy file is a header if this is declared.

    It must be one if and only if `header` is true. A header that is treated as a value would change the information
    loss of every record; a value that is treated as a header would be lost.

    Parameters
    ----------
    rows : sequence of sequence of str
        All rows of the file, each of the same length.
    header : bool
        Whether the first row is declared to be a header, with the names of the levels.
    used : collection of str
        Values that occur in the records or the population.
    names : collection of str
        Names of the attribute.

    Raises
    ------
    InputError
        If `header` is true and a label of the first row is also the label of another row at the same level. Or if
        `header` is false and the first row looks like a header: its value is not in `used`, there are other rows, and
        it shares no label with them. Moreover, its first cell is the name of the attribute or a usual name of the
        column of values; or its cells all differ, and it is the only row without the label that all others have at the
        last level, or the only row whose value is not a number.
    """
    first, rest = rows[0], rows[1:]
    alone = [label not in {row[level] for row in rest} for level, label in enumerate(first) if level]
    if header and not all(alone):
        level = alone.index(False) + 1
        expected = f"names of levels; {first[level]!r} is also a label of that level"
        raise _other_row(first, "is the row of a value, not a header", expected, "remove header = true")
    if header or first[0] in used or not rest:
        return
    named = first[0].casefold() in {name.casefold() for name in names} or _VALUE_HEADER.fullmatch(first[0])
    top_is_one = len(first) > 1 and len({row[-1] for row in rest}) == 1
    only_text = not _NUMBER.fullmatch(first[0]) and all(_NUMBER.fullmatch(row[0]) for row in rest)
    if all(alone) and (named or ((top_is_one or only_text) and len(set(first)) == len(first))):
        expected = f"the row of a value; no record has {first[0]!r}, and no other row has the same labels"
        raise _other_row(first, "looks like a header, but would be read as a value", expected, "set header = true")


def _other_row(first: Sequence[str], problem: str, expected: str, hint: str) -> InputError:
    return InputError(f"the first row {problem}", where="row 1", found=";".join(first), expected=expected, hint=hint)
