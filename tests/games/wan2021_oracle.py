"""The multistage attack and masking game of Wan et al. 2021, target by target.

Plain loops over lists and dictionaries, written from the paper; nothing is imported from reidsim. Two rules come from
the package, as the paper works with exact numbers: amounts of money closer than 1e-12 of their scale are equal, and so
are distances and confidences closer than 1e-9.
"""

import itertools
import math
from dataclasses import dataclass, field

SAME = 1e-12
HORIZON = 200


def distribution(agree, differ, n_e):
    """Return P(t), t = 0 .. 200, by rates of equal and different loci.

    The result is None if no t is possible.
    """
    weights = []
    for t in range(HORIZON + 1):
        p = math.exp(-t * (1 / n_e + 2 * sum(agree)))
        for mu in differ:
            p *= 1 - math.exp(-2 * mu * t)
        weights.append(p)
    total = sum(weights)
    return [w / total for w in weights] if total > 0 else None


def survival(p, t):
    """Return Pr(T > t); 1 without a possible t, the furthest distance."""
    return 1.0 if p is None else sum(p[t + 1 :])


def infer_surname(target, shared, genealogy, rates, n_e=10_000, share=0.8):
    """Return the surname of stage I and its confidence.

    `genealogy` is a list of (alleles, surname), 0 = missing.
    """
    loci = [j for j, s in enumerate(shared) if s]
    if not loci:
        return None, 0.0
    agreements = [[j for j in loci if row[j] == target[j] != 0] for row, _ in genealogy]
    most = max(len(a) for a in agreements)
    candidates = []
    for k, (row, surname) in enumerate(genealogy):
        if len(agreements[k]) < share * most - 1e-9:
            continue
        differ = [j for j in loci if row[j] != 0 != target[j] and j not in agreements[k]]
        p = distribution([rates[j] for j in agreements[k]], [rates[j] for j in differ], n_e)
        distance = math.inf if p is None else sum(t * q for t, q in enumerate(p))
        candidates.append((round(distance, 9), k, surname, p))
    candidates.sort(key=lambda c: c[:2])
    first = candidates[0]
    runner_up = next((c for c in candidates[:10] if c[2] != first[2]), None)
    meeting = [(1 / n_e) * (1 - 1 / n_e) ** t for t in range(HORIZON + 1)]
    random_man = [m / sum(meeting) for m in meeting]
    confidence = 0.0
    for t in range(1, HORIZON + 1):
        p1 = 0.0 if first[3] is None else first[3][t]
        later = survival(runner_up[3], t) if runner_up else 1.0
        confidence += p1 * later * survival(random_man, t)
    return first[2], confidence


def nearest_neighbour(target, shared, genealogy):
    """Return the surname with the least sum of repeat differences.

    The first wins ties.
    """
    loci = [j for j, s in enumerate(shared) if s]
    if not loci:
        return None, 0.0
    distances = [sum(abs(row[j] - target[j]) for j in loci) for row, _ in genealogy]
    return genealogy[distances.index(min(distances))][1], 1.0


@dataclass
class PlainStage:
    """A stage; `kind` is 'tmrca', 'neighbour' or 'link'.

    `rows` of a link stage are dictionaries.
    """

    kind: str
    infers: str
    price: float = 0.0
    genealogy: list = field(default_factory=list)
    loci: tuple = ()
    rates: tuple = ()
    rows: list = field(default_factory=list)
    on: tuple = ()


def supported_weights(weights, row, columns, alpha, loci):
    """Return a target's weights with minority support alpha, as in the published code.

    `columns` are the values of the people who carry each attribute, `loci` the positions of alleles, 0 = missing.
    """
    supported = []
    for j, (weight, column) in enumerate(zip(weights, columns, strict=True)):
        counts = {}
        for value in column:
            if not (j in loci and value == 0):
                counts[value] = counts.get(value, 0) + 1
        if j in loci and row[j] == 0:
            beta = 1.0
        elif row[j] in counts:
            beta = math.log2(len(column) / len(counts) / counts[row[j]] + 1)
        else:
            beta = math.log2((sum(counts.values()) + 1) / (len(counts) + 1) + 1)
        supported.append(weight * beta**alpha)
    return supported


