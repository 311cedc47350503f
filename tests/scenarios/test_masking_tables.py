"""Members of a masking scenario's tables: drawn, or from user files."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.kinds.masking.study import build_masking_study
from reidsim.scenarios.scenario import Scenario

SMALL = {
    "population.recipe": "ystr-genealogy-small",
    "targets.size": 40,
    "resources.registry.size": 300,
    "resources.genealogy.size": 200,
    "replications": 1,
}


def study_of(**changes):
    return build_masking_study(Scenario.load("wan2021", SMALL | {k.replace("__", "."): v for k, v in changes.items()}))


@pytest.fixture(scope="module")
def study():
    return study_of()


def numbered(study):
    """Return tables in which every value of a person is the person's number, from 1."""
    number = np.arange(1, study.tables.n_people + 1)
    people = replace(study.tables.people, values=dict.fromkeys(study.tables.people.values, number))
    return replace(study.tables, people=people)


# Draws.


@pytest.mark.deep
@examples(6, fast=5)
@given(
    n_targets=st.integers(1, 60),
    n_registry=st.integers(60, 2_000),
    n_genealogy=st.integers(1, 2_000),
    missing=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_targets_are_in_the_registry_and_nobody_in_the_genealogy(n_targets, n_registry, n_genealogy, missing, seed):
    study = study_of(
        targets__size=n_targets,
        resources__registry__size=n_registry,
        resources__genealogy__size=n_genealogy,
        resources__genealogy__missing_alleles=missing,
    )
    world = numbered(study).draw(np.random.default_rng(seed))[None]
    targets = set(world.targets.column("surname").tolist())
    registry = set(world.resource("registry").column("surname").tolist())
    genealogy = set(world.resource("genealogy").column("surname").tolist())
    assert (len(targets), len(registry), len(genealogy)) == (n_targets, n_registry, n_genealogy)
    assert targets <= registry
    assert not registry & genealogy
    assert world.registered.all()
    loci = [name for name in study.scenario.resources["genealogy"].attributes if name != "surname"]
    alleles = world.resource("genealogy").matrix(loci)
    assert (alleles == 0).sum() == int(n_genealogy * 12 * missing)
    assert ((alleles == 0) | (alleles == world.resource("genealogy").column("surname")[:, None])).all()


def test_a_registry_of_anyone_holds_those_who_were_drawn_for_it():
    study = study_of(resources__registry__holds="anyone", resources__registry__size=2_000)
    world = numbered(study).draw(np.random.default_rng(1))[None]
    expected = np.isin(world.targets.column("age"), world.resource("registry").column("age"))
    np.testing.assert_array_equal(world.registered, expected)
    assert 0 < expected.sum() < 40


def test_resources_of_others_have_nobody_in_common():
    carries = {"size": 150, "holds": "others", "attributes": ["age", "surname"]}
    world = numbered(study_of(resources__voters=carries)).draw(np.random.default_rng(2))[None]
    tables = [world.targets, *world.resources.values()]
    people = [set(table.column("surname").tolist()) for table in tables]
    assert not people[0] & people[2]
    assert not people[1] & people[3]
    assert not people[2] & people[3]


def test_a_replication_does_not_depend_on_how_many_there_are():
    few, many = study_of(replications=2), study_of(replications=7)
    for one, other in zip(few.games(1), many.games(1), strict=True):
        for name in ("targets", "registry", "genealogy"):
            left, right = ((g.world.targets if name == "targets" else g.world.resource(name)) for g in (one, other))
            for column in left.columns:
                np.testing.assert_array_equal(left.column(column), right.column(column))


def test_women_of_these_generations_are_people_of_whom_no_alleles_are_known(study):
    """Three generations of 3,000 people each; people born after the year are excluded.

    Women of these generations are people with unknown alleles.
    """
    both = study_of(population__women=True).tables
    sex = np.array(both.label("sex", both.people.values["sex"]))
    alleles = np.stack([both.people.values[locus] for locus in both.people.loci], axis=1)
    assert (alleles[sex == "F"] == 0).all()
    assert (alleles[sex == "M"] > 0).all()
    assert (sex == "M").sum() == study.tables.n_people
    assert 0.4 < (sex == "F").mean() < 0.6
    with pytest.raises(InputError, match=r"population.women: the key has no effect"):
        study_of(population__women=True, population__generations=None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"targets__size": 10_000_000},
            r"targets\.size: size out of range; found 10000000; expected 1 to 4\d\d\d",
        ),
        ({"resources__registry__size": 39}, r"resources\.registry\.size: size out of range; .* expected 40 to"),
        (
            {"resources__registry__size": 4_000, "resources__genealogy__size": 900},
            r"resources\.genealogy\.size: size out of range; found 900; expected 1 to ",
        ),
        ({"subjects__attributes": ["age", "height"]}, r"subjects\.attributes: no such attribute; found 'height'"),
        (
            {"resources__registry__attributes": ["age", "height"]},
            r"resources\.registry\.attributes: no such attribute; found 'height'",
        ),
        ({"population__recipe": "adult"}, r"population\.generations: the population is not a genealogy; found 'adult'"),
        ({"population__recipe": "nowhere"}, "no bundled population of this name; found 'nowhere'"),
        ({"population__reference_year": 1650}, r"population\.reference_year: no person is born by"),
    ],
    ids=str,
)
def test_what_cannot_be_drawn(changes, says):
    with pytest.raises(InputError, match=says):
        study_of(**changes).games(0)


