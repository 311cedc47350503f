"""Attribute models: exact expected counts, multinomial draws, reproducible bytes."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labels import by_label

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml
from reidsim.core.validation import validated
from reidsim.populations.counted import (
    AttributeModel,
    AttributeModelRecipe,
    build_model,
    counts_by_cell,
)
from reidsim.populations.population import Making, Population

TOWN = """
kind = "attribute-model"
source = "made up"
people = 5000
seed = 3

[groupings.age]
young = ["..39"]
old = ["40.."]

[[attribute]]
name = "sex"
shares = { F = 0.6, M = 0.4 }

[[attribute]]
name = "born"
uniform = ["30..49"]

[[attribute]]
name = "work"
given = ["born", "sex"]
grouped = { born = "age" }
table = { file = "work.csv", value = "kind", count = "n", columns = { born = "age" }, where = { year = "1994" } }

[[attribute]]
name = "home"
given = ["born"]
grouped = { born = "age" }
shares_by = { young = { own = 0.25, rent = 0.75 }, old = { own = 1.0 } }
"""
WORK = """# source: made up
year,sex,age,kind,n
1994,F,young,private,30
1994,F,young,state,10
1994,F,old,private,5
1994,F,old,state,5
1994,M,young,private,7
1994,M,young,private,3
1994,M,old,none,4
1993,F,young,private,not found
1994,F,ancient,private,90
"""
# P(work | age, sex), by hand from the file.
BY_HAND = {
    ("young", "F"): {"private": 0.75, "state": 0.25},
    ("old", "F"): {"private": 0.5, "state": 0.5},
    ("young", "M"): {"private": 1.0},
    ("old", "M"): {"none": 1.0},
}


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "work.csv").write_text(WORK)
    path = tmp_path / "town.toml"
    path.write_text(TOWN)
    return path


def recipe_of(path: Path) -> AttributeModelRecipe:
    return validated(AttributeModelRecipe, read_toml(path), path)


def model_of(path: Path) -> AttributeModel:
    return build_model(recipe_of(path), path.parent)


def population_of(path: Path, **options: Any) -> Population:
    return recipe_of(path).make(Making(path.parent, path.stem, **({"seed": 3} | options)))


def failure(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        population_of(path)
    return caught.value


def town_shares() -> dict[tuple[str, ...], float]:
    """Return the probability of every possible cell of the town, enumerated."""
    shares = {}
    for (sex, of_sex), born in product((("F", 0.6), ("M", 0.4)), range(30, 50)):
        age = "young" if born < 40 else "old"
        homes = {"own": 0.25, "rent": 0.75} if age == "young" else {"own": 1.0}
        for (work, of_work), (home, of_home) in product(BY_HAND[age, sex].items(), homes.items()):
            shares[sex, str(born), work, home] = of_sex / 20 * of_work * of_home
    assert sum(shares.values()) == pytest.approx(1)
    return shares


def chi_square(model: AttributeModel, codes: np.ndarray, counts: np.ndarray) -> tuple[float, int]:
    """Return the chi-square distance from expected counts, and degrees of freedom.

    Impossible cells are excluded.
    """
    cells, expected = counts_by_cell(model, int(counts.sum()), None)
    keys, wanted = (np.ravel_multi_index(rows.T, model.domain.shape) for rows in (cells, codes))
    at = np.searchsorted(keys, wanted)
    assert (keys[np.minimum(at, len(keys) - 1)] == wanted).all(), "somebody in an impossible cell"
    observed = np.zeros(len(keys))
    np.add.at(observed, at, counts)
    return float(((observed - expected) ** 2 / expected).sum()), len(keys) - 1


def within_five_deviations(distance: float, degrees: int) -> bool:
    # Chi-square: mean n, standard deviation sqrt(2 n).
    return abs(distance - degrees) < 5 * (2 * degrees) ** 0.5


def test_expected_counts_are_the_products_of_the_shares(town: Path) -> None:
    population = population_of(town, expected=True)
    expected = {cell: 5000 * share for cell, share in town_shares().items()}
    assert by_label(population) == pytest.approx(expected)
    assert population.counts.dtype == np.float64
    assert population.domain.names == ("sex", "born", "work", "home")
    assert population.domain["work"].categories == ("private", "state", "none")
    assert population.domain["born"].categories[:2] == ("30", "31")
    assert (population.name, population.source) == ("town", "made up")


def test_counts_are_drawn_with_the_shares(town: Path) -> None:
    model = model_of(town)
    # 400 people: cells of a few people, drawn one by one; 400,000: all cells large, drawn by binomials.
    for people in (400, 40_000, 400_000):
        distances = []
        for seed in range(20):
            cells, counts = counts_by_cell(model, people, seed)
            assert counts.sum() == people
            assert counts.dtype == np.int64
            assert (counts > 0).all()
            assert (np.diff(np.ravel_multi_index(cells.T, model.domain.shape)) > 0).all()
            distance, degrees = chi_square(model, cells, counts)
            distances.append(distance)
        assert within_five_deviations(sum(distances), degrees * len(distances))


def test_fixed_shares_within_every_group(town: Path) -> None:
    town.write_text(TOWN.replace("[groupings.age]", "[fixed_shares]\nhome = { own = 0.5 }\n[groupings.age]"))
    with pytest.raises(InputError, match="attribute 'home': fixed_shares: fixed shares do not fit"):
        # All old people own their home, so none could rent.
        population_of(town)
    town.write_text(
        TOWN.replace("[groupings.age]", "[fixed_shares]\nhome = { own = 0.5 }\n[groupings.age]").replace(
            "old = { own = 1.0 }", "old = { own = 0.2, rent = 0.2, other = 0.6 }"
        )
    )
    homes = by_label(population_of(town, expected=True).marginal(["home"]))
    assert homes == pytest.approx({("own",): 2500, ("rent",): 2500 * (0.5 + 0.5 * 0.25), ("other",): 2500 * 0.5 * 0.75})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("M = 0.4", "M = 0.5", r"attribute 'sex': shares: shares do not sum to 1; found 1.1; expected 1, within 1e-06"),
        ("rent = 0.75", "rent = 0.7", "attribute 'home': shares_by.young: shares do not sum to 1; found 0.95"),
        ("old = { own = 1.0 }", "odl = { own = 1.0 }", "shares_by: neither a value nor a group of 'born'; found 'odl'"),
        (", old = { own = 1.0 }", "", "attribute 'home': shares_by: shares missing for a value of 'born'; found 'old'"),
        ('"40.."', '"41.."', "attribute 'work': groups of 'born': value in no group; found '40'"),
        ('["born", "sex"]', '["born", "sxe"]', "given: no earlier attribute.*did you mean 'sex'"),
        ('{ born = "age" }\ntable', '{ born = "ages" }\ntable', "grouped.born: no such grouping.*did you mean 'age'"),
        ('where = { year = "1994" }', 'where = { yera = "1" }', "column missing.*did you mean 'year'"),
        ('count = "n"', 'share = "n"', r"attribute 'work': row 6: share given twice; found 'private'"),
        ('count = "n", ', "", r"attribute\[2\].table: the column of counts or shares is missing or given twice"),
        ('name = "home"', 'name = "sex"', "attribute named twice; found 'sex'"),
        ('uniform = ["30..49"]', "", r"attribute\[1\]: the shares of the attribute are missing"),
        ('uniform = ["30..49"]', 'given = ["sex"]\nuniform = ["1"]', "shares and uniform cannot depend on other"),
        ("[groupings.age]", "[fixed_shares]\nsxe = { F = 0.6 }\n[groupings.age]", "fixed_shares: no such attri.*'sex'"),
        ("people = 5000", "people = 0", "people: value not allowed; found 0"),
    ],
)  # fmt: skip
def test_recipes_that_cannot_be_used(town: Path, old: str, new: str, message: str) -> None:
    assert old in TOWN
    town.write_text(TOWN.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        population_of(town)


def test_a_row_of_shares_that_does_not_sum_to_1_is_named(town: Path) -> None:
    (town.parent / "homes.csv").write_text("age,home,share\nyoung,own,0.25\nyoung,rent,0.75\nold,own,0.8\n")
    by_file = 'table = { file = "homes.csv", value = "home", share = "share", columns = { born = "age" } }'
    town.write_text(TOWN.replace("shares_by = { young = { own = 0.25, rent = 0.75 }, old = { own = 1.0 } }", by_file))
    error = failure(town)
    assert (error.problem, error.found) == ("shares do not sum to 1", 0.8)
    assert (error.source, error.where) == (str(town.parent / "homes.csv"), "attribute 'home': rows of born = old")


def test_a_missing_row_is_named(town: Path) -> None:
    (town.parent / "work.csv").write_text(WORK.replace("1994,M,old,none,4\n", ""))
    error = failure(town)
    assert error.where == "attribute 'work': born = old, sex = M"
    assert error.problem == "no row with a count or share above 0"


def test_a_short_range_may_have_large_numbers(town: Path) -> None:
    town.write_text(
        TOWN[: TOWN.index("[[attribute]]")] + '[[attribute]]\nname = "code"\nuniform = ["9999999..10000000"]\n'
    )
    assert model_of(town).domain["code"].categories == ("9999999", "10000000")


def test_too_many_combinations_of_given_values(town: Path) -> None:
    attributes = "".join(f'[[attribute]]\nname = "{name}"\nuniform = ["1..4000"]\n' for name in ("zip", "code"))
    by_file = 'given = ["zip", "code"]\ntable = { file = "work.csv", value = "kind", count = "n" }\n'
    town.write_text(TOWN[: TOWN.index("[[attribute]]")] + f'{attributes}[[attribute]]\nname = "work"\n{by_file}')
    with pytest.raises(InputError, match="zip, code: too many combinations of values; found 16000000"):
        population_of(town)
