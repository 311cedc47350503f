"""The kind of scenario in which a publisher shares a table of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from reidsim.agents.profile import Setting
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.tables.asked import sentences
from reidsim.kinds.tables.build import build_study, data_content
from reidsim.kinds.tables.consistency import lists_every_form, walks_whole_lattice
from reidsim.kinds.tables.direction_measures import direction_measures, direction_warnings
from reidsim.kinds.tables.dropped_columns import DroppedColumns
from reidsim.kinds.tables.full_domain_nodes import FullDomainTables, node_tables
from reidsim.kinds.tables.full_domain_points import MOST_POINTS, FullDomainPoints, walks_at_once
from reidsim.kinds.tables.measures import MEASURES, MEASURES_OF_PEOPLE
from reidsim.kinds.tables.memory import needed_memory
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
from reidsim.kinds.tables.people import household_risk
from reidsim.kinds.tables.policies import OF_RECORDS, OF_TABLES, POLICIES, TablesPolicy, policy_named
from reidsim.kinds.tables.portions import portions
from reidsim.kinds.tables.record_figures import figure_tables
from reidsim.kinds.tables.record_measures import further_measures
from reidsim.kinds.tables.record_points import is_thinnable, record_points
from reidsim.kinds.tables.released_rows import read_released
from reidsim.kinds.tables.rounds import planned_of, require_playable, setting_of
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.sharing import read_records, shared_columns, true_values
from reidsim.kinds.tables.study import TablesStudy
from reidsim.kinds.tables.switching import largest_group, takes_best
from reidsim.scenarios.adversary_schema import TOGETHER, AdversarySection
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.asked import Stored
from reidsim.scenarios.attack_recipe import require_recipe
from reidsim.scenarios.faces import Choice as ControlChoice
from reidsim.scenarios.faces import Control, amount_slider
from reidsim.scenarios.kind import Kind, Use
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.opponents import Opponents, study_against, with_adversaries
from reidsim.scenarios.people import HOUSEHOLD
from reidsim.scenarios.policy import with_each_k
from reidsim.scenarios.portions import Portions
from reidsim.scenarios.record_sharing import SharedColumns
from reidsim.scenarios.schema import MONEY_KEYS
from reidsim.scenarios.several_adversaries import named
from reidsim.scenarios.study import AmountPoints, AnalysisTables, PolicyOutcome, Progress
from reidsim.validation import read_toml
from reidsim.wording import Sentence, counted

# Beyond it, walking a lattice takes minutes on tables of some ten thousand records, and more if each is solved.
_MANY_NODES = 200_000


class TablesKind(Kind):
    """A publisher decides about a table of records; see `Kind`."""

    name = "tables"
    words = "a publisher decides how each record of a table is generalized, or all of them"
    schema = TablesScenario
    measures = MEASURES
    measures_of_people = MEASURES_OF_PEOPLE
    captions = read_toml(Path(__file__).with_name("captions.toml"))
    drawn_by = "reidsim.kinds.tables.figures.runs"
    policies = POLICIES
    decides = "publisher"
    amount_keys = MONEY_KEYS

    def policy(self, name: str) -> TablesPolicy:
        """Return a policy by its name."""
        return policy_named(name)

    def release_file(self, scenario: TablesScenario) -> str | None:
        """Return the file of the records."""
        return scenario.release.path

    def shared_columns(self, scenario: TablesScenario) -> SharedColumns:
        """Say which columns of the records are quasi-identifiers."""
        return shared_columns(scenario)

    def read_records(self, scenario: TablesScenario, path: Path) -> pd.DataFrame:
        """Read the file of the records."""
        return read_records(scenario, path)

    def true_values(self, scenario: TablesScenario, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the quasi-identifiers with the names that the scenario gives to values."""
        return true_values(scenario, frame, path)

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
        # Where people are looked up in lists, records of one cell have rows of their own.
        cells = study.lattice.n_records if study.drawn is None else len(study.dataset.cells)
        size = (
            f"{counted(study.n_records, 'record')}{of_people} in {counted(cells, 'distinct cell')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')}"
        )
        size += "" if people is None else f", {counted(people.total, 'person', 'people')}"
        if study.n_nodes > _MANY_NODES and walks_whole_lattice(study.scenario):
            size += '; to walk them all may take long, publisher.search = "anytime" has a budget'
        elif study.lattice.size > _MANY_NODES and lists_every_form(study.scenario):
            size += '; to compute them all may take long, publisher.solver = "branch-and-bound" leaves out many'
        return size

    def needed_memory(self, study: TablesStudy, use: Use = "run") -> int:
        """Return the bytes of records, cells and people, and of what is rolled up of them."""
        return needed_memory(study, use)

    def portions(self, study: TablesStudy) -> Portions:
        """Return the study of fewer rows of the games."""
        return portions(study)

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
        """Average the outcomes over all who are counted; tell what looking persons up changes, and households' risk."""
        summary, household = super().summarise(study, draw, equilibria), study.household_of
        if study.scenario.looks_up:
            summary = summary.join(direction_measures(study, equilibria))
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
        yield from warnings_of(study, outcomes)
        if study.scenario.looks_up:
            yield from direction_warnings(study, outcomes)

    def in_rounds(self, scenario: TablesScenario) -> bool:
        """Tell whether there are agents, or several releases."""
        return scenario.in_rounds

    def settings(self, study: TablesStudy) -> Callable[[str, int, int], Setting]:
        """Return the one world of all policies and draws."""
        world = setting_of(study, self.agents_of(study.scenario))

        def setting(policy: str, replication: int, draw: int) -> Setting:
            require_playable(study, policy)
            return replace(world, replication=draw, planned=planned_of(study, policy))

        return setting

    def by_subject(self, study: TablesStudy) -> TablesStudy:
        """Return the study in which each person has a row, or each record where each is a person."""
        return study.by_subject()

    def describe_setting(self, setting: Setting) -> str:
        """Say how many records and strategies there are."""
        forms = counted(setting.space.size, "strategy", "strategies")
        return (
            f"{counted(setting.n_subjects, 'data subject')} with {counted(setting.n_cells, 'distinct record')}, {forms}"
        )

    def opponents(
        self,
        study: TablesStudy,
        *,
        knowledge: str | None = None,
        stages: str | None = None,
        rate: float = 0.5,
        draw: int = 0,
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
            return super().opponents(study, knowledge=knowledge, stages=recipe, rate=rate, draw=draw)
        # Adversaries that the scenario does not name count people as those it names do.
        plain = study.with_adversary(AdversarySection(risk=study.scenario.linked_risk))
        _, others = super().opponents(plain, knowledge=knowledge, stages=recipe, rate=rate, draw=draw)
        if are_equipped(study.scenario):
            # Those that it names play with what they hold and may buy; see `opponent_types`.
            return study, replace(others, own=TOGETHER)
        alone = {str(name): each.world(draw) for name, each in study.each.items()}
        return study, with_adversaries(others, alone, study.world(draw))

    def cross_play_policies(self, study: TablesStudy) -> tuple[str, ...]:
        """Return the policies of the publisher's unit in the order of rows, and those of the scenario."""
        usual = OF_RECORDS if study.scenario.publisher.unit == "record" else OF_TABLES
        names = [name for name in usual if study.safe_harbor is not None or not POLICIES[name].needs_safe_harbor]
        section = study.scenario.publisher
        # Policies of several releases have nothing to reply to in one.
        own = [name for name in section.policies if policy_named(name).replies == "to-past"]
        return tuple(dict.fromkeys((*with_each_k(names, section.k), *own)))

    def amounts_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> bool:
        """Tell whether strategies can be thinned to those that are best at some amounts."""
        return is_thinnable(scenario, keys)

    def plans_under_amounts(self, scenario: TablesScenario) -> bool:
        """Tell whether records are planned one by one."""
        return scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> AmountPoints | None:
        """Return what plans records one by one."""
        return record_points(study) if self.plans_under_amounts(study.scenario) else None

    def dropped_columns(self, study: TablesStudy) -> DroppedColumns:
        """Return what plays the table without some of its quasi-identifiers."""
        return DroppedColumns(study)

    def play_released(
        self, study: TablesStudy, path: Path, key: str | None = None
    ) -> tuple[Equilibrium, tuple[str, ...]]:
        """Return what comes of a released file, each row of which stands for a set of values in every attribute."""
        read = read_released(study, path, key)
        lacking = tuple(f"the file has no column for {name}: suppressed in every row" for name in read.suppressed)
        return read.file.play(), lacking

    def takes_best(self, scenario: TablesScenario, policy: str) -> bool:
        """Tell whether a policy finds the best of generalizations that any amounts allow."""
        return takes_best(scenario, policy)

    def largest_group(self, study: TablesStudy) -> int | None:
        """Return the number of people, if a one-shot adversary attacks by class sizes that are whole numbers."""
        return largest_group(study)

    def points_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> int:
        """Return the number of points of one walk of the lattice."""
        return MOST_POINTS if walks_at_once(scenario, keys) else 1

    def play_together(self, studies: Sequence[TablesStudy]) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes at the points of one walk."""
        return FullDomainPoints(studies).outcomes

    def asked(self, run: Stored) -> Iterator[Sentence]:
        """Yield what a run was asked."""
        return sentences(run)

    def controls(self, scenario: TablesScenario) -> Iterator[Control]:
        """Yield amounts, and of records against one adversary who knows everything, how it plans."""
        yield from super().controls(scenario)
        adversary = scenario.adversary
        if scenario.publisher.unit == "table" or adversary.knowledge is not None or scenario.adversaries:
            return
        yield ControlChoice("adversary.planner", "Planner of the adversary", adversary.planner, ("one-shot", "fmdp"))
        if adversary.plans_sequentially:
            key, sequential = "adversary.sequential", adversary.sequential
            yield amount_slider(f"{key}.access_cost", "Cost of access, per record", sequential.access_cost)
            yield amount_slider(f"{key}.penalty", "Penalty, per detected exploit", sequential.penalty)

    def is_by_record(self, scenario: TablesScenario, price: Literal["gain", "cost"]) -> bool:
        """Tell whether a column holds the price, or the loss that it follows."""
        economics = scenario.economics
        follows_loss = price == "gain" and economics.gain is None and economics.columns.loss is not None
        return follows_loss or getattr(economics.columns, price) is not None

    def decision(self, scenario: TablesScenario) -> str:
        """Say that records are decided on together, if no policy gives each its own."""
        publisher = scenario.publisher
        if publisher.unit == "record" or any(policy_named(name).way == "record-level" for name in publisher.policies):
            return ""
        return "one generalization for all records, and which of them to suppress: its best reply under the policy"


TABLES = TablesKind()
