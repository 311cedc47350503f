"""The sequential adversary of Xia et al. 2015, against known numbers.

The numbers are printed, or computed before: `xia2015_vectors.json` comes from a separate program that follows the
paper's state space. Settings, as in section 7.2: (a) h1 = 0 and a penalty every time, (b) h1 = 0 and one penalty, (c)
h1 = .18 and a penalty every time. In addition, (b) with h1 = .18, because the paper allows any h1 if n_f = 1.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy
from found import at_least
from sequential_programs.attacks import A, C
from sequential_programs.paper_attack import paper_of
from tiers import cases

from reidsim.adversaries.sequential.attack import SequentialAttack, exploit_values, program_values
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    attack_threshold,
    exploits_undetected,
    plan_known,
    plan_unknown,
    value_after_access,
)

VECTORS = at_least(17, json.loads((Path(__file__).parent / "xia2015_vectors.json").read_text(encoding="utf-8")))
TIMING = {"state": "next-state", "action": "at-action"}

B = replace(A, max_penalties=1)
B_GROWING = replace(B, detection_slope=0.18)
REGISTRY = 6_018_999


def attack_of(vector):
    return SequentialAttack(
        gain=vector["G"],
        access_cost=vector["Cd"],
        link_cost=vector["Cl"],
        exploit_cost=vector["Ce"],
        penalty=vector["Cp"],
        max_penalties=None if vector["nf"] == "inf" else vector["nf"],
        detection_intercept=vector["h0"],
        detection_slope=vector["h1"],
        prior=vector["prior"],
        discount=vector["gamma"],
        penalty_timing=TIMING[vector["pen"]],
        detection_ends_attack=vector["ends"],
    )


def close_to(vector, key):
    """Return approx within 1e-8.

    Linear programs leave rounding errors at a value of 0.
    """
    return pytest.approx(vector[key], rel=1e-8, abs=1e-12 * vector["G"])


def belief_of(vector):
    n, p = vector["n"], vector["cell_p"]
    sizes = np.arange(int(n * p + 12 * np.sqrt(n * p) + 60))
    weights = scipy.stats.binom.pmf(sizes, n, p)
    return {int(k): float(w) for k, w in zip(sizes, weights, strict=True) if w > 1e-16}


def name_of(vector):
    return f"{vector['name']}-{vector['g']}".replace(" ", "_")


by_vector = pytest.mark.parametrize("vector", VECTORS, ids=name_of)


@by_vector
def test_backward_induction_gives_the_vectors(vector):
    attack, g = attack_of(vector), vector["g"]
    size = np.array([g])
    values = exploit_values(attack, 1 << 8)
    assert np.append(values.value, np.zeros(g))[g] == close_to(vector, "V_xstart")
    assert exploits_undetected(attack, size)[0] == vector["n_exploits"]
    known = plan_known(attack, size)
    assert known.value[0] == close_to(vector, "V_x0_known")
    assert known.reidentified[0] == close_to(vector, "preid_known")
    unknown = plan_unknown(attack, size, BinomialBelief(vector["n"], np.array([vector["cell_p"]])))
    assert unknown.value[0] == close_to(vector, "V_x0_unknown")
    assert unknown.reidentified[0] == close_to(vector, "preid_unknown")
    # An adversary who already holds the registry has the vectors' risk and number of exploits.
    accessed = plan_known(attack, size, accesses=np.array([True]))
    assert accessed.reidentified[0] == close_to(vector, "preid_if_accessed")
    assert accessed.exploits[0] == close_to(vector, "E_exploits")
    assert accessed.value[0] == known.value[0]
    assert known.accesses[0] == (vector["V_x0_known"] > 0)
    assert known.exploits[0] == (accessed.exploits[0] if known.accesses[0] else 0)
    assert unknown.accesses[0] == (vector["V_x0_unknown"] > 0)
    assert unknown.exploits[0] == (accessed.exploits[0] if unknown.accesses[0] else 0)


small_vectors = pytest.mark.parametrize(
    "vector",
    cases([vector for vector in VECTORS if vector["g"] <= 50], sorted(VECTORS, key=lambda vector: vector["g"])[:2]),
    ids=name_of,
)


@small_vectors
@pytest.mark.parametrize("solver", ["linear-program", "two-level"])
def test_the_paper_s_solvers_give_the_vectors(vector, solver):
    attack, size = replace(attack_of(vector), solver=solver), np.array([vector["g"]])
    known = plan_known(attack, size)
    unknown = plan_unknown(attack, size, BinomialBelief(vector["n"], np.array([vector["cell_p"]])))
    accessed = plan_known(attack, size, accesses=np.array([True]))
    linked = value_after_access(attack, program_values(attack, size))[0]
    for found, key in (
        ((linked + attack.link_cost) / attack.discount, "V_xstart"),
        (known.value[0], "V_x0_known"),
        (known.reidentified[0], "preid_known"),
        (unknown.value[0], "V_x0_unknown"),
        (unknown.reidentified[0], "preid_unknown"),
        (accessed.reidentified[0], "preid_if_accessed"),
        (accessed.exploits[0], "E_exploits"),
    ):
        if key != "V_xstart" or linked > 0:
            assert found == pytest.approx(vector[key], rel=1e-9, abs=1e-12 * vector["G"]), key
    assert exploits_undetected(attack, size)[0] == vector["n_exploits"]


@small_vectors
def test_the_oracle_gives_the_vectors(vector):
    attack, g = attack_of(vector), vector["g"]
    paper = paper_of(attack)
    assert paper.v_start(g) == close_to(vector, "V_xstart")
    assert paper.v_outset({g: 1.0}) == close_to(vector, "V_x0_known")
    if g <= 50:
        assert paper.v_outset(belief_of(vector)) == close_to(vector, "V_x0_unknown")


def sunk_threshold(attack):
    """Return the first group size without value once the registry is held."""
    value = exploit_values(attack, 1000).value
    assert (value[1:-1] > 0).all()
    assert value[-1] == 0
    return len(value) - 1


@pytest.mark.parametrize(("attack", "known", "sunk"), [(A, 45, 51), (B, 48, 54), (C, 29, 46)], ids="abc")
def test_thresholds_before_access_and_once_it_is_paid(attack, known, sunk):
    assert attack_threshold(attack) == known
    plan = plan_known(attack, np.arange(1, 201))
    assert plan.accesses.tolist() == [g < known for g in range(1, 201)]
    assert sunk_threshold(attack) == sunk


@pytest.mark.parametrize(("discount", "threshold"), [(0.897, 47), (0.898, 48), (0.903, 48), (0.904, 49)])
def test_the_printed_threshold_48_pins_the_discount_down(discount, threshold):
    assert attack_threshold(replace(B, discount=discount)) == threshold


def test_growing_detection_gives_figure_8():
    sizes = np.arange(1, 61)
    plan = plan_known(C, sizes)
    exploits = np.where(plan.accesses, exploits_undetected(C, sizes), 0)
    assert exploits[:13].tolist() == list(range(1, 14))
    assert exploits[13:28].tolist() == [12, 10, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 4, 4, 4]
    assert (exploits[28:] == 0).all()
    # Detection does not affect later exploits, so P_reid is the share of the candidates exploited.
    np.testing.assert_allclose(plan.reidentified, 0.63 * exploits / sizes, rtol=1e-12)


PENALTIES = (0, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000)


@pytest.mark.parametrize(
    ("attack", "thresholds"),
    [(A, [44, 18, 11, 8, 7, 5, 5, 3, 3]), (B, [44, 18, 12, 9, 7, 5, 5, 3, 3]), (C, [44, 12, 8, 7, 5, 5, 4, 3, 3])],
    ids="abc",
)
def test_thresholds_while_the_penalty_grows(attack, thresholds):
    base = replace(attack, gain=1000, prior=1)
    assert [attack_threshold(replace(base, penalty=penalty)) for penalty in PENALTIES] == thresholds


@pytest.mark.parametrize(("attack", "upper"), [(A, 46.84), (B, 49.13), (C, 30.46)], ids="abc")
def test_unknown_groups_are_attacked_within_an_interval(attack, upper):
    def accesses(expected_size):
        belief = BinomialBelief(REGISTRY, np.array([expected_size / REGISTRY]))
        return bool(plan_unknown(attack, np.array([1]), belief).accesses[0])

    assert not accesses(0.02825)
    assert accesses(0.02826)
    assert accesses(upper - 0.005)
    assert not accesses(upper + 0.005)
    inside = BinomialBelief(REGISTRY, np.linspace(0.0283, upper - 0.01, 500) / REGISTRY)
    assert plan_unknown(attack, np.ones(500, dtype=int), inside).accesses.all()
    far = np.append(np.linspace(0, 0.0282, 50), np.geomspace(upper + 0.01, REGISTRY, 50)) / REGISTRY
    outside = BinomialBelief(REGISTRY, np.minimum(far, 1))
    assert not plan_unknown(attack, np.ones(100, dtype=int), outside).accesses.any()


@pytest.mark.parametrize("discount", [0.9345, 0.935, 0.936, 0.937, 0.9375])
def test_a_penalty_at_the_action_gives_all_six_printed_integers(discount):
    a, c, b_growing = (replace(x, penalty_timing="at-action", discount=discount) for x in (A, C, B_GROWING))
    assert attack_threshold(a) == 48
    assert sunk_threshold(a) == 51
    exploits = exploits_undetected(c, np.arange(1, 61))
    assert int(np.flatnonzero(exploits < np.arange(1, 61))[0]) + 1 == 14
    assert attack_threshold(c) == 29
    sensitivity = replace(b_growing, gain=1000, prior=1)
    assert attack_threshold(replace(sensitivity, penalty=10_000)) == 9
    assert attack_threshold(replace(sensitivity, penalty=50_000)) == 2
