"""Write everything that belongs to a release into one folder: file, sidecar, rulebook, scenario and report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reidsim.core.errors import PRIVATE, InputError, refuse_first
from reidsim.core.validation import toml_text
from reidsim.engine.results import sha256_of, sidecar_of, write_results
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import require_new_files, share_run
from reidsim.scenarios.scenario import anchored

# Names of the files in the folder. Only the first and its sidecar are for publication.
SHARED, RULEBOOK, SCENARIO, PAGE, PAPER = "shared.csv", "rulebook.csv", "scenario.toml", "report.html", "report.pdf"
FILES = (SHARED, sidecar_of(Path(SHARED)).name, RULEBOOK, SCENARIO, PAGE, PAPER)


def share_files(
    results: Path,
    path: Path | None = None,
    *,
    into: Path | None = None,
    rulebook: Path | None = None,
    report: Mapping[str, Any] = {},
    **options: Any,
) -> tuple[dict[str, Any], tuple[str, ...], dict[Path, str]]:
    """Write a released file with its sidecar; into a folder also the rulebook, the scenario and the report, or nothing.

    Parameters
    ----------
    results : Path
        Results folder of a single run.
    path : Path, optional
        New file, without a folder.
    into : Path, optional
        New folder.
    rulebook : Path, optional
        New file with the rules, without a folder.
    report : mapping
        Options of `report_text`, such as ``decider``, for the report in the folder.
    **options
        Other options of `share_run`.

    Returns
    -------
    sidecar : dict
    warnings : tuple of str
        Warnings of the release; also the reason why a folder has no rulebook, if rules by values cannot express it, and
        why it has no PDF, if its fonts lack a character.
    digests : dict of Path to str
        SHA-256 of each file.

    Raises
    ------
    InputError
        As `share_run` and `report_text`; if the folder is not empty or cannot be written; or if an option of the
        report would have no effect, or the folder has a file that is also named.
    """
    problem, files = "only the report in a folder has this", {"--output": path, "--rulebook": rulebook}
    refuse_first(
        *((into is None and value, problem, f"--{key}", value, "--into NEW") for key, value in report.items()),
        *((into and value, "the folder has this file", key, str(value), None) for key, value in files.items()),
    )
    if path is not None:
        require_new_files(path, rulebook)
        sidecar, warnings = share_run(open_results(results), path, rulebook=rulebook, **options)
        return sidecar, warnings, {each: sha256_of(each) for each in (path, sidecar_of(path))}
    # A single file needs no figures and no PDF, whose imports take a second.
    from reidsim.reports.page.pdf import UnprintableError
    from reidsim.reports.page.report import report_text, write_page

    run, found, folder = open_results(results), list[Any](), Path(into or "")

    def write(into: Path) -> None:
        shared, rulebook, reasons = into / SHARED, into / RULEBOOK, tuple[str, ...]()
        try:
            sidecar, warnings = share_run(run, shared, rulebook=rulebook, **options)
        except InputError as error:
            if not str(error.where).startswith("--rulebook"):
                raise
            sidecar, warnings = share_run(run, shared, **options)
            reasons = (str(error),)
        # The scenario has another folder than that of the run, from which its paths start. Files of tables in memory
        # are temporary, so only their names stay.
        start = Path(run.manifest["scenario_file"]).parent
        content = run.content if start.name.startswith(PRIVATE) else anchored(run.content, start)
        (into / SCENARIO).write_text(toml_text(content), encoding="utf-8")
        others = [each for each in (rulebook, into / SCENARIO) if each.exists()]
        text = report_text(results, shared_file=shared, files=others, **report)
        write_page(into / PAGE, text)
        try:
            write_page(into / PAPER, text, [f"SHA-256 of {PAGE}: {sha256_of(into / PAGE)}"])
        except UnprintableError as error:
            reasons += (str(error),)
        written = [each for each in (shared, sidecar_of(shared), *others, into / PAGE, into / PAPER) if each.exists()]
        found[:] = sidecar, (*warnings, *reasons), {folder / each.name: sha256_of(each) for each in written}

    write_results(folder, write)
    return found[0], found[1], found[2]
