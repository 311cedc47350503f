"""The full-domain game on a few records, computed from the paper in plain Python."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.record_game import Prices
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice


@dataclass(frozen=True)
class SmallDataset:
    """Records as tuples of values 0, 1, ..., with hierarchies and payoff parameters.

    A hierarchy has the group label of each value at each level.
    """

    hierarchies: tuple  # per attribute: tuple of levels, each a tuple with the group of every value
    records: tuple
    people: tuple | None  # None: prosecutor risk
    benefit: tuple  # per record, as the next three
    loss: tuple
    gain: tuple
    cost: tuple
    limit: float = 1.0
    no_attack: bool = False
    minimum: tuple | None = None

    @property
    def n(self):
        return len(self.records)

    @property
    def shape(self):
        return tuple(len(levels) for levels in self.hierarchies)

    def nodes(self):
        lowest = self.minimum or (0,) * len(self.shape)
        return [
            node
            for node in itertools.product(*(range(levels) for levels in self.shape))
            if all(level >= low for level, low in zip(node, lowest, strict=True))
        ]

    def generalized(self, row, node):
        return tuple(levels[level][value] for levels, level, value in zip(self.hierarchies, node, row, strict=True))

    def information_loss(self, row, node):
        """Return 1 + log(prod share_i) / log(prod size_i), over all hierarchy rows."""
        share, sizes = 1.0, 1
        for levels, level, value in zip(self.hierarchies, node, row, strict=True):
            column = levels[level]
            share *= column.count(column[value]) / len(column)
            sizes *= len(column)
        return 0.0 if sizes == 1 else 1 + math.log(share) / math.log(sizes)

    def class_size(self, row, node):
        among = self.records if self.people is None else self.people
        return sum(self.generalized(other, node) == self.generalized(row, node) for other in among)

    def record(self, i, node):
        """Return a record's payout at a node, whether it is attacked and whether kept."""
        size = max(self.class_size(self.records[i], node), 1)
        worth = self.benefit[i] * (1 - self.information_loss(self.records[i], node))
        gain, cost = self.gain[i], self.cost[i]
        if self.no_attack:
            kept = gain == 0 or cost * size > gain
            return (worth if kept else 0.0), False, kept
        attacked = gain > cost * size
        payout = worth - (self.loss[i] / size if attacked else 0.0)
        # Amounts are chosen so that payouts are either zero or far from zero.
        if payout <= 1e-9:
            return 0.0, False, False
        return payout, attacked, True

    def node(self, node):
        """Return payout, suppressed, attacked and adversary's payoff at a node."""
        payout = suppressed = attacked = adversary = 0
        for i in range(self.n):
            value, attacks, kept = self.record(i, node)
            payout += value
            suppressed += not kept
            if attacks:
                attacked += 1
                adversary += self.gain[i] / max(self.class_size(self.records[i], node), 1) - self.cost[i]
        return payout, suppressed, attacked, adversary

    def best(self):
        """Return the best node and its outcome, or None.

        Ties: larger payout, then lower total level, then lattice order.
        """
        best = None
        for node in self.nodes():
            outcome = self.node(node)
            if outcome[1] > math.floor(self.limit * self.n):
                continue
            better = best is None or outcome[0] > best[1][0] + 1e-7
            tied = best is not None and abs(outcome[0] - best[1][0]) <= 1e-7
            if better or (tied and (sum(node), node) < (sum(best[0]), best[0])):
                best = node, outcome
        return best

    def recodings(self):
        """Return the highest payout of recodings by splits, by suppressed records."""
        lowest = self.minimum or (0,) * len(self.shape)

        def together(parts):
            sums = {0: 0.0}
            for part in parts:
                sums = best_of([(a + b, one + other) for a, one in sums.items() for b, other in part.items()])
            return sums

        def best_of(pairs):
            best = {}
            for suppressed, payout in pairs:
                best[suppressed] = max(best.get(suppressed, payout), payout)
            return best

        def ways(node, members):
            outcomes = [self.record(i, node) for i in members]
            pairs = [(sum(not kept for _, _, kept in outcomes), sum(payout for payout, _, _ in outcomes))]
            for at, level in enumerate(node):
                if level > lowest[at]:
                    below = (*node[:at], level - 1, *node[at + 1 :])
                    pairs += together(ways(below, part) for part in parts_of(members, below)).items()
            return best_of(pairs)

        def parts_of(members, node):
            parts = {}
            for i in members:
                parts.setdefault(self.generalized(self.records[i], node), []).append(i)
            return parts.values()

        top = tuple(levels - 1 for levels in self.shape)
        return together(ways(top, part) for part in parts_of(range(self.n), top))

    def best_of_record(self, i):
        """Return the record's best payout over all nodes, at least 0."""
        return max(0.0, *(self.record(i, node)[0] for node in self.nodes()))


