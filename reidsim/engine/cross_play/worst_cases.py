"""Which defender to choose if it is open which adversary comes, and which of the swept values hold.

Values that are swept are cases to be ready for, like adversaries: of these the worst one counts. What is drawn,
uncertain parameters and replications, is averaged, with confidence intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design
from reidsim.engine.batch.statistics import LEVEL, Floats, mean_interval
from reidsim.engine.batch.statistics_tables import Measured, measured
from reidsim.games.cross_play import REGRET
from reidsim.games.measures import PUBLISHER_PAYOFF

# Payoffs and regrets that differ by less, as a share of the largest, are equal.
_EQUAL = 1e-9
Told = NDArray[np.bool_]
ROWS = ["defender", "plans_against"]


def worst_cases_table(runs: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Return what each defender gets at worst and regrets at most, over adversaries and swept values.

    Parameters
    ----------
    runs : DataFrame
        One row per run, defender, adversary planned against and adversary met.
    design : Design

    Returns
    -------
    DataFrame
        One row per defender and adversary planned against: ``defender``, ``plans_against``; ``least_payoff`` (mean over
        what is drawn), its interval ``least_payoff_low`` and ``least_payoff_high``, and the case that it is of,
        ``least_payoff_at``; the same of ``largest_regret``; ``worst_regret``, the largest of any single run;
        ``maximin`` and ``minimax_regret``, whether no other defender's least payoff is higher, or largest regret lower.
        The intervals hold all cases at once: each case has one of level 1 - 0.05/number of cases (Bonferroni), and the
        least payoff is between the least lower and the least upper bound. Missing where a defender cannot play
        somewhere.
    """
    found = measured(runs, design)
    if not found.values:
        return pd.DataFrame()
    rows, cells = found.groups[ROWS].drop_duplicates(), _cells(found)
    least = _extreme(_by_cell(found, PUBLISHER_PAYOFF.column), cells, "least_payoff", sign=-1.0)
    by_cell = _by_cell(found, REGRET.column)
    most = _extreme(by_cell, cells, "largest_regret", sign=1.0)
    worst = np.where(most["largest_regret"].isna(), np.nan, np.nanmax(by_cell, axis=(1, 2, 3)))
    table = pd.concat([rows.reset_index(drop=True), least, most], axis=1)
    return table.assign(
        worst_regret=worst,
        maximin=_best(-table["least_payoff"].to_numpy()),
        minimax_regret=_best(table["largest_regret"].to_numpy()),
    )


def _cells(found: Measured) -> list[str]:
    """Return what a case is called: an adversary, and the swept values."""
    adversaries = found.groups["adversary"].drop_duplicates()
    points = [
        ", ".join(f"{key} = {_shown(value)}" for key, value in row.items()) for row in found.swept.to_dict("records")
    ]
    return [f"{name}, {point}" if point else str(name) for point in points for name in adversaries]


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _by_cell(found: Measured, measure: str) -> Floats:
    """Return a measure by row and case, shape (n_rows, n_cases, n_samples, n_replications)."""
    rows, row = np.unique(found.groups.groupby(ROWS, sort=False).ngroup(), return_inverse=True)
    adversaries = found.groups["adversary"].drop_duplicates().tolist()
    column = np.array([adversaries.index(name) for name in found.groups["adversary"]])
    values = found.values[measure]
    n_swept, _, *drawn = values.shape
    table = np.full((len(rows), n_swept, len(adversaries), *drawn), np.nan)
    table[row, :, column] = np.moveaxis(values, 1, 0)
    return table.reshape(len(rows), n_swept * len(adversaries), *drawn)


def _extreme(by_cell: Floats, cells: list[str], name: str, *, sign: float) -> pd.DataFrame:
    """Return the largest mean over cases (the least, if the sign is negative) with its interval, and its case."""
    played: Told = np.asarray(np.isfinite(by_cell).any(axis=(0, 2, 3)))
    values, names = sign * by_cell[:, played], [cell for cell, known in zip(cells, played, strict=True) if known]
    # A mean over the runs in which a defender happened to play does not compare with that of another.
    missing = (np.isfinite(values) != np.isfinite(values).any(axis=0)).any(axis=(1, 2, 3))
    interval = mean_interval(values, 1 - (1 - LEVEL) / len(names))
    at = np.argmax(np.where(np.isnan(interval.mean), -np.inf, interval.mean), axis=1)
    mean, low, high = (sign * part.max(axis=1) for part in (interval.mean, interval.low, interval.high))
    low, high = np.minimum(low, high), np.maximum(low, high)
    numbers = pd.DataFrame({name: mean, f"{name}_low": low, f"{name}_high": high}).mask(pd.Series(missing), axis=0)
    where = [None if gone else names[cell] for cell, gone in zip(at.tolist(), missing.tolist(), strict=True)]
    return numbers.assign(**{f"{name}_at": pd.Series(where, dtype="str")})


def _best(costs: Floats) -> Told:
    """Tell which of some costs are the lowest; missing ones are not."""
    known = costs[np.isfinite(costs)]
    if not len(known):
        return np.zeros(len(costs), dtype=bool)
    return np.asarray(np.nan_to_num(costs, nan=np.inf) <= known.min() + _EQUAL * max(1.0, np.abs(known).max()))
