"""What the voter list of each state carries, what it costs and how many adults it lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from reidsim.bundled import bundled_folder
from reidsim.errors import InputError, listed, nearest
from reidsim.tables import read_table, require_columns

Birth = Literal["full", "year", "age"]

# What the table's facts are called in a profile; all but the birth are yes or no.
_FLAGS = {"sex": "sex", "race": "race", "ethnicity": "ethnicity", "party": "party", "address": "name_and_address"}
_BIRTHS = ("full", "year", "age", "none")
_REGISTERED, _ADULTS, _PRICE = "registered_eavs2018", "vap_2020", "price_usd_eac2020"
_ACCESS, _ACCESS_2026 = "access_eac2020", "access_ballotpedia2026"
_AVERAGE = "average"


class Assumption(NamedTuple):
    """A fact that was not found, or is no plain answer, with what is taken instead and why."""

    fact: str
    found: str
    value: str
    reason: str


@dataclass(frozen=True)
class VoterProfile:
    """The voter list of one state.

    Parameters
    ----------
    state, abbreviation : str
        Such as ``"Tennessee"`` and ``"TN"``; the District of Columbia counts as a state.
    birth : {"full", "year", "age"} or None
        Whether the list tells the date of birth, its year, the age, or nothing of them.
    sex, race, ethnicity, party, address : bool
        Whether the list tells them.
    price : float
        Of the list, in US dollars (EAC 2020).
    access, access_2026 : str
        Who may have it, in the words of EAC 2020 and of Ballotpedia 2026.
    registered_share : float
        Probability that an adult is listed: people registered in 2018 over people of voting age in 2020.
    assumptions : tuple of Assumption
        Which of these are assumed, and why.
    facts : mapping of str to str
        The state's row of the table, word for word.
    """

    state: str
    abbreviation: str
    birth: Birth | None
    sex: bool
    race: bool
    ethnicity: bool
    party: bool
    address: bool
    price: float
    access: str
    access_2026: str
    registered_share: float
    assumptions: tuple[Assumption, ...]
    facts: Mapping[str, str]

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the list tells about a person besides the name and the state."""
        return (*(() if self.birth is None else ("birth",)), *(flag for flag in _FLAGS if getattr(self, flag)))


def voter_profile(state: str) -> VoterProfile:
    """Return the profile of a state's voter list.

    Parameters
    ----------
    state : str
        Name or postal abbreviation.

    Returns
    -------
    VoterProfile

    Raises
    ------
    InputError
        If there is no such state; names the nearest.
    """
    profiles = voter_profiles()
    by_abbreviation = {profile.abbreviation: profile for profile in profiles.values()}
    if state in profiles:
        return profiles[state]
    if state in by_abbreviation:
        return by_abbreviation[state]
    raise InputError(
        "no such state",
        found=state,
        expected="one of the 50 states or the District of Columbia, by name or postal abbreviation",
        hint=nearest(state, [*profiles, *by_abbreviation]),
    )


@lru_cache(maxsize=1)
def voter_profiles() -> Mapping[str, VoterProfile]:
    """Return the profiles of the 50 states and the District of Columbia by name, in alphabetical order."""
    figures = bundled_folder("populations") / "figures"
    return read_profiles(figures / "voter-lists-by-state.csv.gz", figures / "voter-lists-assumed.csv.gz")


