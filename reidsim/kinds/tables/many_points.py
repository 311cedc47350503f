"""What of a table can be solved for many points at once, and what payoffs along an amount of money are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.attempts import Attempts
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.search import search
from reidsim.games.parameter_grid import Options, ParameterPoints, best_options, fixed_options, undominated_options
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.tables.node_games import node_strategies, planned_game
from reidsim.kinds.tables.outcomes import TablesOutcome, outcome_of, play
from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.solving import TablesChoice, constraint_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.kinds.tables.table_data import PRICES
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.faces import ManyPoints
from reidsim.scenarios.schema import MONEY_KEYS, EconomicsSection
from reidsim.scenarios.study import AmountPoints, PolicyOutcome

# Whose class sizes the publisher plans with is no amount, but no more of the study than the amounts are.
_WALKED = frozenset((*MONEY_KEYS, "beliefs.risk"))


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

    def points_at_once(self, scenario: TablesScenario, keys: Sequence[str]) -> int:
        """Return the number of points that share one walk of the lattice."""
        publisher, adversary = scenario.publisher, scenario.plain_adversary
        walked = (
            publisher.unit == "table"
            and publisher.search == "exact"
            and adversary is not None
            and adversary.knowledge is None
            and adversary.stages is None
            and not adversary.holds
            and "sample" not in scenario.risks
            and not scenario.in_rounds
            and scenario.release.person is None
            and not publisher.attribute_limits
            and set(keys) <= _WALKED
        )
        return MOST_POINTS if walked else 1

    def play_together(self, studies: Sequence[TablesStudy]) -> Callable[[int], Mapping[str, PolicyOutcome]]:
        """Return the outcomes at the points of one walk."""
        return FullDomainPoints(studies).outcomes


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


# Points of one walk. The first of them to be asked for takes the time of all, so more would make runs uneven.
MOST_POINTS = 20


class FullDomainPoints:
    """The policies of a study at several points of its prices.

    Parameters
    ----------
    studies : sequence of TablesStudy
        The study at each point: alike but for amounts of money, planned with the same risk. One amount holds for all
        records.
    """

    def __init__(self, studies: Sequence[TablesStudy]) -> None:
        self._studies = studies
        believed = [study.believed(study.prices) for study in studies]
        self._prices = Prices(*(np.concatenate([getattr(at, price) for at in believed]) for price in PRICES))
        self._nodes = cache(lambda policy: search(self._game(policy), prune=studies[0].scenario.publisher.prune))
        self._by_record = cache(lambda policy: record_level(self._game(policy)))

    def outcomes(self, point: int) -> dict[str, TablesOutcome]:
        """Return what `reidsim.kinds.tables.outcomes.play` does at one of the points.

        Nodes evaluated are those of the walk for all points.
        """
        return {policy: self._outcome(policy, point) for policy in self._studies[point].scenario.publisher.policies}

    def _outcome(self, policy: str, point: int) -> TablesOutcome:
        study = self._studies[point]
        if study.policy(policy).picks_node(study.scenario.publisher):
            return outcome_of(study, policy, self._of_node(study, policy, point), study.truth)
        if study.policy(policy).by_class:
            return outcome_of(study, policy, self._of_records(study, policy, point), study.truth)
        return play(study, (policy,))[policy]

    def _game(self, policy: str) -> FullDomainGame:
        return planned_game(self._studies[0], policy, self._studies[0].scenario.planned_risk, self._prices)

    def _of_node(self, study: TablesStudy, policy: str, point: int) -> TablesChoice:
        game, solution = self._game(policy), self._nodes(policy)
        node = int(solution.nodes[point])
        return TablesChoice(
            node_strategies(game, node, point),
            "exact",
            np.full(study.space.n_records, solution.evaluated, dtype=np.int64),
            bool(solution.proved[point]),
            planned_payout=float(solution.payout[point]),
            nodes=() if node == NO_SOLUTION else (node,),
            gap=float(solution.gap[point]),
        )

    def _of_records(self, study: TablesStudy, policy: str, point: int) -> TablesChoice:
        best = self._by_record(policy)
        payout = dot(best.payoff[point], study.weights)
        evaluated = np.full(study.space.n_records, best.evaluated, dtype=np.int64)
        return TablesChoice(best.strategies[point], "record-level", evaluated, exact=True, planned_payout=payout)
