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


def diversity(name: str, column: pd.Series[str], classes: NDArray[np.int64]) -> Diversity:
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
    distance: Literal["equal", "ordered"] = "ordered" if ordered else "equal"
    if not len(codes):
        return Diversity(name, 0, 0.0, 0.0, distance)
    if ordered:
        place = np.empty(len(values), dtype=np.int64)
        place[numeric_order(list(values))] = np.arange(len(values))
        codes = place[codes]
    sizes = np.bincount(classes)
    overall = np.bincount(codes, minlength=len(values)) / len(codes)
    # One entry for each combination of class and value that occurs, sorted by class and value.
    pairs, counts = np.unique(classes * len(values) + codes, return_counts=True)
    of_class, value = pairs // len(values), pairs % len(values)
    share = counts / sizes[of_class]
    present = sizes > 0
    distinct = np.bincount(of_class, minlength=len(sizes))
    entropy = np.exp(np.bincount(of_class, -share * np.log(share), minlength=len(sizes)))
    if ordered:
        far = _ordered_distance(of_class, value, share, overall, len(sizes))
    else:
        differences = np.bincount(of_class, np.abs(share - overall[value]) - overall[value], minlength=len(sizes))
        far = (differences + 1) / 2
    closeness = float(np.clip(far[present].max(), 0.0, 1.0))
    return Diversity(name, int(distinct[present].min()), float(entropy[present].min()), closeness, distance)


def _ordered_distance(
    of_class: NDArray[np.int64], value: NDArray[np.int64], share: Floats, overall: Floats, n_classes: int
) -> Floats:
    """Return the mean gap between cumulative shares of each class, shape (n_classes,).

    Between two values of a class, the cumulative share of the class is constant and the cumulative share of all rows
    increases. Therefore the gap is summed separately on both sides of the point where the two are equal.
    """
    n_values = len(overall)
    if n_values == 1:
        return np.zeros(n_classes)
    cumulative = np.cumsum(overall)[:-1]
    summed = np.concatenate([[0.0], np.cumsum(cumulative)])
    begins = np.flatnonzero(np.diff(of_class, prepend=-1))
    shares = np.cumsum(share)
    before = np.repeat(shares[begins] - share[begins], np.diff(begins, append=len(of_class)))
    level = shares - before
    ends = np.append(value[1:], n_values - 1)
    ends[np.append(begins[1:], len(value)) - 1] = n_values - 1
    # The cumulative share of a class is 0 before its first value.
    start = np.concatenate([value, np.zeros(len(begins), dtype=np.int64)])
    end = np.concatenate([ends, value[begins]])
    level = np.concatenate([level, np.zeros(len(begins))])
    owner = np.concatenate([of_class, of_class[begins]])
    crossing = np.clip(np.searchsorted(cumulative, level), start, end)
    gaps = level * (crossing - start) - (summed[crossing] - summed[start])
    gaps += (summed[end] - summed[crossing]) - level * (end - crossing)
    return np.asarray(np.bincount(owner, gaps, minlength=n_classes) / (n_values - 1), dtype=np.float64)
