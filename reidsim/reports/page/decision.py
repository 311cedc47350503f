"""Compute the decision on the first page: payoffs, exposure, and release to sign."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from reidsim.drafts.draft import OF_PAPER
from reidsim.engine.switch.amounts import BreakEven
from reidsim.reports import verdict
from reidsim.reports.page.release import columns_of_release, read_back_rows
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.releases import Releases
from reidsim.reports.writer import Cell, Table
from reidsim.scenarios.people import once_each
from reidsim.scenarios.report_sentences import GAIN, LOSS, gain_goes_with_loss, section
from reidsim.wording import Code, Inline, number_text

_POINTS_SHOWN = 30
# Level of the quantile of the number of people re-identified, less a tolerance for rounding.
_LEVEL = 0.95 - 1e-9
_ROBUSTNESS = {"policy", "mean_payoff", "worst_payoff", "largest_regret", "points"}
_CROSS_PLAY = ["defender", "plans_against", "adversary"]


def decision(run: StoredRun, releases: Releases | None, even: BreakEven | None, *, samples: bool) -> dict[str, Any]:
    """Return the values of the template `decision`.

    Parameters
    ----------
    run : StoredRun
    releases : Releases or None
        None if the records of the run are not from a file, or not found.
    even : BreakEven or None
        None if it was not computed or cannot be; see `break_even_of`.
    samples : bool
        Whether to show values of sample rows.

    Raises
    ------
    InputError
        If a table cannot be read.
    """
    runs = run.runs
    if "runs" not in run.tables:
        return _under_uncertainty(run)
    if runs.empty:
        return {"message": "No run finished, so there is no answer.", "message_kind": "warning"}
    if {"policy", "publisher_payoff", "share_attacked", "risk"} <= set(runs.columns):
        return _policies(run, releases, even, samples)
    if {"knowledge", "overall_risk"} <= set(runs.columns):
        cohorts = run.table("cohorts") if "cohorts" in run.tables else None
        return {"message": verdict.assessment_verdict(runs, cohorts=cohorts), "message_kind": "answer"}
    message = "This kind of run has no policies to compare; the tables and figures follow."
    return {"message": message, "message_kind": ""}


def mean_payoffs(run: StoredRun) -> dict[str, float]:
    """Return the publisher's mean payoff per record of each compared policy.

    The highest payoff comes first. Policies whose payoffs belong to another game are not compared, unless there is no
    other policy.
    """
    payoffs = _compared(_means(run), run)["publisher_payoff"]
    return {str(name): float(payoff) for name, payoff in payoffs.items()}


def _means(run: StoredRun) -> pd.DataFrame:
    columns = [name for name in ("publisher_payoff", "share_attacked", "risk", "utility") if name in run.runs]
    return run.runs.astype({"policy": str}).groupby("policy", sort=False)[columns].mean()


def _compared(means: pd.DataFrame, run: StoredRun) -> pd.DataFrame:
    """Return the means of the compared policies, highest payoff first."""
    compared = verdict.compared_policies(means, run.policies)
    return compared.sort_values("publisher_payoff", ascending=False, kind="stable")


def _policies(run: StoredRun, releases: Releases | None, even: BreakEven | None, samples: bool) -> dict[str, Any]:
    means = _means(run)
    order = _compared(means, run)
    rows = list(_rows(run, order))
    n_points = run.runs["point"].nunique() if "point" in run.runs else 1
    payoffs = mean_payoffs(run)
    best, safest = rows[0], next(row for row in rows if row["name"] == verdict.least_exposed(order))
    economics = section(run.content, "economics")
    has_prices = {"benefit", "loss", "cost"} <= set(economics)
    names = ("benefit", "loss", "gain", "cost") if has_prices else ()
    context = {
        "message": "",
        "cross_play": None,
        "rows": rows,
        "best": best,
        "safest": safest,
        "releases": releases,
        "payoffs": payoffs,
        "run": run,
        "unit": run.units[0],
        "n_points": n_points,
        "decides": "subjects" if _subjects_decide(run) else "publisher",
        "tied": [row["name"] for row in rows if verdict.same_payoff(row["payoff"], best["payoff"])],
        "ahead": _difference(best["payoff"], safest["payoff"]),
        "of_rounds": list(_of_rounds(run, list(order.index), n_points)),
        "even": even,
        "prices": {name: economics.get(name, economics["loss"]) for name in names},
        "of_paper": OF_PAPER | {"gain": OF_PAPER["loss"]},
        "meanings": {name: run.policies[name].description for name in means.index if name in run.policies},
        "paired": _paired(run.runs, order) if n_points == 1 else None,
        "apart": means.loc[~means.index.isin(order.index), "publisher_payoff"].to_dict(),
        "some_risk_is_0": bool((means["risk"] == 0).any()),
        "points": _points(run) if n_points > 1 else None,
    }
    if releases is None:
        return context
    signed = releases.by_policy[releases.to_sign(payoffs)]
    return context | {
        "read_back": read_back_rows(releases, payoffs),
        "singled_out": signed.audit["singled_out"],
        "columns": columns_of_release(signed, samples=samples),
    }


def _rows(run: StoredRun, order: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield payoff and exposure of each policy; averages are over records, rounds and points.

    Entries: ``name``; ``payoff`` per record; ``given_up``, the difference from the highest payoff as text;
    ``attacked``, the share of the records attacked; ``risk``, the mean probability of re-identification; ``utility``,
    the mean share of the full benefit that the release keeps; ``expected``, the expected number of people
    re-identified, and ``people``, the same (or the risk if the number of people is unknown) as text; ``high``, the 95th
    percentile of this number; ``highest``, the highest probability over records that an attack would identify the
    person, whether or not it is made, 0 for withheld records. Unknown values are None.
    """
    found = run.table_with("reidentified", {"policy", "people", "at_most"}).astype({"policy": str})
    likely = found[found["at_most"] >= _LEVEL].groupby("policy")["people"].min()
    records = run.table_with("records", {"policy", "success_probability"})
    attackable = once_each(records, run.content).astype({"policy": str})
    highest = attackable.fillna({"success_probability": 0.0}).groupby("policy")["success_probability"].max()
    most = float(order["publisher_payoff"].iloc[0])
    for name in order.index.tolist():
        means = order.loc[name]
        payoff, risk = float(means["publisher_payoff"]), float(means["risk"])
        expected = None if run.n_counted is None else risk * run.n_counted
        yield {
            "name": name,
            "payoff": payoff,
            "given_up": "-" if verdict.same_payoff(payoff, most) else _difference(most, payoff),
            "attacked": float(means["share_attacked"]),
            "risk": risk,
            "utility": means.get("utility"),
            "expected": expected,
            "people": f"{risk:.4f}" if expected is None else _people_text(expected),
            "high": int(likely[name]) if name in likely else None,
            "highest": float(highest.get(name, 0.0)) if len(records) else None,
        }


