"""The kind of scenario in which a publisher shares a table of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.agents.profile import Setting
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.tables.build import build_study, data_content
from reidsim.kinds.tables.full_domain_nodes import FullDomainTables, node_tables
from reidsim.kinds.tables.full_domain_points import MOST_POINTS, FullDomainPoints, walks_at_once
from reidsim.kinds.tables.measures import MEASURES, MEASURES_OF_PEOPLE
from reidsim.kinds.tables.outcomes import (
    class_table,
    facts_of,
    facts_of_policies,
    optima_table,
    play,
    play_one_by_one,
    record_table,
    release_table,
    warnings_of,
)
from reidsim.kinds.tables.own_adversary import named
from reidsim.kinds.tables.people import household_risk
from reidsim.kinds.tables.policies import OF_RECORDS, OF_TABLES, POLICIES, TablesPolicy, policy_named
from reidsim.kinds.tables.record_figures import figure_tables
from reidsim.kinds.tables.record_measures import further_measures
from reidsim.kinds.tables.record_points import MONEY_KEYS, is_thinnable, record_points
from reidsim.kinds.tables.rounds import require_playable, setting_of
from reidsim.kinds.tables.schema import TablesScenario, walks_whole_lattice
from reidsim.kinds.tables.study import TablesStudy
from reidsim.measures import Measure
from reidsim.scenarios.adversary_schema import AdversarySection
from reidsim.scenarios.agents import among_adversaries
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.attack_recipe import require_recipe
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.opponents import Opponents, study_against, with_adversaries
from reidsim.scenarios.people import HOUSEHOLD, counted_units
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import AmountPoints, AnalysisTables, PolicyOutcome, Progress
from reidsim.wording import counted

# Beyond it, walking a lattice takes minutes on tables of some ten thousand records.
_MANY_NODES = 200_000


class TablesKind(Kind):
    """A publisher decides about a table of records; see `Kind`."""

    name = "tables"
    words = "a publisher decides how each record of a table is generalized, or all of them"
    schema = TablesScenario
    measures = MEASURES
    policies = POLICIES
    decides = "publisher"
    amount_keys = MONEY_KEYS

    def policy(self, name: str) -> TablesPolicy:
        """Return a policy by its name."""
        return policy_named(name)

    def measures_of(self, content: Mapping[str, Any]) -> tuple[Measure, ...]:
        """Return the measures in words of records, or of people where these are counted."""
        return MEASURES_OF_PEOPLE if counted_units(content)[0] == "person" else self.measures

    def release_file(self, scenario: ScenarioHead) -> str | None:
        """Return the file of the records."""
        assert isinstance(scenario, TablesScenario)  # noqa: S101 - of this kind
        return scenario.release.path

    def build(self, loaded: LoadedScenario[Any]) -> TablesStudy:
        """Read records and people."""
        return build_study(loaded)

    def describe(self, study: TablesStudy) -> str:
        """Say how many records, strategies and people there are."""
        # Amounts that the adversary cannot plan with are told before anything is played.
        for name, each in study.each.items():
            with named(name):
                each.adversary(each.prices)
        people = study.linked_population if study.scenario.publisher.unit == "record" else study.population
        of_people = "" if study.persons is None else f" of {counted(study.n_subjects, 'person', 'people')}"
        size = (
            f"{counted(study.n_records, 'record')}{of_people} in {counted(study.lattice.n_records, 'distinct cell')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')}"
        )
        size += "" if people is None else f", {counted(people.total, 'person', 'people')}"
        if study.n_nodes > _MANY_NODES and walks_whole_lattice(study.scenario):
            size += '; to walk them all may take long, publisher.search = "anytime" has a budget'
        return size

    def data_content(self, loaded: LoadedScenario[Any]) -> dict[str, Any]:
        """Return what cells, hierarchies and people are made of."""
        return data_content(loaded)

    def play(
        self,
        study: TablesStudy,
        draw: int = 0,
        policies: Sequence[str] | None = None,
        *,
        timed: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PolicyOutcome]:
        """Play policies: what is the best of each record is found for all of them in one pass."""
        if timed and study.scenario.publisher.unit == "table":
            return play_one_by_one(study, policies)
        return play(study, policies, progress=progress)

    def summarise(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Average the outcomes over all people of the release; with households, tell their risk, too."""
        summary, household = super().summarise(study, draw, equilibria), study.household_of
        if household is not None:
            risks = [household_risk(found, study.row_of_subject, household).mean() for found in equilibria.values()]
            summary[HOUSEHOLD] = risks
        return summary

    def further_measures(self, study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return what deters attacks, and how good a heuristic search is."""
        if study.scenario.publisher.unit == "record":
            return further_measures(study, equilibria)
        return super().further_measures(study, equilibria)

    def records(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return records with their quasi-identifiers as released."""
        return record_table(study, equilibria)

    def row_of_record(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the cell of each record, or the row set of its person."""
        return study.row_of_record

    def row_of_subject(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the row of each person."""
        return study.row_of_subject

    def analyse(self, study: TablesStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the tables behind figures of records, or of the nodes of a lattice."""
        if study.scenario.publisher.unit == "record":
            return figure_tables(study, progress=lambda done, total: report("figures", done, total))
        top_nodes, front, left_out = node_tables(study, outcomes)
        return FullDomainTables(
            optima=optima_table(study, outcomes),
            classes=class_table(study, outcomes),
            released=release_table(study, outcomes),
            top_nodes=top_nodes,
            front=front,
            left_out=left_out,
        )

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return seconds and nodes of each policy."""
        nodes = [
            int(each.equilibrium.evaluated.max(initial=0)) for each in outcomes.values() if each.seconds is not None
        ]
        return super().runtimes(outcomes).assign(nodes_evaluated=nodes)

    def facts(self, study: TablesStudy) -> dict[str, Any]:
        """Return facts about records, strategies and people."""
        return facts_of(study)

    def facts_of_policies(self, study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Say what was chosen, and how it was found."""
        return facts_of_policies(study, outcomes)

    def warnings(self, study: TablesStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield what to know about the records and the choices made."""
        return warnings_of(study, outcomes)

    def settings(self, study: TablesStudy) -> Callable[[str, int, int], Setting]:
        """Return the one world of all policies and draws."""
        world = setting_of(
            study, among_adversaries(study.scenario.agents or AgentsSection(), study.scenario.adversaries)
        )

        def setting(policy: str, replication: int, draw: int) -> Setting:
            require_playable(study, policy)
            return replace(world, replication=draw)

        return setting

    def describe_setting(self, setting: Setting) -> str:
        """Say how many records and strategies there are."""
        forms = counted(setting.space.size, "strategy", "strategies")
        return (
            f"{counted(setting.n_subjects, 'data subject')} with {counted(setting.n_cells, 'distinct record')}, {forms}"
        )

    def opponents(
        self, study: TablesStudy, *, knowledge: str | None = None, stages: str | None = None, rate: float = 0.5
    ) -> tuple[TablesStudy, Opponents]:
        """Return the adversaries, on cells told apart by all that any of them looks at."""
        publisher = study.scenario.publisher
        if publisher.solver == "backward-induction":
            # Of two exact solvers, the one that does not walk the whole lattice against each adversary.
            publisher = publisher.model_copy(update={"solver": "branch-and-bound"})
            scenario = study.scenario.model_copy(update={"publisher": publisher})
            study = replace(study, loaded=replace(study.loaded, scenario=scenario))
        recipe = None if stages is None else str(require_recipe(Path(stages).absolute(), "stages"))
        path = recipe or study.scenario.adversary.stages
        if path is not None and study.own.staged is None:
            staged = study_against(study, planner="one-shot", knowledge=None, stages=path)
            study = study.on_cells_of(staged)
        if not study.owns:
            return super().opponents(study, knowledge=knowledge, stages=recipe, rate=rate)
        # Adversaries that the scenario does not name count people as those it names do.
        plain = study.with_adversary(AdversarySection(risk=study.scenario.linked_risk))
        _, others = super().opponents(plain, knowledge=knowledge, stages=recipe, rate=rate)
        alone = {str(name): each.world() for name, each in study.each.items()}
        return study, with_adversaries(others, alone, study.world())

    def cross_play_policies(self, study: TablesStudy) -> tuple[str, ...]:
        """Return the policies of the publisher's unit in the order of rows, and those of the scenario."""
        usual = OF_RECORDS if study.scenario.publisher.unit == "record" else OF_TABLES
        names = [name for name in usual if study.safe_harbor is not None or not POLICIES[name].needs_safe_harbor]
        return tuple(dict.fromkeys((*names, *study.scenario.publisher.policies)))

    def amounts_at_once(self, scenario: ScenarioHead, keys: Sequence[str]) -> bool:
        """Tell whether strategies can be thinned to those that are best at some amounts."""
        return isinstance(scenario, TablesScenario) and is_thinnable(scenario, keys)

    def plans_under_amounts(self, scenario: ScenarioHead) -> bool:
        """Tell whether records are planned one by one."""
        return isinstance(scenario, TablesScenario) and scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> AmountPoints | None:
        """Return what plans records one by one."""
        return record_points(study) if self.plans_under_amounts(study.scenario) else None

    def points_at_once(self, scenario: ScenarioHead, keys: Sequence[str]) -> int:
        """Return the number of points of one walk of the lattice."""
        return MOST_POINTS if isinstance(scenario, TablesScenario) and walks_at_once(scenario, keys) else 1

    def play_together(self, studies: Sequence[TablesStudy]) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes at the points of one walk."""
        return FullDomainPoints(studies).outcomes


TABLES = TablesKind()
