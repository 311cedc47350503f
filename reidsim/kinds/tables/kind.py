"""Scenario kind in which a publisher shares a table of records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from reidsim.adversaries.linkers import LatticeAttackLinker
from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.planning import attack_threshold
from reidsim.agents.attack import RUN_MEASURES
from reidsim.agents.profile import Setting
from reidsim.core.errors import listed, refuse_first
from reidsim.core.files import read_toml
from reidsim.core.rows import occurrences
from reidsim.core.tables import table_batches
from reidsim.core.wording import counted, in_words, measures_worded
from reidsim.games.composite import parts_of
from reidsim.games.directions.best_replies import DirectedLinker
from reidsim.games.full_domain.class_table import records_outside
from reidsim.games.outcomes import HOUSEHOLD_RISK, Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, Choice, RecordGame, shared_rows
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.tables.build import build_study, planned_releases, play_released, setting_of
from reidsim.kinds.tables.cells import read_column
from reidsim.kinds.tables.data_utility import by_policy, measures_of
from reidsim.kinds.tables.outcomes import (
    DroppedColumns,
    OneShotPoints,
    SolvedPoints,
    figure_tables,
    found_by,
    paid_in,
    table_level_analysis,
)
from reidsim.kinds.tables.perturbation import PerturbationLinker
from reidsim.kinds.tables.policies import SPLITS, BestOfUnit, Rule, SolvedPolicy, TablesChoice
from reidsim.kinds.tables.release import attribute_labels, read_records, sensitive_attributes
from reidsim.kinds.tables.schema import POLICIES, SAFE_HARBOR, WHERE, TablesScenario, policies_of_unit, policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.people import distinct_people, largest_in_groups
from reidsim.populations.resources import PeopleList
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import Floats, Strategies
from reidsim.scenarios.adversary_schema import MONEY_KEYS, TOGETHER, AdversarySection, PlannerSection, naming_adversary
from reidsim.scenarios.agents import OpponentOptions, Opponents, are_equipped, study_against, with_adversaries
from reidsim.scenarios.hierarchies import Table
from reidsim.scenarios.kind import (
    HOUSEHOLD,
    PERSON,
    AnalysisTables,
    Kind,
    LimitedColumns,
    PolicyOutcome,
    Progress,
    RecordTable,
    SensitiveColumn,
    SharedColumns,
    counted_units,
    equilibria_of,
    key_columns,
    solver_facts,
)
from reidsim.scenarios.registry import require_by_agents, with_each_k
from reidsim.scenarios.resources import require_recipe
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import spelled_out

# Sections that affect games, but not the data of the study.
_NOT_OF_THE_STUDY = ("economics", "beliefs", "publisher", "perturbation", "measures", "title", "source")
_WORDS = read_toml(Path(__file__).with_name("measures.toml"))
_MEASURES = (*RUN_MEASURES, HOUSEHOLD_RISK, *measures_worded(_WORDS["own"]).values())
# Prefix of sensitive columns in the dict of hierarchies, so that their names differ from names of attributes.
_OF_SENSITIVE = "sensitive column "
# Largest product of game rows and strategies for which strategies are reduced to undominated ones. The reduced ones
# take 8 bytes per pair.
_MOST_REDUCED = 50_000_000


class TablesKind(Kind):
    """Kind of scenario in which a publisher shares a table of records; see `Kind`."""

    name = "tables"
    words = "a publisher decides how each record of a table, or the whole table, is generalized"
    schema = TablesScenario
    measures = _MEASURES
    # Wordings for scenarios with a person key, where results count people.
    measures_of_people = in_words(_MEASURES, _WORDS["people"])
    policies = POLICIES
    decides = "publisher"
    amount_keys = MONEY_KEYS
    drawn_by = "reidsim.kinds.tables.figures"
    # Whether a table was solved before, so that measured run times exclude the loading of compiled code.
    _warm = False

    build = staticmethod(build_study)
    build_alone = staticmethod(partial(build_study, alone=True))

    def describe(self, study: TablesStudy) -> str:
        """Check the payoff parameters; return one line on the size of the study.

        It contains the numbers of records, people of the release (with ``release.person``), distinct cells, strategies,
        and people of the population (if the scenario has one).

        Raises
        ------
        InputError
            If an adversary cannot plan with the scenario's gains and costs.
        """
        # Raises an error for unusable payoff parameters before a long computation starts.
        for name, each in study.each.items():
            with naming_adversary(name):
                each.planner(*each.gain_and_cost(each.prices))
        people = "" if study.scenario.population is None else f", a population of {self.facts(study)['people']:,.0f}"
        of_people = "" if study.persons is None else f" of {counted(study.n_subjects, 'person', 'people')}"
        return (
            f"{counted(study.n_records, 'record')}{of_people} in {counted(study.n_cells, 'distinct cell')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')}{people}"
        )

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario content that determines the data of a study, as a dict.

        The data are cells (distinct records), people, hierarchies and linkage. Two scenarios with equal content can
        share them.
        """
        content = {key: value for key, value in spelled_out(loaded.content).items() if key not in _NOT_OF_THE_STUDY}
        scenario, publisher = loaded.scenario, loaded.scenario.publisher
        for name, adversary in (content.pop("adversaries", {}) | {"": content.pop("adversary", {})}).items():
            # Of the keys on planning, only the planner and two keys of a sequential attack affect linkage.
            plan = {key: adversary.get("sequential", {}).get(key) for key in ("registry", "belief")}
            used = {"planner": adversary.get("planner"), "sequential": plan}
            unused = dict.fromkeys(("weight", "gain", "cost", *PlannerSection.model_fields))
            content[f"linkage.{name}"] = adversary | unused | used
        return content | {
            # By default, the unit decides whether records must be people of the population.
            "publisher.unit": publisher.unit,
            "publisher.sensitive": key_columns(publisher.sensitive),
            "publisher.sensitive_hierarchies": loaded.content.get("publisher", {}).get("sensitive_hierarchies"),
            # Each perturbed record is a game row.
            "perturbs": publisher.some_policy(lambda policy: policy.perturbs is not None),
            # The represented people are estimated only under sample risk, true or believed.
            "sampled": "sample" in scenario.risks,
            # Payoff parameters from columns determine which records form one cell.
            "economics": loaded.content["economics"] if scenario.has_price_columns else None,
        }

    def play(
        self,
        study: TablesStudy,
        draw: int = 0,
        policies: Sequence[str] | None = None,
        *,
        timed: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Mapping[str, PolicyOutcome]:
        """Return the outcome of each policy, by name; see `Kind.play`.

        Only with `timed` and one generalization for the table (``publisher.unit``), the seconds of each policy are
        kept. The first such call of a process plays all policies once before, so that run times exclude the loading of
        compiled code. `draw` has no effect.
        """
        timed = timed and study.scenario.publisher.unit == "table"
        if timed and not self._warm:
            super().play(study, draw, policies)
            self._warm = True
        outcomes = super().play(study, draw, policies, progress=progress)
        return outcomes if timed else {name: replace(each, seconds=None) for name, each in outcomes.items()}

    def row_of_record(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each record, shape (n_records,).

        It is the record's cell (distinct record) or, with ``release.person``, the row set of the record's person.
        `draw` has no effect.
        """
        return study.row_of_record

    def row_of_subject(self, study: TablesStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each data subject, shape (n_subjects,).

        Data subjects are people if ``release.person`` is set, otherwise records. `draw` has no effect.
        """
        return study.row_of_subject

    # Results

    def summarise(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy, the index: mean outcomes over the data subjects.

        Columns are the ones of every kind (see `Kind.summarise`) and, if the scenario has them, the measures for
        adversaries who look people up, for attribute inference and for households (``household_risk``, the mean over
        data subjects of the largest risk in their household).
        """
        own = [_own_measures(study, name, found) for name, found in equilibria.items()]
        summary = super().summarise(study, draw, equilibria)
        return summary.join(pd.DataFrame(own, index=summary.index))

    def further_measures(self, study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return measures for batches: attack threshold, and deviation of lattice search.

        Returns
        -------
        DataFrame
            One row per policy, the index; without columns if the publisher's unit is the table. With a single adversary
            who plans sequentially without errors, knows group sizes and confirms matches: ``attack_threshold``, the
            smallest known group size that is not attacked. It is the same for all policies, and missing if all group
            sizes are attacked. With solver ``lattice-search``: the measures of `search_deviation` for the policies that
            it solves.
        """
        measures, publisher = super().further_measures(study, equilibria), study.scenario.publisher
        if publisher.unit == "table":
            return measures
        alone, *others = study.each.values()
        adversary, plan = alone.scenario.adversary, alone.scenario.adversary.sequential
        # A threshold exists only for known group sizes, confirmed matches and a single adversary without errors.
        known = adversary.plans_sequentially and plan.belief == "known" and not plan.unconfirmed
        if known and not others and not adversary.errs:
            found = attack_threshold(alone.sequential_attack(alone.scenario.economics))
            measures["attack_threshold"] = np.nan if found is None else float(found)
        searched = {name: one for name, one in equilibria.items() if one.solver == "lattice-search"}
        if publisher.solver == "lattice-search" and searched:
            # Lattice search solves only policies without a constraint, and these have the same optimum.
            best, tie = evaluate(study.truth, branch_and_bound(study.belief)), study.truth.tie()
            rows = [search_deviation(one, best, tie, study.weights) for one in searched.values()]
            measures = measures.join(pd.DataFrame(rows, index=pd.Index(list(searched))))
        return measures

    def records(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> RecordTable:
        """Return the parts of a table of one row per record and policy, with its released values.

        There is a column with the released value of each quasi-identifier, missing if the record is withheld. With
        ``release.person``, there is also ``person``, numbered by first appearance; outcomes are then per person and
        repeat in all records of a person. With households, there is also ``household_risk``. Other columns are those of
        every kind, see `reidsim.scenarios.kind.RecordTable`.
        """
        household, persons = study.household_of, study.persons
        spaces = {policy: policy_named(policy).space(study) for policy in equilibria}

        def beside(equilibrium: Equilibrium) -> dict[str, Any]:
            columns: dict[str, Any] = {} if persons is None else {PERSON: persons.of_record}
            if household is not None:
                risk = largest_in_groups(equilibrium.risk[study.row_of_subject], household)
                columns[HOUSEHOLD] = risk if persons is None else risk[persons.of_record]
            return columns

        return RecordTable(
            equilibria,
            study.row_of_record,
            lambda policy, strategy: spaces[policy].describe(strategy),
            study.weights,
            beside,
            lambda policy, strategies, part: spaces[policy].released(strategies, study.cell_of_record[part]),
        )

    def analyse(self, study: TablesStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the tables behind figures of records or of lattice nodes.

        If the publisher's unit is the record, they are the tables that section ``figures`` requests; otherwise the
        optima, classes, released tables, best nodes and Pareto front of the policies.
        """
        if study.scenario.publisher.unit == "record":
            analysis = figure_tables(study, progress=lambda done, total: report("figures", done, total))
        else:
            analysis = table_level_analysis(study, outcomes)
        utility = self.data_utility(study, equilibria_of(outcomes))
        return replace(analysis, named={**analysis.named, "data_utility": utility})

    def data_utility(self, study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return the statistics of the policies' releases; see `Kind.data_utility`."""
        if study.data_utility is None:
            return pd.DataFrame()
        return by_policy({name: statistics_of_release(study, name, each) for name, each in equilibria.items()})

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return a table of run times: ``policy``, ``seconds`` and ``nodes_evaluated``.

        Policies without a measured time have no row. ``nodes_evaluated`` is the largest number of strategies evaluated
        for a game row.
        """
        nodes = {policy: int(each.equilibrium.evaluated.max(initial=0)) for policy, each in outcomes.items()}
        return super().runtimes(outcomes).assign(nodes_evaluated=lambda table: table["policy"].map(nodes))

    def facts(self, study: TablesStudy) -> dict[str, Any]:
        """Return facts about records, strategies and people for the manifest, by key.

        They are ``records``, ``released_people`` (with ``release.person``), ``waves`` (labels of several releases),
        ``distinct_cells``, ``strategies``, ``population`` (name), ``people`` (its total) and ``data_hash``. If the
        publisher's unit is the table and the scenario has no population, the name and the total are None.
        """
        people = study.linked_population if study.scenario.publisher.unit == "record" else study.population
        return {
            "records": study.n_records,
            **({} if study.persons is None else {"released_people": study.n_subjects}),
            **({} if study.waves is None else {"waves": list(study.waves.labels)}),
            "distinct_cells": study.n_cells,
            "strategies": study.lattice.size,
            "population": None if people is None else people.name,
            "people": None if people is None else people.total,
            "data_hash": study.fingerprint,
        }

    def facts_of_policies(self, study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Return facts on the solution of each policy for the manifest: a dict by policy.

        Keys are ``node`` (list of the levels of each chosen node, or of the strengths of a perturbation; empty if the
        policy searches for none), the facts of `solver_facts`, ``gap`` (see `TablesChoice`; None without a bound),
        ``likely_gap`` and ``drawn`` (only if records were drawn) and ``nodes_evaluated``. With agents, the facts are
        about the last round, without a gap.
        """
        facts, publisher = dict[str, dict[str, Any]](), study.scenario.publisher
        for policy, outcome in outcomes.items():
            found, equilibrium = found_by(outcome), outcome.equilibrium
            nodes, gap = found.nodes, found.gap if outcome.choice is not None else np.nan
            if outcome.choice is None and policy_named(policy).scope(publisher) in ("node", "rounds"):
                nodes = np.unique(equilibrium.strategies[~equilibrium.withheld]).tolist()
            facts[policy] = {
                "node": [policy_named(policy).space(study).describe(node) for node in nodes],
                **solver_facts(equilibrium, study.weights),
                "gap": None if np.isnan(gap) else gap,
                **({"likely_gap": found.likely_gap, "drawn": found.drawn} if found.drawn else {}),
                "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
            }
        return facts

    def warnings(self, study: TablesStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield texts that warn of the records' data and of each policy's choice.

        They concern spellings of sensitive values, records without a match in the population,
        unreliable risks of sample uniques, withheld records, choices without proof, and exposure to adversaries who
        look people up. `draw` has no effect.
        """
        sampled, population, unit = study.sampled, study.population, counted_units(study.loaded.content)
        for each in () if study.sensitive is None else study.sensitive.columns:
            if each.alike:
                yield f"sensitive column {each.name!r}: notations of one value: {listed(each.alike)}"
        if sampled is not None and study.scenario.release.estimator == "benedetti-franconi":
            # Sampling weights estimate the risk of sample uniques badly, unless the sample is the whole population.
            sets, alone = distinct_people(sampled.sample), sampled.sample.counts == 1
            unique = int(alone.sum() if sets is None else np.maximum.reduceat(alone[sets.cells], sets.start[:-1]).sum())
            if unique and sampled.total > sampled.sample.total:
                of_sample = f"{unique:,} of {int(sampled.sample.total):,} {unit[1]} are unique in the sample"
                hint = ': compare release.estimator = "log-linear"' * (sets is None)
                yield f"{of_sample}; their risk by Benedetti and Franconi may be inaccurate{hint}"
        if study.scenario.publisher.unit == "table":
            counts, lattice = study.dataset.counts.astype(np.int64), replace(study.lattice, codes=study.dataset.cells)
            if population is not None and (outside := records_outside(lattice, counts, population)):
                yield (
                    f"{outside} of {study.n_subjects} {unit[1]} exceed the people with the same values in "
                    f"population {population.name!r}; a {unit[0]} without a match counts as the only such person"
                )
        else:
            records = occurrences(study.cell_of_record, study.lattice.n_records)
            yield from {
                f"{outside} of {study.n_records} records have values that no person in population "
                f"{each.linked_population.name!r} has; each counts as the only such person": None
                for each in study.each.values()
                # A registry may be incomplete, so that a record without a match there is no error.
                if each.registry is None and (outside := int(each.group_sizes.outside @ records))
            }
        for policy, outcome in outcomes.items():
            withheld = int(study.weights[outcome.equilibrium.withheld].sum())
            if study.scenario.publisher.unit == "table" or isinstance(outcome.choice, TablesChoice):
                yield from _warnings_of_node(study, policy, outcome)
            elif withheld:
                reason = "have no strategy that satisfies the constraint and are withheld (payoff 0)"
                yield f"{policy}: {withheld} {unit[1]} {reason}"
        for policy, outcome in outcomes.items() if study.scenario.looks_up else ():
            paid = paid_in(study, policy, found_by(outcome))
            exposed = round(exposed_to_weighted(study, paid, outcome.equilibrium.strategies) * study.n_subjects)
            if exposed and policy_named(policy).forbids_attacks and not outcome.equilibrium.attacked.any():
                yield (
                    f"{policy}: no person is at risk if the adversary treats all matching rows as equally likely; "
                    f"{exposed:,} of {counted(study.n_subjects, 'person is', 'people are')} at risk if the "
                    "adversary prefers the rows that match the fewest people"
                )

    # Rounds of agents

    def settings(self, study: TablesStudy) -> Callable[[str, int, int], Setting]:
        """Return a function that makes the `Setting` of repeated rounds.

        Its arguments are the policy, the number of the study's draw (without effect, as all draws are equal) and the
        number of the repetition of all rounds.

        Raises
        ------
        InputError
            If an adversary cannot be used in rounds; the function raises it for a policy that cannot be played in
            rounds.
        """
        world = setting_of(study, self.agents_of(study.scenario))

        def setting(policy: str, replication: int, draw: int) -> Setting:
            require_by_agents(policy_named(policy), POLICIES.values(), WHERE, study.loaded.path)
            planned = policy_named(policy).replies == "planned"
            return replace(world, replication=draw, planned=partial(planned_releases, study) if planned else None)

        return setting

    def lists(self, study: TablesStudy) -> Mapping[str, PeopleList]:
        """Return the lists drawn from the people, by name of the resource."""
        return {} if study.drawn is None else study.drawn.lists

    # Cross-play

    def opponents(self, study: TablesStudy, options: OpponentOptions, draw: int = 0) -> tuple[TablesStudy, Opponents]:
        """Return the study for cross-play and its `Opponents`, all with the same cells.

        In cross-play, each policy plays against each adversary. A cell is a distinct record; cells are also split by
        attributes that are not quasi-identifiers if an adversary infers them. Solver "backward-induction" is replaced
        by "branch-and-bound". The recipe of an attack in stages is taken from `options`, else from the scenario's
        adversary. If the scenario names several adversaries, each of them and all together are opponents, too, unless
        they have keys for rounds (`are_equipped`); then `opponent_types` returns them.

        Raises
        ------
        InputError
            If an attack recipe or a resource cannot be used.
        """
        publisher = study.scenario.publisher
        if publisher.solver == "backward-induction":
            # Branch and bound is also exact, and does not search the whole lattice for each adversary.
            study = study.with_sections(publisher=publisher.model_copy(update={"solver": "branch-and-bound"}))
        if options.stages is not None:
            require_recipe(Path(options.stages), "stages")
        path = options.stages or study.scenario.adversary.stages
        if path is not None and not isinstance(study.own, LatticeAttackLinker):
            staged = study_against(study, planner="one-shot", knowledge=None, stages=path)
            study = replace(staged, loaded=study.loaded).equipped()
        if None in study.owns:
            return super().opponents(study, options, draw)
        # Unnamed adversaries link with the same people as the scenario's named adversaries.
        plain = study.with_adversary(AdversarySection(risk=study.scenario.linked_risk))
        _, others = super().opponents(plain, options, draw)
        if are_equipped(study.scenario):
            # The named adversaries play with their resources; see `opponent_types`.
            return study, replace(others, own=TOGETHER)
        alone = {str(name): each.world(draw) for name, each in study.each.items()}
        return study, with_adversaries(others, alone, study.world(draw))

    def cross_play_policies(self, study: TablesStudy) -> tuple[str, ...]:
        """Return the names of the policies that cross-play compares, each once.

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

    dropped_columns = staticmethod(DroppedColumns)
    play_released = staticmethod(play_released)

    def noise_of_cells(
        self, study: TablesStudy, attribute: str, cells: pd.Series[str]
    ) -> tuple[NDArray[np.int64], Floats] | None:
        """Return the labels of released cells with noise, and their probabilities; see `Kind.noise_of_cells`."""
        noise, lattice = study.scenario.noise_of(attribute), study.lattice
        if noise == "exact":
            return None
        hierarchy, sections = lattice.hierarchies[lattice.domain.position(attribute)], study.scenario.attributes
        column = read_column(cells, noise, hierarchy, None, sections[attribute].label, study.loaded.folder)
        return column.number, column.model

    def release_file(self, scenario: TablesScenario) -> str | None:
        """Return the path of the records' file, as in the scenario; None without a file."""
        return scenario.release.path

    def shared_columns(self, scenario: TablesScenario) -> SharedColumns:
        """Return the quasi-identifiers of the records' file, as `SharedColumns`.

        Raises
        ------
        InputError
            If values of an attribute are drawn from the population (keys ``draw`` and ``top_code``).
        """
        attributes, release, every = scenario.attributes, scenario.release, scenario.every_adversary.values()
        problem, expected = "values were drawn from the population", "attributes with all values in the records"
        for name, attribute in attributes.items():
            drawn = attribute.draw or attribute.top_code is not None
            refuse_first((drawn, problem, f"attributes.{name}", None, expected))
        hierarchies = {name: attribute.hierarchy for name, attribute in attributes.items()}
        hierarchies |= {_OF_SENSITIVE + name: each for name, each in scenario.publisher.sensitive_hierarchies.items()}
        return SharedColumns(
            scenario.columns,
            delimiter=release.delimiter,
            header=release.header or release.format == "adult",
            hierarchies={name: hierarchy for name, hierarchy in hierarchies.items() if isinstance(hierarchy, Table)},
            stars=frozenset(name for name, attribute in attributes.items() if SUPPRESSED in attribute.values),
            person=release.person,
            sensitive=key_columns(scenario.publisher.sensitive),
            identifies=all(each.gains_from == "identity" for each in every),
            counts_release=all(
                each.risk == "prosecutor" and (each.knowledge, each.stages, each.sequential.registry) == (None,) * 3
                for each in every
            ),
        )

    def sensitive_column(self, scenario: TablesScenario, policy: str) -> SensitiveColumn | None:
        """Return the `SensitiveColumn` of policy m-invariance; None for other policies.

        It is also None for a scenario with a single release. `policy` is the name of a policy.
        """
        releases = scenario.releases
        if releases is None or policy_named(policy).replies != "planned":
            return None
        return SensitiveColumn(key_columns(scenario.publisher.sensitive)[0], releases.m)

    def is_perturbed(self, policy: str) -> bool:
        """Return whether a policy perturbs values, so that they may be wrong."""
        return policy_named(policy).perturbs is not None

    def limited_columns(
        self,
        scenario: TablesScenario,
        frame: pd.DataFrame,
        path: Path,
        hierarchies: Callable[[], Mapping[str, list[list[str]]]],
    ) -> LimitedColumns | None:
        """Return `LimitedColumns`: sensitive columns and the limits on their values.

        The limits apply to the values in each equivalence class of the shared file. The result is None if the scenario
        sets no limits.

        Parameters
        ----------
        scenario : TablesScenario
        frame : DataFrame
            All columns of the file of records, as text.
        path : Path
            Path of this file, for messages.
        hierarchies : callable
            Returns the rows of the hierarchy files that `shared_columns` names, by its keys.

        Raises
        ------
        InputError
            If a sensitive column is missing, or its hierarchy cannot be used.
        """
        publisher = scenario.publisher
        if not publisher.attribute_limits:
            return None
        columns = sensitive_attributes(publisher, frame, path, lambda name, _: hierarchies()[_OF_SENSITIVE + name])
        return LimitedColumns(columns, publisher.attribute_limits)

    def read_records(self, scenario: TablesScenario, path: Path) -> pd.DataFrame:
        """Return all columns of a file of records as text, with unchanged values."""
        return read_records(scenario.release, path, trim=False)

    def read_batches(
        self, scenario: TablesScenario, path: Path, columns: Collection[str], place: int | None = None
    ) -> tuple[list[str], Iterator[pa.RecordBatch]]:
        """Return the column names of a file of records, and some of its columns in batches; see `Kind.read_batches`."""
        section = scenario.release
        if not section.is_read_in_batches(path):
            return super().read_batches(scenario, path, columns, place)
        return table_batches(path, section.delimiter, section.encoding, columns=columns, place=place)

    def true_values(self, scenario: TablesScenario, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the quasi-identifiers of a file's records, as category labels.

        The table has one column per attribute of the scenario and one row per row of `frame`, all columns of the file.
        `path` is for messages.

        Raises
        ------
        InputError
            If a column is missing, or a value cannot be read.
        """
        return attribute_labels(frame, scenario.columns, scenario.attributes, path)

    # Many points

    def amounts_at_once(self, scenario: TablesScenario, keys: Iterable[str]) -> bool:
        """Return whether `OneShotPoints` supports points that differ in these keys only.

        A point is one value of each key; the keys must be payoff parameters. The publisher must choose a
        generalization for each record (``unit = "record"``) with another solver than ``lattice-search``,
        without a budget, with ``safe_class = "at-least"``, no limits on sensitive columns and no rounds. Each
        policy must be a fixed rule (`Rule`) or choose the best generalization of each record (`BestOfUnit`).
        There must be a single one-shot adversary (see `TablesScenario.plain_adversary`) without stages. The
        publisher must plan with this adversary's risk, and know which people are in drawn lists.
        """
        publisher, adversary = scenario.publisher, scenario.plain_adversary
        return (
            publisher.unit == "record"
            and publisher.solver != "lattice-search"
            and publisher.search == "exact"
            and publisher.safe_class == "at-least"
            and all(isinstance(policy_named(name), Rule | BestOfUnit) for name in publisher.policies)
            and adversary is not None
            and adversary.stages is None
            and scenario.planned_risk == adversary.risk
            and scenario.beliefs.lists == "members"
            and not scenario.in_rounds
            and not publisher.attribute_limits
            and set(keys) <= set(MONEY_KEYS)
        )

    def plans_under_amounts(self, scenario: TablesScenario) -> bool:
        """Return whether `amount_points` can plan with other payoff parameters.

        It can if ``publisher.unit`` is "record": the publisher chooses a generalization for each record, not one for
        the table.
        """
        return scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> SolvedPoints:
        """Return a planner for any payoff parameters.

        The publisher's unit must be the record. The planner is `OneShotPoints` if `amounts_at_once` holds and there
        are at most 50 million pairs of a game row and a strategy; otherwise `SolvedPoints`, with the same results.
        """
        pairs = study.space.size * study.space.n_records
        thins = pairs <= _MOST_REDUCED and self.amounts_at_once(study.scenario, ())
        return OneShotPoints(study) if thins else SolvedPoints(study)

    def takes_best(self, scenario: TablesScenario, policy: str) -> bool:
        """Return whether a policy picks the best of a fixed set of releases.

        The set must not depend on the payoff parameters; see `TablesPolicy.takes_best`. The result is False if an
        adversary looks people up in the released rows. `policy` is the policy's name.
        """
        return not scenario.looks_up and policy_named(policy).takes_best(scenario.publisher)

    def largest_group(self, study: TablesStudy) -> int | None:
        """Return an upper bound on group sizes; None unless attacks depend only on them.

        The bound is the number of people plus the number of records. It is None for sample risk, without a single plain
        adversary (see `TablesScenario.plain_adversary`) that links with all people, and if group sizes are not whole
        numbers.
        """
        scenario, adversary = study.scenario, study.scenario.plain_adversary
        if adversary is None or not study.links_with_everybody or "sample" in scenario.risks:
            return None
        people = study.people(adversary.risk)
        return int(people.total) + study.n_records if np.issubdtype(people.counts.dtype, np.integer) else None

    # Reports and controls

    def is_by_record(self, scenario: TablesScenario, price: Literal["gain", "cost"]) -> bool:
        """Return whether the gain or the cost comes from a column of the records.

        `price` selects "gain" or "cost". A gain that is not given equals the loss, so it comes from a column if the
        loss does.
        """
        follows_loss = price == "gain" and scenario.economics.gain is None
        columns = vars(scenario.economics.columns)
        return columns[price] is not None or (follows_loss and columns["loss"] is not None)

    def decision(self, scenario: TablesScenario) -> str:
        """Return a phrase that describes the decision on the whole table, for reports.

        The phrase is empty if the publisher's unit is the record, or a policy chooses a generalization for each record.
        """
        # Record-level policies evaluate every node, and choose a node for each record.
        each = scenario.publisher.some_policy(lambda policy: policy.every_node and policy.optimizes == "record")
        decided = "one generalization for all records, and the suppressed records: the best response under the policy"
        return "" if scenario.publisher.unit == "record" or each else decided


def _warnings_of_node(study: TablesStudy, policy: str, outcome: PolicyOutcome) -> Iterator[str]:
    """Yield texts that warn of a policy's search for one or a few generalizations.

    The reasons are that nothing is released, that the payoff may be higher, or that a budget ended the search.

    Parameters
    ----------
    study : TablesStudy
    policy : str
        Name of the policy.
    outcome : PolicyOutcome
        Outcome of the policy; without a choice, it is of the last round of agents.
    """
    publisher, equilibrium, found = study.scenario.publisher, outcome.equilibrium, found_by(outcome)
    nothing, chosen = equilibrium.withheld.all(), outcome.choice is not None
    suppressed = f"{publisher.suppression_limit:.0%} suppressed {counted_units(study.loaded.content)[1]}"
    within = f"no release with at most {suppressed} is profitable"
    better, budget = "another node may have a higher payoff", "the budget ended"
    split, unproved = equilibrium.solver == SPLITS, found.unproved_rounds
    ended = "no profitable release was found within the budget" if (found.gap > 0 and not split) or unproved else within
    binds = f"the limit of {suppressed} binds" if split else f"{budget} the search"
    likely = f" ({found.likely_gap:.2%} with 99 % confidence; {found.drawn} records drawn and solved exactly)"
    likely = likely if found.drawn else ""
    open_end = publisher.search == "anytime" and not equilibrium.exact and not policy_named(policy).is_rule
    for holds, text in (
        (nothing and not chosen, f"{within} in the last round"),
        (open_end and not chosen, f"the node of the last round is not proved optimal; {better}"),
        (nothing and chosen, f"{ended}; nothing is released"),
        (found.gap > 0, f"{binds}; the payoff may be higher by up to {found.gap:.2%} of the best case{likely}"),
        (unproved, f"{budget} {unproved} of {len(found.nodes)} rounds; {better} in these rounds"),
    ):
        if holds:
            yield f"{policy}: {text}"


def search_deviation(
    found: Equilibrium, best: Equilibrium, tie: NDArray[np.float64], weights: NDArray[np.int64]
) -> dict[str, float]:
    """Return the deviation of a heuristic search from the optimum, by measure.

    The measures are means over records, from Wan et al. 2015, Eq. 6.

    Parameters
    ----------
    found, best : Equilibrium
        Outcomes of the search and of an exact solver, for the same cells.
    tie : ndarray of float64, shape (n_cells,)
        Tie tolerance: largest difference between payoffs that count as equal, in currency units.
    weights : ndarray of int64, shape (n_cells,)
        Number of records in each cell.

    Returns
    -------
    dict of str to float
        ``publisher_payoff_difference`` and ``adversary_payoff_difference`` (mean absolute differences, currency units
        per record), ``share_optimal`` (share of records whose publisher's payoff is within the tolerance of the
        optimum) and ``evaluated`` (mean number of strategies that the search computed per record).
    """
    difference = np.abs(found.publisher_payoff - best.publisher_payoff)
    of_cells = {
        "publisher_payoff_difference": difference,
        "adversary_payoff_difference": np.abs(found.adversary_payoff - best.adversary_payoff),
        "share_optimal": difference <= tie,
        "evaluated": found.evaluated,
    }
    return {name: float(np.average(values, weights=weights)) for name, values in of_cells.items()}


def _own_measures(study: TablesStudy, name: str, equilibrium: Equilibrium) -> dict[str, float]:
    """Return the measures that only some table scenarios have, by name.

    `name` is the policy's name, `equilibrium` its outcome.

    If adversaries look people up, ``utility_price`` and ``exposed_by_record`` compare a policy with its choice against
    an adversary who asks whose record a row is (direction "record"): the mean utility that the policy loses, and the
    share of records that the scenario's adversary would attack under that choice. Both are missing for policies with a
    fixed rule and for user-defined policies. ``exposed_to_weighted`` is the result of the function of this name.

    With attribute inference, ``inference`` is the largest success probability of an inference of a sensitive value in
    any released record; 0 if nothing is released. With limits on sensitive columns, ``beyond_limits`` is the share of
    data subjects who are released in a group beyond a limit.

    With section ``utility``, there are the measures of `measures_of`.

    With households, ``household_risk`` is the mean over data subjects of the largest risk in their household.
    """
    measures, policy, strategies = dict[str, float](), policy_named(name), equilibrium.strategies
    if study.scenario.looks_up:
        measures = {"utility_price": np.nan, "exposed_by_record": np.nan}
        paid = paid_in(study, name, Choice(strategies, equilibrium.solver, equilibrium.evaluated, equilibrium.exact))
        if isinstance(policy, SolvedPolicy) and not policy.is_rule:
            before = evaluate(paid, study.solve_by_record(policy))
            utility, after = (np.average(each.utility, weights=study.weights) for each in (before, equilibrium))
            measures["utility_price"] = float(utility - after)
            measures["exposed_by_record"] = float(np.average(before.attack_probability, weights=study.weights))
        measures["exposed_to_weighted"] = exposed_to_weighted(study, paid, strategies)
    if study.scenario.infers:
        groups, admissible, beyond = study.sensitive_groups, study.admissible, 0
        measures["inference"] = 0.0
        for node, released in shared_rows(strategies):
            success = study.row_sets.combined(np.maximum, groups.success("attribute", node))
            measures["inference"] = max(measures["inference"], float(success[released].max()))
            if admissible is not None:
                beyond += int(study.weights[released][~admissible.at(node, released)].sum())
        measures |= {} if admissible is None else {"beyond_limits": beyond / study.n_subjects}
    if study.data_utility is not None:
        measures |= measures_of(statistics_of_release(study, name, equilibrium))
    if study.household_of is not None:
        risks = equilibrium.risk[study.row_of_subject]
        measures[HOUSEHOLD] = float(largest_in_groups(risks, study.household_of).mean())
    return measures


def statistics_of_release(study: TablesStudy, policy: str, equilibrium: Equilibrium) -> pd.DataFrame:
    """Return the statistics of a policy's release, as `DataUtility.compare`.

    Columns other than quasi-identifiers are released unchanged. The study must have statistics; `equilibrium` is the
    outcome of the policy named `policy`, by game row.
    """
    assert study.data_utility is not None  # noqa: S101 - called only with section utility
    strategies, original = equilibrium.strategies[study.row_of_record], study.data_utility.original
    released = policy_named(policy).space(study).released(strategies, study.cell_of_record).set_index(original.index)
    others = original[original.columns.difference(released.columns)]
    return study.data_utility.compare(others.join(released)[strategies != WITHHELD])


def exposed_to_weighted(study: TablesStudy, game: RecordGame, strategies: Strategies) -> float:
    """Return the share of records attacked if guesses favour rows with few matches.

    The adversary looks a person up in the released rows and picks one of the matching released rows, each with a weight
    of 1 / number of people who match the row. Withheld records count in the denominator.

    Parameters
    ----------
    study : TablesStudy
    game : RecordGame
        Game in which the release is paid; its adversaries look people up and share one linker.
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record; -1 if it is withheld.
    """
    shared = np.flatnonzero(strategies != WITHHELD)
    linker = cast("DirectedLinker | PerturbationLinker", parts_of(game)[0].linker)
    sizes = linker.weighted(strategies)[shared]
    reply = game.adversary.respond(Linkage(sizes, sizes, by_chance=True), shared)
    return float((reply.attack_probability * study.weights[shared]).sum() / study.n_subjects)


TABLES = TablesKind()
