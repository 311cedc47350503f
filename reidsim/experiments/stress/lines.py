"""The lines of a masking scenario (Wan et al. 2021, Figs. 4 to 6) as runs of the batch engine."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reidsim.errors import InputError
from reidsim.experiments.batch import Executor
from reidsim.experiments.batch.points import run_points
from reidsim.experiments.masking_lines import LINE_MEASURES, line_points
from reidsim.experiments.run_result import Progress
from reidsim.kinds.masking.schema import MaskingLine
from reidsim.kinds.masking.study import is_masking
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead


def engine_lines(
    loaded: LoadedScenario[ScenarioHead],
    executor: Executor | None,
    progress: Progress,
    folder: Path | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Play every policy at each value of the scenario's ``[[analysis.lines]]``.

    Parameters
    ----------
    loaded : LoadedScenario
    executor, progress, folder
        See `reidsim.experiments.batch.run_points`.

    Returns
    -------
    table : DataFrame
        The same rows, in the same order, as `reidsim.experiments.masking_lines.line_table` gives; without those of
        runs that failed.
    failures : DataFrame
        One row per failed run: ``line``, ``value`` and ``error``.

    Raises
    ------
    InputError
        If the scenario has no such lines, or a key does not exist or cannot have a value.
    """
    tables, failures = [], []
    for line in require_lines(loaded):
        name, labels = line.title or line.key, line.names
        runs = run_points(
            loaded,
            _points(line),
            replications=line.replications,
            executor=executor,
            progress=_named(progress, name),
            folder=folder,
        )
        runs = runs.assign(line=name, value=[labels[point] for point in runs["point"]])
        ended_well = runs["state"] == "complete"
        failures.append(runs.loc[~ended_well, ["line", "value", "error"]])
        tables.append(runs.loc[ended_well, ["line", "value", "replication", "policy", *LINE_MEASURES]])
    return pd.concat(tables, ignore_index=True), pd.concat(failures, ignore_index=True)


def require_lines(loaded: LoadedScenario[ScenarioHead]) -> tuple[MaskingLine, ...]:
    """Return the lines of a scenario, all of whose values it can have.

    Raises
    ------
    InputError
        As `engine_lines` does.
    """
    if not is_masking(loaded) or not loaded.scenario.analysis.lines:
        expected = "[[analysis.lines]] of a masking scenario"
        raise InputError("no lines to be worked out", where="stress.lines", expected=expected)
    line_points(loaded)
    return loaded.scenario.analysis.lines


def _named(progress: Progress, name: str) -> Progress:
    """Report the runs of a line under its name."""
    return lambda _, done, total: progress(name, done, total)


def _points(line: MaskingLine) -> pd.DataFrame:
    """Return the points of a line, one column per key path."""
    values = pd.Series(list(line.values), dtype=object)
    constant = {key: pd.Series([value] * len(values), dtype=object) for key, value in line.set.items()}
    return pd.DataFrame({**constant, line.key: values})
