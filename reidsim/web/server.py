"""Serve the web page on this machine, to its user, without any remote resource."""

from __future__ import annotations

import logging
import os
import socket
import textwrap
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import error_line
from reidsim.scenarios.scenario import Scenario

HOST = "127.0.0.1"
_PAGE = "reidsim.web.page"
_LONGEST_LINE = 200


def serve(
    port: int, started: Callable[[str], None], *, scenario: Scenario[Any] | None = None, folder: Path | None = None
) -> None:
    """Serve the web page until interrupted.

    Parameters
    ----------
    port : int
        Port on the loopback interface; 0 for any free port.
    started : callable
        Called with the page's address, which includes the required token, when the server listens.
    scenario : Scenario, optional
        Scenario with which each session starts, at step *Game*; by default, sessions start without a file.
    folder : Path, optional
        Folder of an earlier session to continue, or a new one; by default, each browser has a private temporary folder.

    Raises
    ------
    InputError
        If the extra ``web`` is not installed, the port or the folder cannot be used, or the scenario has no parameter
        to change.
    """
    if not (find_spec("solara") and find_spec("uvicorn")):
        raise InputError("the web page is not installed", hint="run pip install 'reidsim[web]'")
    _stay_on_this_machine()
    from reidsim.web.page import BROWSERS, exchange

    BROWSERS.offer(scenario, folder)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        problem = f"the port cannot be used: {os.strerror(error.errno or 0)}"
        raise InputError(problem, found=port, expected="another --port") from None
    with listener:
        _log_in_lines()
        import uvicorn
        from solara.server import starlette
        from starlette.routing import Route

        from reidsim.figures.style import own_settings
        from reidsim.web.guard import Guard

        starlette.app.router.routes.insert(0, Route("/desk/files/{name:path}", exchange, methods=["GET", "POST"]))
        guard = Guard(starlette.app, HOST, listener.getsockname()[1])
        started(guard.address)
        try:
            with own_settings():
                uvicorn.Server(uvicorn.Config(guard, log_level="error", lifespan="on")).run(sockets=[listener])
        finally:
            BROWSERS.close()


class _OneLine(logging.Formatter):
    """Format each event as one line without traceback and control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a log event: message and error after ``reidsim:``.

        The error is in parentheses. Message and error have at most 200 characters. Of a group of errors, the first is
        named. Control characters become spaces.
        """
        error = record.exc_info[1] if record.exc_info else None
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = record.getMessage() + (f" ({error_line(error)})" if error is not None else "")
        text = "".join(sign if sign.isprintable() else " " for sign in text)
        return f"reidsim: {textwrap.shorten(text, _LONGEST_LINE)}"


def _log_in_lines() -> None:
    """Log messages of libraries as single lines, without tracebacks.

    Warnings and errors are written to standard error.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    # Irrelevant here: the page has its own cookie and is never embedded in another page.
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _stay_on_this_machine() -> None:
    """Configure solara, before its import, to send no telemetry and fetch no assets.

    Settings are environment variables; values set before the call are replaced. The number of open pages is limited to
    8.
    """
    os.environ.update(
        {
            "SOLARA_APP": _PAGE,
            "SOLARA_TELEMETRY_MIXPANEL_ENABLE": "false",
            "SOLARA_ASSETS_PROXY": "true",
            # Assets that are not installed are missing; solara does not fetch them.
            "SOLARA_ASSETS_CDN": f"http://{HOST}:9/",
            "SOLARA_MODE": "production",
            "SOLARA_THEME_SHOW_BANNER": "false",
            "SOLARA_SESSION_SAME_SITE": "lax",
            # Discard the state of closed pages, and limit the number of open pages.
            "SOLARA_KERNEL_CULL_TIMEOUT": "10m",
            "SOLARA_KERNEL_MAX_COUNT": "8",
        }
    )
