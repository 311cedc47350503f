"""Choose generalizations under policies, in one pass for several if possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.errors import InputError
from reidsim.games.adversary_types import TypesGame
from reidsim.games.directions.best_replies import best_release
from reidsim.games.directions.linker import DirectedLinker, by_record, directed_linker, without_attacked
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame, eager
from reidsim.games.full_domain.anytime import explore
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.node_payoffs import Prices
from reidsim.games.full_domain.search import search
from reidsim.games.full_domain.solutions import FullDomainSolution, NodeOutcomes
from reidsim.games.iceberg import iceberg
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.games.solvers import backward_induction
from reidsim.kinds.tables.policy import policy_named
from reidsim.linkage.number_checks import most_within
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.full_domain import common_levels
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.adversary_schema import Risk

if TYPE_CHECKING:
    # Avoids a circular import: the study's module imports the schema, whose default publisher reads the registry.
    from reidsim.kinds.tables.study import TablesStudy

# Name of the solver of multi-dimensional recoding.
SPLITS = "splits"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TablesChoice(Choice):
    """A choice of generalizations with details of its search.

    Parameters
    ----------
    planned_payout : float
        Payout over all records that the publisher expects, in currency units; NaN if unknown.
    nodes : tuple of int
        Nodes of the table: one, or one per round of local recoding; empty for other policies and without a solution.
    gap : float
        Bound on the difference between the payout and the optimum, as a share of the best case; NaN without a bound.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ndarray of int64, shape (n_cells,), optional
        Node whose equivalence classes are the units of decision for each cell, released or not.
    listed : NodeOutcomes, optional
        Outcomes of the nodes evaluated, if a search with a budget kept them.
    """

    planned_payout: float = np.nan
    nodes: tuple[int, ...] = ()
    gap: float = 0.0
    unproved_rounds: int = 0
    classes: Strategies | None = None
    listed: NodeOutcomes | None = None

    @classmethod
    def from_choice(cls, choice: Choice, **details: Any) -> TablesChoice:
        """Return a choice with details of its search."""
        return cls(choice.strategies, choice.solver, choice.evaluated, choice.exact, **details)


def everywhere(study: TablesStudy, node: int) -> Strategies:
    """Return a node for each game row, shape (n_rows,)."""
    return np.full(study.space.n_records, node, dtype=np.int64)


# Generalization of each record


def choose(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Return a policy's generalization of each cell in the publisher's game.

    Raises
    ------
    InputError
        If the policy cannot be played in this game.
    """
    return choose_all(study, (policy,), game)[policy]


def choose_all(
    study: TablesStudy, policies: Sequence[str], game: RecordGame, *, progress: Progress | None = None
) -> dict[str, Choice]:
    """Return the choices of policies of the package, by policy.

    Backward induction and the iceberg solver handle policies that optimize each record in one pass.

    Parameters
    ----------
    study : TablesStudy
        Study of the records to release.
    policies : sequence of str
    game : RecordGame
        Game against the adversaries that the publisher expects.
    progress : callable, optional
        Called with the number of steps done and the total.

    Raises
    ------
    InputError
        If a policy cannot be played in this game, or ignores limits on sensitive columns that the scenario sets.
    """
    publisher, report_all = study.scenario.publisher, progress or (lambda done, total: None)
    for name in policies:
        if publisher.attribute_limits and not policy_named(name).meets_attribute_limits:
            raise InputError("the policy does not support limits on sensitive columns", where=name)
    if (linker := directed_linker(game)) is not None:
        return {name: _choose_looked_up(study, name, planned(study, name, game), linker) for name in policies}
    choices: dict[str, Choice] = {}
    each = [name for name in policies if policy_named(name).picks_each(publisher)]
    solve: Callable[..., dict[str, Choice]] = iceberg if publisher.solver == "iceberg" else backward_induction
    # Policies that plan on the same game are solved together, so that each generalization is linked only once.
    for strict in (False, True) if publisher.solver in ("backward-induction", "iceberg") else ():
        group = {name: constraint_of(study, name) for name in each if _plans_eagerly(study, name) == strict}
        if group:
            choices |= solve(eager(game) if strict else game, group, progress=report_all)
    together = bool(choices)
    for number, name in enumerate(policies):
        report = partial(report_all, number, len(policies))
        if not together:
            report()
        if name not in choices:
            choices[name] = policy_named(name).pick(study, game, report)
    return {name: choices[name] for name in policies}


def constraint_of(study: TablesStudy, policy: str) -> Constraint:
    """Return the constraint of a policy on the generalization of each record.

    It combines the policy's own constraint (no attack, or Safe Harbor) with the minimum levels of attributes and the
    limits on sensitive columns.
    """
    rule, lowest = policy_named(policy), study.lattice.index(study.minimum)
    minimum = study.safe_harbor_strategies if rule.within_safe_harbor else None
    if lowest:
        levels = everywhere(study, lowest)
        minimum = levels if minimum is None else study.lattice.join(minimum, levels)
    return Constraint(rule.forbids_attacks, minimum, study.admissible)


def planned(study: TablesStudy, policy: str, game: RecordGame) -> RecordGame:
    """Return the game on which a policy plans.

    If only classes above gain/cost people count as safe, a no-attack policy plans against an eager adversary, who
    attacks also when indifferent.
    """
    return eager(game) if _plans_eagerly(study, policy) else game


def _plans_eagerly(study: TablesStudy, policy: str) -> bool:
    return study.scenario.publisher.safe_class == "above" and policy_named(policy).forbids_attacks


