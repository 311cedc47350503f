"""How much memory a study of cases over time takes, from its size alone."""

from __future__ import annotations

from reidsim.kinds.dynamic.policies import PK
from reidsim.kinds.dynamic.study import DynamicStudy
from reidsim.linkage.group_sizes import most_kept

# Bytes: of a case and policy, a value of a row, a level of a row, a value of a person in a cell; a value of a simulated
# record, and what is sorted of it.
_OF_OUTCOME, _OF_VALUE, _OF_LEVEL, _OF_CELL, _OF_SIMULATED = 300, 40, 8, 60, 120


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
    base = (people + lattice.n_records) * 16
    needed += people * _OF_CELL * attributes + min(most_kept(base), lattice.size * base)
    if PK in publisher.policies:
        needed += int(lattice.sizes.max()) * publisher.simulations * (_OF_SIMULATED + 4 * attributes)
    return needed
