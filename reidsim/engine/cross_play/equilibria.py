"""The payoffs of cross-play as a game in which both players may mix: optimal mixtures, equilibria, exploitability.

The defender picks a row of the table, the adversary who comes; payoffs are means over all that is drawn, so that
neither knows more than that. Each point of a sweep is a game of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.cross_play.worst_cases import ROWS
from reidsim.errors import InputError
from reidsim.games.cross_play import REGRET
from reidsim.games.matrix_games import Floats, Mixtures, equilibrium, exploitability, pure_exploitability, zero_sum
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF

MAXIMIN, MINIMAX_REGRET, BEST, WORST = "maximin", "minimax-regret", "nash-best", "nash-worst"
CONCEPTS = (MAXIMIN, MINIMAX_REGRET, BEST, WORST)


def equilibrium_tables(runs: pd.DataFrame, design: Design) -> tuple[dict[str, pd.DataFrame], tuple[str, ...]]:
    """Work out the equilibria of cross-play.

    Parameters
    ----------
    runs : DataFrame
        One row per run that ended well, defender, adversary planned against and adversary met, with its ``point``.
    design : Design

    Returns
    -------
    tables : dict of str to DataFrame
        ``equilibria``, one row per point of the sweep and concept: the swept keys, ``concept``, ``publisher_payoff``
        and ``adversary_payoff`` of the mixtures, ``value`` (what the concept is about: the least payoff that the
        mixture makes sure of, the largest regret, or the defender's payoff), ``exploitability``, how much both could
        gain in sum by best replies. ``mixtures``, one row per strategy of positive probability: the swept keys,
        ``concept``, ``player``, ``strategy``, ``plans_against`` and ``probability``. ``exploitability``, one row per
        defender: the swept keys, ``defender``, ``plans_against``, ``least_payoff``, ``exploitability`` (by how much
        that is below the value of ``maximin``), ``best_reply`` (the adversary who gains most), ``payoff_then``, and
        ``gain_then``, what the defender could gain by its own best reply to this one.
    left_out : tuple of str
        Defenders without a payoff against some adversary, and concepts without a solution.
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
    """Return the tables of one point of the sweep, and what had to be left out."""
    means = runs.groupby([*ROWS, "adversary"], sort=False)
    wide = {
        measure: means[measure].mean().unstack("adversary", sort=False)
        for measure in (PUBLISHER_PAYOFF.column, ADVERSARY_PAYOFF.column, REGRET.column)
    }
    first = wide[PUBLISHER_PAYOFF.column]
    known = np.isfinite(first.to_numpy()).all(axis=1)
    gone = [f"no part in equilibria, since it cannot play everywhere: {name}" for name, _ in first.index[~known]]
    if not known.any():
        return {}, gone
    rows, adversaries = first.index[known], first.columns.tolist()
    payoff, adversary_payoff, regret = (table.to_numpy()[known] for table in wide.values())
    value = zero_sum(payoff)
    found: dict[str, tuple[Mixtures, float]] = {
        MAXIMIN: (value, value.row_payoff),
        MINIMAX_REGRET: (least := zero_sum(-regret), -least.row_payoff),
    }
    for concept, which in ((BEST, "best"), (WORST, "worst")):
        try:
            solved = equilibrium(payoff, adversary_payoff, for_rows=which)  # type: ignore[arg-type]
        except InputError as error:
            gone.append(f"{concept}: {error}")
        else:
            found[concept] = (solved, solved.row_payoff)
    against = {MAXIMIN: (payoff, -payoff), MINIMAX_REGRET: (-regret, regret)}
    equilibria, mixtures = [], []
    for concept, (mixed, worth) in found.items():
        games = against.get(concept, (payoff, adversary_payoff))
        equilibria.append(
            {
                "concept": concept,
                "publisher_payoff": float(mixed.rows @ payoff @ mixed.columns),
                "adversary_payoff": float(mixed.rows @ adversary_payoff @ mixed.columns),
                "value": worth,
                "exploitability": exploitability(*games, mixed),
            }
        )
        mixtures += _strategies(concept, "defender", rows.tolist(), mixed.rows)
        mixtures += _strategies(concept, "adversary", [(name, "") for name in adversaries], mixed.columns)
    return {
        "equilibria": pd.DataFrame(equilibria),
        "mixtures": pd.DataFrame(mixtures),
        "exploitability": _pure(rows, adversaries, payoff, adversary_payoff, value.row_payoff),
    }, gone


def _strategies(concept: str, player: str, names: list[tuple[str, str]], mixture: Floats) -> list[dict[str, Any]]:
    return [
        {"concept": concept, "player": player, "strategy": name, "plans_against": against, "probability": probability}
        for (name, against), probability in zip(names, mixture.tolist(), strict=True)
        if probability > 0
    ]


def _pure(
    rows: pd.MultiIndex, adversaries: list[str], payoff: Floats, adversary_payoff: Floats, value: float
) -> pd.DataFrame:
    """Return what comes of each row alone, once the adversary knows it."""
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
