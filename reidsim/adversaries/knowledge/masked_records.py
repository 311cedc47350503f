"""Linkage of records with masked attributes to the people of a register."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker, masking_lattice
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.multistage.world import ListedTargets, PersonTable
from reidsim.adversaries.response import Linkage
from reidsim.errors import InputError
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
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
        self._space, self._guessed = space, guessed
        self._linked = [space.attributes.index(name) for name in knowledge.attributes]
        attributes, own, theirs, groups = [], [], [], []
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
            attributes.append(Attribute(name, tuple(map(str, values.tolist()))))
            own.append(codes[: targets.n_rows])
            theirs.append(codes[targets.n_rows :])
            between = range(1, space.shape[position] - 1)
            groups.append(tuple(_numbered(space.generalized(position, level, values)) for level in between))
            _require_nested(name, groups[-1])
        kept = tuple(space.kept[position] for position in self._linked)
        self._linked_space = MaskingSpace(
            knowledge.attributes, np.ones(len(kept)), targets.n_rows, kept, tuple(groups), float(len(kept))
        )
        domain = Domain(tuple(attributes))
        lattice = masking_lattice(self._linked_space, domain, _codes(own))
        people = Population.from_records(domain, _codes(theirs), name=register.name)
        everybody = listed is None and (registered is None or bool(registered.all()))
        self._linker = KnowledgeLinker(
            lattice,
            people,
            knowledge,
            registered=None if everybody else registered,
            own=None if listed is None else _codes(theirs)[listed.row],
            coverage=1.0 if listed is None else listed.coverage,
        )
        self._kept: OrderedDict[int, Linkage] = OrderedDict()
        self._most_kept = max(_MEMORY_LIMIT // (16 * max(targets.n_rows, 1)), 1)

    @property
    def looked_at(self) -> tuple[str, ...]:
        """Attributes on which linkage depends."""
        return self._linked_space.attributes

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`.

        The result holds effective group sizes; see `KnowledgeLinker`.
        """
        levels = self._space.levels(strategy)[self._linked]
        linked = int(self._linked_space.number(levels))
        if linked not in self._kept:
            found = self._linker.link(linked)
            self._kept[linked] = found.as_believed() if self._guessed else found
            if len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        found = self._kept[linked]
        if rows is None:
            return found
        believed = found.believed_group_sizes[rows]
        if found.group_sizes is found.believed_group_sizes:
            return Linkage(believed, believed, by_chance=True)
        return Linkage(found.group_sizes[rows], believed, by_chance=True)


def _require_nested(name: str, levels: Sequence[NDArray[np.int64]]) -> None:
    """Raise InputError if a level splits a group of the previous level."""
    for finer, coarser in pairwise(levels):
        if len(np.unique(np.stack([finer, coarser]), axis=1).T) > finer.max() + 1:
            raise InputError(
                "a group is split at the next level",
                where=f"levels of attribute {name!r}",
                expected="groups that only merge from one level to the next, for an adversary with partial knowledge",
            )


def _codes(columns: list[NDArray[np.intp]]) -> Codes:
    return np.column_stack(columns).astype(np.int32)


def _numbered(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups renumbered from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
