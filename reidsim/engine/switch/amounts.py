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
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.measures import averages
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


@dataclass(frozen=True, eq=False)
class PlannedAt:
    """Plans of policies at one value of the payoff parameter, and their outcomes.

    Parameters
    ----------
    amount : float
        Value of the payoff parameter, in currency units.
    plans : mapping of str to object
        Plan of each policy, by policy name; made under the publisher's beliefs, and used by `Amounts.paid_at`.
    payoffs : mapping of str to float
        Publisher's payoff per record under the true parameters, in currency units, by policy name.
    risks : mapping of str to float
        Mean probability that a record is attacked and re-identified, by policy name.
    """

    amount: float
    plans: Mapping[str, Any]
    payoffs: Mapping[str, float]
    risks: Mapping[str, float]


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
    evaluations : int
        Number of calls of `at` so far.

    Raises
    ------
    InputError
        If the scenario has no such payoff parameter, the parameter differs between records, or `link_gain` is set for
        another parameter than the loss.
    """

    def __init__(self, study: Study[Any], key: str, *, link_gain: bool = False) -> None:
        loaded: Scenario[ScenarioHead] = study.loaded
        economics = getattr(loaded.scenario, "economics", None)
        if key not in KEYS or not isinstance(economics, EconomicsSection):
            raise not_among("not a payoff parameter of the scenario", key, KEYS, where="--key")
        if link_gain and key != LOSS:
            raise InputError("the gain can be linked to the loss only", where="--link-gain", found=key, expected=LOSS)
        column = getattr(getattr(economics, "columns", None), key.rpartition(".")[2], None)
        if column is not None:
            found, expected = f"{key}, column {column!r}", "one amount for all records"
            raise InputError("the payoff parameter differs by record", where="--key", found=found, expected=expected)
        self.key, self.link_gain, self._loaded = key, link_gain, loaded
        kind = kind_of(loaded.scenario)
        self.policies = kind.policies_of(loaded.scenario)
        self.own = economics.adversary_gain if key == GAIN else float(getattr(economics, key.rpartition(".")[2]))
        # Fix the gain: by default, a scenario without a stated gain sets it equal to the loss.
        self._fixed = {} if link_gain or key == GAIN else {GAIN: economics.adversary_gain}
        if "gain" in {name for name, given in getattr(economics, "columns", ()) if given is not None}:
            self._fixed = {}
        self._study, self._data = study, kind.data_content(loaded)
        # Some kinds of scenario compute the linkage once for all values; for the others, the study is solved again at
        # each value.
        self._points = kind.amount_points(study) if kind.amounts_at_once(loaded.scenario, (key,)) else None
        self.evaluations = 0

    def at(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        """Return plans and outcomes at a value of the payoff parameter.

        Plans are made under the publisher's beliefs at this value, outcomes hold under the true parameters. `policies`
        selects some policies; the default is all.
        """
        loaded = self.scenario_at(amount)
        plans = self._plan(loaded, self.policies if policies is None else policies)
        self.evaluations += 1
        outcomes = self._outcomes(loaded, plans)
        payoffs, risks = (
            {policy: measures[name] for policy, measures in outcomes.items()} for name in ("publisher_payoff", "risk")
        )
        return PlannedAt(amount, plans, payoffs, risks)

    def paid_at(self, planned: PlannedAt, amount: float) -> dict[str, float]:
        """Return the payoffs at `amount` of plans made at `planned.amount`.

        They are the publisher's payoffs per record under the true parameters, in currency units, by policy.
        """
        outcomes = self._outcomes(self.scenario_at(amount), planned.plans)
        return {policy: measures["publisher_payoff"] for policy, measures in outcomes.items()}

    def measures(self, amount: float, policy: str) -> dict[str, float]:
        """Return the measures per record of a policy that is planned at `amount`.

        They hold under the true parameters at this value; see `averages`.
        """
        loaded = self.scenario_at(amount)
        return self._outcomes(loaded, self._plan(loaded, (policy,)))[policy]

    def scale(self, amount: float) -> float:
        """Return the scenario's benefit plus loss at a value of the payoff parameter.

        This is the scale of payoff differences between policies, in currency units per record; it is never 0.
        """
        economics, _ = economics_of(self.scenario_at(amount).scenario)
        return max(economics.benefit + economics.loss, 1e-300)

    def gain_and_cost(self, amount: float) -> tuple[float, float]:
        """Return the adversary's true gain and cost at a value of the payoff parameter."""
        economics, _ = economics_of(self.scenario_at(amount).scenario)
        return economics.adversary_gain, economics.cost

    def scenario_at(self, amount: float) -> Scenario[ScenarioHead]:
        """Return the scenario with the payoff parameter set to a value."""
        linked = {GAIN: amount} if self.link_gain else {}
        return at_point(self._loaded, {**self._fixed, **linked, self.key: amount})

    def _plan(self, loaded: Scenario[ScenarioHead], policies: Sequence[str]) -> dict[str, Any]:
        """Return the plan of each policy under the publisher's beliefs in `loaded`.

        If the kind computes linkage once for all values, it is a plan (`Kind.amount_points`). Otherwise it is a
        list with the policy's choice in each draw of the study.
        """
        if self._points is not None:
            _, believed = economics_of(loaded.scenario)
            return {policy: self._points.plan(policy, believed) for policy in policies}
        study, kind = self._under(loaded), kind_of(loaded.scenario)
        draws = [kind.play(study, draw, policies) for draw in range(study.draws)]
        return {policy: [outcomes[policy].choice for outcomes in draws] for policy in policies}

    def _outcomes(self, loaded: Scenario[ScenarioHead], plans: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the mean measures per record of each plan, by policy and measure.

        Plans are evaluated under the true payoff parameters of `loaded`; they may have been made at another value of
        the varied parameter. Means are over records, then over the draws of the study.
        """
        if self._points is not None:
            (truth, _), weights = economics_of(loaded.scenario), self._study.world(0).weights.astype(np.int64)
            return {policy: averages(plan.equilibrium(truth), weights) for policy, plan in plans.items()}
        study, kind = self._under(loaded), kind_of(loaded.scenario)
        found: dict[str, list[dict[str, float]]] = {policy: [] for policy in plans}
        for draw in range(study.draws):
            world = study.world(draw)
            for policy, choices in plans.items():
                defender, choice = kind.policy(policy).defender(study, draw), choices[draw]
                paid = outcome_of(paid_in(defender, world.truth, choice), choice)
                found[policy].append(averages(paid, world.weights.astype(np.int64)))
        return {
            policy: {name: float(np.mean([each[name] for each in several])) for name in several[0]}
            for policy, several in found.items()
        }

    def _under(self, loaded: Scenario[ScenarioHead]) -> Study[Any]:
        """Return the study with the payoff parameters of `loaded`.

        Rebuild it only if its data change.
        """
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
