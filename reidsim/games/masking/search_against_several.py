"""The compiled search for the best masking of records against several adversaries, portion by portion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.multistage.two_stage import (
    Memory,
    TwoStageArrays,
    believed_alone,
    pays,
    reply_given,
    surname_of,
)
from reidsim.borrowed_arrays import borrowing
from reidsim.games.record_game import WITHHELD
from reidsim.linkage.surname_inference.inference import NO_SURNAME
from reidsim.releases.strategy_space import Floats, Rows, Strategies

# Strategies computed at a time.
PORTION = 8


class Alike(NamedTuple):
    """Adversaries who infer and link in the same way.

    Attributes
    ----------
    arrays : TwoStageArrays
        Amounts, theta and what is made of confidence are not those of these adversaries.
    memory : Memory
    weight, threshold : ndarray of float64, shape (n_adversaries,)
    gain, cost : ndarray of float64, shape (n_adversaries, n_targets)
    overconfident : ndarray of bool, shape (n_adversaries,)
    """

    arrays: TwoStageArrays
    memory: Memory
    weight: Floats
    threshold: Floats
    gain: Floats
    cost: Floats
    overconfident: NDArray[np.bool_]


class Tables(NamedTuple):
    """Replies of adversaries who look at few attributes; see `TabledReplies`.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_adversaries,)
    invited : ndarray of bool, shape (n_adversaries, n_targets, n_forms)
    reidentified : ndarray of float64, shape (n_adversaries, n_targets, n_forms)
    form : ndarray of int32, shape (n_adversaries, n_strategies)
    """

    weight: Floats
    invited: NDArray[np.bool_]
    reidentified: Floats
    form: NDArray[np.int32]


class Stakes(NamedTuple):
    """What the publisher of each record has to gain and to lose; arrays of shape (n_records,).

    Attributes
    ----------
    benefit, loss, tie : ndarray of float64
    rows : ndarray of int
        What row each record is to the adversaries.
    one_of, no_attack : bool
        Whether one of the adversaries comes, not all; whether only strategies that nobody attacks are allowed.
    """

    benefit: Floats
    loss: Floats
    tie: Floats
    rows: Rows
    one_of: bool
    no_attack: bool


@borrowing()
def search(
    alike: tuple[Alike, ...] | None,
    tables: Tables,
    stakes: Stakes,
    targets: Rows,
    order: Strategies,
    utility: Floats,
    strategies: Strategies,
    evaluated: NDArray[np.int64],
    risk: Floats,
) -> None:
    """Find the best strategies of some records whose strategies are worth the same.

    Parameters
    ----------
    alike : tuple of Alike, optional
    tables : Tables
    stakes : Stakes
    targets : ndarray of int, shape (n,)
        Which records.
    order : ndarray of int64, shape (n_strategies,)
        All strategies that may be best.
    utility : ndarray of float64, shape (n_strategies,)
        Theirs, falling.
    strategies, evaluated : ndarray of int64, shape (n_records,)
        The best of each, of equals the lowest number, and how many were computed, are put here.
    risk : ndarray of float64, shape (PORTION,)
        Room to work in.
    """
    for target in targets:
        strategies[target], evaluated[target] = _best_of(alike, tables, stakes, target, order, utility, risk)


@borrowing(inline="always")
def _best_of(
    alike: tuple[Alike, ...] | None,
    tables: Tables,
    stakes: Stakes,
    target: int,
    order: Strategies,
    utility: Floats,
    risk: Floats,
) -> tuple[int, int]:
    """Return the best strategy of a target and how many were computed; `risk` is room to work in."""
    benefit, tie = stakes.benefit[target], stakes.tie[target]
    best, chosen, start = -np.inf, WITHHELD, 0
    while start < len(order) and benefit * utility[start] >= best - tie:
        n = min(len(order) - start, PORTION)
        while benefit * utility[start + n - 1] < best - tie:
            n -= 1
        candidates, worth = order[start : start + n], utility[start : start + n]
        for k in range(n):
            risk[k] = 0.0
        for each in range(len(tables.weight)):
            _ask_table(tables, each, stakes, target, candidates, worth, best - tie, risk)
        if alike is not None:
            for group in alike:
                _ask_alike(group, stakes, target, candidates, worth, best - tie, risk)
        for k in range(n):
            if risk[k] == np.inf:
                continue
            payoff = benefit * worth[k] - stakes.loss[target] * min(risk[k], 1.0)
            if payoff > best + tie or (payoff >= best - tie and candidates[k] < chosen):
                chosen = candidates[k]
            best = max(best, payoff)
        start += n
    return chosen, start


@borrowing()
def _ask_table(
    tables: Tables, each: int, stakes: Stakes, target: int,
    candidates: Strategies, worth: Floats, needed: float, risk: Floats,
) -> None:  # fmt: skip
    """Add to the risk of strategies what is taken by looking at few attributes; infinite if they cannot win."""
    row = stakes.rows[target]
    for k in range(len(candidates)):
        if risk[k] == np.inf:
            continue
        form = tables.form[each, candidates[k]]
        taken = tables.weight[each] * tables.reidentified[each, row, form]
        risk[k] = _risk_with(stakes, target, worth[k], needed, risk[k], taken, tables.invited[each, row, form])


@borrowing(inline="always")
def _ask_alike(
    alike: Alike, stakes: Stakes, target: int, candidates: Strategies, worth: Floats, needed: float, risk: Floats
) -> None:
    """Add what adversaries who infer alike take to the risk of strategies; infinite if they cannot win."""
    row, n_loci = stakes.rows[target], alike.arrays.target_alleles.shape[1]
    for k in range(len(candidates)):
        if risk[k] == np.inf:
            continue
        form = candidates[k] >> n_loci
        if stakes.no_attack:
            # Whoever attacks on these alone does so whatever loci are shared.
            alone = believed_alone(alike.arrays, row, form)
            for each in range(len(alike.weight)):
                if pays(alike.gain[each, row], alone, alike.cost[each, row]):
                    risk[k] = np.inf
        # Where one person matches, a surname adds nothing.
        surname, confidence = NO_SURNAME, 0.0
        if risk[k] < np.inf and alike.arrays.form_sizes[form, row] > 1:
            surname, confidence = surname_of(alike.arrays, alike.memory, row, candidates[k])
        for each in range(len(alike.weight)):
            if risk[k] < np.inf:
                reply = reply_given(
                    alike.arrays, alike.memory, row, form, surname, confidence,
                    alike.gain[each, row], alike.cost[each, row], alike.threshold[each], alike.overconfident[each],
                )  # fmt: skip
                taken = alike.weight[each] * reply.success if reply.attacks else 0.0
                risk[k] = _risk_with(stakes, target, worth[k], needed, risk[k], taken, reply.attacks)


@borrowing()
def _risk_with(
    stakes: Stakes, target: int, worth: float, needed: float, before: float, taken: float, attacked: bool
) -> float:
    """Return the risk of a strategy with one adversary more; infinite if it is not allowed or pays less than needed."""
    if stakes.no_attack and attacked:
        return np.inf
    risk = before + (taken if stakes.one_of else taken * (1.0 - before))
    return risk if stakes.benefit[target] * worth - stakes.loss[target] * min(risk, 1.0) >= needed else np.inf
