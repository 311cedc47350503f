"""Run the code blocks of documentation pages and compare printed and shown output.

Fenced blocks of pages that start at the left margin run page by page, from top to bottom, in one folder per page:

- ``sh`` holds ``reidsim`` commands, which must succeed;
- ``python`` runs in one namespace per page;
- ``toml``, ``csv``, ``text`` or ``python`` with a title is written to the file of that name;
- ``console`` with the title Output must equal the output of the block before it; a line ``...`` replaces omitted lines;
- any other block is only shown.

The tests use this module, and so does ``.ci/tutorial``, where only the package is installed. The module must therefore
import nothing else.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
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


def play(page: str, folder: Path, run: Callable[[str, Block, Path], str] | None = None) -> Iterator[tuple[Block, str]]:
    """Run a page in the working folder; yield each output block and the printed text.

    `run` runs the commands of a block; by default each is a process of its own.
    """
    # Modules of the folder can be imported, as from a script in that folder.
    sys.path.insert(0, str(folder))
    try:
        yield from _play(page, folder, run or run_commands)
    finally:
        sys.path.remove(str(folder))


def _play(page: str, folder: Path, run: Callable[[str, Block, Path], str]) -> Iterator[tuple[Block, str]]:
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
            printed = run(page, block, folder)
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
    """Return the printed text without the lines that a page omits.

    Return it unchanged if the page's lines are not found in it. A line with an expected time is replaced by the page's
    line; if the page has such a line, one must be printed.

    The first part of the page's text must be at the start and the last part at the end. Each other part is searched
    after the part before it: first exactly, then by its words without its numbers.
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
    """Return the lines of a page's text, split where lines are omitted."""
    parts: list[list[str]] = [[]]
    for line in lines_of(said):
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def without_numbers(lines: list[str]) -> list[str]:
    """Return lines without numbers, and without spaces and rules that vary."""
    return [re.sub(r"-?[0-9][0-9,.]*|[ \u2500\u2501]+", "", line) for line in lines]
