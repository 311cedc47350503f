"""Schema and study of a scenario of kind ``risk``: keys, records and knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.adversaries.knowledge.assessment import EstimatedUniqueness, KnownPopulation, Network, UniquenessModel
from reidsim.adversaries.knowledge.groups import Knowledge, RecordsFile, everything, load_knowledge
from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among
from reidsim.core.tables import read_table, require_columns
from reidsim.core.validation import Section, with_csv_file
from reidsim.linkage.equivalence import TOP, ValueTree
from reidsim.linkage.people import largest_in_groups
from reidsim.linkage.uniqueness import FixedUniqueness, weights_in
from reidsim.populations.population import Attribute, Codes, Domain, Population, exactly_one, natural_categories
from reidsim.releases.hierarchy import SUPPRESSED, hierarchy_from_rows, read_hierarchy_rows
from reidsim.releases.lattice import Floats
from reidsim.scenarios import schema
from reidsim.scenarios.kind import HOUSEHOLD, PERSON, Keys, digest_of, key_columns, keys_of_records, require_same
from reidsim.scenarios.scenario import Scenario, Study, World, people_named

# Columns of the tables of a run, in addition to the attributes.
RISK_NAMES = ("journalist", "prosecutor", "marketer", "overall")
RISK_COLUMNS = (
    *("record", "records", "knowledge", "journalist_low", "journalist_high", *RISK_NAMES),
    *(f"{risk}_standard_error" for risk in RISK_NAMES),
)
WORST_CASE = "worst-case"

Shares = Annotated[tuple[schema.Share, ...], Field(min_length=1)]


class RiskPopulationSection(Section):
    """The population of the records.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    """

    recipe: str
    seed: schema.PopulationSeed = None


class RiskReleaseSection(Section):
    """The released records: random samples of the population, or a file.

    Attributes
    ----------
    sizes
        number of records in each random sample, drawn without replacement
    samples
        number of samples of each size
    path
        CSV or Parquet file of records, in place of samples
    persons
        file of the true values before generalization, with the rows and columns of `path`
    delimiter
        column separator of a CSV file
    attributes
        released attributes; default: all
    columns
        column of the file, by attribute; default: the attribute's name
    weight
        column with sampling weights, each at least 1
    person
        column that identifies the person of each record, or columns whose combined values do; risks are then computed
        by person
    household
        column that identifies the person's household; with it, results have the measure `household_risk`
    """

    sizes: Annotated[tuple[schema.Count, ...], schema.distinct("value given twice")] = ()
    samples: Annotated[schema.Count, schema.with_key("sizes")] = 1
    path: schema.Text | None = None
    persons: Annotated[schema.Text | None, schema.with_key("path")] = None
    delimiter: Annotated[schema.Delimiter, with_csv_file("path", "persons")] = ","
    attributes: Annotated[tuple[str, ...], schema.distinct("value given twice")] = ()
    columns: Annotated[dict[str, str], schema.with_key("path")] = Field(default={})
    weight: Annotated[schema.Text | None, schema.with_key("path")] = None
    person: Annotated[schema.PersonKey | None, schema.with_key("path")] = None
    household: Annotated[schema.Text | None, schema.with_key("path")] = None

    @model_validator(mode="after")
    def _consistent(self) -> RiskReleaseSection:
        exclusive = "sampling weights and a person key exclude each other"
        is_attribute = self.weight in (*self.attributes, *self.columns.values())
        attributes = [self.columns.get(name, name) for name in self.attributes]
        keys = [(key, column) for key in ("person", "household") for column in key_columns(getattr(self, key))]
        no_attribute, either = "a column that is no attribute", "either sizes or path"
        return self.unless(
            ((self.path is None) == (not self.sizes), "the records are missing or given twice", "", either, None),
            (is_attribute, "the column of sampling weights is also an attribute", "weight", None),
            (self.weight and self.person, exclusive, "weight", "either weight or person"),
            *(
                (column in attributes, f"the key of {key}s is a quasi-identifier", key, no_attribute, column)
                for key, column in keys
            ),
        )


class TreeSection(Section):
    """The groups into which values of an attribute may be generalized.

    Attributes
    ----------
    groups
        values or smaller groups in each group
    file
        hierarchy file, in place of `groups`: one row per value, one column per level
    delimiter
        column separator of the hierarchy file
    """

    groups: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default={})
    file: schema.Text | None = None
    delimiter: Annotated[schema.Delimiter, with_csv_file("file")] = ";"

    _one_way = exactly_one("groups", "file", problem="the groups are missing or given twice")


_ESTIMATES = schema.ReadIf(lambda section, scenario: section.estimates, "with a method that estimates the probability")


class UniquenessSection(Section):
    """Probability that a sample unique is a population unique.

    Attributes
    ----------
    method
        source of the probability: a fixed value, an estimate by a statistical model, or the population (`known`)
    value
        with method `fixed`: the probability
    population_size
        number of people in the population, for estimates; replaced by the sum of `release.weight`, if set
    level
        confidence level of the intervals
    """

    method: Literal["fixed", "pitman", "ewens", "zayatz", "log-linear", "benedetti-franconi", "known"] = "pitman"
    value: Annotated[schema.Share | None, schema.with_key("method", "fixed")] = None
    population_size: Annotated[schema.Count | None, _ESTIMATES] = None
    level: Annotated[float, Field(gt=0, lt=1), _ESTIMATES] = 0.95

    @model_validator(mode="after")
    def _complete(self) -> UniquenessSection:
        missing = self.method == "fixed" and self.value is None
        return self.unless((missing, "key missing", "value", "value with method 'fixed'"))

    @property
    def estimates(self) -> bool:
        """Whether the method estimates from a sample: it is neither `fixed` nor `known`."""
        return self.method not in ("fixed", "known")


class ExpectationSection(Section):
    """Computation of expectations over knowledge sets.

    Attributes
    ----------
    method
        computation of expectations: `exact` enumerates all knowledge sets, `monte-carlo` draws some, `auto` is exact
        where this is feasible
    trials
        number of knowledge sets drawn by the Monte Carlo method
    """

    method: Literal["auto", "exact", "monte-carlo"] = "auto"
    trials: Annotated[int, Field(ge=2), schema.with_key("method", "auto", "monte-carlo")] = 1000


class AttackSection(Section):
    """Gain and cost of an attack.

    Attributes
    ----------
    gain
        adversary's gain from a re-identification
    cost
        adversary's cost of an attempt
    """

    gain: schema.Money
    cost: schema.Money = 0.0


class ThresholdSection(Section):
    """The accepted risk, and the groups for which it is checked (Xia et al. 2023).

    Attributes
    ----------
    risk_accepted
        largest accepted risk of a person; .09 is the risk in a group of 11
    percentile
        share of people whose risk must not exceed the accepted risk
    risk
        risk that is compared with the accepted risk; `marketer` is 1 / group size, for people known to be in the data
    groups
        attributes whose values define the groups of people that are assessed separately
    sizes
        sizes, in people, of smaller and larger cohorts that are simulated from the release
    draws
        number of simulations of each size
    newcomers
        people added to larger cohorts: members drawn again, or other people of the population
    like_members
        attributes in which people added from the population have the same shares as the members
    """

    risk_accepted: schema.Share = 0.09
    percentile: Annotated[float, Field(gt=0, le=1)] = 0.95
    risk: Literal["marketer", "prosecutor", "journalist", "overall"] = "marketer"
    groups: tuple[str, ...] = ()
    sizes: tuple[schema.Count, ...] = ()
    draws: Annotated[schema.Count, schema.with_key("sizes")] = 20
    newcomers: Annotated[Literal["members", "population"], schema.with_key("sizes")] = "members"
    like_members: Annotated[tuple[str, ...], schema.with_key("newcomers", "population")] = ()


class SettingsSection(Section):
    """Values of capabilities; all combinations are computed.

    Attributes
    ----------
    p_m
        values of `network.p_m`
    p_fm
        values of `network.p_fm`
    p_cu
        values of `network.p_cu`
    p_c
        values of `network.p_c`
    records
        number of records in each sample; default: the first of `release.sizes`
    trials
        number of simulated outcomes per person, as in the paper; default: exact probabilities
    """

    p_m: Shares
    p_fm: Shares
    p_cu: Shares
    p_c: Shares
    records: schema.Count | None = None
    trials: schema.Count | None = None


class RiskFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    settings
        overall risk for all combinations of capabilities
    """

    settings: SettingsSection | None = None


