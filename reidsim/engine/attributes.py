"""Effect of each quasi-identifier on the outcomes of a scenario, with Shapley shares.

Shapley shares: Shapley 1953, A value for n-person games, Contributions to the Theory of Games II. With many attributes,
they are averages over orders drawn at random (Castro, Gomez and Tejada 2009, Polynomial calculation of the Shapley
value based on sampling, Computers & Operations Research 36). The functions that compute shares call attributes parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError
from reidsim.core.numerics import random_stream
from reidsim.core.wording import columns_of
from reidsim.engine.results import Result, begun, common_fields
from reidsim.games.outcomes import PUBLISHER_PAYOFF, RISK, UTILITY, averages
from reidsim.releases.lattice import Floats
from reidsim.scenarios.kind import Progress
from reidsim.scenarios.scenario import Scenario

# Returns the values of a set of parts, shape (n_values,). The set is an integer; bit i is 1 if part i is in the set.
SetValue = Callable[[int], Floats]


def exact_shares(value: SetValue, n_parts: int) -> Floats:
    """Return the exact Shapley shares, which are averages over all orders.

    All ``2 ** n_parts`` sets are evaluated.

    Parameters
    ----------
    value : callable
        Takes a set of parts, an integer in which bit i is 1 if part i is in the set, and returns its values, shape
        (n_values,); called once for each set.
    n_parts : int
        Number of parts, 1 or more.

    Returns
    -------
    ndarray of float64, shape (n_parts, n_values)
        Share of each part: the mean change of the value when the part joins the set of the parts before it in an order.
        The shares add up to the value of all parts less the value of the empty set.
    """
    values = np.array([value(members) for members in range(2**n_parts)])
    sizes = np.array([members.bit_count() for members in range(len(values))])
    weight = np.array([1 / (n_parts * math.comb(n_parts - 1, size)) for size in range(n_parts)])
    shares = np.zeros((n_parts, values.shape[1]))
    for part in range(n_parts):
        without = np.flatnonzero(~(np.arange(2**n_parts) >> part) & 1)
        shares[part] = weight[sizes[without]] @ (values[without | 1 << part] - values[without])
    return shares


def sampled_shares(value: SetValue, n_parts: int, orders: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return estimated Shapley shares, and their standard errors.

    The shares are averages over orders drawn at random.

    Parameters
    ----------
    value : callable
        Takes a set of parts, an integer in which bit i is 1 if part i is in the set, and returns its values, shape
        (n_values,); may be called more than once for the same set.
    n_parts : int
        Number of parts.
    orders : int
        Number of orders; standard errors require at least 2.
    rng : Generator
        Source of the orders.

    Returns
    -------
    shares, standard_errors : ndarray of float64, shape (n_parts, n_values)
        See `exact_shares`.

    Raises
    ------
    InputError
        If `orders` is below 2.
    """
    if orders < 2:
        raise InputError("too few orderings", where="orders", found=orders, expected="2 or more")
    added = []
    for _ in range(orders):
        order = rng.permutation(n_parts)
        sets = itertools.accumulate((1 << part for part in order.tolist()), initial=0)
        added.append(np.diff([value(members) for members in sets], axis=0)[np.argsort(order)])
    drawn = np.array(added)
    return drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / math.sqrt(orders)


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

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        return cls(tables["attributes"], **common)

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
    study = kind.study_of(loaded)
    columns = kind.dropped_columns(study)
    clock.lap("build")
    names, n = columns.names, len(columns.names)
    weights, exact, played = study.world().weights.astype(np.int64), n <= MOST_EXACT, itertools.count()
    plays = 2**n if exact else orders * n

    @cache
    def value(members: int) -> Floats:
        report("playing", min(next(played), plays - 1), plays)
        outcomes = columns.play(frozenset(name for place, name in enumerate(names) if members >> place & 1))
        found = [averages(outcomes[policy], weights, {}) for policy in columns.policies]
        return np.array([each[measure] for each in found for measure in ATTRIBUTE_MEASURES])

    if exact:
        shares = exact_shares(value, n)
        errors = np.zeros_like(shares)
    else:
        shares, errors = sampled_shares(value, n, orders, random_stream(loaded.scenario.seed, "attributes"))
    everything, rows = 2**n - 1, []
    for (first, policy), (place, attribute) in itertools.product(enumerate(columns.policies), enumerate(names)):
        # In the order of the last columns: all, without, alone, none, share, standard_error.
        valued = [value(members) for members in (everything, everything & ~(1 << place), 1 << place, 0)]
        valued += [shares[place], errors[place]]
        for number, measure in enumerate(ATTRIBUTE_MEASURES, start=first * len(ATTRIBUTE_MEASURES)):
            rows.append((policy, attribute, measure, *(float(each[number]) for each in valued)))
    table = pd.DataFrame(rows, columns=list(ATTRIBUTE_COLUMNS))
    clock.lap("play")
    facts = {
        "attributes": {"exact": exact, "orders": None if exact else orders, "played": next(played)},
        **kind.facts(study),
    }
    warnings = columns.warnings
    if getattr(loaded.scenario, "agents", None) is not None:
        warnings = ("section agents is ignored: only one round is evaluated", *warnings)
    return AttributesResult(table, **common_fields(loaded, clock.laps, facts, warnings))
