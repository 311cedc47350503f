"""Participation payoffs in inbred families, against docs/explanation/participation.md."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tiers import examples

import reidsim

BENEFIT, SERVICES, HARM, GENOME, SEGMENT, SEGMENTS = 50.0, 1.0, 10.0, 2.0, 0.5, 6
SCENARIO = """
title = "Family"
game = "participation"
[population]
path = "family.csv"
[matching]
genome = 2
segment = 0.5
segments = 6
found_within = 2
traced_within = 2
[subjects]
benefit = 50
services = 1
harm = 10
policies = ["everybody"]
"""


def match_probability(parents, one, other):
    """Return the meioses between two people and the probability that they match."""

    def ways(person, length=0):
        yield person, length
        for parent in parents[person]:
            yield from ways(parent, length + 1)

    lengths = [up + down for a, up in ways(one) for b, down in ways(other) if a == b]
    if not lengths:
        return math.inf, 0.0

    @cache
    def kinship(i, j):
        if i == j:
            return (1 + inbreeding(i)) / 2
        # Parents have lower numbers than their children.
        i, j = max(i, j), min(i, j)
        return sum(kinship(parent, j) for parent in parents[i]) / 2

    def inbreeding(i):
        return kinship(*parents[i]) if len(parents[i]) == 2 else 0.0

    related = 2 * kinship(one, other) / math.sqrt((1 + inbreeding(one)) * (1 + inbreeding(other)))
    apart = min(lengths)
    block = min(2 * related * math.exp(-SEGMENT * apart), 1.0)
    return apart, float(binom.sf(SEGMENTS - 1, round(GENOME * apart) + 22, block))


@pytest.mark.deep
@examples(6)
@given(st.integers(0, 2**32 - 1))
def test_payoffs_if_all_join_are_those_of_wrights_relationship(tmp_path_factory, seed):
    folder, rng, n = tmp_path_factory.mktemp("family"), np.random.default_rng(seed), 9
    parents = [
        tuple(rng.choice(i, 2, replace=False).tolist()) if i > 2 and rng.random() < 0.9 else () for i in range(n)
    ]
    names = "abcdefghi"
    of = [[names[each[side]] if each else "" for each in parents] for side in range(2)]
    pd.DataFrame({"person": list(names), "father": of[0], "mother": of[1]}).to_csv(folder / "family.csv", index=False)
    (folder / "family.toml").write_text(SCENARIO)
    found = reidsim.run(folder / "family.toml").summary.loc["everybody"]
    payoffs = []
    for one in range(n):
        pairs = [match_probability(parents, one, other) for other in range(n) if other != one]
        nobody = math.prod(1 - match for apart, match in pairs if apart <= 4)
        payoffs.append(BENEFIT * (1 - nobody) + SERVICES - HARM)
    assert found["publisher_payoff"] == pytest.approx(np.mean(payoffs), abs=1e-9)
