"""Parts of the page: strings, native controls, tables, trees and figures."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import solara
from matplotlib.figure import Figure
from solara.lab import use_task

from reidsim.core.errors import InputError
from reidsim.core.files import read_toml
from reidsim.engine.exploration import Superseded
from reidsim.figures import style
from reidsim.web.session import Session

_HERE = Path(__file__).parent
# Languages of the page, by code; each has a file of strings.
LANGUAGES = {"en": "English", "de": "Deutsch"}

T = TypeVar("T")

language = solara.reactive("en")


@cache
def strings(code: str) -> Mapping[str, Any]:
    """Return the strings of a language, by section and key."""
    return read_toml(_HERE / "strings" / f"{code}.toml")


def t(key: str, **values: object) -> str:
    """Return a string of the page in its language.

    Parameters
    ----------
    key : str
        Section and key, such as ``"file.title"``.
    **values : object
        Values for the names in braces of the string.
    """
    section, name = key.split(".", 1)
    return str(strings(language.value)[section][name]).format(**values)


@cache
def _patterns(code: str, section: str) -> list[tuple[re.Pattern[str], str]]:
    texts = strings(code).get("package", {}).get(section, {})
    named = {text: re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)) for text in texts}
    return [(re.compile(named[text]), translation) for text, translation in texts.items()]


def said(section: str, content: str) -> dict[str, str]:
    """Return a text of the package, which is in English, in the language of the page.

    Parameters
    ----------
    section : str
        Section of translations, such as ``"reasons"``.
    content : str
        The text. Names in braces of a translation stand for its parts, which section ``reasons`` translates.

    Returns
    -------
    dict of str to str
        ``text``, and the code of its language, ``lang``, which is English without a translation.
    """
    for pattern, translation in _patterns(language.value, section):
        if found := pattern.fullmatch(content):
            parts = {name: said("reasons", part)["text"] for name, part in found.groupdict().items()}
            return {"text": translation.format(**parts), "lang": language.value}
    return {"text": content, "lang": "en"}


def entered_number(content: str) -> int | float | None:
    """Return the number that a text field has; None if the field is empty.

    The decimal sign is a point, on the German page also a comma. A point before each three digits, as in 1.000, is
    ambiguous there.

    Raises
    ------
    InputError
        If the text is no such number.
    """
    shown, is_german = content.strip(), language.value == "de"
    number = shown.replace(",", ".") if is_german else shown
    is_plain = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", number, re.ASCII | re.IGNORECASE)
    if shown and (not is_plain or (is_german and re.fullmatch(r"[-+]?[1-9]\d{0,2}\.\d{3}", shown, re.ASCII))):
        expected = "a number such as 1000, 2.5 or 1e3"
        raise InputError("not a plain number", found=content, expected=expected)
    return None if not shown else int(number) if number.isdecimal() else float(number)


def policy_name(name: str) -> str:
    """Return the displayed name of a policy, or the label or definition of a measure, in the language of the page."""
    return said("names", style.policy_name(name))["text"]


def _vue(name: str) -> Callable[..., Any]:
    """Return the component of a template; it shows plain data and sends changes."""

    @solara.component_vue(str(_HERE / "vue" / f"{name}.vue"))
    def component(shown: Mapping[str, Any], event_send: Callable[[Any], None]) -> None: ...

    return component  # type: ignore[no-any-return]


frame, upload, tree = _vue("frame"), _vue("upload"), _vue("tree")
_form, _table = _vue("form"), _vue("table")


def options(values: Mapping[str, str] | Sequence[str]) -> list[dict[str, str]]:
    """Return the options of a selection: labels by value, or values that are their own labels."""
    labels = values if isinstance(values, Mapping) else dict(zip(values, values, strict=True))
    return [{"value": value, "label": label} for value, label in labels.items()]


def text(content: str, look: str = "") -> None:
    """Show a text of the package as a paragraph; `look` is its CSS class, such as ``"verdict"``."""
    _element(said("sentences", content), look)


def _element(content: Mapping[str, str], look: str, tag: str = "p") -> None:
    attributes = {"lang": content["lang"], **({"role": "status"} if look in ("verdict", "busy") else {})}
    classes = [f"desk-{look}"] if look else []
    solara.HTML(tag=tag, unsafe_innerHTML=escape(content["text"]), classes=classes, attributes=attributes)


def bullets(lines: Sequence[str]) -> None:
    """Show texts of the package as a list; nothing if there is none."""
    if lines:
        shown = [said("sentences", line) for line in lines]
        items = [f'<li lang="{each["lang"]}">{escape(each["text"])}</li>' for each in shown]
        solara.HTML(tag="ul", unsafe_innerHTML="".join(items), classes=["desk-warnings"])


def html(content: str, lang: str = "en") -> None:
    """Show HTML that the package's templates wrote."""
    solara.HTML(unsafe_innerHTML=content, classes=["desk-html"], attributes={"lang": lang})


