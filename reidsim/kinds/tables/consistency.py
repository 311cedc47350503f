"""Check that the sections of a table scenario fit together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from reidsim.adversaries.planners import AMOUNTS_BY_RECORD, provided_by
from reidsim.core.registry import require_provided
from reidsim.errors import InputError, require_among
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
from reidsim.kinds.tables.sensitive import check_sensitive
from reidsim.scenarios.adversary_schema import WeightedAdversarySection
from reidsim.scenarios.agents_schema import check_adversaries
from reidsim.scenarios.people import HOUSEHOLD, PERSON, key_columns
from reidsim.scenarios.policy import require_by_agents
from reidsim.scenarios.resource_schema import check_together
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
    check_adversaries(scenario.adversaries, scenario.agents, scenario.lists)
    faults = chain(
        _attribute_faults(scenario),
        _section_faults(scenario),
        _figure_faults(scenario),
        _direction_faults(scenario),
        _release_faults(scenario),
        _person_faults(scenario),
        _list_faults(scenario),
    )
    for fault in faults:
        raise fault
    _check_names(scenario)
    _check_policies(scenario)
    _check_planners(scenario)
    check_sensitive(scenario)


class _Lack(NamedTuple):
    """Missing capability of a scenario: key to change, and entry that lacks it."""

    where: str
    provider: str


def _lacks(scenario: Any) -> Iterator[tuple[str, _Lack]]:
    """Yield each capability that policies may need and the scenario does not provide."""
    agents, release = scenario.agents, scenario.release
    sections = scenario.every_adversary
    if scenario.safe_harbor is None:
        yield SAFE_HARBOR, _Lack("safe_harbor", "a scenario without section safe_harbor")
    if not scenario.in_rounds:
        yield SEVERAL_RELEASES, _Lack(WHERE, "a scenario without section releases or agents")
    elif agents is not None and not agents.remembers:
        yield SEVERAL_RELEASES, _Lack("agents.remembers", "agents.remembers = false")
    if len(key_columns(scenario.publisher.sensitive)) != 1:
        yield ONE_SENSITIVE_COLUMN, _Lack("publisher.sensitive", "publisher.sensitive")
    if release.person is not None:
        yield ONE_RECORD_PER_PERSON, _Lack(WHERE, "release.person")
    if scenario.looks_up:
        key = next(iter(sections))
        yield SEPARATE_RECORDS, _Lack(WHERE, f"{key}.direction = {sections[key].direction!r}")
    if "prosecutor" in scenario.risks:
        # Group sizes among the remaining records are computed only for a single adversary without errors.
        erring = [f"{key}.rationality" for key, section in sections.items() if section.errs]
        others = ["release.person"] * (release.person is not None) + ["adversaries"] * (len(sections) > 1)
        for provider in (*erring, *others)[:1]:
            yield SIZES_AMONG_LEFT, _Lack(WHERE, f"{provider} under prosecutor risk")


def _check_policies(scenario: Any) -> None:
    """Check that the scenario provides everything that its policies need.

    With rounds, policies must be playable in rounds. With the anytime search, no policy may evaluate the whole lattice.
    """
    lacks = dict(_lacks(scenario))
    for name in scenario.publisher.policies:
        policy = policy_named(name)
        for need in sorted(policy.needs & lacks.keys()):
            where, provider = lacks[need]
            found = name if where == WHERE else None
            require_provided([need], (), needed_by=f"policy {name!r}", provider=provider, where=where, found=found)
        if scenario.in_rounds:
            require_by_agents(policy, POLICIES.values(), WHERE)
    walking = walks_whole_lattice(scenario)
    if walking and scenario.publisher.search == "anytime":
        key, name = next(iter(walking.items()))
        raise InputError(
            "the anytime search does not support a search of the whole lattice",
            where=key,
            found=name,
            expected="policies that keep to a number of nodes",
            hint='set publisher.search = "exact" to search the whole lattice',
        )


def _check_planners(scenario: Any) -> None:
    """Check that each adversary's planner supports amounts that differ by record.

    Applies to the columns of `economics.columns` that the adversary uses.
    """
    columns = [name for name, column in scenario.economics.columns if column is not None]
    follows = "gain" not in scenario.economics.model_fields_set
    for key, section in scenario.every_adversary.items():
        own = section.amounts if isinstance(section, WeightedAdversarySection) else {}
        used = {"cost", "gain", "loss"} if follows else {"cost", "gain"}
        used -= {"gain", "loss"} if "gain" in own else set()
        used -= {"cost"} if "cost" in own else set()
        for name in columns:
            if name in used:
                where = f"economics.columns.{name}"
                provider = f"planner {section.planner!r} of {key}"
                provided = provided_by(section.planner)
                require_provided([AMOUNTS_BY_RECORD], provided, needed_by=where, provider=provider, where=where)


def _check_names(scenario: Any) -> None:
    """Check that the attributes and lists named in other sections exist."""
    if scenario.safe_harbor is not None:
        for key in ("age", "zip"):
            name = getattr(scenario.safe_harbor, key)
            if name is not None:
                require_among("no such attribute", (name,), scenario.attributes, where=f"safe_harbor.{key}")
    scenario.beliefs.check_lists(scenario.lists)
    for name, resource in scenario.resources.items():
        where = f"resources.{name}.attributes"
        require_among("not a quasi-identifier", resource.attributes, scenario.attributes, where=where)
    # With agents, adversaries may also hold resources without a `kind`.
    in_rounds = scenario.agents is not None and scenario.adversaries
    for where, section in () if in_rounds else scenario.every_adversary.items():
        require_among(
            "no such list",
            section.holds or (),
            scenario.lists,
            where=f"{where}.holds",
            otherwise="the name of a resource with a `kind`",
        )
    if scenario.lists:
        check_together(scenario.population.together, scenario.lists)


def _attribute_faults(scenario: Any) -> Iterator[InputError]:
    release, attributes = scenario.release, scenario.attributes
    if not attributes:
        expected = "a section such as [attributes.age] for each quasi-identifier"
        yield InputError("no quasi-identifiers", where="attributes", found={}, expected=expected)
    keys = [PERSON] * (release.person is not None) + [HOUSEHOLD] * (release.household is not None)
    for name in attributes:
        if name in (*_TAKEN, *keys):
            yield InputError("attribute name reserved for a column of the results", where="attributes", found=name)
    drawn = [name for name, attribute in attributes.items() if attribute.draw]
    if len(drawn) == len(attributes) and scenario.population is not None:
        yield InputError(
            "every attribute is drawn", where="attributes", expected="at least one attribute of the records"
        )
    if scenario.population is None and (drawn or "journalist" in scenario.risks):
        reason = f"to draw attribute {drawn[0]!r}" if drawn else "for journalist risk"
        yield InputError("section missing", where="population", expected=f"a population, {reason}")
    by_column = {attribute.column or name: name for name, attribute in attributes.items()}
    if release.weight in by_column:
        where = f"attributes.{by_column[release.weight]}"
        yield InputError(
            "the column of sampling weights is a quasi-identifier",
            where=where,
            found=release.weight,
            expected="another column",
        )


def _section_faults(scenario: Any) -> Iterator[InputError]:
    release = scenario.release
    if "sample" in scenario.risks and release.weight is None and release.sampling_fraction is None:
        yield InputError(
            "sample risk needs weights or a sampling fraction",
            where="release",
            expected="release.weight or release.sampling_fraction",
        )


def _figure_faults(scenario: Any) -> Iterator[InputError]:
    """Yield the errors that prevent figures of the sequential attack."""
    if scenario.figures.sequential is None:
        return
    adversary = scenario.adversary
    for wrong, found, expected in (
        (bool(scenario.adversaries), "adversaries", "[adversary] in place of [adversaries]"),
        ("sample" in scenario.risks, 'risk = "sample"', 'adversary.risk = "prosecutor" or "journalist"'),
        (not adversary.plans_sequentially, f'adversary.planner = "{adversary.planner}"', 'adversary.planner = "fmdp"'),
        (adversary.errs, f'adversary.rationality = "{adversary.rationality}"', 'adversary.rationality = "perfect"'),
    ):
        if wrong:
            yield InputError(
                "the figures need a single sequential adversary without errors",
                where="figures.sequential",
                found=found,
                expected=expected,
            )


def _direction_faults(scenario: Any) -> Iterator[InputError]:
    """Yield the errors of scenarios in which an adversary looks persons up.

    All adversaries must have the same direction and risk, and some sections cannot be used.
    """
    if not scenario.looks_up:
        return
    sections = scenario.every_adversary
    first_key, first = next(iter(sections.items()))
    for key, section in sections.items():
        for name in ("direction", "risk"):
            if getattr(section, name) != getattr(first, name):
                yield InputError(
                    "adversaries have different directions or risks",
                    where=f"{key}.{name}",
                    found=getattr(section, name),
                    expected=f"{getattr(first, name)}, as {first_key}.{name}",
                )
    publisher, figures = scenario.publisher, scenario.figures
    for where, given in (
        ("agents", scenario.agents is not None),
        ("releases", scenario.releases is not None),
        ("publisher.solver", publisher.solver == "lattice-search" and publisher.unit == "record"),
        ("figures.strategies", figures.strategies is not None),
        ("figures.sequential", figures.sequential is not None),
        ("resources", bool(scenario.lists)),
    ):
        if given:
            yield InputError(
                f"{where} needs {SEPARATE_RECORDS}, which {first_key}.direction = {first.direction!r} does not provide",
                where=where,
                expected=f'{first_key}.direction = "record"',
            )


def _release_faults(scenario: Any) -> Iterator[InputError]:
    agents, releases = scenario.agents, scenario.releases
    if releases is None:
        return
    if agents is not None:
        for key, given in (
            ("rounds", agents.rounds > 1),
            ("participation", agents.participation is not None),
            ("remembers", not agents.remembers),
        ):
            if given:
                expected = "this key only without section releases"
                yield InputError("the key is determined by the releases", where=f"agents.{key}", expected=expected)
    columns = _columns(scenario)
    for key, column in releases.columns.items():
        if column in columns:
            yield InputError(
                "the column of releases is a quasi-identifier",
                where=f"releases.{key}",
                found=column,
                expected="a column that is no attribute",
            )


def _columns(scenario: Any) -> set[str]:
    """Return the columns of the records' file that hold quasi-identifiers."""
    return {attribute.column or name for name, attribute in scenario.attributes.items() if not attribute.draw}


