"""Game-theoretic simulation of re-identification.

>>> import reidsim
>>> result = reidsim.run("wan2015")  # doctest: +SKIP
>>> result.summary  # doctest: +SKIP
>>> result.records  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reidsim.adversaries.multistage.attack import MultistageAttack
    from reidsim.adversaries.one_shot import OneShotAdversary
    from reidsim.adversaries.response import Response
    from reidsim.errors import InputError
    from reidsim.experiments.cross_play import cross_play
    from reidsim.experiments.run import run, run_batch
    from reidsim.experiments.run_result import RunResult
    from reidsim.experiments.stress.run import stress
    from reidsim.games.equilibrium import Equilibrium
    from reidsim.games.masking.game import MaskingGame
    from reidsim.games.record_game import RecordGame
    from reidsim.populations.catalogue import load_individuals, load_population, load_resource
    from reidsim.populations.domain import Attribute, Domain
    from reidsim.populations.genealogy.genealogy import Genealogy
    from reidsim.populations.genealogy.make import make_genealogy
    from reidsim.populations.individuals import Individuals
    from reidsim.populations.populate import populate
    from reidsim.populations.population import Population
    from reidsim.populations.resources import ExternalResource
    from reidsim.releases.hierarchy import Hierarchy
    from reidsim.releases.lattice import GeneralizationLattice
    from reidsim.releases.masking import MaskingSpace
    from reidsim.reports.description import describe_file
    from reidsim.scenarios.load import load_scenario

__version__ = version("reidsim")

_HOMES = {
    "Attribute": "reidsim.populations.domain",
    "Domain": "reidsim.populations.domain",
    "Equilibrium": "reidsim.games.equilibrium",
    "ExternalResource": "reidsim.populations.resources",
    "Genealogy": "reidsim.populations.genealogy.genealogy",
    "GeneralizationLattice": "reidsim.releases.lattice",
    "Hierarchy": "reidsim.releases.hierarchy",
    "Individuals": "reidsim.populations.individuals",
    "InputError": "reidsim.errors",
    "MaskingGame": "reidsim.games.masking.game",
    "MaskingSpace": "reidsim.releases.masking",
    "MultistageAttack": "reidsim.adversaries.multistage.attack",
    "OneShotAdversary": "reidsim.adversaries.one_shot",
    "Population": "reidsim.populations.population",
    "RecordGame": "reidsim.games.record_game",
    "Response": "reidsim.adversaries.response",
    "RunResult": "reidsim.experiments.run_result",
    "cross_play": "reidsim.experiments.cross_play",
    "describe_file": "reidsim.reports.description",
    "load_individuals": "reidsim.populations.catalogue",
    "load_population": "reidsim.populations.catalogue",
    "load_resource": "reidsim.populations.catalogue",
    "load_scenario": "reidsim.scenarios.load",
    "make_genealogy": "reidsim.populations.genealogy.make",
    "populate": "reidsim.populations.populate",
    "run": "reidsim.experiments.run",
    "run_batch": "reidsim.experiments.run",
    "stress": "reidsim.experiments.stress.run",
}

__all__ = [
    "Attribute",
    "Domain",
    "Equilibrium",
    "ExternalResource",
    "Genealogy",
    "GeneralizationLattice",
    "Hierarchy",
    "Individuals",
    "InputError",
    "MaskingGame",
    "MaskingSpace",
    "MultistageAttack",
    "OneShotAdversary",
    "Population",
    "RecordGame",
    "Response",
    "RunResult",
    "__version__",
    "cross_play",
    "describe_file",
    "load_individuals",
    "load_population",
    "load_resource",
    "load_scenario",
    "make_genealogy",
    "populate",
    "run",
    "run_batch",
    "stress",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import reidsim`` stays quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
