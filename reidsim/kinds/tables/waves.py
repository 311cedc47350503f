"""Releases of a table over time: assign records to waves by columns of their file."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.errors import InputError, refuse_rows
from reidsim.scenarios.amounts import Text
from reidsim.scenarios.people import Keys, require_same
from reidsim.tables import require_columns
from reidsim.validation import Section

_NEVER = ("", "na", "nan", "none")


class ReleasesSection(Section):
    """Successive releases (waves) of a table."""

    enters: Text = Field(description="column with the number or date of the release in which each record first appears")
    leaves: Text | None = Field(
        default=None,
        description="column with the first release that no longer contains the record; empty for a record that stays",
    )
    m: Annotated[int, Field(ge=2, le=1000)] = Field(
        default=2,
        description="with policy `m-invariance`: smallest number of different sensitive values in an equivalence class",
    )

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the records, by key of this section."""
        return {"enters": self.enters} | ({} if self.leaves is None else {"leaves": self.leaves})


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves in which each record or person is released.

    Parameters
    ----------
    labels : tuple of str
        Labels of the waves in order, as in the file.
    enters, leaves : ndarray of int64, shape (n,)
        Indices, from 0, of the first wave with the person or record, and of the first later wave without it; the number
        of waves if it stays.
    sensitive : ndarray of int64, shape (n,), optional
        Code of the sensitive value of the person or record.
    """

    labels: tuple[str, ...]
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    sensitive: NDArray[np.int64] | None = None

    @cached_property
    def schedule(self) -> NDArray[np.bool_]:
        """Whether each person or record is in each wave, shape (n_waves, n)."""
        waves = np.arange(len(self.labels))[:, None]
        return (self.enters <= waves) & (waves < self.leaves)

    def of_people(self, person: Keys) -> Waves:
        """Return the waves of people from the waves of their records.

        Parameters
        ----------
        person : ndarray of int, shape (n_records,)
            The person of each record.
        """
        first = np.unique(person, return_index=True)[1]
        sensitive = None if self.sensitive is None else self.sensitive[first]
        return Waves(self.labels, self.enters[first], self.leaves[first], sensitive)


def read_waves(
    section: ReleasesSection,
    frame: pd.DataFrame,
    source: str | Path,
    person: Keys | None,
    sensitive: NDArray[np.int64] | None = None,
) -> Waves:
    """Read the waves in which each record or person is released.

    The waves are the distinct numbers, or ISO dates, in the columns of ``enters`` and ``leaves``, in ascending order. A
    record whose value of ``leaves`` is empty (or na, nan or none) stays to the end.

    Parameters
    ----------
    section : ReleasesSection
    frame : DataFrame
        The records, as text.
    source : str or Path
        Source of the records, for messages.
    person : ndarray of int, shape (n_records,), or None
        The person of each record; None if each record is a person.
    sensitive : ndarray of int64, shape (n_records,), optional
        Code of the sensitive value of each record, if policies need it.

    Raises
    ------
    InputError
        If a column is missing, a value is neither a number nor a date, a record leaves before it enters, or a person's
        records differ. The error names the row.
    """
    require_columns(frame, list(section.columns.values()), Path(source))
    frame = frame.reset_index(drop=True)
    enters = frame[section.enters].astype("str").str.strip()
    leaves = pd.Series("", index=frame.index) if section.leaves is None else frame[section.leaves].astype("str")
    leaves = leaves.str.strip().where(~leaves.str.strip().str.lower().isin(_NEVER), "")
    labels, number = _in_order(enters, leaves, section, source)
    first = enters.map(number).to_numpy(dtype=np.int64)
    last = leaves.map(number).fillna(len(labels)).to_numpy(dtype=np.int64)
    refuse_rows(
        last <= first,
        "a record leaves before its release",
        source=source,
        column=section.leaves,
        found=leaves,
        expected=lambda row: f"a wave after {enters.iloc[row]}",
    )
    waves = Waves(labels, first.astype(np.int64), last.astype(np.int64), sensitive)
    if person is None:
        return waves
    for key, values in (("enters", first), ("leaves", last)):
        if key in section.columns:
            require_same(values, person, f"releases.{key}", source, section.columns[key])
    return waves.of_people(person)


def _in_order(
    enters: pd.Series, leaves: pd.Series, section: ReleasesSection, source: str | Path
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the wave labels in numeric or date order, and the index of each text."""
    given = [(section.enters, enters), (str(section.leaves), leaves[leaves != ""])]
    texts = pd.unique(pd.concat([column for _, column in given])).tolist()
    dated = bool(texts) and _time_of(texts[0], dated=True) is not None
    times = {text: _time_of(text, dated=dated) for text in texts}
    wrong = [text for text, time in times.items() if time is None]
    if wrong:
        name, column = next((name, column) for name, column in given if (column == wrong[0]).any())
        row = int(column.index[(column == wrong[0]).to_numpy().argmax()])
        raise InputError(
            "not a wave",
            source=source,
            where=f"row {row + 1}, column {name!r}",
            found=wrong[0],
            expected="dates such as 2026-03-31 in all rows" if dated else "a number, or dates such as 2026-03-31",
        )
    distinct = sorted({time for time in times.values() if time is not None})
    place = {time: at for at, time in enumerate(distinct)}
    number = {text: place[time] for text, time in times.items() if time is not None}
    labels = {at: text for text, at in reversed(number.items())}
    return tuple(labels[at] for at in range(len(distinct))), number


def _time_of(text: str, *, dated: bool) -> float | None:
    """Return the sort key of a wave: its number or its day; None if it is invalid."""
    try:
        time = float(datetime.date.fromisoformat(text).toordinal()) if dated else float(text)
    except ValueError:
        return None
    return time if np.isfinite(time) else None
