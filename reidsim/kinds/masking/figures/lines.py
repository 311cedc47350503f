"""The masking game along one key of its scenario at a time (Wan et al. 2021, Figs. 4 to 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reidsim.figures.inputs import checked
from reidsim.figures.style import (
    UNIT,
    draw_line,
    key_words,
    label_axes,
    legend_below,
    number_ticks,
    panels,
    policy_name,
    sentence,
    with_unit,
)
from reidsim.games.measures import RISK, UTILITY
from reidsim.kinds.masking.figures.subjects import masking_look, ordered_masking_policies
from reidsim.kinds.masking.measures import SUBJECT_PAYOFF, USEFULNESS, USEFULNESS_FAIRNESS
from reidsim.scenarios.design_schema import SweepSection
from reidsim.scenarios.swept_values import rows_along, value_labels

_COLUMNS = 3
# Figures of the lines, each of a measure.
LINE_MEASURES = {
    "lines-payoff": SUBJECT_PAYOFF,
    "lines-privacy": RISK,
    "lines-utility": UTILITY,
    "lines-usefulness": USEFULNESS,
    "lines-fairness": USEFULNESS_FAIRNESS,
}


def masking_lines(lines: pd.DataFrame, measure: str = SUBJECT_PAYOFF.column) -> Figure:
    """Draw a measure under each policy along each line of a sweep, with its spread over replications.

    Parameters
    ----------
    lines : DataFrame
        One row per line, value, replication and policy, with columns ``line``, ``value`` (text), ``policy`` and
        `measure`.
    measure : {"publisher_payoff", "utility", "risk", "usefulness", "usefulness_fairness"}
        Risk is drawn as privacy, 1 - risk.

    Returns
    -------
    Figure
        One panel per line. Values that are numbers lie on an axis of numbers, others side by side; bars are one
        standard deviation over replications.

    Raises
    ------
    InputError
        If the table is empty or lacks a column.
    """
    lines = lines[lines[measure].notna()] if measure in lines else lines
    table = checked(lines, "lines", text=("line", "value", "policy"), numbers=(measure,))
    if measure == RISK.column:
        table[measure] = 1 - table[measure]
    names = list(dict.fromkeys(table["line"]))
    policies = ordered_masking_policies(table["policy"])
    figure, every = panels(len(names), _COLUMNS, panel=(3.6 if len(names) > 1 else 6.4, 2.9))
    label = {
        **{shown.column: shown.label for shown in LINE_MEASURES.values()},
        SUBJECT_PAYOFF.column: f"{SUBJECT_PAYOFF.label}\n({UNIT})",
        RISK.column: "Privacy (1 - risk)",
    }
    for name, axes in zip(names, every, strict=True):
        here = table[table["line"] == name]
        values = list(dict.fromkeys(here["value"]))
        numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy()
        positions = np.arange(len(values), dtype=np.float64) if np.isnan(numbers).any() else numbers
        handles = []
        for policy in policies:
            own = masking_look(policy)
            points = here[here["policy"] == policy].groupby("value", sort=False)[measure]
            mean, spread = points.mean().reindex(values), points.std(ddof=0).reindex(values)
            dashes = own.dashes if positions is numbers else "none"
            handles += draw_line(axes, positions, mean, own, policy_name(policy), linestyle=dashes)
            axes.errorbar(positions, mean, yerr=spread, color=own.colour, fmt="none", capsize=2, elinewidth=0.8)
        if positions is not numbers:
            axes.set_xticks(positions, values)
        number_ticks(axes.yaxis)
        label_axes(axes, x=name, y=label[measure])
    legend_below(figure, handles)
    return figure


def lines_of_runs(runs: pd.DataFrame, sweep: SweepSection, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the runs on each line of a sweep, one line below the other.

    Lines follow the axis with most values; of keys that change in turn there is a line for each. What other axes are
    at tells lines along the same key apart.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy, with a column for each key.
    sweep : SweepSection
    content : mapping
        The scenario as plain data.

    Returns
    -------
    DataFrame
        The rows of `runs` that ended well, with columns ``line``, and ``value`` as text: of lists their length, where
        that tells them apart.
    """
    runs = runs[runs["state"] == "complete"]
    sizes = {axis: sum(sweep.values[group[0]].size for group in axis) for axis in sweep.axes}
    longest = max(sweep.axes, key=lambda axis: sizes[axis])
    others = [key for axis in sweep.axes if axis != longest for group in axis for key in group]
    parts = []
    for group in longest:
        rows = rows_along(runs, longest, group, content)
        settings = ["".join(f", {key_words(key)} {_text(value)}" for key, value in zip(others, row, strict=True))
                    for row in rows[others].itertuples(index=False)]  # fmt: skip
        labels, what = value_labels(rows[group[0]])
        words = with_unit(sentence(key_words(group[0])), group[0])
        part = rows.assign(line=[f"{words}{what}{setting}" for setting in settings], value=labels)
        numbers = pd.to_numeric(part["value"], errors="coerce")
        parts.append(part if numbers.isna().any() else part.iloc[np.argsort(numbers.to_numpy(), kind="stable")])
    return pd.concat(parts, ignore_index=True)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
