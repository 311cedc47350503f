"""Equilibria and exploitability in the matrix game of cross-play payoffs.

The defender chooses a row of the payoff table, the adversary a column, and both may randomize (mix). Payoffs are means
over all random draws, because neither player knows the draw. Each point of a sweep is a separate game.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.statistics import LEVEL, Measured, mean_interval, measured
from reidsim.errors import InputError
from reidsim.games.matrix_games import Floats, Mixtures, equilibrium, exploitability, pure_exploitability, zero_sum
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, REGRET

# Solution concepts: the mixture with the highest guaranteed payoff, the mixture with the lowest largest regret, and the
# Nash equilibria that are best and worst for the defender.
MAXIMIN, MINIMAX_REGRET, BEST, WORST = "maximin", "minimax-regret", "nash-best", "nash-worst"
CONCEPTS = (MAXIMIN, MINIMAX_REGRET, BEST, WORST)
_EQUILIBRIA = ("concept", "publisher_payoff", "adversary_payoff", "value", "exploitability")
_MIXTURES = ("concept", "player", "strategy", "plans_against", "probability")


def equilibrium_tables(runs: pd.DataFrame, design: Design) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Return the equilibria of cross-play, and warnings.

    Parameters
    ----------
    runs : DataFrame
        One row per successful run, defender, adversary planned against and adversary met, with its ``point``.
    design : Design

    Returns
    -------
    tables : dict of str to DataFrame
        Payoffs and regrets are in currency units per record. ``equilibria`` has one row per point of the sweep and
        solution concept (`CONCEPTS`): the swept keys, ``concept``, ``publisher_payoff`` and ``adversary_payoff`` of the
        mixtures, ``value`` (``maximin``: the payoff that the defender's mixture guarantees; ``minimax-regret``: its
        largest expected regret; Nash equilibria: the defender's payoff) and ``exploitability`` (sum of the gains of
        both players from a best reply; for the first two concepts, in the zero-sum game of payoff or regret).
        ``mixtures`` has one row per strategy with positive probability: the swept keys, ``concept``, ``player``
        (``defender`` or ``adversary``), ``strategy`` (name of the defender or adversary), ``plans_against`` (empty for
        adversaries and for defenders that do not plan) and ``probability``. ``exploitability`` has one row per defender
        and adversary planned against: the swept keys, ``defender``, ``plans_against``, ``least_payoff``,
        ``exploitability`` (the value of ``maximin`` minus ``least_payoff``), ``best_reply`` (the adversary with the
        highest own payoff against this defender; the first of ties), ``payoff_then`` (the defender's payoff against
        this adversary) and ``gain_then`` (the defender's gain from its own best reply to this adversary).
    left_out : tuple of str
        Warnings about omitted defenders (without a payoff against some adversary) and about concepts for which no
        solution was found.
    """
    swept = scenario_columns(design).loc[:: design.samples, list(design.swept)].reset_index(drop=True)
    parts: dict[str, list[pd.DataFrame]] = {"equilibria": [], "mixtures": [], "exploitability": []}
    left_out: list[str] = []
    for place in range(len(swept)):
        own = runs[runs["point"] // design.samples == place]
        if own.empty:
            continue
        tables, gone = _of_point(own)
        left_out += gone
        for name, table in tables.items():
            about = swept.loc[[place] * len(table)].reset_index(drop=True)
            parts[name].append(pd.concat([about, table], axis=1))
    found = {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items() if tables}
    return found, tuple(dict.fromkeys(left_out))


def _of_point(runs: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return the tables of one point of the sweep, and warnings.

    Warnings are about omitted defenders and concepts.
    """
    means = runs.groupby([*ROWS, "adversary"], sort=False, observed=True)
    wide = {
        measure: means[measure].mean().unstack("adversary", sort=False)
        for measure in (PUBLISHER_PAYOFF.column, ADVERSARY_PAYOFF.column, REGRET.column)
    }
    first = wide[PUBLISHER_PAYOFF.column]
    known = np.isfinite(first.to_numpy()).all(axis=1)
    reason = "left out of equilibria, because payoffs against some adversaries are missing"
    gone = [f"{reason}: {name}" for name, _ in first.index[~known]]
    if not known.any():
        return {}, gone
    rows, adversaries = first.index[known], first.columns.tolist()
    payoff, adversary_payoff, regret = (table.to_numpy()[known] for table in wide.values())
    value = zero_sum(payoff)
    found: dict[str, Mixtures] = {MAXIMIN: value, MINIMAX_REGRET: zero_sum(-regret)}
    for concept, which in ((BEST, "best"), (WORST, "worst")):
        try:
            found[concept] = equilibrium(payoff, adversary_payoff, for_rows=which)  # type: ignore[arg-type]
        except InputError as error:
            gone.append(f"{concept}: {error}")
    against = {MAXIMIN: (payoff, -payoff), MINIMAX_REGRET: (-regret, regret)}
    equilibria, mixtures = [], []
    for concept, mixed in found.items():
        games = against.get(concept, (payoff, adversary_payoff))
        payoffs = (float(mixed.rows @ each @ mixed.columns) for each in (payoff, adversary_payoff))
        worth = -mixed.row_payoff if concept == MINIMAX_REGRET else mixed.row_payoff
        equilibria.append((concept, *payoffs, worth, exploitability(*games, mixed)))
        players = [("defender", *each) for each in rows] + [("adversary", name, "") for name in adversaries]
        probabilities = zip(players, (*mixed.rows.tolist(), *mixed.columns.tolist()), strict=True)
        mixtures += [(concept, *who, probability) for who, probability in probabilities if probability > 0]
    return {
        "equilibria": pd.DataFrame(equilibria, columns=list(_EQUILIBRIA)),
        "mixtures": pd.DataFrame(mixtures, columns=list(_MIXTURES)),
        "exploitability": _pure(rows, adversaries, payoff, adversary_payoff, value.row_payoff),
    }, gone


def _pure(
    rows: pd.MultiIndex, adversaries: list[str], payoff: Floats, adversary_payoff: Floats, value: float
) -> pd.DataFrame:
    """Return the table ``exploitability`` of one point; see `equilibrium_tables`.

    `value` is the value of ``maximin``.
    """
    reply = adversary_payoff.argmax(axis=1)
    then = payoff[np.arange(len(payoff)), reply]
    return pd.DataFrame(
        {
            "defender": rows.get_level_values(0),
            "plans_against": rows.get_level_values(1),
            "least_payoff": payoff.min(axis=1),
            "exploitability": pure_exploitability(payoff, value),
            "best_reply": [adversaries[number] for number in reply.tolist()],
            "payoff_then": then,
            "gain_then": payoff.max(axis=0)[reply] - then,
        }
    )


# Payoffs and regrets that differ by less than this fraction of the largest absolute value count as equal.
_EQUAL = 1e-9
Told = NDArray[np.bool_]
ROWS = ["defender", "plans_against"]


def worst_cases_table(runs: pd.DataFrame, design: Design) -> pd.DataFrame:
    """Return the least payoff and largest regret of each defender over all cases.

    A case is an adversary met at a point of the sweep. Its payoff and regret are means over all draws.

    Parameters
    ----------
    runs : DataFrame
        One row per run, defender, adversary planned against and adversary met; failed runs are ignored.
    design : Design

    Returns
    -------
    DataFrame
        One row per defender and adversary planned against: ``defender``, ``plans_against``; ``least_payoff`` (currency
        units per record), its 95 % interval ``least_payoff_low`` and ``least_payoff_high``, and the case in which it
        occurs, ``least_payoff_at``; the same columns for ``largest_regret``; ``worst_regret``, the largest regret in a
        single run; ``maximin``, whether no other row has a higher least payoff, and ``minimax_regret``, whether no
        other row has a lower largest regret (several rows if they are equal). If a defender has no payoff in some run
        in which another one has, its values are missing and the last two columns are False. Cases without any payoff
        are ignored. The table is empty if no run succeeded.

    Notes
    -----
    The intervals are simultaneous over all cases: each case has an interval of level 1 - 0.05 / number of cases
    (Bonferroni), and the least payoff lies between the smallest lower bound and the smallest upper bound.
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
    """Return the names of the cases.

    Each name consists of an adversary and the swept values.
    """
    shown = found.swept.map(lambda value: f"{value:g}" if isinstance(value, float) else str(value))
    points = [[f"{key} = {value}" for key, value in row.items()] for row in shown.to_dict("records")]
    return [", ".join((str(name), *point)) for point in points for name in found.groups["adversary"].drop_duplicates()]


def _by_cell(found: Measured, measure: str) -> Floats:
    """Return a measure by row and case.

    The shape is (n_rows, n_cases, n_samples, n_replications). A row is a defender and the adversary planned against.
    Cases are in the order of `_cells`. Missing values are NaN.
    """
    rows, row = np.unique(found.groups.groupby(ROWS, sort=False, observed=True).ngroup(), return_inverse=True)
    adversaries = found.groups["adversary"].drop_duplicates().tolist()
    column = np.array([adversaries.index(name) for name in found.groups["adversary"]])
    values = found.values[measure]
    n_swept, _, *drawn = values.shape
    table = np.full((len(rows), n_swept, len(adversaries), *drawn), np.nan)
    table[row, :, column] = np.moveaxis(values, 1, 0)
    return table.reshape(len(rows), n_swept * len(adversaries), *drawn)


def _extreme(by_cell: Floats, cells: list[str], name: str, *, sign: float) -> pd.DataFrame:
    """Return the largest mean of each row over cases, its interval and its case.

    If `sign` is -1, it is the smallest mean. Columns are `name` and, after it, ``_low``, ``_high`` and ``_at``. They
    are missing for a row that lacks a value in some run in which another row has one.
    """
    played: Told = np.asarray(np.isfinite(by_cell).any(axis=(0, 2, 3)))
    values, names = sign * by_cell[:, played], [cell for cell, known in zip(cells, played, strict=True) if known]
    # A mean over only the runs in which a defender could play is not comparable with the means of other defenders.
    missing = (np.isfinite(values) != np.isfinite(values).any(axis=0)).any(axis=(1, 2, 3))
    interval = mean_interval(values, 1 - (1 - LEVEL) / len(names))
    at = np.argmax(np.where(np.isnan(interval.mean), -np.inf, interval.mean), axis=1)
    mean, low, high = (sign * part.max(axis=1) for part in (interval.mean, interval.low, interval.high))
    low, high = np.minimum(low, high), np.maximum(low, high)
    numbers = pd.DataFrame({name: mean, f"{name}_low": low, f"{name}_high": high}).mask(pd.Series(missing), axis=0)
    where = [None if gone else names[cell] for cell, gone in zip(at.tolist(), missing.tolist(), strict=True)]
    return numbers.assign(**{f"{name}_at": pd.Series(where, dtype="str")})


def _best(costs: Floats) -> Told:
    """Return a mask of the lowest costs, including all that are equal within `_EQUAL`.

    Missing costs never count as lowest.
    """
    known = costs[np.isfinite(costs)]
    if not len(known):
        return np.zeros(len(costs), dtype=bool)
    return np.asarray(np.nan_to_num(costs, nan=np.inf) <= known.min() + _EQUAL * max(1.0, np.abs(known).max()))
