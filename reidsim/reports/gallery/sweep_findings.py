"""What sweeps of the papers' figures find, in two or three sentences with their numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd

# Of `BatchResult`.
Result = Any


def prices_in_turn(result: Result) -> str:
    """Tell what the best reply and Safe Harbor pay as the loss and the cost change (Wan et al. 2015, Fig. 11)."""
    by_loss = _pays(result, {"economics.cost": 4, "economics.benefit": 1200}, "economics.loss")
    by_cost = _pays(result, {"economics.loss": 300, "economics.benefit": 1200}, "economics.cost")
    low, high = by_loss.index.min(), by_loss.index.max()
    free, cheap = by_cost.index[:2]
    assert by_cost.loc[free, "no-attack"] == 0  # noqa: S101 - the sentence below says so
    return (
        f"As the loss of a re-identified record grows from {low:,.0f} to {high:,.0f}, the best reply goes from "
        f"{by_loss.loc[low, 'basic']:,.0f} to {by_loss.loc[high, 'basic']:,.0f} per record, the one without attacks "
        f"from {by_loss.loc[low, 'no-attack']:,.0f} to {by_loss.loc[high, 'no-attack']:,.0f}, Safe Harbor stays below "
        f"{by_loss['safe-harbor'].max() + 1:,.0f}. Where attacks are free, ruling them out leaves nothing to share; "
        f"where one costs {cheap:,.0f}, it costs {by_cost.loc[cheap, 'basic'] - by_cost.loc[cheap, 'no-attack']:,.2f}."
    )


def benefit_and_loss(result: Result) -> str:
    """Tell where the best reply generalizes most and is attacked least (Wan et al. 2015, Fig. 10)."""
    at = result.runs.set_index(["economics.benefit", "economics.loss"])
    benefits, losses = (at.index.get_level_values(level) for level in (0, 1))
    rich, poor = at.loc[(benefits.max(), losses.max())], at.loc[(benefits.min(), losses.max())]
    return (
        "A publisher who has much to gain generalizes little and accepts attacks: at a benefit of "
        f"{benefits.max():,.0f} and a loss of {losses.max():,.0f}, {rich['share_attacked']:.0%} of the records are "
        f"attacked, at an intensity of {rich['generalization_intensity']:.2f}. At a benefit of "
        f"{benefits.min():,.0f} it is {poor['share_attacked']:.0%}, at {poor['generalization_intensity']:.2f}."
    )


def two_records(result: Result) -> str:
    """Tell over how much of the map each of two people is attacked (Wan et al. 2015, Figs. 8 and 9)."""
    share = result.runs.groupby("release.path")["share_attacked"].mean()
    man, woman = (next(value for path, value in share.items() if name in str(path)) for name in ("black", "white"))
    return (
        "What is best differs by person: over the same benefits and losses, the record of a Black man of 19 is "
        f"shared so that an attack pays at {man:.0%} of the points, that of a White woman of 62 at {woman:.0%}. "
        "Borders between forms are lines along which two of them pay the same."
    )


def search_against_optimum(result: Result) -> str:
    """Tell how good lattice-based search is at its best and worst (Wan et al. 2015, Fig. 12)."""
    share, below = result.runs["share_optimal"], result.runs["publisher_payoff_difference"]
    return (
        f"Lattice-based search finds the best form of {share.min():.1%} to {share.max():.1%} of the records, "
        f"depending on prices. It costs the publisher at most {below.max():,.2f} per record, after looking at "
        f"{result.runs['evaluated'].mean():.1f} of 288 forms on average."
    )


def payouts(result: Result) -> str:
    """Tell what full-domain and record-level generalization pay at the largest loss (Prasser et al. 2017, Fig. 5)."""
    runs = result.runs[result.runs["economics.loss"] == result.runs["economics.loss"].max()]
    pays = runs.set_index(["beliefs.risk", "policy"])["publisher_payoff"] / 1200
    loss = runs["economics.loss"].iloc[0]
    return (
        f"At a loss and gain of {loss:,.0f}, one form for the whole table keeps "
        f"{pays['prosecutor', 'basic']:.0%} of the best case if risks are worked out from the dataset, "
        f"{pays['journalist', 'basic']:.0%} if from the population; a form for each record, "
        f"{pays['prosecutor', 'record-level']:.0%} and {pays['journalist', 'record-level']:.0%}. "
        f"Safe Harbor keeps {pays['journalist', 'safe-harbor']:.0%}."
    )


def nodes_left_out(result: Result) -> str:
    """Tell how many nodes pruning leaves out (Prasser et al. 2017, Fig. 6)."""
    table = result.analysis.tables()["runtimes"]
    points = result.design.points.iloc[table["point"].to_numpy()].reset_index(drop=True)
    table = table.assign(loss=points["economics.loss"], pruned=points["publisher.prune"])
    nodes = table[(table["policy"] == "basic") & table["pruned"]].set_index("loss")["nodes_evaluated"]
    basic = table[table["policy"] == "basic"].pivot(index="loss", columns="pruned", values="seconds")
    slower = int((basic[True] > basic[False]).sum())
    least, most = nodes[nodes.index > 0].min(), nodes.max()
    return (
        f"Leaving out branches that cannot be better, the search works out {least:,} to {most:,} of 288 nodes where "
        "there is something to lose, and finds the same optimum as without. It was slower than computing every node "
        f"at {slower} of {len(basic)} losses, as 288 nodes take little time; times are those of the computer that "
        "made this page."
    )


def deterrents(result: Result) -> str:
    """Tell how the penalty moves the threshold (Xia et al. 2015, Fig. 10)."""
    sequential = "adversary.sequential"
    own = {"economics.cost": 10, f"{sequential}.access_cost": 100, f"{sequential}.detection_slope": 0.0,
           f"{sequential}.max_penalties": 100, f"{sequential}.detection_intercept": -4.59}  # fmt: skip
    key = f"{sequential}.penalty"
    smallest = _rows(result, own).set_index(key)["attack_threshold"].sort_index()
    return (
        f"Without a penalty, people in groups of {smallest.iloc[0]:,.0f} or more are left alone; a penalty of "
        f"{smallest.index[-1]:,.0f} for a detected exploit lowers that to {smallest.iloc[-1]:,.0f}. Costs of access "
        "and of exploits, and a better detection, work the same way."
    )


def _rows(result: Result, own: dict[str, float]) -> pd.DataFrame:
    rows: pd.DataFrame = result.runs
    for key, value in own.items():
        rows = rows[rows[key] == value]
    return rows


def _pays(result: Result, own: dict[str, float], key: str) -> pd.DataFrame:
    return _rows(result, own).pivot(index=key, columns="policy", values="publisher_payoff")
