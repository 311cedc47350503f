"""Playing the policies of the masking game in one draw of its tables, and tables of what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.multistage.world import MultistageWorld
from reidsim.errors import InputError
from reidsim.games.defenders.defender import outcome_of, paid_in
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.anytime import BoundedChoice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.measures import birth_decades, fairness, fairness_of_usefulness, state_groups, usefulness
from reidsim.games.measures import averages
from reidsim.games.record_game import WITHHELD
from reidsim.kinds.masking.measures import PRIVACY_FAIRNESS, USEFULNESS, USEFULNESS_FAIRNESS
from reidsim.kinds.masking.policies import policy_named
from reidsim.kinds.masking.study import MaskingStudy

# Attributes whose groups fairness compares (Wan et al. 2021, note S8).
_GROUPINGS: dict[str, Callable[[Any], Any]] = {"age": birth_decades, "state": state_groups}


def play_policies(study: MaskingStudy, draw: int) -> dict[str, Equilibrium]:
    """Play every policy of a scenario in a draw of its tables; see `play_policy`."""
    return {policy: play_policy(study, policy, draw) for policy in study.scenario.subjects.policies}


def play_policy(study: MaskingStudy, policy: str, draw: int) -> Equilibrium:
    """Choose strategies by a policy in the game that subjects believe in, and evaluate them in the true one."""
    world, defender = study.world(draw), policy_named(policy).defender(study, draw)
    try:
        choice = defender.choose(world.belief)
    except InputError as error:
        raise error.located(study.loaded.path) from None
    found = outcome_of(paid_in(defender, world.truth, choice), choice)
    return replace(found, gap=choice.gap) if isinstance(choice, BoundedChoice) else found


def summarise(study: MaskingStudy, game: MaskingGame, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Average the outcomes of each policy over subjects.

    Returns
    -------
    DataFrame
        Indexed by policy; the measures of every run, ``usefulness``, and with attributes ``age`` and ``state``
        ``usefulness_fairness`` and ``privacy_fairness`` (missing without).
    """
    attributes = study.scenario.subjects.attributes
    values, weights = game.world.targets.matrix(attributes), study.weights(game.world)
    groups = [
        (attributes.index(name), np.asarray(group(values[:, attributes.index(name)])))
        for name, group in _GROUPINGS.items()
        if name in attributes
    ]
    fair = len(groups) == len(_GROUPINGS)
    rows = []
    for equilibrium in equilibria.values():
        privacy = 1 - equilibrium.risk
        shared = game.space.shared(np.maximum(equilibrium.strategies, 0)) & ~equilibrium.withheld[:, None]
        rows.append(
            {
                **averages(equilibrium, np.ones(game.n_records, dtype=np.int64)),
                USEFULNESS.column: usefulness(values, shared, weights),
                USEFULNESS_FAIRNESS.column: fairness_of_usefulness(values, shared, weights, groups) if fair else np.nan,
                PRIVACY_FAIRNESS.column: fairness(privacy, [group for _, group in groups]) if fair else np.nan,
            }
        )
    return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"))


def record_table(study: MaskingStudy, game: MaskingGame, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return one row per subject and policy of a replication, with the attributes as released (missing if masked).

    Returns
    -------
    DataFrame
        Columns record, policy, strategy, publisher_payoff, adversary_payoff, attacked, success_probability, utility,
        generalization_intensity, ``gap`` if a solver bounds it, and the attributes.
    """
    parts = []
    for policy, equilibrium in equilibria.items():
        names = {
            strategy: "withheld" if strategy == WITHHELD else game.space.describe(strategy)
            for strategy in np.unique(equilibrium.strategies).tolist()
        }
        outcome = pd.DataFrame(
            {
                "record": np.arange(game.n_records),
                "policy": policy,
                "strategy": [names[strategy] for strategy in equilibrium.strategies.tolist()],
                "publisher_payoff": equilibrium.publisher_payoff,
                "adversary_payoff": equilibrium.adversary_payoff,
                "attacked": equilibrium.attacked,
                "success_probability": equilibrium.success_probability,
                "utility": equilibrium.utility,
                "generalization_intensity": equilibrium.generalization_intensity,
            }
        )
        if any(other.gap is not None for other in equilibria.values()):
            outcome["gap"] = np.nan if equilibrium.gap is None else equilibrium.gap
        parts.append(pd.concat([outcome, released(study, game.world, equilibrium, game)], axis=1))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(policy=table["policy"].astype("category"), strategy=table["strategy"].astype("category"))


def released(study: MaskingStudy, world: MultistageWorld, equilibrium: Equilibrium, game: MaskingGame) -> pd.DataFrame:
    """Return every attribute as released: its value, ``group of VALUE`` at a level between, missing if masked."""
    columns = {}
    levels = game.space.levels(np.maximum(equilibrium.strategies, 0))
    for position, attribute in enumerate(study.scenario.subjects.attributes):
        labels = np.array(study.tables.label(attribute, world.targets.column(attribute)), dtype=object)
        level = levels[:, position]
        masked = equilibrium.withheld | (level == game.space.shape[position] - 1)
        between = (level > 0) & ~masked
        labels[between] = [f"group of {label}" for label in labels[between]]
        columns[attribute] = pd.Series(labels, dtype="str").mask(masked)
    return pd.DataFrame(columns)
