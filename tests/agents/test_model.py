"""The mesa model: agents, phases, collected data, random streams and memory."""

import gc
import weakref
from itertools import pairwise

import mesa
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from tiers import cases, examples

from reidsim.agents.attack import ROUND_MEASURES, weighted_quantiles
from reidsim.agents.model import ADVERSARIES, ADVERSARY_MEASURES, ReidentificationModel
from reidsim.agents.profile import Enforcement
from reidsim.core.errors import InputError
from reidsim.core.wording import columns_of


def two_types(town, profile_of_small, fine=0.0):
    return [
        profile_of_small(town, "keen", weight=0.3, gain=60.0, cost=1.0, fine=fine),
        profile_of_small(town, "lazy", weight=0.7, gain=40.0, cost=12.0, fine=fine),
    ]


# Agents and phases.


def test_the_run_of_mesa_stops_after_the_last_round(setting_of_small):
    model = ReidentificationModel(setting_of_small(rounds=3), "basic")
    assert model.running
    model.run_model()
    assert not model.running
    assert model.round_number == len(model.datacollector.get_model_vars_dataframe()) == 3
    assert model.run().round_number == 3


def test_what_is_collected(town, profile_of_small, setting_of_small):
    model = ReidentificationModel(setting_of_small(profiles=two_types(town, profile_of_small), rounds=3), "basic").run()
    rounds = model.datacollector.get_model_vars_dataframe()
    assert list(rounds.columns) == columns_of(ROUND_MEASURES)
    assert len(rounds) == 3
    adversaries = model.datacollector.get_table_dataframe(ADVERSARIES)
    assert list(adversaries.columns) == ["round", *ADVERSARY_MEASURES]
    assert adversaries["adversary"].tolist() == ["keen", "lazy"] * 3
    by_round = adversaries.groupby("round")[["payoff", "exploits", "breaches"]].sum().reset_index()
    np.testing.assert_allclose(by_round["payoff"] / 12, rounds["adversary_payoff"])
    np.testing.assert_allclose(by_round["exploits"], rounds["exploits"])
    np.testing.assert_allclose(by_round["breaches"], rounds["breaches"])
    np.testing.assert_allclose(rounds["risk"] * 12, rounds["breaches"])


def test_nobody_and_no_adversary(town, setting_of_small):
    with pytest.raises(InputError, match="no data subjects"):
        ReidentificationModel(setting_of_small(subjects=np.zeros(0, dtype=np.intp)), "basic")
    setting = setting_of_small()
    object.__setattr__(setting, "profiles", ())
    with pytest.raises(InputError, match="no adversaries"):
        ReidentificationModel(setting, "basic")


# Sampling.


@pytest.mark.parametrize("meeting", cases(["one-of", "all"], ["all"]))
def test_means_of_draws_are_the_expected_values(meeting, town, profile_of_small, setting_of_small):
    """Within four standard errors over 150 draws."""
    types = two_types(town, profile_of_small, fine=0.2 * 5)
    rules = {"meeting": meeting, "enforcement": Enforcement(detection=0.2, fine=5.0)}
    expected = ReidentificationModel(setting_of_small(profiles=types, **rules), "no-protection").run()
    names = ("publisher_payoff", "adversary_payoff", "share_attacked", "risk", "exploits", "detections", "breaches")
    drawn, payoffs = [], []
    for draw in range(150):
        setting = setting_of_small(profiles=types, mode="sampling", replication=draw, **rules)
        model = ReidentificationModel(setting, "no-protection").run()
        drawn.append([model.measures[name] for name in names])
        payoffs.append([adversary.measures["payoff"] for adversary in model.adversaries])
        model.release()
    for column, exact in [
        *zip(np.array(drawn).T, [expected.measures[name] for name in names], strict=True),
        *zip(np.array(payoffs).T, [adversary.measures["payoff"] for adversary in expected.adversaries], strict=True),
    ]:
        assert column.std() > 0
        assert column.mean() == pytest.approx(exact, abs=4 * column.std() / np.sqrt(150))


def test_the_policy_does_not_change_who_comes_and_which_exploits_succeed(town, profile_of_small, setting_of_small):
    # Breaches cost the publisher so little that it accepts some.
    town = town.with_money(benefit=10.0, loss=8.0, gain=60.0, cost=4.0)
    types = two_types(town, profile_of_small)
    worlds = {}
    for policy in ("no-protection", "basic"):
        worlds[policy] = []
        model = ReidentificationModel(setting_of_small(town, types, mode="sampling", rounds=20, seed=5), policy)
        for _ in range(20):
            model.step()
            here = {adversary.name: adversary.acts for adversary in model.adversaries}
            worlds[policy].append(
                (here, model.publisher.strategies[model.setting.cell_of_subject], model.outcome.breached.copy())
            )
    compared = differ = 0
    for (here, shared, breached), (there, also_shared, also_breached) in zip(*worlds.values(), strict=True):
        assert here == there
        alike = shared == also_shared
        np.testing.assert_array_equal(breached[alike], also_breached[alike])
        # More protection with the same random numbers never adds a breach.
        assert not (also_breached & ~breached).any()
        compared += int(breached[alike].sum())
        differ += int((~alike).sum())
    assert compared > 0
    assert differ > 0


