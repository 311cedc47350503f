"""The printed numbers and claims of Prasser et al. 2017, computed anew."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.runner import run_batch_loaded
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import Prices
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.policies import BestOfUnit
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.scenario import Scenario
from reproduction.ledger import Computed, Found, Ledger, compared

# Of the raw results: payouts of these policies at these losses.
_RAW = ("basic", "record-level", "safe-harbor")
_RAW_AT = (250.0, 500.0, 1000.0, 2000.0)
_BENEFIT = 1200.0
_LOSS, _RISK = "economics.loss", "beliefs.risk"
_Line = NDArray[np.float64]


def ledger() -> Ledger:
    """Run the study and compare it with the paper."""
    loaded = Scenario.load("prasser2017")
    study = build_study(loaded)
    curves = _Curves(_swept({}))
    found = {**_facts(study), **_figure_5(curves), **_no_attack(curves), **_raw_results(), **_figure_6(study)}
    return compared(loaded.name, loaded.scenario.source, found)


def _swept(changes: Mapping[str, object]) -> pd.DataFrame:
    """Return the runs of the bundled sweep of Fig. 5, with some changes, and their relative payouts."""
    runs = run_batch_loaded(Scenario.load("prasser2017-sweep", changes)).runs
    return runs.assign(relative_payout=runs["publisher_payoff"] / _BENEFIT)


class _Curves:
    """Relative payouts along G = L, by policy and the risk that the publisher plans with; rules do not plan."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        self.values = np.sort(runs[_LOSS].unique()).astype(np.float64)

    def line(self, policy: str, risk: str = "") -> _Line:
        risk = risk or str(self._runs[_RISK].iloc[0])
        chosen = self._runs[(self._runs["policy"] == policy) & (self._runs[_RISK] == risk)]
        return chosen.sort_values(_LOSS)["relative_payout"].to_numpy(dtype=np.float64)

    def at(self, value: float, policy: str, risk: str = "") -> float:
        return float(self.line(policy, risk)[self.values == value].item())

    def last(self, holds: NDArray[np.bool_]) -> float:
        """Return the last value of the unbroken run of truth that begins above 0; NaN if there is none."""
        holds = holds[1:]
        run = len(holds) if holds.all() else int(np.argmin(holds))
        return float(self.values[run]) if run else math.nan


def _facts(study: TablesStudy) -> dict[str, Computed]:
    best_case = float(study.prices.benefit[0]) * study.n_records
    economics = study.scenario.economics
    threshold = economics.adversary_gain / economics.cost
    return {
        "records": study.n_records,
        "best case": best_case / 1e6,
        "allowed classes": f"k > {threshold:.0f}",
        "risk threshold": 100 * economics.cost / 2000,
    }


def _figure_5(curves: _Curves) -> dict[str, Computed]:
    safe_harbor = curves.line("safe-harbor")
    ours = {
        (policy, risk): curves.line(policy, risk)
        for policy in ("basic", "record-level")
        for risk in ("prosecutor", "journalist")
    }
    advantage = (curves.values > 0) & (curves.values < 1200)
    worst = min(float((line - safe_harbor)[advantage].min()) for line in ours.values())
    at_300 = curves.at(300, "record-level", "journalist") - curves.at(300, "basic", "prosecutor")
    at_2000 = curves.at(2000, "record-level", "journalist") - curves.at(2000, "basic", "journalist")
    distance = np.abs(ours["record-level", "journalist"] - ours["basic", "prosecutor"])
    close = curves.last(distance <= 0.01)
    ahead = float(curves.values[ours["basic", "prosecutor"] > ours["record-level", "prosecutor"]].max(initial=0.0))
    return {
        "above Safe Harbor": Found(f"by {100 * worst:.3f} points or more", holds=worst > 0),
        "close": Found(f"up to {close:,.0f}", holds=close >= 400),
        "apart at 300": 100 * at_300,
        "apart at 2,000": 100 * at_2000,
        "ahead": Found(f"up to {ahead:,.0f}", holds=abs(ahead - 600) <= 50),
    }


def _no_attack(curves: _Curves) -> dict[str, Computed]:
    safe_harbor = curves.line("safe-harbor")
    above = curves.last(curves.line("no-attack", "journalist") > safe_harbor)
    alone = curves.at(300, "no-attack", "prosecutor")
    harbor = curves.at(300, "safe-harbor")
    return {
        "no attack above": Found(f"up to {above:,.0f}", holds=750 <= above <= 900),
        "no attack alone": Found(f"{alone:.2f} against {harbor:.2f}", holds=alone < harbor),
    }


def _raw_results() -> dict[str, Computed]:
    changes = {"adversary.risk": "prosecutor", "publisher.policies": list(_RAW),
               "sweep.values": {_LOSS: list(_RAW_AT), _RISK: ["prosecutor"]}}  # fmt: skip
    curves = _Curves(_swept(changes))
    return {
        f"raw: {policy} at {value:,.0f}": curves.at(value, policy, "" if policy == "safe-harbor" else "prosecutor")
        for policy in _RAW
        for value in _RAW_AT
    }


def _figure_6(study: TablesStudy) -> dict[str, Computed]:
    speedup, ours = {}, {}
    for amount in (300.0, 2000.0):
        game = BestOfUnit().one_shot_game(study, "prosecutor", Prices(1200, amount, amount, 4))
        best, size = search(game), study.lattice.size
        # Whatever the order, pruning by the bound of the paper computes every node whose bound is above the optimum.
        bounds = [game.bound(game.lattice.levels(node)) for node in range(size)]
        speedup[amount] = size / sum(bound >= best.payout for bound in bounds)
        ours[amount] = size / best.evaluated
    return {
        "pruning": Found(
            "more" if speedup[300.0] > speedup[2000.0] > 1 else "not more", holds=speedup[300.0] > speedup[2000.0] > 1
        ),
        "speedup": Found(
            f"{speedup[300.0]:.0f} and {speedup[2000.0]:.1f} times fewer nodes",
            holds=False,
            note=f"by the bound of Eq. 6 alone; by that of the search, {ours[300.0]:.0f} and {ours[2000.0]:.0f}",
        ),
        "run times": "not compared",
        "time saved": "not compared",
    }
