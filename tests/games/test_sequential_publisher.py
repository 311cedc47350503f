"""The publisher against the sequential adversary: replies and best replies."""

import math
import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from small_games import game_of, small_games
from tiers import examples

import reidsim
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import evaluate
from reidsim.games.lattice_search import lattice_search
from reidsim.games.record_game import WITHHELD, Choice, Constraint, PopulationLinker, RecordGame
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.outcomes import play
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.study import equilibria_of

TOWN = Path(__file__).parent.parent / "scenarios" / "town"


class Oracle:
    """The adversary's policy for a group, by recursion over candidates, penalties."""

    def __init__(self, attack):
        self.a = attack
        self.margin = math.inf
        self.linked = cache(self._linked)

    def _linked(self, g):
        """Return value, success probability and expected exploits of a linked group."""
        a = self.a
        later = a.discount if a.penalty_timing == "next-state" else 1.0

        @cache
        def best(r, m):
            if r == 0:
                return 0.0, 0.0, 0.0
            hit = 1 / (g / a.prior - (g - r))
            caught = 1 / (1 + math.exp(-(a.detection_intercept + a.detection_slope * (g - r))))
            levied = a.max_penalties is None or m < a.max_penalties
            unseen = best(r - 1, m)
            paid = m + 1 if levied and a.max_penalties is not None else m
            seen = (0.0, 0.0, 0.0) if a.detection_ends_attack else best(r - 1, paid)
            value, success, exploits = ((1 - caught) * u + caught * s for u, s in zip(unseen, seen, strict=True))
            worth = (
                a.discount * (hit * a.gain + (1 - hit) * value) - a.exploit_cost - levied * caught * later * a.penalty
            )
            self.margin = min(self.margin, abs(worth))
            if worth <= 0:
                return 0.0, 0.0, 0.0
            return worth, hit + (1 - hit) * success, 1 + (1 - hit) * exploits

        return best(g, 0)

    def holding(self, g):
        """Return V_access, and success and exploits from there."""
        value, success, exploits = self.linked(g)
        worth = self.a.discount * value - self.a.link_cost
        if g:
            self.margin = min(self.margin, abs(worth))
        return (worth, success, exploits) if worth > 0 else (0.0, 0.0, 0.0)

    def reply(self, g, belief):
        """Return access, success, payoff and exploits for a group of size g."""
        hoped = self.a.discount * sum(share * self.holding(k)[0] for k, share in belief.items()) - self.a.access_cost
        if hoped != -self.a.access_cost:
            self.margin = min(self.margin, abs(hoped))
        if hoped <= 0:
            return False, 0.0, 0.0, 0.0
        worth, success, exploits = self.holding(g)
        return True, success, self.a.discount * worth - self.a.access_cost, exploits


