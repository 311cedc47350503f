"""Describe a release: treatment of columns, sample rows, audits and risky cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.errors import InputError
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.audited import Release
from reidsim.reports.shared.records import SharedRecords, chosen_forms, policies_of
from reidsim.reports.writer import Cell, shortened
from reidsim.scenarios.hierarchies import Dates, Groups, Intervals, Prefix, Table
from reidsim.scenarios.people import PERSON
from reidsim.validation import validated
from reidsim.wording import Code, counted

SAMPLES = 3
# Maximum number of other columns on the first page, and of columns in the appendix.
_MOST_ON_FIRST_PAGE, _MOST_IN_APPENDIX = 12, 60
# Maximum number of cells shown per policy.
_MOST_CELLS = 8
_ARROW = " \N{RIGHTWARDS ARROW} "


def columns_of_release(release: Release, *, samples: bool) -> dict[str, Any]:
    """Return the treatment of all columns of the source file, for template `columns`.

    A file with many columns has two tables: ``shown`` has only the quasi-identifiers, which are the columns that
    change, and ``others`` the first other columns, with the number of further ones in ``more``. ``others`` is None for
    other files.

    Parameters
    ----------
    release : Release
    samples : bool
        Whether to show sample rows, which contain values of real people.
    """
    shared, source = release.shared, release.shared.source
    places = sample_rows(release) if samples else []
    attribute_of = source.attribute_of
    rows: list[tuple[str, list[Cell]]] = []
    for column in map(str, source.frame.columns):
        if column in attribute_of:
            way, words, cells = "changed", treatment(shared, attribute_of[column]), _changes(shared, column, places)
        elif column in shared.kept_columns:
            reason = shared.declared.get(column)
            words = "kept as it is" + (f"; declared unknown to outsiders: {reason}" if reason else "")
            way, cells = "kept", ["unchanged"] * len(places)
        else:
            why = why_identifying(column, source.frame[column], source.persons)
            way, cells = "omitted", ["omitted"] * len(places)
            words = f"omitted: direct identifier ({why})" if why else "omitted"
        rows.append((way, [Code(column), words, *cells]))
    changed, kept, omitted = ([row for own, row in rows if own == way] for way in ("changed", "kept", "omitted"))
    others = [*kept, *omitted]
    is_wide, more_kept = len(others) > _MOST_ON_FIRST_PAGE, max(0, len(kept) - _MOST_IN_APPENDIX)
    return {
        "header": ["Column", "In the release", *(f"Sample row {at}" for at in range(1, len(places) + 1))],
        "shown": changed if is_wide else [*(row for way, row in rows if way != "omitted"), *omitted],
        "others": [row[:2] for row in others[:_MOST_IN_APPENDIX]] if is_wide else None,
        "more": {"kept": more_kept, "omitted": max(0, len(others) - _MOST_IN_APPENDIX) - more_kept},
        "numbers": {"all": len(rows), "kept": len(kept), "omitted": len(omitted)},
        "policy": shared.policy,
        "arrow": _ARROW if places else "",
    }


def sample_rows(release: Release) -> list[int]:
    """Return the positions of sample rows in the table of released rows.

    There are at most `SAMPLES`. Each is the first row with its combination of released quasi-identifiers. The
    combinations that match the true values of most people come first. Counterfeit rows are no samples.
    """
    shared = release.shared
    real = np.flatnonzero(shared.is_real)
    forms = shared.table.iloc[real][list(shared.quasi_identifiers)]
    first = ~forms.duplicated().to_numpy() if forms.shape[1] else np.arange(len(real)) == 0
    order = np.argsort(-release.people_of_row[first], kind="stable")[:SAMPLES]
    return [int(place) for place in real[first][order]]


def _changes(shared: SharedRecords, column: str, places: list[int]) -> list[str]:
    """Return the value of a column before and after the release, for some rows."""
    name = column if shared.source.columns.header else shared.source.attribute_of[column]
    before = shared.source.frame[column].iloc[shared.own[places]].astype(str).str.strip()
    pairs = zip(before, shared.table[name].iloc[places].astype(str), strict=True)
    return [_ARROW.join(shortened(value or "(empty)") for value in pair) for pair in pairs]


def treatment(shared: SharedRecords, attribute: str) -> str:
    """Return the treatment of a quasi-identifier as text.

    If there are several treatments, the text gives the share of rows of each.
    """
    rows = shared.own[shared.is_real]
    if not len(rows):
        return "withheld: no row is released"
    labels, truth = (
        table[attribute].iloc[rows].astype(str).to_numpy() for table in (shared.forms.labels, shared.source.truth)
    )
    levels, names = _levels(shared, attribute, rows), _level_names(shared, attribute)
    # The level above the named levels is suppression.
    words = np.array(["", *(f"generalized to {name}" for name in names), "generalized"], dtype=object)
    generalized = "generalized" if levels is None or not names else words[np.minimum(levels, len(words) - 1)]
    same = labels == truth if levels is None else levels == 0
    ways = np.where(same, "shared as is", np.where(labels == SUPPRESSED, "suppressed", generalized))
    shares = pd.Series(ways).value_counts(normalize=True).sort_index().sort_values(ascending=False, kind="stable")
    if len(shares) == 1:
        return str(shares.index[0])
    return "; ".join(f"{way} in {_percent(share)}" for way, share in shares.items())


def _percent(share: float) -> str:
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else "less than 1%" if share < 0.5 else "over 99%"


def _levels(shared: SharedRecords, attribute: str, rows: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """Return the level of an attribute per record; None if strategies are not levels."""
    attributes = list(shared.source.columns.column_of)
    place, names = pd.factorize(shared.forms.strategies.iloc[rows])
    parts = [str(name).split(",") for name in names]
    if not all(len(levels) == len(attributes) and all(map(str.isdigit, levels)) for levels in parts):
        return None
    return np.array([int(levels[attributes.index(attribute)]) for levels in parts])[place]


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
        case Table():
            # The number of levels in the file is unknown here, so more names are given than needed.
            return [f"level {level} of its hierarchy file" for level in range(1, 100)]
        case _:
            return ()


def highest_risk(run: StoredRun, shown: Sequence[str] | None = None) -> dict[str, Any] | None:
    """Return the values of the template `highest_risk`.

    For each policy, they contain the cells (combinations of released values) with the highest success probability of an
    attack; among equals, cells with more people come first.

    Parameters
    ----------
    run : StoredRun
    shown : sequence of str, optional
        Policies to show; all if not given.

    Returns
    -------
    dict or None
        None if the run keeps no released values, or its kind or version of scenario is not installed.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    records = run.table_with("records", {"success_probability"})
    attributes = [name for name in run.attributes if name in records.columns]
    if records.empty or run.kind is None or not attributes:
        return None
    try:
        scenario = validated(run.kind.schema, run.content, run.name)
        policies = policies_of(run) if shown is None else shown
    except InputError:
        return None
    rows: list[list[Cell]] = []
    for policy in policies:
        forms = chosen_forms(run, run.kind, scenario, attributes, policy)
        person = records.loc[records["policy"] == policy, PERSON].to_numpy() if PERSON in records else None
        table = forms.labels.assign(success_=forms.success, person_=forms.labels.index if person is None else person)
        groups = table[forms.shared].groupby(attributes, sort=False, observed=True)
        cells = groups.agg(success_=("success_", "max"), person_=("person_", "nunique")).reset_index()
        order = ["rounded_", "person_"]
        worst = cells.assign(rounded_=cells["success_"].round(12)).sort_values(order, ascending=False, kind="stable")
        for row in worst.head(_MOST_CELLS).to_dict("records"):
            values = [f"{name} {row[name] or '(empty)'}" for name in attributes if row[name] != SUPPRESSED]
            words = shortened(", ".join(values)) if values else "all values suppressed"
            rows.append([Code(policy), words, f"{row['person_']:,}", f"{row['success_']:.4f}"])
    return {"unit": run.units[0], "units": run.units, "rows": rows, "most": _MOST_CELLS} if rows else None
