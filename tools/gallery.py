"""Write docs/gallery.md: every bundled scenario at small settings, with a figure and its finding in two sentences.

python tools/gallery.py
python tools/gallery.py market wan2015 -o elsewhere
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exhibits import EXHIBITS, Exhibit
from markdown_text import wrapped

from reidsim.core.files import bundled_names
from reidsim.core.validation import inline_toml
from reidsim.engine.batch.runner import run_loaded
from reidsim.engine.results import RunResult
from reidsim.engine.stress.run import stress_loaded
from reidsim.figures.style import own_settings, save_figure
from reidsim.kinds.tables.figures import payoff_difference_curves
from reidsim.reports.page.report import caption
from reidsim.reports.python import figures_of
from reidsim.scenarios.kind import kind_of_content
from reidsim.scenarios.scenario import Scenario

DOCS = Path(__file__).resolve().parents[1] / "docs"
_SPACES = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|\s+")
_HEAD = """# Gallery

Every bundled scenario, each with a finding, a figure and its command. Some runs are smaller than the bundled scenario;
their commands show how. [The ledger](reference/reproduction.md) has the numbers of the papers.

This page and its pictures are the output of `python tools/gallery.py`.
"""


def make_gallery(folder: Path, names: Sequence[str] = ()) -> Path:
    """Run bundled scenarios, all if none is named; write the page ``gallery.md`` and the pictures in ``gallery/``."""
    pictures, page = folder / "gallery", folder / "gallery.md"
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD, *(_exhibit(name, pictures) for name in names or bundled_names("scenarios"))]
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def played(name: str) -> Any:
    """Return the result of a bundled scenario at the settings of the gallery."""
    exhibit = EXHIBITS.get(name, Exhibit())
    play: Callable[..., Any] = stress_loaded if exhibit.command == "stress" else run_loaded
    return play(Scenario.load(name, exhibit.reductions))


@own_settings()
def _exhibit(name: str, pictures: Path) -> str:
    """Run a scenario and return its part of the page."""
    exhibit, result = EXHIBITS.get(name, Exhibit()), played(name)
    content = result.manifest["content"]
    figures = figures_of(result)
    if exhibit.compared_with:
        figures = iter([(exhibit.figure, payoff_difference_curves(result.records, exhibit.compared_with))])
    finding = _finding(exhibit, result)
    lines = [f"## {name}", "", f"{content['title']}.", "", wrapped(finding), ""]
    drawn = next(((key, figure) for key, figure in figures if exhibit.figure in ("", key)), None)
    if drawn is not None:
        save_figure(drawn[1], pictures / f"{name}.png")
        lines += [f"![{caption('figures', drawn[0], kind_of_content(content))}](gallery/{name}.png)", ""]
    return "\n".join([*lines, "```console", _command(name, exhibit), "```", ""])


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
