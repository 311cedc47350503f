"""An adversary with partial knowledge in games: success counts and best responses."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from small_knowledge import probabilities
from tiers import examples

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker, masking_lattice
from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile, everything
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.record_game import Constraint, RecordGame
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.masking import MaskingSpace


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
        ours = linker.success(strategy)
        expected = [success(small, lattice.levels(strategy), i, told[i]) for i in range(small.n_records)]
        np.testing.assert_allclose(ours, expected, atol=1e-12)
        rows = np.arange(small.n_records)[::-1]
        np.testing.assert_allclose(linker.success(strategy, rows), ours[rows], atol=1e-15)
        reply = OneShotAdversary(1.0, 0.0).respond(linker.link(strategy))
        np.testing.assert_allclose(reply.success, ours, rtol=1e-12)


@given(small=small_games())
def test_who_knows_everything_is_the_adversary_of_the_paper(small):
    game, lattice = small.game(), small.lattice()
    linker = KnowledgeLinker(lattice, small.population(), everything(small.names, small.n_records))
    for strategy in range(lattice.size):
        np.testing.assert_allclose(
            1 / linker.link(strategy).group_sizes, 1 / game.linker.group_sizes.at(strategy), rtol=1e-12
        )


@given(case=games_and_knowledge())
@examples(40)
def test_the_publisher_best_responds_and_never_does_worse_than_against_full_knowledge(case):
    small, knowledge, told = case
    lattice = small.lattice()
    money = (np.array(small.benefit), np.array(small.loss))
    adversary = OneShotAdversary(np.array(small.gain), np.array(small.cost))
    game = RecordGame(lattice, KnowledgeLinker(lattice, small.population(), knowledge), adversary, *money)
    choice = backward_induction(game, {"it": Constraint()})["it"]
    payoffs = np.stack([game.outcome(strategy).publisher_payoff for strategy in range(lattice.size)])
    chosen = payoffs[choice.strategies, np.arange(small.n_records)]
    best = np.empty(small.n_records)
    for i in range(small.n_records):
        of_record = []
        for strategy in range(lattice.size):
            p = success(small, lattice.levels(strategy), i, told[i])
            attacked = small.gain[i] * p > small.cost[i] * (1 + 1e-12)
            loss = small.loss[i] * p if attacked else 0.0
            of_record.append(small.benefit[i] * lattice.utility(strategy)[i] - loss)
        best[i] = max(of_record)
    np.testing.assert_allclose(chosen, best, atol=1e-9 * small.scale.max())
    pruned = branch_and_bound(game, Constraint()).strategies
    np.testing.assert_allclose(payoffs[pruned, np.arange(small.n_records)], chosen, atol=1e-9 * small.scale.max())
    worst = backward_induction(small.game(), {"it": Constraint()})["it"].strategies
    against_all = np.stack([small.game().outcome(s).publisher_payoff for s in range(lattice.size)])
    # A gain below the loss makes the publisher prefer an adversary who attacks less, never one who attacks more.
    assert (chosen >= against_all[worst, np.arange(small.n_records)] - 1e-9 * small.scale).all()


def masking_case() -> tuple[MaskingSpace, Domain, np.ndarray, Population]:
    rng = np.random.default_rng(1)
    domain = Domain(
        (Attribute("sex", ("F", "M")), Attribute("age", tuple(map(str, range(6)))), Attribute("x", ("p", "q")))
    )
    people = np.column_stack([rng.integers(0, size, 60) for size in domain.shape]).astype(np.int32)
    decades = (np.array([0, 0, 1, 1, 2, 2]),)
    kept = (np.array([1.0, 0.0]), np.array([1.0, 0.6, 0.0]), np.array([1.0, 0.0]))
    space = MaskingSpace(domain.names, np.array([0.7, 1.8, 0.7]), 10, kept, ((), decades, ()))
    return space, domain, people[:10], Population.from_records(domain, people)


def test_masked_attributes_help_nobody():
    space, domain, codes, people = masking_case()
    lattice = masking_lattice(space, domain, codes)
    assert lattice.size == space.size
    everybody = np.repeat(people.cells, people.counts, axis=0)
    linker = KnowledgeLinker(lattice, people, everything(domain.names, 10))
    for strategy in range(space.size):
        levels = space.levels(strategy)
        sizes = []
        for record in codes:
            agree = np.ones(len(everybody), dtype=bool)
            for j in range(3):
                if levels[j] == 0:
                    agree &= everybody[:, j] == record[j]
                elif j == 1 and levels[j] == 1:
                    agree &= everybody[:, j] // 2 == record[j] // 2
            sizes.append(agree.sum())
        np.testing.assert_allclose(linker.link(strategy).group_sizes, sizes, rtol=1e-12)


def test_a_subject_best_responds_with_a_masking_space():
    space, domain, codes, people = masking_case()
    lattice = masking_lattice(space, domain, codes)
    feed = SourceProfile((AttributeGroup(("sex",), 0.6), AttributeGroup(("age",), 0.2)), 0.5)
    knowledge = Knowledge(domain.names, (Source("feed", (feed,), np.zeros(10, dtype=np.intp)),))
    linker = KnowledgeLinker(lattice, people, knowledge)
    adversary = OneShotAdversary(gain=100.0, cost=3.0)
    game = RecordGame(space, linker, adversary, np.full(10, 100.0), np.full(10, 150.0))
    choice = backward_induction(game, {"it": Constraint()})["it"]
    payoffs = np.stack([game.outcome(strategy).publisher_payoff for strategy in range(space.size)])
    np.testing.assert_allclose(payoffs[choice.strategies, np.arange(10)], payoffs.max(axis=0), atol=1e-9)
    worst = RecordGame(
        space, KnowledgeLinker(lattice, people, everything(domain.names, 10)), adversary, game.benefit, game.loss
    )
    against_all = np.stack([worst.outcome(strategy).publisher_payoff for strategy in range(space.size)])
    assert (payoffs.max(axis=0) > against_all.max(axis=0)).any()
