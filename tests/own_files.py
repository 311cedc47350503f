"""Simulate user files with a seed: hospital export, household survey, census."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

# Spellings used by clerks, with their frequencies; the first of each is the usual spelling.
RACES = {
    "White": {"White": 0.58, "white": 0.04, "WHITE": 0.01, "Whtie": 0.002, "White ": 0.01},
    "Black or African American": {
        "Black or African American": 0.14,
        "Black or African Amercan": 0.003,
        "black or african american": 0.02,
    },
    "Asian": {"Asian": 0.1, "Asain": 0.004, "asian": 0.01},
    "Hispanic": {"Hispanic": 0.07, "Hispnic": 0.002},
    "Samoan": {"Samoan": 0.003},
    "Tongan": {"Tongan": 0.002},
}
ICD = (
    "I21.4", "I21.9", "E11.9", "E11.65", "J45.909", "C50.911", "F32.1", "F32.9", "O80", "Z38.00", "S72.001A", "N39.0",
)  # fmt: skip

# Countries as spelled in the census extract, with the number of people born there per thousand.
COUNTRIES = {
    "United-States": 897, "Mexico": 20, "?": 18, "Philippines": 6, "Germany": 5, "Canada": 4, "Puerto-Rico": 4,
    "El-Salvador": 4, "India": 4, "Cuba": 3, "England": 3, "Jamaica": 3, "South": 3, "China": 3, "Italy": 2,
    "Dominican-Republic": 2, "Vietnam": 2, "Guatemala": 2, "Japan": 2, "Poland": 2, "Columbia": 2, "Taiwan": 2,
    "Haiti": 1, "Iran": 1, "Portugal": 1, "Nicaragua": 1, "Peru": 1, "Greece": 1, "France": 1, "Ecuador": 1,
    "Ireland": 1, "Hong": 1, "Trinadad&Tobago": 1, "Cambodia": 1, "Thailand": 1, "Laos": 1, "Yugoslavia": 1,
    "Outlying-US(Guam-USVI-etc)": 1, "Hungary": 1, "Honduras": 1, "Scotland": 1, "Holand-Netherlands": 1,
}  # fmt: skip


def hospital(rows: int = 20_000, patients: int = 11_760, seed: int = 17) -> pd.DataFrame:
    """Return hospital stays with typical data faults, in one row per stay.

    Some patients have several stays, dates have four formats, and an age of 999 marks a missing value.
    """
    rng = np.random.default_rng(seed)
    of = np.sort(np.concatenate([np.arange(patients), rng.integers(0, patients, rows - patients)]))
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 33_000, patients), unit="D")
    spellings = [spelling for group in RACES.values() for spelling in group]
    shares = np.array([share for group in RACES.values() for share in group.values()])
    admitted = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    age = (admitted - born[of]).days // 365.25
    zips = rng.choice(["37203", "37209", "37211", "38103", "38117", "37402", "02138"], patients)
    table = pd.DataFrame(
        {
            "pid": [f"P{number:06d}" for number in of],
            "insurance_no": [f"{4_000_000 + 7 * number}" for number in of],
            "dob": [_written(born[patient], way) for patient, way in zip(of, rng.integers(0, 4, rows), strict=True)],
            "age": np.where(rng.random(rows) < 0.01, 999, np.maximum(age, 0)).astype(int),
            "sex": rng.choice([1, 2, 9], patients, p=[0.48, 0.5, 0.02])[of],
            "race": rng.choice(spellings, rows, p=shares / shares.sum()),
            "zip": zips[of],
            "admission": [f"{day:%d.%m.%Y}" for day in admitted],
            "diagnosis": rng.choice(ICD, rows),
            "charges": rng.lognormal(8, 1, rows).round(2),
        }
    ).astype("str")
    table.loc[rng.random(rows) < 0.01, "zip"] = ""
    return table


def _written(day: pd.Timestamp, way: int) -> str:
    """Write a date in one of four formats; the last is a spreadsheet serial number."""
    serial = (day - pd.Timestamp("1899-12-30")).days
    return (f"{day:%d.%m.%Y}", f"{day:%Y-%m-%d}", f"{day.month}/{day.day}/{day:%y}", str(serial))[way]


def survey(rows: int = 4_580, seed: int = 18) -> pd.DataFrame:
    """Return people in households with sampling weights, coded values and amounts."""
    rng = np.random.default_rng(seed)
    household = np.sort(rng.integers(0, rows // 4, rows))
    age = np.clip(rng.gamma(2.2, 13, rows).astype(int), 0, 95).astype(float)
    age[rng.random(rows) < 0.005] = np.nan
    return pd.DataFrame(
        {
            "ori_hid": household,
            "urbrur": rng.integers(1, 3, rows // 4 + 1)[household],
            "roof": rng.choice([2, 4, 5, 9], rows // 4 + 1, p=[0.3, 0.6, 0.05, 0.05])[household].astype(float),
            "sex": rng.integers(1, 3, rows),
            "age": age,
            "hhcivil": rng.choice([1.0, 2, 3, 4], rows, p=[0.4, 0.5, 0.04, 0.06]),
            "income": rng.lognormal(16, 1, rows).round(0),
            "sampling_weight": rng.choice([91.5, 104.25, 77.125], rows),
        }
    )


# Labels of the survey's codes and full names of its columns.
VALUE_LABELS = {
    "urbrur": {1: "Urban", 2: "Rural"},
    "sex": {1: "Male", 2: "Female"},
    "roof": {2: "Thatch", 4: "Iron", 5: "Tiles", 9: "Other"},
    "hhcivil": {1: "Single", 2: "Married", 3: "Divorced", 4: "Widowed"},
}
COLUMN_LABELS = {"urbrur": "Urban or rural", "sex": "Sex", "hhcivil": "Marital status", "age": "Age in years"}


def census(rows: int = 20_000, seed: int = 19) -> pd.DataFrame:
    """Return adults of a census extract with 41 countries of birth and missing values."""
    rng = np.random.default_rng(seed)
    weights = np.array(list(COUNTRIES.values()), dtype=float)
    country = rng.choice(list(COUNTRIES), rows, p=weights / weights.sum())
    # Every country occurs at least once.
    country[: len(COUNTRIES)] = list(COUNTRIES)
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(38, 14, rows).astype(int), 17, 90),
            "workclass": rng.choice(["Private", "Self-emp", "Local-gov", "State-gov", "Never-worked"], rows,
                                    p=[0.75, 0.11, 0.08, 0.0585, 0.0015]),
            "education": rng.choice(["HS-grad", "Some-college", "Bachelors", "Masters", "11th", "Doctorate"], rows),
            "marital-status": rng.choice(["Married", "Never-married", "Divorced", "Widowed"], rows),
            "race": rng.choice(["White", "Black", "Asian", "Other"], rows, p=[0.85, 0.1, 0.03, 0.02]),
            "sex": rng.choice(["Male", "Female"], rows, p=[0.67, 0.33]),
            "native-country": country,
            "hours-per-week": rng.integers(10, 80, rows),
            "salary": rng.choice(["<=50K", ">50K"], rows, p=[0.75, 0.25]),
        }
    ).astype("str")  # fmt: skip


def write_hospital(path: Path, table: pd.DataFrame) -> Path:
    """Write a file as a German spreadsheet does: semicolons and a byte order mark."""
    table.to_csv(path, sep=";", index=False, encoding="utf-8-sig")
    return path
