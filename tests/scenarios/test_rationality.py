"""Adversaries who err, in every kind of scenario and every runner."""

import numpy as np
import pandas as pd
import pytest
from test_one_answer import MEASURES, write

import reidsim
from reidsim.core.errors import InputError
from reidsim.scenarios.scenario import Scenario

LOGIT = {"adversary.rationality": "logit", "adversary.precision": 0.05}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rationality": "logit"}, "adversary.precision: key missing; expected a number of 0 or more with rationality"),
        ({"precision": 1}, "adversary.precision: the key has no effect; expected this key only with ration"),
        ({"rationality": "prospect", "precision": 1}, "adversary.precision: the key has no effect"),
        ({"rationality": "logit", "precision": -1}, "adversary.precision: .*found -1"),
        ({"rationality": "logit", "precision": float("inf")}, "adversary.precision"),
        ({"prospect": {"loss_aversion": 2}}, "adversary.prospect: the key has no effect"),
        ({"rationality": "prospect", "prospect": {"gain_weighting": 0.1}}, "prospect.gain_weighting.*found 0.1"),
        ({"rationality": "wild"}, "adversary.rationality: .*found 'wild'"),
        ({"rationality": "prospect", "planner": "always"}, "the expected payoff.*planner 'always'"),
        ({"rationality": "prospect", "planner": "fmdp"}, "rationality: .*needs a single attempt.*planner 'fmdp'"),
    ],
)
@pytest.mark.parametrize("world", ["records", "subjects"])
def test_what_cannot_be_meant_is_refused(tmp_path, world, changes, problem):
    path = write(tmp_path, world, "one-shot", "plain")
    with pytest.raises(InputError, match=problem):
        Scenario.load(path, {f"adversary.{key}": value for key, value in changes.items()})


@pytest.mark.deep
def test_attacks_by_mistake_are_drawn_as_often_as_expected(tmp_path):
    path = write(tmp_path, "records", "one-shot", "plain")
    rounds = 200
    agents = {"rounds": rounds}
    policies = {"publisher.policies": ["no-protection"]}
    expected, drawn = (
        reidsim.run(path, overrides={**LOGIT, **policies, "agents": {**agents, "mode": mode}}).summary
        for mode in ("expectation", "sampling")
    )
    # Ten records a round, each attacked or not: five standard errors of the mean.
    n = 10 * rounds
    for measure in ("share_attacked", "risk"):
        share = float(expected.loc["no-protection", measure])
        assert 0.05 < share < 0.95
        bound = 5 * np.sqrt(share * (1 - share) / n)
        assert abs(float(drawn.loc["no-protection", measure]) - share) < bound


def test_cross_play_tells_the_adversary_who_errs_from_the_one_who_does_not(tmp_path):
    path = write(tmp_path, "records", "one-shot", "plain")
    play = reidsim.cross_play(path, overrides={**LOGIT, "publisher.policies": ["basic"]})
    assert play.manifest["own_adversary"] == "one-shot-logit"
    assert {"one-shot-logit", "one-shot", "always"} <= set(play.table["adversary"])
    faced = play.table[(play.table["defender"] == "basic") & (play.table["plans_against"] == "one-shot")]
    by_adversary = faced.set_index("adversary")
    plain = reidsim.run(path).summary.loc["basic", "publisher_payoff"]
    assert by_adversary.loc["one-shot", "publisher_payoff"] == pytest.approx(plain)
    assert by_adversary.loc["one-shot-logit", "publisher_payoff"] < plain


@pytest.mark.deep
def test_an_adversary_of_ones_own_errs_if_it_tells_what_attacks_are_worth(tmp_path):
    path = write(tmp_path, "records", "one-shot", "plain")
    (tmp_path / "own.py").write_text(
        "from reidsim.adversaries.response import OneShotAdversary\n"
        "class Mute:\n"
        "    def __init__(self, gain, cost): self.known = OneShotAdversary(gain, cost)\n"
        "    def respond(self, linkage, rows=None): return self.known.respond(linkage, rows)\n"
        "class Telling(Mute):\n"
        "    def weigh(self, linkage, rows=None): return self.known.weigh(linkage, rows)\n"
    )
    own = {**LOGIT, "adversary.planner": "own:Telling"}
    found = reidsim.run(path, overrides=own, allow_code=True).summary[MEASURES]
    plain = reidsim.run(path, overrides=LOGIT).summary[MEASURES]
    pd.testing.assert_frame_equal(found, plain, rtol=0, atol=1e-9)
    with pytest.raises(InputError, match=r"adversary.rationality: .* cannot make errors; found 'logit'"):
        reidsim.run(path, overrides={**own, "adversary.planner": "own:Mute"}, allow_code=True)


@pytest.mark.parametrize(
    ("scenario", "changes", "problem"),
    [
        ("xia2015", LOGIT, "figures.sequential: the figures need a single sequential adversary without errors"),
        ("prasser2017", LOGIT, "publisher.policies: policy .* needs group sizes .* adversary.rationality"),
    ],
)
def test_what_is_told_of_adversaries_without_errors_alone_is_refused(scenario, changes, problem):
    with pytest.raises(InputError, match=problem):
        Scenario.load(scenario, changes)


def test_subjects_who_search_greedily_face_nobody_who_errs(tmp_path):
    path = write(tmp_path, "subjects", "one-shot", "plain")
    with pytest.raises(InputError, match=r"subjects.solver.*found 'greedy'; expected one of best-first"):
        reidsim.run(path, overrides={**LOGIT, "subjects.solver": "greedy"})
