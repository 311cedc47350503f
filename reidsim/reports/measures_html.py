"""Render measures by policy as an HTML table for the web page and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reidsim.core.measures import measures_among
from reidsim.figures.style import policy_name
from reidsim.reports.writer import render
from reidsim.scenarios.registry import kind_of_content


def measures_table(measures: pd.DataFrame, content: Mapping[str, Any]) -> str:
    """Return an HTML table with one row per measure and one column per policy.

    Each row contains the definition of the measure. `measures` has one row per policy and one column per measure;
    `content` is the scenario as plain data.
    """
    shown = measures_among(kind_of_content(content).measures_of(content), measures.columns)
    rows = [(measure, list(map(measure.text, measures[column]))) for column, measure in shown.items()]
    return str(render("measures", {"names": [policy_name(str(name)) for name in measures.index], "rows": rows})).strip()
