"""The printed numbers of Xia et al. 2021, computed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.knowledge.assessment import Network
from reidsim.engine.single_run import run_once
from reidsim.kinds.assessment.kind import ASSESSMENT, reduction
from reidsim.kinds.assessment.study import WORST_CASE, RiskStudy
from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.uniqueness import estimate_uniqueness
from reidsim.populations.population import distinct_rows
from reidsim.scenarios.scenario import Scenario
from reproduction.ledger import Computed, Found, Ledger, compared

_SMALLEST = 1000
_CAPABILITIES = ["p_m", "p_c", "p_fm", "p_cu"]
_PRINTED_SETTINGS = ((0.2,) * 4, (0.5,) * 4, (0.8,) * 4, (0.5, 0.2, 0.8, 0.5), (0.2, 0.2, 0.5, 0.8))
_QUARTILES = ["q1", "median", "q3"]


def ledger() -> Ledger:
    """Run the study and compare it with the paper."""
    loaded = Scenario.load("xia2021")
    result = run_once(loaded)
    analysis = result.analysis
    found = {
        **_table_3(analysis.reductions),
        **_table_4(analysis.settings),
        **_worst_case(analysis.settings, result.records),
        **_unique_on_voter_list(result.records),
        "pitman": _uniqueness(ASSESSMENT.build(loaded)),
    }
    return compared(loaded.name, loaded.scenario.source, found)


def _table_3(reductions: pd.DataFrame) -> dict[str, Computed]:
    means = reductions.groupby(["risk", "knowledge", "records"], observed=True)[_QUARTILES].mean()
    by_size: dict[Any, Any] = means.to_dict("index")
    found: dict[str, Computed] = {
        f"{knowledge}, n = {size:,}: {quartile}": row[quartile]
        for (risk, knowledge, size), row in by_size.items()
        if risk == "marketer"
        for quartile in _QUARTILES
    }
    return found | {f"{risk}: q1": float(means.loc[risk]["q1"].min()) for risk in ("journalist", "prosecutor")}


def _table_4(settings: pd.DataFrame) -> dict[str, Computed]:
    grouped = settings.groupby(["knowledge", *_CAPABILITIES], observed=True)[_QUARTILES]
    means, spreads = grouped.mean(), grouped.std()
    by_setting: dict[Any, Any] = means.to_dict("index")
    spread_of: dict[Any, Any] = spreads.to_dict("index")
    found: dict[str, Computed] = {
        f"{knowledge}, {', '.join(map(str, setting))}: {quartile}": Found(
            row[quartile], note=f"({spread_of[knowledge, *setting][quartile]:.2f})"
        )
        for (knowledge, *setting), row in by_setting.items()
        for quartile in _QUARTILES
    }
    for knowledge, over in means.groupby("knowledge", observed=True):
        found |= {f"{knowledge}, average: {quartile}": float(over[quartile].mean()) for quartile in _QUARTILES}
        found |= {f"{knowledge}, spread: {quartile}": float(over[quartile].std()) for quartile in _QUARTILES}
    return found


def _worst_case(settings: pd.DataFrame, records: pd.DataFrame) -> dict[str, Computed]:
    worst = settings[settings["knowledge"] == WORST_CASE]
    first = records[(records["records"] == _SMALLEST) & (records["knowledge"] == WORST_CASE)]
    alone = float(np.mean(first["journalist"] > 0.5))
    return {
        **{f"worst case: {quartile}": float(worst[f"risk_{quartile}"].mean()) for quartile in _QUARTILES},
        "alone": Found(f"{alone:.3f}", holds=alone > 0.90),
    }


def _unique_on_voter_list(records: pd.DataFrame) -> dict[str, Computed]:
    """Return how much less the overall risk is of who is unique on the voter list but never confirmed as unique."""
    smallest = records[records["records"] == _SMALLEST].set_index("knowledge")
    known, worst = smallest.loc["voter-registration"], smallest.loc[WORST_CASE]
    unique = known["prosecutor"].to_numpy() > 0.5
    found: dict[str, Computed] = {}
    for p_m, p_c, p_fm, p_cu in _PRINTED_SETTINGS:
        network = Network(p_m=p_m, p_c=p_c, p_fm=p_fm, p_cu=p_cu)
        risk, before = (
            network.overall(*(rows[name].to_numpy()[unique] for name in ("prosecutor", "journalist", "marketer")))
            for rows in (known.assign(journalist=0.0), worst)
        )
        found[f"unique, {p_m}, {p_c}, {p_fm}, {p_cu}"] = Found(
            float(np.median(reduction(before, risk))), note=f"{unique.mean():.1%} of persons are unique on the list"
        )
    return found


def _uniqueness(study: RiskStudy) -> Found:
    """Estimate an assumption of the scenario: a person unique among 1,000 is unique among 100,000,000."""
    estimates = []
    for sample in range(study.scenario.release.samples):
        codes = study.release(_SMALLEST, sample).codes
        kind = distinct_rows(list(codes.T), len(codes))[1]
        frequencies = GroupFrequencies.from_group_sizes(np.bincount(kind))
        estimates.append(estimate_uniqueness(frequencies, 100_000_000, method="pitman"))
    chances = [estimate.p_unique_given_sample_unique for estimate in estimates]
    low, high = min(estimate.low for estimate in estimates), max(estimate.high for estimate in estimates)
    note = f"ten samples: {min(chances):.3f} to {max(chances):.3f}, 95 % intervals {low:.4f} to {high:.2f}"
    return Found(float(np.median(chances)), note=note)