# Files.

LOCI = ("A", "B")
SCENARIO = """
game = "masking"
[targets]
file = "targets.csv"
[resources.registry]
file = "registry.csv"
holds = "targets"
attributes = ["age", "state", "surname"]
[resources.genealogy]
file = "genealogy.csv"
attributes = ["surname", "A", "B"]
[economics]
benefit = 100
loss = 150
cost = 10
[adversary]
[[adversary.stages]]
stage = "infer-surname"
resource = "genealogy"
mutation_rates = "rates.csv"
[[adversary.stages]]
stage = "identify"
resource = "registry"
on = ["age", "state", "surname"]
[subjects]
attributes = ["age", "state", "A", "B"]
weights = "uniform"
"""
FILES = {
    "targets.csv": "surname,age,state,A,B\nFox,40,TN,12,13\nHare,41,NC,12,\n",
    "registry.csv": "surname,age,state\nFox,40,TN\nHare,41,NC\nHare,41,NC\nWolf,40,TN\n",
    "genealogy.csv": "surname,A,B\nFox,12,13\nBear,,14\n",
    "rates.csv": "locus,mutation_rate\nA,0.002\nB,0.001\n",
}


@pytest.fixture
def own(tmp_path):
    """Return a function that writes changed files and builds the scenario's games."""

    def games(scenario=SCENARIO, set_=None, **changes):
        (tmp_path / "own.toml").write_text(scenario, encoding="utf-8")
        for name, text in FILES.items():
            (tmp_path / name).write_text(changes.get(name.partition(".")[0], text), encoding="utf-8")
        study = build_masking_study(Scenario.load(tmp_path / "own.toml", set_))
        return study, study.games(0)[0]

    return games


def test_files_are_read_as_they_are(own):
    study, game = own()
    world = game.world
    np.testing.assert_array_equal(world.targets.column("age"), [40, 41])
    np.testing.assert_array_equal(world.targets.matrix(LOCI), [[12, 13], [12, 0]])
    np.testing.assert_array_equal(world.resource("genealogy").matrix(LOCI), [[12, 13], [0, 14]])
    names = {"state": ["TN", "NC"], "surname": ["Fox", "Hare"]}
    assert {name: study.tables.label(name, world.targets.column(name)) for name in names} == names
    # Equal texts have equal codes in all tables.
    registry = world.resource("registry").column("surname")
    assert study.tables.label("surname", registry) == ["Fox", "Hare", "Hare", "Wolf"]
    np.testing.assert_array_equal(registry[:2], world.targets.column("surname"))
    assert world.registered.all()
    assert game.is_compiled


def test_a_row_may_stand_for_many_people(own):
    counted = SCENARIO.replace('holds = "targets"', 'holds = "targets"\ncount = "n"')
    registry = "surname,age,state,n\nFox,40,TN,157681\nHare,41,NC,2\nWolf,40,TN,0\n"
    _, game = own(counted, registry=registry)
    ages, counts = np.unique(game.world.resource("registry").column("age"), return_counts=True)
    assert dict(zip(ages.tolist(), counts.tolist(), strict=True)) == {40: 157_681, 41: 2}


def test_loci_are_taken_in_the_order_of_the_subjects(own):
    _, game = own(SCENARIO.replace('mutation_rates = "rates.csv"', 'mutation_rates = "rates.csv"\nloci = ["B", "A"]'))
    stage = game.attack.inferences[0]
    assert stage.loci == LOCI
    np.testing.assert_array_equal(stage.ancestry.mutation_rates, [0.002, 0.001])


