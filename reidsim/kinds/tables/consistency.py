"""Check that the sections of a table scenario fit together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from reidsim.adversaries.planners import AMOUNTS_BY_RECORD, provided_by
from reidsim.core.registry import require_provided
from reidsim.errors import Case, InputError, refuse_first, require_among
from reidsim.kinds.tables.policy import (
    ONE_RECORD_PER_PERSON,
    ONE_SENSITIVE_COLUMN,
    POLICIES,
    SAFE_HARBOR,
    SEPARATE_RECORDS,
    SEVERAL_RELEASES,
    SIZES_AMONG_LEFT,
    WHERE,
    policy_named,
)
from reidsim.scenarios.adversary_schema import WeightedAdversarySection, check_adversaries
from reidsim.scenarios.lists import check_together
from reidsim.scenarios.people import HOUSEHOLD, PERSON, key_columns
from reidsim.scenarios.policy import require_by_agents
from reidsim.scenarios.schema import RECORD_COLUMNS

# Reserved column names: result tables have these columns besides the quasi-identifiers.
_TAKEN = (*RECORD_COLUMNS, "node", "records", "people", "suppressed", "class_size")


def check_consistent(scenario: Any) -> None:
    """Check that the sections of a scenario fit together.

    Parameters
    ----------
    scenario : TablesScenario

    Raises
    ------
    InputError
        If two sections contradict each other. The error names the key.
    """
    check_adversaries(scenario.adversaries, scenario.agents)
    for case in chain(_data_cases(scenario), _adversary_cases(scenario), _key_cases(scenario)):
        refuse_first(case)
    _check_names(scenario)
    _check_policies(scenario)
    _check_planners(scenario)
    for case in _sensitive_cases(scenario):
        refuse_first(case)


def _data_cases(scenario: Any) -> Iterator[Case]:
    """Yield the checks of records, population and attributes."""
    release, population, attributes = scenario.release, scenario.population, scenario.attributes
    nothing, expected = release.path is None and release.table is None, "a path, or the name of a table"
    yield nothing, "the records are missing", "release", None, expected
    both, either = "weights and a sampling fraction exclude each other", "either release.weight or release."
    fraction = release.sampling_fraction
    yield release.weight and fraction, both, "release.sampling_fraction", fraction, f"{either}sampling_fraction"
    nobody = population is not None and population.path is None and population.recipe is None
    yield nobody, "the population is missing", "population", None, "a recipe, or the path of a file"
    expected = "a section such as [attributes.age] for each quasi-identifier"
    yield not attributes, "no quasi-identifiers", "attributes", {}, expected
    taken = {*_TAKEN, release.person and PERSON, release.household and HOUSEHOLD}
    for name in attributes:
        yield name in taken, "attribute name reserved for a column of the results", "attributes", name, None
    drawn = [name for name, attribute in attributes.items() if attribute.draw]
    whole = population is not None and len(drawn) == len(attributes)
    yield whole, "every attribute is drawn", "attributes", None, "at least one attribute of the records"
    reason = f"to draw attribute {drawn[0]!r}" if drawn else "for journalist risk"
    needed = population is None and (drawn or "journalist" in scenario.risks)
    yield needed, "section missing", "population", None, f"a population, {reason}"
    problem = "the column of sampling weights is a quasi-identifier"
    for name, column in scenario.columns.items():
        yield column == release.weight, problem, f"attributes.{name}", column, "another column"
    unweighted, expected = "sample risk needs weights or a sampling fraction", "release.weight or release."
    sampled = "sample" in scenario.risks and release.weight is None and fraction is None
    yield sampled, unweighted, "release", None, f"{expected}sampling_fraction"


def _adversary_cases(scenario: Any) -> Iterator[Case]:
    """Yield the checks of figures of the sequential attack, and of person lookups.

    All adversaries must have the same direction and risk if one looks persons up, and some sections cannot be used.
    """
    figures, publisher = scenario.figures, scenario.publisher
    adversary, sections = scenario.adversary, scenario.every_adversary
    planner, rationality = f'adversary.planner = "{adversary.planner}"', 'adversary.rationality = "{}"'
    for wrong, found, expected in (
        (bool(scenario.adversaries), "adversaries", "[adversary] in place of [adversaries]"),
        ("sample" in scenario.risks, 'risk = "sample"', 'adversary.risk = "prosecutor" or "journalist"'),
        (not adversary.plans_sequentially, planner, 'adversary.planner = "fmdp"'),
        (adversary.errs, rationality.format(adversary.rationality), rationality.format("perfect")),
    ):
        problem = "the figures need a single sequential adversary without errors"
        yield figures.sequential is not None and wrong, problem, "figures.sequential", found, expected
    if not scenario.looks_up:
        return
    first_key, first = next(iter(sections.items()))
    problem = "adversaries have different directions or risks"
    for key, section in sections.items():
        for name in ("direction", "risk"):
            found, same = getattr(section, name), getattr(first, name)
            yield found != same, problem, f"{key}.{name}", found, f"{same}, as {first_key}.{name}"
    provider = f"{first_key}.direction = {first.direction!r} does not provide"
    for where, given in (
        ("agents", scenario.agents is not None),
        ("releases", scenario.releases is not None),
        ("publisher.solver", publisher.solver == "lattice-search" and publisher.unit == "record"),
        ("figures.strategies", figures.strategies is not None),
        ("figures.sequential", figures.sequential is not None),
        ("resources", bool(scenario.lists)),
    ):
        problem = f"{where} needs {SEPARATE_RECORDS}, which {provider}"
        yield given, problem, where, None, f'{first_key}.direction = "record"'


def _key_cases(scenario: Any) -> Iterator[Case]:
    """Yield the checks of releases over time, of keys of people and of drawn lists."""
    release, agents, releases, lists = scenario.release, scenario.agents, scenario.releases, scenario.lists
    columns = {column for name, column in scenario.columns.items() if not scenario.attributes[name].draw}
    if releases is not None:
        for key, given in (
            ("rounds", agents is not None and agents.rounds > 1),
            ("participation", agents is not None and agents.participation is not None),
            ("remembers", agents is not None and not agents.remembers),
        ):
            expected = "this key only without section releases"
            yield given, "the key is determined by the releases", f"agents.{key}", None, expected
        for key, column in releases.columns.items():
            problem, expected = "the column of releases is a quasi-identifier", "a column that is no attribute"
            yield column in columns, problem, f"releases.{key}", column, expected
    for key in ("person", "household"):
        expected = "a column that is no attribute, because a key is never shared"
        for column in key_columns(getattr(release, key)):
            yield column in columns, f"the key of {key}s is a quasi-identifier", f"release.{key}", column, expected
    person, household, once = release.person, release.household, "this key only without "
    problem, expected = "household risk is not supported in rounds", f"{once}sections agents and releases"
    yield household is not None and scenario.in_rounds, problem, "release.household", household, expected
    problem, expected = "the log-linear model assumes one row per person", '"benedetti-franconi" with release.person'
    modelled = person is not None and "sample" in scenario.risks and release.estimator == "log-linear"
    yield modelled, problem, "release.estimator", "log-linear", expected
    if lists:
        expected = f"a population, from which {lists[0]!r} is drawn"
        yield scenario.population is None, "section missing", "population", None, expected
        problem, expected = "lists need one record per person", f"{once}drawn resources"
        yield person is not None, problem, "release.person", person, expected


def _check_names(scenario: Any) -> None:
    """Check that the attributes and lists named in other sections exist."""
    attributes, lists = scenario.attributes, scenario.lists
    for key in ("age", "zip"):
        name = getattr(scenario.safe_harbor, key, None)
        if name is not None:
            require_among("no such attribute", (name,), attributes, where=f"safe_harbor.{key}")
    scenario.beliefs.check_lists(lists)
    for name, resource in scenario.resources.items():
        where = f"resources.{name}.attributes"
        require_among("not a quasi-identifier", resource.attributes, attributes, where=where)
    # With agents, adversaries may also hold resources without a `kind`.
    in_rounds, kind = scenario.agents is not None and scenario.adversaries, "the name of a resource with a `kind`"
    for where, section in () if in_rounds else scenario.every_adversary.items():
        require_among("no such list", section.holds or (), lists, where=f"{where}.holds", otherwise=kind)
    if lists:
        check_together(scenario.population.together, lists)


def _lacks(scenario: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each capability that policies may need and the scenario does not provide.

    The capability comes with the key to change and the entry that lacks it.
    """
    agents, release, sections = scenario.agents, scenario.release, scenario.every_adversary
    if scenario.safe_harbor is None:
        yield SAFE_HARBOR, "safe_harbor", "a scenario without section safe_harbor"
    if not scenario.in_rounds:
        yield SEVERAL_RELEASES, WHERE, "a scenario without section releases or agents"
    elif agents is not None and not agents.remembers:
        yield SEVERAL_RELEASES, "agents.remembers", "agents.remembers = false"
    if len(key_columns(scenario.publisher.sensitive)) != 1:
        yield ONE_SENSITIVE_COLUMN, "publisher.sensitive", "publisher.sensitive"
    if release.person is not None:
        yield ONE_RECORD_PER_PERSON, WHERE, "release.person"
    if scenario.looks_up:
        key = next(iter(sections))
        yield SEPARATE_RECORDS, WHERE, f"{key}.direction = {sections[key].direction!r}"
    if "prosecutor" in scenario.risks:
        # Group sizes among the remaining records are computed only for a single adversary without errors.
        erring = [f"{key}.rationality" for key, section in sections.items() if section.errs]
        others = ["release.person"] * (release.person is not None) + ["adversaries"] * (len(sections) > 1)
        for provider in (*erring, *others)[:1]:
            yield SIZES_AMONG_LEFT, WHERE, f"{provider} under prosecutor risk"


