"""The report of a results folder, put together from whatever the folder holds."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from reidsim.errors import InputError
from reidsim.populations.files import require_new_file, write_new_file
from reidsim.reports.page.answer import answer_blocks
from reidsim.reports.page.as_html import as_html
from reidsim.reports.page.as_markdown import as_markdown
from reidsim.reports.page.assumptions import assumption_blocks
from reidsim.reports.page.blocks import (
    Block,
    Bullets,
    Cell,
    Figure,
    Heading,
    Listing,
    Page,
    Table,
    Term,
    paragraph,
    shortened,
)
from reidsim.reports.page.captions import DECISION_FIGURES, LIMITS, MAIN_COLUMNS, figure_caption, table_caption
from reidsim.reports.page.highest_risk import cell_blocks
from reidsim.reports.page.question import question_blocks
from reidsim.reports.page.release_audit import audit_blocks
from reidsim.reports.page.repeat import command_of, named_files, repeating_command
from reidsim.reports.page.risk_distribution import risk_blocks
from reidsim.reports.page.stored_run import StoredRun, open_results
from reidsim.scenarios.people import unit_sentence
from reidsim.toml_text import toml_text
from reidsim.wording import Code, Inline, codes, number_text

Format = Literal["html", "markdown"]
ENDINGS: Mapping[Format, str] = {"html": "html", "markdown": "md"}
# Endings of names that say how a file is written.
_FORMAT_OF: Mapping[str, Format] = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}

_POLICIES_A_TABLE = 4
# Longer or wider tables are named only.
_ROWS_SHOWN = 40
_COLUMNS_SHOWN = 14
_CELLS = "Cells at the highest risk"
# Tables told elsewhere on the page.
_TOLD = ("runs", "records")


def write_report(
    folder: str | Path,
    output: str | Path | None = None,
    *,
    file_format: Format | None = None,
    scenario_file: str | Path | None = None,
    cells: bool = True,
    author: str = "",
    institution: str = "",
) -> Path:
    """Write the report of a results folder.

    Parameters
    ----------
    folder : str or Path
        Results folder.
    output : str or Path, optional
        New file; ``report.html`` or ``report.md`` in the folder if not given.
    file_format : {"html", "markdown"}, optional
        That of the ending of `output` if not given, HTML if it has none of ``.html`` and ``.md``.
    scenario_file : str or Path, optional
        The scenario's file, for the comments behind its values; that of a bundled scenario is found.
    cells : bool
        Whether to list the cells at the highest risk, with the values in them.
    author, institution : str
        Who prepared it, as its head says beside the date; left out if empty.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the folder holds no results, a file in it cannot be read, the ending of `output` is that of another format,
        or the report exists or cannot be written.
    """
    folder = Path(folder)
    path = folder / f"report.{ENDINGS[file_format or 'html']}" if output is None else Path(output)
    file_format = _format_of(path, file_format)
    require_new_file(path)
    beside = path.absolute().parent
    text = report_text(
        folder, file_format=file_format, scenario_file=scenario_file, cells=cells, author=author,
        institution=institution, beside=beside,
    )  # fmt: skip
    write_new_file(path, text.encode())
    return path


def report_text(
    folder: str | Path,
    *,
    file_format: Format = "html",
    scenario_file: str | Path | None = None,
    cells: bool = True,
    author: str = "",
    institution: str = "",
    beside: str | Path = ".",
) -> str:
    """Return the report of a results folder as text.

    Parameters
    ----------
    folder, scenario_file, cells, author, institution
        As of `write_report`.
    file_format : {"html", "markdown"}
    beside : str or Path
        Folder from which a Markdown report names its figures.

    Raises
    ------
    InputError
        If the folder holds no results, or a file in it cannot be read.
    """
    by = ", ".join(text for text in (author, institution) if text)
    scenario = None if scenario_file is None else Path(scenario_file)
    page = report_page(open_results(Path(folder)), scenario, cells=cells, by=by)
    return as_html(page) if file_format == "html" else as_markdown(page, Path(beside).absolute())


def _format_of(path: Path, asked: Format | None) -> Format:
    """Return the format of a file: what was asked for, or what its ending says, which must not differ."""
    ending = _FORMAT_OF.get(path.suffix.lower())
    if asked is not None and ending is not None and asked != ending:
        raise InputError(
            "the name ends as of another format", source=path, where="--format", found=asked,
            expected=f"{ending}, or a name that ends in .{ENDINGS[asked]}",
        )  # fmt: skip
    return asked or ending or "html"


def report_page(run: StoredRun, scenario_file: Path | None = None, *, cells: bool = True, by: str = "") -> Page:
    """Return the report of a run; without the list of cells at the highest risk unless `cells`.

    The decision comes first, on a sheet of its own; what it takes to check it, after what it takes to make it.

    Raises
    ------
    InputError
        If a file of the results cannot be read.
    """
    title = run.content.get("title")
    heading = title if isinstance(title, str) and title else run.name
    made = run.manifest["versions"].get("reidsim", "")
    today = date.today()
    prepared = f"Prepared{f' by {by}' if by else ''} on {today.day} {today:%B %Y}"
    unit = unit_sentence(run.manifest)
    subtitles: tuple[str, ...] = (
        *((unit,) if unit else ()),
        prepared,
        f"Scenario {run.name}, seed {run.manifest.get('seed', 0)}, run with reidsim {made}",
    )
    stated, defaults = assumption_blocks(run, scenario_file)
    told: list[tuple[str, Iterator[Block]]] = [
        ("Decision", answer_blocks(run)),
        ("Warnings", _warnings(run)),
        ("What was asked", question_blocks(run)),
        ("Figures", _figures(run, [name for name in run.figures if name in DECISION_FIGURES])),
        ("Risk of single records", risk_blocks(run)),
        (_CELLS, cell_blocks(run) if cells else iter(())),
        ("The release, read back", audit_blocks(run)),
        ("Assumptions and their sources", stated),
        ("Limits", iter([Bullets(tuple((limit,) for limit in LIMITS))])),
        ("Appendix: measures", _measures(run)),
        ("Appendix: further figures", _figures(run, [name for name in run.figures if name not in DECISION_FIGURES])),
        ("Appendix: further tables", _tables(run)),
        ("Appendix: defaults", defaults),
        ("Appendix: repeat the run", _repeat(run)),
    ]
    parts = [(text, found) for text, found in ((text, list(found)) for text, found in told) if found]
    if any(text == _CELLS for text, _ in parts):
        subtitles += ("Confidential: as sensitive as the records, because it lists cells (--no-cells omits them)",)
    first_of_appendix = next(text for text, _ in parts if text.startswith("Appendix"))
    blocks: list[Block] = []
    for text, found in parts:
        blocks += [Heading(text, new_sheet=text in (parts[1][0], first_of_appendix)), *found]
    return Page(heading, subtitles, tuple(blocks))


def _warnings(run: StoredRun) -> Iterator[Block]:
    if run.n_unfinished:
        yield paragraph(f"{run.n_unfinished:,} rows of runs failed or were stopped and are left out.", kind="warning")
    for warning in run.manifest.get("warnings", []):
        yield paragraph(str(warning), kind="warning")


def _measures(run: StoredRun) -> Iterator[Block]:
    """Yield the table of measures: one row each, with its definition; one column per policy or knowledge."""
    measures = run.measures
    group = next((name for name in ("policy", "knowledge") if name in run.runs), None)
    if group is None or not measures:
        return
    sizes = run.runs["records"].unique() if group == "knowledge" and "records" in run.runs else [None]
    for size in sizes:
        runs = run.runs if size is None else run.runs[run.runs["records"] == size]
        means = runs.groupby(group, sort=False, observed=True)[list(measures)].mean()
        over = run.units[1] if size is None else f"persons, {size:,} records released"
        points = run.runs["point"].nunique() if "point" in run.runs else 1
        caption = f"Means over all {over}" + "".join(
            f" and over {number:,} {what}"
            for number, what in ((run.rounds, "rounds"), (points, "points"))
            if number > 1
        )
        for start in range(0, len(means), _POLICIES_A_TABLE):
            shown = means.iloc[start : start + _POLICIES_A_TABLE]
            rows: list[list[Cell]] = [
                [
                    # Definitions stand beside the first numbers.
                    measure.label if start else Term(measure.label, measure.definition),
                    *(measure.text(value) for value in shown[column]),
                ]
                for column, measure in measures.items()
            ]
            rows += _proofs(run, [str(name) for name in shown.index], defined=start == 0)
            yield Table(["", *(Code(str(name)) for name in shown.index)], rows, caption)


def _proofs(run: StoredRun, names: Sequence[str], *, defined: bool) -> list[list[Cell]]:
    facts = run.manifest.get("policies")
    if not isinstance(facts, Mapping) or not all(isinstance(facts.get(name), Mapping) for name in names):
        return []
    term = Term("Solver", "and whether the release is proved optimal under the publisher's beliefs")
    return [[term if defined else term.name, *(_proof(facts[name]) for name in names)]]


def _proof(facts: Mapping[str, Any]) -> str:
    solver = str(facts.get("solver", ""))
    return f"{solver}, proved best" if facts.get("proved_optimal") and solver != "fixed" else solver


def _figures(run: StoredRun, names: Sequence[str]) -> Iterator[Block]:
    for name in names:
        path, data = run.figures[name], run.picture(name)
        if data is None:
            yield paragraph("The figure ", Code(name), " is no PNG file and is left out.", kind="warning")
        else:
            yield Figure(path, data, figure_caption(name, run.kind))


def _tables(run: StoredRun) -> Iterator[Block]:
    """Yield the other tables of the folder: short ones whole; long ones, and those of single records, by name."""
    named: list[tuple[Inline, ...]] = []
    for name in run.tables:
        if name in _TOLD:
            continue
        table = run.table(name)
        told = "waves" if name == "rounds" and "wave" in table else name
        if set(MAIN_COLUMNS.get(told, ("",))) <= set(table.columns):
            table = table[list(MAIN_COLUMNS[told])]
        what = (Code(f"{name}.parquet"), f": {table_caption(told, run.kind)}, {len(table):,} rows")
        if _holds_records(run, table):
            named.append((*what, " about single records."))
        elif len(table) > _ROWS_SHOWN or len(table.columns) > _COLUMNS_SHOWN:
            named.append((*what, f" by {len(table.columns)} columns."))
        elif len(table):
            rows = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
            columns = [table[column] for column in table.columns]
            texts = frozenset(place for place, column in enumerate(columns) if not is_numeric_dtype(column))
            header = [Code(str(column)) for column in table.columns]
            yield Table(header, rows, table_caption(told, run.kind), text_columns=texts)
    if named:
        yield paragraph("The results folder also holds these tables, which are not shown here:")
        yield Bullets(tuple(named))


def _holds_records(run: StoredRun, table: pd.DataFrame) -> bool:
    """Tell whether a table shows values or outcomes of single records, which a report does not hand on."""
    return bool({"record", *run.attributes} & set(map(str, table.columns)))


def _cell(value: object) -> str:
    if value is None or value is pd.NaT or value is pd.NA:
        return "-"
    if isinstance(value, np.ndarray | list | tuple):
        return shortened(", ".join(_cell(entry) for entry in value))
    return shortened(number_text(value))


def _repeat(run: StoredRun) -> Iterator[Block]:
    versions = ", ".join(f"{name} {version}" for name, version in run.manifest["versions"].items())
    command = repeating_command(run)
    if command is not None:
        yield paragraph("This command repeats the run:")
        yield Listing(f"{command}\n", "sh")
        yield paragraph("The scenario as run, overrides included:")
    else:
        yield paragraph(
            "Save the scenario as run, overrides included, as ",
            Code(f"{run.name}.toml"),
            " and run it:",
        )
        words = ["reidsim", *command_of(run), shlex.quote(f"{run.name}.toml")]
        yield Listing(f"{' '.join(words)}\n", "sh")
    yield Listing(toml_text(run.content), "toml")
    files = named_files(run.content)
    if files:
        told = "It reads these files, by paths relative to the scenario file: "
        yield paragraph(told, *codes(files))
    yield paragraph(f"Versions: {versions}.")
    hashes = {"scenario": "scenario_hash", "data as coded": "data_hash"}
    for name, key in hashes.items():
        if isinstance(run.manifest.get(key), str):
            yield paragraph(f"SHA-256 of the {name}: ", Code(run.manifest[key]))
    yield paragraph("The same scenario, data, seed and versions give the same tables.")
