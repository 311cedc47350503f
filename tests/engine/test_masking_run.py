"""Masking runs from scenario files: policies, beliefs, replications, long chains."""

import numpy as np
import pytest
from tiers import cases
from wan2021_oracle import supported_weights

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.stress.run import describe
from reidsim.kinds.masking.study import build_masking_study
from reidsim.scenarios.scenario import Scenario

SMALL = {
    "population.recipe": "ystr-genealogy-small", "replications": 2, "targets.size": 12, "resources.registry.size": 400,
    "resources.genealogy.size": 400,
}  # fmt: skip


def run(**changes):
    return reidsim.run("wan2021", overrides=SMALL | {key.replace("__", "."): value for key, value in changes.items()})


def test_the_distribution_of_the_number_reidentified_is_mixed_over_the_draws_of_the_tables():
    result = run(subjects__policies=["no-protection"])
    runs = result.runs[result.runs["policy"] == "no-protection"]
    assert len(runs) > 1
    table = result.analysis.reidentified
    told = table[table["policy"] == "no-protection"]
    n = result.manifest["records"]
    assert (told["people"] * told["probability"]).sum() == pytest.approx(n * runs["risk"].mean(), abs=1e-9)
    most = told.loc[told["at_most"] >= 0.95 - 1e-9, "people"].min()
    assert runs["reidentified_95"].min() <= most <= runs["reidentified_95"].max()


@pytest.mark.deep
def test_beliefs_pick_the_strategies_of_the_game_believed_in():
    """Choices equal a scenario with true beliefs; payoffs use the actual parameters."""
    mistaken = run(beliefs__cost=40, subjects__policies=["masking"])
    elsewhere = run(economics__cost=40, subjects__policies=["masking"])
    assert mistaken.records["strategy"].tolist() == elsewhere.records["strategy"].tolist()
    lost = 150 * mistaken.records["success_probability"].where(mistaken.records["attacked"], 0)
    np.testing.assert_allclose(
        mistaken.records["publisher_payoff"], 100 * mistaken.records["utility"] - lost, atol=1e-9
    )
    # At the true cost of 10, more attacks are profitable than the subjects expect.
    assert mistaken.records["attacked"].sum() > elsewhere.records["attacked"].sum()


@pytest.mark.parametrize("believed", [250, 800])
def test_databases_of_another_size_hold_the_same_people_with_the_same_missing_alleles(believed):
    study = build_masking_study(Scenario.load("wan2021", SMALL | {"resources.genealogy.size": 400}))
    true, other = (
        study.tables.draw(np.random.default_rng(5), sizes)[None] for sizes in (None, {"genealogy": believed})
    )
    loci = [name for name in true.resources["genealogy"].columns if name.startswith("DYS")]
    rows = [np.stack([world.resources["genealogy"].columns[name] for name in loci], axis=1) for world in (true, other)]
    # Both tables end with the same people.
    shared = min(400, believed)
    np.testing.assert_array_equal(rows[0][-shared:], rows[1][-shared:])
    for table in rows:
        assert abs((table == 0).mean() - 0.3) < 0.03
    added = rows[1][: believed - shared]
    assert (added == 0).sum() == int(added.size * 0.3)
    for name in ("age", "state"):
        np.testing.assert_array_equal(true.targets.columns[name], other.targets.columns[name])


CHAIN = """
game = "masking"
[targets]
file = "targets.csv"
[resources.genealogy]
file = "genealogy.csv"
attributes = ["surname", "A", "B", "C", "D"]
[resources.voters]
file = "voters.csv"
attributes = ["age", "surname", "zip"]
[resources.registry]
file = "registry.csv"
holds = "targets"
attributes = ["age", "zip"]
[economics]
benefit = 100
loss = 200
gain = 150
cost = 10
[[adversary.stages]]
stage = "infer-surname"
resource = "genealogy"
method = "nearest-neighbour"
mutation_rates = "rates.csv"
price = 1
[[adversary.stages]]
stage = "infer-by-linkage"
resource = "voters"
infers = "zip"
on = ["age", "surname"]
price = 2
[[adversary.stages]]
stage = "identify"
resource = "registry"
on = ["age", "zip"]
[subjects]
attributes = ["age", "A", "B", "C", "D"]
weights = { age = 2, A = 1, B = 1, C = 1, D = 1 }
policies = ["no-protection", "masking", "no-attack-masking"]
"""


@pytest.fixture
def chain(tmp_path):
    """Return a chain of three stages whose results can be computed by hand.

    Genealogy to surname, voter list to ZIP code, registry to identity.
    """
    (tmp_path / "chain.toml").write_text(CHAIN)
    (tmp_path / "targets.csv").write_text("age,surname,zip,A,B,C,D\n40,Fox,37201,12,13,14,15\n")
    (tmp_path / "genealogy.csv").write_text("surname,A,B,C,D\nFox,12,13,14,16\nBear,22,23,24,25\n")
    (tmp_path / "rates.csv").write_text("locus,mutation_rate\n" + "".join(f"{locus},0.002\n" for locus in "ABCD"))
    # Of four voters named Fox aged 40, three live in 37201; where most people of 40 live, nobody is named Fox.
    voters = [("40", "Fox", "37201")] * 3 + [("40", "Fox", "37203")] + [("40", "Bear", "37209")] * 9
    rows = "".join(",".join(voter) + "\n" for voter in voters)
    (tmp_path / "voters.csv").write_text(f"age,surname,zip\n{rows}")
    people = [("40", "37201")] * 2 + [("40", "37209")] * 100 + [("50", "37201")] * 50
    rows = "".join(",".join(person) + "\n" for person in people)
    (tmp_path / "registry.csv").write_text(f"age,zip\n{rows}")
    return tmp_path / "chain.toml"


