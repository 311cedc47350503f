"""Running a scenario once, at the values it gives itself, by the kind it is of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reidsim.experiments.agent_masking import describe_masking_agents, run_masking_agents
from reidsim.experiments.agent_tables import describe_table_agents, run_table_agents
from reidsim.experiments.masking_run import describe_masking, run_masking
from reidsim.experiments.risk_run import describe_risk, run_risk
from reidsim.experiments.run_result import Progress, RunResult
from reidsim.experiments.tables_run import describe_tables, run_tables
from reidsim.kinds.assessment.schema import RiskScenario
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead


class _Study(NamedTuple):
    """How scenarios of one game are run, and described without running them."""

    run: Callable[[Any, Progress], RunResult]
    describe: Callable[[Any], str]


# By the schemas of the kinds of scenario.
_STUDIES: dict[type[ScenarioHead], _Study] = {
    TablesScenario: _Study(run_tables, describe_tables),
    MaskingScenario: _Study(run_masking, describe_masking),
    RiskScenario: _Study(run_risk, describe_risk),
}
# The same with agents who meet round after round, if a scenario has them.
_AGENT_STUDIES: dict[type[ScenarioHead], _Study] = {
    TablesScenario: _Study(run_table_agents, describe_table_agents),
    MaskingScenario: _Study(run_masking_agents, describe_masking_agents),
}


def run_once(loaded: LoadedScenario[ScenarioHead], *, progress: Progress | None = None) -> RunResult:
    """Run a scenario at the values it gives itself, whatever it says about other points and replications."""
    # What cannot be imported is told before anything is played.
    loaded.makers()
    return _study_of(loaded.scenario).run(loaded, progress or (lambda task, done, total: None))


def describe_once(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Check everything that one run of a scenario needs, and say in a line what there is to solve."""
    loaded.makers()
    return _study_of(loaded.scenario).describe(loaded)


def _study_of(scenario: ScenarioHead) -> _Study:
    with_agents = getattr(scenario, "agents", None) is not None
    return (_AGENT_STUDIES if with_agents else _STUDIES)[type(scenario)]
