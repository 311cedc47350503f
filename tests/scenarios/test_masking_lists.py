"""Masking scenarios whose resources are lists drawn from the people."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.masking.policies import policy_named
from reidsim.kinds.masking.study import build_masking_study
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
extends = "genealogy-market"
replications = 1
[population]
together = 0.4
[targets]
size = 60
[resources.voters]
kind = "voter-list"
attributes = ["age", "state", "surname"]
errors = { state = 0.1 }
[resources.pages]
kind = "social-media"
attributes = ["age", "state", "surname"]
missing = { surname = 0.2 }
[resources.kin]
kind = "genealogy"
size = 3000
attributes = ["surname", "DYS19", "DYS385", "DYS389I", "DYS389II", "DYS390", "DYS391", "DYS439"]
errors = { DYS19 = 0.05 }
price = 300
buyers = ["broker", "x"]
[agents]
rounds = 2
"""
STAGES = [
    {"stage": "infer-surname", "resource": "kin"},
    {"stage": "identify", "resource": "voters", "on": ["age", "state", "surname"]},
]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "town.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="module")
def study(town):
    return build_masking_study(Scenario.load(town, {"adversary.stages": STAGES}))


def test_lists_are_drawn_from_the_people_of_the_targets(study):
    world = study.games(0)[0].world
    assert set(world.lists) == {"voters", "pages", "kin"}
    people, drawn = study.tables.people.values, study.tables.lists.draw(study.scenario.seed)
    for name, listed in world.lists.items():
        table = world.resource(name)
        there = listed.row >= 0
        np.testing.assert_array_equal(study.games(0)[0].world.targets.n_rows, 60)
        assert table.n_rows == len(drawn[name].person)
        for attribute, values in table.columns.items():
            truth = people[attribute][drawn[name].person]
            said = values if attribute not in table.missing else np.where(table.missing[attribute], truth, values)
            wrong = (said != truth) & (said != 0 if attribute in study.tables.people.loci else True)
            # Values are wrong only in the attributes for which the scenario declares errors.
            assert wrong.any() == (attribute in {"voters": ["state"], "kin": ["DYS19"]}.get(name, []))
        assert 0 < there.sum() < 60
    assert (people["age"][drawn["voters"].person] >= 18).all()
    assert (people["age"][drawn["pages"].person] >= 18).all()
    assert world.resource("kin").n_rows == 3000
    share = (world.resource("kin").column("DYS439") == 0).mean()
    assert abs(share - 0.3) < 6 * np.sqrt(0.3 * 0.7 / 3000)


def test_targets_outside_a_list_are_warned_of_and_never_found(town):
    result = reidsim.run(town, overrides={"adversary.stages": STAGES, "agents": None} | NO_AGENTS)
    outside = build_masking_study(Scenario.load(town, {"adversary.stages": STAGES})).games(0)[0].world.lists["voters"]
    missing = outside.row < 0
    assert any(f"{missing.sum()} of 60 targets are not in resource 'voters'" in each for each in result.warnings)
    shared = result.records[result.records["policy"] == "no-protection"]
    found = shared["success_probability"].to_numpy()
    assert (found[missing] == 0).all()
    assert (found > 0).any()


NO_AGENTS = {"agents": {}, "adversaries": {"x": {}}}


