"""Build the study of a scenario of kind ``risk``: records and knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.assessment import EstimatedUniqueness, KnownPopulation, Network, UniquenessModel
from reidsim.adversaries.knowledge.groups import Knowledge, RecordsFile, everything, load_knowledge
from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among
from reidsim.core.randomness import draw_multivariate_hypergeometric
from reidsim.core.tables import read_table, require_columns
from reidsim.kinds.assessment.schema import (
    RISK_COLUMNS,
    WORST_CASE,
    RiskScenario,
    ThresholdSection,
    TreeSection,
)
from reidsim.linkage.equivalence import TOP, ValueTree
from reidsim.linkage.people import largest_in_groups
from reidsim.linkage.uniqueness import FixedUniqueness, weights_in
from reidsim.populations.population import Attribute, Codes, Domain, Population, distinct_rows, natural_categories
from reidsim.releases.hierarchy import SUPPRESSED, hierarchy_from_rows, read_hierarchy_rows
from reidsim.releases.lattice import Floats
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import people_named
from reidsim.scenarios.study import (
    HOUSEHOLD,
    PERSON,
    Keys,
    Study,
    World,
    digest_of,
    key_columns,
    keys_of_records,
    require_same,
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

        Without a person key, the risks are returned unchanged.

        Parameters
        ----------
        risks : ndarray of float64, shape (n_records,)
            Risk of each record.
        """
        return risks if self.person is None else largest_in_groups(risks, self.person)

    def of_people(self, risks: Floats) -> Floats:
        """Return the largest risk among each person's records, shape (n_people,).

        Persons are in the order of their numbers. Without a person key, each record is a person, and the risks are
        returned unchanged.

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
        Population by the released attributes; None if the scenario names none.
    file : Release, optional
        The records, if they come from a file; None if samples are drawn.
    """

    population: Population | None
    file: Release | None

    @property
    def people(self) -> Population:
        """Population by the released attributes, for scenarios whose schema requires one."""
        assert self.population is not None  # noqa: S101 - the schema guarantees it; for the type checker
        return self.population

    @property
    def domain(self) -> Domain:
        """Released attributes, with their ungeneralized values."""
        return self.people.domain if self.file is None else self.file.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of records of each release: of each sample size, or of the file."""
        return self.scenario.release.sizes if self.file is None else (self.file.n_records,)

    @cached_property
    def network(self) -> Network:
        """Capabilities of the adversary, from the scenario's section ``network``."""
        return Network(**self.scenario.network.model_dump())

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
            if not np.issubdtype(population.counts.dtype, np.integer):
                raise InputError("samples need whole numbers of people", where="population.recipe", found=recipe)
        if section.path is not None:
            study = read_release(loaded, population)
        else:
            study = RiskStudy(loaded, _over(population, section.attributes), None)
            problem, most = "the sample is larger than the population", study.people.total
            large = [size for size in section.sizes if size > most]
            refuse_first((large, problem, "release.sizes", next(iter(large), None), f"at most {most:,.0f}"))
        settings, names, threshold = scenario.figures.settings, study.domain.names, scenario.threshold
        if settings is not None and settings.records is not None and settings.records not in section.sizes:
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
    """Return the population by the named attributes; by all if none are named.

    The result is None without a population.

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
                problem, values = "the released record does not include the person's value", attribute.categories
                group = next((labels[code] for code in shown_code[node != shown_code]), "")
                expected = f"{group!r} or a value in this group, as in {section.path}"
                found = [values[code] for code in own[-1]]
                refuse_rows(node != shown_code, problem, column=column, found=found, expected=expected)
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
    name: str,
    column: pd.Series[str],
    declared: ValueTree | None,
    known: Attribute | None,
    truth: pd.Series[str] | None,
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


Positions = NDArray[np.intp]
# A simulated cohort, whose rows stand for `Release.people`, and the knowledge of each adversary about the rows.
Cohort = tuple[Release, dict[str, Knowledge]]


@dataclass(frozen=True, eq=False)
class Pool:
    """People who may be in a cohort of any size, by type.

    A type consists of people with equal true values and equal released values.

    Parameters
    ----------
    release : Release
        Released and true values of each type, one row per type.
    knowledge : dict of str to Knowledge
        Knowledge of each adversary about the types.
    members : ndarray of int, shape (n_members,)
        Type of each member; the members are the people of the release.
    others : ndarray of int64, shape (n_types,), optional
        Number of people of each type in the population, without the members; None if members are drawn repeatedly.
    stratum : ndarray of int, shape (n_types,)
        Stratum of each type, from 0: types with equal released values of ``threshold.like_members``. The stratum of a
        newcomer from the population is that of a member drawn at random.
    """

    release: Release
    knowledge: dict[str, Knowledge]
    members: Positions
    others: NDArray[np.int64] | None
    stratum: Positions

    def order(self, rng: np.random.Generator, size: int) -> Positions:
        """Return the type of each person, in the order in which people join the cohort.

        Members come first, in random order. A prefix of the order is therefore a random sample of the members, and
        cohorts are nested by size. Newcomers are drawn from the population without replacement, or from the members
        with replacement.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int
            Number of people. If there are more members, all members are returned.

        Returns
        -------
        ndarray of int, shape (max(size, n_members),)

        Raises
        ------
        InputError
            If a stratum of the population has fewer people than newcomers.
        """
        kept = rng.permutation(self.members)
        joined = self.members[rng.integers(len(kept), size=max(size - len(kept), 0))]
        if self.others is None:
            return np.concatenate([kept, joined])
        # Each newcomer replaces a member of its stratum.
        wanted, drawn = self.stratum[joined], np.empty(len(joined), dtype=np.intp)
        for stratum in np.unique(wanted):
            kinds, places = np.flatnonzero(self.stratum == stratum), np.flatnonzero(wanted == stratum)
            there, many = int(self.others[kinds].sum()), len(places)
            if many > there:
                raise InputError(
                    "more newcomers than similar people in the population",
                    where="threshold.sizes",
                    found=f"{many:,} newcomers with the same threshold.like_members",
                    expected=f"at most {there:,}",
                )
            counts = draw_multivariate_hypergeometric(rng, self.others[kinds], many)
            drawn[places] = rng.permutation(np.repeat(kinds, counts))
        return np.concatenate([kept, drawn])

    def cohort(self, order: Positions) -> Cohort:
        """Return the cohort of people with given types: its `Release` and `Knowledge`.

        The release has one row per distinct type, with the number of people in `Release.people`; the dict has the
        knowledge of each adversary about these rows.

        Parameters
        ----------
        order : ndarray of int, shape (n_people,)
            Type of each person.
        """
        kinds, people = np.unique(order, return_counts=True)
        return replace(_rows(self.release, kinds), people=people), _about(self.knowledge, kinds)


def grown_cohorts(
    study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]
) -> Iterator[tuple[int, int, Cohort]]:
    """Yield the number of the draw, the size and the cohort, for each draw and size.

    Draws are numbered from 0. Sizes, in people, are the values of ``threshold.sizes``, ascending, without the size of
    the release itself; without other sizes, nothing is yielded. A cohort is a `Release` and the knowledge of each
    adversary about its rows; see `Pool.cohort`.

    Parameters
    ----------
    study : RiskStudy
    section : ThresholdSection
    release : Release
        The members.
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the members.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    sizes = sorted(set(section.sizes) - {release.n_records})
    if not sizes:
        return
    with locating(study.loaded.path):
        pool = pool_of(study, section, release, knowledge)
    for draw in range(section.draws):
        with locating(study.loaded.path):
            order = pool.order(study.stream("cohort", release.n_records, draw), sizes[-1])
        yield from ((draw, size, pool.cohort(order[:size])) for size in sizes)


