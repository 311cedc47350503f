"""Population uniqueness from the probability of each sample unique.

Includes the individual risk of Benedetti and Franconi.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy

from reidsim.linkage.individual_risk import individual_risk
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.linkage.uniqueness.sample_cells import Floats, SampleCells


def benedetti_franconi_uniqueness(cells: SampleCells, *, level: float = 0.95) -> UniquenessEstimate:
    """Estimate population uniqueness from the weights of sample uniques only.

    Follows Benedetti and Franconi 1998.

    Parameters
    ----------
    cells : SampleCells
    level : float
        Confidence level of the intervals; see `estimate_of_uniques`.

    Returns
    -------
    UniquenessEstimate
        A record unique in the sample with weight w is unique in the population with probability 1 / w. So the expected
        number of population uniques is the number of sample uniques.
    """
    people = cells.people[cells.unique]
    share = individual_risk(np.ones(len(people)), people)
    return estimate_of_uniques("benedetti-franconi", cells, 1 / people, share, level=level)


def estimate_of_uniques(
    method: str,
    cells: SampleCells,
    staying: Floats,
    share: Floats,
    *,
    level: float,
    parameters: Mapping[str, float] | None = None,
) -> UniquenessEstimate:
    """Return the estimate from the probabilities of the sample uniques, one by one.

    Parameters
    ----------
    method : str
    cells : SampleCells
    staying : ndarray of float64, shape (n_uniques,)
        Probability of each record unique in the sample that it is unique in the population.
    share : ndarray of float64, shape (n_uniques,)
        Expectation of 1 / size of its group in the population.
    level : float
        Confidence level of the intervals: a normal approximation of the random number of population uniques in the
        sample, if the probabilities are correct and independent.
    parameters : mapping of str to float, optional
        Parameters of the fitted model, by name.

    Returns
    -------
    UniquenessEstimate
        The number of population uniques is the sum, over sample uniques, of weight times probability.
    """
    weights = cells.people[cells.unique]
    n, size = len(staying), cells.population_size
    p = float(staying.mean()) if n else 0.0
    uniques = float(weights @ staying)
    reach = float(scipy.stats.norm.ppf((1 + level) / 2))
    spread = staying * (1 - staying)
    of_share = reach * float(np.sqrt(spread.sum())) / max(n, 1)
    # Variance of uniqueness, and of the sampling of uniques.
    of_uniques = reach * float(np.sqrt((weights**2 * spread + weights * (weights - 1) * staying).sum()))
    return UniquenessEstimate(
        method=method,
        population_size=round(size),
        sample_size=int(cells.records.sum()),
        sample_uniques=n,
        expected_uniques=min(uniques, size),
        uniques_low=max(uniques - of_uniques, 0.0),
        uniques_high=min(uniques + of_uniques, size),
        p_unique_given_sample_unique=p,
        low=max(p - of_share, 0.0),
        high=min(p + of_share, 1.0),
        level=level,
        parameters=dict(parameters or {}),
        note="" if n else "no record of the sample is unique",
        risk_of_sample_uniques=float(share.mean()) if n else None,
    )
