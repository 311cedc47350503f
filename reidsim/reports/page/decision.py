"""Compute the decision on the first page: payoffs, exposure, and release to sign."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reidsim.drafts.scenario_text import OF_PAPER
from reidsim.engine.switch.amounts import BreakEven
from reidsim.reports.over_rounds import broken_guarantee_sentences, distinct_people
from reidsim.reports.page.break_even import break_even_context
from reidsim.reports.page.columns import columns_of_release
from reidsim.reports.page.release_audit import read_back_table
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.limit import odds
from reidsim.reports.shared.releases import Releases
from reidsim.reports.verdict import assessment_verdict, least_exposed, same_payoff, stress_verdict
from reidsim.reports.writer import Cell, Table, losses_text
from reidsim.scenarios.people import once_each
from reidsim.scenarios.report_sentences import GAIN, LOSS, gain_goes_with_loss
from reidsim.wording import Code, Inline, number_text

_POINTS_SHOWN = 30
# Level of the quantile of the number of people re-identified, less a tolerance for rounding.
_LEVEL = 0.95 - 1e-9
_ROBUSTNESS = {"policy", "mean_payoff", "worst_payoff", "largest_regret", "points"}
_CROSS_PLAY = ["defender", "plans_against", "adversary"]


class Extras(NamedTuple):
    """Results that are computed for a report from the files of a run.

    Attributes
    ----------
    releases : Releases or None
        None if the records of the run are not from a file, or not found.
    break_even : BreakEven or None
        None if it was not computed or cannot be; see `break_even_of`.
    samples : bool
        Whether to show values of sample rows.
    """

    releases: Releases | None = None
    break_even: BreakEven | None = None
    samples: bool = True


@dataclass(frozen=True)
class Row:
    """Payoff and exposure of a policy; averages are over records, rounds and points.

    Parameters
    ----------
    name : str
    payoff : float
        Publisher's payoff per record.
    attacked, risk : float
        Share of the records attacked, and mean probability of re-identification.
    utility : float or None
        Mean share of the full benefit that the release keeps; None if the run does not have it.
    expected : float or None
        Expected number of people re-identified; None if the number of people is unknown.
    high : int or None
        95th percentile of the number of people re-identified; None if the run keeps no distribution.
    highest : float or None
        Highest probability, over records, that an attack would identify the person, whether or not it is made; 0 for
        withheld records. None if the run keeps no records.
    """

    name: str
    payoff: float
    attacked: float
    risk: float
    utility: float | None
    expected: float | None
    high: int | None
    highest: float | None

    @property
    def share_attacked(self) -> str:
        """Share of the records attacked, as text."""
        return f"{self.attacked:.2%}" if self.attacked >= 0.0001 else "less than 0.01%"

    @property
    def people(self) -> str:
        """Expected number of people re-identified as text, or the risk if unknown."""
        number = self.expected
        if number is None:
            return f"{self.risk:.4f}"
        if math.isnan(number):
            return "-"
        if number >= 10 or number == 0:
            return f"{number:,.0f}"
        return f"{number:,.1f}" if number >= 0.1 else "fewer than 0.1"


def decision(run: StoredRun, extras: Extras) -> dict[str, Any]:
    """Return the values of the template `decision`.

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
        return _policies(run, extras)
    if {"knowledge", "overall_risk"} <= set(runs.columns):
        cohorts = run.table("cohorts") if "cohorts" in run.tables else None
        return {"message": assessment_verdict(runs, cohorts=cohorts), "message_kind": "answer"}
    return {
        "message": "This kind of run has no policies to compare; the tables and figures follow.",
        "message_kind": "",
    }


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
    compared = means[[run.compares(name) for name in means.index]]
    shown = compared if len(compared) else means
    return shown.sort_values("publisher_payoff", ascending=False, kind="stable")


