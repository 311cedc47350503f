"""Masking games built in Python with several adversaries equal scenario files."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.games.masking.fixed_policies import MASKING_POLICIES

LOCI = {"DYS393": 0.00076, "DYS390": 0.00311, "DYS391": 0.00265}
WHO = {
    "genealogist": {"weight": 0.25, "gain": 300.0},
    "careful": {"weight": 0.25, "confidence_threshold": 0.9, "cost": 20.0},
    "neighbour": {"weight": 0.5, "cost": 2.0, "infers": False, "linked": ("age",)},
}
SCENARIO = """game = "masking"
seed = 3
[targets]
file = "targets.csv"
[resources.genealogy]
file = "genealogy.csv"
attributes = ["surname", "DYS393", "DYS390", "DYS391"]
[resources.registry]
file = "registry.csv"
attributes = ["age", "state", "surname"]
holds = "targets"
[economics]
benefit = 100
loss = 150
gain = 120
cost = 8
[subjects]
attributes = ["age", "state", "DYS393", "DYS390", "DYS391"]
weights = "uniform"
policies = {policies}
[adversary]
[[adversary.stages]]
stage = "infer-surname"
resource = "genealogy"
mutation_rates = "rates.csv"
[[adversary.stages]]
stage = "identify"
resource = "registry"
on = ["age", "state", "surname"]
[adversaries.genealogist]
weight = 0.25
gain = 300
[adversaries.careful]
weight = 0.25
confidence_threshold = 0.9
cost = 20
[adversaries.neighbour]
weight = 0.5
cost = 2
stages = [{{ stage = "identify", resource = "registry", on = ["age"] }}]
"""


def tables(n=120, targets=15):
    rng = np.random.default_rng(np.random.SeedSequence(5))
    men = pd.DataFrame({name: rng.integers(10, 13, n) for name in LOCI}).assign(surname=rng.integers(0, 30, n))
    registry = pd.DataFrame({"age": rng.integers(30, 40, n), "state": rng.integers(0, 3, n), "surname": men["surname"]})
    return pd.concat([registry[["age", "state"]], men], axis=1).head(targets), men, registry


def test_several_adversaries_are_those_of_the_scenario_file(tmp_path):
    targets, men, registry = tables()
    amounts = {"gain": 120, "cost": 8, "benefit": 100, "loss": 150}
    game = reidsim.masking_game(targets, men, registry, mutation_rates=LOCI, adversaries=WHO, **amounts)
    found = reidsim.solve_masking(game, seed=3)
    for name, table in (("targets", targets), ("genealogy", men), ("registry", registry)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    rates = pd.DataFrame({"locus": list(LOCI), "mutation_rate": list(LOCI.values())})
    rates.to_csv(tmp_path / "rates.csv", index=False)
    (tmp_path / "mine.toml").write_text(SCENARIO.format(policies=list(MASKING_POLICIES)))
    written = reidsim.run(tmp_path / "mine.toml").records
    assert len({*found["masking"].strategies.tolist()}) > 1
    for policy, outcome in found.items():
        rows = written[written["policy"] == policy]
        for column in ("publisher_payoff", "adversary_payoff", "success_probability", "utility"):
            np.testing.assert_allclose(getattr(outcome, column), rows[column], rtol=0, atol=1e-12, err_msg=policy)
        np.testing.assert_array_equal(outcome.attacked, rows["attacked"])


def test_one_of_several_alike_is_the_game_against_it():
    targets, men, registry = tables()
    both = reidsim.masking_game(targets, men, registry, mutation_rates=LOCI, adversaries={"a": {}, "b": {}})
    one = reidsim.masking_game(targets, men, registry, mutation_rates=LOCI)
    for policy, outcome in reidsim.solve_masking(one).items():
        again = reidsim.solve_masking(both, [policy])[policy]
        np.testing.assert_allclose(again.publisher_payoff, outcome.publisher_payoff, rtol=0, atol=1e-12, err_msg=policy)


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ({"a": {"gian": 5}}, r"argument 'adversaries', a: not said of an adversary; found 'gian'.*did you mean 'gain'"),
        ({"a": {"weight": 0.5}, "b": {}}, r"masking_game.*weights of the adversary types do not sum to 1; found 0.5"),
        ({"a": {"weight": 2.0}}, r"masking_game: a: weight of the adversary type out of range; found 2"),
        ({"a": {"gain": -1.0}}, r"masking_game: gain of the adversary out of range; found -1"),
    ],
)
def test_what_several_adversaries_cannot_be(who, message):
    targets, men, registry = tables()
    with pytest.raises(reidsim.InputError, match=message):
        reidsim.masking_game(targets, men, registry, mutation_rates=LOCI, adversaries=who)
