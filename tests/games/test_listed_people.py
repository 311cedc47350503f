"""Attacks that end in a list drawn from people, against plain Python loops."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferByLinkage,
    InferSurname,
    ListedTargets,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
)
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.core.errors import InputError
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.masking.game import MaskingGame, PartialKnowledgeGame
from reidsim.games.masking.searches import anytime, best_against_several, best_first, masking_backward_induction
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import Choice
from reidsim.linkage.surname_inference import Ancestry
from reidsim.releases.lattice import MaskingSpace

GAIN, COST, THRESHOLD = 150.0, 10.0, 0.3
AGE_GROUPS = np.array([0, 0, 1, 1])
NAMES = ("age", "state", "surname")
SIZES = (4, 2, 3)


@dataclass(frozen=True)
class Listed:
    """A world as plain data: the targets' true values, and list rows.

    A missing value in a row is None.
    """

    targets: list[tuple[int, ...]]
    rows: list[tuple[int | None, ...]]
    own: list[int]
    coverage: float
    game: MaskingGame

    def candidates(self, target, strategy, surname=None):
        """Return the number of matching rows, and whether the target's own row is one.

        Rows must match the released and inferred values.
        """
        levels = self.game.space.all_levels(strategy)
        asked = []
        if levels[0] < 2:
            asked.append((0, (lambda value: AGE_GROUPS[value]) if levels[0] == 1 else (lambda value: value)))
        if levels[1] < 1:
            asked.append((1, lambda value: value))
        shared = self.targets[target]

        def agrees(row):
            known = all(row[j] is None or form(row[j]) == form(shared[j]) for j, form in asked)
            return known and (surname is None or row[2] is None or row[2] == surname)

        found = [number for number, row in enumerate(self.rows) if agrees(row)]
        return len(found), self.own[target] in found

    def reply(self, target, strategy, surname, confidence):
        """Return believed success, true success and whether the adversary attacks.

        A surname is used only if it is strictly better.
        """
        n, among = self.candidates(target, strategy)
        believed, true = (self.coverage / n if n else 0.0), (1 / n if n and among else 0.0)
        if surname >= 0 and confidence >= THRESHOLD:
            m, named = self.candidates(target, strategy, surname)
            if m and self.coverage * confidence / m > believed + 1e-12:
                believed, true = self.coverage * confidence / m, (1 / m if named else 0.0)
        return believed, true, bool(GAIN * believed > COST * (1 + 1e-12))


@st.composite
def worlds(draw, most_missing=0.4):
    """Draw a few targets, and a list with wrong and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_targets, n_others, n_loci = draw(st.integers(1, 4)), draw(st.integers(0, 6)), draw(st.integers(1, 2))
    people = np.column_stack([rng.integers(0, size, n_targets + n_others) for size in SIZES])
    alleles = rng.integers(1, 4, (n_targets, n_loci))
    in_list = np.flatnonzero(rng.random(len(people)) < draw(st.sampled_from((0.5, 0.9, 1.0))))
    if not len(in_list):
        in_list = np.array([0])
    in_list = rng.permutation(in_list)
    said = people[in_list]
    wrong = rng.random(said.shape) < draw(st.sampled_from((0.0, 0.3)))
    said = np.where(wrong, np.column_stack([rng.integers(0, size, len(said)) for size in SIZES]), said)
    missing = rng.random(said.shape) < draw(st.sampled_from((0.0, most_missing)))
    own = np.array([int(np.flatnonzero(in_list == t)[0]) if t in in_list else -1 for t in range(n_targets)])
    coverage = draw(st.sampled_from((0.25, 0.7, 1.0)))
    loci = tuple(f"locus{j}" for j in range(n_loci))
    targets = {name: people[:n_targets, j] for j, name in enumerate(NAMES)}
    targets |= {name: alleles[:, j] for j, name in enumerate(loci)}
    men = np.column_stack([rng.integers(1, 4, (5, n_loci)), rng.integers(0, SIZES[2], 5)])
    nameless = np.append(False, rng.random(4) < 0.3)
    world = MultistageWorld(
        PersonTable("targets", targets),
        {
            "voters": PersonTable(
                "voters",
                {name: np.where(missing[:, j], 0, said[:, j]) for j, name in enumerate(NAMES)},
                missing={name: missing[:, j] for j, name in enumerate(NAMES)},
            ),
            "genealogy": PersonTable(
                "genealogy",
                {name: men[:, j] for j, name in enumerate((*loci, "surname"))},
                missing={"surname": nameless},
            ),
        },
        own >= 0,
        {"voters": ListedTargets(own, coverage)},
    )
    kept = (np.array([1.0, 0.5, 0.0]), *[np.array([1.0, 0.0])] * (1 + n_loci))
    groups = ((AGE_GROUPS,), *[()] * (1 + n_loci))
    space = MaskingSpace(("age", "state", *loci), np.ones(2 + n_loci), n_targets, kept, groups, 2.0 + n_loci)
    stages = (InferSurname(loci, Ancestry(np.full(n_loci, 0.002))), Identify(NAMES, "voters"))
    game = MaskingGame(space, MultistageAttack(stages, GAIN, COST, THRESHOLD), world)
    rows = [
        tuple(None if lost else int(value) for value, lost in zip(*row, strict=True))
        for row in zip(said, missing, strict=True)
    ]
    return Listed([tuple(p) for p in people[:n_targets].tolist()], rows, own.tolist(), coverage, game)


