"""Scenario kind in which a publisher shares a table of records."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from reidsim.agents.attack import RUN_MEASURES
from reidsim.agents.profile import Setting
from reidsim.core.measures import in_words, measures_worded
from reidsim.errors import refuse_first
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import HOUSEHOLD_RISK
from reidsim.games.solvers import no_progress
from reidsim.kinds.tables.build import build_study, data_content
from reidsim.kinds.tables.many_points import OneShotPoints, SolvedPoints, is_thinnable, record_points
from reidsim.kinds.tables.outcomes import DroppedColumns, play
from reidsim.kinds.tables.policy import POLICIES, SAFE_HARBOR, WHERE, policies_of_unit, policy_named
from reidsim.kinds.tables.release import StagedAttack, attribute_labels, read_records, sensitive_attributes
from reidsim.kinds.tables.released_file import read_released
from reidsim.kinds.tables.results import TablesResults
from reidsim.kinds.tables.rounds import planned_releases, setting_of
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.sensitive_values import AttributeLimits
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.adversary_schema import TOGETHER, AdversarySection
from reidsim.scenarios.agents import are_equipped, named
from reidsim.scenarios.attack_recipe import require_recipe
from reidsim.scenarios.cross_play_adversaries import OpponentOptions, Opponents, study_against, with_adversaries
from reidsim.scenarios.hierarchies import Table
from reidsim.scenarios.kind import (
    Control,
    LimitedColumns,
    Selection,
    SensitiveColumn,
    SharedColumns,
    amount_slider,
)
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.policy import require_by_agents, with_each_k
from reidsim.scenarios.report_sentences import adversaries, by_generalization, plan, section
from reidsim.scenarios.schema import MONEY_KEYS, spelled_out
from reidsim.scenarios.study import PolicyOutcome
from reidsim.validation import read_toml
from reidsim.wording import Code, Sentence, codes, counted, number_text

_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
_MEASURES = (*RUN_MEASURES, HOUSEHOLD_RISK, *measures_worded(_WORDS["own"]).values())
# Number of nodes above which `describe` warns. Searching a larger lattice takes minutes with some 10,000 records, and
# longer if each record is solved separately.
_MANY_NODES = 200_000
# Prefix of sensitive columns in the dict of hierarchies, so that their names differ from names of attributes.
_OF_SENSITIVE = "sensitive column "
# Marks threads that have solved a table, so that measured run times exclude the loading of compiled code.
_warm = threading.local()


class TablesKind(TablesResults):
    """Scenario kind of a publisher who shares a table of records; see `Kind`."""

    name = "tables"
    words = "a publisher decides how each record of a table, or the whole table, is generalized"
    schema = TablesScenario
    measures = _MEASURES
    # Wordings for scenarios with a person key, where results count people.
    measures_of_people = in_words(_MEASURES, _WORDS["people"])
    policies = POLICIES
    decides = "publisher"
    amount_keys = MONEY_KEYS
    drawn_by = "reidsim.kinds.tables.figures.sweeps"

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
                each.planner(*each.gain_and_cost(each.prices))
        scenario = study.scenario
        people = study.linked_population if scenario.publisher.unit == "record" else study.population
        of_people = "" if study.persons is None else f" of {counted(study.n_subjects, 'person', 'people')}"
        # With lists, the lattice has a row for each record, even if records are equal.
        cells = study.lattice.n_records if study.drawn is None else len(study.dataset.cells)
        size = (
            f"{counted(study.n_records, 'record')}{of_people} in {counted(cells, 'distinct cell')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')}"
        )
        if people is not None and scenario.population is not None:
            size += f", a population of {people.total:,.0f}"
        if study.n_nodes > _MANY_NODES and scenario.publisher.walks_whole_lattice:
            size += '; a search of all nodes may take long, set publisher.search = "anytime" for a search with a budget'
        elif study.lattice.size > _MANY_NODES and scenario.publisher.lists_every_form:
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
        """Play policies.

        With `timed` and one generalization for the table, the seconds of each policy are kept. The first call in a
        thread plays all policies once before, so that run times exclude the loading of compiled code.
        """
        timed = timed and study.scenario.publisher.unit == "table"
        if timed and not getattr(_warm, "solved", False):
            play(study, policies)
            _warm.solved = True
        return play(study, policies, timed=timed, progress=progress or no_progress)

    def row_of_record(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each record: its cell, or its person's row set."""
        return study.row_of_record

    def row_of_subject(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each data subject: person, or record if it is a person."""
        return study.row_of_subject

    # Rounds of agents

    def settings(self, study: TablesStudy) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the setting of repeated rounds.

        Its arguments are the policy, the number of the study's draw (without effect, as all draws are equal) and the
        number of the repetition of all rounds.
        """
        world = setting_of(study, self.agents_of(study.scenario))

        def setting(policy: str, replication: int, draw: int) -> Setting:
            require_by_agents(policy_named(policy), POLICIES.values(), WHERE, study.loaded.path)
            planned = policy_named(policy).replies == "planned"
            return replace(world, replication=draw, planned=partial(planned_releases, study) if planned else None)

        return setting

    def by_subject(self, study: TablesStudy) -> TablesStudy:
        """Return the study in which each data subject has its own game row."""
        return study.by_subject()

    def describe_setting(self, setting: Setting) -> str:
        """Describe the numbers of data subjects, distinct records and strategies."""
        forms = counted(setting.space.size, "strategy", "strategies")
        subjects, cells = counted(setting.n_subjects, "data subject"), counted(setting.n_cells, "distinct record")
        return f"{subjects} with {cells}, {forms}"

    # Cross-play

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
        if path is not None and not isinstance(study.own, StagedAttack):
            staged = study_against(study, planner="one-shot", knowledge=None, stages=path)
            study = replace(staged, loaded=study.loaded).equipped()
        if None in study.owns:
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
        """Return the policies that cross-play compares, each once.

        The policies for the publisher's unit (`policies_of_unit`) come first, with ``k-anonymity`` once for each k of
        the scenario. Policies among them that need section ``safe_harbor`` are left out if the scenario has no such
        section. Other policies that the scenario names follow, except policies for several releases.
        """
        publisher = study.scenario.publisher
        usual = policies_of_unit(publisher.unit)
        names = [name for name in usual if study.safe_harbor is not None or SAFE_HARBOR not in POLICIES[name].needs]
        # Policies for several releases do not apply to a single release.
        own = [name for name in publisher.policies if policy_named(name).replies == "to-past"]
        return tuple(dict.fromkeys((*with_each_k(names, publisher.k), *own)))

    # Columns and released files

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
        file, suppressed = read_released(study, path, key)
        note = "the attribute counts as suppressed in every row"
        return file.play(), tuple(f"the file has no column for {name}: {note}" for name in suppressed)

    def release_file(self, scenario: TablesScenario) -> str | None:
        """Return the path of the records' file; None if a population is released."""
        return scenario.release.path

    def shared_columns(self, scenario: TablesScenario) -> SharedColumns:
        """Return the quasi-identifier columns of the records' file.

        Raises
        ------
        InputError
            If values of an attribute are drawn from the population.
        """
        attributes, release = scenario.attributes, scenario.release
        problem, expected = "values were drawn from the population", "attributes with all values in the records"
        for name, attribute in attributes.items():
            drawn = attribute.draw or attribute.top_code is not None
            refuse_first((drawn, problem, f"attributes.{name}", None, expected))
        hierarchies = {name: attribute.hierarchy for name, attribute in attributes.items()}
        sensitive, every = scenario.publisher.sensitive_hierarchies, scenario.every_adversary.values()
        hierarchies |= {_OF_SENSITIVE + name: hierarchy for name, hierarchy in sensitive.items()}
        return SharedColumns(
            scenario.columns,
            delimiter=release.delimiter,
            header=release.header or release.format == "adult",
            hierarchies={name: hierarchy for name, hierarchy in hierarchies.items() if isinstance(hierarchy, Table)},
            stars=frozenset(name for name, attribute in attributes.items() if SUPPRESSED in attribute.values),
            person=release.person,
            identifies=all(each.gains_from == "identity" for each in every),
            counts_release=all(
                each.risk == "prosecutor" and (each.knowledge, each.stages, each.sequential.registry) == (None,) * 3
                for each in every
            ),
        )

    def sensitive_column(self, scenario: TablesScenario, policy: str) -> SensitiveColumn | None:
        """Return the column that m-invariance protects; None for other policies."""
        releases = scenario.releases
        if releases is None or policy_named(policy).replies != "planned":
            return None
        return SensitiveColumn(key_columns(scenario.publisher.sensitive)[0], releases.m)

    def limited_columns(
        self,
        scenario: TablesScenario,
        frame: pd.DataFrame,
        path: Path,
        hierarchies: Callable[[], Mapping[str, list[list[str]]]],
    ) -> LimitedColumns | None:
        """Return the sensitive columns and the limits on their values in each group.

        The result is None if the scenario sets no limits. See `Presentation` for the parameters.
        """
        publisher = scenario.publisher
        if not publisher.attribute_limits:
            return None
        columns = sensitive_attributes(publisher, frame, path, lambda name, _: hierarchies()[_OF_SENSITIVE + name])
        return LimitedColumns(columns, publisher.attribute_limits)

    def read_records(self, scenario: TablesScenario, path: Path) -> pd.DataFrame:
        """Read all columns of the records with unchanged values."""
        return read_records(scenario.release, path, trim=False)

    def true_values(self, scenario: TablesScenario, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the quasi-identifiers of records as the scenario's category labels."""
        return attribute_labels(frame, scenario.columns, scenario.attributes, path)

    # Many points

    def amounts_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> bool:
        """Return whether `OneShotPoints` can evaluate points of these keys."""
        return is_thinnable(scenario, keys)

    def plans_under_amounts(self, scenario: TablesScenario) -> bool:
        """Return whether the publisher's unit is the record, as `amount_points` needs."""
        return scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> OneShotPoints | SolvedPoints | None:
        """Return the planner of separate records; None if the unit is the table."""
        return record_points(study) if self.plans_under_amounts(study.scenario) else None

    def takes_best(self, scenario: TablesScenario, policy: str) -> bool:
        """Return whether a policy picks the best of a fixed set of plans.

        The set of plans must not depend on the payoff parameters.
        """
        return not scenario.looks_up and policy_named(policy).takes_best(scenario.publisher)

    def largest_group(self, study: TablesStudy) -> int | None:
        """Return an upper bound on group sizes; None unless attacks depend on these alone.

        The bound is the number of people plus the number of records. It is None without a single plain adversary (see
        `TablesScenario.plain_adversary`) that links with all people, and if group sizes are not whole numbers.
        """
        scenario, adversary = study.scenario, study.scenario.plain_adversary
        if adversary is None or not study.links_with_everybody or "sample" in scenario.risks:
            return None
        people = study.people(adversary.risk)
        whole = np.issubdtype(people.counts.dtype, np.integer)
        return int(people.total) + study.n_records if whole else None

    # Reports and controls

    def asked(self, run: Any) -> Iterator[Sentence]:
        """Yield sentences on release, group sizes, adversaries and other inputs of a run."""
        content = run.content
        names, release = codes(list(section(content, "attributes"))), section(content, "release")
        origin = release.get("path") or release.get("table")
        come = (" from ", Code(str(origin))) if origin else ()
        number = f"{run.n_records:,} records" if run.n_records else "Records"
        if run.units[0] == "person":
            number += f" of {number_text(run.n_counted)} people"
        strategies, ways = run.manifest.get("strategies"), ""
        if section(content, "publisher").get("unit") != "table" and isinstance(strategies, int):
            ways = f", each in one of {number_text(strategies)} generalizations"
        yield (number, *come, " are to be shared", ways, ". Quasi-identifiers: ", *names, ".")
        several = section(spelled_out(content), "adversaries")
        each = [section(several, name) for name in several] or [section(content, "adversary")]
        yield from _group(run, each)
        yield from _inference(section(content, "publisher"), each)
        yield from adversaries(run, plan)
        yield from by_generalization(run, "publisher")

    def controls(self, scenario: TablesScenario) -> Iterator[Control]:
        """Yield the controls of payoff parameters and of the adversary's planner.

        The planner can be changed only for generalization by record against a single adversary who knows all
        quasi-identifiers of all people and gains from identification.
        """
        yield from super().controls(scenario)
        adversary, by_record = scenario.adversary, scenario.publisher.unit == "record"
        if not by_record or adversary.knowledge or scenario.adversaries or adversary.gains_from != "identity":
            return
        yield Selection("adversary.planner", "Planner of the adversary", adversary.planner, ("one-shot", "fmdp"))
        if adversary.plans_sequentially:
            key, sequential = "adversary.sequential", adversary.sequential
            yield amount_slider(f"{key}.access_cost", "Cost of access, per record", sequential.access_cost)
            yield amount_slider(f"{key}.penalty", "Penalty, per detected exploit", sequential.penalty)

    def is_by_record(self, scenario: TablesScenario, price: Literal["gain", "cost"]) -> bool:
        """Return whether a gain or cost comes from a column.

        A gain that is not given equals the loss, so that a loss column counts for it.
        """
        economics = scenario.economics
        follows_loss = price == "gain" and economics.gain is None and economics.columns.loss is not None
        return follows_loss or getattr(economics.columns, price) is not None

    def decision(self, scenario: TablesScenario) -> str:
        """Describe the decision on the whole table; empty if each record has its own."""
        policies = [policy_named(name) for name in scenario.publisher.policies]
        # Record-level policies evaluate every node, and choose a node for each record.
        each = any(policy.every_node and not policy.of_whole_table for policy in policies)
        if scenario.publisher.unit == "record" or each:
            return ""
        return "one generalization for all records, and the suppressed records: the best response under the policy"

    def in_rounds(self, scenario: TablesScenario) -> bool:
        """Return whether there are agents or several releases."""
        return scenario.in_rounds


def _inference(publisher: Mapping[str, Any], each: Sequence[Mapping[str, Any]]) -> Iterator[Sentence]:
    columns, gains = key_columns(publisher.get("sensitive")), {one.get("gains_from", "identity") for one in each}
    for gain, success in (
        ("attribute", "infers a sensitive value correctly"),
        ("either", "names the person of a record or infers a sensitive value correctly"),
    ):
        if gain in gains:
            who = "An attack" if len(gains) == 1 else "For some adversaries an attack"
            yield (f"{who} succeeds if the adversary {success}: ", *codes(columns), ".")
    limits = AttributeLimits(*(publisher.get(key) for key in ("l_diversity", "t_closeness", "max_inference")))
    if limits:
        limited = "Optimizing policies limit the sensitive values of every group, "
        yield (limited, *codes(columns), f": {limits.describe()}.")


def _group(run: Any, each: Sequence[Mapping[str, Any]]) -> Iterator[Sentence]:
    if run.units[0] == "person":
        yield (
            "All records of a person share one generalization. Groups are counted in people, and a person is "
            "attacked by the record with the smallest group.",
        )
    risks = {adversary.get("risk", "journalist") for adversary in each}
    directions = {adversary.get("direction", "record") for adversary in each}
    people, recipe = run.manifest.get("people"), section(run.content, "population").get("recipe")
    if "person" in directions:
        yield ("The adversary searches for a person and picks a released row that matches the person's true values.",)
        return
    if "both" in directions:
        yield (
            "The adversary searches for the person of a released row, or for a person's row among the rows that match "
            "the person's true values, whichever has the higher probability of success.",
        )
    if len(risks) > 1 and "prosecutor" in risks:
        yield (
            "Some adversaries know who is in the file; their group of a record is the records that match its release; "
            "for the others the group is the people of the population who match the release.",
        )
    elif "sample" in risks:
        yield (
            "The group of a record is the people of the population who match its release, estimated from the records "
            "and their sampling weights.",
        )
    elif risks == {"prosecutor"}:
        yield ("The adversary knows who is in the file: the group of a record is the records that match its release.",)
    elif recipe:
        number = f" ({number_text(people)} people)" if people else ""
        group = "The group of a record is the people of the population "
        yield (group, Code(str(recipe)), f"{number} who match its release.")


TABLES = TablesKind()
