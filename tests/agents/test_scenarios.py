"""Scenarios with agents: schema, refused input, and results of bundled scenarios."""

import numpy as np
import pandas as pd
import pytest
from small_games import game_of
from small_scenario import write_scenario
from tiers import cases

import reidsim
from reidsim.core.errors import InputError

PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
TOWN = game_of(
    [PAIRS, ((0, 1), (0, 0))],
    people=[(0, 0)] * 3 + [(1, 0)] * 4 + [(2, 1)] * 30 + [(3, 0)],
    records=[(0, 0), (2, 1), (0, 0), (3, 0), (2, 1)],
    benefit=10.0,
    loss=60.0,
    gain=60.0,
    cost=1.0,
)
LIST = {"resources.list": {"attributes": ["a"], "price": 5}}
HOLDER = {"weight": 1.0, "holds": ["list"]}


@pytest.fixture(scope="module")
def town_file(tmp_path_factory):
    path = write_scenario(tmp_path_factory.mktemp("town"), TOWN, policies=("basic", "no-attack", "no-protection"))
    path.write_text(f"{path.read_text()}\n[agents]\nrounds = 1\n")
    return path


@pytest.fixture(scope="module")
def families_file(tmp_path_factory):
    """Write a small masking scenario with files of people."""
    path = tmp_path_factory.mktemp("families") / "families.toml"
    path.write_text(
        'extends = "genealogy-market"\n[targets]\nsize = 20\n[resources.registry]\nsize = 300\n'
        "[resources.genealogy]\nsize = 300\n[agents]\nrounds = 2\n",
        encoding="utf-8",
    )
    return path


# Bad input.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adversaries": {"x": {"weight": 0.5}, "y": {"weight": 0.4}}}, "do not sum to 1"),
        ({"agents.together": "all", "adversaries": {"x": {"weight": 0.0}}}, "no adversary of positive weight"),
        ({"adversaries.x.holds": ["list"]}, "adversaries.x.holds: no such resource; found 'list'"),
        ({**LIST, "adversaries.x.holds": []}, "holds: the adversary has no resource to attack with"),
        ({**LIST, "adversaries.x": {**HOLDER, "buys": ["list"]}}, "resource both held and bought"),
        (
            {**LIST, "adversaries.x": {**HOLDER, "knowledge": "twitter"}},
            "knowledge: not supported together with holds",
        ),
        ({"adversaries.x": {"planner": "fmdp", "accuracy": 0.5}}, "adversaries.x.accuracy: accuracy is not supported"),
        ({"resources.list.attributes": ["zip"]}, "not a quasi-identifier; found 'zip'"),
        ({"agents.rounds": 0}, "agents.rounds: value not allowed; found 0"),
        ({"agents.draws": 3}, "agents.draws: the key has no effect"),
        ({"adversaries": {"x": {}}, "agents.learning.prior": {"z": 1.0}}, "no such adversary"),
        (
            {"adversaries": {"x": {"weight": 0.5}, "y": {"weight": 0.5}}, "agents.learning.prior": {"x": 1.0}},
            "adversary without a prior; found 'y'",
        ),
        (
            {"adversaries": {"x": {}}, "agents.learning.prior_absent": {"x": 1.0}},
            "learning.prior_absent: the key has no effect",
        ),
        (
            {"agents.together": "all", "adversaries.x.weight": 0.5, "agents.learning.prior_absent": {"y": 1.0}},
            "learning.prior_absent: no such adversary; found .y.",
        ),
        ({"agents.participation.reward": 1}, "agents.participation.harm: key missing"),
        ({"agents.round": 2}, "did you mean 'rounds'"),
        ({"adversaries": {f"t{k}": {"weight": 1 / 11} for k in range(11)}}, "too many adversaries"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes, message, town_file):
    with pytest.raises(InputError, match=message) as caught:
        reidsim.run(town_file, overrides=changes)
    assert caught.value.source in (str(town_file), "overrides")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adversaries.broker.holds": []}, "the adversary lacks the resource of its attack"),
        ({"adversaries.broker": {"accuracy": 0.5, "planner": "fmdp"}}, "accuracy: accuracy is not supported"),
        ({"adversaries.kin-seeker.knowledge": "voters"}, "adversaries.kin-seeker.resource: key missing"),
        ({"resources.genealogy.coverage": 0.5}, "expected this key only with `kind`"),
        ({"resources.gossip.price": 1}, "resources.gossip.attributes: key missing"),
        ({"adversaries.broker.buys": ["gossip"]}, "no such resource; found 'gossip'"),
        ({"subjects.policies": ["greedy-masking"]}, "not supported against several adversaries"),
    ],
)
def test_what_a_masking_scenario_refuses(changes, message, families_file):
    with pytest.raises(InputError, match=message):
        reidsim.run(families_file, overrides=changes)


