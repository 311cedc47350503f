"""Run the examples of the documentation again, and write their outputs and pictures into the pages.

    python tools/shown_outputs.py                       # README.md, every page of docs, pictures of docs/figures
    python tools/shown_outputs.py tutorials/tutorial.md README.md # only these
    python tools/shown_outputs.py market-rounds.png     # only this picture

Pages run as in the tests (`tests/pages.py`), each in its own folder. Lines omitted from an output (`...`) stay omitted,
unless the lines around them are gone. README.md shows the beginning of a table, up to a line of dots. The script lists
the changed outputs, and the lines of prose with a number that no output contains any more; edit these by hand. It ends
with 1 if a page cannot run. Other tools write the ledger, the gallery, the
reference and the notebook.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from pages import DOCS, OUTPUT, Block, as_shown, blocks_of, lines_of, play, run_commands  # noqa: E402

import reidsim  # noqa: E402
from reidsim.figures.style import save_figure  # noqa: E402
from reidsim.reports.drawing import figures_of, plot  # noqa: E402

README = "README.md"
NUMBER = re.compile(r" *(?<![\w.])-?[0-9][0-9,]*(?:\.[0-9]+)?")
# Pictures of docs/figures: scenario, figure (the default one without a name), and the page with the scenario file.
PICTURES = {
    "wan2015-decision.png": ("wan2015", "", ""),
    "wan2015-strategies.png": ("wan2015", "strategies", ""),
    "market-rounds.png": ("market", "rounds", ""),
    "one-world-through.png": ("one-world", "through", ""),
    "releases.png": ("registry.toml", "waves", "how-to/releases.md"),
}
# Shorter numbers are in many sentences for other reasons.
SHORTEST_NUMBER = 4


def refresh_page(page: str, folder: Path) -> list[tuple[str, str]]:
    """Run a page of docs and write its outputs into it; return the changed ones, before and after."""
    changes = []
    for block, printed in play(page, folder):
        shown = lines_of(as_shown(block.text, printed))
        if lines_of(block.text) != shown:
            changes.append((block, "".join(f"{line}\n" for line in shown)))
    _replace(DOCS / page, changes)
    return [(block.text, text) for block, text in changes]


def refresh_readme(folder: Path) -> list[tuple[str, str]]:
    """Run the command that README.md shows a table of, and write the table's beginning into it."""
    path = REPOSITORY / README
    text = path.read_text(encoding="utf-8")
    command = re.search(r"^pip install \. && (reidsim .*)$", text, re.MULTILINE)
    shown = re.search(r"^```text\n(.*?)\.\.\.\n```$", text, re.MULTILINE | re.DOTALL)
    if command is None or shown is None:
        raise ValueError("no command shown, or no table that ends in dots")
    printed = lines_of(run_commands(README, Block("sh", "", command[1] + "\n", 1), folder))
    lines = shown[1].splitlines()
    # Wider numbers make the first line of a table longer.
    first = next(number for number, line in enumerate(printed) if line[:1] == lines[0][0])
    new = "".join(f"{line}\n" for line in printed[first : first + len(lines)])
    if new == shown[1]:
        return []
    path.write_text(text[: shown.start(1)] + new + text[shown.end(1) :], encoding="utf-8")
    return [(shown[1], new)]


def refresh_picture(name: str, folder: Path) -> list[tuple[str, str]]:
    """Draw a picture of docs/figures again."""
    scenario, figure, page = PICTURES[name]
    for block in blocks_of(page) if page else ():
        if block.title and block.title != OUTPUT:
            (folder / block.title).write_text(block.text, encoding="utf-8")
    result = reidsim.run(scenario)
    kept, before = DOCS / "figures" / name, (DOCS / "figures" / name).read_bytes()
    save_figure(dict(figures_of(result))[figure] if figure else plot(result), kept)
    return [] if kept.read_bytes() == before else [("", "")]


def _replace(path: Path, changes: list[tuple[Block, str]]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for block, text in reversed(changes):
        lines[block.line - 1 : block.line - 1 + block.text.count("\n")] = [text]
    if changes:
        path.write_text("".join(lines), encoding="utf-8")


def numbers_gone(changes: list[tuple[str, str]]) -> set[str]:
    """Return the longer numbers of old outputs that no new output contains."""
    old, new = (set().union(*map(_numbers, texts)) for texts in zip(*changes, strict=True))
    return {number for number in old - new if sum(map(str.isdigit, number)) >= SHORTEST_NUMBER}


def _numbers(text: str) -> set[str]:
    return {number.strip(" ,") for number in NUMBER.findall(text)}


def lines_that_say(numbers: set[str]) -> list[str]:
    """Return the lines outside of outputs that contain one of the numbers, with page and line number."""
    found = []
    for path in [REPOSITORY / README, *sorted(DOCS.rglob("*.md"))]:
        outputs = {
            line
            for block in (blocks_of(path.relative_to(DOCS).as_posix()) if path.is_relative_to(DOCS) else ())
            if block.title == OUTPUT
            for line in range(block.line, block.line + block.text.count("\n"))
        }
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line not in outputs and numbers & _numbers(text):
                found.append(f"{path.relative_to(REPOSITORY)}:{line}: {text}")
    return found


def refresh(name: str) -> list[tuple[str, str]]:
    """Refresh a page or picture in an empty folder; return the changed outputs, before and after."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            if name == README:
                return refresh_readme(Path(folder))
            return (refresh_picture if name in PICTURES else refresh_page)(name, Path(folder))
        finally:
            os.chdir(REPOSITORY)


def main() -> int:
    """Refresh the pages and pictures that are named, or all."""
    pages = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
    shown = [page for page in pages if any(block.title == OUTPUT for block in blocks_of(page))]
    everything = [README, *shown, *PICTURES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="page of docs, README.md or picture; all without it")
    names = parser.parse_args().names or everything
    unknown = [name for name in names if name not in everything]
    if unknown:
        parser.error(f"{unknown[0]}: not a page with outputs nor a picture")
    os.environ["MPLBACKEND"] = "Agg"
    changes, failed = [], False
    for name in names:
        try:
            changed = refresh(name)
        # Whatever a page's own code raises: the other pages are played all the same.
        except Exception as error:
            print(f"{name}: cannot be played: {type(error).__name__}: {error}")
            failed = True
            continue
        print(f"{name}: {len(changed)} changed", flush=True)
        changes += changed
    for line in lines_that_say(numbers_gone(changes)) if changes else ():
        print(f"contains a number that no output has now: {line}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
