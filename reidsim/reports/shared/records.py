"""Assemble the records that a policy releases: quasi-identifiers and kept columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.drafts.values import is_free_text
from reidsim.engine.results import find_release_file, require_hash
from reidsim.errors import InputError, listed, locating, require_distinct
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.forms import ChosenForms, chosen_forms, chosen_policy
from reidsim.reports.shared.kept import Kept
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import scenario_kind
from reidsim.scenarios.people import key_columns, refuse_keys
from reidsim.scenarios.presentation import LimitedColumns, SensitiveColumn, SharedColumns
from reidsim.scenarios.schema import ScenarioHead
from reidsim.tables import require_columns
from reidsim.validation import validated
from reidsim.wording import counted

# Prefix by which spreadsheets recognize a formula; signed numbers are excluded.
_FORMULA = r"[=+\-@](?![\d.,]+$)."
NOTHING_KEPT = Kept()
# Reason why a quasi-identifier cannot be a kept column.
GENERALIZED = "the column is a quasi-identifier, which the shared file already contains in generalized form"


@dataclass(frozen=True, eq=False)
class SharedRecords:
    """Records of a run to be released under a policy.

    Parameters
    ----------
    policy : str
    table : DataFrame
        Text, one row per released record, with the columns of the source file in their order. Rows are in the order of
        the source file. With counterfeit records, rows are sorted, so that their position reveals nothing.
    quasi_identifiers : dict of str to str
        Attribute name of each quasi-identifier column.
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
    def records(self) -> int:
        """Number of source records, including records that are not released."""
        return len(self.source.frame)

    @property
    def delimiter(self) -> str:
        """Column delimiter, as in the source file."""
        return self.source.columns.delimiter

    @property
    def withheld(self) -> int:
        """Number of records that are not released."""
        return self.records - int(self.is_real.sum())

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """Whether each row is a source record, not a counterfeit, shape (n_rows,)."""
        return np.asarray(self.own >= 0)

    @property
    def kept_columns(self) -> list[str]:
        """Columns of the table that are not quasi-identifiers."""
        return [str(name) for name in self.table.columns if name not in self.quasi_identifiers]

    @property
    def person_of_record(self) -> NDArray[np.int64]:
        """Person number of each source record, shape (n_records,)."""
        persons = self.source.persons
        return np.arange(self.records) if persons is None else pd.factorize(persons)[0].astype(np.int64)


@dataclass(frozen=True, eq=False)
class SourceRecords:
    """Records of a run as read from their file.

    Parameters
    ----------
    run : StoredRun
    kind : Kind
    scenario : ScenarioHead
        Scenario as run.
    columns : SharedColumns
    path : Path
        File of the records.
    sha256 : str
        SHA-256 of the file.
    frame : DataFrame
        All columns, with unchanged values.
    """

    run: StoredRun
    kind: Kind
    scenario: ScenarioHead
    columns: SharedColumns
    path: Path
    sha256: str
    frame: pd.DataFrame

    @property
    def persons(self) -> NDArray[np.int64] | None:
        """Person number of each record; None if every person has one record.

        A record with a missing key value counts as a separate person.
        """
        key = key_columns(self.columns.person)
        if not key:
            return None
        require_columns(self.frame, key, self.path)
        values = [self.frame[column].str.strip() for column in key]
        missing = np.logical_or.reduce([(text == "").to_numpy() for text in values])
        person = np.asarray(self.frame.groupby(values, sort=False, observed=True).ngroup(), dtype=np.int64)
        return np.where(missing, len(person) + np.arange(len(person)), person)

    @cached_property
    def truth(self) -> pd.DataFrame:
        """True quasi-identifiers, one text column per attribute."""
        return self.kind.true_values(self.scenario, self.frame, self.path)

    @cached_property
    def limited(self) -> LimitedColumns | None:
        """Sensitive columns with limits on inference from the file; None without limits."""
        return self.kind.limited_columns(self.scenario, self.frame, self.path, lambda: self.hierarchies)

    @cached_property
    def hierarchies(self) -> dict[str, list[list[str]]]:
        """Rows of the hierarchy files as text, by attribute.

        Raises
        ------
        InputError
            If a file is missing or was changed.
        """
        files = self.columns.hierarchies or {}
        told = self.run.manifest["release_file"].get("hierarchies", {})
        rows = {}
        for name, file in files.items():
            path = self._hierarchy(name, told.get(name))
            found = read_hierarchy_rows(path, delimiter=file.delimiter)
            rows[name] = found[1:] if file.header else found
        return rows

    def _hierarchy(self, name: str, told: Mapping[str, str] | None) -> Path:
        if told is None:
            problem, hint = "the run does not record the hierarchy", "run the scenario again"
            raise InputError(problem, source=self.run.folder, where=f"attributes.{name}", hint=hint)
        path = find_release_file(told["path"])
        if not path.is_file():
            # If the records were moved, look for the hierarchy at the same relative path.
            among = Path(self.run.manifest["release_file"]["path"]).parent
            path = self.path.parent / os.path.relpath(told["path"], among)
        if not path.is_file():
            raise InputError("no such file", source=told["path"], expected=f"the hierarchy of attribute {name!r}")
        require_hash(
            path, told["sha256"], "the hierarchy differs from the hierarchy of the run", hint="run the scenario again"
        )
        return path


