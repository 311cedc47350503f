"""Searches over the adversary's attributes equal searches of the whole space."""

from dataclasses import replace

import numpy as np
import pytest
from contract_worlds import SMALL, masking_world
from hypothesis import given
from masking_worlds import small_worlds
from tiers import examples

from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.record_game import Constraint
from reidsim.releases.focused import FocusedSpace, space_of_all


@pytest.mark.parametrize("no_attack", [False, True])
@given(world=small_worlds(chain="two-stage", levels=True))
@examples(30)
def test_the_best_reply_is_that_of_the_whole_space(no_attack, world):
    game = world.game.one_stage().record_game
    focused = replace(game, space=FocusedSpace(game.space, ("age", "state", "surname")))
    constraint = Constraint(no_attack=no_attack)
    found, expected = branch_and_bound(focused, constraint), branch_and_bound(game, constraint)
    np.testing.assert_array_equal(found.strategies, expected.strategies)
    assert (found.evaluated <= expected.evaluated).all()


def test_who_plans_against_several_looks_at_what_any_of_them_does():
    space, lattice = masking_world().space, SMALL.lattice()
    one, other = FocusedSpace(space, ("age", "state")), FocusedSpace(space, ("state", "locus0"))
    assert space_of_all([one, other]).attributes == ("age", "state", "locus0")
    assert space_of_all([one, space]) is space
    assert space_of_all([lattice, lattice]) is lattice
