"""Detect how a file of records is read, from its beginning, before the whole file is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reidsim.core.files import TYPED_ENDINGS
from reidsim.core.tables import detect_encoding, first_rows, refuse_encoding_of_types, sheets_of, sniff_delimiter
from reidsim.drafts.profile import profile_table
from reidsim.scenarios.hierarchies import DateReading

_WITH_COMMA, _WITH_POINT = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d+\.\d+")


@dataclass(frozen=True, eq=False)
class FilePreview:
    """First rows of a file, and how the file is read.

    Parameters
    ----------
    path : Path
        The file.
    encoding, delimiter : str or None
        Encoding and delimiter of a text file; None for other formats.
    decimal : str
        Decimal sign of the numbers in the first rows, ``.`` or ``,``; empty if they have no decimals.
    sheets : tuple of str
        Sheets of a workbook.
    dates : dict of str to str
        Order of day and month, such as ``day-month``, by column with dates in the first rows.
    table : DataFrame
        First rows as text.
    """

    path: Path
    encoding: str | None
    delimiter: str | None
    decimal: str
    sheets: tuple[str, ...]
    dates: dict[str, str]
    table: pd.DataFrame


def preview(data: str | Path, *, encoding: str | None = None, sheet: str | None = None, rows: int = 20) -> FilePreview:
    r"""Return the first rows of a file, with its encoding, delimiter, decimal sign, sheets and dates.

    Only the encoding is found from the whole file; see `reidsim.core.tables.detect_encoding`.

    Parameters
    ----------
    data : str or Path
        File in a format that `new` reads.
    encoding : str, optional
        Encoding of a text file; detected if not given.
    sheet : str, optional
        Sheet of a workbook; the first if not given.
    rows : int
        Largest number of rows.

    Raises
    ------
    InputError
        If the file cannot be read or has no rows, or the encoding or sheet cannot be used.

    See Also
    --------
    new : draft a scenario from a file.

    Examples
    --------
    >>> import reidsim
    >>> text = "name;born;weight\nZo\xeb;24.12.1970;61,5\nAda;1.2.1980;58,0\n"
    >>> _ = open("people.csv", "w", encoding="latin-1").write(text)
    >>> found = reidsim.preview("people.csv")
    >>> found.encoding, found.delimiter, found.decimal, found.dates
    ('cp1252', ';', ',', {'born': 'day-month'})
    """
    path = Path(data)
    refuse_encoding_of_types(path, encoding, "encoding")
    is_text = path.suffix.lower() not in (".parquet", *TYPED_ENDINGS)
    used = (encoding or detect_encoding(path)) if is_text else None
    delimiter = sniff_delimiter(path, used) if is_text else None
    table = first_rows(path, rows, delimiter=delimiter or ",", encoding=used or "utf-8", sheet=sheet)
    profiles = profile_table(table)
    numbers = [value for each in profiles if each.kind == "number" for value in each.values]
    signs = {sign: sum(map(bool, map(of.fullmatch, numbers))) for sign, of in ((",", _WITH_COMMA), (".", _WITH_POINT))}
    return FilePreview(
        path=path,
        encoding=used,
        delimiter=delimiter,
        decimal=max(signs, key=lambda sign: signs[sign]) if any(signs.values()) else "",
        sheets=sheets_of(path),
        dates={each.name: each.found.reading.order for each in profiles if isinstance(each.found.reading, DateReading)},
        table=table,
    )
