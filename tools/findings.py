"""Numbers in the findings of the gallery, by scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

# `RunResult`, `BatchResult` of a sweep, or `StressResult` where a scenario is stressed.
Result = Any
Numbers = Mapping[str, Any]


def wan2015(result: Result) -> Numbers:
    """Return the share of the best payoff that no-attack keeps, and its lead over Safe Harbor."""
    pays = result.summary["publisher_payoff"]
    kept, ahead = (pays["no-attack"] / pays[policy] for policy in ("basic", "safe-harbor"))
    return {**result.summary, "kept": kept, "ahead": ahead - 1}


def xia2015(result: Result) -> Numbers:
    """Return the utility that the best response gives up."""
    economics = result.manifest["content"]["economics"]
    return {**result.summary, "lost": 1 - result.summary["utility"]["basic"], "benefit": economics["benefit"]}


def prasser2017(result: Result) -> Numbers:
    """Return the utility lost by no-attack, full-domain and record-level."""
    utility = result.summary["utility"]
    lost, lost_by_record = 1 - utility["no-attack"], 1 - utility["record-level-no-attack"]
    return {**result.summary, "lost": lost, "lost_by_record": lost_by_record}


def measures(result: Result) -> Numbers:
    """Return the measures by policy."""
    return dict(result.summary)


def wan2021(result: Result) -> Numbers:
    """Return the payoff that no-attack masking loses."""
    pays = result.summary["publisher_payoff"]
    return {**result.summary, "lost": pays["masking"] - pays["no-attack-masking"]}


def xia2021(result: Result) -> Numbers:
    """Return the risk by background knowledge in the smallest release."""
    runs = result.runs[result.runs["records"] == result.runs["records"].min()]
    return {"records": runs["records"].iloc[0], "risk": runs.groupby("knowledge", observed=True)["overall_risk"].mean()}


def cohort_threshold(result: Result) -> Numbers:
    """Return the percentile risk of all people and of groups, in cohorts of three sizes."""
    table = result.analysis.cohorts
    risks = (
        table[table["knowledge"] == "registered-tier"]
        .groupby(["records", "value"], observed=True)["percentile_risk"]
        .mean()
    )
    small, real, large = table["records"].min(), result.runs["records"].max(), table["records"].max()
    return {
        "records": real,
        "risk": risks[real],
        "small": small,
        "small_risk": risks[small]["everybody"],
        "large": large,
        "large_risk": risks[large]["everybody"],
        "accepted": table["threshold"].iloc[0],
    }


def sensitivity(result: Result) -> Numbers:
    """Return the payoff of masking at the lowest and the highest loss."""
    pays = _masked(result, "economics.loss", {})
    first, last = pays.index[[0, -1]]
    return {"first": first, "last": last, "pays_first": pays[first], "pays_last": pays[last]}


def settings(result: Result) -> Numbers:
    """Return the payoffs of individual and of uniform masking, and fairness by support of minorities."""
    support = "subjects.minority_support"
    pays = (
        _rows(result, {"subjects.weights": "entropy", support: 0})
        .groupby("policy", observed=True)["publisher_payoff"]
        .mean()
    )
    fair = _masked(result, support, {"subjects.weights": "entropy"}, "usefulness_fairness")
    low, high = fair.index[[0, -1]]
    ends = {"low": low, "high": high, "fair_low": fair[low], "fair": fair[0.0], "fair_high": fair[high]}
    return {"alone": pays["masking"], "same": pays["same-strategy"], **ends}


def robustness(result: Result) -> Numbers:
    """Return the payoff of masking under wrong beliefs about the cost of attacks."""
    pays = _masked(result, "economics.cost", {"beliefs.cost": 10.0})
    return {"as_planned": pays[10.0], "free": pays[0.0], "dear": pays[40.0]}


def market(result: Result) -> Numbers:
    """Return the participation in the first two rounds."""
    rounds = result.analysis.tables()["rounds"]
    first, second = rounds[rounds["policy"] == "basic"]["participation"].iloc[:2]
    return {**result.summary, "first": first, "second": second}


def voter_vs_twitter(result: Result) -> Numbers:
    """Return the payoff lost by no-attack and by Safe Harbor."""
    pays = result.summary["publisher_payoff"]
    lost, by_rule = (pays["basic"] - pays[policy] for policy in ("no-attack", "safe-harbor"))
    return {**result.summary, "lost": lost, "lost_by_rule": by_rule}


def sequential_publisher(result: Result) -> Numbers:
    """Return the number of rounds in which unchanged records are attacked."""
    rounds = result.analysis.tables()["rounds"]
    open_ = rounds[rounds["policy"] == "no-protection"]
    return {
        "attacked": int((open_["attacks"] > 0).sum()),
        "rounds": len(open_),
        "share": open_["share_attacked"].max(),
        "lost": 1 - result.summary["utility"]["basic"],
    }


def genealogy_market(result: Result) -> Numbers:
    """Return the number of people re-identified in the first and in the last round."""
    rounds = result.analysis.tables()["rounds"]
    risk = rounds[rounds["policy"] == "no-protection"]["risk"]
    return {**result.summary, "first": risk.iloc[0], "last": risk.iloc[-1]}


def one_world(result: Result) -> Numbers:
    """Return re-identifications by adversary, and the payoff of a publisher who knew of purchases."""
    tables = result.analysis.tables()
    through = tables["through"]
    breaches = through.groupby(["policy", "adversary", "through"], observed=True)["breaches"].sum()
    return {
        **result.summary,
        "total": breaches.groupby("policy", observed=True).sum(),
        "marketer": breaches["no-protection", "marketer", "voter-list"],
        "broker": breaches["no-protection", "broker"].sum(),
        "stalker": breaches["no-protection", "stalker", "profiles"],
        "subjects": int(tables["rounds"]["subjects"].max()),
        "informed": dict(tables["broken_guarantees"].iloc[-1]),
    }


def stress(result: Result) -> Numbers:
    """Return regrets and mean payoffs."""
    return dict(result.tables["robustness"].set_index("policy"))


def mistaken_beliefs(result: Result) -> Numbers:
    """Return the loss from planning with too high or too low costs of attacks."""
    curves = result.tables["belief_curves"]
    of = curves[curves["policy"] == "masking"].set_index(["true", "believed"])["publisher_payoff"]
    return {"too_high": of[10.0, 10.0] - of[10.0, 30.0], "too_low": of[30.0, 30.0] - of[30.0, 10.0]}


def guo2023(result: Result) -> Numbers:
    """Return the equilibria of a population, and their stability against drop-outs."""
    tables = result.analysis.tables()
    share, lost = tables["equilibria"]["participation"], tables["survival"]["lost"].max()
    return {"few": share.iloc[1], "lost": lost, "pays": result.summary["publisher_payoff"]["everybody"]}


def guo2023_families(result: Result) -> Numbers:
    """Return the number of equilibria in families, and their stability against drop-outs."""
    tables = result.analysis.tables()
    survival, share = tables["survival"], tables["equilibria"]["participation"]
    most_lost = survival[survival["lost"] == survival["lost"].max()]
    return {
        "people": result.manifest["records"], "found": len(share), "most": share.max(),
        "kept": int((most_lost["returned"] == 1).sum()), "lost": survival["lost"].max(),
    }  # fmt: skip


def prices_in_turn(result: Result) -> Numbers:
    """Return payoffs of the best response and Safe Harbor by loss and cost (Wan et al. 2015, Fig. 11)."""
    by_loss = _pays(result, {"economics.cost": 4, "economics.benefit": 1200}, "economics.loss")
    by_cost = _pays(result, {"economics.loss": 300, "economics.benefit": 1200}, "economics.cost")
    low, high = by_loss.index.min(), by_loss.index.max()
    free, cheap = by_cost.index[:2]
    assert by_cost.loc[free, "no-attack"] == 0  # noqa: S101 - the finding says so
    return {
        "low": low,
        "high": high,
        "at_low": by_loss.loc[low],
        "at_high": by_loss.loc[high],
        "bound": by_loss["safe-harbor"].max() + 1,
        "cheap": cheap,
        "lost": by_cost.loc[cheap, "basic"] - by_cost.loc[cheap, "no-attack"],
    }


def benefit_and_loss(result: Result) -> Numbers:
    """Return the points of most generalization and fewest attacks (Wan et al. 2015, Fig. 10)."""
    at = result.runs.set_index(["economics.benefit", "economics.loss"])
    benefits, losses = (at.index.get_level_values(level) for level in (0, 1))
    low, high, loss = benefits.min(), benefits.max(), losses.max()
    return {"low": low, "high": high, "loss": loss, "poor": at.loc[(low, loss)], "rich": at.loc[(high, loss)]}


def two_records(result: Result) -> Numbers:
    """Return the share of the map in which each of two people is attacked (Wan et al. 2015, Figs. 8 and 9)."""
    share = result.runs.groupby("release.path", observed=True)["share_attacked"].mean()
    man, woman = (next(value for path, value in share.items() if name in str(path)) for name in ("black", "white"))
    return {"man": man, "woman": woman}


def search_against_optimum(result: Result) -> Numbers:
    """Return the best and worst relative payoff of lattice-based search (Wan et al. 2015, Fig. 12)."""
    share, below = result.runs["share_optimal"], result.runs["publisher_payoff_difference"]
    evaluated = result.runs["evaluated"].mean()
    return {"least": share.min(), "most": share.max(), "below": below.max(), "evaluated": evaluated}


def payouts(result: Result) -> Numbers:
    """Return full-domain and record-level payoffs at the largest loss (Prasser et al. 2017, Fig. 5)."""
    loss = result.runs["economics.loss"].max()
    pays = _rows(result, {"economics.loss": loss}).set_index(["beliefs.risk", "policy"])["publisher_payoff"] / 1200
    return {"loss": loss, "prosecutor": pays["prosecutor"], "journalist": pays["journalist"]}


def nodes_left_out(result: Result) -> Numbers:
    """Return the share of nodes that pruning skips (Prasser et al. 2017, Fig. 6)."""
    table = result.analysis.tables()["runtimes"]
    points = result.design.points.iloc[table["point"].to_numpy()].reset_index(drop=True)
    table = table.assign(loss=points["economics.loss"], pruned=points["publisher.prune"])
    nodes = table[(table["policy"] == "basic") & table["pruned"]].set_index("loss")["nodes_evaluated"]
    basic = table[table["policy"] == "basic"].pivot_table("seconds", index="loss", columns="pruned", aggfunc="median")
    slower = int((basic[True] > basic[False]).sum())
    return {"least": nodes[nodes.index > 0].min(), "most": nodes.max(), "slower": slower, "losses": len(basic)}


def deterrents(result: Result) -> Numbers:
    """Return the thresholds by penalty (Xia et al. 2015, Fig. 10)."""
    sequential = "adversary.sequential"
    own = {"economics.cost": 10, f"{sequential}.access_cost": 100, f"{sequential}.detection_slope": 0.0,
           f"{sequential}.max_penalties": 100, f"{sequential}.detection_intercept": -4.59}  # fmt: skip
    smallest = _rows(result, own).set_index(f"{sequential}.penalty")["attack_threshold"].sort_index()
    return {"without": smallest.iloc[0], "penalty": smallest.index[-1], "deterred": smallest.iloc[-1]}


def _rows(result: Result, own: Mapping[str, object]) -> pd.DataFrame:
    """Return the runs with the given values of some columns."""
    rows: pd.DataFrame = result.runs
    for key, value in own.items():
        rows = rows[rows[key] == value]
    return rows


def _pays(result: Result, own: Mapping[str, object], key: str) -> pd.DataFrame:
    """Return the payoffs along a key by policy."""
    return _rows(result, own).pivot(index=key, columns="policy", values="publisher_payoff")


def _masked(
    result: Result, key: str, others: Mapping[str, object], measure: str = "publisher_payoff"
) -> pd.Series[float]:
    """Return a measure of masking along a key, at given values of other keys."""
    means: pd.Series[float] = _rows(result, {"policy": "masking", **others}).groupby(key, observed=True)[measure].mean()
    return means