def test_streams_are_told_apart_by_every_part_of_their_name(setting_of_small):
    places = [("exploits", "a", 0, 1), ("exploits", "b", 0, 1), ("presence", "a", 0, 1), ("exploits", "a", 1, 1)]
    places += [("exploits", "a", 0, 2)]
    first = [setting_of_small(seed=3, replication=r).stream(d, a, n).random() for d, a, r, n in places]
    assert len(set(first)) == len(places)
    assert first[0] == setting_of_small(seed=3).stream("exploits", "a", 1).random()


# Several adversaries.


@given(small=small_games(same_money=True, max_attributes=2, max_strategies=16), data=st.data())
@examples(30)
def test_another_adversary_never_helps_the_publisher(small, data, profile_of_small, setting_of_small):
    n = data.draw(st.integers(1, 3))
    types = [
        profile_of_small(
            small, f"a{k}", weight=data.draw(st.sampled_from([0.2, 0.7, 1.0])),
            gain=data.draw(st.floats(0, 500)), cost=data.draw(st.floats(0, 50)),
        )
        for k in range(n)
    ]  # fmt: skip
    subjects = np.arange(small.n_records)
    policy = data.draw(st.sampled_from(["basic", "no-attack", "no-protection"]))
    payoffs = []
    for most in range(1, n + 1):
        setting = setting_of_small(small, types[:most], subjects, meeting="all")
        payoffs.append(ReidentificationModel(setting, policy).run().measures["publisher_payoff"])
    scale = small.scale[0]
    assert all(later <= earlier + 1e-9 * scale for earlier, later in pairwise(payoffs))


def test_a_type_of_weight_zero_changes_nothing(town, profile_of_small, setting_of_small):
    own = profile_of_small(town)
    ghost = profile_of_small(town, "ghost", weight=0.0, cost=0.0)
    alone = ReidentificationModel(setting_of_small(town, [own]), "basic").run()
    with_ghost = ReidentificationModel(setting_of_small(town, [own, ghost]), "basic").run()
    assert alone.measures == with_ghost.measures


@pytest.mark.parametrize("mode", ["expectation", "sampling"])
@pytest.mark.parametrize(("budget", "attempts"), [(21.0, [0, 0, 0, 3, 2, 0]), (17.0, [0, 0, 0, 3, 1, 0])])
def test_a_budget_buys_so_many_attacks(mode, budget, attempts, town, profile_of_small, setting_of_small):
    """The three unique subjects are attacked first, then the two subjects in a group of two people."""
    setting = setting_of_small(town, [profile_of_small(town, budget=budget)], mode=mode)
    model = ReidentificationModel(setting, "no-protection").run()
    assert model.measures["attacks"] == sum(attempts)
    assert model.outcome.by_adversary[0].attempts.tolist() == attempts


def test_a_budget_for_a_part_of_a_cell_exposes_the_same_subject_in_every_round(
    town, profile_of_small, setting_of_small
):
    setting = setting_of_small(town, [profile_of_small(town, budget=17.0)], rounds=2)
    model = ReidentificationModel(setting, "no-protection").run()
    # Three unique subjects, and one of a group of two people, attacked twice.
    assert model.measures["distinct_reidentified"] == pytest.approx(3 + (1 - 0.5**2))


# Memory.


def test_finished_models_are_released(setting_of_small):
    setting = setting_of_small()
    kept, counters = [], len(getattr(mesa.Agent, "_ids", {}))
    for _ in range(2):
        model = ReidentificationModel(setting, "basic").run()
        model.release()
        kept.append(weakref.ref(model))
        del model
    gc.collect()
    assert [reference() for reference in kept] == [None] * 2
    assert len(getattr(mesa.Agent, "_ids", {})) <= counters


@given(st.lists(st.tuples(st.floats(-2, 2), st.integers(0, 4)), min_size=1, max_size=12), st.booleans())
def test_quantiles_are_those_of_the_records_one_by_one(cells, alike):
    values, weights = (np.array(column) for column in zip(*cells, strict=True))
    values = np.round(values) if alike else values
    levels = [0.0, 0.05, 0.5, 0.95, 1.0]
    each = np.repeat(values, weights)
    found = weighted_quantiles(values, weights, levels)
    if len(each):
        assert found == [np.quantile(each, level, method="inverted_cdf") for level in levels]
    else:
        assert np.isnan(found).all()