def source_records(run: StoredRun, *, data: Path | None = None, allow_code: bool = False) -> SourceRecords:
    """Read the source records of a run.

    Parameters
    ----------
    run : StoredRun
        Run of a game kind that reads records from a file.
    data : Path, optional
        Path of the records, if the file was moved.
    allow_code : bool
        Whether to execute the module of a game kind named by the scenario.

    Raises
    ------
    InputError
        If the run is a batch or has no file of records, or the file is not the one of the run.
    """
    path = _source(run, data)
    kind = scenario_kind(run.content, Path("manifest.json"), allow_code=allow_code)
    scenario = validated(kind.schema, run.content, run.folder / "manifest.json")
    with locating(run.folder):
        columns = kind.shared_columns(scenario)
    named = list(columns.column_of.values())
    require_distinct("two attributes use the same column", named, source=run.folder)
    frame = kind.read_records(scenario, path)
    require_columns(frame, named, path)
    return SourceRecords(run, kind, scenario, columns, path, run.manifest["release_file"]["sha256"], frame)


def shared_records(
    run: StoredRun,
    *,
    policy: str | None = None,
    kept: Kept = NOTHING_KEPT,
    data: Path | None = None,
    allow_code: bool = False,
) -> SharedRecords:
    """Assemble the records that a policy of a run releases.

    See `source_records` and `records_of_policy`.

    Raises
    ------
    InputError
        If `source_records` or `records_of_policy` raises it.
    """
    source = source_records(run, data=data, allow_code=allow_code)
    chosen = chosen_policy(run, policy)
    sensitive = source.kind.sensitive_column(source.scenario, chosen)
    if sensitive is not None and sensitive.name not in kept.names:
        raise InputError(
            f"policy {chosen!r} protects a column that is not kept",
            where="--keep",
            found=listed(kept.names) or "no column",
            expected=sensitive.name,
        )
    return records_of_policy(source, chosen, kept)


def records_of_policy(source: SourceRecords, policy: str, kept: Kept = NOTHING_KEPT) -> SharedRecords:
    """Assemble the records that a policy releases from source records.

    Parameters
    ----------
    source : SourceRecords
    policy : str
        One of the policies whose records the run holds.
    kept : Kept
        Columns to copy unchanged in addition to the quasi-identifiers.

    Raises
    ------
    InputError
        If the records cannot be used, a column is missing, or a kept column identifies people.
    """
    run, columns, frame = source.run, source.columns, source.frame
    forms = chosen_forms(run, source.kind, source.scenario, list(columns.column_of), policy)
    require_columns(frame, kept.names, source.path)
    if len(frame) != len(forms.labels):
        expected = f"{len(forms.labels)} records"
        raise InputError(
            "the number of records differs from the run", source=source.path, found=len(frame), expected=expected
        )
    attribute_of = {column: attribute for attribute, column in columns.column_of.items()}
    refuse_keys(run.content, kept.names)
    _check_kept(kept.columns, "--keep", attribute_of, columns)
    _check_kept(kept.identifiers, "--keep-identifier", attribute_of, columns)
    sensitive = source.kind.sensitive_column(source.scenario, policy)
    declared = kept.declared(run.content)
    if sensitive is not None and sensitive.name in kept.names:
        declared.setdefault(sensitive.name, f"policy {policy} protects the column from inference")
    for each in () if source.limited is None else source.limited.attributes:
        if each.name in kept.names:
            declared.setdefault(each.name, "publisher.sensitive protects the column from inference")
    identifying = identifying_columns(frame, source.path, kept, source.persons, declared)
    refuse_free_text(frame, source.path, kept)
    chosen = [str(name) for name in frame.columns if name in attribute_of or name in kept.names]
    if not chosen:
        raise InputError("no column to share", source=run.folder, where="--keep", expected="one or more columns")
    # Without a header, attribute names are more informative than column numbers.
    names = {name: name if columns.header else attribute_of.get(name, name) for name in chosen}
    table = pd.DataFrame(
        {names[name]: forms.labels[attribute_of[name]] if name in attribute_of else frame[name] for name in chosen}
    )
    own = np.flatnonzero(forms.shared)
    table = table.iloc[own].reset_index(drop=True)
    if sensitive is not None and sensitive.name in kept.names:
        added = counterfeit_rows(source, forms, {name: names[name] for name in chosen}, sensitive.name)
        table, own = _sorted(pd.concat([table, added], ignore_index=True), np.append(own, np.full(len(added), -1)))
    counterfeits = int((own < 0).sum())
    warnings = (
        *(() if len(table) else ("no record is shared: the policy withholds all records, or nobody participates",)),
        *_stars(frame, columns),
        *(f"column {name!r}, kept on request, could identify most people: {why}" for name, why in identifying.items()),
        *_formulas(table),
        *(
            (f"the sidecar lists {counted(counterfeits, 'row')} of the file as counterfeit: keep it confidential",)
            if counterfeits
            else ()
        ),
    )
    quasi = {names[name]: attribute_of[name] for name in chosen if name in attribute_of}
    return SharedRecords(forms.policy, table, quasi, forms, source, own, sensitive, declared, kept, warnings)


