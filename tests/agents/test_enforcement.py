"""Exclusion of detected adversaries, and the information in their successes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.agents.model import ReidentificationModel, next_state
from reidsim.agents.profile import Enforcement

shares = st.floats(0, 1)


@given(st.integers(0, 4), st.lists(shares, min_size=1, max_size=6))
def test_states_are_those_of_all_histories(exclusion, detected):
    """Enumerate all histories of detections; a state is free, or the rounds left."""
    histories = {0: 1.0}
    state = np.eye(1, exclusion + 1)[0]
    for probability in detected:
        after = {}
        for left, p in histories.items():
            outcomes = [(left - 1, 1.0)] if left else [(exclusion, probability), (0, 1 - probability)]
            for then, q in outcomes:
                after[then] = after.get(then, 0.0) + p * q
        histories = after
        state = next_state(state, probability)
        assert state.sum() == pytest.approx(1)
        np.testing.assert_allclose(state, [histories.get(left, 0.0) for left in range(exclusion + 1)], atol=1e-12)


def test_sure_detection_excludes_every_other_round(setting_of_small):
    rules = Enforcement(detection=1.0, fine=0.0, exclusion=1)
    model = ReidentificationModel(setting_of_small(rounds=5, enforcement=rules), "no-protection").run()
    attacks = model.datacollector.get_model_vars_dataframe()["attacks"].to_numpy()
    assert attacks[0] > 0
    np.testing.assert_array_equal(attacks > 0, [True, False, True, False, True])


@pytest.mark.parametrize("mode", ["expectation", "sampling"])
def test_a_fine_that_is_expected_deters(mode, town, profile_of_small, setting_of_small):
    """With detection probability d and fine F an attack pays if gain x p > cost + d F."""
    keen = profile_of_small(town, gain=60.0, cost=4.0)
    fined = profile_of_small(town, gain=60.0, cost=4.0, fine=0.5 * 40)
    free = ReidentificationModel(setting_of_small(town, [keen], mode=mode), "no-protection").run()
    rules = Enforcement(detection=0.5, fine=40.0)
    answered = ReidentificationModel(setting_of_small(town, [fined], mode=mode, enforcement=rules), "no-protection")
    answered.run()
    assert 0 < answered.measures["attacks"] < free.measures["attacks"]
    # Groups of at most two people are worth 30 or more, groups of three 20: 60 / 3 < 24 < 60 / 2.
    sizes = np.array([3, 4, 30, 1, 2, 6])[answered.setting.cell_of_subject]
    assert answered.measures["attacks"] == (sizes <= 2).sum()
