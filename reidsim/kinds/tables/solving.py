"""How each policy of a publisher of tables picks generalizations in a game, and in which game it is paid.

A single one-shot adversary who knows everything is played by the compiled searches of the whole lattice, any others by
the same searches with their replies to each record. So a policy has one answer, whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from reidsim.errors import InputError, locating
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.defenders.fixed import FixedForms, OptIn
from reidsim.games.defenders.k_anonymity import KAnonymity
from reidsim.games.defenders.recoding import LocalRecoding, MultiDimensional
from reidsim.games.directions.linker import DirectedLinker, directed_linker
from reidsim.games.equilibrium import evaluate
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame, eager
from reidsim.games.full_domain.anytime import anytime_search
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.local_recoding import local_recoding, sizes_in_rounds
from reidsim.games.full_domain.multi_dimensional import multi_dimensional
from reidsim.games.full_domain.nodes import NodeOutcomes
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.risk import GivenSizes
from reidsim.games.iceberg import iceberg
from reidsim.games.lattice_search import lattice_search
from reidsim.games.memory import payoff_of_withholding
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.kinds.tables.looked_up import choose_looked_up
from reidsim.kinds.tables.node_games import node_strategies, search_is_of_nodes, search_nodes, whole_game
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.adversary_schema import Risk
from reidsim.scenarios.policy import k_of

if TYPE_CHECKING:
    from reidsim.kinds.tables.study import TablesStudy

# What the outcome of multi-dimensional recoding calls its solver.
SPLITS = "splits"
# Nodes that the search with a budget evaluates where a scenario does not say how many.
FEW_NODES = 100


@dataclass(frozen=True)
class TablesChoice(Choice):
    """A choice of generalizations, and how it was found.

    Parameters
    ----------
    planned_payout : float
        The payout that the publisher expected, over all records; NaN where it is not known.
    nodes : tuple of int
        Nodes that the table was generalized to: one, or one per round of local recoding; none for other policies
        and where there is no solution.
    gap : float
        How far the payout may be from the optimum, as a share of the best case; NaN where nothing bounds it.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ndarray of int64, shape (n_cells,), optional
        The node in whose classes each cell is decided on, released or not; for policies that decide class by class.
    listed : NodeOutcomes, optional
        What the nodes evaluated lead to, where a search with a budget has kept that.
    """

    planned_payout: float = np.nan
    nodes: tuple[int, ...] = ()
    gap: float = 0.0
    unproved_rounds: int = 0
    classes: Strategies | None = None
    listed: NodeOutcomes | None = None


@dataclass(frozen=True, eq=False)
class TablesDefender:
    """Follows a policy of a study in any game on its records.

    Parameters
    ----------
    name : str
    plans : bool
    study : TablesStudy
    """

    name: str
    plans: bool
    study: TablesStudy

    def choose(self, game: Game) -> Choice:
        """Return the generalization of each cell's records; see `Defender`."""
        return choose(self.study, self.name, record_game_of(game))

    def paid_in(self, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is paid; see `reidsim.games.defenders.defender.paid_in`."""
        return truth_of(self.study, self.name, choice, record_game_of(game))


def choose(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Pick the generalization of each cell's records in the game that the publisher believes in.

    Parameters
    ----------
    study : TablesStudy
        On the records of those who take part.
    policy : str
    game : RecordGame
        Against the adversaries as the publisher believes them to be.

    Raises
    ------
    InputError
        If the policy cannot be played in this game.
    """
    return choose_all(study, (policy,), game)[policy]


def choose_all(
    study: TablesStudy,
    policies: Sequence[str],
    game: RecordGame,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Choice]:
    """Do the same for several policies; what is the best of each record is found for all of them in one pass."""
    if (linker := directed_linker(game)) is not None:
        return {name: _looked_up(study, name, game, linker) for name in policies}
    return _choose_each(study, policies, game, progress)


def _choose_each(
    study: TablesStudy,
    policies: Sequence[str],
    game: RecordGame,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Choice]:
    """Pick the generalization of each cell's records as if it did not matter to the other records."""
    by_record = study.scenario.publisher.unit == "record"
    per_record = [name for name in policies if by_record and study.policy(name).way == "unit"]
    together: dict[str, Choice] = {}
    if len(per_record) > 0 and study.scenario.publisher.solver == "backward-induction":
        together = _in_one_pass(study, per_record, game, _by_backward_induction, progress)
    elif len(per_record) > 0 and study.scenario.publisher.solver == "iceberg":
        together = _in_one_pass(study, per_record, game, _by_iceberg, progress)
    choices: dict[str, Choice] = {}
    for number, name in enumerate(policies):
        report = partial(progress or (lambda done, total: None), number, len(policies))
        if not together:
            report()
        choices[name] = together[name] if name in together else _choose(study, name, game, report)
    return choices


def truth_of(study: TablesStudy, policy: str, choice: Choice, game: RecordGame) -> RecordGame:
    """Return the game in which a choice is paid: in local recoding, records hide among those left for their round.

    Raises
    ------
    InputError
        If that cannot be told of the adversary's linkage.
    """
    if not study.policy(policy).in_rounds or directed_linker(game) is not None:
        return game
    risks = {section.risk for section in study.scenario.every_adversary.values()}
    if "prosecutor" not in risks:
        return game
    risk: Risk = "prosecutor"
    if game.linker is not study.linker(risk):
        raise InputError(
            "under prosecutor risk its groups are counted among the records left for their round, which the linkage "
            "of this adversary does not give", where=policy,
        )  # fmt: skip
    nodes = choice.nodes if isinstance(choice, TablesChoice) else ()
    sizes = sizes_in_rounds(study.node_game(risk, study.prices), nodes, choice.strategies)
    return replace(game, linker=GivenSizes(sizes))


def _looked_up(study: TablesStudy, policy: str, game: RecordGame, linker: DirectedLinker) -> Choice:
    planned, constraint = _planned(study, policy, game), constraint_of(study, policy)
    return choose_looked_up(
        study, policy, planned, linker, constraint, lambda each: _choose_each(study, (policy,), each)[policy]
    )


def _choose(study: TablesStudy, policy: str, game: RecordGame, report: Callable[[], object] = lambda: None) -> Choice:
    section, way = study.scenario.publisher, study.policy(policy).way
    if section.attribute_limits and not study.policy(policy).meets_attribute_limits:
        raise InputError("this policy does not keep to limits on sensitive columns", where=policy)
    if way == "unit" and section.unit == "record":
        return _best_of_each(study, policy, game, report)
    if way == "record-level":
        return _record_level(whole_game(study, policy, game))
    if way == "rounds":
        return _local(study, policy, game)
    if way == "splits":
        if study.persons is not None:
            raise InputError("a person's records would be in several regions", where=policy)
        return _split(study, policy, game)
    if search_is_of_nodes(study, policy):
        return _one_node(study, whole_game(study, policy, game))
    if way == "anytime":
        played = whole_game(study, policy, game)
        solution = anytime_search(played, nodes=section.nodes or FEW_NODES)
        evaluated = np.full(study.space.n_records, solution.evaluated, dtype=np.int64)
        return Choice(node_strategies(played, int(solution.nodes[0])), "anytime", evaluated, solution.exact)
    if way == "lattice-search":
        return lattice_search(game)
    if way == "opt-in":
        return OptIn(admissible=study.admissible).choose(game)
    if way == "m-invariance":
        raise InputError("a policy of several releases, which are played in rounds", where=policy)
    if way == "k-anonymity":
        return _anonymous(study, policy, game)
    return FixedForms(policy, rule_of(study, policy)).choose(game)


def _anonymous(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Play k-anonymity; the node of a table is told, with the classes in which records are decided on."""
    section, n = study.scenario.publisher, study.space.n_records
    k, of_table = k_of(study.policy(policy), section.k, "publisher.k"), section.unit == "table"
    limit = section.suppression_limit if of_table else 0.0
    lowest, admissible = study.lattice.index(study.minimum), study.admissible
    choice = KAnonymity(k, study.weights, limit, lowest, policy, admissible).choose(game)
    node = int(choice.strategies.max(initial=WITHHELD))
    if not of_table or node == WITHHELD:
        return choice
    classes = np.full(n, node, dtype=np.int64)
    return TablesChoice(
        choice.strategies, choice.solver, choice.evaluated, choice.exact, nodes=(node,), classes=classes
    )


def rule_of(study: TablesStudy, policy: str) -> Strategies:
    """Return the node that a rule prescribes for each cell, shape (n_cells,)."""
    form = study.policy(policy).form
    if form is None:
        raise ValueError(f"{policy} prescribes no release")
    return form(study)


def constraint_of(study: TablesStudy, policy: str) -> Constraint:
    """Return what the publisher restricts itself to when it picks the best generalization of each record."""
    minimum = study.safe_harbor_strategies if study.policy(policy).within_safe_harbor else None
    lowest = study.lattice.index(study.minimum)
    if lowest:
        everywhere = np.full(study.space.n_records, lowest, dtype=np.int64)
        minimum = everywhere if minimum is None else study.lattice.join(minimum, everywhere)
    return Constraint(study.policy(policy).forbids_attacks, minimum, study.admissible)


def _planned(study: TablesStudy, policy: str, game: RecordGame) -> RecordGame:
    """Return the game on which a policy that forbids attacks plans: if only larger classes are safe, an eager one."""
    strict = study.scenario.publisher.safe_class == "above"
    return eager(game) if strict and study.policy(policy).forbids_attacks else game


def _in_one_pass(
    study: TablesStudy,
    policies: Sequence[str],
    game: RecordGame,
    solve: Callable[..., dict[str, Choice]],
    progress: Callable[[int, int], None] | None,
) -> dict[str, Choice]:
    """Solve each game that policies plan on, for all of these policies at once."""
    choices: dict[str, Choice] = {}
    games: dict[int, tuple[RecordGame, dict[str, Constraint]]] = {}
    for name in policies:
        planned = _planned(study, name, game)
        games.setdefault(id(game) if planned is game else -1, (planned, {}))[1][name] = constraint_of(study, name)
    for played, constraints in games.values():
        choices |= solve(study, played, constraints, progress)
    return choices


def _by_iceberg(
    study: TablesStudy,
    game: RecordGame,
    constraints: dict[str, Constraint],
    progress: Callable[[int, int], None] | None,
) -> dict[str, Choice]:
    return iceberg(game, constraints, progress or (lambda done, total: None))


def _by_backward_induction(
    study: TablesStudy,
    game: RecordGame,
    constraints: dict[str, Constraint],
    progress: Callable[[int, int], None] | None,
) -> dict[str, Choice]:
    return backward_induction(game, constraints, progress=progress)


def _best_of_each(study: TablesStudy, policy: str, game: RecordGame, report: Callable[[], object]) -> Choice:
    planned = _planned(study, policy, game)
    if study.scenario.publisher.solver == "lattice-search":
        return lattice_search(planned)
    return branch_and_bound(planned, constraint_of(study, policy), report)


def _one_node(study: TablesStudy, game: FullDomainGame) -> TablesChoice:
    solution, listed = search_nodes(study, game)
    node, n = int(solution.nodes[0]), study.space.n_records
    found = node != NO_SOLUTION
    return TablesChoice(
        node_strategies(game, node),
        study.scenario.publisher.search,
        np.full(n, solution.evaluated, dtype=np.int64),
        solution.exact,
        planned_payout=float(solution.payout[0]),
        nodes=(node,) if found else (),
        gap=float(solution.gap[0]),
        classes=np.full(n, node, dtype=np.int64) if found else None,
        listed=listed,
    )


def _record_level(played: FullDomainGame) -> Choice:
    n = played.lattice.n_records
    if not isinstance(played, AnyAdversaryGame):
        best = record_level(played)
        payout = dot(best.payoff[0], played.released)
        evaluated = np.full(n, best.evaluated, dtype=np.int64)
        return TablesChoice(best.strategies[0], "record-level", evaluated, exact=True, planned_payout=payout)
    game, minimum = played.record_game, np.full(n, played.lattice.index(played.lowest), dtype=np.int64)
    choice = branch_and_bound(game, Constraint(played.no_attack, minimum, played.admissible))
    payoff = evaluate(game, choice).publisher_payoff
    withheld = payoff_of_withholding(game)
    strategies = np.where(payoff > withheld + game.tie(), choice.strategies, WITHHELD)
    payout = dot(np.where(strategies == WITHHELD, withheld, payoff), played.released)
    return TablesChoice(strategies, choice.solver, choice.evaluated, choice.exact, planned_payout=payout)


def _local(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Play local recoding, whose classes are among the records left for their round."""
    played, n = whole_game(study, policy, game), study.space.n_records
    section = study.scenario.publisher
    if isinstance(played, AnyAdversaryGame):
        if "prosecutor" in study.scenario.risks:
            raise InputError(
                "under prosecutor risk its groups are counted among the records left for their round, which the "
                "linkage of this adversary does not give", where=policy,
            )  # fmt: skip
        rule = LocalRecoding(
            policy, study.weights, section.suppression_limit, study.policy(policy).forbids_attacks,
            study.lattice.index(study.minimum), section.rounds,
        )  # fmt: skip
        return rule.choose(played.record_game)
    recoded = local_recoding(played, rounds=section.rounds, solve=lambda part: search_nodes(study, part)[0])
    nodes = tuple(int(solution.nodes[0]) for solution in recoded.rounds)
    evaluated = sum(solution.evaluated for solution in recoded.rounds)
    at = np.where(recoded.strategies == WITHHELD, nodes[-1] if nodes else WITHHELD, recoded.strategies)
    return TablesChoice(
        recoded.strategies,
        "rounds",
        np.full(n, evaluated, dtype=np.int64),
        exact=False,
        planned_payout=recoded.payout,
        nodes=nodes,
        gap=np.nan,
        unproved_rounds=sum(not solution.exact for solution in recoded.rounds),
        classes=at if nodes else None,
    )


def _split(study: TablesStudy, policy: str, game: RecordGame) -> Choice:
    """Play multi-dimensional recoding, whose classes are those of the table at their nodes."""
    played, n = whole_game(study, policy, game), study.space.n_records
    section = study.scenario.publisher
    if isinstance(played, AnyAdversaryGame):
        rule = MultiDimensional(
            policy, study.weights, section.suppression_limit, study.policy(policy).forbids_attacks,
            study.lattice.index(study.minimum), admissible=study.admissible,
        )  # fmt: skip
        return rule.choose(played.record_game)
    with locating(study.loaded.path, "publisher.policies"):
        best = multi_dimensional(played)
    return TablesChoice(
        best.strategies,
        SPLITS,
        np.full(n, best.evaluated, dtype=np.int64),
        best.exact,
        planned_payout=best.payout,
        gap=best.gap,
        classes=best.regions,
    )