def binomial(n, p):
    return {k: math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


@dataclass(frozen=True)
class Setting:
    """A small game against a sequential adversary with a (complete) registry."""

    small: object
    attack: SequentialAttack
    listed: tuple | None
    registry_size: int | None  # before access, the adversary knows only the registry's size

    def game(self):
        lattice = self.small.lattice()
        everybody = GroupSizes(self.small.population(), lattice)
        if self.listed is None:
            linker = PopulationLinker(everybody, population=everybody)
        else:
            registry = GroupSizes(self.small.population(self.listed), lattice, holds_records=False)
            linker = PopulationLinker(registry, population=everybody)
        adversary = SequentialAdversary(self.attack, self.registry_size)
        return RecordGame(lattice, linker, adversary, np.array(self.small.benefit), np.array(self.small.loss))

    def worked_out(self):
        """Return payoff, attack, success and adversary's payoff by record and strategy.

        Strategies are in lexicographic order.
        """
        oracle = Oracle(self.attack)
        outcomes = []
        for i in range(self.small.n_records):
            paper = self.small.paper(i)
            rows = []
            for g in paper.strategies:
                match = paper.n_p(g)
                size = match if self.listed is None else replace_people(paper, self.listed)._matching(self.listed, g)
                share = match / len(self.small.people)
                belief = {size: 1.0} if self.registry_size is None else binomial(self.registry_size, share)
                attacks, success, payoff, exploits = oracle.reply(size, belief)
                rows.append((paper.v(g) - paper.L * success, attacks, success, payoff, exploits))
            outcomes.append(rows)
        return outcomes, oracle.margin > 1e-9 * self.attack.gain

    def best(self, rows, i, no_attack):
        """Return the first strategy within rounding of the best, -1 if none is allowed."""
        best = WITHHELD
        for number, (payoff, attacks, *_) in enumerate(rows):
            if no_attack and attacks:
                continue
            if best == WITHHELD or payoff - rows[best][0] > 1e-12 * (self.small.benefit[i] + self.small.loss[i]):
                best = number
        return best


def replace_people(paper, people):
    return replace(paper, people=people)


@st.composite
def attacks(draw):
    gain = draw(st.sampled_from([10.0, 300.0]))
    share = st.one_of(st.just(0.0), st.floats(1e-3, 0.2))
    return SequentialAttack(
        gain=gain,
        access_cost=gain * draw(share),
        link_cost=gain * draw(share) / 2,
        exploit_cost=gain * draw(share),
        penalty=gain * draw(share) * 20,
        max_penalties=draw(st.sampled_from([None, 1, 2])),
        detection_intercept=draw(st.floats(-5, 0)),
        detection_slope=draw(st.sampled_from([0.0, 0.0, 0.2, -0.1])),
        prior=draw(st.one_of(st.just(1.0), st.floats(0.1, 1))),
        discount=draw(st.floats(0.9, 1)),
        penalty_timing=draw(st.sampled_from(["next-state", "at-action"])),
        detection_ends_attack=draw(st.integers(0, 3)) == 0,
    )


@st.composite
def small_settings(draw):
    small = draw(small_games(max_attributes=3, max_strategies=24, max_records=3))
    some = st.lists(st.sampled_from(small.people), min_size=1, max_size=12).map(tuple)
    return Setting(
        small=small,
        attack=draw(attacks()),
        listed=draw(st.one_of(st.none(), some)),
        registry_size=draw(st.sampled_from([None, None, 1, 2, 16])),
    )


# Best replies.


@given(setting=small_settings())
@examples(150)
def test_the_publishers_best_reply_is_that_of_trying_every_strategy(setting):
    outcomes, clear = setting.worked_out()
    assume(clear)
    game, small = setting.game(), setting.small
    choices = backward_induction(game, {"basic": Constraint(), "no-attack": Constraint(no_attack=True)})
    for name, choice in choices.items():
        expected = [setting.best(rows, i, name == "no-attack") for i, rows in enumerate(outcomes)]
        assert choice.strategies.tolist() == expected
        assert branch_and_bound(game, Constraint(no_attack=name == "no-attack")).strategies.tolist() == expected
        equilibrium = evaluate(game, choice)
        for i, best in enumerate(expected):
            if best == WITHHELD:
                assert all(attacks for _, attacks, *_ in outcomes[i])
                continue
            payoff, attacks, success, adversary, _ = outcomes[i][best]
            event(f"{name}: attacked {attacks}")
            close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
            assert equilibrium.publisher_payoff[i] == pytest.approx(payoff, **close)
            assert equilibrium.attacked[i] == attacks
            assert equilibrium.success_probability[i] == pytest.approx(success, rel=1e-9)
            assert equilibrium.adversary_payoff[i] == pytest.approx(adversary, rel=1e-9, abs=1e-9 * setting.attack.gain)
            assert name == "basic" or not attacks


@given(setting=small_settings(), data=st.data())
def test_the_best_reply_is_no_worse_than_any_rule(setting, data):
    game = setting.game()
    n, size = game.n_records, game.space.size
    basic = evaluate(game, backward_induction(game, {"basic": Constraint()})["basic"]).publisher_payoff
    drawn = data.draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
    for rule in (np.zeros(n, dtype=int), np.full(n, size - 1), np.array(drawn)):
        fixed = evaluate(game, Choice(rule, "fixed", np.zeros(n, dtype=int), exact=False))
        assert (basic >= fixed.publisher_payoff - 1e-9 * setting.small.scale).all()
    searched = evaluate(game, lattice_search(game)).publisher_payoff
    assert (basic >= searched - 1e-9 * setting.small.scale).all()


@given(setting=small_settings())
@examples(100)
def test_every_reply_is_the_adversarys_best(setting):
    outcomes, clear = setting.worked_out()
    assume(clear)
    game = setting.game()
    for strategy in range(game.space.size):
        response = game.outcome(strategy).response
        for i, rows in enumerate(outcomes):
            _, attacks, success, payoff, exploits = rows[strategy]
            assert response.attacks[i] == attacks
            assert response.success[i] == pytest.approx(success, rel=1e-9)
            assert response.reidentified[i] == pytest.approx(success, rel=1e-9)
            assert response.adversary_payoff[i] == pytest.approx(payoff, rel=1e-9, abs=1e-9 * setting.attack.gain)
            assert response.exploits[i] == pytest.approx(exploits, rel=1e-9)


@given(small=small_games(max_attributes=3, max_strategies=24, same_money=True))
@examples(100)
def test_an_adversary_who_is_caught_at_once_and_does_not_discount_is_the_one_shot_adversary(small):
    attack = SequentialAttack(
        gain=small.gain[0],
        exploit_cost=small.cost[0],
        discount=1.0,
        detection_intercept=50.0,  # always detected, without penalty, which ends the attack
        detection_ends_attack=True,
    )
    lattice = small.lattice()
    benefit, loss = np.array(small.benefit), np.array(small.loss)
    sequential = RecordGame(lattice, small.linker(lattice), SequentialAdversary(attack), benefit, loss)
    one_shot = RecordGame(lattice, small.linker(lattice), OneShotAdversary(small.gain[0], small.cost[0]), benefit, loss)
    sizes = np.array([small.paper(i).n_p(g) for i in range(small.n_records) for g in small.paper(i).strategies])
    assume((np.abs(small.gain[0] / sizes - small.cost[0]) > 1e-9 * small.cost[0]).all())
    constraints = {"basic": Constraint(), "no-attack": Constraint(no_attack=True)}
    mine, theirs = backward_induction(sequential, constraints), backward_induction(one_shot, constraints)
    for name in constraints:
        assert mine[name].strategies.tolist() == theirs[name].strategies.tolist()
        a, b = evaluate(sequential, mine[name]), evaluate(one_shot, theirs[name])
        np.testing.assert_array_equal(a.attacked, b.attacked)
        np.testing.assert_allclose(a.publisher_payoff, b.publisher_payoff, atol=1e-9 * small.scale.max())
        np.testing.assert_allclose(a.adversary_payoff, b.adversary_payoff, atol=1e-9 * small.scale.max())


def test_an_adversary_that_breaks_even_but_for_rounding_stays_out():
    attack = SequentialAttack(
        gain=3.5, exploit_cost=0.7, discount=1.0, detection_intercept=50.0, detection_ends_attack=True
    )
    groups = Linkage(np.array([5]), np.array([5]))
    assert not OneShotAdversary(3.5, 0.7).respond(groups).attacks[0]
    assert not SequentialAdversary(attack).respond(groups).attacks[0]


# Replies.

XIA = SequentialAttack(gain=8000, exploit_cost=10, penalty=10_000, access_cost=100, prior=0.63)


def linked(sizes, believed=None, share=None):
    sizes = np.array(sizes)
    return Linkage(sizes, sizes if believed is None else np.array(believed), None if share is None else np.array(share))


@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("registry_size", [None, 1000])
def test_a_reply_has_one_entry_per_record(n, registry_size):
    linkage = linked(np.arange(n), share=np.linspace(0, 0.5, n))
    response = SequentialAdversary(XIA, registry_size).respond(linkage)
    for name in ("attacks", "success", "believed_success", "adversary_payoff", "exploits", "reidentified"):
        assert getattr(response, name).shape == (n,)
    assert response.attacks.dtype == np.bool_


def test_an_attack_is_an_access():
    # Known thresholds of these parameters: 45 before access, 51 after the access cost is paid.
    response = SequentialAdversary(XIA).respond(linked([0, 1, 44, 45, 50, 51, 10**7]))
    assert response.attacks.tolist() == [False, True, True, False, False, False, False]
    assert response.success.tolist() == response.believed_success.tolist()
    np.testing.assert_allclose(response.reidentified, [0, 0.63, 0.63, 0, 0, 0, 0])
    assert (response.adversary_payoff[1:3] > 0).all()
    assert (response.adversary_payoff[[0, 3, 4, 5, 6]] == 0).all()
    np.testing.assert_allclose(response.exploits, [0, 1, 44 - 0.63 * 43 / 2, 0, 0, 0, 0])


def test_decisions_rest_on_belief_and_outcomes_on_truth():
    response = SequentialAdversary(XIA).respond(linked([60, 10, 48, 10, 0], believed=[10, 60, 10, 10, 10]))
    assert response.attacks.tolist() == [True, False, True, True, True]
    # After access, it continues up to groups of 50; for larger groups, it has paid for nothing.
    np.testing.assert_allclose(response.success, [0, 0, 0.63, 0.63, 0])
    np.testing.assert_allclose(response.believed_success, [0.63, 0, 0.63, 0.63, 0.63])
    assert response.adversary_payoff[[0, 1, 4]].tolist() == [-100, 0, -100]
    assert -100 < response.adversary_payoff[2] < 0 < response.adversary_payoff[3]
    assert response.exploits[[0, 1, 4]].tolist() == [0, 0, 0]


def test_what_is_believed_is_not_asked_where_only_the_registrys_size_is_known():
    adversary = SequentialAdversary(XIA, 6_018_999)
    shares = np.array([10, 46, 48]) / 6_018_999
    response = adversary.respond(linked([10, 60, 10], believed=[10, 10, 10], share=shares))
    assert response.attacks.tolist() == [True, True, False]
    np.testing.assert_allclose(response.success, [0.63, 0, 0])
    assert response.adversary_payoff[1:].tolist() == [-100, 0]


def test_a_group_that_is_probably_empty_is_left_alone_like_one_that_is_too_large():
    shares = np.array([1e-4, 0.02, 0.03, 1, 46, 47, 1e4]) / 6_018_999
    response = SequentialAdversary(XIA, 6_018_999).respond(linked([1] * 7, share=shares))
    assert response.attacks.tolist() == [False, False, True, True, True, False, False]


def test_an_adversary_who_knows_no_share_cannot_plan_for_unknown_groups():
    with pytest.raises(InputError, match="needs the share of people who match"):
        SequentialAdversary(XIA, 1000).respond(linked([1]))


def test_rows_change_nothing_as_the_attack_is_the_same_for_all_records():
    adversary = SequentialAdversary(XIA)
    np.testing.assert_array_equal(
        adversary.respond(linked([3, 50]), rows=np.array([7, 2])).success, adversary.respond(linked([3, 50])).success
    )


def test_publishers_leave_alone_what_is_too_rare_to_be_looked_up():
    # One attribute: 1 of 1000 people, then 300, then all. The registry lists 16 of them, and the access cost is lost if
    # no entry matches.
    levels = (tuple(range(3)), (0, 0, 1), (0, 0, 0))
    people = [(0,)] + [(1,)] * 299 + [(2,)] * 700
    small = game_of([levels], people, [(0,)], benefit=100.0, loss=100.0, gain=0.0, cost=0.0)
    attack = SequentialAttack(gain=100, access_cost=20, exploit_cost=11, discount=1.0)
    setting = Setting(small, attack, tuple([(1,)] * 5 + [(2,)] * 11), 16)
    outcomes, clear = setting.worked_out()
    assert clear
    assert [attacks for _, attacks, *_ in outcomes[0]] == [False, True, False]  # not monotone
    game = setting.game()
    assert [bool(game.outcome(strategy).response.attacks[0]) for strategy in range(3)] == [False, True, False]
    for constraint in (Constraint(), Constraint(no_attack=True)):
        assert branch_and_bound(game, constraint).strategies.tolist() == [0]
        assert backward_induction(game, {"": constraint})[""].strategies.tolist() == [0]
    # From the second level on: branch and bound must search beyond the attacked form.
    below = Constraint(no_attack=True, minimum=np.array([1]))
    assert branch_and_bound(game, below).strategies.tolist() == [2]
    assert backward_induction(game, {"": below})[""].strategies.tolist() == [2]


def test_nobody_is_found_in_an_empty_group():
    levels = (tuple(range(2)), (0, 0))
    people = [(0,)] * 3 + [(1,)] * 5
    small = game_of([levels], people, [(0,), (1,)], benefit=100.0, loss=100.0, gain=0.0, cost=0.0)
    free = SequentialAttack(gain=100, access_cost=1)
    known = Setting(small, free, ((1,),) * 4, None).game()
    response = known.outcome(0).response
    assert response.attacks.tolist() == [False, True]
    assert response.reidentified.tolist() == [0, 1]
    # The adversary does not know that the group is empty, so it accesses the registry and pays.
    unknown = Setting(small, free, ((1,),) * 4, 4).game()
    response = unknown.outcome(0).response
    assert response.attacks.tolist() == [True, True]
    assert response.reidentified.tolist() == [0, 1]
    assert response.adversary_payoff[0] == -1
    assert backward_induction(unknown, {"": Constraint()})[""].strategies[0] == 0


# Scenarios.

REGISTRY = """
kind = "counts"
file = "registry.csv"
count = "people"
[columns]
age = "years"
sex = "sex"
district = "district"
"""
# Every cell of the town, so that the categories are equal; no person of D's cell is listed.
LISTED = """
years,sex,district,people
30,F,N1,1
31,F,N1,0
30,M,N1,3
31,M,N1,9
30,F,N2,2
33,F,S2,0
32,M,S1,1
""".lstrip()


@pytest.fixture
def town(tmp_path, monkeypatch):
    """Return a copy of the town with a registry of 16 of its 33 people.

    The working folder is the town's folder.
    """
    shutil.copytree(TOWN, tmp_path / "town")
    (tmp_path / "town" / "people" / "registry.toml").write_text(REGISTRY)
    (tmp_path / "town" / "people" / "registry.csv").write_text(LISTED)
    monkeypatch.chdir(tmp_path / "town")
    return tmp_path / "town" / "town.toml"


def study_of(town, **sequential):
    changes = {f"adversary.sequential.{key}": value for key, value in sequential.items()}
    return build_study(load_scenario(town, {"adversary.planner": "fmdp", **changes}))


def test_a_scenario_names_everything_about_the_attack(town):
    keys = {
        "access_cost": 1.5,
        "link_cost": 2.5,
        "penalty": 7.0,
        "max_penalties": 2,
        "detection_intercept": -3.0,
        "detection_slope": 0.5,
        "prior": 0.25,
        "discount": 0.75,
        "penalty_timing": "at-action",
        "detection_ends_attack": True,
    }
    study = study_of(town, **keys)
    attack = study.sequential_attack(study.scenario.economics)
    assert attack == SequentialAttack(gain=60, exploit_cost=10, **keys)  # gain is the loss of the economics
    assert study.truth.adversary == SequentialAdversary(attack)


def test_what_a_scenario_does_not_name_has_its_default(town):
    study = study_of(town)
    assert study.sequential_attack(study.scenario.economics) == SequentialAttack(gain=60, exploit_cost=10)


def test_the_prior_is_the_coverage_of_the_registry_unless_given(town):
    study = study_of(town, registry="people/registry.toml")
    assert study.own.registry.total == 16
    assert study.sequential_attack(study.scenario.economics).prior == 16 / 33
    given_prior = study_of(town, registry="people/registry.toml", prior=0.9)
    assert given_prior.sequential_attack(study.scenario.economics).prior == 0.9


@pytest.mark.parametrize(("registry", "size"), [(None, 33), ("people/registry.toml", 16)])
def test_unknown_groups_are_drawn_from_the_registry_or_from_everybody(town, registry, size):
    named = {} if registry is None else {"registry": registry}
    study = study_of(town, belief="unknown", **named)
    assert study.truth.adversary.registry_size == size
    link = study.own_linker("journalist").link(0)
    everybody = GroupSizes(study.linked_population, study.lattice).at(0)
    np.testing.assert_allclose(link.match_probability, everybody / 33)


def test_group_sizes_are_those_of_the_registry(town):
    study = study_of(town, registry="people/registry.toml", belief="known")
    codes = study.lattice.released(np.zeros(4, dtype=int), np.arange(4)).astype(str).agg(" ".join, axis=1).tolist()
    sizes = dict(zip(codes, study.own_linker("journalist").link(0).group_sizes.tolist(), strict=True))
    assert sizes == {"30 F N1": 1, "30 M N1": 3, "31 M N1": 9, "33 F S2": 0}
    empty = codes.index("33 F S2")
    response = study.truth.outcome(0).response
    assert not response.attacks[empty]
    assert response.reidentified[empty] == 0
    for equilibrium in equilibria_of(play(study)).values():
        assert equilibrium.strategies[empty] == 0
        assert equilibrium.publisher_payoff[empty] == 100


def test_a_publisher_mistaken_about_the_attack_plans_on_its_belief(town):
    study = study_of(town, access_cost=1.0)
    believed = build_study(
        load_scenario(
            town,
            {
                "adversary.planner": "fmdp",
                "adversary.sequential.access_cost": 1.0,
                "beliefs.cost": 0.5,
                "beliefs.gain": 50,
            },
        )
    )
    attack = study.truth.adversary.attack
    assert believed.truth.adversary.attack == attack
    assert believed.belief.adversary.attack == replace(attack, gain=50.0, exploit_cost=0.5)


def test_a_registry_larger_than_the_population_is_refused(town):
    (town.parent / "people" / "registry.csv").write_text(LISTED.replace("31,M,N1,9", "31,M,N1,90"))
    with pytest.raises(InputError, match="the registry has more people than the population") as caught:
        study_of(town, registry="people/registry.toml")
    assert caught.value.where == "adversary.sequential.registry"
    assert caught.value.found == 97


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("discount", 0),
        ("discount", 1.5),
        ("prior", 0),
        ("prior", 1.01),
        ("access_cost", -1),
        ("penalty", -0.5),
        ("max_penalties", 0),
        ("max_penalties", 1.5),
        ("belief", "guess"),
        ("penalty_timing", "later"),
        ("detection_slope", "steep"),
        ("acess_cost", 5),
    ],
)
def test_a_key_that_is_wrong_is_named_with_its_value(town, key, value):
    with pytest.raises(InputError) as caught:
        study_of(town, **{key: value})
    assert f"adversary.sequential.{key}" in str(caught.value)
    assert key == "acess_cost" or repr(value) in str(caught.value)


