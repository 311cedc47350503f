"""Step *Share*: choose the kept columns; write the file, its sidecar, the report, the scenario and the rulebook."""

from __future__ import annotations

from collections.abc import Callable

import solara

from reidsim.core.errors import InputError
from reidsim.drafts.roles import KEPT, LEFT_OUT, SENSITIVE
from reidsim.scenarios.kind import kind_of
from reidsim.web.parts import Panel, bullets, policy_name, text
from reidsim.web.session import Session

_SIGNATURE = ("decider", "role", "institution", "decision")


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the columns to keep, the release to write with the entries of its signature, and the files."""
    panel = Panel("share", session, refresh)
    scenario, signature = session.required.scenario, session.signature
    panel.text("intro")
    asked = signature.get("policy", "")
    found, pending = panel.computed(lambda: session.recommended(asked), [session.scenario, asked], "checking")
    recommended, shown, joint = found or ("", "", None)
    if session.drafted is not None:
        _show_kept(panel, session)
    if joint is not None:
        joint = joint.assign(allowed=~joint["too_many"]).drop(columns="too_many")
        panel.frame(panel.t("joint", policy=policy_name(shown)), joint)
    names = {"": panel.t("choose"), **{name: policy_name(name) for name in kind_of(scenario).policies_of(scenario)}}

    def chosen() -> str:
        # The scenario may no longer have the chosen policy.
        return next(each for each in (session.signature.get("policy"), recommended) if each in names)

    def write() -> None:
        panel.require_shown()
        # The policy may have been chosen a moment ago, and not yet be on the page.
        session.write_release(chosen())

    def change(key: str, value: str) -> None:
        panel.act(key, write if key == "write" else lambda: session.sign(key, value))

    fields = [
        panel.select("policy", chosen(), names),
        *(panel.field(key, signature.get(key, "")) for key in _SIGNATURE),
        panel.button("write", main=True, disabled=not chosen() or pending or panel.pending),
    ]
    panel.form(fields, change, "release")
    if (files := session.written()) and session.is_outdated:
        panel.text("outdated", "error")
    elif files:
        _show_summary(session)
        links = [
            panel.field(name, f"/desk/files/{name}", "link", label=panel.t("download", name=name.rpartition("/")[2]))
            for name in files
        ]
        panel.form(links, title="files", row=True)


def _show_summary(session: Session) -> None:
    """Show the facts of the file that was written; an error if it was changed since."""
    try:
        bullets([*session.summary().splitlines(), *session.warnings])
    except InputError as error:
        text(str(error), "error")


def _show_kept(panel: Panel, session: Session) -> None:
    """Show the columns that are no quasi-identifiers, which of them are kept, and why no outsider knows them."""
    columns, sections = session.columns(), session.required.content.get("kept", {})
    rows = []
    for column in columns[columns["role"].isin((KEPT, LEFT_OUT, SENSITIVE))].to_dict("records"):
        name, kept, why = column["column"], column["role"] != LEFT_OUT, {}
        keep = {"key": "share", "input": "checkbox", "value": kept, "label": panel.t("keep_column", column=name)}
        if kept:
            about = {"label": panel.t("reason_of", column=name), "placeholder": panel.t("reason_example")}
            why = {"key": "reason", "input": "text", "value": sections.get(name, {}).get("reason", ""), **about}
        rows.append([name, {**keep, "error": panel.problem(name)}, why, column["singled_out"]])
    panel.text("kept", "title")
    panel.text("kept_intro")
    panel.table(
        panel.t("others"),
        [panel.t(key) for key in ("column", "keep", "reason", "alone")],
        rows,
        lambda each: panel.act(each["row"], lambda: session.keep(each["row"], each["key"], each["value"])),
    )
