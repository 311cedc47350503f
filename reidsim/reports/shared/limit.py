"""The highest risk of a file: by default, at most one in eleven for a record and for a person who is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reidsim.errors import InputError, listed

# The threshold of the European Medicines Agency and of Health Canada for files that are made public.
USUAL_LIMIT = 1 / 11
# Success probabilities are quotients of counts; relative rounding error that still equals the limit.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FileRisk:
    """The highest probability of a successful re-identification in a file.

    Parameters
    ----------
    record : float
        Highest probability, over the shared records, that an attack on the record identifies its person.
    person : float
        Highest probability, over the people in the file, that a person who is looked up is matched to an own record.
    basis : str
        How both were obtained.
    known : tuple of str
        Kept columns that the adversary knows.
    """

    record: float
    person: float
    basis: str
    known: tuple[str, ...] = ()

    @property
    def highest(self) -> float:
        """The higher of both."""
        return max(self.record, self.person)

    def facts(self, limit: Limit) -> dict[str, Any]:
        """Return the risk and its limit as plain data."""
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
    """The highest risk that may be written.

    Parameters
    ----------
    value : float
        A probability.
    reason : str
        Origin of the value.
    """

    value: float
    reason: str

    def allows(self, risk: FileRisk) -> bool:
        """Return whether neither a record nor a person has a higher risk."""
        return risk.highest <= self.value * (1 + _ROUNDING)

    def require(self, risk: FileRisk, policy: str) -> None:
        """Check that neither a record nor a person has a higher risk.

        Raises
        ------
        InputError
            Names the higher of both risks, the limit, and the ways out.
        """
        if self.allows(risk):
            return
        of_person = risk.person > risk.record
        unit = "a person who is looked up in the file" if of_person else "a record"
        protects = '; adversary.direction = "both" makes no-attack protect people who are looked up' * of_person
        if risk.known:
            unit += f" for an adversary who knows {listed(risk.known)}"
            protects += "; --unknown-to-outsiders declares kept columns that no outsider knows"
        raise InputError(
            f"not written: under policy {policy!r} the risk of {unit} is {odds(risk.highest)}",
            where="--max-risk",
            expected=f"{odds(self.value)} at most ({self.reason})",
            hint=f"raise --max-risk, or write the file anyway with --accept-risk{protects}",
        )


def limit_of(max_risk: float | None) -> Limit:
    """Return the limit that the user named, or one in eleven.

    Raises
    ------
    InputError
        If the limit is not a probability.
    """
    if max_risk is None:
        return Limit(USUAL_LIMIT, "the default")
    if not 0 <= max_risk <= 1:
        raise InputError("not a probability", where="--max-risk", found=max_risk, expected="0 to 1")
    return Limit(max_risk, "as asked")


def odds(risk: float) -> str:
    """Return a probability with its odds, such as ``0.0909 (1 in 11)``."""
    return f"{risk:.4g} (1 in {1 / risk:.4g})" if 0 < risk < 1 else f"{risk:.0f}"
