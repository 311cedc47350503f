"""Reports, released records and notebook views of results."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from reidsim.core.measures import measures_among
from reidsim.engine.cross_play import CrossPlayResult
from reidsim.engine.results import Result, RunResult
from reidsim.engine.score import ScoreResult
from reidsim.engine.stress.run import StressResult
from reidsim.figures.style import policy_name
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.illustration import illustrate
from reidsim.reports.page.report import report_text, write_report
from reidsim.reports.page.stored_run import open_results
from reidsim.reports.shared.file import share_run
from reidsim.reports.shared.kept import MOST_SINGLED_OUT, Kept
from reidsim.reports.verdict import has_verdict, measures_table, verdict_of
from reidsim.tables import read_table

_PACKAGE = str(Path(__file__).parents[1])
_FRAME = '<iframe srcdoc="{}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'


@dataclass(frozen=True)
class Report:
    """Report as one HTML page, displayed in notebooks.

    Parameters
    ----------
    html : str
    """

    html: str

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        return _FRAME.format(escape(self.html))


def report(
    result: Result | str | Path, path: str | Path | None = None, *, author: str = "", institution: str = ""
) -> Report:
    """Write the report of a result as one self-contained HTML page.

    Parameters
    ----------
    result : RunResult, CrossPlayResult, StressResult, str or Path
        A result, or a results folder.
    path : str or Path, optional
        New file for the report, ``.html`` or ``.md``.
    author, institution : str
        Author of the report and the author's institution, for the heading.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the folder contains no results, or the file exists or cannot be written.

    See Also
    --------
    share : write the records that a policy releases.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    >>> reidsim.new(patients).run().report()  # doctest: +ELLIPSIS
    Report(... characters of HTML)
    """
    with TemporaryDirectory() as place:
        folder = Path(result) if isinstance(result, str | Path) else Path(place) / "results"
        if isinstance(result, Result):
            result.save(folder, illustrate=illustrate)
        if path is not None:
            written = write_report(folder, path, author=author, institution=institution)
            if written.suffix != ".md":
                return Report(written.read_text(encoding="utf-8"))
        return Report(report_text(folder, author=author, institution=institution))


def share(
    result: RunResult | str | Path,
    policy: str | None = None,
    *,
    path: str | Path | None = None,
    keep: Sequence[str] = (),
    keep_identifier: Sequence[str] = (),
    keep_free_text: bool = False,
    unknown_to_outsiders: Sequence[str] = (),
    max_singled_out: float = MOST_SINGLED_OUT,
    max_risk: float | None = None,
    accept_risk: bool = False,
) -> pd.DataFrame:
    """Return the records released by a policy, with the checks of `reidsim share`.

    The records are written to a file, read back, and audited.

    Parameters
    ----------
    result : RunResult, str or Path
        A result, or a results folder.
    policy : str, optional
        Policy whose generalizations are used; required if the result contains several policies.
    path : str or Path, optional
        New CSV file for the records; its sidecar is written to the same folder.
    keep : sequence of str
        Columns to copy unchanged; columns that identify most people are refused.
    keep_identifier : sequence of str
        Columns to copy unchanged even if they identify people.
    keep_free_text : bool
        Whether to copy kept columns with free text, which may name people.
    unknown_to_outsiders : sequence of str
        Kept columns whose values no outsider can know.
    max_singled_out : float
        Maximum share of people singled out by the other kept columns.
    max_risk : float, optional
        Maximum risk of a record, and of a person who is looked up in the file; one in eleven if not given.
    accept_risk : bool
        Whether to release the records even if the risk is above the maximum.

    Returns
    -------
    DataFrame
        Text, one row per released record. ``attrs["sidecar"]`` holds the audit of the file.

    Raises
    ------
    InputError
        If a column identifies people, kept columns single out too many people, the risk is above the maximum, or the
        result is not from single records.

    See Also
    --------
    report : write a report of a result.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> shared = reidsim.share(reidsim.new(patients).run(), "basic")
    >>> len(shared), shared.attrs["sidecar"]["audit"]["smallest_class"]
    (80, 20)
    """
    with TemporaryDirectory() as place:
        folder = Path(result) if isinstance(result, str | Path) else Path(place) / "results"
        if isinstance(result, RunResult):
            result.save(folder)
        written = Path(place) / "shared.csv" if path is None else Path(path)
        sidecar, told = share_run(
            open_results(folder),
            written,
            policy=policy,
            kept=Kept(keep, keep_identifier, keep_free_text, unknown_to_outsiders, max_singled_out),
            max_risk=max_risk,
            accept_risk=accept_risk,
        )
        for text in told:
            warnings.warn(text, stacklevel=_level_outside())
        table = pd.DataFrame(columns=[column["name"] for column in sidecar["columns"]])
        if sidecar["records"]["shared"]:
            table = read_table(written, delimiter=str(sidecar["delimiter"]), trim=False)
    table.attrs["sidecar"] = sidecar
    return table


def result_html(result: Result) -> str:
    """Return the notebook view of a result: verdict, table and warnings."""
    told = "".join(f"<p>{escape(line)}</p>" for line in verdict_of(result, policy_name).splitlines())
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in result.warnings)
    return f"<p><strong>{escape(result.name)}</strong></p>{told}{_table(result)}" + (
        f"<ul>{warnings}</ul>" if warnings else ""
    )


def _table(result: Result) -> str:
    if isinstance(result, CrossPlayResult):
        return result.matrix(PUBLISHER_PAYOFF.column).map(PUBLISHER_PAYOFF.text).to_html()
    if isinstance(result, StressResult):
        found = result.tables.get("robustness", pd.DataFrame())
        numbers = ["mean_payoff", "worst_payoff", "largest_regret"]
        if found.empty:
            return ""
        shown = found[numbers].map(PUBLISHER_PAYOFF.text).set_axis(found["policy"].map(policy_name).rename(None))
        return shown.rename(columns=lambda name: name.replace("_", " ")).to_html()
    if not isinstance(result, RunResult | ScoreResult):
        # If there are several tables, the first one that is not empty holds the main result.
        first = next((table for table in result.stored_tables().values() if len(table)), pd.DataFrame())
        return first.to_html(index=False)
    if has_verdict(result.summary):
        return measures_table(result.summary, result.manifest["content"], policy_name)
    measures = result.measures.values() if isinstance(result, ScoreResult) else result.measures
    known = measures_among(measures, result.summary.columns)
    return pd.DataFrame(
        {measure.label: result.summary[name].map(measure.text) for name, measure in known.items()}
    ).to_html()


def _level_outside() -> int:
    """Return the stack level at which a warning points to code outside the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
