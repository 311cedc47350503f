"""Kept columns of a released file: declarations, and people singled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.singled_out import numbered, people_singled_out, revealing_sets
from reidsim.errors import InputError, listed
from reidsim.wording import counted

# Maximum share of people singled out by undeclared kept columns.
MOST_SINGLED_OUT = 0.05
# Maximum number of column sets named in a message.
_SETS_SHOWN = 3
DECLARATION = "--unknown-to-outsiders"


@dataclass(frozen=True)
class Kept:
    """User options for columns that are kept unchanged.

    Parameters
    ----------
    columns : sequence of str
        Columns to keep; columns that identify most people are refused.
    identifiers : sequence of str
        Columns to keep even if they identify people.
    free_text : bool
        Whether to keep free text, which may name people.
    unknown_to_outsiders : sequence of str
        Kept columns whose values no outsider can know, in addition to columns declared in the scenario.
    max_singled_out : float
        Maximum share of people singled out by kept columns without such a declaration.
    """

    columns: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    free_text: bool = False
    unknown_to_outsiders: Sequence[str] = ()
    max_singled_out: float = MOST_SINGLED_OUT

    def __post_init__(self) -> None:
        if not 0 <= self.max_singled_out <= 1:
            raise InputError(
                "share out of range", where="--max-singled-out", found=self.max_singled_out, expected="0 to 1"
            )
        for name in self.unknown_to_outsiders:
            if name not in self.names:
                raise InputError(
                    "the column is not kept", where=DECLARATION, found=name, expected=f"one of {listed(self.names)}"
                )

    @property
    def names(self) -> list[str]:
        """All kept columns, each once."""
        return list(dict.fromkeys((*self.columns, *self.identifiers)))

    def declared(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the kept columns that no outsider knows, with the reason.

        Parameters
        ----------
        content : mapping
            Scenario content; its section ``kept`` declares columns.
        """
        section = content.get("kept", {})
        in_scenario = {name: section[name]["reason"] for name in self.names if name in section}
        return dict.fromkeys(self.unknown_to_outsiders, f"{DECLARATION} of reidsim share") | in_scenario


@dataclass(frozen=True, eq=False)
class SingledOut:
    """Number of people singled out by quasi-identifiers and kept columns of a file.

    A person is singled out if the combination of values in one of the person's rows is unique to the person.

    Parameters
    ----------
    people : int
        Number of people with a row in the file.
    by_quasi_identifiers, by_all_columns : int
        Number of people singled out by the released quasi-identifiers, and by them together with all kept columns.
    by_declared : dict of str to int
        Number of people singled out by the quasi-identifiers and one declared column.
    sets : tuple of tuple of str
        Smallest sets of kept columns, at least one of them not declared, that single out too many people: together with
        the quasi-identifiers, more people than the quasi-identifiers alone, by more than the allowed share of people.
    by_set : int
        Number of people singled out by the quasi-identifiers and the first of these sets; 0 if there is none.
    """

    people: int
    by_quasi_identifiers: int
    by_all_columns: int
    by_declared: dict[str, int]
    sets: tuple[tuple[str, ...], ...]
    by_set: int

    @classmethod
    def count(
        cls,
        quasi_identifiers: pd.DataFrame,
        kept: pd.DataFrame,
        person: NDArray[np.int64],
        declared: Mapping[str, str],
        most: float,
    ) -> SingledOut:
        """Count the people singled out in the rows of a file.

        Parameters
        ----------
        quasi_identifiers, kept : DataFrame
            Columns of the file, as text.
        person : ndarray of int, shape (n_rows,)
            Person number of each row.
        declared : mapping of str to str
            Kept columns that no outsider knows, with the reason.
        most : float
            Maximum share of people that a set of kept columns may single out beyond the quasi-identifiers.
        """
        released, columns = list(numbered(quasi_identifiers).values()), numbered(kept)
        sets = revealing_sets(released, columns, person, most, declared)
        first = [columns[name] for name in sets[0]] if sets else []
        return cls(
            people=len(np.unique(person)),
            by_quasi_identifiers=people_singled_out(released, person),
            by_all_columns=people_singled_out([*released, *columns.values()], person),
            by_declared={
                name: people_singled_out([*released, columns[name]], person) for name in columns if name in declared
            },
            sets=tuple(sets),
            by_set=people_singled_out([*released, *first], person) if sets else 0,
        )

    def require_few(self, most: float) -> None:
        """Check that no set of undeclared kept columns singles out too many people.

        Raises
        ------
        InputError
            If a set does; the message names the smallest sets.
        """
        if not self.sets:
            return
        shown = " or ".join(" with ".join(map(repr, names)) for names in self.sets[:_SETS_SHOWN])
        more = len(self.sets) - _SETS_SHOWN
        raise InputError(
            f"not written: kept columns single out people together with the quasi-identifiers: {shown}"
            + (f" or {counted(more, 'other set', 'other sets')}" if more > 0 else ""),
            where="--keep",
            found=f"{self.by_set:,} of {counted(self.people, 'person', 'people')} singled out",
            expected=f"at most {most:.0%} more than without these columns (--max-singled-out)",
            hint=f"if no outsider can know a column, declare it: {DECLARATION} {','.join(self.sets[0])}, "
            "or section [kept] of the scenario",
        )

    def facts(self, declared: Mapping[str, str]) -> dict[str, Any]:
        """Return the counts and declarations as plain data."""
        return {
            "definition": "people with a row whose released and kept values no other person in the file has",
            "people": self.people,
            "by_quasi_identifiers": self.by_quasi_identifiers,
            "by_all_columns": self.by_all_columns,
            "declared_unknown_to_outsiders": [
                {"name": name, "reason": reason, "singled_out": self.by_declared[name]}
                for name, reason in declared.items()
                if name in self.by_declared
            ],
        }
