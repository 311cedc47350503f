"""Write the report of a results folder, with the decision on the first page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml, require_new_file, write_new_file
from reidsim.core.validation import toml_text, validated
from reidsim.core.wording import Code, number_text
from reidsim.engine.results import sha256_of, sidecar_of
from reidsim.engine.switch import TIMES_OWN, BreakEven, break_even
from reidsim.figures.style import own_settings, picture_of
from reidsim.games.outcomes import RECORD_RISK, SUCCESS_PROBABILITY
from reidsim.kinds.assessment.kind import RISKS_OF_PERSONS
from reidsim.reports.drawing import figures_of, load_result
from reidsim.reports.page.decision import decision as page_of_decision
from reidsim.reports.page.decision import highest_risk, mean_payoffs
from reidsim.reports.page.pdf import pdf_of
from reidsim.reports.page.sources import StoredRun, assumptions, open_results, question, repeat
from reidsim.reports.shared.audited import DEFINITION, by_fitting_rows
from reidsim.reports.shared.file import releases_of
from reidsim.reports.writer import Bar, Cell, Figure, Table, Term, render, shortened
from reidsim.scenarios.kind import Kind, Progress, once_each, unit_sentence
from reidsim.scenarios.registry import scenario_kind
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import ScenarioHead

# Figures that show the decision; the other figures help to check it.
_DECISION_FIGURES = ("payoffs", "risks", "reidentified", "rounds", "regrets", "cross-play", "person-risks")
CAPTIONS = read_toml(Path(__file__).with_name("captions.toml"))
_POLICIES_A_TABLE, _GROUPS_A_TABLE = 4, 5
# Tables with more rows or columns are only named.
_ROWS_SHOWN, _COLUMNS_SHOWN = 40, 14
# Longest run, in seconds, whose game is solved at other losses by default; the report then takes a minute or two.
_MOST_SECONDS = 5.0
# Relative tolerance, for rounding, between payoffs of the run and of the same game solved again.
_SAME = 1e-6
_ALL_TEXT = frozenset({0, 1})
# Tables that have their own sections.
_IN_SECTIONS = ("runs", "records", "reidentified")
# Upper ends of the probability classes, with their names; k = 11 and k = 20 are thresholds in use.
_CLASSES = {
    "0": 0.0,
    "up to 1 in 1,000": 0.001,
    "up to 1 in 100": 0.01,
    "up to 1 in 20": 1 / 20,
    "up to 1 in 11": 1 / 11,
    "up to 1 in 5": 0.2,
    "up to 1 in 2": 0.5,
    "above 1 in 2": 1.0,
}
UPPER_ENDS = tuple(_CLASSES.values())[1:]
_QUANTILES = {"median": 0.5, "95% are at or below": 0.95, "highest": 1.0}


def require_page(path: Path) -> None:
    """Check that a report can be written to a path.

    Raises
    ------
    InputError
        If the file exists, or has the suffix of a Markdown file.
    """
    if path.suffix.lower() in (".md", ".markdown"):
        raise InputError("a report is an HTML page or PDF", source=path, expected="a name that ends in .html or .pdf")
    require_new_file(path)


def write_page(path: Path, text: str, notes: Sequence[str] = ()) -> None:
    """Write the HTML page of a report to a new file: as it is, or as PDF with notes if the name ends in ``.pdf``."""
    write_new_file(path, pdf_of(text, notes) if path.suffix.lower() == ".pdf" else text.encode())


def report_text(
    folder: str | Path,
    *,
    scenario_file: str | Path | None = None,
    cells: bool = True,
    author: str = "",
    institution: str = "",
    decider: str = "",
    role: str = "",
    decision: str = "",
    shared_file: str | Path | None = None,
    files: Sequence[Path] = (),
    break_even: bool | None = None,
    progress: Progress | None = None,
) -> str:
    """Return the report of a results folder as an HTML page.

    Parameters
    ----------
    folder : str or Path
        Results folder.
    scenario_file : str or Path, optional
        Scenario file with comments on its values; by default, the copy stored with the run.
    cells : bool
        Whether to show sample rows and the cells at the highest risk, with their values.
    author, institution : str
        Author of the report and the author's institution, shown next to the date; omitted if empty.
    decider, role, decision : str
        Name and role of the person who signs, and the decision; lines to be filled in if empty.
    shared_file : str or Path, optional
        File written by `share` for this run. By default, the newest one in the results folder or its parent folder.
    files : sequence of Path
        Files whose SHA-256 is listed, in addition to the file written by `share` and its sidecar.
    break_even : bool, optional
        Whether to solve the game at other losses, which takes 10 to 25 times as long as the run. By default, this is
        done for runs of at most 5 seconds.
    progress : callable, optional
        Callback with the current task and the completed part of it.

    Raises
    ------
    InputError
        If the folder contains no results, a file in it cannot be read, or a named file (`scenario_file`, `shared_file`)
        cannot be used. Other problems of the records or of the break-even losses become warnings in the report.
    """
    run = open_results(Path(folder))
    problems: list[str] = []
    releases = even = None
    try:
        releases = releases_of(run, None if shared_file is None else Path(shared_file))
    except InputError as error:
        if shared_file is not None:
            raise
        problems.append(f"The records as released were not read back: {error}")
    seconds = float(run.manifest.get("timings_seconds", {}).get("play", 0.0))
    if break_even is None and seconds > _MOST_SECONDS:
        problems.append(
            f"No break-even was computed, because the run took {seconds:,.0f} seconds: use --break-even to solve "
            "the game at other losses, which takes 10 to 25 times as long."
        )
    elif break_even is not False:
        try:
            even = _break_even_of(run, progress)
        except InputError as error:
            problems.append(f"No break-even was computed: {error}")
    failed = len(run.table("runs")) - len(run.runs) if "runs" in run.tables else 0
    if failed:
        problems.append(f"{failed:,} rows of failed or stopped runs are left out.")
    problems += map(str, run.manifest.get("warnings", []))
    values = assumptions(run, None if scenario_file is None else Path(scenario_file))
    first = page_of_decision(run, releases, even, samples=cells)
    today = f"{date.today():%Y-%m-%d}" if decision else ""
    signed = {"Name": decider, "Role": role, "Date": today, "Decision": decision, "Signature": ""}
    first["signature"] = list(signed.items())
    written = None if releases is None else releases.written
    listed = dict.fromkeys([*((written, sidecar_of(written)) if written else ()), *files])
    digests = Table(["File", "SHA-256"], [[Code(path.name), Code(sha256_of(path))] for path in listed], "", _ALL_TEXT)
    shown = None if releases is None else [releases.to_sign(mean_payoffs(run))]
    worst = highest_risk(run, shown) if cells else None
    audits = {"releases": releases, "definition": DEFINITION, "by_fitting_rows": by_fitting_rows}
    losses = {"even": even, "unit": run.units[0], "tried": even and [times * even.own for times in TIMES_OWN]}
    columns, figures = first.get("columns", {"others": None}), list(_figures(run, problems))
    main, further = ([part for is_main, part in figures if is_main is wanted] for wanted in (True, False))
    # For each part: its template with the template's values, None for a part that is left out.
    on_paper: dict[str, tuple[str, Any]] = {
        "Decision": ("decision", first),
        "Warnings": ("parts", {"parts": problems, "kind": "warning"}),
        "Question": ("question", question(run)),
        "Files": ("parts", {"parts": [digests], "kind": ""} if listed else None),
        "Break-even losses": ("break_even", even and losses),
        "Figures": ("parts", {"parts": main, "kind": ""}),
        "Risk of single records": ("risk_distribution", _risk_distribution(run)),
        "Cells at the highest risk": ("highest_risk", worst),
        "The release, read back": ("release_audit", releases and audits),
        "Assumptions and their sources": ("assumptions", values),
        "Limits": ("limits", {}),
        "Appendix: other columns": ("other_columns", columns if columns["others"] else None),
        "Appendix: measures": ("parts", {"parts": list(_measures(run)), "kind": ""}),
        "Appendix: repeat the run": ("repeat", repeat(run)),
    }
    on_screen: dict[str, tuple[str, Any]] = {
        "Appendix: further figures": ("parts", {"parts": further, "kind": ""}),
        "Appendix: further tables": ("tables", _tables(run)),
        "Appendix: defaults": ("defaults", values if values["defaults"] else None),
        "Appendix: the scenario as run": ("scenario", {"text": toml_text(run.content)}),
    }
    sections: list[dict[str, Any]] = [
        {"title": title, "body": render(template, context), "on_paper": title in on_paper}
        for title, (template, context) in (on_paper | on_screen).items()
        if context is not None
    ]
    page = {
        "run": run,
        "unit": unit_sentence(run.manifest),
        "by": ", ".join(filter(None, (author, institution))),
        "today": date.today(),
        "is_confidential": cells and not (releases is None and worst is None),
        "sections": [section for section in sections if section["body"].strip()],
    }
    return str(render("page", page))


def _break_even_of(run: StoredRun, progress: Progress | None) -> BreakEven | None:
    """Return the best policy of a run's game at other losses; see `break_even`.

    The result is a `BreakEven`. The result is None for batches, runs with several rounds, scenarios without policies or
    payoff parameters, and runs whose records are not from a file.

    Raises
    ------
    InputError
        If the scenario or its files cannot be used, or the payoffs at the scenario's loss differ from the run by more
        than rounding.
    """
    path = run.manifest.get("scenario_file")
    if "design" in run.manifest or path is None or not {"policy", "publisher_payoff"} <= set(run.runs):
        return None
    manifest, content = run.folder / "manifest.json", dict(run.content)
    kind = scenario_kind(content, manifest)
    scenario: ScenarioHead = validated(kind.schema, content, manifest)
    if scenario.in_rounds or not isinstance(content.get("economics"), dict):
        return None
    found = break_even(Scenario(run.name, Path(path), scenario, content), progress=progress)
    played = run.runs.groupby("policy", observed=True)["publisher_payoff"].mean()
    for policy, payoff in found.payoffs[found.own].items():
        if abs(payoff - played[policy]) > _SAME * max(abs(payoff), found.own):
            problem, hint = f"the payoff of policy {policy!r} differs from the run", "run the scenario again"
            raise InputError(problem, source=run.folder, found=payoff, expected=f"{played[policy]:g}", hint=hint)
    return found


def _measures(run: StoredRun) -> Iterator[Table]:
    """Yield tables with one row per measure and one column per policy.

    In assessments, there is one column per background knowledge, and separate tables for each size of the release. A
    table has at most four columns of values, which are means over runs; more are in further tables. There is no table
    for other results.
    """
    group = next((name for name in ("policy", "knowledge") if name in run.runs), None)
    if group is None or not run.measures:
        return
    facts = run.manifest.get("policies", {})
    points = run.runs["point"].nunique() if "point" in run.runs else 1
    over = "".join(f" and over {n:,} {of}" for n, of in ((run.rounds, "rounds"), (points, "points")) if n > 1)
    by_size = group == "knowledge" and "records" in run.runs
    for size in run.runs["records"].unique() if by_size else [None]:
        runs = run.runs if size is None else run.runs[run.runs["records"] == size]
        means = runs.groupby(group, sort=False, observed=True)[list(run.measures)].mean()
        whom = run.units[1] if size is None else f"persons, {size:,} records released"
        for start in range(0, len(means), _POLICIES_A_TABLE):
            shown = means.iloc[start : start + _POLICIES_A_TABLE]
            names = list(map(str, shown.index))
            terms = {
                Term(of.label, of.definition): list(map(of.text, shown[name])) for name, of in run.measures.items()
            }
            if set(names) <= set(facts):
                solver = Term("Solver", "and whether the release is proved optimal under the publisher's beliefs")
                found = [(str(facts[name].get("solver", "")), facts[name].get("proved_optimal")) for name in names]
                terms[solver] = [
                    f"{name}, proved optimal" if proved and name != "fixed" else name for name, proved in found
                ]
            # Only the first table of a series prints the definitions.
            rows: list[list[Cell]] = [[term.name if start else term, *texts] for term, texts in terms.items()]
            yield Table(["", *map(Code, names)], rows, f"Means over all {whom}{over}")


def _figures(run: StoredRun, problems: list[str]) -> Iterator[tuple[bool, Figure]]:
    """Yield whether each figure of a run shows the decision, and the figure with its caption.

    If a figure cannot be drawn, for example because its kind of scenario is not installed, it and later figures are
    left out, and the reason is appended to `problems`.
    """
    try:
        with own_settings():
            for name, figure in figures_of(load_result(run.folder)):
                yield (
                    name in _DECISION_FIGURES,
                    Figure(picture_of(figure, ".png"), caption("figures", name, run.kind)),
                )
    except InputError as error:
        problems.append(f"Figures are left out: {error}")


def caption(sort: Literal["figures", "tables"], name: str, kind: Kind | None) -> str:
    """Return the caption of a figure or table; its name in words if there is none.

    Without a name, the text is "Untitled". The first number in the name of a figure, such as ``beliefs-2``, is appended
    to the caption. Captions of `kind`, the kind of game, come before the general ones.
    """
    captions = CAPTIONS[sort] | (kind.captions.get(sort, {}) if kind else {})
    number = re.search(r"\d+", name) if sort == "figures" else None
    plain = name if number is None else re.sub(r"\d+", "NUMBER", name)
    if plain in captions:
        return f"{captions[plain]} (number {number[0]})" if number else str(captions[plain])
    words = re.sub(r"[-_\s]+", " ", name).strip()
    return words[:1].upper() + words[1:] or "Untitled"


def _tables(run: StoredRun) -> dict[str, Any]:
    """Return the variables of template `tables`: tables without their own section.

    ``shown`` has short tables in full. ``named`` has pairs of file name and description: of tables with more than 40
    rows or 14 columns, and of all tables about single records, which have a column ``record`` or a quasi-identifier.
    Other tables are omitted if they are empty.
    """
    shown, named = [], []
    for name in (name for name in run.tables if name not in _IN_SECTIONS):
        table = run.table(name)
        words = "waves" if name == "rounds" and "wave" in table else name
        columns = CAPTIONS["columns"].get(words, ())
        table = table[list(columns)] if columns and set(columns) <= set(table.columns) else table
        text, file = caption("tables", words, run.kind), f"{name}.parquet"
        if {"record", *run.attributes} & set(map(str, table.columns)):
            # A report must not reveal values or outcomes of single records.
            named.append((file, f"{text}, {len(table):,} rows about single records."))
        elif len(table) > _ROWS_SHOWN or len(table.columns) > _COLUMNS_SHOWN:
            named.append((file, f"{text}, {len(table):,} rows by {len(table.columns)} columns."))
        elif len(table):
            rows = [list(map(_cell, row)) for row in table.itertuples(index=False, name=None)]
            texts = frozenset(place for place, column in enumerate(table) if not is_numeric_dtype(table[column]))
            shown.append(Table([Code(str(column)) for column in table.columns], rows, text, texts))
    return {"shown": shown, "named": named}


def _cell(value: object) -> str:
    if isinstance(value, np.ndarray | list | tuple):
        return shortened(", ".join(map(_cell, value)))
    return "-" if value is None or value is pd.NaT or value is pd.NA else shortened(number_text(value))


def class_shares(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of probabilities in each class, shape (8,).

    The first class is exactly 0; each other class ends at one of `UPPER_ENDS`, inclusive, and begins where the previous
    one ends. All shares are 0 without probabilities.
    """
    # The tolerance keeps a computed 1/20 in the class up to 1 in 20.
    ends = np.array([0.0, *UPPER_ENDS]) * (1 + 1e-9)
    places = np.minimum(np.searchsorted(ends, probabilities, side="left"), len(ends) - 1)
    return np.bincount(places, minlength=len(ends)) / max(len(probabilities), 1)


