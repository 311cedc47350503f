"""Options and result of cross-play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.batch.design import Design
from reidsim.engine.batch.statistics import measured, statistics_table
from reidsim.engine.batch.tasks import COMPLETE
from reidsim.engine.cross_play.equilibria import equilibrium_tables, worst_cases_table
from reidsim.engine.results import Result, measures_in_manifest
from reidsim.errors import InputError, require_among
from reidsim.games.cross_play import matrix_of
from reidsim.games.double_oracle import Sum
from reidsim.games.measures import REGRET
from reidsim.linkage.number_checks import check_share
from reidsim.scenarios.cross_play_adversaries import OpponentOptions
from reidsim.wording import counted


@dataclass(frozen=True, eq=False)
class CrossPlayResult(Result):
    """Outcomes of every defender against every adversary of a scenario.

    Parameters
    ----------
    name : str
        Scenario.
    table : DataFrame
        One row per defender, adversary planned against and adversary met (see `reidsim.games.cross_play.CrossPlay`),
        and per run, if there are several runs. A failed run has one row without measures.
    manifest : dict
        Scenario, versions and options that produced the result.
    warnings : tuple of str
        Reasons why adversaries or defenders cannot play.
    design : Design, optional
        Points and replications; None for a single run.
    replies : dict of str to DataFrame
        Tables ``double_oracle`` and ``double_oracle_mixtures``, if best replies were requested; see `DoubleOracle`.
    equilibria : dict of str to DataFrame
        Tables ``equilibria``, ``mixtures`` and ``exploitability``, if requested; see `equilibrium_tables`.
    """

    name: str
    table: pd.DataFrame
    manifest: dict[str, Any]
    warnings: tuple[str, ...]
    design: Design | None = field(default=None)
    replies: dict[str, pd.DataFrame] = field(default_factory=dict)
    equilibria: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of `table` from successful runs; may be empty."""
        return self.table[self.table["state"] == COMPLETE] if "state" in self.table else self.table

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures in `table`, by column.

        Labels and definitions are from the scenario's kind.
        """
        return measures_among((*measures_in_manifest(self.manifest), REGRET), self.table.columns)

    @cached_property
    def statistics(self) -> pd.DataFrame:
        """Means with intervals, and quantiles over runs; see `statistics_table`.

        One row per point of the sweep, defender, adversary planned against, adversary met and measure. The table is
        empty for a single run, or if every run failed.
        """
        if self.design is None or self.runs.empty:
            return pd.DataFrame()
        return statistics_table(measured(self.table, self.design))

    @cached_property
    def worst_cases(self) -> pd.DataFrame:
        """Least payoff and largest regret of each defender; see `worst_cases_table`.

        The table is empty if every run failed.
        """
        return pd.DataFrame() if self.runs.empty else worst_cases_table(*self.arranged)

    def matrix(self, measure: str) -> pd.DataFrame:
        """Return the mean of a measure over successful runs, as a matrix.

        It has one row per defender and adversary planned against, and one column per adversary met; see `matrix_of`.
        """
        return matrix_of(self.runs, measure)

    def __repr__(self) -> str:
        runs = "" if self.design is None else f", {counted(self.design.n_runs, 'run')}"
        if self.runs.empty:
            return f"CrossPlayResult({self.name!r}: every run failed{runs})"
        return (
            f"CrossPlayResult({self.name!r}: {counted(self.runs['defender'].nunique(), 'defender')}, "
            f"{counted(self.runs['adversary'].nunique(), 'adversary', 'adversaries')}{runs})"
        )

    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the results folder, by name, without empty ones.

        They are ``cross_play``, ``statistics``, ``worst_cases``, and the tables of `equilibria` and `replies`.
        """
        tables = {"cross_play": self.table, "statistics": self.statistics, "worst_cases": self.worst_cases}
        tables |= {**self.equilibria, **self.replies}
        return {name: table for name, table in tables.items() if len(table)}

    @property
    def arranged(self) -> tuple[pd.DataFrame, Design]:
        """The table with columns for point, replication and state, and the design.

        A single run is point 0, replication 0.
        """
        if self.design is not None:
            return self.table, self.design
        return self.table.assign(point=0, replication=0, state=COMPLETE), Design(pd.DataFrame(index=range(1)))


def with_equilibria(result: CrossPlayResult, options: CrossPlayOptions) -> CrossPlayResult:
    """Return the result with equilibria, if they are requested and a run succeeded.

    Warnings name defenders that were left out and concepts without a solution; see `equilibrium_tables`.
    """
    if not options.equilibrium or result.runs.empty:
        return result
    runs, design = result.arranged
    tables, left_out = equilibrium_tables(runs[runs["state"] == COMPLETE], design)
    return replace(result, equilibria=tables, warnings=(*result.warnings, *left_out))


@dataclass(frozen=True)
class CrossPlayOptions(OpponentOptions):
    """Options of cross-play.

    Parameters
    ----------
    knowledge, stages, attack_rate
        See `OpponentOptions`.
    equilibrium : bool
        Whether to compute optimal mixtures and equilibria of the payoffs.
    double_oracle : {"zero-sum", "general-sum"}, optional
        Game in which to run the double oracle; default: do not run it. It adds best replies to mixtures until the gains
        of both players from further best replies sum to at most the tolerance. In the zero-sum game, the adversary
        minimizes the defender's payoff; in the general-sum game, it maximizes its own payoff.
    tolerance : float
        Tolerance of the double oracle, in currency units per record, above 0.

    Raises
    ------
    InputError
        If an option is invalid.
    """

    equilibrium: bool = False
    double_oracle: Sum | None = None
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        check_share("attack_rate", self.attack_rate)
        if self.double_oracle is not None:
            require_among("unknown kind of game", (self.double_oracle,), get_args(Sum), where="double_oracle")
        if not 0 < self.tolerance < float("inf"):
            raise InputError(
                "tolerance out of range", where="tolerance", found=self.tolerance, expected="an amount above 0"
            )
        # A relative path in a call refers to the working folder, not to the scenario's; workers may have another one.
        if self.knowledge is not None and Path(self.knowledge).suffix == ".toml":
            object.__setattr__(self, "knowledge", str(Path(self.knowledge).absolute()))
        if self.stages is not None:
            object.__setattr__(self, "stages", str(Path(self.stages).absolute()))

    @property
    def facts(self) -> dict[str, Any]:
        """The options as plain data, for the manifest."""
        told: dict[str, Any] = {"knowledge": self.knowledge, "stages": self.stages, "attack_rate": self.attack_rate}
        if self.equilibrium:
            told["equilibrium"] = True
        if self.double_oracle is not None:
            told |= {"double_oracle": self.double_oracle, "tolerance": self.tolerance}
        return told
