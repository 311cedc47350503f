"""User files: the recipe handles missing and unknown values, in CSV and Parquet."""

import numpy as np
import pandas as pd
import pytest
from labels import by_label

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import natural_categories

PEOPLE = """\
age,sex,n
30,F,2
30,M,1
?,F,3
31,,1
31,X,4
"""
RECIPE = """
kind = "counts"
source = "by hand"
file = "people.csv"
count = "n"
missing_values = ["", "?"]
[columns]
age = "age"
sex = "sex"
"""


@pytest.fixture
def town(tmp_path):
    def load(*keys, people=PEOPLE, recipe=RECIPE, seed=None):
        (tmp_path / "people.csv").write_text(people, encoding="utf-8")
        (tmp_path / "town.toml").write_text("\n".join([*keys, recipe]), encoding="utf-8")
        return load_population(tmp_path / "town.toml", seed=seed)

    return load


def test_a_missing_value_is_an_error_that_names_it(town, tmp_path):
    with pytest.raises(InputError) as error:
        town()
    assert str(error.value).startswith(f"{tmp_path / 'people.csv'}: row 3, column 'age': value missing")


def test_equal_rows_are_added_up_and_categories_are_in_natural_order(town):
    people = "# the people\nage,sex,n\n9,F,3\n10,F,1\n90+,Dä,2\n10,F,4\n9,Dä,0\n"
    population = town(people=people)
    assert population.domain.names == ("age", "sex")
    assert population.domain["age"].categories == ("9", "10", "90+")
    assert by_label(population) == {("9", "F"): 3, ("10", "F"): 5, ("90+", "Dä"): 2}
    assert (population.name, population.source, population.total) == ("town", "by hand", 10)
    assert population.counts.dtype == np.int64


def test_rows_with_missing_values_are_left_out(town):
    population = town('missing = "drop"')
    assert by_label(population) == {("30", "F"): 2, ("30", "M"): 1, ("31", "X"): 4}
    assert population.source == "by hand (2 of 5 rows with missing values: left out)"


def test_missing_is_a_category(town):
    population = town('missing = "category"')
    assert population.domain["age"].categories == ("30", "31", "missing")
    assert by_label(population) == {
        ("30", "F"): 2, ("30", "M"): 1, ("missing", "F"): 3, ("31", "missing"): 1, ("31", "X"): 4,
    }  # fmt: skip


def test_given_categories_come_in_their_order_and_others_are_unknown(town, tmp_path):
    keys = RECIPE + '[categories]\nsex = ["M", "F", "D"]\n'
    with pytest.raises(InputError) as error:
        town('missing = "drop"', recipe=keys)
    assert "row 5, column 'sex': value outside the categories; found 'X'" in str(error.value)
    dropped = town('missing = "drop"\nunknown = "drop"', recipe=keys)
    assert dropped.domain["sex"].categories == ("M", "F", "D")
    assert by_label(dropped) == {("30", "F"): 2, ("30", "M"): 1}
    assert "1 of 5 rows left out: value outside the categories" in dropped.source
    missing = town('missing = "category"\nunknown = "missing"', recipe=keys)
    assert by_label(missing)["31", "missing"] == 5


def test_parquet_is_read_like_text(town, tmp_path):
    frame = pd.DataFrame(
        {"age": [30.0, 31.0, None], "sex": pd.Categorical(["F", "M", "F"]), "n": [2, 3, 4], "t": [0.5, 1.0, 2.0]}
    )
    frame.to_parquet(tmp_path / "people.parquet")
    population = town('missing = "drop"', recipe=RECIPE.replace("people.csv", "people.parquet"))
    assert by_label(population) == {("30", "F"): 2, ("31", "M"): 3}


@pytest.mark.parametrize(
    ("keys", "people", "problem"),
    [
        ('missing = "drop"', "age,sex,n\n?,F,1\n", "column 'age': the column has no value"),
        ('missing = "drop"', "age,sex,n\n?,F,1\n30,,1\n", "all rows are left out"),
        ('missing = "category"', "age,sex,n\n30,missing,1\n31,,1\n", "'missing' is already a value of the attribute"),
        ("", "age,sex,n\n30,F,-1\n", "people.csv: row 1, column 'n': not a number of 0 or more; found '-1'"),
        ("", "age,sex,n\n30,F,many\n", "people.csv: row 1, column 'n': not a number of 0 or more; found 'many'"),
        ("", "age,sex,n\n30,F,\n", "people.csv: row 1, column 'n': not a number of 0 or more; found ''"),
        ("", f"age,sex,n\n30,F,{2**53}\n", f"people.csv: row 1, column 'n': count too large; found '{2**53}'"),
        (
            "",
            "age,sex,n\n30,F,950\n31,F,1.012\n",
            "row 2, column 'n': decimals or a separator of thousands; found '1.012'",
        ),
        ("", "aeg,sex,n\n30,F,1\n", "people.csv: column 'age': column missing.*did you mean 'aeg'"),
        ("", "age,sex,no\n30,F,1\n", "people.csv: column 'n': column missing.*did you mean 'no'"),
        ('missing = "ignore"', PEOPLE, "'error', 'drop' or 'category'"),
    ],
)
def test_what_cannot_be_done_is_said(town, keys, people, problem):
    with pytest.raises(InputError, match=problem):
        town(keys, people=people)


@pytest.mark.parametrize("counts", [("950", "1.5"), ("0.125", "2"), ("1.125", "2.375"), ("1.125", "2.0")])
def test_expected_counts_have_decimals(town, counts):
    population = town(people=f"age,sex,n\n30,F,{counts[0]}\n31,F,{counts[1]}\n")
    assert list(by_label(population).values()) == [float(count) for count in counts]


def test_a_column_of_lists_is_not_of_values(town, tmp_path):
    pd.DataFrame({"age": [[1], [2]], "sex": ["F", "M"], "n": [1, 1]}).to_parquet(tmp_path / "people.parquet")
    with pytest.raises(InputError, match="column 'age': the column holds nested values, such as lists"):
        town(recipe=RECIPE.replace("people.csv", "people.parquet"))


def test_an_unknown_name_is_told_with_the_nearest():
    with pytest.raises(InputError, match=r"no bundled population recipe of this name.*did you mean 'tennessee-2010'"):
        load_population("tennesse-2010")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["10", "9", "10", "90+", "-1"], ("-1", "9", "10", "90+")),
        (["b", " a", "a ", "10"], ("10", "a", "b")),
        (["07", "7", "10"], ("07", "7", "10")),
        (["b", "--5"], ("--5", "b")),
        (["10", "--5"], ("--5", "10")),
    ],
)
def test_categories_are_in_natural_order(values, expected):
    assert natural_categories(pd.Series(values)) == expected