def _risk_distribution(run: StoredRun) -> dict[str, Any] | None:
    """Return the values of the template `risk_distribution`: risks of single records.

    Risks are shown as distributions. The result is None without a table of records, or if it has neither success
    probabilities by policy nor risks by background knowledge. Of several sizes of a release, the smallest and the
    largest are shown.

    Raises
    ------
    InputError
        If the table of records cannot be read.
    """
    if "records" not in run.tables:
        return None
    records, several = once_each(run.records, run.content), run.units[1]
    measures = {"risk": RECORD_RISK, "success": SUCCESS_PROBABILITY}
    context: dict[str, Any] = {"n_rounds": run.rounds, "several": several, **measures, "other": []}
    if {"policy", "attacked", "success_probability"} <= set(records.columns):
        success = records["success_probability"]
        records = records.assign(risk=success.where(records["attacked"].astype(bool), 0.0))
        context["by_policy"] = list(_by_class(records, "policy", "risk", f"Risk of single {several}, by policy"))
        if not success.equals(records["risk"]):
            caption = f"Success probability of single {several}"
            context["other"] = list(_by_class(records, "policy", "success_probability", caption))
        return context
    if not {"knowledge", "overall"} <= set(records.columns):
        return None
    sizes = sorted(records["records"].unique()) if "records" in records else [None]
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        chosen = records if size is None else records[records["records"] == size]
        of = "" if size is None else f", release of {size:,} records"
        for column in ("marketer", "overall"):
            caption = f"{RISKS_OF_PERSONS[column].label} of a person, by background knowledge of the adversary{of}"
            context["other"] += _by_class(chosen, "knowledge", column, caption)
    return context