def _person_faults(scenario: Any) -> Iterator[InputError]:
    release = scenario.release
    columns = _columns(scenario)
    for key in ("person", "household"):
        for column in key_columns(getattr(release, key)):
            if column in columns:
                expected = "a column that is no attribute, because a key is never shared"
                yield InputError(
                    f"the key of {key}s is a quasi-identifier", where=f"release.{key}", found=column, expected=expected
                )
    if release.household is not None and scenario.in_rounds:
        expected = "this key only without sections agents and releases"
        yield InputError(
            "household risk is not supported in rounds",
            where="release.household",
            found=release.household,
            expected=expected,
        )
    if release.person is not None and "sample" in scenario.risks and release.estimator == "log-linear":
        yield InputError(
            "the log-linear model assumes one row per person",
            where="release.estimator",
            found="log-linear",
            expected='"benedetti-franconi" with release.person',
        )


def _list_faults(scenario: Any) -> Iterator[InputError]:
    if not scenario.lists:
        return
    if scenario.population is None:
        yield InputError(
            "section missing", where="population", expected=f"a population, from which {scenario.lists[0]!r} is drawn"
        )
    if scenario.release.person is not None:
        yield InputError(
            "lists need one record per person",
            where="release.person",
            found=scenario.release.person,
            expected="this key only without drawn resources",
        )


def walks_whole_lattice(scenario: Any) -> dict[str, str]:
    """Return the key and the policy that require a search of the whole lattice.

    The result is empty if no policy does. With the anytime search, only policies that evaluate every node count; with
    the exact search, also policies that search for the best node.
    """
    publisher = scenario.publisher
    walks = ("always", "search") if publisher.search == "exact" else ("always",)
    walking = [name for name in publisher.policies if policy_named(name).walks(publisher.unit) in walks]
    return {WHERE: walking[0]} if walking else {}


def lists_every_form(scenario: Any) -> bool:
    """Return whether some policy computes every generalization of each record.

    Policies that optimize each record do so with backward induction.
    """
    publisher = scenario.publisher
    exhaustive = publisher.unit == "record" and publisher.solver == "backward-induction"
    return exhaustive and any(policy_named(name).picks_each(publisher) for name in publisher.policies)
