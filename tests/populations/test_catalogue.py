import numpy as np
import pandas as pd
import pytest

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import load_population
from reidsim.populations.domain import natural_categories

PEOPLE = """\
# the people of a town
Alter,Ort,Zahl
9,Nord,3
10,Nord,1
90+,Süd,2
10,Nord,4
9,Süd,0
"""
RECIPE = """
kind = "counts"
source = "counted by hand"
file = "people.csv"
count = "Zahl"
[columns]
age = "Alter"
place = "Ort"
"""


@pytest.fixture
def town(tmp_path):
    def write(recipe=RECIPE, people=PEOPLE):
        (tmp_path / "people.csv").write_text(people, encoding="utf-8")
        (tmp_path / "town.toml").write_text(recipe, encoding="utf-8")
        return tmp_path / "town.toml"

    return write


def cells(population):
    frame = population.domain.decode(population.cells).astype(str)
    return dict(zip(frame.itertuples(index=False, name=None), population.counts.tolist(), strict=True))


def test_a_table_of_counts_is_a_population(town):
    population = load_population(town())
    assert population.domain.names == ("age", "place")
    assert population.domain["age"].categories == ("9", "10", "90+")
    assert cells(population) == {("9", "Nord"): 3, ("10", "Nord"): 5, ("90+", "Süd"): 2}
    assert (population.name, population.source, population.total) == ("town", "counted by hand", 10)
    assert population.counts.dtype == np.int64


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("10,Nord,1", "10,Nord,-1", r"people.csv: row 2, column 'Zahl': not a number of 0 or more; found '-1'"),
        ("10,Nord,1", "10,Nord,many", r"people.csv: row 2, column 'Zahl': not a number of 0 or more; found 'many'"),
        ("10,Nord,1", "10,Nord,", r"people.csv: row 2, column 'Zahl': not a number of 0 or more; found ''"),
        ("10,Nord,1", f"10,Nord,{2**53}", rf"people.csv: row 2, column 'Zahl': count too large; found '{2**53}'"),
        ("Alter,", "Altr,", r"people.csv: column 'Alter': column missing.*did you mean 'Altr'"),
        ("Zahl", "Anzahl", r"people.csv: column 'Zahl': column missing.*did you mean 'Anzahl'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(town, old, new, message):
    with pytest.raises(InputError, match=message):
        load_population(town(people=PEOPLE.replace(old, new)))


def test_an_unknown_kind_of_recipe_is_told_with_those_there_are(town):
    with pytest.raises(InputError, match=r"town.toml: kind: .*found 'count'") as caught:
        load_population(town(RECIPE.replace('"counts"', '"count"')))
    expected = str(caught.value.expected)
    assert {"counts", "fitted", "ystr-genealogy"} <= set(expected.removeprefix("one of ").split(", "))
    # Values of other keys are not listed.
    assert not {"drop", "simupop"} & set(expected.split(", "))


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
