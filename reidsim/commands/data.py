"""Commands on data: drafts, populations and lists before a run; reports and records after it; the page for both."""

from __future__ import annotations

import csv
import json
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reidsim.commands import arguments
from reidsim.core import files
from reidsim.core.errors import InputError, listed
from reidsim.core.interrupts import stop_if_interrupted
from reidsim.core.terminal import echo, note
from reidsim.core.validation import LARGEST_SEED, parse_override
from reidsim.core.wording import counted
from reidsim.drafts.options import DraftOptions

if TYPE_CHECKING:
    from reidsim.scenarios.scenario import Scenario


def new(
    data: Path, options: DraftOptions, output: arguments.OutputOption = None, hierarchy: Sequence[str] = ()
) -> None:
    """Draft a scenario with hierarchies from your own file of records.

    Example: reidsim new patients.csv

    Example: reidsim new patients.csv -o clinic

    Parameters
    ----------
    data : DATA
        File of records: CSV with a header, Parquet, Excel, Stata, SPSS or SAS.
    output
        New folder for the draft (default: the name of the file).
    hierarchy : COLUMN=FILE
        Hierarchy file of a column, with one row per value (default: drafted).
    """
    if not os.path.exists(data):
        raise InputError("no such file", source=data)
    hierarchies = {}
    for text in hierarchy:
        column, _, path = text.rpartition("=")
        if not column or column in hierarchies:
            problem = "column named twice" if column in hierarchies else "no column and file"
            raise InputError(problem, source="--hierarchy", found=text, expected="COLUMN=FILE, once per column")
        hierarchies[column] = Path(path)
    # Imported late, so that an error in a file name is reported before numerical libraries are imported.
    with arguments.waiting(f"reading {data}"):
        from reidsim.drafts.draft import UndecidedPersonError, draft_scenario, name_of
        from reidsim.engine.results import require_free, write_results
        from reidsim.reports.study_tables import draft_table

        name = name_of(data)
        # For a file without a suffix, the default folder would have the file's own name.
        folder = output or Path(f"{name}-draft" if name == data.name else name)
        require_free(folder)
    try:
        with arguments.waiting(f"reading {data}"):
            draft = draft_scenario(data, folder, options, hierarchies)
    except UndecidedPersonError as undecided:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise
        key = _ask_person(undecided.columns)
        with arguments.waiting(f"reading {data}"):
            chosen = replace(options, person=key, one_row_per_person=not key)
            draft = draft_scenario(data, folder, chosen, hierarchies)
    write_results(folder, draft.write)
    arguments.print_tables([draft_table(draft, data.name)])
    arguments.print_warnings(draft.warnings)
    choice = draft.choice
    note(f"Draft in {folder}: {choice.strategies:,} strategies per record")
    if choice.left_out_levels:
        note(f"Levels left out of {choice.left_out_levels}, for fewer strategies")
    if not {"benefit", "loss", "cost"} & options.amounts.keys():
        note("Payoff parameters are defaults: set your own (--benefit, --loss, --cost)")
    note(f"Next: review the scenario, then run: reidsim run {shlex.quote(str(folder / draft.scenario_file))}")


def _ask_person(columns: Sequence[str]) -> tuple[str, ...]:
    """Ask the user which of several identifiers identifies a person.

    The result has one column, or none if each row is a person.
    """
    shown = ", ".join(columns)
    echo(f"These identifiers repeat, so a person may have several rows: {shown}")
    while True:
        answer = typer.prompt("Column that identifies a person (empty if each row is a person)", default="")
        if not answer or answer in columns:
            return (answer,) if answer else ()
        echo(f"The answer is not one of {shown}")


def populate(
    recipe: str,
    output: arguments.NewFileOption,
    seed: Annotated[int | None, typer.Option(min=0, max=LARGEST_SEED)] = None,
    expected: bool = False,
    set_: Sequence[str] = (),
) -> None:
    """Write a population as a Parquet file.

    The recipe generates a population, a genealogy or an external resource.

    Example: reidsim populate ystr-genealogy-small -o families.parquet --seed 7

    Example: reidsim populate tennessee-2010 -o tennessee.parquet

    Parameters
    ----------
    recipe : RECIPE
        Name of a bundled population, or path of a TOML recipe.
    output
        New file, with a name that ends in .parquet.
    seed
        Seed of the random draw (default: the recipe's seed).
    expected
        Write expected counts instead of drawing people.
    set_ : KEY=VALUE
        Value that replaces the value of a recipe key, such as people=5000.
    """
    with arguments.waiting(f"making {recipe}") as progress:
        from reidsim.populations import catalogue

        written = catalogue.populate(
            recipe,
            output,
            counts="expected" if expected else "sample",
            seed=seed,
            overrides=dict(map(parse_override, set_)),
            progress=progress,
        )
    truth = "" if written.truth is None else f"; the true person of each row in {written.truth}"
    note(f"{written.people:,.0f} people in {written.rows:,} rows: {written.path}{truth}")


