"""How much memory a masking game takes, from the size of its tables alone."""

from __future__ import annotations

from reidsim.adversaries.multistage.stages import InferSurname
from reidsim.adversaries.multistage.two_stage import places_kept
from reidsim.kinds.masking.schema import TARGETS
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.kinds.masking.tables_schema import TableSection
from reidsim.linkage.surname_inference.leaders import kept_of_target

# Bytes, fitted to the peaks of whole runs; see `docs/limits.md`.
_OF_OUTCOME, _OF_MASKED, _OF_VALUE, _OF_PERSON, _OF_LEADER, _OF_PLACE = 300, 86, 16, 100, 20, 20


def needed_memory(study: MaskingStudy) -> int:
    """Return about how many bytes a run takes at its peak, besides the program; tables and results are included.

    Parameters
    ----------
    study : MaskingStudy
    """
    scenario, tables = study.scenario, study.tables

    def rows(name: str, section: TableSection) -> int:
        return tables.files[name].n_rows if name in tables.files else section.size or tables.n_people

    subjects = rows(TARGETS, scenario.targets)
    needed = subjects * (_OF_OUTCOME * len(scenario.subjects.policies) + _OF_MASKED * len(scenario.subjects.attributes))
    needed += tables.n_people * (_OF_PERSON + _OF_VALUE * len(tables.values))
    for name, section in scenario.resources.items():
        needed += rows(name, section) * _OF_VALUE * len(section.attributes)
    stages = [stage for study in study.each.values() for stage in study.stages if isinstance(stage, InferSurname)]
    for name, n_loci in {(stage.resource, len(stage.loci)) for stage in stages}:
        # Compiled solvers keep surnames, the others the men nearest to each subject.
        n_kept, places = places_kept(subjects, n_loci)
        leaders = subjects * kept_of_target(subjects, rows(name, scenario.resources[name]))
        needed += max(leaders * _OF_LEADER, n_kept * places * _OF_PLACE)
    return needed
