"""Drawn knowledge sets against exact expectations, within their standard errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import cases
from tiers import examples

from reidsim.adversaries.knowledge import assessment
from reidsim.adversaries.knowledge.assessment import Network, assess
from reidsim.adversaries.knowledge.groups import (
    AttributeGroup,
    Knowledge,
    Source,
    SourceProfile,
    count_sets,
    draw_sets,
    everything,
)
from reidsim.linkage.uniqueness import FixedUniqueness

NETWORK = Network(p_m=0.4, p_fm=0.7, p_cu=0.3, p_c=0.6)
HALF = FixedUniqueness(0.5)
NAMES = tuple("abcdefg")


def seven_groups(n: int, seed: int) -> tuple[np.ndarray, Knowledge]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, 7)).astype(np.int32)
    told = tuple(
        SourceProfile(tuple(AttributeGroup((name,), p) for name in NAMES), presence)
        for p, presence in ((0.3, 1.0), (0.6, 0.7))
    )
    return codes, Knowledge(NAMES, (Source("s", told, rng.integers(0, 2, n)),))


def value(risks, risk):
    return risks.overall(NETWORK) if risk is NETWORK else getattr(risks, risk)


def test_drawn_risks_are_within_four_standard_errors_of_exact_ones():
    codes, knowledge = seven_groups(300, 1)
    exact = assess(codes, knowledge, HALF).risks
    drawn = assess(codes, knowledge, HALF, method="monte-carlo", trials=4000, rng=np.random.default_rng(2)).risks
    assert (exact.method, drawn.method, drawn.trials) == ("exact", "monte-carlo", 4000)
    for risk in ("prosecutor", "journalist", "marketer", NETWORK):
        ours = value(drawn, risk)
        truth = value(exact, risk)
        # A person never drawn as unique has an estimated error of 0, so the true error is used if it is larger.
        error = np.maximum(drawn.standard_error(risk), np.sqrt(truth * (1 - truth) / 4000) * (truth < 0.01))
        assert (np.abs(ours - truth) <= 4 * error + 1e-12).all(), risk


@pytest.mark.deep
def test_standard_errors_are_the_spread_of_many_estimates():
    codes, knowledge = seven_groups(40, 3)
    runs = [
        assess(codes, knowledge, HALF, method="monte-carlo", trials=50, rng=np.random.default_rng([4, run])).risks
        for run in range(150)
    ]
    for risk in ("prosecutor", "marketer", NETWORK):
        estimates = np.array([value(run, risk) for run in runs])
        claimed = np.sqrt(np.mean([run.standard_error(risk) ** 2 for run in runs], axis=0))
        # A standard deviation over 150 runs is within 5 / sqrt(2 x 150) of the truth for each of 40 persons.
        ratio = estimates.std(axis=0, ddof=1)[claimed > 0.005] / claimed[claimed > 0.005]
        assert (np.abs(ratio - 1) < 0.35).all(), risk


RISKS = ("prosecutor", "journalist", "marketer", NETWORK)


@given(case=cases(max_persons=6), seed=st.integers(0, 100))
@examples(30)
def test_the_error_of_the_mean_is_that_of_its_values_trial_by_trial(case, seed):
    """Compute the persons' values in each trial by comparing records one by one."""
    trials = 12
    found = assess(
        case.codes, case.knowledge, HALF, method="monte-carlo", trials=trials, rng=np.random.default_rng(seed)
    )
    if found.risks.method == "exact":
        assert count_sets(case.knowledge) == 1
        return
    sets = draw_sets(case.knowledge, trials, np.random.default_rng(seed))
    values = {risk: np.zeros(trials) for risk in RISKS}
    for trial in range(trials):
        for i, kind in enumerate(case.knowledge.kind_of_person.tolist()):
            known = list(sets.sets[sets.drawn[kind, trial]])
            a = sum((row[known] == case.codes[i][known]).all() for row in case.codes)
            u, b = float(a == 1), 0.5
            values["prosecutor"][trial] += u
            values["journalist"][trial] += u * b
            values["marketer"][trial] += 1 / a
            values[NETWORK][trial] += 1 - (1 - u * 0.4 * 0.7) * (1 - u * b * 0.3) * (1 - 0.6 / a)
    for risk in RISKS:
        mean = value(found.risks, risk)
        np.testing.assert_allclose(mean.mean(), values[risk].mean() / case.n, atol=1e-12)
        expected = values[risk].std(ddof=1) / case.n / np.sqrt(trials)
        np.testing.assert_allclose(found.standard_error_of_mean(risk), expected, atol=1e-12)


def test_nothing_is_drawn_where_everybody_is_known_by_one_set():
    # No generator is given, so drawing would fail.
    found = assess(seven_groups(20, 22)[0], everything(NAMES, 20), HALF, method="monte-carlo")
    assert (found.risks.method, found.standard_error_of_mean("marketer")) == ("exact", 0)


@pytest.mark.parametrize("limit", ["_MOST_SETS", "_MOST_WORK"])
def test_the_choice_is_made_from_the_size(limit, monkeypatch):
    codes, knowledge = seven_groups(30, 8)
    assert assess(codes, knowledge, HALF).risks.method == "exact"
    monkeypatch.setattr(assessment, limit, 100)
    drawn = assess(codes, knowledge, HALF, trials=20, rng=np.random.default_rng(9)).risks
    assert (drawn.method, drawn.trials) == ("monte-carlo", 20)
    assert assess(codes, knowledge, HALF, method="exact").risks.method == "exact"
