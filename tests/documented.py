"""What tests of documentation pages share: the text under headings, tables by key, and the schema's sections."""

import re
from pathlib import Path
from typing import get_args

from reidsim.validation import Section

DOCS = Path(__file__).resolve().parents[1] / "docs"


def tables_described(text):
    """Return the names in the item of a list that starts with a table, by table; those with dots are keys."""
    found = {}
    for item in re.findall(r"^- (?:`\w+\.parquet`(?:, )?)+.*(?:\n  .*)*", text, re.MULTILINE):
        names = re.findall(r"`([\w.]+)`", item)
        tables = [name.removesuffix(".parquet") for name in names if name.endswith(".parquet")]
        assert not found.keys() & set(tables)
        found |= {table: {name for name in names if "." not in name} for table in tables}
    return found


def explained_once():
    """Return the columns that mean the same in every table: measures, and those under Columns in docs/results.md."""
    measures = re.findall(r"^- `(\w+)`", (DOCS / "reference" / "measures.md").read_text(encoding="utf-8"), re.MULTILINE)
    shared = rows_of(parts((DOCS / "results.md").read_text(encoding="utf-8"))["Columns"], "column")
    return {*measures, *re.findall(r"`(\w+)`", "".join(shared))}


def assert_columns_are_described(named, columns):
    """Assert that the columns of a table are those that a page names, but for those that are explained once."""
    assert named - explained_once() <= set(columns)
    assert set(columns) - named <= explained_once()


def parts(text):
    """Return the text under each heading, by heading without code marks."""
    found = {}
    for part in re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        assert heading not in found
        found[heading.replace("`", "")] = body
    return found


def rows_of(text, first):
    """Return the rows of the table whose first column has this name: the other cells by key; columns may be a list."""
    rows, inside = {}, False
    if first == "column":
        rows = {key: [meaning] for key, meaning in re.findall(r"^- (`.+?`(?:, `.+?`)*): (.+)$", text, re.MULTILINE)}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        inside = bool(cells) and (inside or cells[0] == first)
        if inside and cells[0].startswith("`"):
            assert cells[0] not in rows
            rows[cells[0]] = cells[1:]
    return rows


def inner_sections(annotation):
    """Return the section classes in the annotation of a key."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [found for argument in get_args(annotation) for found in inner_sections(argument)]


def literals(annotation):
    """Return the values that the annotation of a key names, as text."""
    if str(getattr(annotation, "__origin__", "")) == "typing.Literal":
        return {str(argument) for argument in get_args(annotation)}
    return {value for argument in get_args(annotation) for value in literals(argument)}
