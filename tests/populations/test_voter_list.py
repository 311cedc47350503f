"""Voter lists: adults of the state, independently listed, with its attributes."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labels import by_label

from reidsim.core.errors import InputError
from reidsim.core.validation import validated
from reidsim.populations.census import VoterListRecipe, voter_profile
from reidsim.populations.population import Attribute, Domain, Making, Population

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
[[coverage]]
by = "years"
shares = { "18..19" = 0.5, "90+" = 1.0 }
[[coverage]]
by = "gender"
shares = { F = 1.0, M = 0.75 }
"""
)


def test_coverage_by_group() -> None:
    for people, tolerance in ((listed(COVERAGE, expected=True), 0), (listed(COVERAGE), 5)):
        for (_, age, sex), count in by_label(people).items():
            share = (0.5 if age in ("18", "19") else 1.0) * (1.0 if sex == "F" else 0.75)
            assert abs(count - 2000 * share) <= tolerance * (2000 * share * (1 - share)) ** 0.5 + 1e-9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', "90+" = 1.0', "", "coverage.shares: share missing; expected a share for '90[+]'"),
        ("F = 1.0", "F = 1.5", "coverage.*F"),
        ('by = "gender"', 'by = "sex"', "no such attribute; found 'sex'"),
    ],
)
def test_coverage_that_cannot_be_used(old: str, new: str, message: str) -> None:
    assert old in COVERAGE
    with pytest.raises(InputError, match=message):
        listed(COVERAGE.replace(old, new))


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
