"""The web page: five steps from a file to a signed decision, with the session of each browser and its files."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import solara
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from reidsim.core.errors import InputError
from reidsim.core.files import plain_name
from reidsim.engine.batch.design import at_point
from reidsim.engine.scenario import Scenario
from reidsim.scenarios.kind import kind_of
from reidsim.web.parts import LANGUAGES, frame, language, t
from reidsim.web.session import UPLOADS, Session
from reidsim.web.steps import columns, file, game, hierarchies, share

_STYLESHEET = Path(__file__).with_suffix(".css")
# The steps, in the order of the page.
STEPS = {"file": file, "columns": columns, "hierarchies": hierarchies, "game": game, "share": share}
# Largest file that a browser may send, in bytes.
MOST_BYTES = 4 * 2**30


class Browsers:
    """The sessions of all browsers, by their cookie; one session of all, if it is in a folder of the user."""

    def __init__(self) -> None:
        self._scenario: Scenario | None = None
        # The session in a folder of the user has the name "".
        self._sessions: dict[str, Session] = {}
        self._folders = ExitStack()

    def offer(self, scenario: Any = None, folder: Path | None = None) -> None:
        """Close all sessions; new ones begin with a scenario, with the folder of an earlier session, or empty.

        Raises
        ------
        InputError
            If the scenario has no policies, or the folder cannot be used.
        """
        self.close()
        if scenario is not None:
            kind_of(scenario.scenario).policies_of(scenario.scenario)
        self._scenario = scenario and Scenario.load(at_point(scenario, {}))
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # In another folder, a session could replace files of the user that have names of its own files.
            if any(folder.iterdir()) and not (folder / UPLOADS).exists():
                expected = f"an empty folder, or one with {UPLOADS}"
                raise InputError("not the folder of a session", source=folder, expected=expected)
            self._sessions[""] = Session(folder.resolve())

    def session_of(self, browser: str) -> Session:
        """Return the session of a browser, named by its cookie; a new one at its first request."""
        name = "" if "" in self._sessions else browser
        if name not in self._sessions:
            place = TemporaryDirectory(prefix="reidsim-desk-", ignore_cleanup_errors=True)
            self._sessions[name] = Session(Path(self._folders.enter_context(place)), self._scenario)
        return self._sessions[name]

    def close(self) -> None:
        """End all sessions, and remove their temporary folders."""
        for session in self._sessions.values():
            session.is_closed = True
        self._sessions.clear()
        self._folders.close()


BROWSERS = Browsers()


async def exchange(request: Request) -> Response:
    """Receive or send a file of the browser's session.

    ``POST uploads/NAME`` writes the body to the folder of the session, as does ``hierarchies`` in place of ``uploads``;
    the answer is the path of the file. ``GET PATH`` returns a file of the folder, and ``GET hierarchy-of/NAME`` the
    hierarchy of a quasi-identifier.
    """
    name, session = request.path_params["name"], BROWSERS.session_of(str(request.cookies.get("solara-session-id", "")))
    folder, _, last = name.partition("/")
    if request.method == "POST":
        return await _received(request, session.place_for(last, folder), session.folder)
    try:
        if folder == "hierarchy-of" and last in session.sections:
            text = session.hierarchy(last).table.to_csv(sep=";", header=False, index=False)
            about = {"content-disposition": f"attachment; filename={plain_name(last)}.csv"}
            return PlainTextResponse(text, headers=about, media_type="text/csv")
        path = session.inside(name)
        return FileResponse(path, filename=path.name)
    except InputError as error:
        return PlainTextResponse(f"{error}\n", 404)


async def _received(request: Request, path: Path, folder: Path) -> PlainTextResponse:
    """Write the body of a request to a file; answer its path relative to a folder, or why it was refused."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as file:
            async for part in request.stream():
                file.write(part)
                if file.tell() > MOST_BYTES:
                    return PlainTextResponse(f"the file has more than {MOST_BYTES / 2**30:.0f} GB", 413)
        unfinished.chmod(0o600)
        unfinished.replace(path)
    except OSError as error:
        return PlainTextResponse(f"the file cannot be written: {error.strerror}", 507)
    finally:
        unfinished.unlink(missing_ok=True)
    return PlainTextResponse(path.relative_to(folder).as_posix())


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
    session = solara.use_memo(lambda: BROWSERS.session_of(solara.get_session_id()), [])
    step, set_step = solara.use_state(session.first_step)
    # The number of changes of the session: solara shows a step again only if an argument differs.
    version, set_version = solara.use_state(0)
    solara.Title(t("frame.title"))
    solara.Style(_STYLESHEET)
    texts = {key: t(f"frame.{key}") for key in ("title", "language", "language_help", "steps", "skip")}
    steps = [{"key": key, "label": t(f"{key}.step")} for key in STEPS]
    languages = {"language": language.value, "languages": LANGUAGES}
    reasons = closed(session)
    if step in reasons:
        # The files of the session were removed on another page.
        step = next(name for name in STEPS if name not in reasons)
    with solara.Div(classes=["desk"]):
        frame(
            shown={"texts": texts, "steps": steps, "step": step, "closed": reasons, **languages},
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
