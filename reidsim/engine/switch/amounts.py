"""What every policy of a scenario pays at any value of one amount of money, and what its plans would pay at another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from reidsim.engine.batch.design import at_point
from reidsim.errors import InputError, not_among
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import averages
from reidsim.games.record_game import Choice
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import EconomicsSection, ScenarioHead, economics_of
from reidsim.scenarios.study import Plan, Study

LOSS, GAIN = "economics.loss", "economics.gain"
KEYS = ("economics.benefit", LOSS, GAIN, "economics.cost")


@dataclass(frozen=True, eq=False)
class PlannedAt:
    """How policies share the records where the amount has some value, and what that pays there.

    Parameters
    ----------
    amount : float
    plans : mapping of str to object
        By policy; what `Amounts.paid_at` takes.
    payoffs : mapping of str to float
        Publisher's payoff per record, by policy.
    risks : mapping of str to float
        Re-identification risk, by policy.
    """

    amount: float
    plans: Mapping[str, Any]
    payoffs: Mapping[str, float]
    risks: Mapping[str, float]


class Player(Protocol):
    """Plays policies under the amounts of a scenario."""

    def plan(self, loaded: LoadedScenario[ScenarioHead], policies: Sequence[str]) -> dict[str, Any]:
        """Return how each policy shares the records."""
        ...

    def outcomes(self, loaded: LoadedScenario[ScenarioHead], plans: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return what plans lead to, made under whatever amounts: measures per record, by policy."""
        ...


