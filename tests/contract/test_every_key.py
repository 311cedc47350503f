"""Every optional key of every kind of scenario has an effect or is refused.

Keys that are text, lists or sections take the values of `small_scenarios.VALUES`; other keys take values of their type.
"""

from fnmatch import fnmatchcase
from functools import cache

import pytest
from every_key import changed, given, keys_of, outcome, present, read, same, values_of, verdict
from small_scenarios import SCENARIOS, VALUES, write_files
from tiers import cases

from reidsim.core.errors import InputError
from reidsim.core.validation import value_if_any
from reidsim.scenarios.schema import ReadIf

# Keys of every scenario with separate tests: texts, draws, batches and stress tests.
_OF_EVERY_SCENARIO = ("game", "title", "source", "seed", "replications", "sweep", "uncertainty", "stress")
# Keys, by pattern, that may have no effect, with the reason.
ALLOWED = {
    "population.counts": "whether a recipe draws people is up to the recipe",
    "population.seed": "whether a recipe draws people is up to the recipe",
    "population.holds_release": "a check of the records",
    "attributes.*.unknown": "records of the small scenarios have no value that the population lacks",
    "resources.*.price": "a fact about the resource, paid by an adversary that buys it",
    "resources.*.buyers": "a check of what adversaries hold and buy",
    "attributes.*.hierarchy.*": "a level that no policy chooses, or whose groups hold no record, changes nothing",
    "trees": "values that are released as they are belong to no group",
    "publisher.solver": 'with direction = "both" it only sets the start of a search that finds the same release',
    "publisher.safe_class": "only matters to an adversary who is exactly indifferent",
    "publisher.max_risk": "a limit of `reidsim share`, not of a run",
    "noise": "of files that `reidsim score` and `attack` read, not of a run",
    "publisher.seconds": "a time limit that the search does not reach",
    "publisher.rounds": "a limit that local recoding does not reach",
    "expectation.trials": "a number of draws, where the expectation can be computed",
    "beliefs.gain": "a publisher who believes in another gain may choose the same",
    "agents.remembers": "a record released in the same generalization tells nothing new",
    "agents.mode": "outcomes that are certain are drawn as expected",
    "agents.tolerance": "beliefs that change by more each round",
    "agents.participation.hears": "subjects who expect what they hear",
    "matching.*_within": "a pedigree of few generations has no relatives so far apart",
    "figures.equilibria.draws": "a database without members loses none",
    "*.rationality": "an adversary may attack the same records with other weights",
    "*.prospect.*": "an adversary may attack the same records with other weights",
    "*.sequential.solver": "all solvers find the same plan",
    "*.sequential.max_penalties": "an attack may end before the last fine",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    into = tmp_path_factory.mktemp("small")
    write_files(into)
    return into


def tried(content):
    """Yield the tested keys with their values."""
    for key, field in keys_of(content):
        if key.partition(".")[0] in _OF_EVERY_SCENARIO:
            continue
        listed = given(VALUES, key)
        now = present(content, key)
        # The publisher uses the adversary's risk model unless its beliefs name another.
        same_risk = (value_if_any(content, "adversary.risk") or "journalist") if key == "beliefs.risk" else None
        values = values_of(field, now) if listed is None else listed
        yield key, [value for value in values if value not in (now, same_risk)][:3]


# With a limited number of examples, the deep tier tries these scenarios and a few others.
_FEW = (
    "records", "sensitive column, table", "persons looked up", "several adversaries", "market", "lists", "masking",
    "masking, drawn", "risk, samples", "participation, pedigree", "dynamic, epidemic",
)  # fmt: skip


@pytest.fixture(scope="module")
def effect(folder):
    """Return a function that returns the effect of a key in a scenario, computed once."""

    @cache
    def scenario(name):
        content = read(SCENARIOS[name])
        return content, outcome(content, folder), dict(tried(content))

    @cache
    def of(name, key):
        content, before, values = scenario(name)
        return verdict(content, before, key, values[key], folder)

    return of


@pytest.mark.deep
@pytest.mark.parametrize("name", cases(SCENARIOS, _FEW))
def test_every_key_changes_something_or_is_refused(effect, name):
    found = {key: effect(name, key) for key, _ in tried(read(SCENARIOS[name]))}
    ignored = [key for key, what in found.items() if what == "nothing"]
    assert [key for key in ignored if not any(fnmatchcase(key, pattern) for pattern in ALLOWED)] == []
    # Enough keys are tested for a meaningful result.
    assert sum(what == "changes" for what in found.values()) > 6
    assert sum(what == "untried" for what in found.values()) < len(found) / 3


@pytest.mark.deep
def test_every_exception_is_of_a_key_that_has_an_effect_somewhere_or_checks_something(effect):
    # The effects of these keys have separate tests.
    checks = {
        "population.counts", "population.holds_release", "resources.*.buyers", "publisher.seconds",
        "publisher.max_risk", "noise", "attributes.*.unknown", "agents.tolerance", "*.sequential.solver",
    }  # fmt: skip
    without_effect = set(ALLOWED) - checks
    for name in (*_FEW, *(name for name in SCENARIOS if name not in _FEW)):
        for key, _ in tried(read(SCENARIOS[name])) if without_effect else ():
            matching = {pattern for pattern in without_effect if fnmatchcase(key, pattern)}
            if matching and effect(name, key) == "changes":
                without_effect -= matching
    assert without_effect == set()


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("records", "adversary.rate", 0.2),
        ("table", "publisher.solver", "branch-and-bound"),
        ("random", "beliefs.cost", 75.0),
        ("masking", "subjects.k", 3),
        ("risk, file", "uniqueness.level", 0.9),
        ("participation, couples", "figures.equilibria.draws", 3),
        ("dynamic", "publisher.review", 3),
    ],
)
def test_a_key_that_nothing_reads_is_refused_in_every_kind(folder, name, key, value):
    with pytest.raises(InputError, match=f"{key}: the key has no effect"):
        outcome(changed(read(SCENARIOS[name]), key, value), folder)


def test_a_key_that_is_read_changes_something(folder):
    content = read(SCENARIOS["random"])
    assert not same(outcome(content, folder), outcome(changed(content, "adversary.rate", 0.9), folder))


def test_conditions_are_of_keys_that_exist():
    seen = []
    for name, text in SCENARIOS.items():
        content = read(text)
        for key, field in keys_of(content):
            seen += [condition for condition in field.metadata if isinstance(condition, ReadIf)]
            assert all(condition.expected for condition in seen), (name, key)
    assert len(seen) > 100
