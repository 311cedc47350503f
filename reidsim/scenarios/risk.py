"""From a scenario of the kind ``risk`` to released records and what adversaries may know about their persons."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, everything
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.knowledge.network import Network
from reidsim.adversaries.knowledge.uniqueness import EstimatedUniqueness, KnownPopulation, UniquenessModel
from reidsim.bundled import resolve
from reidsim.errors import InputError
from reidsim.linkage.uniqueness.estimate import FixedUniqueness
from reidsim.linkage.value_tree import ValueTree
from reidsim.populations.catalogue import load_population
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import hierarchy_from_rows
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.risk_schema import RISK_COLUMNS, WORST_CASE, RiskScenario, TreeSection
from reidsim.scenarios.schema import ScenarioHead
from reidsim.tables import read_table, require_columns


@dataclass(frozen=True, eq=False)
class Release:
    """Released records.

    Parameters
    ----------
    domain : Domain
        Ungeneralized values.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Nodes of the value tree where an attribute has one.
    trees : dict of str to ValueTree
    """

    domain: Domain
    codes: Codes
    trees: dict[str, ValueTree]

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class RiskStudy:
    """A scenario of the kind ``risk`` with everything it names at hand.

    Parameters
    ----------
    loaded : LoadedScenario
    population : Population, optional
        Over the attributes that are released.
    file : Release, optional
        The records, if they come from a file.
    """

    loaded: LoadedScenario[RiskScenario]
    population: Population | None
    file: Release | None

    @property
    def scenario(self) -> RiskScenario:
        """The scenario as run."""
        return self.loaded.scenario

    @property
    def domain(self) -> Domain:
        """Attributes that are released, and their ungeneralized values."""
        if self.file is not None:
            return self.file.domain
        assert self.population is not None  # noqa: S101 - held by the schema, said for the type checker
        return self.population.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Records of each kind of release."""
        return self.scenario.release.sizes if self.file is None else (self.file.n_records,)

    @property
    def n_samples(self) -> int:
        """Releases of each size."""
        return self.scenario.release.samples

    @cached_property
    def network(self) -> Network:
        """Capabilities of the adversary."""
        return Network(**self.scenario.network.model_dump())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the people or records; changes with any data that matter."""
        arrays: list[NDArray[np.number[Any]]] = [] if self.file is None else [self.file.codes]
        arrays += [] if self.population is None else [self.population.cells, self.population.counts]
        digest = hashlib.sha256(repr(self.domain).encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def release(self, size: int, sample: int) -> Release:
        """Return the records of a sample: people drawn without replacement, in random order.

        A sample depends on the seed, its size and number only.
        """
        if self.file is not None:
            return self.file
        people = self.population
        assert people is not None  # noqa: S101 - held by the schema, said for the type checker
        rng = self.stream("sample", size, sample)
        drawn = rng.choice(int(people.total), size, replace=False)
        cell = np.searchsorted(np.cumsum(people.counts), drawn, side="right")
        return Release(people.domain, people.cells[cell], {})

    def knowledge(self, release: Release) -> dict[str, Knowledge]:
        """Return what each adversary may know about the persons of a release, the worst case first."""
        found = {WORST_CASE: everything(release.domain.names, release.n_records)}
        for name, recipe in self.scenario.knowledge.items():
            try:
                found[name] = load_knowledge(recipe, release.domain, release.codes, base=self.loaded.folder)
            except InputError as error:
                raise error.located(self.loaded.path, f"knowledge.{name}") from None
        return found

    def uniqueness(self) -> UniquenessModel:
        """Return what journalist risk rests on."""
        section = self.scenario.uniqueness
        if section.method == "fixed":
            assert section.value is not None  # noqa: S101 - held by the schema, said for the type checker
            return FixedUniqueness(section.value)
        if section.method == "known":
            assert self.population is not None  # noqa: S101 - held by the schema, said for the type checker
            return KnownPopulation(self.population.cells, self.population.counts.astype(np.int64))
        assert section.population_size is not None  # noqa: S101 - held by the schema, said for the type checker
        return EstimatedUniqueness(section.method, section.population_size, section.level, self.scenario.seed)

    def stream(self, what: str, size: int, sample: int) -> np.random.Generator:
        """Return the generator of a draw for one sample."""
        key = (*f"risk {what}".encode(), size, sample)
        return np.random.default_rng(np.random.SeedSequence(self.scenario.seed, spawn_key=key))


def is_risk(loaded: LoadedScenario[ScenarioHead]) -> TypeGuard[LoadedScenario[RiskScenario]]:
    """Tell whether a scenario asks how identifiable a given release is."""
    return isinstance(loaded.scenario, RiskScenario)


def build_risk_study(loaded: LoadedScenario[RiskScenario]) -> RiskStudy:
    """Read everything that a scenario of the kind ``risk`` names.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, or a sample is larger than the population.
    """
    scenario = loaded.scenario
    try:
        population = _population(loaded)
        if scenario.release.path is not None:
            study = _file_study(loaded, population)
        else:
            assert population is not None  # noqa: S101 - held by the schema, said for the type checker
            too_large = [size for size in scenario.release.sizes if size > population.total]
            if too_large:
                raise InputError(
                    "a sample larger than the population",
                    where="release.sizes",
                    found=too_large[0],
                    expected=f"at most {population.total:,.0f}",
                )
            study = RiskStudy(loaded, _over(population, scenario.release.attributes), None)
        taken = [name for name in study.domain.names if name in RISK_COLUMNS]
        if taken:
            raise InputError("name of a column of the results", where="release.attributes", found=taken[0])
    except InputError as error:
        raise error.located(loaded.path) from None
    return study


def _population(loaded: LoadedScenario[RiskScenario]) -> Population | None:
    section = loaded.scenario.population
    if section is None:
        return None
    recipe = resolve(section.recipe, "populations", "population", base=loaded.folder)
    population = load_population(recipe, seed=section.seed)
    if not np.issubdtype(population.counts.dtype, np.integer):
        raise InputError("people are drawn from whole counts", where="population.recipe", found=section.recipe)
    return population


def _over(population: Population, attributes: tuple[str, ...]) -> Population:
    try:
        return population.marginal(attributes or population.domain.names)
    except InputError as error:
        raise error.located(where="release.attributes") from None


def _file_study(loaded: LoadedScenario[RiskScenario], population: Population | None) -> RiskStudy:
    """Read the records of a file; values are those of value trees, of the population, or those seen."""
    section, trees = loaded.scenario.release, loaded.scenario.trees
    path = loaded.folder / str(section.path)
    frame = read_table(path, delimiter=section.delimiter, comment="#")
    shown = {column: attribute for attribute, column in section.columns.items()}
    names = section.attributes or tuple(shown.get(str(column), str(column)) for column in frame.columns)
    for key, named in (("trees", trees), ("release.columns", section.columns)):
        for name in named:
            if name not in names:
                raise InputError("no such attribute", where=key, found=name, expected=f"one of {', '.join(names)}")
    column_of = {name: section.columns.get(name, name) for name in names}
    require_columns(frame, column_of.values(), path)
    people = None if population is None else _over(population, names)
    made, codes, attributes = {}, [], []
    for name, column in column_of.items():
        values = frame[column]
        try:
            if name in trees:
                made[name] = _tree(name, trees[name], loaded.folder)
                codes.append(made[name].encode(values, column))
                attributes.append(made[name].attribute)
            else:
                known = Attribute(name, natural_categories(values)) if people is None else people.domain[name]
                attributes.append(known)
                codes.append(attributes[-1].encode(values, column))
        except InputError as error:
            raise error.located(path) from None
    domain = Domain(tuple(attributes))
    for attribute in () if people is None else people.domain.attributes:
        if domain[attribute.name] != attribute:
            raise InputError(
                "the value tree has other values than the population",
                where=f"trees.{attribute.name}",
                found=", ".join(domain[attribute.name].categories),
                expected=", ".join(attribute.categories),
            )
    return RiskStudy(loaded, people, Release(domain, np.column_stack(codes), made))


def _tree(name: str, section: TreeSection, folder: Path) -> ValueTree:
    try:
        if section.file is None:
            return ValueTree.from_groups(name, section.groups)
        rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
        attribute = Attribute(name, tuple(dict.fromkeys(row[0] for row in rows)))
        return ValueTree.from_hierarchy(hierarchy_from_rows(attribute, rows))
    except InputError as error:
        raise error.located(where=f"trees.{name}") from None
