"""The printed numbers of Wan et al. 2021, computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import greedy, masking_backward_induction
from reidsim.kinds.masking.kind import MASKING
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario
from reproduction.ledger import Computed, Found, Ledger, compared
from reproduction.sensitivity_wan2021 import claims, read_study

# Draws whose standard deviations over subjects are computed.
_REPLICATIONS = 8
# Subjects solved by backward induction, which evaluates thousands of strategies for each.
_SOLVED = 100
_POLICIES = (
    "no-protection", "demographics-only", "random-opt-in", "random-masking", "opt-in", "masking", "no-attack-masking",
    "one-stage-masking",
)  # fmt: skip

# Measure by policy.
Figures = Mapping[Any, Mapping[Any, float]]


def ledger() -> Ledger:
    """Take means over draws from the study that was run in full, compute the rest, and compare both with the paper."""
    loaded = Scenario.load("wan2021")
    study = read_study()
    draws = study[study["scenario"] == "wan2021"].assign(privacy=1 - study["risk"])
    columns = {"publisher_payoff": "mean payoff", "utility": "mean utility", "privacy": "mean privacy"}
    by_policy = (
        draws.rename(columns=columns)
        .drop(columns=["scenario", "point", "replication"])
        .groupby("policy", observed=True)
    )
    within = _within_draws(MASKING.build(loaded)).groupby("policy", observed=True)
    means: Figures = by_policy.mean().join(within.mean()).to_dict(orient="index")
    spreads: Figures = by_policy.std().join(within.std()).to_dict(orient="index")
    table = {
        f"{policy}: {statistic} {measure}": Found(means[policy][column], error=3 * spreads[policy][column])
        for policy in _POLICIES
        for measure in ("payoff", "utility", "privacy")
        for statistic in ("mean", "sd")
        for column in [f"{statistic} {measure}"]
    }
    return compared(loaded.name, loaded.scenario.source, {**table, **_table_3(), **_claims(means), **claims(study)})


def _within_draws(study: MaskingStudy) -> pd.DataFrame:
    """Return one row per draw and policy: standard deviations over subjects, which runs do not keep."""
    rows = []
    for replication in range(_REPLICATIONS):
        for policy, equilibrium in equilibria_of(MASKING.play(study, replication, _POLICIES)).items():
            privacy = 1 - np.where(equilibrium.attacked, equilibrium.success_probability, 0.0)
            columns = {"payoff": equilibrium.publisher_payoff, "utility": equilibrium.utility, "privacy": privacy}
            rows.append({"policy": policy} | {f"sd {name}": values.std() for name, values in columns.items()})
    return pd.DataFrame(rows)


def _table_3() -> dict[str, Computed]:
    """Count the strategies that solvers evaluate for some subjects, and the payoff that the greedy solver loses."""
    game, _ = MASKING.build(Scenario.load("wan2021", {"targets.size": _SOLVED})).games(0)
    assert isinstance(game, MaskingGame)  # noqa: S101 - against one adversary, said for the type checker
    found: dict[str, Computed] = {"opt-in time": "not compared"}
    for name, no_attack in (("masking", False), ("no-attack-masking", True)):
        exact = masking_backward_induction(game, no_attack=no_attack)
        quick = greedy(game, no_attack=no_attack)
        ratio = exact.evaluated.mean() / quick.evaluated.mean()
        payoffs = [game.evaluate(choice).publisher_payoff.mean() for choice in (exact, quick)]
        lost = 1 - payoffs[1] / payoffs[0]
        note = f"{exact.evaluated.mean():,.0f} against {quick.evaluated.mean():,.1f} strategies per subject"
        found[f"{name}: greedy time"] = Found(f"{ratio:,.0f} times fewer strategies", holds=False, note=note)
        found[f"{name}: greedy payoff"] = Found(f"{lost:.2%} less", holds=bool(lost < 0.01))
    return found


def _claims(means: Figures) -> dict[str, Computed]:
    games = ("no-attack-masking", "one-stage-masking")
    payoff = {policy: row["mean payoff"] for policy, row in means.items() if policy not in games}
    ordered = (min(payoff, key=payoff.__getitem__), max(payoff, key=payoff.__getitem__)) == ("no-protection", "masking")
    masking, by_chance = means["masking"], means["random-masking"]
    unprotected, demographics = means["no-protection"], means["demographics-only"]
    return {
        "order": "yes" if ordered else "no",
        "masking over opt-in": payoff["masking"] / payoff["opt-in"] - 1,
        "stage of inference": (1 - unprotected["mean privacy"]) / (1 - demographics["mean privacy"]),
        "utility given up": 1 - masking["mean utility"] / means["one-stage-masking"]["mean utility"],
        "usefulness": masking["usefulness"] / by_chance["usefulness"] - 1,
        "fairness": masking["usefulness_fairness"] / by_chance["usefulness_fairness"] - 1,
    }
