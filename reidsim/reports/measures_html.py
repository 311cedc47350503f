"""Measures by policy as an HTML table, and the sentence above it: for the web page and for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from reidsim.figures.style import policy_name
from reidsim.measures import Measure, measures_among
from reidsim.scenarios.kind import kind_of_content
from reidsim.scenarios.people import counted_units


def best_policy(measures: pd.DataFrame, content: Mapping[str, Any]) -> str:
    """Return the policy that pays who shares most, of those that meet the scenario's adversary.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy.
    content : mapping
        The scenario as played.
    """
    known = kind_of_content(content).policies
    apart = [name for name, policy in known.items() if policy.in_another_game]
    compared = [policy for policy in measures.index if policy not in apart]
    return str(measures.loc[compared or list(measures.index), "publisher_payoff"].idxmax())


def answer(measures: pd.DataFrame, content: Mapping[str, Any]) -> str:
    """Say in a sentence which policy pays best, and what the adversary does under it.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy.
    content : mapping
        The scenario as played.
    """
    best = best_policy(measures, content)
    words = measures_among(kind_of_content(content).measures_of(content), measures.columns)
    one, several = counted_units(content)

    def told(column: str) -> str:
        return words[column].text(measures[column].loc[best])

    return (
        f"Pays best: {policy_name(best)}, {told('publisher_payoff')} per {one}. {told('share_attacked')} of the "
        f"{several} are then attacked; the re-identification risk is {told('risk')}."
    )


def measures_table(measures: pd.DataFrame, content: Mapping[str, Any]) -> str:
    """Return the measures as an HTML table: a row each, with its definition, and a column per policy.

    Parameters
    ----------
    measures : DataFrame
        Measures by policy.
    content : mapping
        The scenario as played.
    """
    names = "".join(f'<th scope="col">{escape(policy_name(str(policy)))}</th>' for policy in measures.index)
    words = measures_among(kind_of_content(content).measures_of(content), measures.columns)
    rows = "".join(_row(measure, measures[column]) for column, measure in words.items())
    return f"<table><thead><tr><td></td>{names}</tr></thead><tbody>{rows}</tbody></table>"


def _row(measure: Measure, values: pd.Series[float]) -> str:
    cells = "".join(f"<td>{escape(measure.text(value))}</td>" for value in values)
    return f'<tr><th scope="row" title="{escape(measure.definition)}">{escape(measure.label)}</th>{cells}</tr>'
