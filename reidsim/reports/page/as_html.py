"""A page as one HTML file that needs nothing else: no script, no network, pictures and styles inside.

All text that comes from elsewhere passes through `_text`, which escapes it; nothing else puts text into the page.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from pathlib import Path

from reidsim.reports.page import blocks
from reidsim.wording import Code, Inline

# On a wide screen and a phone, in light and dark, and on paper. Blue tells bars and links apart from text for all kinds
# of colour vision; nothing is said by colour alone.
STYLESHEET = "\n" + Path(__file__).with_name("stylesheet.css").read_text(encoding="utf-8")
# Even if a label got through unescaped, a browser would load and run nothing.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# Longest text of a cell that is kept in one line.
_SHORT = 20
# Where a long key of a scenario may be broken: after a dot or a low line between letters.
_JOINTS = re.compile(r"(?<=[A-Za-z0-9][._])(?=[A-Za-z])")


def as_html(page: blocks.Page) -> str:
    """Return a page as a self-contained HTML document."""
    headings = [block.text for block in page.blocks if isinstance(block, blocks.Heading)]
    anchors = {text: f"part-{number}" for number, text in enumerate(headings, start=1)}
    links = "".join(f'<li><a href="#{anchors[text]}">{_text(text)}</a></li>' for text in headings)
    subtitles = "\n".join(f'<p class="subtitle">{_text(line)}</p>' for line in page.subtitles)
    body = "\n".join(_block(block, anchors) for block in page.blocks)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="color-scheme" content="light dark">
<title>{_text(page.title)}</title>
<style>{STYLESHEET}</style>
</head>
<body>
<header>
<h1>{_text(page.title)}</h1>
{subtitles}
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def fragment(shown: Iterable[blocks.Block]) -> str:
    """Return blocks without headings as a part of another page."""
    return "\n".join(_block(block, {}) for block in shown)


def _block(block: blocks.Block, anchors: dict[str, str]) -> str:
    match block:
        case blocks.Heading(text, screen_only):
            role = ' class="screen"' if screen_only else ""
            return f'<h2 id="{anchors[text]}"{role}>{_text(text)}</h2>'
        case blocks.Paragraph(parts, kind):
            role = ' class="answer"' if kind == "answer" else ' class="warning"' if kind == "warning" else ""
            return f"<p{role}>{_inline(parts)}</p>"
        case blocks.Bullets(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case blocks.Table():
            return _table(block)
        case blocks.Figure(_, data, alt):
            source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
            return f'<figure><img src="{source}" alt="{_text(alt)}"><figcaption>{_text(alt)}</figcaption></figure>'
        case blocks.Listing(text, language):
            wrapped = ' class="command"' if language == "sh" else ""
            return f'<pre tabindex="0"{wrapped}><code>{_text(text, keep=chr(10))}</code></pre>'
        case blocks.Signature(fields):
            lines = "".join(f'<span class="field">{_text(field)}</span>' for field in fields)
            return f'<p class="signature">{lines}</p>'


def _table(table: blocks.Table) -> str:
    caption = f"<caption>{_text(table.caption)}</caption>" if table.caption else ""
    head = "".join(
        f'<th scope="col"{_side(column, table)}>{_inline([cell])}</th>' for column, cell in enumerate(table.header)
    )
    rows = "".join(
        "<tr>" + "".join(_cell(cell, column, table) for column, cell in enumerate(row)) + "</tr>" for row in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(cell: blocks.Cell, column: int, table: blocks.Table) -> str:
    side = _side(column, table)
    if column == 0:
        content = _content(cell)
        if isinstance(cell, Code):
            kept = "" if len(cell.text) > _SHORT or _JOINTS.search(cell.text) else ' class="short"'
            content = f"<code{kept}>{_JOINTS.sub('<wbr>', _text(cell.text))}</code>"
        return f'<th scope="row"{side}>{content}</th>'
    return f"<td{side}>{_content(cell)}</td>"


def _side(column: int, table: blocks.Table) -> str:
    return "" if column in table.text_columns else ' class="number"'


def _content(cell: blocks.Cell) -> str:
    match cell:
        case blocks.Term(name, definition):
            return f'{_text(name)}<span class="definition">{_text(definition)}</span>'
        case blocks.Bar(share, text):
            # A picture rather than a coloured box: browsers leave out backgrounds in print.
            width = 100 * min(max(share, 0.0), 1.0)
            return (
                f'{_text(text)}<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
                f'<rect class="track" width="100" height="6"/><rect class="fill" width="{width:.2f}" height="6"/></svg>'
            )
        case str() if len(cell) <= _SHORT:
            return f'<span class="short">{_text(cell)}</span>'
        case _:
            return _inline([cell])


def _inline(parts: Iterable[Inline]) -> str:
    return "".join(f"<code>{_text(part.text)}</code>" if isinstance(part, Code) else _text(part) for part in parts)


def _text(text: str, keep: str = "") -> str:
    return html.escape(blocks.printable(text, keep), quote=True)
