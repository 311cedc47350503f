"""How much memory an assessment takes, from the size of its releases alone."""

from __future__ import annotations

from reidsim.kinds.assessment.study import RiskStudy

# Bytes, fitted to the peaks of whole runs of up to a million records; see `docs/limits.md`. Of a record, of a value
# of it, and of the table of its risks for each adversary.
_OF_RECORD, _OF_VALUE, _OF_RISKS = 120, 10, 255
_OF_SIMULATED = 100
_OF_PERSON_OF_POPULATION, _OF_VALUE_OF_POPULATION = 60, 40


def needed_memory(study: RiskStudy) -> int:
    """Return about how many bytes a run takes at its peak, besides the program; file and results are included.

    Parameters
    ----------
    study : RiskStudy
    """
    attributes, adversaries = len(study.domain.names), len(study.scenario.knowledge) + 1
    threshold, records = study.scenario.threshold, sum(study.sizes)
    # Of simulated cohorts, one after the other, only the risks that are compared are held.
    simulated = max(threshold.sizes, default=0) if threshold is not None else 0
    people = 0 if study.population is None else len(study.population.cells)
    of_people = people * (_OF_VALUE_OF_POPULATION * attributes + _OF_PERSON_OF_POPULATION)
    of_records = records * (_OF_RECORD + _OF_VALUE * attributes + _OF_RISKS * adversaries)
    return of_people + of_records + simulated * _OF_SIMULATED * adversaries
