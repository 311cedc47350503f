"""Pages of the documentation, played: what they show is typed in, and what is printed compared with what they say.

Fenced blocks of docs/*.md that start at the left margin are played page by page, from top to bottom, in one folder
per page:

- ``sh`` holds ``reidsim`` commands, which must succeed;
- ``python`` runs in one namespace per page;
- ``toml``, ``csv``, ``text`` or ``python`` with a title is written to the file of that name;
- ``console`` with the title Output must be what the block before it printed; a line ``...`` in it stands for lines that
  are left out;
- anything else is only shown.

Used by the tests, and by ``.ci/tutorial`` where only the package is installed: nothing but it may be needed here.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
OUTPUT = "Output"
LEFT_OUT = "..."


@dataclass(frozen=True)
class Block:
    """A fenced block and the line of the page on which its text starts."""

    language: str
    title: str
    text: str
    line: int


def blocks_of(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = []
    for match in re.finditer(r"^```(\w*)([^\n`]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        title = re.search(r'title="([^"]+)"', match[2])
        line = text.count("\n", 0, match.start(3)) + 1
        blocks.append(Block(match[1], title[1] if title else "", match[3], line))
    return blocks


def play(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Play a page in a folder, the working folder; yield each output shown and what was really printed."""
    # As for a script of the folder: its modules can be imported.
    sys.path.insert(0, str(folder))
    try:
        yield from _play(page, folder)
    finally:
        sys.path.remove(str(folder))


def _play(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(page):
        if block.title == OUTPUT:
            yield block, printed
        elif block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            printed = run_commands(page, block, folder)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile("\n" * (block.line - 1) + block.text, DOCS / page, "exec"), namespace)  # noqa: S102
            printed = output.getvalue()


def run_commands(page: str, block: Block, folder: Path) -> str:
    for command in block.text.splitlines():
        assert command.startswith("reidsim "), f"{page}: a sh block may only hold reidsim commands: {command!r}"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "80",
        "MPLBACKEND": "Agg",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        ["bash", "-euc", block.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{page}, line {block.line}:\n{block.text}\n{done.stdout}"
    return done.stdout


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def as_shown(said: str, printed: str) -> str:
    """Return what was printed without the lines that a page leaves out; unchanged if what it shows is not found in it.

    An expected time is that of the page: where it has a line of one, one must be printed.

    The first and the last part of a page's text are looked for at the ends, each other one after the one before it: as
    it is or, if it is not there, by its words and not its numbers.
    """
    first, *others = parts_shown(said)
    if not others:
        return printed
    lines, end = lines_of(printed), len(others[-1])
    shown, start = lines[: len(first)], len(first)
    for part in others[:-1]:
        stretches = {
            place: lines[place : place + len(part)] for place in range(start + 1, len(lines) - end - len(part))
        }
        exact = [place for place, stretch in stretches.items() if stretch == part]
        alike = [place for place, stretch in stretches.items() if without_numbers(stretch) == without_numbers(part)]
        if not alike:
            return printed
        place = (exact or alike)[0]
        shown += [LEFT_OUT, *stretches[place]]
        start = place + len(part)
    if start >= len(lines) - end:
        return printed
    return "\n".join([*shown, LEFT_OUT, *lines[len(lines) - end :]]) + "\n"


def parts_shown(said: str) -> list[list[str]]:
    """Return the lines of a page's text between those that are left out."""
    parts: list[list[str]] = [[]]
    for line in lines_of(said):
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def without_numbers(lines: list[str]) -> list[str]:
    """Return lines without their numbers, and without the spaces and rules whose lengths follow from them."""
    return [re.sub(r"-?[0-9][0-9,.]*|[ \u2500\u2501]+", "", line) for line in lines]
