"""Kinds of scenario: a folder for each, with schema, study, policies and measures.

The base classes and functions for a user-defined kind can be imported from here.
"""

from reidsim.adversaries.response import Linkage
from reidsim.core.wording import Measure
from reidsim.games.cross_play import BestReply
from reidsim.games.record_game import RecordGame
from reidsim.releases.lattice import MaskingSpace
from reidsim.scenarios.adversary_schema import PublisherScenario, economics_of
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.registry import Policies, Policy
from reidsim.scenarios.scenario import Study, World, planner

__all__ = [
    "BestReply",
    "Kind",
    "Linkage",
    "MaskingSpace",
    "Measure",
    "Policies",
    "Policy",
    "PublisherScenario",
    "RecordGame",
    "Study",
    "World",
    "economics_of",
    "planner",
]
