"""Voter-list profiles: sourced facts, "not found" kept, and assumptions marked."""

import csv
import gzip

import pytest
from found import at_least

from reidsim.bundled import bundled_folder
from reidsim.errors import InputError
from reidsim.populations.voter_profiles import voter_profile, voter_profiles

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


def test_every_assumption_is_used() -> None:
    with gzip.open(ASSUMED, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    used = {(p.state, a.fact) for p in voter_profiles().values() for a in p.assumptions}
    assert used == {(row["state"], row["fact"]) for row in rows}
    assert len(used) == len(rows)


def test_tennessee_is_assumed_to_carry_what_the_case_study_needs() -> None:
    tennessee = voter_profile("Tennessee")
    assert (tennessee.birth, tennessee.sex, tennessee.race, tennessee.ethnicity) == ("year", True, True, False)
    assert {a.fact for a in tennessee.assumptions} == {"birth", "sex", "race", "ethnicity"}
    assert {a.found for a in tennessee.assumptions} == {"not found"}
    assert tennessee.attributes == ("birth", "sex", "race", "address")
    assert (tennessee.price, tennessee.access) == (2500, "Mixed")
    # 4,163,359 registered in 2018, 5,439,926 adults in 2020.
    assert tennessee.registered_share == pytest.approx(0.76533, abs=5e-6)


@pytest.mark.parametrize(("name", "nearest"), [("Tennesee", "Tennessee"), ("north carolina", "North Carolina")])
def test_unknown_state(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match="no such state") as caught:
        voter_profile(name)
    assert (caught.value.found, caught.value.hint) == (name, f"did you mean {nearest!r}?")
