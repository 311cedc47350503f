"""An adversary with partial knowledge in games: success counts and best responses."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from small_knowledge import probabilities
from tiers import examples

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.linkers import KnowledgeLinker
from reidsim.adversaries.response import OneShotAdversary


@st.composite
def games_and_knowledge(draw):
    """Draw a small game and two kinds of persons with their known attributes."""
    small = draw(small_games(max_attributes=3, max_strategies=24))
    told = [
        (draw(probabilities), [draw(probabilities) for _ in small.names]) for _ in range(2)
    ]  # presence, probability of each attribute
    of_record = [draw(st.integers(0, 1)) for _ in range(small.n_records)]
    profiles = tuple(
        SourceProfile(tuple(AttributeGroup((name,), p) for name, p in zip(small.names, chances, strict=True)), presence)
        for presence, chances in told
    )
    source = Source("s", profiles, np.array(of_record, dtype=np.intp))
    return small, Knowledge(small.names, (source,)), [told[kind] for kind in of_record]


def success(small, strategy, record, told):
    """Return the success probability by enumeration of known sets and people."""
    presence, chances = told
    total = (1 - presence) / max(len(small.people), 1)
    for known in np.ndindex(*(2,) * len(small.names)):
        p = presence * np.prod([q if k else 1 - q for k, q in zip(known, chances, strict=True)])
        agree = sum(
            all(
                not k or levels[level][theirs] == levels[level][ours]
                for k, levels, level, theirs, ours in zip(
                    known, small.hierarchies, strategy, person, small.records[record], strict=True
                )
            )
            for person in small.people
        )
        total += p / max(agree, 1)
    return total


@given(case=games_and_knowledge())
@examples(40)
def test_success_of_every_strategy(case):
    small, knowledge, told = case
    lattice = small.lattice()
    linker = KnowledgeLinker(lattice, small.population(), knowledge)
    for strategy in range(lattice.size):
        ours = 1 / linker.link(strategy).group_sizes
        expected = [success(small, lattice.levels(strategy), i, told[i]) for i in range(small.n_records)]
        np.testing.assert_allclose(ours, expected, atol=1e-12)
        rows = np.arange(small.n_records)[::-1]
        np.testing.assert_allclose(1 / linker.link(strategy, rows).group_sizes, ours[rows], atol=1e-15)
        reply = OneShotAdversary(1.0, 0.0).respond(linker.link(strategy))
        np.testing.assert_allclose(reply.success, ours, rtol=1e-12)
