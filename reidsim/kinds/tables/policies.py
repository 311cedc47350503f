"""Policies of a publisher of tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from reidsim.adversaries.response import OneShotAdversary
from reidsim.core.errors import InputError, locating
from reidsim.core.numerics import dot, random_stream
from reidsim.games.composite import TypesGame, payoff_of_withholding, with_each
from reidsim.games.cross_play import Game, OptIn, record_game_of, require_comparable
from reidsim.games.directions.best_replies import best_release, by_record, directed_linker
from reidsim.games.full_domain.game import NO_SOLUTION, AnyAdversaryGame, AverageRiskGame, FullDomainGame, eager
from reidsim.games.full_domain.search import (
    FullDomainSolution,
    explore,
    local_recoding,
    multi_dimensional,
    record_level,
    search,
    sizes_in_rounds,
)
from reidsim.games.iceberg import iceberg
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import WITHHELD, Choice, Constraint, FixedLinkage, Prices, RecordGame
from reidsim.games.solvers import Progress, backward_induction, branch_and_bound, lattice_search, no_progress
from reidsim.kinds.tables.schema import (
    ONE_RECORD_PER_PERSON,
    ONE_SENSITIVE_COLUMN,
    POLICIES,
    SAFE_HARBOR,
    SEPARATE_RECORDS,
    SEVERAL_RELEASES,
    SIZES_AMONG_LEFT,
    WHERE,
    Scope,
    TablesPolicy,
)
from reidsim.releases.lattice import Strategies
from reidsim.scenarios.adversary_schema import Risk
from reidsim.scenarios.registry import K_ANONYMITY, k_of

if TYPE_CHECKING:
    # Avoids a circular import: the study's module imports the schema, whose default publisher reads the registry.
    from reidsim.kinds.tables.study import TablesStudy

# Number of nodes that policy `anytime` evaluates unless the scenario gives a budget: more nodes may improve the choice,
# and take more time.
FEW_NODES = 100
# Name of the solver of multi-dimensional recoding.
SPLITS = "splits"
_EXACT = {"backward-induction": backward_induction, "branch-and-bound": branch_and_bound}


@dataclass(frozen=True)
class TablesChoice(Choice):
    """A `Choice` of generalizations for each game row, with details of its search.

    Parameters
    ----------
    planned_payout : float
        Publisher's payoff over all records (payout) that it expects, in currency units; NaN if unknown.
    nodes : tuple of int
        Nodes chosen for the table: one or, after local recoding, the node of each round; empty for policies that choose
        no node, and without a solution.
    gap : float
        Bound on the difference between the payout and the optimum, as a share of the best case (all records unchanged,
        none attacked); 0 if proved optimal, NaN without a bound.
    likely_gap : float
        Bound on the same difference with a confidence of 99 %, from a sample; NaN without a sample.
    drawn : int
        Number of records drawn for this sample and solved exactly.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ndarray of int64, shape (n_rows,), optional
        For each game row, released or not: the node that determines its equivalence class in the policy's decision.
    listed : DataFrame, optional
        Outcomes of the nodes evaluated, if a search with a budget kept them.
    """

    planned_payout: float = np.nan
    nodes: tuple[int, ...] = ()
    gap: float = 0.0
    likely_gap: float = np.nan
    drawn: int = 0
    unproved_rounds: int = 0
    classes: Strategies | None = None
    listed: pd.DataFrame | None = None


def everywhere(study: TablesStudy, node: int) -> Strategies:
    """Return an array of strategies, shape (n_rows,): `node` for each game row."""
    return np.full(study.space.n_records, node, dtype=np.int64)


def search_nodes(study: TablesStudy, game: FullDomainGame) -> tuple[FullDomainSolution, pd.DataFrame | None]:
    """Search the lattice for the best node by the scenario's method.

    The method is ``publisher.search``: exact, or with a budget of nodes or seconds.

    Returns
    -------
    solution : FullDomainSolution
    outcomes : DataFrame or None
        Outcomes of the evaluated nodes after a search with a budget; None after an exact search.
    """
    publisher = study.scenario.publisher
    if publisher.search == "exact":
        return search(game, prune=publisher.prune), None
    return explore(game, nodes=publisher.nodes, seconds=publisher.seconds)


def node_strategies(game: FullDomainGame, node: int) -> Strategies:
    """Return `node` for each released game row, -1 for suppressed ones, (n_rows,).

    If `node` is -1 (no solution), all rows have -1.
    """
    return np.where(game.kept_at(node), node, WITHHELD)


class SolvedPolicy(TablesPolicy):
    """Base class of the package's policies for tables.

    A subclass defines `pick`. If the policy optimizes each record, `pick` is for games in which the success probability
    of a record does not depend on the generalizations of other records; `choose` also plays the policy against
    adversaries who look people up.

    Attributes
    ----------
    also_from : str, optional
        Policy without attacks from whose release the search against such adversaries starts, too.
    """

    also_from: ClassVar[str | None] = None

    def choose(self, study: TablesStudy, game: Game, draw: int, report: Progress = no_progress) -> Choice:
        """Return the `Choice` of a generalization for each game row.

        A game row is a cell (distinct record) or, with ``release.person``, the set of records that a person has.
        `report` is called during a long search, with the number of steps done and the total. `draw` has no effect.

        Against adversaries who look people up, a policy that optimizes each record starts from its choice in direction
        "record", in which the adversary looks for the person of a record, and changes records until no change improves
        the release. Rules and the lattice search of Wan et al. 2015 ignore the direction.

        Raises
        ------
        InputError
            If the policy cannot be played in this game, or the scenario sets limits on sensitive columns and the policy
            does not support them.
        """
        played, publisher = record_game_of(game), study.scenario.publisher
        if publisher.attribute_limits and not self.meets_attribute_limits:
            raise InputError("the policy does not support limits on sensitive columns", where=self.name)
        linker = directed_linker(played)
        if linker is None or not (self.optimizes == "record" or self.scope(publisher) == "unit"):
            report()
            return self.pick(study, played, report)
        is_own, limits = played is study.belief, self.limits(study)
        start, safe = (
            study.solve_by_record(policy) if is_own else policy.choose(study, by_record(played), 0)
            for policy in (self, self if self.also_from is None else POLICIES[self.also_from])
        )
        limits |= {"may_withhold": self.optimizes == "record", "report": report}
        return best_release(self.planned(study, played), linker, start, safe=safe, **limits)

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` in a game.

        If the policy optimizes each record, the success probability of a record must not depend on the generalizations
        of other records. Subclasses define this method; `report` is called with the numbers of steps done and in total.
        """
        raise NotImplementedError

    def limits(self, study: TablesStudy) -> dict[str, Any]:
        """Return the limits with which `best_release` improves records one by one.

        They are its keyword arguments ``constraint`` and, if only some strategies are possible, ``forms``.
        """
        return {"constraint": self.constraint(study)}

    def constraint(self, study: TablesStudy) -> Constraint:
        """Return the `Constraint` on the generalization of each game row.

        It combines the policy's own constraint (no attack, or Safe Harbor) with the minimum levels of attributes and
        the limits on sensitive columns.
        """
        lowest, minimum = study.lattice.index(study.minimum), study.safe_harbor if self.within_safe_harbor else None
        if lowest:
            levels = everywhere(study, lowest)
            minimum = levels if minimum is None else study.lattice.join(minimum, levels)
        return Constraint(self.forbids_attacks, minimum, study.admissible)

    def planned(self, study: TablesStudy, game: RecordGame) -> RecordGame:
        """Return the record game on which the policy plans.

        If only classes of more than gain/cost people count as safe (``publisher.safe_class`` is "above"), a no-attack
        policy plans against an eager adversary, who attacks also when indifferent. Otherwise it is `game`.
        """
        return eager(game) if study.scenario.publisher.safe_class == "above" and self.forbids_attacks else game

    def whole_game(self, study: TablesStudy, game: RecordGame) -> FullDomainGame:
        """Return the full-domain game of the policy against a record game's adversaries.

        A full-domain game is a choice of one node for the table. Compiled searches can solve it (a plain
        `FullDomainGame`) if there is a single one-shot adversary that links with all people, losses are the publisher's
        believed losses, and there are neither sample risk nor limits on sensitive columns; otherwise it is an
        `AnyAdversaryGame`. If all people of an equivalence class are released or none, as with equal amounts and one
        record per person, the game is the same in all directions under prosecutor risk.

        With several records per person, a policy of one node that forbids attacks plans in direction "person" under
        prosecutor risk: a person who is suppressed because of one record leaves the classes of the others.
        """
        directed = directed_linker(game)
        if directed is not None and directed.counts_release and study.persons is None:
            whole = self.whole_game(study, by_record(game))
            if whole.by_class:
                return whole
        if study.persons is not None and self.forbids_attacks and self.scope(study.scenario.publisher) == "node":
            everybody = study.persons.linker(study.linker("prosecutor"))
            game = with_each(
                game,
                lambda each: (
                    replace(each, linker=study.directed_linker("person")) if each.linker is everybody else each
                ),
            )
        risk, prices, adversary = study.scenario.planned_risk, study.believed_prices, game.adversary
        linker, admissible = study.linker(risk), study.admissible
        # Sample risk estimates the people of a class from two counts; compiled searches need one.
        compiled = game.linker is linker and risk != "sample" and not admissible
        # A publisher who foresees purchases of resources plans on games with higher losses.
        if (
            compiled
            and isinstance(adversary, OneShotAdversary)
            and np.array_equal(game.loss, study.of_cells(prices.loss))
        ):
            gain, cost = adversary.gain, adversary.cost
            if not np.ndim(gain) and not np.ndim(cost):
                return self.one_shot_game(study, risk, replace(prices, gain=np.asarray(gain), cost=np.asarray(cost)))
            if all(map(np.array_equal, (gain, cost), study.gain_and_cost(prices))):
                return self.one_shot_game(study, risk, prices)
        # Responses of one-shot adversaries depend on class sizes only if all amounts are equal for all rows.
        types = game.types if isinstance(game, TypesGame) and risk != "sample" else ()
        by_size = bool(types) and not np.ptp(game.benefit) and not np.ptp(game.loss)
        by_size = by_size and all(
            each.linker is linker
            and isinstance(each.adversary, OneShotAdversary)
            and not np.ndim(each.adversary.gain)
            and not np.ndim(each.adversary.cost)
            for each in types
        )
        given = self.one_shot_game(study, risk, prices)
        return AnyAdversaryGame.from_record_game(given, game, by_size=by_size, admissible=admissible)

    def one_shot_game(self, study: TablesStudy, risk: Risk, prices: Prices) -> FullDomainGame:
        """Return the `FullDomainGame` of the policy against a one-shot adversary.

        For a policy limited by Safe Harbor, the lowest levels are the highest ones that Safe Harbor requires of any
        record.

        Parameters
        ----------
        study : TablesStudy
        risk : {"journalist", "prosecutor", "sample"}
            Risk that selects the people with whom the adversary links.
        prices : Prices
            Payoff parameters of every kind of record.
        """
        minimum = study.minimum
        if self.within_safe_harbor and study.safe_harbor is not None:
            minimum = tuple(np.maximum(minimum, study.lattice.all_levels(study.safe_harbor).max(axis=0)).tolist())
        return study.node_game(risk, prices, no_attack=self.forbids_attacks, minimum=minimum)


