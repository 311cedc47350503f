"""The mesa model of a scenario, with every supported version of mesa.

Continuous integration runs them with mesa 3.3.0 (lowest versions), with the newest version for Python 3.11 (3.3.1 when
they were written) and with the newest version (3.5.1). Agent sets, data collectors and batch runs of mesa 3.3 and 3.5
differ: `model.agents` of mesa 3.5 is not an `AgentSet`, and its subsets have the class of the set. `Agents` relies on
the attribute `_agents` of `AgentSet`, which is equal in all of them. tests/web/test_mesa_app.py covers `SolaraViz`.
"""

import functools
from dataclasses import replace

import mesa
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesa.agent import AgentSet
from pages import DOCS, blocks_of
from tiers import examples

import reidsim
from reidsim.agents.model import ReidentificationModel
from reidsim.agents.subjects import Subject

PEOPLE = pd.DataFrame({"age": [30, 30, 31, 31, 32, 34, 41, 41, 42, 47], "sex": list("FFFMMMFFMM")})
RULE = {"reward": 1, "harm": 3, "spread": 1.5, "expected_risk": 0.1}


def scenario_of(people=PEOPLE, **agents):
    return reidsim.Scenario.from_frames(
        people,
        hierarchies={"age": reidsim.intervals(2, 10), "sex": "suppress"},
        adversaries={"neighbour": {"weight": 0.25}, "broker": {"weight": 0.75, "gain": 9, "budget": 12}},
        economics={"benefit": 10, "loss": 6, "cost": 2},
        policies=["basic", "no-protection"],
        agents=agents,
    )


DECIDING = scenario_of(rounds=4, participation=RULE, learning={})


@pytest.fixture
def model():
    return reidsim.model(DECIDING, policy="no-protection")


# Rounds.


@pytest.mark.parametrize("seed", [0, 1])
def test_the_model_plays_the_rounds_of_a_run_and_ends(seed, monkeypatch):
    # Runs make no objects for data subjects.
    monkeypatch.setattr(Subject, "__init__", None)
    model = reidsim.model(DECIDING, policy="basic", rng=seed)
    model.run_model()
    assert (model.running, model.round_number, model.steps) == (False, 4, 4)
    tables = DECIDING.with_(seed=seed).run().analysis.named
    rounds = tables["rounds"].query("policy == 'basic'").reset_index(drop=True)
    found = model.datacollector.get_model_vars_dataframe()
    pd.testing.assert_frame_equal(found, rounds[found.columns])
    table = model.datacollector.get_table_dataframe("adversaries").drop(columns="through")
    by_adversary = tables["adversaries"].query("policy == 'basic'").reset_index(drop=True)
    pd.testing.assert_frame_equal(table, by_adversary[table.columns], check_dtype=False, check_categorical=False)
    model.step()
    assert (model.running, model.round_number, len(model.by_record)) == (False, 4, 4)


def test_a_scenario_without_rounds_has_one_and_values_can_be_changed():
    model = reidsim.model("wan2021-case", "no-protection")
    model.run_model()
    assert model.round_number == 1
    model = reidsim.model(DECIDING.to_toml(), "basic", seed=3, loss=0, agents__rounds=2)
    assert (model.setting.seed, model.setting.rounds, model.setting.loss.max()) == (3, 2, 0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"policy": "basc"}, r"publisher\.policies.*did you mean 'basic'"),
        ({"policy": "basic", "rng": 1, "seed": 1}, "rng: two seeds"),
        ({"policy": "basic", "rng": "one"}, "seed: wrong type"),
        ({"policy": "basic", "policies": ["basic"]}, "policies: a model plays one policy"),
        ({"policy": "basic", "los": 1}, "did you mean 'loss'"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments, problem):
    with pytest.raises(reidsim.InputError, match=problem):
        reidsim.model(DECIDING, **arguments)


def test_an_error_in_a_table_in_memory_names_the_table():
    with pytest.raises(reidsim.InputError, match=r"^Scenario: attributes\.age.*; found 'x'"):
        reidsim.model(scenario_of(PEOPLE.assign(age="x"), rounds=1), "basic")


# Agents.


def test_columns_are_read_and_set_without_an_object_per_data_subject(model):
    model.step()
    assert (len(model.agents), len(model.subjects)) == (13, 10)
    before = {name: model.subjects.get(name) for name in ("participates", "harm", "expected_risk", "risk", "strategy")}
    pairs = model.subjects.get(["harm", "risk"])
    assert model.agents.get("risk", handle_missing="default", default_value=-1) == [-1] * 3 + before["risk"]
    model.subjects.set("expected_risk", 0.5)
    assert model.subjects.agg("expected_risk", [min, max]) == [0.5, 0.5]
    assert model.subject_objects == {}
    # The objects have the values of the columns.
    assert [[each.harm, each.risk] for each in model.subjects] == pairs
    assert before == before | {name: [getattr(each, name) for each in model.subjects] for name in ("risk", "strategy")}
    assert [each.unique_id for each in model.agents] == [11, 12, 13, *range(1, 11)]


