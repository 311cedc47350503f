"""Assemble the records that a policy releases: quasi-identifiers and kept columns."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, locating, require_among, require_distinct
from reidsim.core.tables import require_columns
from reidsim.core.validation import validated
from reidsim.core.wording import counted
from reidsim.engine.results import find_release_file, require_hash
from reidsim.releases.hierarchy import SUPPRESSED, read_hierarchy_rows
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.kept import GENERALIZED, NOTHING_KEPT, Kept, require_file
from reidsim.reports.writer import lines_of
from reidsim.scenarios.kind import Kind, LimitedColumns, SensitiveColumn, SharedColumns
from reidsim.scenarios.registry import scenario_kind
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import key_columns, refuse_keys

# Prefix by which spreadsheets recognize a formula; signed numbers are excluded.
_FORMULA = r"[=+\-@](?![\d.,]+$)."


@dataclass(frozen=True, eq=False)
class ChosenForms:
    """Strategy of a policy for every record, and the released values.

    Parameters
    ----------
    policy : str
        Name of the policy.
    labels : DataFrame
        One text column per quasi-identifier, one row per record in the order of the source file; ``*`` if suppressed or
        masked.
    shared : ndarray of bool, shape (n_records,)
        Whether each record is released; labels of other records must not be used.
    success : ndarray of float64, shape (n_records,)
        Success probability of an attack on each record in the game; 0 if the record is not released.
    strategies : Series of str
        Strategy of each record as in results, such as levels ``"0,3,1"``.
    """

    policy: str
    labels: pd.DataFrame
    shared: NDArray[np.bool_]
    success: NDArray[np.float64]
    strategies: pd.Series[str]

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
        Text, one row per released record, with the columns of the source file in their order. Rows are in the order of
        the source file. With counterfeit records, rows are sorted, so that their position reveals nothing.
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
    def withheld(self) -> int:
        """Number of source records that are not released."""
        return len(self.source.frame) - int(self.is_real.sum())

    @property
    def is_real(self) -> NDArray[np.bool_]:
        """Whether each row is a source record, not a counterfeit, shape (n_rows,)."""
        return np.asarray(self.own >= 0)

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
        Scenario as run.
    columns : SharedColumns
        Columns of the file: quasi-identifiers, person key and hierarchies.
    path : Path
        File of the records.
    frame : DataFrame
        All columns, with unchanged values.
    """

    run: StoredRun
    kind: Kind
    scenario: ScenarioHead
    columns: SharedColumns
    path: Path
    frame: pd.DataFrame

    @property
    def attribute_of(self) -> dict[str, str]:
        """Name of the attribute of each quasi-identifier, by column of the file."""
        return {column: attribute for attribute, column in self.columns.column_of.items()}

    @cached_property
    def persons(self) -> NDArray[np.int64]:
        """Person number of each record, shape (n_records,).

        A record with a missing key value counts as a separate person. Without a key, every record is a person.
        """
        key, rows = key_columns(self.columns.person), np.arange(len(self.frame))
        require_columns(self.frame, key, self.path)
        values = [self.frame[column].str.strip() for column in key]
        alone = np.logical_or.reduce([(text == "").to_numpy() for text in values]) if key else True
        groups = self.frame.groupby([*values, np.where(alone, rows, -1)], sort=False, observed=True)
        return np.asarray(groups.ngroup(), dtype=np.int64)

    @cached_property
    def truth(self) -> pd.DataFrame:
        """True quasi-identifiers, one row per record and one text column per attribute."""
        return self.kind.true_values(self.scenario, self.frame, self.path)

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
    """Return the names of the policies whose records a run holds.

    They are in the order of its table of records.

    Raises
    ------
    InputError
        If the results have no table of records, or hold several runs.
    """
    require_columns(run.records, ["policy"], run.folder / "records.parquet")
    for table, column in product((run.runs, run.records), ("point", "replication")):
        if column in table and len(table[column].unique()) > 1:
            problem, expected = "the results contain several runs", "a single run"
            raise InputError(problem, source=run.folder, where=column, expected=expected)
    return list(run.records["policy"].drop_duplicates().astype("str"))


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
        Scenario as run.
    attributes : sequence of str
        Names of the quasi-identifiers.
    policy : str
        One of the policies from `policies_of`.

    Raises
    ------
    InputError
        If a column is missing, or records are in a different order.
    """
    table, path = run.records, run.folder / "records.parquet"
    require_columns(table, ("record", "policy", "strategy", "success_probability", *attributes), path)
    table = table[(table["policy"] == policy).to_numpy()].reset_index(drop=True)
    if not np.array_equal(table["record"].to_numpy(), np.arange(len(table))):
        raise InputError("records are not in the order of the release", source=path)
    labels = pd.DataFrame({name: kind.released_values(scenario, table, name) for name in attributes}, index=table.index)
    shared = kind.is_shared(table)
    if "participates" in table:
        # With agents, people who do not participate also have a strategy, but their records are not released.
        shared = shared & table["participates"].to_numpy(dtype=bool)
    success = np.where(shared, table["success_probability"].fillna(0.0).to_numpy(dtype=np.float64), 0.0)
    return ChosenForms(policy, labels, shared, success, table["strategy"].astype("str"))


def source_records(run: StoredRun, *, data: Path | None = None, allow_code: bool = False) -> SourceRecords:
    """Read the source records of a run, after a check of their hash.

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
    require_hash(path, recorded["sha256"], "the file differs from the file of the run", hint="run the scenario again")
    kind = scenario_kind(run.content, Path("manifest.json"), allow_code=allow_code)
    scenario = validated(kind.schema, run.content, run.folder / "manifest.json")
    with locating(run.folder):
        columns = kind.shared_columns(scenario)
    named = list(columns.column_of.values())
    require_distinct("two attributes use the same column", named, source=run.folder)
    frame = kind.read_records(scenario, path)
    require_columns(frame, named, path)
    return SourceRecords(run, kind, scenario, columns, path, frame)


