"""Kept columns of a released file: declarations, and people singled out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.core.errors import InputError, listed
from reidsim.core.wording import counted
from reidsim.drafts.names import is_free_text
from reidsim.populations.population import distinct_rows

Codes = NDArray[np.integer[Any]]

# Maximum share of people singled out by undeclared kept columns.
MOST_SINGLED_OUT = 0.05
# Maximum number of column sets named in a message.
_SETS_SHOWN = 3
DECLARATION = "--unknown-to-outsiders"
# Reason why a quasi-identifier cannot be a kept column.
GENERALIZED = "the column is a quasi-identifier, which the shared file already contains in generalized form"

# Maximum number of sets of columns to try; each takes about 2 ms for 20,000 rows.
_MOST_SETS = 2_000


def require_file(path: Path, expected: str, *, source: str | Path | None = None, hint: str | None = None) -> None:
    """Check that a path is an existing file.

    `expected` (a description of the file), `source` (a name in place of the path) and `hint` are for the message.

    Raises
    ------
    InputError
        If it is not.
    """
    if not path.is_file():
        raise InputError("no such file", source=source or path, expected=expected, hint=hint)


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
        Maximum share of people, in [0, 1], singled out by kept columns without such a declaration.

    Raises
    ------
    InputError
        If the share is out of range, or a column in `unknown_to_outsiders` is not kept.
    """

    columns: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    free_text: bool = False
    unknown_to_outsiders: Sequence[str] = ()
    max_singled_out: float = MOST_SINGLED_OUT

    def __post_init__(self) -> None:
        most = self.max_singled_out
        if not 0 <= most <= 1:
            raise InputError("share out of range", where="--max-singled-out", found=most, expected="0 to 1")
        other = next((name for name in self.unknown_to_outsiders if name not in self.names), None)
        if other is not None:
            expected = f"one of {listed(self.names)}"
            raise InputError("the column is not kept", where=DECLARATION, found=other, expected=expected)

    @property
    def names(self) -> list[str]:
        """All kept columns, each once."""
        return list(dict.fromkeys((*self.columns, *self.identifiers)))

    def declared(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the reason why no outsider knows a column, by kept column.

        Only declared columns have a reason. A reason in the scenario takes precedence over the user's option.

        Parameters
        ----------
        content : mapping
            Scenario content; its section ``kept`` declares columns.
        """
        section = content.get("kept", {})
        in_scenario = {name: section[name]["reason"] for name in self.names if name in section}
        return dict.fromkeys(self.unknown_to_outsiders, f"{DECLARATION} of reidsim share") | in_scenario

    def identifying(
        self,
        frame: pd.DataFrame,
        source: Path,
        persons: NDArray[np.int64] | None = None,
        declared: Collection[str] = (),
    ) -> dict[str, str]:
        """Return the reason why a column identifies most people, by kept column.

        Only columns that do have a reason.

        Parameters
        ----------
        frame : DataFrame
            The records, as text, with the kept columns.
        source : Path
            Path shown in error messages.
        persons : ndarray of int, shape (n_records,), optional
            Person of each record; if not given, each record is a person.
        declared : collection of str
            Columns whose values no outsider knows; unique values in these columns do not identify a person.

        Raises
        ------
        InputError
            If an identifying column is not in `identifiers`, or a column in `columns` holds free text and free text is
            not allowed; the message names the first one.
        """
        identifying = {
            name: why
            for name in self.names
            if (why := why_identifying(name, frame[name], persons, unique=name not in declared))
        }
        refused = next((name for name in identifying if name not in self.identifiers), None)
        if refused is not None:
            raise InputError(
                f"the column could identify most people: {identifying[refused]}",
                source=source,
                where="--keep",
                found=refused,
                expected="a column that does not identify people",
                hint=f"use --keep-identifier {refused} to keep the column anyway",
            )
        for name in () if self.free_text else self.columns:
            if is_free_text([value for value in frame[name].unique() if value]):
                raise InputError(
                    "the column holds free text, which may name people",
                    source=source,
                    where="--keep",
                    found=name,
                    expected="a column of categories or numbers",
                    hint="use --keep-free-text to keep the column anyway",
                )
        return identifying


NOTHING_KEPT = Kept()


def singled_out(
    quasi_identifiers: pd.DataFrame,
    kept: pd.DataFrame,
    person: NDArray[np.int64],
    declared: Mapping[str, str],
    most: float,
) -> dict[str, Any]:
    """Count the people singled out by quasi-identifiers and kept columns of a file.

    A person is singled out if the combination of values in one of the person's rows is unique to the person.

    Parameters
    ----------
    quasi_identifiers, kept : DataFrame
        Columns of the file, as text.
    person : ndarray of int, shape (n_rows,)
        Person number of each row.
    declared : mapping of str to str
        Kept columns that no outsider knows, with the reason.
    most : float
        Maximum share of people that a set of kept columns, at least one of them not declared, may single out beyond the
        quasi-identifiers.

    Returns
    -------
    dict
        Plain data: definition, number of people, people singled out by the quasi-identifiers alone and with all kept
        columns, and each declared column with its reason and the people singled out by it with the quasi-identifiers.

    Raises
    ------
    InputError
        If a set of kept columns singles out too many people; the message names the smallest sets.
    """
    released, columns = list(numbered(quasi_identifiers).values()), numbered(kept)
    people, sets = len(np.unique(person)), revealing_sets(released, columns, person, most, declared)

    def counting(names: Collection[str]) -> int:
        return people_singled_out([*released, *(columns[name] for name in names)], person)

    if sets:
        shown = " or ".join(" with ".join(map(repr, names)) for names in sets[:_SETS_SHOWN])
        more = len(sets) - _SETS_SHOWN
        raise InputError(
            f"not written: kept columns single out people together with the quasi-identifiers: {shown}"
            + (f" or {counted(more, 'other set', 'other sets')}" if more > 0 else ""),
            where="--keep",
            found=f"{counting(sets[0]):,} of {counted(people, 'person', 'people')} singled out",
            expected=f"at most {most:.0%} more than without these columns (--max-singled-out)",
            hint=f"if no outsider can know a column, declare it: {DECLARATION} {','.join(sets[0])}, "
            "or section [kept] of the scenario",
        )
    return {
        "definition": "people with a row whose released and kept values no other person in the file has",
        "people": people,
        "by_quasi_identifiers": counting(()),
        "by_all_columns": counting(columns),
        "declared_unknown_to_outsiders": [
            {"name": name, "reason": reason, "singled_out": counting([name])}
            for name, reason in declared.items()
            if name in columns
        ],
    }


def people_singled_out(columns: Sequence[Codes], person: Codes) -> int:
    """Return the number of people with a row whose combination of values is unique.

    The combination must not occur in rows of other people.

    Parameters
    ----------
    columns : sequence of ndarray of int, each of shape (n_rows,)
        Codes of the values in each column.
    person : ndarray of int, shape (n_rows,)
        Person of each row.
    """
    pairs = pd.DataFrame({"group": distinct_rows(columns, len(person))[1], "person": person}).drop_duplicates()
    return pairs["person"][~pairs.duplicated("group", keep=False)].nunique()


def revealing_sets(
    quasi_identifiers: Sequence[Codes], kept: Mapping[str, Codes], person: Codes, most: float, declared: Collection[str]
) -> list[tuple[str, ...]]:
    """Return the smallest sets of kept columns that single out too many people.

    A set always includes the quasi-identifiers; see `people_singled_out`. Sets are tried in order of the number of
    their kept columns. Once a set singles out too many people, its supersets are not tried, because they single out at
    least as many. This also applies to a set of declared columns only, which is not returned. The search ends at the
    first size at which a set with an undeclared column singles out too many people, and returns all such sets of this
    size.

    After 2,000 sets, another method replaces the search: columns are removed from the set of all undeclared columns,
    one by one, as long as the remaining columns single out too many people. This gives one set from which no column can
    be removed, or none if all undeclared columns together do not single out too many people.

    Parameters
    ----------
    quasi_identifiers : sequence of ndarray of int, each of shape (n_rows,)
        Codes of the released values of the quasi-identifiers.
    kept : mapping of str to ndarray of int, each of shape (n_rows,)
        Codes of the values of each kept column.
    person : ndarray of int, shape (n_rows,)
        Person of each row.
    most : float
        Largest accepted increase in the number of people singled out, compared with the quasi-identifiers alone, as a
        share of all people, in [0, 1].
    declared : collection of str
        Kept columns that are declared as unknown to outsiders.

    Returns
    -------
    list of tuple of str
        Sets with at least one undeclared column, all of the same size; empty if none was found.
    """
    n_people = len(np.unique(person))
    released = distinct_rows(quasi_identifiers, len(person))[1]
    allowed = people_singled_out([released], person) + most * n_people

    def reveals(names: Sequence[str]) -> bool:
        return people_singled_out([released, *(kept[name] for name in names)], person) > allowed

    if not n_people or not reveals(list(kept)):
        return []
    smallest: list[tuple[str, ...]] = []
    tried = 0
    for size in range(1, len(kept) + 1):
        found = []
        for names in combinations(kept, size):
            if any(set(names) >= set(within) for within in smallest):
                continue
            tried += 1
            if tried > _MOST_SETS:
                undeclared = [name for name in kept if name not in declared]
                return [_irreducible(undeclared, reveals)] if reveals(undeclared) else []
            if reveals(names):
                smallest.append(names)
                found.append(names)
        undeclared_sets = [names for names in found if not set(names) <= set(declared)]
        if undeclared_sets:
            return undeclared_sets
    return []


def numbered(columns: pd.DataFrame) -> dict[str, Codes]:
    """Return the codes of each column's values, from 0, by column name.

    Codes have shape (n_rows,). Values that differ only in surrounding spaces have the same code.
    """
    return {str(name): pd.factorize(columns[name].str.strip())[0].astype(np.int64) for name in columns}


def _irreducible(names: Sequence[str], reveals: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    rest = tuple(names)
    for name in names:
        without = tuple(other for other in rest if other != name)
        rest = without if reveals(without) else rest
    return rest
