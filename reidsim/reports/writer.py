"""Write report templates as HTML or as plain text.

Templates state the text of a report. The macros `w` for paragraphs, lists, tables, figures and listings are in
`html.jinja`. Every value in an HTML template is escaped.
"""

# ruff: noqa: S704 - Markup is created only here, from escaped text

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from reidsim.core.errors import listed
from reidsim.core.wording import Code, Inline, counted, number_text
from reidsim.engine.switch import Stretch
from reidsim.scenarios.kind import loss_text, section

# Maximum length of a row name that is kept on one line.
_SHORT = 20
# Positions at which a long key may be broken: after a dot or an underscore between letters.
_JOINTS = re.compile(r"(?<=[A-Za-z0-9][._])(?=[A-Za-z])")


class Term(NamedTuple):
    """Name of a quantity with its definition, a cell of a table."""

    name: str
    definition: str


class Bar(NamedTuple):
    """Share from 0 to 1, drawn as a bar with text, a cell of a table."""

    share: float
    text: str


Cell = str | Code | Term | Bar


class Table(NamedTuple):
    """Table of a page: header, rows of cells and caption.

    `text_columns` are the positions of the columns with text, by default the first; other columns are right-aligned.
    """

    header: Sequence[Inline]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    text_columns: frozenset[int] = frozenset({0})


class Figure(NamedTuple):
    """PNG image (`data`) with its caption (`alt`), which is also the alternative text."""

    data: bytes
    alt: str


def printable(text: str, keep: str = "") -> str:
    """Return a text with its unprintable characters as Python escape sequences.

    Characters in `keep` are unchanged. Labels come from files and may contain characters that reverse the text
    direction.
    """
    return "".join(sign if sign.isprintable() or sign in keep else repr(sign)[1:-1] for sign in text)


def shortened(text: str, limit: int = 160) -> str:
    """Return a text of at most `limit` characters.

    A truncated text ends with three dots, which count.
    """
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@cache
def _environment(macros: str) -> Environment:
    """Return the template environment with the macros of `html.jinja` or `text.jinja`.

    `macros` is "html", in which values are escaped, or "text", in which they are not. There is one environment each.
    """

    def escaped(value: object) -> Markup:
        if isinstance(value, Markup):
            return value
        return escape(printable(str(value))) if macros == "html" else Markup(value)

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=escaped,
    )
    made.filters |= {function.__name__: function for function in (counted, listed, odds, plain, section, shortened)}
    made.filters |= {
        "as_code": Code,
        "amount": lambda value: f"{value:,.2f}",
        "base64": lambda data: base64.b64encode(data).decode("ascii"),
        "breakable": lambda text: Markup("<wbr>").join(map(escaped, _JOINTS.split(text))),
        "count": lambda number: f"{number:,}",
        "count_or_dash": lambda number: "-" if number is None else f"{number:,}",
        "loss": loss_text,
        "losses": _losses_text,
        "listing": lambda text: escape(printable(text, keep="\n")),
        "number": number_text,
        "squeeze": lambda text: Markup(" ".join(str(escaped(text)).split())),
        "quoted": repr,
        "precise_amount": amount_text,
    }
    made.tests["unbroken"] = lambda text: len(text) <= _SHORT and not _JOINTS.search(text)
    made.globals["w"] = made.get_template(f"{macros}.jinja").module
    return made


def render(name: str, context: Mapping[str, Any]) -> Markup:
    """Return a template as HTML with the values in `context`, which are escaped.

    `name` is that of the template without its suffix.
    """
    return Markup(_environment("html").get_template(f"{name}.jinja").render(context))


def own_template(path: Path | None) -> Template | None:
    """Return a kind's own template in HTML, to be included in another one; None without a `path`."""
    return None if path is None else _environment("html").from_string(path.read_text(encoding="utf-8"))


def lines_of(template: str, /, **context: Any) -> list[str]:
    """Return a template as lines of plain text with the values `context`.

    `template` is its name without suffix.
    """
    return _environment("text").get_template(f"{template}.jinja").render(context).splitlines()


def said(template: str, /, **context: Any) -> str:
    """Return a template as one line of plain text with the values `context`.

    `template` is its name without suffix. Runs of spaces become one space.
    """
    return " ".join(" ".join(lines_of(template, **context)).split())


def plain(value: object) -> str:
    """Return a value of a scenario as text for a sentence; see `number_text`.

    A section becomes its keys and values in braces.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} {plain(entry)}" for key, entry in value.items()) + "}"
    return number_text(value)


def amount_text(value: float) -> str:
    """Return an amount with two decimals, or three significant digits if small.

    The result is text; sizes below 0.005, except 0, are small.
    """
    return f"{value:,.2f}" if abs(value) >= 0.005 or value == 0 else f"{value:.3g}"


def odds(risk: float) -> str:
    """Return a probability with its odds, such as ``0.09091 (1 in 11)``.

    The result is text; "0" or "1" alone.
    """
    return f"{risk:.4g} (1 in {1 / risk:.4g})" if 0 < risk < 1 else f"{risk:.0f}"


def _losses_text(best: Stretch) -> str:
    """Return as text the losses between which a policy is the best choice.

    An example is "less than 300". A range without an upper end is "more than" its lower end; from 0 on, "any amount".
    """
    if math.isinf(best.high):
        return f"more than {loss_text(best.low)}" if best.low else "any amount"
    return f"{loss_text(best.low)} to {loss_text(best.high)}" if best.low else f"less than {loss_text(best.high)}"