def counterfeit_rows(
    source: SourceRecords, forms: ChosenForms, names: Mapping[str, str], sensitive: str
) -> pd.DataFrame:
    """Return the counterfeit records of the last round, as rows of text.

    Parameters
    ----------
    source : SourceRecords
    forms : ChosenForms
        Strategy of the policy for every source record.
    names : mapping of str to str
        Output name of each released column, by source name: quasi-identifiers and the sensitive column.
    sensitive : str
        Name of the sensitive column.

    Raises
    ------
    InputError
        If the run does not list its counterfeit records, or they would lack a value of another column.
    """
    run, attribute_of = source.run, {column: name for name, column in source.columns.column_of.items()}
    rounds = run.table("rounds") if "rounds" in run.tables else pd.DataFrame()
    if "counterfeits" not in rounds:
        problem, hint = "the results do not list the counterfeit records", "run the scenario again"
        raise InputError(problem, source=run.folder, where="rounds.parquet, column 'counterfeits'", hint=hint)
    own = rounds[((rounds["policy"].astype("str") == forms.policy) & (rounds["draw"] == 0)).to_numpy()]
    last, number = int(own["round"].max()), int(own["counterfeits"].iloc[-1])
    found = pd.DataFrame({"record": [], "value_of": []}, dtype=np.int64)
    if "counterfeits" in run.tables:
        found = run.table("counterfeits")
        here = (found["policy"].astype("str") == forms.policy) & (found["draw"] == 0) & (found["round"] == last)
        found = found[here.to_numpy()]
    if len(found) != number:
        expected = f"{number} records, as in rounds.parquet"
        raise InputError("counterfeit records are missing", source=run.folder, found=len(found), expected=expected)
    others = [name for name in names if name not in attribute_of and name != sensitive]
    if number and others:
        raise InputError(
            f"the {counted(number, 'counterfeit record')} of policy {forms.policy!r} would have no value in the column",
            where="--keep",
            found=others[0],
            expected=f"no column but {sensitive!r}",
        )
    like, value_of = found["record"].to_numpy(), found["value_of"].to_numpy()
    return pd.DataFrame(
        {
            names[name]: (
                forms.labels[attribute_of[name]].to_numpy()[like]
                if name in attribute_of
                else source.frame[sensitive].to_numpy()[value_of]
            )
            for name in names
        },
        dtype="str",
    )


