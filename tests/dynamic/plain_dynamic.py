"""Cases over time, by enumeration of every generalization of every day's table."""

import itertools
import math
from collections import Counter

# Generalizations in the test worlds: the label of a value at each level.
LEVELS = {
    "age": (
        lambda v: v,
        lambda v: "young" if v in ("20", "30") else "old",
        lambda v: "*",
    ),
    "sex": (lambda v: v, lambda v: "*"),
    "county": (lambda v: v, lambda v: "*"),
}
NAMES = tuple(LEVELS)
NODES = list(itertools.product(*(range(len(levels)) for levels in LEVELS.values())))


def generalized(person, node):
    return tuple(levels[level](value) for value, levels, level in zip(person, LEVELS.values(), node, strict=True))


def entropy(values):
    counts = Counter(values)
    n = sum(counts.values())
    return -sum(count / n * math.log(count / n) for count in counts.values())


def normalized_information(values, levels, level):
    """Return 2 I / (H(X) + H(Y)) with I = H(X) + H(Y) - H(X, Y).

    As in the program of Gourabathina et al.
    """
    if level > 0 and level == len(levels) - 1:
        return 0.0
    released = [levels[level](value) for value in values]
    x, y, both = entropy(values), entropy(released), entropy(list(zip(values, released, strict=True)))
    return 1.0 if x + y == 0 else 2 * (x + y - both) / (x + y)


def attribute_weights(cases):
    entropies = [entropy([person[j] for _, person in cases]) for j in range(len(NAMES))]
    total = sum(entropies)
    return [each / total if total > 0 else 1 / len(NAMES) for each in entropies]


def table_of(cases, day, *, cumulative):
    return [person for when, person in cases if when == day or (cumulative and when < day)]


def utility_of(table, node, weights):
    columns = zip(weights, LEVELS.values(), node, strict=True)
    return sum(
        weight * normalized_information([person[j] for person in table], levels, level)
        for j, (weight, levels, level) in enumerate(columns)
    )


def success_of(person, table, node, world):
    shown = generalized(person, node)
    if world["risk"] == "prosecutor":
        return 1 / sum(generalized(other, node) == shown for other in table)
    listed = sum(n for other, n in world["list"].items() if generalized(other, node) == shown)
    if world["coverage"] is None:
        return 1 / max(listed, 1)
    return world["coverage"] / listed if listed else 0.0


def outcome_of(table, node, day, world, weights):
    """Return a node's total payoff, attacks and expected re-identifications."""
    benefit = world["benefit"] + world["forecast"].get(day, 0.0)
    payoff, attacked, hit = 0.0, 0, 0.0
    for person in table:
        success = success_of(person, table, node, world)
        attacks = world["gain"] * success > world["cost"] + 1e-9
        payoff += benefit * utility_of(table, node, weights) - attacks * success * world["loss"]
        attacked += attacks
        hit += attacks * success
    return payoff, attacked, hit


def best_of(table, day, world, weights, *, no_attack):
    """Return the first best node and its outcome; None if no payoff is positive."""
    best, found = None, (0.0, 0, 0.0)
    for node in NODES:
        outcome = outcome_of(table, node, day, world, weights)
        if no_attack and outcome[1]:
            continue
        if outcome[0] > found[0] + 1e-9 or (best is None and outcome[0] >= found[0] - 1e-9):
            best, found = node, outcome
    return best, found


def pk_of(table, node, k):
    classes = Counter(generalized(person, node) for person in table)
    return sum(n for n in classes.values() if n < k) / len(table)