def test_a_chain_of_three_stages_works_from_a_file(chain):
    """Confidence 3/4, two people of 40 in 37201: belief 3/8, truth 1/2, cost 3 + 10."""
    records = reidsim.run(chain).records.set_index("policy")
    shared = records.loc["no-protection"]
    assert shared["attacked"]
    assert shared["success_probability"] == 0.5
    assert shared["adversary_payoff"] == pytest.approx(150 / 2 - 13)
    assert shared["publisher_payoff"] == pytest.approx(100 - 200 / 2)
    # Without age, voters named Fox still give the ZIP code, where 52 people live: 150 x 3/4 / 52 is below any price.
    # Without the loci, all people of 40 match, one in 102. Masking one locus changes nothing. Age weighs 2 of 6.
    best = records.loc["masking"]
    assert best["strategy"] == "A B C D"
    assert best["publisher_payoff"] == pytest.approx(100 * 4 / 6)
    assert not best["attacked"]
    assert records.loc["no-attack-masking", "strategy"] == "A B C D"


def test_a_stage_that_does_not_pay_is_left_out_unless_the_adversary_is_overconfident(chain):
    """At a price of 60 the chain gains 150 x 3/8 - 61 < 10; age alone is 1 of 102.

    An overconfident adversary expects 150 / 2 and gains 75 - 1 - 60 - 10 = 4: it attacks.
    """
    chain.write_text(chain.read_text().replace("price = 2", "price = 60"))
    records = reidsim.run(chain).records.set_index("policy")
    assert not records.loc["no-protection", "attacked"]
    assert records.loc["masking", "strategy"] == "age A B C D"
    records = reidsim.run(chain, overrides={"adversary.overconfident": True}).records.set_index("policy")
    shared = records.loc["no-protection"]
    assert shared["attacked"]
    assert (shared["success_probability"], shared["adversary_payoff"]) == (0.5, pytest.approx(4.0))
    # Subjects reply to the actual attack: with the age masked, 52 people fit the inferred ZIP code.
    assert records.loc["masking", "strategy"] == "A B C D"
    assert records.loc["masking", "publisher_payoff"] == pytest.approx(100 * 4 / 6)


def test_targets_who_are_not_registered_are_reported(chain, tmp_path):
    (tmp_path / "registry.csv").write_text("age,zip\n50,37201\n")
    chain.write_text(CHAIN.replace('holds = "targets"', ""))
    result = reidsim.run(chain)
    assert result.warnings == ("1 of 1 targets are not in resource 'registry'; no attack on these targets succeeds",)
    assert (result.records["success_probability"] == 0).all()


@pytest.mark.parametrize("alpha", cases([-1.5, 1.0], [-1.5]))
def test_minority_support_counts_known_alleles_and_all_men(alpha):
    """Three of ten genealogy alleles are missing; ages and states are the registry's."""
    study = build_masking_study(Scenario.load("wan2021", SMALL | {"subjects.minority_support": alpha}))
    game = study.games(0)[0]
    world, attributes = game.world, game.space.attributes
    columns = [
        (world.resource("registry") if name in ("age", "state") else world.resource("genealogy")).column(name).tolist()
        for name in attributes
    ]
    assert [0 in column for column in columns[2:]] == [True] * (len(columns) - 2)
    weights = study.weights(world).tolist()
    rows = world.targets.matrix(attributes).tolist()
    expected = [supported_weights(weights, row, columns, alpha, range(2, len(columns))) for row in rows]
    np.testing.assert_allclose(game.space.weights, expected, rtol=1e-12)
    assert game.space.total_weight == pytest.approx(sum(weights))


STAGES = [
    {"stage": "infer-surname", "resource": "genealogy"},
    {"stage": "infer-by-linkage", "resource": "registry", "infers": "state", "on": ["age", "surname"]},
    {"stage": "identify", "resource": "registry", "on": ["age", "state", "surname"]},
]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"subjects.policies": ["k-anonymity"], "subjects.k": 13}, "subjects.k: too few records for k-anonymity"),
        ({"subjects.generalize": {"age": {"widths": [5, 7], "kept": [0.5, 0.2]}}}, "intervals do not fit"),
        (
            {"adversary.stages": STAGES, "subjects.attributes": ["age", "DYS19"], "subjects.solver": "greedy"},
            "subjects.solver: not supported against an attack with the stages infer-surname",
        ),
    ],
)
def test_scenarios_that_cannot_be_played_are_refused_by_check(changes, problem):
    with pytest.raises(InputError) as error:
        describe(Scenario.load("wan2021", SMALL | changes))
    assert problem in str(error.value)


def test_every_subject_has_one_row(chain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "targets.csv").write_text("age,surname,zip,A,B,C,D\n40,Fox,37201,12,13,14,15\n40,Fox,37201,1,2,3,4\n")
    with pytest.raises(InputError) as error:
        reidsim.run(chain, overrides={"targets": {"file": "targets.csv", "person": "surname"}})
    assert "row 2, column 'surname': person given twice" in str(error.value)
    with pytest.raises(InputError, match=r"targets\.person: the key has no effect"):
        Scenario.load("wan2021", {"targets.person": "surname"})
