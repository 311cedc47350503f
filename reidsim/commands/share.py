"""The command that writes the records in the forms that a run chose, and checks what it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reidsim.commands.arguments import print_warnings
from reidsim.errors import InputError
from reidsim.wording import counted


def share(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Results folder of a run about tables or masking; needed unless --verify is given.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="New CSV file; the sidecar is FILE.json; needed unless --verify is given."),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Whose forms; needed if the run has several.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column to copy as it is besides the quasi-identifiers.", metavar="COLUMN"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The file of the records, if it was moved; its content must be that of the run.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Check a shared file and its sidecar instead.", metavar="FILE")
    ] = None,
) -> None:
    """Write the records in the forms that a policy of a run chose, with a sidecar.

    Example: reidsim share results/patients-001 -o shared.csv --policy no-attack
    """
    from reidsim.reports.shared.file import require_new_files, sidecar_of, verify_shared, write_shared

    if verify is not None:
        if any(given not in (None, []) for given in (folder, output, policy, keep, data)):
            raise InputError(
                "a check takes no results and writes nothing", where="--verify", expected="no more options"
            )
        sidecar = verify_shared(verify)
        typer.echo(f"{verify} and its sidecar are as they were written")
        typer.echo(_in_words(sidecar))
        return
    if folder is None or output is None:
        where, expected = ("DIR", "a results folder") if folder is None else ("-o", "the name of a new file")
        raise InputError("missing", where=where, expected=expected, hint="or --verify FILE")
    from reidsim.reports.page.stored_run import open_results
    from reidsim.reports.shared.records import shared_records

    require_new_files(output)
    run = open_results(folder)
    shared = shared_records(run, policy=policy, keep=keep or (), data=data)
    sidecar = write_shared(output, run, shared)
    print_warnings(shared.warnings)
    typer.echo(_in_words(sidecar))
    typer.echo(f"Written: {output} and {sidecar_of(output)}")


def _in_words(sidecar: dict[str, Any]) -> str:
    records, classes = sidecar["records"], sidecar["classes"]
    risk, utility = (sidecar["expected"][measure]["value"] for measure in ("risk", "utility"))
    smallest = f", the smallest of {classes['smallest']:,}" if classes["number"] else ""
    # Sidecars of earlier versions say nothing of rounds.
    last = sidecar.get("round")
    drawn = ", as drawn" if last and last["outcomes"] == "drawn" else ""
    in_round = f" in round {last['number']:,}, the last{drawn}" if last else ""
    return (
        f"{sidecar['policy']}: {records['shared']:,} of {counted(records['release'], 'record')} in "
        f"{counted(classes['number'], 'equivalence class', 'equivalence classes')}{smallest}\n"
        f"re-identification risk {risk:.4f}, utility {utility:.4f}{in_round}"
    )
