"""Let only requests of the page's own browser window reach the page."""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.status import WS_1007_INVALID_FRAME_PAYLOAD_DATA, WS_1008_POLICY_VIOLATION
from starlette.types import ASGIApp, Receive, Scope, Send


class Guard:
    """ASGI middleware that lets only requests from its own page reach an application.

    The first request carries the token in the printed address and receives a cookie; all others need the cookie.

    Parameters
    ----------
    application : callable
        ASGI application.
    host : str
        Host name that is accepted in addition to ``localhost``; all others are refused.
    port : int
        Port of the page.

    Attributes
    ----------
    address : str
        Address of the page with the token, to be opened in a browser.
    """

    def __init__(self, application: ASGIApp, host: str, port: int) -> None:
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
            problem = "open the complete address that reidsim printed, with its token"
        if problem and scope["type"] == "websocket":
            # A websocket is rejected before it opens; uvicorn answers with HTTP status 403.
            await send({"type": "websocket.close", "code": WS_1008_POLICY_VIOLATION, "reason": problem})
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
            logging.getLogger("reidsim").warning("closed a connection after a malformed message", exc_info=error)
            if scope["type"] == "websocket":
                # The application may already have closed the connection.
                with contextlib.suppress(Exception):
                    await send({"type": "websocket.close", "code": WS_1007_INVALID_FRAME_PAYLOAD_DATA})

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