class RiskScenario(schema.ScenarioHead):
    """Re-identification risk of a release under partial background knowledge.

    Attributes
    ----------
    game
        kind of scenario: re-identification risk of a release, without a game
    population
        population of the records; needed for samples and for uniqueness method `known`
    release
        released records
    trees
        groups into which the values of a file are generalized, by attribute
    knowledge
        knowledge recipe of each adversary, by name; each is compared with the worst case
    uniqueness
        probability that a sample unique is a population unique
    network
        capabilities of the adversary
    expectation
        computation of expectations over knowledge sets
    attack
        adversary's gain and cost; adds payoffs to the results
    threshold
        accepted risk, and the groups for which it is checked
    figures
        additional tables and figures
    """

    elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("adversary", "adversaries"),
        "an entry of section knowledge for each adversary, because this kind of scenario has no attacks",
    )

    read_if: ClassVar[Mapping[str, schema.ReadIf]] = {
        "trees": schema.ReadIf(lambda section, scenario: scenario.release.path, "with release.path")
    }

    game: Literal["risk"]
    population: RiskPopulationSection | None = None
    release: RiskReleaseSection
    trees: dict[str, TreeSection] = Field(default={})
    knowledge: dict[str, str] = Field(min_length=1)
    uniqueness: UniquenessSection
    network: Network = Network()
    expectation: ExpectationSection = ExpectationSection()
    attack: AttackSection | None = None
    threshold: ThresholdSection | None = None
    figures: RiskFiguresSection = RiskFiguresSection()

    @model_validator(mode="after")
    def _consistent(self) -> RiskScenario:
        uniqueness, release, threshold = self.uniqueness, self.release, self.threshold
        reserved = "name reserved for the worst case, which is always included"
        uses = {
            "to count population uniques": uniqueness.method == "known",
            "to draw samples": release.sizes,
            "from which newcomers are drawn": threshold is not None and threshold.newcomers == "population",
        }
        use = next((use for use, used in uses.items() if used), None)
        weighted, sized = release.weight is not None, uniqueness.population_size is not None
        key, twice = "uniqueness.population_size", "the number of people is given twice"
        needed = f"population_size with method {uniqueness.method!r}, or release.weight"
        several = len(release.sizes) > 1 or release.samples > 1 or release.person or release.weight or release.household
        cohorts = [] if threshold is None else list(threshold.sizes)
        problem = "cohorts need a single release with one record per person and no weights"
        single = "only release.path, or one value of release.sizes and one sample"
        return self.unless(
            (WORST_CASE in self.knowledge, reserved, f"knowledge.{WORST_CASE}", None, None),
            (use and self.population is None, "section missing", "population", f"a recipe, {use}", None),
            (uniqueness.estimates and not (sized or weighted), "key missing", key, needed, None),
            (uniqueness.estimates and sized and weighted, twice, key, f"either {key} or release.weight", None),
            (cohorts and several, problem, "threshold.sizes", single, cohorts),
        )