def shared_records(
    run: StoredRun,
    *,
    policy: str | None = None,
    kept: Kept = NOTHING_KEPT,
    data: Path | None = None,
    allow_code: bool = False,
) -> SharedRecords:
    """Assemble the records that a policy of a run releases.

    Parameters
    ----------
    run : StoredRun
        Results of a single run whose records come from a file.
    policy : str, optional
        Name of the policy; may be omitted if the run has only one.
    kept : Kept
        Columns to copy unchanged in addition to the quasi-identifiers.
    data, allow_code
        See `source_records`.

    Raises
    ------
    InputError
        If no policy has this name, the run has several policies and no name is given, the policy protects a column that
        is not kept, or `source_records` or `records_of_policy` raises it.
    """
    source, policies = source_records(run, data=data, allow_code=allow_code), policies_of(run)
    if policy is None and len(policies) > 1:
        expected = f"--policy, one of {listed(policies)}"
        raise InputError("the results contain several policies", source=run.folder, expected=expected)
    chosen = policies[0] if policy is None else policy
    require_among("no such policy in the results", (chosen,), policies, source=run.folder, where="--policy")
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
    run, columns, frame, attribute_of = source.run, source.columns, source.frame, source.attribute_of
    forms = chosen_forms(run, source.kind, source.scenario, list(columns.column_of), policy)
    require_columns(frame, kept.names, source.path)
    if len(frame) != len(forms.labels):
        problem, expected = "the number of records differs from the run", f"{len(forms.labels)} records"
        raise InputError(problem, source=source.path, found=len(frame), expected=expected)
    refuse_keys(run.content, kept.names)
    for where, keep in (("--keep", kept.columns), ("--keep-identifier", kept.identifiers)):
        require_distinct("column named twice", keep, source=where)
        for name in keep:
            if name in attribute_of:
                raise InputError(GENERALIZED, source=where, found=name, hint=f"remove it from {where}")
            if not columns.header and name in columns.column_of:
                raise InputError("a quasi-identifier has this name", source=where, found=name)
    sensitive, limited = source.kind.sensitive_column(source.scenario, policy), source.limited
    protected = {
        each.name: "publisher.sensitive protects the column from inference"
        for each in (limited.attributes if limited else ())
    }
    if sensitive is not None:
        protected[sensitive.name] = f"policy {policy} protects the column from inference"
    protected = {name: why for name, why in protected.items() if name in kept.names}
    declared = kept.declared(run.content)
    declared |= {name: why for name, why in protected.items() if name not in declared}
    identifying = kept.identifying(frame, source.path, source.persons, declared)
    chosen = [str(name) for name in frame.columns if name in attribute_of or name in kept.names]
    if not chosen:
        raise InputError("no column to share", source=run.folder, where="--keep", expected="one or more columns")
    table, own = frame.assign(**forms.labels.rename(columns=columns.column_of))[chosen], np.flatnonzero(forms.shared)
    if sensitive is not None and sensitive.name in kept.names:
        others = [name for name in kept.names if name != sensitive.name]
        like, value_of = _counterfeits(source, policy, sensitive.name, others)
        added = table.iloc[like].assign(**{sensitive.name: frame[sensitive.name].to_numpy()[value_of]})
        table, own = pd.concat([table.iloc[own], added], ignore_index=True), np.append(own, np.full(len(added), -1))
        table = table.sort_values(list(table.columns), kind="stable")
        own = own[table.index.to_numpy()]
    else:
        table = table.iloc[own]
    # Without a header, attribute names are more informative than column numbers.
    names = {name: attribute_of.get(name, name) if not columns.header else name for name in chosen}
    table = table.rename(columns=names).reset_index(drop=True)
    quasi = {names[name]: attribute_of[name] for name in chosen if name in attribute_of}
    # True values ``*`` merge with suppressed values in equivalence classes.
    suspected = [column for name, column in columns.column_of.items() if name not in columns.stars]
    warnings = lines_of(
        "share_warnings",
        n_rows=len(table),
        stars=[column for column in suspected if (frame[column].str.strip() == SUPPRESSED).any()],
        identifying=identifying,
        cells=[name for name in table if pd.Series(table[name].unique()).str.match(_FORMULA).any()],
        headings=[name for name in table if re.match(_FORMULA, name)],
        counterfeits=int((own < 0).sum()),
    )
    return SharedRecords(forms.policy, table, quasi, forms, source, own, sensitive, declared, kept, tuple(warnings))


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
