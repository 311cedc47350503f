"""Agents equal the analytic game, record by record, in the simplest case.

The case has one publisher, one adversary, one round and expected outcomes.
"""

import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_scenario import releases, write_scenario
from tiers import cases, examples

import reidsim
from reidsim.engine.rounds import play_policy
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.outcomes import play
from reidsim.kinds.tables.rounds import setting_of
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.study import equilibria_of

POLICIES = ("basic", "no-attack", "no-protection", "suppress-all")


def assert_same_records(expected, found):
    assert list(found.columns) == list(expected.columns)
    for name in expected.columns:
        if pd.api.types.is_float_dtype(expected[name]):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            pd.testing.assert_series_equal(found[name], expected[name], check_categorical=False)


def assert_same_runs(expected, found):
    for name in expected.columns:
        if pd.api.types.is_float_dtype(expected[name]):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


MISTAKEN = {"beliefs.loss": 3.0, "beliefs.gain": 50.0, "beliefs.cost": 2.0}


@given(
    small=releases(),
    solver=st.sampled_from(["backward-induction", "branch-and-bound"]),
    beliefs=st.sampled_from([{}, MISTAKEN]),
)
@examples(12)
def test_any_small_study(small, solver, beliefs):
    with tempfile.TemporaryDirectory() as folder:
        path = write_scenario(folder, small, policies=POLICIES, solver=solver)
        analytic = reidsim.run(path, overrides=beliefs)
        agents = reidsim.run(path, overrides={**beliefs, "agents.rounds": 1})
    assert_same_records(analytic.records, agents.records)
    assert_same_runs(analytic.summary, agents.summary)


def assert_equal_equilibria(study, analytic):
    setting = setting_of(study, AgentsSection())
    for policy, expected in analytic.items():
        found = play_policy(setting, policy).last
        np.testing.assert_array_equal(found.strategies, expected.strategies)
        np.testing.assert_array_equal(found.attacked, expected.attacked)
        for name in ("publisher_payoff", "adversary_payoff", "success_probability", "utility"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)


def test_wan2015_record_by_record(wan2015, wan2015_equilibria):
    assert_equal_equilibria(wan2015, wan2015_equilibria)


def test_the_sequential_game_record_by_record():
    study = build_study(load_scenario("xia2015", {"publisher.solver": "branch-and-bound"}))
    assert_equal_equilibria(study, equilibria_of(play(study)))


MISTAKEN = {"beliefs.loss": 60.0, "beliefs.cost": 20.0}


@pytest.mark.parametrize("beliefs", cases([{}, MISTAKEN], [MISTAKEN]))
def test_wan2021_record_by_record(beliefs):
    smaller = {"population.recipe": "ystr-genealogy-small", "targets.size": 25, "replications": 1 if beliefs else 2}
    smaller |= {"resources.registry.size": 2000, "resources.genealogy.size": 2000}
    analytic = reidsim.run("wan2021", overrides={**smaller, **beliefs})
    agents = reidsim.run("wan2021", overrides={**smaller, **beliefs, "agents.rounds": 1})
    assert len(analytic.summary) == 9
    assert_same_records(analytic.records, agents.records)
    assert_same_runs(analytic.runs[agents.runs.columns.intersection(analytic.runs.columns)], agents.runs)