def _policies(run: StoredRun, extras: Extras) -> dict[str, Any]:
    means = _means(run)
    order = _compared(means, run)
    rows = [_row(run, name, order.loc[name]) for name in order.index]
    n_points = run.runs["point"].nunique() if "point" in run.runs else 1
    releases, even, payoffs = extras.releases, extras.break_even, mean_payoffs(run)
    best = rows[0]
    safest = next(row for row in rows if row.name == least_exposed(order))
    economics = run.content.get("economics")
    prices, of_paper = _prices(economics) if isinstance(economics, Mapping) else ("", False)
    signed = None if releases is None else releases.by_policy[releases.to_sign(payoffs)]
    return {
        "message": "",
        "cross_play": None,
        "rows": rows,
        "best": best,
        "safest": safest,
        "releases": releases,
        "payoffs": payoffs,
        "unit": run.units[0],
        "units": run.units,
        "n_rounds": run.rounds,
        "n_points": n_points,
        "n_counted": run.n_counted,
        "from_file": "release_file" in run.manifest,
        "decides": "subjects" if run.decides == "subject" else "publisher",
        "tied": [row.name for row in rows if same_payoff(row.payoff, best.payoff)],
        "ahead": _difference(best.payoff, safest.payoff),
        "of_rounds": list(_of_rounds(run, list(order.index), n_points)),
        "comparison": _comparison(run, rows, even, n_points),
        "read_back": None if releases is None else read_back_table(releases, releases.ranked(payoffs)),
        **break_even_context(even, run.units[0]),
        "prices": prices,
        "of_paper": of_paper,
        "declared": []
        if signed is None
        else signed.counted.people.facts(signed.shared.declared)["declared_unknown_to_outsiders"],
        "people": 0 if signed is None else signed.counted.people.people,
        "columns": None if signed is None else columns_of_release(signed, samples=extras.samples),
        "meanings": {name: run.policies[name].description for name in means.index if name in run.policies},
        "paired": _paired(run.runs, order) if n_points == 1 else None,
        "apart": means.loc[~means.index.isin(order.index), "publisher_payoff"].to_dict(),
        "some_risk_is_0": bool((means["risk"] == 0).any()),
        "points": _points(run) if n_points > 1 else None,
    }


def _row(run: StoredRun, name: str, means: pd.Series[float]) -> Row:
    high = highest = None
    if "reidentified" in run.tables and {"policy", "people", "at_most"} <= set(run.table("reidentified").columns):
        table = run.table("reidentified")
        likely = table.loc[(table["policy"].astype(str) == name) & (table["at_most"] >= _LEVEL), "people"]
        high = int(likely.min()) if len(likely) else None
    if "records" in run.tables and {"policy", "success_probability"} <= set(run.records.columns):
        records = once_each(run.records[(run.records["policy"] == name).to_numpy()], run.content)
        highest = float(records["success_probability"].fillna(0.0).max()) if len(records) else 0.0
    risk = float(means["risk"])
    return Row(
        name,
        float(means["publisher_payoff"]),
        float(means["share_attacked"]),
        risk,
        float(means["utility"]) if "utility" in means else None,
        None if run.n_counted is None else risk * run.n_counted,
        high,
        highest,
    )


def _of_rounds(run: StoredRun, policies: list[str], n_points: int) -> Iterator[str]:
    if "broken_guarantees" in run.tables:
        payoff = f"{'subject' if run.decides == 'subject' else 'publisher'}'s payoff"
        yield broken_guarantee_sentences(run.table("broken_guarantees"), payoff=payoff)
    if "rounds" in run.tables and n_points == 1 and (distinct := distinct_people(run.table("rounds"), policies)):
        yield distinct


def _comparison(run: StoredRun, rows: list[Row], even: BreakEven | None, n_points: int) -> Table:
    """Return the decision table: exposure, utility, payoff and best losses by policy."""
    most = rows[0].payoff
    cells: list[list[Cell]] = []
    for row in rows:
        losses = [] if even is None else [", ".join(map(losses_text, even.of(row.name))) or "none"]
        cells.append(
            [
                Code(row.name),
                row.people,
                "-" if row.high is None else f"{row.high:,}",
                "-" if row.highest is None else odds(row.highest),
                "-" if row.utility is None else f"{row.utility:.1%}",
                f"{row.payoff:,.2f}",
                "-" if same_payoff(row.payoff, most) else _difference(most, row.payoff),
                *losses,
            ]
        )
    one = run.units[0]
    expected = "Re-identification risk" if run.n_counted is None else f"Re-identified of {run.n_counted:,}, expected"
    header: list[Inline] = [
        "Policy",
        expected,
        "95th percentile",
        f"Highest risk of a {one}, if attacked",
        "Utility kept",
        f"Payoff per {one}",
        "Payoff given up",
    ]
    header += [] if even is None else ["Best choice when a re-identification costs"]
    caption = "The decision: exposure, utility and payoff of each policy, and the losses that would change the choice"
    if any(row.high is not None for row in rows):
        caption += "; 95th percentile of the number re-identified, if attacks succeed independently"
    over = [f"{n:,} {what}" for n, what in ((run.rounds, "rounds"), (n_points, "points")) if n > 1]
    return Table(header, cells, caption + (f"; means over {' and '.join(over)}" if over else ""))


