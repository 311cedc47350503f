"""What a batch does in each of its runs, and what becomes of them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from reidsim.engine.batch.design import Design, content_of_run
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.results import Result
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

R = TypeVar("R", bound=Result)


@dataclass(frozen=True, eq=False)
class Ended:
    """What all runs of a batch left.

    Parameters
    ----------
    loaded : LoadedScenario
    design : Design
    tables : mapping of str to DataFrame
        As `batch_tables` returns them, or as the folder has them.
    manifest : dict
    warnings : tuple of str
    report : callable
        Told of the progress of what is still to be done.
    """

    loaded: LoadedScenario[ScenarioHead]
    design: Design
    tables: Mapping[str, pd.DataFrame]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    report: Progress


class CheckedWork(Protocol):
    """Does runs, and can tell beforehand whether the files that one needs are of use."""

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        ...

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files that the run of a task needs can be used; return a hash of what they hold, if known.

        Raises
        ------
        InputError
            If one cannot be used.
        """
        ...


class Job(ABC, Generic[R]):
    """What a batch does with a scenario.

    Attributes
    ----------
    table : str
        Name, in results folders, of the table of runs.
    """

    table = "runs"

    @property
    def options(self) -> dict[str, Any]:
        """What is asked for besides the scenario, as plain data by what asks: part of manifests, and of every run."""
        return {}

    @abstractmethod
    def work(self, loaded: LoadedScenario[ScenarioHead], design: Design) -> CheckedWork:
        """Return what does the runs."""

    @abstractmethod
    def result(self, ended: Ended) -> R:
        """Return what was found."""

    @abstractmethod
    def stored(self, ended: Ended) -> R:
        """Return the result of a batch of which every run has ended well, given what its folder has."""


def content_of_job(loaded: LoadedScenario[ScenarioHead], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that runs of a batch are made of, but for the values of points; see `run_keys`."""
    return {**content_of_run(loaded), **options}
