"""Running a scenario: from its name or file to a result in memory or in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reidsim.experiments.full_domain_run import describe_full_domain, run_full_domain
from reidsim.experiments.masking_run import describe_masking, run_masking
from reidsim.experiments.record_run import describe_record_level, run_record_level
from reidsim.experiments.risk_run import describe_risk, run_risk
from reidsim.experiments.run_result import Progress, RunResult
from reidsim.scenarios.full_domain_schema import FullDomainScenario
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.masking_schema import MaskingScenario
from reidsim.scenarios.risk_schema import RiskScenario
from reidsim.scenarios.schema import RecordScenario, ScenarioHead


class _Study(NamedTuple):
    """How scenarios of one game are run, and described without running them."""

    run: Callable[[Any, Progress], RunResult]
    describe: Callable[[Any], str]


# By the kinds of scenario in `reidsim.scenarios.load.GAMES`.
_STUDIES: dict[type[ScenarioHead], _Study] = {
    RecordScenario: _Study(run_record_level, describe_record_level),
    FullDomainScenario: _Study(run_full_domain, describe_full_domain),
    MaskingScenario: _Study(run_masking, describe_masking),
    RiskScenario: _Study(run_risk, describe_risk),
}


def run(
    scenario: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario, such as ``"wan2015"``, or a TOML file.
    set : mapping of str to object, optional
        Values by key path that replace the scenario's, such as ``{"economics.loss": 600}``.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    progress : callable, optional
        Called with what is being done, how much is done and how much there is.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used.

    Examples
    --------
    >>> import reidsim
    >>> result = reidsim.run("wan2015", set={"economics.loss": 600})  # doctest: +SKIP
    >>> result.summary["publisher_payoff"]  # doctest: +SKIP
    """
    return run_loaded(load_scenario(scenario, set, seed=seed), progress=progress)


def run_loaded(loaded: LoadedScenario[ScenarioHead], *, progress: Progress | None = None) -> RunResult:
    """Run a scenario that has been read; see `run`."""
    return _STUDIES[type(loaded.scenario)].run(loaded, progress or (lambda task, done, total: None))


def describe(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Check that everything a scenario names can be used, and say in a line what there is to solve.

    Raises
    ------
    InputError
        If a file, value or hierarchy cannot be used.
    """
    return _STUDIES[type(loaded.scenario)].describe(loaded)
