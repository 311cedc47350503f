"""Payoffs of a scenario's policies as one payoff parameter changes, and the break-even losses of policies.

The parameter is benefit, loss, gain or cost. The publisher's plan, made at one value of the parameter, can also be
evaluated at another value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reidsim.engine.batch.design import at_point
from reidsim.errors import InputError, locating, not_among
from reidsim.games.measures import PUBLISHER_PAYOFF, averages
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.report_sentences import gain_goes_with_loss
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
from reidsim.scenarios.study import Progress, Study

LOSS, GAIN = "economics.loss", "economics.gain"
KEYS = ("economics.benefit", LOSS, GAIN, "economics.cost")
# Payoffs of policies that differ by less than this fraction of benefit plus loss count as equal. It is larger than the
# tolerance of solvers, so that equally good plans are not ranked by rounding errors.
SAME = 1e-10


class PlannedAt(NamedTuple):
    """Plans of policies at one value of the payoff parameter, and their outcomes.

    Attributes
    ----------
    amount : float
        Value of the payoff parameter, in currency units.
    plans : dict of str to object
        Plan of each policy, by policy name; made under the publisher's beliefs, and used by `Amounts.outcomes_at`.
    outcomes : dict of str to dict of str to float
        Mean measures per record under the true parameters, by policy name and measure; see `averages`.
    """

    amount: float
    plans: dict[str, Any]
    outcomes: dict[str, dict[str, float]]

    @property
    def payoffs(self) -> dict[str, float]:
        """The publisher's payoff per record, in currency units, by policy name."""
        return payoffs_of(self.outcomes)