def test_policies_of_a_scenario_are_best_replies(town):
    study = study_of(town, registry="people/registry.toml", belief="unknown", access_cost=2.0, penalty=5.0)
    equilibria = equilibria_of(play(study))
    payoffs = np.array([study.truth.outcome(strategy).publisher_payoff for strategy in range(study.lattice.size)])
    attacked = np.array([study.truth.outcome(strategy).response.attacks for strategy in range(study.lattice.size)])
    np.testing.assert_allclose(equilibria["basic"].publisher_payoff, payoffs.max(axis=0))
    unattacked = np.where(attacked, -np.inf, payoffs).max(axis=0)
    np.testing.assert_allclose(
        equilibria["no-attack"].publisher_payoff, np.where(np.isneginf(unattacked), 0, unattacked)
    )
    assert not equilibria["no-attack"].attacked.any()


@pytest.fixture(scope="module")
def wan2015_sequential():
    """Return the bundled study's results, without figures, with this adversary."""
    changes = {"adversary.planner": "fmdp", "adversary.sequential": {"access_cost": 5, "penalty": 100}, "figures": {}}
    return reidsim.run("wan2015", overrides=changes)


@pytest.mark.deep
def test_the_bundled_study_can_be_played_against_the_sequential_adversary(wan2015_sequential):
    summary = wan2015_sequential.summary
    assert list(summary.index) == ["safe-harbor", "basic", "sh-friendly", "no-attack"]
    assert summary["share_attacked"]["no-attack"] == 0
    assert summary["publisher_payoff"].max() == summary["publisher_payoff"]["basic"]
    assert summary["publisher_payoff"]["sh-friendly"] >= summary["publisher_payoff"]["safe-harbor"]
    assert (summary["risk"] <= summary["share_attacked"] + 1e-15).all()
    # Attacked groups are exploited completely: the detection probability is constant, and a penalty is due every time.
    records = wan2015_sequential.records
    attacked = records[records["attacked"]]
    assert len(attacked) > 0
    np.testing.assert_allclose(attacked["success_probability"], 1)
    assert (attacked["adversary_payoff"] > 0).all()


@pytest.mark.deep
def test_the_bundled_study_is_riskier_than_against_a_one_shot_adversary_as_cheap(wan2015_sequential, wan2015):
    # An adversary with repeated attempts attacks more groups, and finds every person in them.
    one_shot = wan2015.truth.outcome(0).response
    free = wan2015.truth.linker.link(0)
    going_on = SequentialAdversary(SequentialAttack(gain=300, exploit_cost=4, discount=1.0)).respond(free)
    assert (going_on.attacks >= one_shot.attacks).all()
    assert (going_on.reidentified >= one_shot.reidentified - 1e-12).all()
    assert going_on.attacks.sum() > one_shot.attacks.sum()
