"""Restrict the page to browsers that opened the printed address.

Any site that a user visits can send requests to this machine. Such requests carry the site's name in ``Origin``; a
site that rebinds its name to this machine sends that name in ``Host``; and neither kind of request contains the token.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

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
        """Answer an ASGI request."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(headers)
        brought = scope["type"] == "http" and self._is_token(_in_query(scope.get("query_string", b"")))
        if not problem and not brought and not self._is_token(_in_cookies(headers.get(b"cookie", ""), self._cookie)):
            problem = "open the complete address that reidsim serve printed, with its token"
        if problem:
            await _refuse(scope, send, problem)
        elif brought:
            await self._enter(send)
        else:
            await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request; close the connection if the application cannot read it."""
        try:
            await self._application(scope, receive, send)
        except Exception as error:  # the page must survive any malformed message
            _log.warning("closed a connection after a malformed message", exc_info=error)
            if scope["type"] == "websocket":
                # The application may already have closed the connection.
                with contextlib.suppress(Exception):
                    await send({"type": "websocket.close", "code": _INVALID_DATA})

    def _problem(self, headers: dict[bytes, str]) -> str:
        """Return why a request does not come from the page's address; "" if it does."""
        if headers.get(b"host", "") not in self._hosts:
            return f"this page is available only at {self._hosts[0]}"
        origin = headers.get(b"origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return "pages of other sites may not use this page"
        return ""

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    async def _enter(self, send: Send) -> None:
        """Set the cookie and redirect to an address without the token.

        The token therefore does not stay in the browser's history.
        """
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Lax"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def _in_query(query: bytes) -> str:
    return parse_qs(query.decode("latin-1")).get("token", [""])[0]


def _in_cookies(header: str, name: str) -> str:
    try:
        cookie = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


async def _refuse(scope: Scope, send: Send, problem: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": problem})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": f"reidsim: {problem}\n".encode()})
