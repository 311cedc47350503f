"""The answer in plain sentences: which policy pays best, how much is attacked, what the risk is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from reidsim.reports.page.answers_under_uncertainty import uncertain_answer
from reidsim.reports.page.blocks import Block, Bullets, Cell, Code, Inline, Table, paragraph
from reidsim.reports.page.number_text import number_text
from reidsim.reports.page.stored_run import StoredRun

# Payoffs that differ by less than this part of themselves are the same.
_SAME = 1e-9
_WORST_CASE = "worst-case"
_POINTS_SHOWN = 30


def answer_blocks(run: StoredRun) -> Iterator[Block]:
    """Yield the answer of a run.

    Raises
    ------
    InputError
        If the table of runs cannot be read.
    """
    runs = run.runs
    if "runs" not in run.tables:
        yield from uncertain_answer(run)
    elif runs.empty:
        yield paragraph("No run finished, so there is no answer.", kind="warning")
    elif {"policy", "publisher_payoff", "share_attacked", "risk"} <= set(runs.columns):
        yield from _policies(run)
    elif {"knowledge", "overall_risk"} <= set(runs.columns):
        yield from _knowledge(run)
    else:
        yield paragraph("This kind of run has no policies to compare; its tables and figures follow.")


def _policies(run: StoredRun) -> Iterator[Block]:
    means = run.runs.groupby("policy", sort=False, observed=True)[["publisher_payoff", "share_attacked", "risk"]].mean()
    apart = [not run.compares(str(name)) for name in means.index]
    compared = means if all(apart) else means[~np.array(apart)]
    order = compared.sort_values("publisher_payoff", ascending=False, kind="stable")
    who = "subjects" if run.decides == "subject" else "publisher"
    best = order.iloc[0]
    n_points = len(run.runs["point"].unique()) if "point" in run.runs else 1
    tied = [str(name) for name, pays in order["publisher_payoff"].items() if _same(pays, best["publisher_payoff"])]
    yield paragraph(*_best_pays(order, tied, who, n_points, run.units[0]), *_attacked(run, best), kind="answer")
    spread = _paired(run.runs, order) if n_points == 1 else ()
    if spread:
        yield paragraph(*spread)
    others = order[~order.index.astype(str).isin(tied[:1])]
    if len(others):
        yield paragraph("Compared with it:")
        yield Bullets(tuple(_compared(run, str(name), row, best) for name, row in others.iterrows()))
    for name, row in means[~means.index.isin(compared.index)].iterrows():
        yield paragraph(
            Code(str(name)),
            f" is not compared: its {row['publisher_payoff']:,.2f} per record are paid against an adversary who infers "
            "nothing.",
        )
    if (means["risk"] == 0).any():
        yield paragraph(
            "A risk of 0 means that no attack pays the adversary of this scenario. It does not mean that no record can "
            "be re-identified."
        )
    yield from _points(run)


def _best_pays(order: pd.DataFrame, tied: list[str], who: str, n_points: int, unit: str) -> tuple[Inline, ...]:
    mean = f", on average over {n_points:,} points" if n_points > 1 else ""
    pays = f"{order['publisher_payoff'].iloc[0]:,.2f} per {unit}{mean}"
    if len(order) == 1:
        return ("Under ", Code(tied[0]), f", the only policy, the {who} can expect {pays}. ")
    among = f"Of the {len(order)} policies, "
    if len(tied) > 1:
        named: list[Inline] = [Code(tied[0])]
        for place, name in enumerate(tied[1:], start=2):
            named += [" and " if place == len(tied) else ", ", Code(name)]
        return (among, *named, f" pay the {who} most, and the same: {pays}. ")
    second = order.iloc[1]
    ahead = _difference(order["publisher_payoff"].iloc[0], second["publisher_payoff"])
    return (
        among, Code(tied[0]), f" pays the {who} most: {pays}, {ahead} more than ", Code(str(second.name)),
        ", which comes next. ",
    )  # fmt: skip


def _attacked(run: StoredRun, row: pd.Series[float]) -> tuple[Inline, ...]:
    if row["share_attacked"] == 0:
        return (
            f"The adversary then attacks no {run.units[0]}, since no attack pays, so the re-identification risk is 0.",
        )
    each = " in a round" if run.rounds > 1 else ""
    share = f"{_percent(row['share_attacked'])} of the {run.units[1]}{each}"
    return (
        f"The adversary then attacks {share}, and the re-identification risk is "
        f"{row['risk']:.4f}{_expected(run, row['risk'])}.",
    )


def _compared(run: StoredRun, name: str, row: pd.Series[float], best: pd.Series[float]) -> tuple[Inline, ...]:
    best_pays, row_pays = best["publisher_payoff"], row["publisher_payoff"]
    behind = "the same" if _same(row_pays, best_pays) else f"{_difference(best_pays, row_pays)} less"
    pays = f" pays {row_pays:,.2f}, {behind}. "
    if row["share_attacked"] == 0:
        return (Code(name), pays, f"No {run.units[0]} is attacked, and the risk is 0.")
    share = _percent(row["share_attacked"])
    attacked = f"{share} of the {run.units[1]} are attacked, and the risk is {row['risk']:.4f}"
    return (Code(name), pays, f"{attacked}{_expected(run, row['risk'])}.")


def _expected(run: StoredRun, risk: float) -> str:
    if run.n_counted is None:
        return ""
    people = risk * run.n_counted
    number = f"{people:,.0f}" if people >= 10 else f"{people:,.1f}" if people >= 0.1 else "fewer than 0.1"
    each = f" in each round, on average over {run.rounds:,}" if run.rounds > 1 else ""
    return f": about {number} of {run.n_counted:,} are expected to be re-identified{each}"


def _paired(runs: pd.DataFrame, order: pd.DataFrame) -> tuple[Inline, ...]:
    """Say how sure the lead of the best policy is, from differences within replications."""
    if len(order) < 2 or not {"point", "replication"} <= set(runs.columns):
        return ()
    first, second = order.index[:2]
    wide = runs.pivot_table(index=["point", "replication"], columns="policy", values="publisher_payoff", observed=True)
    difference = (wide[first] - wide[second]).dropna().to_numpy(dtype=np.float64)
    if len(difference) < 2:
        return ()
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
    clear = "" if abs(mean) > 2 * error else " That is no clear difference."
    return (
        "Over ", f"{len(difference):,} replications the difference between ", Code(str(first)), " and ",
        Code(str(second)), f" is {_amount(mean)} with a standard error of {_amount(error)}.{clear}",
    )  # fmt: skip


def _points(run: StoredRun) -> Iterator[Block]:
    """Say which policy pays best where, if values of the scenario were varied."""
    runs = run.runs
    if "point" not in runs or runs["point"].nunique() < 2:
        return
    compared = runs[[run.compares(str(name)) for name in runs["policy"]]]
    grouped = compared.groupby(["point", "policy"], sort=False, observed=True)[["publisher_payoff", "risk"]].mean()
    means, risks = grouped["publisher_payoff"].unstack(), grouped["risk"].unstack()
    best = means.idxmax(axis=1).astype(str)
    counts = best.value_counts()
    pays = means.max(axis=1)
    parts: list[Inline] = [f"Values of the scenario were varied over {len(best):,} points. Pays best: "]
    for place, (name, number) in enumerate(counts.items()):
        parts += [", " if place else "", Code(str(name)), f" at {number:,}"]
    yield paragraph(*parts, ".")
    varied = [column for column in runs.columns if "." in column]
    values = runs.groupby("point", sort=False)[varied].first()
    rows: list[list[Cell]] = [
        [
            *(number_text(_plain(values.loc[point, column])) for column in varied),
            Code(best[point]),
            f"{pays[point]:,.2f}",
            f"{risks.loc[point, best[point]]:.4f}",
        ]
        for point in best.index[:_POINTS_SHOWN]
    ]
    if varied:
        more = f"; the first {_POINTS_SHOWN} of {len(best):,}" if len(best) > _POINTS_SHOWN else ""
        header: list[Inline] = [*(Code(column) for column in varied), "Pays best", "Payoff per record", "Risk"]
        yield Table(header, rows, f"Best policy by point{more}", text_columns=frozenset({len(varied)}))


def _knowledge(run: StoredRun) -> Iterator[Block]:
    runs = run.runs.assign(size=run.runs.get("records", 0))
    means = runs.groupby(["size", "knowledge"], sort=False, observed=True)["overall_risk"].mean().unstack()
    size = means.index.min()
    row = means.loc[size]
    others = [name for name in row.index if name != _WORST_CASE]
    if _WORST_CASE not in row or not others:
        yield paragraph("The risks are in the table below.")
        return
    name = max(others, key=lambda other: row[other])
    of = f"in a release of {size:,} records, " if size else ""
    reduction = 1 - row[name] / row[_WORST_CASE] if row[_WORST_CASE] else 0.0
    yield paragraph(
        f"If the adversary knows everything about everybody, {of}a person is re-identified with probability "
        f"{row[_WORST_CASE]:.4f} on average. With what ",
        Code(str(name)),
        f" tells it is {row[name]:.4f}, {reduction:.1%} less.",
        kind="answer",
    )
    rest = [other for other in others if other != name]
    if rest:
        yield Bullets(tuple((Code(str(other)), f": {row[other]:.4f}.") for other in rest))


def _plain(value: object) -> object:
    """Return a number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME * max(abs(a), abs(b), 1.0)


def _difference(larger: float, smaller: float) -> str:
    """Write how much larger an amount is, so that it agrees with the two as they are written, with cents."""
    written = round(larger, 2) - round(smaller, 2)
    return _amount(larger - smaller if _same(round(larger, 2), round(smaller, 2)) else written)


def _amount(value: float) -> str:
    """Write an amount with cents; a smaller one with three digits."""
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if share >= 0.0001 else "less than 0.01%"
