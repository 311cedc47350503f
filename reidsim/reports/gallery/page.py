"""The page of the gallery: every bundled scenario, run small, with a figure and what it shows in two sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reidsim.bundled import bundled_names
from reidsim.engine.run import run_loaded
from reidsim.engine.run_result import RunResult
from reidsim.engine.stress.run import stress_loaded
from reidsim.errors import InputError, listed, require_among, writing
from reidsim.figures.style import own_settings, save_figure
from reidsim.kinds.tables.figures.differences import payoff_difference_curves
from reidsim.reports.gallery.exhibits import EXHIBITS, Exhibit
from reidsim.reports.illustration import figures_of
from reidsim.reports.markdown import wrapped
from reidsim.reports.page.captions import figure_caption
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.registry import kind_of, kind_of_content
from reidsim.scenarios.study import Progress
from reidsim.toml_text import inline_toml

_SPACES = re.compile(r"(\"(?:[^\"\\]|\\.)*\")|\s+")
_HEAD = """# Gallery

{shown}, each with a finding, a figure and its command.
Some runs are smaller than the bundled scenario; their commands show how.{ledger}

This page and its pictures are the output of

```console
{command}
```
"""
_LEDGER = "\n[The ledger](reproduction.md) has the numbers of the papers."


def make_gallery(folder: Path, names: Sequence[str] = (), *, progress: Progress | None = None) -> Path:
    """Run scenarios and write the page ``gallery.md`` and the pictures in ``gallery/``, over older ones.

    Parameters
    ----------
    folder : Path
    names : sequence of str
        Bundled scenarios; all if none is named.
    progress : callable, optional

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        If a name is unknown, the page that is there shows other scenarios than those named, a scenario cannot be run
        or something cannot be written.
    """
    bundled = bundled_names("scenarios")
    names = list(dict.fromkeys(names))
    require_among("no bundled scenario of this name", names, bundled, shown=20)
    pictures = folder / "gallery"
    page = folder / "gallery.md"
    with writing(folder):
        chosen = list(names or bundled)
        if names:
            _require_no_more_on(page, names)
        pictures.mkdir(parents=True, exist_ok=True)
        parts = [_head(names, folder)]
        for done, name in enumerate(chosen):
            if progress is not None:
                progress("gallery", done, len(chosen))
            parts.append(_exhibit(name, pictures, progress))
        page.write_text("\n".join(parts), encoding="utf-8")
    return page


def _require_no_more_on(page: Path, names: Sequence[str]) -> None:
    """Check that a page that is going to be replaced shows no scenario that the new one does not."""
    if not page.is_file():
        return
    lines = page.read_text(encoding="utf-8", errors="replace").splitlines()
    lost = [line.removeprefix("## ") for line in lines if line.startswith("## ") and line[3:] not in names]
    if lost:
        raise InputError(
            "the page that is there shows more scenarios, which would be lost",
            source=page,
            found=listed(lost),
            expected="another folder with -o, or no names, for all of them",
        )


def _head(names: Sequence[str], folder: Path) -> str:
    """Return how the page begins; of all bundled scenarios if none is named."""
    command = shlex.join(["reidsim", "gallery", *names, "-o", str(folder)])
    if not names:
        return _HEAD.format(shown="Every bundled scenario", command=command, ledger=_LEDGER)
    *first, last = (f"`{name}`" for name in names)
    shown = f"The bundled scenarios {', '.join(first)} and {last}" if first else f"The bundled scenario {last}"
    return _HEAD.format(shown=shown, command=command, ledger="")


@own_settings()
def _exhibit(name: str, pictures: Path, progress: Progress | None) -> str:
    """Run a scenario and return its part of the page."""
    exhibit = EXHIBITS.get(name, Exhibit())
    loaded = load_scenario(name, exhibit.reductions)
    play: Callable[..., Any] = stress_loaded if exhibit.command == "stress" else run_loaded
    result = play(loaded, progress=progress)
    figures = figures_of(result)
    if exhibit.compared_with:
        figures = iter([(exhibit.figure, payoff_difference_curves(result.records, exhibit.compared_with))])
    finding = _finding(exhibit, result)
    lines = [f"## {name}", "", f"{loaded.scenario.title}.", "", wrapped(finding), ""]
    drawn = next(((key, figure) for key, figure in figures if exhibit.figure in ("", key)), None)
    if drawn is not None:
        save_figure(drawn[1], pictures / f"{name}.png")
        lines += [f"![{figure_caption(drawn[0], kind_of(loaded.scenario))}](gallery/{name}.png)", ""]
    return "\n".join([*lines, "```console", _command(name, exhibit), "```", ""])


def _finding(exhibit: Exhibit, result: object) -> str:
    if exhibit.finding:
        return exhibit.finding.format_map(exhibit.numbers(result))
    return _general(result) if isinstance(result, RunResult) else "Its tables and figures show what it finds."


def _command(name: str, exhibit: Exhibit) -> str:
    words = [f"--set {shlex.quote(f'{key}={_text(value)}')}" for key, value in exhibit.reductions.items()]
    return " \\\n  ".join([f"reidsim {exhibit.command} {name}", *words])


def _text(value: object) -> str:
    """Return a value as it is typed in: TOML without the spaces that are outside text."""
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
