"""How much memory it takes to share the records of a run, or new ones by a rulebook, from their size alone."""

from __future__ import annotations

from pathlib import Path

# Bytes, fitted to the peaks of whole commands: of a record and the people who fit it, of its outcome under each policy
# of the run, and of each column; of a new value, of a value in a rulebook, and of each byte of a file.
_OF_RECORD, _OF_OUTCOME, _OF_SHARED_VALUE = 480, 67, 10
_OF_NEW_VALUE, _OF_RULE_VALUE, _OF_BYTE = 40, 16, 2


def sharing_memory(path: Path, records: tuple[int, int], n_policies: int) -> int:
    """Return about how many bytes it takes at its peak to share records, besides the program; files are included.

    Parameters
    ----------
    path : Path
    records : tuple of int
        Rows and columns of the table in it.
    n_policies : int
        Whose outcomes the run holds.
    """
    rows, columns = records
    of_record = _OF_RECORD + _OF_OUTCOME * n_policies + _OF_SHARED_VALUE * columns
    return rows * of_record + _OF_BYTE * path.stat().st_size


def applying_memory(rulebook: Path, rules: tuple[int, int], new: Path, records: tuple[int, int]) -> int:
    """Return about how many bytes it takes at its peak to apply a rulebook, besides the program; files are included.

    Parameters
    ----------
    rulebook, new : Path
    rules, records : tuple of int
        Rows and columns of their tables.
    """
    n_values, n_rule_values = records[0] * records[1], rules[0] * rules[1]
    size = rulebook.stat().st_size + new.stat().st_size
    return n_values * _OF_NEW_VALUE + n_rule_values * _OF_RULE_VALUE + _OF_BYTE * size
