"""Lists drawn from the people of a table, against plain Python loops."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
title = "A town"
seed = 3
[population]
recipe = "town.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 40] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.state]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 120
cost = 5
[publisher]
policies = ["basic", "no-attack", "no-protection"]
[resources.voters]
kind = "voter-list"
[resources.file]
kind = "broker-file"
attributes = ["age", "sex"]
coverage = { by = "age", shares = { "..29" = 0.9, "30.." = 0.4 } }
errors = { age = 0.2 }
missing = { sex = 0.3, age = 0.1 }
price = 7
buyers = ["broker", "both"]
[resources.posts]
kind = "social-media"
recipe = "forum.toml"
size = 12
"""
FORUM = """
kind = "social-media"
title = "A forum"
platform = "Forum"
[use]
by_age = [{ ages = "20..39", probability = 0.7, assumed = "x" }, { ages = "40..", probability = 0.2, assumed = "x" }]
[attributes.sex]
overall = { probability = 0.8, assumed = "x" }
[attributes."year of birth"]
overall = { probability = 0.5, assumed = "x" }
"""
GAIN, COST = 120.0, 5.0


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(2)
    ages, states = rng.choice([8, 17, 21, 25, 33, 48, 61], 150), rng.choice(["Ohio", "Tennessee", "Alaska"], 150)
    people = pd.DataFrame({"age": ages, "sex": rng.choice(["F", "M"], 150), "state": states})
    people.to_csv(folder / "people.csv", index=False)
    people.sample(40, random_state=1).to_csv(folder / "records.csv", index=False)
    columns = "".join(f'{name} = "{name}"\n' for name in people)
    (folder / "town.toml").write_text(f'kind = "counts"\nfile = "people.csv"\n[columns]\n{columns}')
    (folder / "forum.toml").write_text(FORUM)
    (folder / "town-study.toml").write_text(SCENARIO)
    return folder / "town-study.toml"


def study_of(town, **changes):
    return build_study(Scenario.load(town, {key.replace("__", "."): value for key, value in changes.items()}))


def candidates(study, name, record, strategy):
    """Return the list rows that agree with a released record.

    Also return whether one of them belongs to the data subject.
    """
    lattice, drawn = study.lattice, study.drawn
    levels, listed = lattice.levels(strategy), drawn.lists[name]
    found = set()
    for row in range(len(listed.person)):
        agrees = True
        for position, attribute in enumerate(lattice.domain.names):
            said = int(listed.columns[attribute][row]) if attribute in listed.columns else -1
            labels = lattice.hierarchies[position].groups[levels[position]]
            agrees &= said == -1 or labels[said] == labels[lattice.codes[record, position]]
        if agrees:
            found.add(row)
    own = [row for row in found if listed.person[row] == drawn.person[record]]
    return len(found), bool(own)


@examples(20, fast=4)
@given(
    seed=st.integers(0, 1000), together=st.sampled_from((0.0, 0.6)),
    held=st.permutations(["voters", "file", "posts"]), most=st.integers(1, 3),
)  # fmt: skip
def test_each_record_is_looked_up_in_the_list_that_promises_most(town, seed, together, held, most):
    held = held[:most]
    in_file = [name for name in ("voters", "file", "posts") if name in held]
    study = study_of(town, seed=seed, population__together=together, adversary__holds=held, economics__cost=COST,
                     resources__file__buyers=["anyone"])  # fmt: skip
    linker = study.truth.linker
    drawn = study.drawn
    rng = np.random.default_rng(seed)
    for strategy in {0, study.lattice.size - 1, *rng.integers(0, study.lattice.size, 4).tolist()}:
        rows = rng.permutation(study.lattice.n_records)[:8]
        linkage = linker.link(strategy, rows)
        whole = linker.link(strategy)
        reply = study.truth.adversary.respond(linkage, rows)
        for at, record in enumerate(rows.tolist()):
            believed, true = 0.0, 0.0
            for name in in_file:
                n, among = candidates(study, name, record, strategy)
                hoped = drawn.lists[name].coverage / n if n else 0.0
                if hoped > believed:
                    believed, true = hoped, (1 / n if among else 0.0)
            assert 1 / linkage.believed_group_sizes[at] == pytest.approx(believed)
            assert 1 / linkage.group_sizes[at] == pytest.approx(true)
            assert whole.group_sizes[record] == linkage.group_sizes[at]
            assert reply.attacks[at] == (GAIN * believed > COST * (1 + 1e-12))
            assert reply.adversary_payoff[at] == pytest.approx((GAIN * true - COST) * reply.attacks[at])


