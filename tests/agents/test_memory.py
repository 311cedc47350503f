"""Adversaries with memory, against intersections of value sets per person."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from small_ward import write_ward
from tiers import examples

from reidsim.agents.foresight import believed_game
from reidsim.agents.learning import Memory
from reidsim.agents.model import ReidentificationModel
from reidsim.core.errors import InputError
from reidsim.games.composite import (
    RememberingAdversary,
    RememberingLinker,
    known_of,
    linker_with_past,
    payoff_of_withholding,
)
from reidsim.games.cross_play import OptIn, withholding
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.tables.build import build_study, setting_of
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.scenarios.scenario import Scenario


def strategies_of_rounds(setting, small, beliefs, reply):
    """Return each record's strategy by round; `beliefs` are the first type's probabilities by round."""
    lattice, least = small.lattice(), small.minimum_numbers()

    def solve(policy, game):
        linker = linker_with_past(game)
        return branch_and_bound(game, Constraint(minimum=least if linker is None else least[linker.cells]))

    def split(cells, participants):
        return GeneralizationLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes), solve

    setting = replace(setting, rounds=len(beliefs), remembers=True, meet=lattice.meet, solve=solve, split=split)
    model, found = ReidentificationModel(replace(setting, reply_of=lambda policy: reply), "any"), []
    for belief in beliefs:
        model.publisher.parameters = np.array([belief, 1.0 - belief])
        model.step()
        found.append(model.publisher.strategies[model.setting.cell_of_subject].tolist())
    return found


def test_where_more_is_known_each_record_is_solved_anew(town, setting_of_small, profile_of_small):
    setting = setting_of_small(profiles=[profile_of_small(town), profile_of_small(town, "idle", gain=0.0)])
    each, alone = (strategies_of_rounds(setting, town, [0.0, 1.0], reply) for reply in ("to-past", "alone"))
    assert each[0] == alone[0]
    assert each[1] != alone[1]


def test_who_withholds_loses_by_the_past_alone(town):
    """A form with a negative payoff is chosen if withholding pays even less."""
    game = town.game()
    n = game.n_records
    past = np.where(np.arange(n) % 2 == 0, 0, WITHHELD)
    linker = RememberingLinker((game.linker,), np.zeros(n, dtype=np.intp), np.arange(n), past, game.space.meet)
    adversary = RememberingAdversary(game.adversary)
    remembering = replace(game, linker=linker, adversary=adversary, benefit=np.full(n, 0.5))
    sunk = evaluate(game, Choice(np.zeros(n, dtype=np.int64), "", np.zeros(n, dtype=np.int64), exact=True)).risk
    expected = np.where(past == WITHHELD, 0.0, -60.0 * sunk)
    np.testing.assert_allclose(payoff_of_withholding(remembering), expected)
    assert (expected < -0.5).any()
    shown = past != WITHHELD
    for choice in (OptIn().choose(remembering), withholding(remembering, branch_and_bound(remembering))):
        assert (choice.strategies[shown] == 0).all()
    np.testing.assert_array_equal(payoff_of_withholding(game), 0.0)
    with pytest.raises(TypeError, match="remembers"):
        adversary.respond(game.linker.link(0))


def test_forms_that_do_not_tell_cannot_be_remembered(town, setting_of_small):
    with pytest.raises(InputError, match=r"agents.remembers.*expected false"):
        ReidentificationModel(setting_of_small(rounds=2, remembers=True), "basic")
    setting = setting_of_small(rounds=3, remembers=True, meet=town.lattice().meet)
    schedule = np.ones((3, 12), dtype=np.bool_)
    schedule[1, 0] = False
    model = ReidentificationModel(replace(setting, schedule=schedule), "basic")
    model.step()
    with pytest.raises(InputError, match="equal records have different earlier releases"):
        model.step()


# Masking.


@examples(40, fast=5)
@given(small_worlds(levels=True), st.data())
def test_masked_records_show_whatever_was_shown_once(world, data):
    game, space = world.game.record_game, world.space
    numbers = st.lists(st.integers(WITHHELD, space.size - 1), min_size=game.n_records, max_size=game.n_records)
    past = np.array(data.draw(numbers))
    now = np.array(data.draw(numbers))
    known = known_of(now, past, space.meet)
    for record, (a, b) in enumerate(zip(now.tolist(), past.tolist(), strict=True)):
        released = [world.levels(strategy) for strategy in (a, b) if strategy != WITHHELD]
        if not released:
            assert known[record] == WITHHELD
            continue
        assert world.levels(int(known[record])) == tuple(min(levels) for levels in zip(*released, strict=True))
    linker = RememberingLinker(
        (game.linker,), np.zeros(len(past), dtype=np.intp), np.arange(len(past)), past, space.meet
    )
    remembering = replace(game, linker=linker, adversary=RememberingAdversary(game.adversary))
    chosen = evaluate(remembering, withholding(remembering, branch_and_bound(remembering)))
    for record in range(len(past)):
        rows, before = np.array([record]), past[record : record + 1]
        best = float(payoff_of_withholding(remembering)[record])
        for strategy in range(space.size):
            both = int(known_of(np.array([strategy]), before, space.meet)[0])
            reply = game.outcome(both, rows).response
            worth = float(game.benefit_of(strategy, rows)[0])
            best = max(best, worth - float(game.loss[record] * reply.reidentified[0]))
        got = chosen.publisher_payoff[record]
        if chosen.strategies[record] == WITHHELD:
            got = payoff_of_withholding(remembering)[record]
        assert got == pytest.approx(best, abs=1e-9)


# Full-domain releases, and groups by risk model.

# Amounts for which some records are attacked.
AMOUNTS = {"economics.loss": 300, "economics.gain": 120, "economics.cost": 25}


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    return write_ward(tmp_path_factory.mktemp("ward"), ["basic", "no-attack"], "[agents]\nrounds = 4\n")


def shown(lattice, values, levels):
    """Return the sets of values consistent with a record released at given levels."""
    return tuple(
        frozenset(np.flatnonzero(hierarchy.groups[level] == hierarchy.groups[level][value]).tolist())
        for hierarchy, level, value in zip(lattice.hierarchies, levels, values, strict=True)
    )


@pytest.mark.deep
@pytest.mark.parametrize("risk", ["prosecutor", "journalist"])
def test_full_domain_releases_are_remembered(risk, ward):
    """Check every node and person: released values, candidates and best payoff."""
    study = build_study(Scenario.load(ward, {"adversary.risk": risk, **AMOUNTS}))
    world, lattice = setting_of(study, study.scenario.agents), study.lattice
    codes = lattice.codes[study.row_of_subject]
    people = np.repeat(study.population.cells, study.population.counts, axis=0)
    rng, n = np.random.default_rng(3), study.n_subjects
    # For each person, the consistent value sets by round of release.
    memory, boxes, presence = Memory(world), [{} for _ in range(n)], []
    for number in range(3):
        taking_part = rng.random(n) < 0.7
        presence.append(taking_part)
        setting = memory.setting(taking_part)
        forms = rng.integers(WITHHELD, lattice.size, size=n)
        if setting is not None:
            equipment = [profile.equip(frozenset(), 1.0, believed=True) for profile in setting.profiles]
            choice = setting.solve("basic", believed_game(setting, np.ones(1), equipment))
            total = total_by_hand(study, codes, people, boxes, presence, choice.strategies[setting.cell_of_subject])
            found = [
                total_by_hand(study, codes, people, boxes, presence, np.full(n, node), best=True)
                for node in range(lattice.size)
            ]
            assert sum(total) == pytest.approx(max(map(sum, found)), abs=1e-7)
        memory.add(forms, taking_part)
        for subject in np.flatnonzero(taking_part & (forms != WITHHELD)).tolist():
            boxes[subject][number] = shown(lattice, codes[subject], lattice.levels(int(forms[subject])))


def total_by_hand(study, codes, people, boxes, presence, strategies, *, best=False):
    """Return each present person's payoff, given the earlier releases.

    With `best`, records that pay less than withholding are withheld.
    """
    lattice, amounts, now = study.lattice, [], presence[-1]
    prosecutor = study.scenario.adversary.risk == "prosecutor"
    utilities = [lattice.utility(strategy)[study.row_of_subject] for strategy in range(lattice.size)]

    def risk_of(out):
        if not out:
            return 0.0
        everybody = codes if prosecutor else people
        among = np.ones(len(everybody), dtype=np.bool_)
        for number, box in out.items():
            among &= np.all([np.isin(everybody[:, f], list(values)) for f, values in enumerate(box)], axis=0)
            if prosecutor:
                among &= presence[number]
        if prosecutor:
            among &= [box.keys() <= out.keys() for box in boxes]
        share = 1 / max(among.sum(), 1)
        return share if 120 * share > 25 * (1 + 1e-12) else 0.0

    for subject in np.flatnonzero(now).tolist():
        strategy = int(strategies[subject])
        withheld = -300 * risk_of(boxes[subject])
        if strategy == WITHHELD:
            amounts.append(withheld)
            continue
        out = boxes[subject] | {len(presence) - 1: shown(lattice, codes[subject], lattice.levels(strategy))}
        paid = 100 * utilities[strategy][subject] - 300 * risk_of(out)
        amounts.append(max(paid, withheld) if best else paid)
    return amounts
