"""Define the kind of scenario in which a publisher releases cases in periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.agents.attack import RUN_MEASURES
from reidsim.core.randomness import random_stream
from reidsim.core.validation import read_toml
from reidsim.core.wording import counted, measures_worded
from reidsim.games.measures import Reidentified, reidentified_in
from reidsim.games.record_game import WITHHELD, Equilibrium
from reidsim.kinds.dynamic.schema import FIXED, PERIOD, PK, POLICIES, DynamicScenario
from reidsim.kinds.dynamic.study import DynamicStudy, build_study, columns_of, share_below
from reidsim.scenarios.kind import Kind, SharedColumns
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import MONEY_KEYS
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, equilibria_of

_OWN = measures_worded(read_toml(Path(__file__).with_name("measures.toml"))["own"])
MEASURES = (*RUN_MEASURES, *_OWN.values())


class DynamicKind(Kind):
    """Game of a publisher who releases a table of cases in each period; see `Kind`."""

    name = "dynamic"
    words = "a publisher releases a table of cases in each period, with one generalization per table"
    schema = DynamicScenario
    policies = POLICIES
    measures = MEASURES
    drawn_by = "reidsim.kinds.dynamic.figures"
    amount_keys = MONEY_KEYS

    def build(self, loaded: Scenario[Any]) -> DynamicStudy:
        """Read or simulate the cases, read the people, and return the `DynamicStudy`.

        Raises
        ------
        InputError
            If a file or value cannot be used.
        """
        return build_study(loaded)

    def describe(self, study: DynamicStudy) -> str:
        """Build the games; return a line with numbers of cases, periods, generalizations.

        Raises
        ------
        InputError
            If the adversary cannot plan with the scenario's amounts.
        """
        # Building the games reports amounts with which the adversary cannot plan, before any game is solved.
        study.world()
        return (
            f"{counted(len(study.cases.codes), 'case')} in {counted(len(study.cases.periods), 'period')}, "
            f"{counted(study.lattice.size, 'strategy', 'strategies')} for the table of each"
        )

    def data_content(self, loaded: Scenario[Any]) -> dict[str, Any]:
        """Return the scenario's sections and seed that determine cases and people.

        The result is a dict by key; keys that the scenario does not set are absent.
        """
        used = ("population", "voters", "release", "epidemic", "attributes", "seed")
        return {key: loaded.content[key] for key in used if key in loaded.content}

    def row_of_record(self, study: DynamicStudy, draw: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the game row of each case in the last table that has it, (n_cases,)."""
        return study.row_of_case

    def summarise(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per policy: means over all records, and measures over periods.

        The index is the policy. The first columns are the ones of every kind (see `Kind.summarise`). The measures over
        periods (named in ``measures.toml``) are, in this order, the mean of PK, the share of periods whose PK is at
        most the scenario's threshold, and the number of periods in which the generalization differs from the previous
        period's (withholding counts as a generalization). See `pk_by_period`.
        """
        rows, threshold = {}, study.scenario.publisher.threshold
        for policy, found in equilibria.items():
            shares, forms = pk_by_period(study, found), found.strategies[study.lattice.starts[:-1]]
            rows[policy] = (shares.mean(), (shares <= threshold).mean(), float((forms[1:] != forms[:-1]).sum()))
        of_periods = pd.DataFrame.from_dict(rows, orient="index", columns=list(_OWN))
        return super().summarise(study, draw, equilibria).join(of_periods)

    def reidentified(
        self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]
    ) -> dict[str, Reidentified]:
        """Return the distribution of the number of re-identified people, by policy.

        If each table has only its own cases, each case counts once. With cumulative tables, each person also counts
        once, in the first table in which the person's risk is largest. See `Reidentified`.
        """
        if study.scenario.release.table == "period":
            return super().reidentified(study, draw, equilibria)
        once, people = np.ones(len(study.row_of_case), dtype=np.int64), {}
        for number, (policy, found) in enumerate(equilibria.items()):
            rng = partial(random_stream, study.scenario.seed, "reidentified", draw, number)
            people[policy] = reidentified_in(found.expand(exposing_rows(study, found)), once, rng)
        return people

    def records(self, study: DynamicStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return one row per case and policy, as released in the last table with the case.

        Columns are those of `record_table`, ``period`` (the case's own), and the released value of each attribute
        (missing if the table is withheld).
        """
        row, periods = study.row_of_case, pd.Index(study.cases.periods, dtype="str")
        table = super().records(study, draw, equilibria)
        released = [study.lattice.released(found.strategies[row], row) for found in equilibria.values()]
        period = pd.Categorical.from_codes(np.tile(study.cases.period, len(equilibria)), categories=periods)
        table.insert(1, PERIOD, pd.Series(period))
        return pd.concat([table, pd.concat(released, ignore_index=True)], axis=1)

    def analyse(self, study: DynamicStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress) -> AnalysisTables:
        """Return the table ``periods``, with one row per policy and period; see `period_table`."""
        return AnalysisTables(further={"periods": period_table(study, equilibria_of(outcomes))})

    def facts(self, study: DynamicStudy) -> dict[str, Any]:
        """Return facts about cases, periods, generalizations and people for the manifest.

        The dict has ``records`` and ``cases`` (both the number of cases), ``periods``, ``strategies`` (number of
        generalizations), ``attribute_weights`` (by attribute), ``population`` and ``voters`` (numbers of people, if the
        scenario has them) and ``data_hash``.
        """
        people, lattice = {"population": study.cases.population, "voters": study.cases.voters}, study.lattice
        return {
            "records": len(study.cases.codes),
            "cases": len(study.cases.codes),
            "periods": len(study.cases.periods),
            "strategies": lattice.size,
            "attribute_weights": dict(zip(lattice.domain.names, lattice.attribute_weights.tolist(), strict=True)),
            **{name: each.total for name, each in people.items() if each is not None},
            "data_hash": study.fingerprint,
        }

    def cross_play_policies(self, study: DynamicStudy) -> tuple[str, ...]:
        """Return names of the policies of cross-play: of the kind, then user-defined.

        Policy ``fixed`` is left out if the scenario sets no levels, and ``pk`` if it has no population.
        """
        said = {FIXED: bool(study.scenario.publisher.fixed), PK: study.cases.population is not None}
        return tuple(name for name in super().cross_play_policies(study) if said.get(name, True))

    def warnings(self, study: DynamicStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield a warning for each policy with a table that is coarser than an earlier one.

        The text has the policy and the number of such tables. A table is coarser if an attribute has a higher level
        than in some earlier table; withheld tables are skipped. An adversary who keeps the earlier tables may know more
        than the model assumes. There are warnings only for cumulative tables, which contain the earlier cases again.
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

    def release_file(self, scenario: DynamicScenario) -> str | None:
        """Return the path of the file of cases; None if the cases are simulated."""
        return scenario.release.path

    def shared_columns(self, scenario: DynamicScenario) -> SharedColumns:
        """Return the quasi-identifiers of the file of cases, as `SharedColumns`."""
        return SharedColumns(columns_of(scenario), delimiter=scenario.release.delimiter, counts_release=False)

    def decision(self, scenario: DynamicScenario) -> str:
        """Return a phrase on the decision: one generalization per period's table."""
        return "one generalization for the table of each period: the best response under the policy"


def period_table(study: DynamicStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the outcome of each period's table: one row per policy and period.

    Returns
    -------
    DataFrame
        Columns ``policy``, ``period`` (its label), ``number`` (of the period, from 1), ``records`` (number in the
        table), ``strategy`` (description, or ``withheld``), ``utility`` (mean over records), ``publisher_payoff`` and
        ``adversary_payoff`` (sums over the table, in currency units), ``attacked`` and ``reidentified`` (expected
        numbers of records of the table), ``pk`` (see `pk_by_period`), and for each attribute ``level ATTRIBUTE``, its
        level of generalization (0 if unchanged; missing where nothing is released).
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
    is released. `found` is the outcome of a policy, by row of the game.
    """
    k, linker, shares = study.scenario.publisher.k, study.table_linker, []
    for table in study.lattice.tables:
        form, rows = int(found.strategies[table.start]), np.arange(table.start, table.stop)
        shares.append(0.0 if form == WITHHELD else share_below(linker.sizes(form, rows), study.lattice.counts[rows], k))
    return np.array(shares)


def exposing_rows(study: DynamicStudy, found: Equilibrium) -> NDArray[np.intp]:
    """Return the game row of each case in the table in which its risk is largest.

    The result has shape (n_cases,). Of tables with equal risk, the first counts. A case is in one table or, with
    cumulative tables, in all tables from its own period on. `found` is the outcome of a policy, by row of the game.
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


DYNAMIC = DynamicKind()