def pool_of(study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]) -> Pool:
    """Return the `Pool` of people from whom cohorts are simulated.

    If ``threshold.newcomers`` is "members", or no cohort is larger than the release, the pool has only the members of
    the release. Otherwise it also has the other people of the population. Members are removed from the population: each
    type loses as many people as it has members, or all people if it has more members than people.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    n, largest, names = release.n_records, max(section.sizes), release.domain.names
    if section.newcomers != "population" or largest <= n:
        first, kind = distinct_rows([*release.true_values.T, *release.codes.T], n)
        return Pool(_rows(release, first), _about(knowledge, first), kind.astype(np.intp), None, np.zeros_like(first))
    cells = study.people.cells
    by_attribute = zip(names, cells.T, release.codes.T, strict=True)
    joining = np.column_stack([_as_released(own, shown, release.trees.get(a), a) for a, own, shown in by_attribute])
    # Without true values, the released values replace them, for newcomers and members equally.
    persons = None if release.persons is None else np.concatenate([release.persons, cells])
    everybody = replace(release, codes=np.concatenate([release.codes, joining]), persons=persons)
    first, kind = distinct_rows([*everybody.true_values.T, *everybody.codes.T], everybody.n_records)
    others = np.maximum(np.bincount(kind, np.concatenate([np.full(n, -1), study.people.counts])), 0).astype(np.int64)
    if n + others.sum() < largest:
        problem, most = "the cohort is larger than the population", f"at most {n + others.sum():,}"
        raise InputError(problem, where="threshold.sizes", found=largest, expected=most)
    kinds = _rows(everybody, first)
    alike = [kinds.codes[:, names.index(name)] for name in section.like_members]
    stratum = distinct_rows(alike, len(first))[1].astype(np.intp)
    return Pool(kinds, study.knowledge(kinds), kind[:n].astype(np.intp), others, stratum)


def _rows(release: Release, rows: Positions) -> Release:
    """Return a `Release` with some rows of a release, in the given order.

    Only values and true values are selected; other fields are unchanged.

    Parameters
    ----------
    release : Release
    rows : ndarray of int, shape (n,)
        Positions of the rows.
    """
    persons = None if release.persons is None else release.persons[rows]
    return replace(release, codes=release.codes[rows], persons=persons)


def _about(knowledge: Mapping[str, Knowledge], persons: Positions) -> dict[str, Knowledge]:
    """Return the knowledge of each adversary about some of the persons, by name.

    Parameters
    ----------
    knowledge : mapping of str to Knowledge
        Knowledge about all persons.
    persons : ndarray of int, shape (n,)
        Positions of the persons.
    """
    found = {}
    for name, known in knowledge.items():
        sources = (replace(each, profile_of_person=each.profile_of_person[persons]) for each in known.sources)
        found[name] = replace(known, sources=tuple(sources))
    return found


def _as_released(values: Codes, members: Codes, tree: ValueTree | None, name: str) -> Codes:
    """Return the codes of newcomers' values, generalized like the members' values.

    The groups among the members' values must not include each other, so each value belongs to at most one group. A
    value in none of the groups is generalized to the widest group that includes no released value. If no member's value
    is generalized, values stay unchanged.

    Parameters
    ----------
    values : ndarray of int32, shape (n,)
        Codes of the newcomers' ungeneralized values.
    members : ndarray of int32, shape (n_members,)
        Codes of the members' released values, in `tree`.
    tree : ValueTree or None
        None if the attribute has neither groups nor suppressed values; values then stay unchanged.
    name : str
        Name of the attribute, for messages.

    Raises
    ------
    InputError
        If a group among the members' values includes another one.
    """
    if tree is None:
        return values
    used = np.unique(members)
    above = np.unique(tree.chain[used])
    strictly_above = np.setdiff1d(np.unique(tree.parent[above[above >= 0]]), [-1])
    mixed = np.intersect1d(used, strictly_above)
    if len(mixed):
        raise InputError(
            "newcomers cannot be generalized like members, because groups of the members overlap",
            where=f"threshold.newcomers, column {name!r}",
            found=tree.labels[mixed[0]],
            expected='groups that do not overlap, or newcomers = "members"',
        )
    if (used < tree.attribute.size).all():
        return values
    chains = tree.chain[: tree.attribute.size].tolist()
    nodes = [next(node for node in chain if node in used or node not in strictly_above) for chain in chains]
    return np.array(nodes, dtype=np.int32)[values]
