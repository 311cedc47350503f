"""Estimate an adversary's decision precision from a table of observed decisions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.adversaries.rationality import PrecisionFit, ProspectTheory, fitted_precision
from reidsim.adversaries.response import Attempt
from reidsim.errors import locating, refuse_rows
from reidsim.tables import numbers, read_table, require_columns, text_table

_COLUMNS = ("attacked", "success", "gain", "cost")
_DECISIONS = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}


def fit_precision(attacks: pd.DataFrame | str | Path, *, prospect: ProspectTheory | None = None) -> PrecisionFit:
    """Fit the precision of logit decisions to observed attacks by maximum likelihood.

    Parameters
    ----------
    attacks : DataFrame, str or Path
        One row per decision, or a CSV or Parquet file. Column ``attacked`` is 1 or 0 (or true or false, yes or no);
        ``success`` is the adversary's estimate of the probability of a successful re-identification; ``gain`` and
        ``cost`` are the value of a success and the cost of an attack to the adversary, in currency units.
    prospect : ProspectTheory, optional
        Prospect theory whose values replace expected payoffs.

    Returns
    -------
    PrecisionFit
        Its `precision` applies to ``rationality = "logit"``, or with `prospect` to ``"prospect-logit"``.

    Raises
    ------
    InputError
        If the table cannot be used, or every decision follows the payoff; the message names the file and the row.

    See Also
    --------
    run : run a scenario with the fitted precision.

    Examples
    --------
    >>> import pandas, reidsim
    >>> seen = pandas.DataFrame({"attacked": [1, 1, 0, 0, 1], "success": [1.0, 0.5, 0.1, 0.2, 0.1]})
    >>> fit = reidsim.fit_precision(seen.assign(gain=100.0, cost=20.0))
    >>> round(fit.precision, 4), fit.decisions, fit.against
    (0.0713, 5, 1)
    """
    if isinstance(attacks, pd.DataFrame):
        source = Path("attacks")
        require_columns(attacks, _COLUMNS, source)
        table = text_table(attacks[list(_COLUMNS)], "attacks")
    else:
        source = Path(attacks)
        table = read_table(source)
        require_columns(table, _COLUMNS, source)
    attacked = table["attacked"].str.lower().map(_DECISIONS)
    amounts = [np.asarray(numbers(table, name, source), dtype=np.float64) for name in _COLUMNS[1:]]
    success, gain, cost = amounts
    for column, wrong, expected in (
        ("attacked", attacked.isna().to_numpy(), "1 or 0, true or false, yes or no"),
        ("success", success > 1, "a probability, 0 to 1"),
    ):
        refuse_rows(wrong, "value not allowed", source=source, column=column, found=table[column], expected=expected)
    attempt = Attempt(success, success, gain, cost)
    worth = attempt.worth if prospect is None else prospect.worth(success, gain, cost)
    with locating(source):
        return fitted_precision(worth, attacked.to_numpy(dtype=np.bool_))