class Rule(SolvedPolicy):
    """Base class of policies with a prescribed generalization of each record.

    The generalization does not depend on the adversary.

    Attributes
    ----------
    form : callable
        Returns the prescribed generalization (node) of each game row, shape (n_rows,), given the policy and the study.
    """

    is_rule = True
    form: ClassVar[Callable[[Any, TablesStudy], Strategies]]

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` of the prescribed generalizations; `game` has no effect."""
        return Choice(self.form(study), self.name, everywhere(study, 0), exact=False)


POLICIES.add(
    "safe-harbor",
    Rule,
    label="Safe Harbor",
    description="for each record, the least generalization that complies with the HIPAA Safe Harbor rule",
    needs=frozenset({SAFE_HARBOR}),
    form=lambda rule, study: study.safe_harbor,
)


class BestOfUnit(SolvedPolicy):
    """Policy with the best generalization of each record, or of the whole table.

    ``publisher.unit`` determines which; a subclass or registered policy may fix it by `optimizes`.
    """

    optimizes: ClassVar[Scope | None] = "unit"

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` of the best generalization of each record, or the best node.

        The scenario's solver picks a generalization for each game row, or the scenario's search picks a node for the
        table, at which unprofitable records are suppressed. Without a node within the suppression limit, all records
        are suppressed, and `nodes` and `classes` of the `TablesChoice` are empty and None.
        """
        publisher = study.scenario.publisher
        if self.scope(publisher) != "node":
            played = self.planned(study, game)
            if publisher.solver == "lattice-search":
                return lattice_search(played)
            if publisher.solver == "iceberg":
                bounded = iceberg(
                    played,
                    self.constraint(study),
                    report,
                    nodes=publisher.nodes,
                    seconds=publisher.seconds,
                    weights=study.weights,
                    seed=study.scenario.seed,
                )
                best_case = dot(played.benefit, study.weights)
                gap = dot(bounded.gap, study.weights) / best_case if best_case > 0 else 0.0
                likely = min(bounded.likely_gap / best_case, gap) if bounded.drawn and best_case > 0 else np.nan
                return TablesChoice(**{**vars(bounded), "gap": gap, "likely_gap": likely})
            return _EXACT[publisher.solver](played, self.constraint(study), report)
        whole = self.whole_game(study, game)
        solution, listed = search_nodes(study, whole)
        found = solution.node != NO_SOLUTION
        return TablesChoice(
            node_strategies(whole, solution.node),
            publisher.search,
            everywhere(study, solution.evaluated),
            solution.exact,
            planned_payout=solution.payout,
            nodes=(solution.node,) if found else (),
            gap=solution.gap,
            classes=everywhere(study, solution.node) if found else None,
            listed=listed,
        )


# The basic game of Wan et al. 2015, and its variants.
POLICIES.add(
    "basic",
    BestOfUnit,
    label="Basic",
    description="for each record or the table, the generalization with the highest payoff, "
    "whether or not records are attacked",
    also_from="no-attack",
)


POLICIES.add(
    "no-attack",
    BestOfUnit,
    label="No-attack",
    description="for each record or the table, the generalization with the highest payoff among the "
    "generalizations without an attack",
    forbids_attacks=True,
)


POLICIES.add(
    "sh-friendly",
    BestOfUnit,
    label="SH-friendly",
    description="for each record or the table, the generalization with the highest payoff among the "
    "generalizations that comply with Safe Harbor",
    needs=frozenset({SAFE_HARBOR}),
)


POLICIES.add(
    "no-protection",
    Rule,
    label="No protection",
    description="all records are released unchanged",
    form=lambda rule, study: everywhere(study, study.lattice.most_specific),
)


POLICIES.add(
    "suppress-all",
    Rule,
    label="Suppress all",
    description="all values are suppressed",
    form=lambda rule, study: everywhere(study, study.lattice.size - 1),
)


@POLICIES.register("record-level")
class RecordLevel(SolvedPolicy):
    """Policy with the best generalization of each record, by sizes in the whole table.

    The group of a record is counted as if all records had the same generalization as this record. A record is withheld
    unless a generalization pays more than withholding.
    """

    label = "Record-level"
    description = (
        "for each record, the generalization with the highest payoff; records without a positive payoff are suppressed"
    )
    every_node = True
    optimizes = "record"

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return a `TablesChoice`: each record's best generalization, or withholding.

        A record is withheld unless its best generalization pays more than withholding.
        """
        played = self.whole_game(study, game)
        if not isinstance(played, AnyAdversaryGame):
            best = record_level(played)
            payout, evaluated = dot(best.payoff, played.released), everywhere(study, best.evaluated)
            return TablesChoice(best.strategies, "record-level", evaluated, exact=True, planned_payout=payout)
        own, minimum = played.record_game, everywhere(study, played.lattice.index(played.lowest))
        choice = branch_and_bound(own, Constraint(played.no_attack, minimum, played.admissible))
        payoff = evaluate(own, choice).publisher_payoff
        withheld = payoff_of_withholding(own)
        strategies = np.where(payoff > withheld + own.tie(), choice.strategies, WITHHELD)
        payout = dot(np.where(strategies == WITHHELD, withheld, payoff), played.released)
        return TablesChoice(**vars(choice) | {"strategies": strategies}, planned_payout=payout)


