"""Solve a table game at many values of the payoff parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.attempts import Attempts
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.parameter_grid import Options, best_options, undominated_options
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
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
        game = self.study.game(believed, believed=True)
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
        rule: Any = policy_named(policy)
        if rule.is_rule:
            if policy not in self._fixed:
                self._fixed[policy] = self.play(rule.form(self.study))
            return self._fixed[policy]
        constraint = rule.constraint(self.study)
        restricted = constraint.minimum is not None
        if restricted not in self._thinned:
            self._thinned[restricted] = undominated_options(self.study.space, self.study.truth.linker, constraint)
        options = self._thinned[restricted]
        amounts = (believed.benefit, believed.loss, believed.adversary_gain, believed.cost)
        chosen = best_options(options, *amounts, no_attack=constraint.no_attack)
        withheld, nothing = chosen < 0, np.zeros(len(chosen))
        return OneShotPlan(
            Equilibrium(
                strategies=np.where(withheld, WITHHELD, options.strategies[chosen]),
                publisher_payoff=nothing,
                adversary_payoff=nothing,
                attacked=withheld,
                success_probability=np.where(withheld, 0.0, options.success[chosen]),
                utility=np.where(withheld, 0.0, options.utility[chosen]),
                generalization_intensity=np.where(withheld, 1.0, options.intensity[chosen]),
                solver="thinned",
                evaluated=np.diff(options.start),
                exact=True,
            )
        )

    def play(self, strategies: Strategies) -> OneShotPlan:
        """Return a plan with the given strategies; see `Kind.amount_points`."""
        one = np.ones(len(strategies), dtype=np.int64)
        return OneShotPlan(evaluate(self.study.truth, Choice(strategies, "thinned", one, exact=False)))


@dataclass(frozen=True, eq=False)
class OneShotPlan:
    """Strategies and the outcomes that do not depend on payoff parameters.

    Parameters
    ----------
    outcome : Equilibrium
        Strategy of each cell, with its utility, success probability of an attack and generalization intensity; payoffs
        and attacks are not used.
    """

    outcome: Equilibrium

    @property
    def strategies(self) -> Strategies:
        """Strategy of each cell, shape (n_cells,)."""
        return self.outcome.strategies

    @property
    def one_shot_success(self) -> Floats:
        """Success probability of an attack on each cell, shape (n_cells,)."""
        return self.outcome.success_probability

    def equilibrium(self, truth: EconomicsSection) -> Equilibrium:
        """Compute the adversary's best response to the release (Wan et al. 2015, Table 3).

        See `Kind.amount_points`.
        """
        gain, success = truth.adversary_gain, self.one_shot_success
        attacked = gain * success > truth.cost * (1 + INDIFFERENCE)
        risk, payoff = np.where(attacked, success, 0.0), np.where(attacked, gain * success - truth.cost, 0.0)
        return replace(
            self.outcome,
            publisher_payoff=truth.benefit * self.outcome.utility - truth.loss * risk,
            adversary_payoff=payoff,
            attacked=attacked,
            attempts=Attempts.of_one(risk, payoff, gain, truth.loss),
        )
