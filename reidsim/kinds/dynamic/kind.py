"""Define the kind of scenario in which a publisher releases cases in periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reidsim.games.equilibrium import Equilibrium
from reidsim.games.reidentified import Reidentified, reidentified_in
from reidsim.kinds.dynamic.outputs import (
    MEASURES,
    DynamicTables,
    exposing_rows,
    measures_of_periods,
    period_table,
    warnings_of,
)
from reidsim.kinds.dynamic.policies import FIXED, PK, POLICIES
from reidsim.kinds.dynamic.schema import PERIOD, DynamicScenario
from reidsim.kinds.dynamic.study import DynamicStudy, build_study, columns_of
from reidsim.random_streams import nested_stream
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.presentation import SharedColumns
from reidsim.scenarios.report_sentences import adversaries, by_generalization, plan, section
from reidsim.scenarios.schema import MONEY_KEYS
from reidsim.scenarios.study import PolicyOutcome, Progress, equilibria_of
from reidsim.wording import Code, Sentence, codes, counted, number_text


class DynamicKind(Kind):
    """The game of a publisher who releases cases over time; see `Kind`."""

    name = "dynamic"
    words = "a publisher releases a table of cases in each period, with one generalization per table"
    schema = DynamicScenario
    policies = POLICIES
    measures = MEASURES
    drawn_by = "reidsim.kinds.dynamic.figures"
    amount_keys = MONEY_KEYS

    def build(self, loaded: Scenario[Any]) -> DynamicStudy:
        """Read or simulate the cases, read the people, and return the study."""
        return build_study(loaded)

    def describe(self, study: DynamicStudy) -> str:
        """Return the numbers of cases, periods and generalizations as text."""
        # Building the games reports amounts with which the adversary cannot plan, before any game is solved.
        study.world()
        return (
            f"{counted(len(study.cases.codes), 'case')} in {counted(len(study.cases.periods), 'period')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')} for the table of each"
        )

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the content that determines cases and people."""
        used = ("population", "voters", "release", "epidemic", "attributes", "seed")
        return {key: loaded.content[key] for key in used if key in loaded.content}

    def row_of_record(self, study: DynamicStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each case in the games: its row in its last table."""
        return study.row_of_case

    def summarise(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return mean outcomes over the records of all tables, and measures over periods.

        The index is the policy. For the columns on periods, see `measures_of_periods`.
        """
        return super().summarise(study, draw, equilibria).join(measures_of_periods(study, equilibria))

    def reidentified(
        self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]
    ) -> dict[str, Reidentified]:
        """Return the distribution of the number of re-identified people, by policy.

        With cumulative tables, each person counts once, in the first table in which the person's risk is largest.
        """
        if study.scenario.release.table == "period":
            return super().reidentified(study, draw, equilibria)
        once, people = np.ones(len(study.row_of_case), dtype=np.int64), {}
        for number, (policy, found) in enumerate(equilibria.items()):
            rng = partial(nested_stream, study.scenario.seed, "reidentified", (draw, number))
            people[policy] = reidentified_in(found.expand(exposing_rows(study, found)), once, rng)
        return people

    def records(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per case and policy, as released in the last table with the case.

        Columns are those of `record_table`, ``period`` (the case's own), and the released value of each attribute.
        """
        row, periods = study.row_of_case, pd.Index(study.cases.periods, dtype="str")
        table = super().records(study, draw, equilibria)
        released = [study.lattice.released(found.strategies[row], row) for found in equilibria.values()]
        period = pd.Categorical.from_codes(np.tile(study.cases.period, len(equilibria)), categories=periods)
        table.insert(1, PERIOD, pd.Series(period))
        return pd.concat([table, pd.concat(released, ignore_index=True)], axis=1)

    def analyse(self, study: DynamicStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress) -> DynamicTables:
        """Return the outcomes of each period's table."""
        return DynamicTables(periods=period_table(study, equilibria_of(outcomes)))

    def facts(self, study: DynamicStudy) -> dict[str, Any]:
        """Return facts about cases, periods and generalizations."""
        people, lattice = {"population": study.cases.population, "voters": study.cases.voters}, study.lattice
        return {
            "records": len(study.cases.codes),
            "cases": len(study.cases.codes),
            "periods": len(study.cases.periods),
            "strategies": lattice.size,
            "attribute_weights": dict(zip(lattice.domain.names, lattice.attribute_weights.tolist(), strict=True)),
            **{name: each.total for name, each in people.items() if each is not None},
            "data_hash": study.fingerprint,
        }

    def cross_play_policies(self, study: DynamicStudy) -> tuple[str, ...]:
        """Return the policies of cross-play: of the kind, then user-defined ones.

        Policy ``fixed`` is left out if the scenario sets no levels, and ``pk`` if it has no population.
        """
        said = {FIXED: bool(study.scenario.publisher.fixed), PK: study.cases.population is not None}
        names = super().cross_play_policies(study)
        return tuple(name for name in names if said.get(name, True))

    def warnings(self, study: DynamicStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield warnings about information in earlier tables that the model ignores.

        See `warnings_of`.
        """
        return warnings_of(study, outcomes)

    def release_file(self, scenario: DynamicScenario) -> str | None:
        """Return the file of cases."""
        return scenario.release.path

    def shared_columns(self, scenario: DynamicScenario) -> SharedColumns:
        """Return the columns of the cases that are quasi-identifiers."""
        return SharedColumns(columns_of(scenario), delimiter=scenario.release.delimiter, counts_release=False)

    def decision(self, scenario: DynamicScenario) -> str:
        """Return a sentence on the decision: one generalization per table."""
        return "one generalization for the table of each period: the best response under the policy"

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield sentences on the releases, the adversary's list and the payoffs."""
        release, names = section(run.content, "release"), codes(list(section(run.content, "attributes")))
        origin = (" of ", Code(str(release["path"]))) if "path" in release else (" drawn from the population",)
        cases, periods = run.manifest.get("cases"), run.manifest.get("periods")
        size = f"{number_text(cases)} cases" if cases else "Cases"
        over = f" are released over {number_text(periods)} periods" if periods else " are released period by period"
        held = "all cases to date" if release.get("table") == "cumulative" else "its own cases"
        yield (size, *origin, over, f"; each table contains {held} and has one generalization.")
        yield ("Quasi-identifiers: ", *names, ".")
        if "voters" in run.content:
            recipe = str(section(run.content, "voters").get("recipe"))
            yield ("The adversary links records to the list ", Code(recipe), ".")
        yield from adversaries(run, plan)
        yield from by_generalization(run, "publisher")


DYNAMIC = DynamicKind()
