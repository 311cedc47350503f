"""Adversaries who look up people in the shared rows, against plain counting."""

from dataclasses import replace
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from directions_oracle import PlainDivisions, PlainLimited, PlainPeople, PlainRelease
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from tiers import cases, examples

from reidsim.adversaries.response import OneShotAdversary
from reidsim.core.errors import InputError
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.cross_play import BestReply
from reidsim.games.directions import best_replies, partitions
from reidsim.games.directions.best_replies import (
    DirectedLinker,
    best_release,
    by_record,
    directed_linker,
    replies_in,
    without_attacked,
)
from reidsim.games.directions.effects import effect_on_others, release_of, share_as
from reidsim.games.directions.partitions import best_partition
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import AdmissibleGroups, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.tables.study import ReleasedPeople
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.people import AttributeLimits, SensitiveAttribute, SensitiveValues, sensitive_groups
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice

HIERARCHIES = (((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2), (0, 1, 1)), ((0, 1), (0, 0)))


@st.composite
def plain_releases(draw, direction=None):
    """Draw a small release, with repeated records and attributes without a root."""
    hierarchies = draw(st.sampled_from([HIERARCHIES, HIERARCHIES[:2], HIERARCHIES[1:]]))
    values = st.tuples(*(st.integers(0, len(levels[0]) - 1) for levels in hierarchies))
    records = tuple(draw(st.lists(values, min_size=1, max_size=7)))
    others = tuple(draw(st.lists(values, max_size=12)))
    n = len(records)

    def amounts(choices):
        same = draw(st.booleans())
        each = draw(st.lists(st.sampled_from(choices), min_size=n, max_size=n))
        return (each[0],) * n if same else tuple(each)

    return PlainRelease(
        hierarchies, records, records + others, amounts((10.0, 7.0, 25.0)), amounts((0.0, 12.0, 30.0)),
        amounts((12.0, 30.0)), amounts((4.0, 6.0, 11.0)), direction or draw(st.sampled_from(["person", "both"])),
    )  # fmt: skip


def directed(plain, expected=1.0):
    """Return a release as a game; each person counts `expected` times."""
    attributes = tuple(
        Attribute(f"a{f}", tuple(f"v{v}" for v in range(len(levels[0])))) for f, levels in enumerate(plain.hierarchies)
    )
    hierarchies = tuple(
        Hierarchy(
            attribute, np.array(levels, dtype=np.int32),
            tuple(tuple(f"{k}.{g}" for g in sorted(set(level))) for k, level in enumerate(levels)),
        )
        for attribute, levels in zip(attributes, plain.hierarchies, strict=True)
    )  # fmt: skip
    codes = np.array(plain.records, dtype=np.int32)
    lattice, domain = GeneralizationLattice(hierarchies, codes), Domain(attributes)
    counts = np.full(len(plain.people), 1) if expected == 1.0 else np.full(len(plain.people), expected)
    people = Population.from_records(domain, np.array(plain.people, dtype=np.int32), counts, name="people")
    released = Population.from_records(domain, codes, name="released")
    money = np.array([plain.gain, plain.cost])
    _, kind = np.unique(money, axis=1, return_inverse=True)
    linker = DirectedLinker(
        lattice, plain.direction, PopulationLinker(GroupSizes(people, lattice)),
        PopulationLinker(GroupSizes(released, lattice)),
        kind.ravel().astype(np.int64),
    )  # fmt: skip
    adversary = OneShotAdversary(money[0], money[1])
    return RecordGame(lattice, linker, adversary, np.array(plain.benefit), np.array(plain.loss)), linker


