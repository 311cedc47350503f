"""An assessment cut down to some of the people of its releases."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reidsim.kinds.assessment.release import Release
from reidsim.kinds.assessment.study import RiskStudy
from reidsim.scenarios.people import Keys
from reidsim.scenarios.portions import Portions


def portions(study: RiskStudy) -> Portions:
    """Return how a study is cut down; see `Kind.portions`: to one sample of each size, then to smaller ones."""
    return Portions(sum(study.sizes) * study.n_samples, partial(_of_people, study))


def _of_people(study: RiskStudy, number: int) -> RiskStudy:
    scenario, file, once = study.scenario, study.file, sum(study.sizes)
    share = min(number / once, 1.0)
    sizes = tuple(max(1, round(size * share)) for size in scenario.release.sizes)
    samples = max(1, round(number / once))
    update: dict[str, object] = {"release": scenario.release.model_copy(update={"sizes": sizes, "samples": samples})}
    threshold, settings = scenario.threshold, scenario.figures.settings
    if threshold is not None:
        simulated = tuple(max(1, round(size * share)) for size in threshold.sizes)
        update["threshold"] = threshold.model_copy(update={"sizes": simulated})
    if settings is not None and settings.records is not None:
        records = max(1, round(settings.records * share))
        update["figures"] = scenario.figures.model_copy(
            update={"settings": settings.model_copy(update={"records": records})}
        )
    loaded = replace(study.loaded, scenario=scenario.model_copy(update=update))
    part = None if file is None else _of_records(file, max(1, round(file.n_records * share)))
    return replace(study, loaded=loaded, file=part)


def _of_records(file: Release, number: int) -> Release:
    rows = np.linspace(0, file.n_records - 1, number).astype(np.intp)

    def numbered(keys: Keys | None) -> Keys | None:
        return None if keys is None else np.unique(keys[rows], return_inverse=True)[1]

    return replace(
        file, codes=file.codes[rows], persons=None if file.persons is None else file.persons[rows],
        weights=None if file.weights is None else file.weights[rows],
        person=numbered(file.person), household=numbered(file.household),
    )  # fmt: skip
