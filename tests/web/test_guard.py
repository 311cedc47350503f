"""Access control of the web page: own site, own host name and token only."""

import asyncio
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
from reidsim.web.guard import Guard

HOME = {"host": "127.0.0.1:8765"}


async def page(scope, receive, send):
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
    elif scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"secret"})


@pytest.fixture
def guard():
    return Guard(page, "127.0.0.1", 8765)


def ask(guard, headers, kind="http", query=""):
    """Return the guard's messages in answer to one request."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    asyncio.run(guard({**scope, "path": "/", "query_string": query.encode()}, None, send))
    return sent


def cookie_of(guard):
    start, _ = ask(guard, HOME, query=urlsplit(guard.address).query)
    assert (start["status"], dict(start["headers"])[b"location"]) == (303, b"/")
    cookie = SimpleCookie(dict(start["headers"])[b"set-cookie"].decode())["reidsim-8765"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
    return f"reidsim-8765={cookie.value}"


def test_the_printed_address_lets_its_browser_in(guard):
    assert guard.address.startswith("http://127.0.0.1:8765/?token=")
    cookie = cookie_of(guard)
    for host in ("127.0.0.1:8765", "localhost:8765"):
        for origin in ({}, {"origin": f"http://{host}"}):
            headers = {"host": host, "cookie": f"other=1; {cookie}", **origin}
            assert ask(guard, headers)[-1]["body"] == b"secret"
            assert ask(guard, headers, kind="websocket") == [{"type": "websocket.accept"}]


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ({"host": "rebound.example:8765"}, "only at 127.0.0.1:8765"),
        ({**HOME, "origin": "https://other.example"}, "other sites"),
        ({**HOME, "origin": "http://127.0.0.1:9999"}, "other sites"),
    ],
)
def test_other_names_and_other_sites_are_refused_whatever_they_know(guard, headers, says):
    headers = {**headers, "cookie": cookie_of(guard)}
    for query in ("", urlsplit(guard.address).query):
        start, body = ask(guard, headers, query=query)
        assert start["status"] == 403
        assert says in body["body"].decode()
        (closed,) = ask(guard, headers, kind="websocket", query=query)
        assert (closed["type"], closed["code"]) == ("websocket.close", 1008)


@pytest.mark.parametrize("cookie", ["", "reidsim-8765=", "reidsim-8765=guess", "reidsim-1=x", "=;;\x01"])
def test_nobody_gets_in_without_the_token(guard, cookie):
    for query in ("", "token=", "token=guess"):
        assert ask(guard, {**HOME, "cookie": cookie}, query=query)[0]["status"] == 403
    assert ask(guard, {**HOME, "cookie": cookie}, kind="websocket")[0]["type"] == "websocket.close"
    # A websocket handshake cannot set a cookie, so it gives no access.
    assert ask(guard, HOME, "websocket", urlsplit(guard.address).query)[0]["type"] == "websocket.close"


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_message_that_the_page_cannot_read_closes_its_connection_alone(kind, caplog):
    async def broken(scope, receive, send):
        if scope["type"] == kind:
            raise RuntimeError("a number was expected")

    guard = Guard(broken, "127.0.0.1", 8765)
    sent = ask(guard, {**HOME, "cookie": cookie_of(guard)}, kind=kind)
    assert [message["type"] for message in sent] == (["websocket.close"] if kind == "websocket" else [])
    assert [record.name for record in caplog.records] == ["reidsim"]
