"""Read a file of records for drafts, with its encoding, delimiter, dates and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from reidsim.core.files import is_delimited
from reidsim.core.tables import (
    CountedTable,
    column_labels,
    detect_encoding,
    read_counted_table,
    read_table,
    refuse_encoding_of_types,
    sheets_of,
    sniff_delimiter,
)
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.profile import ColumnProfile, Names, profile_table
from reidsim.scenarios.hierarchies import DateReading
from reidsim.scenarios.kind import Progress

_UTF_8 = "utf-8"


@dataclass(frozen=True, eq=False)
class FilePreview:
    """Records of a file as read, and how they are read.

    Parameters
    ----------
    path : Path
        The file.
    options : DraftOptions
        Options of reading: encoding, sheet, reference day and vocabulary.
    delimiter : str
        Delimiter of a text file.
    records : CountedTable
        The records, as text, with their distinct rows.
    profiles : tuple of ColumnProfile
        One profile per column.
    """

    path: Path
    options: DraftOptions
    delimiter: str
    records: CountedTable
    profiles: tuple[ColumnProfile, ...]

    @classmethod
    def read(cls, path: Path, options: DraftOptions, progress: Progress | None = None) -> FilePreview:
        """Read a file; for the parameters and errors, see `reidsim.drafts.draft.draft_scenario`."""
        refuse_encoding_of_types(path, options.encoding)
        report = progress or (lambda activity, done, total: None)
        reading, examining = partial(report, f"reading {path.name}"), partial(report, "examining columns")
        delimiter, encoding = sniff_delimiter(path, options.encoding), options.encoding or _UTF_8
        records = read_counted_table(
            path, delimiter=delimiter, encoding=encoding, sheet=options.sheet, progress=reading
        )
        age_on, words = options.age_on and date.fromisoformat(options.age_on), Names.read(options.names)
        profiles = profile_table(records, column_labels(path), age_on or None, words, examining)
        return cls(path, options, delimiter, records, profiles)

    def is_read_with(self, options: DraftOptions) -> bool:
        """Return whether the file would be read in the same way with other options."""
        keys = ("encoding", "sheet", "age_on", "names")
        return all(getattr(options, key) == getattr(self.options, key) for key in keys)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The records, as text; the file is read again."""
        return read_table(self.path, delimiter=self.delimiter, encoding=self.encoding, sheet=self.options.sheet)

    @property
    def is_text(self) -> bool:
        """Whether the file is delimited text, in contrast to a file with types."""
        return is_delimited(self.path)

    @property
    def encoding(self) -> str:
        """Encoding of a text file."""
        return self.options.encoding or _UTF_8

    @cached_property
    def sheets(self) -> Sequence[str]:
        """Sheets of a workbook."""
        return sheets_of(self.path)

    @property
    def dates(self) -> dict[str, str]:
        """Order of day and month, such as ``day-month``, by column with dates."""
        readings = {each.name: each.found.reading for each in self.profiles}
        return {name: reading.order for name, reading in readings.items() if isinstance(reading, DateReading)}


def preview(
    data: str | Path, *, encoding: str | None = None, sheet: str | None = None, progress: Progress | None = None
) -> FilePreview:
    r"""Read a file of records, with its encoding, delimiter, sheets and dates.

    Parameters
    ----------
    data : str or Path
        File in a format that `new` reads.
    encoding : str, optional
        Encoding of a text file; detected if not given.
    sheet : str, optional
        Sheet of a workbook; the first if not given.
    progress : callable, optional
        Called with the current activity, the number of steps done and the total.

    Returns
    -------
    FilePreview
        The records as text (``frame``), and how they were read; `new` drafts a scenario from it without reading the
        file again.

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
    >>> found.encoding, found.delimiter, found.dates
    ('cp1252', ';', {'born': 'day-month'})
    """
    path = Path(data)
    if encoding is None and is_delimited(path):
        encoding = detect_encoding(path)
    options = DraftOptions(encoding=None if encoding == _UTF_8 else encoding, sheet=sheet)
    return FilePreview.read(path, options, progress)
