"""What sections of a scenario about a table of records say together, and what does not fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reidsim.errors import InputError, require_among
from reidsim.kinds.tables.policies import POLICIES, WHERE, policy_named
from reidsim.kinds.tables.sensitive import check_sensitive
from reidsim.scenarios.adversary_schema import WeightedAdversarySection, check_adversaries
from reidsim.scenarios.people import HOUSEHOLD, PERSON, key_columns
from reidsim.scenarios.policy import require_by_agents
from reidsim.scenarios.resource_schema import check_together
from reidsim.scenarios.schema import RECORD_COLUMNS

if TYPE_CHECKING:
    from reidsim.kinds.tables.schema import TablesScenario

# Columns of the tables in which the attributes stand beside others.
_TAKEN = (*RECORD_COLUMNS, "node", "records", "people", "suppressed", "class_size")


def check_consistent(scenario: TablesScenario) -> None:
    """Check that the sections of a scenario fit together.

    Raises
    ------
    InputError
        Names the key.
    """
    if not scenario.attributes:
        raise InputError(
            "no quasi-identifiers",
            where="attributes",
            found={},
            expected="a section such as [attributes.age] for each",
        )
    release = scenario.release
    of_people = [PERSON] * (release.person is not None) + [HOUSEHOLD] * (release.household is not None)
    taken = [name for name in scenario.attributes if name in (*_TAKEN, *of_people)]
    if taken:
        raise InputError("name of a column of the results", where="attributes", found=taken[0])
    _check_adversaries(scenario)
    _check_directions(scenario)
    _check_population(scenario)
    _check_weights(scenario)
    _check_safe_harbor(scenario)
    _check_policies(scenario)
    _check_amounts(scenario)
    _check_people(scenario)
    _check_releases(scenario)
    _check_resources(scenario)
    check_sensitive(scenario)


def _check_resources(scenario: TablesScenario) -> None:
    scenario.beliefs.check_lists(scenario.lists)
    for name, resource in scenario.resources.items():
        where = f"resources.{name}.attributes"
        require_among("not a quasi-identifier", resource.attributes, scenario.attributes, where=where)
    # In rounds they may also hold what is told by shares.
    in_rounds = scenario.agents is not None and scenario.adversaries
    for where, section in () if in_rounds else scenario.every_adversary.items():
        require_among(
            "not a list drawn from the people", section.holds or (), scenario.lists, where=f"{where}.holds",
            otherwise="resources with a `kind`",
        )  # fmt: skip
    if not scenario.lists:
        return
    if scenario.population is None:
        raise InputError("section missing", where="population", expected=f"people to draw {scenario.lists[0]!r} from")
    check_together(scenario.population.together, scenario.lists)
    if scenario.release.person is not None:
        raise InputError(
            "lists are of people with one record each", where="release.person", found=scenario.release.person,
            expected="it without resources that are drawn",
        )  # fmt: skip
    if scenario.looks_up:
        raise InputError(
            "who looks persons up knows who they are, and needs no list", where="resources",
            expected='adversary.direction = "record"',
        )  # fmt: skip


def _check_releases(scenario: TablesScenario) -> None:
    section, policies = scenario.releases, scenario.publisher.policies
    over_time = [name for name in policies if policy_named(name).replies != "to-past"]
    if over_time and not scenario.in_rounds:
        raise InputError(
            "a policy of several releases", where="publisher.policies", found=over_time[0],
            expected="a section releases, or agents, beside it",
        )  # fmt: skip
    if over_time and scenario.agents is not None and not scenario.agents.remembers:
        raise InputError(
            "a policy of several releases, and adversaries who see each on its own", where="agents.remembers",
            found=False, expected=f"true, or other policies than {over_time[0]}",
        )  # fmt: skip
    planned = [name for name in policies if policy_named(name).way == "m-invariance"]
    sensitive = key_columns(scenario.publisher.sensitive)
    if planned and len(sensitive) != 1:
        raise InputError(
            "m-invariance is about one sensitive value", where="publisher.sensitive", found=list(sensitive),
            expected="a column of the records",
        )  # fmt: skip
    if planned and scenario.release.person is not None:
        raise InputError(
            "m-invariance groups records of one person each", where="publisher.policies", found=planned[0],
            expected="other policies, or no release.person",
        )  # fmt: skip
    if section is None:
        return
    if scenario.agents is not None:
        for key, given in (
            ("rounds", scenario.agents.rounds > 1),
            ("participation", scenario.agents.participation is not None),
            ("remembers", not scenario.agents.remembers),
        ):  # fmt: skip
            if given:
                raise InputError(
                    "the waves of the releases say it",
                    where=f"agents.{key}",
                    expected="it without section releases",
                )
    columns = {attribute.column or name for name, attribute in scenario.attributes.items() if not attribute.draw}
    taken = [key for key, column in section.columns.items() if column in columns]
    if taken:
        raise InputError(
            "a quasi-identifier says when a record is released", where=f"releases.{taken[0]}",
            found=section.columns[taken[0]], expected="a column that is no attribute",
        )  # fmt: skip


def _check_people(scenario: TablesScenario) -> None:
    columns = [attribute.column or name for name, attribute in scenario.attributes.items() if not attribute.draw]
    for key in ("person", "household"):
        for column in key_columns(getattr(scenario.release, key)):
            if column in columns:
                raise InputError(
                    f"the key of {key}s is a quasi-identifier", where=f"release.{key}", found=column,
                    expected="a column that is no attribute, as it is never shared",
                )  # fmt: skip
    if scenario.release.household is not None and scenario.in_rounds:
        raise InputError(
            "the risk of households is defined for one game", where="release.household",
            found=scenario.release.household, expected="it without sections agents and releases",
        )  # fmt: skip
    if scenario.release.person is None:
        return
    if "sample" in scenario.risks and scenario.release.estimator == "log-linear":
        raise InputError(
            "the log-linear model assumes one row per person",
            where="release.estimator",
            found="log-linear",
            expected='"benedetti-franconi" with release.person',
        )
    for name in scenario.publisher.policies:
        way = policy_named(name).way
        if way == "splits" or (way == "rounds" and "prosecutor" in scenario.risks):
            why = "regions" if way == "splits" else "classes of several rounds"
            raise InputError(
                f"with release.person a person's records share one generalization, and this policy puts them in {why}",
                where="publisher.policies", found=name, expected="other policies, or no release.person",
            )  # fmt: skip


def _check_adversaries(scenario: TablesScenario) -> None:
    check_adversaries(scenario.adversaries, scenario.agents, scenario.lists)
    rounds = [name for name in scenario.publisher.policies if policy_named(name).in_rounds]
    erring = [key for key, section in scenario.every_adversary.items() if section.errs]
    if rounds and erring and "prosecutor" in scenario.risks:
        raise InputError(
            "under prosecutor risk its groups are counted among the records left for their round, for an adversary "
            "who does not err", where="publisher.policies", found=rounds[0],
            expected=f'{erring[0]}.rationality = "perfect", or other policies',
        )  # fmt: skip
    if not scenario.adversaries:
        return
    if scenario.figures.sequential is not None:
        raise InputError(
            "it is about one adversary",
            where="figures.sequential",
            expected="[adversary] in place of [adversaries]",
        )
    if rounds and len(scenario.adversaries) > 1 and "prosecutor" in scenario.risks:
        raise InputError(
            "under prosecutor risk its groups are counted among the records left for their round, for one "
            "adversary", where="publisher.policies", found=rounds[0], expected="[adversary], or other policies",
        )  # fmt: skip


def _check_population(scenario: TablesScenario) -> None:
    drawn = [name for name, attribute in scenario.attributes.items() if attribute.draw]
    if len(drawn) == len(scenario.attributes) and scenario.population is not None:
        raise InputError("every attribute is drawn", where="attributes", expected="one that the records hold")
    if scenario.population is not None:
        return
    if drawn or "journalist" in scenario.risks:
        reason = f"attribute {drawn[0]!r} is drawn from it" if drawn else "journalist risk counts its people"
        raise InputError("section missing", where="population", expected=f"a population, since {reason}")


def _check_weights(scenario: TablesScenario) -> None:
    release = scenario.release
    taken = [name for name, attribute in scenario.attributes.items() if release.weight == (attribute.column or name)]
    if taken:
        raise InputError(
            "the sampling weight is no quasi-identifier", where=f"attributes.{taken[0]}", found=release.weight,
            expected="another column",
        )  # fmt: skip
    if "sample" in scenario.risks and release.weight is None and release.sampling_fraction is None:
        raise InputError(
            "sample risk needs to know how the records were sampled", where="release",
            expected="the column release.weight, or release.sampling_fraction",
        )  # fmt: skip
    if "sample" in scenario.risks and scenario.figures.sequential is not None:
        raise InputError(
            "it counts people, whom sample risk estimates", where="figures.sequential", expected="another risk"
        )


def _check_safe_harbor(scenario: TablesScenario) -> None:
    if scenario.safe_harbor is None:
        needy = [name for name in scenario.publisher.policies if policy_named(name).needs_safe_harbor]
        if needy:
            raise InputError(
                "section missing",
                where="safe_harbor",
                expected=f"the attributes of age and ZIP code, as policy {needy[0]!r} needs them",
            )
        return
    for key in ("age", "zip"):
        name = getattr(scenario.safe_harbor, key)
        if name is not None:
            require_among("no such attribute", (name,), scenario.attributes, where=f"safe_harbor.{key}")


def _check_policies(scenario: TablesScenario) -> None:
    policies = scenario.publisher.policies
    for name in policies if scenario.in_rounds else ():
        require_by_agents(policy_named(name), POLICIES.values(), WHERE)
    walking = walks_whole_lattice(scenario)
    if walking and scenario.publisher.search == "anytime":
        key, policy = next(iter(walking.items()))
        raise InputError(
            "the anytime search cannot stop it", where=key, found=policy, expected="policies that keep to a budget",
            hint='publisher.search = "exact" walks the whole lattice',
        )  # fmt: skip


def _check_amounts(scenario: TablesScenario) -> None:
    priced = [f"economics.columns.{name}" for name, column in scenario.economics.columns if column is not None]
    if scenario.figures.sequential is not None and scenario.adversary.planner != "fmdp":
        raise InputError(
            "figures of the sequential attack need its planner",
            where="figures.sequential",
            found=f"adversary.planner = {scenario.adversary.planner!r}",
            expected="adversary.planner = 'fmdp'",
        )
    if scenario.figures.sequential is not None and scenario.adversary.errs:
        raise InputError(
            "figures of the sequential attack are of an adversary who does not err", where="figures.sequential",
            found=f'adversary.rationality = "{scenario.adversary.rationality}"',
            expected='adversary.rationality = "perfect"',
        )  # fmt: skip
    follows = "gain" not in scenario.economics.model_fields_set
    gains = ("economics.columns.gain", *(("economics.columns.loss",) if follows else ()))
    for section in scenario.every_adversary.values():
        own = section.amounts if isinstance(section, WeightedAdversarySection) else {}
        amounts = (
            *(gains if "gain" not in own else ()),
            *(("economics.columns.cost",) if "cost" not in own else ()),
        )
        differing = [name for name in priced if name in amounts]
        if section.plans_sequentially and differing:
            raise InputError(
                "a sequential attack has one gain and one cost for all records", where=differing[0],
                expected="economics.gain and economics.cost",
            )  # fmt: skip


def _check_directions(scenario: TablesScenario) -> None:
    """Check that a scenario whose adversary looks persons up asks for nothing that takes each record on its own.

    Raises
    ------
    InputError
        Names the key.
    """
    if not scenario.looks_up:
        return
    sections = scenario.every_adversary
    first_key, first = next(iter(sections.items()))
    for key, section in sections.items():
        for name in ("direction", "risk"):
            if getattr(section, name) != getattr(first, name):
                raise InputError(
                    "adversaries who look persons up differ in more than planners and amounts", where=f"{key}.{name}",
                    found=getattr(section, name), expected=f"{getattr(first, name)}, as {first_key}.{name}",
                )  # fmt: skip
    publisher, figures = scenario.publisher, scenario.figures
    rounds = [name for name in publisher.policies if policy_named(name).in_rounds]
    for where, asked in (
        ("agents", scenario.agents is not None),
        ("releases", scenario.releases is not None),
        ("publisher.solver", publisher.solver == "lattice-search" and publisher.unit == "record"),
        ("publisher.policies", rounds[:1]),
        ("figures.strategies", figures.strategies is not None),
        ("figures.sequential", figures.sequential is not None),
    ):
        if asked:
            what = f": {rounds[0]}" if where == "publisher.policies" else ""
            raise InputError(
                f"it takes each record on its own{what}, and who looks persons up compares all that are shared",
                where=where, expected=f'{first_key}.direction = "record"',
            )  # fmt: skip


def walks_whole_lattice(scenario: TablesScenario) -> dict[str, str]:
    """Return what of a scenario walks the whole lattice: the key that asks for it, and what it asks for."""
    publisher = scenario.publisher
    exact = publisher.search == "exact"
    walking = [
        name
        for name in publisher.policies
        if (walk := policy_named(name).walks(publisher.unit)) == "always" or (walk == "search" and exact)
    ]
    return {"publisher.policies": walking[0]} if walking else {}


def lists_every_form(scenario: TablesScenario) -> bool:
    """Tell whether every generalization of each record is computed."""
    publisher = scenario.publisher
    if publisher.unit == "table" or publisher.solver != "backward-induction":
        return False
    return any(policy_named(name).way == "unit" for name in publisher.policies)