def _by_class(records: pd.DataFrame, group: str, column: str, caption: str) -> Iterator[Table]:
    """Yield tables of the distribution of a column of probabilities by group.

    A table has a column for each of at most five groups. Rows are the shares of the probabilities in each class (see
    `class_shares`), their median, 95 % quantile and maximum; missing ones are ignored.

    Parameters
    ----------
    records : DataFrame
        One row per record and group.
    group, column : str
        Names of the columns of groups, such as policies, and of probabilities.
    caption : str
        Heading of the first column.
    """
    values = list(records.groupby(group, sort=False, observed=True)[column])
    for start in range(0, len(values), _GROUPS_A_TABLE):
        names, found = zip(*values[start : start + _GROUPS_A_TABLE], strict=True)
        numbers = [rows.dropna().to_numpy(dtype=np.float64) for rows in found]
        rows = [
            # A small positive share differs from zero.
            [label, *(Bar(share, "below 0.01%" if 0 < share < 0.00005 else f"{share:.2%}") for share in shares)]
            for label, *shares in zip(_CLASSES, *(class_shares(each).tolist() for each in numbers), strict=True)
        ]
        for label, level in _QUANTILES.items():
            rows.append([label, *(f"{np.quantile(each, level):.4f}" if len(each) else "-" for each in numbers)])
        yield Table([caption, *map(Code, map(str, names))], rows)
