"""Compute the decision on the first page: payoffs, exposure, and release to sign."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reidsim.drafts.draft import OF_PAPER
from reidsim.engine.switch import BreakEven
from reidsim.reports import verdict
from reidsim.reports.page.release import columns_of_release
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.releases import Releases
from reidsim.reports.writer import Cell, Table, amount_text
from reidsim.scenarios.people import once_each
from reidsim.scenarios.report_sentences import GAIN, LOSS, gain_goes_with_loss, section
from reidsim.wording import Code, Inline, number_text

_POINTS_SHOWN = 30
# Level of the quantile of the number of people re-identified, less a tolerance for rounding.
_LEVEL = 0.95 - 1e-9
_MEASURES = ["publisher_payoff", "share_attacked", "risk"]
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
    runs, kind, message = run.runs, "", "This kind of run has no policies to compare; the tables and figures follow."
    if "runs" not in run.tables:
        return _under_uncertainty(run)
    if runs.empty:
        kind, message = "warning", "No run finished, so there is no answer."
    elif {"policy", *_MEASURES} <= set(runs.columns):
        return _policies(run, releases, even, samples)
    elif {"knowledge", "overall_risk"} <= set(runs.columns):
        kind, message = "answer", verdict.assessment_verdict(runs, cohorts=run.table_with("cohorts"))
    return {"message": message, "message_kind": kind}


def mean_payoffs(run: StoredRun) -> dict[str, float]:
    """Return the publisher's mean payoff per record of each compared policy.

    The highest payoff comes first. Policies whose payoffs belong to another game are not compared, unless there is no
    other policy.
    """
    return {str(name): float(payoff) for name, payoff in _compared(_means(run), run)["publisher_payoff"].items()}


def _means(run: StoredRun) -> pd.DataFrame:
    """Return the mean measures of each policy over rounds and points."""
    runs = run.runs.astype({"policy": str})
    return runs.groupby("policy", sort=False)[[name for name in (*_MEASURES, "utility") if name in runs]].mean()


def _compared(means: pd.DataFrame, run: StoredRun) -> pd.DataFrame:
    """Return the means of the compared policies, highest payoff first."""
    compared = verdict.compared_policies(means, run.policies)
    return compared.sort_values("publisher_payoff", ascending=False, kind="stable")


def _policies(run: StoredRun, releases: Releases | None, even: BreakEven | None, samples: bool) -> dict[str, Any]:
    means = _means(run)
    order = _compared(means, run)
    rows, payoffs = _rows(run, order), mean_payoffs(run)
    n_points = run.runs["point"].nunique() if "point" in run.runs else 1
    decides = "subject" if run.kind is not None and run.kind.decides == "subject" else "publisher"
    of_rounds = []
    if "broken_guarantees" in run.tables:
        broken = run.table("broken_guarantees")
        of_rounds.append(verdict.broken_guarantee_sentences(broken, payoff=f"{decides}'s payoff"))
    if "rounds" in run.tables and n_points == 1:
        of_rounds.append(verdict.distinct_people(run.table("rounds"), list(order.index)))
    economics = section(run.content, "economics")
    names = ("benefit", "loss", "gain", "cost") if {"benefit", "loss", "cost"} <= set(economics) else ()
    context = {
        "message": "",
        "cross_play": None,
        "rows": rows,
        "safest": next(row for row in rows if row["name"] == verdict.least_exposed(order)),
        "releases": releases,
        "payoffs": payoffs,
        "run": run,
        "unit": run.units[0],
        "n_points": n_points,
        "decides": "subjects" if decides == "subject" else decides,
        "tied": [name for name, payoff in payoffs.items() if verdict.same_payoff(payoff, rows[0]["payoff"])],
        "of_rounds": of_rounds,
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
        "singled_out": signed.audit["singled_out"],
        "columns": columns_of_release(signed, samples=samples),
    }


def _rows(run: StoredRun, order: pd.DataFrame) -> list[dict[str, Any]]:
    """Return payoff and exposure of each policy; averages are over records, rounds and points.

    Entries: ``name``; ``payoff`` per record; ``given_up``, the difference from the highest payoff as text;
    ``attacked``, the share of the records attacked; ``risk``, the mean probability of re-identification; ``utility``,
    the mean share of the full benefit that the release keeps; ``people``, the expected number of people re-identified
    (or the risk if the number of people is unknown) as text; ``high``, the 95th percentile of this number; ``highest``,
    the highest probability over records that an attack would identify the person, whether or not it is made, 0 for
    withheld records. Unknown values are None.
    """
    found = run.table_with("reidentified", {"policy", "people", "at_most"}).astype({"policy": str})
    likely = found[found["at_most"] >= _LEVEL].groupby("policy")["people"].min()
    records = run.table_with("records", {"policy", "success_probability"})
    attackable = once_each(records, run.content).astype({"policy": str})
    highest = attackable.fillna({"success_probability": 0.0}).groupby("policy")["success_probability"].max()
    most = float(order["publisher_payoff"].iloc[0])
    return [
        {
            "name": name,
            "payoff": row["publisher_payoff"],
            "given_up": _difference(most, row["publisher_payoff"]),
            "attacked": row["share_attacked"],
            "risk": row["risk"],
            "utility": row.get("utility"),
            "people": f"{row['risk']:.4f}" if run.n_counted is None else _people_text(row["risk"] * run.n_counted),
            "high": int(likely[name]) if name in likely else None,
            "highest": float(highest.get(name, 0.0)) if len(records) else None,
        }
        for name, row in zip(map(str, order.index), order.to_dict("records"), strict=True)
    ]


def _people_text(number: float) -> str:
    if math.isnan(number):
        return "-"
    if number >= 10 or number == 0:
        return f"{number:,.0f}"
    return f"{number:,.1f}" if number >= 0.1 else "fewer than 0.1"


def _paired(runs: pd.DataFrame, order: pd.DataFrame) -> dict[str, Any] | None:
    """Return the lead of the best policy over the second, with standard error.

    Both are computed from differences within replications; the lead is clear if it exceeds two standard errors. None if
    there are fewer than two policies, or fewer than two replications with both.
    """
    if len(order) < 2 or not {"point", "replication"} <= set(runs.columns):
        return None
    first, second = order.index[:2]
    wide = runs.pivot_table(index=["point", "replication"], columns="policy", values="publisher_payoff", observed=True)
    lead = (wide[first] - wide[second]).dropna()
    if len(lead) < 2:
        return None
    numbers = {"number": len(lead), "mean": lead.mean(), "error": lead.sem()}
    return {"first": first, "second": second, **numbers, "is_clear": abs(lead.mean()) > 2 * lead.sem()}


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
    """Write the difference of two amounts so that it agrees with the rounded amounts; a dash if they are equal."""
    if verdict.same_payoff(larger, smaller):
        return "-"
    written = round(larger, 2), round(smaller, 2)
    return amount_text(larger - smaller if verdict.same_payoff(*written) else written[0] - written[1])


def _under_uncertainty(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `decision` for a stress test or cross-play."""
    if len(run.table_with("robustness", _ROBUSTNESS)):
        tables = {name: run.table_with(name) for name in ("robustness", "sensitivity", "guarantee")}
        return {"message": verdict.stress_verdict(tables, run.units[0]), "message_kind": "answer"}
    played = run.table_with("cross_play", {*_CROSS_PLAY, "publisher_payoff"})
    if len(played):
        return {"message": "", "cross_play": _cross_play(run, played)}
    text = "These results have no table that compares policies under uncertainty; the tables and figures follow."
    return {"message": text, "message_kind": ""}


def _cross_play(run: StoredRun, table: pd.DataFrame) -> Mapping[str, Any]:
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
