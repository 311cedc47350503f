"""Draw the targets and resources of a masking scenario, or take them from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.world import ListedTargets, MultistageWorld, PersonTable
from reidsim.errors import InputError
from reidsim.kinds.masking.schema import TARGETS, MaskingScenario
from reidsim.linkage.row_groups import RowGroups
from reidsim.populations.drawn_lists import PeopleList
from reidsim.populations.sampling import UNKNOWN
from reidsim.scenarios.drawn_lists import ListsOfPeople
from reidsim.scenarios.load import Scenario

# Code of an unknown allele.
NO_ALLELE = 0

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MaskingTables:
    """Sources of the targets and resources of a masking scenario.

    Parameters
    ----------
    loaded : Scenario
    loci : tuple of str
        Attributes whose values are alleles, 0 for unknown.
    values : mapping of str to ndarray of int64, shape (n_people,)
        Attributes of the population; empty if tables are files.
    labels : mapping of str to tuple of str
        Labels of attributes whose numbers are codes of categories.
    files : mapping of str to PersonTable
        Tables from files, by name.
    lists : ListsOfPeople, optional
        Resources that are lists drawn from the population.
    rows : ndarray of int64, shape (n_people,)
        Row of each person in the population; empty if tables are files.
    """

    loaded: Scenario[MaskingScenario]
    loci: tuple[str, ...]
    values: Mapping[str, Integers]
    labels: Mapping[str, tuple[str, ...]]
    files: Mapping[str, PersonTable]
    lists: ListsOfPeople | None = None
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def are_drawn_from(self, loaded: Scenario[MaskingScenario]) -> bool:
        """Return whether another scenario's tables are drawn from the same people."""
        own = self.loaded
        return not self.files and (own.folder, own.scenario.population) == (loaded.folder, loaded.scenario.population)

    @cached_property
    def n_people(self) -> int:
        """Number of people in the population of the tables."""
        return len(next(iter(self.values.values()))) if self.values else 0

    @property
    def prices(self) -> dict[str, float]:
        """Price of each resource for its buyers, in currency units; 0 without a price."""
        given = {name: section.price or 0.0 for name, section in self.loaded.scenario.resources.items()}
        return given if self.lists is None else {**given, **self.lists.prices}

    @property
    def buyers(self) -> dict[str, tuple[str, ...]]:
        """Possible holders by resource; any adversary may hold an unlisted resource."""
        resources = self.loaded.scenario.resources
        given = {name: section.buyers for name, section in resources.items() if section.buyers is not None}
        return given if self.lists is None else {**given, **self.lists.buyers}

    def draw(
        self, rng: np.random.Generator, sizes: Mapping[str, int] | None = None, replication: int = 0
    ) -> dict[str | None, MultistageWorld]:
        """Draw targets and resources, or take the files, for each adversary.

        The people are put in random order: the targets come first, resources that contain the targets start with them,
        and resources of other people are taken from the end (Wan et al. 2021). A drawn target is registered if it is
        also in the registry, the resource of the last stage. With files, a target is registered if a row of the
        registry has all its linked values.

        Parameters
        ----------
        rng : numpy.random.Generator
        sizes : mapping of str to int, optional
            Sizes of resources in place of the scenario's sizes. As far as the sizes allow, a resource has the same
            people with the same missing alleles.
        replication : int
            Number of the draw of the lists of people; each number has its own random streams.

        Returns
        -------
        dict of str to MultistageWorld
            World by adversary; the key is None for a single adversary. All worlds have the same tables. They differ in
            the registered targets, which depend on the last stage of the attack.

        Raises
        ------
        InputError
            If there are too few people for disjoint tables.
        """
        scenario = self.loaded.scenario
        if self.files:
            resources = {name: self.files[name] for name in scenario.resources}
            return self._as_attacked(self.files[TARGETS], resources, {}, self._found_in_registry)
        order = rng.permutation(self.n_people)
        samples = {name: section for name, section in scenario.resources.items() if not section.is_list}
        anyone = {name: rng.permutation(self.n_people) for name, of in samples.items() if of.holds == "anyone"}
        true_rows = self._rows(order, anyone, {})
        # Draw for the scenario's own sizes first, so that beliefs do not change the alleles of a person.
        lost = {name: self._lost(name, len(true_rows[name]), rng) for name in samples}
        rows = self._rows(order, anyone, sizes) if sizes else true_rows
        targets = PersonTable(TARGETS, {attribute: values[rows[TARGETS]] for attribute, values in self.values.items()})
        resources = {}
        for name in samples:
            if sizes:
                lost[name] = self._lost_of_others(name, true_rows[name], lost[name], rows[name], rng)
            resources[name] = self._resource(name, rows[name], lost[name])
        drawn = {} if self.lists is None else self.lists.draw(scenario.seed, replication)
        resources |= {name: self._listed(each) for name, each in drawn.items()}
        rows |= {name: each.person for name, each in drawn.items()}
        listed = {name: ListedTargets(each.record_of[rows[TARGETS]], each.coverage) for name, each in drawn.items()}
        resources = {name: resources[name] for name in scenario.resources}
        return self._as_attacked(
            targets, resources, listed, lambda attacked: np.isin(rows[TARGETS], rows[attacked.register])
        )

    def _rows(
        self, order: NDArray[np.intp], anyone: Mapping[str, NDArray[np.intp]], sizes: Mapping[str, int]
    ) -> dict[str, NDArray[np.intp]]:
        """Return the people in the targets and in each sampled resource, by table.

        People are numbered as in `values`. `order` contains all of them in random order, and `anyone` an own order for
        each resource that holds anyone; `sizes` replaces sizes of the scenario.
        """
        scenario = self.loaded.scenario
        samples = {name: section for name, section in scenario.resources.items() if not section.is_list}
        n_targets = self._size(scenario.targets.size, self.n_people, TARGETS)
        rows = {TARGETS: order[:n_targets]}
        taken, end = n_targets, self.n_people
        for name, section in samples.items():
            if section.holds == "targets":
                size = self._size(sizes.get(name, section.size), self.n_people, name, least=n_targets)
                rows[name] = order[:size]
                taken = max(taken, size)
        for name, section in samples.items():
            if section.holds == "others":
                size = self._size(sizes.get(name, section.size), end - taken, name)
                rows[name] = order[end - size : end]
                end -= size
            elif section.holds == "anyone":
                rows[name] = anyone[name][: self._size(sizes.get(name, section.size), self.n_people, name)]
        return rows

    def _as_attacked(
        self,
        targets: PersonTable,
        resources: Mapping[str, PersonTable],
        listed: Mapping[str, ListedTargets],
        registered: Callable[[MaskingScenario], NDArray[np.bool_] | None],
    ) -> dict[str | None, MultistageWorld]:
        """Return the world of each adversary.

        Adversaries with the same registry and linked attributes share one object. `registered` returns the registered
        targets of a scenario.
        """
        by_end: dict[tuple[str, tuple[str, ...]], MultistageWorld] = {}
        found = {}
        for name, scenario in self.loaded.scenario.each.items():
            end = scenario.register, scenario.linked_on
            if end not in by_end:
                by_end[end] = MultistageWorld(targets, resources, registered(scenario), listed)
            found[name] = by_end[end]
        return found

    def label(self, attribute: str, values: Integers) -> list[str]:
        """Return values of an attribute as text."""
        labels = self.labels.get(attribute)
        return [str(value) if labels is None else labels[value] for value in values.tolist()]

    def _found_in_registry(self, scenario: MaskingScenario) -> NDArray[np.bool_] | None:
        """Return whether a registry row has all linked values of each target of a file.

        Raises
        ------
        InputError
            If the registry should contain all targets but does not; the message names the row.
        """
        name, on = scenario.register, scenario.linked_on
        targets, registry = self.files[TARGETS], self.files[name]
        if not (set(on) <= set(targets.columns) and set(on) <= set(registry.columns)):
            # The attack reports missing attributes with a clearer error.
            return None
        groups = RowGroups([registry.column(attribute) for attribute in on], registry.n_rows)
        found = np.asarray(groups.find([targets.column(attribute) for attribute in on], targets.n_rows) >= 0)
        if scenario.resources[name].holds == "targets" and not found.all():
            row = int((~found).argmax())
            raise InputError(
                f'a target is not in resource {name!r}, although holds = "targets"',
                source=targets.name,
                where=f"row {row + 1}",
                found={each: self.label(each, targets.column(each)[row : row + 1])[0] for each in on},
                expected=f"a person with these values in {registry.name}",
            )
        return found

    def _size(self, size: int | None, most: int, name: str, *, least: int = 1) -> int:
        if size is None or not least <= size <= most:
            where = "targets.size" if name == TARGETS else f"resources.{name}.size"
            raise InputError("size out of range", where=where, found=size, expected=f"{least} to {most}")
        return size

    def _listed(self, drawn: PeopleList) -> PersonTable:
        """Return a list as a table: 0 for unknown alleles, masks for other missing values."""
        columns = {name: np.where(values == UNKNOWN, 0, values) for name, values in drawn.columns.items()}
        missing = {name: values == UNKNOWN for name, values in drawn.columns.items() if name not in self.loci}
        return PersonTable(drawn.name, columns, missing=missing)

    def _loci_of(self, name: str) -> list[str]:
        return [attribute for attribute in self.loaded.scenario.resources[name].attributes if attribute in self.loci]

    def _lost(self, name: str, n_people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return the missing alleles of people in a resource, shape (people, loci).

        The share of missing alleles is exact, except for rounding down.
        """
        share = self.loaded.scenario.resources[name].missing_alleles
        lost = np.zeros((n_people, len(self._loci_of(name))), dtype=np.bool_)
        if share and lost.size:
            lost.ravel()[rng.choice(lost.size, int(lost.size * share), replace=False, shuffle=False)] = True
        return lost

    def _lost_of_others(
        self,
        name: str,
        known: NDArray[np.intp],
        lost: NDArray[np.bool_],
        rows: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> NDArray[np.bool_]:
        """Return missing alleles after a change of people; people in both keep theirs."""
        place = np.full(self.n_people, -1, dtype=np.int64)
        place[known] = np.arange(len(known))
        places = place[rows]
        found = np.empty((len(rows), lost.shape[1]), dtype=np.bool_)
        found[places >= 0] = lost[places[places >= 0]]
        found[places < 0] = self._lost(name, int((places < 0).sum()), rng)
        return found

    def _resource(self, name: str, rows: NDArray[np.intp], lost: NDArray[np.bool_]) -> PersonTable:
        attributes = self.loaded.scenario.resources[name].attributes
        columns = {attribute: self.values[attribute][rows] for attribute in attributes}
        for position, locus in enumerate(self._loci_of(name)):
            columns[locus][lost[:, position]] = NO_ALLELE
        return PersonTable(name, columns)
