"""Serve the web page on this machine, to its user, without any remote resource."""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import secrets
import socket
import textwrap
import warnings
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import error_line
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.web.exploration import offer

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Code with which a websocket is rejected before it opens; uvicorn answers with HTTP status 403.
_POLICY_VIOLATION = 1008
_INVALID_DATA = 1007

_log = logging.getLogger("reidsim")


class Guard:
    """ASGI middleware that lets only requests from its own page reach an application.

    The first request carries the token in the printed address and receives a cookie; all others need the cookie.

    Parameters
    ----------
    application : callable
        ASGI application.
    host : str
        The only host name that is accepted, besides ``localhost``.
    port : int
        Port of the page.

    Attributes
    ----------
    address : str
        Address of the page with the token, to be opened in a browser.
    """

    def __init__(self, application: Application, host: str, port: int) -> None:
        self._application = application
        self._hosts = tuple(f"{name}:{port}" for name in (host, "localhost"))
        self._cookie = f"reidsim-{port}"
        self._token = secrets.token_urlsafe(32)
        self.address = f"http://{host}:{port}/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward an ASGI request if it comes from the page; otherwise refuse it.

        A request from another host or site, or without token and cookie, is refused with status 403; a websocket is
        closed. A request with the token in its address is answered by a redirection that sets the cookie. Messages on
        the start and end of the server (lifespan) are always forwarded.
        """
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        request = HTTPConnection(scope)
        problem = self._problem(request.headers)
        has_token = scope["type"] == "http" and self._is_token(request.query_params.get("token", ""))
        if not problem and not has_token and not self._is_token(request.cookies.get(self._cookie, "")):
            problem = "open the complete address that reidsim serve printed, with its token"
        if problem and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": problem})
        elif problem:
            await PlainTextResponse(f"reidsim: {problem}\n", 403)(scope, receive, send)
        elif has_token:
            # Redirect to an address without the token, so that the token does not stay in the browser's history.
            response = RedirectResponse("/", 303, {"cache-control": "no-store"})
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            await response(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; if the application raises an error, log it.

        A websocket is then closed.
        """
        try:
            await self._application(scope, receive, send)
        except Exception as error:  # the page must survive any malformed message
            _log.warning("closed a connection after a malformed message", exc_info=error)
            if scope["type"] == "websocket":
                # The application may already have closed the connection.
                with contextlib.suppress(Exception):
                    await send({"type": "websocket.close", "code": _INVALID_DATA})

    def _problem(self, headers: Mapping[str, str]) -> str:
        """Return why a request does not come from the page's address; "" if it does.

        The reason is a text. The headers ``Host`` and, if there is one, ``Origin`` are examined; the token is not.
        """
        if headers.get("host", "") not in self._hosts:
            return f"this page is available only at {self._hosts[0]}"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return "pages of other sites may not use this page"
        return ""

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


HOST = "127.0.0.1"
_PAGE = "reidsim.web.page"
_LONGEST_LINE = 200
_NEEDED = ("solara", "uvicorn")


def serve(loaded: Scenario[ScenarioHead], port: int, started: Callable[[str], None]) -> None:
    """Serve the web page of a scenario until interrupted.

    Parameters
    ----------
    loaded : Scenario
        Scenario to show.
    port : int
        Port on the loopback interface; 0 for any free port.
    started : callable
        Called with the page's address, which includes the required token, when the server listens.

    Raises
    ------
    InputError
        If the extra ``web`` is not installed, the port cannot be used, or the scenario has no parameter to change.
    """
    if any(find_spec(name) is None for name in _NEEDED):
        raise InputError("the web page is not installed", hint="run pip install 'reidsim[web]'")
    if not any(kind_of(loaded.scenario).controls(loaded.scenario)):
        problem, expected = "the web page needs a scenario with payoff parameters", "a kind of scenario with policies"
        raise InputError(problem, source=loaded.path, where="economics", expected=expected)
    offer(loaded)
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        problem = f"the port cannot be used: {os.strerror(error.errno or 0)}"
        raise InputError(problem, found=port, expected="another --port") from None
    with listener:
        _stay_on_this_machine()
        _log_in_lines()
        import uvicorn
        from solara.server import starlette

        from reidsim.figures.style import own_settings
        from reidsim.web.server import Guard

        guard = Guard(starlette.app, HOST, listener.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(guard, log_level="error", lifespan="on"))
        # Import errors must appear before the address is printed.
        import_module(_PAGE)
        started(guard.address)
        with own_settings():
            server.run(sockets=[listener])


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

    Settings are environment variables. They also limit the number of open pages to 8.
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
