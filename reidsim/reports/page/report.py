"""Write the report of a results folder, with the decision on the first page."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from pandas.api.types import is_numeric_dtype

from reidsim.engine.switch.amounts import BreakEven
from reidsim.errors import InputError
from reidsim.populations.files import require_new_file, write_new_file
from reidsim.reports.captions import DECISION_FIGURES, MAIN_COLUMNS, figure_caption, table_caption
from reidsim.reports.page.assumptions import assumptions
from reidsim.reports.page.break_even import break_even_context, break_even_of
from reidsim.reports.page.decision import Extras, decision, mean_payoffs
from reidsim.reports.page.highest_risk import highest_risk
from reidsim.reports.page.question import question
from reidsim.reports.page.release_audit import release_audit
from reidsim.reports.page.repeat import command_of, named_files, repeating_command
from reidsim.reports.page.risk_distribution import risk_distribution
from reidsim.reports.page.stored_run import StoredRun, open_results
from reidsim.reports.shared.releases import Releases, releases_of
from reidsim.reports.writer import (
    Cell,
    Figure,
    Format,
    Table,
    Term,
    link_to,
    render,
    shortened,
    single_spaced,
)
from reidsim.scenarios.people import unit_sentence
from reidsim.scenarios.study import Progress
from reidsim.toml_text import toml_text
from reidsim.wording import Code, number_text

ENDINGS: Mapping[Format, str] = {"html": "html", "markdown": "md"}
_FORMAT_OF: Mapping[str, Format] = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
_POLICIES_A_TABLE = 4
# Tables with more rows or columns are only named.
_ROWS_SHOWN, _COLUMNS_SHOWN = 40, 14
# Longest run, in seconds, whose game is solved at other losses by default; the report then takes a minute or two.
_MOST_SECONDS = 5.0
# Tables that have their own sections.
_IN_SECTIONS = ("runs", "records", "reidentified")


class Section(NamedTuple):
    """Section of the report: heading, text, and whether it is printed on paper."""

    title: str
    body: Markup
    on_paper: bool


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
        Format of the report. By default, it follows the suffix of `output`, and is HTML for other suffixes.
    scenario_file : str or Path, optional
        Scenario file with comments on its values; by default, the copy stored with the run.
    cells : bool
        Whether to show sample rows and the cells at the highest risk, with their values.
    author, institution : str
        Author of the report and the author's institution, shown next to the date; omitted if empty.
    shared_file : str or Path, optional
        File written by `share` for this run. By default, the newest one in the results folder or its parent folder.
    break_even : bool, optional
        Whether to solve the game at other losses, which takes 10 to 25 times as long as the run. By default, this is
        done for runs of at most 5 seconds.
    progress : callable, optional
        Callback with the current task and the completed part of it.

    Returns
    -------
    Path
        Path of the report.

    Raises
    ------
    InputError
        If the folder contains no results, a file in it cannot be read, the suffix of `output` belongs to another
        format, or the report exists or cannot be written.
    """
    folder = Path(folder)
    path = folder / f"report.{ENDINGS[file_format or 'html']}" if output is None else Path(output)
    of_ending = _FORMAT_OF.get(path.suffix.lower())
    if file_format is not None and of_ending is not None and file_format != of_ending:
        raise InputError(
            "the file ending belongs to another format",
            source=path,
            where="--format",
            found=file_format,
            expected=f"{of_ending}, or a name that ends in .{ENDINGS[file_format]}",
        )
    require_new_file(path)
    text = report_text(
        folder,
        file_format=file_format or of_ending or "html",
        scenario_file=scenario_file,
        cells=cells,
        author=author,
        institution=institution,
        beside=path.absolute().parent,
        shared_file=shared_file,
        break_even=break_even,
        progress=progress,
    )
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
        See `write_report`.
    file_format : {"html", "markdown"}
    beside : str or Path
        Folder to which the links to figures in a Markdown report are relative.

    Raises
    ------
    InputError
        If the folder contains no results, or a file in it cannot be read.
    """
    run, link_from = open_results(Path(folder)), Path(beside).absolute()
    problems: list[str] = []
    extras = Extras(
        _releases(run, None if shared_file is None else Path(shared_file), problems),
        _break_even(run, break_even, problems, progress),
        cells,
    )
    stated, defaults = assumptions(run, None if scenario_file is None else Path(scenario_file))
    first = decision(run, extras)
    shown = None if extras.releases is None else [extras.releases.to_sign(mean_payoffs(run))]
    worst = highest_risk(run, shown) if cells else None
    others = first["columns"].others if first.get("columns") else None
    on_paper = {
        "Decision": ("decision", first),
        "Warnings": _parts(_warnings(run, problems), "warning"),
        "Question": ("question", question(run)),
        "Break-even losses": (
            "break_even",
            extras.break_even and break_even_context(extras.break_even, run.units[0], table=True),
        ),
        "Figures": _parts(_figures(run, link_from, main=True)),
        "Risk of single records": _parts(risk_distribution(run)),
        "Cells at the highest risk": ("highest_risk", worst),
        "The release, read back": ("release_audit", extras.releases and release_audit(extras.releases)),
        "Assumptions and their sources": ("assumptions", stated),
        "Limits": ("limits", {}),
        "Appendix: other columns": _parts(filter(None, [others])),
        "Appendix: measures": _parts(_measures(run)),
        "Appendix: repeat the run": ("repeat", _repeat(run)),
    }
    on_screen = {
        "Appendix: further figures": _parts(_figures(run, link_from, main=False)),
        "Appendix: further tables": ("tables", _tables(run)),
        "Appendix: defaults": _parts(filter(None, [defaults])),
        "Appendix: the scenario as run": ("scenario", {"text": toml_text(run.content)}),
    }
    parts: dict[str, tuple[str, Any]] = on_paper | on_screen
    sections = [
        Section(title, render(template, context, file_format), title in on_paper)
        for title, (template, context) in parts.items()
        if context is not None
    ]
    subtitles = list(_subtitles(run, ", ".join(filter(None, (author, institution)))))
    if cells and (extras.releases is not None or worst is not None):
        subtitles.append("Confidential: as sensitive as the records, because it shows values (--no-cells omits them)")
    page = {
        "title": run.content.get("title") or run.name,
        "subtitles": subtitles,
        "sections": [section for section in sections if section.body.strip()],
    }
    text = str(render(f"page.{file_format}", page, file_format))
    return single_spaced(text) if file_format == "markdown" else text


def _parts(parts: Iterable[str | Table | Figure], kind: str = "") -> tuple[str, dict[str, Any]]:
    return "parts", {"parts": list(parts), "kind": kind}


def _subtitles(run: StoredRun, author: str) -> Iterator[str]:
    if unit := unit_sentence(run.manifest):
        yield unit
    today = date.today()
    yield f"Prepared{f' by {author}' if author else ''} on {today.day} {today:%B %Y}"
    version = run.manifest["versions"].get("reidsim", "")
    yield f"Scenario {run.name}, seed {run.manifest.get('seed', 0)}, run with reidsim {version}"


def _releases(run: StoredRun, shared_file: Path | None, problems: list[str]) -> Releases | None:
    """Read back the releases of a run; on failure, record the problem.

    The error is raised if the user named a released file.
    """
    try:
        return releases_of(run, shared_file)
    except InputError as error:
        if shared_file is not None:
            raise
        problems.append(f"The records as released were not read back: {error}")
        return None


def _break_even(
    run: StoredRun, wanted: bool | None, problems: list[str], progress: Progress | None
) -> BreakEven | None:
    """Solve the game at other losses, if wanted or, by default, if the run was quick.

    If it is not done because the run took long, or fails, the reason is added to `problems`.
    """
    seconds = float(run.manifest.get("timings_seconds", {}).get("play", 0.0))
    if wanted is None and seconds > _MOST_SECONDS:
        problems.append(
            f"No break-even was computed, because the run took {seconds:,.0f} seconds: use --break-even to solve "
            "the game at other losses, which takes 10 to 25 times as long."
        )
    elif wanted is not False:
        try:
            return break_even_of(run, progress)
        except InputError as error:
            problems.append(f"No break-even was computed: {error}")
    return None


def _warnings(run: StoredRun, problems: Sequence[str]) -> Iterator[str]:
    yield from problems
    if run.n_unfinished:
        yield f"{run.n_unfinished:,} rows of failed or stopped runs are left out."
    yield from map(str, run.manifest.get("warnings", []))


def _measures(run: StoredRun) -> Iterator[Table]:
    """Yield tables with one row per measure and one column per policy.

    In assessments, there is one column per background knowledge, and separate tables for each size of the release.
    """
    measures = run.measures
    group = next((name for name in ("policy", "knowledge") if name in run.runs), None)
    if group is None or not measures:
        return
    sizes = run.runs["records"].unique() if group == "knowledge" and "records" in run.runs else [None]
    points = run.runs["point"].nunique() if "point" in run.runs else 1
    for size in sizes:
        runs = run.runs if size is None else run.runs[run.runs["records"] == size]
        means = runs.groupby(group, sort=False, observed=True)[list(measures)].mean()
        caption = f"Means over all {run.units[1] if size is None else f'persons, {size:,} records released'}"
        caption += "".join(f" and over {n:,} {of}" for n, of in ((run.rounds, "rounds"), (points, "points")) if n > 1)
        for start in range(0, len(means), _POLICIES_A_TABLE):
            shown = means.iloc[start : start + _POLICIES_A_TABLE]
            names = [str(name) for name in shown.index]
            rows: list[list[Cell]] = [
                # Only the first table of a series prints the definitions.
                [measure.label if start else Term(measure.label, measure.definition), *map(measure.text, shown[column])]
                for column, measure in measures.items()
            ]
            facts = run.manifest.get("policies")
            if isinstance(facts, Mapping) and all(isinstance(facts.get(name), Mapping) for name in names):
                solver = Term("Solver", "and whether the release is proved optimal under the publisher's beliefs")
                rows.append([solver.name if start else solver, *(_solver(facts[name]) for name in names)])
            yield Table(["", *map(Code, names)], rows, caption)


def _solver(facts: Mapping[str, Any]) -> str:
    solver = str(facts.get("solver", ""))
    return f"{solver}, proved optimal" if facts.get("proved_optimal") and solver != "fixed" else solver


def _figures(run: StoredRun, link_from: Path, *, main: bool) -> Iterator[str | Figure]:
    """Yield the figures that show the decision, or the others."""
    for name, path in run.figures.items():
        if (name in DECISION_FIGURES) is main:
            data = run.picture(name)
            caption = figure_caption(name, run.kind)
            yield (
                f"The figure {name} is not a PNG file and is left out."
                if data is None
                else Figure(data, link_to(path, link_from), caption)
            )


def _tables(run: StoredRun) -> dict[str, Any]:
    """Return the other tables of the folder.

    Short tables are shown in full; long tables and tables of records are only named.
    """
    shown, named = [], []
    for name in (name for name in run.tables if name not in _IN_SECTIONS):
        table = run.table(name)
        words = "waves" if name == "rounds" and "wave" in table else name
        columns = MAIN_COLUMNS.get(words)
        table = table[list(columns)] if columns and set(columns) <= set(table.columns) else table
        caption = table_caption(words, run.kind)
        size = f"{caption}, {len(table):,} rows"
        if {"record", *run.attributes} & set(map(str, table.columns)):
            # A report must not reveal values or outcomes of single records.
            named.append((f"{name}.parquet", f"{size} about single records."))
        elif len(table) > _ROWS_SHOWN or len(table.columns) > _COLUMNS_SHOWN:
            named.append((f"{name}.parquet", f"{size} by {len(table.columns)} columns."))
        elif len(table):
            rows = [list(map(_cell, row)) for row in table.itertuples(index=False, name=None)]
            texts = frozenset(place for place, column in enumerate(table) if not is_numeric_dtype(table[column]))
            shown.append(Table([Code(str(column)) for column in table.columns], rows, caption, texts))
    return {"shown": shown, "named": named}


def _cell(value: object) -> str:
    if value is None or value is pd.NaT or value is pd.NA:
        return "-"
    if isinstance(value, np.ndarray | list | tuple):
        return shortened(", ".join(map(_cell, value)))
    return shortened(number_text(value))


def _repeat(run: StoredRun) -> dict[str, Any]:
    hashes = {"scenario": run.manifest.get("scenario_hash"), "data as coded": run.manifest.get("data_hash")}
    return {
        "command": repeating_command(run),
        "name": run.name,
        "own_command": " ".join(["reidsim", *command_of(run), shlex.quote(f"{run.name}.toml")]),
        "files": named_files(run.content),
        "versions": run.manifest["versions"],
        "hashes": {name: digest for name, digest in hashes.items() if isinstance(digest, str)},
    }
