"""Commands on data before a run: drafts, populations, descriptions, and lists of what is bundled."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import reidsim.commands as late
from reidsim.commands.arguments import (
    EncodingOption,
    NewFileOption,
    OutputOption,
    overrides_of,
    print_tables,
    print_warnings,
    waiting,
)
from reidsim.core.bundled import BUNDLED_FOLDERS, bundled_names, bundled_titles, resolve
from reidsim.core.errors import InputError
from reidsim.core.terminal import echo, note
from reidsim.core.validation import LARGEST_SEED, read_text
from reidsim.drafts.options import DraftOptions


def new(data: Path, options: DraftOptions, output: OutputOption = None, hierarchy: Sequence[str] = ()) -> None:
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
    with waiting(f"reading {data}"):
        name = late.name_of(data)
        # For a file without a suffix, the default folder would have the file's own name.
        folder = output or Path(f"{name}-draft" if name == data.name else name)
        late.require_free(folder)
    try:
        with waiting(f"reading {data}"):
            draft = late.draft_scenario(data, folder, options, hierarchies)
    except late.UndecidedPersonError as undecided:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise
        key = _ask_person(undecided.columns)
        with waiting(f"reading {data}"):
            chosen = replace(options, person=key, one_row_per_person=not key)
            draft = late.draft_scenario(data, folder, chosen, hierarchies)
    late.write_results(folder, draft.write)
    print_tables([late.draft_table(draft, data.name)])
    print_warnings(draft.warnings)
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
    output: NewFileOption,
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
    with waiting(f"making {recipe}") as progress:
        written = late.populate(
            recipe,
            output,
            counts="expected" if expected else "sample",
            seed=seed,
            overrides=overrides_of(set_),
            progress=progress,
        )
    truth = "" if written.truth is None else f"; the true person of each row in {written.truth}"
    note(f"{written.people:,.0f} people in {written.rows:,} rows: {written.path}{truth}")


@dataclass(frozen=True)
class DescriptionOptions:
    """Options of the description of a file, named as in `reidsim.describe_file`.

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
    encoding: EncodingOption = None


def describe(file: Path, options: DescriptionOptions) -> None:
    """Estimate the uniqueness of the records in a file.

    Example: reidsim describe people.csv --column age --column sex --population-size 5000

    Example: reidsim describe people.parquet

    Parameters
    ----------
    file : FILE
        CSV file with a header (separated by comma, semicolon, tab or bar; may be compressed), or Parquet file.
    """
    with waiting(f"reading {file}"):
        description = late.describe_file(file, **vars(options))
    print_tables(late.description_tables(description), always=True)
    print_warnings(description.warnings)


def list_() -> None:
    """List the bundled scenarios and populations.

    Background knowledge and social-media models are listed, too.

    Example: reidsim list

    Example: reidsim list > bundled.txt
    """
    for heading, titles in bundled_titles().items():
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
    folder = next((folder for folder in BUNDLED_FOLDERS if name in bundled_names(folder)), "scenarios")
    echo(read_text(resolve(name, folder, "scenario")), nl=False)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    Example: reidsim schema > scenario.schema.json

    Example: reidsim schema | less
    """
    from pydantic.json_schema import models_json_schema

    models: list[Any] = [(model, "validation") for model in late.schemas().values()]
    inputs, definitions = models_json_schema(models, by_alias=True)
    echo(json.dumps({"anyOf": list(inputs.values()), **definitions}, indent=2))
