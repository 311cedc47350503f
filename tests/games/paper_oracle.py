"""The record-level game of Wan et al. 2015 for one record, as the paper prints it.

Plain loops over lists, written from the paper; nothing is imported from reidsim. Two rules come from the package, as
the paper works with exact numbers: amounts of money closer than 1e-12 of their scale are equal, and an empty group
counts as the record alone.
"""

import itertools
import math
from dataclasses import dataclass

SAME = 1e-12


@dataclass(kw_only=True)
class PaperGame:
    """One record, one publisher, one adversary.

    `hierarchies[f][level][value]` is the group of a value of attribute f. `people` is a list of persons, each a tuple
    of values; `believed_people` is the population in the adversary's belief.
    """

    record: tuple
    people: tuple
    hierarchies: tuple
    V: float
    L: float
    G: float
    c: float
    counted: tuple
    costless: tuple
    believed_people: tuple | None = None

    def __post_init__(self):
        # G of Table 4: all strategies, in lexicographic order of their levels.
        self.strategies = list(itertools.product(*(range(len(levels)) for levels in self.hierarchies)))

    def _matching(self, people, g):
        """Return the number of people who share the record's values generalized by g."""
        n = 0
        for person in people:
            same = True
            for f, level in enumerate(g):
                groups = self.hierarchies[f][level]
                if groups[person[f]] != groups[self.record[f]]:
                    same = False
            n += same
        return n

    def n_p(self, g):
        return max(1, self._matching(self.people, g))

    def pi(self, g):
        """Return pi (Eq. 4)."""
        return 1 / self.n_p(g)

    def believed_pi(self, g):
        believed = self.people if self.believed_people is None else self.believed_people
        return 1 / max(1, self._matching(believed, g))

    def information_loss(self, g):
        """Return Eq. 1: the sum over attributes of the log number of merged values."""
        total = 0.0
        for f, level in enumerate(g):
            if not self.counted[f]:
                continue
            while level in self.costless[f]:  # free mergers count as the level below
                level -= 1
            groups = self.hierarchies[f][level]
            size = sum(1 for group in groups if group == groups[self.record[f]])
            total += -math.log(1 / size)
        return total

    def greatest_information_loss(self):
        """Return Eq. 2: every counted attribute generalized to its whole domain."""
        total = 0.0
        for f, levels in enumerate(self.hierarchies):
            if self.counted[f]:
                total += -math.log(1 / len(levels[0]))
        return total

    def v(self, g):
        """Return Eq. 3; V if all counted domains have one value."""
        greatest = self.greatest_information_loss()
        return self.V if greatest == 0 else self.V * (1 - self.information_loss(g) / greatest)

    def attacks(self, g):
        """Return Table 3: the adversary's best reply; no attack when indifferent."""
        return self.G * self.believed_pi(g) > self.c * (1 + SAME)

    def play(self, g):
        """Return both payoffs of Table 3 under the best reply, and whether it attacks."""
        v, pi = self.v(g), self.pi(g)
        return (v - self.L * pi, self.G * pi - self.c, True) if self.attacks(g) else (v, 0.0, False)

    def number(self, g):
        """Return the position of a strategy in G; -1 for None."""
        return -1 if g is None else self.strategies.index(g)

    def intensity(self, g):
        """Return the generalization intensity (Eq. 5)."""
        most = sum(len(levels) for levels in self.hierarchies) - len(self.hierarchies)
        return sum(g) / most if most else 0.0

    def algorithm_1(self, allowed=lambda g: True):
        """Return the best of the allowed strategies by Table 4, or None."""
        best = None
        u_m = None
        for g in self.strategies:
            if not allowed(g):
                continue
            u_d = self.play(g)[0]
            if best is None or u_d - u_m > SAME * (self.V + self.L):
                best, u_m = g, u_d
        return best

    def children(self, g):
        for f, level in enumerate(g):
            if level + 1 < len(self.hierarchies[f]):
                yield (*g[:f], level + 1, *g[f + 1 :])

    def algorithm_2(self):
        """Return the strategy of Table 5, and all strategies whose value was computed."""
        g = tuple(0 for _ in self.hierarchies)
        seen = {g}
        while any(True for _ in self.children(g)):
            if not self.attacks(g):
                return g, seen
            u_m = self.v(g) - self.L * self.pi(g)
            g_m = g
            for g_c in self.children(g):
                seen.add(g_c)
                u_c = self.v(g_c) - self.L * self.pi(g_c)
                if u_c - u_m >= -SAME * (self.V + self.L):
                    g_m, u_m = g_c, u_c
            if g_m == g:  # "halts when the payoff of the current node is larger than those of its children" (text)
                return g, seen
            g = g_m
        return g, seen
