"""What it costs that nobody can be looked up in the shared rows, and what a cleverer guess would still find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from reidsim.adversaries.response import Linkage
from reidsim.games.directions.linker import by_record, directed_linker
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD
from reidsim.kinds.tables.measures import EXPOSED_BY_RECORD, EXPOSED_TO_WEIGHTED, UTILITY_PRICE
from reidsim.kinds.tables.policies import POLICIES
from reidsim.kinds.tables.solving import choose
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.study import PolicyOutcome


def direction_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return what looking persons up changes for each policy, indexed by policy.

    Returns
    -------
    DataFrame
        ``utility_price`` and ``exposed_by_record`` of policies that plan, against what they pick in direction "record"
        (missing for rules and for policies of one's own); ``exposed_to_weighted`` of all.
    """
    truth, alone = study.truth, by_record(study.belief)
    rows = {}
    for name, equilibrium in equilibria.items():
        price = exposed = np.nan
        if name in POLICIES and not POLICIES[name].is_rule:
            before = evaluate(truth, choose(study, name, alone))
            price = float(np.mean(before.utility) - np.mean(equilibrium.utility))
            exposed = float(np.mean(before.attack_probability))
        rows[name] = (price, exposed, exposed_to_weighted(study, equilibrium.strategies))
    columns = [each.column for each in (UTILITY_PRICE, EXPOSED_BY_RECORD, EXPOSED_TO_WEIGHTED)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("policy")


def direction_warnings(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
    """Yield what the promise of a policy that forbids attacks rests on, where that is how the adversary guesses."""
    for name, outcome in outcomes.items():
        if name in POLICIES and POLICIES[name].forbids_attacks and not outcome.equilibrium.attacked.any():
            exposed = round(exposed_to_weighted(study, outcome.equilibrium.strategies) * study.n_records)
            if exposed:
                yield (
                    f"{name}: nobody is at risk if all rows that fit a person are taken for equally likely; "
                    f"{exposed:,} of {study.n_records:,} are if rows that fit fewer people are taken for likelier"
                )


def exposed_to_weighted(study: TablesStudy, strategies: Strategies) -> float:
    """Return the share of records attacked with a guess that prefers rows which fit fewer people."""
    truth = study.truth
    linker, shared = directed_linker(truth), np.flatnonzero(strategies != WITHHELD)
    assert linker is not None  # noqa: S101 - of a scenario in which persons are looked up
    sizes = linker.weighted(strategies)[shared]
    reply = truth.adversary.respond(Linkage(sizes, sizes, by_chance=True), shared)
    return float(reply.attack_probability.sum() / max(len(strategies), 1))
