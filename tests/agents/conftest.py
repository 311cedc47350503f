"""Small agent settings, built without files."""

import math

import numpy as np
import pytest
from small_games import game_of

from reidsim.adversaries.response import OneShotAdversary
from reidsim.agents.profile import AdversaryProfile, Equipment, InaccurateLinker, Setting
from reidsim.games.record_game import Choice, Constraint
from reidsim.games.solvers import backward_induction

PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))

# Twelve subjects with six distinct records, in groups of 1 to 30 people.
TOWN = game_of(
    [PAIRS, ((0, 1), (0, 0))],
    people=[(0, 0)] * 3 + [(1, 0)] * 4 + [(2, 1)] * 30 + [(3, 0)] + [(3, 1)] * 2 + [(0, 1)] * 6,
    records=[(0, 0), (1, 0), (2, 1), (3, 0), (3, 1), (0, 1)],
    benefit=10.0,
    loss=60.0,
    gain=60.0,
    cost=4.0,
)
SUBJECTS = np.array([0, 1, 2, 3, 4, 5, 0, 3, 3, 4, 0, 2])


def small_profile(small, name="adversary", *, gain=None, cost=None, fine=0.0, **fields):
    """Return a one-shot adversary with complete knowledge of the population."""
    gain = small.gain[0] if gain is None else gain
    cost = small.cost[0] if cost is None else cost
    linker, accuracy = small.linker(), fields.get("accuracy", 1.0)

    def equip(holds, expected_accuracy, *, believed=False):
        inaccurate = InaccurateLinker(linker, accuracy, expected_accuracy)
        used = linker if min(accuracy, expected_accuracy) == 1 else inaccurate
        return Equipment(used, OneShotAdversary(gain, cost + fine))

    given = {"weight": 1.0, "gain": gain, "cheapest": cost, "expected_fine": fine, "budget": math.inf, **fields}
    return AdversaryProfile(name=name, equip=equip, **given)


def small_setting(small=TOWN, profiles=None, subjects=SUBJECTS, **rules):
    """Return the agent setting of a small game.

    The policies are basic, no-attack and no-protection.
    """
    game = small.game()

    def solve(policy, believed):
        if policy == "no-protection":
            nothing = np.zeros(game.n_records, dtype=np.int64)
            return Choice(nothing + game.space.most_specific, "fixed", nothing, exact=False)
        return backward_induction(believed, Constraint(no_attack=policy == "no-attack"))

    return Setting(
        space=game.space,
        cell_of_subject=np.asarray(subjects),
        benefit=game.benefit,
        loss=game.loss,
        believed_loss=game.loss,
        profiles=tuple(profiles or [small_profile(small)]),
        solve=solve,
        is_fixed=lambda policy: policy == "no-protection",
        forbids_attacks=lambda policy: policy == "no-attack",
        **rules,
    )


@pytest.fixture(scope="session")
def town():
    return TOWN


@pytest.fixture(scope="session")
def profile_of_small():
    return small_profile


@pytest.fixture(scope="session")
def setting_of_small():
    return small_setting
