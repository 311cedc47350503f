"""The quasi-identifiers of records in the forms that a policy chose, as results folders keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, nearest
from reidsim.kinds.masking.schema import GeneralizedAttribute
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.stored_run import StoredRun

# What the column `strategy` says of records that are not shared at all.
_NOT_SHARED = ("withheld", "nothing")
# Before a value, in the results of the masking game, that is released at a level between shared and masked.
_GROUP_OF = "group of "


@dataclass(frozen=True, eq=False)
class ChosenForms:
    """What a policy chose for every record.

    Parameters
    ----------
    policy : str
    labels : DataFrame
        One column of text per quasi-identifier, one row per record, in the order of the release; ``*`` if suppressed
        or masked.
    shared : ndarray of bool, shape (n_records,)
        Whether a record is shared; rows of others are not to be used.
    """

    policy: str
    labels: pd.DataFrame
    shared: NDArray[np.bool_]


def chosen_forms(
    run: StoredRun,
    attributes: list[str],
    policy: str | None,
    generalize: Mapping[str, GeneralizedAttribute] | None = None,
) -> ChosenForms:
    """Read what a policy of a run chose.

    Parameters
    ----------
    run : StoredRun
    attributes : list of str
        The quasi-identifiers.
    policy : str or None
        May be left out if the run has one policy.
    generalize : mapping, optional
        Attributes of the masking game with levels between shared and masked.

    Raises
    ------
    InputError
        If the run has no table of records, several runs in it, or no such policy.
    """
    if "records" not in run.tables:
        raise InputError("no records in the results", source=run.folder, expected="records.parquet")
    table = run.table("records")
    source = run.tables["records"]
    for column in ("record", "policy", "strategy", *attributes):
        if column not in table:
            raise InputError("column missing", source=source, where=f"column {column!r}")
    for found in (run.runs, table):
        for column in ("point", "replication"):
            if column in found and len(found[column].unique()) > 1:
                raise InputError("results of several runs", source=run.folder, where=column, expected="a single run")
    policies = list(dict.fromkeys(table["policy"].astype("str")))
    if policy is None and len(policies) > 1:
        raise InputError("several policies", source=run.folder, expected=f"--policy, one of {listed(policies)}")
    if policy is not None and policy not in policies:
        raise InputError(
            "no such policy in the results",
            source=run.folder,
            where="--policy",
            found=policy,
            expected=f"one of {listed(policies)}",
            hint=nearest(policy, policies),
        )
    policy = policy or policies[0]
    table = table[(table["policy"] == policy).to_numpy()].reset_index(drop=True)
    if not np.array_equal(table["record"].to_numpy(), np.arange(len(table))):
        raise InputError("records are not in the order of the release", source=source)
    strategies = table["strategy"].astype("str")
    labels = {}
    for name in attributes:
        form: pd.Series[str] = table[name].astype("str").mask(table[name].isna())
        if generalize and name in generalize:
            form = _groups_named(form, strategies, name, generalize[name])
        labels[name] = form.fillna(SUPPRESSED)
    shared = ~strategies.isin(_NOT_SHARED).to_numpy()
    if "participates" in table:
        # With agents: the form is there for those who stay away, too, and their record is not shared.
        shared &= table["participates"].to_numpy(dtype=bool)
    return ChosenForms(policy, pd.DataFrame(labels), shared)


def group_label(value: str, level: int, section: GeneralizedAttribute) -> str:
    """Return how a value of the masking game is released at a level between shared and masked, 1 or more.

    Intervals go from 0 on; a value in none of the listed groups stays as it is.
    """
    if section.widths:
        width = section.widths[level - 1]
        low = int(value) // width * width
        return f"{low}-{low + width - 1}"
    return next((" or ".join(group) for group in section.groups[level - 1] if value in group), value)


def _groups_named(
    column: pd.Series[str], strategies: pd.Series[str], name: str, section: GeneralizedAttribute
) -> pd.Series[str]:
    """Put the group in the place of the value it is named after, which must not be told."""
    for level in range(1, len(section.kept) + 1):
        marks = {text: f" {name}~{level} " in f" {text} " for text in strategies.unique()}
        at_level = strategies.map(marks).astype(bool) & column.notna()
        values = column[at_level].str.removeprefix(_GROUP_OF)
        names = {value: group_label(value, level, section) for value in values.unique()}
        column = column.mask(at_level, values.map(names))
    return column