def test_budgets_below_the_cheapest_attack_are_warned_of(town_file):
    result = reidsim.run(town_file, overrides={"adversaries.x.budget": 0.5})
    assert result.warnings[0] == (
        "no adversary can attack, because budgets are below the cost of the "
        "cheapest attack: 'x' has 0.5, an attack costs 1"
    )
    assert result.summary["share_attacked"].eq(0).all()
    two = {"x": {"weight": 0.5, "budget": 0.5}, "y": {"weight": 0.5}}
    warnings = reidsim.run(town_file, overrides={"adversaries": two}).warnings
    assert warnings[0].startswith("an adversary cannot attack, because the budget is below")


# Results of scenarios.


def test_resources_are_knowledge(town_file):
    """A list of one attribute with coverage c succeeds with c / group size."""
    held = {"resources.list": {"attributes": ["a"], "coverage": 0.5}, "adversaries.x": HOLDER}
    records = reidsim.run(town_file, overrides={**held, "economics.cost": 0.0}).records
    shared = records[records["policy"] == "no-protection"]
    # People with a0, a2 and a3 number 3, 30 and 1; a person outside the list is one of 38.
    exact = 0.5 / np.array([3, 30, 3, 1, 30]) + 0.5 / 38
    np.testing.assert_allclose(shared["success_probability"], exact)


# An attack costs 25 and gains 60; three, thirty, three, one and thirty people share the values of the five records. One
# guess is profitable for a unique person. An adversary who guesses until it succeeds needs (g + 1) / 2 guesses on
# average.
@pytest.mark.parametrize(
    ("planner", "attacked", "risk"),
    [
        ("always", 5 / 5, (1 / 3 + 1 / 30 + 1 / 3 + 1 + 1 / 30) / 5),
        ("never", 0, 0),
        ("one-shot", 1 / 5, 1 / 5),
        ("fmdp", 3 / 5, 3 / 5),
    ],
)
def test_every_planner_can_be_a_type(planner, attacked, risk, town_file):
    result = reidsim.run(town_file, overrides={"adversaries.x.planner": planner, "economics.cost": 25})
    measures = result.summary.loc["no-protection", ["share_attacked", "risk", "publisher_payoff"]]
    assert measures.tolist() == pytest.approx([attacked, risk, 10 - 60 * risk])


@pytest.mark.deep
@pytest.mark.parametrize("policy", cases(["basic", "no-protection"], ["no-protection"]))
def test_a_random_planner_draws_its_attacks_anew_in_each_round(policy, town_file):
    rate, rounds = 0.3, 2
    changes = {"adversaries.x.planner": "random", "adversaries.x.rate": rate, "publisher.policies": [policy]}
    changes |= {"agents.rounds": rounds}
    expected = reidsim.run(town_file, overrides=changes).summary.loc[policy]
    drawn = reidsim.run(town_file, overrides={**changes, "agents.mode": "sampling", "agents.draws": 40})
    rounds_of_draws = drawn.analysis.rounds
    assert expected["share_attacked"] == pytest.approx(rate)
    # Five independent records; four standard errors over all draws and rounds.
    error = np.sqrt(rate * (1 - rate) / 5 / len(rounds_of_draws))
    assert rounds_of_draws["share_attacked"].mean() == pytest.approx(rate, abs=4 * error)
    shares = rounds_of_draws["share_attacked"].to_numpy().reshape(-1, rounds)
    assert len(set(map(tuple, shares))) > 5
    assert (shares[:, 0] != shares[:, 1]).any()