def payoffs_of(outcomes: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the publisher's payoff of each policy."""
    return {policy: measures[PUBLISHER_PAYOFF.column] for policy, measures in outcomes.items()}


class Amounts:
    """A scenario with one of its payoff parameters varied.

    Parameters
    ----------
    study : Study
    key : str
        Key path of the payoff parameter; one of `KEYS`.
    link_gain : bool
        Whether the adversary's gain is set equal to the loss at each value; only allowed if `key` is the loss. If
        False, the gain keeps the scenario's value, which is the scenario's own loss if the gain is not stated.

    Attributes
    ----------
    policies : tuple of str
        Policies of the scenario.
    own : float
        The scenario's value of the parameter, in currency units.

    Raises
    ------
    InputError
        If the scenario has no such payoff parameter, the parameter differs between records, or `link_gain` is set for
        another parameter than the loss.
    """

    def __init__(self, study: Study[Any], key: str, *, link_gain: bool = False) -> None:
        scenario, kind, name = study.scenario, kind_of(study.scenario), key.rpartition(".")[2]
        economics = getattr(scenario, "economics", None)
        if key not in KEYS or not isinstance(economics, EconomicsSection):
            raise not_among("not a payoff parameter of the scenario", key, KEYS, where="--key")
        if link_gain and key != LOSS:
            raise InputError("the gain can be linked to the loss only", where="--link-gain", found=key, expected=LOSS)
        columns = {each: column for each, column in getattr(economics, "columns", ()) if column is not None}
        if name in columns:
            found, expected = f"{key}, column {columns[name]!r}", "one amount for all records"
            raise InputError("the payoff parameter differs by record", where="--key", found=found, expected=expected)
        self.key, self.link_gain, self._study = key, link_gain, study
        self.policies = kind.policies_of(scenario)
        self.own = economics.adversary_gain if key == GAIN else float(getattr(economics, name))
        # Fix the gain: by default, a scenario without a stated gain sets it equal to the loss.
        self._fixed = {} if link_gain or key == GAIN or "gain" in columns else {GAIN: economics.adversary_gain}
        self._data = kind.data_content(study.loaded)
        # Some kinds of scenario compute the linkage once for all values; for the others, the study is solved again at
        # each value.
        self._points = kind.amount_points(study) if kind.amounts_at_once(scenario, (key,)) else None

    def at(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        """Return plans and outcomes at a value of the payoff parameter.

        Plans are made under the publisher's beliefs at this value, outcomes hold under the true parameters. `policies`
        selects some policies; the default is all.
        """
        policies = self.policies if policies is None else policies
        if self._points is not None:
            _, believed = economics_of(self._scenario_at(amount).scenario)
            plans = {policy: self._points.plan(policy, believed) for policy in policies}
        else:
            study = self._study_at(amount)
            draws = [kind_of(study.scenario).play(study, draw, policies) for draw in range(study.draws)]
            plans = {policy: [outcomes[policy].choice for outcomes in draws] for policy in policies}
        return PlannedAt(amount, plans, self.outcomes_at(plans, amount))

    def outcomes_at(self, plans: Mapping[str, Any], amount: float) -> dict[str, dict[str, float]]:
        """Return the mean measures per record of plans at a value, by policy and measure.

        The plans may have been made at another value. Means are over records, then over the draws of the study.
        """
        if self._points is not None:
            truth, weights = self.economics(amount), self._study.world(0).weights.astype(np.int64)
            return {policy: averages(plan.equilibrium(truth), weights) for policy, plan in plans.items()}
        study = self._study_at(amount)
        kind, worlds = kind_of(study.scenario), [study.world(draw) for draw in range(study.draws)]
        found = {}
        for policy, choices in plans.items():
            defenders = [kind.policy(policy).defender(study, draw) for draw in range(study.draws)]
            each = [
                averages(kind.outcome(study, world, *chosen), world.weights.astype(np.int64))
                for world, *chosen in zip(worlds, defenders, choices, strict=True)
            ]
            found[policy] = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
        return found

    def economics(self, amount: float) -> EconomicsSection:
        """Return the true payoff parameters at a value of the varied one."""
        return economics_of(self._scenario_at(amount).scenario)[0]

    def scale(self, amount: float) -> float:
        """Return the scenario's benefit plus loss at a value of the payoff parameter.

        This is the scale of payoff differences between policies, in currency units per record; it is never 0.
        """
        economics = self.economics(amount)
        return max(economics.benefit + economics.loss, 1e-300)

    def _scenario_at(self, amount: float) -> Scenario[ScenarioHead]:
        linked = {GAIN: amount} if self.link_gain else {}
        return at_point(self._study.loaded, {**self._fixed, **linked, self.key: amount})

    def _study_at(self, amount: float) -> Study[Any]:
        """Return the study at a value; rebuild it only if its data change."""
        loaded = self._scenario_at(amount)
        kind = kind_of(loaded.scenario)
        return self._study.with_loaded(loaded) if kind.data_content(loaded) == self._data else kind.build(loaded)


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

    def for_policy(self, policy: str) -> tuple[BestAt, ...]:
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
        solved: dict[float, dict[str, dict[str, float]]] = {}

        def best(loss: float) -> str:
            if loss not in solved:
                solved[loss] = amounts.at(loss, compared).outcomes
                if progress is not None:
                    progress("break-even", len(solved), max(len(solved), len(TIMES_OWN)))
            payoffs = payoffs_of(solved[loss])
            tie = max(payoffs.values()) - SAME * amounts.scale(loss)
            return min((name for name in compared if payoffs[name] >= tie), key=lambda name: solved[loss][name]["risk"])

        def halve(low: float, high: float) -> None:
            if best(low) != best(high) and high / low > PRECISION:
                middle = math.sqrt(low * high)
                halve(low, middle)
                halve(middle, high)

        for low, high in itertools.pairwise(times * amounts.own for times in TIMES_OWN):
            halve(low, high)
        gain = None if amounts.link_gain else amounts.economics(amounts.own).adversary_gain
        groups = [(policy, list(losses)) for policy, losses in itertools.groupby(sorted(solved), key=best)]
    # A change of the best policy is placed at the geometric mean of the two losses around it.
    ends = [math.sqrt(below[-1] * above[0]) for (_, below), (_, above) in itertools.pairwise(groups)]
    ranges = zip(itertools.pairwise([0.0, *ends, math.inf]), groups, strict=True)
    payoffs = {loss: payoffs_of(solved[loss]) for loss in sorted(solved)}
    return BreakEven(amounts.own, gain, payoffs, tuple(BestAt(*ends, policy) for ends, (policy, _) in ranges))