POLICIES.add(
    "record-level-no-attack",
    RecordLevel,
    label="Record-level no-attack",
    description="for each record, the generalization with the highest payoff among the generalizations "
    "without an attack; records without a positive payoff are suppressed",
    forbids_attacks=True,
)


POLICIES.add(
    "full-domain",
    BestOfUnit,
    label="Full-domain",
    description="for the table, the generalization with the highest total payoff; records without a "
    "positive payoff are suppressed",
    optimizes="node",
)


POLICIES.add(
    "full-domain-no-attack",
    BestOfUnit,
    label="Full-domain no-attack",
    description="for the table, the generalization with the highest total payoff if attacked records are suppressed",
    optimizes="node",
    forbids_attacks=True,
    compared=False,
)


@POLICIES.register("local-recoding")
class LocalRecodingPolicy(SolvedPolicy):
    """Policy that repeats full-domain generalization for the suppressed records.

    Under prosecutor risk, group sizes of a round are counted among the records that are left for this round. Rounds end
    when no generalization of the remaining records pays, or after ``publisher.rounds``. If more records are then left
    than the suppression limit allows, all records are withheld.
    """

    label = "Local recoding"
    description = "full-domain generalization, repeated for the suppressed records until the payoff stops increasing"
    by_agents = False
    optimizes = "rounds"
    meets_attribute_limits = False
    needs = frozenset({SIZES_AMONG_LEFT, SEPARATE_RECORDS})

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return a `TablesChoice`: each record has the node of the round that releases it.

        Records that no round releases are withheld (-1). `nodes` has the node of each round.

        Raises
        ------
        InputError
            If the scenario has prosecutor risk and the adversary's linkage does not provide group sizes among the
            records left for a round.
        """
        played, rounds = self.whole_game(study, game), study.scenario.publisher.rounds
        counts_all = isinstance(played, AnyAdversaryGame) or directed_linker(game) is not None
        if counts_all and "prosecutor" in study.scenario.risks:
            raise self._without_sizes()
        recoded = local_recoding(played, rounds=rounds, solve=lambda part: search_nodes(study, part)[0])
        nodes = tuple(solution.node for solution in recoded.rounds)
        last = nodes[-1] if nodes else WITHHELD
        return TablesChoice(
            recoded.strategies,
            "rounds",
            everywhere(study, sum(solution.evaluated for solution in recoded.rounds)),
            exact=False,
            planned_payout=recoded.payout,
            nodes=nodes,
            gap=np.nan,
            unproved_rounds=sum(not solution.exact for solution in recoded.rounds),
            classes=np.where(recoded.strategies == WITHHELD, last, recoded.strategies) if nodes else None,
        )

    def paid_in(self, study: TablesStudy, game: Game, choice: Choice) -> Game:
        """Return the game with the group sizes of the rounds under prosecutor risk.

        These sizes are counted among the records that are left for each round of `choice`. Without prosecutor risk, or
        if an adversary looks people up, the record game of `game` is returned.

        Raises
        ------
        InputError
            If the game's linker does not provide such group sizes.
        """
        played = record_game_of(game)
        risks = {section.risk for section in study.scenario.every_adversary.values()}
        if directed_linker(played) is not None or "prosecutor" not in risks:
            return played
        if played.linker is not study.linker("prosecutor"):
            raise self._without_sizes()
        nodes = choice.nodes if isinstance(choice, TablesChoice) else ()
        sizes = sizes_in_rounds(study.node_game("prosecutor", study.prices), nodes, choice.strategies)
        return replace(played, linker=FixedLinkage.from_sizes(sizes))

    def _without_sizes(self) -> InputError:
        return InputError(f"needs {SIZES_AMONG_LEFT}, which the adversary's linkage does not provide", where=self.name)


POLICIES.add(
    "local-recoding-no-attack",
    LocalRecodingPolicy,
    label="Local recoding no-attack",
    description="local recoding in which each round suppresses attacked records",
    forbids_attacks=True,
)


@POLICIES.register("multi-dimensional")
class MultiDimensionalPolicy(SolvedPolicy):
    """Policy with the best division of the domain of values into regions.

    All records of a region have the same generalization. Group sizes are counted in the whole table.
    """

    label = "Multi-dimensional"
    description = (
        "partition of the domain into regions, each with the generalization that has the highest payoff in the region"
    )
    by_agents = False
    every_node = True
    optimizes = "table"
    needs = frozenset({ONE_RECORD_PER_PERSON})

    def takes_best(self, publisher: Any) -> bool:
        """Return whether the policy finds the best recoding for any payoff parameters.

        The result is True if suppression is unlimited: ``publisher.suppression_limit`` is 1. Otherwise the recoding
        that the policy finds may not be optimal.
        """
        return bool(publisher.suppression_limit == 1.0)

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return a `TablesChoice`: for each record, the generalization of its region.

        Suppressed records have -1; `classes` has the generalization of the region of each game row.

        Raises
        ------
        InputError
            If people may have several records, or the recoding cannot be computed.
        """
        if study.persons is not None:
            raise InputError("the policy needs one record per person", where=self.name)
        with locating(study.loaded.path, WHERE):
            best = multi_dimensional(self.whole_game(study, game))
        return TablesChoice(
            best.strategies,
            SPLITS,
            everywhere(study, best.evaluated),
            best.exact,
            planned_payout=best.payout,
            gap=best.gap,
            classes=best.regions,
        )


