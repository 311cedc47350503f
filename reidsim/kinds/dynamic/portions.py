"""Cases over time cut down to some of each period's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reidsim.kinds.dynamic.study import DynamicStudy, study_on
from reidsim.scenarios.portions import Portions


def portions(study: DynamicStudy) -> Portions:
    """Return how a study is cut down; see `Kind.portions`. Every period has a case."""
    cases = study.cases
    return Portions(len(cases.codes), partial(_of_cases, study), len(cases.periods))


def _of_cases(study: DynamicStudy, number: int) -> DynamicStudy:
    cases = study.cases
    in_order = np.argsort(cases.period, kind="stable")
    sizes = np.bincount(cases.period)
    kept = np.maximum(1, np.round(sizes * number / len(cases.period)))
    place = np.empty(len(cases.period), dtype=np.int64)
    place[in_order] = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    some = place < kept[cases.period]
    return study_on(study.loaded, replace(cases, codes=cases.codes[some], period=cases.period[some]))
