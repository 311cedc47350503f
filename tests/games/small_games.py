"""Random small games for hypothesis, in plain numbers and as reidsim games."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from hypothesis import strategies as st
from paper_oracle import PaperGame

from reidsim.adversaries.response import Linkage, OneShotAdversary
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice


@dataclass(frozen=True)
class MistakenLinker:
    """Link records for an adversary who believes in other people than the true ones."""

    group_sizes: GroupSizes
    believed: GroupSizes

    def link(self, strategy, rows=None):
        return Linkage(self.group_sizes.at(strategy, rows), self.believed.at(strategy, rows))


@dataclass(frozen=True)
class SmallGame:
    """A game in plain numbers, the common input of the oracle and of reidsim.

    `hierarchies[f][level][value]` is a group; `people` has one tuple of values per person; payoff parameters have one
    amount per record; `minimum` has one strategy per record, in levels.
    """

    hierarchies: tuple
    costless: tuple
    counted: tuple
    people: tuple
    records: tuple
    benefit: tuple
    loss: tuple
    gain: tuple
    cost: tuple
    minimum: tuple
    names: tuple
    believed_people: tuple | None = None

    @property
    def sizes(self):
        return tuple(len(levels[0]) for levels in self.hierarchies)

    @property
    def n_records(self):
        return len(self.records)

    def paper(self, i):
        """Return the paper's game of record i."""
        return PaperGame(
            record=self.records[i],
            people=self.people,
            hierarchies=self.hierarchies,
            V=self.benefit[i],
            L=self.loss[i],
            G=self.gain[i],
            c=self.cost[i],
            counted=self.counted,
            costless=self.costless,
            believed_people=self.believed_people,
        )

    @property
    def scale(self):
        """Return the scale for comparisons of payoffs, per record."""
        return np.array(self.benefit) + np.array(self.loss) + np.array(self.gain) + np.array(self.cost) + 1e-9

    def domain(self):
        return Domain(
            tuple(
                Attribute(name, tuple(f"{name}{value}" for value in range(size)))
                for name, size in zip(self.names, self.sizes, strict=True)
            )
        )

    def lattice(self):
        attributes = self.domain().attributes
        hierarchies = tuple(
            Hierarchy.from_labels(
                attribute,
                [[f"{attribute.name}/{k}/{group}" for group in groups] for k, groups in enumerate(levels) if k > 0],
                costless_levels=sorted(costless),
            )
            for attribute, levels, costless in zip(attributes, self.hierarchies, self.costless, strict=True)
        )
        counted = tuple(name for name, counts in zip(self.names, self.counted, strict=True) if counts)
        return GeneralizationLattice(hierarchies, np.array(self.records, dtype=np.int32), counted)

    def population(self, people=None):
        codes = np.array(self.people if people is None else people, dtype=np.int32)
        return Population.from_records(self.domain(), codes)

    def linker(self, lattice=None, **options):
        lattice = lattice or self.lattice()
        true = GroupSizes(self.population(), lattice, **options)
        if self.believed_people is None:
            return PopulationLinker(true)
        return MistakenLinker(true, GroupSizes(self.population(self.believed_people), lattice, **options))

    def game(self):
        lattice = self.lattice()
        adversary = OneShotAdversary(np.array(self.gain), np.array(self.cost))
        return RecordGame(lattice, self.linker(lattice), adversary, np.array(self.benefit), np.array(self.loss))

    def minimum_numbers(self):
        lattice = self.lattice()
        return np.array([lattice.index(levels) for levels in self.minimum])

    def with_money(self, benefit, loss, gain, cost):
        """Return the game with one set of payoff parameters for all records."""
        n = self.n_records
        return replace(self, benefit=(benefit,) * n, loss=(loss,) * n, gain=(gain,) * n, cost=(cost,) * n)

    def scaled(self, factor):
        """Return the game with all money in another unit."""
        money = {
            name: tuple(amount * factor for amount in getattr(self, name))
            for name in ("benefit", "loss", "gain", "cost")
        }
        return replace(self, **money)

    def with_records_in_order(self, order):
        per_record = ("records", "benefit", "loss", "gain", "cost", "minimum")
        return replace(self, **{name: tuple(getattr(self, name)[i] for i in order) for name in per_record})

    def with_attributes_in_order(self, order):
        def reordered(row):
            return tuple(row[f] for f in order)

        return replace(
            self,
            hierarchies=reordered(self.hierarchies),
            costless=reordered(self.costless),
            counted=reordered(self.counted),
            names=reordered(self.names),
            people=tuple(map(reordered, self.people)),
            records=tuple(map(reordered, self.records)),
            minimum=tuple(map(reordered, self.minimum)),
        )


def game_of(hierarchies, people, records, *, counted=None, believed_people=None, **money):
    """Return a game written by hand, with one set of payoff parameters."""
    m = len(hierarchies)
    nothing = SmallGame(
        hierarchies=tuple(hierarchies),
        costless=(frozenset(),) * m,
        counted=counted or (True,) * m,
        people=tuple(people),
        records=tuple(records),
        benefit=(),
        loss=(),
        gain=(),
        cost=(),
        minimum=((0,) * m,) * len(records),
        names=tuple("abcd"[:m]),
        believed_people=believed_people,
    )
    return nothing.with_money(**money)


