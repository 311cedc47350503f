"""Step *Share*: choose the kept columns; write the file, its sidecar, the report, the scenario and the rulebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import solara

from reidsim.drafts.roles import KEPT, LEFT_OUT, SENSITIVE
from reidsim.figures.style import policy_name
from reidsim.reports.shared.records import MOST_SINGLED_OUT, joint_uniqueness
from reidsim.scenarios.kind import kind_of
from reidsim.web.parts import Panel, bullets
from reidsim.web.session import Session

_SIGNATURE = ("decider", "role", "institution", "decision")


@solara.component
def Step(session: Session, version: int, refresh: Callable[[], None], go: Callable[[str], None]) -> None:  # noqa: N802
    """Show the columns to keep, the options of the files, and the files that were written."""
    panel = Panel("share", session, refresh)
    given: solara.Reactive[dict[str, str]] = solara.use_reactive({})
    scenario = session.required.scenario
    policies = kind_of(scenario).policies_of(scenario)
    panel.text("intro")
    found, pending = panel.computed(lambda: _recommended(session), [session.scenario], "checking")
    recommended, joint = found or ("", None)
    if session.drafted is not None:
        _show_kept(panel, session)
    if joint is not None:
        panel.frame(panel.t("joint"), joint.assign(allowed=~joint["too_many"]).drop(columns="too_many"))
    policy = given.value.get("policy", recommended)

    def change(key: str, value: Any) -> None:
        if key == "write":
            signature = {each: given.value.get(each, "") for each in _SIGNATURE}
            panel.act("write", lambda: session.write_release(policy, signature))
        else:
            given.set({**given.value, key: value})

    names = {"": panel.t("choose"), **{name: policy_name(name) for name in policies}}
    fields = [
        panel.select("policy", policy, names),
        *(panel.field(key, given.value.get(key, "")) for key in _SIGNATURE),
        panel.button("write", main=True, disabled=not policy or pending or panel.pending),
    ]
    panel.form(fields, change, "release")
    if files := session.written():
        bullets([*session.summary().splitlines(), *session.warnings])
        links = [
            panel.field(name, f"/desk/files/{name}", "link", label=panel.t("download", name=name.rpartition("/")[2]))
            for name in files
        ]
        panel.form(links, title="files", row=True)


def _recommended(session: Session) -> tuple[str, pd.DataFrame]:
    """Return the policy whose release is recommended, and whom the kept columns single out in it."""
    policy, releases = session.recommended()
    shared = releases.by_policy[policy].shared
    # The read-back refuses nothing; the file would be refused above this share.
    kept = replace(shared.kept, max_singled_out=MOST_SINGLED_OUT)
    return policy, joint_uniqueness(replace(shared, kept=kept))


def _show_kept(panel: Panel, session: Session) -> None:
    """Show the columns that are no quasi-identifiers, which of them are kept, and why no outsider knows them."""
    columns, sections = session.columns(), session.required.content.get("kept", {})
    rows = []
    for column in columns[columns["role"].isin((KEPT, LEFT_OUT, SENSITIVE))].to_dict("records"):
        name, kept, why = column["column"], column["role"] != LEFT_OUT, {}
        keep = {"key": "share", "input": "checkbox", "value": kept, "label": panel.t("keep_column", column=name)}
        if kept:
            reason, label = sections.get(name, {}).get("reason", ""), panel.t("reason_of", column=name)
            example = panel.t("reason_example")
            why = {"key": "reason", "input": "text", "value": reason, "label": label, "placeholder": example}
        rows.append([name, {**keep, "error": panel.problem(name)}, why, column["singled_out"]])
    panel.text("kept", "title")
    panel.text("kept_intro")
    panel.table(
        panel.t("others"),
        [panel.t(key) for key in ("column", "keep", "reason", "alone")],
        rows,
        lambda each: panel.act(each["row"], lambda: session.keep(each["row"], each["key"], each["value"])),
    )
