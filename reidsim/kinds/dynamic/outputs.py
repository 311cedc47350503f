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
from reidsim.scenarios.study import AnalysisTables
from reidsim.validation import read_toml
from reidsim.wording import counted

_OWN = measures_worded(read_toml(Path(__file__).with_name("measures.toml"))["own"])
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
        levels = np.where((forms == WITHHELD)[:, None], np.nan, lattice.all_levels(np.maximum(forms, 0)))
        columns = {
            "policy": policy,
            "period": list(periods),
            "number": np.arange(1, len(periods) + 1),
            "records": sizes,
            "strategy": ["withheld" if form == WITHHELD else lattice.describe(form) for form in forms.tolist()],
            "utility": summed(found.utility) / sizes,
            "publisher_payoff": summed(found.publisher_payoff),
            "adversary_payoff": summed(found.adversary_payoff),
            "attacked": summed(found.attack_probability),
            "reidentified": summed(found.risk),
            "pk": pk_by_period(study, found),
            **{f"level {name}": levels[:, position] for position, name in enumerate(names)},
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def pk_by_period(study: DynamicStudy, found: Equilibrium) -> NDArray[np.float64]:
    """Return PK of each period's released table, shape (n_periods,).

    PK is the share of the table's records in equivalence classes of fewer than ``publisher.k`` records; 0 where nothing
    is released.
    """
    k, linker, shares = study.scenario.publisher.k, study.table_linker, []
    for table in study.lattice.tables:
        form, rows = int(found.strategies[table.start]), np.arange(table.start, table.stop)
        shares.append(0.0 if form == WITHHELD else share_below(linker.sizes(form, rows), study.lattice.counts[rows], k))
    return np.array(shares)


def measures_of_periods(study: DynamicStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the measures over periods, indexed by policy.

    Columns are the mean of PK over periods, the share of periods whose PK is at most the scenario's threshold, and the
    number of periods in which the generalization differs from the previous period's.
    """
    rows, threshold = {}, study.scenario.publisher.threshold
    for policy, found in equilibria.items():
        shares, forms = pk_by_period(study, found), found.strategies[study.lattice.starts[:-1]]
        rows[policy] = (shares.mean(), (shares <= threshold).mean(), float((forms[1:] != forms[:-1]).sum()))
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(_OWN))


def exposing_rows(study: DynamicStudy, found: Equilibrium) -> NDArray[np.intp]:
    """Return each case's row in the table in which its risk is largest, (n_cases,).

    Of tables with equal risk, the first counts. A case is in one table or, with cumulative tables, in all tables from
    its own period on.
    """
    rows, risk = study.row_of_case.copy(), found.risk
    if study.scenario.release.table == "period":
        return rows
    # The last cumulative table contains all distinct cases. Go back from it, to the period of each case.
    cell_of_case = study.cell[rows]
    best = rows[np.unique(cell_of_case, return_index=True)[1]]
    for number, table in reversed([*enumerate(study.lattice.tables)]):
        cells = study.cell[table]
        best[cells] = np.where(risk[table] >= risk[best[cells]], np.arange(table.start, table.stop), best[cells])
        of_period = study.cases.period == number
        rows[of_period] = best[cell_of_case[of_period]]
    return rows


def warnings_of(study: DynamicStudy, outcomes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning for each policy with a table coarser than an earlier one.

    A table is coarser if an attribute has a higher level than in some earlier table; withheld tables are skipped. An
    adversary who keeps the earlier tables may know more than the model assumes. Only cumulative tables, which contain
    the earlier cases again, have warnings.
    """
    for policy, outcome in outcomes.items() if study.scenario.release.table == "cumulative" else ():
        forms = outcome.equilibrium.strategies[study.lattice.starts[:-1]]
        levels = study.lattice.all_levels(forms[forms != WITHHELD])
        coarser = int((levels > np.minimum.accumulate(levels, axis=0)).any(axis=1).sum())
        if coarser:
            yield (
                f"{policy}: {counted(coarser, 'table is', 'tables are')} coarser in some attribute than an earlier "
                "table; an adversary with the earlier table has more information than the risk assumes"
            )
