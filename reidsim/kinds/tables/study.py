"""Study of a table scenario: its data, adversaries, linkers and games."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, load_knowledge
from reidsim.adversaries.linkers import DrawnLists, DrawnListsLinker, KnowledgeLinker, LatticeAttackLinker
from reidsim.adversaries.response import Adversary, Amount
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import sequential_attack
from reidsim.core.errors import InputError, locating, refuse_first
from reidsim.core.files import read_toml
from reidsim.core.rows import occurrences, parts_of
from reidsim.core.validation import revalidated, validated
from reidsim.games.composite import AdversaryType, PeopleLattice, PeopleLinker, TypesGame, adversary_of_people
from reidsim.games.directions.best_replies import CoarseRows, DirectedLinker, LookedUp, by_record, is_searched
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.search import MOST_NODES
from reidsim.games.record_game import (
    AdmissibleGroups,
    AttributeLinker,
    Choice,
    Linker,
    PopulationLinker,
    Prices,
    RecordGame,
)
from reidsim.kinds.tables.data_utility import DataUtility
from reidsim.kinds.tables.release import Waves, columns_of_release, staged_attack
from reidsim.kinds.tables.schema import POLICIES, WHERE, TablesScenario, policy_named
from reidsim.linkage.group_sizes import GroupSizes, SampledPeople, sizes_among
from reidsim.linkage.people import (
    PeopleOfRows,
    RowGroups,
    RowSets,
    SensitiveGroups,
    SensitiveValues,
    ranges,
    sensitive_groups,
)
from reidsim.populations.population import Codes, Population
from reidsim.releases.lattice import MOST_NUMBERED, Floats, GeneralizationLattice, Rows, Strategies, StrategySpace
from reidsim.scenarios.adversary_schema import AdversarySection, EconomicsSection, Risk, naming_adversary
from reidsim.scenarios.agents import scenario_alone
from reidsim.scenarios.hierarchies import over_domain
from reidsim.scenarios.kind import Keys, digest_of
from reidsim.scenarios.resources import AttackRecipe, require_recipe
from reidsim.scenarios.scenario import Scenario, Study, World, people_named, planner

PRICES = ("benefit", "loss", "gain", "cost")


@dataclass(frozen=True, eq=False)
class ReleasedPeople:
    """People behind the records of a release, if a person may have several records.

    A cell is a distinct record; a row set is the number of records that a person has in each cell. People with equal
    row sets share a game row.

    Parameters
    ----------
    of_record : ndarray of int, shape (n_records,)
        The person of each record; persons are numbered from 0 in the order of their first record.
    set_of_person : ndarray of int, shape (n_people,)
        The row set of each person.
    space : PeopleLattice
        Generalizations of row sets, which consist of cells of records.
    linkers : dict
        Cache of the linkers of people, by the `id` of the linker of cells.
    """

    of_record: Keys
    set_of_person: Keys
    space: PeopleLattice
    linkers: dict[int, PeopleLinker] = field(default_factory=dict, repr=False)

    @classmethod
    def from_lattice(
        cls, lattice: GeneralizationLattice, cell_of_record: Keys, of_record: Keys, benefit_of_cell: Floats | None
    ) -> ReleasedPeople:
        """Return the people of a release, with row sets; see the class.

        A row set is the number of records that a person has in each cell (distinct record).

        Parameters
        ----------
        lattice : GeneralizationLattice
            Over the cells of the records.
        cell_of_record, of_record : ndarray of int, shape (n_records,)
            The cell and the person of each record.
        benefit_of_cell : ndarray of float64, shape (n_cells,), or None
            Benefit of a record in each cell, in currency units; None if it is the same for all records.
        """
        row_sets, set_of_person = RowSets.from_rows(cell_of_record, of_record)
        space = PeopleLattice(
            lattice.hierarchies,
            lattice.codes,
            lattice.loss_attributes,
            row_sets=row_sets,
            benefit_of_cell=benefit_of_cell,
        )
        return cls(of_record, set_of_person, space)

    @property
    def row_sets(self) -> RowSets:
        """Distinct row sets of people: numbers of a person's records in each cell."""
        return self.space.row_sets

    def linker(self, linker: Linker) -> PeopleLinker:
        """Return the linker of people for a linker of cells (distinct records).

        It is made once for each linker.
        """
        # The cached linker keeps `linker` alive, so that its `id` is not reused.
        return self.linkers.setdefault(id(linker), PeopleLinker(linker, self.row_sets))

    def counted(self, name: str) -> PeopleOfRows:
        """Return the people as a population, `PeopleOfRows`, with the given name.

        A person with several equal records counts once in their cell.
        """
        return PeopleOfRows.from_codes(self.space.domain, self.space.codes, self.row_sets, name=name)

    def split(self, sets: Keys) -> ReleasedPeople:
        """Return n people, each with its own row set: person i has that of ``sets[i]``.

        A row set is the number of records that a person has in each cell. `sets`, shape (n,), holds numbers of row sets
        of this object, which may repeat. With `set_of_person` as `sets`, the result has the same people. `of_record`,
        the person of each record, is unchanged.
        """
        entries, start = self.row_sets.entries_of(sets)
        row_sets = RowSets(
            start, self.row_sets.cells[entries], self.row_sets.rows[entries], np.ones(len(sets), dtype=np.int64)
        )
        return replace(
            self, set_of_person=np.arange(len(sets)), space=replace(self.space, row_sets=row_sets), linkers={}
        )

    def among(self, people: NDArray[np.int64]) -> tuple[ReleasedPeople, Keys]:
        """Return only the people who participate, and the cell of each of their records.

        A row set is the number of records that a person has in each cell. Participants are in the order of their row
        sets, and records in the order of their participants. Row sets are unchanged, also without participants.

        Parameters
        ----------
        people : ndarray of int64, shape (n_sets,)
            Number of participants of each row set.
        """
        sets = self.row_sets
        space = replace(self.space, row_sets=replace(sets, people=people))
        each, records = np.repeat(np.arange(sets.n_sets), people), sets.rows_of_person
        position, _ = ranges((np.cumsum(records) - records)[each], records[each])
        of_record = np.repeat(np.arange(len(each)), records[each])
        return ReleasedPeople(of_record, each, space), np.repeat(sets.cells, sets.rows)[position]


