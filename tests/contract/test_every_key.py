"""Every optional key of every kind of scenario has an effect or is refused.

Keys that are text, lists or sections take the values of `small_scenarios.VALUES`; other keys take values of their type.
"""

from fnmatch import fnmatchcase

import pytest
from every_key import changed, given, keys_of, outcome, present, read, same, values_of, verdict
from small_scenarios import SCENARIOS, VALUES, write_files

from reidsim.errors import InputError
from reidsim.overrides import value_if_any
from reidsim.scenarios.read_keys import ReadIf

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
    "publisher.safe_class": "only matters to an adversary who is exactly indifferent",
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
        same_risk = value_if_any(content, "adversary.risk", "journalist") if key == "beliefs.risk" else None
        values = values_of(field, now) if listed is None else listed
        yield key, [value for value in values if value not in (now, same_risk)][:3]


@pytest.mark.deep
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_key_changes_something_or_is_refused(folder, name):
    content = read(SCENARIOS[name])
    before = outcome(content, folder)
    found = {key: verdict(content, before, key, values, folder) for key, values in tried(content)}
    ignored = [key for key, what in found.items() if what == "nothing"]
    assert [key for key in ignored if not any(fnmatchcase(key, pattern) for pattern in ALLOWED)] == []
    # Enough keys are tested for a meaningful result.
    assert sum(what == "changes" for what in found.values()) > 6
    assert sum(what == "untried" for what in found.values()) < len(found) / 3


@pytest.mark.deep
def test_every_exception_is_of_a_key_that_has_an_effect_somewhere_or_checks_something(folder):
    # The effects of these keys have separate tests.
    checks = {
        "population.counts", "population.holds_release", "resources.*.buyers", "publisher.seconds",
        "attributes.*.unknown", "agents.tolerance", "*.sequential.solver",
    }  # fmt: skip
    effects = dict.fromkeys(ALLOWED, False)
    for text in SCENARIOS.values():
        content = read(text)
        open_patterns = {pattern for pattern, seen in effects.items() if not seen and pattern not in checks}
        keys = [(key, values) for key, values in tried(content) if any(fnmatchcase(key, p) for p in open_patterns)]
        before = outcome(content, folder) if keys else {}
        for key, values in keys:
            if verdict(content, before, key, values, folder) == "changes":
                effects |= {pattern: True for pattern in open_patterns if fnmatchcase(key, pattern)}
    assert {pattern for pattern, seen in effects.items() if not seen} <= checks


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
    with pytest.raises(InputError, match=f"{key}: nothing reads this key"):
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
