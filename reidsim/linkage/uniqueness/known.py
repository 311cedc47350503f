"""Population uniqueness when the population is known: who of the sample is alone in it."""

from __future__ import annotations

import numpy as np

from reidsim.errors import InputError
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.populations.population import Population


def true_uniqueness(population: Population, sample: Population) -> UniquenessEstimate:
    """Count the uniques of a population and, of the records unique in a sample, those unique in the population.

    Parameters
    ----------
    population : Population
        In whole people.
    sample : Population
        Of people of the population, over the same domain (see `Population.from_records` for a table of records).

    Returns
    -------
    UniquenessEstimate
        Its intervals are the numbers themselves. Where no record of the sample is unique the probability is 0, and
        the note says so.

    Raises
    ------
    InputError
        If the domains differ, the counts are not of whole people, or the sample has people whom the population lacks.
    """
    if population.domain != sample.domain:
        raise InputError(
            "the sample and the population have different attributes or categories",
            where=sample.name,
            found=sample.domain.names,
            expected=f"those of {population.name!r}",
        )
    for counted in (population, sample):
        if not np.issubdtype(counted.counts.dtype, np.integer):
            raise InputError(
                "uniques are not known from expected counts", where=counted.name, expected="counts of whole people"
            )
    keys = population.domain.keys(population.cells)
    order = np.argsort(keys)
    sampled = sample.domain.keys(sample.cells)
    place = order[np.minimum(np.searchsorted(keys, sampled, sorter=order), len(keys) - 1)]
    people = np.where(keys[place] == sampled, population.counts[place], 0)
    if (sample.counts > people).any():
        cell = int(np.argmax(sample.counts > people))
        labels = sample.domain.decode(sample.cells[cell : cell + 1]).iloc[0]
        raise InputError(
            "the sample has people whom the population lacks",
            where=", ".join(f"{name} = {label}" for name, label in labels.items()),
            found=int(sample.counts[cell]),
            expected=f"at most {int(people[cell])}",
        )
    alone = sample.counts == 1
    sample_uniques = int(alone.sum())
    p = float(np.mean(people[alone] == 1)) if sample_uniques else 0.0
    uniques = float((population.counts == 1).sum())
    return UniquenessEstimate(
        method="known",
        population_size=int(population.counts.sum()),
        sample_size=int(sample.counts.sum()),
        sample_uniques=sample_uniques,
        expected_uniques=uniques,
        uniques_low=uniques,
        uniques_high=uniques,
        p_unique_given_sample_unique=p,
        low=p,
        high=p,
        level=1.0,
        note="" if sample_uniques else "no record of the sample is unique",
    )