def _people_text(number: float) -> str:
    if math.isnan(number):
        return "-"
    if number >= 10 or number == 0:
        return f"{number:,.0f}"
    return f"{number:,.1f}" if number >= 0.1 else "fewer than 0.1"


def _subjects_decide(run: StoredRun) -> bool:
    return run.kind is not None and run.kind.decides == "subject"


def _of_rounds(run: StoredRun, policies: list[str], n_points: int) -> Iterator[str]:
    if "broken_guarantees" in run.tables:
        payoff = "subject's payoff" if _subjects_decide(run) else "publisher's payoff"
        yield verdict.broken_guarantee_sentences(run.table("broken_guarantees"), payoff=payoff)
    if "rounds" in run.tables and n_points == 1:
        yield from filter(None, [verdict.distinct_people(run.table("rounds"), policies)])


def _paired(runs: pd.DataFrame, order: pd.DataFrame) -> dict[str, Any] | None:
    """Return the lead of the best policy over the second, with standard error.

    Both are computed from differences within replications; the lead is clear if it exceeds two standard errors. None if
    there are fewer than two policies, or fewer than two replications with both.
    """
    if len(order) < 2 or not {"point", "replication"} <= set(runs.columns):
        return None
    first, second = order.index[:2]
    wide = runs.pivot_table(index=["point", "replication"], columns="policy", values="publisher_payoff", observed=True)
    difference = (wide[first] - wide[second]).dropna().to_numpy(dtype=np.float64)
    if len(difference) < 2:
        return None
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
    numbers = {"number": len(difference), "mean": _amount(mean), "error": _amount(error)}
    return {"first": first, "second": second, **numbers, "is_clear": abs(mean) > 2 * error}