def _sorted(table: pd.DataFrame, own: NDArray[np.intp]) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Sort the rows of a table, and the source record of each row, by text."""
    order = table.sort_values(list(table.columns), kind="stable").index.to_numpy()
    return table.iloc[order].reset_index(drop=True), own[order]


def identifying_columns(
    frame: pd.DataFrame,
    source: Path,
    kept: Kept,
    persons: NDArray[np.int64] | None = None,
    declared: Collection[str] = (),
) -> dict[str, str]:
    """Return the kept columns that identify most people, with the reason.

    Parameters
    ----------
    frame : DataFrame
        The records.
    source : Path
        Path shown in error messages.
    kept : Kept
    persons : ndarray of int, shape (n_records,), optional
        Person of each record; if not given, each record is a person.
    declared : collection of str
        Columns whose values no outsider knows; unique values in these columns do not identify a person.

    Raises
    ------
    InputError
        If an identifying column was not explicitly kept as an identifier; the message names the first one.
    """
    identifying = {
        name: why
        for name in kept.names
        if (why := why_identifying(name, frame[name], persons, unique=name not in declared))
    }
    refused = next((name for name in identifying if name not in kept.identifiers), None)
    if refused is not None:
        raise InputError(
            f"the column could identify most people: {identifying[refused]}",
            source=source,
            where="--keep",
            found=refused,
            expected="a column that does not identify people",
            hint=f"use --keep-identifier {refused} to keep the column anyway",
        )
    return identifying


def class_sizes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return the size of each equivalence class, shape (n_classes,).

    A class consists of the records that agree in all given columns.
    """
    if not len(table):
        return np.zeros(0, dtype=np.int64)
    if not columns:
        return np.array([len(table)], dtype=np.int64)
    return np.asarray(table.groupby(list(columns), sort=False, dropna=False, observed=True).size(), dtype=np.int64)


def _check_kept(keep: Sequence[str], where: str, attribute_of: Mapping[str, str], columns: SharedColumns) -> None:
    for name in keep:
        if name in attribute_of or keep.count(name) > 1:
            if keep.count(name) > 1:
                raise InputError("column named twice", source=where, found=name)
            raise InputError(GENERALIZED, source=where, found=name, hint=f"remove it from {where}")
        if not columns.header and name in columns.column_of:
            raise InputError("a quasi-identifier has this name", source=where, found=name)


def _source(run: StoredRun, data: Path | None) -> Path:
    """Return the path of the source records, after a check of their hash."""
    if "design" in run.manifest:
        raise InputError(
            "a batch does not keep records",
            source=run.folder,
            expected="results of a single run",
            hint=f"run reidsim rerun {run.folder} --run POINT/REPLICATION -o NEW to repeat a run with records",
        )
    told: Any = run.manifest.get("release_file")
    if not isinstance(told, dict) or not {"path", "sha256"} <= set(told):
        raise InputError(
            "the run did not read its records from a file",
            source=run.folder,
            expected="a scenario with release.path or targets.file",
        )
    path = data or find_release_file(str(told["path"]))
    if not path.is_file():
        hint = None if data else "name the file with --data, or go to the folder of the run"
        raise InputError("no such file", source=path, expected="the records of the run", hint=hint)
    require_hash(path, told["sha256"], "the file differs from the file of the run", hint="run the scenario again")
    return path


def _stars(frame: pd.DataFrame, columns: SharedColumns) -> tuple[str, ...]:
    """Return a warning if quasi-identifier values equal the suppression mark.

    Such values merge with suppressed values in equivalence classes.
    """
    suspected = [column for name, column in columns.column_of.items() if name not in columns.stars]
    names = [column for column in suspected if (frame[column].str.strip() == SUPPRESSED).any()]
    return (f"values of {listed(names)} are {SUPPRESSED} in the records, like suppressed values",) if names else ()


def refuse_free_text(frame: pd.DataFrame, source: Path, kept: Kept) -> None:
    """Check that no kept column holds free text, unless the user allows free text."""
    for name in () if kept.free_text else kept.columns:
        if is_free_text([value for value in frame[name].unique() if value]):
            raise InputError(
                "the column holds free text, which may name people",
                source=source,
                where="--keep",
                found=name,
                expected="a column of categories or numbers",
                hint="use --keep-free-text to keep the column anyway",
            )


def _formulas(table: pd.DataFrame) -> tuple[str, ...]:
    taken = "begin like formulas, and spreadsheets may evaluate them"
    cells = [str(name) for name in table.columns if pd.Series(table[name].unique()).str.match(_FORMULA).any()]
    columns = pd.Series(list(map(str, table.columns)), dtype="str")
    names = columns[columns.str.match(_FORMULA).to_numpy(dtype=bool)].tolist()
    return tuple(
        f"{what} {taken}"
        for what, found in ((f"cells of {listed(cells)}", cells), (f"names of the columns {listed(names)}", names))
        if found
    )
