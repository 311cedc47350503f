"""Tabulate the distribution of risk over records, by class of probability."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.games.measures import RECORD_RISK, SUCCESS_PROBABILITY
from reidsim.kinds.assessment.outputs import RISKS_OF_PERSONS
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import Bar, Cell, Table
from reidsim.scenarios.people import once_each
from reidsim.wording import Code

# Upper ends of the probability classes, with their names; k = 11 and k = 20 are thresholds in use.
_CLASSES = {
    "0": 0.0,
    "up to 1 in 1,000": 0.001,
    "up to 1 in 100": 0.01,
    "up to 1 in 20": 1 / 20,
    "up to 1 in 11": 1 / 11,
    "up to 1 in 5": 0.2,
    "up to 1 in 2": 0.5,
    "above 1 in 2": 1.0,
}
UPPER_ENDS = tuple(_CLASSES.values())[1:]
_QUANTILES = {"median": 0.5, "95% are at or below": 0.95, "highest": 1.0}
_GROUPS_A_TABLE = 5
_RISKS = ("marketer", "overall")


def class_shares(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of probabilities in each class, shape (8,).

    The first class is exactly 0; each other class ends at one of `UPPER_ENDS`, inclusive, and begins where the previous
    one ends. All shares are 0 without probabilities.
    """
    # The tolerance keeps a computed 1/20 in the class up to 1 in 20.
    ends = np.array([0.0, *UPPER_ENDS]) * (1 + 1e-9)
    places = np.minimum(np.searchsorted(ends, probabilities, side="left"), len(ends) - 1)
    return np.bincount(places, minlength=len(ends)) / max(len(probabilities), 1)


def risk_distribution(run: StoredRun) -> Iterator[str | Table]:
    """Yield notes and tables of the risks of single records, by policy or knowledge.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    if "records" not in run.tables:
        return
    records, several = once_each(run.table("records"), run.content), run.units[1]
    if {"policy", "attacked", "success_probability"} <= set(records.columns):
        if run.rounds > 1:
            yield (
                f"Records are from the last of {run.rounds:,} rounds and count as attacked if any possible adversary "
                "attacks them; the measures above are means over all rounds."
            )
        success = records["success_probability"]
        records = records.assign(risk=success.where(records["attacked"].astype(bool), 0.0))
        yield (
            f"{RECORD_RISK.label}: {RECORD_RISK.definition}. Each row gives the share of {several} in a class of "
            "risk, which begins where the row above ends."
        )
        yield from _tables(records, "policy", "risk", f"Risk of single {several}, by policy")
        if not success.equals(records["risk"]):
            yield (
                f"{SUCCESS_PROBABILITY.label}: {SUCCESS_PROBABILITY.definition}. The measure matters if the adversary "
                "attacks for reasons that the payoff parameters do not cover."
            )
            yield from _tables(records, "policy", "success_probability", f"Success probability of single {several}")
    elif {"knowledge", "overall"} <= set(records.columns):
        sizes = records["records"].unique() if "records" in records else [None]
        for size in dict.fromkeys((min(sizes), max(sizes))) if len(sizes) > 1 else sizes:
            chosen = records if size is None else records[records["records"] == size]
            of = "" if size is None else f", release of {size:,} records"
            for column in _RISKS:
                name = f"{RISKS_OF_PERSONS[column].label} of a person"
                yield from _tables(chosen, "knowledge", column, f"{name}, by background knowledge of the adversary{of}")


def _tables(records: pd.DataFrame, group: str, column: str, caption: str) -> Iterator[Table]:
    """Yield the distribution of a column by group, with a few groups per table."""
    values = {
        str(name): rows.dropna().to_numpy(dtype=np.float64)
        for name, rows in records.groupby(group, sort=False, observed=True)[column]
    }
    names = list(values)
    for start in range(0, len(names), _GROUPS_A_TABLE):
        shown = names[start : start + _GROUPS_A_TABLE]
        shares = np.array([class_shares(values[name]) for name in shown]).T
        rows: list[list[Cell]] = [
            [label, *(Bar(share, _share_text(share)) for share in row.tolist())]
            for label, row in zip(_CLASSES, shares, strict=True)
        ]
        for label, level in _QUANTILES.items():
            quantiles = [f"{np.quantile(values[name], level):.4f}" if len(values[name]) else "-" for name in shown]
            rows.append([label, *quantiles])
        yield Table([caption, *map(Code, shown)], rows)


def _share_text(share: float) -> str:
    """Write a share in percent, so that a small positive share differs from zero."""
    return "below 0.01%" if 0 < share < 0.00005 else f"{share:.2%}"