def _check_policies(scenario: Any) -> None:
    """Check that the scenario provides everything that its policies need.

    With rounds, policies must be playable in rounds. With the anytime search, no policy may evaluate the whole lattice.
    """
    lacks = {need: lack for need, *lack in _lacks(scenario)}
    for name in scenario.publisher.policies:
        policy = policy_named(name)
        for need in sorted(policy.needs & lacks.keys()):
            where, provider = lacks[need]
            found = name if where == WHERE else None
            require_provided([need], (), needed_by=f"policy {name!r}", provider=provider, where=where, found=found)
        if scenario.in_rounds:
            require_by_agents(policy, POLICIES.values(), WHERE)
    if scenario.publisher.search == "anytime" and (walking := walks_whole_lattice(scenario)):
        raise InputError(
            "the anytime search does not support a search of the whole lattice",
            where=WHERE,
            found=walking,
            expected="policies that keep to a number of nodes",
            hint='set publisher.search = "exact" to search the whole lattice',
        )


def _check_planners(scenario: Any) -> None:
    """Check that each adversary's planner supports amounts that differ by record.

    Applies to the columns of `economics.columns` that the adversary uses.
    """
    columns = [name for name, column in scenario.economics.columns if column is not None]
    for key, section in scenario.every_adversary.items() if columns else ():
        own = section.amounts if isinstance(section, WeightedAdversarySection) else {}
        used = {"gain", "cost"} - own.keys()
        if "gain" in used and "gain" not in scenario.economics.model_fields_set:
            used.add("loss")
        for name in columns:
            if name in used:
                where, provider = f"economics.columns.{name}", f"planner {section.planner!r} of {key}"
                provided = provided_by(section.planner)
                require_provided([AMOUNTS_BY_RECORD], provided, needed_by=where, provider=provider, where=where)


