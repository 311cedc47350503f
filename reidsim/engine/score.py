"""Score a released file of any tool against the policies of its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from reidsim.core.numerics import random_stream
from reidsim.core.wording import Measure, measures_among
from reidsim.engine.results import Result, begun, common_fields, measures_in_manifest, release_file_facts, sha256_of
from reidsim.games.outcomes import averages, measures_table, reidentified_in
from reidsim.scenarios.agents import left_out_of_rounds
from reidsim.scenarios.kind import Progress, counted_units, equilibria_of
from reidsim.scenarios.scenario import Scenario


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult(Result):
    """Outcomes of a released file, compared with the policies of a scenario.

    See `Result` for further parameters.

    Parameters
    ----------
    file : str
        Name of the file, also used as the name of its policy.
    summary : DataFrame
        Averages over records (in scenarios that count people, over people), indexed by policy. The first row is the
        file. A measure that is unknown for the file has no column.
    records : DataFrame
        Outcome of each record if released as in the file: ``record`` (number, from 0), ``shared`` (whether the file has
        a row for the record), ``attacked``, ``success_probability``, ``publisher_payoff``, ``adversary_payoff``,
        ``utility``; see `Equilibrium`. If the scenario counts people, one row per ``person`` instead, numbered in the
        order of their first records.
    data_utility : DataFrame
        Statistics of the original records, of the file and of each policy's release, one row per ``policy`` and
        statistic; empty without section ``utility``.
    """

    file: str
    summary: pd.DataFrame
    records: pd.DataFrame
    data_utility: pd.DataFrame

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        summary = tables["scores"].set_index("policy")
        utility = tables.get("data_utility", pd.DataFrame())
        return cls(common["manifest"]["score"]["file"], summary, tables["records"], utility, **common)

    @property
    def measures(self) -> dict[str, Measure]:
        """The measure in each column of `summary`."""
        return measures_among(measures_in_manifest(self.manifest), self.summary.columns)

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder by name: ``scores``, ``records`` and ``data_utility``.

        ``scores`` has the measures of `summary` by policy, ``records`` the outcomes of the file's records,
        ``data_utility`` the statistics (with section ``utility``).
        """
        utility = {"data_utility": self.data_utility} if len(self.data_utility) else {}
        return {"scores": self.summary.reset_index(), "records": self.records, **utility}


def score_loaded(
    loaded: Scenario[Any], file: Path, *, key: str | None = None, progress: Progress | None = None
) -> ScoreResult:
    """Return the outcomes of a released file, treated like a policy's release.

    The scenario's adversary responds to the file as to the release of a policy. Each cell of the file stands for a set
    of values. The group of a row consists of the people whose values lie in the sets of all its cells. For the utility,
    each set counts like a value of a hierarchy that covers equally many values. Records without a row in the file count
    as withheld.

    Parameters
    ----------
    loaded : Scenario
        A table scenario; the file is a release of its records.
    file : Path
        Delimited text or Parquet. Cells may be values, labels of hierarchies, ``*``, intervals or sets.
    key : str, optional
        Column, in both files, that identifies the record of a row; rows with equal keys are in the order of the
        records. If not given, there must be one row per record, in the order of the scenario's records.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    ScoreResult

    Raises
    ------
    InputError
        If the scenario is of another kind or has no policies, a file that it names cannot be used, or a row or cell of
        the released file cannot be read.
    """
    path = Path(file)
    kind, clock, report = begun(loaded, progress)
    kind.policies_of(loaded.scenario)
    study = kind.study_of(loaded)
    released, released_warnings = kind.play_released(study, path, key)
    clock.lap("build")
    outcomes = equilibria_of(kind.play(study, progress=lambda done, total: report("playing", done, total)))
    clock.lap("play")
    policies = kind.summarise(study, 0, outcomes).join(measures_table(kind.reidentified(study, 0, outcomes)))
    each_once, seed = np.ones(len(released.strategies), dtype=np.int64), loaded.scenario.seed
    found = reidentified_in(released, each_once, lambda: random_stream(seed, "reidentified", 0, len(outcomes)))
    utility, of_file = kind.data_utility(study, outcomes, path, key)
    own = {**averages(released, each_once, loaded.scenario.measures.parameters), **found.measures(), **of_file}
    first = pd.DataFrame([own], index=pd.Index([path.name], name="policy"))
    summary = pd.concat([first, policies[[column for column in policies if column in own]]])
    about = {"file": path.name, "sha256": sha256_of(path), "key": key}
    facts = {"score": about, **kind.facts(study), **release_file_facts(loaded)}
    columns = ("attacked", "success_probability", "publisher_payoff", "adversary_payoff", "utility")
    unit = {counted_units(loaded.content)[0]: np.arange(len(released.strategies)), "shared": ~released.withheld}
    each = pd.DataFrame({**unit, **{column: getattr(released, column) for column in columns}})
    warnings = (*left_out_of_rounds(loaded.scenario), *released_warnings)
    return ScoreResult(path.name, summary, each, utility, **common_fields(loaded, clock.laps, facts, warnings))
