"""Re-identifications by resource: adversaries' accounts, and counts by hand."""

import numpy as np
import pytest

import reidsim

KEYS = ["replication", "draw", "policy", "round", "adversary"]
# Every person is unique within the town; the directory has the correct surnames.
FILES = {
    "targets.csv": "age,town,job\n30,Dale,clerk\n31,Dale,nurse\n32,Hill,smith\n33,Hill,clerk\n",
    "directory.csv": "age,town,job\n30,Dale,clerk\n31,Dale,nurse\n32,Hill,smith\n33,Hill,clerk\n",
    "register.csv": "town,job\nDale,clerk\nDale,nurse\nHill,smith\nHill,clerk\nHill,clerk\n",
    "town.toml": """game = "masking"
seed = 1
[targets]
file = "targets.csv"
[resources.directory]
file = "directory.csv"
attributes = ["age", "town", "job"]
price = 1
[resources.register]
file = "register.csv"
attributes = ["town", "job"]
[economics]
benefit = 100
loss = 150
cost = 30
[subjects]
attributes = ["age", "town"]
weights = "uniform"
policies = ["no-protection"]
[agents]
rounds = 2
together = "all"
[adversaries.broker]
weight = 0.5
holds = ["register"]
buys = ["directory"]
[[adversaries.broker.stages]]
stage = "infer-by-linkage"
resource = "directory"
infers = "job"
on = ["age", "town"]
[[adversaries.broker.stages]]
stage = "identify"
resource = "register"
on = ["town", "job"]
[adversaries.poor]
weight = 0.25
holds = ["register"]
budget = 65
[[adversaries.poor.stages]]
stage = "identify"
resource = "register"
on = ["town"]
""",
}


@pytest.fixture
def town(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "town.toml"


def test_each_list_has_those_found_through_it(town):
    """With the directory, three of four people are unique; without it, none is.

    With it the fourth is one of two; without it, groups have two or three people of a town.
    """
    result = reidsim.run(town)
    table = result.analysis.through.set_index(["round", "adversary", "through"])
    assert set(table.index) == {
        (number, *who)
        for number in (1, 2)
        for who in (("broker", "directory and register"), ("poor", "register"))
    }  # fmt: skip
    for number in (1, 2):
        bought = table.loc[(number, "broker", "directory and register")]
        assert bought["attacks"] == pytest.approx(0.5 * 4)
        assert bought["breaches"] == pytest.approx(0.5 * 3.5)
        # The budget covers two attempts, in the smaller town.
        poor = table.loc[(number, "poor", "register")]
        assert poor["attacks"] == pytest.approx(0.25 * 2)
        assert poor["breaches"] == pytest.approx(0.25 * 2 / 2)
    spent = result.analysis.adversaries.set_index(["round", "adversary"])["spent"]
    assert spent.tolist() == [0.5, 0, 0, 0]


@pytest.mark.parametrize("mode", ["expectation", "sampling"])
def test_it_adds_up_to_what_adversaries_did(town, mode):
    analysis = reidsim.run(town, overrides={"agents.mode": mode, "agents.rounds": 6}).analysis
    of_adversaries = analysis.adversaries.set_index(KEYS)[["attacks", "breaches"]]
    added = analysis.through.groupby(KEYS, observed=True)[["attacks", "breaches"]].sum()
    assert len(added)
    filled = added.reindex(of_adversaries.index, fill_value=0.0)
    np.testing.assert_allclose(filled, of_adversaries, rtol=1e-12)
