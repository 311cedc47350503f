"""The strategies that a greedy search of one record goes through, told one by one (Wan et al. 2021, Table 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.game import MaskingGame, is_ahead
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.kinds.masking.policies import policy_named

# Returns the text of an attribute's value.
Label = Callable[[str, int], str]


@dataclass(frozen=True)
class _Played:
    """What one strategy of one record leads to."""

    strategy: int
    payoff: float
    attacked: bool
    success: float
    utility: float
    surname: int
    confidence: float


def greedy_path(game: MaskingGame, record: int) -> tuple[int, ...]:
    """Return the strategies that greedy search with pruning steps to, from sharing everything on.

    The last one is where it stops, and need not be the best; see `reidsim.games.masking.greedy.greedy`.

    Parameters
    ----------
    game : MaskingGame
        Against a two-stage attack.
    record : int

    Raises
    ------
    InputError
        If the attack is another.
    """
    tie = INDIFFERENCE * float(np.asarray(game.benefit)[record] + np.asarray(game.loss)[record])

    def ahead(one: _Played, other: _Played) -> bool:
        return is_ahead(one.payoff, one.confidence, other.payoff, other.confidence, tie) > 0

    at = best = _play(game, record, game.space.most_specific)
    path = [at.strategy]
    while True:
        step: _Played | None = None
        # Of equal steps the one on the earliest attribute, which is the last successor, is taken.
        for strategy in reversed(list(game.space.successors(at.strategy))):
            below = _play(game, record, strategy)
            if step is None or ahead(below, step):
                step = below
        if step is None:
            return tuple(path)
        at = step
        path.append(at.strategy)
        if ahead(at, best):
            best = at
        elif not at.attacked:
            return tuple(path)


def search_path_table(
    game: MaskingGame, believed: MaskingGame, record: int, equilibria: Mapping[str, Equilibrium], label: Label
) -> pd.DataFrame:
    """Tell what each strategy of a greedy search leads to, and which policies recommend it.

    Parameters
    ----------
    game : MaskingGame
        As it truly is, against a two-stage attack.
    believed : MaskingGame
        In which the search is made.
    record : int
    equilibria : mapping of str to Equilibrium
        By policy, in the true game.
    label : callable
        Returns the text of an attribute's value.

    Returns
    -------
    DataFrame
        A row for each strategy of the search, in its order, then one for each other outcome of a policy: strategies
        off the path, withholding the record, and what is played against the adversary without inference. Columns
        record, step (missing off the path), strategy, masked, shared_loci, inferred_surname and confidence (missing
        where nothing is inferred), attacked, utility, privacy, benefit, loss, payoff, recommended_by.
    """
    path = greedy_path(believed, record)
    rows = {(strategy, True): {"step": n, **_row(game, record, strategy, label)} for n, strategy in enumerate(path)}
    policies: dict[tuple[int, bool], list[str]] = {}
    for policy, equilibrium in equilibria.items():
        strategy = int(equilibrium.strategies[record])
        # The same strategy is another outcome against an adversary who infers nothing.
        played = game.one_stage() if policy_named(policy).without_inference else game
        key = (strategy, played is game or strategy == WITHHELD)
        policies.setdefault(key, []).append(policy)
        if key not in rows:
            rows[key] = {"step": None, **_row(played, record, strategy, label)}
    table = pd.DataFrame([{"record": record, **row} for row in rows.values()])
    table["recommended_by"] = [", ".join(policies.get(key, [])) for key in rows]
    return table.astype({"step": "Int64", "confidence": "float64"})


def _play(game: MaskingGame, record: int, strategy: int) -> _Played:
    strategies = np.full(game.n_records, WITHHELD, dtype=np.int64)
    strategies[record] = strategy
    outcome = game.evaluate(Choice(strategies, "", np.zeros(game.n_records, dtype=np.int64), exact=False))
    surnames, confidence = game.confidence(strategies)
    return _Played(
        strategy=strategy,
        payoff=float(outcome.publisher_payoff[record]),
        attacked=bool(outcome.attacked[record]),
        success=float(outcome.success_probability[record]),
        utility=float(outcome.utility[record]),
        surname=int(surnames[record]),
        confidence=float(confidence[record]),
    )


def _row(game: MaskingGame, record: int, strategy: int, label: Label) -> dict[str, object]:
    played = _play(game, record, strategy)
    shared = game.space.shared(max(strategy, 0)) & (strategy != WITHHELD)
    # In a two-stage attack, attributes that the last stage does not link on are loci.
    loci = [name not in game.attack.identify.on for name in game.space.attributes]
    lost = played.success if played.attacked else 0.0
    inferred = played.surname >= 0
    return {
        "strategy": "withheld" if strategy == WITHHELD else game.space.describe(strategy),
        "masked": int((~shared).sum()),
        "shared_loci": int((shared & loci).sum()),
        "inferred_surname": label(game.attack.inferences[0].infers, played.surname) if inferred else None,
        "confidence": played.confidence if inferred else np.nan,
        "attacked": played.attacked,
        "utility": played.utility,
        "privacy": 1.0 - lost,
        "benefit": float(np.asarray(game.benefit)[record]) * played.utility,
        "loss": float(np.asarray(game.loss)[record]) * lost,
        "payoff": played.payoff,
    }
