"""The command that drafts a scenario from a user's file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import EncodingOption, print_tables, print_warnings, waiting
from reidsim.errors import InputError
from reidsim.terminal import echo, note


def new(
    data: Annotated[
        Path,
        typer.Argument(help="File of records: CSV with a header, Parquet, Excel, Stata, SPSS or SAS.", metavar="DATA"),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New folder for the draft (default: the name of the file).")
    ] = None,
    quasi_identifier: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi-identifier",
            help="Column to add to the detected quasi-identifiers; at most 12.",
            metavar="COLUMN",
        ),
    ] = None,
    only_named: Annotated[
        bool, typer.Option("--only-named", help="Use only the columns in --quasi-identifier, without detection.")
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="Column to remove from the detected quasi-identifiers.", metavar="COLUMN"),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            help="Population of the data subjects, for journalist risk (default: prosecutor risk, without a "
            "population).",
            metavar="RECIPE",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(help="Column separator of a CSV file (default: detected)."),
    ] = None,
    encoding: EncodingOption = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(
            "--merge", help="Column in which values with nearly the same spelling are merged.", metavar="COLUMN"
        ),
    ] = None,
    age_on: Annotated[
        str | None,
        typer.Option(help="Day, such as 2024-06-30, on which dates of birth are converted to ages.", metavar="DAY"),
    ] = None,
    person: Annotated[
        list[str] | None,
        typer.Option(
            "--person",
            help="Column that identifies the person of each row; given twice for a pair of columns "
            "(default: detected).",
            metavar="COLUMN",
        ),
    ] = None,
    one_row_per_person: Annotated[
        bool,
        typer.Option(
            "--one-row-per-person",
            help="Treat each row as a different person, even if an identifier has repeated values.",
        ),
    ] = False,
    unmatched_unique: Annotated[
        list[str] | None,
        typer.Option(
            "--unmatched-unique",
            help="Column in which values that the population lacks count as unique instead of as errors.",
            metavar="COLUMN",
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="TOML file with additional words by which columns are recognized.", metavar="FILE"),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            help="Hierarchy file of a column, with one row per value (default: drafted).",
            metavar="COLUMN=FILE",
        ),
    ] = None,
    benefit: Annotated[
        float | None,
        typer.Option(
            help="Publisher's benefit from releasing a record unchanged, in currency units (default: 1200, "
            "as in Wan et al. 2015)."
        ),
    ] = None,
    loss: Annotated[
        float | None, typer.Option(help="Publisher's loss per re-identified record (default: 300).")
    ] = None,
    gain: Annotated[
        float | None, typer.Option(help="Adversary's gain per re-identified record (default: the loss).")
    ] = None,
    cost: Annotated[float | None, typer.Option(help="Adversary's cost of an attempt (default: 4).")] = None,
) -> None:
    """Draft a scenario with hierarchies from your own file of records.

    Example: reidsim new patients.csv

    Example: reidsim new patients.csv -o clinic
    """
    if not os.path.exists(data):
        raise InputError("no such file", source=data)
    # Imported late, so that an error in a file name is reported before numerical libraries are imported.
    with waiting(f"reading {data}"):
        from reidsim.drafts.draft import Draft, UndecidedPersonError, draft_scenario, name_of
        from reidsim.drafts.scenario_text import Prices
        from reidsim.engine.results import require_free, write_results
        from reidsim.reports.file_tables import draft_table

        name = name_of(data)
        # For a file without a suffix, the default folder would have the file's own name.
        folder = output or Path(f"{name}-draft" if name == data.name else name)
        require_free(folder)

    files = {}
    for text in hierarchy or ():
        column, equals, path = text.rpartition("=")
        if not equals or not column or column in files:
            problem = "column named twice" if column in files else "no column and file"
            raise InputError(problem, source="--hierarchy", found=text, expected="COLUMN=FILE, once per column")
        files[column] = Path(path)

    def drafted(person: Sequence[str], one_row_per_person: bool) -> Draft:
        with waiting(f"reading {data}"):
            return draft_scenario(
                data,
                folder,
                named=quasi_identifier or (),
                only_named=only_named,
                dropped=drop or (),
                delimiter=delimiter,
                population=population,
                prices=Prices(benefit, loss, gain, cost),
                encoding=encoding,
                merged=merge or (),
                age_on=age_on,
                person=person,
                one_row_per_person=one_row_per_person,
                unmatched_unique=unmatched_unique or (),
                names=names,
                hierarchies=files,
            )

    try:
        draft = drafted(person or (), one_row_per_person)
    except UndecidedPersonError as undecided:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise
        key = _ask_person(undecided.columns)
        draft = drafted(key, not key)
    write_results(folder, draft.write)
    print_tables([draft_table(draft, data.name)])
    print_warnings(draft.warnings)
    scenario = folder / draft.scenario_file
    note(f"Draft in {folder}: {draft.choice.strategies:,} strategies per record")
    if draft.choice.left_out_levels:
        note(
            f"Levels left out of {draft.choice.left_out_levels}: all levels would give "
            f"{draft.choice.all_strategies:,} strategies"
        )
    if benefit is None and loss is None and cost is None:
        note("Payoff parameters are defaults: set your own (--benefit, --loss, --cost)")
    note(f"Next: review the scenario, then run: reidsim run {shlex.quote(str(scenario))}")


def _ask_person(columns: Sequence[str]) -> tuple[str, ...]:
    """Ask the user for the identifier of a person among several.

    No column is returned if each row is a person.
    """
    shown = ", ".join(columns)
    echo(f"These identifiers repeat, so a person may have several rows: {shown}")
    while True:
        answer = typer.prompt("Column that identifies a person (empty if each row is a person)", default="")
        if not answer or answer in columns:
            return (answer,) if answer else ()
        echo(f"The answer is not one of {shown}")
