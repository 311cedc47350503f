"""Set the HTML page of a report as PDF, with the parts that are printed."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from unicodedata import bidirectional

import matplotlib
from matplotlib.font_manager import get_font

from reidsim.core.errors import InputError
from reidsim.core.files import read_text

_TABLE, _ROW, _CELL = (
    re.compile(pattern, re.DOTALL)
    for pattern in (r"<table>.*?</table>", r"<tr>(.*?)</tr>", r"<t[hd]\b.*?>(.*?)</t[hd]>")
)
_FONTS = f"{matplotlib.get_data_path()}/fonts/ttf"
# Parts for the screen alone, which are the last, and the looks of the screen.
_FOR_THE_SCREEN = re.compile(r'<h2 [^>]*class="screen".*(?=</body>)|<style>.*?</style>', re.DOTALL)
# Number of characters from which a text does not make its column wider, and those of the padding.
_WIDEST, _PADDING = 45, 2


class UnprintableError(InputError):
    """Error for a text that cannot be printed as PDF, such as a Chinese name."""


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
        If xhtml2pdf is not installed.
    UnprintableError
        If the fonts lack a character, or it is written from right to left.
    """
    try:
        from reportlab import rl_config
        from xhtml2pdf import pisa
    except ImportError:
        hint = "run pip install 'reidsim[pdf]'"
        raise InputError("package xhtml2pdf is needed to write PDF", hint=hint) from None
    # A document without the time at which it was written.
    rl_config.invariant = 1
    style = f"<style>{read_text(Path(__file__).with_suffix('.css'))}</style></head>"
    title = re.findall(r"<h1>(.*?)</h1>", page)[0]
    end = "".join(f"<p>{escape(note)}</p>" for note in notes)
    end += f'<div id="footer">{title}, page <pdf:pagenumber></div></body>'
    printed = _TABLE.sub(_with_widths, _FOR_THE_SCREEN.sub("", page)).replace(
        '<span class="definition">', '<br/><span class="definition">'
    )
    printed = printed.replace("</head>", style).replace("</body>", end)
    fonts = [get_font(f"{_FONTS}/DejaVuSans{name}.ttf").get_charmap() for name in ("", "-Bold", "Mono")]
    for sign in sorted(set(unescape(re.sub(r"<[^>]*>|\s", "", printed)))):
        if bidirectional(sign) in ("R", "AL") or not all(ord(sign) in font for font in fonts):
            expected, hint = "Latin, Greek or Cyrillic letters", "print the HTML report with a browser"
            raise UnprintableError("no PDF: the fonts lack a character", found=sign, expected=expected, hint=hint)
    buffer = io.BytesIO()
    pisa.CreatePDF(printed, dest=buffer, path=f"{_FONTS}/report.html", encoding="utf-8")
    return buffer.getvalue()


def _with_widths(found: re.Match[str]) -> str:
    """Return a table whose columns have the widths that their texts need, at least those of their longest words."""
    table = found[0]
    rows = [[unescape(re.sub("<[^>]*>", " ", cell)) for cell in _CELL.findall(row)] for row in _ROW.findall(table)]
    widths = [
        _PADDING + max(max(min(len(text), _WIDEST), *map(len, text.split() or [""])) for text in column)
        for column in zip(*rows, strict=True)
    ]
    for width in widths:
        table = table.replace('<th scope="col"', f'<th style="width: {width / sum(widths):.1%}" scope="head"', 1)
    return table
