"""Set the HTML page of a report as PDF, with the parts that are printed."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml

# Width of a page (A4) without its margins, and greatest height of a figure, points.
_MARGIN, _WIDTH, _HIGHEST = 43.0, 509.0, 230.0
# Fonts of matplotlib, which have Latin, Greek and Cyrillic letters.
_FONTS = {"Text": "DejaVuSans", "Text-Bold": "DejaVuSans-Bold", "Code": "DejaVuSansMono"}
_LOOKS = read_toml(Path(__file__).with_suffix(".toml"))
_SKIPPED = ("style", "title", "nav", "svg")
_BLOCKS = ("h1", "h2", "h3", "p", "li", "td", "th", "caption", "figcaption", "pre")
_CELLS = (0, 0), (-1, -1)
_TABLE = [("LINEBELOW", *_CELLS, 0.4, "#d0d0d0"), ("VALIGN", *_CELLS, "TOP")]
_TABLE += [(f"{side}PADDING", *_CELLS, 2) for side in ("TOP", "BOTTOM", "LEFT", "RIGHT")]
_SIGNATURE = [("LINEABOVE", (0, 1), (-1, 1), 0.6, "#1a1a1a"), ("VALIGN", (0, 0), (-1, 0), "BOTTOM")]


def pdf_of(page: str, notes: Sequence[str] = ()) -> bytes:
    """Return the printed parts of a report as PDF; equal pages give equal bytes.

    Parameters
    ----------
    page : str
        HTML page of `reidsim.reports.page.report.report_text`.
    notes : sequence of str
        Paragraphs at the end.

    Raises
    ------
    InputError
        If reportlab is not installed.
    """
    try:
        from reportlab import platypus
        from reportlab.pdfbase import pdfmetrics, ttfonts
    except ImportError:
        hint = "run pip install 'reidsim[pdf]'"
        raise InputError("package reportlab is needed to write PDF", hint=hint) from None
    for name, file in _FONTS.items():
        path = Path(matplotlib.get_data_path(), f"fonts/ttf/{file}.ttf")
        pdfmetrics.registerFont(ttfonts.TTFont(name, path))
    pdfmetrics.registerFontFamily("Text", normal="Text", bold="Text-Bold", italic="Text", boldItalic="Text-Bold")
    story, buffer = _Story(platypus, pdfmetrics.stringWidth), io.BytesIO()
    story.feed(page)
    story.flow += [story.paragraph("p", escape(note)) for note in notes]

    def number(canvas: Any, document: Any) -> None:
        canvas.setFont("Text", 7)
        canvas.drawRightString(_MARGIN + _WIDTH, _MARGIN / 2, f"{story.title[:90]}, page {document.page}")

    margins = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), _MARGIN - 6)
    document = platypus.SimpleDocTemplate(buffer, title=story.title, lang="en", invariant=1, **margins)
    document.build(story.flow, onFirstPage=number, onLaterPages=number)
    return buffer.getvalue()


class _Story(HTMLParser):
    """Parts of a PDF (`flow`), collected from the elements that templates of reports use.

    Parameters
    ----------
    kit : module
        Module ``platypus`` of reportlab.
    width_of : callable
        Returns the width of a text in a font and size.
    """

    def __init__(self, kit: Any, width_of: Any) -> None:
        super().__init__()
        self._kit, self._width_of = kit, width_of
        self.flow, self.title = list[Any](), ""
        self._skipped, self._kind, self._text, self._is_over = "", "", "", False
        self._rows, self._heads = list[list[tuple[str, str]]](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element; the parts for the screen alone, which are the last, are left out."""
        given = {name: value or "" for name, value in attrs}
        kind = given.get("class", "")
        self._is_over = self._is_over or (tag == "h2" and kind == "screen")
        if self._is_over or self._skipped:
            return
        if tag in _SKIPPED:
            self._skipped = tag
        elif tag in _BLOCKS:
            self._kind, self._text = kind, ""
        elif tag == "table":
            self._rows, self._heads = [], 0
        elif tag == "tr":
            self._rows.append([])
        elif tag == "code":
            self._text += '<font name="Code">'
        elif tag == "span":
            self._text += '<br/><font color="#565656" size="6">' if kind == "definition" else "<font>"
        elif tag == "img":
            data = io.BytesIO(base64.b64decode(given["src"].partition(",")[2]))
            self.flow.append(self._kit.Image(data, 0.75 * _WIDTH, _HIGHEST, kind="proportional", hAlign="LEFT"))

    def handle_endtag(self, tag: str) -> None:
        """End an element, and append its part."""
        if self._is_over or self._skipped:
            self._skipped = "" if tag == self._skipped else self._skipped
        elif tag in ("code", "span"):
            self._text += "</font>"
        elif tag in ("td", "th"):
            self._rows[-1].append((self._text, self._kind))
        elif tag == "thead":
            self._heads = len(self._rows)
        elif tag == "table" and self._rows:
            self.flow += [self._table(), self._kit.Spacer(1, 6)]
        elif tag == "pre":
            self.flow.append(self._kit.XPreformatted(self._text, self._look("pre")))
        elif tag == "p" and self._kind == "signature":
            self.flow.append(self._signature())
        elif tag in _BLOCKS:
            self.title = unescape(self._text) if tag == "h1" else self.title
            self.flow.append(self.paragraph(tag, self._text, self._kind))

    def handle_data(self, data: str) -> None:
        """Add text to the current element."""
        if not (self._is_over or self._skipped):
            self._text += escape(data, quote=False)

    def paragraph(self, tag: str, text: str, kind: str = "") -> Any:
        """Return a paragraph that looks like an element of a class."""
        return self._kit.Paragraph(text, self._look(tag, kind), bulletText="\N{BULLET}" if tag == "li" else None)

    def _look(self, *names: str) -> Any:
        look = _LOOKS["p"].copy()
        for name in names:
            look |= _LOOKS.get(name, {})
        return self._kit.paragraph.ParagraphStyle(names[0], **look)

    def _table(self) -> Any:
        """Return a table whose columns are as wide as their longest words, and wider where there is room."""
        rows = [
            [self.paragraph("td", f"<b>{text}</b>" if at < self._heads else text, kind) for text, kind in row]
            for at, row in enumerate(self._rows)
        ]
        plain = [[cell.getPlainText() for cell in column] for column in zip(*rows, strict=True)]
        least = [max(self._measure(word) for text in column for word in (text.split() or [""])) for column in plain]
        wanted = [min(max(map(self._measure, column)), _WIDTH / 2) for column in plain]
        more = [max(most - low, 0) for low, most in zip(least, wanted, strict=True)]
        share = min(max(_WIDTH - sum(least), 0) / max(sum(more), 1), 1)
        widths = [low + share * extra for low, extra in zip(least, more, strict=True)]
        narrower = min(_WIDTH / sum(widths), 1)
        widths = [narrower * width for width in widths]
        return self._kit.Table(rows, widths, style=_TABLE, repeatRows=self._heads, hAlign="LEFT", splitInRow=1)

    def _measure(self, text: str) -> float:
        return 9 + float(self._width_of(text, "Code", _LOOKS["td"]["fontSize"]))

    def _signature(self) -> Any:
        """Return the block of the decider: each field with its value, or space, above a line."""
        fields = [each.replace("</font>", "").split("<font>") for each in self._text.split("<font><font>")[1:]]
        cells = [[self.paragraph("p", part) for part in row] for row in zip(*fields, strict=True)]
        return self._kit.Table(cells, [_WIDTH / len(fields)] * len(fields), [34, None], style=_SIGNATURE)
