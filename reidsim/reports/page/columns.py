"""Every column of the source file: what the release makes of it, with three sample rows before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.blocks import Block, Cell, Table, paragraph, shortened
from reidsim.reports.shared.records import SharedRecords
from reidsim.reports.shared.releases import Release
from reidsim.scenarios.hierarchy_schema import Dates, Groups, Intervals, Prefix
from reidsim.scenarios.hierarchy_schema import Table as TableOfLabels
from reidsim.wording import Code, Inline, counted, joined

SAMPLES = 3
# Omitted columns that have a row of their own; more of them share one.
_OMITTED_SHOWN = 12
_ARROW = " \N{RIGHTWARDS ARROW} "


def column_blocks(release: Release, *, samples: bool) -> Iterator[Block]:
    """Yield the table of all columns of the source file.

    Parameters
    ----------
    release : Release
    samples : bool
        Whether to show sample rows, whose values before the release are those of real people.
    """
    shared = release.shared
    rows = sample_rows(release) if samples else []
    header: list[Inline] = ["Column", "In the release"]
    header += [f"Sample row {number}" for number in range(1, len(rows) + 1)]
    table: list[list[Cell]] = []
    omitted: list[tuple[str, str]] = []
    columns = shared.source.columns
    attribute_of = {column: attribute for attribute, column in columns.column_of.items()}
    for column in map(str, shared.source.frame.columns):
        attribute = attribute_of.get(column)
        if attribute is not None:
            name = column if columns.header else attribute
            cells = [_change(shared, column, name, row) for row in rows]
            table.append([Code(column), treatment(shared, attribute), *cells])
        elif column in shared.kept_columns:
            reason = shared.declared.get(column)
            declared = f"; declared unknown to outsiders: {reason}" if reason else ""
            table.append([Code(column), f"kept as it is{declared}", *["unchanged"] * len(rows)])
        else:
            why = why_identifying(column, shared.source.frame[column], shared.source.persons)
            omitted.append((column, f"omitted: direct identifier ({why})" if why else "omitted"))
    if len(omitted) <= _OMITTED_SHOWN:
        table += [[Code(column), what, *["omitted"] * len(rows)] for column, what in omitted]
    yield Table(
        header, table, f"All {counted(len(shared.source.frame.columns), 'column')} of the source file in release "
        f"{shared.policy}; " + ("sample rows: before" + _ARROW + "after" if rows else "sample rows left out"),
        text_columns=frozenset(range(len(header))),
    )  # fmt: skip
    if len(omitted) > _OMITTED_SHOWN:
        names = joined((Code(column),) for column, _ in omitted)
        yield paragraph(f"Omitted, {counted(len(omitted), 'column')}: ", *names, ".")
    if rows:
        yield paragraph(
            "The sample rows belong to real people. Their released forms fit most people; values "
            "of omitted and of kept columns are not shown beside them. ", Code("--no-cells"), " leaves them out.",
        )  # fmt: skip


def sample_rows(release: Release) -> list[int]:
    """Return places in the table of shared rows: the first row of each of the forms that fit most people."""
    shared = release.shared
    real = np.flatnonzero(shared.is_real)
    forms = shared.table.iloc[real][list(shared.quasi_identifiers)]
    first = ~forms.duplicated().to_numpy() if forms.shape[1] else np.arange(len(real)) == 0
    people = release.counted.people_of_row
    order = np.argsort(-people[first], kind="stable")[:SAMPLES]
    return [int(place) for place in real[first][order]]


def _change(shared: SharedRecords, column: str, name: str, row: int) -> str:
    before = str(shared.source.frame[column].iloc[int(shared.own[row])]).strip() or "(empty)"
    after = str(shared.table[name].iloc[row]) or "(empty)"
    return f"{shortened(before)}{_ARROW}{shortened(after)}"


def treatment(shared: SharedRecords, attribute: str) -> str:
    """Return how the values of a quasi-identifier are released, with the share of the rows where it is not one way."""
    rows = shared.own[shared.is_real]
    if not len(rows):
        return "withheld: no row is shared"
    told = np.asarray(_ways(shared, attribute, rows))
    ways, numbers = np.unique(told, return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    if len(ways) == 1:
        return str(ways[0])
    return "; ".join(f"{ways[at]} in {_percent(numbers[at] / len(rows))}" for at in order)


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else "less than 1%" if share < 0.5 else "over 99%"


def _ways(shared: SharedRecords, attribute: str, rows: NDArray[np.intp]) -> NDArray[np.object_]:
    """Return the treatment of a quasi-identifier in each of some records, shape (n_rows,)."""
    labels = shared.forms.labels[attribute].iloc[rows].astype("str")
    truth = shared.source.truth[attribute].iloc[rows].astype("str")
    generalized = np.full(len(rows), "generalized", dtype=object)
    levels, names = _levels(shared, attribute, rows), level_names(_hierarchy(shared, attribute))
    if levels is not None and names:
        # The level above the named ones is that of suppression.
        words = np.array([f"generalized to {name}" for name in ("", *names)] + ["generalized"], dtype=object)
        generalized = words[np.minimum(levels, len(words) - 1)]
    same = (labels.to_numpy() == truth.to_numpy()) if levels is None else levels == 0
    gone = (labels == SUPPRESSED).to_numpy() & ~same
    return np.where(same, "shared as is", np.where(gone, "suppressed", generalized)).astype(object)


def _levels(shared: SharedRecords, attribute: str, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """Return the level of an attribute in each of some records; None if strategies do not name levels."""
    strategies: pd.Series[Any] = shared.forms.strategies.iloc[rows]
    place = list(shared.source.columns.column_of).index(attribute)
    number = len(shared.source.columns.column_of)
    level_of = {}
    for text in strategies.unique():
        parts = str(text).split(",")
        if len(parts) != number or not all(part.isdigit() for part in parts):
            return None
        level_of[text] = int(parts[place])
    return strategies.map(level_of).to_numpy(dtype=np.int64)


def _hierarchy(shared: SharedRecords, attribute: str) -> object:
    section = getattr(shared.source.scenario, "attributes", {}).get(attribute)
    return getattr(section, "hierarchy", None)


def level_names(hierarchy: object) -> Sequence[str]:
    """Return a name for each level of a hierarchy between the value and its suppression."""
    match hierarchy:
        case Dates(levels=levels):
            return levels
        case Intervals(widths=widths):
            return [f"intervals of {width:,}" for width in widths]
        case Prefix(digits=digits):
            return [f"the first {counted(kept, 'character')}" for kept in digits]
        case Groups(groups=[_]):
            return ["groups"]
        case Groups(groups=groups):
            return [f"groups of level {level}" for level in range(1, len(groups) + 1)]
        case TableOfLabels():
            # As many levels as the file has; its labels stand in the samples.
            return [f"level {level} of its hierarchy file" for level in range(1, 100)]
        case _:
            return ()
