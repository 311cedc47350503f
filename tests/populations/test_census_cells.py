"""Populations from figures by area and by age: one by hand, and Tennessee."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.core.errors import InputError
from reidsim.populations.catalogue import load_population
from reidsim.populations.census import largest_remainders
from reidsim.scenarios.scenario import Scenario

AREAS = """\
# source: made up
zcta,people,white,black,two,hispanic
37001,1000,60,20,0,20
37002,500,0,30,10,0
37003,7,0,0,0,0
"""
AGES = """\
age,wm,wf,bm,bf
0,1,2,3,4
1,4,3,2,1
2,5,5,8,2
"""
RECIPE = """
kind = "census-cells"
source = "made up"
seed = 1
[areas]
attribute = "zip"
file = "areas.csv"
code = "zcta"
people = "people"
[race]
attribute = "race"
adults.White = ["white"]
adults.Black = ["black", "two"]
hispanic.column = "hispanic"
hispanic.percent = { White = 75, Black = 50 }
[age]
attribute = "age"
file = "ages.csv"
column = "age"
oldest = 4
tail = { linear = 0.6931471805599453, quadratic = 0 }
[sex]
attribute = "sex"
columns.Male = { White = ["wm"], Black = ["bm"] }
columns.Female = { White = ["wf"], Black = ["bf"] }
"""


@pytest.fixture
def county(tmp_path):
    def write(recipe=RECIPE, areas=AREAS, ages=AGES):
        (tmp_path / "areas.csv").write_text(areas, encoding="utf-8")
        (tmp_path / "ages.csv").write_text(ages, encoding="utf-8")
        (tmp_path / "county.toml").write_text(recipe, encoding="utf-8")
        return tmp_path / "county.toml"

    return write


def dense(population):
    table = np.zeros(population.domain.shape)
    table[tuple(population.cells.T)] = population.counts
    return table


# Hispanic adults are split 75 : 50, that is .6 to .4, whatever the percentages sum to.
RACE_SHARES = {
    "37001": (72 / 100, 28 / 100),
    "37002": (0, 1),
    "37003": (72 / 140, 68 / 140),  # no adults known: the distribution over all areas together
}
# Ages 2, 3, 4 share the last row 4 : 2 : 1; columns are male and female.
AGE_SHARES = {
    "White": np.array([[1, 2], [4, 3], [20 / 7, 20 / 7], [10 / 7, 10 / 7], [5 / 7, 5 / 7]]) / 20,
    "Black": np.array([[3, 4], [2, 1], [32 / 7, 8 / 7], [16 / 7, 4 / 7], [8 / 7, 2 / 7]]) / 20,
}


def test_expected_counts_are_people_times_race_share_times_age_share(county):
    population = load_population(county(), counts="expected")
    assert population.domain.names == ("age", "race", "sex", "zip")
    assert population.domain["age"].categories == ("0", "1", "2", "3", "4")
    assert population.domain["sex"].categories == ("Male", "Female")
    table = dense(population)
    for z, (area, people) in enumerate([("37001", 1000), ("37002", 500), ("37003", 7)]):
        for r, race in enumerate(["White", "Black"]):
            np.testing.assert_allclose(
                table[:, r, :, z], people * RACE_SHARES[area][r] * AGE_SHARES[race], rtol=1e-12, atol=1e-12
            )
    assert population.total == pytest.approx(1507)


def test_a_draw_keeps_areas_and_races_and_spreads_ages_by_chance(county):
    population = load_population(county())
    assert population.counts.dtype == np.int64
    table = dense(population)
    assert table.sum(axis=(0, 1, 2)).tolist() == [1000, 500, 7]
    # Whole people nearest to the shares: 7 x 72/140 = 3.6 and 3.4.
    assert table.sum(axis=(0, 2)).T.tolist() == [[720, 280], [0, 500], [4, 3]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("White = 75", "Wite = 75", r"race.hispanic.percent: no column of adults for the race; found 'Wite'.*'White'"),
        ('Black = ["bm"]', 'Blck = ["bm"]', r"sex.columns.Male: race missing; found 'Black'"),
        ("oldest = 4", "oldest = 1", r"age.oldest: oldest age is below the last age in the file; found 1"),
        ('code = "zcta"', 'code = "zip"', r"areas.csv: column 'zip': column missing"),
        ('["black", "two"]', '["black", "too"]', r"areas.csv: column 'too': column missing.*did you mean 'two'"),
        ('["bf"]', '["bff"]', r"ages.csv: column 'bff': column missing.*did you mean 'bf'"),
    ],
)
def test_a_recipe_that_does_not_fit_its_files_is_told(county, old, new, message):
    with pytest.raises(InputError, match=message):
        load_population(county(RECIPE.replace(old, new)))


@given(
    people=st.lists(st.integers(0, 500), min_size=1, max_size=6),
    parts=st.lists(st.integers(0, 9), min_size=3, max_size=3),
)
def test_largest_remainders_are_those_of_the_textbook(people, parts):
    shares = np.array(parts) / sum(parts) if sum(parts) else np.full(3, 1 / 3)
    rounded = largest_remainders(np.array(people, dtype=float), np.tile(shares, (len(people), 1)))
    assert rounded.sum(axis=1).tolist() == people
    for n, row in zip(people, rounded.tolist(), strict=True):
        exact = [n * share for share in shares]
        assert all(abs(whole - part) < 1 + 1e-9 for whole, part in zip(row, exact, strict=True))
        # People rounded up had remainders at least as large as people rounded down.
        up = [part - math.floor(part) for whole, part in zip(row, exact, strict=True) if whole > part + 1e-9]
        down = [part - math.floor(part) for whole, part in zip(row, exact, strict=True) if whole < part - 1e-9]
        assert not up or not down or min(up) >= max(down) - 1e-9


def test_the_prior_of_xia2015_is_the_share_of_people_in_the_registry():
    # As printed; the paper's own count of the people, 9,553,967, is a little larger.
    prior = Scenario.load("xia2015").scenario.adversary.sequential.prior
    people, voters = (load_population(name).total for name in ("north-carolina-2010", "north-carolina-voters"))
    assert prior == round(voters / people, 2) == 0.63
