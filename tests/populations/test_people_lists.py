"""Lists drawn from people: members, correlation between lists, and listed values."""

import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal, norm

from reidsim.core.errors import InputError
from reidsim.populations.population import UNKNOWN
from reidsim.populations.resources import ListRule, draw_lists

N = 20_000
# Probability that a figure of these tests is outside its bounds by chance.
RARE = 1e-7


def streams(seed):
    return lambda name: np.random.default_rng([seed, *name.encode()])


def people_of(seed, n=N):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    state = rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.08, 0.02])
    return {"number": np.arange(n), "sex": sex, "state": np.where(rng.random(n) < 0.01, UNKNOWN, state)}


def drawn(rules, together=0.0, seed=1, people=None):
    return draw_lists(people_of(7) if people is None else people, rules, together, streams(seed), streams(seed + 1000))


def rule(chance, attributes=("number",), n=N, **more):
    return ListRule(attributes, np.broadcast_to(np.asarray(chance, dtype=float), (n,)), **more)


def within(count, n, p):
    return binom.ppf(RARE / 2, n, p) <= count <= binom.ppf(1 - RARE / 2, n, p)


@pytest.mark.parametrize(
    ("together", "strength"),
    [(0.0, 0.0), (0.3, 0.3), (0.95, 0.95), ({"b": {"a": -0.5}}, -0.5), ({"a": {"b": 0.7}}, 0.7)],
)
def test_people_are_in_both_as_often_as_the_copula_says(together, strength):
    lists = drawn({"a": rule(0.6), "b": rule(0.25), "c": rule(0.5)}, together)
    both = ((lists["a"].record_of >= 0) & (lists["b"].record_of >= 0)).sum()
    normal = multivariate_normal([0, 0], [[1, strength], [strength, 1]])
    expected = normal.cdf([norm.ppf(0.6), norm.ppf(0.25)])
    assert within(both, N, float(expected))
    assert 0.15 * 0.5 < expected < 0.25


@pytest.mark.parametrize("together", [0.0, 0.5, {"a": {"c": 0.5}}])
def test_one_list_more_changes_no_other(together):
    errors = {"errors": {"state": 0.3}, "missing": {"state": 0.2}}
    both = ("number", "state")
    rules = {"a": rule(0.3, both, **errors), "c": rule(0.6, both, **errors)}
    few = drawn(rules, together)
    many = drawn({"a": rules["a"], "b": rule(0.5), "c": rules["c"], "d": rule(0.1)}, together)
    for name, each in few.items():
        np.testing.assert_array_equal(each.person, many[name].person)
        for attribute, values in each.columns.items():
            np.testing.assert_array_equal(values, many[name].columns[attribute])


def test_a_list_of_a_size_holds_that_many_by_weight():
    """Two weight groups, the first with weight 3; exponential clocks give the shares."""
    n, size = 4_000, 1_000
    weight = np.where(np.arange(n) < n // 2, 0.9, 0.3)
    people = {"number": np.arange(n)}
    rules = {"a": rule(weight, n=n, size=size), "b": rule(0.5, n=n)}
    lists = drawn(rules, 0.8, people=people)
    assert len(lists["a"].person) == size
    # Clocks that ring by time t: e^-3t of the heavy and e^-t of the light remain when a quarter has rung.
    left = np.linspace(0, 1, 2_000_001)
    light = left[np.argmin(np.abs((left + left**3) / 2 - 0.75))]
    heavy = (lists["a"].person < n // 2).sum()
    assert abs(heavy - n / 2 * (1 - light**3)) < 6 * np.sqrt(n / 2 * light**3 * (1 - light**3))
    inside = np.isin(np.arange(n), lists["a"].person)
    assert (inside & (lists["b"].record_of >= 0)).sum() > 1.2 * size / 2


def test_values_are_wrong_and_missing_as_often_as_said():
    people = people_of(7)
    lost = np.where(people["sex"] == 1, 0.5, 0.0)
    rules = {"a": rule(0.7, ("number", "sex", "state"), errors={"state": 0.2}, missing={"state": lost, "sex": 0.1})}
    found = drawn(rules)["a"]
    np.testing.assert_array_equal(found.columns["number"], found.person)
    truth = people["state"][found.person]
    said = found.columns["state"]
    women = people["sex"][found.person] == 0
    assert within((found.columns["sex"] == UNKNOWN).sum(), len(found.person), 0.1)
    assert (found.columns["sex"][found.columns["sex"] != UNKNOWN] == 0).sum() > 0
    known = truth != UNKNOWN
    assert ((said == UNKNOWN) == ~known)[women].all()
    assert within((said[known & ~women] == UNKNOWN).sum(), (known & ~women).sum(), 0.5)
    wrong = known & women & (said != truth)
    assert within(wrong.sum(), (known & women).sum(), 0.2)
    # A wrong value is copied from another person with a different value.
    counts = np.bincount(people["state"][people["state"] >= 0], minlength=5)
    of_first = wrong & (truth == 0)
    for state in range(1, 5):
        share = counts[state] / (counts.sum() - counts[0])
        assert within((said[of_first] == state).sum(), of_first.sum(), float(share))


@pytest.mark.parametrize(
    ("rules", "together", "message"),
    [
        ({"a": rule(0.5, size=N + 1)}, 0, "size out of range"),
        ({"a": rule(0.5, errors={"sex": 0.1})}, 0, "no such attribute; found 'sex'; expected one of number"),
        ({"a": rule(0.5, missing={"town": 0.1})}, 0, "no such attribute; found 'town'"),
        ({"a": rule(0.5), "b": rule(0.5)}, {"a": {"a": 0.5}}, r"together\.a\.a: correlation out of range"),
        ({"a": rule(0.5), "b": rule(0.5)}, {"a": {"c": 0.5}}, "no such list; found 'c'"),
        ({"a": rule(0.5), "b": rule(0.5)}, {"a": {"b": 0.5}, "b": {"a": 0.4}}, "pair given twice"),
        (
            {"a": rule(0.5), "b": rule(0.5), "c": rule(0.5)},
            {"a": {"b": 0.9, "c": 0.9}, "b": {"c": -0.9}},
            "correlations are inconsistent",
        ),
    ],
)
def test_what_cannot_be_drawn(rules, together, message):
    with pytest.raises(InputError, match=message):
        drawn(rules, together)
