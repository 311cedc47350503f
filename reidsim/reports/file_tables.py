"""Lay out the description and the draft of a file of people as terminal tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from reidsim.drafts.draft import COLUMNS_FILE, Draft, in_a_line
from reidsim.drafts.profile import ColumnProfile
from reidsim.linkage.group_frequencies import THRESHOLDS
from reidsim.linkage.uniqueness.log_linear import Uniqueness
from reidsim.reports.description import FileDescription
from reidsim.reports.terminal import titled_table

# Maximum number of columns of a draft shown per use; the column file lists all.
_SHOWN = 12
_LONGEST_NAME = 24
_METHOD_NAMES = {
    "log-linear-independence": "Independence",
    "log-linear": "Some pairs",
    "log-linear-pairs": "All pairs",
    "benedetti-franconi": "Ben.-Franconi",
    "pitman": "Pitman",
    "ewens": "Ewens",
    "zayatz": "Zayatz",
}


def draft_table(draft: Draft, title: str) -> Table:
    """Return a terminal table with one row per column of a drafted file.

    It has the column's type, number of values, number of missing values, and use. Quasi-identifiers come first, then
    direct identifiers, columns that an adversary may know nevertheless, and others, at most 12 of each; the caption
    counts the remaining columns.
    """
    by_use: dict[str, list[ColumnProfile]] = {"quasi-identifier": [], "direct": [], "possible": [], "other": []}
    for profile in draft.profiles:
        use = "possible" if profile.name in draft.choice.possible else "direct" if profile.is_direct else "other"
        by_use["quasi-identifier" if profile.name in draft.choice.names else use].append(profile)
    rows = []
    for use, profile in ((use, profile) for use, profiles in by_use.items() for profile in profiles[:_SHOWN]):
        name = Text(in_a_line(profile.name, _LONGEST_NAME) or "(no name)")
        taken = use if use == "quasi-identifier" else "left out"
        rows.append([name, profile.kind, f"{profile.distinct:,}", f"{profile.missing:,}", taken])
    more = f" and {len(draft.profiles) - len(rows):,} more columns" if len(rows) < len(draft.profiles) else ""
    caption = f"{draft.records:,} records; {COLUMNS_FILE} gives reasons{more}"
    columns = ("column", "type", "values", "missing", "use")
    table = titled_table(in_a_line(title), columns, caption, ("type", "use"), rows)
    table.box, table.title_style = box.SQUARE, ""
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].max_width = False, "fold", _LONGEST_NAME
    return table


def description_tables(description: FileDescription) -> Iterator[Table]:
    """Yield the tables of a file description, each at most 80 characters wide.

    They show the size of the file and its risk, the attributes, the group sizes, and the share of records (or people)
    in groups smaller than usual thresholds; for a sample, also the uniqueness in the population.
    """
    profile, people = description.profile, description.people
    one, several = ("record", "records") if people is None else ("person", "people")
    facts = {
        "Records": f"{description.records:,}",
        **({} if people is None else {"People": f"{people:,}"}),
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
    yield table
    rows: list[list[str | Text]] = [
        [Text(of.name), f"{of.distinct:,}", f"{of.missing:,} ({of.missing / description.records:.2%})"]
        if of.missing
        else [Text(of.name), f"{of.distinct:,}", "-"]
        for of in description.attributes
    ]
    separate = any(attribute.missing for attribute in description.attributes)
    caption = "a missing value counts as a separate value, which matches only missing values" if separate else ""
    yield titled_table("Attributes", ["", "Distinct values", "Records without"], caption, rows=rows)
    title = "Records by group size" if people is None else "People by smallest group size"
    table = titled_table(title, ["Group size", "Cells", several.capitalize(), f"Share of {several}"])
    table.columns[0].justify = "right"
    for band in filter(lambda band: band.records, profile.bands()):
        low, high = band.smallest, band.largest
        sizes = f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,} to {high:,}"
        cells = description.frequencies.groups_between(low, high)
        table.add_row(sizes, f"{cells:,}", f"{band.records:,}", f"{band.share:.2%}")
    yield table
    shares = ["Share", *(f"{profile.share_below(k):.2%}" for k in THRESHOLDS)]
    yield titled_table(f"{several.capitalize()} in groups smaller than k", ["k =", *THRESHOLDS], rows=[shares])
    if description.uniqueness is not None:
        yield from _of_population(description.uniqueness)


def _of_population(uniqueness: Uniqueness) -> Iterator[Table]:
    """Yield tables of population uniqueness and of risk, with a row per method.

    The risk is that of a uniform guess, by estimated group sizes.
    """
    table = titled_table("Unique in the population", ["", "Expected people", "P(unique | unique in file)"])
    notes: dict[str, list[str]] = {}
    for estimate in uniqueness.estimates:
        name = _METHOD_NAMES[estimate.method]
        numbers = f"{estimate.expected_uniques:,.0f}\n({estimate.uniques_low:,.0f} to {estimate.uniques_high:,.0f})"
        share = f"{estimate.p_unique_given_sample_unique:.4f}\n({estimate.low:.4f} to {estimate.high:.4f})"
        table.add_row(name, numbers, share if estimate.sample_uniques else "-")
        if estimate.note:
            notes.setdefault(estimate.note, []).append(name)
    level = uniqueness.estimates[0].level
    caption = [] if level == 1 else [f"in brackets: {level:.0%} confidence intervals, if the method's model holds"]
    caption += [f"{', '.join(names)}: {note}" for note, names in notes.items()]
    table.caption = "\n".join([*caption, f"recommended: {_METHOD_NAMES[uniqueness.taken]}; {uniqueness.reason}"])
    yield table
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
    yield table
