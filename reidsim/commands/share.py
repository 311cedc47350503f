"""Commands that write released records.

These are the records of a run, or new records by the rulebook of a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands.arguments import (
    AllowCodeOption,
    EncodingOption,
    KeepFreeTextOption,
    KeepIdentifierOption,
    KeepOption,
    print_warnings,
    tell,
    waiting,
)
from reidsim.errors import InputError
from reidsim.terminal import note
from reidsim.wording import counted


def share(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Results folder of a run; required without --verify.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="New CSV file; its description (sidecar) is FILE.json; required without --verify."
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Policy whose release is written; required if the run has several policies.")
    ] = None,
    keep: KeepOption = None,
    keep_identifier: KeepIdentifierOption = None,
    keep_free_text: KeepFreeTextOption = False,
    unknown_to_outsiders: Annotated[
        list[str] | None,
        typer.Option(
            "--unknown-to-outsiders",
            help="Kept columns, separated by commas, whose values no outsider can know; the report lists this claim.",
            metavar="COLUMNS",
        ),
    ] = None,
    max_singled_out: Annotated[
        float | None,
        typer.Option(
            "--max-singled-out",
            help="Largest share of people that the other kept columns may single out (default: 0.05).",
            metavar="SHARE",
        ),
    ] = None,
    max_risk: Annotated[
        float | None,
        typer.Option(
            "--max-risk",
            help="Largest accepted probability of re-identification, for a search from a record to its "
            "person and from a person to the record (default: 1/11).",
        ),
    ] = None,
    accept_risk: Annotated[
        bool, typer.Option("--accept-risk", help="Write the file even if its risk exceeds the limit.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="File of the original records, if it was moved after the run.")
    ] = None,
    rulebook: Annotated[
        Path | None,
        typer.Option(
            "--rulebook", help="New CSV file with the rules of this release, for `reidsim apply`; do not publish it."
        ),
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Only check that a shared file and its sidecar are unchanged.", metavar="FILE")
    ] = None,
    allow_code: AllowCodeOption = False,
) -> None:
    """Write the released records of a policy, read the file back to check it, and write a description (sidecar).

    Example: reidsim share results/patients-001 -o shared.csv --policy no-attack

    Example: reidsim share results/patients-001 -o shared.csv --max-risk 0.1
    """
    with waiting(f"reading {verify or folder or 'results'}"):
        from reidsim.reports.shared.audited import summary_of
        from reidsim.reports.shared.file import require_new_files, sidecar_of, verify_shared

    if verify is not None:
        options = (
            folder,
            output,
            policy,
            keep,
            keep_identifier,
            unknown_to_outsiders,
            max_singled_out,
            data,
            max_risk,
            rulebook,
        )
        if any(given not in (None, []) for given in options) or accept_risk or keep_free_text:
            raise InputError(
                "the option cannot be combined with other options",
                where="--verify",
                expected="no other options",
            )
        sidecar = verify_shared(verify)
        note(f"{verify} and its sidecar are unchanged")
        tell(summary_of(sidecar))
        return
    if folder is None or output is None:
        where, expected = ("DIR", "a results folder") if folder is None else ("-o", "the name of a new file")
        raise InputError("argument missing", where=where, expected=expected, hint="or use --verify FILE")
    with waiting(f"reading {folder}"):
        from reidsim.reports.page.stored_run import open_results
        from reidsim.reports.shared.file import share_run
        from reidsim.reports.shared.kept import MOST_SINGLED_OUT, Kept

        # Check the output path before the results are opened.
        require_new_files(output)
        sidecar, warnings = share_run(
            open_results(folder),
            output,
            policy=policy,
            kept=Kept(
                keep or (),
                keep_identifier or (),
                keep_free_text,
                _split(unknown_to_outsiders or (), keep or ()),
                MOST_SINGLED_OUT if max_singled_out is None else max_singled_out,
            ),
            data=data,
            max_risk=max_risk,
            accept_risk=accept_risk,
            rulebook=rulebook,
            allow_code=allow_code,
        )
    print_warnings(warnings)
    tell(summary_of(sidecar))
    note(f"Written: {output} and {sidecar_of(output)}")


def _split(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return the names in comma-separated lists.

    Names of kept columns that contain commas are not split.
    """
    return [name for text in names for name in ([text] if text in kept else text.split(","))]


def apply(
    rulebook: Annotated[Path, typer.Argument(help="Rulebook written by `reidsim share --rulebook`.", metavar="RULES")],
    new: Annotated[Path, typer.Argument(help="File of new records.", metavar="NEW")],
    output: Annotated[Path, typer.Option("-o", "--output", help="New CSV file for the released records.")],
    keep: KeepOption = None,
    keep_identifier: KeepIdentifierOption = None,
    keep_free_text: KeepFreeTextOption = False,
    encoding: EncodingOption = None,
) -> None:
    """Release new records by the rules of an earlier release, and withhold records that the rules do not cover.

    Example: reidsim apply rules.csv december.csv -o december-shared.csv

    Example: reidsim apply rules.csv january.csv -o january-shared.csv
    """
    from reidsim.engine.results import require_no_standard_output
    from reidsim.populations.files import require_new_file, write_new_file
    from reidsim.reports.shared.file import csv_bytes
    from reidsim.reports.shared.kept import Kept
    from reidsim.reports.shared.rulebook import apply_rules

    require_no_standard_output(output)
    require_new_file(output)
    applied = apply_rules(rulebook, new, Kept(keep or (), keep_identifier or (), keep_free_text), encoding=encoding)
    write_new_file(output, csv_bytes(applied.table, applied.delimiter))
    note(
        f"{len(applied.table):,} of {counted(applied.records, 'record')} shared; withheld: "
        f"{applied.ruled_out:,} by a rule, {applied.uncovered:,} because no rule covers their values"
    )
    print_warnings(
        ("the risk was computed for the release of the rulebook; run reidsim score for the risk of a new file",)
        if len(applied.table)
        else ("no record is shared",)
    )
    note(f"Written: {output}")
