"""The printed numbers of Xia et al. 2015, computed anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.sequential.attack import SequentialAttack, exploit_values
from reidsim.adversaries.sequential.planning import (
    attack_threshold,
    exploits_undetected,
    plan_baseline,
    plan_known,
)
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.outcomes import belief_table
from reidsim.kinds.tables.study import TablesStudy
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import AttackChanges, SequentialFiguresSection
from reproduction.ledger import Computed, Found, Ledger, compared

_FOREVER = 1_000_000
# From a scan: every value from .9345 to .9377 gives the same thresholds.
_DISCOUNT_AT_ACTION = 0.936


def ledger() -> Ledger:
    """Run the study and compare it with the paper."""
    loaded = Scenario.load("xia2015")
    study = build_study(loaded)
    every = study.sequential_attack(study.scenario.economics)
    once = replace(every, max_penalties=1)
    growing = replace(every, detection_slope=0.18)
    found = {
        **_thresholds(every, once, growing),
        **_findings(every, once, growing),
        **_sensitivity(every),
        **_shares(study),
        **_at_action(every),
        "two levels": "not compared",
    }
    return compared(loaded.name, loaded.scenario.source, found)


def _sunk_threshold(attack: SequentialAttack) -> int:
    """Return the smallest group that is not attacked once the registry is paid for."""
    return exploit_values(attack, _FOREVER).largest


def _thresholds(every: SequentialAttack, once: SequentialAttack, growing: SequentialAttack) -> dict[str, Computed]:
    partial, none, made = _growing(growing)
    run = " ".join(map(str, made[partial - 1 : none - 1]))
    sunk = f"{_sunk_threshold(every)} under (a), whose k is {_threshold(every):.0f}"
    return {
        "detection": every.detection(1)[0].item(),
        "second detection": growing.detection(2)[1].item(),
        "k": _threshold(once),
        "k if paid for": Found(_sunk_threshold(once), note=sunk),
        "partial": Found(partial, note=f"exploits for g = {partial} to {none - 1}: {run}"),
        "none": none,
    }


def _growing(attack: SequentialAttack) -> tuple[int, int, NDArray[np.int64]]:
    """Return the smallest group not exploited in full, the smallest not attacked, and the exploits from size 1 on."""
    sizes = np.arange(1, 40)
    made = exploits_undetected(attack, sizes) * plan_known(attack, sizes).accesses
    return int(sizes[made < sizes][0]), int(sizes[made == 0][0]), made


def _at_action(every: SequentialAttack) -> dict[str, Computed]:
    """Compute the thresholds in another reading: the penalty is collected at once, and n_f is read the other way."""
    attack = replace(every, discount=_DISCOUNT_AT_ACTION, penalty_timing="at-action")
    partial, none, _ = _growing(replace(attack, detection_slope=0.18))
    thresholds = _sensitivity(replace(attack, max_penalties=1, detection_slope=0.18))
    values: dict[str, Computed] = {
        "k": _threshold(attack),
        "k if paid for": _sunk_threshold(attack),
        "partial": partial,
        "none": none,
        **thresholds,
    }
    return {f"at action: {key}": value for key, value in values.items()}


def _threshold(attack: SequentialAttack) -> float:
    found = attack_threshold(attack)
    return float("nan") if found is None else float(found)


def _findings(every: SequentialAttack, once: SequentialAttack, growing: SequentialAttack) -> dict[str, Computed]:
    sizes = np.arange(1, 200)
    above = any(
        bool((plan_baseline(attack, sizes).reidentified > plan_known(attack, sizes).reidentified).any())
        for attack in (every, once, growing)
    )
    made = exploits_undetected(every, sizes)
    in_full = bool(np.isin(made / sizes, (0.0, 1.0)).all())
    made_once = exploits_undetected(once, sizes)
    partly = bool(((made_once > 0) & (made_once < sizes)).any())
    moved = _threshold(replace(once, detection_slope=0.18))
    return {
        "finding 1": "exceeds" if above else "never",
        "finding 2": "always" if in_full else "not always",
        "finding 3": "at (b)" if partly else "not at (b)",
        "footnote": Found(f"k = {moved:,.0f} at h1 = .18", holds=moved == _threshold(once)),
    }


def _sensitivity(every: SequentialAttack) -> dict[str, Computed]:
    base = replace(every, gain=1000.0, exploit_cost=10.0, access_cost=100.0, link_cost=0.0, prior=1.0)
    return {
        "k at 10,000": _threshold(replace(base, penalty=10_000.0)),
        "k at 50,000": _threshold(replace(base, penalty=50_000.0)),
    }


def _shares(study: TablesStudy) -> dict[str, Computed]:
    section = SequentialFiguresSection(settings={"b": AttackChanges(max_penalties=1)})
    risks = belief_table(study, section)
    weights = risks["records"].to_numpy(dtype=np.float64)
    known, unknown = (risks[name].to_numpy(dtype=np.float64) for name in ("risk_known", "risk_unknown"))
    total = weights.sum()
    differing = weights[known != unknown].sum()
    return {
        "equal risk": 1 - differing / total,
        "only if known": weights[known > unknown].sum() / max(differing, 1.0),
        "above 55": weights[risks["group_size"].to_numpy() > 55].sum() / total,
    }