@dataclass(frozen=True)
class DescriptionOptions:
    """Options of the description of a file, named as in `reidsim.describe`.

    Parameters
    ----------
    columns
        Quasi-identifier, which an adversary may know (default: all columns).
    count
        Column with the number of records of each row (default: one record per row).
    weight
        Column with sampling weights.
    person
        Column that identifies the person of each record, so that people are counted instead of records.
    population_size
        Number of people in the population from which the file is a sample (default: the file is the population).
    level
        Confidence level of the intervals.
    """

    columns: Annotated[list[str] | None, typer.Option("--column")] = None
    count: str | None = None
    weight: str | None = None
    person: str | None = None
    population_size: Annotated[int | None, typer.Option(min=1)] = None
    level: float = 0.95
    encoding: arguments.EncodingOption = None


def describe(file: Path, options: DescriptionOptions) -> None:
    """Estimate the uniqueness of the records in a file.

    Example: reidsim describe people.csv --column age --column sex --population-size 5000

    Example: reidsim describe people.parquet

    Parameters
    ----------
    file : FILE
        CSV file with a header (separated by comma, semicolon, tab or bar; may be compressed), or Parquet file.
    """
    with arguments.waiting(f"reading {file}"):
        from reidsim.reports import description
        from reidsim.reports.study_tables import description_tables

        described = description.describe(file, **vars(options))
    arguments.print_tables(description_tables(described), always=True)
    arguments.print_warnings(described.warnings)


def list_() -> None:
    """List the bundled scenarios and populations.

    Background knowledge and social-media models are listed, too.

    Example: reidsim list

    Example: reidsim list > bundled.txt
    """
    for heading, titles in files.bundled_titles().items():
        echo(f"{heading}:")
        width = max(map(len, titles))
        for name, title in titles.items():
            echo(f"  {name:<{width}}  {title}")


def show(name: str) -> None:
    """Print the file of a scenario or recipe, to copy and edit.

    Example: reidsim show wan2015 > mine.toml

    Example: reidsim show tennessee-2010

    Parameters
    ----------
    name : NAME
        Name of a bundled scenario or recipe, or path of a TOML file.
    """
    echo(files.show(name), nl=False)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    Example: reidsim schema > scenario.schema.json

    Example: reidsim schema | less
    """
    from reidsim.scenarios.kind import schema as schema_of_files

    echo(json.dumps(schema_of_files(), indent=2))


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report, named as in `reidsim.report`.

    Parameters
    ----------
    scenario_file
        Scenario file whose comments replace the comments stored with the run.
    shared_file : FILE
        File written by `reidsim share` (default: the newest one in or beside DIR).
    break_even
        Solve the game at 10 to 25 other values of the loss, to find break-even points (default: if the run took at most
        5 seconds).
    author : NAME
        Author, printed in the heading.
    institution : NAME
        Institution of the author, printed in the heading.
    decider : NAME
        Person who signs, printed above the line of the name (default: a line to fill in).
    role : ROLE
        Role of this person.
    decision : TEXT
        Decision of this person.
    """

    scenario_file: Annotated[Path | None, typer.Option("--scenario")] = None
    shared_file: Annotated[Path | None, typer.Option("--shared")] = None
    break_even: Annotated[bool | None, typer.Option("--break-even/--no-break-even")] = None
    author: str = ""
    institution: str = ""
    decider: str = ""
    role: str = ""
    decision: str = ""


def report(
    folder: Path,
    options: ReportOptions,
    output: arguments.OutputOption = None,
    no_cells: bool = False,
    figures: Literal["svg", "pdf", "png"] | None = None,
) -> None:
    """Write a report of a run as one self-contained HTML page, or as PDF.

    Example: reidsim report results/wan2015-001 --author "Ada Moss" --institution "Town Clinic"

    Example: reidsim report results/wan2015-001 -o board.pdf

    Example: reidsim report results/wan2015-001 --figures svg

    Parameters
    ----------
    folder : DIR
        Results folder of a run.
    output
        New file, a PDF if its name ends in .pdf (default: report.html in DIR).
    no_cells
        Omit sample rows and the records with the highest risk.
    figures
        Write only the figures, as separate files in this format, to DIR/figures.
    """
    if figures is not None:
        from reidsim.reports.drawing import illustrate, load_result

        if output is not None or no_cells or options != ReportOptions():
            raise InputError("the other options are for the report only", source="--figures", expected="no others")
        drawn = illustrate(load_result(folder), folder / "figures", f".{figures}")
        place = folder / "figures"
        note(f"{counted(len(drawn), 'figure')} in {place}" if drawn else f"The results in {folder} have no figures")
        return
    with arguments.waiting(f"reading {folder}") as progress:
        from reidsim.reports import python

        stop_if_interrupted()
        path = output or folder / "report.html"
        python.report(folder, path, progress=progress, cells=not no_cells, **vars(options))
    note(f"Report in {path}")