def game_of(small):
    """Return the package's game of a dataset, with one cell per record."""
    hierarchies = tuple(
        Hierarchy.from_labels(
            Attribute(f"q{number}", tuple(f"v{value}" for value in range(len(levels[0])))),
            [[f"{depth}/{group}" for group in level] for depth, level in enumerate(levels) if depth],
        )
        for number, levels in enumerate(small.hierarchies)
    )
    codes = np.array(small.records, dtype=np.int32)
    lattice = GeneralizationLattice(hierarchies, codes)
    population = None
    if small.people is not None:
        domain = Domain(tuple(h.attribute for h in hierarchies))
        population = Population.from_records(domain, np.array(small.people, dtype=np.int32))
    arrays = [np.array(getattr(small, price)) for price in ("benefit", "loss", "gain", "cost")]
    if all((array == array[0]).all() for array in arrays):
        prices, kind = Prices(*(array[:1] for array in arrays)), None
    else:
        prices, kind = Prices(*arrays), np.arange(small.n)
    return FullDomainGame(
        lattice=lattice,
        released=np.ones(small.n, dtype=np.int64),
        prices=prices,
        kind=kind,
        population=population,
        no_attack=small.no_attack,
        suppression_limit=small.limit,
        minimum=small.minimum,
    )


@st.composite
def hierarchies(draw, most_values=4):
    """Draw nested groups of values 0, 1, ...; the last level may suppress."""
    size = draw(st.integers(1, most_values))
    levels = [tuple(range(size))]
    for _ in range(draw(st.integers(0, 2))):
        below = levels[-1]
        joined = draw(st.lists(st.integers(0, 1), min_size=max(below) + 1, max_size=max(below) + 1))
        order = {group: number for number, group in enumerate(dict.fromkeys(joined[group] for group in below))}
        levels.append(tuple(order[joined[group]] for group in below))
    if draw(st.booleans()):
        levels.append((0,) * size)
    return tuple(levels)


# Integer amounts, so that the attack threshold and equal payouts occur often.
AMOUNTS = st.sampled_from([0, 1, 2, 4, 6, 10, 12, 30, 100])


@st.composite
def datasets(draw, *, same_prices=None, most_records=7, risk=None):
    attributes = draw(st.lists(hierarchies(), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, len(levels[0]) - 1) for levels in attributes))
    records = draw(st.lists(row, min_size=1, max_size=most_records))
    people = None
    if draw(st.booleans()) if risk is None else risk == "journalist":
        people = tuple(records + draw(st.lists(row, max_size=8)))
    same = draw(st.booleans()) if same_prices is None else same_prices
    prices = [
        (draw(AMOUNTS),) * len(records)
        if same
        else tuple(draw(st.lists(AMOUNTS, min_size=len(records), max_size=len(records))))
        for _ in range(4)
    ]
    return SmallDataset(tuple(attributes), tuple(records), people, *prices)


@st.composite
def variants(draw, dataset):
    """Draw a suppression limit, minimum levels and the kind of game for a dataset."""
    small = draw(dataset)
    minimum = tuple(draw(st.integers(0, levels - 1)) for levels in small.shape) if draw(st.booleans()) else None
    limit = draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]))
    return replace(small, limit=limit, minimum=minimum, no_attack=draw(st.booleans()))