def _sensitive_cases(scenario: Any) -> Iterator[Case]:
    """Yield the checks of sensitive columns, their limits and gains from inference.

    Sensitive columns must have no other role. Limits and gains must be computable for the scenario.
    """
    publisher, release = scenario.publisher, scenario.release
    columns, limits = key_columns(publisher.sensitive), publisher.attribute_limits
    others = {column: f"attributes.{name}" for name, column in scenario.columns.items()}
    for key in ("person", "household", "weight"):
        others |= dict.fromkeys(key_columns(getattr(release, key)), f"release.{key}")
    for name in columns:
        problem = f"the sensitive column is also the column of {others.get(name)}"
        yield name in others, problem, "publisher.sensitive", name, "another column"
    gains = [key for key, section in scenario.every_adversary.items() if section.gains_from != "identity"]
    limited = [f"publisher.{key}" for key, limit in vars(limits).items() if limit is not None]
    for key in [*(f"{key}.gains_from" for key in gains), *limited][:1]:
        yield not columns, "no sensitive column", key, None, "a column in publisher.sensitive"
        for where, given, expected in (
            ("agents", scenario.agents is not None, f"this section only without {key}"),
            ("releases", scenario.releases is not None, f"this section only without {key}"),
            (
                "release.person",
                release.person is not None and scenario.looks_up,
                f'one record per person, adversary.direction = "record", or no {key}',
            ),
            ("beliefs.risk", gains and scenario.beliefs.risk not in (None, "prosecutor"), '"prosecutor"'),
            ("release.household", gains and release.household is not None, "no household"),
        ):
            yield given, f"not supported together with {key}", where, None, expected


def walks_whole_lattice(scenario: Any) -> str | None:
    """Return the first policy that requires a search of the whole lattice, if any.

    With the anytime search, only policies that evaluate every node count; with the exact search, also policies that
    search for the best node.
    """
    publisher = scenario.publisher
    walking = [
        policy.name
        for policy in map(policy_named, publisher.policies)
        if policy.every_node or (publisher.search == "exact" and policy.searches_nodes(publisher))
    ]
    return walking[0] if walking else None


def lists_every_form(scenario: Any) -> bool:
    """Return whether some policy computes every generalization of each record.

    Policies that optimize each record do so with backward induction.
    """
    publisher = scenario.publisher
    exhaustive = publisher.unit == "record" and publisher.solver == "backward-induction"
    return exhaustive and any(policy_named(name).picks_each(publisher) for name in publisher.policies)