@st.composite
def nested_levels(draw, size, max_levels=4):
    """Draw nested levels with unequal, non-contiguous and sometimes unchanged groups."""
    levels = [tuple(range(size))]
    for _ in range(draw(st.integers(0, max_levels - 1)) or draw(st.integers(0, 1))):
        groups = len(set(levels[-1]))
        parent = draw(st.lists(st.integers(0, groups - 1), min_size=groups, max_size=groups))
        levels.append(_renumbered([parent[group] for group in levels[-1]]))
    if len(levels) < max_levels and draw(st.integers(0, 4)) < 4:
        levels.append((0,) * size)
    return tuple(levels)


def _renumbered(groups):
    number = {}
    return tuple(number.setdefault(group, len(number)) for group in groups)


amounts = st.one_of(
    st.sampled_from([0.0, 1.0, 4.0, 10.0, 300.0, 1200.0]),
    st.floats(0.01, 5000.0, allow_nan=False, allow_infinity=False),
)
positive_amounts = amounts.filter(lambda amount: amount > 0)


@st.composite
def small_games(
    draw, max_attributes=4, max_strategies=48, max_records=4, mistaken_adversary=False, same_money=False, money=None
):
    """Draw a game; in many games a player is exactly indifferent somewhere."""
    m = draw(st.integers(1, max_attributes))
    sizes = [draw(st.integers(1, 6 if m <= 2 else 4)) for _ in range(m)]
    hierarchies = [draw(nested_levels(size)) for size in sizes]
    while prod(map(len, hierarchies)) > max_strategies:
        longest = max(range(m), key=lambda f: len(hierarchies[f]))
        hierarchies[longest] = hierarchies[longest][:-1]
    costless = tuple(
        frozenset(level for level in range(1, len(levels)) if draw(st.integers(0, 5)) == 5) for levels in hierarchies
    )
    counted = tuple(draw(st.integers(0, 3)) > 0 for _ in range(m))
    cells = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    people = draw(_people(cells))
    known, anyone = st.sampled_from(people), cells
    records = tuple(draw(st.lists(st.one_of(known, known, anyone), min_size=1, max_size=max_records)))
    n = len(records)
    minimum = tuple(draw(st.tuples(*(st.integers(0, len(levels) - 1) for levels in hierarchies))) for _ in range(n))
    game = SmallGame(
        hierarchies=tuple(hierarchies),
        costless=costless,
        counted=counted,
        people=people,
        records=records,
        benefit=(1.0,) * n,
        loss=(1.0,) * n,
        gain=(1.0,) * n,
        cost=(1.0,) * n,
        minimum=minimum,
        names=tuple("abcd"[:m]),
        believed_people=draw(_people(cells)) if mistaken_adversary else None,
    )
    amounts_of = money or _money
    if same_money:
        return game.with_money(*draw(amounts_of(game.paper(0))))
    benefit, loss, gain, cost = zip(*(draw(amounts_of(game.paper(i))) for i in range(n)), strict=True)
    return replace(game, benefit=benefit, loss=loss, gain=gain, cost=cost)


@st.composite
def _people(draw, cells):
    crowds = draw(st.lists(st.tuples(cells, st.sampled_from([1, 2, 1, 3, 5, 12])), min_size=1, max_size=14))
    return tuple(cell for cell, number in crowds for _ in range(number))


@st.composite
def _money(draw, paper):
    """Draw a record's payoff parameters, often with an indifferent player."""
    kind = draw(st.sampled_from(["any", "alike", "attacked or not", "both attacked"]))
    if kind == "any":
        gain = draw(amounts)
        return draw(amounts), draw(amounts), gain, draw(_cost(paper, gain))
    benefit = draw(positive_amounts)
    paper.V = benefit
    numbers = st.integers(0, len(paper.strategies) - 1)
    g, h = (paper.strategies[number] for number in (draw(st.one_of(st.just(0), numbers)), draw(numbers)))
    dearer, cheaper = sorted((g, h), key=paper.v, reverse=True)
    gap = paper.v(dearer) - paper.v(cheaper)
    loss = benefit * draw(st.sampled_from([0.25, 1.0, 3.0, 20.0]))
    gain = draw(st.sampled_from([loss, loss, 2 * loss, loss / 2]))
    cost = draw(_cost(paper, gain))
    if kind == "attacked or not" and gap > 0:  # v(g) - L pi(g) = v(h): no attack on h, where it just breaks even
        loss = gap * paper.n_p(dearer)
        gain = draw(st.sampled_from([loss, loss, 2 * loss, loss / 2]))
        cost = gain / paper.n_p(cheaper)
    elif kind == "both attacked" and paper.pi(dearer) > paper.pi(cheaper):  # v(g) - L pi(g) = v(h) - L pi(h)
        loss = gap / (paper.pi(dearer) - paper.pi(cheaper))
        gain = draw(st.sampled_from([loss, loss, 2 * loss, loss / 2]))
        cost = gain / paper.n_p(cheaper) * draw(st.sampled_from([0.9, 0.5, 0.0]))
    return benefit, loss, gain, cost


def _cost(paper, gain):
    # An attack on a group of n people is worth exactly gain / n.
    worth = st.sampled_from(paper.strategies).map(lambda g: gain / paper.n_p(g))
    return st.one_of(amounts, worth, worth, worth.map(lambda cost: 0.9 * cost), worth.map(lambda cost: 1.1 * cost))
