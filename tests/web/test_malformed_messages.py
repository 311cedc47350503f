"""Malformed messages to `reidsim serve` give log lines, and the page continues."""

import http.cookiejar
import json
import os
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

import pytest

pytest.importorskip("solara")
client = pytest.importorskip("websockets.sync.client")
# Continuous integration has the page's packages only where it runs the browser test.
REQUIRED = os.environ.get("REIDSIM_BROWSER") == "required"
pytestmark = pytest.mark.skipif(not REQUIRED, reason="starts a server; runs with REIDSIM_BROWSER=required")

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"


def message(kind, **content):
    header = {"msg_id": "1", "msg_type": kind, "session": "s", "username": "u", "version": "5.3", "date": ""}
    return json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})


OPENED = message("comm_open", comm_id="c", target_name="solara.control", data={})
# Messages of a connection that the page never sends.
MESSAGES = [
    ["garbage"], ["{}"], ["3"], [b"\x00\x01"], ["[" * 50_000], ['{"header": 4}'],
    [message("\x1b[31mnone")], [message("comm_msg")], [message("comm_open")],
    [message("comm_open", comm_id="c", target_name="jupyter.widget", data={})],
    [OPENED, message("comm_msg", comm_id="c", data=3)],
    [OPENED, message("comm_msg", comm_id="c", data={"method": "run", "args": 3})],
]  # fmt: skip


def test_malformed_messages_leave_lines_and_a_page_that_goes_on():
    command = [sys.executable, "-m", "reidsim", "serve", str(TOWN), "--port", "0"]
    # In an environment other than the active one, IPython prints warnings of its own.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        address = server.stdout.readline().split(" at ")[1].split()[0]
        cookies = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
        assert browser.open(address).status == 200
        home, _, _ = address.partition("/?")
        header = {"Cookie": "; ".join(f"{each.name}={each.value}" for each in cookies)}
        for query in ("", "?session_id="):
            send(f"{home}{channels()}{query}", header, ["{}"])
        for some in MESSAGES:
            send(f"{home}{channels()}?session_id=x", header, some)
        assert browser.open(f"{home}/").status == 200
    finally:
        server.terminate()
        _, said = server.communicate(timeout=60)
    lines = said.splitlines()
    assert len(lines) > len(MESSAGES) / 2
    assert [line for line in lines if not line.startswith("reidsim: ") or len(line) > 250 or "\x1b" in line] == []


def channels():
    return f"/jupyter/api/kernels/{uuid.uuid4()}/channels"


def send(address, header, messages):
    """Send messages over a new connection until the page closes it or answers."""
    from websockets.exceptions import WebSocketException

    try:
        with client.connect(address.replace("http", "ws", 1), additional_headers=header) as connection:
            for each in messages:
                connection.send(each)
            connection.recv(timeout=0.5)
    except (WebSocketException, TimeoutError):
        pass
