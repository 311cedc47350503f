"""Adversaries who look up people in shared rows, in plain Python."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import inf, log, prod

import numpy as np


@dataclass(frozen=True)
class PlainRelease:
    """Records with hierarchies, people, and payoff parameters per record.

    A record is a tuple of values; `hierarchies[f][level][value]` is a group.
    """

    hierarchies: tuple
    records: tuple
    people: tuple
    benefit: tuple
    loss: tuple
    gain: tuple
    cost: tuple
    direction: str

    @cached_property
    def forms(self):
        """Return the levels of every form, in lattice order."""
        shape = [len(levels) for levels in self.hierarchies]
        return [
            tuple(number // prod(shape[f + 1 :]) % shape[f] for f in range(len(shape))) for number in range(prod(shape))
        ]

    def shown(self, values, form):
        levels = self.forms[form]
        return tuple(h[level][v] for h, level, v in zip(self.hierarchies, levels, values, strict=True))

    def rows_of(self, record):
        """Return the rows of a record's person: one here; see `PlainPeople`."""
        return (record,)

    def reads_like(self, record, values, form):
        """Return whether a record's row in a form equals values in the same form."""
        return any(self.shown(row, form) == self.shown(values, form) for row in self.rows_of(record))

    def touches(self, i, j, form):
        """Return whether a row of record i equals a row of record j in a form."""
        return any(self.reads_like(self.records[i], row, form) for row in self.rows_of(self.records[j]))

    def rows_that_fit(self, i, strategies):
        """Return how many shared rows fit the person of record i at the row's form."""
        return min(
            sum(s >= 0 and self.reads_like(self.records[j], me, s) for j, s in enumerate(strategies))
            for me in self.rows_of(self.records[i])
        )

    def people_that_fit(self, i, form):
        """Return how many people fit the row of record i in a form, at least 1."""
        return min(
            max(1, sum(self.reads_like(each, row, form) for each in self.people))
            for row in self.rows_of(self.records[i])
        )

    def success(self, i, strategies):
        if strategies[i] < 0:
            return 0.0
        by_row, by_person = self.people_that_fit(i, strategies[i]), self.rows_that_fit(i, strategies)
        size = {"record": by_row, "person": by_person, "both": min(by_row, by_person)}[self.direction]
        return 1 / size

    def attacked(self, i, strategies):
        return strategies[i] >= 0 and self.gain[i] * self.success(i, strategies) > self.cost[i] * (1 + 1e-12)

    def utility(self, i, form):
        if form < 0:
            return 0.0
        rows = self.rows_of(self.records[i])
        return sum(self.utility_of(row, form) for row in rows) / len(rows)

    def utility_of(self, values, form):
        greatest = sum(log(len(h[0])) for h in self.hierarchies)
        lost = sum(
            log(h[level].count(h[level][v]))
            for h, level, v in zip(self.hierarchies, self.forms[form], values, strict=True)
        )
        return 1 - lost / greatest if greatest else 1.0

    def payoffs(self, strategies):
        """Return the publisher's payoff of each record."""
        return [
            self.benefit[i] * self.utility(i, s)
            - (self.loss[i] * self.success(i, strategies) if self.attacked(i, strategies) else 0.0)
            for i, s in enumerate(strategies)
        ]

    def deviations(self, strategies):
        """Yield (record, form, strategies) for every change of one record's form.

        A form of -1 withholds the record.
        """
        for i, present in enumerate(strategies):
            for form in range(-1, len(self.forms)):
                if form != present:
                    yield i, form, [*strategies[:i], form, *strategies[i + 1 :]]

    def exchanges(self, strategies):
        """Yield, for every two records, their payoffs and whether neither is attacked.

        The arrays have shape (n + 1, n + 1): forms of the first record by forms of the second; the last form withholds.
        """
        n, forms = len(self.records), [*range(len(self.forms)), -1]
        entries = [row for record in self.records for row in self.rows_of(record)]
        starts = np.cumsum([0, *(len(self.rows_of(record)) for record in self.records)])[:-1]
        fits = np.array(
            [[[s >= 0 and self.reads_like(mine, me, s) for me in entries] for s in forms] for mine in self.records]
        )  # fmt: skip
        people = np.array([[self.people_that_fit(i, s) if s >= 0 else 1 for s in forms] for i in range(n)])
        benefit = np.array([[self.benefit[i] * self.utility(i, s) for s in forms] for i in range(n)])
        gain, cost, loss = np.array(self.gain), np.array(self.cost), np.array(self.loss)
        present = np.array(strategies)
        rows = fits[np.arange(n), present].sum(axis=0)
        for i, j in combinations(range(n), 2):
            others = rows - fits[i, present[i]] - fits[j, present[j]]
            shape = (len(forms), len(forms))
            number = np.minimum.reduceat(others + fits[i][:, None] + fits[j][None], starts, axis=-1)
            number = np.maximum(number, 1)
            form = np.tile(present, (*shape, 1))
            form[..., i], form[..., j] = np.array(forms)[:, None], np.array(forms)[None]
            size = number if self.direction == "person" else np.minimum(number, people[np.arange(n), form])
            attacked = (form >= 0) & (gain / size > cost * (1 + 1e-12))
            payoff = benefit[np.arange(n), form] - np.where(attacked, loss / size, 0.0)
            yield (i, j), payoff.sum(axis=-1), ~attacked.any(axis=-1)


