"""Read tables of statistical programs and spreadsheets, with their labels."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from datetime import datetime, time
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from pandas.io.stata import StataReader

from reidsim.errors import InputError
from reidsim.file_names import EXCEL, SAS, SPSS, STATA, TYPED_ENDINGS
from reidsim.file_sizes import require_workbook_fits
from reidsim.memory import require_memory

ENDINGS = TYPED_ENDINGS
# Memory of an empty cell of a workbook, bytes: references in a row, in a table, and in a column of text.
_CELL_BYTES = 32
# Description of a file by its ending, and the extra dependency that reads it.
_KINDS = {
    **dict.fromkeys(STATA, ("a Stata file", "")),
    **dict.fromkeys(SPSS, ("an SPSS file", "statistics")),
    **dict.fromkeys(SAS, ("a SAS file", "statistics")),
    **dict.fromkeys(EXCEL, ("an Excel workbook", "excel")),
}


def read_typed_file(path: Path) -> pd.DataFrame:
    """Read a Stata, SPSS, SAS or Excel file; the first sheet of a workbook.

    Codes with a label in the file's dictionary become the label; if two codes of a column have equal labels, the code
    is added to the label. Missing values of the dictionary are missing.

    Raises
    ------
    InputError
        If the file cannot be read, or the library to read it is not installed.
    """
    frame: pd.DataFrame = _opened(path, _read)
    return frame


def column_labels(path: Path) -> dict[str, str]:
    """Return the labels of a file's columns, by name; omit unlabelled columns.

    The result is empty for workbooks and for files of other formats.

    Raises
    ------
    InputError
        If a Stata, SPSS or SAS file cannot be read, or the library to read it is not installed.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS or ending in EXCEL:
        return {}
    labels = _opened(path, _labels)
    return {str(name): str(label).strip() for name, label in labels.items() if label and str(label).strip()}


def _opened(path: Path, read: Callable[[Path], Any]) -> Any:
    kind, extra = _KINDS[path.suffix.lower()]
    if not path.is_file():
        raise InputError("is a folder" if path.is_dir() else "no such file", source=path, expected=kind)
    try:
        with warnings.catch_warnings():
            # Libraries warn about irrelevant details, such as styles of a workbook.
            warnings.simplefilter("ignore")
            return read(path)
    except ModuleNotFoundError as error:
        hint = f"run pip install 'reidsim[{extra}]'"
        raise InputError(f"package {error.name} is needed to read {kind}", source=path, hint=hint) from None
    except InputError:
        raise
    except Exception as error:
        # Libraries raise different classes of errors for damaged files.
        reason = " ".join(str(error).split())
        raise InputError(f"cannot be read as {kind}: {reason}", source=path) from None


def _read(path: Path) -> pd.DataFrame:
    ending = path.suffix.lower()
    if ending in EXCEL:
        return _workbook(path)
    if ending == ".dta":
        frame = pd.read_stata(path, convert_categoricals=False)
        with StataReader(path) as reader:
            by_set = reader.value_labels()
            # Labels belong to a named label set, which columns may share; pandas has no public access to a column's
            # set.
            sets = dict(zip(vars(reader)["_varlist"], vars(reader)["_lbllist"], strict=True))
        return _labelled(frame, {column: by_set[name] for column, name in sets.items() if name in by_set})
    frame, meta = _statistical(path, metadataonly=False)
    return _labelled(frame, meta.variable_value_labels)


def _labels(path: Path) -> Mapping[str, str | None]:
    if path.suffix.lower() == ".dta":
        with StataReader(path) as reader:
            labels: Mapping[str, str] = reader.variable_labels()
            return labels
    _, meta = _statistical(path, metadataonly=True)
    names_and_labels: Mapping[str, str | None] = meta.column_names_to_labels
    return names_and_labels


def _statistical(path: Path, *, metadataonly: bool) -> tuple[pd.DataFrame, Any]:
    pyreadstat: ModuleType = importlib.import_module("pyreadstat")
    ending = path.suffix.lower()
    name = {".zsav": "sav", ".xpt": "xport"}.get(ending, ending.removeprefix("."))
    found: tuple[pd.DataFrame, Any] = getattr(pyreadstat, f"read_{name}")(str(path), metadataonly=metadataonly)
    return found


def _labelled(frame: pd.DataFrame, labels: Mapping[str, Mapping[Any, str]]) -> pd.DataFrame:
    """Return a table with codes replaced by their labels.

    `labels` are by column and code. Columns without labels are unchanged.
    """
    columns = {}
    for name in frame.columns:
        names = _distinct_labels(labels.get(str(name), {}))
        # In a column with labels, codes without a label become text, too.
        known = {code: names.get(code, _cell(code)) for code in frame[name].dropna().unique()} if names else {}
        columns[name] = frame[name].astype("object").map(known) if names else frame[name]
    return pd.DataFrame(columns)


def _distinct_labels(labels: Mapping[Any, str]) -> dict[Any, str]:
    names = {code: label.strip() for code, label in labels.items()}
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {code: f"{name} ({code:g})" if name in several else name for code, name in names.items() if name}


def _workbook(path: Path) -> pd.DataFrame:
    openpyxl: ModuleType = importlib.import_module("openpyxl")
    require_workbook_fits(path)
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        # A sheet is as wide as its last formatted cell; without the empty cells, rows stay small.
        cells = (list(map(_cell, row)) for row in book.worksheets[0].iter_rows(values_only=True))
        filled = ((row, [at for at, cell in enumerate(row, start=1) if cell.strip()]) for row in cells)
        rows = [row[: places[-1]] for row, places in filled if places]
    finally:
        book.close()
    if not rows:
        raise InputError("the first sheet is empty", source=path)
    width = max(map(len, rows))
    require_memory(len(rows) * width * _CELL_BYTES, "too large for memory", source=path)
    whole = [row + [""] * (width - len(row)) for row in rows]
    return pd.DataFrame(whole[1:], columns=whole[0], dtype="str")


def _cell(value: Any) -> str:
    """Return a cell as text: dates without the time 00:00, integers without decimals."""
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
