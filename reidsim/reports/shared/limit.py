"""Limit the re-identification risk of a file, by default to one in eleven.

The limit applies to both risks of `FileRisk`: of a record, and of a person who is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reidsim.core.plain_data import merged
from reidsim.errors import InputError, listed
from reidsim.scenarios.registry import kind_of_content
from reidsim.validation import validated

# Threshold of the European Medicines Agency and of Health Canada for files that are made public.
USUAL_LIMIT = 1 / 11
# Relative rounding error up to which a success probability, a quotient of counts, equals the limit.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FileRisk:
    """Highest probability of a successful re-identification in a file.

    Parameters
    ----------
    record : float
        Highest probability, over the released records, that an attack on the record identifies its person.
    person : float
        Highest probability, over the people in the file, that a person who is looked up is matched to an own record.
    basis : str
        Definition of both probabilities.
    known : tuple of str
        Kept columns that the adversary knows.
    """

    record: float
    person: float
    basis: str
    known: tuple[str, ...] = ()

    @property
    def highest(self) -> float:
        """Larger of the two probabilities."""
        return max(self.record, self.person)

    def facts(self, limit: Limit) -> dict[str, Any]:
        """Return the risk and its limit as plain data, for sidecars.

        Entries: both probabilities, their definition, the kept columns that the adversary knows, the limit with its
        origin, and whether the risk is above the limit.
        """
        return {
            "definition": self.basis,
            "record": self.record,
            "person": self.person,
            "kept_columns_known": list(self.known),
            "limit": limit.value,
            "limit_is": limit.reason,
            "above_limit": not limit.allows(self),
        }


@dataclass(frozen=True)
class Limit:
    """Limit on the risk of a file that may be written.

    Parameters
    ----------
    value : float
        Maximum probability.
    reason : str
        Origin of the value, such as the default or the user's option.
    """

    value: float
    reason: str

    def allows(self, risk: FileRisk) -> bool:
        """Return whether the risks of records and people are within the limit."""
        return risk.highest <= self.value * (1 + _ROUNDING)

    def require(self, risk: FileRisk, policy: str, content: Mapping[str, Any]) -> None:
        """Check that the risks of records and people are within the limit.

        Parameters
        ----------
        risk : FileRisk
        policy : str
        content : mapping
            The scenario as plain data; the message names ``adversary.direction`` only if the scenario can set it.

        Raises
        ------
        InputError
            If they are not; the message names the higher risk, the limit and the alternatives.
        """
        if self.allows(risk):
            return
        of_person = risk.person > risk.record
        unit = "a person searched for in the file" if of_person else "a record"
        protects = ""
        if of_person and _may_search_for_people(content):
            protects = '; set adversary.direction = "both" to protect people also with no-attack'
        if risk.known:
            unit += f" for an adversary who knows {listed(risk.known)}"
            protects += "; declare kept columns that no outsider knows with --unknown-to-outsiders"
        raise InputError(
            f"not written: under policy {policy!r} the risk of {unit} is {odds(risk.highest)}",
            where="--max-risk",
            expected=f"at most {odds(self.value)} ({self.reason})",
            hint=f"raise --max-risk, or write the file anyway with --accept-risk{protects}",
        )


def _may_search_for_people(content: Mapping[str, Any]) -> bool:
    """Return whether the adversary does not search for people yet, and may in this scenario."""
    searching = merged(content, {"adversary": {"direction": "both"}})
    if searching == content:
        return False
    try:
        validated(kind_of_content(content).schema, searching, "scenario")
    except InputError:
        return False
    return True


def limit_of(max_risk: float | None) -> Limit:
    """Return the limit set by the user, or the default, one in eleven.

    Raises
    ------
    InputError
        If the limit is not a probability.
    """
    if max_risk is None:
        return Limit(USUAL_LIMIT, "the default")
    if not 0 <= max_risk <= 1:
        raise InputError("probability out of range", where="--max-risk", found=max_risk, expected="0 to 1")
    return Limit(max_risk, "set by the user")


def odds(risk: float) -> str:
    """Return a probability with its odds, such as ``0.0909 (1 in 11)``."""
    return f"{risk:.4g} (1 in {1 / risk:.4g})" if 0 < risk < 1 else f"{risk:.0f}"
