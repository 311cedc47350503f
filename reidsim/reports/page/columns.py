"""Describe the treatment of each source column in the release, with sample rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.shared.records import SharedRecords
from reidsim.reports.shared.releases import Release
from reidsim.reports.writer import Cell, Table, shortened
from reidsim.scenarios.hierarchy_schema import Dates, Groups, Intervals, Prefix
from reidsim.scenarios.hierarchy_schema import Table as TableOfLabels
from reidsim.wording import Code, Inline, counted

SAMPLES = 3
# Maximum number of other columns on the first page, and of columns in the appendix.
_MOST_ON_FIRST_PAGE, _MOST_IN_APPENDIX = 12, 60
_ARROW = " \N{RIGHTWARDS ARROW} "


class Columns(NamedTuple):
    """Column table for the first page, and for the appendix if there are many columns.

    Attributes
    ----------
    shown : Table
        All columns; for a file with many columns, only the quasi-identifiers, which are the columns that change.
    others : Table or None
        Other columns of a file with many columns; else None.
    has_samples : bool
        Whether sample rows are shown.
    """

    shown: Table
    others: Table | None
    has_samples: bool


def columns_of_release(release: Release, *, samples: bool) -> Columns:
    """Return the treatment of all columns of the source file.

    Parameters
    ----------
    release : Release
    samples : bool
        Whether to show sample rows, which contain values of real people.
    """
    shared, source = release.shared, release.shared.source
    places = sample_rows(release) if samples else []
    attribute_of = {column: attribute for attribute, column in source.columns.column_of.items()}
    changed: list[list[Cell]] = []
    kept: list[list[Cell]] = []
    omitted: list[list[Cell]] = []
    for column in map(str, source.frame.columns):
        attribute = attribute_of.get(column)
        if attribute is not None:
            name = column if source.columns.header else attribute
            changed.append([Code(column), treatment(shared, attribute), *_changes(shared, column, name, places)])
        elif column in shared.kept_columns:
            reason = shared.declared.get(column)
            declared = f"; declared unknown to outsiders: {reason}" if reason else ""
            kept.append([Code(column), f"kept as it is{declared}", *["unchanged"] * len(places)])
        else:
            why = why_identifying(column, source.frame[column], source.persons)
            said = f"omitted: direct identifier ({why})" if why else "omitted"
            omitted.append([Code(column), said, *["omitted"] * len(places)])
    header: list[Inline] = ["Column", "In the release", *(f"Sample row {at}" for at in range(1, len(places) + 1))]
    samples_are = f"sample rows: before{_ARROW}after" if places else "sample rows left out"
    n_columns, others = len(source.frame.columns), [*kept, *omitted]
    text = frozenset(range(len(header)))
    if len(others) <= _MOST_ON_FIRST_PAGE:
        order = list(map(str, source.frame.columns))
        in_file = sorted([*changed, *kept], key=lambda row: order.index(_name(row)))
        caption = f"All {counted(n_columns, 'column')} of the source file in release {shared.policy}; {samples_are}"
        return Columns(Table(header, [*in_file, *omitted], caption, text), None, bool(places))
    changed_are = f"{counted(len(changed), 'quasi-identifier')} among the {n_columns:,} columns of the source file"
    caption = (
        f"The {changed_are} in release {shared.policy}; {samples_are}. Of the other columns {len(kept):,} are kept and "
        f"{len(omitted):,} omitted: see the appendix"
    )
    return Columns(Table(header, changed, caption, text), _others(kept, omitted), bool(places))


def _others(kept: list[list[Cell]], omitted: list[list[Cell]]) -> Table:
    """Return a table of the first kept or omitted columns, and the number of others."""
    rows = [row[:2] for row in (*kept, *omitted)]
    more_kept = max(0, len(kept) - _MOST_IN_APPENDIX)
    more_omitted = max(0, len(rows) - _MOST_IN_APPENDIX) - more_kept
    caption = "Columns that are kept or omitted"
    caption += f"; and {more_kept:,} more in the sidecar" if more_kept else ""
    caption += f"; and {more_omitted:,} more that are omitted" if more_omitted else ""
    return Table(["Column", "In the release"], rows[:_MOST_IN_APPENDIX], caption, frozenset({0, 1}))


def _name(row: list[Cell]) -> str:
    name = row[0]
    return name.text if isinstance(name, Code) else str(name)


def sample_rows(release: Release) -> list[int]:
    """Return the positions of sample rows in the table of released rows.

    There are at most `SAMPLES`. Each is the first row with its combination of released quasi-identifiers. The
    combinations that match the true values of most people come first. Counterfeit rows are no samples.
    """
    shared = release.shared
    real = np.flatnonzero(shared.is_real)
    forms = shared.table.iloc[real][list(shared.quasi_identifiers)]
    first = ~forms.duplicated().to_numpy() if forms.shape[1] else np.arange(len(real)) == 0
    people = release.counted.people_of_row
    order = np.argsort(-people[first], kind="stable")[:SAMPLES]
    return [int(place) for place in real[first][order]]


def _changes(shared: SharedRecords, column: str, name: str, places: list[int]) -> list[str]:
    """Return the value of a column before and after the release, for some rows."""
    before = shared.source.frame[column].iloc[shared.own[places]].astype(str).str.strip()
    after = shared.table[name].iloc[places].astype(str)
    return [
        f"{shortened(old or '(empty)')}{_ARROW}{shortened(new or '(empty)')}"
        for old, new in zip(before, after, strict=True)
    ]


def treatment(shared: SharedRecords, attribute: str) -> str:
    """Return the treatment of a quasi-identifier as text.

    If there are several treatments, the text gives the share of rows of each.
    """
    rows = shared.own[shared.is_real]
    if not len(rows):
        return "withheld: no row is released"
    shares = pd.Series(_ways(shared, attribute, rows)).value_counts(normalize=True).sort_index()
    shares = shares.sort_values(ascending=False, kind="stable")
    if len(shares) == 1:
        return str(shares.index[0])
    return "; ".join(f"{way} in {_percent(share)}" for way, share in shares.items())


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else "less than 1%" if share < 0.5 else "over 99%"


def _ways(shared: SharedRecords, attribute: str, rows: NDArray[np.intp]) -> NDArray[np.object_]:
    """Return the treatment of a quasi-identifier in each record, shape (n_rows,)."""
    labels = shared.forms.labels[attribute].iloc[rows].astype(str).to_numpy()
    truth = shared.source.truth[attribute].iloc[rows].astype(str).to_numpy()
    generalized = np.full(len(rows), "generalized", dtype=object)
    levels, names = _levels(shared, attribute, rows), _level_names(shared, attribute)
    if levels is not None and names:
        # The level above the named levels is suppression.
        words = np.array([f"generalized to {name}" for name in ("", *names)] + ["generalized"], dtype=object)
        generalized = words[np.minimum(levels, len(words) - 1)]
    same = labels == truth if levels is None else levels == 0
    gone = (labels == SUPPRESSED) & ~same
    return np.where(same, "shared as is", np.where(gone, "suppressed", generalized)).astype(object)


def _levels(shared: SharedRecords, attribute: str, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """Return the level of an attribute per record; None if strategies are not levels."""
    strategies: pd.Series[Any] = shared.forms.strategies.iloc[rows]
    attributes = list(shared.source.columns.column_of)
    level_of = {}
    for text in strategies.unique():
        parts = str(text).split(",")
        if len(parts) != len(attributes) or not all(part.isdigit() for part in parts):
            return None
        level_of[text] = int(parts[attributes.index(attribute)])
    return strategies.map(level_of).to_numpy(dtype=np.int64)


def _level_names(shared: SharedRecords, attribute: str) -> Sequence[str]:
    """Return a name for each level between the value and its suppression."""
    section = getattr(shared.source.scenario, "attributes", {}).get(attribute)
    match getattr(section, "hierarchy", None):
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
            # The number of levels in the file is unknown here, so more names are given than needed.
            return [f"level {level} of its hierarchy file" for level in range(1, 100)]
        case _:
            return ()
