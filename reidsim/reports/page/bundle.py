"""Write everything that belongs to a release into one folder: file, sidecar, rulebook, scenario and report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reidsim.core.errors import InputError
from reidsim.core.validation import toml_text
from reidsim.engine.results import sha256_of, write_results
from reidsim.reports.page.report import report_text, write_page
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import share_run, sidecar_of

# Names of the files in the folder. Only the first and its sidecar are for publication.
SHARED, RULEBOOK, SCENARIO, PAGE, PAPER = "shared.csv", "rulebook.csv", "scenario.toml", "report.html", "report.pdf"


def share_folder(
    results: Path, folder: Path, *, report: Mapping[str, Any] = {}, **options: Any
) -> tuple[dict[str, Any], tuple[str, ...], dict[str, str]]:
    """Write the released file, its sidecar and rulebook, the scenario and the report into a new folder, or nothing.

    Parameters
    ----------
    results : Path
        Results folder of a single run.
    folder : Path
        New folder.
    report : mapping
        Options of `report_text`, such as ``decider``.
    **options
        Options of `share_run` other than the rulebook.

    Returns
    -------
    sidecar : dict
    warnings : tuple of str
        Warnings of the release; also the reason why there is no rulebook, if rules by values cannot express it.
    digests : dict of str to str
        SHA-256 of each file, by name.

    Raises
    ------
    InputError
        As `share_run` and `report_text`, or if the folder is not empty or cannot be written.
    """
    run, found = open_results(results), list[Any]()

    def write(into: Path) -> None:
        shared, rulebook, reasons = into / SHARED, into / RULEBOOK, tuple[str, ...]()
        try:
            sidecar, warnings = share_run(run, shared, rulebook=rulebook, **options)
        except InputError as error:
            if not str(error.where).startswith("--rulebook"):
                raise
            sidecar, warnings = share_run(run, shared, **options)
            reasons = (str(error),)
        (into / SCENARIO).write_text(toml_text(run.content), encoding="utf-8")
        others = [path for path in (rulebook, into / SCENARIO) if path.exists()]
        text = report_text(results, shared_file=shared, files=others, **report)
        write_page(into / PAGE, text)
        write_page(into / PAPER, text, [f"SHA-256 of {PAGE}: {sha256_of(into / PAGE)}"])
        written = [shared, sidecar_of(shared), *others, into / PAGE, into / PAPER]
        found[:] = sidecar, (*warnings, *reasons), {path.name: sha256_of(path) for path in written}

    write_results(folder, write)
    return found[0], found[1], found[2]


def require_for_folder(folder: object, report: Mapping[str, Any], **files: object) -> None:
    """Check that a folder is given with options of its report, and without names of single files.

    Parameters
    ----------
    folder : object
        The folder; None if it is not given.
    report : mapping
        Options of the report.
    **files
        Names of single files, by option.

    Raises
    ------
    InputError
        If an option of the report would have no effect, or the folder has a file that is also named.
    """
    named, signed = (next(((k, v) for k, v in each.items() if v), None) for each in (files, report))
    if folder is None and signed is not None:
        raise InputError("only the report in a folder has this", where=f"--{signed[0]}", expected="--into NEW")
    if folder is not None and named is not None:
        raise InputError("the folder has this file", where=f"--{named[0]}", found=str(named[1]))