@dataclass(kw_only=True)
class PlainAttack:
    """A target and an adversary's attack.

    `target` holds true values by attribute; `groups[attribute][level]` maps values to groups for levels above 0 that
    are not masked; `registry` is a list of dictionaries; `kept[attribute][level]` the share of the weight kept.
    """

    target: dict
    attributes: tuple
    stages: list
    registry: list
    on: tuple
    gain: float
    cost: float
    theta: float
    registered: bool = True
    overconfident: bool = False
    groups: dict = field(default_factory=dict)
    # Inferences by stage and shared loci, since the loops are slow.
    inferred_before: dict = field(default_factory=dict, init=False, repr=False)

    def matches(self, row, on, released, inferred):
        for name in on:
            if name in released:
                level = released[name]
                group = (lambda v: v) if level == 0 else self.groups[name][level].__getitem__
                if group(row[name]) != group(self.target[name]):
                    return False
            if name in inferred and row[name] != inferred[name]:
                return False
        return True

    def infer(self, stage, released, inferred):
        if stage.kind == "link":
            values = [r[stage.infers] for r in stage.rows if self.matches(r, stage.on, released, inferred)]
            if not values:
                return None, 0.0
            best = max(values, key=lambda v: (values.count(v), -values.index(v)))
            return best, values.count(best) / len(values)
        shared = [released.get(name) == 0 for name in stage.loci]
        target = [self.target[name] for name in stage.loci]
        key = id(stage), tuple(shared)
        if key not in self.inferred_before:
            if stage.kind == "neighbour":
                self.inferred_before[key] = nearest_neighbour(target, shared, stage.genealogy)
            else:
                self.inferred_before[key] = infer_surname(target, shared, stage.genealogy, stage.rates)
        return self.inferred_before[key]

    def reply(self, levels, masked):
        """Return the reply: attack, true and believed success, price, stage confidences."""
        released = {n: v for n, v, m in zip(self.attributes, levels, masked, strict=True) if v < m}
        best = None
        numbers = range(len(self.stages))
        for k in range(len(self.stages) + 1):
            for used in itertools.combinations(numbers, k):
                inferred, confidence, right, price, possible = {}, 1.0, True, 0.0, True
                for i in used:
                    stage = self.stages[i]
                    value, sure = self.infer(stage, released, inferred)
                    if value is None or sure < self.theta or sure == 0 or released.get(stage.infers) == 0:
                        possible = False
                        break
                    inferred[stage.infers] = value
                    # The overconfident adversary trusts an inferred value whose confidence is above the threshold.
                    confidence *= 1.0 if self.overconfident else sure
                    right = right and value == self.target[stage.infers]
                    price += stage.price
                if not possible:
                    continue
                people = sum(self.matches(row, self.on, released, inferred) for row in self.registry)
                if people == 0 and used:
                    continue
                believed = confidence / people if people else 0.0
                success = 1 / people if people and right and self.registered else 0.0
                worth = self.gain * believed - price
                if best is None or worth > best[0] + SAME * self.gain:
                    best = (worth, success, believed, price + self.cost)
        _, success, believed, price = best
        return self.gain * believed > price * (1 + SAME), success, believed, price

    def confidence(self, levels, masked):
        """Return the confidence in the surname, also if the stage is unused.

        The confidence breaks ties.
        """
        released = {n: v for n, v, m in zip(self.attributes, levels, masked, strict=True) if v < m}
        return self.infer(self.stages[0], released, {})[1] if self.stages else 0.0


@dataclass(kw_only=True)
class PlainGame:
    attack: PlainAttack
    weights: tuple
    kept: tuple
    benefit: float
    loss: float
    # The weight of utility 1, if the weights are the target's own.
    total: float | None = None

    @property
    def masked(self):
        return tuple(len(shares) - 1 for shares in self.kept)

    def strategies(self):
        """Return all strategies: full sharing first, the first attribute varies slowest."""
        return list(itertools.product(*(range(len(shares)) for shares in self.kept)))

    def worth(self, s):
        if not any(s):
            return self.benefit
        shared = sum(w * k[v] for w, k, v in zip(self.weights, self.kept, s, strict=True))
        return self.benefit * min(shared / (self.total or sum(self.weights)), 1.0)

    def payoff(self, s):
        attacks, success, *_ = self.attack.reply(s, self.masked)
        return self.worth(s) - (self.loss * success if attacks else 0.0)

    def solve(self, no_attack=False):
        """Return the best of all strategies, or None if nothing is shared."""
        tie = SAME * (self.benefit + self.loss)
        best = None
        for s in self.strategies():
            attacks = self.attack.reply(s, self.masked)[0]
            if no_attack and attacks:
                continue
            v, c = self.payoff(s), self.attack.confidence(s, self.masked)
            if best is None or v > best[0] + tie or (v > best[0] - tie and c < best[1] - 1e-9):
                best = (v, c, s)
        return None if best is None or best[0] < -tie else best[2]

    def greedy(self, no_attack=False):
        """Mask one attribute at a time by payoff, then lower confidence, then lower index."""
        tie = SAME * (self.benefit + self.loss)

        def ahead(a, b):
            return a[0] > b[0] + tie or (a[0] > b[0] - tie and a[1] < b[1] - 1e-9)

        def look(s):
            return self.payoff(s), self.attack.confidence(s, self.masked), self.attack.reply(s, self.masked)[0], s

        at = look(tuple(0 for _ in self.kept))
        best = None if no_attack and at[2] else at
        while not (no_attack and not at[2]):
            s = at[3]
            children = [look((*s[:j], v + 1, *s[j + 1 :])) for j, v in enumerate(s) if v + 1 < len(self.kept[j])]
            if not children:
                break
            if no_attack and any(not child[2] for child in children):
                children = [child for child in children if not child[2]]
            at = children[0]
            for child in children[1:]:
                if ahead(child, at):
                    at = child
            if no_attack and at[2]:
                continue
            if best is None or ahead(at, best):
                best = at
            elif not at[2]:
                break
        return None if best is None or best[0] < -tie else best[3]
