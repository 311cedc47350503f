"""What of a table can be solved for many points at once, and what payoffs along an amount of money are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.attempts import Attempts
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.parameter_grid import Options, ParameterPoints, best_options, fixed_options, undominated_options
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.solving import constraint_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.faces import ManyPoints
from reidsim.scenarios.schema import MONEY_KEYS, EconomicsSection
from reidsim.scenarios.study import AmountPoints


class TablesPoints(ManyPoints):
    """Which points of scenarios about tables take less than a run each; see `ManyPoints`."""

    def amounts_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> bool:
        """Tell whether strategies can be thinned to those that are best at some amounts."""
        return is_thinnable(scenario, keys)

    def plans_under_amounts(self, scenario: TablesScenario) -> bool:
        """Tell whether records are planned one by one."""
        return scenario.publisher.unit == "record"

    def amount_points(self, study: TablesStudy) -> AmountPoints | None:
        """Return what plans records one by one."""
        return record_points(study) if self.plans_under_amounts(study.scenario) else None

    def takes_best(self, scenario: TablesScenario, policy: str) -> bool:
        """Tell whether a policy takes the best of plans that are the same whatever sharing brings and costs."""
        return not scenario.looks_up and policy_named(policy).takes_best(scenario.publisher)

    def largest_group(self, study: TablesStudy) -> int | None:
        """Return the most people among whom a record may hide from a one-shot adversary; None against any other."""
        scenario, adversary = study.scenario, study.scenario.plain_adversary
        if adversary is None or not study.own.links_with_everybody or "sample" in scenario.risks:
            return None
        people = study.people(adversary.risk)
        whole = np.issubdtype(people.counts.dtype, np.integer)
        return int(people.total) + study.n_records if whole else None


# Thinning computes each generalization of each record, a few records at a time; beyond, solving a point takes less.
_MOST_THINNED = 200_000


def is_thinnable(scenario: TablesScenario, keys: Iterable[str]) -> bool:
    """Tell whether points of these keys of a scenario can be played with thinned strategies (`OneShotPoints`)."""
    publisher, adversary = scenario.publisher, scenario.plain_adversary
    return (
        publisher.unit == "record"
        and publisher.solver != "lattice-search"
        and publisher.safe_class == "at-least"
        and all(policy_named(name).thins for name in publisher.policies)
        and adversary is not None
        and adversary.stages is None
        and scenario.planned_risk == adversary.risk
        and scenario.beliefs.lists == "members"
        and not scenario.in_rounds
        and not publisher.attribute_limits
        and set(keys) <= set(MONEY_KEYS)
    )


def record_points(study: TablesStudy) -> OneShotPoints | SolvedPoints:
    """Return what plans a study fastest and yields what `reidsim.kinds.tables.outcomes.play` does."""
    thins = study.space.size <= _MOST_THINNED and is_thinnable(study.scenario, ())
    return OneShotPoints(study) if thins else SolvedPoints(study)


class SolvedPoints:
    """Solves the study anew for every plan; for any adversary and solver.

    Parameters
    ----------
    study : TablesStudy
    """

    def __init__(self, study: TablesStudy) -> None:
        self.study = study

    def plan(self, policy: str, believed: EconomicsSection) -> SolvedPlan:
        """Solve the game believed in; see `AmountPoints`."""
        game = self.study.planned_game(believed)
        return SolvedPlan(self.study, policy_named(policy).defender(self.study, 0).choose(game))

    def play(self, strategies: Strategies) -> SolvedPlan:
        """Take strategies as given; see `AmountPoints`."""
        none = np.zeros(len(strategies), dtype=np.int64)
        return SolvedPlan(self.study, Choice(strategies, "given", none, exact=False))


@dataclass(frozen=True, eq=False)
class SolvedPlan:
    """Strategies that are evaluated in the game of each truth."""

    study: TablesStudy
    choice: Choice

    @property
    def one_shot_success(self) -> None:
        """What attacks of any adversary lead to depends on amounts."""
        return

    @property
    def strategies(self) -> Strategies:
        """Shape (n_cells,)."""
        return self.choice.strategies

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Return what the strategies lead to."""
        return evaluate(self.study.game(truth), self.choice)


