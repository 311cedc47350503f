"""The sequential attack as a factored MDP, and its linear programs.

It follows sections 4 and 5.1 of Xia et al. 2015. There is a single program and a two-level program, as published. One
process plans for groups of several sizes, each equally likely before access: the values of linked groups do not depend
on these probabilities. The first group size with value 0 stands for all larger sizes in the Two-Level program. Backward
induction gives the same plans faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from reidsim.adversaries.factored_mdp import Action, FactoredMDP, State
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import ExploitValues, Sizes, exploit_values
from reidsim.core.errors import InputError

# Maximum number of states in all programs of an attack, about a minute of computation.
_MOST_STATES = 300_000
# Clusters of the group sizes up to this one have more states than `_MOST_STATES`, so a cut beyond it is of no use.
_MOST_SIZES = 400

TERMINATE, ACCESS, LINK, EXPLOIT = "terminate", "access", "link", "exploit"


def attack_process(attack: SequentialAttack, belief: Mapping[int, float], *, hits: bool = True) -> FactoredMDP:
    """Return the Markov decision process of an attack on one record.

    It has the actions of Table 2 and the variables of Table 1, in this order: ``x_t`` (the attack is over), ``x_d``
    (the last exploit was detected), ``x_p`` (number of penalties), ``x_s`` (an exploit hit), ``x_a`` (access was paid),
    ``x_l`` (the record is linked), ``x_g`` (group size) and ``x_r`` (people of the group not yet exploited). The gain,
    and with penalty timing "next-state" also the penalty, are rewards of the state after an exploit (Eq. 2). The
    adversary collects them one step later, with its next action, and X_p counts the penalty when the process leaves
    that state. With "at-action" timing, an exploit is charged its expected penalty, and X_p counts at once. X_p counts
    up to n_f; it stays 0 if the number of penalties paid does not affect later exploits.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    belief : mapping of int to float
        P(G_r), the adversary's probability of each group size before access.
    hits : bool
        Whether exploits can hit. False gives the attack on a record whose person is not in the registry.

    Returns
    -------
    FactoredMDP
        Its first action is to terminate, so the adversary stops if indifferent.
    """
    largest, binary = max(belief), (False, True)
    detection = attack.detection(largest + 1).tolist()
    counted = min(attack.max_penalties or 0, largest) if attack.counts_penalties else 0
    later, ends = attack.penalty_timing == "next-state", attack.detection_ends_attack
    outside = (1.0 - attack.prior) / attack.prior

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
        },
        {
            TERMINATE: Action({"x_t": True}),
            ACCESS: Action(
                {"x_a": True, "x_g": belief, "x_r": lambda next_x_g: next_x_g, "x_t": terminates},
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


def linked_state(group_size: int, exploits: int = 0) -> State:
    """Return the state of a linked group after some exploits without hit or detection.

    It is a tuple of the values of the variables of `attack_process`, in their order.
    """
    return (False, False, 0, False, True, True, group_size, group_size - exploits)


class AttackPrograms:
    """Values of linked groups by linear programs, kept by group size for later use.

    Parameters
    ----------
    attack : SequentialAttack
        Attack with solver "linear-program" or "two-level".
    """

    def __init__(self, attack: SequentialAttack) -> None:
        self._attack, self._states = attack, 0
        # Fields of `ExploitValues` by group size.
        self._linked: dict[int, tuple[float, float, float, float, int]] = {0: (0.0, 0.0, 0.0, 0.0, 0)}
        # Smallest group size with value 0, which stands for all larger sizes in the Two-Level program.
        table = exploit_values(attack, _MOST_SIZES) if attack.solver == "two-level" else None
        self._cut = table.largest if table is not None and table.complete else None

    def values(self, sizes: Sizes) -> ExploitValues:
        """Return the `ExploitValues` of linked groups of these sizes, in their shape.

        One program solves all sizes for which no value is kept yet.

        Raises
        ------
        InputError
            If the programs solved so far and this one have more than 300,000 states that are not terminal.
        """
        distinct, position = np.unique(
            np.minimum(sizes, np.inf if self._cut is None else self._cut), return_inverse=True
        )
        self._solve([size for size in distinct.astype(np.int64).tolist() if size not in self._linked])
        columns = np.array([self._linked[size] for size in distinct.tolist()]).reshape(-1, 5).T[:, position.ravel()]
        value, tries, expected, missing, exploits = columns.reshape(5, *sizes.shape)
        return ExploitValues(value, tries, expected, missing, exploits.astype(np.int64))

    def table(self, largest: int) -> ExploitValues:
        """Return the `ExploitValues` of groups of 0 to `largest` people, by size.

        With the solver "two-level", the table ends at the first size with value 0, if that is known and smaller.
        """
        return self.values(np.arange(min(largest, largest if self._cut is None else self._cut) + 1))

    def _solve(self, sizes: list[int]) -> None:
        """Solve one program for linked groups of new sizes, and keep their values.

        Raises
        ------
        InputError
            If the programs of the attack have too many states.
        """
        if not sizes:
            return
        self._count(sizes)
        belief = dict.fromkeys(sizes, 1.0 / len(sizes))
        solution = attack_process(self._attack, belief).solve(self._attack.solver)
        missing = attack_process(self._attack, belief, hits=False)
        for size in sizes:
            start, made = linked_state(size), 0
            while solution.policy.get(linked_state(size, made)) == EXPLOIT:
                made += 1
            self._linked[size] = (0.0, 0.0, 0.0, 0.0, 0)
            if made:
                hits, misses = solution.follow(start), missing.follow(solution.policy, start)
                columns = (solution.values[start], misses.uses[EXPLOIT], hits.uses[EXPLOIT], misses.value)
                self._linked[size] = (*columns, made)

    def _count(self, sizes: Iterable[int]) -> None:
        """Add the states of new group sizes that are not terminal to the number so far.

        Raises
        ------
        InputError
            If it exceeds 300,000.
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
    """Return the `AttackPrograms` of an attack, from a cache of the last 16 attacks."""
    return AttackPrograms(attack)