# Resource with which an adversary links: people whom a sequential attack can look up, background knowledge about the
# persons of the cells, or an attack in stages, which infers attributes before it links; None for linkage with all
# people, or with lists drawn from them.
Resource = Population | Knowledge | LatticeAttackLinker | None


@dataclass(frozen=True, eq=False)
class TablesStudy(Study[TablesScenario]):
    """A table scenario with its data: records by cell, people, payoffs, adversaries.

    A cell is a distinct record. The rows of its games are the cells, weighted by their records. If people have several
    records, the rows are the distinct sets of cells of a person's records, weighted by their people.

    Parameters
    ----------
    loaded : Scenario
    lattice : GeneralizationLattice
        Over the distinct cells; records in a cell have the same values and the same payoff parameters.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    kind : ndarray of int64, shape (n_rows,)
        Index of the payoff parameters of each game row.
    prices : Prices
        Payoff parameters of every kind of record, shape (n_kinds,) each, in currency units.
    population : Population or None
        The population, over the quasi-identifiers.
    dataset : Population
        The released records or people, counted by cell.
    safe_harbor : ndarray of int64, shape (n_rows,), optional
        The least generalization of each game row that Safe Harbor accepts.
    sampled : SampledPeople or None
        The people that the released records represent, if sampling weights are known and needed.
    persons : ReleasedPeople, optional
        The person of each record, if people may have several; otherwise each record is a person.
    household_of : ndarray of int, shape (n_subjects,), optional
        The household of each person of the release.
    waves : Waves, optional
        The releases that contain each person, if there are several releases.
    drawn : DrawnLists, optional
        Resources that are lists drawn from the people; with such lists, each record is a separate row.
    sensitive : SensitiveValues, optional
        Values of the sensitive columns of all records of the table.
    data_utility : DataUtility, optional
        Statistics of the original records, with section ``utility``.
    owns : dict of Resource
        Resource with which each adversary links, by name; the name of a single, unnamed adversary is None.
    linkers : dict
        Cache of the linkers of cells. The first item of a key identifies the resource; it is None for linkage with all
        people. Linkers do not depend on payoff parameters, so that derived studies can reuse them.
    """

    lattice: GeneralizationLattice
    cell_of_record: Keys
    kind: NDArray[np.int64]
    prices: Prices
    population: Population | None
    dataset: Population
    safe_harbor: Strategies | None
    sampled: SampledPeople | None = None
    persons: ReleasedPeople | None = None
    household_of: Keys | None = None
    waves: Waves | None = None
    drawn: DrawnLists | None = None
    sensitive: SensitiveValues | None = None
    data_utility: DataUtility | None = None
    owns: dict[str | None, Resource] = field(default_factory=dict)
    linkers: dict[tuple[object, ...], Linker] = field(default_factory=dict, repr=False)
    _by_record: dict[Any, Choice] = field(default_factory=dict, init=False, repr=False)

    # Data subjects and game rows

    @property
    def n_records(self) -> int:
        """Number of released records; a person may have several."""
        return len(self.cell_of_record)

    @property
    def space(self) -> GeneralizationLattice:
        """Lattice of generalizations of the game rows.

        It is `lattice`, or the `PeopleLattice` if people may have several records.
        """
        return self.lattice if self.persons is None else self.persons.space

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Number of data subjects in each game row, shape (n_rows,).

        Data subjects are people if ``release.person`` is set, otherwise records.
        """
        if self.persons is not None:
            return self.persons.row_sets.people
        return occurrences(self.cell_of_record, self.lattice.n_records)

    @property
    def value_counts(self) -> dict[str, dict[str, int]]:
        """Number of records with each value of each quasi-identifier, by its name."""
        frame = self.lattice.domain.decode(self.lattice.codes[self.cell_of_record])
        counts = {str(name): column.value_counts(sort=False) for name, column in frame.items()}
        return {name: dict(zip(map(str, found.index), found.tolist(), strict=True)) for name, found in counts.items()}

    @property
    def row_sets(self) -> RowSets:
        """Cells of the records of each game row, as `RowSets`.

        A cell is a distinct record. If each record is a person, set i is cell i.
        """
        if self.persons is not None:
            return self.persons.row_sets
        cells = np.arange(self.lattice.n_records + 1)
        return RowSets(cells, cells[:-1], np.ones_like(cells[:-1]), self.weights)

    @property
    def row_of_subject(self) -> Keys:
        """Game row of each data subject, shape (n_subjects,).

        Data subjects are people if ``release.person`` is set, otherwise records.
        """
        return self.cell_of_record if self.persons is None else self.persons.set_of_person

    @property
    def row_of_record(self) -> Keys:
        """Game row of the person of each record, shape (n_records,)."""
        return self.row_of_subject if self.persons is None else self.row_of_subject[self.persons.of_record]

    @property
    def n_cells(self) -> int:
        """Number of distinct records. With lists, and against searches for persons, game rows may be equal records."""
        has_equal_rows = self.drawn is not None or self.scenario.looks_up
        return len(self.dataset.cells) if has_equal_rows else self.lattice.n_records

    @property
    def n_subjects(self) -> int:
        """Number of data subjects: people if ``release.person`` is set, otherwise records."""
        return len(self.row_of_subject)

    def people(self, risk: Risk) -> Population:
        """Return the people among whom a record's person is sought, under a risk.

        They are the population ("journalist"), the people estimated from the sample ("sample"), or the released records
        or people ("prosecutor", and the other risks without such data).
        """
        return {"sample": self.sampled, "journalist": self.population}.get(risk) or self.dataset

    @property
    def linked_population(self) -> Population:
        """People among whom a record's person is truly sought, under `linked_risk`."""
        return self.people(self.scenario.linked_risk)

    # Payoff parameters

    def prices_of(self, economics: EconomicsSection) -> Prices:
        """Return the `Prices` of every kind of record for an economics section.

        A kind is a set of records with equal payoff parameters. If at least one parameter comes from a column of the
        records, the study's `prices` are returned unchanged.
        """
        if self.scenario.has_price_columns:
            return self.prices
        return Prices(*np.array([economics.benefit, economics.loss, economics.adversary_gain, economics.cost]))

    @cached_property
    def believed_prices(self) -> Prices:
        """`Prices` in which the publisher believes.

        They are `prices`, with loss, gain and cost replaced by the scenario's beliefs about them, if any.
        """
        return replace(self.prices, **self.scenario.beliefs.model_dump(include={*PRICES[1:]}, exclude_none=True))

    def of_cells(self, amounts: Floats) -> Floats:
        """Return an amount for each game row, (n_rows,), from one per kind, (n_kinds,).

        A kind is a set of records with equal payoff parameters; if `amounts` has a single element, it applies to all
        rows.
        """
        return np.asarray(amounts[self.kind] if len(amounts) > 1 else np.full(len(self.kind), amounts[0]))

    def gain_and_cost(self, prices: Prices) -> list[Amount]:
        """Return the adversary's gain and cost, in currency units.

        The result is a list of two. Each is a number if it is equal for all kinds of record, else an array of shape
        (n_rows,). `prices` has the parameters of every kind.
        """
        both = prices.gain, prices.cost
        return [float(each[0]) if (each == each[0]).all() else each[self.kind] for each in both]

    # Constraints of generalizations

    @property
    def sensitive_groups(self) -> SensitiveGroups:
        """Sensitive values of the records in the group of each cell, at each node.

        The study must have sensitive columns; see `SensitiveGroups`.
        """
        return sensitive_groups(cast("SensitiveValues", self.sensitive), self.lattice)

    @property
    def admissible(self) -> AdmissibleGroups | None:
        """Test whether a record's group keeps to the limits on sensitive columns.

        It is None without limits or sensitive columns; see `AdmissibleGroups`.
        """
        limits = self.scenario.publisher.attribute_limits
        if not limits or self.sensitive is None:
            return None
        row_sets = None if self.persons is None else self.persons.space.row_sets
        return AdmissibleGroups(self.sensitive_groups, limits, self.sensitive.columns, row_sets)

    @property
    def minimum(self) -> tuple[int, ...]:
        """Lowest level of each attribute that policies may choose, from the scenario."""
        return tuple(attribute.minimum_level for attribute in self.scenario.attributes.values())

    @property
    def n_nodes(self) -> int:
        """Number of lattice nodes with no attribute below its minimum level."""
        return math.prod(np.subtract(self.lattice.shape, self.minimum).tolist())

    def require_walkable(self) -> None:
        """Check that the lattice is small enough for the scenario's searches.

        Raises
        ------
        InputError
            If the lattice has 2**62 nodes or more, more than 5 million generalizations that a solver lists for each
            record, or more than 5 million nodes that an exact search visits. The error names the key that requires the
            search.
        """
        size, nodes, publisher = self.lattice.size, self.n_nodes, self.scenario.publisher
        exact_scopes, most = ("node", "rounds") if publisher.search == "exact" else (), f"at most {MOST_NODES:,}"
        walks = publisher.some_policy(lambda each: each.every_node or each.scope(publisher) in exact_scopes)
        lists = publisher.solver == "backward-induction" and publisher.some_policy(
            lambda each: each.scope(publisher) == "unit"
        )
        solvers, budget = f'{most}, or solver "iceberg"', f'{most}, or publisher.search = "anytime" and a budget'
        problem = "too many generalizations of a record for this solver"
        refuse_first(
            (size >= MOST_NUMBERED, "too many generalizations", "attributes", size, "fewer than 2**62"),
            (size > MOST_NODES and lists, problem, "publisher.solver", size, solvers),
            (nodes > MOST_NODES and walks, "too many nodes for an exact search", WHERE, nodes, budget),
        )

    # Adversaries

    @property
    def own(self) -> Resource:
        """Resource with which a single, unnamed adversary links; see `Resource`.

        It is None if adversaries have names, or if the adversary links with all people.
        """
        return self.owns.get(None)

    @property
    def registry(self) -> Population | None:
        """People that a single, unnamed adversary can look up in a sequential attack.

        It is None without a registry, and if adversaries have names.
        """
        return self.own if isinstance(self.own, Population) else None

    @property
    def holds(self) -> tuple[str, ...]:
        """Names of the resources in which a single adversary searches for persons.

        They are the scenario's ``adversary.holds``, in the order of its section ``resources``.
        """
        # Ties between lists are broken by the order in the scenario file, not by the order in `holds`.
        return tuple(name for name in self.scenario.resources if name in (self.scenario.adversary.holds or ()))

    @property
    def links_with_everybody(self) -> bool:
        """Whether the adversary links with all people and knows their values.

        This is the case if it has no background knowledge, stages, registry or lists, and knows group sizes at the
        outset.
        """
        section = self.scenario.adversary
        knows_sizes = not section.plans_sequentially or section.sequential.belief == "known"
        return self.own is None and knows_sizes and not self.holds

    @cached_property
    def each(self) -> dict[str | None, TablesStudy]:
        """Study against each adversary alone, by name of the adversary.

        A single, unnamed adversary has the name None.
        """
        return {name: self if name is None else self._alone(name, own) for name, own in self.owns.items()}

    def _alone(self, name: str, own: Resource) -> TablesStudy:
        """Return the study against one named adversary, as if it were the only one.

        The adversary's own gain and cost apply, if set; otherwise the study's.

        Parameters
        ----------
        name : str
        own : Resource
            Resource with which the adversary links.
        """
        loaded = replace(self.loaded, scenario=scenario_alone(self.scenario, name))
        prices = replace(self.prices, **dict[str, Any](self.scenario.adversaries[name].amounts))
        return replace(self, loaded=loaded, prices=prices, owns={None: own})

    def equipped(self) -> TablesStudy:
        """Return the study with the resources of its adversaries, read anew.

        An attack in stages may split cells (distinct records) by inferred attributes. With several adversaries, cells
        are split until no adversary needs finer ones.

        Raises
        ------
        InputError
            If a resource cannot be used, or a registry has more people than the population.
        """
        # Linkers of cells and all people remain valid; other linkers depend on the resources.
        study = replace(self, linkers={key: linker for key, linker in self.linkers.items() if key[0] is None})
        sections: Any = self.scenario.adversaries or {None: self.scenario.adversary}
        owns, cells = dict[str | None, Resource](), 0
        # All adversaries share one partition, so that a split for one requires another pass for the others.
        while cells < study.lattice.n_records and (len(sections) > 1 or not owns):
            cells = study.lattice.n_records
            for name, section in sections.items():
                with naming_adversary(name):
                    study, owns[name] = study._with_resource(section)
        return replace(study, owns=owns)

    def _with_resource(self, section: AdversarySection) -> tuple[TablesStudy, Resource]:
        """Return the study, possibly on finer cells, and the resource of an adversary.

        Cells are finer only if the adversary infers, in stages, attributes that are not quasi-identifiers. The resource
        is None if the adversary has no stages, knowledge or registry; see `Resource`.
        """
        loaded, domain, plan = self.loaded, self.lattice.domain, section.sequential
        if section.stages is not None:
            return self.staged(require_recipe(loaded.folder / section.stages, "adversary.stages"))
        if section.knowledge is not None:
            return self, load_knowledge(section.knowledge, domain, self.lattice.codes, base=loaded.folder)
        if not section.plans_sequentially or section.holds or plan.registry is None:
            return self, None
        with locating(where="adversary.sequential.registry"):
            everybody = people_named(plan.registry, loaded).marginal(domain.names)
            registry, most = over_domain(domain, everybody, self.scenario.attributes), self.people(section.risk).total
            problem = "the registry has more people than the population"
            refuse_first((registry.total > most, problem, None, registry.total, f"at most {most:,.0f}"))
        return self, registry

    def staged(self, path: Path) -> tuple[TablesStudy, LatticeAttackLinker]:
        """Return the study, possibly on finer cells, and an attack in stages on its cells.

        Cells are split by inferred attributes that are not quasi-identifiers.

        Parameters
        ----------
        path : Path
            Path of the attack recipe.

        Raises
        ------
        InputError
            If the recipe or one of its resources cannot be used. The error names the file.
        """
        recipe = validated(AttackRecipe, read_toml(path), path)
        known, n = self.lattice.domain.names, self.n_records
        columns = {name: recipe.columns.get(name, name) for name in recipe.inferred if name not in known}
        try:
            truth = columns_of_release(self.loaded, columns) if columns else pd.DataFrame(index=range(n))
        except InputError as error:
            hint = f"add the true values of the attribute to the records, because {path} infers the attribute"
            raise error.but(hint=hint) from None
        codes = [pd.factorize(truth[name])[0].astype(np.int64) for name in truth]
        cells = RowGroups([self.cell_of_record.astype(np.int64), *codes], n).group_of_row.astype(np.intp)
        study, first = self, np.unique(self.cell_of_record, return_index=True)[1]
        if cells.max(initial=-1) + 1 > len(first):
            first = np.unique(cells, return_index=True)[1]
            rows = old = self.cell_of_record[first]
            lattice, persons, dataset = replace(self.lattice, codes=self.lattice.codes[old]), self.persons, self.dataset
            if persons is not None:
                benefit = persons.space.benefit_of_cell
                by_benefit = None if benefit is None else benefit[old]
                finer = ReleasedPeople.from_lattice(lattice, cells, persons.of_record, by_benefit)
                rows = persons.set_of_person[np.unique(finer.set_of_person, return_index=True)[1]]
                persons, dataset = finer, finer.counted(dataset.name)
            study = self.of_rows(rows, lattice=lattice, cell_of_record=cells, persons=persons, dataset=dataset)
        return study, staged_attack(recipe, path, study.lattice, truth.iloc[first].reset_index(drop=True))

    def sequential_attack(self, economics: EconomicsSection) -> SequentialAttack:
        """Return the scenario's `SequentialAttack` with a gain and a cost.

        Parameters
        ----------
        economics : EconomicsSection
            Payoff parameters with the gain and the cost.
        """
        return sequential_attack(
            self.scenario.adversary.sequential, economics.adversary_gain, economics.cost, coverage=self._coverage
        )

    @property
    def _coverage(self) -> float:
        """Share of the linked population that is in the registry; 1 without a registry."""
        return 1.0 if self.registry is None else float(self.registry.total / self.linked_population.total)

    def planner(self, gain: Amount, cost: Amount) -> Adversary:
        """Return the `Adversary` that plans for the scenario's adversary.

        Parameters
        ----------
        gain, cost : float or ndarray of float64, shape (n_rows,)
            Gain from a re-identification and cost of an attack, in currency units per record.

        Raises
        ------
        InputError
            If a user's adversary cannot be created, or if gain or cost of a sequential adversary differ by record.
        """
        section, own = self.scenario.adversary, self.own
        if section.planner == "one-shot" and isinstance(own, LatticeAttackLinker):
            return section.erring(replace(own.attack, gain=gain, cost=cost), "adversary.rationality")
        # Without knowledge of group sizes, a sequential attack learns a size only when it has access to the registry.
        guesses = section.plans_sequentially and section.sequential.belief == "unknown" and not section.holds
        size = round((self.registry or self.linked_population).total) if guesses else None
        return planner(section, gain, cost, loaded=self.loaded, coverage=self._coverage, registry_size=size)

    # Linkage

    def linker(self, risk: Risk) -> PopulationLinker:
        """Return the linker that counts the people who match each released cell.

        A cell is a distinct record. The people are selected by `risk`; see `people`. The linker is made once for each
        risk.
        """
        key = (None, risk)
        if key not in self.linkers:
            self.linkers[key] = PopulationLinker(sizes_among(self.people(risk), self.lattice))
        return cast("PopulationLinker", self.linkers[key])

    def directed_linker(self, direction: LookedUp, risk: Risk = "prosecutor") -> DirectedLinker:
        """Return the linker of game rows in direction "person" or "both", under a risk.

        It is made once for each direction and risk.
        """
        key = (None, risk, direction)
        if key not in self.linkers:
            both: Iterable[Linker] = (self.linker(risk), self.linker("prosecutor"))
            of_rows, released = both if self.persons is None else map(self.persons.linker, both)
            self.linkers[key] = DirectedLinker(self.space, direction, of_rows, released, self.kind, self.weights)
        return cast("DirectedLinker", self.linkers[key])

    def own_linker(self, *, believed: bool = False) -> Linker:
        """Return the linker of the scenario's single adversary, for cells.

        With `believed`, it is the linker in which the publisher believes. A linker for directions other than "record"
        is for game rows.
        """
        section, own = self.scenario.adversary, self.own
        risk = self.scenario.planned_risk if believed else section.risk
        # The publisher may know only the coverage of lists drawn from the people, and not their members.
        guessed, everybody = believed and self.scenario.beliefs.lists == "coverage", self.linker(risk)
        if isinstance(own, LatticeAttackLinker):
            return own
        if section.direction != "record":
            return self.directed_linker(section.direction, risk)
        if section.gains_from == "identity" and self.links_with_everybody:
            return everybody
        key = (self.holds or None if own is None else id(own), risk, guessed, section.gains_from)
        if key in self.linkers:
            return self.linkers[key]
        linker: Linker
        if section.gains_from != "identity":
            linker = AttributeLinker(self.sensitive_groups, section.gains_from)
        elif isinstance(own, Knowledge):
            linker = KnowledgeLinker(self.lattice, self.people(risk), own)
        elif self.drawn is not None and self.holds:
            linker = DrawnListsLinker(self.lattice, self.drawn, self.holds, guessed=guessed)
        else:
            sizes = everybody.group_sizes if own is None else self.group_sizes
            linker = PopulationLinker(sizes, population=everybody.group_sizes)
        return self.linkers.setdefault(key, linker)

    @property
    def group_sizes(self) -> GroupSizes:
        """Group sizes of cells: in the registry if there is one, else in all people.

        All people are the ones that `linked_risk` selects; see `people`.
        """
        if self.registry is not None:
            return GroupSizes(self.registry, self.lattice, holds_records=False)
        return self.linker(self.scenario.linked_risk).group_sizes

    # Games

    def of_people(self, linker: Linker, adversary: Adversary) -> tuple[Linker, Adversary]:
        """Return a linker and an adversary of game rows.

        `linker` and `adversary` are those of cells (distinct records). Without ``release.person``, game rows are cells,
        and both are returned unchanged.
        """
        if self.persons is None:
            return linker, adversary
        linker = linker if isinstance(linker, DirectedLinker) else self.persons.linker(linker)
        return linker, adversary_of_people(adversary)

    def game(
        self,
        economics: EconomicsSection | None = None,
        *,
        believed: bool = False,
        space: StrategySpace | None = None,
        linker_of: Callable[[TablesStudy], Linker] | None = None,
    ) -> RecordGame:
        """Return the `RecordGame` of all game rows against the scenario's adversaries.

        With several adversaries, it is a `TypesGame` with their weights.

        Parameters
        ----------
        economics : EconomicsSection, optional
            Payoff parameters; by default the study's, with the publisher's beliefs if `believed`.
        believed : bool
            Whether linkage follows the publisher's beliefs.
        space : StrategySpace, optional
            Generalizations that replace the lattice of the study.
        linker_of : callable
            Returns the linker of cells for the study against one adversary alone; by default, its `own_linker`.
        """
        games, own = dict[str, RecordGame](), economics is None
        study = self if economics is None else replace(self, prices=self.prices_of(economics))
        for name, alone in study.each.items():
            with naming_adversary(name):
                prices = alone.believed_prices if believed and own else alone.prices
                linker = alone.own_linker(believed=believed) if linker_of is None else linker_of(alone)
                linker, adversary = alone.of_people(linker, alone.planner(*alone.gain_and_cost(prices)))
            benefit, loss = alone.of_cells(prices.benefit), alone.of_cells(prices.loss)
            game = RecordGame(alone.space if space is None else space, linker, adversary, benefit, loss)
            games[str(name)] = game
        if len(games) == 1:
            return game
        sections, agents = self.scenario.adversaries, self.scenario.agents
        types = [AdversaryType(key, sections[key].weight, each.linker, each.adversary) for key, each in games.items()]
        return TypesGame(game.space, types, game.benefit, game.loss, "one-of" if agents is None else agents.together)

    @cached_property
    def truth(self) -> RecordGame:
        """True game of the scenario, in which outcomes are evaluated; computed once."""
        return self.game()

    @cached_property
    def belief(self) -> RecordGame:
        """Game with the publisher's beliefs, on which it plans; computed once."""
        return self.game(believed=True)

    def solve(self, policy: str, game: RecordGame) -> Choice:
        """Return the `Choice` of a policy in a game on the study's records.

        `policy` is the policy's name.
        """
        return policy_named(policy).choose(self, game, 0)

    def solve_by_record(self, policy: Any) -> Choice:
        """Return the `Choice` of a policy in the believed game in direction "record"; computed once.

        `policy` is an entry of `POLICIES`. Policies start from this choice against adversaries who look people up, and
        measures compare them with it.
        """
        if policy not in self._by_record:
            self._by_record[policy] = policy.choose(self, by_record(self.belief), 0)
        return self._by_record[policy]

    def world(self, draw: int = 0) -> World:
        """Return the true and the believed game, with the data subjects of each row.

        All draws have the same records. See `World`.
        """
        return World(self.truth, self.belief, self.weights)

    def node_game(
        self, risk: Risk, prices: Prices, *, no_attack: bool = False, minimum: Sequence[int] | None = None
    ) -> FullDomainGame:
        """Return the `FullDomainGame`, a choice of one node, against a one-shot adversary.

        The adversary knows all quasi-identifiers of all people.

        Parameters
        ----------
        risk : {"journalist", "prosecutor", "sample"}
            With "journalist", groups are counted in the population, if there is one; otherwise among the released
            records or people.
        prices : Prices
            Payoff parameters of every kind of record.
        no_attack : bool
            Whether attacked records are suppressed.
        minimum : sequence of int, optional
            Lowest level of each attribute; by default, the scenario's.
        """
        return FullDomainGame(
            lattice=self.space,
            released=self.weights,
            prices=prices,
            kind=self.kind if prices.n_kinds > 1 else None,
            population=self.population if risk == "journalist" else None,
            no_attack=no_attack,
            safe_class=self.scenario.publisher.safe_class,
            suppression_limit=self.scenario.publisher.suppression_limit,
            minimum=self.minimum if minimum is None else minimum,
        )

    # Other studies on the same data

    def on_records(self, codes: Codes, cells: Rows | None = None) -> TablesStudy:
        """Return the study on other records, each a person with its own game row.

        The people with whom adversaries link do not change.

        Parameters
        ----------
        codes : ndarray of int32, shape (n, n_attributes)
            Category codes.
        cells : ndarray of int, shape (n,), optional
            Cells of the records in this study; by default, all records have the first kind of payoff parameters.

        Raises
        ------
        InputError
            If `cells` is missing for an attack in stages or with lists. These use more of a record than its
            quasi-identifiers.
        """
        lattice, owns = replace(self.lattice, codes=codes), dict[str | None, Resource]()
        for name, alone in self.each.items():
            own, problem = alone.own, "the adversary is supported only on the records of the scenario"
            key = "stages" if isinstance(own, LatticeAttackLinker) else "holds"
            needs_cells = key == "stages" or alone.holds
            with naming_adversary(name):
                refuse_first((needs_cells and cells is None, problem, f"adversary.{key}", None, None))
                if isinstance(own, LatticeAttackLinker) and cells is not None:
                    own = own.of_records(lattice, cells)
                elif isinstance(own, Knowledge):
                    recipe = str(alone.scenario.adversary.knowledge)
                    own = load_knowledge(recipe, lattice.domain, codes, base=self.loaded.folder)
            owns[name] = own
        return replace(
            self,
            lattice=lattice,
            cell_of_record=np.arange(len(codes)),
            kind=np.zeros(len(codes), dtype=np.int64) if cells is None else self.kind[cells],
            drawn=self.drawn if self.drawn is None or cells is None else self.drawn.of_records(cells),
            owns=owns,
            persons=None,
            linkers={},
        )

    def with_adversary(self, section: AdversarySection) -> TablesStudy:
        """Return the study of the same records against another adversary.

        If the adversary infers attributes that are not quasi-identifiers, cells are split by these attributes. If it
        looks people up, each data subject gets its own game row.

        Raises
        ------
        InputError
            If a resource with which the adversary links cannot be used.
        """
        before, alone = self.scenario.adversary, None in self.owns
        if section == before and alone:
            return self
        # pydantic does not validate copies. A planner passed in Python has no name to validate.
        values = {name: getattr(section, name) for name in AdversarySection.model_fields}
        values |= {"planner": "one-shot"} if section.planner in self.loaded.objects else {}
        valid = revalidated(AdversarySection, values, self.loaded.path)
        section = valid.model_copy(update={"planner": section.planner})
        study = self.with_sections(adversary=section, adversaries={})
        study = study.by_subject() if section.looks_up else study
        return study if alone and _linkage_of(section) == _linkage_of(before) else study.equipped()

    def with_loaded(self, loaded: Scenario[TablesScenario]) -> TablesStudy:
        """Return the study of another scenario with the same data; no file is read.

        `loaded` may differ from this study's scenario in payoff parameters, beliefs, section ``publisher``, and the
        adversaries' rationality and parameters of planning.

        Raises
        ------
        InputError
            If the lattice is too large for the scenario's searches; see `require_walkable`.
        """
        study = replace(self, loaded=loaded)
        with locating(loaded.path):
            study.require_walkable()
        return replace(study, prices=study.prices_of(loaded.scenario.economics))

    def of_rows(self, rows: NDArray[np.integer[Any]], **changes: Any) -> TablesStudy:
        """Return the study on selected game rows, with the given fields replaced.

        `kind` and `safe_harbor` are selected; cached linkers are dropped.

        Parameters
        ----------
        rows : ndarray of int, shape (n,)
            Selected game rows; rows may repeat.
        **changes
            Fields of the study that change with the rows, such as `lattice`.
        """
        harbor = None if self.safe_harbor is None else self.safe_harbor[rows]
        return replace(self, kind=self.kind[rows], safe_harbor=harbor, linkers={}, **changes)

    def split(self, rows: Rows, people: NDArray[np.int64]) -> TablesStudy:
        """Return the study on selected game rows with new numbers of people.

        Only the strategy space and the solver of the new study are meant to be used. Games on it take their linkers,
        and so their group sizes, from this study.

        Parameters
        ----------
        rows : ndarray of int, shape (n,)
            Selected game rows; rows may repeat.
        people : ndarray of int64, shape (n,)
            Number of people in each new row.
        """
        if self.persons is None:
            lattice = replace(self.lattice, codes=self.lattice.codes[rows])
            return self.of_rows(rows, lattice=lattice, cell_of_record=np.repeat(np.arange(len(rows)), people))
        persons, cells = self.persons.split(rows).among(people)
        return self.of_rows(rows, persons=persons, cell_of_record=cells)

    def by_subject(self) -> TablesStudy:
        """Return the study with a game row for each data subject (person or record).

        The result is this study itself if each data subject already has its own game row.
        """
        rows = self.row_of_subject
        if len(rows) == self.space.n_records:
            return self
        if self.persons is not None:
            return self.of_rows(rows, persons=self.persons.split(rows))
        return self._with_own_rows(np.arange(len(rows)))

    def by_released_record(self) -> TablesStudy:
        """Return the study with a game row for each data subject (person or record), and a cell for each record."""
        if self.persons is None:
            return self.by_subject()
        records, benefit = np.arange(self.n_records), self.persons.space.benefit_of_cell
        benefit = None if benefit is None else benefit[self.cell_of_record]
        lattice = replace(self.lattice, codes=self.lattice.codes[self.cell_of_record])
        persons = ReleasedPeople.from_lattice(lattice, records, self.persons.of_record, benefit)
        persons = persons.split(persons.set_of_person)
        return self.of_rows(self.row_of_subject, lattice=lattice, cell_of_record=records, persons=persons)

    def _with_own_rows(self, records: Keys) -> TablesStudy:
        """Return the study with a game row for each of some records; rows are in the order of their first records."""
        n_cells, n = self.lattice.n_records, self.n_records

        def numbers(part: slice) -> Keys:
            number = self.cell_of_record[part].astype(np.intp)
            low, high = np.searchsorted(records, [part.start, part.stop])
            number[records[low:high] - part.start] = n_cells + np.arange(low, high)
            return number

        first = np.full(n_cells + len(records), n)
        # In reverse, so that the first record is written last.
        for part in reversed([*parts_of(n)]):
            first[numbers(part)[::-1]] = np.arange(part.start, part.stop)[::-1]
        rows = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
        row_of = np.empty(len(first), np.min_scalar_type(len(rows)))
        row_of[rows] = np.arange(len(rows))
        row_of_record = np.empty(n, row_of.dtype)
        for part in parts_of(n):
            row_of_record[part] = row_of[numbers(part)]
        single = rows >= n_cells
        rows[single] = self.cell_of_record[records[rows[single] - n_cells]]
        lattice = replace(self.lattice, codes=self.lattice.codes[rows])
        return self.of_rows(rows, lattice=lattice, cell_of_record=row_of_record)

    def by_suppressed_subject(self) -> TablesStudy:
        """Return the study with as few game rows as its policies require against adversaries who look people up.

        If the search for a release changes single data subjects, each has a game row. A large table has a row for each
        distinct record, and one for each record that a policy may suppress: equal records then share their outcomes.
        The rows depend on the scenario's policies and payoff parameters.
        """
        publisher = self.scenario.publisher
        # Policies of the user may not decide by distinct record.
        by_row = all(policy in POLICIES for policy in publisher.policies) and not publisher.attribute_limits
        if self.persons is not None or not by_row or is_searched(self.n_records, self.lattice.size):
            return self.by_subject()
        records, policies = np.zeros(0, dtype=np.intp), list(publisher.policies)
        study = self._with_own_rows(records)
        while policies:
            try:
                policy_named(policies[0]).choose(study, study.belief, 0)
                del policies[0]
            except CoarseRows as coarse:
                found = [records]
                for group_of_row, left in coarse.split:
                    for part in parts_of(self.n_records):
                        group = group_of_row[study.cell_of_record[part]]
                        order = np.argsort(group, kind="stable")[np.count_nonzero(group < 0) :]
                        of = group[order]
                        taken = np.arange(len(of)) - np.searchsorted(of, of) < left[of]
                        found.append(part.start + order[taken])
                        left = left - np.bincount(of[taken], minlength=len(left))
                records = np.unique(np.concatenate(found))
                study = self._with_own_rows(records)
        return study

    def among(self, participants: NDArray[np.int64]) -> TablesStudy:
        """Return the study on the records of data subjects who participate.

        Cells and game rows are unchanged, also without participants. Safe Harbor generalizations do not change, because
        Safe Harbor counts residents and not participants.

        Parameters
        ----------
        participants : ndarray of int64, shape (n_rows,)
            Number of participants in each game row; the sum is at least 1.
        """
        kept, persons = dict[tuple[object, ...], Linker](), self.persons
        for risk in self.scenario.risks:
            # Participation changes the released table, on which prosecutor risk depends. The population stays.
            if self.people(risk) is not self.dataset:
                self.linker(risk)
                kept |= {key: each for key, each in self.linkers.items() if key[1] == risk}
        if persons is not None:
            persons, cells = persons.among(participants)
            dataset: Population = persons.counted(self.dataset.name)
        else:
            cells, codes = np.repeat(np.arange(self.lattice.n_records), participants), self.lattice.codes
            dataset = Population.from_records(self.lattice.domain, codes, participants, name=self.dataset.name)
        return replace(self, cell_of_record=cells, dataset=dataset, persons=persons, linkers=kept)

    @property
    def fingerprint(self) -> str:
        """SHA-256, as text, of records, hierarchies, payoff parameters, people and lists."""
        waves, drawn, persons = self.waves, self.drawn, self.persons
        lists = () if drawn is None else drawn.lists.values()
        codes, cells, kind = self.lattice.codes, self.cell_of_record, self.kind
        of_rows: Iterable[Any]
        if self.scenario.looks_up and persons is None:
            # The hash of equal records is the same, whether or not each has its own game row.
            parts = [*parts_of(len(cells))]
            of_records = (each[cells[part]] for each in (codes, kind) for part in parts)
            of_rows = itertools.chain(of_records, (np.arange(part.start, part.stop) for part in parts))
        else:
            of_rows = itertools.chain([codes], (cells[part].astype(np.int64) for part in parts_of(len(cells))), [kind])
        others: list[Any] = [
            *(hierarchy.groups for hierarchy in self.lattice.hierarchies),
            *(getattr(self.prices, price) for price in PRICES),
            *(persons and persons.of_record, self.household_of),
            *(() if waves is None else (waves.enters, waves.leaves, waves.sensitive)),
            *(each.codes for each in (() if self.sensitive is None else self.sensitive.columns)),
            *(self.population, self.sampled, *(study.registry for study in self.each.values())),
            drawn and drawn.person,
            *(column for each in lists for column in (each.person, *each.columns.values())),
        ]
        return digest_of(repr([h.labels for h in self.lattice.hierarchies]), itertools.chain(of_rows, others))


def _linkage_of(section: AdversarySection) -> tuple[object, ...]:
    """Return the settings of an adversary that determine its linker, as a tuple.

    Two sections with equal tuples have equal linkers on the same study.
    """
    plan = section.sequential if section.plans_sequentially else None
    settings = (section.knowledge, section.stages, section.holds, section.risk, section.direction, section.gains_from)
    return (*settings, plan and (plan.registry, plan.belief))
