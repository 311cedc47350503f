"""Keys of people and households, and the unit of a scenario.

The unit is people or records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_rows
from reidsim.core.tables import require_columns
from reidsim.core.wording import counted
from reidsim.games.measures import HOUSEHOLD_RISK

Keys = NDArray[np.intp]

# Texts that mean a missing key, in lower case. They are refused, because rows without a key would form one person.
_MISSING = ("", "na", "n/a", "nan", "null", "none", ".")
# Columns of records.parquet for the person and household of a record. The person is a number, never the key itself.
PERSON, HOUSEHOLD = "person", HOUSEHOLD_RISK.column


def counted_units(content: Mapping[str, Any]) -> tuple[str, str]:
    """Return the unit of a scenario in singular and plural.

    The unit is people if the section ``release`` has a key of people, otherwise records.
    """
    release = content.get("release")
    keyed = isinstance(release, Mapping) and release.get(PERSON) is not None
    return ("person", "people") if keyed else ("record", "records")


def unit_sentence(manifest: Mapping[str, Any]) -> str:
    """Return a sentence on the unit of a run: people or rows.

    The text is empty for a run without a released file.

    Parameters
    ----------
    manifest : mapping
        Manifest of the run.
    """
    if "release_file" not in manifest or "records" not in manifest:
        return ""
    rows, content = manifest["records"], manifest.get("content", {})
    if counted_units(content)[0] == "record":
        return f"Unit: rows; each of {counted(rows, 'row')} counts as one person"
    key = " and ".join(key_columns(content["release"][PERSON]))
    people = manifest.get("released_people")
    several = f"; {counted(people, 'person', 'people')} in {counted(rows, 'row')}" if people is not None else ""
    return f"Unit: people, identified by {key}{several}"


def once_each(records: pd.DataFrame, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return outcomes with one row per person and policy, if people are counted.

    Otherwise the outcomes are returned unchanged. `records` has one row per record and policy (in assessments, per
    record and background knowledge). The outcomes are equal for all records of a person, so the first row of each
    person is kept.
    """
    if counted_units(content)[0] == "record" or PERSON not in records:
        return records
    return records.drop_duplicates([column for column in ("policy", "knowledge", PERSON) if column in records])


def key_columns(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of a key of people or households.

    `key` is one column, several columns, or None if there is no key; the result is then empty.
    """
    return () if key is None else (key,) if isinstance(key, str) else tuple(key)


def keys_of_records(frame: pd.DataFrame, key: str | Sequence[str], source: str | Path) -> Keys:
    """Return the number of each record's person or household, shape (n_records,).

    People or households are numbered from 0, in order of appearance.

    Parameters
    ----------
    frame : DataFrame
        The records, as text.
    key : str or sequence of str
        The column, or the columns whose values together identify a person.
    source : str or Path
        Source of the records, for error messages.

    Raises
    ------
    InputError
        If a column does not exist, or a value is missing; the message names the row.
    """
    columns = key_columns(key)
    require_columns(frame, columns, Path(source))
    values = [frame[column].str.strip() for column in columns]
    for column, text in zip(columns, values, strict=True):
        missing = text.str.lower().isin(_MISSING)
        refuse_rows(missing, "value missing", source=source, column=column, expected="a value in every row")
    return np.asarray(frame.groupby(values, sort=False, observed=True).ngroup(), dtype=np.intp)


def require_same(
    amounts: NDArray[np.generic],
    of_record: Keys,
    what: str,
    source: str | Path,
    column: str,
    keys: pd.DataFrame | None = None,
) -> None:
    """Check that all records of a person have the same value.

    The value is an amount or a household, for example.

    Parameters
    ----------
    amounts : ndarray, shape (n_records,)
        Value of each record.
    of_record : ndarray of int, shape (n_records,)
        Number of each record's person.
    what, source, column : str
        Name of the value, source of the records, and column, for the error message.
    keys : DataFrame, optional
        Key columns of people, one row per record, to name the person in the error message.

    Raises
    ------
    InputError
        If records of one person have different values; the message names the first such row.
    """
    first = np.unique(of_record, return_index=True)[1][of_record]

    def expected(row: int) -> str:
        named = "" if keys is None else f", {' '.join(map(str, keys.iloc[row]))}"
        return f"the value of row {int(first[row]) + 1}, which belongs to the same person{named}"

    refuse_rows(
        amounts != amounts[first],
        f"records of the same person differ in {what}",
        source=source,
        column=column,
        found=amounts if keys is not None else None,
        expected=expected,
    )


def require_distinct_people(frame: pd.DataFrame, column: str, source: str | Path) -> None:
    """Check that no person has two rows.

    `column` of `frame` identifies the person; `source` is the file in messages.

    Raises
    ------
    InputError
        If the column does not exist, a person has two rows (the message names the second one), or a cell is empty.
    """
    person = keys_of_records(frame, column, source)
    first = np.unique(person, return_index=True)[1][person]
    refuse_rows(
        first != np.arange(len(person)),
        "person given twice",
        source=source,
        column=column,
        expected=lambda row: f"one row for each subject; row {int(first[row]) + 1} has the same key",
    )


def refuse_keys(content: Mapping[str, Any], keep: Sequence[str]) -> None:
    """Check that no column shared unchanged is a key of people or households.

    `keep` lists the columns shared unchanged; `content` is the scenario as plain data, whose section ``release`` names
    the keys.

    Raises
    ------
    InputError
        If such a column is shared; the message names the column.
    """
    for key in ("person", "household"):
        for column in key_columns((content.get("release") or {}).get(key)):
            if column in keep:
                expected = f"columns that are no keys, because a key links all rows of a {key}"
                raise InputError(f"the column is a key of {key}s", source="--keep", found=column, expected=expected)
