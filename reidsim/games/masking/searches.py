"""Exact best-first search, the published searches of the masking game, and policies without a search.

The searches against two-stage attacks, and against several adversaries, are compiled. Games with other attacks use the
solvers of record games.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import Memory, TwoStageArrays, reply_to
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.core.errors import InputError
from reidsim.core.numerics import borrowing, compiled
from reidsim.games.masking.game import GameArrays, MaskingGame, in_chunks, is_ahead, payoff_of, utility_of
from reidsim.games.masking.opponents import Groups, Opponents, Rules, attacked_anyway, payoff_against
from reidsim.games.record_game import WITHHELD, BoundedChoice, Choice, Constraint, RecordGame
from reidsim.games.solvers import backward_induction, branch_and_bound
from reidsim.releases.lattice import Floats, MaskingSpace, Rows, Strategies

# Number of strategies computed at a time. A larger block computes more strategies that cannot win; a smaller block
# makes more compiled calls.
_BLOCK = 256


def same_strategy(game: MaskingGame) -> Choice:
    """Find the strategy with the highest mean payoff if all subjects use it.

    Strategies are visited by decreasing mean benefit, which bounds the mean payoff, until the bound is below the best
    mean. Within a block of strategies, the losses of one subject after the other are computed, in descending order of
    the losses so far; a strategy is dropped as soon as its losses put it below the best. Both rules discard only
    strategies that cannot win, so the result is exact. Of strategies with equal means, the lowest number is chosen.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.

    Returns
    -------
    Choice
        The same strategy for every record, or all withheld if the best mean is negative (beyond the tie tolerance).
        `evaluated` counts the strategies whose loss was computed for each record.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    arrays, (attack, memory), n = game.arrays, game.staged_linker.compiled, game.n_records
    tie = INDIFFERENCE * (float(np.mean(arrays.benefit + arrays.loss)) * n)
    lost = np.zeros(n)
    evaluated = np.zeros(n, dtype=np.int64)
    best, chosen = -np.inf, WITHHELD
    ordered = _by_mean_benefit(game)
    # The first block has each combination of demographic levels with all loci and with none. Its best payoff is a good
    # first threshold, so that most strategies are dropped early. The block includes full sharing, for which the bounds
    # do not hold.
    every_bit = (1 << arrays.n_bits) - 1
    forms = np.arange(len(arrays.form_kept), dtype=np.int64) << arrays.n_bits
    block = np.unique(np.concatenate([forms, forms | every_bit]))
    while len(block):
        totals = np.array([(arrays.benefit * game.space.utility(strategy)).sum() for strategy in block.tolist()])
        order = np.argsort(-lost, kind="stable")
        _add_losses(arrays, attack, memory, block, order, best - tie, totals, lost, evaluated)
        for strategy, total in zip(block.tolist(), totals.tolist(), strict=True):
            if total > best + tie or (total >= best - tie and strategy < chosen):
                best, chosen = total, strategy
        following = list(islice(ordered, _BLOCK))
        block = np.array([strategy for bound, strategy in following if bound >= best - tie], dtype=np.int64)
    strategies = np.full(n, chosen if best >= -tie else WITHHELD, dtype=np.int64)
    return Choice(strategies, "same-strategy", evaluated, exact=True)


def _by_mean_benefit(game: MaskingGame) -> Iterator[tuple[float, int]]:
    """Yield upper bounds on the total payoff, falling, and their strategies.

    The total is over all subjects, in currency units, if all use the strategy; the bound is its total benefit plus a
    margin for rounding. All strategies are yielded, in the order described in `best_first`. The bound of full sharing
    can be too low, because its utility is 1 for any sum of weights.
    """
    arrays, total = game.arrays, game.arrays.total_weight
    n_linked = arrays.form_kept.shape[1]
    # Limit each weight to the weight of utility 1.
    cut = np.minimum(arrays.weights, total)
    kept = np.minimum(arrays.weights[:, :n_linked] @ arrays.form_kept.T, total)
    worth = (arrays.benefit[:, None] * cut).sum(axis=0) / total
    worth_of_form = ((arrays.benefit[:, None] * kept).sum(axis=0) / total).tolist()
    bits = n_linked + np.argsort(worth[n_linked:], kind="stable")
    queue: list[tuple[float, int, int]] = []
    for form, own in enumerate(worth_of_form):
        heappush(queue, (worth_of_form[0] - own, form << arrays.n_bits, -1))
    whole = worth_of_form[0] + float(worth[n_linked:].sum())
    room = ROUNDING * (len(worth) + np.log2(len(arrays.benefit) + 1)) * whole
    while queue:
        masked, strategy, heaviest = heappop(queue)
        yield whole - masked + room, strategy
        _push_next(queue, bits, arrays.places, worth, masked, strategy, heaviest)


