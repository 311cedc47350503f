"""Attributes learnable from social media: published figures with sources, by age."""

from pathlib import Path

import numpy as np
import pytest

from reidsim.errors import InputError
from reidsim.populations.social_media import load_social_media

RECIPE = """
kind = "social-media"
platform = "Somewhere"

[use]
overall = { probability = 0.3, source = "a survey" }
by_age = [
  { ages = "..29", probability = 0.5, source = "a survey" },
  { ages = "30..64", probability = 0.25, assumed = "between its neighbours" },
  { ages = "65..", probability = 0.125, source = "a survey" },
]

[attributes.sex]
overall = { probability = 0.8, calibrated = "a table" }

[attributes.income]
by_age = [{ ages = "18..", probability = 0.5, assumed = "a coin" }]
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "somewhere.toml"
    path.write_text(RECIPE)
    return path


def test_calibrated_figures_of_xia2021() -> None:
    model = load_social_media("twitter-attributes")
    assert {attribute: model.learnable(attribute) for attribute in model.attributes} == {
        "year of birth": 0.018,
        "state": 0.06,
        "race": 0.06,
        "sex": 0.072,
        "income": 0.03,
        "education": 0.024,
        "work class": 0.018,
    }
    # These shares do not depend on age.
    assert model.learnable("sex", np.array([18, 70])).tolist() == [0.072, 0.072]
    assert (model.use(), model.use(40), model.use(np.array([40])).tolist()) == (1.0, 1.0, [1.0])


def test_figures_of_ones_own(recipe: Path) -> None:
    model = load_social_media(recipe)
    assert model.name == "somewhere"
    assert model.attributes == ("sex", "income")
    assert model.learnable("income", 18) == 0.25
    with pytest.raises(InputError, match=r"attributes\.income: no figure for an age; found 17; expected 18\.\."):
        model.learnable("income", 17)
    with pytest.raises(InputError, match=r"attributes\.income: no figure for people of all ages"):
        model.learnable("income")
    with pytest.raises(InputError, match=r"somewhere: no such attribute; found 'incom'.*did you mean 'income'"):
        model.learnable("incom")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', calibrated = "a table"', "", "attributes.sex.overall: a figure says where it comes from; expected one"),
        (', assumed = "a coin"', "", r"attributes.income.by_age\[0\]: a figure says where it comes from"),
        ('assumed = "a coin"', 'assumed = "a coin", source = "b"', "comes from; found 'source, assumed'"),
        ('"30..64"', '"29..64"', r"use.by_age: age groups overlap; found '\.\.29 and 29\.\.64'"),
        ('"65.."', '"old"', r"use.by_age\[2\].ages: not a range of ages; found 'old'"),
        ('"30..64"', '"64..30"', r"use.by_age\[1\]: range that ends before it begins; found '64..30'"),
        ('by_age = [{ ages = "18..", probability = 0.5, assumed = "a coin" }]', "", "attributes.income: no figure"),
    ],
)  # fmt: skip
def test_recipes_that_cannot_be_used(recipe: Path, old: str, new: str, message: str) -> None:
    assert old in RECIPE
    recipe.write_text(RECIPE.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        load_social_media(recipe)
    assert caught.value.source == str(recipe)
