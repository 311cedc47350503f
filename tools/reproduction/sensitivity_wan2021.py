"""Claims of Wan et al. 2021 about its sensitivity and robustness analyses, judged by a study that was run once in full.

It is in ``studies/wan2021``: 20 draws at each of over 100 points take longer than a ledger may.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.ledger import Computed, Found

_TABLE = Path(__file__).with_name("studies") / "wan2021" / "draws.parquet"
_SENSITIVITY, _ROBUSTNESS, _SETTINGS = "wan2021-sensitivity", "wan2021-robustness", "wan2021-settings"
_PAYOFF = "publisher_payoff"
_BASELINES = ["no-protection", "demographics-only", "random-opt-in", "random-masking", "opt-in"]
_GAMES = ["opt-in", "masking", "no-attack-masking", "one-stage-masking"]
_SCENARIOS = [*_BASELINES, *_GAMES[1:]]
_BENEFIT = "economics.benefit"
# The paper's eight parameters, and its claim that payoffs rise with them in most of the eight scenarios.
_RISING = {
    "subjects.attributes": False,
    "resources.genealogy.size": False,
    "economics.loss": False,
    "resources.genealogy.missing_alleles": True,
    "adversary.confidence_threshold": True,
    "resources.registry.size": True,
    _BENEFIT: True,
    "economics.cost": True,
}
# "In general", "always", "in most cases": at this share of the values, at least.
_IN_GENERAL = 0.9
# "Almost the same" payoff: less by at most this share, as of solvers that are "approximately the same" (Table 3).
_ALMOST = 0.01
# "More than six times", of the range of payoffs.
_TIMES = 6


def read_study() -> pd.DataFrame:
    """Return the study: a row per scenario, point (values of swept keys, as JSON), replication and policy."""
    return pd.read_parquet(_TABLE)


def claims(study: pd.DataFrame) -> dict[str, Computed]:
    """Return the verdict on each claim.

    Parameters
    ----------
    study : DataFrame
        Columns as of `read_study`.
    """
    payoffs = _means(study, _SENSITIVITY, _PAYOFF)
    varied = {key: _varied(payoffs, key) for key in _RISING}
    every = pd.concat(varied.values())
    found: dict[str, Computed] = {
        "masking pays most": _in_general(every["masking"] > every[_BASELINES].max(axis=1)),
        "one-stage pays more": _in_general(every["one-stage-masking"] > every["masking"]),
        "no-attack pays almost the same": _in_general(every["no-attack-masking"] >= (1 - _ALMOST) * every["masking"]),
        "six times": _six_times(varied),
        "benefit": _linear(varied[_BENEFIT]),
    }
    found |= {f"trend of {key}": _trend(varied[key], rises) for key, rises in _RISING.items()}
    found |= _settings(study, payoffs) | _privacy_and_utility(study) | _robustness(study, payoffs) | _support(study)
    return found


def _means(study: pd.DataFrame, scenario: str, measure: str) -> pd.DataFrame:
    """Return a row per point of a scenario, indexed by the values of its swept keys, and a column per policy."""
    rows = study[study["scenario"] == scenario]
    table = rows.pivot_table(measure, "point", "policy", "mean", observed=True)
    points = [{key: _value(value) for key, value in json.loads(point).items()} for point in table.index]
    table.index = pd.MultiIndex.from_frame(pd.DataFrame(points))
    return table


def _value(value: Any) -> Hashable:
    """Return the value of a swept key: of a list how much is in it, of a table its text."""
    return len(value) if isinstance(value, list) else json.dumps(value) if isinstance(value, dict) else value


def _varied(means: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the rows in which every other key has its usual value, by the values of `key`, ascending."""
    others = [str(name) for name in means.index.names if name != key]
    usual = [means.index.get_level_values(name).value_counts().idxmax() for name in others]
    rows = means.reset_index(others)
    return rows[(rows[others] == usual).all(axis=1)].drop(columns=others).sort_index()


def _in_general(holds: pd.Series) -> Found:
    """Return at how many values a claim holds, and whether that is in general."""
    return Found(f"at {int(holds.sum())} of {len(holds)} values", holds=bool(holds.mean() >= _IN_GENERAL))


def _six_times(varied: Mapping[str, pd.DataFrame]) -> Found:
    """Count parameters with which some payoff varies six times as much as that of the masking game."""
    count = 0
    for table in varied.values():
        ranges = table[_SCENARIOS].max() - table[_SCENARIOS].min()
        count += bool(ranges.max() > _TIMES * ranges["masking"])
    return Found(f"for {count} of {len(varied)}", holds=count > len(varied) / 2)


