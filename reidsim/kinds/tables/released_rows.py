"""Match the rows of a released file to the records of a study."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.errors import InputError, listed, locating, nearest, refuse_rows
from reidsim.kinds.tables.release import columns_of_release
from reidsim.kinds.tables.released_file import ReleasedFile
from reidsim.kinds.tables.study import TablesStudy
from reidsim.memory import free_memory, require_memory
from reidsim.releases.strategy_space import Rows
from reidsim.tables import read_table, require_columns, sniff_delimiter
from reidsim.wording import counted

# Bytes of memory needed per row of a released file, and per value in it.
_OF_ROW, _OF_VALUE = 300, 17


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """A released file, as read.

    Parameters
    ----------
    file : ReleasedFile
    suppressed : tuple of str
        Attributes without a column in the file.
    """

    file: ReleasedFile
    suppressed: tuple[str, ...]


def read_released(study: TablesStudy, path: Path, key: str | None = None) -> ReleasedRows:
    """Read a released file and match its rows by order or by a key.

    Parameters
    ----------
    study : TablesStudy
    path : Path
        Delimited text or Parquet, with a header.
    key : str, optional
        Column of the release and of the file that identifies the record of a row. Rows with equal keys are in the order
        of the records. Records with a key that is not in the file are withheld. By default, the file has one row per
        record, in the order of the release.

    Raises
    ------
    InputError
        If the file cannot be read, its evaluation needs more memory than is free, or its rows cannot be matched. The
        error names row and column.
    """
    if study.scenario.looks_up:
        raise InputError(
            "a released file is evaluated only against adversaries with direction record",
            source=study.loaded.path,
            where="adversary.direction",
            found=study.scenario.adversary.direction,
            expected="record",
        )
    if not path.is_file():
        raise InputError("no such file", source=path, expected="a released file")
    free = free_memory()
    frame = read_table(path, delimiter=sniff_delimiter(path))
    rows, width = frame.shape
    require_memory(rows * (_OF_ROW + _OF_VALUE * width), "too large for memory", source=path, free=free)
    named = {name: section.column or name for name, section in study.scenario.attributes.items()}
    columns = {
        name: column if column in frame else name for name, column in named.items() if column in frame or name in frame
    }
    if not columns:
        expected = f"some of {listed(named.values())}"
        hint = nearest(next(iter(named.values())), map(str, frame.columns))
        raise InputError(
            "the file has no quasi-identifier", source=path, found=listed(frame.columns), expected=expected, hint=hint
        )
    labels = pd.DataFrame({name: frame[column] for name, column in columns.items()})
    with locating(path):
        record = _records_of(study, frame, key, path)
        file = ReleasedFile.read(study, labels, record, columns)
    return ReleasedRows(file, tuple(name for name in named if name not in columns))


def _records_of(study: TablesStudy, frame: pd.DataFrame, key: str | None, path: Path) -> Rows:
    """Return the record of each row of the file, shape (n_rows,)."""
    if key is None:
        if len(frame) != study.n_records:
            raise InputError(
                "the file does not have one row per record",
                found=counted(len(frame), "row"),
                expected=counted(study.n_records, "record"),
                hint="match rows by an identifier with --key COLUMN",
            )
        return np.arange(len(frame))
    require_columns(frame, [key], path)
    _, release = columns_of_release(study.loaded, {key: key})
    rows = frame[key].str.strip()
    records = release[key]
    places = pd.Series(np.arange(len(records)), index=pd.MultiIndex.from_arrays([records, _occurrence(records)]))
    wanted = pd.MultiIndex.from_arrays([rows, _occurrence(rows)])
    found = places.reindex(wanted).to_numpy()
    expected = "a key of the release, in at most as many rows as in the release"
    refuse_rows(np.isnan(found), "no such record", column=key, found=rows, expected=expected)
    of_key, in_release = rows.value_counts(), records.value_counts()
    fewer = of_key.index[(of_key < in_release.reindex(of_key.index)).to_numpy()]
    refuse_rows(
        rows.isin(fewer[:1]),
        "the key has fewer rows than records in the release",
        column=key,
        found=rows,
        expected=lambda row: f"all {in_release[fewer[0]]} rows of the key, or none, or another key",
    )
    return found.astype(np.intp)


def _occurrence(values: pd.Series[str]) -> pd.Series[int]:
    return values.groupby(values, observed=True).cumcount()