@dataclass(frozen=True)
class PlainPeople(PlainRelease):
    """People with several rows in one form: a record is a tuple of rows' values."""

    def rows_of(self, record):
        return record

    def fewest_possible(self, strategies):
        """Return for each record how many people are possible for its row of which fewest are; inf if it is withheld.

        All assignments of the released rows to people are tried in which the rows of each person have one form.
        """
        people = range(len(self.records))
        rows = {
            (i, s): Counter((s, self.shown(row, s)) for row in self.records[i])
            for i in people
            for s in {*strategies} - {-1}
        }
        released = sum((rows[i, s] for i, s in enumerate(strategies) if s >= 0), Counter())

        @cache
        def completes(left, others):
            """Return whether rows can be assigned to people so that no row is left; people may be withheld."""
            remaining = Counter(dict(left))
            if not others:
                return not remaining
            first, *rest = others
            forms = [s for i, s in rows if i == first and rows[i, s] <= remaining]
            return any(completes(state(remaining - rows[first, s]), tuple(rest)) for s in forms) or (
                -1 in strategies and completes(left, tuple(rest))
            )

        def state(rows):
            return frozenset(rows.items())

        possible = {row: set() for row in released}
        for (i, _), own in rows.items():
            others = tuple(j for j in people if j != i)
            if own <= released and completes(state(released - own), others):
                for row in own:
                    possible[row].add(i)
        return [inf if s < 0 else min(len(possible[row]) for row in rows[i, s]) for i, s in enumerate(strategies)]


@dataclass(frozen=True)
class PlainLimited(PlainRelease):
    """Records with sensitive values and limits on them.

    A column is (value of each record, group of each value by level).
    """

    columns: tuple
    limits: object

    def within_limits(self, rows):
        """Return whether the values of some rows (not empty) are within all limits."""
        limits = self.limits
        for codes, levels in self.columns:
            values = [codes[j] for j in rows]
            if limits.l_diversity is not None and len(set(values)) < limits.l_diversity:
                return False
            largest = max(values.count(value) for value in values) / len(values)
            if limits.max_inference is not None and largest > limits.max_inference + 1e-9:
                return False
            distance = 0.0
            for level in levels:
                here, everywhere = [level[value] for value in values], [level[value] for value in codes]
                distance += sum(
                    abs(here.count(group) / len(here) - everywhere.count(group) / len(codes)) for group in set(level)
                )
            if limits.t_closeness is not None and distance / (2 * len(levels)) > limits.t_closeness + 1e-9:
                return False
        return True

    def within(self, strategies):
        """Return whether all rows' groups and all persons' rows are within limits."""
        for i, form in enumerate(strategies):
            if form < 0:
                continue
            me = self.records[i]
            group = [j for j, other in enumerate(self.records) if self.reads_like(other, me, form)]
            rows = [j for j, s in enumerate(strategies) if s >= 0 and self.reads_like(self.records[j], me, s)]
            if not self.within_limits(group) or not self.within_limits(rows):
                return False
        return True


class PlainDivisions:
    """Divisions of the records of a release, without tables of values."""

    def __init__(self, plain, *, no_attack):
        self.plain, self.no_attack = plain, no_attack
        self.best = cache(self._best)

    def parts(self, some, form):
        """Return the parts of some records that are connected by equal rows in a form."""
        parts = []
        for i in some:
            near = [part for part in parts if any(self.plain.touches(i, j, form) for j in part)]
            parts = [part for part in parts if part not in near] + [tuple(sorted(sum(near, (i,))))]
        return parts

    def highest(self, some=None, form=None):
        """Return the highest total payoff of some records whose parts in a form are divided, by default of all."""
        some = tuple(range(len(self.plain.records))) if some is None else some
        form = len(self.plain.forms) - 1 if form is None else form
        return sum(self.best(part, form) for part in self.parts(some, form))

    def _best(self, some, form):
        levels, uniform = self.plain.forms[form], [form] * len(self.plain.records)
        found = [-inf]
        if not (self.no_attack and any(self.plain.attacked(i, uniform) for i in some)):
            payoffs = self.plain.payoffs(uniform)
            found = [sum(payoffs[i] for i in some)]
        for at in [at for at, level in enumerate(levels) if level > 0]:
            below = self.plain.forms.index((*levels[:at], levels[at] - 1, *levels[at + 1 :]))
            found.append(self.highest(some, below))
        return max(found)
