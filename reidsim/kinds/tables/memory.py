"""How much memory the run of a study of a table takes, from its size alone."""

from __future__ import annotations

from functools import reduce

import numpy as np

from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.kind import Use

# Bytes, fitted to the peaks of whole runs of up to a million records; see `docs/limits.md`.
_OF_RECORD, _OF_OUTCOME, _OF_ROUNDS = 250, 150, 400
_OF_CELL, _OF_VALUE, _OF_LOSS = 60, 40, 8
# Tables of people rolled up to a node: of each group, each cell of the release, and all that are kept together.
_OF_GROUP, _OF_GROUPED, _MOST_KEPT = 16, 4, 256 * 2**20
# Of each cell: what comes of the plans against all opponents, and each strategy that may be best at some amounts.
_OF_OPPONENTS, _OF_THINNED, _MOST_THINNED = 800, 9, 256
# Of each strategy of those cells whose strategies are compared at once.
_OF_COMPARED, _MOST_COMPARED = 80, 10**6
# Of each cell on the way through the lattice of a whole table.
_OF_STEP = 24
# More nodes than these are not looked at one by one.
_MANY_NODES = 100_000


def needed_memory(study: TablesStudy, use: Use = "run") -> int:
    """Return about how many bytes it takes at its peak to use a study, besides the program.

    Parameters
    ----------
    study : TablesStudy
    use : str
        See `Kind.needed_memory`; file and results are included.
    """
    publisher, lattice = study.scenario.publisher, study.lattice
    people = 0 if study.population is None else len(study.population.cells)
    of_cell = _OF_VALUE * len(lattice.shape) + _OF_CELL
    outcomes = study.n_records * _OF_OUTCOME * len(publisher.policies) if use in ("run", "rounds") else 0
    by_record = study.n_records * (_OF_RECORD + _OF_ROUNDS * (use == "rounds")) + outcomes
    by_cell = lattice.n_records * (of_cell + _OF_LOSS * sum(lattice.shape)) + people * of_cell
    if use == "cross-play":
        by_cell += lattice.n_records * _OF_OPPONENTS
    elif use == "stress":
        by_cell += lattice.n_records * min(lattice.size, _MOST_THINNED) * _OF_THINNED
        by_cell += min(lattice.n_records * lattice.size, _MOST_COMPARED) * _OF_COMPARED
    cells = lattice.n_records + people
    if publisher.unit == "table":
        return by_record + by_cell + _OF_STEP * cells * sum(lattice.shape)
    rolled_up = min(_MOST_KEPT, _rolled_up(study, cells))
    # Of everybody, and of those who take part in a round and in the next.
    return by_record + by_cell + rolled_up * (3 if use == "rounds" else 1)


def _rolled_up(study: TablesStudy, cells: int) -> int:
    """Return the bytes of the tables of all nodes at most, each with as many groups as there can be."""
    lattice = study.lattice
    groups = lattice.size * cells
    if lattice.size <= _MANY_NODES:
        by_attribute = (np.array(hierarchy.n_groups, dtype=np.float64) for hierarchy in lattice.hierarchies)
        groups = int(np.minimum(reduce(np.multiply.outer, by_attribute), cells).sum())
    return lattice.size * lattice.n_records * _OF_GROUPED + groups * _OF_GROUP