POLICIES.add(
    "multi-dimensional-no-attack",
    MultiDimensionalPolicy,
    label="Multi-dimensional no-attack",
    description="multi-dimensional generalization that suppresses attacked records",
    forbids_attacks=True,
)


# Greedy search of the lattice for each record (Wan et al. 2015), in direction "record"; not exact.
POLICIES.add(
    "lattice-search",
    SolvedPolicy,
    label="Lattice search",
    description="for each record, the generalization at which the greedy lattice search of Wan et al. 2015 stops",
    has_lowest_level=False,
    meets_attribute_limits=False,
    pick=lambda policy, study, game, report: lattice_search(by_record(game)),
)


@POLICIES.register("anytime")
class Anytime(SolvedPolicy):
    """Policy with the best generalization of the table found with a budget of nodes.

    The budget is ``publisher.nodes``, or `FEW_NODES` (100) evaluated nodes.
    """

    label = "Anytime"
    description = "for the table, the best generalization found within a budget of nodes"
    optimizes = "table"

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` of the best node within the budget.

        Records that do not pay at the node are suppressed (-1).
        """
        played = self.whole_game(study, game)
        solution, _ = explore(played, nodes=study.scenario.publisher.nodes or FEW_NODES)
        strategies, evaluated = node_strategies(played, solution.node), everywhere(study, solution.evaluated)
        return Choice(strategies, "anytime", evaluated, solution.exact)


@POLICIES.register("opt-in")
class OptInPolicy(SolvedPolicy):
    """Policy that releases a record unchanged if this raises the publisher's payoff.

    The payoff must be higher than from withholding the record, and the record's group must keep to the limits on
    sensitive columns. Otherwise, also with equal payoffs, the record is withheld.
    """

    label = "Opt-in"
    description = "each record is released unchanged if its payoff is positive, otherwise withheld"
    has_lowest_level = False
    optimizes = "record"

    def limits(self, study: TablesStudy) -> dict[str, Any]:
        """Return keyword arguments of `best_release`: ``constraint`` and ``forms``.

        The only allowed strategy is the unchanged record, provided that its group keeps to the limits on sensitive
        columns.
        """
        unchanged = np.arange(study.lattice.size) == study.lattice.most_specific
        return {"constraint": Constraint(admissible=study.admissible), "forms": unchanged}

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` between the unchanged record (0) and withholding (-1).

        Each game row has the better of the two; see `OptIn`.
        """
        return OptIn(admissible=study.admissible).choose(game)


@POLICIES.register(K_ANONYMITY)
class KAnonymityPolicy(SolvedPolicy):
    """Policy with the k-anonymous generalization of the table that has most utility.

    If the publisher's unit is the table, records in smaller classes may be suppressed, up to the suppression limit;
    otherwise none may be.
    """

    label = "k-anonymity"
    description = (
        "for the table, the generalization with the highest utility among the generalizations with at least k "
        "records in each equivalence class"
    )
    is_rule = True

    def pick(self, study: TablesStudy, game: RecordGame, report: Progress) -> Choice:
        """Return the `Choice` of the node with the largest utility that keeps the policy's limit.

        All game rows have this node, or -1 if no node keeps it. If the publisher's unit is the table, some records may
        be withheld, and the result is a `TablesChoice` with the node and the equivalence classes at the node, unless
        all records are withheld.

        Raises
        ------
        InputError
            If the policy cannot be played in this scenario; see `limited_game`.
        """
        section, of_table = study.scenario.publisher, study.scenario.publisher.unit == "table"
        played = replace(self.limited_game(study), suppression_limit=section.suppression_limit if of_table else 0.0)
        solution = search(played)
        strategies, evaluated = node_strategies(played, solution.node), everywhere(study, solution.evaluated)
        choice, node = Choice(strategies, "fixed", evaluated, exact=False), int(strategies.max(initial=WITHHELD))
        if not of_table or node == WITHHELD:
            return choice
        return TablesChoice(**vars(choice), nodes=(node,), classes=everywhere(study, node))

    def limited_game(self, study: TablesStudy) -> FullDomainGame:
        """Return the game in which a record pays its utility in classes of at least k records, and 0 in others.

        Raises
        ------
        InputError
            If the scenario gives several k and the policy's name none, or there are more than a million nodes and
            classes do not determine which records are kept: with several records per person, or limits on sensitive
            columns.
        """
        k, ones = float(k_of(self, study.scenario.publisher.k, "publisher.k")), np.ones(study.space.n_records)
        # An attack on a class of k people does not pay an adversary who gains k times its cost.
        played = study.node_game("prosecutor", Prices(*np.array([1.0, 0.0, k, 1.0])), no_attack=True)
        played = replace(played, safe_class="at-least")
        if study.persons is None and study.admissible is None:
            return played
        require_comparable(self.name, study.space.size)
        by_size = study.persons is None
        linker = study.linker("prosecutor") if by_size else study.directed_linker("person")
        record_game = RecordGame(study.space, linker, OneShotAdversary(k, 1.0), ones, 0.0 * ones)
        return AnyAdversaryGame.from_record_game(played, record_game, by_size=by_size, admissible=study.admissible)


@POLICIES.register("average-risk")
class AverageRiskPolicy(KAnonymityPolicy):
    """Policy with most utility among those with a limit on the average risk of released records.

    The risk of a record is 1 / class size. Classes below the smallest size that keeps the limit are suppressed, if the
    publisher's unit is the table, up to the suppression limit.
    """

    label = "Average risk"
    description = (
        "for the table, the generalization with the highest utility among the generalizations with a limited mean of "
        "1 / class size over the released records; the smallest classes are suppressed first"
    )
    compared = False
    meets_attribute_limits = False
    needs = frozenset({ONE_RECORD_PER_PERSON})

    def limited_game(self, study: TablesStudy) -> FullDomainGame:
        """Return the `AverageRiskGame` in which a record kept pays its utility."""
        game = study.node_game("prosecutor", Prices(*np.array([1.0, 0.0, 1.0, 1.0])), no_attack=True)
        return AverageRiskGame(**vars(game), max_average_risk=study.scenario.publisher.max_average_risk)


POLICIES.add(
    "independent",
    BestOfUnit,
    label="Independent",
    description="with several releases, the generalization with the highest payoff in each release, "
    "computed without the earlier releases",
    replies="alone",
    needs=frozenset({SEVERAL_RELEASES}),
    compared=False,
)


POLICIES.add(
    "hold-first",
    BestOfUnit,
    label="Hold first",
    description="with several releases, the generalization with the highest payoff when a record is first "
    "released, kept in all later releases",
    replies="hold",
    needs=frozenset({SEVERAL_RELEASES}),
    compared=False,
)


# In each release, an equivalence class has at least m different sensitive values, and the set of values in a record's
# class is the same in all releases. All releases are planned before the first; see `planned_releases`.
POLICIES.add(
    "m-invariance",
    SolvedPolicy,
    label="m-invariance",
    description="with several releases, equivalence classes with at least m different sensitive values; "
    "the values in a record's class are the same in all releases (Xiao and Tao 2007)",
    is_rule=True,
    meets_attribute_limits=False,
    replies="planned",
    needs=frozenset({SEVERAL_RELEASES, ONE_SENSITIVE_COLUMN, ONE_RECORD_PER_PERSON}),
    compared=False,
)


# Nodes are drawn uniformly from the lattice, with the scenario's seed; each call returns the same ones.
POLICIES.add(
    "random",
    Rule,
    label="Random",
    description="for each record, a generalization drawn at random",
    form=lambda rule, study: random_stream(study.scenario.seed, "cross-play").integers(
        study.lattice.size, size=study.space.n_records
    ),
)
