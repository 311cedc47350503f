"""Commands that make populations and describe files of people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import EncodingOption, overrides_of, print_tables, print_warnings, waiting
from reidsim.seeds import LARGEST_SEED
from reidsim.terminal import note


def populate(
    recipe: Annotated[str, typer.Argument(help="Name of a bundled population, or a TOML file.", metavar="RECIPE")],
    output: Annotated[Path, typer.Option("-o", "--output", help="New file, whose name ends in .parquet.")],
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the draw, instead of the recipe's.", min=0, max=LARGEST_SEED),
    ] = None,
    expected: Annotated[bool, typer.Option("--expected", help="Expected counts instead of a draw.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Replace a value of the recipe, such as people=5000.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Make a population, genealogy or external resource and write it as Parquet.

    Example: reidsim populate ystr-genealogy-small -o families.parquet --seed 7

    Example: reidsim populate tennessee-2010 -o tennessee.parquet
    """
    with waiting(f"making {recipe}") as progress:
        from reidsim.populations.populate import populate as make_file

        written = make_file(
            recipe,
            output,
            counts="expected" if expected else "sample",
            seed=seed,
            overrides=overrides_of(set_),
            progress=progress,
        )
    truth = "" if written.truth is None else f"; who they are about in {written.truth}"
    note(f"{written.people:,.0f} people in {written.rows:,} rows: {written.path}{truth}")


def describe(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with a header (comma, semicolon, tab or bar; may be compressed), or Parquet.", metavar="FILE"
        ),
    ],
    columns: Annotated[
        list[str] | None, typer.Option("--column", help="Attribute that an adversary may know (default: all).")
    ] = None,
    count: Annotated[
        str | None, typer.Option(help="Column with the number of records of each row (default: one).")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column with sampling weights."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(help="Column that identifies the person of a record: people are counted."),
    ] = None,
    population_size: Annotated[
        int | None,
        typer.Option(help="People in the population (default: the file is the population).", min=1),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    encoding: EncodingOption = None,
) -> None:
    """Measure how unique the records of a file are.

    Example: reidsim describe people.csv --column age --column sex --population-size 5000

    Example: reidsim describe people.parquet
    """
    with waiting(f"reading {file}"):
        from reidsim.reports.description import describe_file
        from reidsim.reports.description_table import description_tables

        description = describe_file(
            file, columns=columns, count=count, weight=weight, person=person, population_size=population_size,
            level=level, encoding=encoding,
        )  # fmt: skip
    print_tables(description_tables(description), always=True)
    print_warnings(description.warnings)