class Amounts:
    """A scenario along one of its amounts.

    Parameters
    ----------
    study : Study
    key : str
        One of `KEYS`.
    link_gain : bool
        Whether the adversary's gain is the loss at each point; it is that of the scenario, if not. Of the loss only.

    Raises
    ------
    InputError
        If the scenario has no such amount for all records alike.
    """

    def __init__(self, study: Study[Any], key: str, *, link_gain: bool = False) -> None:
        loaded: LoadedScenario[ScenarioHead] = study.loaded
        economics = getattr(loaded.scenario, "economics", None)
        if key not in KEYS or not isinstance(economics, EconomicsSection):
            raise not_among("not an amount of the scenario", key, KEYS, where="--key")
        if link_gain and key != LOSS:
            raise InputError("the gain is linked to the loss only", where="--link-gain", found=key, expected=LOSS)
        column = getattr(getattr(economics, "columns", None), key.rpartition(".")[2], None)
        if column is not None:
            raise InputError(
                "the amount differs by record", where="--key", found=f"{key}, column {column!r}",
                expected="an amount of all records",
            )  # fmt: skip
        self.key, self.link_gain, self._loaded = key, link_gain, loaded
        kind = kind_of(loaded.scenario)
        self.policies = kind.policies_of(loaded.scenario)
        self.own = economics.adversary_gain if key == GAIN else float(getattr(economics, key.rpartition(".")[2]))
        # Without this the gain would follow the loss where the scenario does not state it.
        self._fixed = {} if link_gain or key == GAIN else {GAIN: economics.adversary_gain}
        if "gain" in {name for name, given in getattr(economics, "columns", ()) if given is not None}:
            self._fixed = {}
        at_once = kind.amounts_at_once(loaded.scenario, (key,))
        self._player: Player = _PlanningPlayer(study) if at_once else _SolvingPlayer(study)
        self.evaluations = 0

    def at(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        """Play policies at a value of the amount; all, if none are given."""
        loaded = self.scenario_at(amount)
        plans = self._player.plan(loaded, self.policies if policies is None else policies)
        self.evaluations += 1
        outcomes = self._player.outcomes(loaded, plans)
        payoffs, risks = (
            {policy: measures[name] for policy, measures in outcomes.items()} for name in ("publisher_payoff", "risk")
        )
        return PlannedAt(amount, plans, payoffs, risks)

    def paid_at(self, planned: PlannedAt, amount: float) -> dict[str, float]:
        """Return what plans that were made at another value pay at this one, by policy."""
        return self._payoffs(self.scenario_at(amount), planned.plans)

    def measures(self, amount: float, policy: str) -> dict[str, float]:
        """Return the measures of a policy at a value of the amount, per record."""
        loaded = self.scenario_at(amount)
        return self._player.outcomes(loaded, self._player.plan(loaded, (policy,)))[policy]

    def scale(self, amount: float) -> float:
        """Return the largest amount that a record can bring or cost, by which payoffs are told apart."""
        economics, _ = economics_of(self.scenario_at(amount).scenario)
        return max(economics.benefit + economics.loss, 1e-300)

    def gain_and_cost(self, amount: float) -> tuple[float, float]:
        """Return the adversary's gain and cost at a value of the amount."""
        economics, _ = economics_of(self.scenario_at(amount).scenario)
        return economics.adversary_gain, economics.cost

    def scenario_at(self, amount: float) -> LoadedScenario[ScenarioHead]:
        """Return the scenario with a value of the amount."""
        linked = {GAIN: amount} if self.link_gain else {}
        return at_point(self._loaded, {**self._fixed, **linked, self.key: amount})

    def _payoffs(self, loaded: LoadedScenario[ScenarioHead], plans: Mapping[str, Any]) -> dict[str, float]:
        outcomes = self._player.outcomes(loaded, plans)
        return {policy: measures["publisher_payoff"] for policy, measures in outcomes.items()}


class _PlanningPlayer:
    """Plans by `AmountPoints`, where linkage is computed once for all amounts."""

    def __init__(self, study: Study[Any]) -> None:
        points = kind_of(study.scenario).amount_points(study)
        assert points is not None  # noqa: S101 - of kinds that play amounts at once
        self._points, self._weights = points, study.world(0).weights.astype(np.int64)

    def plan(self, loaded: LoadedScenario[ScenarioHead], policies: Sequence[str]) -> dict[str, Plan]:
        _, believed = economics_of(loaded.scenario)
        return {policy: self._points.plan(policy, believed) for policy in policies}

    def outcomes(self, loaded: LoadedScenario[ScenarioHead], plans: Mapping[str, Plan]) -> dict[str, dict[str, float]]:
        truth, _ = economics_of(loaded.scenario)
        return {policy: averages(plan.equilibrium(truth), self._weights) for policy, plan in plans.items()}


class _SolvingPlayer:
    """Solves the study anew at each value, on data that are read once; plans are choices, one for each draw."""

    def __init__(self, study: Study[Any]) -> None:
        self._study = study
        self._data = kind_of(study.scenario).data_content(study.loaded)

    def plan(self, loaded: LoadedScenario[ScenarioHead], policies: Sequence[str]) -> dict[str, list[Choice]]:
        study, kind = self._under(loaded), kind_of(loaded.scenario)
        plans: dict[str, list[Choice]] = {policy: [] for policy in policies}
        for draw in range(study.draws):
            for policy, outcome in kind.play(study, draw, policies).items():
                assert outcome.choice is not None  # noqa: S101 - as it was played
                plans[policy].append(outcome.choice)
        return plans

    def outcomes(
        self, loaded: LoadedScenario[ScenarioHead], plans: Mapping[str, list[Choice]]
    ) -> dict[str, dict[str, float]]:
        study, kind = self._under(loaded), kind_of(loaded.scenario)
        found: dict[str, list[dict[str, float]]] = {policy: [] for policy in plans}
        for draw in range(study.draws):
            world = study.world(draw)
            for policy, choices in plans.items():
                defender, choice = kind.policy(policy).defender(study, draw), choices[draw]
                paid: Equilibrium = outcome_of(paid_in(defender, world.truth, choice), choice)
                found[policy].append(averages(paid, world.weights.astype(np.int64)))
        return {policy: {name: float(np.mean([each[name] for each in several])) for name in several[0]}
                for policy, several in found.items()}  # fmt: skip

    def _under(self, loaded: LoadedScenario[ScenarioHead]) -> Study[Any]:
        """Return the study under the amounts of a scenario, on the same data unless these depend on them."""
        kind = kind_of(loaded.scenario)
        return self._study.with_loaded(loaded) if kind.data_content(loaded) == self._data else kind.build(loaded)
