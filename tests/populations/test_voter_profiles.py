"""Voter-list profiles: facts as found, "not found" kept, and everything that is assumed said to be so."""

import csv
import gzip
from pathlib import Path

import pytest
from found import at_least

from reidsim.bundled import bundled_folder
from reidsim.errors import InputError
from reidsim.populations.voter_profiles import read_profiles, voter_profile, voter_profiles

FIGURES = bundled_folder("populations") / "figures"
FACTS, ASSUMED = FIGURES / "voter-lists-by-state.csv.gz", FIGURES / "voter-lists-assumed.csv.gz"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "voters" / "state_voter_attributes.csv"

YES_OR_NO = frozenset({"yes", "no"})
PLAIN = {
    "birth": frozenset({"full", "year", "age", "none"}),
    "sex": YES_OR_NO,
    "race": YES_OR_NO,
    "ethnicity": YES_OR_NO,
    "party": YES_OR_NO,
    "name_and_address": YES_OR_NO,
}


def test_all_states() -> None:
    profiles = voter_profiles()
    assert len(profiles) == 51
    assert list(profiles) == sorted(profiles)
    assert len({profile.abbreviation for profile in profiles.values()}) == 51
    for profile in profiles.values():
        assert 0 <= profile.registered_share <= 1
        assert profile.price >= 0
        assert profile.access in {"Open", "Mixed", "Restricted"}


def test_the_table_is_the_original_word_for_word() -> None:
    if not SHARED.is_file():
        pytest.skip(f"the original figures are not in {SHARED}")
    with SHARED.open(encoding="utf-8", newline="") as file:
        original = {row["state"]: row for row in csv.DictReader(file)}
    assert {state: dict(profile.facts) for state, profile in voter_profiles().items()} == original


def test_whatever_is_no_plain_answer_is_assumed_with_a_reason() -> None:
    for profile in voter_profiles().values():
        for column, plain in PLAIN.items():
            assumed = {assumption.fact for assumption in profile.assumptions}
            fact = "address" if column == "name_and_address" else column
            assert (fact in assumed) == (profile.facts[column] not in plain), (profile.state, fact)
        for assumption in profile.assumptions:
            assert assumption.reason
            if assumption.fact != "registered_share":
                column = "name_and_address" if assumption.fact == "address" else assumption.fact
                assert assumption.found == profile.facts[column]


def test_plain_answers_are_taken_over() -> None:
    for profile in voter_profiles().values():
        if profile.facts["birth"] in PLAIN["birth"]:
            assert (profile.birth or "none") == profile.facts["birth"]
        for fact in ("sex", "race", "ethnicity", "party"):
            if profile.facts[fact] in PLAIN[fact]:
                assert getattr(profile, fact) == (profile.facts[fact] == "yes")


def test_tennessee_is_assumed_to_carry_what_the_case_study_needs() -> None:
    tennessee = voter_profile("Tennessee")
    assert (tennessee.birth, tennessee.sex, tennessee.race, tennessee.ethnicity) == ("year", True, True, False)
    assert {a.fact for a in tennessee.assumptions} == {"birth", "sex", "race", "ethnicity"}
    assert {a.found for a in tennessee.assumptions} == {"not found"}
    assert tennessee.attributes == ("birth", "sex", "race", "address")
    assert (tennessee.price, tennessee.access) == (2500, "Mixed")
    # 4,163,359 registered in 2018, 5,439,926 adults in 2020.
    assert tennessee.registered_share == pytest.approx(0.76533, abs=5e-6)


def test_registered_shares_that_are_assumed() -> None:
    assumed = {
        profile.state
        for profile in voter_profiles().values()
        if any(assumption.fact == "registered_share" for assumption in profile.assumptions)
    }
    assert assumed == {"Alaska", "District of Columbia", "North Dakota"}
    assert voter_profile("DC").registered_share == 1
    assert voter_profile("ND").registered_share == 0
    assert voter_profile("ND").attributes == ()
    with gzip.open(FACTS, "rt", encoding="utf-8", newline="") as file:
        rows = at_least(51, csv.DictReader(line for line in file if not line.startswith("#")))
    told = [row for row in rows if row["registered_eavs2018"].isdecimal()]
    assert {row["state"] for row in rows} - {row["state"] for row in told} == {"Alaska", "North Dakota"}
    average = sum(int(r["registered_eavs2018"]) for r in told) / sum(int(r["vap_2020"]) for r in told)
    assert voter_profile("Alaska").registered_share == pytest.approx(average)
    assert 0.8 < average < 0.83