def outcomes(game, strategy, compiled=True):
    choice = Choice(np.full(game.n_records, strategy), "given", np.ones(game.n_records, dtype=np.int64), exact=False)
    return game.evaluate(choice) if compiled else evaluate(game.record_game, choice)


@examples(150)
@given(worlds())
def test_success_is_by_the_persons_own_row_among_those_that_agree(listed):
    game = listed.game
    assert game.is_compiled
    for strategy in range(game.space.size):
        found, slow = outcomes(game, strategy), outcomes(game, strategy, compiled=False)
        surnames, confidence = game.confidence(np.full(game.n_records, strategy))
        for target in range(game.n_records):
            believed, true, attacks = listed.reply(target, strategy, int(surnames[target]), confidence[target])
            at = (strategy, target, believed)
            assert bool(found.attacked[target]) is bool(slow.attacked[target]) is attacks, at
            assert found.success_probability[target] == pytest.approx(true), at
            assert slow.success_probability[target] == pytest.approx(true), at
            paid = GAIN * true - COST if attacks else 0.0
            assert found.adversary_payoff[target] == pytest.approx(paid), at
            assert slow.adversary_payoff[target] == pytest.approx(paid), at


@pytest.mark.deep
@examples(60, fast=4)
@given(worlds(), st.sampled_from((0.0, 4.0)), st.sampled_from((None, 1)))
def test_one_after_the_other_is_played_out(listed, fine, most):
    """Simulate one exploit after another; average over membership and order."""
    game = listed.game.one_stage()
    attack = SequentialAttack(
        gain=GAIN, exploit_cost=COST, link_cost=1.0, access_cost=2.0, penalty=fine, max_penalties=most,
        detection_intercept=-1.0,
    )  # fmt: skip
    planner = SequentialAdversary(attack)
    believing = replace(attack, prior=listed.coverage)
    caught = 1 / (1 + np.exp(1.0))
    for strategy in range(game.space.size):
        reply = planner.respond(game.record_game.linker.link(strategy))
        for target in range(game.n_records):
            n, among = listed.candidates(target, strategy)
            plays = [_played(believing, n, place if among else None, caught) for place in range(max(n, 1))]
            accesses, payoff, hit, exploits = np.mean(plays, axis=0)
            at = (strategy, target, n, among)
            assert bool(reply.attacks[target]) is bool(accesses), at
            assert reply.adversary_payoff[target] == pytest.approx(payoff, abs=1e-9), at
            assert reply.success[target] == pytest.approx(hit), at
            assert reply.exploits[target] == pytest.approx(exploits), at


def _played(attack, n, place, caught):
    """Return accesses, payoff, hits and exploits with the target at a given position.

    The target may also be absent from the list.
    """

    def due(paid):
        levied = attack.max_penalties is None or paid < attack.max_penalties
        return attack.penalty * attack.discount * levied

    def after(paid):
        return paid if attack.max_penalties is None else min(paid + 1, attack.max_penalties)

    def plan(j, paid):
        """Return the believed value of continuing after j misses."""
        if j == n:
            return 0.0
        hit = 1 / (n / attack.prior - j)
        later = (1 - caught) * plan(j + 1, paid) + caught * plan(j + 1, after(paid))
        return max(
            0.0, -attack.exploit_cost - caught * due(paid) + attack.discount * (hit * attack.gain + (1 - hit) * later)
        )

    def play(j, paid):
        """Return payoff, hits and exploits from step j on, given the target's position."""
        if j == n or plan(j, paid) <= 1e-9:
            return np.zeros(3)
        now = np.array([-attack.exploit_cost - caught * due(paid), 0.0, 1.0])
        if j == place:
            return now + np.array([attack.discount * attack.gain, 1.0, 0.0])
        later = (1 - caught) * play(j + 1, paid) + caught * play(j + 1, after(paid))
        return now + later * np.array([attack.discount, 1.0, 1.0])

    linked = max(0.0, attack.discount * plan(0, 0) - attack.link_cost)
    if attack.discount * linked - attack.access_cost <= 1e-9:
        return 0.0, 0.0, 0.0, 0.0
    payoff, hits, exploits = play(0, 0)
    return 1.0, attack.discount * (attack.discount * payoff - attack.link_cost) - attack.access_cost, hits, exploits


