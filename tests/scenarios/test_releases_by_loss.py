"""Which releases pay most at which loss: against trying losses one by one, and against runs with other losses."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reidsim
from reidsim.scenarios.registry import kind_named
from reidsim.scenarios.releases_by_loss import ReleasesByLoss, releases_by_loss

AMOUNTS = st.integers(0, 12)


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=6))
def test_what_pays_most_is_what_pays_most_at_each_loss(policies):
    kept = {str(number): float(each) for number, (each, _) in enumerate(policies)}
    slopes = {str(number): float(each) for number, (_, each) in enumerate(policies)}
    stretches = ReleasesByLoss(kept, slopes, 1.0, in_times=False).stretches
    assert [stretch.low for stretch in stretches] == [0.0, *(stretch.high for stretch in stretches[:-1])]
    assert stretches[-1].high == math.inf
    assert all(stretch.low < stretch.high for stretch in stretches)
    for loss in np.linspace(0, 15, 61).tolist():
        most = max(kept[policy] - loss * slopes[policy] for policy in kept)
        for low, high, policy in stretches:
            if low <= loss <= high:
                assert kept[policy] - loss * slopes[policy] == pytest.approx(most)


def test_releases_that_stay_as_they_are_pay_at_another_loss_what_a_run_with_that_loss_says():
    town = "tests/scenarios/town/town.toml"
    settings = {"economics.gain": 60, "publisher.policies": ["no-protection", "suppress-all", "basic"]}
    run, other = (reidsim.run(town, overrides={**settings, "economics.loss": loss}, seed=1) for loss in (60, 90))
    found = releases_by_loss(run.summary, run.manifest, kind_named("tables").policies)
    assert (found.own, found.in_times) == (60, False)
    lines = found.lines(90).set_index(["value", "policy"])["publisher_payoff"]
    for policy in ("no-protection", "suppress-all"):
        assert lines[90, policy] == pytest.approx(other.summary["publisher_payoff"][policy], abs=1e-12)
    # The best release at another loss pays no less than that of this one.
    assert other.summary["publisher_payoff"]["basic"] >= lines[90, "basic"] - 1e-12


def test_there_is_nothing_to_say_where_nothing_is_lost_or_nobody_knows():
    summary = pd.DataFrame(
        {"publisher_payoff": [2.0, 1.0], "risk": [0.0, 0.0]}, index=pd.Index(["a", "b"], name="policy")
    )
    for losses in ({"a": 0.0, "b": 0.0}, {"a": 1.0}, {"a": 1.0, "b": [2.0]}, None):
        manifest = {"content": {"economics": {"loss": 3}}, "expected_losses": losses}
        assert releases_by_loss(summary, manifest, {}) is None
    assert releases_by_loss(summary[:1], {"content": {}, "expected_losses": {"a": 1.0}}, {}) is None
