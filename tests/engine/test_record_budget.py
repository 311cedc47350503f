"""Record-level generalization within a budget, through the public interface."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError


@pytest.fixture(scope="module")
def scenario():
    return drawn(people=400, columns=6)


def drawn(people, columns):
    rng = np.random.default_rng(7)
    people = pd.DataFrame({f"c{number}": rng.integers(0, 8, people) for number in range(columns)})
    return reidsim.Scenario.from_frames(
        people,
        hierarchies={name: reidsim.intervals(2, 4) for name in people},
        economics={"benefit": 100, "loss": 100, "gain": 60, "cost": 4},
        adversary={"direction": "record"},
        publisher={"policies": ["basic", "no-attack"], "solver": "iceberg"},
    )


@pytest.fixture(scope="module")
def exact(scenario):
    return scenario.run()


def limited(scenario, **budget):
    return scenario.with_({f"publisher.{key}": value for key, value in {"search": "anytime", **budget}.items()})


@pytest.mark.deep
@pytest.mark.parametrize("budget", [{"nodes": 1}, {"nodes": 300}, {"seconds": 1e-6}])
def test_the_optimum_is_within_the_gap_that_a_run_states(scenario, exact, budget):
    found = limited(scenario, **budget).run()
    for policy in ("basic", "no-attack"):
        gap = found.manifest["policies"][policy]["gap"]
        payoff, best = (each.summary.loc[policy, "publisher_payoff"] for each in (found, exact))
        assert payoff - 1e-9 <= best <= payoff + gap * 100 + 1e-9
        assert gap > 0
        assert any(text.startswith(f"{policy}: the budget ended the search") for text in found.warnings)
        assert exact.manifest["policies"][policy]["gap"] == 0


@pytest.mark.deep
def test_a_run_states_the_gap_of_a_sample_with_its_confidence(scenario, exact):
    found = limited(scenario, nodes=4400).run()
    for policy in ("basic", "no-attack"):
        facts = found.manifest["policies"][policy]
        payoff, best = (each.summary.loc[policy, "publisher_payoff"] for each in (found, exact))
        assert 0 < facts["likely_gap"] < facts["gap"]
        assert best <= payoff + facts["likely_gap"] * 100
        text = f"({facts['likely_gap']:.2%} with 99 % confidence; {facts['drawn']} records drawn and solved exactly)"
        assert any(text in warning for warning in found.warnings)
    again = limited(scenario, nodes=4400).run()
    assert again.manifest["policies"] == found.manifest["policies"]
    pd.testing.assert_frame_equal(again.summary, found.summary)


@pytest.mark.deep
def test_a_search_that_ends_within_its_budget_is_exact(scenario, exact):
    found = limited(scenario, nodes=10**9).run()
    pd.testing.assert_frame_equal(found.summary, exact.summary)
    assert [found.manifest["policies"][policy]["gap"] for policy in ("basic", "no-attack")] == [0, 0]
    assert not any("budget" in text for text in found.warnings)


@pytest.mark.parametrize(
    "changes",
    [{"publisher.solver": "backward-induction"}, {"adversary.rationality": "logit", "adversary.precision": 0.1}],
)
def test_a_budget_without_effect_is_refused(scenario, changes):
    with pytest.raises(InputError, match=r"publisher\.search"):
        limited(scenario.with_(changes), seconds=1).run()


@pytest.mark.deep
def test_a_study_of_amounts_keeps_the_budget():
    found = limited(drawn(people=40, columns=4), nodes=1).switch("loss", low=50, high=60)
    assert any("policy basic is a search that may miss the best release" in text for text in found.warnings)
