"""Write docs/gallery.md: every bundled scenario at small settings, with a finding, a figure and the code that draws it.

    python tools/gallery.py
    python tools/gallery.py market wan2015 -o elsewhere

The code beside a figure is written as a script and as a notebook without outputs. The tool runs this script, and the
figure on the page is the one that the script draws.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from exhibits import EXHIBITS, Exhibit
from markdown_text import wrapped

from reidsim.core.files import bundled_names
from reidsim.core.validation import inline_toml
from reidsim.engine.results import RunResult
from reidsim.figures.style import save_figure
from reidsim.reports.page.report import caption
from reidsim.scenarios.kind import kind_of_content
from reidsim.scenarios.scenario import Scenario

DOCS = Path(__file__).resolve().parents[1] / "docs"
_SPACES = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|\s+")
_HEAD = """# Gallery

Every bundled scenario, each with a finding, a figure, its command, and Python code that draws the figure. Some runs are
smaller than the bundled scenario; their commands show how. [The ledger](reference/reproduction.md) has the numbers of
the papers.

This page, its pictures, scripts and notebooks are the output of `python tools/gallery.py`.
"""


def make_gallery(folder: Path, names: Sequence[str] = ()) -> Path:
    """Run bundled scenarios, all if none is named; write the page ``gallery.md`` and the files in ``gallery/``."""
    files, page = folder / "gallery", folder / "gallery.md"
    files.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD, *(_exhibit(name, files) for name in names or bundled_names("scenarios"))]
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


@cache
def code(name: str) -> tuple[str, str]:
    """Return the Python code of an exhibit: the lines that make ``result``, and the line that makes ``figure``."""
    exhibit = EXHIBITS.get(name, Exhibit())
    changes = f", overrides={exhibit.reductions!r}" if exhibit.reductions else ""
    run, drawing = f'result = reidsim.{exhibit.command}("{name}"{changes})', f'result.plot("{exhibit.figure}")'
    imports = "import reidsim\n"
    if exhibit.compared_with:
        imports += "from reidsim.kinds.tables.figures import payoff_difference_curves\n"
        drawing = f'payoff_difference_curves(result.records, "{exhibit.compared_with}")'
    return _formatted(f"{imports}\n{run}\n"), f"figure = {drawing}\n"


def _formatted(text: str) -> str:
    command = ["ruff", "format", "--stdin-filename", "docs/gallery/exhibit.py", "-"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=DOCS.parent)  # noqa: S603
    return run.stdout


def played(name: str) -> Any:
    """Return the result of a bundled scenario at the settings of the gallery."""
    return _run(code(name)[0])["result"]


def _run(text: str) -> dict[str, Any]:
    """Return the names that code of an exhibit defines, run in a folder of its own."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(text, "gallery", "exec"), names)  # noqa: S102
    return names


def script(name: str, title: str) -> str:
    """Return an exhibit as a script, which writes its figure."""
    run, drawing = code(name)
    return f'"""{title}."""\n\n{run}{drawing}figure.savefig("{name}.png")\n'


def notebook(name: str, title: str) -> str:
    """Return an exhibit as a notebook without outputs, which shows its figure."""
    run, drawing = code(name)
    cells = [_cell("markdown", f"# {name}\n\n{title}.")]
    # Figures are made without pyplot; the magic command lets Jupyter show them.
    cells += [_cell("code", f"%matplotlib inline\n{run.strip()}"), _cell("code", f"{drawing}figure")]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}, indent=1) + "\n"


def _cell(kind: str, source: str) -> dict[str, Any]:
    outputs = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, **outputs, "source": source.splitlines(keepends=True)}


def _exhibit(name: str, files: Path) -> str:
    """Run an exhibit, write its files and return its part of the page."""
    exhibit, title = EXHIBITS.get(name, Exhibit()), Scenario.load(name).scenario.title
    (files / f"{name}.py").write_text(script(name, title), encoding="utf-8")
    (files / f"{name}.ipynb").write_text(notebook(name, title), encoding="utf-8")
    made = _run(script(name, title))
    result = made["result"]
    save_figure(made["figure"], files / f"{name}.png")
    kind = kind_of_content(result.manifest["content"])
    return "\n".join([
        f"## {name}", "", f"{title}.", "", wrapped(_finding(exhibit, result)), "",
        f"![{caption('figures', exhibit.figure, kind)}](gallery/{name}.png)", "",
        "```console", _command(name, exhibit), "```", "",
        "```python", "".join(code(name)).rstrip(), "```", "",
        f"[Script](gallery/{name}.py) · [Notebook](gallery/{name}.ipynb)", "",
    ])  # fmt: skip


def _finding(exhibit: Exhibit, result: object) -> str:
    if exhibit.finding:
        return exhibit.finding.format_map(exhibit.numbers(result))
    return _general(result) if isinstance(result, RunResult) else "Its tables and figures show what it finds."


def _command(name: str, exhibit: Exhibit) -> str:
    words = [f"--set {shlex.quote(f'{key}={_text(value)}')}" for key, value in exhibit.reductions.items()]
    return " \\\n  ".join([f"reidsim {exhibit.command} {name}", *words])


def _text(value: object) -> str:
    """Return a value as typed on the command line: TOML without spaces outside of text."""
    return value if isinstance(value, str) else _SPACES.sub(lambda found: found[1] or "", inline_toml(value))


def _general(result: RunResult) -> str:
    """Return two sentences that any comparison of policies allows."""
    summary = result.summary
    if "publisher_payoff" not in summary:
        return "Its tables and figures are described with its kind of game."
    defender = kind_of_content(result.manifest["content"]).decides
    row = summary.sort_values("publisher_payoff", ascending=False, kind="stable").iloc[0]
    return (
        f"Of {len(summary)} policies, `{row.name}` pays the {defender} most: {row['publisher_payoff']:,.2f} per "
        f"record. The adversary then attacks {row['share_attacked']:.2%} of the records, and the re-identification "
        f"risk is {row['risk']:.4f}."
    )


def main() -> None:
    """Write the page and its pictures, over older ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", help="all bundled ones, if none is named")
    parser.add_argument("-o", "--output", type=Path, default=DOCS, help="folder of the page")
    given = parser.parse_args()
    make_gallery(given.output, given.scenarios)


if __name__ == "__main__":
    main()