def game_of_people(plain):
    """Return the game of a `PlainPeople` release, whose population is the release."""
    rows = [row for record in plain.records for row in record]
    ones = (1.0,) * len(rows)
    of_rows = PlainRelease(plain.hierarchies, tuple(rows), tuple(rows), ones, ones, ones, ones, plain.direction)
    space = directed(of_rows)[0].space
    owner = np.repeat(np.arange(len(plain.records)), [len(record) for record in plain.records])
    cells, cell_of_row = np.unique(space.codes, axis=0, return_inverse=True)
    lattice = GeneralizationLattice(space.hierarchies, cells)
    released = ReleasedPeople.from_lattice(lattice, cell_of_row.ravel(), owner, None)
    people = released.split(released.set_of_person)
    by_row = people.linker(PopulationLinker(GroupSizes(released.counted("people"), lattice)))
    money = np.array([plain.gain, plain.cost])
    kind = np.unique(money, axis=1, return_inverse=True)[1].ravel().astype(np.int64)
    linker = DirectedLinker(people.space, plain.direction, by_row, by_row, kind)
    adversary = OneShotAdversary(money[0], money[1])
    return RecordGame(people.space, linker, adversary, np.array(plain.benefit), np.array(plain.loss)), linker


def released_as(draw, plain):
    n, forms = len(plain.records), len(plain.forms)
    return draw(st.lists(st.integers(-1, forms - 1), min_size=n, max_size=n))


def chosen(strategies):
    strategies = np.array(strategies, dtype=np.int64)
    return Choice(strategies, "given", np.zeros(len(strategies), dtype=np.int64), exact=False)


@examples(200)
@given(st.data())
def test_rows_that_fit_are_those_of_plain_counting(data):
    plain = data.draw(plain_releases())
    strategies = released_as(data.draw, plain)
    _, linker = directed(plain)
    found = linker.rows.of_records(np.array(strategies))
    assert found.tolist() == [plain.rows_that_fit(i, strategies) for i in range(len(plain.records))]
    wide, narrow = (linker.with_strategies(np.array(strategies, dtype)).link(0) for dtype in (np.int64, np.int32))
    assert narrow.group_sizes.tolist() == wide.group_sizes.tolist()
    form = max(strategies)
    whole = linker.with_strategies(np.full(len(strategies), form)).link(0)
    assert form < 0 or linker.link(form).group_sizes.tolist() == whole.group_sizes.tolist()
    weights = np.arange(1.0, len(strategies) + 1)
    # Three equal rows with one weight each equal one row with their total weight.
    weighed = linker.rows.weight_of_entries(np.array(strategies), weights)
    fitting = [
        sum(
            w
            for w, record, s in zip(weights, plain.records, strategies, strict=True)
            if s >= 0 and plain.shown(record, s) == plain.shown(me, s)
        )
        for me in plain.records
    ]
    assert weighed.tolist() == pytest.approx(fitting)


@examples(200)
@given(st.data())
def test_payoffs_are_those_of_plain_counting(data):
    plain = data.draw(plain_releases())
    strategies = released_as(data.draw, plain)
    found = evaluate(directed(plain)[0], chosen(strategies))
    n = range(len(plain.records))
    assert found.publisher_payoff == pytest.approx(plain.payoffs(strategies), abs=1e-12 * 60)
    assert found.success_probability == pytest.approx([plain.success(i, strategies) for i in n], abs=1e-12)
    assert found.attacked.tolist() == [plain.attacked(i, strategies) for i in n]


def random_release(seed, *, people_have_several=False):
    """Return a small release of 4 to 13 records.

    Without exchanges of two records, the search is suboptimal in a third of these.
    """
    rng = np.random.default_rng(seed)
    first, second, third = HIERARCHIES
    spaces = [HIERARCHIES, (first, second), (first, third, third), (third, third, third)]
    hierarchies, n = spaces[rng.integers(4)], int(rng.integers(4, 14))

    def people(count):
        return tuple(tuple(int(rng.integers(len(levels[0]))) for levels in hierarchies) for _ in range(count))

    def amounts(*choices):
        each = rng.choice(choices, n) if rng.random() < 0.5 else np.full(n, rng.choice(choices))
        return tuple(each.tolist())

    records, others = people(n), people(int(rng.integers(20)))
    if people_have_several:
        records, others = tuple(people(int(rng.integers(1, 4))) for _ in range(n)), ()
    return (PlainPeople if people_have_several else PlainRelease)(
        hierarchies, records, records + others, amounts(10.0, 7.0, 25.0),
        amounts(0.0, 12.0, 30.0), amounts(12.0, 30.0), amounts(4.0, 6.0, 11.0), ("person", "both")[seed % 2],
    )  # fmt: skip