@examples(60)
@given(worlds(most_missing=0.0), st.sampled_from((0.3, 1.0)))
def test_partial_knowledge_of_a_list_is_the_mean_over_what_is_known(listed, share):
    game = listed.game
    on = ("age", "state")
    persons = np.zeros(game.n_records, dtype=np.intp)
    knowledge = Knowledge(on, (Source("post", (SourceProfile((AttributeGroup(("age",)),), share),), persons),))
    attack = MultistageAttack((Identify(on, "voters"),), GAIN, COST)
    known = PartialKnowledgeGame(game.space, attack, game.world, knowledge=knowledge)
    planned = guessed(known).record_game.linker
    nothing = game.space.size - 1
    for strategy in range(game.space.size):
        levels = game.space.all_levels(strategy)
        age_alone = int(game.space.number(np.array([levels[0], *(np.array(game.space.shape)[1:] - 1)])))
        linkage = known.record_game.linker.link(strategy)
        for target in range(game.n_records):
            believed = true = 0.0
            for chance, form in ((share, age_alone), (1 - share, nothing)):
                n, among = listed.candidates(target, form)
                believed += chance * listed.coverage / n if n else 0.0
                true += chance / n if n and among else 0.0
            assert 1 / linkage.believed_group_sizes[target] == pytest.approx(believed)
            assert 1 / linkage.group_sizes[target] == pytest.approx(true)
            assert 1 / planned.link(strategy).group_sizes[target] == pytest.approx(believed)


@examples(60)
@given(worlds(most_missing=0.7))
def test_stages_before_leave_out_rows_that_lack_a_value(listed):
    """An inferred state is the most frequent one among rows with both values.

    The first row's state wins ties.
    """
    game = listed.game
    stage = InferByLinkage("state", "voters", ("age",))
    attack = MultistageAttack((stage, Identify(("age", "state"), "voters")), GAIN, COST, 0.0)
    both = [(number, row[0], row[1]) for number, row in enumerate(listed.rows) if None not in row[:2]]
    staged = MaskingGame(game.space, attack, game.world)
    masked = int(game.space.number(np.array([0, 1, *[1] * (len(game.space.shape) - 2)])))
    if not both:
        with pytest.raises(InputError, match="no person has a value in every attribute"):
            staged.record_game.linker.link(masked)
        return
    linkage = staged.record_game.linker.link(masked)
    for target in range(game.n_records):
        age = listed.targets[target][0]
        states = [state for _, theirs, state in both if theirs == age]
        if not states:
            assert linkage.plan_believed[1, target] == 0
            continue
        state = max(dict.fromkeys(states), key=states.count)
        agreeing = [
            number for number, row in enumerate(listed.rows) if row[0] in (None, age) and row[1] in (None, state)
        ]
        believed = listed.coverage * states.count(state) / len(states) / len(agreeing)
        assert linkage.plan_believed[1, target] == pytest.approx(believed)
        true = 1 / len(agreeing) if listed.own[target] in agreeing else 0.0
        assert linkage.plan_success[1, target] == pytest.approx(true)


def guessed(game):
    """Return the game as planned by a publisher who knows only the list's coverage."""
    return replace(game, world=replace(game.world, by_coverage=True))


@examples(60)
@given(worlds())
def test_who_knows_the_coverage_alone_plans_by_what_the_adversary_believes(listed):
    """Plain Python tries every strategy of each target; every exact search must agree."""
    game = guessed(listed.game)
    loss = float(game.loss[0])
    found = np.zeros((game.space.size, game.n_records))
    payoff = np.zeros((game.space.size, game.n_records))
    for strategy in range(game.space.size):
        surnames, confidence = game.confidence(np.full(game.n_records, strategy))
        utility = game.space.utility(strategy, np.arange(game.n_records))
        for target in range(game.n_records):
            believed, _, attacks = listed.reply(target, strategy, int(surnames[target]), confidence[target])
            found[strategy, target] = believed
            payoff[strategy, target] = game.benefit[target] * utility[target] - loss * believed * attacks
        for compiled in (True, False):
            reply = outcomes(game, strategy, compiled)
            np.testing.assert_allclose(reply.success_probability, found[strategy])
            np.testing.assert_allclose(reply.publisher_payoff, payoff[strategy])
    best = np.maximum(payoff.max(axis=0), 0.0)
    alone = game.record_game
    two = [AdversaryType(name, 0.5, alone.linker, alone.adversary) for name in ("one", "other")]
    several = TypesGame(alone.space, two, alone.benefit, alone.loss)
    choices = {
        "best-first": best_first(game),
        "backward-induction": masking_backward_induction(game),
        "anytime": anytime(game, most_evaluated=10**6),
        "several": best_against_several(several),
    }
    for search, choice in choices.items():
        np.testing.assert_allclose(game.evaluate(choice).publisher_payoff.clip(min=0.0), best, err_msg=search)
    # Only the plan changes; the truth does not.
    truth = outcomes(listed.game, 0)
    np.testing.assert_array_equal(truth.attacked, outcomes(game, 0).attacked)