@dataclass(frozen=True, eq=False)
class Release:
    """Released records, with their hierarchies of values.

    Parameters
    ----------
    domain : Domain
        Attributes with their ungeneralized values.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Code of each value; for an attribute with a value tree, the node of the tree.
    trees : dict of str to ValueTree
        Tree of the values and groups of each attribute that has groups or suppressed values.
    persons : ndarray of int32, shape (n_records, n_attributes), optional
        Codes, in `domain`, of the true values of the persons of the records; None if unknown, in which case the
        released values replace them.
    weights : ndarray of float64, shape (n_records,), optional
        Number of people that each record represents; None if unknown.
    person : ndarray of int, shape (n_records,), optional
        Person of each record, numbered from 0; None if each record is one person.
    household : ndarray of int, shape (n_records,), optional
        Household of each record's person; None if unknown.
    people : ndarray of int64, shape (n_records,), optional
        Number of people with equal values whom each row of a simulated cohort represents; None for other releases.
    """

    domain: Domain
    codes: Codes
    trees: dict[str, ValueTree]
    persons: Codes | None = None
    weights: Floats | None = None
    person: Keys | None = None
    household: Keys | None = None
    people: NDArray[np.int64] | None = None

    @property
    def n_records(self) -> int:
        """Number of rows: records, or types of people in a simulated cohort."""
        return len(self.codes)

    @property
    def n_people(self) -> int:
        """Number of people; the number of records if each record is one person."""
        return self.n_records if self.person is None else int(self.person.max()) + 1

    @property
    def true_values(self) -> Codes:
        """Codes of the persons' true values, shape (n_records, n_attributes).

        If the true values are unknown, these are the codes of the released values.
        """
        return self.codes if self.persons is None else self.persons

    def by_person(self, risks: Floats) -> Floats:
        """Return, for each record, the largest risk among its person's records.

        Without ``release.person``, the risks are returned unchanged.

        Parameters
        ----------
        risks : ndarray of float64, shape (n_records,)
            Risk of each record.
        """
        return risks if self.person is None else largest_in_groups(risks, self.person)

    def of_people(self, risks: Floats) -> Floats:
        """Return the largest risk among each person's records, shape (n_people,).

        Persons are in the order of their numbers. Without ``release.person``, each record is a person, and the risks
        are returned unchanged.

        Parameters
        ----------
        risks : ndarray of float64, shape (n_records,)
            Risk of each record.
        """
        return risks if self.person is None else self.by_person(risks)[np.unique(self.person, return_index=True)[1]]


