"""The Two-Level linear program of Xia et al. 2015 (section 5.1): linked groups first, the rest on top of them."""

from __future__ import annotations

from collections.abc import Mapping

from reidsim.adversaries.sequential.attack import SequentialAttack
from sequential_programs.attack_process import OUTSET, attack_process, linked_state
from sequential_programs.factored_mdp import State, expand
from sequential_programs.linear_program import solve_linear_program

_ACCESSED, _LINKED, _GROUP_SIZE = 4, 5, 6


def solve_plain(attack: SequentialAttack, belief: Mapping[int, float]) -> float:
    """Return V(x_0) from one linear program over all states that can be reached."""
    mdp = expand(attack_process(attack, belief), [OUTSET])
    return float(solve_linear_program(mdp)[0])


class TwoLevelProgram:
    """Solves many beliefs under one attack, keeping the worth of linked groups between them.

    The states below a linked group form a cluster that nothing leaves, so each is a small program of its own; its
    first state's worth then stands for it in the program of the remaining states. Clusters are solved by growing group
    size, up to the first that is worth nothing (larger ones are pruned), and kept.

    Parameters
    ----------
    attack : SequentialAttack
    """

    def __init__(self, attack: SequentialAttack) -> None:
        self._attack = attack
        self._worth = [0.0]
        self._cut = False

    def linked_worth(self, group_size: int) -> float:
        """Return V(x_start) of a group size."""
        while len(self._worth) <= group_size and not self._cut:
            size = len(self._worth)
            mdp = expand(attack_process(self._attack, {size: 1.0}), [linked_state(size)])
            worth = float(solve_linear_program(mdp)[0])
            # The solver leaves a worthless group at a rounding error above or below 0.
            self._cut = worth <= 1e-9 * self._attack.gain
            self._worth.append(0.0 if self._cut else worth)
        return self._worth[group_size] if group_size < len(self._worth) else 0.0

    def solve(self, belief: Mapping[int, float]) -> float:
        """Return V(x_0) under a belief on the group size."""

        def known(state: State) -> float | None:
            return self.linked_worth(state[_GROUP_SIZE]) if state[_ACCESSED] and state[_LINKED] else None

        mdp = expand(attack_process(self._attack, belief), [OUTSET], known)
        return float(solve_linear_program(mdp)[0])