def test_records_are_about_people_with_their_values_and_nobody_twice(town):
    study = study_of(town)
    people = study.drawn.lists["voters"].n_people
    person = study.drawn.person
    assert people == 150
    assert len(set(person.tolist())) == len(person) == study.n_records == 40
    values = np.repeat(study.population.cells, study.population.counts.astype(int), axis=0)
    np.testing.assert_array_equal(values[person], study.lattice.codes)


def test_kinds_of_lists_take_their_figures_from_their_sources(town):
    study = study_of(town, resources__posts={"kind": "social-media", "recipe": str(town.parent / "forum.toml")})
    lists, domain = study.drawn.lists, study.lattice.domain
    people = np.repeat(study.population.cells, study.population.counts.astype(int), axis=0)
    ages = np.array([int(label) for label in domain["age"].categories])[people[:, 0]]
    states = np.array(domain["state"].categories)[people[:, 2]]
    voters, posts = lists["voters"], lists["posts"]
    assert ages[voters.person].min() >= 18
    assert ages[posts.person].min() >= 20
    # Alaska's list has no age and, of these people's attributes, only sex; it also has addresses.
    assert set(voters.columns) == {"age", "sex", "state"}
    told = voters.columns["age"] >= 0
    np.testing.assert_array_equal(told, states[voters.person] != "Alaska")
    assert (voters.columns["sex"] >= 0).sum() > 0
    assert set(posts.columns) == {"age", "sex"}
    assert 0 < (posts.columns["sex"] < 0).sum() < (posts.columns["age"] < 0).sum()
    prices = study.drawn.prices
    state_prices = [reidsim_profile(state).price for state in ("Ohio", "Tennessee", "Alaska")]
    assert prices == {"voters": sum(state_prices), "file": 7, "posts": 0}


def reidsim_profile(state):
    from reidsim.populations.census import voter_profile

    return voter_profile(state)


def test_voter_lists_of_some_states_hold_nobody_of_others(town):
    study = study_of(town, resources__voters__states=["OH"], adversary__holds=["voters"])
    voters = study.drawn.lists["voters"]
    codes = np.repeat(study.population.cells, study.population.counts.astype(int), axis=0)[voters.person, 2]
    assert {study.lattice.domain["state"].categories[code] for code in codes} == {"Ohio"}


def test_one_list_more_changes_no_result(town):
    few = reidsim.run(town, overrides={"adversary.holds": ["voters"]}).summary
    more = {"kind": "broker-file", "coverage": 0.5, "attributes": ["age"]}
    many = reidsim.run(town, overrides={"adversary.holds": ["voters"], "resources.another": more}).summary
    pd.testing.assert_frame_equal(few, many)


def test_a_sequential_attack_on_a_list_counts_its_people(town):
    sequential = {"adversary.planner": "fmdp", "adversary.holds": ["voters"], "publisher.policies": ["no-protection"]}
    study = study_of(town, **sequential)
    result = reidsim.run(town, overrides=sequential).records
    for record in range(study.n_records):
        n, among = candidates(study, "voters", record, 0)
        if not among:
            assert result["success_probability"][record] == 0
        if among and n == 1:
            assert result["success_probability"][record] == result["attacked"][record]
    assert result["success_probability"].sum() > 0


COVERAGE = {"beliefs__lists": "coverage", "resources__file__buyers": ["anyone"]}


@pytest.mark.deep
def test_a_publisher_who_knows_the_coverage_alone_plans_by_it(town):
    """In plain Python: memberships determine the payoff, but not the choice."""
    held = ["voters", "file"]
    study = study_of(town, adversary__holds=held, **COVERAGE)
    loss, lists = study.scenario.economics.loss, study.drawn.lists
    planned = np.zeros((study.lattice.size, study.n_records))
    for strategy in range(study.lattice.size):
        kept = study.belief.benefit_of(strategy)
        for record in range(study.n_records):
            sizes = {name: candidates(study, name, record, strategy)[0] for name in held}
            believed = max(lists[name].coverage / n if n else 0.0 for name, n in sizes.items())
            planned[strategy, record] = kept[record] - loss * believed * (GAIN * believed > COST)
    result = reidsim.run(town, overrides=_dotted({"adversary__holds": held, **COVERAGE}))
    basic = result.records[result.records["policy"] == "basic"]
    chosen = TABLES.play(study, policies=["basic"])["basic"].equilibrium.strategies
    np.testing.assert_allclose(planned[chosen, np.arange(len(chosen))], planned.max(axis=0))
    paid = [study.truth.outcome(s).publisher_payoff[record] for record, s in enumerate(chosen.tolist())]
    np.testing.assert_allclose(basic["publisher_payoff"], paid)
    # A publisher who knows the memberships does better, through the releases of people who are not listed.
    members = reidsim.run(town, overrides=_dotted({"adversary__holds": held, **COVERAGE, "beliefs__lists": "members"}))
    assert members.summary["publisher_payoff"]["basic"] > result.summary["publisher_payoff"]["basic"]


