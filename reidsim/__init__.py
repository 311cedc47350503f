"""Simulate games of re-identification risk.

A scenario consists of records, people, an adversary and payoff parameters:

>>> import pandas, reidsim
>>> scenario = reidsim.Scenario.from_frames(
...     pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]}),
...     hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
...     economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
... )
>>> scenario.run()
RunResult('scenario': basic, no-attack)

Load a scenario from a file, or a bundled scenario by name:

>>> dear = reidsim.Scenario.load("wan2015").with_(loss=600)  # doctest: +SKIP
>>> dear.run().summary  # doctest: +SKIP
"""

from __future__ import annotations

import logging
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from reidsim.core.errors import naming_arguments

if TYPE_CHECKING:
    from reidsim.adversaries.factored_mdp import Action as Action
    from reidsim.adversaries.factored_mdp import FactoredMDP as FactoredMDP
    from reidsim.adversaries.factored_mdp import FactoredMDPAdversary as FactoredMDPAdversary
    from reidsim.adversaries.rationality import fit_precision as fit_precision
    from reidsim.adversaries.response import OneShotAdversary as OneShotAdversary
    from reidsim.adversaries.response import Response as Response
    from reidsim.adversaries.sequential.attack import SequentialAttack as SequentialAttack
    from reidsim.adversaries.sequential.planning import BinomialBelief as BinomialBelief
    from reidsim.adversaries.sequential.planning import plan_known as plan_known
    from reidsim.adversaries.sequential.planning import plan_unknown as plan_unknown
    from reidsim.core.errors import InputError as InputError
    from reidsim.core.files import show as show
    from reidsim.drafts.presets import presets as presets
    from reidsim.drafts.preview import preview as preview
    from reidsim.engine.batch.runner import rerun as rerun
    from reidsim.engine.mesa_model import model as model
    from reidsim.engine.red_team import attack as attack
    from reidsim.engine.results import RunResult as RunResult
    from reidsim.engine.scenario import Scenario as Scenario
    from reidsim.engine.scenario import cross_play as cross_play
    from reidsim.engine.scenario import run as run
    from reidsim.engine.scenario import run_batch as run_batch
    from reidsim.engine.scenario import score as score
    from reidsim.engine.scenario import stress as stress
    from reidsim.games.record_game import Choice as Choice
    from reidsim.games.record_game import RecordGame as RecordGame
    from reidsim.populations.catalogue import load_individuals as load_individuals
    from reidsim.populations.catalogue import load_population as load_population
    from reidsim.populations.catalogue import make_genealogy as make_genealogy
    from reidsim.populations.catalogue import populate as populate
    from reidsim.populations.genealogy.genealogy import Genealogy as Genealogy
    from reidsim.populations.population import Attribute as Attribute
    from reidsim.populations.population import Domain as Domain
    from reidsim.populations.population import Individuals as Individuals
    from reidsim.populations.population import Population as Population
    from reidsim.populations.resources import ExternalResource as ExternalResource
    from reidsim.releases.hierarchy import Hierarchy as Hierarchy
    from reidsim.releases.lattice import GeneralizationLattice as GeneralizationLattice
    from reidsim.reports.anonymizer import Anonymizer as Anonymizer
    from reidsim.reports.description import describe as describe
    from reidsim.reports.description import explain as explain
    from reidsim.reports.drawing import load_result as load_result
    from reidsim.reports.drawing import plot as plot
    from reidsim.reports.python import new as new
    from reidsim.reports.python import report as report
    from reidsim.reports.python import share as share
    from reidsim.reports.shared.file import apply as apply
    from reidsim.scenarios.hierarchies import groups as groups
    from reidsim.scenarios.hierarchies import intervals as intervals
    from reidsim.scenarios.hierarchies import prefix as prefix
    from reidsim.scenarios.hierarchies import suppress as suppress
    from reidsim.scenarios.kind import schema as schema
    from reidsim.scenarios.parts import measure as measure
    from reidsim.scenarios.parts import planner as planner
    from reidsim.scenarios.parts import policy as policy


__version__ = version("reidsim")
# The application that imports the package decides whether log messages are displayed.
logging.getLogger("reidsim").addHandler(logging.NullHandler())

# Public names by the module that defines them; imported on first use.
_PUBLIC = {
    "reidsim.engine.scenario": "run run_batch cross_play stress score Scenario",
    "reidsim.engine.mesa_model": "model",
    "reidsim.engine.red_team": "attack",
    "reidsim.reports.drawing": "load_result plot",
    "reidsim.reports.python": "new report share",
    "reidsim.populations.catalogue": "populate load_population",
    "reidsim.reports.description": "describe explain",
    "reidsim.drafts.preview": "preview",
    "reidsim.drafts.presets": "presets",
    "reidsim.reports.shared.file": "apply",
    "reidsim.engine.batch.runner": "rerun",
    "reidsim.scenarios.kind": "schema",
    "reidsim.adversaries.rationality": "fit_precision",
    "reidsim.scenarios.hierarchies": "intervals prefix groups suppress",
    "reidsim.populations.population": "Population",
    "reidsim.releases.hierarchy": "Hierarchy",
    "reidsim.adversaries.sequential.attack": "SequentialAttack",
    "reidsim.adversaries.sequential.planning": "plan_known plan_unknown BinomialBelief",
    "reidsim.adversaries.factored_mdp": "FactoredMDP Action FactoredMDPAdversary",
    "reidsim.adversaries.response": "Response",
    "reidsim.scenarios.parts": "planner policy measure",
    "reidsim.games.record_game": "Choice",
    "reidsim.engine.results": "RunResult",
    "reidsim.core.errors": "InputError",
    "reidsim.core.files": "show",
}
# Building blocks of games: documented in their own modules and importable from the package.
_BUILDING_BLOCKS = {
    "reidsim.populations.population": "Attribute Domain Individuals",
    "reidsim.populations.resources": "ExternalResource",
    "reidsim.populations.genealogy.genealogy": "Genealogy",
    "reidsim.populations.catalogue": "load_individuals make_genealogy",
    "reidsim.releases.lattice": "GeneralizationLattice",
    "reidsim.adversaries.response": "OneShotAdversary",
    "reidsim.games.record_game": "RecordGame",
}
# Public names that `from reidsim import *` leaves out: they need an extra, or `list` would replace the built-in one.
_NOT_IN_STAR = {"reidsim.reports.anonymizer": "Anonymizer", "reidsim.scenarios.bundled": "list"}
_HOMES = {
    name: module
    for homes in (_PUBLIC, _BUILDING_BLOCKS, _NOT_IN_STAR)
    for module, names in homes.items()
    for name in names.split()
}

__all__ = [*" ".join(_PUBLIC.values()).split(), "__version__"]


@cache
def __getattr__(name: str) -> Any:
    """Return a public object of the package, imported on first use.

    The late import keeps ``import reidsim`` fast.

    Raises
    ------
    AttributeError
        If there is no such name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    return naming_arguments(found) if isfunction(found) else found


def __dir__() -> list[str]:
    return [*__all__, *" ".join(_NOT_IN_STAR.values()).split()]
