"""A file without a header is noticed by its first row."""

import pandas as pd
import pytest

from reidsim.core.tables import CountedTable
from reidsim.drafts.choice import names_look_like_values
from reidsim.drafts.profile import profile_table

FIRST = ["Ada Moss", "P0917", "1984-01-30", "F", "37203", "I10"]
NAMES = [f"Jo {first}{second}" for first in "abcdefgh" for second in "klmno"]
ROWS = [
    FIRST,
    *([name, f"P{n:04}", f"1984-02-{n % 28 + 1:02}", "FM"[n % 2], "37211", "E11"] for n, name in enumerate(NAMES)),
]


def look_like_values(names, rows, columns):
    table = pd.DataFrame([[row[at] for at in columns] for row in rows], columns=[names[at] for at in columns])
    return names_look_like_values(profile_table(CountedTable.of(table.astype("str"))))


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 4], [3, 5], [0, 3]])
def test_a_first_row_of_values_is_noticed(columns):
    assert look_like_values(FIRST, ROWS[1:], columns)


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4, 5], [0], [1, 5], [2, 4], [3], [0, 3]])
@pytest.mark.parametrize("names", [["name", "id", "born", "sex", "zip", "icd10"], ["x1", "x2", "x3", "x4", "x5", "x6"]])
def test_column_names_are_no_values(names, columns):
    assert not look_like_values(names, ROWS, columns)


def test_years_as_names_beside_an_identifier_are_no_values():
    assert not look_like_values(["patient", "2019", "2020"], [[f"P{n}", n % 7, n % 5] for n in range(50)], [0, 1, 2])
