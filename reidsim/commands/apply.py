"""The command that shares new records as the rulebook of an earlier release says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import KeepIdentifierOption, KeepOption, print_warnings
from reidsim.wording import counted


def apply(
    rulebook: Annotated[Path, typer.Argument(help="Rulebook that `reidsim share --rulebook` wrote.", metavar="RULES")],
    new: Annotated[Path, typer.Argument(help="File of new records.", metavar="NEW")],
    output: Annotated[Path, typer.Option("-o", "--output", help="New CSV file.")],
    keep: KeepOption = None,
    keep_identifier: KeepIdentifierOption = None,
) -> None:
    """Share new records by the rulebook of an earlier release, and withhold those that it does not cover.

    Example: reidsim apply rules.csv december.csv -o december-shared.csv

    Example: reidsim apply rules.csv january.csv -o january-shared.csv
    """
    from reidsim.engine.results import require_no_standard_output
    from reidsim.populations.files import require_new_file, write_new_file
    from reidsim.reports.shared.file import csv_bytes
    from reidsim.reports.shared.rulebook import apply_rules

    require_no_standard_output(output)
    require_new_file(output)
    applied = apply_rules(rulebook, new, keep=keep or (), keep_identifier=keep_identifier or ())
    write_new_file(output, csv_bytes(applied.table, applied.delimiter))
    typer.echo(
        f"{len(applied.table):,} of {counted(applied.records, 'record')} shared; withheld: "
        f"{applied.ruled_out:,} by a rule, {applied.uncovered:,} as no rule covers their values"
    )
    print_warnings(
        ("risk was computed for the release of the rulebook; reidsim score computes that of a new file",)
        if len(applied.table)
        else ("no record is shared",)
    )
    typer.echo(f"Written: {output}")