def read_profiles(facts: Path, assumed: Path) -> Mapping[str, VoterProfile]:
    """Read profiles from a table of facts and a table of what is assumed where they are no plain answer.

    Parameters
    ----------
    facts : Path
        One row per state, as the bundled ``voter-lists-by-state.csv.gz``.
    assumed : Path
        Columns state, fact, value and reason. Facts are birth (full, year, age, none), sex, race, ethnicity, party,
        address (yes, no) and registered_share (a number from 0 to 1, or ``average`` for that of all states).

    Returns
    -------
    mapping of str to VoterProfile
        In the order of the table.

    Raises
    ------
    InputError
        If a fact is no plain answer and nothing is assumed for it, or something is assumed for a plain answer.
    """
    table = read_table(facts, comment="#")
    columns = ["state", "abbr", "birth", *_FLAGS.values(), _REGISTERED, _ADULTS, _PRICE, _ACCESS, _ACCESS_2026]
    require_columns(table, columns, facts)
    rows = read_table(assumed, comment="#")
    require_columns(rows, ["state", "fact", "value", "reason"], assumed)
    assumptions: dict[tuple[str, str], tuple[str, str]] = {}
    for number, (state, fact, value, reason) in enumerate(
        rows[["state", "fact", "value", "reason"]].itertuples(index=False), start=1
    ):
        if (state, fact) in assumptions:
            raise InputError("assumed twice", source=assumed, where=f"row {number}", found=f"{state}, {fact}")
        assumptions[state, fact] = (value, reason)
    average = _average_share(table)
    profiles = {
        str(row["state"]): _profile({str(name): str(value) for name, value in row.items()}, assumptions, average, facts)
        for row in table.to_dict("records")
    }
    if assumptions:
        state, fact = next(iter(assumptions))
        raise InputError(
            "assumed for nothing: no such state or fact, or a fact that is a plain answer",
            source=assumed,
            found=f"{state}, {fact}",
            expected=f"facts of {facts.name} out of birth, {listed(_FLAGS)}, registered_share",
        )
    return MappingProxyType(profiles)


def _profile(
    row: dict[str, str], assumptions: dict[tuple[str, str], tuple[str, str]], average: float, source: Path
) -> VoterProfile:
    """Make the profile of one row; takes the assumptions that it uses out of `assumptions`."""
    state, used = row["state"], []

    def answer(fact: str, found: str, plain: bool) -> str:
        if plain:
            return found
        if (state, fact) not in assumptions:
            raise InputError(
                "no plain answer and nothing assumed", source=source, where=f"{state}, {fact}", found=found
            )
        value, reason = assumptions.pop((state, fact))
        used.append(Assumption(fact, found, value, reason))
        return value

    birth = answer("birth", row["birth"], row["birth"] in _BIRTHS)
    flags = {flag: answer(flag, row[column], row[column] in ("yes", "no")) for flag, column in _FLAGS.items()}
    ratio = _ratio(row[_REGISTERED], row[_ADULTS])
    found = row[_REGISTERED] if ratio is None else f"{ratio:.4f}"
    share = answer("registered_share", found, ratio is not None and ratio <= 1)
    if birth not in _BIRTHS or not set(flags.values()) <= {"yes", "no"}:
        raise InputError("no plain answer assumed", source=source, where=state, found=[birth, *flags.values()])
    return VoterProfile(
        state=state,
        abbreviation=row["abbr"],
        birth=None if birth == "none" else cast("Birth", birth),
        **{flag: said == "yes" for flag, said in flags.items()},
        price=_number(row[_PRICE], source, f"{state}, {_PRICE}"),
        access=row[_ACCESS],
        access_2026=row[_ACCESS_2026],
        registered_share=_share(share, ratio, average, source, state),
        assumptions=tuple(used),
        facts=MappingProxyType(row),
    )


def _share(answer: str, ratio: float | None, average: float, source: Path, state: str) -> float:
    if answer == _AVERAGE and not np.isnan(average):
        return average
    if ratio is not None and ratio <= 1:
        return ratio
    share = _number(answer, source, f"{state}, registered_share")
    if share > 1:
        raise InputError("not a share", source=source, where=f"{state}, registered_share", found=answer)
    return share


def _average_share(table: pd.DataFrame) -> float:
    """Return registered people over people of voting age, of all states that tell both; nan if none does."""
    registered = pd.to_numeric(table[_REGISTERED], errors="coerce")
    adults = pd.to_numeric(table[_ADULTS], errors="coerce")
    both = registered.notna() & adults.notna()
    return float(registered[both].sum() / adults[both].sum()) if both.any() else float("nan")


def _ratio(registered: str, adults: str) -> float | None:
    if not (registered.isdecimal() and adults.isdecimal() and int(adults) > 0):
        return None
    return int(registered) / int(adults)


def _number(text: str, source: Path, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise InputError("not a number of 0 or more", source=source, where=where, found=text)
    return value
