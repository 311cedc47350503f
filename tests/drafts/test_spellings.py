"""Spelling variants, and regions of places."""

import own_files
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reidsim.drafts.choice import near_spellings
from reidsim.drafts.profile import are_places, regions_of


def test_spellings_of_a_hospital_are_found():
    rows = own_files.hospital(4_000, 2_350)["race"].str.strip().value_counts().to_dict()
    meant = {
        spelling.strip(): usual
        for usual, spellings in own_files.RACES.items()
        for spelling in spellings
        if spelling.strip() != usual
    }
    assert near_spellings(rows) == meant


@pytest.mark.parametrize(
    ("rows", "near"),
    [
        ({"Married": 500, "Maried": 3, "Marreid": 1}, {"Maried": "Married", "Marreid": "Married"}),
        ({"Müller": 5, "MULLER": 90}, {"Müller": "MULLER"}),
        ({"Self-emp": 90, "self emp": 5, "SelfEmp.": 2}, {"self emp": "Self-emp", "SelfEmp.": "Self-emp"}),
        # Two errors require nine letters.
        ({"Protestant": 90, "Protesatn": 2}, {"Protesatn": "Protestant"}),
        ({"Single": 90, "Sinlge": 3, "Signel": 2}, {"Sinlge": "Single"}),
        # As frequent as the other: another word.
        ({"Baker": 90, "Bakes": 19}, {}),
        ({"Baker": 90, "Bakes": 18}, {"Bakes": "Baker"}),
        # Values that differ in numbers or signs are distinct.
        ({"<=50K": 900, ">50K": 30, "type 11": 500, "type 12": 2, "grade A+": 50, "grade A-": 2, "+": 9, "-": 1}, {}),
        # Countries, however similar.
        ({"Australia": 900, "Austria": 3, "Slovakia": 90, "Slovenia": 2, "Niger": 2, "Nigeria": 40}, {}),
        ({"Germany": 900, "Germnay": 3}, {"Germnay": "Germany"}),
        # Short codes are not misspellings; six letters with one missing are.
        ({"Asian": 90, "AIAN": 3, "ASIAN": 2, "Whte": 1, "White": 200}, {"ASIAN": "Asian"}),
        ({"Latino": 90, "Latno": 3, "Ltino": 2}, {"Latno": "Latino", "Ltino": "Latino"}),
        ({"F": 3, "M": 90, "Male": 90, "Mael": 1}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_what_is_nearly_spelled_alike(rows, near):
    assert near_spellings(rows) == near


@given(st.dictionaries(st.text("abAB 1-é", min_size=1, max_size=10), st.integers(1, 1000), max_size=12))
def test_usual_spellings_are_themselves_not_near_to_others_and_no_rarer(rows):
    near = near_spellings(rows)
    assert not set(near.values()) & set(near)
    assert all(rows[usual] >= rows[value] or usual.casefold() != value.casefold() for value, usual in near.items())
    assert set(near) | set(near.values()) <= set(rows)


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=6, max_size=12), st.data())
def test_one_slip_of_the_hand_is_found(word, data):
    at = data.draw(st.integers(0, len(word) - 2))
    slipped = data.draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + "q" + word[at:],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    assume(slipped != word and len(slipped) >= 5 and not are_places(word, slipped))
    assert near_spellings({word: 100, slipped: 2}) == {slipped: word}


def test_the_countries_of_a_census_have_regions_and_continents():
    values = set(own_files.COUNTRIES) - {"?"}
    assert len(values) == 41
    levels, region_of = regions_of(values)
    # One value is a misprint in the file without a region.
    assert values - set(region_of) == {"South"}
    assert levels == ("region", "continent")
    assert region_of["Holand-Netherlands"] == ("Western Europe", "Europe")
    assert region_of["Outlying-US(Guam-USVI-etc)"] == ("Pacific islands", "Oceania")
    continents = {continent for _, continent in region_of.values()}
    assert continents == {"America", "Asia", "Europe", "Oceania"}
    continent_of = {}
    for region, continent in region_of.values():
        assert continent_of.setdefault(region, continent) == continent


def test_states_have_divisions_and_other_values_no_region():
    assert regions_of(["TN", "ky", "New York"])[1]["ky"] == ("East South Central", "South (U.S.)")
    assert regions_of(["red", "green", "Germany"]) is None
    assert regions_of([]) is None
    assert are_places("Iran", "IRAQ")
    assert not are_places("Iran", "iran")
    assert not are_places("Iran", "Irak")