@compiled()
def _add_losses(
    game: GameArrays,
    attack: TwoStageArrays,
    memory: Memory,
    strategies: Strategies,
    order: Rows,
    mark: float,
    totals: Floats,
    lost: Floats,
    evaluated: Strategies,
) -> None:
    """Subtract expected losses from the total benefits of strategies, in place.

    A strategy is no longer updated once its total is below `mark`.

    Parameters
    ----------
    game : GameArrays
        The subjects' side of the game.
    attack : TwoStageArrays
        The adversary's side.
    memory : Memory
        Work arrays and inference cache.
    strategies : ndarray of int64, shape (n_strategies,)
        Strategies that all subjects would use.
    order : ndarray of int, shape (n_records,)
        Order in which the records are processed.
    mark : float
        Total payoff below which a strategy cannot win, in currency units.
    totals : ndarray of float64, shape (n_strategies,)
        Total benefit of each strategy over all records; becomes its total payoff, if not below `mark`.
    lost : ndarray of float64, shape (n_records,)
        Losses of each record, to which its losses under all strategies are added.
    evaluated : ndarray of int64, shape (n_records,)
        Number of strategies computed for each record, which is increased.
    """
    for target in order:
        for k in range(len(strategies)):
            if totals[k] < mark:
                continue
            reply = reply_to(attack, memory, target, strategies[k])
            evaluated[target] += 1
            if reply.attacks:
                loss = game.loss[target] * reply.success
                totals[k] -= loss
                lost[target] += loss


NO_LIMIT = np.iinfo(np.int64).max
# Bound on the rounding error of a sum of weights, per attribute, relative to the sum.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Most strategies that backward induction goes through, compiled and for any adversary; more would take too long.
_MOST_COMPILED, _MOST_GENERAL = 2**26, 2**20


class Found(NamedTuple):
    """Result of a compiled search; arrays of shape (n_records,).

    Attributes
    ----------
    strategies : ndarray of int64
        Best strategy of each record; initially the incumbent, or ``WITHHELD``.
    payoffs, confidence : ndarray of float64
        Payoff of the best strategy, and the adversary's confidence in the surname inferred from it.
    evaluated : ndarray of int64
        Number of strategies whose payoff was computed.
    bounds : ndarray of float64
        Upper bound on the payoff of every strategy that was not visited; minus infinity if the search is complete.
    """

    strategies: Strategies
    payoffs: Floats
    confidence: Floats
    evaluated: NDArray[np.int64]
    bounds: Floats

    @classmethod
    def none(cls, n: int, incumbents: Strategies | None = None) -> Found:
        """Return the start of a search for `n` records.

        `incumbents` (n,) are strategies to start from; without them, all strategies are -1 (withheld). Payoffs and
        bounds are minus infinity, the confidence is infinite, and no strategy is evaluated.
        """
        strategies = np.full(n, WITHHELD, dtype=np.int64) if incumbents is None else incumbents.copy()
        lowest, evaluated = np.full(n, -np.inf), np.zeros(n, dtype=np.int64)
        return cls(strategies, lowest, np.full(n, np.inf), evaluated, lowest.copy())


