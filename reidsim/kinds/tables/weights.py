"""Sampling weights of the records of a table, and the people of the population whom these stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reidsim.errors import InputError
from reidsim.kinds.tables.data_schema import ReleaseSection
from reidsim.linkage.individual_risk import SampledPeople
from reidsim.linkage.uniqueness.log_linear import fitting_model
from reidsim.linkage.uniqueness.sample_cells import SampleCells, weights_in
from reidsim.populations.domain import Domain
from reidsim.releases.strategy_space import Floats

if TYPE_CHECKING:
    from reidsim.kinds.tables.release import ReleasedRecords
    from reidsim.kinds.tables.schema import TablesScenario

_NAME = "the people whom the records stand for"


def sampling_weights(section: ReleaseSection, frame: pd.DataFrame, source: str | Path) -> Floats | None:
    """Return how many people each record stands for, shape (n_records,); None if the scenario does not say.

    Raises
    ------
    InputError
        If the column is missing, or a weight is no finite number of 1 or more; names the row.
    """
    if section.sampling_fraction is not None:
        return np.full(len(frame), 1 / section.sampling_fraction)
    if section.weight is None:
        return None
    return weights_in(frame, section.weight, source)


def sampled_people(scenario: TablesScenario, domain: Domain, records: ReleasedRecords) -> SampledPeople | None:
    """Return the people whom records stand for, if an adversary, or the publisher, counts them.

    Raises
    ------
    InputError
        If a log-linear model has too many cells.
    """
    if records.weights is None or "sample" not in scenario.risks:
        return None
    if scenario.release.estimator == "benedetti-franconi":
        return SampledPeople.of_records(domain, records.codes, records.weights, _NAME)
    occur = [np.unique(records.codes[:, position]) for position in range(records.codes.shape[1])]
    columns = [np.searchsorted(values, records.codes[:, at]) for at, values in enumerate(occur)]
    try:
        model = fitting_model(SampleCells.of_records(columns, records.weights)).everybody()
    except InputError as error:
        hint = 'fewer or coarser quasi-identifiers; "benedetti-franconi" needs no table, but may be far off'
        raise error.but(source=None, where="release.estimator", hint=hint) from None
    codes = np.column_stack([values[model.codes[:, at]] for at, values in enumerate(occur)]).astype(np.int32)
    order = np.argsort(domain.keys(codes))
    return SampledPeople(
        domain, codes[order], model.people[order], name=_NAME, records=model.records[order], missing="poisson"
    )


def warning_of_estimator(scenario: TablesScenario, sampled: SampledPeople | None) -> str | None:
    """Say that the weights of records unique in the sample tell little of their risk; None if all is well."""
    if sampled is None or scenario.release.estimator != "benedetti-franconi":
        return None
    unique = int((sampled.records == 1).sum())
    if not unique or sampled.total <= sampled.records.sum():
        return None
    return (
        f"{unique:,} of {int(sampled.records.sum()):,} records are unique in the sample; by Benedetti and Franconi "
        'their risk may be far off: compare release.estimator = "log-linear"'
    )
