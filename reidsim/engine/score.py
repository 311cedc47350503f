"""Score a released file of any tool against the policies of its scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from reidsim.core.errors import refuse_first
from reidsim.core.numerics import random_stream
from reidsim.core.validation import Section
from reidsim.core.wording import Measure, measures_among
from reidsim.engine.results import (
    Result,
    begun,
    common_fields,
    is_shared_file,
    measures_in_manifest,
    release_file_facts,
    sha256_of,
)
from reidsim.games.outcomes import averages, measures_table, reidentified_in
from reidsim.scenarios.agents import left_out_of_rounds
from reidsim.scenarios.kind import Progress, counted_units, equilibria_of
from reidsim.scenarios.scenario import Scenario

_OUTCOMES = ("attacked", "success_probability", "publisher_payoff", "adversary_payoff", "utility")


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
        file, unless it is synthetic. A measure that is unknown for the file has no column.
    records : DataFrame
        Outcome of each record if released as in the file: ``record`` (number, from 0), ``shared`` (whether the file has
        a row for the record), ``attacked``, ``success_probability``, ``publisher_payoff``, ``adversary_payoff``,
        ``utility``; see `Equilibrium`. If the scenario counts people, one row per ``person`` instead, numbered in the
        order of their first records. Without rows if the file is synthetic.
    claims : DataFrame
        Claims of an adversary about people, compared with people who are not in the file: ``claim`` (identity,
        attribute or membership), ``claims`` (their number), ``right``, ``success``, ``baseline``, ``advantage`` with
        its 95 % interval ``lower`` to ``upper``, ``adversary_payoff`` per claim, ``pays``. Without rows if there is no
        control.
    data_utility : DataFrame
        Statistics of the original records, of the file and of each policy's release, one row per ``policy`` and
        statistic; empty without section ``utility``.
    """

    file: str
    summary: pd.DataFrame
    records: pd.DataFrame
    claims: pd.DataFrame
    data_utility: pd.DataFrame

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        summary = tables["scores"].set_index("policy")
        utility = tables.get("data_utility", pd.DataFrame())
        file, records = common["manifest"]["score"]["file"], tables["records"]
        return cls(file, summary, records, tables["claims"], utility, **common)

    @property
    def measures(self) -> dict[str, Measure]:
        """The measure in each column of `summary`."""
        return measures_among(measures_in_manifest(self.manifest), self.summary.columns)

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder by name: ``scores``, ``records``, ``claims`` and ``data_utility``.

        ``scores`` has the measures of `summary` by policy, ``records`` the outcomes of the file's records, ``claims``
        the claims about people, ``data_utility`` the statistics (with section ``utility``).
        """
        utility = {"data_utility": self.data_utility} if len(self.data_utility) else {}
        return {"scores": self.summary.reset_index(), "records": self.records, "claims": self.claims, **utility}


class ScoreOptions(Section):
    """Options of a score; see `score_loaded`."""

    key: str | None
    sensitive: tuple[str, ...]
    synthetic: bool


def score_loaded(
    loaded: Scenario[Any],
    file: Path,
    *,
    key: str | None = None,
    control: Path | None = None,
    sensitive: Sequence[str] = (),
    synthetic: bool = False,
    progress: Progress | None = None,
) -> ScoreResult:
    """Return the outcomes of a released file, treated like a policy's release.

    The scenario's adversary responds to the file as to the release of a policy. It links each row to the people by
    likelihood, with the model of noise of each column (section ``noise``). Without noise, each cell stands for a set of
    values, and the group of a row consists of the people whose values lie in the sets of all its cells. For the
    utility, a cell counts like a value of a hierarchy that leaves as much entropy of the true value. Records without a
    row in the file count as withheld.

    Parameters
    ----------
    loaded : Scenario
        A table scenario; the file is a release of its records.
    file : Path
        Delimited text or Parquet. Cells may be values, labels of hierarchies, ``*``, intervals or sets.
    key : str, optional
        Column, in both files, that identifies the record of a row; rows with equal keys are in the order of the
        records. If not given, there must be one row per record, in the order of the scenario's records.
    control : Path, optional
        File of people who are not in the released file, in the form of the scenario's records; it adds claims about
        people to the result.
    sensitive : sequence of str
        Columns that an adversary infers; by default, ``publisher.sensitive``.
    synthetic : bool
        Whether no row belongs to a record. Then there are only claims, and `control` is needed.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    ScoreResult

    Raises
    ------
    InputError
        If the scenario is of another kind or has no policies, a file that it names cannot be used, or a row or cell of
        the released file cannot be read; or without `key`, if the file has a sidecar of `share`.
    """
    path = Path(file)
    is_sorted = key is None and not synthetic and is_shared_file(path)
    problem, expected = "the rows of a file that share wrote are sorted", "--key COLUMN, a kept identifier of records"
    refuse_first((is_sorted, problem, None, "no key", expected), source=path)
    kind, clock, report = begun(loaded, progress)
    kind.policies_of(loaded.scenario)
    study = kind.study_of(loaded)
    found = kind.play_released(study, path, key, control, sensitive, synthetic=synthetic)
    released = found.equilibrium
    clock.lap("build")
    outcomes = equilibria_of(kind.play(study, progress=lambda done, total: report("playing", done, total)))
    clock.lap("play")
    summary = kind.summarise(study, 0, outcomes).join(measures_table(kind.reidentified(study, 0, outcomes)))
    utility = pd.concat([found.statistics, kind.data_utility(study, outcomes)], ignore_index=True)
    about: dict[str, Any] = {"file": path.name, "sha256": sha256_of(path), "key": key, "synthetic": synthetic}
    if control is not None:
        about["control"] = {"file": control.name, "sha256": sha256_of(control)}
    facts = {"score": about, **kind.facts(study), **release_file_facts(loaded)}
    unit = counted_units(loaded.content)[0]
    each = pd.DataFrame(columns=[unit, "shared", *_OUTCOMES])
    if released is not None:
        each_once, seed = np.ones(len(released.strategies), dtype=np.int64), loaded.scenario.seed
        people = reidentified_in(released, each_once, lambda: random_stream(seed, "reidentified", 0, len(outcomes)))
        own = averages(released, each_once, loaded.scenario.measures.parameters) | people.measures() | found.measures
        first = pd.DataFrame([own], index=pd.Index([path.name], name="policy"))
        summary = pd.concat([first, summary[[column for column in summary if column in own]]])
        outcomes_of_file = {column: getattr(released, column) for column in _OUTCOMES}
        number = np.arange(len(released.strategies))
        each = pd.DataFrame({unit: number, "shared": ~released.withheld, **outcomes_of_file})
    warnings = (*left_out_of_rounds(loaded.scenario), *found.notes)
    return ScoreResult(
        path.name, summary, each, found.claims, utility, **common_fields(loaded, clock.laps, facts, warnings)
    )
