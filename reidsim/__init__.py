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
    from reidsim.adversaries.one_shot import OneShotAdversary
    from reidsim.adversaries.response import Response
    from reidsim.errors import InputError
    from reidsim.experiments.run import RunResult, run
    from reidsim.games.equilibrium import Equilibrium
    from reidsim.games.record_game import RecordGame
    from reidsim.populations.catalogue import load_population
    from reidsim.populations.domain import Attribute, Domain
    from reidsim.populations.population import Population
    from reidsim.releases.hierarchy import Hierarchy
    from reidsim.releases.lattice import GeneralizationLattice
    from reidsim.scenarios.load import load_scenario

__version__ = version("reidsim")

_HOMES = {
    "Attribute": "reidsim.populations.domain",
    "Domain": "reidsim.populations.domain",
    "Equilibrium": "reidsim.games.equilibrium",
    "GeneralizationLattice": "reidsim.releases.lattice",
    "Hierarchy": "reidsim.releases.hierarchy",
    "InputError": "reidsim.errors",
    "OneShotAdversary": "reidsim.adversaries.one_shot",
    "Population": "reidsim.populations.population",
    "RecordGame": "reidsim.games.record_game",
    "Response": "reidsim.adversaries.response",
    "RunResult": "reidsim.experiments.run",
    "load_population": "reidsim.populations.catalogue",
    "load_scenario": "reidsim.scenarios.load",
    "run": "reidsim.experiments.run",
}

__all__ = [
    "Attribute",
    "Domain",
    "Equilibrium",
    "GeneralizationLattice",
    "Hierarchy",
    "InputError",
    "OneShotAdversary",
    "Population",
    "RecordGame",
    "Response",
    "RunResult",
    "__version__",
    "load_population",
    "load_scenario",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import reidsim`` stays quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
