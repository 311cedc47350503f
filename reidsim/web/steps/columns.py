"""Step *Columns*: the role of each column, with the reason for it."""

from __future__ import annotations

from collections.abc import Callable

import solara

from reidsim.drafts.roles import DIRECT, ROLES
from reidsim.web.parts import Panel, bullets, options, said, t, text
from reidsim.web.session import Session, present

_NUMBERS = ("values", "missing", "singled_out")


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the unit and the table of columns."""
    panel = Panel("columns", session, refresh)
    drafted = present(session.drafted)
    text(drafted.unit, "unit")
    panel.text("intro")
    panel.busy(panel.pending, "checking")
    rows, labels = [], {each: t(f"roles.{each}") for each in ROLES}
    for column in session.columns().to_dict("records"):
        name, role = column["column"], column["role"]
        cell = {"options": options(labels), "label": panel.t("role_of", column=name), "error": panel.problem(name)}
        facts = [said("types", column["type"]), *(column[each] for each in _NUMBERS), said("reasons", column["why"])]
        rows.append([name, {"key": "role", "value": role, **cell}, *facts])
    header = [panel.t(key) for key in ("column", "role", "type", *_NUMBERS, "why")]
    panel.table(
        panel.t("table"),
        header,
        rows,
        lambda each: panel.act(each["row"], lambda: session.set_role(each["row"], each["value"])),
    )
    panel.text("table_help", "help")
    # A column that has another role than in the draft is no longer left out.
    roles, left_out = session.roles(), drafted.left_out.items()
    warnings = [warning for name, warning in left_out if roles.get(name, DIRECT) == DIRECT]
    if lines := (*warnings, *drafted.notes):
        panel.text("review", "title")
        bullets(lines)
    panel.form([panel.button("go", main=True)], lambda *_: go("hierarchies"))
