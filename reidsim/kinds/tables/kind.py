"""Scenario kind in which a publisher shares a table of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reidsim.agents.profile import Setting
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.tables.build import build_study, data_content
from reidsim.kinds.tables.consistency import lists_every_form, walks_whole_lattice
from reidsim.kinds.tables.dropped_columns import DroppedColumns
from reidsim.kinds.tables.many_points import TablesPoints
from reidsim.kinds.tables.measures import MEASURES, MEASURES_OF_PEOPLE
from reidsim.kinds.tables.outcomes import play, play_one_by_one
from reidsim.kinds.tables.policy import POLICIES, SAFE_HARBOR, policies_of_unit, policy_named
from reidsim.kinds.tables.presentation import TablesPresentation
from reidsim.kinds.tables.released_rows import read_released
from reidsim.kinds.tables.results import TablesResults
from reidsim.kinds.tables.rounds import planned_of, require_playable, setting_of
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.sharing import TablesSharing
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.adversary_schema import TOGETHER, AdversarySection
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.attack_recipe import require_recipe
from reidsim.scenarios.cross_play_adversaries import OpponentOptions, Opponents, study_against, with_adversaries
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.policy import with_each_k
from reidsim.scenarios.schema import MONEY_KEYS
from reidsim.scenarios.several_adversaries import named
from reidsim.scenarios.study import PolicyOutcome
from reidsim.wording import counted

# Number of nodes above which `describe` warns. Searching a larger lattice takes minutes with some 10,000 records, and
# longer if each record is solved separately.
_MANY_NODES = 200_000


class TablesKind(TablesPresentation, TablesSharing, TablesPoints, TablesResults):
    """Scenario kind of a publisher who shares a table of records; see `Kind`."""

    name = "tables"
    words = "a publisher decides how each record of a table, or the whole table, is generalized"
    schema = TablesScenario
    measures = MEASURES
    measures_of_people = MEASURES_OF_PEOPLE
    policies = POLICIES
    decides = "publisher"
    amount_keys = MONEY_KEYS

    def build(self, loaded: Scenario[Any]) -> TablesStudy:
        """Build the study of a loaded scenario; reads records and people."""
        return build_study(loaded)

    def describe(self, study: TablesStudy) -> str:
        """Check the payoff parameters; return one line on the size of the study.

        It contains the numbers of records, distinct cells, strategies and people, and a warning if the search may take
        long.
        """
        # Raises an error for unusable payoff parameters before a long computation starts.
        for name, each in study.each.items():
            with named(name):
                each.adversary(each.prices)
        people = study.linked_population if study.scenario.publisher.unit == "record" else study.population
        of_people = "" if study.persons is None else f" of {counted(study.n_subjects, 'person', 'people')}"
        # With lists, the lattice has a row for each record, even if records are equal.
        cells = study.lattice.n_records if study.drawn is None else len(study.dataset.cells)
        size = (
            f"{counted(study.n_records, 'record')}{of_people} in {counted(cells, 'distinct cell')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')}"
        )
        if people is not None and study.scenario.population is not None:
            size += f", a population of {people.total:,.0f}"
        if study.n_nodes > _MANY_NODES and walks_whole_lattice(study.scenario):
            size += '; a search of all nodes may take long, set publisher.search = "anytime" for a search with a budget'
        elif study.lattice.size > _MANY_NODES and lists_every_form(study.scenario):
            size += '; computing all strategies may take long, set publisher.solver = "iceberg" to skip most strategies'
        return size

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario content that determines cells, hierarchies and people."""
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
        """Play policies; one pass serves all policies that optimize each record.

        With `timed` and one generalization for the table, each policy is played alone and its seconds are kept.
        """
        if timed and study.scenario.publisher.unit == "table":
            return play_one_by_one(study, policies)
        return play(study, policies, progress=progress)

    def row_of_record(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each record: its cell, or its person's row set."""
        return study.row_of_record

    def row_of_subject(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each data subject: person, or record if it is a person."""
        return study.row_of_subject

    def settings(self, study: TablesStudy) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the setting of repeated rounds.

        Its arguments are the policy, the number of the study's draw (without effect, as all draws are equal) and the
        number of the repetition of all rounds.
        """
        world = setting_of(study, self.agents_of(study.scenario))

        def setting(policy: str, replication: int, draw: int) -> Setting:
            require_playable(study, policy)
            return replace(world, replication=draw, planned=planned_of(study, policy))

        return setting

    def by_subject(self, study: TablesStudy) -> TablesStudy:
        """Return the study in which each data subject has its own game row."""
        return study.by_subject()

    def describe_setting(self, setting: Setting) -> str:
        """Describe the numbers of data subjects, distinct records and strategies."""
        forms = counted(setting.space.size, "strategy", "strategies")
        return (
            f"{counted(setting.n_subjects, 'data subject')} with {counted(setting.n_cells, 'distinct record')}, {forms}"
        )

    def opponents(self, study: TablesStudy, options: OpponentOptions, draw: int = 0) -> tuple[TablesStudy, Opponents]:
        """Return the study and the adversaries of cross-play, on common cells.

        Cells are split by all attributes that at least one adversary uses.
        """
        publisher = study.scenario.publisher
        if publisher.solver == "backward-induction":
            # Branch and bound is also exact, and does not search the whole lattice for each adversary.
            study = study.with_sections(publisher=publisher.model_copy(update={"solver": "branch-and-bound"}))
        if options.stages is not None:
            require_recipe(Path(options.stages), "stages")
        path = options.stages or study.scenario.adversary.stages
        if path is not None and study.own.staged is None:
            staged = study_against(study, planner="one-shot", knowledge=None, stages=path)
            study = study.on_cells_of(staged)
        if not study.owns:
            return super().opponents(study, options, draw)
        # Unnamed adversaries link with the same people as the scenario's named ones.
        plain = study.with_adversary(AdversarySection(risk=study.scenario.linked_risk))
        _, others = super().opponents(plain, options, draw)
        if are_equipped(study.scenario):
            # The named adversaries play with their resources; see `opponent_types`.
            return study, replace(others, own=TOGETHER)
        alone = {str(name): each.world(draw) for name, each in study.each.items()}
        return study, with_adversaries(others, alone, study.world(draw))

    def cross_play_policies(self, study: TablesStudy) -> tuple[str, ...]:
        """Return the policies of cross-play: of the publisher's unit, then the scenario's.

        Policies for several releases are left out, and so are policies that need a missing section ``safe_harbor``.
        """
        usual = policies_of_unit(study.scenario.publisher.unit)
        names = [name for name in usual if study.safe_harbor is not None or SAFE_HARBOR not in POLICIES[name].needs]
        section = study.scenario.publisher
        # Policies for several releases do not apply to a single release.
        own = [name for name in section.policies if policy_named(name).replies == "to-past"]
        return tuple(dict.fromkeys((*with_each_k(names, section.k), *own)))

    def dropped_columns(self, study: TablesStudy) -> DroppedColumns:
        """Return an object that plays the study without some of its quasi-identifiers."""
        return DroppedColumns(study)

    def play_released(
        self, study: TablesStudy, path: Path, key: str | None = None
    ) -> tuple[Equilibrium, tuple[str, ...]]:
        """Return the outcome of a released file by data subject, and notes on its columns.

        Each cell of the file represents a set of values of its attribute. A quasi-identifier without a column counts as
        suppressed, with a note.
        """
        read = read_released(study, path, key)
        lacking = tuple(
            f"the file has no column for {name}: the attribute counts as suppressed in every row"
            for name in read.suppressed
        )
        return read.file.play(), lacking


TABLES = TablesKind()