@pytest.mark.deep
def test_drawn_sequential_attacks_have_the_expected_means(town_file):
    """Within four standard errors over 150 draws."""
    changes = {"adversaries.x.planner": "fmdp", "publisher.policies": ["no-protection"]}
    changes |= {"agents.enforcement.detection": 0.05, "agents.enforcement.fine": 30, "adversary.sequential.prior": 0.6}
    expected = reidsim.run(town_file, overrides=changes).summary.loc["no-protection"]
    drawn = reidsim.run(
        town_file, overrides={**changes, "agents.mode": "sampling", "agents.draws": 150}
    ).analysis.rounds
    assert 0 < expected["risk"] < expected["share_attacked"]
    for measure in ("publisher_payoff", "adversary_payoff", "risk"):
        error = drawn[measure].std() / np.sqrt(150)
        assert error > 0
        assert drawn[measure].mean() == pytest.approx(expected[measure], abs=4 * error)


@pytest.mark.deep
def test_draws_and_their_tables(town_file):
    changes = {"agents.mode": "sampling", "agents.draws": 3, "agents.rounds": 2, "agents.participation.reward": 1}
    changes["agents.participation.harm"] = 10
    first, second = (reidsim.run(town_file, overrides=changes) for _ in range(2))
    pd.testing.assert_frame_equal(first.analysis.rounds, second.analysis.rounds)
    rounds = first.analysis.rounds
    assert len(rounds) == 3 * 3 * 2
    means = rounds.groupby("policy", observed=True)["publisher_payoff"].mean()
    for policy, payoff in first.summary["publisher_payoff"].items():
        assert payoff == pytest.approx(means[policy])
    assert "participates" in first.records
    # A record whose subjects all left is not withheld.
    assert [warning.partition(":")[0] for warning in first.warnings] == ["no-attack"]


@pytest.mark.deep
def test_a_purchase_is_foreseen(town_file):
    """Without a list no attack pays.

    A publisher who foresees the purchase releases less.
    """
    changes = {
        "resources.list.price": 5.0,
        "adversaries.x": {"weight": 1.0, "buys": ["list"], "budget": 60},
        "publisher.policies": ["basic", "no-attack"],
    }
    unaware, aware = (
        reidsim.run(town_file, overrides={**changes, "agents.foresees": foresees}) for foresees in ("holdings", "plans")
    )
    assert unaware.analysis.adversaries["spent"].tolist() == [5, 5]
    assert aware.summary.loc["basic", "publisher_payoff"] > unaware.summary.loc["basic", "publisher_payoff"]
    assert unaware.summary.loc["no-attack", "share_attacked"] > 0
    assert aware.summary.loc["no-attack", "share_attacked"] == 0


def test_a_publisher_learns_how_often_each_is_there(town_file):
    """Prior of 1 and 3 rounds: each round adds the type's weight in expectation.

    The attacks of the types are distinguishable.
    """
    changes = {
        "agents.together": "all",
        "agents.rounds": 3,
        "adversaries": {"x": {"weight": 0.7}, "y": {"weight": 0.1, "cost": 25}},
        "agents.learning": {"prior": {"x": 1.0, "y": 1.0}, "prior_absent": {"x": 3.0, "y": 1.0}},
        "publisher.policies": ["no-protection"],
    }
    beliefs = reidsim.run(town_file, overrides=changes).analysis.adversaries.set_index("adversary")["belief"]
    np.testing.assert_allclose(beliefs["x"], (1 + 0.7 * np.arange(3)) / (4 + np.arange(3)))
    np.testing.assert_allclose(beliefs["y"], (1 + 0.1 * np.arange(3)) / (2 + np.arange(3)))


def test_a_publisher_learns_which_adversary_comes(town_file):
    changes = {
        "agents.rounds": 3,
        "adversaries": {"x": {"weight": 0.5}, "y": {"weight": 0.5, "cost": 25}},
        "agents.learning": {"prior": {"x": 3.0, "y": 1.0}},
        "publisher.policies": ["no-protection"],
    }
    rounds = reidsim.run(town_file, overrides=changes).analysis.adversaries.pivot(
        index="round", columns="adversary", values="belief"
    )
    # Each round adds 1 in sum to the 3 + 1 earlier rounds, here half of it to each adversary in expectation.
    np.testing.assert_allclose(rounds["x"], (3 + 0.5 * np.arange(3)) / (4 + np.arange(3)))
    np.testing.assert_allclose(rounds.sum(axis=1), 1)
