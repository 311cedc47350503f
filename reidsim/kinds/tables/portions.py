"""A table cut down to some rows of its games, which are solved one by one among the same people."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.portions import Portions


def portions(study: TablesStudy) -> Portions:
    """Return how a study is cut down; see `Kind.portions`."""
    return Portions(study.space.n_records, partial(_of_rows, study), int(np.max(study.scenario.publisher.k)))


def _of_rows(study: TablesStudy, number: int) -> TablesStudy:
    rows = np.linspace(0, study.space.n_records - 1, number).astype(np.intp)
    part = study.split(rows, study.weights[rows])
    if study.persons is None:
        codes, drawn = part.lattice.codes, study.drawn
        own = study.own.of_other_records(study.loaded, study, codes, rows)
        owns = {
            name: study.owns[str(name)].of_other_records(each.loaded, each, codes, rows)
            for name, each in study.each.items()
            if name is not None
        }
        part = replace(part, own=own, owns=owns, drawn=None if drawn is None else drawn.of_records(rows))
    # Data subjects of a row are neighbours.
    subjects = np.argsort(study.row_of_subject, kind="stable")
    subjects = subjects[np.isin(study.row_of_subject[subjects], rows)]
    waves, household = study.waves, study.household_of
    if waves is not None:
        sensitive = None if waves.sensitive is None else waves.sensitive[subjects]
        waves = replace(waves, enters=waves.enters[subjects], leaves=waves.leaves[subjects], sensitive=sensitive)
    if household is not None:
        household = np.unique(household[subjects], return_inverse=True)[1]
    return replace(part, waves=waves, household_of=household)
