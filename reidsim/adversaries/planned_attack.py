"""An adversary with an optimal policy of a factored Markov decision process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import numpy as np

from reidsim.adversaries.attempt import PlannedAttempt
from reidsim.adversaries.factored_mdp import FactoredMDP, Method, Solution
from reidsim.adversaries.response import Linkage, Response
from reidsim.adversaries.sequential.adversary import whole_candidates
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Rows

__all__ = ["FactoredMDPAdversary"]


class FactoredMDPAdversary:
    """Adversary who attacks each record by a user-defined `FactoredMDP`.

    The adversary plans with the believed group size. It attacks if the optimal policy starts with an action other than
    the first one, which means no attack. The outcome is computed with the true group size: the adversary follows its
    plan, and takes the first action if the plan contains no possible action. A record is not attacked if its believed
    group size is 0 or only one action is allowed at the start. Each group size is solved once.

    Parameters
    ----------
    attack : function of int
        Returns the process for a group size. The group size is 0 if the adversary believes in a match but there is
        none. The start of the process must not depend on the group size.
    success : function
        Returns whether the right person was found, given variables of the process.
    gain : float
        Payoff of a success less payoff of a failure, in currency units per record.
    exploit : str or iterable of str
        Actions that act against one person each; their expected number is reported.
    method : {"backward-induction", "linear-program", "two-level"}
        Solution method; see `FactoredMDP.solve`.
    """

    decides_on = frozenset({"believed_group_sizes"})

    def __init__(
        self,
        attack: Callable[[int], FactoredMDP],
        *,
        success: Callable[..., Any],
        gain: float,
        exploit: str | Iterable[str] = "exploit",
        method: Method = "backward-induction",
    ) -> None:
        if not isfinite(gain):
            raise InputError("value out of range", where="gain", found=gain, expected="a finite amount")
        self.attack = attack
        self.success = success
        self.gain = float(gain)
        self.exploit = (exploit,) if isinstance(exploit, str) else tuple(exploit)
        self.method: Method = method
        self._solutions: dict[int, Solution] = {}
        self._outcomes: dict[tuple[int, int], tuple[float, ...]] = {}

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return self.weigh(linkage, rows).made()

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> PlannedAttempt:
        """Return the attack on each record with its expected payoff; see `Weighing`."""
        sizes = (whole_candidates(linkage.believed_group_sizes), whole_candidates(linkage.group_sizes))
        pairs, position = np.unique(np.stack(sizes), axis=1, return_inverse=True)
        outcomes = np.array([self._outcome(int(believed), int(true)) for believed, true in pairs.T]).reshape(-1, 6)
        pays, worth, believed_success, success, payoff, exploits = outcomes[position.ravel()].T
        return PlannedAttempt(
            success=success,
            believed_success=believed_success,
            worth=worth,
            payoff=payoff,
            pays=pays > 0,
            exploits=exploits,
            gain=self.gain,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copying and pickling, without solutions.

        Solutions can contain unnamed functions, which cannot be pickled.
        """
        return {**vars(self), "_solutions": {}, "_outcomes": {}}

    def plan(self, group_size: int) -> Solution:
        """Return the optimal policy and its values for a group size.

        Raises
        ------
        InputError
            If `attack` fails or does not return a `FactoredMDP`, or the process cannot be solved.
        """
        if group_size not in self._solutions:
            self._solutions[group_size] = self._process(group_size).solve(self.method)
        return self._solutions[group_size]

    def _process(self, group_size: int) -> FactoredMDP:
        try:
            process = self.attack(group_size)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            problem = f"function failed: {type(error).__name__}: {error}"
            raise InputError(problem, where="attack", found=group_size, expected="a FactoredMDP") from error
        if not isinstance(process, FactoredMDP):
            raise InputError("the attack is not a process", where="attack", found=process, expected="a FactoredMDP")
        return process

    def _outcome(self, believed: int, true: int) -> tuple[float, ...]:
        """Return the outcome of an attack, given the believed and the true group size.

        The six numbers are: whether the attack is profitable; the believed payoff of the best first action that is an
        attack, less the payoff of no attack; believed and true success probability; true payoff; and true expected
        number of exploits. All are 0 if no attack is possible.
        """
        if believed == 0:
            return (0.0,) * 6
        if (believed, true) not in self._outcomes:
            plan = self.plan(believed)
            start, (nothing, *others) = plan.starts[0], plan.process.allowed(plan.starts[0])
            if not others:
                return (0.0,) * 6
            best = max(others, key=plan.action_value)
            # The plan of an attack is needed also if the attack is unprofitable: an adversary who errs may make it.
            policy = plan.policy | {start: best}
            pays = plan.policy[start] != nothing
            worth = plan.action_value(best) - plan.action_value(nothing)
            process = plan.process
            if true != believed:
                process = self._process(true)
                if process.start not in policy:
                    raise InputError(
                        "the start state depends on the group size",
                        where="attack",
                        found=process.named(process.start),
                        expected="a start state independent of the group size",
                    )
            hoped, success = (each.probability(self.success, policy) for each in (plan.process, process))
            followed = process.follow(policy)
            exploits = sum(followed.uses.get(name, 0.0) for name in self.exploit)
            self._outcomes[believed, true] = (float(pays), worth, hoped, success, followed.value, exploits)
        return self._outcomes[believed, true]
