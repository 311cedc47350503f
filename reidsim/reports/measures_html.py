"""Measures by policy as an HTML table: for the web page and for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from reidsim.core.measures import Measure, measures_among
from reidsim.figures.style import policy_name
from reidsim.scenarios.registry import kind_of_content


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
