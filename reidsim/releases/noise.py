"""Models of noise: the probability of a released label given a person's true value.

The model of a column is an array of shape (n_labels, n_values). Its rows are the labels that occur in the released
file, and its columns are the values of the attribute. Entries are probabilities or, for numbers, densities. Only the
ratios of entries within a row affect the linkage, so a row may be multiplied by any positive number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import log

Floats = NDArray[np.float64]
Members = NDArray[np.bool_]


def of_sets(sets: Sequence[Members]) -> Floats:
    """Return the model of labels without noise: 1 for the values that a label covers, 0 for others.

    Parameters
    ----------
    sets : sequence of ndarray of bool, shape (n_values,)
        For each label, whether it covers each value: one value, the values of an interval, or any set.
    """
    return np.array(sets, dtype=np.float64)


def replaced(keep: float, shares: Floats) -> Floats:
    """Return the model of values that are kept or drawn anew (PRAM, random swapping), one row per value.

    Parameters
    ----------
    keep : float
        Probability that a value is kept. Otherwise, it is drawn from all values, the same value included.
    shares : ndarray of float64, shape (n_values,)
        Probability of each value in such a draw.
    """
    return keep * np.eye(len(shares)) + (1.0 - keep) * np.asarray(shares)[:, None]


def with_added(labels: Floats, values: Floats, deviation: float) -> Floats:
    """Return the model of numbers with normal noise of mean 0.

    Parameters
    ----------
    labels, values : ndarray of float64, shape (n_labels,) and (n_values,)
        Numbers in the released file, and possible true numbers.
    deviation : float
        Standard deviation of the noise, above 0.
    """
    distance = (np.asarray(labels)[:, None] - np.asarray(values)[None, :]) / deviation
    # The nearest value has density 1, so that no label is impossible for all values.
    squares = distance**2
    return np.asarray(np.exp(-0.5 * (squares - squares.min(axis=1, keepdims=True))))


def unknown(n_labels: int, n_values: int) -> Floats:
    """Return the model of labels that do not depend on the true value."""
    return np.ones((n_labels, n_values))


def estimated(labels: NDArray[np.integer], values: NDArray[np.integer], simple: Sequence[Floats]) -> Floats:
    """Estimate the model from records whose true values are known.

    The candidates are the simple models, and tables of shares: the share of each label among the records with a value.
    In such a table, each value has one additional record, whose label has the probabilities of a simple model (a
    Dirichlet prior). The best candidate predicts each record's label, from the other records, with the highest
    likelihood (leave-one-out). So a table with few records per value, which would fit only its own records, is not
    chosen.

    Parameters
    ----------
    labels, values : ndarray of int, shape (n_records,)
        Number of the released label, and code of the true value, of each record.
    simple : sequence of ndarray of float64, shape (n_labels, n_values)
        Simple models; columns are probabilities with sum 1.
    """
    joint = np.zeros(simple[0].shape)
    np.add.at(joint, (labels, values), 1.0)
    of_value, best, model = joint.sum(axis=0), -np.inf, simple[0]
    for each in simple:
        table = (joint + each) / (of_value + 1.0), (joint + each - 1.0) / of_value.clip(1.0)
        for found, by_others in ((each, each), table):
            with np.errstate(divide="ignore"):
                likelihood = np.log(by_others[labels, values]).sum()
            if likelihood > best:
                best, model = likelihood, found
    return np.asarray(model)


def entropies(model: Floats) -> Floats:
    """Return the entropy of the true value given each label, in nats, shape (n_labels,).

    All values are equally probable beforehand. For a set of values without noise, it is the logarithm of their number.

    Parameters
    ----------
    model : ndarray of float64, shape (n_labels, n_values)
        Probability of each label given each value; each label must be possible for at least one value.
    """
    share = model / model.sum(axis=1, keepdims=True)
    return np.asarray(-(share * log(np.where(share > 0, share, 1.0))).sum(axis=1))