@pytest.mark.parametrize("planner", ["one-shot", "fmdp", "random"])
def test_success_as_planned_is_what_the_adversary_believes(town, planner):
    study = study_of(town, adversary__holds=["voters", "file"], adversary__planner=planner, **COVERAGE)
    for strategy in range(study.lattice.size):
        linkage, true = (game.linker.link(strategy) for game in (study.belief, study.truth))
        reply, paid = study.belief.adversary.respond(linkage), study.truth.adversary.respond(true)
        np.testing.assert_array_equal(reply.success, reply.believed_success)
        np.testing.assert_array_equal(reply.believed_success, paid.believed_success)
        np.testing.assert_array_equal(reply.attacks, paid.attacks)


@pytest.mark.parametrize("planner", ["one-shot", "fmdp"])
def test_coverage_says_all_of_a_list_of_everybody_without_faults(town, planner):
    everybody = {"kind": "broker-file", "coverage": 1.0}
    changes = {"adversary.holds": ["all"], "resources.all": everybody, "adversary.planner": planner}
    runs = [reidsim.run(town, overrides={**changes, "beliefs.lists": known}) for known in ("members", "coverage")]
    pd.testing.assert_frame_equal(runs[0].records, runs[1].records)
    assert (runs[0].summary["risk"] > 0).any()


def _dotted(changes):
    return {key.replace("__", "."): value for key, value in changes.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"resources": {"told": {"attributes": ["age"], "coverage": 0.5}}, "beliefs.lists": "coverage"},
            "beliefs.lists: no list is drawn from the people; found 'coverage'; expected a resource with `kind`",
        ),
        ({"beliefs.lists": "everything"}, "beliefs.lists: value not allowed"),
        ({"adversary.holds": ["gossip"]}, "adversary.holds: no such list; found 'gossip'"),
        ({"adversary.holds": ["file"]}, "the adversary may not have the resource; found 'file'"),
        ({"adversary.holds": ["voters", "voters"]}, "list given twice"),
        ({"adversary.holds": ["voters"], "adversary.knowledge": "twitter"}, "not supported together with holds"),
        (
            {"adversaries.x.holds": ["file"]},
            "the adversary may not have the resource; found 'file'; expected 'x' in",
        ),
        (
            {"agents": {}, "adversaries.x.holds": ["voters", "told"], "resources.told.coverage": 0.5},
            "drawn lists cannot be combined with other resources",
        ),
        (
            {"resources.told.errors": {"age": 0.5}},
            "the key needs a list drawn from the people",
        ),
        ({"resources.told": {"coverage": {"by": "age", "shares": {"8": 0.1}}}}, "unequal coverage needs a list"),
        ({"resources.told.size": 5}, "the key needs a list"),
        ({"resources.file.states": ["Ohio"]}, "not supported with kind 'broker-file'"),
        ({"resources.file.attributes": ["zip"]}, "not a quasi-identifier; found 'zip'"),
        ({"resources.file.errors": {"state": 0.1}}, "resources.file: errors: no such attribute; found 'state'"),
        ({"resources.file.coverage": {"by": "age", "shares": {"..29": 0.9}}}, "share missing; .* for '33'"),
        (
            {"resources.file.coverage": {"by": "age", "shares": {"..29": 0.9, "21": 0.1, "30..": 0}}},
            "value in two groups; found '21'",
        ),
        ({"resources.file.coverage": {"by": "age", "shares": {"old": 0.9}}}, "not a value of 'age'; found 'old'"),
        ({"resources.file": {"kind": "broker-file"}}, "coverage and size of the list are missing"),
        (
            {"resources.voters.states": ["Texas"]},
            "resources.voters: states: no person lives in the state; found 'Texas'",
        ),
        ({"resources.posts.size": 150}, "size out of range; found 150"),
        ({"population.together": {"voters": {"gossip": 0.1}}}, "no such list; found 'gossip'"),
        ({"population.together": 1.5}, "population.together"),
        (
            {"population.counts": "expected", "population.recipe": "tennessee-2010"},
            "whole people|no such attribute|'sex'",
        ),
        ({"resources.file": {"kind": "file"}}, 'a file needs kind "file"'),
        *[
            ({"resources.mine": {"kind": "file", "file": "rows.csv", key: value}}, f"{key}: not supported with kind")
            for key, value in [("coverage", 0.5), ("among", {"age": ["33"]}), ("missing", {"age": 0.1})]
        ],
    ],
)
def test_what_is_refused(town, changes, message):
    with pytest.raises(InputError, match=message):
        reidsim.run(town, overrides=changes)


