"""A page as Markdown; figures are links to the files in the results folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from reidsim.reports.page import blocks
from reidsim.wording import Code, Inline

# What Markdown or HTML would take for markup. Angle brackets and ampersands become entities, the rest gets a backslash.
_MARKUP = re.compile(r"([\\`*_{}\[\]#|~$^])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# What would begin a list at the start of a line, or make a heading of the line before.
_LINE_START = re.compile(r"^(\d*)([-+=.)])")

# A line to write on.
_BLANK = r"\_" * 20


def as_markdown(page: blocks.Page, folder: Path) -> str:
    """Return a page as Markdown for a file in `folder`, from which links to figures start."""
    parts = [f"# {_text(page.title)}", *(_line(_text(line)) for line in page.subtitles)]
    parts += [_block(block, folder) for block in page.blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: blocks.Block, folder: Path) -> str:
    match block:
        case blocks.Heading(text):
            return f"## {_text(text)}"
        case blocks.Paragraph(parts, kind):
            text = _line(_inline(parts))
            return f"> {text}" if kind else text
        case blocks.Bullets(items):
            return "\n".join(f"- {_line(_inline(item))}" for item in items)
        case blocks.Table():
            return _table(block)
        case blocks.Figure(path, _, alt):
            target = quote(Path(os.path.relpath(path, folder)).as_posix())
            return f"![{_text(alt)}]({target})"
        case blocks.Listing(text, language):
            # A fence longer than any inside the text.
            longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return f"{fence}{language}\n{blocks.printable(text, keep=chr(10)).rstrip(chr(10))}\n{fence}"
        case blocks.Signature(fields):
            return " ".join(f"{_text(field)}: {_BLANK}" for field in fields)


def _table(table: blocks.Table) -> str:
    sides = ["---" if column in table.text_columns else "---:" for column in range(len(table.header))]
    rows = [_row(_inline([cell]) for cell in table.header), _row(sides)]
    rows += [_row(_content(cell) for cell in row) for row in table.rows]
    return "\n".join([*([_line(_text(table.caption)), ""] if table.caption else []), *rows])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _content(cell: blocks.Cell) -> str:
    match cell:
        case blocks.Term(name, definition):
            return f"**{_text(name)}**: {_text(definition)}"
        case blocks.Bar(_, text):
            return _text(text)
        case _:
            return _inline([cell])


def _inline(parts: Sequence[Inline]) -> str:
    return "".join(_code(part.text) if isinstance(part, Code) else _text(part) for part in parts)


def _code(text: str) -> str:
    # In code, Markdown leaves everything as it is, but backticks end it and a bar would end the cell of a table.
    plain = blocks.printable(text)
    return _text(plain) if re.search(r"[`|<>&]", plain) or not plain.strip() else f"`{plain}`"


def _text(text: str) -> str:
    escaped = _MARKUP.sub(r"\\\1", blocks.printable(text))
    return re.sub(r"[&<>]", lambda sign: _ENTITIES[sign[0]], escaped)


def _line(text: str) -> str:
    return _LINE_START.sub(r"\1\\\2", text.strip())
