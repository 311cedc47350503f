"""Payoffs of a scenario's policies as one payoff parameter changes.

The parameter is benefit, loss, gain or cost. The publisher's plan, made at one value of the parameter, can also be
evaluated at another value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reidsim.engine.batch.design import at_point
from reidsim.errors import InputError, not_among
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.measures import averages
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
from reidsim.scenarios.study import Study

LOSS, GAIN = "economics.loss", "economics.gain"
KEYS = ("economics.benefit", LOSS, GAIN, "economics.cost")


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

        If the kind computes linkage once for all values, it is a `Plan`. Otherwise it is a list with the policy's
        choice in each draw of the study.
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
