"""Simulate games of re-identification risk.

A game consists of records, people, an adversary and payoff parameters:

>>> import pandas, reidsim
>>> patients = pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
>>> records = reidsim.Records(patients, {"age": reidsim.intervals(5), "sex": "suppress"})
>>> game = reidsim.Game(records, adversary=reidsim.OneShot(gain=60, cost=40), benefit=100, loss=300)
>>> game.play(["basic", "no-attack"])
RunResult('game': basic, no-attack)

Run a scenario file, or a bundled scenario by name:

>>> result = reidsim.run("wan2015")  # doctest: +SKIP
>>> result.summary  # doctest: +SKIP
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from reidsim.errors import naming_arguments

if TYPE_CHECKING:
    from reidsim.adversaries.factored_mdp import Action, FactoredMDP
    from reidsim.adversaries.multistage.attack import MultistageAttack as MultistageAttack
    from reidsim.adversaries.one_shot import OneShotAdversary as OneShotAdversary
    from reidsim.adversaries.planned_attack import FactoredMDPAdversary
    from reidsim.adversaries.response import Response
    from reidsim.engine.cross_play import cross_play
    from reidsim.engine.run import run, run_batch
    from reidsim.engine.run_result import RunResult
    from reidsim.engine.stress.run import stress
    from reidsim.errors import InputError
    from reidsim.front.adversaries import Always, Never, OneShot, Own, Random, Sequential
    from reidsim.front.drafting import new
    from reidsim.front.game import Game
    from reidsim.front.hierarchies import groups, intervals, prefix, suppress
    from reidsim.front.masking import masking_game, solve_masking
    from reidsim.front.observed_attacks import fit_precision
    from reidsim.front.records import Records
    from reidsim.front.results import report, share
    from reidsim.games.equilibrium import Equilibrium as Equilibrium
    from reidsim.games.masking.game import MaskingGame as MaskingGame
    from reidsim.games.record_game import Choice
    from reidsim.games.record_game import RecordGame as RecordGame
    from reidsim.populations.catalogue import load_individuals as load_individuals
    from reidsim.populations.catalogue import load_population
    from reidsim.populations.catalogue import load_resource as load_resource
    from reidsim.populations.domain import Attribute as Attribute
    from reidsim.populations.domain import Domain as Domain
    from reidsim.populations.genealogy.genealogy import Genealogy as Genealogy
    from reidsim.populations.genealogy.make import make_genealogy as make_genealogy
    from reidsim.populations.individuals import Individuals as Individuals
    from reidsim.populations.populate import populate
    from reidsim.populations.population import Population
    from reidsim.populations.resources import ExternalResource as ExternalResource
    from reidsim.releases.hierarchy import Hierarchy
    from reidsim.releases.lattice import GeneralizationLattice as GeneralizationLattice
    from reidsim.releases.masking import MaskingSpace as MaskingSpace
    from reidsim.reports.description import describe_file
    from reidsim.reports.illustration import plot
    from reidsim.scenarios.load import Scenario


__version__ = version("reidsim")
# The application that imports the package decides whether log messages are displayed.
logging.getLogger("reidsim").addHandler(logging.NullHandler())

# Public functions, by the module that defines each; imported on first use.
_VERBS = {
    "run": "reidsim.engine.run",
    "run_batch": "reidsim.engine.run",
    "cross_play": "reidsim.engine.cross_play",
    "stress": "reidsim.engine.stress.run",
    "plot": "reidsim.reports.illustration",
    "new": "reidsim.front.drafting",
    "report": "reidsim.front.results",
    "share": "reidsim.front.results",
    "populate": "reidsim.populations.populate",
    "describe_file": "reidsim.reports.description",
    "fit_precision": "reidsim.front.observed_attacks",
    "Scenario.load": "reidsim.scenarios.load",
    "load_population": "reidsim.populations.catalogue",
    "masking_game": "reidsim.front.masking",
    "solve_masking": "reidsim.front.masking",
    "intervals": "reidsim.front.hierarchies",
    "prefix": "reidsim.front.hierarchies",
    "groups": "reidsim.front.hierarchies",
    "suppress": "reidsim.front.hierarchies",
}
_THINGS = {
    "Game": "reidsim.front.game",
    "Records": "reidsim.front.records",
    "Population": "reidsim.populations.population",
    "Hierarchy": "reidsim.releases.hierarchy",
    "OneShot": "reidsim.front.adversaries",
    "Sequential": "reidsim.front.adversaries",
    "Always": "reidsim.front.adversaries",
    "Never": "reidsim.front.adversaries",
    "Random": "reidsim.front.adversaries",
    "Own": "reidsim.front.adversaries",
    "FactoredMDP": "reidsim.adversaries.factored_mdp",
    "Action": "reidsim.adversaries.factored_mdp",
    "FactoredMDPAdversary": "reidsim.adversaries.planned_attack",
    "Response": "reidsim.adversaries.response",
    "Choice": "reidsim.games.record_game",
    "RunResult": "reidsim.engine.run_result",
    "InputError": "reidsim.errors",
}
# Building blocks of games: documented in their own modules and importable from the package.
_BELOW = {
    "Attribute": "reidsim.populations.domain",
    "Domain": "reidsim.populations.domain",
    "Equilibrium": "reidsim.games.equilibrium",
    "ExternalResource": "reidsim.populations.resources",
    "Genealogy": "reidsim.populations.genealogy.genealogy",
    "GeneralizationLattice": "reidsim.releases.lattice",
    "Individuals": "reidsim.populations.individuals",
    "MaskingGame": "reidsim.games.masking.game",
    "MaskingSpace": "reidsim.releases.masking",
    "MultistageAttack": "reidsim.adversaries.multistage.attack",
    "OneShotAdversary": "reidsim.adversaries.one_shot",
    "RecordGame": "reidsim.games.record_game",
    "load_individuals": "reidsim.populations.catalogue",
    "load_resource": "reidsim.populations.catalogue",
    "make_genealogy": "reidsim.populations.genealogy.make",
}
_HOMES = {**_VERBS, **_THINGS, **_BELOW}

__all__ = [  # noqa: RUF022 - verbs first
    "run",
    "run_batch",
    "cross_play",
    "stress",
    "plot",
    "new",
    "report",
    "share",
    "populate",
    "describe_file",
    "fit_precision",
    "Scenario.load",
    "load_population",
    "masking_game",
    "solve_masking",
    "intervals",
    "prefix",
    "groups",
    "suppress",
    "Game",
    "Records",
    "Population",
    "Hierarchy",
    "OneShot",
    "Sequential",
    "Always",
    "Never",
    "Random",
    "Own",
    "FactoredMDP",
    "Action",
    "FactoredMDPAdversary",
    "Response",
    "Choice",
    "RunResult",
    "InputError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import public names on first use, which keeps ``import reidsim`` fast."""
    if name in _VERBS:
        return _verb(name)
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _verb(name: str) -> Any:
    return naming_arguments(getattr(import_module(_VERBS[name]), name))


class _Listed(str):
    """A public name that keeps its position in `dir`, which sorts its output."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return __all__.index(self) < __all__.index(other) if isinstance(other, _Listed) else str(self) < other


def __dir__() -> list[str]:
    return [_Listed(name) for name in __all__]
