"""Commands that make populations and describe files of people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import EncodingOption, overrides_of, print_tables, print_warnings, waiting
from reidsim.seeds import LARGEST_SEED
from reidsim.terminal import note


def populate(
    recipe: Annotated[
        str, typer.Argument(help="Name of a bundled population, or path of a TOML recipe.", metavar="RECIPE")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="New file, with a name that ends in .parquet.")],
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the random draw (default: the recipe's seed).", min=0, max=LARGEST_SEED),
    ] = None,
    expected: Annotated[
        bool, typer.Option("--expected", help="Write expected counts instead of drawing people.")
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Value that replaces the value of a recipe key, such as people=5000.", metavar="KEY=VALUE"
        ),
    ] = None,
) -> None:
    """Generate a population, genealogy or external resource and write it as a Parquet file.

    Example: reidsim populate ystr-genealogy-small -o families.parquet --seed 7

    Example: reidsim populate tennessee-2010 -o tennessee.parquet
    """
    with waiting(f"making {recipe}") as progress:
        from reidsim.populations.catalogue import populate as make_file

        written = make_file(
            recipe,
            output,
            counts="expected" if expected else "sample",
            seed=seed,
            overrides=overrides_of(set_),
            progress=progress,
        )
    truth = "" if written.truth is None else f"; the true person of each row in {written.truth}"
    note(f"{written.people:,.0f} people in {written.rows:,} rows: {written.path}{truth}")


def describe(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV file with a header (separated by comma, semicolon, tab or bar; may be compressed), or "
            "Parquet file.",
            metavar="FILE",
        ),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Quasi-identifier, which an adversary may know (default: all columns)."),
    ] = None,
    count: Annotated[
        str | None, typer.Option(help="Column with the number of records of each row (default: one record per row).")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column with sampling weights."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies the person of each record, so that people are counted instead of records."
        ),
    ] = None,
    population_size: Annotated[
        int | None,
        typer.Option(
            help="Number of people in the population from which the file is a sample (default: the file is "
            "the population).",
            min=1,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    encoding: EncodingOption = None,
) -> None:
    """Estimate the uniqueness of the records in a file.

    Example: reidsim describe people.csv --column age --column sex --population-size 5000

    Example: reidsim describe people.parquet
    """
    with waiting(f"reading {file}"):
        from reidsim.reports.description import describe_file
        from reidsim.reports.file_tables import description_tables

        description = describe_file(
            file,
            columns=columns,
            count=count,
            weight=weight,
            person=person,
            population_size=population_size,
            level=level,
            encoding=encoding,
        )
    print_tables(description_tables(description), always=True)
    print_warnings(description.warnings)
