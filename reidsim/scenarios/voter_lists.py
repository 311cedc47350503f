"""Defaults of voter lists of a scenario's people, by state.

Registered people, attributes and prices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, locating, require_among
from reidsim.populations.sampling import UNKNOWN
from reidsim.populations.voter_list import VOTING_AGE
from reidsim.populations.voter_profiles import VoterProfile, voter_profile
from reidsim.scenarios.people_values import AGE, STATE, People

Floats = NDArray[np.float64]

# Field of a state's profile that determines whether its list has an attribute; None for attributes of every list.
_FACT_OF = {
    **dict.fromkeys(("age", "birth_year", "year of birth"), "birth"),
    **{name: name for name in ("sex", "race", "ethnicity", "party")},
    **dict.fromkeys(("zip", "zip3", "county"), "address"),
    **dict.fromkeys(("state", "surname"), None),
}


@dataclass(frozen=True, eq=False)
class VoterLists:
    """The voter lists of some states.

    Parameters
    ----------
    people : People
    states : tuple of str
        Names or abbreviations of states; if empty, all states in which the people live.
    """

    people: People
    states: tuple[str, ...]

    @cached_property
    def profiles(self) -> dict[str, VoterProfile]:
        """Profile of each state, by the label of the state in the people's data."""
        with locating(where="states"):
            if STATE not in self.people.values:
                if len(self.states) != 1:
                    found, expected = list(self.states) or None, "the state of all people"
                    raise InputError("the people have no attribute 'state'", found=found, expected=expected)
                return {"": voter_profile(self.states[0])}
            profiles = {label: voter_profile(label) for label in self.people.coded(STATE, "states")[1]}
            wanted = [voter_profile(state).state for state in self.states]
            require_among("no person lives in the state", wanted, [profile.state for profile in profiles.values()])
        return {label: each for label, each in profiles.items() if not wanted or each.state in wanted}

    @cached_property
    def state_of_person(self) -> NDArray[np.intp]:
        """Position of each person's state in `profiles`, shape (n_people,).

        The position is -1 for other states.
        """
        if STATE not in self.people.values:
            return np.zeros(self.people.n_people, dtype=np.intp)
        codes, labels = self.people.coded(STATE, "states")
        if (codes == UNKNOWN).any():
            raise InputError("the state of a person is missing", where="states")
        position = {label: number for number, label in enumerate(self.profiles)}
        return np.array([position.get(label, -1) for label in labels], dtype=np.intp)[codes]

    def attributes(self) -> tuple[str, ...]:
        """Return the people's attributes that at least one of the lists has."""
        known = [name for name in self.people.values if name in _FACT_OF]
        return tuple(name for name in known if any(_has(profile, name) for profile in self.profiles.values()))

    def price(self) -> float:
        """Return the price of the lists of all states together, in currency units."""
        return fsum(profile.price for profile in self.profiles.values())

    def missing(self, attributes: Iterable[str]) -> dict[str, float | Floats]:
        """Return the probability that a person's entry lacks an attribute: 0 or 1.

        The probabilities, shape (n_people,), are given by attribute: 1 if the list of the person's state lacks the
        attribute, otherwise 0. Attributes that all lists have are not included.

        Raises
        ------
        InputError
            If voter lists never contain an attribute.
        """
        missing: dict[str, float | Floats] = {}
        for name in attributes:
            if name not in _FACT_OF:
                expected = f'one of {listed(_FACT_OF, 20)}, or a list of kind "broker-file"'
                raise InputError(
                    "voter lists do not contain the attribute", where="attributes", found=name, expected=expected
                )
            lacks = np.array([not _has(profile, name) for profile in self.profiles.values()])
            if lacks.any():
                missing[name] = np.where(self.state_of_person >= 0, lacks[self.state_of_person], False).astype(float)
        return missing

    def registered(self) -> Floats:
        """Return each person's probability of being registered, shape (n_people,).

        It is the share of adults in the person's state who are registered; 0 for minors and people of other states.
        """
        if AGE not in self.people.values:
            expected = "this key, or people with an attribute 'age'"
            raise InputError("registration needs an age for each person", where="coverage", expected=expected)
        shares = np.array([profile.registered_share for profile in self.profiles.values()])
        adult = self.people.numbers(AGE, "coverage") >= VOTING_AGE
        return np.where(adult & (self.state_of_person >= 0), shares[self.state_of_person], 0.0)


def _has(profile: VoterProfile, name: str) -> bool:
    """Return whether a state's list has an attribute of `_FACT_OF`."""
    fact = _FACT_OF[name]
    return fact is None or getattr(profile, fact) not in (None, False)
