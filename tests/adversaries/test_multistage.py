"""The multistage attack of up to three stages, against the paper's plain loops."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from masking_worlds import small_worlds, two_stage_attack
from tiers import examples

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage import attack as two_stage
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
    believed_alone,
    compile_two_stage,
    memory_for,
    pays,
    reply_to,
)
from reidsim.core.errors import InputError
from reidsim.linkage.surname_inference import Ancestry
from reidsim.releases.lattice import MaskingSpace

CHAINS = ("two-stage", "neighbour", "three-stage")


@pytest.mark.parametrize("chain", CHAINS)
@examples(40, fast=4)
@given(data=st.data())
def test_replies_equal_plain_loops(chain, data):
    """Compare attack, true and believed success and price of every strategy."""
    levels, overconfident = data.draw(st.booleans()), data.draw(st.booleans())
    world = data.draw(small_worlds(chain=chain, levels=levels, overconfident=overconfident))
    linker = MultistageLinker(world.game.attack, world.game.world, world.space)
    for strategy in range(world.space.size):
        response = world.game.attack.respond(linker.link(strategy))
        for i, plain in enumerate(world.plain):
            attacks, success, believed, price = plain.attack.reply(world.levels(strategy), plain.masked)
            event(f"attacks {attacks}, plan {response.plan[i]}")
            assert response.attacks[i] == attacks
            assert response.success[i] == pytest.approx(success, abs=1e-12)
            assert response.believed_success[i] == pytest.approx(believed, abs=1e-9)
            expected = plain.attack.gain * success - price if attacks else 0.0
            assert response.adversary_payoff[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.deep
@pytest.mark.parametrize("chain", ["two-stage", "neighbour"])
@examples(40)
@given(data=st.data())
def test_compiled_two_stage_attack_equals_the_chain(chain, data):
    """Compare the compiled published rule with the same chain of stages."""
    levels, overconfident = data.draw(st.booleans()), data.draw(st.booleans())
    small = data.draw(small_worlds(chain=chain, levels=levels, overconfident=overconfident))
    game = small.game
    arrays = compile_two_stage(game.attack, game.world, small.space)
    memory = memory_for(arrays)
    linker = MultistageLinker(game.attack, game.world, small.space)
    for strategy in range(small.space.size):
        response = game.attack.respond(linker.link(strategy))
        for i in range(game.n_records):
            reply = reply_to(arrays, memory, i, strategy)
            assert reply.attacks == response.attacks[i]
            assert reply.success == response.success[i]
            assert reply.believed == pytest.approx(response.believed_success[i], rel=1e-12)


@examples(10, fast=5)
@given(data=st.data(), most=st.sampled_from([1, 300, 6_000_000]))
def test_what_was_inferred_before_changes_no_reply(data, most):
    """Cached inferences are shared between adversaries who differ in other parameters.

    The parameters are payoffs, threshold and prices; the cache may hold any number of entries.
    """
    small = data.draw(small_worlds(chain="two-stage", levels=False))
    arrays = compile_two_stage(small.game.attack, small.game.world, small.space)
    everybody = [(i, strategy) for strategy in range(small.space.size) for i in range(small.game.n_records)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_stage, "_MOST_PLACES", most)
        alone = []
        for i, strategy in everybody:
            two_stage._kept.clear()
            alone.append(reply_to(arrays, memory_for(arrays), i, strategy))
        other = arrays._replace(gain=arrays.gain * 3 + 1, threshold=0.0, price=1.0)
        for i, strategy in everybody:
            reply_to(other, memory_for(other), i, strategy)
        memory = memory_for(arrays)
        assert memory.sets is memory_for(other).sets
        assert memory.owners.max() >= 0
        assert [reply_to(arrays, memory, i, strategy) for i, strategy in everybody] == alone
    for (i, strategy), reply in zip(everybody, alone, strict=True):
        alone = believed_alone(arrays, i, strategy >> arrays.target_alleles.shape[1])
        assert reply.attacks or not pays(arrays.gain[i], alone, arrays.cost[i])


def example(n_loci=2, **change):
    """Return a world of three people of one age.

    The genealogy has the surname of the first person, which is unique.
    """
    loci = tuple(f"l{j}" for j in range(n_loci))
    given = {
        "targets": {"age": [40], "state": [1], "surname": [7], "zip": [3], **{name: [5] for name in loci}},
        "genealogy": {"surname": [7], **{name: [5] for name in loci}},
        "registry": {"age": [40, 40, 40], "state": [1, 1, 2], "surname": [7, 8, 7], "zip": [3, 3, 4]},
        "voters": {"surname": [7, 7, 8], "age": [40, 40, 40], "zip": [3, 4, 4]},
    }
    for table, columns in change.items():
        given[table] |= columns
    tables = {
        name: PersonTable(name, {column: np.array(values) for column, values in columns.items()})
        for name, columns in given.items()
    }
    targets = tables.pop("targets")
    space = MaskingSpace(("age", "state", *loci), np.ones(n_loci + 2), 1)
    return MultistageWorld(targets, tables), space, loci


def test_a_target_who_is_not_registered_is_never_identified():
    world, space, loci = example(targets={"age": [41]})
    attack = two_stage_attack(loci, np.array([0.003, 0.003]))
    world = MultistageWorld(world.targets, world.resources, np.array([False]))
    arrays = compile_two_stage(attack, world, space)
    memory = memory_for(arrays)
    linker = MultistageLinker(attack, world, space)
    for strategy in range(space.size):
        assert attack.respond(linker.link(strategy)).success[0] == 0
        assert reply_to(arrays, memory, 0, strategy).success == 0
    # Age 41 matches nobody: no attack. Masked, the three others of the state and surname seem to match.
    assert not attack.respond(linker.link(0)).attacks[0]
    assert attack.respond(linker.link(int(space.number(np.array([1, 0, 0, 0]))))).attacks[0]


ANCESTRY = Ancestry(np.array([0.003, 0.003]))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ((), "stages out of order"),
        ((Identify(("age",)), InferByLinkage("zip", "voters", ("age",))), "stages out of order"),
        ((Identify(("age",)), Identify(("age",))), "stages out of order"),
        ((InferByLinkage("zip", "voters", ("age",)),) * 2 + (Identify(("zip",)),), "two stages infer the same"),
        ((Identify(("age", "age")),), "stage 1: attribute named twice"),
        ((Identify(("age", "surname")),), "stage 1: attribute is neither released nor inferred.*'surname'"),
        (
            (InferByLinkage("zip", "voters", ("surname",)), InferSurname(("l0", "l1"), ANCESTRY), Identify(("zip",))),
            "stage 1: attribute is neither released nor inferred.*'surname'",
        ),
        ((InferByLinkage("zip", "voter", ("age",)), Identify(("zip",))), "unknown resource.*did you mean 'voters'"),
        ((InferByLinkage("income", "voters", ("age",)), Identify(("age",))), "voters: income: column missing"),
    ],
)
def test_unusable_chains_are_named(stages, message):
    world, space, _ = example()
    with pytest.raises(InputError, match=message):
        MultistageLinker(MultistageAttack(stages, 150.0, 10.0), world, space)
