"""List the cells at the highest risk, with their released values and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reidsim.errors import InputError
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.forms import ChosenForms, chosen_forms, policies_of
from reidsim.reports.writer import Cell, Table, shortened
from reidsim.scenarios.people import PERSON
from reidsim.validation import validated
from reidsim.wording import Code

# Maximum number of cells shown per policy.
MOST_CELLS = 8


def highest_risk(run: StoredRun, shown: Sequence[str] | None = None) -> dict[str, Any] | None:
    """Return the values of the template `highest_risk`.

    For each policy, they contain the `MOST_CELLS` cells (combinations of released values) with the highest success
    probability of an attack; among equals, cells with more people come first.

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
    if "records" not in run.tables or run.kind is None or "success_probability" not in run.records.columns:
        return None
    records = run.records
    attributes = [name for name in run.attributes if name in records.columns]
    try:
        scenario = validated(run.kind.schema, run.content, run.name)
        policies = policies_of(run) if shown is None else shown
    except InputError:
        return None
    rows: list[list[Cell]] = []
    for policy in policies if attributes else ():
        forms = chosen_forms(run, run.kind, scenario, attributes, policy)
        people = records.loc[records["policy"] == policy, PERSON].to_numpy() if PERSON in records else None
        rows += _cells(forms, np.arange(len(forms.labels)) if people is None else people)
    header = ["Policy", "Cell as released", f"{run.units[1].capitalize()} in the cell", "Success probability"]
    caption = f"The {MOST_CELLS} cells at the highest risk, by policy; among equal risks, the largest cell first"
    return {"unit": run.units[0], "table": Table(header, rows, caption, frozenset({0, 1}))} if rows else None


def _cells(forms: ChosenForms, person: np.ndarray) -> Iterator[list[Cell]]:
    shared = forms.labels[forms.shared]
    if shared.empty:
        return
    attributes = list(shared.columns)
    table = shared.assign(success_=forms.success[forms.shared], person_=person[forms.shared])
    cells = table.groupby(attributes, sort=False, observed=True).agg(
        success_=("success_", "max"), person_=("person_", "nunique")
    )
    cells = cells.reset_index().assign(rounded_=lambda cells: cells["success_"].round(12))
    worst = cells.sort_values(["rounded_", "person_"], ascending=False, kind="stable").head(MOST_CELLS)
    for row in worst.to_dict("records"):
        values = [f"{name} {row[name] or '(empty)'}" for name in attributes if row[name] != SUPPRESSED]
        words = shortened(", ".join(values)) if values else "all values suppressed"
        yield [Code(forms.policy), words, f"{row['person_']:,}", f"{row['success_']:.4f}"]