def test_a_list_from_a_file_names_the_people(town):
    study = study_of(town)
    values = np.repeat(study.population.cells, study.population.counts.astype(int), axis=0)
    labels = study.lattice.domain.decode(values.astype(np.int32)).astype(str)
    rows = labels.iloc[[5, 9, 100]].assign(who=["5", "9", ""])
    rows["age"] = ["", "25", "61"]
    rows.rename(columns={"sex": "gender"}).to_csv(town.parent / "mine.csv", index=False)
    section = {
        "kind": "file", "file": str(town.parent / "mine.csv"), "person": "who", "attributes": ["age", "sex"],
        "columns": {"sex": "gender"}, "errors": {"age": 0.5},
    }  # fmt: skip
    study = study_of(town, resources__mine=section, adversary__holds=["mine"])
    listed = study.drawn.lists["mine"]
    assert listed.person.tolist() == [5, 9, -1]
    assert listed.columns["age"].tolist() == [-1, *map(study.lattice.domain["age"].categories.index, ("25", "61"))]
    assert listed.coverage == 2 / 150
    linkage = study.truth.linker.link(0)
    for record in range(study.n_records):
        n, among = candidates(study, "mine", record, 0)
        assert 1 / linkage.group_sizes[record] == (1 / n if among else 0)
    for wrong, message in (
        (rows.assign(who=["5", "5", ""]), "person given twice"),
        (rows.assign(who=["5", "x", ""]), "not a row number of the population; found 'x'"),
        (
            rows.assign(who=["5", "150", ""]),
            "row 2.*not a row number.*found '150'; expected a whole number from 0 to 149",
        ),
        (rows.assign(age=["1", "25", "61"]), "the population has no such value; found '1'"),
    ):
        wrong.rename(columns={"sex": "gender"}).to_csv(town.parent / "wrong.csv", index=False)
        with pytest.raises(InputError, match=message):
            study_of(town, resources__mine={**section, "file": str(town.parent / "wrong.csv")})


LISTED = """
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "suppress" }
[attributes.sex]
hierarchy = { rule = "suppress" }
[resources.mine]
kind = "file"
file = "list.csv"
[economics]
benefit = 100
loss = 300
cost = 0.1
[adversary]
holds = ["mine"]
[publisher]
policies = ["no-protection"]
"""


@pytest.mark.parametrize("population", ['path = "town.csv"', 'recipe = "town.toml"'])
def test_a_file_numbers_people_in_the_order_of_the_population(tmp_path, population):
    """Nobody has the values of another person, so an attack succeeds exactly if the record's person is listed."""
    town = pd.DataFrame({"sex": ["M", "F"] * 15, "age": range(40, 70)}).sample(frac=1, random_state=4)
    town.to_csv(tmp_path / "town.csv", index=False)
    columns = 'sex = "sex"\nage = "age"'
    (tmp_path / "town.toml").write_text(f'kind = "counts"\nfile = "town.csv"\n[columns]\n{columns}\n')
    if population.startswith("recipe"):
        town = reidsim.load_individuals(tmp_path / "town.toml").to_frame()
    people = town.reset_index(drop=True).rename_axis("person").reset_index()
    records, listed = people.sample(20, random_state=6), people.sample(12, random_state=5)
    records.to_csv(tmp_path / "records.csv", index=False)
    listed.to_csv(tmp_path / "list.csv", index=False)
    (tmp_path / "study.toml").write_text(f"[population]\n{population}\n{LISTED}")
    result = reidsim.run(tmp_path / "study.toml")
    expected = records["person"].isin(listed["person"]).astype(float)
    np.testing.assert_array_equal(result.records["success_probability"], expected)

    listed["person"] = np.roll(listed["person"], 1)
    listed.to_csv(tmp_path / "list.csv", index=False)
    message = "list.csv: row 1, column 'age': the person has another value in the population; found .*; expected "
    with pytest.raises(InputError, match=f"{message}{people['age'][listed['person'].iloc[0]]}, or a share of errors"):
        reidsim.run(tmp_path / "study.toml")
