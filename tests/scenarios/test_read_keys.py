"""A key that the user sets and no part of the study reads is refused.

An inherited or swept key may be unread.
"""

from pathlib import Path

import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parent / "town" / "town.toml"
SEVERAL = {
    "careful": {"weight": 0.5},
    "lucky": {"weight": 0.5, "planner": "random"},
}


def refused(key, changes, scenario=TOWN):
    with pytest.raises(InputError) as error:
        Scenario.load(scenario, changes)
    assert error.value.where == key, error.value
    return error.value


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("adversary.rate", {"adversary.rate": 0.3}),
        # An explicit default value is also refused if its planner is absent.
        ("adversary.rate", {"adversary.rate": 0.5}),
        ("adversary.sequential.registry", {"adversary.sequential.registry": "north-carolina-voters"}),
        ("release.weight", {"release.weight": "weight"}),
        ("release.sampling_fraction", {"release.sampling_fraction": 0.5}),
        ("release.estimator", {"release.estimator": "benedetti-franconi"}),
        ("publisher.suppression_limit", {"publisher.suppression_limit": 0.2}),
        ("publisher.solver", {"publisher.solver": "branch-and-bound", "publisher.unit": "table"}),
        ("publisher.k", {"publisher.k": 4}),
        ("publisher.max_average_risk", {"publisher.max_average_risk": 0.1}),
        ("publisher.k", {"publisher.k": 4, "publisher.policies": ["k-anonymity-3"]}),
        ("publisher.rounds", {"publisher.rounds": 3}),
        ("safe_harbor", {"safe_harbor": {"age": "age"}}),
        ("agents.tolerance", {"agents": {"rounds": 2, "tolerance": 0.1}}),
        (
            "agents.remembers",
            {"agents": {"remembers": False}, "releases": {"enters": "wave"}, "adversary.risk": "prosecutor"},
        ),
        ("agents.enforcement.fine", {"agents": {"enforcement": {"fine": 5}}}),
        ("beliefs.gain", {"beliefs.gain": 5, "adversary.planner": "always"}),
        ("attributes.sex.values", {"attributes.sex.draw": True, "attributes.sex.values": {"w": "F"}}),
    ],
)
def test_a_key_that_nothing_reads_is_refused(key, changes):
    error = refused(key, changes)
    assert error.source == "--set"
    assert error.expected


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("adversary.resource", {"adversary.resource": "registry"}),
        (
            "adversary.overconfident",
            {"adversary": {"knowledge": "twitter", "resource": "registry", "overconfident": True}},
        ),
        ("resources.registry.count", {"resources.registry.count": "n"}),
        ("resources.registry.coverage", {"resources.registry.coverage": 0.5}),
        ("targets.person", {"targets.person": "surname"}),
    ],
)
def test_a_key_of_a_masking_scenario_that_nothing_reads_is_refused(key, changes):
    refused(key, changes, "wan2021")


def test_the_same_key_is_read_where_its_condition_holds():
    for changes in (
        {"adversary.rate": 0.3, "adversary.planner": "random"},
        {"publisher.suppression_limit": 0.2, "publisher.unit": "table"},
        {"publisher.suppression_limit": 0.2, "publisher.policies": ["full-domain"]},
        {"release.sampling_fraction": 0.5, "beliefs.risk": "sample"},
        {"publisher.k": 4, "publisher.policies": ["k-anonymity"]},
        {"publisher.max_average_risk": 0.1, "publisher.policies": ["average-risk"]},
        {"publisher.k": [4, 6], "publisher.policies": ["k-anonymity"]},
    ):
        Scenario.load(TOWN, changes)


def written(folder, text, base=TOWN):
    path = folder / "mine.toml"
    path.write_text(f"extends = {str(base)!r}\n{text}")
    return path


def test_a_file_is_refused_for_its_own_keys_and_not_for_those_that_it_inherits(tmp_path):
    base = written(tmp_path, '[adversary]\nplanner = "random"\nrate = 0.3\n').rename(tmp_path / "base.toml")
    Scenario.load(written(tmp_path, '[adversary]\nplanner = "one-shot"\n', base))
    path = written(tmp_path, '[adversary]\nplanner = "one-shot"\nrate = 0.3\n', base)
    assert refused("adversary.rate", {}, path).source == str(path)


