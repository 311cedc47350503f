"""Studies kept between the runs of a worker, so that people and records are read once for points that share them."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reidsim.experiments.full_domain_points import FullDomainPoints
from reidsim.experiments.record_points import OneShotPoints
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.study import build_masking_study
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy, build_study, is_tables
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead

_BUILDERS: Mapping[type[ScenarioHead], Callable[[Any], Any]] = {
    TablesScenario: build_study,
    MaskingScenario: build_masking_study,
}
# Sections that only games are made from: the study of people and records is the same whatever they say.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "title", "source")
# All that a study takes from the plan of a sequential attack; the rest is of its game.
_PLAN_OF_THE_STUDY = ("registry", "belief")
_KEPT_STUDIES = 2


class Studies(threading.local):
    """The last two studies that a thread built, by what they were built from.

    Attributes
    ----------
    have_been_played : bool
        Whether the thread has solved one, and so has loaded the compiled code that run times are not about.
    """

    def __init__(self) -> None:
        self.kept: OrderedDict[str, Any] = OrderedDict()
        self.have_been_played = False
        self._thinned: dict[str, OneShotPoints] = {}
        self._walked: tuple[object, FullDomainPoints] | None = None

    def get(self, loaded: LoadedScenario[ScenarioHead]) -> Any:
        """Return the study of a scenario: one that is kept, with the prices of the scenario, or a new one.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        KeyError
            If the game has no study that can be kept; see `has_study`.
        """
        key = _key(loaded)
        study = self.kept.pop(key, None) or _BUILDERS[type(loaded.scenario)](loaded)
        self.kept[key] = study
        while len(self.kept) > _KEPT_STUDIES:
            self._thinned.pop(self.kept.popitem(last=False)[0], None)
        if isinstance(study, TablesStudy) and is_tables(loaded):
            return study.with_loaded(loaded)
        return replace(study, loaded=loaded)

    def thinned(self, loaded: LoadedScenario[TablesScenario], study: TablesStudy) -> OneShotPoints:
        """Return the study of a scenario, as `get` gives it, with thinned strategies: kept as long as the study is."""
        key = _key(loaded)
        if key not in self._thinned:
            self._thinned[key] = OneShotPoints(study)
        return self._thinned[key]

    def walked(self, block: object, studies: Callable[[], Sequence[TablesStudy]]) -> FullDomainPoints:
        """Return the points of a block that share walks: those asked for last, or new ones of these studies."""
        if self._walked is None or self._walked[0] != block:
            self._walked = (block, FullDomainPoints(studies()))
        return self._walked[1]


def has_study(loaded: LoadedScenario[ScenarioHead]) -> bool:
    """Tell whether the game of a scenario has a study that can be kept."""
    return type(loaded.scenario) in _BUILDERS


def _key(loaded: LoadedScenario[ScenarioHead]) -> str:
    content = {key: value for key, value in loaded.content.items() if key not in _NOT_OF_THE_STUDY}
    scenario = loaded.scenario
    if isinstance(scenario, TablesScenario):
        # Whether records must be people of the population hangs on the unit.
        content["publisher.unit"] = scenario.publisher.unit
        if scenario.has_price_columns:
            # Which records are alike then depends on what the others cost.
            content["economics"] = loaded.content["economics"]
        if "sequential" in content.get("adversary", {}):
            plan = content["adversary"]["sequential"]
            of_study = {key: plan[key] for key in _PLAN_OF_THE_STUDY if key in plan}
            content["adversary"] = {**content["adversary"], "sequential": of_study}
    # Unsorted: attributes in another order are other columns of the lattice.
    return json.dumps(content, default=str)
