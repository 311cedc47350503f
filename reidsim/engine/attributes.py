"""Effect of each quasi-identifier on the outcomes of a scenario, with Shapley shares."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.randomness import random_stream
from reidsim.core.wording import columns_of
from reidsim.engine.results import (
    Result,
    begun,
    common_fields,
)
from reidsim.games.measures import PUBLISHER_PAYOFF, RISK, UTILITY, averages
from reidsim.games.shapley import exact_shares, sampled_shares
from reidsim.releases.lattice import Floats
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.study import (
    Progress,
)

# Largest number of columns for exact shares; with n columns, 2^n sets of columns are played.
MOST_EXACT = 10
# Default number of random orders of columns; more orders make shares more precise and take proportionally longer.
ORDERS = 50
ATTRIBUTE_MEASURES = columns_of((PUBLISHER_PAYOFF, RISK, UTILITY))
ATTRIBUTE_COLUMNS = ("policy", "attribute", "measure", "all", "without", "alone", "none", "share", "standard_error")


@dataclass(frozen=True, eq=False, repr=False)
class AttributesResult(Result):
    """The effect of each quasi-identifier on the outcomes of a scenario.

    See `Result` for further parameters.

    Parameters
    ----------
    table : DataFrame
        One row per policy, attribute and measure (`ATTRIBUTE_MEASURES`, averages over records in the first draw);
        columns `ATTRIBUTE_COLUMNS`: the measure with ``all`` quasi-identifiers, ``without`` this attribute, with this
        attribute ``alone`` and with ``none``; the Shapley ``share`` of the attribute in the difference between all and
        none, in the unit of the measure (shares of all attributes sum to ``all`` minus ``none``); and the
        ``standard_error`` of the share (0 if it is exact).
    """

    table: pd.DataFrame

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder by name: only ``attributes``."""
        return {"attributes": self.table}


def attributes_loaded(
    loaded: Scenario[Any], *, orders: int = ORDERS, progress: Progress | None = None
) -> AttributesResult:
    """Return the outcomes of a scenario with and without each quasi-identifier.

    A column that is left out is generalized to the top level of its hierarchy in every record; policies that optimize
    choose again among the remaining generalizations. Policies for which this is impossible are left out, with a
    warning. Shapley shares are exact for up to 10 columns; for more columns, they are averages over random orders of
    the columns, drawn with the scenario's seed. Section ``agents`` is ignored.

    Parameters
    ----------
    loaded : Scenario
        A table scenario.
    orders : int
        Number of random orders, used if there are more than 10 columns.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    AttributesResult

    Raises
    ------
    InputError
        If the scenario is of another kind, or a file that it names cannot be used.
    """
    kind, clock, report = begun(loaded, progress)
    study = kind.build(loaded)
    columns = kind.dropped_columns(study)
    clock.lap("build")
    names, n = columns.names, len(columns.names)
    weights, exact, played = study.world(0).weights.astype(np.int64), n <= MOST_EXACT, itertools.count()
    plays = 2**n if exact else orders * n

    @cache
    def value(members: int) -> Floats:
        report("playing", min(next(played), plays - 1), plays)
        outcomes = columns.play(frozenset(name for place, name in enumerate(names) if members >> place & 1))
        found = [averages(outcomes[policy], weights) for policy in columns.policies]
        return np.array([each[measure] for each in found for measure in ATTRIBUTE_MEASURES])

    stream = random_stream(loaded.scenario.seed, "attributes")
    shapley = exact_shares(value, n) if exact else sampled_shares(value, n, orders, stream)
    everything, rows = 2**n - 1, []
    for (first, policy), (place, attribute) in itertools.product(enumerate(columns.policies), enumerate(names)):
        valued = [value(members) for members in (everything, everything & ~(1 << place), 1 << place, 0)]
        shares = (*valued, shapley.shares[place], shapley.standard_errors[place])
        for number, measure in enumerate(ATTRIBUTE_MEASURES, start=first * len(ATTRIBUTE_MEASURES)):
            rows.append((policy, attribute, measure, *(float(each[number]) for each in shares)))
    table = pd.DataFrame(rows, columns=list(ATTRIBUTE_COLUMNS))
    clock.lap("play")
    about = {"exact": exact, "orders": None if exact else orders, "played": next(played)}
    facts = {"attributes": about, **kind.facts(study)}
    warnings = columns.warnings
    if getattr(loaded.scenario, "agents", None) is not None:
        warnings = ("section agents is ignored: only one round is evaluated", *warnings)
    return AttributesResult(table, **common_fields(loaded, clock.laps, facts, warnings))