def test_a_target_may_be_missing_from_a_registry_that_is_not_said_to_hold_all(own):
    registry = FILES["registry.csv"].replace("Fox,40", "Fox,50")
    _, game = own(SCENARIO.replace('holds = "targets"', ""), registry=registry)
    np.testing.assert_array_equal(game.world.registered, [False, True])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"registry": FILES["registry.csv"].replace("Fox,40", "Fox,50")},
            r"targets\.csv: row 1: a target is not in resource 'registry', although holds = .targets.; "
            r"found \{'age': '40', 'state': 'TN', 'surname': 'Fox'\}; expected a person with",
        ),
        ({"targets": FILES["targets.csv"].replace("12,13", "12.2,13")}, r"targets\.csv: row 1, column 'A': .* '12\.2'"),
        (
            {"genealogy": FILES["genealogy.csv"].replace(",14", ",x")},
            r"genealogy\.csv: row 2, column 'B': .* found 'x'",
        ),
        (
            {"genealogy": FILES["genealogy.csv"].replace("Fox", "FOX")},
            r"genealogy\.csv: row 1, column 'surname': a value in two spellings, .*; found 'FOX'; expected 'Fox'",
        ),
        (
            {"registry": FILES["registry.csv"].replace("40,TN\nHare", "40,tn\nHare")},
            r"registry\.csv: row 1, column 'state': a value in two spellings, .*; found 'tn'; expected 'TN'",
        ),
        ({"targets": FILES["targets.csv"].replace("41", "-41")}, r"targets\.csv: row 2, column 'age': .* found '-41'"),
        ({"registry": FILES["registry.csv"].replace("41", "41.5")}, r"registry\.csv: row 2, column 'age': .* '41\.5'"),
        ({"registry": FILES["registry.csv"].replace("NC", "")}, r"registry\.csv: row 2, column 'state': value missing"),
        ({"rates": "locus,mutation_rate\nA,0.002\n"}, r"rates\.csv: mutation rate missing for a locus; found 'B'"),
        ({"rates": "locus,mutation_rate\nA,0.002\nB,fast\n"}, r"rates\.csv: row 2, column 'mutation_rate'"),
        ({"genealogy": "surname,A\nFox,12\n"}, r"genealogy\.csv: column 'B': column missing"),
        ({"targets": "age,state,A,B\n40,TN,12,13\n"}, r"targets\.csv: column 'surname': column missing"),
        ({"set_": {"resources.registry.file": "nowhere.csv"}}, r"nowhere\.csv: no such file"),
        ({"set_": {"resources.registry.count": "n"}}, r"registry\.csv: column 'n': column missing"),
        ({"set_": {"resources.registry.count": "state"}}, r"registry\.csv: row 1, column 'state': not a whole number"),
        (
            {"set_": {"figures.search_path": 2}},
            r"own\.toml: figures\.search_path: no such record; found 2; .* 0 to 1",
        ),
        ({"set_": {"subjects.weights": {"age": 1}}}, r"subjects\.weights: weights do not match .* found 'state'"),
        ({"set_": {"subjects.weights": "entropy", "resources.registry.attributes": ["age", "surname"]}}, "'state'"),
        (
            {"set_": {"subjects.generalize": {"state": {"widths": [2], "kept": [0.5]}}}},
            "widths need an attribute with whole numbers",
        ),
        (
            {"set_": {"subjects.generalize": {"state": {"groups": [[["TN", "SC"]]], "kept": [0.5]}}}},
            r"subjects\.generalize\.state\.groups: not a value of the attribute; found 'SC'",
        ),
        ({"set_": {"subjects.attributes": ["age", "A", "B"]}}, "stage 2: attribute is neither .* found 'state'"),
        ({"set_": {"subjects.attributes": ["age", "state"]}}, r"the stage has no loci"),
    ],
    ids=str,
)
def test_files_that_cannot_be_used(own, changes, says):
    with pytest.raises(InputError, match=says):
        own(**changes)


def test_a_locus_that_the_genealogy_lacks_is_an_error(own):
    """Subjects release C and the adversary uses it, but the genealogy lacks it."""
    text = SCENARIO.replace('"A", "B"]\nweights', '"A", "B", "C"]\nweights').replace(
        'mutation_rates = "rates.csv"', 'mutation_rates = "rates.csv"\nloci = ["A", "B", "C"]'
    )
    targets = "surname,age,state,A,B,C\nFox,40,TN,12,13,9\n"
    rates = FILES["rates.csv"] + "C,0.002\n"
    with pytest.raises(InputError, match=r"genealogy\.csv: C: column missing"):
        own(text, targets=targets, rates=rates)


def test_a_locus_that_no_stage_can_use_is_an_error_whatever_the_weights(own):
    """By default, the loci are the genealogy's.

    A missing locus would seem free of risk.
    """
    text = SCENARIO.replace('"A", "B"]\nweights', '"A", "B", "C"]\nweights')
    with pytest.raises(InputError, match=r"subjects\.attributes: no stage of the attack uses the attribute; found 'C'"):
        own(text, targets="surname,age,state,A,B,C\nFox,40,TN,12,13,9\n")
