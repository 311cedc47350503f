"""Speed of the intersection of ten releases of a cohort, against a plain loop over people.

Run by hand: ``python benchmarks/releases.py``; a hundred thousand records take seconds.

Records of synthetic people enter and leave in waves, with random generalizations. The times cover the work that
memory adds to a round: grouping records by their earlier releases, and linking each by all of them. Group sizes of a
sample of records are counted person by person, whose time is extrapolated. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from figures import figure
from numpy.typing import NDArray

from reidsim.adversaries.response import OneShotAdversary
from reidsim.agents.learning import Memory
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.games.composite import known_of
from reidsim.games.record_game import WITHHELD, Choice, PopulationLinker, RecordGame, shared_rows
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice, Rows, StrategySpace

SIZES = {"age": 80, "sex": 2, "race": 6, "place": 60}
WIDTHS = {"age": (5, 20), "sex": (), "race": (), "place": (6,)}
Integers = NDArray[np.int64]


def hierarchies() -> tuple[Hierarchy, ...]:
    """Return intervals of each attribute, and suppression."""
    made = []
    for name, size in SIZES.items():
        attribute = Attribute(name, tuple(map(str, range(size))))
        levels = [[f"{value // width} of {width}" for value in range(size)] for width in WIDTHS[name]]
        made.append(Hierarchy.from_labels(attribute, [*levels, ["*"] * size]))
    return tuple(made)


class World:
    """Synthetic people; the first ones are released."""

    def __init__(self, records: int, people: int, waves: int, *, prosecutor: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.people = np.column_stack([rng.integers(0, size, people) for size in SIZES.values()]).astype(np.int32)
        codes = self.people[:records]
        cells, self.cell = np.unique(codes, axis=0, return_inverse=True)
        self.cell = self.cell.ravel()
        self.lattice = GeneralizationLattice(hierarchies(), cells)
        enters = rng.integers(0, waves, records)
        stays = rng.integers(1, waves + 1, records)
        wave = np.arange(waves)[:, None]
        self.schedule = (enters <= wave) & (wave < enters + stays)
        self.forms = rng.integers(0, self.lattice.size, (waves, records))
        self.prosecutor = prosecutor

    def profiles(self, counts: Integers | None) -> tuple[AdversaryProfile, ...]:
        """Return the adversary who counts all people, or the released people of each cell."""
        domain = Domain(tuple(hierarchy.attribute for hierarchy in self.lattice.hierarchies))
        if counts is None:
            population = Population.from_records(domain, self.people)
        else:
            population = Population.from_records(domain, self.lattice.codes, counts)
        linker = PopulationLinker(GroupSizes(population, self.lattice))

        def equip(holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment:
            return Equipment(linker, OneShotAdversary(100.0, 1.0))

        return (AdversaryProfile("adversary", equip, 1.0, 100.0, 1.0),)

    def setting(self) -> Setting:
        """Return the world of all waves, without a publisher's choice."""

        def solve(policy: str, game: RecordGame) -> Choice:
            raise AssertionError(policy)

        def split(cells: Rows, participants: Integers) -> tuple[StrategySpace, object]:
            lattice = self.lattice
            return GeneralizationLattice(lattice.hierarchies, lattice.codes[cells], lattice.loss_attributes), solve

        n = self.lattice.n_records
        return Setting(
            space=self.lattice, cell_of_subject=self.cell, benefit=np.ones(n), loss=np.ones(n),
            believed_loss=np.ones(n), profiles=self.profiles(None), solve=solve, is_fixed=lambda policy: False,
            forbids_attacks=lambda policy: False,
            rounds=len(self.schedule), remembers=True, meet=self.lattice.meet,
            split=split,  # type: ignore[arg-type]
            profiles_among=self.profiles if self.prosecutor else None,
        )  # fmt: skip


def intersected(world: World) -> tuple[NDArray[np.float64], float]:
    """Return the group size of each record by all that is out of it after the last wave, and the seconds taken."""
    setting = world.setting()
    start = time.perf_counter()
    memory, sizes = Memory(setting), np.full(len(world.cell), np.inf)
    for taking_part, forms in zip(world.schedule, world.forms, strict=True):
        memory.setting(taking_part, np.where(taking_part, forms, WITHHELD))
        now = memory.add(forms, taking_part)
        assert now is not None
        assert now.known is not None
        assert now.known.planned is not None
        seen = known_of(now.released(now.known.planned), now.known.past, now.known.meet)
        equipment = now.profiles[0].equip(frozenset(), 1.0)
        assert equipment is not None
        of_rows = np.full(len(seen), np.inf)
        for strategy, rows in shared_rows(seen):
            of_rows[rows] = equipment.linker.link(strategy, rows).group_sizes
        sizes = of_rows[now.cell_of_subject]
    return sizes, time.perf_counter() - start


def plain_sizes(world: World, records: list[int]) -> list[float]:
    """Count the people who fit all releases of some records, person by person."""
    groups = [hierarchy.groups.tolist() for hierarchy in world.lattice.hierarchies]
    found = []
    for record in records:
        was_in = np.flatnonzero(world.schedule[:, record])
        released = [world.lattice.levels(int(world.forms[wave, record])) for wave in was_in]
        candidates: Sequence[int] = range(len(world.people))
        if world.prosecutor:
            # All participants are released: the candidates took part in the same waves.
            candidates = np.flatnonzero((world.schedule == world.schedule[:, [record]]).all(axis=0)).tolist()
        own, count = world.people[record].tolist(), 0
        for person in candidates:
            values = world.people[person].tolist()
            count += all(
                group[level][value] == group[level][mine]
                for levels in released
                for group, level, value, mine in zip(groups, levels, values, own, strict=True)
            )
        found.append(float(max(count, 1)))
    return found


def check(world: World, sizes: NDArray[np.float64], sample: int) -> float:
    """Compare some group sizes with plain counts; return the seconds that all of these would take."""
    records = np.flatnonzero(world.schedule.any(axis=0))
    chosen = np.random.default_rng(0).choice(records, min(sample, len(records)), replace=False).tolist()
    start = time.perf_counter()
    expected = plain_sizes(world, chosen)
    seconds = (time.perf_counter() - start) / len(chosen) * len(records)
    np.testing.assert_array_equal(sizes[chosen], expected)
    return seconds


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=1_000_000, help="of the population, the records among them")
    parser.add_argument("--waves", type=int, default=10)
    parser.add_argument("--sample", type=int, default=20, help="records counted plainly")
    options = parser.parse_args()
    intersected(World(300, 1000, 3, prosecutor=True, seed=1))
    print(f"{options.records:,} records in {options.waves} waves, {options.people:,} people")
    print("risk, seconds, seconds of the plain count (extrapolated)")
    for risk in ("journalist", "prosecutor"):
        world = World(options.records, options.people, options.waves, prosecutor=risk == "prosecutor", seed=2)
        sizes, seconds = intersected(world)
        plain = check(world, sizes, options.sample)
        figure(f"{options.waves} releases of {options.records:,} records, {risk}", seconds, "plain count", plain)
        print(f"{risk}, {seconds:.2f}, {plain:,.0f}")


if __name__ == "__main__":
    main()
