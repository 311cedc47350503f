"""What of a table can be solved for many points at once, and what payoffs along an amount of money are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reidsim.kinds.tables.full_domain_points import MOST_POINTS, FullDomainPoints
from reidsim.kinds.tables.policies import policy_named
from reidsim.kinds.tables.record_points import is_thinnable, record_points
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.faces import ManyPoints
from reidsim.scenarios.schema import MONEY_KEYS
from reidsim.scenarios.study import AmountPoints, PolicyOutcome

# Whose class sizes the publisher plans with is no amount, but no more of the study than the amounts are.
_WALKED = frozenset((*MONEY_KEYS, "beliefs.risk"))


class TablesPoints(ManyPoints):
    """Which points of scenarios about tables take less than a run each; see `ManyPoints`."""

    def amounts_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> bool:
        """Tell whether strategies can be thinned to those that are best at some amounts."""
        return is_thinnable(scenario, keys)

    def plans_under_amounts(self, scenario: TablesScenario) -> bool:
        """Tell whether records are planned one by one."""
        return scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> AmountPoints | None:
        """Return what plans records one by one."""
        return record_points(study) if self.plans_under_amounts(study.scenario) else None

    def takes_best(self, scenario: TablesScenario, policy: str) -> bool:
        """Tell whether a policy takes the best of plans that are the same whatever sharing brings and costs."""
        if scenario.looks_up:
            return False
        publisher, way = scenario.publisher, policy_named(policy).way
        if way == "unit" and publisher.unit == "record":
            return publisher.solver != "lattice-search"
        if way in ("record-level", "opt-in"):
            return True
        if way in ("unit", "node"):
            return publisher.search == "exact" and publisher.suppression_limit == 1.0
        return way == "splits" and publisher.suppression_limit == 1.0

    def largest_group(self, study: TablesStudy) -> int | None:
        """Return the most people among whom a record may hide from a one-shot adversary; None against any other."""
        scenario, adversary = study.scenario, study.scenario.plain_adversary
        if adversary is None or not study.own.links_with_everybody or "sample" in scenario.risks:
            return None
        people = study.people(adversary.risk)
        whole = np.issubdtype(people.counts.dtype, np.integer)
        return int(people.total) + study.n_records if whole else None

    def points_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> int:
        """Return the number of points that share one walk of the lattice."""
        publisher, adversary = scenario.publisher, scenario.plain_adversary
        walked = (
            publisher.unit == "table"
            and publisher.search == "exact"
            and adversary is not None
            and adversary.knowledge is None
            and adversary.stages is None
            and not adversary.holds
            and "sample" not in scenario.risks
            and not scenario.in_rounds
            and scenario.release.person is None
            and set(keys) <= _WALKED
        )
        return MOST_POINTS if walked else 1

    def play_together(self, studies: Sequence[TablesStudy]) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes at the points of one walk."""
        return FullDomainPoints(studies).outcomes