def test_subsets_make_objects_for_the_data_subjects_that_are_needed_alone(model):
    def is_harmed(agent):
        return isinstance(agent, Subject) and agent.harm > 2

    harmed = model.agents.select(is_harmed)
    assert harmed.get(["row", "unique_id"]) == [[row, row + 1] for row in np.flatnonzero(model.harm > 2).tolist()]
    assert model.agents.agg("unique_id", max) == 13
    assert model.agents.get("mood", "default") == [None] * 13
    chosen = harmed.select(lambda each: each.row % 2, at_most=2).set("expected_risk", 0.75)
    assert chosen.select().get("expected_risk") == [0.75] * len(chosen)
    assert len(model.subjects.select(at_most=0.35)) == len(model.agents.select(lambda each: True, 3)) == 3
    assert model.subject_objects == {}
    # An object is made once, and keeps the attributes that a user adds.
    model.subjects[7].mood = "wary"
    assert model.subjects.select(lambda each: getattr(each, "mood", "") == "wary")[0] is model.agents[-3]
    assert [each.row for each in model.subjects.select(at_most=5)[3:]] == [3, 4]
    assert sorted(model.subject_objects) == [3, 4, 7]


@pytest.mark.parametrize(
    "use",
    [
        lambda agents: [agents.select(at_most=most).get("row") for most in (-1, 0, 0.25, 1, 1.0, 2.5, 99)],
        lambda agents: agents.select().select(lambda each: each.row > 2, 2, inplace=True).get("row"),
        lambda agents: (
            some := agents.select(),
            some.discard(agents[2]),
            some.get("row"),
            some[-1].row,
            len(some[1:4]),
        )[1:],
        lambda agents: len(agents & agents.select(lambda each: each.harm > 2)),
        lambda agents: [each.row for each in agents.select(lambda each: each.harm > 2)],
        lambda agents: agents.select(lambda each: each.harm > 2).get("harm"),
        lambda agents: len(agents.select(at_most=3).set("participates", False)),
        lambda agents: [each.row for each in agents.sort("harm")],
        lambda agents: agents.map(lambda each: each.harm),
        lambda agents: agents.groupby("participates").agg("harm", sum),
        lambda agents: {key: group.get("row") for key, group in agents.groupby("participates")},
        lambda agents: (seen := [], agents.shuffle_do(lambda each: seen.append(each.row)))[0],
        lambda agents: len(agents.do("step").select()),
        lambda agents: [next(iter(agents)) in agents, agents.get("mood", "default", 1)],
        lambda agents: agents.set("mood", 2).get(["mood", "harm"]),
    ],
)
def test_sets_of_data_subjects_do_what_sets_of_mesa_do(model, use):
    other = reidsim.model(DECIDING, policy="no-protection")
    assert use(model.subjects) == use(AgentSet(other.subjects, other.random))
    assert np.array_equal(model.participates, other.participates)
    # The attributes that a user adds stay with the objects.
    assert model.subjects.get("mood", "default") == other.subjects.get("mood", "default")


def test_values_of_data_subjects_are_checked(model):
    for name, value in {"participates": 1, "expected_risk": 1.5, "harm": np.nan}.items():
        with pytest.raises(reidsim.InputError, match=f"data subject: {name}: .* expected"):
            model.subjects.set(name, value)
    model.step()
    with pytest.raises(AttributeError, match=r"risk .* cannot be set"):
        model.subjects.set("risk", 0.5)
    with pytest.raises(reidsim.InputError, match=r"cannot be removed; .*`participates` set to False"):
        next(iter(model.subjects)).remove()


def test_before_the_first_round_no_record_is_released_and_measures_are_missing(model):
    assert (set(model.subjects.get("strategy")), set(model.subjects.get("risk"))) == ({-1}, {0})
    model.datacollector.collect(model)
    model.step()
    rounds = model.datacollector.get_model_vars_dataframe()["publisher_payoff"]
    assert rounds.isna().tolist() == [True, False]
    assert max(model.subjects.get("strategy")) >= 0


