"""The number of people re-identified in a round, against simulated rounds."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reidsim.adversaries.rationality import ErringAdversary
from reidsim.agents.attack import AttackPlan, Attacks, Replies
from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import Equipment
from reidsim.games.outcomes import reidentified

DRAWS = 40_000
# Massart's bound on the distance of distribution functions: exceeded once in a million.
BOUND = math.sqrt(math.log(2e6) / (2 * DRAWS))


def drawn(setting, plans, acting, participants, kept):
    """Draw numbers of re-identified people and both payoffs.

    A budget covers the first records of a cell.
    """
    rng = np.random.default_rng(7)
    cell = np.repeat(np.arange(setting.n_cells), participants)
    first = np.concatenate([np.arange(number) for number in participants])
    if setting.meeting == "one-of":
        who = np.searchsorted(np.cumsum(acting), rng.random(DRAWS))
        there = who[:, None] == np.arange(len(plans))
    else:
        there = rng.random((DRAWS, len(plans))) < acting
    found, earned = np.zeros((DRAWS, len(cell)), dtype=bool), np.zeros(DRAWS)
    for number, (plan, profile) in enumerate(zip(plans, setting.profiles, strict=True)):
        often = np.asarray(plan.replies.frequency)
        target = np.broadcast_to(first < plan.targets[cell], (DRAWS, len(cell)))
        if often.ndim:
            # Random attacks: each record is attacked with the share of its cell.
            share = plan.targets / participants
            target = np.where((often < 1)[cell], rng.random((DRAWS, len(cell))) < share[cell], target)
        hit = (rng.random((DRAWS, len(cell))) < plan.replies.success[cell]) & target & there[:, [number]]
        lucky = hit.sum(axis=1) - target @ plan.replies.success[cell]
        earned += there[:, number] * (target @ plan.replies.payoff[cell] - plan.spent + profile.gain * lucky)
        found |= hit
    return found.sum(axis=1), kept - found @ setting.loss[cell], earned


def erring(profile, precision):
    """Return the same adversary with the attack probability of quantal response."""

    def equip(holds, expected_accuracy, *, believed=False):
        linker, adversary = profile.equip(holds, expected_accuracy, believed=believed)
        return Equipment(linker, ErringAdversary(adversary, precision))

    return replace(profile, equip=equip)


@pytest.mark.parametrize("meeting", ["one-of", "all"])
@pytest.mark.parametrize(("budget", "precision"), [(math.inf, None), (15.0, None), (math.inf, 0.1), (9.0, 0.1)])
def test_a_round_is_distributed_as_its_draws(meeting, budget, precision, town, profile_of_small, setting_of_small):
    keen = profile_of_small(town, "keen", weight=0.3, gain=60.0, cost=2.0, budget=budget)
    types = [
        keen if precision is None else erring(keen, precision),
        profile_of_small(town, "lazy", weight=0.6, gain=40.0, cost=8.0),
    ]
    setting = setting_of_small(profiles=types, meeting=meeting)
    model = ReidentificationModel(setting, "no-protection").run()
    plans = [adversary.plan for adversary in model.adversaries]
    partly = (plans[0].targets > 0) & (plans[0].targets < model.participants)
    assert partly.any() == (budget < math.inf or precision is not None)
    found = model.reidentified[0]
    kept = float(model.participants @ setting.benefit)
    numbers, publisher, adversary = drawn(setting, plans, np.array([0.3, 0.6]), model.participants, kept)
    assert (found.people.values @ found.people.masses) == pytest.approx(model.measures["breaches"], abs=1e-9)
    of_draws = np.searchsorted(np.sort(numbers), found.people.values, side="right") / DRAWS
    assert np.abs(of_draws - found.people.at_most).max() < BOUND
    for payoff, column in ((publisher, "publisher_payoff"), (adversary, "adversary_payoff")):
        ours = getattr(found, column.removesuffix("_payoff"))
        assert ours.values @ ours.masses / 12 == pytest.approx(model.measures[column], abs=1e-9)
        # Mean of the worst twentieth of the draws, within five standard errors.
        worst = np.sort(payoff)[: DRAWS // 20]
        error = 5 * max(float(worst.std()), 1.0) / math.sqrt(DRAWS / 20)
        assert found.measures()[f"{column}_cvar"] * 12 == pytest.approx(worst.mean(), abs=error)


def test_records_that_a_budget_leaves_over_are_not_attacked(town, profile_of_small, setting_of_small):
    """Two of three equal records are attacked, each with success 1/2: never three."""
    setting = setting_of_small(profiles=[profile_of_small(town)])
    n = setting.n_cells
    participants = np.array([3] + [0] * (n - 1))

    def found(targets, frequency=1.0):
        here = np.zeros(n)
        here[0] = targets
        replies = replace(
            Replies.nothing(n), attacks=here > 0, success=np.full(n, 0.5), frequency=np.full(n, frequency)
        )
        plan = AttackPlan(frozenset(), 0.0, replies, here)
        everybody = np.ones(setting.n_subjects, dtype=bool)
        cases = Attacks(setting, [plan], np.ones(1), participants, everybody).cases(np.ones(n))
        return reidentified(3, cases, lambda: np.random.default_rng(0)).people

    assert found(2).masses.tolist() == pytest.approx([0.25, 0.5, 0.25])
    # With random attacks, or a remaining budget for part of an attack, all three records may be attacked.
    assert found(2, 2 / 3).masses.tolist() == pytest.approx([(2 / 3) ** 3, 3 * (2 / 3) ** 2 / 3, 2 / 9, 1 / 27])
    assert found(1.5).masses.tolist() == pytest.approx([27 / 64, 27 / 64, 9 / 64, 1 / 64])


def test_nobody_there_finds_nobody(town, profile_of_small, setting_of_small):
    types = [profile_of_small(town, "keen", weight=0.5), profile_of_small(town, "lazy", weight=0.5)]
    met = set()
    for replication in range(12):
        drawn_setting = setting_of_small(profiles=types, mode="sampling", meeting="all", replication=replication)
        model = ReidentificationModel(drawn_setting, "no-protection").run()
        there = sum(adversary.acts for adversary in model.adversaries)
        met.add(there)
        assert ((model.reidentified[0].people.values @ model.reidentified[0].people.masses) > 0) == (there > 0)
    assert met == {0, 1, 2}