def _choose_looked_up(study: TablesStudy, policy: str, game: RecordGame, linker: DirectedLinker) -> Choice:
    """Return a policy's choice against adversaries who look people up.

    A policy that optimizes each record starts from its choice in direction "record", in which the adversary looks for
    the person of a record, and changes records until no change improves the release. A no-attack policy with one
    generalization for the table withholds the records that are still attacked; it withholds all records if this exceeds
    the suppression limit. Rules and the lattice search of Wan et al. 2015 ignore the direction.
    """
    chosen, publisher = policy_named(policy), study.scenario.publisher
    separate = chosen.separates_records(publisher)
    choice = choose(study, policy, by_record(game)) if separate else chosen.pick(study, game, lambda: None)
    if chosen.improves_each(publisher):
        return best_release(game, linker, choice, **chosen.improvement(study, constraint_of(study, policy)))
    if separate or not chosen.forbids_attacks:
        return choice
    strategies = without_attacked(game, choice.strategies)
    if study.weights[strategies == WITHHELD].sum() > most_within(publisher.suppression_limit, study.n_subjects):
        strategies = np.full_like(strategies, WITHHELD)
    return replace(choice, strategies=strategies)


# One generalization of the table


def whole_game(study: TablesStudy, policy: str, game: RecordGame) -> FullDomainGame:
    """Return the full-domain game of a policy, with the adversaries of a record game.

    Compiled searches can solve it if there is a single one-shot adversary that links with all people, losses are the
    publisher's believed losses, and there are neither sample risk nor limits on sensitive columns; otherwise it is an
    `AnyAdversaryGame`.
    """
    risk, prices = study.scenario.planned_risk, study.believed(study.prices)
    # A publisher who foresees purchases of resources plans on games with higher losses.
    if game.linker is study.linker(risk) and np.array_equal(game.loss, study.of_cells(prices.loss)):
        # Sample risk estimates the people of a class from two counts; compiled searches need one.
        own = None if risk == "sample" or study.admissible else _prices_against(study, game, prices)
        if own is not None:
            return planned_game(study, policy, risk, own)
    given = planned_game(study, policy, risk, prices)
    return AnyAdversaryGame.from_record_game(
        given, game, by_size=_replies_by_size(study, game, risk), admissible=study.admissible
    )


def _replies_by_size(study: TablesStudy, game: RecordGame, risk: Risk) -> bool:
    """Return whether the responses depend on class sizes only.

    This needs one-shot adversary types that link with the same people, guess uniformly and have one gain and one cost.
    """
    if not isinstance(game, TypesGame) or risk == "sample" or np.ptp(game.benefit) or np.ptp(game.loss):
        return False
    return all(
        each.linker is study.linker(risk)
        and isinstance(each.adversary, OneShotAdversary)
        and isinstance(each.adversary.risk, UniformGuess)
        and not np.ndim(each.adversary.gain)
        and not np.ndim(each.adversary.cost)
        for each in game.types
    )


def planned_game(study: TablesStudy, policy: str, risk: Risk, prices: Prices) -> FullDomainGame:
    """Return the full-domain game of a policy against a one-shot adversary."""
    rule, minimum = policy_named(policy), study.minimum
    if rule.within_safe_harbor:
        lowest = common_levels(study.lattice, study.safe_harbor_strategies)
        minimum = tuple(np.maximum(minimum, lowest).tolist())
    return study.node_game(risk, prices, no_attack=rule.forbids_attacks, minimum=minimum)


def _prices_against(study: TablesStudy, game: RecordGame, prices: Prices) -> Prices | None:
    """Return the payoff parameters of a game against a one-shot adversary.

    Return None for other adversaries, or if the gains and costs by row do not match the study's kinds.
    """
    adversary = game.adversary
    if not isinstance(adversary, OneShotAdversary) or not isinstance(adversary.risk, UniformGuess):
        return None
    if not np.ndim(adversary.gain) and not np.ndim(adversary.cost):
        return replace(prices, gain=np.asarray(adversary.gain), cost=np.asarray(adversary.cost))
    gain, cost = study.gain_and_cost(prices)
    return prices if np.array_equal(adversary.gain, gain) and np.array_equal(adversary.cost, cost) else None


def search_nodes(study: TablesStudy, game: FullDomainGame) -> tuple[FullDomainSolution, NodeOutcomes | None]:
    """Search the lattice by the scenario's method, exact or with a budget.

    Returns
    -------
    solution : FullDomainSolution
    outcomes : NodeOutcomes or None
        Outcomes of the evaluated nodes after a search with a budget; None after an exact search.
    """
    publisher = study.scenario.publisher
    if publisher.search == "exact":
        return search(game, prune=publisher.prune), None
    return explore(game, nodes=publisher.nodes, seconds=publisher.seconds)


def node_strategies(game: FullDomainGame, node: int) -> Strategies:
    """Return `node` for each released cell and -1 for suppressed ones, (n_cells,)."""
    return np.where(game.kept_at(node), node, WITHHELD)


def best_node(study: TablesStudy, game: FullDomainGame) -> TablesChoice:
    """Return the best node; records that do not pay there are suppressed."""
    solution, listed = search_nodes(study, game)
    node = int(solution.nodes[0])
    found = node != NO_SOLUTION
    return TablesChoice(
        node_strategies(game, node),
        study.scenario.publisher.search,
        everywhere(study, solution.evaluated),
        solution.exact,
        planned_payout=float(solution.payout[0]),
        nodes=(node,) if found else (),
        gap=float(solution.gap[0]),
        classes=everywhere(study, node) if found else None,
        listed=listed,
    )
