"""l-diversity and t-closeness of kept columns in a release.

They are computed over its equivalence classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.notation import is_all_numbers, numeric_order, text_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Diversity:
    """l-diversity and t-closeness of a kept column in the worst equivalence class.

    Parameters
    ----------
    name : str
        Name of the column.
    distinct : int
        Smallest number of different values in a class (distinct l-diversity); 0 if there is no class.
    entropy : float
        Smallest exponential of the entropy of the values in a class (entropy l-diversity); 0 if there is no class.
    closeness : float
        Largest distance between the distributions of values in a class and in all shared rows (t-closeness), in [0, 1];
        0 if there is no class.
    distance : {"equal", "ordered"}
        Ground distance of the earth mover's distance: ``equal`` between all values, for nominal columns; or
        ``ordered``, equal between neighbouring values, for numeric columns, in which empty cells come first.
    """

    name: str
    distinct: int
    entropy: float
    closeness: float
    distance: Literal["equal", "ordered"]


def diversity(name: str, column: pd.Series[str], classes: Integers) -> Diversity:
    """Return the l-diversity and t-closeness of a column.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series of str
        One value per shared row.
    classes : ndarray of int64, shape (n_rows,)
        Class of each row, numbered from 0.
    """
    codes, values = pd.factorize(text_of(column))
    ordered = is_all_numbers(list(values))
    if not len(codes):
        return Diversity(name, 0, 0.0, 0.0, "equal")
    if ordered:
        codes = np.argsort(numeric_order(list(values)), kind="stable")[codes]
    sizes = np.bincount(classes)
    overall = np.bincount(codes, minlength=len(values)) / len(codes)
    # One entry for each combination of class and value that occurs, sorted by class and value.
    pairs, counts = np.unique(classes * len(values) + codes, return_counts=True)
    of_class, value = np.divmod(pairs, len(values))
    share = counts / sizes[of_class]
    entropy = np.exp(np.bincount(of_class, -share * np.log(share)))
    if ordered:
        far = _ordered_distance(of_class, value, share, overall)
    else:
        far = (np.bincount(of_class, np.abs(share - overall[value]) - overall[value]) + 1) / 2
    present = sizes > 0
    return Diversity(
        name,
        int(np.bincount(of_class)[present].min()),
        float(entropy[present].min()),
        float(np.clip(far[present].max(), 0.0, 1.0)),
        "ordered" if ordered else "equal",
    )


def _ordered_distance(of_class: Integers, value: Integers, share: Floats, overall: Floats) -> Floats:
    """Return the mean gap between cumulative shares of each class, shape (n_classes,).

    Between two values of a class, the cumulative share of the class is constant and the cumulative share of all rows
    increases. Therefore the gap is summed separately on both sides of the point where the two are equal.
    """
    last = len(overall) - 1
    cumulative = np.cumsum(overall)[:-1]
    summed = np.concatenate([[0.0], np.cumsum(cumulative)])
    begins = np.flatnonzero(np.diff(of_class, prepend=-1))
    # The cumulative share of a class is 0 before its first value.
    start, share = np.insert(value, begins, 0), np.insert(share, begins, 0.0)
    of_class = np.insert(of_class, begins, of_class[begins])
    begins += np.arange(len(begins))
    level = np.cumsum(share)
    level -= np.repeat(level[begins], np.diff(begins, append=len(level)))
    end = np.append(start[1:], last)
    end[np.append(begins[1:], len(end)) - 1] = last
    crossing = np.clip(np.searchsorted(cumulative, level), start, end)
    gaps = level * (crossing - start) - (summed[crossing] - summed[start])
    gaps += (summed[end] - summed[crossing]) - level * (end - crossing)
    return np.asarray(np.bincount(of_class, gaps) / max(last, 1), dtype=np.float64)
