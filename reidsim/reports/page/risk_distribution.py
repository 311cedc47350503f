"""How risk is spread over records: not the mean alone, but how many records stand where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.games.measures import RECORD_RISK, SUCCESS_PROBABILITY
from reidsim.kinds.assessment.measures import RISKS_OF_PERSONS
from reidsim.reports.page.blocks import Bar, Block, Cell, Table, paragraph
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.people import once_each
from reidsim.wording import Code

# Upper ends of the classes of probability above 0; 1/11 and 1/20 are thresholds in use (k = 11, k = 20).
UPPER_ENDS = (0.001, 0.01, 1 / 20, 1 / 11, 0.2, 0.5, 1.0)
_CLASSES = (
    "0",
    "up to 1 in 1,000",
    "up to 1 in 100",
    "up to 1 in 20",
    "up to 1 in 11",
    "up to 1 in 5",
    "up to 1 in 2",
    "above 1 in 2",
)
_QUANTILES = {"median": 0.5, "95% are at or below": 0.95, "highest": 1.0}
_COLUMNS = 5
# Those of persons that are shown.
_RISKS = ("marketer", "overall")


def class_shares(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of values in each class: exactly 0, then up to each of `UPPER_ENDS`.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n,)
        In [0, 1]; none may be missing.

    Returns
    -------
    ndarray of float64, shape (8,)
        Sums to 1 if n > 0.
    """
    # Rounding must not put 1/20, computed as a share, above 1 in 20.
    ends = np.array([0.0, *UPPER_ENDS]) * (1 + 1e-9)
    places = np.minimum(np.searchsorted(ends, probabilities, side="left"), len(ends) - 1)
    return np.bincount(places, minlength=len(ends)) / max(len(probabilities), 1)


def risk_blocks(run: StoredRun) -> Iterator[Block]:
    """Yield tables of how the risks of single records are distributed, by policy or knowledge.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    if "records" not in run.tables:
        return
    records, units = once_each(run.table("records"), run.content), run.units
    if {"policy", "attacked", "success_probability"} <= set(records.columns):
        if run.rounds > 1:
            yield paragraph(
                f"Records are from the last of {run.rounds:,} rounds and count as attacked if any possible adversary "
                "attacks them; the measures above are means over all rounds."
            )
        yield from _by_policy(records, units)
    elif {"knowledge", "overall"} <= set(records.columns):
        yield from _by_knowledge(records)


def _by_policy(records: pd.DataFrame, units: tuple[str, str]) -> Iterator[Block]:
    of_single = f"of single {units[1]}"
    attempts = records.assign(risk=records["success_probability"].where(records["attacked"].astype(bool), 0.0))
    yield paragraph(
        f"{RECORD_RISK.label}: {RECORD_RISK.definition}. Each row gives the share of {units[1]} in a class of "
        "risk, which begins where the row above ends."
    )
    yield from _tables(attempts, "policy", "risk", f"Risk {of_single}, by policy")
    if not attempts["success_probability"].equals(attempts["risk"]):
        yield paragraph(
            f"{SUCCESS_PROBABILITY.label}: {SUCCESS_PROBABILITY.definition}. It matters if the adversary "
            "attacks for reasons that the payoff parameters do not cover."
        )
        yield from _tables(attempts, "policy", "success_probability", f"Success probability {of_single}")


def _by_knowledge(records: pd.DataFrame) -> Iterator[Block]:
    sizes = records["records"].unique() if "records" in records else [None]
    for size in sizes:
        chosen = records if size is None else records[records["records"] == size]
        if size is not None and size not in (min(sizes), max(sizes)):
            continue
        of = "" if size is None else f", release of {size:,} records"
        for column in _RISKS:
            name = f"{RISKS_OF_PERSONS[column].label} of a person"
            yield from _tables(chosen, "knowledge", column, f"{name}, by what the adversary knows{of}")


def _tables(records: pd.DataFrame, group: str, column: str, caption: str) -> Iterator[Table]:
    """Lay out the distribution of a column by group, in tables of a few groups each."""
    named = {str(name): values for name, values in records.groupby(group, sort=False, observed=True)[column]}
    names = list(named)
    for start in range(0, len(names), _COLUMNS):
        shown = names[start : start + _COLUMNS]
        yield _table([named[name].dropna().to_numpy(dtype=np.float64) for name in shown], shown, caption)


def _table(values: Sequence[NDArray[np.float64]], names: Sequence[str], caption: str) -> Table:
    shares = [class_shares(column) for column in values]
    rows: list[list[Cell]] = [
        [label, *(Bar(float(share[place]), _share_text(float(share[place]))) for share in shares)]
        for place, label in enumerate(_CLASSES)
    ]
    for label, level in _QUANTILES.items():
        rows.append([label, *(f"{np.quantile(column, level):.4f}" if len(column) else "-" for column in values)])
    return Table([caption, *(Code(name) for name in names)], rows)


def _share_text(share: float) -> str:
    """Write a share in percent; a small one is told apart from none."""
    return "below 0.01%" if 0 < share < 0.00005 else f"{share:.2%}"
