"""What voter lists take for granted: whom each state registers, and what its list tells of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, locating, require_among
from reidsim.populations.sampling import UNKNOWN
from reidsim.populations.voter_list import VOTING_AGE
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.scenarios.people_values import AGE, STATE, People

Floats = NDArray[np.float64]

# Attributes, and the fact of a state's profile that says if its voter list tells them; a name is in every list.
_TOLD_BY_VOTER_LISTS = {
    "age": "birth", "birth_year": "birth", "year of birth": "birth", "sex": "sex", "race": "race",
    "ethnicity": "ethnicity", "party": "party", "zip": "address", "zip3": "address", "county": "address",
    "state": None, "surname": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class VoterLists:
    """The voter lists of some states.

    Parameters
    ----------
    people : People
    states : tuple of str
        All in which people live, if there are none.
    """

    people: People
    states: tuple[str, ...]

    def told(self) -> tuple[str, ...]:
        """Return the attributes of the people that any of the lists tells."""
        facts = {name: _TOLD_BY_VOTER_LISTS[name] for name in self.people.values if name in _TOLD_BY_VOTER_LISTS}
        profiles = self.profiles().values()
        return tuple(n for n, fact in facts.items() if fact is None or any(_tells(p, fact) for p in profiles))

    def price(self) -> float:
        """Return what the lists cost together."""
        return fsum(profile.price for profile in self.profiles().values())

    def not_told(self, attributes: Iterable[str]) -> dict[str, float | Floats]:
        """Return for each attribute who is of a state whose list does not tell it.

        Raises
        ------
        InputError
            If no voter list tells one.
        """
        profiles = list(self.profiles().values())
        state = self.state_of_person()
        missing: dict[str, float | Floats] = {}
        for name in attributes:
            if name not in _TOLD_BY_VOTER_LISTS:
                raise InputError(
                    "voter lists do not carry it", where="attributes", found=name,
                    expected=f"of {listed(_TOLD_BY_VOTER_LISTS, 20)}; or a list of kind \"broker-file\"",
                )  # fmt: skip
            fact = _TOLD_BY_VOTER_LISTS[name]
            silent = np.array([fact is not None and not _tells(profile, fact) for profile in profiles])
            if silent.any():
                missing[name] = np.where(state >= 0, silent[state], False).astype(np.float64)
        return missing

    def profiles(self) -> dict[str, VoterProfile]:
        """Return the profiles of the states whose lists it is, by the people's name of the state."""
        if STATE not in self.people.values:
            if len(self.states) != 1:
                raise InputError(
                    "people without a state", where="states", found=list(self.states) or None,
                    expected="the one state they live in",
                )  # fmt: skip
            return {"": _profile(self.states[0])}
        _, labels = self.people.coded(STATE, "states")
        profiles = {label: _profile(label) for label in labels}
        if not self.states:
            return profiles
        wanted = [_profile(state).state for state in self.states]
        there = [profile.state for profile in profiles.values()]
        require_among("nobody of the state", wanted, there, where="states")
        return {label: profile for label, profile in profiles.items() if profile.state in wanted}

    def state_of_person(self) -> NDArray[np.intp]:
        """Return the position of each person's state among the profiles; -1 where it is none of them."""
        profiles = list(self.profiles())
        if STATE not in self.people.values:
            return np.zeros(self.people.n_people, dtype=np.intp)
        codes, labels = self.people.coded(STATE, "states")
        if (codes == UNKNOWN).any():
            raise InputError("people whose state is not known", where="states")
        return np.array([profiles.index(each) if each in profiles else -1 for each in labels], dtype=np.intp)[codes]

    def registered(self) -> Floats:
        """Return the registered share of each adult's state; 0 of minors and of other states."""
        if AGE not in self.people.values:
            raise InputError(
                "adults are unknown", where="coverage", expected="it given, or people with an attribute 'age'"
            )
        shares = np.array([profile.registered_share for profile in self.profiles().values()])
        state = self.state_of_person()
        adult = self.people.numbers(AGE, "coverage") >= VOTING_AGE
        return np.where(adult & (state >= 0), shares[state], 0.0)


def _tells(profile: VoterProfile, fact: str) -> bool:
    return profile.birth is not None if fact == "birth" else cast("bool", getattr(profile, fact))


def _profile(state: str) -> VoterProfile:
    with locating(where="states"):
        return voter_profile(state)
