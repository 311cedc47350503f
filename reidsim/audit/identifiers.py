"""Detect columns that identify most people.

Reasons are the column's name, the format of its values, or their uniqueness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifier_formats import format_of, number_format_of
from reidsim.audit.identifier_names import is_numbered, named_identifier
from reidsim.audit.notation import is_all_numbers, text_of

# Texts that denote missing values.
_MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "#N/A", "?", ".", "*"})
# A column is identifying if it identifies more than this share of the people.
_MOST = 0.5
# Values are shared by few people if the average number of people per value is at most this.
_FEW_PEOPLE = 5.0
# A column with at most this many distinct values in many rows is never identifying, even if its name suggests it (such
# as `telephone` with values yes and no).
_FEW_VALUES = 10
# With fewer people, a large share of distinct values is not evidence of an identifying column.
_ENOUGH_PEOPLE = 20
# Number of values whose format is examined.
_SAMPLE = 5_000


def why_identifying(
    name: str, column: pd.Series[str], persons: NDArray[np.generic] | None = None, *, unique: bool = True
) -> str:
    """Return the reason why a column identifies most people; empty if it does not.

    The reasons are, in this order: the column's name, the format of its values, and the number of people with a value
    of their own. Marks of missing values, such as ``NA``, are ignored. A column with at most 10 distinct values, each
    shared by more than 5 people on average, is never identifying.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series of str
        One value per record.
    persons : ndarray, shape (n_records,), optional
        Person of each record; default: each record is another person.
    unique : bool
        Whether unique values of most people count as a reason.

    Examples
    --------
    >>> why_identifying("savings", pd.Series(["310", "311", "312", "313", "313"]))
    '3 of 5 people have a number of their own, among 4 different ones'
    """
    text = text_of(column)
    present = ~text.isin(_MISSING).to_numpy()
    person = np.arange(len(text)) if persons is None else pd.factorize(np.asarray(persons))[0]
    codes, values = pd.factorize(text[present])
    # Count each value once per person.
    n_rows = max(len(text), 1)
    value, holder = np.divmod(np.unique(codes.astype(np.int64) * n_rows + person[present]), n_rows)
    holders = np.bincount(value, minlength=len(values))
    alone, people = np.unique(holder[holders[value] == 1]), len(np.unique(holder))
    return why_values_identify(name, list(values), holders.tolist(), people, len(alone), unique=unique)


def why_values_identify(
    name: str,
    values: Sequence[str],
    holders: Sequence[int],
    people: int | None = None,
    alone: int | None = None,
    *,
    unique: bool = True,
) -> str:
    """Return the reason why counted values identify most people.

    The result is empty if they do not.

    Parameters
    ----------
    name : str
        Name of the column.
    values : sequence of str
        Distinct values; marks of missing values, such as ``NA``, are ignored.
    holders : sequence of int
        Number of people with each value.
    people, alone : int, optional
        Number of people with a value, and number of people with a unique value; default: computed from `holders`.
    unique : bool
        Whether unique values of most people count as a reason, in addition to the name and the format of the column.
    """
    counted = [(value, count) for value, count in zip(values, holders, strict=True) if value not in _MISSING]
    if not counted:
        return ""
    held = sum(count for _, count in counted)
    people = held if people is None else people
    alone = sum(count == 1 for _, count in counted) if alone is None else alone
    distinct = [value for value, _ in counted]
    few_share = held <= _FEW_PEOPLE * len(distinct)
    if not few_share and len(distinct) <= _FEW_VALUES:
        return ""
    called = named_identifier(name)
    if called:
        return f"its name suggests {called}"
    sample = distinct if len(distinct) <= _SAMPLE else distinct[:: len(distinct) // _SAMPLE]
    looks = format_of(sample)
    if looks:
        return f"its values look like {looks}"
    # A single distinct value is not evidence.
    if len(distinct) == 1:
        return ""
    many = people >= _ENOUGH_PEOPLE and len(distinct) >= _MOST * people
    amounts = is_all_numbers(sample)
    own = f"{alone:,} of {people:,} people have one that no other person has, among {len(distinct):,} distinct values"
    if not unique:
        return ""
    if alone > _MOST * people or many:
        return own.replace("one", "a number" if amounts else "a value", 1)
    if few_share and is_numbered(name):
        return f"its name ends like the name of a record number, and {own}"
    # Amounts have different numbers of digits; assigned numbers have the same number.
    looks = "" if not few_share or (amounts and len(set(map(len, sample))) > 1) else number_format_of(sample)
    return f"its values look like {looks}, and {own}" if looks else ""