def test_a_list_from_a_file_names_rows_of_the_population(tmp_path, town, study):
    """Rows are counted in the population of the recipe, not among the living men."""
    rows = study.tables.lists.people.rows
    assert rows[0] > 0
    states = study.tables.people.labels["state"]
    people = study.tables.people.values
    chosen = [3, 70, 500]
    frame = pd.DataFrame(
        {
            # Row 0 of the population is a person who is left out.
            "person": [str(rows[each]) for each in chosen] + ["0"],
            "age": [str(people["age"][each]) for each in chosen[:2]] + ["", "44"],
            "state": [states[people["state"][each]] for each in chosen] + [states[0]],
        }
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    section = {"kind": "file", "file": str(tmp_path / "mine.csv"), "attributes": ["age", "state"]}
    stages = [{"stage": "identify", "resource": "mine", "on": ["age", "state"]}]
    changes = {"resources.mine": section, "adversary.stages": stages, "subjects.weights": "uniform"}
    n = study.tables.n_people
    own = build_masking_study(
        Scenario.load(
            town,
            changes
            | {"targets.size": n - 50, "resources.registry.size": n - 50, "resources.genealogy.holds": "anyone"},
        )
    )
    world = own.games(0)[0].world
    assert world.resource("mine").n_rows == 4
    assert (world.lists["mine"].row >= 0).sum() == 3
    assert world.resource("mine").missing["age"].tolist() == [False, False, True, False]
    # Targets are in random order; each of the three is the person named in the file.
    for row, each in enumerate(chosen):
        target = int(np.flatnonzero(world.lists["mine"].row == row)[0])
        for attribute in ("age", "state", "surname"):
            assert world.targets.column(attribute)[target] == people[attribute][each]


ON = ["age", "state"]
# A one-stage attack on a partial list, and one on a complete list without errors.
SOME = [{"stage": "identify", "resource": "voters", "on": ON}]
BY_COVERAGE = {"beliefs.lists": "coverage"}


def test_subjects_who_know_the_coverage_alone_plan_by_it_and_are_paid_what_is_true(town):
    changes = {"adversary.stages": SOME, "subjects.attributes": ON, "subjects.weights": "uniform", **NO_AGENTS}
    study = build_masking_study(Scenario.load(town, {**changes, **BY_COVERAGE}))
    truth, belief = study.games(0)
    adversary, listed = truth.attack, truth.world.lists["voters"]
    kept, planned = np.zeros((4, 60)), np.zeros((4, 60))
    for strategy in range(4):
        linkage = truth.record_game.linker.link(strategy)
        n = linkage.candidates.sizes
        believed = np.where(n > 0, listed.coverage / np.maximum(n, 1), 0.0)
        attacked = adversary.gain * believed > adversary.cost
        kept[strategy] = truth.benefit * truth.space.utility(strategy)
        planned[strategy] = kept[strategy] - truth.loss * believed * attacked
        reply = belief.record_game.adversary.respond(belief.record_game.linker.link(strategy))
        np.testing.assert_allclose(reply.success, believed)
        np.testing.assert_array_equal(reply.success, reply.believed_success)
    chosen = study.world(0).belief
    assert chosen is belief
    strategies = policy_named("masking").choose(study, belief, 0).strategies
    at = planned[np.maximum(strategies, 0), np.arange(60)]
    np.testing.assert_allclose(np.where(strategies < 0, 0.0, at), np.maximum(planned.max(axis=0), 0.0))
    outside = listed.row < 0
    result = reidsim.run(town, overrides={**changes, **BY_COVERAGE})
    records = result.records[result.records["policy"] == "masking"]
    paid = truth.evaluate(policy_named("masking").choose(study, belief, 0)).publisher_payoff
    np.testing.assert_allclose(records["publisher_payoff"], paid)
    assert (records["success_probability"].to_numpy()[outside] == 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resources.kin.holds": "others"}, "resources.kin.holds: the key has no effect"),
        ({"resources.kin.file": "x.csv"}, "a drawn list has no file"),
        ({"resources.kin.count": "n"}, "resources.kin.count: the key has no effect"),
        ({"resources.registry.coverage": 0.5}, "resources.registry.coverage: the key has no effect"),
        ({"resources.registry.errors": {"age": 0.5}}, "the key needs a list drawn from the people"),
        ({"resources.voters.attributes": ["age", "DYS19"]}, "voter lists do not contain the attribute; found 'DYS19'"),
        ({"resources.voters.states": ["Atlantis"]}, "states: no such state; found 'Atlantis'"),
        (
            {"resources.kin": {"kind": "genealogy", "attributes": ["DYS19"]}},
            "coverage and size of the list are missing",
        ),
        ({"resources.kin.recipe": "north-carolina-voters"}, "the recipe does not describe a resource"),
        ({"resources.pages.recipe": "gossip"}, "no bundled social-media recipe of this name"),
        ({"resources.kin.among": {"state": ["Mars"]}}, "not a value of 'state'; found 'Mars'"),
        ({"population.together": {"voters": {"registry": 0.5}}}, "no such list; found 'registry'"),
        ({"beliefs.sizes": {"kin": 10}}, "no such drawn resource"),
        ({"adversaries.kin-seeker.holds": ["registry", "kin"]}, "the adversary may not have the resource"),
        (
            {"adversary.stages": STAGES, "adversaries": {"y": {"weight": 1.0}}},
            "adversaries.y: the adversary may not have the resource; found 'kin'; expected 'y' in resources.kin.buyers",
        ),
        ({"resources.voters.kind": "phone-book"}, "resources.voters.kind: value not allowed"),
    ],
)
def test_what_is_refused(town, changes, message):
    with pytest.raises(InputError, match=message):
        reidsim.run(town, overrides=changes)


def test_knowledge_about_people_of_a_list_without_all_values_is_refused(town):
    changes = {"adversary": {"knowledge": "voters-age-state", "resource": "voters"}, **NO_AGENTS}
    with pytest.raises(InputError, match="voters: age: value missing in an attribute that the adversary knows"):
        reidsim.run(town, overrides=changes)


def test_a_recipe_of_a_resource_gives_defaults(tmp_path, town):
    recipe = (
        'kind = "resource"\npopulation = "ystr-genealogy-small"\nseed = 1\ncoverage = 0.5\nprice = 12\n'
        'buyers = ["broker"]\nmissing = { age = 0.25 }\namong = { state = ["Texas", "Ohio"] }\n'
    )
    (tmp_path / "file.toml").write_text(recipe.replace("{ age = 0.25 }", "{ surname = 0.25 }"))
    section = {"kind": "broker-file", "recipe": str(tmp_path / "file.toml"), "attributes": ["age", "state", "surname"]}
    study = build_masking_study(Scenario.load(town, {"resources.mine": section}))
    table = study.games(0)[0].world.resource("mine")
    states = {study.tables.people.labels["state"][code] for code in table.column("state")}
    assert states == {"Texas", "Ohio"}
    assert 0.1 < table.missing["surname"].mean() < 0.4
    assert study.tables.prices["mine"] == 12
    with pytest.raises(InputError, match="the adversary may not have the resource; found 'mine'"):
        reidsim.run(town, overrides={"resources.mine": section, "adversaries.kin-seeker.holds": ["registry", "mine"]})
    (tmp_path / "file.toml").write_text(recipe.replace("ystr-genealogy-small", "adult"))
    with pytest.raises(InputError, match="the recipe belongs to another population; found 'adult'"):
        reidsim.run(town, overrides={"resources.mine": section})
