"""The UCI Adult files, as they come."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reidsim.errors import InputError, listed, refuse_rows
from reidsim.tables import read_table

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip

# Census terms: Asian and Pacific Islander are one race here, as in the file.
RACES = {
    "White": "White",
    "Black": "Black",
    "Amer-Indian-Eskimo": "AIAN",
    "Asian-Pac-Islander": "API",
    "Other": "Other",
}


def read_adult(path: Path) -> pd.DataFrame:
    """Read ``adult.data`` or ``adult.test``.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        The 15 columns as text, races under their census names. Missing values (``?``) stay; they occur only in work
        class, occupation and native country.

    Raises
    ------
    InputError
        If the file is not in Adult's form.
    """
    # adult.test opens with a line that starts with a bar.
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
