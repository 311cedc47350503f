"""Voter-list profiles: sourced facts, "not found" kept, and assumptions marked."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from found import at_least

from reidsim.core.errors import InputError
from reidsim.core.files import bundled_folder
from reidsim.populations.census import voter_profile
from reidsim.populations.resources import load_social_media

FIGURES = bundled_folder("populations") / "figures"
FACTS, ASSUMED = FIGURES / "voter-lists-by-state.csv.gz", FIGURES / "voter-lists-assumed.csv.gz"

YES_OR_NO = frozenset({"yes", "no"})
PLAIN = {
    "birth": frozenset({"full", "year", "age", "none"}),
    "sex": YES_OR_NO,
    "race": YES_OR_NO,
    "ethnicity": YES_OR_NO,
    "party": YES_OR_NO,
    "name_and_address": YES_OR_NO,
}


def rows_of_the_table():
    with gzip.open(FACTS, "rt", encoding="utf-8", newline="") as file:
        return at_least(51, csv.DictReader(line for line in file if not line.startswith("#")))


def test_facts_without_a_plain_answer_are_assumed_with_a_reason() -> None:
    for facts in rows_of_the_table():
        profile = voter_profile(facts["state"])
        assumed = {assumption.fact: assumption for assumption in profile.assumptions}
        for column, plain in PLAIN.items():
            fact = "address" if column == "name_and_address" else column
            assert (fact in assumed) == (facts[column] not in plain), (profile.state, fact)
            if fact in assumed:
                assert assumed[fact].reason
                assert assumed[fact].found == facts[column]
            elif fact == "birth":
                assert (profile.birth or "none") == facts["birth"]
            else:
                assert getattr(profile, fact) == (facts[column] == "yes")


def test_tennessee_is_assumed_to_carry_what_the_case_study_needs() -> None:
    tennessee = voter_profile("Tennessee")
    assert (tennessee.birth, tennessee.sex, tennessee.race, tennessee.ethnicity) == ("year", True, True, False)
    assert {a.fact for a in tennessee.assumptions} == {"birth", "sex", "race", "ethnicity"}
    assert {a.found for a in tennessee.assumptions} == {"not found"}
    assert tennessee.address
    assert (tennessee.price, tennessee.access) == (2500, "Mixed")
    # 4,163,359 registered in 2018, 5,439,926 adults in 2020.
    assert tennessee.registered_share == pytest.approx(0.76533, abs=5e-6)


# Attributes learnable from social media: published figures with sources, by age.


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
    assert (model.presence(), model.presence(40), model.presence(np.array([40])).tolist()) == (1.0, 1.0, [1.0])


def test_figures_of_ones_own(recipe: Path) -> None:
    model = load_social_media(recipe)
    assert tuple(model.attributes) == ("sex", "income")
    assert (model.presence(18), model.learnable("income", 18)) == (0.5, 0.5)
    with pytest.raises(InputError, match=r"attributes\.income: no figure for an age; found 17; expected 18\.\."):
        model.learnable("income", 17)
    with pytest.raises(InputError, match=r"attributes\.income: no figure for people of all ages"):
        model.learnable("income")
    with pytest.raises(InputError, match=r"no such attribute; found 'incom'.*did you mean 'income'"):
        model.learnable("incom")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', calibrated = "a table"', "", "attributes.sex.overall: the origin of the figure is missing"),
        (', assumed = "a coin"', "", r"attributes.income.by_age\[0\]: the origin of the figure is missing"),
        ('assumed = "a coin"', 'assumed = "a coin", source = "b"', "missing or given twice; found 'source, assumed'"),
        ('"30..64"', '"29..64"', r"use.by_age: age in two groups; found '\.\.29 and 29\.\.64'"),
        ('"65.."', '"old"', r"use.by_age\[2\].ages: not a range of ages; found 'old'"),
        ('"30..64"', '"64..30"', r"use.by_age\[1\]: the range ends before it begins; found '64..30'"),
        ('by_age = [{ ages = "18..", probability = 0.5, assumed = "a coin" }]', "", "income: figure missing"),
    ],
)  # fmt: skip
def test_recipes_that_cannot_be_used(recipe: Path, old: str, new: str, message: str) -> None:
    assert old in RECIPE
    recipe.write_text(RECIPE.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        load_social_media(recipe)
    assert caught.value.source == str(recipe)