def test_a_round_with_some_of_the_records_is_the_game_of_these_alone():
    model = reidsim.model(scenario_of(rounds=2), policy="no-protection")
    model.subjects.select(lambda each: each.row >= 6).set("participates", False)
    alone = reidsim.model(scenario_of(PEOPLE[:6], rounds=1), policy="no-protection")
    model.step()
    alone.step()
    assert model.measures["breaches"] == pytest.approx(alone.measures["breaches"])
    assert model.subjects.get("risk") == pytest.approx([*alone.subjects.get("risk"), *[0] * 4])
    assert [each == -1 for each in model.subjects.get("strategy")] == [False] * 6 + [True] * 4


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize("policy", ["basic", "no-protection"])
def test_participation_that_a_user_sets_is_participation_that_is_scheduled(policy, remembers):
    schedule = np.ones((3, 10), dtype=bool)
    schedule[1, 6:] = False
    model = reidsim.model(scenario_of(rounds=3, remembers=remembers), policy=policy)
    scheduled = ReidentificationModel(replace(model.setting, schedule=schedule), policy).run()
    for now in schedule:
        model.subjects.set("participates", True)
        model.subjects.select(lambda each, now=now: not now[each.row]).set("participates", False)
        model.step()
    rounds = model.datacollector.get_model_vars_dataframe()
    pd.testing.assert_frame_equal(rounds, scheduled.datacollector.get_model_vars_dataframe())
    assert rounds[["participation", "left", "joined"]].to_numpy().tolist() == [[1, 0, 0], [0.6, 0.4, 0], [1, 0, 0.4]]


def test_a_user_may_change_a_schedule_for_the_next_round():
    setting = reidsim.model(scenario_of(rounds=3), policy="basic").setting
    model = ReidentificationModel(replace(setting, schedule=np.ones((3, 10), dtype=bool)), "basic")
    model.step()
    model.subjects.set("participates", False)
    model.run_model()
    assert model.datacollector.model_vars["participation"] == [1, 0, 1]


@given(st.lists(st.lists(st.booleans(), min_size=10, max_size=10), min_size=1, max_size=4))
@examples(15, fast=5)
def test_the_risks_of_data_subjects_sum_to_the_breaches(rounds):
    class Curious(reidsim.model):
        def attack(self):
            """Read the risks of the round before within a round."""
            assert self.round_number == 1 or self.subjects.agg("risk", sum) == pytest.approx(self.measures["breaches"])
            super().attack()

    model = Curious(DECIDING, policy="no-protection")
    for taking_part in rounds:
        for subject, each in zip(model.subjects, taking_part, strict=True):
            subject.participates = each
        model.step()
        assert model.measures["participation"] == pytest.approx(sum(taking_part) / 10)
        assert model.subjects.agg("risk", sum) == pytest.approx(model.measures["breaches"])


def test_agents_of_a_user_are_agents_of_the_model(model):
    clerk = mesa.Agent(model)
    assert clerk in model.agents
    assert clerk.unique_id == 14
    clerk.remove()
    assert len(model.agents) == 13


# Collecting data, and batches.


def test_reporters_of_a_user_are_collected_with_the_measures():
    model = reidsim.model(
        DECIDING,
        policy="basic",
        model_reporters={"mean_harm": lambda model: model.subjects.agg("harm", np.mean)},
        agenttype_reporters={Subject: {"risk": "risk"}},
    )
    model.run_model()
    rounds = model.datacollector.get_model_vars_dataframe()
    assert rounds["mean_harm"].to_list() == [pytest.approx(model.harm.mean())] * 4
    risks = model.datacollector.get_agenttype_vars_dataframe(Subject)["risk"]
    np.testing.assert_allclose(risks.groupby("Step").sum(), rounds["breaches"])
    replaced = reidsim.model(DECIDING, policy="basic")
    replaced.datacollector = mesa.DataCollector({"round": "round_number"})
    replaced.run_model()
    assert replaced.datacollector.get_model_vars_dataframe()["round"].to_list() == [1, 2, 3, 4]


@pytest.mark.deep
def test_a_batch_of_mesa_runs_policies_and_seeds():
    values = {"scenario": DECIDING, "policy": ["basic", "no-protection"], "seed": [1, 2], "agents__rounds": 2}
    rows = mesa.batch_run(reidsim.model, values, display_progress=False)
    assert len(rows) == 4
    for row in rows:
        run = DECIDING.with_(seed=row["seed"], agents__rounds=2).run().analysis.named["rounds"]
        last = run[(run["policy"] == row["policy"]) & (run["round"] == 2)].iloc[0]
        assert row["publisher_payoff"] == pytest.approx(last["publisher_payoff"])


def test_a_batch_of_mesa_has_agents_of_the_round_of_its_measures():
    """Before mesa 3.5, batches look up agents one step before the measures."""
    model = functools.partial(reidsim.model, agent_reporters={"of_round": lambda agent: agent.model.round_number},
                              model_reporters={"round": "round_number"})  # fmt: skip
    values = {"scenario": DECIDING, "policy": "basic"}
    rows = pd.DataFrame(mesa.batch_run(model, values, data_collection_period=1, display_progress=False))
    assert rows["round"].value_counts().to_dict() == dict.fromkeys(range(1, 5), 13)
    assert (rows["round"] == rows["of_round"]).all()


def test_the_page_shows_the_app_that_it_links_to():
    (shown,) = [block.text for block in blocks_of("how-to/mesa-page.md") if block.title == "app.py"]
    assert shown == (DOCS / "app.py").read_text(encoding="utf-8")
