"""The web page: five steps from a file to a signed decision, which can be visited in any order."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import solara

from reidsim.web.parts import LANGUAGES, frame, language, t
from reidsim.web.session import Session, session_of
from reidsim.web.steps import columns, file, game, hierarchies, share

_STYLESHEET = Path(__file__).with_suffix(".css")
# The steps, in the order of the page.
STEPS: dict[str, ModuleType] = {
    "file": file,
    "columns": columns,
    "hierarchies": hierarchies,
    "game": game,
    "share": share,
}


def closed(session: Session) -> dict[str, str]:
    """Return why a step cannot be entered, by step; open steps are missing."""
    found = {}
    if session.scenario is None:
        found = dict.fromkeys(("columns", "hierarchies", "game", "share"), t("frame.no_file"))
    elif session.drafted is None:
        found = dict.fromkeys(("file", "columns", "hierarchies"), t("frame.no_own_file"))
    elif session.uncovered():
        found = dict.fromkeys(("game", "share"), t("frame.uncovered"))
    if session.scenario is not None and not session.can_share:
        found["share"] = t("frame.nothing_to_share")
    return found


@solara.component
def Page() -> None:  # noqa: N802 - solara's name for the component that is served
    """Show the frame of the page and the current step."""
    session = solara.use_memo(lambda: session_of(solara.get_session_id()), [])
    step, set_step = solara.use_state(session.first_step)
    # The number of changes of the session: solara shows a step again only if an argument differs.
    version, set_version = solara.use_state(0)
    reasons = closed(session)
    solara.Title(t("frame.title"))
    solara.Style(_STYLESHEET)
    shown = [
        {"key": key, "label": t(f"{key}.step"), "open": key not in reasons, "note": reasons.get(key, "")}
        for key in STEPS
    ]
    with solara.Div(classes=["desk"]):
        texts = {key: t(f"frame.{key}") for key in ("title", "language", "steps", "skip")}
        frame(
            shown={"texts": texts, "steps": shown, "step": step, "language": language.value, "languages": LANGUAGES},
            event_send=lambda sent: language.set(sent["language"]) if "language" in sent else set_step(sent["step"]),
        )
        with solara.v.Html(tag="main", attributes={"id": "desk-step", "tabindex": "-1"}):
            solara.HTML(tag="h2", unsafe_innerHTML=t(f"{step}.title"))
            STEPS[step].Step(
                session=session, version=version, refresh=lambda: set_version(lambda number: number + 1), go=set_step
            )


@solara.component
def Layout(children: Any = ()) -> None:  # noqa: N802 - solara's name for the frame of a page
    """Show the page alone, without the bars of solara."""
    with solara.Div():
        for child in children:
            solara.display(child)
