"""The sequential attack as a factored MDP, and its linear programs (Xia et al. 2015, 4 and 5.1).

There is a single program and a two-level program, as published. One process plans for many records: their beliefs
differ, but all states after access are shared. The Two-Level program omits the first group size with value 0 and all
larger sizes. Backward induction gives the same plans faster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.factored_mdp import Action, FactoredMDP, Solution, State
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import ExploitValues, Floats, Sizes, exploit_values
from reidsim.errors import InputError

if TYPE_CHECKING:
    from reidsim.adversaries.sequential.planning import BinomialBelief

# Maximum number of states in all programs of an attack, about a minute of computation.
_MOST_STATES = 300_000
# Clusters of the group sizes up to this one have more states than `_MOST_STATES`, so a cut beyond it is of no use.
_MOST_SIZES = 400
# Group sizes with a lower probability change no value in double precision.
_NEGLIGIBLE = 1e-16

TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"

Belief = Mapping[int, float]


def attack_process(
    attack: SequentialAttack, beliefs: Sequence[Belief] = (), *, largest: int = 0, hits: bool = True
) -> FactoredMDP:
    """Return the Markov decision process of an attack on one record.

    It has the actions of Table 2 and the variables of Table 1, in this order: ``x_t`` (the attack is over), ``x_d``
    (the last exploit was detected), ``x_p`` (number of penalties), ``x_s`` (an exploit hit), ``x_a`` (access was paid),
    ``x_l`` (the record is linked), ``x_g`` (group size) and ``x_r`` (people of the group not yet exploited). The gain,
    and with penalty timing "next-state" also the penalty, are rewards of the state after an exploit (Eq. 2). The
    adversary collects them one step later, with its next action, and X_p counts the penalty when the process leaves
    that state. With "at-action" timing, an exploit is charged its expected penalty, and X_p counts at once. X_p counts
    up to n_f; it stays 0 if the number of penalties paid does not affect later exploits.

    One variable is added: ``x_b`` is the number of the adversary's belief P(G_r) before access, and 0 afterwards. One
    process can thus plan for many records, which share all states after access.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    beliefs : sequence of mapping of int to float
        The adversary's probability of each group size before access, one mapping for each initial state.
    largest : int
        Largest group size of the variables; used only without beliefs, which have their own largest size.
    hits : bool
        Whether exploits can hit. False gives the attack on a record whose person is not in the registry.

    Returns
    -------
    FactoredMDP
        Its first action is to terminate, so the adversary stops if indifferent.
    """
    largest = max((size for belief in beliefs for size in belief), default=largest)
    detection = attack.detection(largest + 1).tolist()
    counted = min(attack.max_penalties or 0, largest) if attack.counts_penalties else 0
    later = attack.penalty_timing == "next-state"
    ends = attack.detection_ends_attack
    outside = (1.0 - attack.prior) / attack.prior
    binary = (False, True)

    def either(probability: float) -> dict[bool, float]:
        return {True: probability, False: 1.0 - probability}

    def terminates(x_t: bool, x_s: bool, x_l: bool, x_r: int, x_d: bool) -> bool:
        return x_t or x_s or (x_l and x_r == 0) or (x_d and ends)

    def fine(x_p: int) -> float:
        return -attack.penalty if counted == 0 or x_p < counted else 0.0

    def count_later(x_p: int, x_d: bool) -> int:
        return min(x_p + x_d, counted)

    def count_at_once(x_p: int, next_x_d: bool) -> int:
        return min(x_p + next_x_d, counted)

    return FactoredMDP(
        {
            "x_t": binary,
            "x_d": binary,
            "x_p": range(counted + 1),
            "x_s": binary,
            "x_a": binary,
            "x_l": binary,
            "x_g": range(largest + 1),
            "x_r": range(largest + 1),
            "x_b": range(max(len(beliefs), 1)),
        },
        {
            TERMINATE: Action({"x_t": True}),
            ACCESS: Action(
                {
                    "x_a": True,
                    "x_g": lambda x_b: beliefs[x_b],
                    "x_r": lambda next_x_g: next_x_g,
                    "x_b": 0,
                    "x_t": terminates,
                },
                reward=-attack.access_cost,
                allowed=lambda x_s, x_a: not (x_s or x_a),
            ),
            LINK: Action(
                {"x_l": True, "x_t": terminates},
                reward=-attack.link_cost,
                allowed=lambda x_s, x_a, x_l: x_a and not (x_s or x_l),
            ),
            EXPLOIT: Action(
                {
                    "x_s": lambda x_g, x_r: either(1.0 / (outside * x_g + x_r) if hits else 0.0),  # Eq. 3
                    "x_d": lambda x_g, x_r: either(detection[x_g - x_r]),  # Eq. 4
                    "x_p": count_later if later else count_at_once,
                    "x_r": lambda x_r: x_r - 1,
                    "x_t": terminates,
                },
                reward=(
                    -attack.exploit_cost,
                    lambda x_p, x_g, x_r: 0.0 if later else fine(x_p) * detection[x_g - x_r],
                ),
                allowed=lambda x_s, x_l, x_r, x_d: x_l and x_r > 0 and not (x_s or (x_d and ends)),
            ),
        },
        rewards=(lambda x_s: attack.gain * x_s, lambda x_d, x_p: fine(x_p) if later and x_d else 0.0),
        terminal=lambda x_t: x_t,
        discount=attack.discount,
    )


def linked_state(group_size: int) -> State:
    """Return x_start of a group: the record is linked, and no exploit was made yet."""
    return (False, False, 0, False, True, True, group_size, group_size, 0)


def initial_state(belief: int) -> State:
    """Return x_0, the state before access, for the belief with this number."""
    return (False, False, 0, False, False, False, 0, 0, belief)


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
        self._linked: dict[int, tuple[float, float, float, float, int]] = {0: (0.0, 0.0, 0.0, 0.0, 0)}
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
        table[:, list(self._linked)] = np.array(list(self._linked.values())).T
        value, tries, expected, missing, exploits = table
        whole = np.nan_to_num(exploits).astype(np.int64)
        return ExploitValues(value, tries, expected, missing, whole, self._cut is not None)

    def known_access(self, sizes: Sizes) -> Floats:
        """Return the value of access for known group sizes, same shape as `sizes`.

        It is the expected payoff net of the cost of access, which can be below 0.
        """
        within = sizes if self._cut is None else np.minimum(sizes, self._cut)
        return self._solve(within, lambda size: size, lambda size: {size: 1.0})

    def unknown_access(self, belief: BinomialBelief) -> Floats:
        """Return the value of access for binomial group sizes (Eq. 6).

        The result has the shape of the belief's probabilities. It is net of the cost of access and can be below 0.
        """
        n, share = belief.registry_size, np.asarray(belief.match_probability, dtype=np.float64)
        return self._solve(share, lambda p: (n, p), lambda p: self._belief(n, p))

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

    def _solve(self, items: NDArray[Any], key: Callable[[Any], Hashable], belief: Callable[[Any], Belief]) -> Floats:
        """Return the value of access for each item, same shape; one program solves all new ones.

        Each item has a key in the cache and a belief about group sizes.
        """
        distinct, position = np.unique(items, return_inverse=True)
        new = [item for item in distinct.tolist() if key(item) not in self._access]
        if new:
            beliefs = [belief(item) for item in new]
            sizes = {size for each in beliefs for size in each}
            known = self._linked.keys() & sizes if self._attack.solver == "two-level" else set()
            self._count(sizes - known)
            starts = [initial_state(number) for number in range(len(new))]
            values = {linked_state(size): self._linked[size][0] for size in known}
            # If all clusters are solved already, a single program remains.
            method = self._attack.solver if sizes - known else "linear-program"
            solution = attack_process(self._attack, beliefs).solve(method, starts=starts, known=values)
            self._record(sorted(sizes - self._linked.keys()), solution)
            self._access |= {key(item): solution.action_value(ACCESS, at) for item, at in zip(new, starts, strict=True)}
        return np.array([self._access[key(item)] for item in distinct.tolist()])[position].reshape(items.shape)

    def _record(self, sizes: list[int], solution: Solution) -> None:
        """Cache the values of linked groups under an optimal policy."""
        missing = attack_process(self._attack, largest=max(sizes, default=0), hits=False)
        for size in sizes:
            start = linked_state(size)
            if solution.policy.get(start) != EXPLOIT:
                self._linked[size] = (0.0, 0.0, 0.0, 0.0, 0)
                continue
            hits, misses = solution.follow(start), missing.follow(solution.policy, start)
            made, state = 0, start
            while solution.policy.get(state) == EXPLOIT:
                made, state = made + 1, (*start[:7], size - made - 1, *start[8:])
            self._linked[size] = (solution.values[start], misses.uses[EXPLOIT], hits.uses[EXPLOIT], misses.value, made)

    def _count(self, sizes: Collection[int]) -> None:
        """Raise InputError if programs for these group sizes would take too long.

        The criterion is the number of non-terminal states.
        """
        attack = self._attack
        limit = (attack.max_penalties or 0) if attack.counts_penalties else 0
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
