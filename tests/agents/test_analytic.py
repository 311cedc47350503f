"""Agents equal the analytic game, record by record, in the simplest case.

The case has one publisher, one adversary, one round and expected outcomes.
"""

import tempfile

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from small_scenario import releases, write_scenario
from tiers import examples

import reidsim

POLICIES = ("basic", "no-attack", "no-protection", "suppress-all")


def assert_same_records(expected, found):
    assert list(found.columns) == list(expected.columns)
    assert_same_floats(expected, found)
    for name in expected.columns:
        if not pd.api.types.is_float_dtype(expected[name]):
            pd.testing.assert_series_equal(found[name], expected[name], check_categorical=False)


def assert_same_floats(expected, found):
    for name in expected.columns:
        if pd.api.types.is_float_dtype(expected[name]):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


MISTAKEN = {"beliefs.loss": 3.0, "beliefs.gain": 50.0, "beliefs.cost": 2.0}


@given(
    small=releases(),
    solver=st.sampled_from(["backward-induction", "branch-and-bound"]),
    beliefs=st.sampled_from([{}, MISTAKEN]),
)
@examples(5, fast=4)
def test_agents_of_one_round_equal_the_analytic_game(small, solver, beliefs):
    with tempfile.TemporaryDirectory() as folder:
        path = write_scenario(folder, small, policies=POLICIES, solver=solver)
        analytic = reidsim.run(path, overrides=beliefs)
        agents = reidsim.run(path, overrides={**beliefs, "agents.rounds": 1})
    assert_same_records(analytic.records, agents.records)
    assert_same_floats(analytic.summary, agents.summary)