@pytest.mark.parametrize("no_attack", [True, False])
@pytest.mark.parametrize("people_have_several", [False, True])
@pytest.mark.parametrize("seeds", cases([range(at, at + 10) for at in range(0, 200, 10)], [range(10)]), ids=str)
def test_no_change_of_two_records_improves_the_best_release(seeds, people_have_several, no_attack):
    for seed in seeds:
        plain = random_release(seed, people_have_several=people_have_several)
        game, linker = game_of_people(plain) if people_have_several else directed(plain)
        # An adversary who knows everybody in the release is met after the search; see below.
        linker.counts_release = False
        constraint, may_withhold = Constraint(no_attack=no_attack), no_attack or seed % 3 > 0
        present = branch_and_bound(by_record(game), constraint)
        choice = best_release(game, linker, present, constraint, may_withhold=may_withhold)
        found = choice.strategies.tolist()
        total = sum(plain.payoffs(found))
        assert not choice.exact
        assert not (no_attack and any(plain.attacked(i, found) for i in range(len(found))))
        # The search does not end below its starts.
        for start in (present.strategies.tolist(), [0] * len(found)):
            assert no_attack or total >= sum(plain.payoffs(start)) - 1e-9
        forms = slice(None) if may_withhold else slice(-1)
        for _, payoff, safe in plain.exchanges(found):
            assert np.where(safe | (not no_attack), payoff, -np.inf)[forms, forms].max() <= total + 1e-8