def best_first(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find the best strategy of every subject by best-first search.

    Strategies are visited by decreasing benefit, until the benefit of the next strategy is below the best payoff.

    Correctness. The payoff of a strategy s is its benefit b(s) less an expected loss of 0 or more, so b(s) is an upper
    bound. When the search stops before s, with best payoff v, every strategy not visited has a benefit of at most
    b(s) < v and can neither win nor tie.

    Order. For each form of the demographics, sets of masked loci are generated from the empty set. With loci sorted by
    weight, a set whose heaviest locus is the k-th has two successors: the set with the (k + 1)-th added, and the set
    with the k-th replaced by the (k + 1)-th. Each set except the empty one is the successor of exactly one other set
    and has at least its weight, so a priority queue yields every set once, by increasing masked weight, without a list
    of all strategies. Each weight is limited to the total weight, at which the utility is 1; this changes no utility.
    Sharing everything comes first: its utility is 1 even if the record's weights sum to less than the total weight.

    Under `no_attack`, forms of the demographics that are attacked without any locus are skipped, because they are
    attacked for every set of shared loci.

    Parameters
    ----------
    game : MaskingGame
        If the attack is not a two-stage attack, branch and bound is used, which is also exact.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Exact. A record whose best payoff is negative, or that has no allowed strategy, is withheld. For ties see
        `MaskingGame`.
    """
    if not game.is_compiled:
        return _by_record_game(game, branch_and_bound, no_attack)
    found = _run(Opponents.of_one(game, no_attack=no_attack), _best_first, NO_LIMIT)
    return game.chosen("best-first", found.strategies, found.payoffs, found.evaluated, exact=True)


def best_against_several(game: RecordGame, *, no_attack: bool = False) -> Choice:
    """Find the best masking of every record against several adversaries.

    The search is that of `best_first`. Records with earlier releases share again what was shared before, because an
    adversary who has seen an attribute learns nothing by seeing it again.

    Parameters
    ----------
    game : RecordGame
        Game over a `MaskingSpace`, against two-stage attacks or adversaries that link on few attributes. Against other
        adversaries, under rule "worst", or with very many levels of attributes, branch and bound is used, which is also
        exact.
    no_attack : bool
        Whether to consider only strategies under which no adversary's attack pays.

    Returns
    -------
    Choice
        Exact; the strategies equal those of `branch_and_bound`, so a record is withheld only if no strategy is allowed.
        `evaluated` counts strategies computed against one adversary or more.
    """
    opponents = Opponents.of_several(game, no_attack=no_attack)
    if opponents is None:
        return branch_and_bound(game, Constraint(no_attack=no_attack))
    found = _run(opponents, _best_first, NO_LIMIT)
    return Choice(found.strategies, "best-first", found.evaluated, exact=True)


def anytime(game: MaskingGame, *, most_evaluated: int = 20_000, no_attack: bool = False) -> BoundedChoice:
    """Find a good strategy of every subject within a budget, with an optimality gap.

    Greedy search finds a first strategy, and best-first search then improves on it. When the search stops, the benefit
    of the next strategy in its order bounds the payoff of every strategy that was not visited. With a larger budget,
    the payoff never decreases and the gap never increases.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack, with any number of attributes.
    most_evaluated : int
        Maximum number of strategies computed per subject by the best-first search, after the greedy search.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    BoundedChoice
        Exact if every gap is 0. `evaluated` counts the strategies of both searches. A record is withheld if the best
        payoff found is negative, or no allowed strategy was found.

    Raises
    ------
    InputError
        If the budget is below 1, or the attack is not a two-stage attack.
    """
    if most_evaluated < 1:
        raise InputError("maximum number of strategies too small", found=most_evaluated, expected="1 or more")
    first = greedy(game, no_attack=no_attack)
    found = _run(Opponents.of_one(game, no_attack=no_attack), _best_first, most_evaluated, first.strategies)
    # Withholding a record has a certain payoff of 0.
    gap = np.maximum(found.bounds - np.maximum(found.payoffs, 0.0), 0.0)
    evaluated = found.evaluated + first.evaluated
    choice = game.chosen("anytime", found.strategies, found.payoffs, evaluated, exact=bool((gap == 0).all()))
    return BoundedChoice(choice.strategies, choice.solver, choice.evaluated, choice.exact, gap)


def greedy(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find a good strategy of every subject by masking one attribute at a time.

    This is the greedy search of Wan et al. 2021, note S4.

    The search starts with sharing everything. Each step masks one attribute by one more level and goes to the best of
    these strategies: the highest payoff, then the lower confidence, then the earlier attribute. The best strategy on
    the path is kept. The search stops at a strategy that is worse than the best one and not attacked, because masking
    more cannot improve it. Under `no_attack`, a strategy that is not attacked is better than any attacked strategy, and
    the search stops at the first such strategy.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Not exact. A record is withheld if the payoff of the best strategy met is negative or, under `no_attack`, if
        every strategy met is attacked.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    found = _run(Opponents.of_one(game, no_attack=no_attack), _greedy, np.zeros(0, dtype=np.int64))
    return game.chosen("greedy", found.strategies, found.payoffs, found.evaluated, exact=False)


def greedy_path(game: MaskingGame, record: int) -> tuple[int, ...]:
    """Return the strategies on the path of greedy search, from full sharing on.

    The result holds strategy numbers in the order of the steps. Attacks are allowed. The last strategy is where the
    search stops, and need not be the best.

    Parameters
    ----------
    game : MaskingGame
        Game against a two-stage attack.
    record : int
        Number of the record, from 0.

    Raises
    ------
    InputError
        If the attack is not a two-stage attack.
    """
    path = np.full(sum(game.space.shape), -1, dtype=np.int64)
    one = Opponents.of_one(game, no_attack=False)
    _greedy(one.alike[0], one.rules, one.game, np.array([record]), Found.none(game.n_records), path)
    return tuple(path[path >= 0].tolist())


def masking_backward_induction(game: MaskingGame, *, no_attack: bool = False) -> Choice:
    """Find the best strategy of every subject by enumeration with pruning.

    This is backward induction of Wan et al. 2021, note S4.

    Strategies are visited in order of their number. Strategies whose benefit, which bounds the payoff, is below the
    best payoff so far are skipped.

    Parameters
    ----------
    game : MaskingGame
        Game against any attack; a two-stage attack is solved by compiled functions.
    no_attack : bool
        Consider only strategies that are not attacked.

    Returns
    -------
    Choice
        Exact; the strategies equal those of `best_first`. A record whose best payoff is negative, or that has no
        allowed strategy, is withheld.

    Raises
    ------
    InputError
        If there are more than 2**26 strategies, or 2**20 against an attack that is not a two-stage attack.
    """
    most = _MOST_COMPILED if game.is_compiled else _MOST_GENERAL
    if (size := game.space.size) > most:
        problem = "too many strategies for backward induction"
        hint = "use best-first search, which has no such limit"
        raise InputError(problem, found=size, expected=f"at most {most:,}", hint=hint)
    if not game.is_compiled:
        return _by_record_game(game, backward_induction, no_attack)
    found = _run(Opponents.of_one(game, no_attack=no_attack), _by_number, size)
    return game.chosen("backward-induction", found.strategies, found.payoffs, found.evaluated, exact=True)


def _by_record_game(game: MaskingGame, solve: Callable[[RecordGame, Constraint], Choice], no_attack: bool) -> Choice:
    choice = solve(game.record_game, Constraint(no_attack=no_attack))
    payoffs = game.evaluate(choice).publisher_payoff
    return game.chosen(choice.solver, choice.strategies, payoffs, choice.evaluated, exact=True)


def _run(opponents: Opponents, kernel: Callable[..., None], option: Any, incumbents: Strategies | None = None) -> Found:
    """Run a compiled search for all records, and return the strategies found.

    Parameters
    ----------
    opponents : Opponents
        The game, as arguments of compiled solvers.
    kernel : callable
        Compiled search, which writes its results into a `Found`.
    option : object
        Last argument of `kernel`, such as the maximum number of strategies.
    incumbents : ndarray of int64, shape (n_records,), optional
        Strategies to start from; none, if not given.
    """
    rules, game = opponents.rules, opponents.game
    n = len(game.benefit)
    found = Found.none(n, incumbents)
    in_chunks(n, opponents.alike, lambda rows, alike: kernel(alike, rules, game, rows, found, option))
    return found


@borrowing()
def _offer(alike: Groups, rules: Rules, game: GameArrays, target: int, strategy: int, found: Found) -> None:
    """Replace the best strategy of a record if another one is allowed and better.

    Changes `found` at `target`, the record number. Of equal payoffs, the strategy with the lower confidence in the
    surname is better, then the strategy with the lower number. For the other parameters see `payoff_against`.
    """
    best, tie = found.payoffs[target], game.tie[target]
    payoff, confidence = payoff_against(alike, rules, game, target, strategy, best - tie)
    if payoff == -np.inf:
        return
    ahead = is_ahead(payoff, confidence, best, found.confidence[target], tie)
    if ahead > 0 or (ahead == 0 and strategy < found.strategies[target]):
        found.strategies[target], found.payoffs[target], found.confidence[target] = strategy, payoff, confidence


@borrowing()
def _keeps_past(game: GameArrays, past: int, strategy: int) -> bool:
    """Return whether a strategy shares all that earlier releases shared.

    The result is True if no attribute has a higher level than in `past`, the strategy equivalent to all earlier
    releases. An adversary that has seen an attribute learns nothing by seeing it again. So sharing the attribute again
    is worth no less, leads to the same replies, and gives no higher strategy number. If `past` is -1 (no earlier
    release), the result is True.
    """
    for j in range(len(game.places)):
        if strategy // game.places[j] % game.sizes[j] > past // game.places[j] % game.sizes[j]:
            return False
    return True


def _push_next(
    queue: list[tuple[float, int, int]],
    by_weight: NDArray[np.int64],
    places: NDArray[np.int64],
    weights: Floats,
    masked: float,
    strategy: int,
    heaviest: int,
) -> None:
    """Push the successors of a set of masked loci to the queue; see `best_first`.

    A set that masks the heaviest of all loci has no successors.

    Parameters
    ----------
    queue : list of tuple
        Heap of masked weight, strategy, and the rank by weight of the heaviest masked locus, -1 for none.
    by_weight : ndarray of int64
        Positions of the loci, by ascending weight.
    places, weights : ndarray, shape (n_attributes,)
        Step in the strategy number, and weight, of each attribute.
    masked, strategy, heaviest
        The entry of the queue whose successors are pushed.
    """
    if heaviest + 1 < len(by_weight):
        following = by_weight[heaviest + 1]
        grown = masked + weights[following]
        heappush(queue, (grown, strategy | places[following], heaviest + 1))
        if heaviest >= 0:
            last = by_weight[heaviest]
            heappush(queue, (grown - weights[last], (strategy & ~places[last]) | places[following], heaviest + 1))


_push_next_compiled = compiled(nogil=True)(_push_next)


@compiled(nogil=True)
def _best_first(
    alike: Groups, rules: Rules, game: GameArrays, targets: Rows, found: Found, most_evaluated: int
) -> None:
    n_forms, n_linked = game.form_kept.shape
    n_bits = game.n_bits
    for target in targets:
        weights = game.weights[target if len(game.weights) > 1 else 0]
        past = rules.past[target]
        by_weight = np.argsort(weights[n_linked:], kind="mergesort") + n_linked
        by_weight = by_weight[(game.places[by_weight] & past) > 0]
        benefit, tie, total = game.benefit[target], game.tie[target], game.total_weight
        if found.strategies[target] >= 0:
            _offer(alike, rules, game, target, found.strategies[target], found)
        cut = np.minimum(weights, total)
        kept_by_form = np.zeros(n_forms)
        for form in range(n_forms):
            for j in range(n_linked):
                kept_by_form[form] += weights[j] * game.form_kept[form, j]
            kept_by_form[form] = min(kept_by_form[form], total)
        # The first form shares everything, so it keeps the largest share of the weights.
        whole = kept_by_form[0] + cut[n_linked:].sum()
        room = ROUNDING * len(weights) * whole
        # Masked weight, strategy, and the rank by weight of the heaviest masked locus.
        queue: list[tuple[float, int, int]] = [(0.0, 0, -1) for _ in range(0)]
        for form in range(n_forms):
            fits = _keeps_past(game, past, form << n_bits)
            if rules.no_attack and alike is not None:
                for group in alike:
                    own_form = form << n_bits >> group.arrays.target_alleles.shape[1]
                    fits &= not attacked_anyway(group, rules.rows[target], own_form)
            if fits:
                heappush(queue, (kept_by_form[0] - kept_by_form[form], form << n_bits, -1))
        count = 0
        while len(queue) > 0:
            masked, strategy, heaviest = heappop(queue)
            bound = benefit * (1.0 if strategy == 0 else min((whole - masked + room) / total, 1.0))
            if bound < found.payoffs[target] - tie:
                break
            if count >= most_evaluated:
                found.bounds[target] = bound
                break
            _push_next_compiled(queue, by_weight, game.places, cut, masked, strategy, heaviest)
            count += 1
            _offer(alike, rules, game, target, strategy, found)
        found.evaluated[target] = count


@compiled(nogil=True)
def _by_number(alike: Groups, rules: Rules, game: GameArrays, targets: Rows, found: Found, n_strategies: int) -> None:
    for target in targets:
        for strategy in range(n_strategies):
            most = game.benefit[target] * utility_of(game, target, strategy)
            if most >= found.payoffs[target] - game.tie[target]:
                found.evaluated[target] += 1
                _offer(alike, rules, game, target, strategy, found)


@compiled(nogil=True)
def _greedy(alike: Any, rules: Rules, game: GameArrays, targets: Rows, found: Found, path: Strategies) -> None:
    """Run greedy search against one adversary for some targets (record numbers).

    See `greedy` for the search.

    Writes best strategies, payoffs and numbers of strategies computed into `found`, and the path of the last target
    into `path`, up to its length. Only the first adversary of `alike` plays.
    """
    attack, memory, no_attack = alike[0].arrays, alike[0].memory, rules.no_attack
    for target in targets:
        tie = game.tie[target]
        at, steps, count = 0, 0, 1
        reply = reply_to(attack, memory, target, at)
        payoff = payoff_of(game, target, at, reply)
        best, best_confidence = -np.inf, np.inf
        if not (no_attack and reply.attacks):
            best, best_confidence, found.strategies[target] = payoff, reply.confidence, at
        if len(path) > 0:
            path[0] = at
        while not (no_attack and not reply.attacks):
            step = -1
            step_payoff, step_reply = payoff, reply
            for j in range(len(game.places)):
                if at // game.places[j] % game.sizes[j] + 1 == game.sizes[j]:
                    continue
                below = at + int(game.places[j])
                below_reply = reply_to(attack, memory, target, below)
                below_payoff = payoff_of(game, target, below, below_reply)
                count += 1
                if step < 0 or (no_attack and below_reply.attacks != step_reply.attacks):
                    better = step < 0 or step_reply.attacks
                else:
                    better = is_ahead(below_payoff, below_reply.confidence, step_payoff, step_reply.confidence, tie) > 0
                if better:
                    step, step_payoff, step_reply = below, below_payoff, below_reply
            if step < 0:
                break
            at, payoff, reply = step, step_payoff, step_reply
            steps += 1
            if steps < len(path):
                path[steps] = at
            if no_attack and reply.attacks:
                continue
            if is_ahead(payoff, reply.confidence, best, best_confidence, tie) > 0:
                best, best_confidence, found.strategies[target] = payoff, reply.confidence, at
            elif not reply.attacks:
                break
        found.payoffs[target], found.evaluated[target] = best, count


def fixed_choice(
    game: RecordGame | MaskingGame,
    policy: str,
    rng: np.random.Generator,
    *,
    opt_in_rate: float = 0.05,
    sharing_rate: float = 0.15,
    linked: Collection[str] = (),
) -> Choice:
    """Return the strategies of a policy of a masking game that needs no search.

    Policy ``"no-protection"`` shares all attributes, ``"demographics-only"`` the attributes named in `linked`,
    ``"random-masking"`` each attribute of each record with probability `sharing_rate`. Under ``"random-opt-in"``,
    records share everything with probability `opt_in_rate`, and are withheld otherwise. Any other name shares all
    attributes.

    Parameters
    ----------
    game : RecordGame or MaskingGame
        Game over a `MaskingSpace`; the adversary has no effect.
    policy : str
        Name of the policy.
    rng : numpy.random.Generator
        Source of the draws of the random policies.
    opt_in_rate, sharing_rate : float
        Probabilities, see above.
    linked : collection of str
        Names of the attributes shared by ``"demographics-only"``.

    Returns
    -------
    Choice
        Not exact; one strategy evaluated per record.
    """
    n, space = game.n_records, game.space
    assert isinstance(space, MaskingSpace)  # noqa: S101 - the game is one in which attributes are masked
    shape = (n, len(space.attributes))
    shared = np.ones(shape, dtype=np.bool_)
    if policy == "demographics-only":
        shared &= np.array([name in linked for name in space.attributes])
    elif policy == "random-masking":
        shared = rng.random(shape) < sharing_rate
    strategies = space.masking(shared)
    if policy == "random-opt-in":
        strategies = np.where(rng.random(n) < opt_in_rate, strategies, WITHHELD)
    return Choice(strategies, policy, np.ones(n, dtype=np.int64), exact=False)