def _prices(economics: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the payoff parameters as text, and whether all are defaults.

    The defaults are those of Wan et al. 2015. The text is empty if a parameter other than the gain is missing.
    """
    if not {"benefit", "loss", "cost"} <= set(economics):
        return "", False
    prices = {name: economics.get(name, economics["loss"]) for name in ("benefit", "loss", "gain", "cost")}
    of_paper = OF_PAPER | {"gain": OF_PAPER["loss"]}
    if prices == of_paper:
        return ", ".join(f"{name} {number_text(value)}" for name, value in prices.items()), True
    return ", ".join(
        f"{name} {number_text(value)}{' (default, from Wan et al. 2015)' if value == of_paper[name] else ''}"
        for name, value in prices.items()
    ), False


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
    return {
        "first": first,
        "second": second,
        "number": len(difference),
        "mean": _amount(mean),
        "error": _amount(error),
        "is_clear": abs(mean) > 2 * error,
    }


def _points(run: StoredRun) -> dict[str, Any]:
    """Return the number of points at which each policy is best, and a table of points.

    Payoffs and risks are means over the replications of a point; of equally good policies, the first counts. The table
    shows the first `_POINTS_SHOWN` points and is None if no key is varied.
    """
    runs = run.runs[[run.compares(str(name)) for name in run.runs["policy"]]]
    means = runs.groupby(["point", "policy"], sort=False, observed=True)[["publisher_payoff", "risk"]].mean()
    payoffs, risks = means["publisher_payoff"].unstack(), means["risk"].unstack()
    best = payoffs.idxmax(axis=1).astype(str)
    varied = [column for column in runs.columns if "." in column]
    values = run.runs.groupby("point", sort=False, observed=True)[varied].first()
    if gain_goes_with_loss(run.content, varied):
        varied.insert(varied.index(LOSS) + 1, GAIN)
        values[GAIN] = values[LOSS]
    rows: list[list[Cell]] = [
        [
            *(number_text(values.loc[point, column]) for column in varied),
            Code(best[point]),
            f"{payoffs.loc[point, best[point]]:,.2f}",
            f"{risks.loc[point, best[point]]:.4f}",
        ]
        for point in best.index[:_POINTS_SHOWN]
    ]
    more = f"; the first {_POINTS_SHOWN} of {len(best):,}" if len(best) > _POINTS_SHOWN else ""
    header: list[Inline] = [*map(Code, varied), "Pays most", "Payoff per record", "Risk"]
    table = Table(header, rows, f"Best policy by point{more}", frozenset({len(varied)}))
    return {"best": best.value_counts().to_dict(), "table": table if varied else None}


def _difference(larger: float, smaller: float) -> str:
    """Write the difference of two amounts so that it agrees with the rounded amounts."""
    written = round(larger, 2) - round(smaller, 2)
    return _amount(larger - smaller if same_payoff(round(larger, 2), round(smaller, 2)) else written)


def _amount(value: float) -> str:
    """Write an amount with two decimals, or three significant digits if small."""
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


def _under_uncertainty(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `decision` for a stress test or cross-play."""
    tables = {name: run.table(name) for name in ("robustness", "sensitivity", "guarantee") if name in run.tables}
    if "robustness" in tables and set(tables["robustness"].columns) >= _ROBUSTNESS and len(tables["robustness"]):
        return {"message": stress_verdict(tables, run.units[0]), "message_kind": "answer"}
    played = run.table("cross_play") if "cross_play" in run.tables else pd.DataFrame()
    if len(played) and {*_CROSS_PLAY, "publisher_payoff"} <= set(played.columns):
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
    least = table.groupby(["defender", "plans_against"], sort=False, observed=True).tail(1)
    cases = run.table("worst_cases") if "worst_cases" in run.tables else pd.DataFrame({"minimax_regret": []})
    return {
        "runs": n_runs,
        "own": _first(table[table["adversary"] == run.manifest.get("own_adversary")]),
        "safest": _first(least),
        "least_regret": _first(cases[cases["minimax_regret"].astype(bool)]),
    }


def _first(table: pd.DataFrame) -> dict[Any, Any] | None:
    return table.iloc[0].to_dict() if len(table) else None