@dataclass(frozen=True, eq=False)
class RiskStudy(Study[RiskScenario]):
    """A scenario of the kind ``risk`` with its data.

    Parameters
    ----------
    loaded : Scenario
    population : Population, optional
        Population, counted by the released attributes; None if the scenario has no population.
    file : Release, optional
        The records, if they come from a file; None if samples are drawn.
    """

    population: Population | None
    file: Release | None

    @property
    def people(self) -> Population:
        """Population of the scenario, which must have one, for example to draw samples."""
        assert self.population is not None  # noqa: S101 - the schema guarantees it; for the type checker
        return self.population

    @property
    def domain(self) -> Domain:
        """Released attributes, with their ungeneralized values."""
        return self.people.domain if self.file is None else self.file.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of records of the releases, as in ``release.sizes``.

        With a file, the only number is that of its records.
        """
        return self.scenario.release.sizes if self.file is None else (self.file.n_records,)

    @property
    def fingerprint(self) -> str:
        """SHA-256, as text, of the attributes, the file's records and the population."""
        file = self.file
        parts = [] if file is None else [file.codes, file.persons, file.weights, file.person, file.household]
        return digest_of(repr(self.domain), [*parts, self.population])

    def release(self, size: int, sample: int) -> Release:
        """Return a sample of records as a `Release`, or the release of the file.

        A sample consists of people in random order, drawn without replacement, one record each, ungeneralized. It
        depends only on the population, the seed, its size and its number. With a file, both parameters are ignored.

        Parameters
        ----------
        size : int
            Number of records.
        sample : int
            Number of the sample, from 0.
        """
        if self.file is not None:
            return self.file
        people = self.people
        drawn = self.stream("sample", size, sample).choice(int(people.total), size, replace=False)
        return Release(people.domain, people.cells[np.searchsorted(np.cumsum(people.counts), drawn, side="right")], {})

    def knowledge(self, release: Release) -> dict[str, Knowledge]:
        """Return the `Knowledge` of each adversary about a release's persons, by name.

        The worst case, named ``worst-case``, comes first: knowledge of every attribute of each person.

        Raises
        ------
        InputError
            If a knowledge recipe cannot be used, or does not fit the release.
        """
        found = {WORST_CASE: everything(release.domain.names, release.n_records)}
        folder, section = self.loaded.folder, self.scenario.release
        # Rows of a simulated cohort do not correspond to rows of the file.
        file = str(section.persons or section.path) if release is self.file else None
        records = None if file is None else RecordsFile(folder / file, section.columns)
        for name, recipe in self.scenario.knowledge.items():
            try:
                found[name] = load_knowledge(recipe, release.domain, release.true_values, base=folder, records=records)
            except InputError as error:
                # An error inside a recipe or file already names its source, which is not a key of the scenario.
                raise error if error.source else error.located(self.loaded.path, f"knowledge.{name}") from None
        return found

    def uniqueness(self) -> UniquenessModel:
        """Return the `UniquenessModel` of the scenario, on which journalist risk depends.

        The model gives the probability that a sample unique is a population unique: a fixed value (`FixedUniqueness`),
        a count in the known population (`KnownPopulation`), or an estimate from the sample (`EstimatedUniqueness`).
        """
        section = self.scenario.uniqueness
        if section.method == "fixed":
            assert section.value is not None  # noqa: S101 - the schema guarantees it; for the type checker
            return FixedUniqueness(section.value)
        if section.method == "known":
            return KnownPopulation(self.people.cells, self.people.counts.astype(np.int64))
        weights = None if self.file is None else self.file.weights
        size = section.population_size if weights is None else round(float(weights.sum()))
        assert size is not None  # noqa: S101 - the schema guarantees it; for the type checker
        return EstimatedUniqueness(section.method, size, section.level, self.scenario.seed, weights=weights)

    def world(self, draw: int = 0) -> World:
        """Raise `InputError`: this kind of scenario has no game."""
        raise InputError("this kind of scenario has no policies", source=self.loaded.path, where="game", found="risk")

    def stream(self, what: str, size: int, sample: int) -> np.random.Generator:
        """Return a random generator by purpose, size of the release and sample number.

        The generator depends on the scenario's seed and the parameters only.

        Parameters
        ----------
        what : str
            Name of the purpose, so that draws for different purposes are independent.
        size : int
            Number of records of the release.
        sample : int
            Number of the sample, or of the simulated cohort, from 0.
        """
        key = (*f"risk {what}".encode(), size, sample)
        return np.random.default_rng(np.random.SeedSequence(self.scenario.seed, spawn_key=key))