def test_an_override_may_take_a_key_of_the_file_out_of_use_or_into_it(tmp_path):
    random = written(tmp_path, '[adversary]\nplanner = "random"\nrate = 0.3\n')
    plain = reidsim.run(TOWN).summary
    assert reidsim.run(random, overrides={"adversary.planner": "one-shot"}).summary.equals(plain)
    unread = written(tmp_path, "[adversary]\nrate = 0.3\n")
    Scenario.load(unread, {"adversary.planner": "random"})
    # Overriding another key does not repair the error.
    refused("adversary.rate", {"economics.loss": 5}, unread)


def test_a_wrong_seed_is_named_by_the_way_in_which_it_was_given():
    with pytest.raises(InputError) as by_option:
        Scenario.load(TOWN, seed=-1)
    assert (by_option.value.source, by_option.value.where) == ("seed", None)
    with pytest.raises(InputError) as among_changes:
        Scenario.load(TOWN).overridden({"seed": -1})
    assert (among_changes.value.source, among_changes.value.where) == ("--set", "seed")


def test_a_key_is_read_if_a_point_of_the_batch_reads_it():
    rates = {"adversary.rate": [0.2, 0.3]}
    refused("sweep.values.adversary.rate", {"sweep.values": rates})
    refused("sweep.values.adversary.sequential.penalty", {"sweep.values": {"adversary.sequential.penalty": [1, 2]}})
    Scenario.load(TOWN, {"sweep.values": {**rates, "adversary.planner": ["one-shot", "random"]}})
    together = [["adversary.rate", "adversary.planner"]]
    planners = {**rates, "adversary.planner": ["one-shot", "random"]}
    Scenario.load(TOWN, {"sweep": {"values": planners, "together": together}})
    Scenario.load(TOWN, {"adversary.rate": 0.2, "sweep.values": {"adversary.planner": ["one-shot", "random"]}})
    who = {"adversary": {"distribution": "discrete", "values": ["one-shot", "fmdp"]}}
    sequential = {"adversary.sequential": {"penalty": 5}}
    Scenario.load(TOWN, {**sequential, "uncertainty": {"parameters": who, "samples": 4}})
    refused("adversary.sequential", sequential)


def test_defaults_of_several_adversaries_are_read_if_one_of_them_reads_them():
    Scenario.load(TOWN, {"adversaries": SEVERAL, "adversaries.lucky.rate": 0.2})
    refused("adversaries.careful.rate", {"adversaries": SEVERAL, "adversaries.careful.rate": 0.2})
    # An adversary with another planner takes no rate from the defaults.
    refused("adversary.rate", {"adversaries": SEVERAL, "adversary.rate": 0.2})
    sequential = {"adversary.sequential": {"penalty": 5}}
    refused("adversary.sequential", {"adversaries": SEVERAL, **sequential})
    Scenario.load(TOWN, {"adversaries": SEVERAL, "adversaries.careful.planner": "fmdp", **sequential})
    own = {"careful": {"weight": 0.5, "risk": "prosecutor"}, "other": {"weight": 0.5, "risk": "prosecutor"}}
    refused("adversary.risk", {"adversaries": own, "adversary.risk": "journalist"})
    patient = {"planner": "fmdp", "sequential": {"access_cost": 1}}
    own = {"careful": {"weight": 0.5, **patient}, "other": {"weight": 0.5, **patient}}
    Scenario.load(TOWN, {"adversaries": own, **sequential})


def test_cross_play_reads_keys_of_planners_and_policies_that_the_scenario_does_not_name():
    changes = {"adversary.sequential": {"penalty": 5}, "publisher.k": 4, "publisher.suppression_limit": 0.5}
    reidsim.cross_play(TOWN, overrides=changes)
    with pytest.raises(InputError, match="the key has no effect"):
        reidsim.run(TOWN, overrides=changes)
