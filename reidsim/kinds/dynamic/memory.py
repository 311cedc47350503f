"""How much memory a study of cases over time takes, from its size alone."""

from __future__ import annotations

from reidsim.kinds.dynamic.policies import PK
from reidsim.kinds.dynamic.study import DynamicStudy

# Bytes: of a case and policy, a value of a row, a level of a row, a value of a person in a cell; tables of people that
# are kept together; a value of a simulated record, and what is sorted of it.
_OF_OUTCOME, _OF_VALUE, _OF_LEVEL, _OF_CELL, _MOST_KEPT, _OF_SIMULATED = 300, 40, 8, 60, 256 * 2**20, 120


def needed_memory(study: DynamicStudy) -> int:
    """Return about how many bytes a run takes at its peak, besides the program; file and results are included.

    Parameters
    ----------
    study : DynamicStudy
    """
    publisher, lattice, cases = study.scenario.publisher, study.lattice, study.cases
    attributes = len(lattice.shape)
    needed = len(cases.codes) * (_OF_OUTCOME * len(publisher.policies) + _OF_VALUE * attributes)
    needed += lattice.n_records * (_OF_VALUE * attributes + _OF_LEVEL * sum(lattice.shape) + _OF_OUTCOME)
    people = sum(len(each.cells) for each in (cases.population, cases.voters) if each is not None)
    needed += people * _OF_CELL * attributes + min(_MOST_KEPT, lattice.size * (people + lattice.n_records) * 16)
    if PK in publisher.policies:
        needed += int(lattice.sizes.max()) * publisher.simulations * (_OF_SIMULATED + 4 * attributes)
    return needed