def _points(run: StoredRun) -> dict[str, Any]:
    """Return the number of points at which each policy is best, and a table of points.

    Payoffs and risks are means over the replications of a point; of equally good policies, the first counts. The table
    shows the first `_POINTS_SHOWN` points and is None if no key is varied.
    """
    runs = verdict.compared_policies(run.runs.set_index("policy"), run.policies)
    means = runs.groupby(["point", "policy"], sort=False, observed=True)[["publisher_payoff", "risk"]].mean()
    best = means["publisher_payoff"].unstack().idxmax(axis=1).astype(str)
    varied = [column for column in runs.columns if "." in column]
    values = run.runs.groupby("point", sort=False, observed=True)[varied].first()
    if gain_goes_with_loss(run.content, varied):
        varied.insert(varied.index(LOSS) + 1, GAIN)
        values[GAIN] = values[LOSS]
    rows: list[list[Cell]] = []
    for point, policy in zip(best.index[:_POINTS_SHOWN].tolist(), best, strict=False):
        payoff, risk = means.loc[(point, policy)]
        rows.append([*map(number_text, values.loc[point, varied]), Code(policy), f"{payoff:,.2f}", f"{risk:.4f}"])
    more = f"; the first {_POINTS_SHOWN} of {len(best):,}" if len(best) > _POINTS_SHOWN else ""
    header: list[Inline] = [*map(Code, varied), "Pays most", "Payoff per record", "Risk"]
    table = Table(header, rows, f"Best policy by point{more}", frozenset({len(varied)}))
    return {"best": best.value_counts().to_dict(), "table": table if varied else None}


def _difference(larger: float, smaller: float) -> str:
    """Write the difference of two amounts so that it agrees with the rounded amounts."""
    written = round(larger, 2) - round(smaller, 2)
    return _amount(larger - smaller if verdict.same_payoff(round(larger, 2), round(smaller, 2)) else written)


def _amount(value: float) -> str:
    """Write an amount with two decimals, or three significant digits if small."""
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


def _under_uncertainty(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `decision` for a stress test or cross-play."""
    if len(run.table_with("robustness", _ROBUSTNESS)):
        tables = {name: run.table(name) for name in ("robustness", "sensitivity", "guarantee") if name in run.tables}
        return {"message": verdict.stress_verdict(tables, run.units[0]), "message_kind": "answer"}
    played = run.table_with("cross_play", {*_CROSS_PLAY, "publisher_payoff"})
    if len(played):
        return {"message": "", "cross_play": _cross_play(run, played)}
    text = "These results have no table that compares policies under uncertainty; the tables and figures follow."
    return {"message": text, "message_kind": ""}


def _cross_play(run: StoredRun, table: pd.DataFrame) -> dict[str, Any]:
    """Return the best defenders of cross-play, each as a row of a table or None.

    ``own``: highest payoff against the scenario's own adversary. ``safest``: highest least payoff over all adversaries.
    ``least_regret``: lowest largest regret. ``runs`` is the number of successful runs, 0 for a single run.
    """
    n_runs = 0
    if "state" in table:
        ended = table[table["state"] == "complete"]
        n_runs = ended["run"].nunique()
        table = ended.groupby(_CROSS_PLAY, sort=False, observed=True)["publisher_payoff"].mean().reset_index()
    table = table.sort_values("publisher_payoff", ascending=False, kind="stable")
    cases = run.table_with("worst_cases", {"minimax_regret"})
    chosen = {
        "own": table[table["adversary"] == run.manifest.get("own_adversary")],
        "safest": table.groupby(["defender", "plans_against"], sort=False, observed=True).tail(1),
        "least_regret": cases[cases["minimax_regret"].astype(bool)],
    }
    return {"runs": n_runs} | {name: next(iter(rows.to_dict("records")), None) for name, rows in chosen.items()}
