"""One run of a batch: solve the scenario at a point and return plain tables.

The callables can be pickled, so that runs can be done in any process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import at_point
from reidsim.engine.batch.tasks import RunTask, Tables
from reidsim.engine.distributions import LEVELS, distributions_of_result, quantiles_of_people, quantiles_of_records
from reidsim.engine.single_run import check_once, run_once
from reidsim.errors import locating
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.reidentified import measures_table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Study, equilibria_of

# Columns that identify the rows of a run (each game has some of them); other columns are measures.
GROUP_COLUMNS = ("policy", "records", "knowledge", "sample", "defender", "plans_against", "adversary")
# Columns of a table of runs that identify the run or its state.
_IDENTITY = ("scenario", "point", "replication", "state", "seed", "error", "run")


# Number of cached studies per thread. Tasks are ordered so that neighbours share a study; more studies take memory.
_KEPT_STUDIES = 2


class Studies(threading.local):
    """A cache, for each thread, of the last two studies it built, by data key."""

    def __init__(self) -> None:
        self.kept: dict[str, Study[Any]] = {}

    def __reduce__(self) -> tuple[type[Studies], tuple[()]]:
        """Pickle as an empty cache, because studies are large."""
        return Studies, ()

    def get(self, loaded: Scenario[ScenarioHead]) -> Study[Any]:
        """Return the study of a scenario.

        Reuse a cached study with the same data and set its payoff parameters.

        Raises
        ------
        InputError
            If a file, value or hierarchy cannot be used.
        """
        key = data_key(loaded)
        study = self.kept.pop(key, None)
        if study is None:
            kind, last = kind_of(loaded.scenario), next(reversed(self.kept.values()), None)
            same = last is not None and kind_of(last.scenario) is kind
            study = kind.build_after(loaded, last) if same else kind.build(loaded)
        self.kept[key] = study
        if len(self.kept) > _KEPT_STUDIES:
            del self.kept[next(iter(self.kept))]
        return study.with_loaded(loaded)


def data_key(loaded: Scenario[ScenarioHead]) -> str:
    """Return a text that identifies the data of a scenario's study.

    Scenarios with equal keys differ only in values on which no data depend, such as payoff parameters and beliefs; they
    can share a study.
    """
    # Keys are not sorted, because the order of attributes determines the columns of the lattice.
    return json.dumps(kind_of(loaded.scenario).data_content(loaded), default=str)


@dataclass(frozen=True)
class ScenarioWork:
    """A callable that does runs of one scenario.

    Parameters
    ----------
    loaded : Scenario
        The scenario without the values of a point.
    studies : Studies
        Cache of studies between runs.
    """

    loaded: Scenario[ScenarioHead]
    studies: Studies = field(default_factory=Studies, repr=False, compare=False)

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        loaded, kind = at_point(self.loaded, task.values, task.seed), kind_of(self.loaded.scenario)
        if not kind.decides or kind.in_rounds(loaded.scenario):
            return _run_any(loaded)
        with locating(loaded.path):
            study = self.studies.get(loaded)
            draw = task.replication if kind.numbers_draws else 0
            outcomes = kind.play(study, draw, timed=True)
            tables = run_tables(study, draw, equilibria_of(outcomes))
            if len(runtimes := kind.runtimes(outcomes)):
                tables["runtimes"] = columns_of_table(runtimes)
            return tables, tuple(kind.warnings(study, draw, outcomes))

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that all files of a task's run can be used; return a hash of the data.

        The result is None for scenarios without a decision maker.

        Raises
        ------
        InputError
            If a file cannot be used.
        """
        loaded = at_point(self.loaded, task.values, task.seed)
        if not kind_of(self.loaded.scenario).decides:
            check_once(loaded)
            return None
        return self.studies.get(loaded).fingerprint


# Names of the tables by round of scenarios with agents.
ROUND_TABLES = ("rounds", "adversaries", "through")


def _run_any(loaded: Scenario[ScenarioHead]) -> tuple[Tables, tuple[str, ...]]:
    result = run_once(loaded)
    runs, analysis = result.runs, result.analysis.tables()
    if "knowledge" in runs:
        # An assessment has several releases per run, identified by size and sample number.
        runs = runs.rename(columns={"replication": "sample"})
    rounds = {name: analysis[name] for name in ROUND_TABLES if name in analysis}
    tables = {"runs": runs, "distributions": distributions_of_result(result), **rounds}
    return {
        name: columns_of_table(table.drop(columns=[column for column in _IDENTITY if column in table]))
        for name, table in tables.items()
        if len(table)
    }, result.warnings


def run_tables(study: Study[Any], draw: int, equilibria: Mapping[str, Equilibrium]) -> dict[str, Any]:
    """Return the measures of policies, and quantiles of outcomes over records.

    The result holds plain columns of the tables ``runs`` (one row per policy) and ``distributions`` (one row per policy
    and outcome).
    """
    kind = kind_of(study.scenario)
    found, rows = kind.reidentified(study, draw, equilibria), kind.row_of_subject(study, draw)
    measures = [
        kind.summarise(study, draw, equilibria),
        measures_table(found),
        kind.further_measures(study, equilibria),
    ]
    policies = pd.Index([*equilibria], name="policy")
    runs: dict[str, list[Any]] = {"policy": [*equilibria]}
    for table in measures:
        runs |= columns_of_table(table if table.index.equals(policies) else table.reindex(policies))
    by_record = quantiles_of_records({policy: each.expand(rows) for policy, each in equilibria.items()})
    distributions = [*by_record, *quantiles_of_people(found)]
    names = ("policy", "measure", *LEVELS)
    return {"runs": runs, "distributions": {name: [row[name] for row in distributions] for name in names}}


def columns_of_table(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as plain columns.

    Missing text becomes None, missing numbers stay NaN.
    """
    plain = {}
    for name, column in table.items():
        plain[str(name)] = column.tolist()
        if not pd.api.types.is_numeric_dtype(column.dtype):
            missing = column.isna().tolist()
            plain[str(name)] = [None if no else value for value, no in zip(plain[str(name)], missing, strict=True)]
    return plain