def test_a_state_by_its_abbreviation() -> None:
    assert voter_profile("NC") is voter_profile("North Carolina")
    assert voter_profile("NC").attributes == ("birth", "sex", "race", "ethnicity", "party", "address")


@pytest.mark.parametrize(("name", "nearest"), [("Tennesee", "Tennessee"), ("north carolina", "North Carolina")])
def test_unknown_state(name: str, nearest: str) -> None:
    with pytest.raises(InputError, match="no such state") as caught:
        voter_profile(name)
    assert (caught.value.found, caught.value.hint) == (name, f"did you mean {nearest!r}?")


HEADER = (
    "state,abbr,birth,sex,race,ethnicity,party,name_and_address,"
    "access_eac2020,access_ballotpedia2026,price_usd_eac2020,registered_eavs2018,vap_2020"
)
ROW = "Arcadia,AR,year,yes,no,no,no,yes,Open,Open,10,50,100"
NOTHING = "state,fact,value,reason\n"


@pytest.mark.parametrize(
    ("old", "new", "assumed", "message"),
    [
        ("year,yes", "year,perhaps", "", "facts.csv: Arcadia, sex: no plain answer.*found 'perhaps'"),
        ("50,100", "120,100", "", "Arcadia, registered_share: no plain answer and nothing assumed; found '1.2000'"),
        ("50,100", "not found,100", "", "Arcadia, registered_share: no plain answer.*found 'not found'"),
        ("50,100", "not found,100", "Arcadia,registered_share,2,guess\n", "registered_share: not a share; found '2'"),
        ("50,100", "not found,100", "Arcadia,registered_share,x,guess\n", "not a number of 0 or more; found 'x'"),
        ("Open,10", "Open,free", "", "Arcadia, price_usd_eac2020: not a number of 0 or more; found 'free'"),
        ("year,yes", "not found,yes", "Arcadia,birth,month,guess\n", "Arcadia: no plain answer assumed"),
        ("", "", "Arcadia,sex,no,guess\n", "assumed.csv: assumed for nothing.*found 'Arcadia, sex'"),
        ("", "", "Atlantis,sex,no,guess\n", "found 'Atlantis, sex'"),
        ("year", "?", "Arcadia,birth,age,a\nArcadia,birth,year,b\n", "row 2: assumed twice; found 'Arcadia, birth'"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_used(tmp_path: Path, old: str, new: str, assumed: str, message: str) -> None:
    (tmp_path / "facts.csv").write_text(f"{HEADER}\n{ROW.replace(old, new) if old else ROW}\n")
    # A table without rows is an error of its own, so there is always one assumption: Boeotia's.
    boeotia = "Boeotia,BO,full,yes,?,no,no,yes,Open,Open,10,50,100\n"
    with (tmp_path / "facts.csv").open("a") as file:
        file.write(boeotia)
    (tmp_path / "assumed.csv").write_text(f"{NOTHING}{assumed}Boeotia,race,yes,guess\n")
    with pytest.raises(InputError, match=message):
        read_profiles(tmp_path / "facts.csv", tmp_path / "assumed.csv")


def test_tables_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text(f"{HEADER}\n{ROW.replace('yes,no,no', 'yes,?,no').replace('50,', 'none,')}\n")
    with pytest.raises(InputError, match="nothing assumed"):
        read_profiles(tmp_path / "facts.csv", ASSUMED)
    (tmp_path / "assumed.csv").write_text(f"{NOTHING}Arcadia,race,yes,seen\nArcadia,registered_share,average,guess\n")
    with pytest.raises(InputError, match="Arcadia, registered_share: not a number of 0 or more; found 'average'"):
        read_profiles(tmp_path / "facts.csv", tmp_path / "assumed.csv")
    (tmp_path / "assumed.csv").write_text(f"{NOTHING}Arcadia,race,yes,seen\nArcadia,registered_share,0.25,guess\n")
    (profile,) = read_profiles(tmp_path / "facts.csv", tmp_path / "assumed.csv").values()
    assert (profile.race, profile.registered_share) == (True, 0.25)
    assert [tuple(a) for a in profile.assumptions] == [
        ("race", "?", "yes", "seen"),
        ("registered_share", "none", "0.25", "guess"),
    ]
