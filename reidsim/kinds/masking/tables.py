"""The tables of a masking scenario: targets and resources, drawn from people or as files have them, in numbers."""

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
from reidsim.populations.people_lists import PeopleList
from reidsim.populations.sampling import UNKNOWN
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.people_lists import ListsOfPeople

# Code of an unknown allele.
NO_ALLELE = 0

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MaskingTables:
    """Where targets and resources come from.

    Parameters
    ----------
    loaded : LoadedScenario
    loci : tuple of str
        Attributes whose values are alleles, 0 for unknown.
    values : mapping of str to ndarray of int64, shape (n_people,)
        Attributes of the people that tables are drawn from; of none, if tables are files.
    labels : mapping of str to tuple of str
        Of attributes whose numbers are codes of categories.
    files : mapping of str to PersonTable
        Tables that were read.
    lists : ListsOfPeople, optional
        Resources that are lists drawn from the people.
    rows : ndarray of int64, shape (n_people,)
        The row of the population that each of the people is.
    """

    loaded: LoadedScenario[MaskingScenario]
    loci: tuple[str, ...]
    values: Mapping[str, Integers]
    labels: Mapping[str, tuple[str, ...]]
    files: Mapping[str, PersonTable]
    lists: ListsOfPeople | None = None
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def are_drawn_from(self, loaded: LoadedScenario[MaskingScenario]) -> bool:
        """Return whether the tables of another scenario are drawn from these people."""
        own = self.loaded
        return not self.files and (own.folder, own.scenario.population) == (loaded.folder, loaded.scenario.population)

    @cached_property
    def n_people(self) -> int:
        """People that tables are drawn from."""
        return len(next(iter(self.values.values()))) if self.values else 0

    @property
    def prices(self) -> dict[str, float]:
        """Price of each resource for its buyers."""
        given = {name: section.price or 0.0 for name, section in self.loaded.scenario.resources.items()}
        return given if self.lists is None else {**given, **self.lists.prices}

    @property
    def buyers(self) -> dict[str, tuple[str, ...]]:
        """Possible holders of the resources; a resource without an entry may have any."""
        resources = self.loaded.scenario.resources
        given = {name: section.buyers for name, section in resources.items() if section.buyers is not None}
        return given if self.lists is None else {**given, **self.lists.buyers}

    def draw(
        self, rng: np.random.Generator, sizes: Mapping[str, int] | None = None, replication: int = 0
    ) -> dict[str | None, MultistageWorld]:
        """Draw targets and resources, or take the files, and return the world that each adversary attacks.

        The people are put in random order: targets come first, resources that hold them start with them, and
        resources of others are taken from the end (Wan et al. 2021). A target counts as registered if drawn for the
        registry on which the attack ends, or in files if someone there has all that the attack links on.

        Parameters
        ----------
        rng : numpy.random.Generator
        sizes : mapping of str to int, optional
            Of resources, instead of the scenario's. They hold the same people with the same missing alleles, as far
            as they go.
        replication : int
            Number of the draw of the lists of people, each with streams of its own.

        Returns
        -------
        dict of str to MultistageWorld
            By adversary, None if there is one: of the same tables; who is registered depends on where an attack ends.

        Raises
        ------
        InputError
            If there are too few people for tables that have nobody in common.
        """
        scenario = self.loaded.scenario
        if self.files:
            resources = {name: self.files[name] for name in scenario.resources}
            return self._as_attacked(self.files[TARGETS], resources, {}, self._found_in_registry)
        order = rng.permutation(self.n_people)
        samples = {name: section for name, section in scenario.resources.items() if not section.is_list}
        anyone = {name: rng.permutation(self.n_people) for name, of in samples.items() if of.holds == "anyone"}
        true_rows = self._rows(order, anyone, {})
        # Drawn for the scenario's own sizes first, so that beliefs change nobody's alleles.
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
        """Return who is in the targets and in each resource that is drawn, given the people in random order."""
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
        """Return the world of each adversary, given who is registered: one object for equal ends of attacks."""
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
        """Return for each target of a file whether the registry has someone with all linked values.

        Raises
        ------
        InputError
            If the registry is said to hold all targets and does not; names the row.
        """
        name, on = scenario.register, scenario.linked_on
        targets, registry = self.files[TARGETS], self.files[name]
        if not (set(on) <= set(targets.columns) and set(on) <= set(registry.columns)):
            # The error of the attack itself is clearer.
            return None
        groups = RowGroups([registry.column(attribute) for attribute in on], registry.n_rows)
        found = np.asarray(groups.find([targets.column(attribute) for attribute in on], targets.n_rows) >= 0)
        if scenario.resources[name].holds == "targets" and not found.all():
            row = int((~found).argmax())
            raise InputError(
                f"target is not in resource {name!r}, which is said to hold all targets",
                source=targets.name,
                where=f"row {row + 1}",
                found={each: self.label(each, targets.column(each)[row : row + 1])[0] for each in on},
                expected=f"someone like that in {registry.name}",
            )
        return found

    def _size(self, size: int | None, most: int, name: str, *, least: int = 1) -> int:
        if size is None or not least <= size <= most:
            where = "targets.size" if name == TARGETS else f"resources.{name}.size"
            raise InputError("size that cannot be drawn", where=where, found=size, expected=f"{least} to {most}")
        return size

    def _listed(self, drawn: PeopleList) -> PersonTable:
        """Return a list as a table: 0 for unknown alleles, as everywhere, and other missing values apart."""
        columns = {name: np.where(values == UNKNOWN, 0, values) for name, values in drawn.columns.items()}
        missing = {name: values == UNKNOWN for name, values in drawn.columns.items() if name not in self.loci}
        return PersonTable(drawn.name, columns, missing=missing)

    def _loci_of(self, name: str) -> list[str]:
        return [attribute for attribute in self.loaded.scenario.resources[name].attributes if attribute in self.loci]

    def _lost(self, name: str, n_people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which alleles of people in a resource are missing: shape (people, loci), exactly the given share."""
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
        """Return the missing alleles of other people; people known to both keep theirs."""
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
