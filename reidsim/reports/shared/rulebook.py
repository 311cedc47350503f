"""Write a policy's decisions per cell to a rulebook, and apply it to new records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError, listed
from reidsim.core.tables import read_table, refuse_encoding_of_types, require_columns, sniff_delimiter
from reidsim.reports.shared.kept import GENERALIZED, NOTHING_KEPT, Kept, require_file
from reidsim.reports.shared.records import SharedRecords

# Columns of a rulebook: the quasi-identifiers, these two columns, and the released quasi-identifiers.
FORM, IS_SHARED = "form", "shared"
_RELEASED = "released "
_YES, _NO = "yes", "no"


def rulebook_of(shared: SharedRecords) -> pd.DataFrame:
    """Return the decision of a policy for every cell of a release.

    Parameters
    ----------
    shared : SharedRecords
        Records that the policy releases, with the policy's decision on every source record.

    Returns
    -------
    DataFrame
        One row of text per combination of true quasi-identifiers, sorted by them. Columns are the true
        quasi-identifiers, ``form`` (generalization levels or the run's name of the strategy), ``shared`` (yes or no),
        and ``released NAME`` for each quasi-identifier, empty if the record is withheld.

    Raises
    ------
    InputError
        If records with the same values are released differently, or the policy decides by a sensitive column and adds
        records, which rules by values cannot express; or if there is no quasi-identifier.
    """
    source, forms = shared.source, shared.forms
    if shared.sensitive is not None:
        raise InputError(
            f"policy {shared.policy!r} decides by column {shared.sensitive.name!r} and adds records, which rules by "
            "values cannot express",
            source=source.run.folder,
            where="--rulebook",
            expected="another policy",
        )
    column_of = source.columns.column_of
    names = {attribute: column if source.columns.header else attribute for attribute, column in column_of.items()}
    if not names:
        raise InputError("the release has no quasi-identifier for rules", source=source.run.folder, where="--rulebook")
    rules = pd.DataFrame({names[name]: source.frame[column].str.strip() for name, column in column_of.items()})
    values = list(rules.columns)
    rules[FORM] = forms.strategies.to_numpy()
    rules[IS_SHARED] = np.where(forms.shared, _YES, _NO)
    for name in column_of:
        rules[f"{_RELEASED}{names[name]}"] = forms.labels[name].where(forms.shared, "").to_numpy()
    row_of = np.arange(len(rules))
    distinct = rules.assign(row=row_of).drop_duplicates(list(rules.columns))
    twice = distinct.duplicated(values)
    if twice.any():
        again = distinct[twice].iloc[0]
        why = ", because all rows of a person have the same generalization" if source.columns.person else ""
        first = distinct[(distinct[values] == again[values]).all(axis=1)].iloc[0]
        raise InputError(
            "no rulebook: two rows have the same values but different releases" + why,
            source=source.path,
            where="--rulebook",
            found=f"rows {first['row'] + 1} and {again['row'] + 1}",
            expected="a policy with the same generalization for equal rows",
        )
    return distinct.drop(columns="row").sort_values(values, kind="stable").reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class AppliedRules:
    """Result of applying a rulebook to new records.

    Parameters
    ----------
    table : DataFrame
        Text, one row per released record, in the order of the new file.
    records : int
        Number of records in the new file.
    ruled_out : int
        Number of records withheld because a rule withholds them.
    uncovered : int
        Number of records withheld because no rule covers their values.
    delimiter : str
        Column delimiter, as in the new file.
    """

    table: pd.DataFrame
    records: int
    ruled_out: int
    uncovered: int
    delimiter: str = ","


def apply_rules(rulebook: Path, new: Path, kept: Kept = NOTHING_KEPT, *, encoding: str | None = None) -> AppliedRules:
    """Apply a rulebook to new records; withhold records that no rule covers.

    Parameters
    ----------
    rulebook : Path
        Rulebook written by `reidsim share`.
    new : Path
        Delimited text or Parquet, with the columns of the quasi-identifiers.
    kept : Kept
        Columns to copy unchanged; other columns except the quasi-identifiers are omitted.
    encoding : str, optional
        Encoding of the new file if it is a CSV file; UTF-8 if not given.

    Raises
    ------
    InputError
        If a file cannot be read or is not a rulebook, a column is missing, or a kept column is a quasi-identifier or
        identifies people.
    """
    rules, values = _read_rulebook(rulebook)
    require_file(new, "new records")
    refuse_encoding_of_types(new, encoding)
    delimiter = sniff_delimiter(new, encoding)
    frame = read_table(new, delimiter=delimiter, trim=False, encoding=encoding or "utf-8")
    require_columns(frame, [*values, *kept.names], new)
    released = next((name for name in kept.names if name in values), None)
    if released is not None:
        raise InputError(GENERALIZED, source="--keep", found=released, hint="remove it from --keep")
    kept.identifying(frame, new)
    own = frame[values].apply(lambda column: column.str.strip())
    found = own.merge(rules, how="left", on=values)
    shared = (found[IS_SHARED] == _YES).to_numpy()
    table = pd.DataFrame(
        {
            str(name): found[f"{_RELEASED}{name}"] if name in values else frame[name].to_numpy()
            for name in frame.columns
            if name in values or name in kept.names
        }
    )
    table = table[shared].reset_index(drop=True)
    ruled_out, uncovered = int((found[IS_SHARED] == _NO).sum()), int(found[IS_SHARED].isna().sum())
    return AppliedRules(table, len(frame), ruled_out, uncovered, delimiter)


def _read_rulebook(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the rules of a rulebook, and the names of the quasi-identifiers.

    A rule is one row of text.

    Raises
    ------
    InputError
        If the file is missing, has other columns than a rulebook, two rules for the same values, or a decision that is
        neither yes nor no.
    """
    require_file(path, "a rulebook written by reidsim share")
    rules = read_table(path, trim=False)
    names = [str(name) for name in rules.columns]
    number = len(names) // 2 - 1
    values = names[: max(number, 0)]
    expected = [*values, FORM, IS_SHARED, *(f"{_RELEASED}{name}" for name in values)]
    if not values or names != expected:
        problem = "not a rulebook of reidsim share"
        raise InputError(
            problem,
            source=path,
            where="header",
            found=listed(names),
            expected="a file written with --rulebook of share",
        )
    for wrong, problem in (
        (rules.duplicated(values), "two rules for the same values"),
        (~rules[IS_SHARED].isin([_YES, _NO]), f"the decision is neither {_YES} nor {_NO}"),
    ):
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise InputError(problem, source=path, where=f"row {row + 1}", found=", ".join(rules.iloc[row][values]))
    return rules, values
