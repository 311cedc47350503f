"""The policy with the highest publisher payoff at each loss.

Every policy is solved again at every loss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reidsim.engine.switch.amounts import LOSS, Amounts
from reidsim.engine.switch.envelope import SAME
from reidsim.errors import InputError, locating
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.report_sentences import gain_goes_with_loss
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress

# Losses at which the game is solved, as multiples of the scenario's loss.
TIMES_OWN = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# Bisection stops when the losses around a change of the best policy have at most this ratio. The reported loss is
# their geometric mean, so its error is at most about 1 %.
PRECISION = 1.02


class BestAt(NamedTuple):
    """A range of losses in which one policy has the highest payoff.

    Losses are in currency units. The first range begins at 0 and the last one ends at infinity, although no game was
    solved beyond `BreakEven.tried`.
    """

    low: float
    high: float
    policy: str


@dataclass(frozen=True)
class BreakEven:
    """The policy with the highest publisher payoff at each loss.

    Parameters
    ----------
    own : float
        The scenario's loss per re-identified record, in currency units.
    gain : float or None
        The adversary's gain at all losses, in currency units; None if the gain is set equal to each loss.
    payoffs : mapping of float to mapping of str to float
        Publisher's payoff per record by loss (ascending) and policy. Policies are planned again at each loss.
    best : tuple of BestAt
        Ranges in ascending order of the loss. If several policies have the same payoff, the policy with the lowest
        risk counts as best; if risks are equal, too, the first one in the scenario.
    """

    own: float
    gain: float | None
    payoffs: Mapping[float, Mapping[str, float]]
    best: tuple[BestAt, ...]

    @property
    def tried(self) -> tuple[float, float]:
        """The lowest and the highest loss at which the game was solved."""
        return min(self.payoffs), max(self.payoffs)

    def of(self, policy: str) -> tuple[BestAt, ...]:
        """Return the ranges of losses in which a policy is the best."""
        return tuple(each for each in self.best if each.policy == policy)


def break_even(loaded: Scenario[ScenarioHead], *, progress: Progress | None = None) -> BreakEven:
    """Return the best policy at losses from 0.1 to 50 times the scenario's loss.

    The game is solved at the losses `TIMES_OWN`. Changes of the best policy between neighbouring losses are located by
    bisection; a policy that is best only in between may be missed. If the scenario does not state the adversary's gain,
    the gain is set equal to the loss, as in a run. Policies whose payoffs belong to another game
    (`Policy.in_another_game`) are not compared.

    Parameters
    ----------
    loaded : Scenario
    progress : callable, optional
        Called with the task name, the number of solved losses and their expected number.

    Returns
    -------
    BreakEven

    Raises
    ------
    InputError
        If a file of the scenario cannot be used, or the loss is 0 or differs between records.
    """
    kind = kind_of(loaded.scenario)
    with locating(loaded.path):
        amounts = Amounts(kind.build(loaded), LOSS, link_gain=gain_goes_with_loss(loaded.content, (LOSS,)))
        if amounts.own <= 0:
            raise InputError("the loss is not above 0", where=LOSS, found=amounts.own, expected="more than 0")
        compared = [name for name in amounts.policies if not kind.policy(name).in_another_game]
        payoffs: dict[float, dict[str, float]] = {}
        best: dict[float, str] = {}

        def solve(loss: float) -> None:
            planned = amounts.at(loss, compared)
            payoffs[loss] = dict(planned.payoffs)
            tie = max(planned.payoffs.values()) - SAME * amounts.scale(loss)
            tied = [name for name in compared if planned.payoffs[name] >= tie]
            best[loss] = min(tied, key=lambda name: planned.risks[name])
            if progress is not None:
                progress("break-even", len(payoffs), max(len(payoffs), len(TIMES_OWN)))

        def halve(low: float, high: float) -> None:
            if best[low] != best[high] and high / low > PRECISION:
                middle = math.sqrt(low * high)
                solve(middle)
                halve(low, middle)
                halve(middle, high)

        for times in TIMES_OWN:
            solve(times * amounts.own)
        for low, high in itertools.pairwise(sorted(payoffs)):
            halve(low, high)
        gain = None if amounts.link_gain else amounts.gain_and_cost(amounts.own)[0]
    ordered = {loss: payoffs[loss] for loss in sorted(payoffs)}
    return BreakEven(amounts.own, gain, ordered, _stretches([(loss, best[loss]) for loss in ordered]))


def _stretches(best: Sequence[tuple[float, str]]) -> tuple[BestAt, ...]:
    """Merge neighbouring losses with the same best policy into ranges.

    `best` holds pairs of loss and best policy, in ascending order. A change of the policy is placed at the geometric
    mean of the two losses around it.
    """
    groups = [list(each) for _, each in itertools.groupby(best, key=lambda point: point[1])]
    ends = [0.0, *(math.sqrt(one[-1][0] * two[0][0]) for one, two in itertools.pairwise(groups)), math.inf]
    return tuple(
        BestAt(low, high, group[0][1]) for (low, high), group in zip(itertools.pairwise(ends), groups, strict=True)
    )
