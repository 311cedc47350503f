"""What the payoffs of policies of a table are made of, along one amount of money: for exact switch points."""

from __future__ import annotations

import numpy as np

from reidsim.kinds.tables.policies import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy


def takes_best(scenario: TablesScenario, policy: str) -> bool:
    """Tell whether a policy takes the best of plans that are the same whatever sharing a record brings and costs.

    Where only some records may be suppressed, which plans are allowed depends on which records pay. Where persons are
    looked up in the shared rows, what is found is a release that no single record can better.
    """
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


def largest_group(study: TablesStudy) -> int | None:
    """Return the most people among whom a record may hide from a one-shot adversary; None against any other."""
    scenario = study.scenario
    adversary = scenario.plain_adversary
    everybody = study.own.links_with_everybody and not scenario.looks_up and "sample" not in scenario.risks
    if adversary is None or not adversary.attacks_what_pays or not everybody:
        return None
    people = study.people(adversary.risk)
    if scenario.has_price_columns or not np.issubdtype(people.counts.dtype, np.integer):
        return None
    return int(people.total) + study.n_records
