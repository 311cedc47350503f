"""What becomes of a result in Python: a page to hand over, the records to share, a view in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from reidsim.engine.run_result import RunResult
from reidsim.measures import measures_among
from reidsim.reports.illustration import illustrate
from reidsim.reports.measures_html import answer, measures_table
from reidsim.reports.page.report import report_text, write_report

_FRAME = '<iframe srcdoc="{}" style="width: 100%; height: 40em; border: 1px solid #ccc"></iframe>'


@dataclass(frozen=True)
class Report:
    """A report as one HTML page, shown as such in a notebook.

    Parameters
    ----------
    html : str
    """

    html: str

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        return _FRAME.format(escape(self.html))


def report(result: RunResult | str | Path, path: str | Path | None = None) -> Report:
    """Write the report of a run, for whoever decides: one HTML page that needs nothing else.

    Parameters
    ----------
    result : RunResult, str or Path
        A result, or a results folder.
    path : str or Path, optional
        New file for it, ``.html`` or ``.md``.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If the folder holds no results, or the file exists or cannot be written.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    >>> reidsim.new(patients).run().report()  # doctest: +ELLIPSIS
    Report(... characters of HTML)
    """
    with TemporaryDirectory() as place:
        folder = Path(result) if isinstance(result, str | Path) else Path(place) / "results"
        if isinstance(result, RunResult):
            result.save(folder, illustrate=illustrate)
        if path is not None:
            write_report(folder, path)
        return Report(report_text(folder))


def result_html(result: RunResult) -> str:
    """Return a result as a notebook shows it: the answer in a sentence, the measures by policy, and the warnings."""
    summary = result.summary
    by_policy = summary.index.nlevels == 1 and summary.index.name == "policy" and "publisher_payoff" in summary
    if by_policy:
        content = result.manifest["content"]
        shown = f"<p>{escape(answer(summary, content))}</p>{measures_table(summary, content)}"
    else:
        known = measures_among(result.measures, summary.columns)
        table = pd.DataFrame({measure.label: summary[name].map(measure.text) for name, measure in known.items()})
        shown = table.to_html()
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in result.warnings)
    return f"<p><strong>{escape(result.name)}</strong></p>{shown}" + (f"<ul>{warnings}</ul>" if warnings else "")
