"""Staged attacks on generalized records, against people counted one by one."""

import numpy as np
import pytest
from contract_worlds import COST, GAIN, SMALL, people_with_jobs
from hypothesis import given
from masking_worlds import person_table
from small_games import small_games
from tiers import examples

from reidsim.adversaries.linkers import LatticeAttackLinker
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    MultistageAttack,
    MultistageWorld,
)


@given(small=small_games(max_attributes=3))
@examples(40)
def test_without_inference_groups_are_those_of_the_lattice(small):
    lattice, names = small.lattice(), small.names
    people = person_table("people", names, np.array(small.people))
    known = np.array([record in small.people for record in small.records])
    world = MultistageWorld(person_table("targets", names, np.array(small.records)), {"people": people}, known)
    attack = MultistageAttack((Identify(names, "people"),), GAIN, COST)
    linker, sizes = LatticeAttackLinker(attack, world, lattice), small.linker(lattice)
    for strategy in range(lattice.size):
        linkage = linker.link(strategy)
        expected = sizes.link(strategy).group_sizes
        np.testing.assert_array_equal(linkage.group_sizes, expected)
        # A data subject outside the population cannot be re-identified, whoever has the same values.
        np.testing.assert_allclose(linkage.plan_success[0], np.where(known, 1 / expected, 0.0))


def test_inference_counts_people_of_a_group_by_their_job():
    lattice, table = SMALL.lattice(), people_with_jobs()
    columns = (*SMALL.names, "job")
    world = MultistageWorld(
        person_table("targets", columns, table[:12]),
        {"people": person_table("people", columns, table)},
    )
    stages = (InferByLinkage("job", "people", ("a", "b")), Identify(("a", "c", "job"), "people"))
    linker = LatticeAttackLinker(MultistageAttack(stages, GAIN, COST, 0.0), world, lattice)
    inferred = 0
    for strategy in range(lattice.size):
        levels = lattice.levels(strategy)
        groups = [np.array(SMALL.hierarchies[f][level]) for f, level in enumerate(levels)]
        linkage = linker.link(strategy, np.arange(12))
        for i in range(12):
            same = [groups[f][table[:, f]] == groups[f][table[i, f]] for f in range(3)]
            jobs = table[same[0] & same[1], 3]
            counts = np.bincount(jobs, minlength=4)
            share = counts.max() / counts.sum()
            job = jobs[np.argmax(counts[jobs] == counts.max())]
            matching = (same[0] & same[2] & (table[:, 3] == job)).sum()
            expected = share / matching if matching else 0.0
            assert linkage.plan_believed[1, i] == pytest.approx(expected)
            assert linkage.plan_success[1, i] == pytest.approx(1 / matching if matching and job == table[i, 3] else 0.0)
            inferred += job != table[i, 3]
    assert inferred > 0