def build_risk_study(loaded: Scenario[RiskScenario]) -> RiskStudy:
    """Return the study of a scenario of the kind ``risk``, with its files and recipes.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, the population has fractional counts, a sample is larger than the
        population, ``figures.settings.records`` is not a sample size, an attribute has the name of a column of the
        results, or the scenario names an attribute that is not released.
    """
    scenario, section = loaded.scenario, loaded.scenario.release
    with locating(loaded.path):
        population = None
        if scenario.population is not None:
            recipe = scenario.population.recipe
            population = people_named(recipe, loaded, seed=scenario.population.seed)
            with locating(where="population.recipe"):
                population.whole_counts("samples need whole numbers of people")
        if section.path is not None:
            study = read_release(loaded, population)
        else:
            study = RiskStudy(loaded, _over(population, section.attributes), None)
            problem, most = "the sample is larger than the population", study.people.total
            expected = f"at most {most:,.0f}"
            refuse_first(*((size > most, problem, "release.sizes", size, expected) for size in section.sizes))
        settings, names, threshold = scenario.figures.settings, study.domain.names, scenario.threshold
        if settings is not None and settings.records not in (None, *section.sizes):
            where, expected = "figures.settings.records", f"one of {', '.join(map(str, section.sizes)) or 'none'}"
            raise InputError("no sample of this size", where=where, found=settings.records, expected=expected)
        keyed = {PERSON: section.person, HOUSEHOLD: section.household}
        reserved = {*RISK_COLUMNS, *(column for column, key in keyed.items() if key is not None)}
        problem = "attribute name reserved for a column of the results"
        refuse_first(*((name in reserved, problem, "release.attributes", name, None) for name in names))
        for key in ("groups", "like_members") if threshold is not None else ():
            require_among("no such attribute", getattr(threshold, key), names, where=f"threshold.{key}")
    return study


def _over(population: Population | None, attributes: tuple[str, ...]) -> Population | None:
    """Return the population, counted by some of its attributes.

    If `attributes` is empty, it is counted by all attributes. The result is None without a population.

    Raises
    ------
    InputError
        If the population lacks an attribute.
    """
    if population is None:
        return None
    with locating(where="release.attributes"):
        return population.marginal(attributes or population.domain.names)


