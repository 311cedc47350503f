"""Write report templates as HTML or Markdown.

Templates state the text of the report once, with the macros `w` for paragraphs, lists, tables, figures and listings.
`html.jinja` and `markdown.jinja` define these macros. Every value in a template is escaped for its format.
"""

# ruff: noqa: S704 - Markup is created only here, from escaped text

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reidsim.engine.switch import BestAt
from reidsim.errors import listed
from reidsim.scenarios.report_sentences import loss_text
from reidsim.wording import Code, Inline, counted, number_text

Format = Literal["html", "markdown"]
AnyFormat = Literal["html", "markdown", "text"]
_TEMPLATES = Path(__file__).parent / "templates"
# Maximum length of a cell that is kept on one line.
_SHORT = 20
# Positions at which a long key may be broken: after a dot or an underscore between letters.
_JOINTS = re.compile(r"(?<=[A-Za-z0-9][._])(?=[A-Za-z])")
_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]#|~$^])")
# Characters that start a list at the beginning of a line, or turn the previous line into a heading.
_MARKDOWN_LINE_START = re.compile(r"^(\d*)([-+=.)])")


class Term(NamedTuple):
    """Quantity with its definition."""

    name: str
    definition: str


class Bar(NamedTuple):
    """Share from 0 to 1, drawn as a bar with text."""

    share: float
    text: str


Cell = str | Code | Term | Bar


class Table(NamedTuple):
    """Table of a page; columns other than `text_columns` are right-aligned."""

    header: Sequence[Inline]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    text_columns: frozenset[int] = frozenset({0})


class Figure(NamedTuple):
    """PNG image: bytes (in HTML), relative path (in Markdown), and caption (alternative text)."""

    data: bytes
    link: str
    alt: str


def printable(text: str, keep: str = "") -> str:
    """Escape the unprintable characters of a text, except characters in `keep`.

    Labels come from files and may contain characters that reverse the text direction.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in keep else repr(sign)[1:-1] for sign in text)


def shortened(text: str, limit: int = 160) -> str:
    """Truncate text to `limit` characters, with three dots at the end if truncated."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@cache
def environment(file_format: AnyFormat) -> Environment:
    """Return the template environment with the filters and macros of a format."""
    safe: Callable[[str], Markup] = {"html": _html_text, "markdown": _markdown_text}.get(file_format, Markup)

    def escaped(value: object) -> Markup:
        return value if isinstance(value, Markup) else safe(str(value))

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=escaped,
    )
    filters: dict[str, Callable[..., Any]] = {
        "as_code": Code,
        "amount": lambda value: f"{value:,.2f}",
        "base64": lambda data: base64.b64encode(data).decode("ascii"),
        "breakable": lambda text: Markup("<wbr>").join(map(_html_text, _JOINTS.split(text))),
        "code_span": _code_span,
        "count": lambda number: f"{number:,}",
        "count_or_dash": lambda number: "-" if number is None else f"{number:,}",
        "counted": counted,
        "fenced": _fenced,
        "listed": listed,
        "loss": loss_text,
        "losses": losses_text,
        "line": lambda text: Markup(_MARKDOWN_LINE_START.sub(r"\1\\\2", _squeezed(escaped(text)))),
        "listing": lambda text: escape(printable(text, keep="\n")),
        "number": number_text,
        "odds": odds,
        "squeeze": lambda text: Markup(_squeezed(escaped(text))),
        "precise_amount": amount_text,
        "path": lambda text: Markup(quote(text)),
        "tight": lambda text: Markup("\n".join(filter(str.strip, text.splitlines()))),
    }
    made.filters |= filters
    types: dict[str, type] = {"bar": Bar, "code": Code, "figure": Figure, "table": Table, "term": Term}
    for name, kind in types.items():
        made.tests[name] = lambda value, kind=kind: isinstance(value, kind)
    made.tests["unbroken"] = lambda text: len(text) <= _SHORT and not _JOINTS.search(text)
    made.globals["w"] = made.get_template(f"{file_format}.jinja").module
    return made


def render(name: str, context: Mapping[str, Any], file_format: AnyFormat = "html") -> Markup:
    """Render a template, named without its suffix, with the values in `context`."""
    return Markup(environment(file_format).get_template(f"{name}.jinja").render(context))


def amount_text(value: float) -> str:
    """Write an amount with two decimals, or three significant digits if small."""
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


def odds(risk: float) -> str:
    """Return a probability with its odds, such as ``0.0909 (1 in 11)``."""
    return f"{risk:.4g} (1 in {1 / risk:.4g})" if 0 < risk < 1 else f"{risk:.0f}"


def losses_text(best: BestAt) -> str:
    """Return as text the losses between which a policy is the best choice."""
    if math.isinf(best.high):
        return f"more than {loss_text(best.low)}" if best.low else "any amount"
    return f"{loss_text(best.low)} to {loss_text(best.high)}" if best.low else f"less than {loss_text(best.high)}"


def said(name: str, **context: Any) -> str:
    """Render the template `name` with the values `context`, as one line of text."""
    return _squeezed(render(name, context, "text"))


def _squeezed(text: str) -> str:
    return " ".join(str(text).split())


def _html_text(text: str) -> Markup:
    return escape(printable(text))


def _markdown_text(text: str) -> Markup:
    signs = _MARKDOWN_SIGNS.sub(r"\\\1", printable(text))
    return Markup(signs.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _code_span(text: str) -> Markup:
    """Return a Markdown code span, or escaped text if a code span would break."""
    plain = printable(text)
    return _markdown_text(plain) if re.search(r"[`|<>&]", plain) or not plain.strip() else Markup(f"`{plain}`")


def _fenced(text: str, language: str) -> Markup:
    """Return a Markdown code block with a fence longer than any fence in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}{language}\n{printable(text, keep=chr(10)).rstrip(chr(10))}\n{fence}")
