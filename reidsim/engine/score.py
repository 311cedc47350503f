"""Score of a released file, and the effect of each quasi-identifier.

Both are for table scenarios.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.randomness import random_stream
from reidsim.core.wording import Measure, columns_of, measures_among
from reidsim.engine.results import Result, begun, common_fields, release_file_facts, sha256_of
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK, UTILITY, averages
from reidsim.games.reidentified import measures_table, reidentified_in
from reidsim.games.shapley import exact_shares, sampled_shares
from reidsim.releases.lattice import Floats
from reidsim.scenarios.agents import left_out_of_rounds
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.study import Progress, counted_units, equilibria_of


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
        file. Measures that are unknown for the file are left out.
    records : DataFrame
        Outcome of each record if released as in the file: ``record`` (number, from 0), ``shared`` (whether the file has
        a row for the record), ``attacked``, ``success_probability``, ``publisher_payoff``, ``adversary_payoff``,
        ``utility``; see `Equilibrium`. If the scenario counts people, one row per ``person`` instead, numbered in the
        order of first appearance.
    measures : dict of str to Measure
        The measure in each column of `summary`.
    """

    file: str
    summary: pd.DataFrame
    records: pd.DataFrame
    measures: dict[str, Measure]

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder by name: ``scores`` and ``records``.

        ``scores`` has the measures of `summary` by policy, ``records`` the outcomes of the file's records.
        """
        return {"scores": self.summary.reset_index(), "records": self.records}


def score_loaded(
    loaded: Scenario[Any], file: str | Path, *, key: str | None = None, progress: Progress | None = None
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
    file : str or Path
        Delimited text or Parquet. Cells may be values, labels of hierarchies, ``*``, intervals or sets.
    key : str, optional
        Column, in both files, that identifies the person of a row. If not given, rows must have the same order as the
        scenario's records.
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
    study = kind.build(loaded)
    released, told = kind.play_released(study, path, key)
    clock.lap("build")
    outcomes = equilibria_of(kind.play(study, progress=lambda done, total: report("playing", done, total)))
    clock.lap("play")
    people = measures_table(kind.reidentified(study, 0, outcomes))
    policies = kind.summarise(study, 0, outcomes).join(people)
    each_once = np.ones(len(released.strategies), dtype=np.int64)
    seed = loaded.scenario.seed
    found = reidentified_in(released, each_once, lambda: random_stream(seed, "reidentified", 0, len(outcomes)))
    own = {**averages(released, each_once), **found.measures()}
    first = pd.DataFrame([own], index=pd.Index([path.name], name="policy"))
    summary = pd.concat([first, policies[[column for column in policies if column in own]]])
    warnings = (*left_out_of_rounds(loaded.scenario), *told)
    about = {"file": path.name, "sha256": sha256_of(path), "key": key}
    facts = {"score": about, **kind.facts(study), **release_file_facts(loaded)}
    measures = measures_among(kind.measures_of(loaded.content), summary.columns)
    columns = ("attacked", "success_probability", "publisher_payoff", "adversary_payoff", "utility")
    unit = {counted_units(loaded.content)[0]: np.arange(len(released.strategies)), "shared": ~released.withheld}
    each = pd.DataFrame({**unit, **{column: getattr(released, column) for column in columns}})
    return ScoreResult(path.name, summary, each, measures, **common_fields(loaded, clock.laps, facts, warnings))


# Largest number of columns for exact shares; with n columns, 2^n sets of columns are played.
MOST_EXACT = 10
# Default number of random orders of columns; more orders make shares more precise and take proportionally longer.
ORDERS = 50
ATTRIBUTE_MEASURES: tuple[Measure, ...] = (PUBLISHER_PAYOFF, RISK, UTILITY)
ATTRIBUTE_COLUMNS = ("policy", "attribute", "measure", "all", "without", "alone", "none", "share", "standard_error")


@dataclass(frozen=True, eq=False, repr=False)
class AttributesResult(Result):
    """The effect of each quasi-identifier on the outcomes of a scenario.

    See `Result` for further parameters.

    Parameters
    ----------
    table : DataFrame
        One row per policy, attribute and measure (`ATTRIBUTE_MEASURES`, averages over records in the first draw);
        columns `ATTRIBUTE_COLUMNS`: the measure with ``all`` quasi-identifiers, ``without`` this attribute, with this
        attribute ``alone`` and with ``none``; the Shapley ``share`` of the attribute in the difference between all and
        none, in the unit of the measure (shares of all attributes sum to ``all`` minus ``none``); and the
        ``standard_error`` of the share (0 if it is exact).
    """

    table: pd.DataFrame

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder by name: only ``attributes``."""
        return {"attributes": self.table}


def attributes_loaded(
    loaded: Scenario[Any], *, orders: int = ORDERS, progress: Progress | None = None
) -> AttributesResult:
    """Return the outcomes of a scenario with and without each quasi-identifier.

    A column that is left out is generalized to the top level of its hierarchy in every record; policies that optimize
    choose again among the remaining generalizations. Policies for which this is impossible are left out, with a
    warning. Shapley shares are exact for up to 10 columns; for more columns, they are averages over random orders of
    the columns, drawn with the scenario's seed. Section ``agents`` is ignored.

    Parameters
    ----------
    loaded : Scenario
        A table scenario.
    orders : int
        Number of random orders, used if there are more than 10 columns.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    AttributesResult

    Raises
    ------
    InputError
        If the scenario is of another kind, or a file that it names cannot be used.
    """
    kind, clock, report = begun(loaded, progress)
    study = kind.build(loaded)
    columns = kind.dropped_columns(study)
    clock.lap("build")
    names, n = columns.names, len(columns.names)
    everything, weights = 2**n - 1, study.world(0).weights.astype(np.int64)
    exact, played = n <= MOST_EXACT, 0
    plays = 2**n if exact else orders * n

    @cache
    def value(members: int) -> Floats:
        nonlocal played
        report("playing", min(played, plays - 1), plays)
        played += 1
        kept = frozenset(name for place, name in enumerate(names) if members >> place & 1)
        outcomes = columns.play(kept)
        found = [averages(outcomes[policy], weights) for policy in columns.policies]
        return np.array([each[measure] for each in found for measure in columns_of(ATTRIBUTE_MEASURES)])

    stream = random_stream(loaded.scenario.seed, "attributes")
    shapley = exact_shares(value, n) if exact else sampled_shares(value, n, orders, stream)
    rows, measures = [], columns_of(ATTRIBUTE_MEASURES)
    for first, policy in enumerate(columns.policies):
        for place, attribute in enumerate(names):
            valued = [value(members) for members in (everything, everything & ~(1 << place), 1 << place, 0)]
            shares = (*valued, shapley.shares[place], shapley.standard_errors[place])
            for number, measure in enumerate(measures, start=first * len(measures)):
                rows.append((policy, attribute, measure, *(float(each[number]) for each in shares)))
    table = pd.DataFrame(rows, columns=list(ATTRIBUTE_COLUMNS))
    clock.lap("play")
    facts = {"attributes": {"exact": exact, "orders": None if exact else orders, "played": played}, **kind.facts(study)}
    warnings = columns.warnings
    if getattr(loaded.scenario, "agents", None) is not None:
        warnings = ("section agents is ignored: only one round is evaluated", *warnings)
    return AttributesResult(table, **common_fields(loaded, clock.laps, facts, warnings))