@dataclass(frozen=True)
class KeptColumns:
    """Columns that are copied in addition to the quasi-identifiers.

    Parameters
    ----------
    keep : COLUMNS
        Columns to copy unchanged, in addition to the quasi-identifiers, separated by commas.
    keep_identifier : COLUMNS
        Columns, separated by commas, to copy although their values could identify most people.
    keep_free_text
        Copy kept columns although they contain free text, which may identify people.
    unknown_to_outsiders : COLUMNS
        Kept columns, separated by commas, whose values no outsider can know; the report lists this claim.
    max_singled_out : SHARE
        Largest share of people that the other kept columns may single out.
    """

    keep: Sequence[str] = ()
    keep_identifier: Sequence[str] = ()
    keep_free_text: bool = False
    unknown_to_outsiders: Sequence[str] = ()
    max_singled_out: float = 0.05

    def options(self) -> dict[str, Any]:
        """Return the options by name, with each list of columns split at commas outside quotation marks.

        Raises
        ------
        InputError
            If a list has a line break outside quotation marks.
        """
        return {name: value if isinstance(value, bool | float) else _split(value) for name, value in vars(self).items()}


def share(
    columns: KeptColumns,
    folder: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    output: arguments.OutputOption = None,
    policy: str | None = None,
    max_risk: float | None = None,
    accept_risk: bool = False,
    data: Path | None = None,
    rulebook: Path | None = None,
    into: Path | None = None,
    decider: str = "",
    role: str = "",
    decision: str = "",
    executor: Literal["serial", "dask"] | None = None,
    scheduler: str | None = None,
    verify: Path | None = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Write the released records of a policy.

    The file is read back to check it, and described in a second file (sidecar).

    Example: reidsim share results/patients-001 -o shared.csv --policy no-attack

    Example: reidsim share results/patients-001 -o shared.csv --max-risk 0.1

    Parameters
    ----------
    folder : DIR
        Results folder of a run; required without --verify.
    output
        New CSV file; its description (sidecar) is FILE.json; required without --verify.
    policy
        Policy whose release is written; required if the run has several policies.
    max_risk
        Largest accepted probability of re-identification, for a search from a record to its person and from a person to
        the record (default: 1/11).
    accept_risk
        Write the file even if its risk, or inference of a sensitive value, exceeds a limit.
    data
        File of the original records, if it was moved after the run.
    rulebook
        New CSV file with the rules of this release, for `reidsim apply`; do not publish it.
    into : NEW
        New folder for the file, its sidecar and rulebook, the scenario and the report (HTML and PDF), instead of -o.
    decider : NAME
        Person who signs, for the report in the folder.
    role : ROLE
        Role of this person.
    decision : TEXT
        Decision of this person.
    executor
        Where the files of a large table of records are read: one after the other, or on a Dask cluster
        (default: serial).
    scheduler : ADDRESS
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786.
    verify : FILE
        Only check that a shared file and its sidecar are unchanged.
    """
    if verify is not None:
        others = [folder, output, policy, max_risk, data, rulebook, into]
        if (
            any(value is not None for value in (*others, executor, scheduler))
            or accept_risk
            or columns != KeptColumns()
        ):
            problem = "the option cannot be combined with other options"
            raise InputError(problem, where="--verify", expected="no other options")
        with arguments.waiting(f"reading {verify}"):
            from reidsim.reports.shared.audited import summary_of
            from reidsim.reports.shared.file import verify_shared

            sidecar = verify_shared(verify)
        note(f"{verify} and its sidecar are unchanged")
        note(summary_of(sidecar))
        return
    if folder is None or (output is None and into is None):
        where, expected = ("DIR", "a results folder") if folder is None else ("-o", "the name of a new file")
        raise InputError("argument missing", where=where, expected=expected, hint="or use --verify FILE")
    with arguments.waiting(f"reading {folder}"):
        from reidsim.engine.batch.executors import files_reader
        from reidsim.reports.page.bundle import share_files
        from reidsim.reports.shared.audited import summary_of
        from reidsim.reports.shared.records import Kept

        sidecar, warnings, digests = share_files(
            folder,
            output,
            into=into,
            policy=policy,
            kept=Kept(*columns.options().values()),
            data=data,
            max_risk=max_risk,
            accept_risk=accept_risk,
            rulebook=rulebook,
            report={"decider": decider, "role": role, "decision": decision},
            allow_code=allow_code,
            over_files=files_reader(executor or "serial", scheduler),
        )
    arguments.print_warnings(warnings)
    note(summary_of(sidecar))
    if into is None:
        note(f"Written: {' and '.join(map(str, digests))}")
    # The digest of the report, which is signed, is in no file.
    for path, digest in digests.items() if into else ():
        note(f"Written: {path}, SHA-256 {digest}")


def _split(lists: Sequence[str]) -> list[str]:
    try:
        rows = [next(csv.reader([text], skipinitialspace=True)) or [text] for text in lists]
    except csv.Error as error:
        expected = "names separated by commas; a name with a comma or line break in quotation marks"
        raise InputError(f"no list of columns: {error}", found=listed(lists), expected=expected) from None
    return [name.strip() for row in rows for name in row]


def apply(
    rulebook: Path,
    new: Path,
    output: arguments.NewFileOption,
    columns: KeptColumns,
    encoding: arguments.EncodingOption = None,
) -> None:
    """Release new records by the rules of an earlier release.

    Records that the rules do not cover are withheld.

    Example: reidsim apply rules.csv december.csv -o december-shared.csv

    Example: reidsim apply rules.csv january.csv -o january-shared.csv

    Parameters
    ----------
    rulebook : RULES
        Rulebook written by `reidsim share --rulebook`.
    new : NEW
        File of new records.
    output
        New CSV file for the released records.
    """
    from reidsim.reports.shared import file

    table = file.apply(rulebook, new, path=output, encoding=encoding, **columns.options())
    numbers = table.attrs
    note(
        f"{len(table):,} of {counted(numbers['records'], 'record')} shared; withheld: "
        f"{numbers['ruled_out']:,} by a rule, {numbers['uncovered']:,} because no rule covers their values"
    )
    arguments.print_warnings(
        (
            "the risk was computed for the release of the rulebook; not checked for new records: limits on the risk "
            "and on sensitive columns, section [kept] of the scenario; reidsim score computes the risk of the new file",
        )
    )
    note(f"Written: {output}")


def serve(
    changes: arguments.Changes,
    scenario: Annotated[str | None, typer.Argument(show_default=False)] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535)] = 8765,
) -> None:
    """Show a scenario as a web page on this computer.

    No other computer can open the page. It requires `pip install 'reidsim[web]'`. Without a scenario, the page begins
    with a file, as `reidsim desk` does.

    Example: reidsim serve wan2015 --port 8765

    Example: reidsim serve mine.toml

    Parameters
    ----------
    scenario : SCENARIO
        Name of a bundled scenario, or path of a TOML file; a scenario of kind `risk` has no such page.
    port
        Network port on this computer; 0 for any free port.
    """
    if scenario is None and any(vars(changes).values()):
        raise InputError("options of a scenario without a scenario", where="SCENARIO", expected="a scenario to change")
    _serve(port, "the page", None if scenario is None else changes.load(scenario))


def desk(
    port: Annotated[int, typer.Option(min=0, max=65_535)] = 8765,
    open_: Annotated[Path | None, typer.Option("--open")] = None,
) -> None:
    """Open a web page that leads from a file to a signed decision.

    No other computer can open the page. It requires `pip install 'reidsim[web]'`.

    Example: reidsim desk

    Example: reidsim desk --open clinic

    Parameters
    ----------
    port
        Network port on this computer; 0 for any free port.
    open_ : FOLDER
        Folder of the session, to continue it; a new folder begins a session (default: a temporary folder, which is
        removed at the end).
    """
    _serve(port, "the desk", folder=open_)


def _serve(port: int, name: str, scenario: Scenario[Any] | None = None, folder: Path | None = None) -> None:
    with ExitStack() as starting:
        starting.enter_context(arguments.waiting(f"opening {name}"))
        from reidsim.web import server

        def started(address: str) -> None:
            starting.close()
            note(f"{scenario.name if scenario else name} at {address} (Ctrl-C to stop)")

        server.serve(port, started, scenario=scenario, folder=folder)
