"""Linear programs that plan the sequential attack (Xia et al. 2015, 5.1).

There is a single program and a two-level program, as published. One process plans for many records: their beliefs
differ, but all states after access are shared. The Two-Level program omits the first group size with value 0 and all
larger sizes. Backward induction gives the same plans faster.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.factored_mdp import Solution
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.attack_process import (
    ACCESS,
    EXPLOIT,
    Belief,
    attack_process,
    initial_state,
    linked_state,
)
from reidsim.adversaries.sequential.exploit_values import ExploitValues, exploit_values
from reidsim.errors import InputError

if TYPE_CHECKING:
    from reidsim.adversaries.sequential.planning import BinomialBelief

Floats = NDArray[np.float64]
Sizes = NDArray[np.int64]

# Maximum number of states in all programs of an attack, about a minute of computation.
_MOST_STATES = 300_000
# Clusters of the group sizes up to this one have more states than `_MOST_STATES`, so a cut beyond it is of no use.
_MOST_SIZES = 400
# Group sizes with a lower probability change no value in double precision.
_NEGLIGIBLE = 1e-16


class AttackPrograms:
    """Plans of an attack by linear programs, cached for later records.

    Parameters
    ----------
    attack : SequentialAttack
        Attack with solver "linear-program" or "two-level".
    """

    def __init__(self, attack: SequentialAttack) -> None:
        self._attack = attack
        self._states = 0
        # Columns of `ExploitValues` by group size, and the value of access by group size or binomial belief.
        self._linked: dict[int, tuple[float, float, float, int, float]] = {0: (0.0, 0.0, 0.0, 0, 0.0)}
        self._access: dict[Hashable, float] = {}
        # Smallest group size with value 0, which ends the Two-Level program.
        self._cut: int | None = None
        if attack.solver == "two-level":
            table = exploit_values(attack, _MOST_SIZES)
            self._cut = table.largest if table.complete else None

    def values(self, sizes: Sizes) -> ExploitValues:
        """Return a table with the values of linked groups of the given sizes.

        Entries for sizes that were never solved are NaN, or 0 in `exploits_undetected`.
        """
        # The clusters of the Two-Level program are solved once for all records.
        whole_range = self._attack.solver == "two-level" and sizes.size > 0
        self.known_access(np.arange(sizes.max() + 1) if whole_range else sizes)
        table = np.full((5, max(self._linked) + 1), np.nan)
        for size, columns in self._linked.items():
            table[:, size] = columns
        value, tries, exploits, undetected, missing = table
        whole = np.where(np.isnan(undetected), 0, undetected).astype(np.int64)
        return ExploitValues(value, tries, exploits, whole, missing, self._cut is not None)

    def known_access(self, sizes: Sizes) -> Floats:
        """Return the value of access for known group sizes, same shape as `sizes`.

        It is the expected payoff net of the cost of access, which can be below 0.
        """
        within = sizes if self._cut is None else np.minimum(sizes, self._cut)
        distinct, position = np.unique(within, return_inverse=True)
        keys = distinct.tolist()
        return self._solve(keys, [{size: 1.0} for size in keys])[position].reshape(sizes.shape)

    def unknown_access(self, belief: BinomialBelief) -> Floats:
        """Return the value of access for binomial group sizes (Eq. 6).

        The result has the shape of the belief's probabilities. It is net of the cost of access and can be below 0.
        """
        n, share = belief.registry_size, np.asarray(belief.match_probability, dtype=np.float64)
        distinct, position = np.unique(share, return_inverse=True)
        beliefs = [self._belief(n, p) for p in distinct.tolist()]
        return self._solve([(n, p) for p in distinct.tolist()], beliefs)[position].reshape(share.shape)

    def _belief(self, n: int, p: float) -> Belief:
        """Return a binomial distribution of group sizes.

        Sizes beyond the cut are replaced by the cut, which also has value 0.
        """
        spread = 12.0 * np.sqrt(n * p) + 60.0
        sizes = np.arange(max(0, int(n * p - spread)), int(min(n, n * p + spread)) + 1)
        if self._cut is not None:
            sizes = sizes[sizes < self._cut]
        weights = scipy.stats.binom.pmf(sizes, n, p)
        belief = {int(k): float(w) for k, w in zip(sizes, weights, strict=True) if w > _NEGLIGIBLE}
        return belief if self._cut is None else belief | {self._cut: max(0.0, 1.0 - sum(belief.values()))}

    def _solve(self, keys: Sequence[Hashable], beliefs: Sequence[Belief]) -> Floats:
        """Return the value of access under each belief; one program solves all new ones."""
        new = [at for at, key in enumerate(keys) if key not in self._access]
        if new:
            fresh = [beliefs[at] for at in new]
            sizes = {size for belief in fresh for size in belief}
            known = self._linked.keys() & sizes if self._attack.solver == "two-level" else set()
            self._count(sizes - known)
            starts = [initial_state(number) for number in range(len(fresh))]
            values = {linked_state(size): self._linked[size][0] for size in known}
            # If all clusters are solved already, a single program remains.
            method = self._attack.solver if sizes - known else "linear-program"
            solution = attack_process(self._attack, fresh).solve(method, starts=starts, known=values)
            self._record(sorted(sizes - self._linked.keys()), solution)
            for at, start in zip(new, starts, strict=True):
                self._access[keys[at]] = solution.action_value(ACCESS, start)
        return np.array([self._access[key] for key in keys])

    def _record(self, sizes: list[int], solution: Solution) -> None:
        """Cache the values of linked groups under an optimal policy."""
        missing = attack_process(self._attack, largest=max(sizes, default=0), hits=False)
        for size in sizes:
            start = linked_state(size)
            if solution.policy.get(start) != EXPLOIT:
                self._linked[size] = (0.0, 0.0, 0.0, 0, 0.0)
                continue
            hits, misses = solution.follow(start), missing.follow(solution.policy, start)
            made, state = 0, start
            while solution.policy.get(state) == EXPLOIT:
                made, state = made + 1, (*start[:7], size - made - 1, *start[8:])
            self._linked[size] = (solution.values[start], misses.uses[EXPLOIT], hits.uses[EXPLOIT], made, misses.value)

    def _count(self, sizes: Collection[int]) -> None:
        """Raise InputError if programs for these group sizes would take too long.

        The criterion is the number of non-terminal states.
        """
        attack = self._attack
        limit = attack.max_penalties if attack.counts_penalties and attack.max_penalties is not None else 0
        self._states += sum(3 + 4 * size * (1 + min(limit, size)) for size in sizes)
        if self._states > _MOST_STATES:
            more = "" if attack.solver == "two-level" else ", or two-level, which leaves out unprofitable group sizes"
            raise InputError(
                "the linear programs have too many states",
                where="sequential.solver",
                found=self._states,
                expected=f"at most {_MOST_STATES:,}",
                hint=f"use backward-induction, which has no such limit{more}",
            )


@lru_cache(maxsize=16)
def attack_programs(attack: SequentialAttack) -> AttackPrograms:
    """Return the programs of an attack from a cache."""
    return AttackPrograms(attack)
