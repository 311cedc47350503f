"""Read the files of the UCI Adult data set."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reidsim.errors import InputError, listed, refuse_rows
from reidsim.tables import read_table

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip

# Census terms of the races in the file; Asian and Pacific Islander are one race, as in the file.
RACES = {
    "White": "White",
    "Black": "Black",
    "Amer-Indian-Eskimo": "AIAN",
    "Asian-Pac-Islander": "API",
    "Other": "Other",
}


def read_adult(path: Path) -> pd.DataFrame:
    """Return the records in ``adult.data`` or ``adult.test``.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        The 15 columns as text, with census names of races. Missing values remain ``?``; they occur only in work class,
        occupation and native country.

    Raises
    ------
    InputError
        If the file does not have the format of the Adult files.
    """
    # The first line of adult.test starts with a bar and is not a record.
    frame = read_table(path, header=False, comment="|")
    if frame.shape[1] != len(COLUMNS):
        raise InputError(
            "not an Adult file", source=path, found=f"{frame.shape[1]} columns", expected=f"{len(COLUMNS)} columns"
        )
    frame.columns = pd.Index(COLUMNS)
    race = frame["race"]
    expected = f"one of {listed(RACES)}"
    refuse_rows(~race.isin(RACES), "race unknown to Adult", source=path, column="race", found=race, expected=expected)
    return frame.assign(race=frame["race"].map(RACES))
