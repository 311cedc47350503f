"""Commands on a results folder: write its report or its released records, and apply the rules of a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import reidsim.commands as late
from reidsim.commands import arguments
from reidsim.core.errors import InputError
from reidsim.core.terminal import note
from reidsim.core.wording import counted

if TYPE_CHECKING:
    from reidsim.reports.shared.records import Kept


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
    """

    scenario_file: Annotated[Path | None, typer.Option("--scenario")] = None
    shared_file: Annotated[Path | None, typer.Option("--shared")] = None
    break_even: Annotated[bool | None, typer.Option("--break-even/--no-break-even")] = None
    author: str = ""
    institution: str = ""


def report(
    folder: Path,
    options: ReportOptions,
    output: arguments.OutputOption = None,
    no_cells: bool = False,
) -> None:
    """Write a report of a run as one self-contained HTML page.

    Example: reidsim report results/wan2015-001 --author "Ada Moss" --institution "Town Clinic"

    Example: reidsim report results/wan2015-001 -o board.html

    Parameters
    ----------
    folder : DIR
        Results folder of a run.
    output
        New file (default: report.html in DIR).
    no_cells
        Omit sample rows and the records with the highest risk.
    """
    with arguments.waiting(f"reading {folder}") as progress:
        late.require_no_standard_output(output or folder)
        written = late.write_report(folder, output, progress=progress, cells=not no_cells, **vars(options))
    note(f"Report in {written}")


@dataclass(frozen=True)
class KeptColumns:
    """Columns that are copied besides the quasi-identifiers.

    Parameters
    ----------
    keep : COLUMN
        Column to copy unchanged, in addition to the quasi-identifiers.
    keep_identifier : COLUMN
        Column to copy although its values could identify most people.
    keep_free_text
        Copy kept columns although they contain free text, which may identify people.
    """

    keep: Sequence[str] = ()
    keep_identifier: Sequence[str] = ()
    keep_free_text: bool = False

    def kept(self, *more: Any) -> Kept:
        """Return the columns as the release uses them; see `Kept`.

        `more` are the further parameters of `Kept`: columns unknown to outsiders, and the largest share of people that
        kept columns may single out.
        """
        return late.Kept(self.keep, self.keep_identifier, self.keep_free_text, *more)  # type: ignore[no-any-return]


def share(
    columns: KeptColumns,
    folder: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    output: arguments.OutputOption = None,
    policy: str | None = None,
    unknown_to_outsiders: Sequence[str] = (),
    max_singled_out: float | None = None,
    max_risk: float | None = None,
    accept_risk: bool = False,
    data: Path | None = None,
    rulebook: Path | None = None,
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
    unknown_to_outsiders : COLUMNS
        Kept columns, separated by commas, whose values no outsider can know; the report lists this claim.
    max_singled_out : SHARE
        Largest share of people that the other kept columns may single out (default: 0.05).
    max_risk
        Largest accepted probability of re-identification, for a search from a record to its person and from a person to
        the record (default: 1/11).
    accept_risk
        Write the file even if its risk exceeds the limit.
    data
        File of the original records, if it was moved after the run.
    rulebook
        New CSV file with the rules of this release, for `reidsim apply`; do not publish it.
    verify : FILE
        Only check that a shared file and its sidecar are unchanged.
    """
    if verify is not None:
        others = (folder, output, policy, unknown_to_outsiders, max_singled_out, max_risk, data, rulebook)
        if any(value not in (None, ()) for value in others) or accept_risk or any(vars(columns).values()):
            problem = "the option cannot be combined with other options"
            raise InputError(problem, where="--verify", expected="no other options")
        sidecar = late.verify_shared(verify)
        note(f"{verify} and its sidecar are unchanged")
        note(late.summary_of(sidecar))
        return
    if folder is None or output is None:
        where, expected = ("DIR", "a results folder") if folder is None else ("-o", "the name of a new file")
        raise InputError("argument missing", where=where, expected=expected, hint="or use --verify FILE")
    with arguments.waiting(f"reading {folder}"):
        # Check the output path before the results are opened.
        late.require_new_files(output)
        unknown = _split(unknown_to_outsiders, columns.keep)
        sidecar, warnings = late.share_run(
            late.open_results(folder),
            output,
            policy=policy,
            kept=columns.kept(unknown, late.MOST_SINGLED_OUT if max_singled_out is None else max_singled_out),
            data=data,
            max_risk=max_risk,
            accept_risk=accept_risk,
            rulebook=rulebook,
            allow_code=allow_code,
        )
    arguments.print_warnings(warnings)
    note(late.summary_of(sidecar))
    note(f"Written: {output} and {late.sidecar_of(output)}")


def _split(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return the column names in texts that are comma-separated lists, in order.

    A text that is the name of a kept column is not split. Spaces around commas are part of a name.
    """
    return [name for text in names for name in ([text] if text in kept else text.split(","))]


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
    late.require_no_standard_output(output)
    late.require_new_file(output)
    applied = late.apply_rules(rulebook, new, columns.kept(), encoding=encoding)
    late.write_new_file(output, late.csv_bytes(applied.table, applied.delimiter))
    note(
        f"{len(applied.table):,} of {counted(applied.records, 'record')} shared; withheld: "
        f"{applied.ruled_out:,} by a rule, {applied.uncovered:,} because no rule covers their values"
    )
    risk = "the risk was computed for the release of the rulebook; run reidsim score for the risk of a new file"
    arguments.print_warnings((risk if len(applied.table) else "no record is shared",))
    note(f"Written: {output}")
