"""Commands that write records to hand over: as a run releases them, or new ones by the rulebook of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reidsim.commands.arguments import AllowCodeOption, KeepIdentifierOption, KeepOption, print_warnings, tell, waiting
from reidsim.errors import InputError
from reidsim.terminal import note
from reidsim.wording import counted


def share(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Results folder of a run; needed unless --verify is given.",
            metavar="DIR",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="New CSV file; the sidecar is FILE.json; needed unless --verify is given."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Policy whose release is written; needed if the run has several.")
    ] = None,
    keep: KeepOption = None,
    keep_identifier: KeepIdentifierOption = None,
    max_risk: Annotated[
        float | None,
        typer.Option(
            "--max-risk",
            help="Highest risk of a record (default: that of the best no-attack policy, else 1/11).",
        ),
    ] = None,
    accept_risk: Annotated[
        bool, typer.Option("--accept-risk", help="Write the file although its highest risk is above the limit.")
    ] = False,
    data: Annotated[Path | None, typer.Option(help="File of the records, unchanged, if it was moved.")] = None,
    rulebook: Annotated[
        Path | None,
        typer.Option("--rulebook", help="New CSV file of decisions for `reidsim apply`; do not share it."),
    ] = None,
    verify: Annotated[
        Path | None, typer.Option(help="Check a shared file and its sidecar instead.", metavar="FILE")
    ] = None,
    allow_code: AllowCodeOption = False,
) -> None:
    """Write the records as a policy of a run releases them, read them back, and write a sidecar.

    Example: reidsim share results/patients-001 -o shared.csv --policy no-attack

    Example: reidsim share results/patients-001 -o shared.csv --max-risk 0.1
    """
    with waiting(f"reading {verify or folder or 'results'}"):
        from reidsim.reports.shared.file import require_new_files, sidecar_of, verify_shared

    if verify is not None:
        options = (folder, output, policy, keep, keep_identifier, data, max_risk, rulebook)
        if any(given not in (None, []) for given in options) or accept_risk:
            raise InputError(
                "a check takes no results and writes nothing", where="--verify", expected="no other options"
            )
        sidecar = verify_shared(verify)
        note(f"{verify} and its sidecar are as they were written")
        tell(_in_words(sidecar))
        return
    if folder is None or output is None:
        where, expected = ("DIR", "a results folder") if folder is None else ("-o", "the name of a new file")
        raise InputError("missing", where=where, expected=expected, hint="or --verify FILE")
    with waiting(f"reading {folder}"):
        from reidsim.reports.page.stored_run import open_results
        from reidsim.reports.shared.sharing import share_run

        # What cannot be written is told before results are opened.
        require_new_files(output)
        sidecar, warnings = share_run(
            open_results(folder),
            output,
            policy=policy,
            keep=keep or (),
            keep_identifier=keep_identifier or (),
            data=data,
            max_risk=max_risk,
            accept_risk=accept_risk,
            rulebook=rulebook,
            allow_code=allow_code,
        )
    print_warnings(warnings)
    tell(_in_words(sidecar))
    note(f"Written: {output} and {sidecar_of(output)}")


def _in_words(sidecar: dict[str, Any]) -> str:
    from reidsim.reports.shared.audited import audit_lines

    lines = [_of_classes(sidecar)]
    # Sidecars of earlier versions say nothing of the highest risk, and were not audited.
    if "risk" in sidecar:
        lines.append(_of_highest(sidecar["risk"]))
    if "audit" in sidecar:
        lines += audit_lines(sidecar["audit"])
    return "\n".join(lines)


def _of_highest(risk: dict[str, Any]) -> str:
    told = f"highest risk of a record, if attacked: {risk['highest']:.4f}"
    if "limit" not in risk:
        return told
    return (
        f"{told}, {'ABOVE' if risk['above_limit'] else 'within'} the limit of {risk['limit']:.4f} ({risk['limit_is']})"
    )


def _of_classes(sidecar: dict[str, Any]) -> str:
    records, classes = sidecar["records"], sidecar["classes"]
    smallest = f", the smallest of {classes['smallest']:,}" if classes["number"] else ""
    # Sidecars of earlier versions say nothing of rounds.
    last = sidecar.get("round")
    drawn = ", as drawn" if last and last["outcomes"] == "drawn" else ""
    in_round = f" in round {last['number']:,}, the last{drawn}" if last else ""
    named = {"risk": "re-identification risk", "utility": "utility"}
    expected = {column: sidecar["expected"].get(column, {}).get("value") for column in named}
    measures = [f"{named[column]} {value:.4f}" for column, value in expected.items() if value is not None]
    return (
        f"{sidecar['policy']}: {records['shared']:,} of {counted(records['release'], 'record')} in "
        f"{counted(classes['number'], 'equivalence class', 'equivalence classes')}{smallest}\n"
        f"{', '.join(measures)}{in_round}"
    )


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
    note(
        f"{len(applied.table):,} of {counted(applied.records, 'record')} shared; withheld: "
        f"{applied.ruled_out:,} by a rule, {applied.uncovered:,} as no rule covers their values"
    )
    print_warnings(
        ("risk was computed for the release of the rulebook; reidsim score computes that of a new file",)
        if len(applied.table)
        else ("no record is shared",)
    )
    note(f"Written: {output}")