def picture(figure: Figure, description: str) -> str:
    """Return a figure as HTML with vector graphics and a description, which screen readers read."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    # An image of its own can be copied, and the names in it do not meet those of other figures.
    source = "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
    shown = escape(description)
    caption = f'<figcaption aria-hidden="true">{shown}</figcaption>'
    return f'<figure lang="{language.value}"><img src="{source}" alt="{shown}">{caption}</figure>'


class Panel:
    """A step of the page: its strings, its controls, and the changes that run in the background.

    Parameters
    ----------
    step : str
        Name of the step, which is the section of its strings.
    session : Session
        The session that is changed.
    done : callable
        Called after each change.
    """

    def __init__(self, step: str, session: Session, done: Callable[[], None]) -> None:
        self._step = step
        self._session = session
        self._done = done
        self._task = use_task(self._run, dependencies=None)
        self._page, self._n_shown = solara.use_memo(object, []), len(session.changed_by)

    def _run(self) -> None:
        # A task whose thread has not begun is dropped for the next one, which then makes the changes of both. The task
        # of another step, or page, may also make them; errors are therefore kept in the session.
        session = self._session
        with session.changing:
            while session.changes:
                place, change = session.changes.popleft()
                try:
                    change()
                except InputError as error:
                    # The page has no options of commands.
                    session.problems[place] = str(error.but(hint=None) if "--" in (error.hint or "") else error)
        self._done()

    def act(self, key: str, change: Callable[[], object]) -> None:
        """Make a change in the background, after earlier ones; an error is shown beside the control with this key."""

        def made() -> None:
            change()
            self._session.changed_by.append(self._page)

        place = (self._step, key)
        if self._session.problems.pop(place, ""):
            # Without this, a control that is refused twice with one error would not be shown anew, with its old value.
            self._done()
        self._session.changes.append((place, made))
        self._task()

    def require_shown(self) -> None:
        """Check that the page shows the session, apart from its own latest changes.

        Raises
        ------
        InputError
            If another page has changed the session since.
        """
        if any(page is not self._page for page in self._session.changed_by[self._n_shown :]):
            expected = "a look at the settings, which this page shows now"
            raise InputError("the session was changed in another page", expected=expected)

    @property
    def pending(self) -> bool:
        """Whether a change is running."""
        return bool(self._task.pending)

    def problem(self, key: str) -> str:
        """Return the error message of the last change of a control; "" if there is none."""
        return self._session.problems.get((self._step, key), "")

    def forget(self) -> None:
        """Remove the error messages of the step."""
        problems = self._session.problems
        # Changes in the background may add errors meanwhile.
        for place in list(problems):
            if place[0] == self._step:
                problems.pop(place, None)

    def t(self, key: str, **values: object) -> str:
        """Return a string of the step; see `t`."""
        return t(f"{self._step}.{key}", **values)

    def text(self, key: str, look: str = "", **values: object) -> None:
        """Show a string of the step; with look ``title``, as title of a part."""
        _element({"text": self.t(key, **values), "lang": language.value}, look, "h3" if look == "title" else "p")

    def busy(self, pending: bool, key: str) -> None:
        """Show that a computation runs, at the edge of the window, so that the page does not move."""
        _element({"text": self.t(key) if pending else "", "lang": language.value}, "busy")

    def computed(self, work: Callable[[], T], dependencies: list[Any], key: str) -> tuple[T | None, bool]:
        """Return the latest result of a computation in the background, and whether a newer one is computed.

        The computation begins again when a dependency changes. While it runs, the string `key` is shown; then, the text
        of its error, if there is one. The result is None without a result, and if a newer computation replaced it.
        """

        def run() -> tuple[T | None, str]:
            try:
                return work(), ""
            except InputError as error:
                return None, str(error)
            except Superseded:
                return None, ""

        task = use_task(run, dependencies=dependencies)
        found, problem = task.latest or (None, "")
        self.busy(task.pending, key)
        if problem:
            text(problem, "error")
        return found, task.pending

    def pictures(self, draw: Callable[[], Iterable[tuple[Figure, str]]], dependencies: list[Any]) -> None:
        """Show figures with their descriptions, see `picture`; they are drawn in the background, as in `computed`."""
        dependencies = [*dependencies, language.value]
        drawn, _ = self.computed(lambda: [picture(*each) for each in draw()], dependencies, "drawing")
        with solara.Div(classes=["desk-figures"]):
            html("".join(drawn or ()))

    def field(self, key: str, value: object = None, kind: str = "text", **more: object) -> dict[str, Any]:
        """Return a field of a form.

        Label and help are the strings with the key, and the key with ``_help``, unless `more` has them. `kind` is
        a type of ``form.vue``, and `more` has other properties that it uses.
        """
        label = {} if "label" in more else {"label": self.known(key, key)}
        about = {"help": self.known(f"{key}_help"), **label, **more}
        return {"key": key, "value": value, "type": kind, "error": self.problem(key), **about}

    def known(self, key: str, otherwise: str = "") -> str:
        """Return the string of a key path of the scenario, or another text if there is none."""
        return str(strings(language.value)[self._step].get(key.replace(".", "_"), otherwise))

    def select(
        self, key: str, value: object, values: Mapping[str, str] | Sequence[str], **more: object
    ) -> dict[str, Any]:
        """Return a field that selects one of several values; see `options` and `field`."""
        return self.field(key, value, "select", options=options(values), **more)

    def button(self, key: str, **more: object) -> dict[str, Any]:
        """Return a button; see `field`."""
        return self.field(key, None, "button", **more)

    def form(
        self,
        fields: Sequence[Mapping[str, Any]],
        change: Callable[[str, Any], None] = lambda key, value: None,
        title: str = "",
        **more: object,
    ) -> None:
        """Show fields as one group.

        Parameters
        ----------
        fields : sequence of mapping
            See `field`.
        change : callable
            Called with key and value of a changed field; a button has the value True.
        title : str
            Key of the title.
        **more : object
            ``text`` below the title, ``row`` for fields side by side, ``fold`` for a group that is closed on small
            screens.
        """
        group = {"title": self.t(title) if title else "", "fields": list(fields), **more}
        _form(shown=group, event_send=lambda changed: change(changed["key"], changed["value"]))

    def frame(self, title: str, table: pd.DataFrame) -> None:
        """Show a table of results: shares as per cent, and the names of columns by their strings."""
        header = [self.known(str(name), policy_name(str(name))) for name in table.columns]
        rows = [[self._written(value) for value in row] for row in table.astype(object).to_numpy()]
        self.table(title, header, rows)

    def _written(self, value: object) -> str:
        if isinstance(value, bool):
            return self.t("yes" if value else "no")
        if isinstance(value, tuple):
            return ", ".join(value) or self.t("none")
        return f"{value:.2%}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

    def table(
        self,
        title: str,
        header: Sequence[str],
        rows: Sequence[Sequence[object]],
        change: Callable[[Mapping[str, Any]], None] = lambda change: None,
    ) -> None:
        """Show a table; the first cell of a row is its name.

        Parameters
        ----------
        title : str
            Title.
        header : sequence of str
            Names of the columns.
        rows : sequence of sequence
            Cells of each row: texts, or fields as mappings; see ``table.vue``.
        change : callable
            Called with the name of the row, the key and the value of a changed cell.
        """
        cells = [[each if isinstance(each, Mapping) else {"text": str(each)} for each in row] for row in rows]
        shown = [{"key": row[0]["text"], "cells": row} for row in cells]
        _table(shown={"caption": title, "header": list(header), "rows": shown}, event_send=change)
