"""What sweeps of the papers' figures find: the numbers of their findings, by the name they have there."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reidsim.reports.gallery.findings import Numbers

# Of `BatchResult`.
Result = Any


def prices_in_turn(result: Result) -> Numbers:
    """Tell what the best reply and Safe Harbor pay as the loss and the cost change (Wan et al. 2015, Fig. 11)."""
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
    """Tell where the best reply generalizes most and is attacked least (Wan et al. 2015, Fig. 10)."""
    at = result.runs.set_index(["economics.benefit", "economics.loss"])
    benefits, losses = (at.index.get_level_values(level) for level in (0, 1))
    low, high, loss = benefits.min(), benefits.max(), losses.max()
    return {"low": low, "high": high, "loss": loss, "poor": at.loc[(low, loss)], "rich": at.loc[(high, loss)]}


def two_records(result: Result) -> Numbers:
    """Tell over how much of the map each of two people is attacked (Wan et al. 2015, Figs. 8 and 9)."""
    share = result.runs.groupby("release.path")["share_attacked"].mean()
    man, woman = (next(value for path, value in share.items() if name in str(path)) for name in ("black", "white"))
    return {"man": man, "woman": woman}


def search_against_optimum(result: Result) -> Numbers:
    """Tell how good lattice-based search is at its best and worst (Wan et al. 2015, Fig. 12)."""
    share, below = result.runs["share_optimal"], result.runs["publisher_payoff_difference"]
    evaluated = result.runs["evaluated"].mean()
    return {"least": share.min(), "most": share.max(), "below": below.max(), "evaluated": evaluated}


def payouts(result: Result) -> Numbers:
    """Tell what full-domain and record-level generalization pay at the largest loss (Prasser et al. 2017, Fig. 5)."""
    loss = result.runs["economics.loss"].max()
    runs = result.runs[result.runs["economics.loss"] == loss]
    pays = runs.set_index(["beliefs.risk", "policy"])["publisher_payoff"] / 1200
    return {"loss": loss, "prosecutor": pays["prosecutor"], "journalist": pays["journalist"]}


def nodes_left_out(result: Result) -> Numbers:
    """Tell how many nodes pruning leaves out (Prasser et al. 2017, Fig. 6)."""
    table = result.analysis.tables()["runtimes"]
    points = result.design.points.iloc[table["point"].to_numpy()].reset_index(drop=True)
    table = table.assign(loss=points["economics.loss"], pruned=points["publisher.prune"])
    nodes = table[(table["policy"] == "basic") & table["pruned"]].set_index("loss")["nodes_evaluated"]
    basic = table[table["policy"] == "basic"].pivot(index="loss", columns="pruned", values="seconds")
    slower = int((basic[True] > basic[False]).sum())
    return {"least": nodes[nodes.index > 0].min(), "most": nodes.max(), "slower": slower, "losses": len(basic)}


def deterrents(result: Result) -> Numbers:
    """Tell how the penalty moves the threshold (Xia et al. 2015, Fig. 10)."""
    sequential = "adversary.sequential"
    own = {"economics.cost": 10, f"{sequential}.access_cost": 100, f"{sequential}.detection_slope": 0.0,
           f"{sequential}.max_penalties": 100, f"{sequential}.detection_intercept": -4.59}  # fmt: skip
    smallest = _rows(result, own).set_index(f"{sequential}.penalty")["attack_threshold"].sort_index()
    return {"without": smallest.iloc[0], "penalty": smallest.index[-1], "deterred": smallest.iloc[-1]}


def _rows(result: Result, own: dict[str, float]) -> pd.DataFrame:
    rows: pd.DataFrame = result.runs
    for key, value in own.items():
        rows = rows[rows[key] == value]
    return rows


def _pays(result: Result, own: dict[str, float], key: str) -> pd.DataFrame:
    return _rows(result, own).pivot(index=key, columns="policy", values="publisher_payoff")