def read_release(loaded: Scenario[RiskScenario], population: Population | None) -> RiskStudy:
    """Read the records of a scenario's file, and return the `RiskStudy`.

    The categories of an attribute come from its value tree; without one, from the population; without both, from the
    file. The value ``*`` is suppressed: it includes every value. An empty value is refused because its meaning is
    unknown. `population` is reduced to the released attributes.

    Raises
    ------
    InputError
        If a file cannot be used, an attribute or value is missing, a value is invalid for its attribute, a value tree
        and the population have different values, all values of an attribute are suppressed, or the file of true values
        does not match the records.
    """
    section, trees = loaded.scenario.release, loaded.scenario.trees
    path, true_path = loaded.folder / str(section.path), loaded.folder / str(section.persons)
    frame, truth = read_table(path, delimiter=section.delimiter, comment="#"), None
    if section.persons is not None:
        truth = read_table(true_path, delimiter=section.delimiter, comment="#")
        if len(truth) != len(frame):
            problem = "the file of persons does not match the records"
            rows, expected = f"{len(truth)} rows", f"{len(frame)} rows, as in {section.path}"
            raise InputError(problem, source=true_path, found=rows, expected=expected)
    shown = {column: attribute for attribute, column in section.columns.items()}
    besides = (*key_columns(section.person), section.household, section.weight)
    columns = [str(column) for column in frame.columns if str(column) not in besides]
    names = section.attributes or tuple(shown.get(column, column) for column in columns)
    for key, named in (("trees", trees), ("release.columns", section.columns)):
        require_among("no such attribute", named, names, where=key)
    column_of = {name: section.columns.get(name, name) for name in names}
    require_columns(frame, column_of.values(), path)
    people = _over(population, names)
    if truth is not None:
        require_columns(truth, column_of.values(), true_path)
    made, codes, own, attributes = dict[str, ValueTree](), [], [], []
    for name, column in column_of.items():
        declared = _declared_tree(name, trees[name], loaded.folder) if name in trees else None
        known = None if people is None else people.domain[name]
        if declared is not None and known is not None and declared.attribute != known:
            problem, where = "the value tree and the population have different values", f"trees.{name}"
            values, expected = declared.attribute.categories, listed(known.categories)
            raise InputError(problem, where=where, found=listed(values), expected=expected)
        with locating(path):
            true = None if truth is None else truth[column]
            attribute, tree = _values(name, frame[column], declared, known, true)
            codes.append((attribute if tree is None else tree).encode(frame[column], column))
        if truth is not None:
            with locating(true_path):
                own.append(attribute.encode(truth[column], column))
                labels, shown_code = attribute.categories if tree is None else tree.labels, codes[-1]
                node = own[-1] if tree is None else tree.chain[own[-1], tree.depth[shown_code]]
                problem = "the released record does not include the person's value"
                group = next((labels[code] for code in shown_code[node != shown_code]), "")
                expected = f"{group!r} or a value in this group, as in {section.path}"
                refuse_rows(node != shown_code, problem, column=column, found=truth[column], expected=expected)
        attributes.append(attribute)
        made |= {} if tree is None else {name: tree}
    persons = np.column_stack(own) if own else None
    weights = None if section.weight is None else weights_in(frame, section.weight, path)
    keys = (section.person, section.household)
    person, household = (None if key is None else keys_of_records(frame, key, path) for key in keys)
    if person is not None and household is not None:
        require_same(household, person, "household", path, str(section.household))
    release = Release(Domain(tuple(attributes)), np.column_stack(codes), made, persons, weights, person, household)
    return RiskStudy(loaded, people, release)


def _values(
    name: str, column: pd.Series[str], declared: ValueTree | None, known: Attribute | None, truth: pd.Series[str] | None
) -> tuple[Attribute, ValueTree | None]:
    """Return an attribute, and its tree if it has groups or suppressed values.

    The categories are the ones of the declared tree; without it, of the population; without both, the values in the
    column (except ``*``) and in `truth`. If a released value is ``*`` and the tree lacks this node, a new root ``*``
    includes every value. Without groups and suppressed values, the tree is None.

    Parameters
    ----------
    name : str
        Name of the attribute.
    column : Series of str
        Released values.
    declared : ValueTree or None
        Tree that the scenario declares for the attribute.
    known : Attribute or None
        The attribute in the population.
    truth : Series of str or None
        True values.

    Raises
    ------
    InputError
        If a value is empty, or every value is suppressed and neither a tree nor the population gives the categories.
    """
    expected = f"a value, or {SUPPRESSED!r} for a suppressed value"
    refuse_rows((column == "").to_numpy(), "value missing", column=column.name, expected=expected)
    shown, attribute = column[column != SUPPRESSED], known if declared is None else declared.attribute
    if attribute is None:
        seen = shown if truth is None else pd.concat([shown, truth[(truth != SUPPRESSED) & (truth != "")]])
        if not len(seen):
            hint = "remove the attribute from release.attributes"
            raise InputError("every value is suppressed", where=f"column {column.name!r}", hint=hint)
        attribute = Attribute(name, natural_categories(seen))
    nodes = attribute.categories if declared is None else declared.labels
    if len(shown) == len(column) or SUPPRESSED in nodes:
        return attribute, declared
    # A new root includes every value.
    parent = np.full(attribute.size, TOP, dtype=np.int32) if declared is None else declared.parent
    parent = np.append(np.where(parent == TOP, len(nodes), parent), TOP).astype(np.int32)
    return attribute, ValueTree(attribute, (*nodes, SUPPRESSED), parent)


def _declared_tree(name: str, section: TreeSection, folder: Path) -> ValueTree:
    with locating(where=f"trees.{name}"):
        if section.file is None:
            return ValueTree.from_groups(name, section.groups)
        rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
        attribute = Attribute(name, tuple(dict.fromkeys(row[0] for row in rows)))
        return ValueTree.from_hierarchy(hierarchy_from_rows(attribute, rows))