@example(20, best_replies.MOST_SEARCHED)
@example(64, best_replies.MOST_SEARCHED)
@examples(200)
@given(st.integers(0, 10**6), st.sampled_from([best_replies.MOST_SEARCHED, 0]))
def test_the_best_release_pays_at_least_as_much_as_the_best_one_without_attacks(seed, most_searched):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))

    def people(count):
        return tuple(tuple(int(rng.integers(len(levels[0]))) for levels in HIERARCHIES) for _ in range(count))

    def amounts(*choices):
        return tuple((rng.choice(choices, n) if seed % 2 else np.repeat(rng.choice(choices), n)).tolist())

    records, others = people(n), people(int(rng.integers(60)))
    plain = PlainRelease(
        HIERARCHIES, records, records + others, amounts(10.0, 7.0, 25.0), amounts(0.0, 12.0, 30.0),
        amounts(12.0, 30.0), amounts(4.0, 6.0, 11.0), ("person", "both")[seed // 2 % 2],
    )  # fmt: skip
    game, _ = directed(plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_replies, "MOST_SEARCHED", most_searched)
        for each in (game, by_record(game)):
            basic, safe = (BestReply(no_attack=no_attack).choose(each) for no_attack in (False, True))
            paid, paid_without = (evaluate(each, choice).publisher_payoff.sum() for choice in (basic, safe))
            # Only the release without attacks may withhold records.
            assert paid >= paid_without - 1e-9 or (safe.strategies < 0).any()


@pytest.mark.parametrize("people_have_several", [False, True])
@pytest.mark.parametrize("seed", cases(range(100), range(6)))
def test_a_few_suppressed_records_protect_the_people_of_large_tables(seed, people_have_several, monkeypatch):
    plain = random_release(seed, people_have_several=people_have_several)
    game, linker = game_of_people(plain) if people_have_several else directed(plain)
    linker.counts_release = False
    constraint, last = Constraint(no_attack=True), game.space.size - 1
    alone = branch_and_bound(by_record(game), constraint)
    monkeypatch.setattr(best_replies, "MOST_SEARCHED", 0)
    safe = best_release(game, linker, alone, constraint).strategies.tolist()
    assert not any(plain.attacked(i, safe) for i in range(len(safe)))
    assert all(now in (before, last, -1) for now, before in zip(safe, alone.strategies.tolist(), strict=True))
    free = branch_and_bound(by_record(game))
    found = best_release(game, linker, free).strategies
    for other in (free.strategies.tolist(), [0] * game.n_records):
        assert sum(plain.payoffs(found.tolist())) >= sum(plain.payoffs(other)) - 1e-9
    as_it_is = np.arange(game.space.size) == 0
    alone = chosen(np.zeros(game.n_records, dtype=np.int64))
    assert (best_release(game, linker, alone, forms=as_it_is).strategies == 0).all()


@pytest.mark.parametrize(("most_searched", "fewest_rounds"), [(best_replies.MOST_SEARCHED, 5), (0, 5), (0, 0)])
@pytest.mark.parametrize("seeds", cases([range(at, at + 20) for at in range(0, 200, 20)], [range(20)]), ids=str)
def test_without_attacks_no_assignment_of_all_rows_excludes_a_person_who_fits(
    seeds, most_searched, fewest_rounds, monkeypatch
):
    monkeypatch.setattr("reidsim.games.directions.exclusions._FEWEST_ROUNDS", fewest_rounds)
    monkeypatch.setattr(best_replies, "MOST_SEARCHED", most_searched)
    changed = divided = 0
    for seed in seeds:
        plain = random_release(seed)
        plain = replace(plain, people=plain.records)
        game, linker = directed(plain)
        constraint, found = Constraint(no_attack=True), []
        present = branch_and_bound(by_record(game), constraint)
        # Without and with repairs of the release that is found; at last, a partition may pay more.
        for knows_everybody, partition in ((False, None), (True, lambda *_: None), (True, best_partition)):
            linker.counts_release = knows_everybody
            monkeypatch.setattr(best_replies, "best_partition", partition)
            found.append(best_release(game, linker, present, constraint).strategies.tolist())
        before, repaired, best = found
        assert [at < 0 for at in repaired] == [at < 0 for at in before]
        n = range(len(before))
        assert all(plain.rows_that_fit(i, repaired) >= plain.rows_that_fit(i, before) for i in n)
        assert sum(plain.payoffs(best)) >= sum(plain.payoffs(repaired)) - 1e-9
        for after in (repaired, best):
            assert not any(plain.attacked(i, after) for i in n)
            assert (row := excluded(plain, after)) is None, f"seed {seed}: {row}"
        changed, divided = changed + (before != repaired), divided + (best != repaired)
    assert changed
    assert divided


@pytest.mark.parametrize("seeds", cases([range(at, at + 10) for at in range(0, 100, 10)], [range(10)]), ids=str)
def test_without_attacks_people_with_several_rows_are_not_found_by_the_levels_of_their_rows(seeds, monkeypatch):
    """Every assignment of the rows to people in which the rows of a person have one form is tried."""
    levels = set()
    for seed in seeds:
        plain = random_release(seed, people_have_several=True)
        # In every third release, some levels are left out.
        most = 20 * len(plain.records) if seed % 3 == 0 else 30_000_000
        monkeypatch.setattr(partitions, "MOST_DIVIDED", most)
        game, linker = game_of_people(plain)
        constraint = Constraint(no_attack=True)
        present = branch_and_bound(by_record(game), constraint)
        found = best_release(game, linker, present, constraint).strategies.tolist()
        fewest = plain.fewest_possible(found)
        assert all(
            gain / few <= cost * (1 + 1e-12) for gain, few, cost in zip(plain.gain, fewest, plain.cost, strict=True)
        ), f"seed {seed}"
        levels |= {*found}
    assert len(levels) > 2


def excluded(plain, strategies):
    """Return the numbers of a row and a record that it fits, but cannot belong to; None if there are none."""
    # A withheld row may belong to anybody.
    fits = np.array(
        [
            [form < 0 or plain.shown(other, form) == plain.shown(own, form) for other in plain.records]
            for own, form in zip(plain.records, strategies, strict=True)
        ]
    )
    for row, record in np.argwhere(fits & (np.array(strategies) >= 0)[:, None]).tolist():
        others = np.delete(np.delete(fits, row, axis=0), record, axis=1)
        if (maximum_bipartite_matching(csr_array(others)) < 0).any():
            return row, record
    return None


@pytest.mark.parametrize("seeds", cases([range(at, at + 20) for at in range(0, 200, 20)], [range(20)]), ids=str)
def test_the_best_partition_is_the_best_division_of_every_class(seeds, monkeypatch):
    """Classes are divided one by one, without tables of values."""
    number = fewer = 0
    for seed in seeds:
        plain = random_release(seed)
        plain = replace(plain, people=plain.records)
        game, linker = directed(plain)
        n, no_attack = len(plain.records), seed % 4 > 0
        constraint = Constraint(no_attack=no_attack)
        allowed = partial(constraint.allows, game.space)
        found = best_partition(game, linker.lattice, linker.rows, linker.people, allowed, lambda: None)
        highest = PlainDivisions(plain, no_attack=no_attack).highest()
        assert (found is None) == (highest == -np.inf)
        if found is not None:
            strategies = found.tolist()
            assert sum(plain.payoffs(strategies)) == pytest.approx(highest, rel=1e-8)
            assert not (no_attack and any(plain.attacked(i, strategies) for i in range(n)))
            # Nobody fits a row of another class.
            pairs = product(range(n), range(n))
            assert all(strategies[i] == strategies[j] for i, j in pairs if plain.touches(i, j, strategies[i]))
            number += len(set(strategies)) > 1
            # With more records times strategies than the limit, some levels are left out.
            with monkeypatch.context() as patch:
                patch.setattr(partitions, "MOST_DIVIDED", game.n_records * game.space.size // 2)
                some = best_partition(game, linker.lattice, linker.rows, linker.people, allowed, lambda: None)
            if some is not None:
                assert sum(plain.payoffs(some.tolist())) <= highest + 1e-9
                assert not (no_attack and any(plain.attacked(i, some.tolist()) for i in range(n)))
                fewer += not np.array_equal(some, found)
    assert (number and fewer) or seeds.start > 0


@examples(100)
@given(plain_releases())
def test_the_least_forms_that_are_allowed_are_kept_to(plain):
    game, linker = directed(plain)
    minimum = np.full(game.n_records, game.space.size - 1 - int(len(plain.hierarchies) > 1), dtype=np.int64)
    for no_attack in (False, True):
        constraint = Constraint(no_attack=no_attack, minimum=minimum)
        found = best_release(game, linker, branch_and_bound(by_record(game), constraint), constraint).strategies
        assert all(s < 0 or game.space.at_least(s, minimum[:1])[0] for s in found.tolist())


@examples(60)
@given(st.data())
def test_withholding_leaves_the_largest_part_of_which_nobody_is_attacked(data):
    plain = data.draw(plain_releases())
    strategies = released_as(data.draw, plain)
    kept = without_attacked(directed(plain)[0], np.array(strategies)).tolist()
    assert not any(plain.attacked(i, kept) for i in range(len(kept)))
    # A larger part of the rows would have been removed: no record can be restored alone.
    for i, form in enumerate(strategies):
        if kept[i] < 0 <= form:
            assert plain.attacked(i, [*kept[:i], form, *kept[i + 1 :]])


@pytest.mark.parametrize("seed", cases(range(60), range(6)))
def test_people_with_several_rows_are_paid_and_changed_as_plain_counting_says(seed):
    plain = random_release(seed, people_have_several=True)
    rng, n, (game, linker) = np.random.default_rng(seed), len(plain.records), game_of_people(plain)
    strategies = rng.integers(-1, game.space.size, n)
    loss = replies_in(game, linker)[2]
    release = release_of(game.space, linker.rows, game.benefit, strategies, loss)
    for _ in range(3):
        strategies = release.strategies.tolist()
        payoffs = plain.payoffs(strategies)
        assert linker.rows.of_records(release.strategies).tolist() == [
            plain.rows_that_fit(i, strategies) for i in range(n)
        ]
        assert evaluate(game, chosen(strategies)).publisher_payoff == pytest.approx(payoffs, abs=1e-9)
        record = int(rng.integers(n))
        present = effect_on_others(release, record)
        for form in range(game.space.size):
            then = plain.payoffs([*strategies[:record], form, *strategies[record + 1 :]])
            others = sum(then) - then[record] - (sum(payoffs) - payoffs[record])
            assert release.gained[form] - present == pytest.approx(others, abs=1e-9)
        share_as(release, record, int(rng.integers(-1, game.space.size)))
    anew = release_of(game.space, linker.rows, game.benefit, release.strategies, loss)
    assert release.fitting.tolist() == anew.fitting.tolist()
    for kept, again in ((release.more, anew.more), (release.less, anew.less), (release.shared, anew.shared)):
        assert kept == pytest.approx(again, abs=1e-12)


@pytest.mark.parametrize("seed", cases(range(30), range(6)))
def test_a_weighted_guess_finds_people_by_the_row_that_is_easiest(seed):
    plain = random_release(seed, people_have_several=True)
    strategies = np.random.default_rng(seed).integers(-1, len(plain.forms), len(plain.records)).tolist()
    found = game_of_people(plain)[1].weighted(np.array(strategies))

    def weight(j, values):
        form = strategies[j]
        if form < 0 or not plain.reads_like(plain.records[j], values, form):
            return 0.0
        return 1 / sum(plain.reads_like(each, values, form) for each in plain.records)

    for i, record in enumerate(plain.records):
        sizes = [sum(weight(j, me) for j in range(len(strategies))) / (weight(i, me) or np.inf) for me in record]
        size = min(sizes) if strategies[i] >= 0 else 1.0
        if plain.direction == "both" and strategies[i] >= 0:
            size = min(size, plain.people_that_fit(i, strategies[i]))
        assert found[i] == pytest.approx(size)


def limited_release(seed):
    """Return a small release with sensitive values, and limits on them."""
    plain, rng = random_release(seed), np.random.default_rng(seed + 1000)
    columns = []
    hierarchies = [((0, 1), (0, 0)), ((0, 1, 2), (0, 1, 1), (0, 0, 0))]
    for levels in hierarchies[rng.integers(2) :]:
        flat = rng.random() < 0.5 or len(levels) < 3
        codes = rng.integers(0, len(levels[0]), len(plain.records))
        columns.append((tuple(codes.tolist()), (levels[0],) if flat else tuple(levels[:-1])))
    limits = [
        AttributeLimits(max_inference=float(rng.choice([0.5, 0.6, 0.8]))),
        AttributeLimits(l_diversity=2),
        AttributeLimits(t_closeness=float(rng.choice([0.15, 0.3, 0.5]))),
        AttributeLimits(l_diversity=2, t_closeness=0.4, max_inference=0.7),
    ][rng.integers(4)]
    return PlainLimited(**vars(plain), columns=tuple(columns), limits=limits)


def admissible_groups(plain, space):
    columns = tuple(
        SensitiveAttribute(f"s{at}", np.array(codes), np.array(levels))
        for at, (codes, levels) in enumerate(plain.columns)
    )
    return AdmissibleGroups(sensitive_groups(SensitiveValues(space.codes, columns), space), plain.limits, columns)


@pytest.mark.parametrize("policy", ["no-attack", "basic", "record-level"])
@pytest.mark.parametrize("seed", cases(range(60), range(3)))
def test_limits_on_sensitive_values_hold_and_no_change_of_two_records_within_them_pays_more(seed, policy):
    """Records that fit a row and rows that fit a person are counted one by one."""
    plain = limited_release(seed)
    game, linker = directed(plain)
    constraint = Constraint(no_attack=policy == "no-attack", admissible=admissible_groups(plain, game.space))
    may_withhold = policy != "basic"
    present = branch_and_bound(by_record(game), constraint)
    found = best_release(game, linker, present, constraint, may_withhold=may_withhold).strategies.tolist()
    n, size, total = len(found), game.space.size, sum(plain.payoffs(found))
    assert plain.within(found)
    assert not (constraint.no_attack and any(plain.attacked(i, found) for i in range(n)))

    def better(other):
        if not plain.within(other) or (constraint.no_attack and any(plain.attacked(i, other) for i in range(n))):
            return False
        if policy == "basic" and any(now < 0 <= before for now, before in zip(other, found, strict=True)):
            return False
        return sum(plain.payoffs(other)) > total + 1e-8

    for _, _, other in plain.deviations(found):
        assert not better(other)
    pairs, forms = list(combinations(range(n), 2)), range(-may_withhold, size)
    rng = np.random.default_rng(seed)
    for _ in range(60):
        i, j = pairs[rng.integers(len(pairs))]
        other = list(found)
        other[i], other[j] = rng.choice(forms, 2).tolist()
        assert not better(other)


def test_large_tables_are_kept_within_limits():
    for seed in range(8):
        plain = limited_release(seed)
        game, linker = directed(plain)
        constraint = Constraint(no_attack=True, admissible=admissible_groups(plain, game.space))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(best_replies, "MOST_SEARCHED", 0)
            present = branch_and_bound(by_record(game), constraint)
            found = best_release(game, linker, present, constraint).strategies.tolist()
        assert plain.within(found)
        assert not any(plain.attacked(i, found) for i in range(len(found)))


def example(direction="both", **changes):
    records = ((0, 0, 0), (0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 2, 1), (3, 1, 1))
    n = len(records)
    plain = PlainRelease(
        HIERARCHIES, records, records * 3, (10.0,) * n, (30.0,) * n, (30.0,) * n, (8.0,) * n, direction
    )
    return replace(plain, **changes)


@pytest.mark.parametrize("direction", ["person", "both"])
def test_expected_counts_of_people_need_not_be_whole(direction):
    plain = example(direction)
    game, linker = directed(plain, expected=1.3)
    everywhere = np.full(6, game.space.size - 1)
    suppressed = evaluate(game, chosen(everywhere)).success_probability
    # One attribute has no root: three records have its first value.
    assert suppressed == pytest.approx([1 / 3] * 6)
    rare = directed(replace(plain, people=plain.records), expected=0.7)[0]
    # Of 3 people, 2.1 are expected.
    size = 3 if direction == "person" else 2.1
    assert evaluate(rare, chosen(everywhere)).success_probability == pytest.approx([1 / size] * 6)
    found = best_release(game, linker, branch_and_bound(by_record(game)))
    total = evaluate(game, found).publisher_payoff.sum()
    for _, form, other in plain.deviations(found.strategies.tolist()):
        if form >= 0:
            assert evaluate(game, chosen(other)).publisher_payoff.sum() <= total + 1e-8


def test_several_adversaries_of_one_direction_are_one():
    game, linker = directed(example("person"))
    types = [
        AdversaryType("a", 0.25, linker, OneShotAdversary(30.0, 8.0)),
        AdversaryType("b", 0.75, linker, OneShotAdversary(20.0, 9.0)),
    ]
    both = TypesGame(game.space, types, game.benefit, game.loss)
    found = BestReply().choose(both)
    total = evaluate(both, found).publisher_payoff.sum()
    for _, form, other in example().deviations(found.strategies.tolist()):
        if form >= 0:
            assert evaluate(both, chosen(other)).publisher_payoff.sum() <= total + 1e-8
    safe = BestReply(no_attack=True).choose(both)
    assert not evaluate(both, safe).attacked.any()
    apart = TypesGame(game.space, [types[0], replace(types[1], linker=linker.by_record)], game.benefit, game.loss)
    with pytest.raises(InputError, match="adversaries have different directions or risks"):
        directed_linker(apart)
    assert directed_linker(by_record(apart)) is None
