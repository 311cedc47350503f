"""What the page shows: a scenario solved under the values that were set, and rounds of its agent model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import mesa
import pandas as pd

from reidsim.agents.model import ReidentificationModel
from reidsim.engine.single_run import run_once
from reidsim.errors import InputError
from reidsim.overrides import override, validated_after
from reidsim.scenarios.faces import Value
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.people import HOUSEHOLD, PERSON
from reidsim.scenarios.schema import RECORD_COLUMNS, ScenarioHead

Values = Mapping[str, Value]

# Sections and keys that a single look at a scenario does not need.
_LEFT_OUT = ("figures", "replications", "sweep", "uncertainty", "stress")


class Exploration(mesa.Model):
    """A scenario under some values, as a model that mesa's page can hold, step and reset.

    Parameters
    ----------
    loaded : LoadedScenario
        What to explore; its ``[figures]`` are left out, since it is not drawn here.
    values : callable
        Returns what was set, as value by key path; asked once. A callable, so that a reset of the page takes what is
        set then.
    policy : str, optional
        Whose rounds are played; the scenario's last, if not given.

    Attributes
    ----------
    result : RunResult
    problem : str
        Why the values cannot be used; then the result is that of the scenario as it is.
    """

    def __init__(
        self, loaded: LoadedScenario[ScenarioHead], values: Callable[[], Values], policy: str | None = None
    ) -> None:
        super().__init__(rng=loaded.scenario.seed)
        self.problem = ""
        self._shown = loaded
        try:
            self._shown = changed(loaded, values())
            self.result = run_once(_one_game(self._shown))
        except InputError as error:
            self.problem = str(error)
            self._shown = loaded
            self.result = run_once(_one_game(_without(loaded, *_LEFT_OUT)))
        self.policy = policy if policy in self.policies else self.policies[-1]
        self._world: ReidentificationModel | None = None

    def step(self) -> None:
        """Play a round of the agent model under `policy`."""
        if self._world is None:
            try:
                self._world = world_of(self._shown, self.policy)
            except InputError as error:
                self.problem = str(error)
                self.running = False
                return
        self._world.step()

    @property
    def rounds(self) -> pd.DataFrame:
        """Measures of the rounds played so far, one row each, numbered from 1."""
        if self._world is None:
            return pd.DataFrame()
        rounds: pd.DataFrame = self._world.datacollector.get_model_vars_dataframe()
        return rounds.assign(round=range(1, len(rounds) + 1))

    @property
    def policies(self) -> list[str]:
        """Policies in the scenario's order."""
        return list(self.result.summary.index)

    @property
    def attributes(self) -> list[str]:
        """Columns of the records that hold quasi-identifiers as released."""
        # Attributes have these names only where records do not name people and households.
        named = {"person", "household"} & set(self.content.get("release", {}))
        told = (*RECORD_COLUMNS, PERSON, HOUSEHOLD) if named else RECORD_COLUMNS
        return [column for column in self.result.records.columns if column not in told]

    @property
    def content(self) -> Mapping[str, Any]:
        """The scenario as played."""
        return self._shown.content

    @property
    def measures(self) -> pd.DataFrame:
        """Measures by policy."""
        return self.result.summary


def changed(loaded: LoadedScenario[ScenarioHead], values: Values) -> LoadedScenario[ScenarioHead]:
    """Return a scenario under some values, without what only batches and analyses need.

    Raises
    ------
    InputError
        If the values do not go together.
    """
    kept = _without(loaded, *_LEFT_OUT)
    content = deepcopy(kept.content)
    override(content, values)
    scenario = validated_after(values, type(loaded.scenario), content, loaded.path)
    return replace(loaded, scenario=scenario, content=content)


def world_of(loaded: LoadedScenario[ScenarioHead], policy: str) -> ReidentificationModel:
    """Return the agents of a scenario before their first round, with the scenario's own adversary if it names none.

    Raises
    ------
    InputError
        If the scenario's game is not played in rounds.
    """
    kind = kind_of(loaded.scenario)
    return ReidentificationModel(kind.settings(kind.build(loaded))(policy, 0, 0), policy)


def _one_game(loaded: LoadedScenario[ScenarioHead]) -> LoadedScenario[ScenarioHead]:
    """Return a scenario without rounds; with one of them, where adversaries say what they are in rounds alone."""
    agents = loaded.content.get("agents")
    if agents is None or not getattr(loaded.scenario, "adversaries", None):
        return _without(loaded, "agents")
    left_out = ("participation", "learning")
    first = {key: value for key, value in agents.items() if key not in left_out}
    first |= {"rounds": 1, "mode": "expectation", "draws": 1}
    return loaded.with_content({**loaded.content, "agents": first})


def _without(loaded: LoadedScenario[ScenarioHead], *keys: str) -> LoadedScenario[ScenarioHead]:
    return loaded.with_content({key: value for key, value in loaded.content.items() if key not in keys})
