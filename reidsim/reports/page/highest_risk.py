"""The cells at the highest risk: combinations of values as released, and how many people are in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.reports.page.blocks import Block, Cell, Table, paragraph, shortened
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.shared.forms import ChosenForms, chosen_forms, policies_of
from reidsim.scenarios.people import PERSON
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import validated
from reidsim.wording import Code

# Cells of each policy that are shown.
MOST_CELLS = 8


def quasi_identifiers(run: StoredRun) -> list[str]:
    """Return the attributes whose released values stand in the table of records."""
    return [name for name in run.attributes if name in run.records.columns]


def cell_blocks(run: StoredRun, shown: Sequence[str] | None = None) -> Iterator[Block]:
    """Yield, by policy, the cells in which an attack would succeed most probably.

    Parameters
    ----------
    run : StoredRun
    shown : sequence of str, optional
        Policies; all if not given.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    if "records" not in run.tables or run.kind is None or "success_probability" not in run.records.columns:
        return
    attributes = quasi_identifiers(run)
    try:
        scenario: ScenarioHead = validated(run.kind.schema, run.content, run.name)
        policies = policies_of(run) if shown is None else shown
    except InputError:
        # Results of former versions, and of batches, are told without their records.
        return
    if not attributes:
        return
    rows: list[list[Cell]] = []
    for policy in policies:
        forms = chosen_forms(run, run.kind, scenario, attributes, policy)
        rows += _cells(policy, forms, _people(run, policy))
    if not rows:
        return
    yield paragraph(
        "Cells are combinations of quasi-identifiers as released. Listed are those in which an attack on a "
        f"{run.units[0]} would most probably succeed, whether or not this scenario's adversary attacks. A cell of few "
        "people can identify them: omit this list (",
        Code("--no-cells"),
        ") for readers who may not see the records.",
    )
    yield Table(
        ["Policy", "Cell as released", f"{run.units[1].capitalize()} in it", "Success probability"],
        rows,
        f"The {MOST_CELLS} cells at the highest risk, by policy; the largest first among equals",
        text_columns=frozenset({0, 1}),
    )


def _people(run: StoredRun, policy: str) -> NDArray[np.integer] | None:
    """Return the person of each record, where people are counted, shape (n_records,)."""
    if PERSON not in run.records.columns:
        return None
    return run.records.loc[run.records["policy"] == policy, PERSON].to_numpy()


def _cells(policy: str, forms: ChosenForms, people: NDArray[np.integer] | None) -> Iterator[list[Cell]]:
    shared = forms.labels[forms.shared]
    if shared.empty:
        return
    who = np.arange(len(forms.labels)) if people is None else people
    cell = shared.groupby(list(shared.columns), sort=False, observed=True).ngroup().to_numpy()
    outcomes = pd.DataFrame({"cell": cell, "success": forms.success[forms.shared], "who": who[forms.shared]})
    found = outcomes.groupby("cell", observed=True).agg(highest=("success", "max"), size=("who", "nunique"))
    labels = shared.drop_duplicates().reset_index(drop=True)
    order = np.lexsort([-found["size"].to_numpy(), -found["highest"].round(12).to_numpy()])
    for at in order[:MOST_CELLS].tolist():
        size, highest = found["size"].iloc[at], found["highest"].iloc[at]
        yield [Code(policy), _in_words(labels.iloc[at], list(labels.columns)), f"{size:,}", f"{highest:.4f}"]


def _in_words(row: pd.Series[str], attributes: list[str]) -> str:
    told = [f"{name} {row[name] or '(empty)'}" for name in attributes if row[name] != SUPPRESSED]
    return shortened(", ".join(told)) if told else "everything suppressed"
