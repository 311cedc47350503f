"""The tables that describe a file of people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from reidsim.linkage.k_anonymity import THRESHOLDS
from reidsim.reports.description import FileDescription

_METHOD_NAMES = {"pitman": "Pitman", "ewens": "Ewens", "zayatz": "Zayatz"}


def description_tables(description: FileDescription) -> Iterator[Table]:
    """Lay out what a file holds in tables that fit 80 characters."""
    yield _overview(description)
    yield _attributes(description)
    yield _group_sizes(description)
    yield _thresholds(description)
    if description.estimates:
        yield _uniqueness(description)


def _overview(description: FileDescription) -> Table:
    profile = description.profile
    table = _table(description.title or description.path.name)
    table.add_column("")
    table.add_column("", justify="right")
    table.show_header = False
    one, several = _units(description)
    table.add_row("Records", f"{description.records:,}")
    if description.people is not None:
        table.add_row("People", f"{description.people:,}")
    table.add_row("Cells (combinations that occur)", f"{description.cells:,}")
    table.add_row(f"Unique {several}", f"{description.uniques:,} ({profile.unique_share:.2%})")
    table.add_row("Smallest group (k)", f"{profile.smallest:,}")
    table.add_row(f"Median group size of a {one}", f"{profile.median:,g}")
    table.add_row("Risk of a uniform guess: highest", f"{profile.highest_risk:.4f}")
    table.add_row("Risk of a uniform guess: average", f"{profile.average_risk:.4f}")
    if description.population_size is None:
        table.caption = (
            "the file is taken as the population: its uniques are the population's (of a sample, give "
            "--population-size)"
        )
    else:
        table.caption = f"the file is taken as a sample of {description.population_size:,} people"
    return table


def _attributes(description: FileDescription) -> Table:
    table = _table("Attributes")
    table.add_column("")
    table.add_column("Distinct values", justify="right")
    table.add_column("Records without", justify="right")
    for attribute in description.attributes:
        missing = f"{attribute.missing:,} ({attribute.missing / description.records:.2%})"
        table.add_row(Text(attribute.name), f"{attribute.distinct:,}", missing if attribute.missing else "-")
    if any(attribute.missing for attribute in description.attributes):
        table.caption = "a missing value is a value of its own: it agrees with missing values only"
    return table


def _group_sizes(description: FileDescription) -> Table:
    several = _units(description)[1]
    table = _table("Records that look alike" if description.people is None else "People by their smallest group")
    for name in ("Group size", "Cells", several.capitalize(), f"Share of {several}"):
        table.add_column(name, justify="right")
    for band in description.profile.bands():
        if band.records:
            cells = description.frequencies.groups_between(band.smallest, band.largest)
            table.add_row(_range(band.smallest, band.largest), f"{cells:,}", f"{band.records:,}", f"{band.share:.2%}")
    return table


def _thresholds(description: FileDescription) -> Table:
    table = _table(f"{_units(description)[1].capitalize()} in groups smaller than k")
    table.add_column("k =")
    for k in THRESHOLDS:
        table.add_column(str(k), justify="right")
    table.add_row("Share", *(f"{description.profile.share_below(k):.2%}" for k in THRESHOLDS))
    return table


def _uniqueness(description: FileDescription) -> Table:
    table = _table("Unique in the population")
    table.add_column("")
    table.add_column("Expected people", justify="right")
    table.add_column("P(unique | unique in file)", justify="right")
    for estimate in description.estimates:
        uniques = f"{estimate.uniques_low:,.0f} to {estimate.uniques_high:,.0f}"
        table.add_row(
            _METHOD_NAMES[estimate.method],
            f"{estimate.expected_uniques:,.0f}\n({uniques})",
            f"{estimate.p_unique_given_sample_unique:.4f}\n({estimate.low:.4f} to {estimate.high:.4f})"
            if estimate.sample_uniques
            else "-",
        )
    notes: dict[str, str] = {}
    for estimate in description.estimates:
        name = _METHOD_NAMES[estimate.method]
        if estimate.note:
            notes[estimate.note] = f"{notes[estimate.note]}, {name}" if estimate.note in notes else name
    level = description.estimates[0].level
    caption = [] if level == 1 else [f"in brackets: {level:.0%} confidence intervals, if the method's model holds"]
    table.caption = "\n".join([*caption, *(f"{names}: {note}" for note, names in notes.items())])
    return table


def _units(description: FileDescription) -> tuple[str, str]:
    """Return what is counted, one and several."""
    return ("record", "records") if description.people is None else ("person", "people")


def _table(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", caption_justify="left")


def _range(smallest: int, largest: int | None) -> str:
    if largest is None:
        return f"{smallest:,} or more"
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
