"""A masking game cut down to some of its data subjects, each of whom decides alone, against the same resources."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reidsim.kinds.masking.schema import TARGETS
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.scenarios.portions import Portions


def portions(study: MaskingStudy) -> Portions:
    """Return how a study is cut down; see `Kind.portions`."""
    files, drawn = study.tables.files, study.scenario.targets.size
    subjects = files[TARGETS].n_rows if TARGETS in files else drawn or study.tables.n_people
    return Portions(subjects, partial(_of_subjects, study), int(np.max(study.scenario.subjects.k)))


def _of_subjects(study: MaskingStudy, number: int) -> MaskingStudy:
    scenario, files = study.scenario, study.tables.files
    update: dict[str, object] = {"targets": scenario.targets.model_copy(update={"size": number})}
    if TARGETS in files:
        update, files = {}, {**files, TARGETS: files[TARGETS].of_rows(slice(number))}
    path = scenario.figures.search_path
    if path is not None and path >= number:
        update["figures"] = scenario.figures.model_copy(update={"search_path": 0})
    loaded = replace(study.loaded, scenario=scenario.model_copy(update=update))
    tables = replace(study.tables, loaded=loaded, files=files)
    part = study.with_loaded(loaded)
    alone = {name: replace(each, tables=tables) for name, each in part.alone.items()}
    return replace(part, tables=tables, alone=alone)
