"""Describe a release: treatment of columns, sample rows, audits and risky cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import why_identifying
from reidsim.errors import InputError
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.audited import DEFINITION, Release, audit_warnings, by_fitting_rows
from reidsim.reports.shared.records import ChosenForms, SharedRecords, chosen_forms, policies_of
from reidsim.reports.shared.releases import Releases
from reidsim.reports.writer import Cell, odds, shortened
from reidsim.scenarios.hierarchy_schema import Dates, Groups, Intervals, Prefix, Table
from reidsim.scenarios.people import PERSON
from reidsim.validation import validated
from reidsim.wording import Code, counted

SAMPLES = 3
# Maximum number of other columns on the first page, and of columns in the appendix.
_MOST_ON_FIRST_PAGE, _MOST_IN_APPENDIX = 12, 60
# Maximum number of policies audited on the first page, and of cells shown per policy.
_POLICIES_SHOWN, _MOST_CELLS = 4, 8
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
    attribute_of = {column: attribute for attribute, column in source.columns.column_of.items()}
    rows: list[tuple[str, list[Cell]]] = []
    for column in map(str, source.frame.columns):
        attribute = attribute_of.get(column)
        if attribute is not None:
            name = column if source.columns.header else attribute
            of_sample = _changes(shared, column, name, places)
            rows.append(("changed", [Code(column), treatment(shared, attribute), *of_sample]))
        elif column in shared.kept_columns:
            reason = shared.declared.get(column)
            declared = f"; declared unknown to outsiders: {reason}" if reason else ""
            rows.append(("kept", [Code(column), f"kept as it is{declared}", *["unchanged"] * len(places)]))
        else:
            why = why_identifying(column, source.frame[column], source.persons)
            said = f"omitted: direct identifier ({why})" if why else "omitted"
            rows.append(("omitted", [Code(column), said, *["omitted"] * len(places)]))
    changed, kept, omitted = ([row for of, row in rows if of == way] for way in ("changed", "kept", "omitted"))
    others = [*kept, *omitted]
    is_wide = len(others) > _MOST_ON_FIRST_PAGE
    more_kept = max(0, len(kept) - _MOST_IN_APPENDIX)
    return {
        "header": ["Column", "In the release", *(f"Sample row {at}" for at in range(1, len(places) + 1))],
        "shown": changed if is_wide else [*(row for of, row in rows if of != "omitted"), *omitted],
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
    labels, truth = (
        table[attribute].iloc[rows].astype(str).to_numpy() for table in (shared.forms.labels, shared.source.truth)
    )
    levels, names = _levels(shared, attribute, rows), _level_names(shared, attribute)
    generalized = np.full(len(rows), "generalized", dtype=object)
    if levels is not None and names:
        # The level above the named levels is suppression.
        words = np.array([f"generalized to {name}" for name in ("", *names)] + ["generalized"], dtype=object)
        generalized = words[np.minimum(levels, len(words) - 1)]
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


def read_back_rows(releases: Releases, payoffs: Mapping[str, float]) -> dict[str, Any]:
    """Return the audits of the best releases, for template `read_back_table`."""
    ranked = releases.ranked(payoffs)
    rows: list[list[Cell]] = []
    for policy in ranked[:_POLICIES_SHOWN]:
        counts = releases.by_policy[policy]
        keys = ("smallest_class", "people_who_fit_one_alone", "people_more_exposed_than_promised")
        within = "yes" if releases.is_within_limit(policy) else "NO"
        numbers = [_number(counts.audit[key]) for key in keys]
        rows.append([Code(policy), *numbers, odds(counts.risk.record), odds(counts.risk.person), within])
    kept = sorted({name for policy in ranked for name in releases.by_policy[policy].shared.kept_columns})
    return {"rows": rows, "kept": kept}


def release_audit(releases: Releases) -> dict[str, Any]:
    """Return the values of the template `release_audit`: other counts and warnings."""
    rows: list[list[Cell]] = []
    warnings: list[str] = []
    for name, release in releases.by_policy.items():
        audit = release.audit
        fewest = (_number(audit[key]) for key in ("fewest_people_of_a_row", "fewest_rows_of_a_person"))
        rows.append([Code(name), *fewest, by_fitting_rows(audit)])
        warnings += audit_warnings(audit, name, release.shared.forms.highest_risk)
    return {"definition": DEFINITION, "rows": rows, "warnings": warnings}


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "-"


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
        people = records.loc[records["policy"] == policy, PERSON].to_numpy() if PERSON in records else None
        rows += _cells(forms, np.arange(len(forms.labels)) if people is None else people)
    return {"unit": run.units[0], "units": run.units, "rows": rows, "most": _MOST_CELLS} if rows else None


def _cells(forms: ChosenForms, person: NDArray[Any]) -> Iterator[list[Cell]]:
    attributes = list(forms.labels.columns)
    table = forms.labels.assign(success_=forms.success, person_=person)[forms.shared]
    groups = table.groupby(attributes, sort=False, observed=True)
    cells = groups.agg(success_=("success_", "max"), person_=("person_", "nunique")).reset_index()
    cells["rounded_"] = cells["success_"].round(12)
    worst = cells.sort_values(["rounded_", "person_"], ascending=False, kind="stable").head(_MOST_CELLS)
    for row in worst.to_dict("records"):
        values = [f"{name} {row[name] or '(empty)'}" for name in attributes if row[name] != SUPPRESSED]
        words = shortened(", ".join(values)) if values else "all values suppressed"
        yield [Code(forms.policy), words, f"{row['person_']:,}", f"{row['success_']:.4f}"]