def _linear(table: pd.DataFrame) -> Found:
    """Return the smallest R-squared of payoffs on the benefit over the scenarios."""
    correlations = table[_SCENARIOS].corrwith(table.index.to_series())
    return Found(f"correlation {correlations.min():.3f} or more", holds=bool(correlations.min() > 0.95))


def _trend(table: pd.DataFrame, rises: bool) -> Found:
    """Count scenarios whose payoff goes the way that is said, by the sign of the slope."""
    slopes = table[_SCENARIOS].corrwith(table.index.to_series())
    count = int(((slopes > 0) if rises else (slopes < 0)).sum())
    return Found(f"in {count} of {len(_SCENARIOS)}", holds=count > len(_SCENARIOS) / 2)


def _settings(study: pd.DataFrame, payoffs: pd.DataFrame) -> dict[str, Computed]:
    weights, methods = _varied(payoffs, "subjects.weights"), _varied(payoffs, "adversary.stages.0.method")
    settings = _varied(_means(study, _SETTINGS, _PAYOFF), "subjects.weights")
    (biased,) = [name for name in settings.index if name.startswith("{")]
    own = settings.T["entropy"]
    return {
        "uniform weights": _games(weights, "uniform", "entropy"),
        "biased weights": _games(settings, biased, "entropy"),
        "nearest neighbour": _games(methods, "nearest-neighbour", "tmrca"),
        "own strategy": Found(
            f"${own['masking']:.2f} instead of ${own['same-strategy']:.2f}",
            holds=bool(own["masking"] > own["same-strategy"]),
        ),
    }


def _games(table: pd.DataFrame, setting: str, usual: str) -> Found:
    """Return the number of games whose payoff is higher in a setting than in the default one."""
    payoffs = table.loc[[setting, usual], [game for game in _GAMES if game in table]].to_numpy()
    more, less = (payoffs[0] > payoffs[1]).sum(), (payoffs[0] < payoffs[1]).sum()
    same = payoffs.shape[1] - more - less
    return Found(f"{more} more, {same} the same, {less} less", holds=bool(more > 0 and less == 0))


def _privacy_and_utility(study: pd.DataFrame) -> dict[str, Computed]:
    risks, utilities = (
        pd.concat([_varied(_means(study, _SENSITIVITY, measure), key) for key in _RISING])
        for measure in ("risk", "utility")
    )
    protected = [name for name in _BASELINES if not name.startswith("random")]
    lower = [name for name in _SCENARIOS if name not in ("no-protection", "masking", "one-stage-masking")]
    return {
        "privacy": _in_general((risks["masking"] < risks[protected].min(axis=1)) | (risks["masking"] == 0)),
        "utility": _in_general(utilities["masking"] >= utilities[lower].max(axis=1)),
    }


def _robustness(study: pd.DataFrame, payoffs: pd.DataFrame) -> dict[str, Computed]:
    """Compare the cost of a wrong belief with the gain of the masking game over the opt-in game."""
    mistaken = _means(study, _ROBUSTNESS, _PAYOFF)
    smaller = []
    for key in ("economics.cost", "resources.genealogy.size", "resources.registry.size"):
        knowing = _varied(payoffs, key)
        for _, believed in mistaken.groupby(level="beliefs.cost", observed=True):
            table = _varied(believed, key)
            known = knowing.reindex(table.index)
            error = (table["masking"] - known["masking"]).abs()
            smaller.append(error < 0.5 * (known["masking"] - known["opt-in"]))
    return {"robustness": _in_general(pd.concat(smaller))}


def _support(study: pd.DataFrame) -> dict[str, Computed]:
    found: dict[str, Computed] = {}
    for name, measure, low, high in (("usefulness", "usefulness", 0, 4), ("fairness", "usefulness_fairness", 0.5, 1.5)):
        table = _varied(_means(study, _SENSITIVITY, measure), "subjects.minority_support").loc[low:high]
        # With demographics only, all subjects share the same data: no usefulness, no unfairness.
        others = [*_BASELINES[2:], "k-anonymity"]
        found[f"support: {name}"] = _in_general(table["masking"] > table[others].max(axis=1))
        found[f"supported: {name}"] = float((table["masking"] / table["random-masking"])[1.0] - 1)
    return found
