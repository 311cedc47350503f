"""Profiles of the states' voter lists: attributes, price, and coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

import pandas as pd

from reidsim.bundled import bundled_folder
from reidsim.errors import InputError, nearest
from reidsim.tables import read_table

Birth = Literal["full", "year", "age"]

# Attributes that a list may have, and their columns in the bundled table.
_FLAGS = {"sex": "sex", "race": "race", "ethnicity": "ethnicity", "party": "party", "address": "name_and_address"}
_BIRTHS = ("full", "year", "age", "none")
_REGISTERED, _ADULTS = "registered_eavs2018", "vap_2020"


class Assumption(NamedTuple):
    """An assumed value of a fact that was not found or had no clear answer.

    Attributes
    ----------
    fact : str
        Name of the fact, such as ``"birth"`` or ``"registered_share"``.
    found : str
        Entry of the table of facts.
    value : str
        Assumed value; ``"average"`` for the average registered share of all states.
    reason : str
        Reason for the assumption.
    """

    fact: str
    found: str
    value: str
    reason: str


@dataclass(frozen=True)
class VoterProfile:
    """The profile of one state's voter list.

    Parameters
    ----------
    state, abbreviation : str
        Name and postal abbreviation, such as ``"Tennessee"`` and ``"TN"``; the District of Columbia counts as a state.
    birth : {"full", "year", "age"} or None
        Whether the list has the full date of birth, the year of birth, the age, or none of them.
    sex, race, ethnicity, party, address : bool
        Whether the list has this attribute.
    price : float
        Price in US dollars (EAC 2020).
    access : str
        People who may obtain the list, in the words of EAC 2020.
    registered_share : float
        Probability that an adult is listed: number of people registered in 2018 divided by the number of people of
        voting age in 2020; an assumed value if the ratio is unknown or above 1.
    assumptions : tuple of Assumption
        The facts above that are assumptions.
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
    registered_share: float
    assumptions: tuple[Assumption, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the list other than the name and the state."""
        return (*(() if self.birth is None else ("birth",)), *(flag for flag in _FLAGS if getattr(self, flag)))


def voter_profile(state: str) -> VoterProfile:
    """Return the profile of a state's voter list, by name or postal abbreviation.

    See `VoterProfile` for its attributes, price and share of adults listed.

    Raises
    ------
    InputError
        If there is no such state; the message names the state with the most similar name.
    """
    profiles = voter_profiles()
    names = {**{profile.abbreviation: profile for profile in profiles.values()}, **profiles}
    if state not in names:
        expected = "one of the 50 states or the District of Columbia, by name or postal abbreviation"
        raise InputError("no such state", found=state, expected=expected, hint=nearest(state, names))
    return names[state]


@lru_cache(maxsize=1)
def voter_profiles() -> Mapping[str, VoterProfile]:
    """Return the profiles of all states by name, in alphabetical order.

    They cover the 50 states and the District of Columbia.
    """
    figures = bundled_folder("populations") / "figures"
    table = read_table(figures / "voter-lists-by-state.csv.gz", comment="#")
    assumed = read_table(figures / "voter-lists-assumed.csv.gz", comment="#")
    instead = {(row.state, row.fact): (row.value, row.reason) for row in assumed.itertuples()}
    people = table[[_REGISTERED, _ADULTS]].apply(pd.to_numeric, errors="coerce").dropna()
    average = float(people[_REGISTERED].sum() / people[_ADULTS].sum())
    profiles = {row["state"]: _profile(row, instead, average) for row in table.to_dict("records")}
    return MappingProxyType(profiles)


def _profile(row: Mapping[Any, Any], instead: Mapping[Any, Any], average: float) -> VoterProfile:
    """Return the profile in a row of the table.

    Facts without a clear answer are taken from `instead`.
    """
    assumptions: list[Assumption] = []

    def answer(fact: str, found: str, is_plain: bool) -> str:
        if is_plain:
            return found
        value, reason = map(str, instead[row["state"], fact])
        assumptions.append(Assumption(fact, found, value, reason))
        return value

    birth = answer("birth", row["birth"], row["birth"] in _BIRTHS)
    flags = {flag: answer(flag, row[column], row[column] in ("yes", "no")) for flag, column in _FLAGS.items()}
    registered, adults = row[_REGISTERED], row[_ADULTS]
    ratio = int(registered) / int(adults) if registered.isdecimal() and adults.isdecimal() else None
    is_share = ratio is not None and ratio <= 1
    assumed_share = answer("registered_share", registered if ratio is None else f"{ratio:.4f}", is_share)
    if ratio is None or not is_share:
        ratio = average if assumed_share == "average" else float(assumed_share)
    return VoterProfile(
        state=row["state"],
        abbreviation=row["abbr"],
        birth=None if birth == "none" else cast("Birth", birth),
        **{flag: said == "yes" for flag, said in flags.items()},
        price=float(row["price_usd_eac2020"]),
        access=row["access_eac2020"],
        registered_share=ratio,
        assumptions=tuple(assumptions),
    )
