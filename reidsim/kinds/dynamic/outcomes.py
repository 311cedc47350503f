"""Compute the outcomes of policies by period: tables, measures and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.measures import RUN_MEASURES
from reidsim.core.measures import measures_worded
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.record_game import WITHHELD
from reidsim.kinds.dynamic.lattice import share_below
from reidsim.kinds.dynamic.study import DynamicStudy
from reidsim.populations.domain import row_keys
from reidsim.scenarios.study import AnalysisTables
from reidsim.validation import read_toml
from reidsim.wording import counted

_OWN = measures_worded(read_toml(Path(__file__).with_name("measures.toml"))["own"])
PK, PERIODS_WITHIN, CHANGES = _OWN["pk"], _OWN["periods_within"], _OWN["release_changes"]
MEASURES = (*RUN_MEASURES, *_OWN.values())


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicTables(AnalysisTables):
    """Tables behind the figures of cases over time.

    Parameters
    ----------
    periods : DataFrame
        One row per policy and period; see `period_table`.
    """

    periods: pd.DataFrame = field(default_factory=pd.DataFrame)


def period_table(study: DynamicStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the outcome of each period's table: one row per policy and period.

    Returns
    -------
    DataFrame
        Columns ``policy``, ``period`` (its label), ``number`` (of the period, from 1), ``records`` (number in the
        table), ``strategy`` (description, or ``withheld``), ``utility`` (mean over records), ``publisher_payoff`` and
        ``adversary_payoff`` (sums over the table, in currency units), ``attacked`` and ``reidentified`` (expected
        numbers of records), ``pk`` (see `pk_by_period`), and ``level ATTRIBUTE`` (0 if unchanged), missing where
        nothing is released.
    """
    lattice, periods, parts = study.lattice, study.cases.periods, []
    starts, sizes, names = lattice.starts[:-1], lattice.sizes, lattice.domain.names

    def summed(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values * lattice.counts, starts)

    for policy, found in equilibria.items():
        forms = found.strategies[starts]
        levels = lattice.all_levels(np.maximum(forms, 0)).astype(np.float64)
        levels[forms == WITHHELD] = np.nan
        parts.append(
            pd.DataFrame(
                {
                    "policy": policy,
                    "period": list(periods),
                    "number": np.arange(1, len(periods) + 1),
                    "records": sizes,
                    "strategy": [_name(study, form) for form in forms.tolist()],
                    "utility": summed(found.utility) / sizes,
                    "publisher_payoff": summed(found.publisher_payoff),
                    "adversary_payoff": summed(found.adversary_payoff),
                    "attacked": summed(found.attack_probability),
                    "reidentified": summed(found.risk),
                    "pk": pk_by_period(study, found),
                    **{f"level {name}": levels[:, position] for position, name in enumerate(names)},
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def pk_by_period(study: DynamicStudy, found: Equilibrium) -> NDArray[np.float64]:
    """Return PK of each period's released table, shape (n_periods,).

    PK is the share of the table's records in equivalence classes of fewer than ``publisher.k`` records; 0 where nothing
    is released.
    """
    lattice, k, shares = study.lattice, study.scenario.publisher.k, np.zeros(len(study.cases.periods))
    for period, start in enumerate(lattice.starts[:-1]):
        if (form := int(found.strategies[start])) != WITHHELD:
            rows = np.arange(start, lattice.starts[period + 1])
            shares[period] = share_below(study.table_linker.sizes(form, rows), lattice.counts[rows], k)
    return shares


def measures_of_periods(study: DynamicStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the measures over periods, indexed by policy.

    Columns are the mean of PK over periods, the share of periods whose PK is at most the scenario's threshold, and the
    number of periods in which the generalization differs from the previous period's.
    """
    rows = {}
    for policy, found in equilibria.items():
        shares, forms = pk_by_period(study, found), found.strategies[study.lattice.starts[:-1]]
        rows[policy] = {
            PK.column: shares.mean(),
            PERIODS_WITHIN.column: (shares <= study.scenario.publisher.threshold).mean(),
            CHANGES.column: float((forms[1:] != forms[:-1]).sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def exposing_rows(study: DynamicStudy, found: Equilibrium) -> NDArray[np.intp]:
    """Return each case's row in the table in which its risk is largest, (n_cases,).

    Of tables with equal risk, the first counts. A case is in one table or, with cumulative tables, in all tables from
    its own period on.
    """
    lattice, cases = study.lattice, study.cases
    if study.scenario.release.table == "period":
        return study.row_of_case
    last = study.row_of_case
    n_rows, risk = lattice.n_records, found.risk
    final = lattice.starts[-2]
    # The last cumulative table contains all distinct cases; look up the rows of earlier tables in it.
    keys = row_keys(list(lattice.codes.T), n_rows)
    place = np.searchsorted(keys[final:], keys)
    best = np.full(len(last), -1, dtype=np.intp)
    for number in range(len(cases.periods)):
        rows = np.arange(lattice.starts[number], lattice.starts[number + 1])
        row_of_cell = np.full(n_rows - final, -1, dtype=np.intp)
        row_of_cell[place[rows]] = rows
        here = np.flatnonzero(cases.period <= number)
        row = row_of_cell[last[here] - final]
        better = (best[here] < 0) | (risk[row] > risk[best[here]])
        best[here[better]] = row[better]
    return best


def warnings_of(study: DynamicStudy, outcomes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each policy with a table coarser than an earlier one.

    A table is coarser if an attribute has a higher level than in some earlier table; withheld tables are skipped. An
    adversary who keeps the earlier tables may know more than the model assumes. Only cumulative tables, which contain
    the earlier cases again, have warnings.
    """
    if study.scenario.release.table != "cumulative":
        return
    for policy, outcome in outcomes.items():
        forms = outcome.equilibrium.strategies[study.lattice.starts[:-1]]
        levels = study.lattice.all_levels(forms[forms != WITHHELD])
        finest = np.minimum.accumulate(levels, axis=0)
        coarser = int((levels > finest).any(axis=1).sum())
        if coarser:
            yield (
                f"{policy}: {counted(coarser, 'table is', 'tables are')} coarser in some attribute than an earlier "
                "table; an adversary with the earlier table has more information than the risk assumes"
            )


def _name(study: DynamicStudy, form: int) -> str:
    return "withheld" if form == WITHHELD else study.lattice.describe(form)
