"""Step *File*: read a file, and show how it was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import solara

from reidsim.core.files import TABLE_ENDINGS, is_delimited
from reidsim.drafts.preview import FilePreview
from reidsim.web.parts import Panel, said, t, upload
from reidsim.web.session import Session

_ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16")
# Number of rows that are shown.
_ROWS = 20
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def show_upload(panel: Panel, key: str, label: str, accept: str, take: Callable[[str], object]) -> None:
    """Show a place for a file to drop or choose; `take` is called with its path in the folder of the session."""
    about = {"key": key, "label": label, "help": panel.t(f"{key}_help"), "error": panel.problem(key)}
    upload(
        shown={**about, "accept": accept, "broken": t("file.broken")},
        event_send=lambda name: panel.act(key, partial(take, name)),
    )


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the place for a file, the example, and the first rows of the file of the session."""
    panel = Panel("file", session, refresh)
    panel.text("intro")
    endings = ",".join(TABLE_ENDINGS)
    show_upload(panel, "uploads", panel.t("uploads"), endings, lambda name: session.take(session.inside(name)))

    def change(key: str, value: Any) -> None:
        changes: dict[str, Callable[[], object]] = {
            "example": session.take_example,
            "remove": session.remove,
            "reread": session.reread,
            "person": lambda: session.decide(**{"one_row_per_person": True} if value == "-" else {"person": value}),
        }
        if key == "go":
            go("columns")
        else:
            panel.act(key, changes.get(key) or partial(session.read_again, **{key: value}))

    panel.busy(panel.pending, "reading")
    if panel.pending:
        _, done, total = session.progress.value
        bar = {"max": str(total), "value": str(done), "aria-label": panel.t("reading")}
        solara.HTML(tag="progress", attributes=bar, classes=["desk-progress"])
    if session.undecided:
        people = {"": panel.t("choose"), **{name: name for name in session.undecided}, "-": panel.t("one_row")}
        panel.form([panel.select("person", "", people)], change, "person_title")
    refused = None if panel.pending else session.refused
    if refused and (fields := _ways_of_reading(panel, *refused)):
        panel.text("refused", name=refused[0].name)
        panel.form(fields, change)
    fields = []
    if (found := session.source) is not None and not panel.pending:
        fields.append(panel.button("go", main=True, disabled=session.scenario is None))
        _show_file(panel, found)
        if not refused:
            sheet = found.options.sheet or next(iter(found.sheets), "")
            fields += _ways_of_reading(panel, found.path, found.sheets, found.encoding, sheet)
        if session.scenario is not None:
            fields.append(panel.button("reread"))
    remove = panel.button("remove", help=panel.t("folder", folder=session.folder))
    # The example would replace the file.
    example = [] if session.source else [panel.button("example")]
    panel.form([*fields, *example, remove], change)


def _ways_of_reading(
    panel: Panel, path: Path, sheets: Sequence[str], encoding: str = "", sheet: str = ""
) -> list[dict[str, Any]]:
    """Return fields that choose the encoding of a text file, or the sheet of a workbook; "" is not chosen."""
    fields, encodings = [], _ENCODINGS if is_delimited(path) else ()
    for key, value, known in (("encoding", encoding, encodings), ("sheet", sheet, sheets)):
        if len(known) > 1:
            names = known if value in known else (value, *known)
            fields.append(panel.select(key, value, {each: each or panel.t("choose") for each in names}))
    return fields


def _show_file(panel: Panel, found: FilePreview) -> None:
    """Show how a file was read, and its first different rows."""
    form = panel.t("as_typed")
    if found.is_text:
        form = panel.t("as_text", encoding=found.encoding, delimiter=panel.t(_DELIMITERS[found.delimiter]))
    panel.text("read_as", name=found.path.name, format=form)
    for name, order in found.dates.items():
        panel.text("dates", column=name, order=said("reasons", order)["text"])
    rows = found.records.frame[:_ROWS]
    panel.table(panel.t("first_rows", rows=len(rows)), list(map(str, rows)), rows.to_numpy().tolist())
