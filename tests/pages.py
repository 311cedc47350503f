"""Pages of the documentation, played: what they show is typed in, and what is printed compared with what they say.

Fenced blocks of docs/*.md that start at the left margin are played page by page, from top to bottom, in one folder
per page:

- ``sh`` holds ``reidsim`` commands, which must succeed;
- ``python`` runs in one namespace per page;
- ``toml``, ``csv`` or ``text`` with a title is written to the file of that name;
- ``console`` with the title Output must be what the block before it printed;
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

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
OUTPUT = "Output"
# The numbers shown in the pages are those of this numpy. In others a few draws from bundled figures differ (165 of
# 259,071 cells of Tennessee in 2.5), so there the text around the numbers is compared.
SHOWN_WITH_NUMPY = (2, 4)


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


def comparable(text: str) -> str:
    """Return the text, without its numbers if they may differ from those shown."""
    version = tuple(int(part) for part in np.__version__.split(".")[:2])
    return text if version == SHOWN_WITH_NUMPY else re.sub(r"-?[0-9]", "#", text)
