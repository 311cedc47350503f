"""Play a table with some quasi-identifiers at the highest hierarchy level."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from reidsim.errors import InputError
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.record_game import WITHHELD
from reidsim.kinds.tables.outcomes import outcome_of, play
from reidsim.kinds.tables.study import TablesStudy


class DroppedColumns:
    """Plays a study's policies with any set of quasi-identifiers dropped.

    A dropped column is at the highest level of its hierarchy in all records. A policy that optimizes chooses among the
    remaining generalizations. A rule keeps its levels of the other columns.

    Parameters
    ----------
    study : TablesStudy

    Raises
    ------
    InputError
        If no policy of the scenario can be played with dropped columns.
    """

    def __init__(self, study: TablesStudy) -> None:
        publisher = study.scenario.publisher
        self.names = study.lattice.domain.names
        self.policies = tuple(name for name in publisher.policies if _can_be_limited(study, name))
        self.left_out = tuple(
            f"policy {name} is left out: the policy does not support a minimum level of a column"
            for name in publisher.policies
            if name not in self.policies
        )
        if not self.policies:
            raise InputError(
                "no policy supports a minimum level of a column",
                source=study.loaded.path,
                where="publisher.policies",
                found=list(publisher.policies),
                expected="a policy such as basic, no-attack or no-protection",
            )
        if publisher.unit == "record":
            # Branch and bound is also exact, and searches only the remaining generalizations.
            study = study.with_sections(publisher=publisher.model_copy(update={"solver": "branch-and-bound"}))
        self._study = study

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about columns that keep groups when dropped, and omitted policies."""
        hierarchies = zip(self.names, self._study.lattice.hierarchies, strict=True)
        partly = [(name, each.n_groups[-1]) for name, each in hierarchies if each.n_groups[-1] > 1]
        kept = tuple(
            f"column {name} keeps {groups} groups when it is dropped: the highest level of its hierarchy"
            for name, groups in partly
        )
        return (*self.left_out, *kept)

    def play(self, kept: Collection[str]) -> Mapping[str, Equilibrium]:
        """Return the outcome of each policy if only the columns `kept` may be released.

        Rows of an outcome are the game rows of the study.
        """
        study = self._study
        attributes = {
            name: section
            if name in kept
            else section.model_copy(
                update={"minimum_level": study.lattice.shape[study.lattice.domain.position(name)] - 1}
            )
            for name, section in study.scenario.attributes.items()
        }
        limited = study.with_sections(attributes=attributes)
        lowest = np.full(study.space.n_records, study.lattice.index(limited.minimum), dtype=np.int64)
        found = {}
        for name, outcome in play(limited, self.policies).items():
            found[name] = outcome.equilibrium
            choice = outcome.choice
            assert choice is not None  # noqa: S101 - outcomes of `play` have a choice
            given = choice.strategies
            joined = np.where(given == WITHHELD, WITHHELD, study.lattice.join(np.maximum(given, 0), lowest))
            if not np.array_equal(joined, given):
                found[name] = outcome_of(limited, name, replace(choice, strategies=joined), limited.truth).equilibrium
        return found


def _can_be_limited(study: TablesStudy, name: str) -> bool:
    policy, publisher = study.policy(name), study.scenario.publisher
    greedy = policy.picks_each(publisher) and publisher.solver == "lattice-search"
    return policy.has_lowest_level and not greedy
