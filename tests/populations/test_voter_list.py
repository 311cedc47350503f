"""Voter lists: adults of the state, independently listed, with its attributes."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labels import by_label

from reidsim.core.errors import InputError
from reidsim.core.validation import validated
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.populations.public_sources import VoterListRecipe, voter_profile
from reidsim.populations.recipe import Making

DOMAIN = Domain(
    (
        Attribute("zip", ("a", "b")),
        Attribute("years", ("16", "17", "18", "19", "90+")),
        Attribute("gender", ("F", "M")),
        Attribute("origin", ("Hispanic", "other")),
    )
)
RECIPE = """
kind = "voter-list"
source = "made up"
population = "town"
state = "Tennessee"
seed = 2

[attributes]
age = "years"
sex = "gender"
ethnicity = "origin"
address = ["zip"]
"""


def town(people: int = 1000, domain: Domain = DOMAIN) -> Population:
    cells = np.argwhere(np.ones(domain.shape)).astype(np.int32)
    return Population(domain, cells, np.full(len(cells), people), name="town")


def recipe(text: str = RECIPE) -> VoterListRecipe:
    return validated(VoterListRecipe, tomllib.loads(text), "voters.toml")


def listed(text: str = RECIPE, people: Population | None = None, folder: Path = Path(), **options: Any) -> Population:
    others = {"seed": 2, "other": lambda *_: people or town()} | options
    return recipe(text).make(Making(folder, "voters", **others))


def test_expected_list_of_tennessee() -> None:
    voters = listed(expected=True)
    # Tennessee's list has age and sex, no ethnicity; addresses give the ZIP code. 4,163,359 of 5,439,926 adults.
    assert voters.domain.names == ("zip", "years", "gender")
    cells = by_label(voters)
    assert set(cells) == {(z, y, g) for z in "ab" for y in ("18", "19", "90+") for g in "FM"}
    for count in cells.values():
        assert count == pytest.approx(2 * 1000 * 4_163_359 / 5_439_926)
    assert voters.name == "voters"
    assert voters.source.startswith(
        "made up; voter list of Tennessee; $2,500 (Mixed); birth assumed to be year: not found;"
    )


@pytest.mark.parametrize(
    ("state", "carried"),
    [
        ("Florida", ("zip", "years", "gender", "origin")),  # its race code includes Hispanic origin
        ("Ohio", ("zip", "years")),
        ("MD", ("zip", "gender")),
        ("Mississippi", ("zip",)),
    ],
)
def test_the_list_carries_what_the_state_has(state: str, carried: tuple[str, ...]) -> None:
    voters = listed(RECIPE.replace("Tennessee", state), expected=True)
    assert voters.domain.names == carried
    assert voters.total == pytest.approx(24 * 1000 * voter_profile(state).registered_share)


COVERAGE = (
    RECIPE
    + """
[coverage]
file = "coverage.csv"
share = "listed"
columns = { years = "age", gender = "sex" }
groups.years = { young = ["..19"], old = ["otherwise"] }
"""
)
SHARES = "age,sex,listed\nyoung,F,0.5\nyoung,M,0.4\nold,F,1\nold,M,0.75\nancient,M,0.1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "coverage.csv").write_text(SHARES)
    return tmp_path


def test_coverage_by_group(folder: Path) -> None:
    by_hand = {
        ("18", "F"): 0.5,
        ("19", "F"): 0.5,
        ("18", "M"): 0.4,
        ("19", "M"): 0.4,
        ("90+", "F"): 1,
        ("90+", "M"): 0.75,
    }
    for (_, age, sex), count in by_label(listed(COVERAGE, folder=folder, expected=True)).items():
        assert count == pytest.approx(2000 * by_hand[age, sex])
    for (_, age, sex), count in by_label(listed(COVERAGE, folder=folder)).items():
        share = by_hand[age, sex]
        assert abs(count - 2000 * share) <= 5 * (2000 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("old,M,0.75\n", "", "coverage.csv: years = old, gender = M: row missing for a group of adults"),
        ("old,M,0.75", "old,M,1.75", "coverage.csv: row 4, column 'listed': share out of range; found '1.75'"),
        ("old,M,0.75", "old,M,-1", "row 4, column 'listed': not a number of 0 or more"),
        ("old,M,0.75", "old,F,0.75", "row 4: group given twice; found 'years = old, gender = F'"),
        ("age,sex", "aeg,sex", "column 'age': column missing"),
    ],
)
def test_coverage_that_cannot_be_used(folder: Path, old: str, new: str, message: str) -> None:
    (folder / "coverage.csv").write_text(SHARES.replace(old, new))
    with pytest.raises(InputError, match=message):
        listed(COVERAGE, folder=folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Tennessee"', '"Tenessee"', "state: no such state; found 'Tenessee'.*did you mean 'Tennessee'"),
        ('"Tennessee"', '"North Dakota"', "state: the voter list has no attribute of the population"),
        ('age = "years"', 'age = "origin"', "attribute 'origin': not a whole number.*found 'Hispanic'"),
        ('age = "years"\n', "", "attributes: the age is missing or given twice"),
        ('age = "years"', 'year_of_birth = "years"', "reference_year: key missing"),
    ],
)  # fmt: skip
def test_recipes_that_cannot_be_used(old: str, new: str, message: str) -> None:
    assert old in RECIPE
    with pytest.raises(InputError, match=message):
        listed(RECIPE.replace(old, new))


def test_expected_counts_cannot_be_drawn_from() -> None:
    cells = town().cells
    people = Population(DOMAIN, cells, np.full(len(cells), 0.5), name="town")
    with pytest.raises(InputError, match="town: a voter list cannot be drawn from expected counts"):
        listed(people=people)
    assert listed(people=people, expected=True).total == pytest.approx(24 * 0.5 * 4_163_359 / 5_439_926)
