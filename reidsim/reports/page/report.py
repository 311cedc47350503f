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
from reidsim.reports.page.answer import Extras, answer_blocks, mean_payoffs
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
from reidsim.reports.page.break_even import break_even_blocks, break_even_of
from reidsim.reports.page.captions import DECISION_FIGURES, LIMITS, MAIN_COLUMNS, figure_caption, table_caption
from reidsim.reports.page.highest_risk import cell_blocks
from reidsim.reports.page.question import question_blocks
from reidsim.reports.page.release_audit import audit_blocks
from reidsim.reports.page.repeat import command_of, named_files, repeating_command
from reidsim.reports.page.risk_distribution import risk_blocks
from reidsim.reports.page.stored_run import StoredRun, open_results
from reidsim.reports.shared.releases import releases_of
from reidsim.scenarios.people import unit_sentence
from reidsim.scenarios.study import Progress
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
# The first of the parts that are left out on paper.
_SCREEN_ONLY = "Appendix: further figures"
# Longest run whose game is solved at other losses unasked; the report then takes a minute or two.
_MOST_SECONDS = 5.0
# Tables told elsewhere on the page.
_TOLD = ("runs", "records", "reidentified")


def write_report(
    folder: str | Path,
    output: str | Path | None = None,
    *,
    file_format: Format | None = None,
    scenario_file: str | Path | None = None,
    cells: bool = True,
    author: str = "",
    institution: str = "",
    shared_file: str | Path | None = None,
    break_even: bool | None = None,
    progress: Progress | None = None,
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
        Whether to show sample rows and list the cells at the highest risk, with the values in them.
    author, institution : str
        Who prepared it, as its head says beside the date; left out if empty.
    shared_file : str or Path, optional
        File that `share` wrote of this run; without it, the newest one in or beside the results folder is taken.
    break_even : bool, optional
        Whether to solve the game at other losses, which takes 10 to 25 times as long as the run; if not given, this is
        done for runs of at most 5 seconds.
    progress : callable, optional
        Called with the task, and how much of it is done.

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
        institution=institution, beside=beside, shared_file=shared_file, break_even=break_even, progress=progress,
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
    shared_file: str | Path | None = None,
    break_even: bool | None = None,
    progress: Progress | None = None,
) -> str:
    """Return the report of a results folder as text.

    Parameters
    ----------
    folder, scenario_file, cells, author, institution, shared_file, break_even, progress
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
    page = report_page(
        open_results(Path(folder)), scenario, cells=cells, by=by, break_even=break_even, progress=progress,
        shared_file=None if shared_file is None else Path(shared_file),
    )  # fmt: skip
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


def report_page(
    run: StoredRun,
    scenario_file: Path | None = None,
    *,
    cells: bool = True,
    by: str = "",
    shared_file: Path | None = None,
    break_even: bool | None = None,
    progress: Progress | None = None,
) -> Page:
    """Return the report of a run: the decision on the first sheet, then the material to check it.

    Parameters
    ----------
    run : StoredRun
    scenario_file, cells, shared_file, break_even, progress
        As of `write_report`.
    by : str
        Who prepared it.

    Raises
    ------
    InputError
        If a file of the results cannot be read, or `shared_file` is not of this run.
    """
    problems: list[str] = []
    extras = _extras(run, problems, cells=cells, shared_file=shared_file, break_even=break_even, progress=progress)
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
    shown = None if extras.releases is None else [extras.releases.to_sign(mean_payoffs(run))]
    stated, defaults = assumption_blocks(run, scenario_file)
    told: list[tuple[str, Iterator[Block]]] = [
        ("Decision", answer_blocks(run, extras)),
        ("Warnings", _warnings(run, problems)),
        ("What was asked", question_blocks(run)),
        ("Break-even losses", break_even_blocks(extras.break_even, run.units[0])),
        ("Figures", _figures(run, [name for name in run.figures if name in DECISION_FIGURES])),
        ("Risk of single records", risk_blocks(run)),
        (_CELLS, cell_blocks(run, shown) if cells else iter(())),
        ("The release, read back", audit_blocks(extras.releases)),
        ("Assumptions and their sources", stated),
        ("Limits", iter([Bullets(tuple((limit,) for limit in LIMITS))])),
        ("Appendix: measures", _measures(run)),
        ("Appendix: repeat the run", _repeat(run)),
        (_SCREEN_ONLY, _figures(run, [name for name in run.figures if name not in DECISION_FIGURES])),
        ("Appendix: further tables", _tables(run)),
        ("Appendix: defaults", defaults),
        ("Appendix: the scenario as run", iter([Listing(toml_text(run.content), "toml")])),
    ]
    parts = [(text, found) for text, found in ((text, list(found)) for text, found in told) if found]
    if cells and (extras.releases is not None or any(text == _CELLS for text, _ in parts)):
        subtitles += ("Confidential: as sensitive as the records, because it shows values (--no-cells omits them)",)
    names = [text for text, _ in told]
    on_paper = names[: names.index(_SCREEN_ONLY)]
    blocks: list[Block] = []
    for text, found in parts:
        blocks += [Heading(text, screen_only=text not in on_paper), *found]
    return Page(heading, subtitles, tuple(blocks))


def _extras(
    run: StoredRun,
    problems: list[str],
    *,
    cells: bool,
    shared_file: Path | None,
    break_even: bool | None,
    progress: Progress | None,
) -> Extras:
    """Compute the read-back and the break-even, and note why either is missing."""
    releases = even = None
    try:
        releases = releases_of(run, shared_file)
    except InputError as error:
        if shared_file is not None:
            raise
        problems.append(f"The records as released were not read back: {error}")
    seconds = float(run.manifest.get("timings_seconds", {}).get("play", 0.0))
    if break_even is None and seconds > _MOST_SECONDS:
        problems.append(
            f"No break-even was computed, as the run took {seconds:,.0f} seconds: reidsim report --break-even solves "
            "the game at other losses, in 10 to 25 times as long."
        )
    elif break_even is not False:
        try:
            even = break_even_of(run, progress)
        except InputError as error:
            problems.append(f"No break-even was computed: {error}")
    return Extras(releases, even, cells)


def _warnings(run: StoredRun, problems: Sequence[str]) -> Iterator[Block]:
    for problem in problems:
        yield paragraph(problem, kind="warning")
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
    else:
        yield paragraph(
            "Save the scenario as run (the last part of the page on screen) as ",
            Code(f"{run.name}.toml"),
            " and run it:",
        )
        words = ["reidsim", *command_of(run), shlex.quote(f"{run.name}.toml")]
        yield Listing(f"{' '.join(words)}\n", "sh")
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
