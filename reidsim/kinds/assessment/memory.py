"""How much memory an assessment takes, from the size of its releases alone."""

from __future__ import annotations

from reidsim.kinds.assessment.study import RiskStudy

# Bytes, fitted to the peaks of whole runs of up to a million records; see `docs/limits.md`.
_OF_VALUE, _OF_RISKS, _OF_PERSON_OF_POPULATION = 40, 265, 60
# Records that are told apart by sets of attributes, which are kept together.
_OF_CLASS, _MOST_KEPT = 40, 128 * 2**20


def needed_memory(study: RiskStudy) -> int:
    """Return about how many bytes a run takes at its peak, besides the program; file and results are included.

    Parameters
    ----------
    study : RiskStudy
    """
    attributes, adversaries = len(study.domain.names), len(study.scenario.knowledge) + 1
    # The table of persons has those of a release of each size.
    threshold = study.scenario.threshold
    simulated = max(threshold.sizes, default=0) if threshold is not None else 0
    records, largest = sum(study.sizes) + simulated, max(*study.sizes, simulated)
    people = 0 if study.population is None else len(study.population.cells)
    return (
        records * (_OF_VALUE * attributes + _OF_RISKS * adversaries)
        + people * (_OF_VALUE * attributes + _OF_PERSON_OF_POPULATION)
        + min(_MOST_KEPT, (largest * _OF_CLASS) << attributes)
    )
