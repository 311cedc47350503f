"""Step *Columns*: the role of each column, with the reason for it."""

from __future__ import annotations

from collections.abc import Callable

import solara

from reidsim.drafts.roles import ROLES
from reidsim.web.parts import Panel, bullets, options, t, text
from reidsim.web.session import Session, present

_FACTS = ("type", "values", "missing", "singled_out", "why")


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the unit and the table of columns."""
    panel = Panel("columns", session, refresh)
    drafted = present(session.drafted)
    text(drafted.unit, "unit")
    panel.text("intro")
    panel.busy(panel.pending, "checking")
    rows, roles = [], {each: t(f"roles.{each}") for each in ROLES}
    for column in session.columns().to_dict("records"):
        name, role = column["column"], column["role"]
        cell = {"options": options(roles), "label": panel.t("role_of", column=name), "error": panel.problem(name)}
        rows.append([name, {"key": "role", "value": role, **cell}, *(column[fact] for fact in _FACTS)])
    header = [panel.t(key) for key in ("column", "role", *_FACTS)]
    panel.table(
        panel.t("table"),
        header,
        rows,
        lambda each: panel.act(each["row"], lambda: session.set_role(each["row"], each["value"])),
    )
    panel.text("table_help", "help")
    if warnings := drafted.warnings:
        panel.text("review", "title")
        bullets(warnings)
    panel.form([panel.button("go", main=True)], lambda *_: go("hierarchies"))
