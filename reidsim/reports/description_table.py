"""Lay out the description of a file of people as terminal tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.table import Table
from rich.text import Text

from reidsim.linkage.k_anonymity import THRESHOLDS
from reidsim.linkage.uniqueness.of_sample import Uniqueness
from reidsim.reports.description import FileDescription
from reidsim.reports.terminal_table import titled_table

_METHOD_NAMES = {
    "log-linear-independence": "Independence",
    "log-linear": "Some pairs",
    "log-linear-pairs": "All pairs",
    "benedetti-franconi": "Ben.-Franconi",
    "pitman": "Pitman",
    "ewens": "Ewens",
    "zayatz": "Zayatz",
}


def description_tables(description: FileDescription) -> Iterator[Table]:
    """Yield the tables of a file description, each at most 80 characters wide."""
    yield _overview(description)
    yield _attributes(description)
    yield _group_sizes(description)
    yield _thresholds(description)
    if description.uniqueness is not None:
        yield _uniqueness(description.uniqueness)
        yield _groups(description.uniqueness)


def _overview(description: FileDescription) -> Table:
    profile = description.profile
    one, several = _units(description)
    people = {} if description.people is None else {"People": f"{description.people:,}"}
    facts = {
        "Records": f"{description.records:,}",
        **people,
        "Cells (combinations that occur)": f"{description.cells:,}",
        f"Unique {several}": f"{description.uniques:,} ({profile.unique_share:.2%})",
        "Smallest group (k)": f"{profile.smallest:,}",
        f"Median group size of a {one}": f"{profile.median:,g}",
        "Risk of a uniform guess: highest": f"{profile.highest_risk:.4f}",
        "Risk of a uniform guess: average": f"{profile.average_risk:.4f}",
    }
    caption = (
        "the file counts as the whole population: its uniques are population uniques (for a sample: --population-size "
        "or --weight)"
        if description.population_size is None
        else f"the file counts as a sample of {description.population_size:,} people"
    )
    table = titled_table(description.title or description.path.name, ["", "number"], caption, rows=facts.items())
    table.show_header = False
    return table


def _attributes(description: FileDescription) -> Table:
    table = titled_table("Attributes", ["", "Distinct values", "Records without"])
    for attribute in description.attributes:
        missing = f"{attribute.missing:,} ({attribute.missing / description.records:.2%})"
        table.add_row(Text(attribute.name), f"{attribute.distinct:,}", missing if attribute.missing else "-")
    if any(attribute.missing for attribute in description.attributes):
        table.caption = "a missing value counts as a separate value, which matches only missing values"
    return table


def _group_sizes(description: FileDescription) -> Table:
    several = _units(description)[1]
    title = "Records by group size" if description.people is None else "People by smallest group size"
    table = titled_table(title, ["Group size", "Cells", several.capitalize(), f"Share of {several}"])
    table.columns[0].justify = "right"
    for band in description.profile.bands():
        if band.records:
            cells = description.frequencies.groups_between(band.smallest, band.largest)
            table.add_row(_range(band.smallest, band.largest), f"{cells:,}", f"{band.records:,}", f"{band.share:.2%}")
    return table


def _thresholds(description: FileDescription) -> Table:
    title = f"{_units(description)[1].capitalize()} in groups smaller than k"
    shares = [f"{description.profile.share_below(k):.2%}" for k in THRESHOLDS]
    return titled_table(title, ["k =", *THRESHOLDS], rows=[["Share", *shares]])


def _uniqueness(uniqueness: Uniqueness) -> Table:
    table = titled_table("Unique in the population", ["", "Expected people", "P(unique | unique in file)"])
    for estimate in uniqueness.estimates:
        uniques = f"{estimate.uniques_low:,.0f} to {estimate.uniques_high:,.0f}"
        table.add_row(
            _METHOD_NAMES[estimate.method],
            f"{estimate.expected_uniques:,.0f}\n({uniques})",
            f"{estimate.p_unique_given_sample_unique:.4f}\n({estimate.low:.4f} to {estimate.high:.4f})"
            if estimate.sample_uniques
            else "-",
        )
    notes: dict[str, str] = {}
    for estimate in uniqueness.estimates:
        name = _METHOD_NAMES[estimate.method]
        if estimate.note:
            notes[estimate.note] = f"{notes[estimate.note]}, {name}" if estimate.note in notes else name
    level = uniqueness.estimates[0].level
    caption = [] if level == 1 else [f"in brackets: {level:.0%} confidence intervals, if the method's model holds"]
    taken = f"recommended: {_METHOD_NAMES[uniqueness.taken]}; {uniqueness.reason}"
    table.caption = "\n".join([*caption, *(f"{names}: {note}" for note, names in notes.items()), taken])
    return table


def _groups(uniqueness: Uniqueness) -> Table:
    cells = uniqueness.cells
    columns = ["Risk of a uniform guess", "Average", "Highest", "Unique in file"]
    table = titled_table("Groups in the population, estimated", columns)
    for method, risk in uniqueness.risks.items():
        alone = f"{risk[cells.unique].mean():.4f}" if cells.unique.any() else "-"
        average = float(np.average(risk, weights=cells.records))
        table.add_row(_METHOD_NAMES[method], f"{average:.4f}", f"{risk.max():.4f}", alone)
    order = np.argsort(cells.people)
    middle = np.searchsorted(np.cumsum(cells.records[order]), cells.records.sum() / 2)
    table.caption = (
        f"the records represent {cells.population_size:,.0f} people; estimated group sizes in the population: smallest "
        f"{cells.people.min():,.1f}, median over records {cells.people[order][middle]:,.1f}"
    )
    return table


def _units(description: FileDescription) -> tuple[str, str]:
    """Return the unit of counts, singular and plural."""
    return ("record", "records") if description.people is None else ("person", "people")


def _range(smallest: int, largest: int | None) -> str:
    if largest is None:
        return f"{smallest:,} or more"
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
