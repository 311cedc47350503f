"""Reader of the UCI Adult files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reidsim.errors import InputError, listed, refuse_rows
from reidsim.tables import read_table

COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

# Label of each race of the file, in census terms: Asian and Pacific Islander are one race, as in the file.
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
        Path of the file.

    Returns
    -------
    DataFrame
        The 15 columns (`COLUMNS`) as text, one row per record; races have the labels of `RACES`. Missing values stay
        ``?``; they occur only in work class, occupation and native country.

    Raises
    ------
    InputError
        If the file has another number of columns or another race.
    """
    # The first line of adult.test starts with a bar and is not a record.
    frame = read_table(path, header=False, comment="|")
    if frame.shape[1] != len(COLUMNS):
        raise InputError(
            "not a file of the Adult data set",
            source=path,
            found=f"{frame.shape[1]} columns",
            expected=f"{len(COLUMNS)} columns",
        )
    frame.columns = pd.Index(COLUMNS)
    race = frame["race"]
    expected = f"one of {listed(RACES)}"
    refuse_rows(
        ~race.isin(RACES),
        "unknown race in the Adult data set",
        source=path,
        column="race",
        found=race,
        expected=expected,
    )
    return frame.assign(race=frame["race"].map(RACES))
