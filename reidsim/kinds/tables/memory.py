"""How much memory the run of a study of a table takes, from its size alone."""

from __future__ import annotations

from functools import reduce

import numpy as np

from reidsim.kinds.tables.consistency import lists_every_form
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.group_sizes import most_kept
from reidsim.scenarios.kind import Use

# Bytes, fitted to the peaks of whole runs of up to a million records; see `docs/limits.md`.
_OF_RECORD, _OF_READ, _OF_OUTCOME, _OF_ROUNDS = 100, 37, 150, 400
# Of each cell of the release and each of its values, of each cell of the population and each of its, of each level.
_OF_CELL, _OF_VALUE, _OF_PEOPLE, _OF_PEOPLE_VALUE, _OF_LOSS = 190, 8, 60, 40, 8
# Of each cell less, in a single run by record: only those are looked up for which a strategy may win.
_OF_LEFT_OUT = 90
# Tables of people rolled up to a node: of each group, and each cell of the release.
_OF_GROUP, _OF_GROUPED = 16, 4
# Of each cell: what comes of the plans against all opponents, and each strategy that may be best at some amounts.
_OF_OPPONENTS, _OF_THINNED, _MOST_THINNED = 800, 9, 256
# Of each strategy of those cells whose strategies are compared at once.
_OF_COMPARED, _MOST_COMPARED = 80, 10**6
# Of each row of a released file, and of each value in it.
_OF_RELEASED, _OF_RELEASED_VALUE = 300, 17
# Of each cell on the way through the lattice of a whole table.
_OF_STEP = 24
# More nodes than these are not looked at one by one; a search that leaves out nodes is taken to visit so many. Rules
# have one each.
_MANY_NODES, _SEARCHED = 100_000, 1_000


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
    attributes = len(lattice.shape)
    outcomes = study.n_records * _OF_OUTCOME * len(publisher.policies) if use in ("run", "rounds") else 0
    of_record = _OF_RECORD + _OF_READ * attributes + _OF_ROUNDS * (use == "rounds")
    by_record = study.n_records * of_record + outcomes
    by_cell = lattice.n_records * (_OF_CELL + _OF_VALUE * attributes + _OF_LOSS * sum(lattice.shape))
    by_cell += people * (_OF_PEOPLE + _OF_PEOPLE_VALUE * attributes)
    if use == "run" and publisher.unit == "record" and publisher.solver == "backward-induction":
        by_cell -= lattice.n_records * _OF_LEFT_OUT
    if use == "cross-play":
        by_cell += lattice.n_records * _OF_OPPONENTS
    elif use == "stress":
        by_cell += lattice.n_records * min(lattice.size, _MOST_THINNED) * _OF_THINNED
        by_cell += min(lattice.n_records * lattice.size, _MOST_COMPARED) * _OF_COMPARED
    cells = lattice.n_records + people
    if publisher.unit == "table":
        return by_record + by_cell + _OF_STEP * cells * sum(lattice.shape)
    # Of everybody, and of those who take part in a round and in the next.
    return by_record + by_cell + _rolled_up(study, use, cells) * (3 if use == "rounds" else 1)


def released_memory(shape: tuple[int, int]) -> int:
    """Return about how many bytes it takes at its peak to play a released file, besides the study.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the file.
    """
    rows, columns = shape
    return rows * (_OF_RELEASED + _OF_RELEASED_VALUE * columns)


def _rolled_up(study: TablesStudy, use: Use, cells: int) -> int:
    """Return the bytes of the tables that are kept of the nodes visited, each with as many groups as there can be."""
    lattice = study.lattice
    policies = [study.policy(name) for name in study.scenario.publisher.policies]
    all_of_them = use == "stress" or lists_every_form(study.scenario)
    searched = len(policies) if all(policy.few_nodes for policy in policies) else _SEARCHED
    visited = lattice.size if all_of_them else min(lattice.size, searched)
    groups = visited * cells
    if visited == lattice.size <= _MANY_NODES:
        by_attribute = (np.array(hierarchy.n_groups, dtype=np.float64) for hierarchy in lattice.hierarchies)
        groups = int(np.minimum(reduce(np.multiply.outer, by_attribute), cells).sum())
    of_base = cells * _OF_GROUP + lattice.n_records * _OF_GROUPED
    return min(most_kept(of_base), visited * lattice.n_records * _OF_GROUPED + groups * _OF_GROUP)
