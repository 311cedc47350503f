"""Linkage of records with masked attributes to the people of a register."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.multistage.world import ListedTargets, PersonTable
from reidsim.adversaries.response import Linkage
from reidsim.core.errors import InputError
from reidsim.populations.domain import Attribute, Codes
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Rows

# Memory limit of the cached linkages, in bytes.
_MEMORY_LIMIT = 128 * 2**20


class MaskedRecordLinker:
    """Linker of masked records to a register, by the attributes the adversary knows.

    Attributes that the register lacks, or that the adversary cannot know, do not affect linkage. Strategies that differ
    only in these attributes are computed once.

    Parameters
    ----------
    space : MaskingSpace
        Masking space of the records.
    targets, register : PersonTable
        The data subjects, and the candidates; both with the attributes of the knowledge.
    knowledge : Knowledge
        Knowledge about the subjects, over the linked attributes in the order of the space.
    registered : ndarray of bool, shape (n_records,), optional
        Whether each subject is in the register. Default: all are.
    listed : ListedTargets, optional
        Targets in the register, if the register was drawn as a list.
    guessed : bool
        Whether only the coverage of that list is known, not its members.

    Raises
    ------
    InputError
        If an attribute or a value is missing in the register, or if the groups of a level lack a value or split the
        groups of the previous level.
    """

    def __init__(
        self,
        space: MaskingSpace,
        targets: PersonTable,
        register: PersonTable,
        knowledge: Knowledge,
        registered: NDArray[np.bool_] | None = None,
        listed: ListedTargets | None = None,
        *,
        guessed: bool = False,
    ) -> None:
        self._space, self._guessed, self._attributes = space, guessed, knowledge.attributes
        self._linked = [space.attributes.index(name) for name in knowledge.attributes]
        hierarchies, own, theirs = [], [], []
        for position, name in zip(self._linked, knowledge.attributes, strict=True):
            if name in register.missing:
                raise InputError(
                    "value missing in an attribute that the adversary knows",
                    source=register.name,
                    where=name,
                    expected="a value for each person",
                )
            both = np.concatenate([targets.column(name), register.column(name)])
            values, codes = np.unique(both, return_inverse=True)
            own.append(codes[: targets.n_rows])
            theirs.append(codes[targets.n_rows :])
            between = [space.generalized(position, level, values) for level in range(1, space.shape[position] - 1)]
            levels = [[f"group {group}" for group in groups.tolist()] for groups in between]
            attribute = Attribute(name, tuple(map(str, values.tolist())))
            try:
                hierarchies.append(Hierarchy.from_labels(attribute, [*levels, [SUPPRESSED] * attribute.size]))
            except InputError:
                problem, where = "a group is split at the next level", f"levels of attribute {name!r}"
                expected = "groups that only merge from one level to the next, for an adversary with partial knowledge"
                raise InputError(problem, where=where, expected=expected) from None
        lattice = GeneralizationLattice(tuple(hierarchies), _codes(own))
        self._strides = np.array(lattice.strides)
        people = Population.from_records(lattice.domain, _codes(theirs), name=register.name)
        everybody = listed is None and (registered is None or bool(registered.all()))
        self._linker = KnowledgeLinker(
            lattice,
            people,
            knowledge,
            registered=None if everybody else registered,
            own=None if listed is None else _codes(theirs)[listed.row],
            coverage=1.0 if listed is None else listed.coverage,
        )
        most_kept = max(_MEMORY_LIMIT // (16 * max(targets.n_rows, 1)), 1)
        self._link_all = lru_cache(maxsize=most_kept)(self._linker.link)

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Attributes on which linkage depends."""
        return self._attributes

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`.

        The result holds effective group sizes; see `KnowledgeLinker`.
        """
        found = self._link_all(int(self._space.levels(strategy)[self._linked] @ self._strides))
        found = found.as_believed() if self._guessed else found
        if rows is None:
            return found
        believed = found.believed_group_sizes[rows]
        known = found.group_sizes is found.believed_group_sizes
        return Linkage(believed if known else found.group_sizes[rows], believed, by_chance=True)


def _codes(columns: list[NDArray[np.intp]]) -> Codes:
    return np.column_stack(columns).astype(np.int32)