class OneShotPoints:
    """Plans by looking at the few strategies of each record that can be best against a one-shot adversary.

    Parameters
    ----------
    study : TablesStudy
    """

    def __init__(self, study: TablesStudy) -> None:
        self.study = study
        self._thinned: dict[bool, Options] = {}
        self._fixed: dict[str, OneShotPlan] = {}

    def plan(self, policy: str, believed: EconomicsSection) -> OneShotPlan:
        """Pick the best of the strategies kept; see `AmountPoints`."""
        if (rule := policy_named(policy)).is_rule:
            if policy not in self._fixed:
                self._fixed[policy] = self.play(rule.form(self.study))
            return self._fixed[policy]
        constraint = constraint_of(self.study, policy)
        restricted = constraint.minimum is not None
        if restricted not in self._thinned:
            self._thinned[restricted] = undominated_options(self.study.space, self.study.truth.linker, constraint)
        options = self._thinned[restricted]
        point = ParameterPoints.broadcast(believed.benefit, believed.loss, believed.adversary_gain, believed.cost)
        chosen = best_options(options, point, 0, no_attack=constraint.no_attack)
        return self._plan(options, chosen, exact=True)

    def play(self, strategies: Strategies) -> OneShotPlan:
        """Look up what given strategies lead to; see `AmountPoints`."""
        options = fixed_options(self.study.space, self.study.truth.linker, np.maximum(strategies, 0))
        chosen = np.where(strategies == WITHHELD, WITHHELD, np.arange(len(strategies)))
        return self._plan(options, chosen, exact=False)

    def _plan(self, options: Options, chosen: NDArray[np.int64], *, exact: bool) -> OneShotPlan:
        withheld = chosen < 0
        return OneShotPlan(
            strategies=np.where(withheld, WITHHELD, options.strategies[chosen]),
            utility=np.where(withheld, 0.0, options.utility[chosen]),
            success=np.where(withheld, 0.0, options.success[chosen]),
            intensity=np.where(withheld, 1.0, options.intensity[chosen]),
            options=np.diff(options.start),
            exact=exact,
        )


@dataclass(frozen=True, eq=False)
class OneShotPlan:
    """Strategies, and as much of what follows from them as does not depend on money; arrays of shape (n_cells,).

    Parameters
    ----------
    strategies : ndarray of int64
        -1 where a record is withheld.
    utility, success, intensity : ndarray of float64
        In [0, 1]; of a withheld record 0, 0 and 1.
    options : ndarray of int64
        Strategies among which each cell's was picked.
    exact : bool
        Whether the strategies are optimal for what the publisher believed.
    """

    strategies: Strategies
    utility: Floats
    success: Floats
    intensity: Floats
    options: NDArray[np.int64]
    exact: bool

    @property
    def one_shot_success(self) -> Floats:
        """Success probability of an attack on each cell."""
        return self.success

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Let the adversary reply to what was shared (Wan et al. 2015, Table 3); see `reidsim.scenarios.study.Plan`."""
        gain = truth.adversary_gain
        attacked = gain * self.success > truth.cost * (1 + INDIFFERENCE)
        risk = np.where(attacked, self.success, 0.0)
        payoff = np.where(attacked, gain * self.success - truth.cost, 0.0)
        return Equilibrium(
            strategies=self.strategies,
            publisher_payoff=truth.benefit * self.utility - truth.loss * risk,
            adversary_payoff=payoff,
            attacked=attacked,
            success_probability=self.success,
            utility=self.utility,
            generalization_intensity=self.intensity,
            solver="thinned",
            evaluated=self.options,
            exact=self.exact,
            attempts=Attempts.of_one(risk, payoff, gain, truth.loss),
        )
