"""Build the study of a scenario of kind ``risk``: records and knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reidsim.adversaries.knowledge.expectation import Network
from reidsim.adversaries.knowledge.groups import Knowledge, everything
from reidsim.adversaries.knowledge.load import RecordsFile, load_knowledge
from reidsim.adversaries.knowledge.uniqueness import EstimatedUniqueness, KnownPopulation, UniquenessModel
from reidsim.errors import InputError, locating, require_among
from reidsim.kinds.assessment.release import Release, population_over, read_release
from reidsim.kinds.assessment.schema import RISK_COLUMNS, WORST_CASE, RiskScenario
from reidsim.linkage.uniqueness.estimate import FixedUniqueness
from reidsim.populations.domain import Domain
from reidsim.populations.population import Population
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import HOUSEHOLD, PERSON
from reidsim.scenarios.python_objects import people_named
from reidsim.scenarios.study import Study, World, digest_of


@dataclass(frozen=True, eq=False)
class RiskStudy(Study[RiskScenario]):
    """A scenario of the kind ``risk`` with its data.

    Parameters
    ----------
    loaded : Scenario
    population : Population, optional
        Population by the released attributes.
    file : Release, optional
        The records, if they come from a file.
    """

    population: Population | None
    file: Release | None

    @property
    def domain(self) -> Domain:
        """Released attributes, with their ungeneralized values."""
        if self.file is not None:
            return self.file.domain
        assert self.population is not None  # noqa: S101 - the schema guarantees it; for the type checker
        return self.population.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of records of the releases: of each sample size, or of the file."""
        return self.scenario.release.sizes if self.file is None else (self.file.n_records,)

    @property
    def n_samples(self) -> int:
        """Number of releases of each size; 1 for a file."""
        return self.scenario.release.samples

    @cached_property
    def network(self) -> Network:
        """Capabilities of the adversary."""
        return Network(**self.scenario.network.model_dump())

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the people or records; changes with any relevant data."""
        file, parts = self.file, []
        if file is not None:
            parts = [file.codes, file.persons, file.weights, file.person, file.household]
        return digest_of(repr(self.domain), [*parts, self.population])

    def release(self, size: int, sample: int) -> Release:
        """Return the records of a sample, or of the file.

        A sample consists of people in random order, drawn without replacement. It depends only on the seed, its size
        and its number.
        """
        if self.file is not None:
            return self.file
        people = self.population
        assert people is not None  # noqa: S101 - the schema guarantees it; for the type checker
        rng = self.stream("sample", size, sample)
        drawn = rng.choice(int(people.total), size, replace=False)
        cell = np.searchsorted(np.cumsum(people.counts), drawn, side="right")
        return Release(people.domain, people.cells[cell], {})

    def knowledge(self, release: Release) -> dict[str, Knowledge]:
        """Return the knowledge of each adversary about the persons of a release.

        The worst case comes first.
        """
        found = {WORST_CASE: everything(release.domain.names, release.n_records)}
        folder, section = self.loaded.folder, self.scenario.release
        # Rows of a simulated cohort do not correspond to rows of the file.
        file = str(section.persons or section.path) if release is self.file else None
        records = None if file is None else RecordsFile(folder / file, section.columns)
        persons = release.codes if release.persons is None else release.persons
        for name, recipe in self.scenario.knowledge.items():
            try:
                found[name] = load_knowledge(recipe, release.domain, persons, base=folder, records=records)
            except InputError as error:
                # An error inside a recipe or file already names its source, which is not a key of the scenario.
                raise error if error.source else error.located(self.loaded.path, f"knowledge.{name}") from None
        return found

    def uniqueness(self) -> UniquenessModel:
        """Return the model of population uniqueness behind journalist risk.

        The model gives the probability that a sample unique is a population unique: a fixed value, a count in the known
        population, or an estimate.
        """
        section = self.scenario.uniqueness
        if section.method == "fixed":
            assert section.value is not None  # noqa: S101 - the schema guarantees it; for the type checker
            return FixedUniqueness(section.value)
        if section.method == "known":
            assert self.population is not None  # noqa: S101 - the schema guarantees it; for the type checker
            return KnownPopulation(self.population.cells, self.population.counts.astype(np.int64))
        weights = None if self.file is None else self.file.weights
        size = section.population_size if weights is None else round(float(weights.sum()))
        assert size is not None  # noqa: S101 - the schema guarantees it; for the type checker
        return EstimatedUniqueness(section.method, size, section.level, self.scenario.seed, weights=weights)

    def world(self, draw: int = 0) -> World:
        """Raise an error: this kind of scenario has no game."""
        raise InputError("this kind of scenario has no policies", source=self.loaded.path, where="game", found="risk")

    def stream(self, what: str, size: int, sample: int) -> np.random.Generator:
        """Return a random generator by purpose, size of the release and sample number.

        `what` names the purpose of the draw, so that draws for different purposes are independent.
        """
        key = (*f"risk {what}".encode(), size, sample)
        return np.random.default_rng(np.random.SeedSequence(self.scenario.seed, spawn_key=key))


def build_risk_study(loaded: Scenario[RiskScenario]) -> RiskStudy:
    """Read the files and recipes of a scenario of the kind ``risk``.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, a sample is larger than the population, an attribute has the name of a
        column of the results, or the scenario names an attribute that is not released.
    """
    scenario = loaded.scenario
    with locating(loaded.path):
        population = _population(loaded)
        if scenario.release.path is not None:
            file, population = read_release(loaded, population)
            study = RiskStudy(loaded, population, file)
        else:
            assert population is not None  # noqa: S101 - the schema guarantees it; for the type checker
            too_large = [size for size in scenario.release.sizes if size > population.total]
            if too_large:
                raise InputError(
                    "the sample is larger than the population",
                    where="release.sizes",
                    found=too_large[0],
                    expected=f"at most {population.total:,.0f}",
                )
            study = RiskStudy(loaded, population_over(population, scenario.release.attributes), None)
        _check_settings(scenario)
        section = scenario.release
        keyed = (PERSON,) * (section.person is not None) + (HOUSEHOLD,) * (section.household is not None)
        taken = [name for name in study.domain.names if name in (*RISK_COLUMNS, *keyed)]
        if taken:
            raise InputError(
                "attribute name reserved for a column of the results", where="release.attributes", found=taken[0]
            )
        groups = () if scenario.threshold is None else scenario.threshold.groups
        require_among("no such attribute", groups, study.domain.names, where="threshold.groups")
        alike = () if scenario.threshold is None else scenario.threshold.like_members
        require_among("no such attribute", alike, study.domain.names, where="threshold.like_members")
    return study


def _population(loaded: Scenario[RiskScenario]) -> Population | None:
    section = loaded.scenario.population
    if section is None:
        return None
    population = people_named(section.recipe, loaded, seed=section.seed)
    if not np.issubdtype(population.counts.dtype, np.integer):
        raise InputError("samples need whole numbers of people", where="population.recipe", found=section.recipe)
    return population


def _check_settings(scenario: RiskScenario) -> None:
    """Check that the samples of ``figures.settings`` exist."""
    settings = scenario.figures.settings
    if settings is not None and settings.records is not None and settings.records not in scenario.release.sizes:
        raise InputError(
            "no sample of this size",
            where="figures.settings.records",
            found=settings.records,
            expected=f"one of {', '.join(map(str, scenario.release.sizes)) or 'none, with a file'}",
            hint="choose one of release.sizes",
        )
