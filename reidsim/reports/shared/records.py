"""Assemble the records that a policy releases: quasi-identifiers, and kept columns with the people they single out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.audit.release import TrueRecords
from reidsim.core.errors import InputError, listed, locating, require_among, require_distinct
from reidsim.core.files import is_parquet_folder
from reidsim.core.tables import OverFiles, coded, in_turn, require_columns
from reidsim.core.validation import validated
from reidsim.core.wording import counted
from reidsim.drafts.profile import is_free_text
from reidsim.engine.results import find_release_file, require_hash
from reidsim.populations.population import distinct_rows, row_keys
from reidsim.populations.population import numbered as numbered_values
from reidsim.releases.hierarchy import SUPPRESSED, read_hierarchy_rows
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.parts import DECIDED, UNORDERED, PolicyRows, require_number, row_order
from reidsim.reports.writer import lines_of
from reidsim.scenarios.kind import Kind, LimitedColumns, SensitiveColumn, SharedColumns, key_columns, refuse_keys
from reidsim.scenarios.registry import scenario_kind
from reidsim.scenarios.schema import HISTORY_COLUMNS, ScenarioHead

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
    """Check that a path is an existing file, or a folder of Parquet files.

    `expected` (a description of the file), `source` (a name in place of the path) and `hint` are for the message.

    Raises
    ------
    InputError
        If it is not.
    """
    if not (path.is_file() or is_parquet_folder(path)):
        raise InputError("no such file", source=source or path, expected=expected, hint=hint)


def shared_by_scenario(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that the section ``kept`` of a scenario shares."""
    return [name for name, section in content.get("kept", {}).items() if section.get("share")]


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
        If the share is out of range.
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

    @property
    def names(self) -> list[str]:
        """All kept columns, each once."""
        return list(dict.fromkeys((*self.columns, *self.identifiers)))

    def with_scenario(self, content: Mapping[str, Any]) -> Kept:
        """Return the options with the columns that the section ``kept`` of a scenario shares.

        Raises
        ------
        InputError
            If a column is kept that the section calls a direct identifier, and it is not in the field `identifiers`.
        """
        shared, section = shared_by_scenario(content), content.get("kept", {})
        direct = [name for name in self.columns if section.get(name, {}).get("known_to") == "everyone"]
        if direct:
            problem, hint = "the scenario names the column a direct identifier", f"use --keep-identifier {direct[0]}"
            raise InputError(problem, where="--keep", found=direct[0], hint=hint)
        return replace(self, columns=(*self.columns, *(name for name in shared if name not in self.names)))

    def declared(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the reason why no outsider knows a column, by kept column.

        Only declared columns have a reason. A reason in the scenario takes precedence over the user's option.

        Parameters
        ----------
        content : mapping
            Scenario content; its section ``kept`` declares columns.

        Raises
        ------
        InputError
            If a column in `unknown_to_outsiders` is not kept.
        """
        problem, kept = "the column is not kept", "a kept column"
        require_among(problem, self.unknown_to_outsiders, self.names, where=DECLARATION, otherwise=kept)
        section = content.get("kept", {})
        in_scenario = {name: section[name]["reason"] for name in self.names if "reason" in section.get(name, {})}
        return dict.fromkeys(self.unknown_to_outsiders, f"{DECLARATION} of reidsim share") | in_scenario

    def identifying(
        self,
        frame: pd.DataFrame,
        source: Path,
        persons: Codes | None = None,
        declared: Collection[str] = (),
        represented: NDArray[np.int64] | None = None,
    ) -> dict[str, str]:
        """Return, for each kept column that identifies most people, the reason, by column.

        Other columns are not in the result.

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
        represented : ndarray of int64, shape (n_people,), optional
            Number of people whom each person represents; 1 by default.

        Raises
        ------
        InputError
            If a column of the result is not in the field `identifiers`; or if a column in the field `columns` holds
            free text and the field `free_text` is False. The message names the first such column.
        """
        identifying = {
            name: why
            for name in self.names
            if (
                why := why_identifying(name, frame[name], persons, unique=name not in declared, represented=represented)
            )
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
    classes: Codes,
    kept: pd.DataFrame,
    person: Codes,
    declared: Mapping[str, str],
    most: float,
    represented: NDArray[np.int64],
) -> dict[str, Any]:
    """Count the people singled out by quasi-identifiers and kept columns of a file.

    A person is singled out if the combination of values in one of the person's rows is unique to the person.

    Parameters
    ----------
    classes : ndarray of int, shape (n_rows,)
        Equivalence class of each row; see `classes_of`.
    kept : DataFrame
        Kept columns of the file, as text.
    person : ndarray of int, shape (n_rows,)
        Person number of each row.
    declared : mapping of str to str
        Kept columns that no outsider knows, with the reason.
    most : float
        Maximum share of people that a set of kept columns, at least one of them not declared, may single out beyond the
        quasi-identifiers.
    represented : ndarray of int64, shape (n_people,)
        Number of people whom each person represents.

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
    columns = numbered(kept)
    people = int(represented[numbered_values(person)[0]].sum())
    sets = revealing_sets([classes], columns, person, most, declared, represented)

    def counting(names: Collection[str]) -> int:
        return people_singled_out([classes, *(columns[name] for name in names)], person, represented)

    if sets:
        shown = " or ".join(" with ".join(map(repr, names)) for names in sets[:_SETS_SHOWN])
        more = len(sets) - _SETS_SHOWN
        raise InputError(
            f"not written: kept columns single out people together with the quasi-identifiers: {shown}"
            + (f" or {counted(more, 'other set', 'other sets')}" if more > 0 else ""),
            where="--keep",
            found=f"{counting(sets[0]):,} of {counted(people, 'person', 'people')} singled out",
            expected=f"at most {most:.0%} more than without these columns (--max-singled-out)",
            hint=f"if no outsider can know a column, declare it: {DECLARATION} {','.join(sets[0])}",
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


def joint_uniqueness(shared: SharedRecords) -> pd.DataFrame:
    """Return the people singled out by sets of kept columns together with the quasi-identifiers.

    Unlike `singled_out`, it refuses nothing.

    Parameters
    ----------
    shared : SharedRecords
        Records to be released.

    Returns
    -------
    DataFrame
        One row per set: none of the kept columns, each of them, all of them, and the smallest sets that single out too
        many people (see `revealing_sets`). Columns ``columns`` (tuple of names), ``people``, ``share`` of all people,
        and ``too_many``.
    """
    real, kept, represented = shared.is_real, shared.kept, shared.source.represented
    person = shared.source.persons[shared.own[real]]
    classes = classes_of(shared.table.loc[real], list(shared.quasi_identifiers))
    columns = numbered(shared.table.loc[real, shared.kept_columns])
    too_many = revealing_sets([classes], columns, person, kept.max_singled_out, shared.declared, represented)
    sets = dict.fromkeys([(), *((name,) for name in columns), tuple(columns), *too_many])
    people = [people_singled_out([classes, *map(columns.__getitem__, names)], person, represented) for names in sets]
    n_people = max(int(represented[numbered_values(person)[0]].sum()), 1)
    facts = {"columns": list(sets), "people": people, "share": np.divide(people, n_people)}
    return pd.DataFrame(facts).assign(too_many=[names in too_many for names in sets])


def people_singled_out(columns: Sequence[Codes], person: Codes, represented: NDArray[np.int64] | None = None) -> int:
    """Return the number of people with a row whose combination of values is unique.

    The combination must not occur in rows of other people.

    Parameters
    ----------
    columns : sequence of ndarray of int, each of shape (n_rows,)
        Codes of the values in each column.
    person : ndarray of int, shape (n_rows,)
        Person of each row.
    represented : ndarray of int64, shape (n_people,), optional
        Number of people with equal rows whom each person represents; 1 by default.
    """
    first, group = distinct_rows(columns, len(person))
    is_common = np.zeros(len(first), dtype=np.bool_)
    is_common[group[person != person[first][group]]] = True
    if represented is not None:
        is_common[group[represented[person] > 1]] = True
    return len(numbered_values(person[~is_common[group]])[0])


def revealing_sets(
    quasi_identifiers: Sequence[Codes],
    kept: Mapping[str, Codes],
    person: Codes,
    most: float,
    declared: Collection[str],
    represented: NDArray[np.int64] | None = None,
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
    represented : ndarray of int64, shape (n_people,), optional
        See `people_singled_out`.

    Returns
    -------
    list of tuple of str
        Sets with at least one undeclared column, all of the same size; empty if none was found.
    """
    distinct = numbered_values(person)[0]
    n_people = len(distinct) if represented is None else int(represented[distinct].sum())
    released = distinct_rows(quasi_identifiers, len(person))[1]
    allowed = people_singled_out([released], person, represented) + most * n_people

    def reveals(names: Sequence[str]) -> bool:
        return people_singled_out([released, *(kept[name] for name in names)], person, represented) > allowed

    if not n_people or not kept or not reveals(list(kept)):
        return []
    smallest, tried = list[tuple[str, ...]](), 0
    for size in range(1, len(kept) + 1):
        others = (names for names in combinations(kept, size) if not any(set(names) >= {*each} for each in smallest))
        candidates = list(islice(others, _MOST_SETS - tried + 1))
        tried += len(candidates)
        if tried > _MOST_SETS:
            undeclared = [name for name in kept if name not in declared]
            return [_irreducible(undeclared, reveals)] if reveals(undeclared) else []
        found = [names for names in candidates if reveals(names)]
        smallest += found
        undeclared_sets = [names for names in found if not set(names) <= set(declared)]
        if undeclared_sets:
            return undeclared_sets
    return []


def numbered(columns: pd.DataFrame) -> dict[str, Codes]:
    """Return the codes of each column's values, from 0, by column name.

    Codes have shape (n_rows,). Values that differ only in surrounding spaces have the same code.
    """
    return {str(name): coded(columns[name])[0].astype(np.int64) for name in columns}


def classes_of(table: pd.DataFrame, quasi_identifiers: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each row's equivalence class, in the order of their first rows, shape (n_rows,).

    Rows with equal values in the columns `quasi_identifiers` have the same number. Without quasi-identifiers, all rows
    are in class 0.
    """
    rows = row_keys(list(numbered(table[quasi_identifiers]).values()), len(table))
    return pd.factorize(rows)[0].astype(np.int64)


def _irreducible(names: Sequence[str], reveals: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    rest = tuple(names)
    for name in names:
        without = tuple(other for other in rest if other != name)
        rest = without if reveals(without) else rest
    return rest


# Prefix by which spreadsheets recognize a formula; signed numbers are excluded.
_FORMULA = r"[=+\-@](?![\d.,]+$)."


@dataclass(frozen=True, eq=False)
class ChosenForms:
    """Strategy of a policy for every record, and the released values.

    Parameters
    ----------
    labels : DataFrame
        One categorical column of texts per quasi-identifier, one row per record in the order of the source file; ``*``
        if suppressed or masked.
    shared : ndarray of bool, shape (n_records,)
        Whether each record is released; labels of other records must not be used.
    success : ndarray of float64, shape (n_records,)
        Success probability of an attack on each record in the game; 0 if the record is not released.
    strategies : Series
        Strategy of each record as in results, such as levels ``"0,3,1"``, as a categorical of texts.
    participates : ndarray of bool, shape (n_records,)
        Whether each record's person takes part in the release; records of others are not released.
    history : DataFrame, optional
        Rounds in which each record's person took part, and in which the record was released, as text; only if
        adversaries remember.
    """

    labels: pd.DataFrame
    shared: NDArray[np.bool_]
    success: NDArray[np.float64]
    strategies: pd.Series[Any]
    participates: NDArray[np.bool_]
    history: pd.DataFrame | None = None

    @property
    def highest_risk(self) -> float:
        """Highest success probability of a released record, attacked or not; 0 if none."""
        return float(self.success.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class SharedRecords:
    """Records of a run to be released under a policy.

    Parameters
    ----------
    policy : str
        Name of the policy.
    table : DataFrame
        Text, one row per released record of `source`, with the columns of the source file in their order. Rows are
        sorted, so that their position reveals nothing.
    quasi_identifiers : dict of str to str
        Attribute name of each quasi-identifier column, by column of `table`.
    forms : ChosenForms
        Strategy of the policy for every source record.
    source : SourceRecords
        Source records to generalize.
    own : ndarray of int, shape (n_rows,)
        Source record of each row; -1 for a counterfeit record.
    sensitive : SensitiveColumn, optional
        Column that the policy protects from inference.
    declared : dict of str to str
        Kept columns that no outsider knows, with the reason.
    kept : Kept
        User options for kept columns.
    warnings : tuple of str
        Problems to review before the release.
    """

    policy: str
    table: pd.DataFrame
    quasi_identifiers: dict[str, str]
    forms: ChosenForms
    source: SourceRecords
    own: NDArray[np.intp]
    sensitive: SensitiveColumn | None
    declared: dict[str, str]
    kept: Kept
    warnings: tuple[str, ...]

    @property
    def times(self) -> NDArray[np.int64]:
        """Number of rows of the file that are equal to each row of `table`, shape (n_rows,)."""
        return np.where(self.is_real, self.source.times[self.own], 1)

    @property
    def withheld(self) -> int:
        """Number of source records that are not released."""
        return int(self.source.times.sum() - self.times[self.is_real].sum())

    @property
    def is_perturbed(self) -> bool:
        """Whether the policy perturbs values, so that rows may differ from the true values of their record."""
        return self.source.kind.is_perturbed(self.policy)

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """Whether each row is a source record, not a counterfeit, shape (n_rows,)."""
        return np.asarray(self.own >= 0)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Whether each person takes part in the release, shape (n_people,)."""
        present = np.zeros(len(self.source.represented), dtype=np.bool_)
        present[self.source.persons[self.forms.participates]] = True
        return present

    @property
    def kept_columns(self) -> list[str]:
        """Names of the columns of the table that are not quasi-identifiers."""
        return [str(name) for name in self.table.columns if name not in self.quasi_identifiers]


@dataclass(frozen=True, eq=False)
class SourceRecords:
    """Records of a run as read from their file.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    kind : Kind
        Kind of game of the scenario.
    scenario : ScenarioHead
        The scenario of the run.
    columns : SharedColumns
        Columns of the file: quasi-identifiers, person key and hierarchies.
    path : Path
        File of the records.
    frame : DataFrame
        Columns of the file, with unchanged values; its index has the position of each row in the file.
    times : ndarray of int64, shape (n_records,)
        Number of rows of the file that each row of `frame` represents: equal rows with equal outcomes may be one row.
    """

    run: StoredRun
    kind: Kind
    scenario: ScenarioHead
    columns: SharedColumns
    path: Path
    frame: pd.DataFrame
    times: NDArray[np.int64]

    @property
    def attribute_of(self) -> dict[str, str]:
        """Name of the attribute of each quasi-identifier, by column of the file."""
        return {column: attribute for attribute, column in self.columns.column_of.items()}

    @property
    def persons(self) -> NDArray[np.int64]:
        """Person number of each record, shape (n_records,).

        A record with a missing key value counts as a separate person. Without a key, every record is a person.
        """
        return self._people[0]

    @property
    def represented(self) -> NDArray[np.int64]:
        """Number of people whom each person represents, shape (n_people,)."""
        return self._people[1]

    @cached_property
    def _people(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        key, rows = key_columns(self.columns.person), np.arange(len(self.frame))
        require_columns(self.frame, key, self.path)
        if not key:
            return rows, self.times
        columns = [coded(self.frame[column]) for column in key]
        alone = np.logical_or.reduce([(texts == "")[codes] for codes, texts in columns])
        # Keys of people, and of single records, are numbered in the order of their first records.
        people = row_keys([codes for codes, _ in columns], len(rows))
        persons = pd.factorize(np.where(alone, -1 - rows, people))[0].astype(np.int64)
        represented = np.ones(int(persons.max(initial=-1)) + 1, np.int64)
        represented[persons[alone]] = self.times[alone]
        return persons, represented

    @cached_property
    def truth(self) -> pd.DataFrame:
        """True quasi-identifiers, one row per record and one categorical column of texts per attribute."""
        return self.kind.true_values(self.scenario, self.frame, self.path)

    @cached_property
    def people(self) -> TrueRecords:
        """True quasi-identifiers of all people, with which releases are audited."""
        return TrueRecords(self.truth, self.persons, self.hierarchies, self.represented, self.times)

    @cached_property
    def stars(self) -> list[str]:
        """Columns of quasi-identifiers with a true value ``*``, which is not declared as such."""
        named = [column for name, column in self.columns.column_of.items() if name not in self.columns.stars]
        return [column for column in named if SUPPRESSED in coded(self.frame[column])[1]]

    @cached_property
    def limited(self) -> LimitedColumns | None:
        """Sensitive columns with limits on inference from the file; None without limits."""
        return self.kind.limited_columns(self.scenario, self.frame, self.path, lambda: self.hierarchies)

    @cached_property
    def hierarchies(self) -> dict[str, list[list[str]]]:
        """Rows of the hierarchy files as text, by attribute.

        Headers are omitted; attributes without a file have no entry.

        Raises
        ------
        InputError
            If a file is missing or was changed, or the run does not record it.
        """
        release, rows = self.run.manifest["release_file"], {}
        for name, file in (self.columns.hierarchies or {}).items():
            recorded, hint = release.get("hierarchies", {}).get(name), "run the scenario again"
            if recorded is None:
                problem = "the run does not record the hierarchy"
                raise InputError(problem, source=self.run.folder, where=f"attributes.{name}", hint=hint)
            path = find_release_file(recorded["path"])
            if not path.is_file():
                # If the records were moved, look for the hierarchy at the same relative path.
                path = self.path.parent / os.path.relpath(recorded["path"], Path(release["path"]).parent)
            require_file(path, f"the hierarchy of attribute {name!r}", source=recorded["path"])
            require_hash(path, recorded["sha256"], "the hierarchy differs from the hierarchy of the run", hint=hint)
            rows[name] = read_hierarchy_rows(path, delimiter=file.delimiter)[int(file.header) :]
        return rows


def policies_of(run: StoredRun) -> list[str]:
    """Return the names of the policies in a run's table of records.

    They are in the order of the table.

    Raises
    ------
    InputError
        If there is no such table, or the results are of several points of a batch or several replications.
    """
    keys = run.record_keys.frame
    require_columns(keys, ["policy"], run.folder / "records.parquet")
    for table, column in product((run.runs, keys), ("point", "replication")):
        if column in table and len(table[column].unique()) > 1:
            problem, expected = "the results contain several runs", "a single run"
            raise InputError(problem, source=run.folder, where=column, expected=expected)
    return list(keys["policy"].drop_duplicates().astype("str"))


def chosen_forms(
    run: StoredRun, kind: Kind, scenario: ScenarioHead, attributes: Sequence[str], policy: str
) -> ChosenForms:
    """Read the strategies and released values that a policy of a run chose.

    There is one of each per record.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    kind : Kind
        Kind of game of the scenario.
    scenario : ScenarioHead
        The scenario of the run.
    attributes : sequence of str
        Names of the quasi-identifiers.
    policy : str
        One of the policies from `policies_of`.

    Raises
    ------
    InputError
        If a column is missing, or records are in a different order.
    """
    table, path = run.records_of(policy), run.folder / "records.parquet"
    require_columns(table, ("record", "policy", *DECIDED, *attributes), path)
    if not np.array_equal(table["record"].to_numpy(), np.arange(len(table))):
        raise InputError(UNORDERED, source=path)
    return forms_of(table, kind, scenario, attributes)


def forms_of(table: pd.DataFrame, kind: Kind, scenario: ScenarioHead, attributes: Sequence[str]) -> ChosenForms:
    """Return the strategies and released values of rows of the table of records; see `chosen_forms`."""
    labels = {name: kind.released_values(scenario, table, name).astype("category") for name in attributes}
    everybody = np.ones(len(table), dtype=np.bool_)
    participates = table["participates"].to_numpy(dtype=bool) if "participates" in table else everybody
    # With agents, people who do not participate also have a strategy, but their records are not released.
    shared = kind.is_shared(table) & participates
    success = np.where(shared, table["success_probability"].fillna(0.0).to_numpy(dtype=np.float64), 0.0)
    strategies = table["strategy"].astype("category")
    history = table[[*HISTORY_COLUMNS]] if {*HISTORY_COLUMNS} <= {*table} else None
    return ChosenForms(pd.DataFrame(labels, index=table.index), shared, success, strategies, participates, history)


def source_records(run: StoredRun) -> SourceRecords:
    """Read all source records of a run; see `source_of`."""
    kind, scenario, columns, path = source_of(run)
    frame = kind.read_records(scenario, path)
    require_columns(frame, columns.column_of.values(), path)
    return SourceRecords(run, kind, scenario, columns, path, frame, np.ones(len(frame), np.int64))


def source_of(
    run: StoredRun, *, data: Path | None = None, allow_code: bool = False
) -> tuple[Kind, ScenarioHead, SharedColumns, Path]:
    """Return kind, scenario, columns and file of the source records of a run, after a check of the file's hash.

    Parameters
    ----------
    run : StoredRun
        Run of a game kind that reads records from a file.
    data : Path, optional
        Path of the records, if the file was moved.
    allow_code : bool
        Whether the module of a kind of game that the scenario names may be imported.

    Raises
    ------
    InputError
        If the run is a batch or has no file of records, the file is missing or not the one of the run, a column of a
        quasi-identifier is missing, or two attributes use the same column.
    """
    if "design" in run.manifest:
        hint = f"run reidsim rerun {run.folder} --run POINT/REPLICATION -o NEW to repeat a run with records"
        expected = "results of a single run"
        raise InputError("a batch does not keep records", source=run.folder, expected=expected, hint=hint)
    recorded: Any = run.manifest.get("release_file")
    if not isinstance(recorded, dict) or not {"path", "sha256"} <= set(recorded):
        expected = "a scenario with release.path or targets.file"
        raise InputError("the run did not read its records from a file", source=run.folder, expected=expected)
    path = data or find_release_file(str(recorded["path"]))
    moved = None if data else "name the file with --data, or go to the folder of the run"
    require_file(path, "the records of the run", hint=moved)
    hint = "run the scenario again; on the desk, read the file again in step File"
    require_hash(path, recorded["sha256"], "the file differs from the file of the run", hint=hint)
    kind = scenario_kind(run.content, Path("manifest.json"), allow_code=allow_code)
    own_parts = run.manifest.get("parts", ())
    scenario = validated(kind.schema, run.content, run.folder / "manifest.json", own_parts)
    with locating(run.folder):
        columns = kind.shared_columns(scenario)
    require_distinct("two attributes use the same column", columns.column_of.values(), source=run.folder)
    return kind, scenario, columns, path


def shared_records(
    run: StoredRun,
    *,
    policy: str | None = None,
    kept: Kept = NOTHING_KEPT,
    data: Path | None = None,
    allow_code: bool = False,
    over_files: OverFiles = in_turn,
) -> SharedRecords:
    """Assemble the records that a policy of a run releases, without reading all of them at once.

    Parameters
    ----------
    run : StoredRun
        Results of a single run whose records come from a file.
    policy : str, optional
        Name of the policy; may be omitted if the run has only one.
    kept : Kept
        Columns to copy unchanged in addition to the quasi-identifiers.
    data, allow_code
        See `source_of`.
    over_files : callable
        Reads the files of a folder of Parquet files; by default, one after the other.

    Raises
    ------
    InputError
        If no policy has this name, the run has several policies and no name is given, the policy protects a column that
        is not kept or perturbs values beside a kept column that outsiders may know, or `source_of` or
        `records_of_policy` raises it.
    """
    kind, scenario, columns, path = source_of(run, data=data, allow_code=allow_code)
    policies = policies_of(run)
    if policy is None and len(policies) > 1:
        expected = f"--policy, one of {listed(policies)}"
        raise InputError("the results contain several policies", source=run.folder, expected=expected)
    chosen = policies[0] if policy is None else policy
    require_among("no such policy in the results", (chosen,), policies, source=run.folder, where="--policy")
    sensitive = kind.sensitive_column(scenario, chosen)
    if sensitive is not None and sensitive.name not in kept.names:
        raise InputError(
            f"policy {chosen!r} protects a column that is not kept",
            where="--keep",
            found=listed(kept.names) or "no column",
            expected=sensitive.name,
        )
    known = [name for name in kept.names if name not in kept.declared(run.content)]
    if known and kind.is_perturbed(chosen):
        raise InputError(
            f"the risk of kept columns is not computed for policy {chosen!r}, which perturbs values",
            where="--keep",
            found=known[0],
            hint="declare columns that no outsider knows with --unknown-to-outsiders; reidsim score evaluates a file",
        )
    attributes = list(columns.column_of)
    needed = (*columns.column_of.values(), *kept.names, *columns.sensitive, *key_columns(columns.person))
    # The position of a counterfeit among the records is found by the numbers of records.
    read = partial(kind.read_batches, scenario)
    # Workers of a cluster have other working folders.
    of_run, n_records = run.folder.absolute() / "records.parquet", run.record_keys.rows_by_value("policy")[chosen]
    rows = PolicyRows(path, read, needed, of_run, chosen, attributes, n_records, numbers=sensitive is not None)
    frame, outcomes, times = rows.counted(over_files)
    source = SourceRecords(run, kind, scenario, columns, path, frame, times)
    return _released(source, chosen, kept, forms_of(outcomes, kind, scenario, attributes))


def records_of_policy(source: SourceRecords, policy: str, kept: Kept = NOTHING_KEPT) -> SharedRecords:
    """Assemble the records that a policy releases from all source records.

    Parameters
    ----------
    source : SourceRecords
        Records of the run as read from their file.
    policy : str
        One of the policies whose records the run holds.
    kept : Kept
        Columns to copy unchanged in addition to the quasi-identifiers.

    Raises
    ------
    InputError
        If the records cannot be used; if a kept column is missing, named twice, a quasi-identifier or a key of people
        or households, or identifies people; or if there is no column to release.
    """
    forms = chosen_forms(source.run, source.kind, source.scenario, list(source.columns.column_of), policy)
    require_columns(source.frame, kept.names, source.path)
    require_number(len(source.frame), len(forms.labels), source.path)
    return _released(source, policy, kept, forms)


def _released(source: SourceRecords, policy: str, kept: Kept, forms: ChosenForms) -> SharedRecords:
    run, columns, frame, attribute_of = source.run, source.columns, source.frame, source.attribute_of
    refuse_keys(run.content, kept.names)
    for where, keep in (("--keep", kept.columns), ("--keep-identifier", kept.identifiers)):
        require_distinct("column named twice", keep, source=where)
        for name in keep:
            if name in attribute_of:
                raise InputError(GENERALIZED, source=where, found=name, hint=f"remove it from {where}")
            if not columns.header and name in columns.column_of:
                raise InputError("a quasi-identifier has this name", source=where, found=name)
    sensitive, limited = source.kind.sensitive_column(source.scenario, policy), source.limited
    protecting = {each.name: "publisher.sensitive" for each in (limited.attributes if limited else ())}
    if sensitive is not None:
        protecting[sensitive.name] = f"policy {policy}"
    declared = kept.declared(run.content)
    following, telling = _dependent(source, kept.names, forms.labels)
    following = {name: attribute for name, attribute in following.items() if name in declared}
    for name in (name for name in protecting if name in kept.names):
        declared.setdefault(name, f"{protecting[name]} protects the column from inference")
    identifying = kept.identifying(frame, source.path, source.persons, declared, source.represented)
    chosen = [str(name) for name in frame.columns if name in attribute_of or name in kept.names]
    if not chosen:
        raise InputError("no column to share", source=run.folder, where="--keep", expected="one or more columns")
    table, own = frame.assign(**forms.labels.rename(columns=columns.column_of))[chosen], np.flatnonzero(forms.shared)
    if sensitive is not None and sensitive.name in kept.names:
        others = [name for name in kept.names if name != sensitive.name]
        like, value_of = _counterfeits(source, policy, sensitive.name, others)
        added = table.iloc[like].assign(**{sensitive.name: frame[sensitive.name].to_numpy()[value_of]})
        table, own = pd.concat([table.iloc[own], added]), np.append(own, np.full(len(added), -1))
    else:
        table = table.iloc[own]
    # Files are often in the order of a quasi-identifier, or of the records' numbers. In this order, the exact values of
    # neighbours would disclose generalized ones, and two releases could be linked row by row.
    order = row_order(table)
    table, own = table.iloc[order], own[order]
    # Without a header, attribute names are more informative than column numbers.
    names = {name: attribute_of.get(name, name) if not columns.header else name for name in chosen}
    table = table.rename(columns=names).reset_index(drop=True)
    quasi = {names[name]: attribute_of[name] for name in chosen if name in attribute_of}
    # True values ``*`` merge with suppressed values in equivalence classes.
    of_columns = {"stars": source.stars, "following": following, "telling": telling}
    warnings = warnings_of(table, identifying, **of_columns, counterfeits=int((own < 0).sum()))
    return SharedRecords(policy, table, quasi, forms, source, own, sensitive, declared, kept, warnings)


def warnings_of(table: pd.DataFrame, identifying: Mapping[str, str], **facts: Any) -> tuple[str, ...]:
    """Return the problems of a released file to review; see template `share_warnings` for the facts of a run.

    `identifying` has the reason why a kept column identifies most people, by column.
    """
    cells = [name for name in table if pd.Series(table[name].unique()).str.match(_FORMULA).any()]
    headings = [name for name in map(str, table) if re.match(_FORMULA, name)]
    found = {"n_rows": len(table), "identifying": identifying, "cells": cells, "headings": headings}
    return tuple(lines_of("share_warnings", **found, **facts))


def _dependent(source: SourceRecords, names: Iterable[str], labels: pd.DataFrame) -> tuple[dict[str, str], ...]:
    """Return columns whose values follow from a quasi-identifier, and columns from which one follows.

    In the first case, all people with an equal value of the quasi-identifier have equal values in the column; in the
    second, the reverse, and some value of the quasi-identifier is generalized. If fewer than two people share a value
    on average, this may be by chance, and does not count.

    Parameters
    ----------
    source : SourceRecords
    names : iterable of str
        Kept columns.
    labels : DataFrame
        Released quasi-identifiers of each record.

    Returns
    -------
    following, telling : dict of str to str
        Name of the quasi-identifier, by column.
    """
    following, telling = dict[str, str](), dict[str, str]()
    most, n = int(source.represented.sum()) // 2, len(source.frame)
    for name, (attribute, true) in product(names, source.truth.items()):
        (values, _), (cells, texts) = coded(true), coded(source.frame[name])
        n_values, n_pairs = len(np.unique(values)), len(distinct_rows([values, cells], n)[0])
        if len(texts) > 1 and n_pairs == n_values <= most:
            following[name] = str(attribute)
        if n_values > 1 and n_pairs == len(texts) <= most and (labels[attribute].astype("str") != true).any():
            telling[name] = str(attribute)
    return following, telling


def _counterfeits(
    source: SourceRecords, policy: str, sensitive: str, others: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the counterfeit records that a policy adds to the last release.

    They are of the last round in the first draw.

    Parameters
    ----------
    source : SourceRecords
        Records of the run.
    policy : str
        Name of the policy.
    sensitive : str
        Name of the sensitive column.
    others : sequence of str
        The other kept columns.

    Returns
    -------
    like, value_of : ndarray of int64, shape (n_counterfeits,)
        Source records, from 0, whose released quasi-identifiers, and whose sensitive value, each counterfeit has.

    Raises
    ------
    InputError
        If the run does not list its counterfeit records, lists too few or too many, or they would lack a value of
        another column.
    """
    run, tables = source.run, []
    columns = {"rounds": {"round", "counterfeits"}, "counterfeits": {"round", "record", "value_of"}}
    for name, needed in columns.items():
        table = run.table_with(name, {"policy", "draw", *needed})
        tables.append(table[((table["policy"].astype("str") == policy) & (table["draw"] == 0)).to_numpy()])
    rounds, found = tables
    if rounds.empty:
        problem, hint = "the results do not list the counterfeit records", "run the scenario again"
        raise InputError(problem, source=run.folder, where="rounds.parquet, column 'counterfeits'", hint=hint)
    number, found = int(rounds["counterfeits"].iloc[-1]), found[found["round"] == rounds["round"].max()]
    if len(found) != number:
        expected = f"{number} records, as in rounds.parquet"
        raise InputError("counterfeit records are missing", source=run.folder, found=len(found), expected=expected)
    if number and others:
        raise InputError(
            f"the {counted(number, 'counterfeit record')} of policy {policy!r} would have no value in the column",
            where="--keep",
            found=others[0],
            expected=f"no column but {sensitive!r}",
        )
    return found["record"].to_numpy(dtype=np.int64), found["value_of"].to_numpy(dtype=np.int64)
