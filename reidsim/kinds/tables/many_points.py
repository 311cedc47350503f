"""Solve a table game at many values of the payoff parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.attempts import Attempts
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.parameter_grid import Options, best_options, fixed_options, undominated_options
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.solving import constraint_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.schema import MONEY_KEYS, EconomicsSection

# Largest lattice for which strategies are thinned. Thinning computes each generalization of each record, a few records
# at a time; in larger lattices it is faster to solve each point.
_MOST_THINNED = 200_000


def is_thinnable(scenario: TablesScenario, keys: Iterable[str]) -> bool:
    """Return whether `OneShotPoints` can play all points of these scenario keys.

    The keys must be payoff parameters. The publisher must optimize each record exactly, with policies that allow
    dominated strategies to be dropped (`TablesPolicy.thins`), ``safe_class = "at-least"``, no limits on sensitive
    columns and no rounds. There must be a single one-shot adversary (see `TablesScenario.plain_adversary`) without
    stages, whose linkage the publisher knows.
    """
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
    """Return the fastest planner that gives the same results as `outcomes.play`."""
    thins = study.space.size <= _MOST_THINNED and is_thinnable(study.scenario, ())
    return OneShotPoints(study) if thins else SolvedPoints(study)


class SolvedPoints:
    """Planner that solves the study again for every plan; for any adversary.

    Parameters
    ----------
    study : TablesStudy
    """

    def __init__(self, study: TablesStudy) -> None:
        self.study = study

    def plan(self, policy: str, believed: EconomicsSection) -> SolvedPlan:
        """Solve the game with the believed payoff parameters; see `Kind.amount_points`."""
        game = self.study.planned_game(believed)
        return SolvedPlan(self.study, policy_named(policy).defender(self.study, 0).choose(game))

    def play(self, strategies: Strategies) -> SolvedPlan:
        """Return a plan with the given strategies; see `Kind.amount_points`."""
        none = np.zeros(len(strategies), dtype=np.int64)
        return SolvedPlan(self.study, Choice(strategies, "given", none, exact=False))


@dataclass(frozen=True, eq=False)
class SolvedPlan:
    """Strategies that are evaluated in the game at each set of payoff parameters."""

    study: TablesStudy
    choice: Choice
    # Success depends on payoff parameters for adversaries in general.
    one_shot_success: None = None

    @property
    def strategies(self) -> Strategies:
        """Strategy of each cell, shape (n_cells,)."""
        return self.choice.strategies

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Evaluate the strategies at the true payoff parameters."""
        return evaluate(self.study.game(truth), self.choice)


class OneShotPoints:
    """Planner that compares only undominated strategies of each record.

    A strategy is kept if it is optimal at some payoff parameters against a one-shot adversary.

    Parameters
    ----------
    study : TablesStudy
    """

    def __init__(self, study: TablesStudy) -> None:
        self.study = study
        self._thinned: dict[bool, Options] = {}
        self._fixed: dict[str, OneShotPlan] = {}

    def plan(self, policy: str, believed: EconomicsSection) -> OneShotPlan:
        """Pick the best of the undominated strategies; see `Kind.amount_points`."""
        if (rule := policy_named(policy)).is_rule:
            if policy not in self._fixed:
                self._fixed[policy] = self.play(rule.form(self.study))
            return self._fixed[policy]
        constraint = constraint_of(self.study, policy)
        restricted = constraint.minimum is not None
        if restricted not in self._thinned:
            self._thinned[restricted] = undominated_options(self.study.space, self.study.truth.linker, constraint)
        options = self._thinned[restricted]
        amounts = (believed.benefit, believed.loss, believed.adversary_gain, believed.cost)
        chosen = best_options(options, *amounts, no_attack=constraint.no_attack)
        return self._plan(options, chosen, exact=True)

    def play(self, strategies: Strategies) -> OneShotPlan:
        """Return a plan with the given strategies; see `Kind.amount_points`."""
        options = fixed_options(self.study.space, self.study.truth.linker, np.maximum(strategies, 0))
        chosen = np.where(strategies == WITHHELD, WITHHELD, np.arange(len(strategies)))
        return self._plan(options, chosen, exact=False)

    def _plan(self, options: Options, chosen: NDArray[np.int64], *, exact: bool) -> OneShotPlan:
        withheld = chosen < 0
        return OneShotPlan(
            strategies=np.where(withheld, WITHHELD, options.strategies[chosen]),
            utility=np.where(withheld, 0.0, options.utility[chosen]),
            one_shot_success=np.where(withheld, 0.0, options.success[chosen]),
            intensity=np.where(withheld, 1.0, options.intensity[chosen]),
            options=np.diff(options.start),
            exact=exact,
        )


@dataclass(frozen=True, eq=False)
class OneShotPlan:
    """Strategies and the outcomes that do not depend on payoff parameters.

    All arrays have shape (n_cells,).

    Parameters
    ----------
    strategies : ndarray of int64
        Strategy of each cell; -1 if it is withheld.
    utility, one_shot_success, intensity : ndarray of float64
        Utility, success probability of an attack and generalization intensity, in [0, 1]; 0, 0 and 1 for a withheld
        record.
    options : ndarray of int64
        Number of strategies compared for each cell.
    exact : bool
        Whether the strategies are optimal under the publisher's beliefs.
    """

    strategies: Strategies
    utility: Floats
    one_shot_success: Floats
    intensity: Floats
    options: NDArray[np.int64]
    exact: bool

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Compute the adversary's best response to the release (Wan et al. 2015, Table 3).

        See `Kind.amount_points`.
        """
        gain, success = truth.adversary_gain, self.one_shot_success
        attacked = gain * success > truth.cost * (1 + INDIFFERENCE)
        risk, payoff = np.where(attacked, success, 0.0), np.where(attacked, gain * success - truth.cost, 0.0)
        return Equilibrium(
            strategies=self.strategies,
            publisher_payoff=truth.benefit * self.utility - truth.loss * risk,
            adversary_payoff=payoff,
            attacked=attacked,
            success_probability=success,
            utility=self.utility,
            generalization_intensity=self.intensity,
            solver="thinned",
            evaluated=self.options,
            exact=self.exact,
            attempts=Attempts.of_one(risk, payoff, gain, truth.loss),
        )
