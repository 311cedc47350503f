"""The paper's own planners of the sequential attack: one linear program, and the Two-Level program (section 5.1).

Both plan for many records at once, as their beliefs differ and what follows access does not. The linear program has a
variable for every state that can be reached. The Two-Level program solves the sink cluster of each group size on its
own, by growing size and up to the first whose x_start is worth nothing (all larger ones are pruned), keeps the values
for other records, and solves a program of the remaining states. Backward induction gives the same plans faster.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.factored_mdp import Solution, State
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

# States of all programs of one attack that are solved: about a minute.
_MOST_STATES = 300_000
# The clusters of this many group sizes have more states than that.
_MOST_SIZES = 400
# A group size that is less likely than this changes no value that double precision holds.
_NEGLIGIBLE = 1e-16


class AttackPrograms:
    """Plans of one attack by linear programs, kept for later records.

    Parameters
    ----------
    attack : SequentialAttack
        With solver "linear-program" or "two-level".
    """

    def __init__(self, attack: SequentialAttack) -> None:
        self._attack = attack
        self._two_level = attack.solver == "two-level"
        # Columns of `ExploitValues` by group size, and the value of access if the group size is known.
        self._linked: dict[int, tuple[float, float, float, int, float]] = {0: (0.0, 0.0, 0.0, 0, 0.0)}
        self._access: dict[int, float] = {}
        self._unknown: dict[tuple[int, float], float] = {}
        # Smallest group size that is worth nothing, where the Two-Level program has met it.
        self._cut: int | None = None
        self._states = 0

    def values(self, sizes: Sizes) -> ExploitValues:
        """Return the values of linked groups of these sizes; other entries of the table are missing."""
        self._plan(sizes)
        table = np.full((5, max(self._linked) + 1), np.nan)
        for size, columns in self._linked.items():
            table[:, size] = columns
        value, tries, exploits, undetected, missing = table
        whole = np.where(np.isnan(undetected), 0, undetected).astype(np.int64)
        return ExploitValues(value, tries, exploits, whole, missing, self._cut is not None)

    def known_access(self, sizes: Sizes) -> Floats:
        """Return what access is worth where the group size is known, same shape as `sizes`."""
        self._plan(sizes)
        within = sizes if self._cut is None else np.minimum(sizes, self._cut)
        if self._two_level:
            fresh = sorted(set(np.unique(within).tolist()) - self._access.keys())
            self._access |= zip(fresh, self._solve([{size: 1.0} for size in fresh]), strict=True)
        distinct, position = np.unique(within, return_inverse=True)
        return np.array([self._access[size] for size in distinct.tolist()])[position].reshape(sizes.shape)

    def unknown_access(self, belief: BinomialBelief) -> Floats:
        """Return what access is worth where the group size is binomial (Eq. 6), same shape as the probabilities."""
        n, share = belief.registry_size, np.asarray(belief.match_probability, dtype=np.float64)
        distinct, position = np.unique(share, return_inverse=True)
        fresh = [p for p in distinct.tolist() if (n, p) not in self._unknown]
        supports = [_likely_sizes(n, p) for p in fresh]
        if self._two_level and supports:
            self._plan(np.array([sizes[-1] for sizes in supports]))
        beliefs = [self._belief(sizes, n, p) for sizes, p in zip(supports, fresh, strict=True)]
        self._unknown |= zip([(n, p) for p in fresh], self._solve(beliefs), strict=True)
        return np.array([self._unknown[n, p] for p in distinct.tolist()])[position].reshape(share.shape)

    def _belief(self, sizes: Sizes, n: int, p: float) -> Belief:
        """Return a binomial distribution; sizes beyond the cut count as the cut, which is worth as much: nothing."""
        if self._cut is not None:
            sizes = sizes[sizes < self._cut]
        weights = scipy.stats.binom.pmf(sizes, n, p)
        belief = {int(k): float(w) for k, w in zip(sizes, weights, strict=True) if w > _NEGLIGIBLE}
        return belief if self._cut is None else belief | {self._cut: max(0.0, 1.0 - sum(belief.values()))}

    def _plan(self, sizes: Sizes) -> None:
        """Solve the sink clusters of these group sizes, unless they were."""
        wanted = set(np.unique(sizes).tolist())
        if not self._two_level:
            fresh = sorted(wanted - self._access.keys())
            self._access |= zip(fresh, self._solve([{size: 1.0} for size in fresh]), strict=True)
            return
        largest = max(wanted, default=0)
        if self._cut is None and len(self._linked) <= largest:
            # Backward induction says at once where the program will end, so that none is begun that takes too long.
            table = exploit_values(self._attack, min(largest, _MOST_SIZES))
            self._count(range(len(self._linked), table.largest + 1))
        while self._cut is None and len(self._linked) <= largest:
            size = len(self._linked)
            process = attack_process(self._attack, largest=size)
            self._record([size], process.solve("linear-program", starts=[linked_state(size)]))
            # V(x_start) never rises with the group size (see `exploit_values`), so larger ones are worth nothing, too.
            if self._linked[size][0] <= self._attack.indifference:
                self._cut = size

    def _solve(self, beliefs: list[Belief]) -> list[float]:
        """Return the value of access under each of these beliefs, from one program of all initial states."""
        if not beliefs:
            return []
        sizes = sorted({size for belief in beliefs for size in belief})
        known: dict[State, float] | None = None
        if self._two_level:
            known = {linked_state(size): self._linked[size][0] for size in sizes}
        else:
            self._count(sizes)
        starts = [initial_state(number) for number in range(len(beliefs))]
        solution = attack_process(self._attack, beliefs).solve("linear-program", starts=starts, known=known)
        if not self._two_level:
            self._record([size for size in sizes if size not in self._linked], solution)
        return [solution.action_value(ACCESS, start) for start in starts]

    def _record(self, sizes: list[int], solution: Solution) -> None:
        """Keep what follows in each linked group from an optimal policy."""
        missing = attack_process(self._attack, largest=max(sizes, default=0), hits=False)
        for size in sizes:
            start = linked_state(size)
            if solution.policy[start] != EXPLOIT:
                self._linked[size] = (0.0, 0.0, 0.0, 0, 0.0)
                continue
            followed, never = solution.follow(start), missing.follow(solution.policy, start)
            made, state = 0, start
            while solution.policy.get(state) == EXPLOIT:
                made, state = made + 1, (*start[:7], size - made - 1, *start[8:])
            self._linked[size] = (
                solution.values[start], never.uses[EXPLOIT], followed.uses[EXPLOIT], made, never.value,
            )  # fmt: skip

    def _count(self, sizes: Iterable[int]) -> None:
        """Refuse programs that would take too long; counts the states of these groups that are not terminal.

        Raises
        ------
        InputError
        """
        attack = self._attack
        limit = attack.max_penalties if attack.counts_penalties and attack.max_penalties is not None else 0
        self._states += sum(3 + 4 * size * (1 + min(limit, size)) for size in sizes)
        if self._states > _MOST_STATES:
            raise InputError(
                "linear programs of too many states", where="sequential.solver", found=self._states,
                expected=f"at most {_MOST_STATES:,}", hint="backward-induction has no such limit"
                + ("" if self._two_level else ", and two-level leaves out groups too large to attack"),
            )  # fmt: skip


def _likely_sizes(n: int, p: float) -> Sizes:
    """Return the group sizes that are not too unlikely to matter, ascending."""
    spread = 12.0 * np.sqrt(n * p) + 60.0
    return np.arange(max(0, int(n * p - spread)), int(min(n, n * p + spread)) + 1)


@lru_cache(maxsize=16)
def attack_programs(attack: SequentialAttack) -> AttackPrograms:
    """Return the programs of an attack, which are kept."""
    return AttackPrograms(attack)
