"""The desk behind nginx, with the configuration that docs/how-to/desk-team.md shows."""

import base64
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from desk_driver import REQUIRED, Page, Server, needs_browser, until
from pages import blocks_of

NGINX, OPENSSL = shutil.which("nginx"), shutil.which("openssl")
assert not REQUIRED or (NGINX and OPENSSL), "the test of the proxy needs nginx and openssl"
pytestmark = needs_browser
HOST, MEMBER = "desk.example.org", base64.b64encode(b"ada:correct horse").decode()
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
UPGRADE |= {"Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode()}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """Return the port of nginx, the desk's token, and nginx's log."""
    folder = tmp_path_factory.mktemp("proxy")
    with ExitStack() as stack:
        server = Server(folder, "desk")
        stack.callback(server.stop)
        inner, token = re.search(r":(\d+)/\?token=(.+)", server.address).groups()
        port = free_port()
        (shown,) = (block.text for block in blocks_of("how-to/desk-team.md") if block.title == "desk.conf")
        for before, after in (
            ("8765", inner),
            ("listen 443", f"listen 127.0.0.1:{port}"),
            (f'"https://{HOST}"', f'"https://{HOST}:{port}"'),
            ("/etc/nginx", str(folder)),
            ("/var/log/nginx", str(folder)),
        ):
            assert before in shown
            shown = shown.replace(before, after)
        kept = "".join(
            f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        # One process, so that nginx reads the files of the test under its account.
        main = (
            f"pid {folder}/nginx.pid;\ndaemon off;\nmaster_process off;\nerror_log {folder}/error.log;\nevents {{}}\n"
        )
        (folder / "nginx.conf").write_text(f"{main}http {{\n{kept}{shown}}}\n")
        hashed = subprocess.run(
            [OPENSSL, "passwd", "-6", "correct horse"], capture_output=True, text=True, check=True
        ).stdout
        (folder / "desk.users").write_text(f"ada:{hashed}")
        certificate = ["-keyout", folder / "desk.key", "-out", folder / "desk.crt", "-subj", f"/CN={HOST}"]
        names = ["-nodes", "-days", "2", "-addext", f"subjectAltName=DNS:{HOST}"]
        subprocess.run([OPENSSL, "req", "-x509", "-newkey", "rsa:2048", *certificate, *names], check=True)
        nginx = subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf"])
        stack.callback(nginx.wait, timeout=30)
        stack.callback(nginx.terminate)

        def listens():
            assert nginx.poll() is None, (folder / "nginx-errors.log").read_text()
            with socket.socket() as probe:
                return not probe.connect_ex(("127.0.0.1", port))

        until(listens, "nginx")
        yield port, token, folder


def ask(proxy, path="/", *, name=HOST, password=MEMBER, **headers):
    """Return the answer to a request over TLS, whose handshake and header name a host."""
    port, _, folder = proxy
    context = ssl.create_default_context(cafile=folder / "desk.crt")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.connect()
    connection.sock = context.wrap_socket(connection.sock, server_hostname=name)
    authorization = {"Authorization": f"Basic {password}"} if password else {}
    connection.request("GET", path, headers={"Host": f"{HOST}:{port}", **authorization, **headers})
    return connection.getresponse()


@pytest.fixture(scope="module")
def cookie(proxy):
    answer = ask(proxy, f"/?token={proxy[1]}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    given = answer.headers["set-cookie"]
    assert {"secure", "httponly", "samesite=lax"} <= set(given.lower().split("; "))
    return given.partition(";")[0]


CHANNEL = "/jupyter/api/kernels/0/channels?session_id=x"


@pytest.mark.parametrize("password", ["", base64.b64encode(b"ada:guess").decode()])
def test_nothing_is_answered_without_the_password(proxy, cookie, password):
    for path in ("/", f"/?token={proxy[1]}", "/static/main.js", "/desk/files/scenario.toml"):
        assert ask(proxy, path, password=password, Cookie=cookie).status == 401
    assert ask(proxy, CHANNEL, password=password, Cookie=cookie, **UPGRADE).status == 401


def test_page_and_websocket_are_answered_with_password_token_and_own_origin(proxy, cookie):
    own = {"Origin": f"https://{HOST}:{proxy[0]}"}
    assert ask(proxy, Cookie=cookie).status == 200
    session = re.search(r"solara-session-id=[^;]+", ask(proxy, Cookie=cookie).headers["set-cookie"])[0]
    assert ask(proxy, CHANNEL, Cookie=f"{cookie}; {session}", **UPGRADE, **own).status == 101
    # The password does not replace the token.
    assert ask(proxy).status == 403
    assert ask(proxy, CHANNEL, **UPGRADE, **own).status == 403


@pytest.mark.parametrize("origin", ["https://other.example", "http://127.0.0.1:8765", f"http://{HOST}", "null"])
def test_pages_of_other_sites_are_refused(proxy, cookie, origin):
    assert ask(proxy, Cookie=cookie, Origin=origin).status == 403
    assert ask(proxy, CHANNEL, Cookie=cookie, Origin=origin, **UPGRADE).status == 403


def test_other_host_names_are_refused(proxy, cookie):
    for host in ("rebound.example", "127.0.0.1:8765"):
        assert ask(proxy, Cookie=cookie, Host=host).status == 421
    with pytest.raises(ssl.SSLError, match="unrecognized name"):
        ask(proxy, name="rebound.example")


def test_a_member_uses_the_page(proxy, tmp_path):
    """Upload, changes and download in a browser; the log has the name and not the token."""
    port, token, folder = proxy
    page = Page("about:blank", tmp_path / "profile", tmp_path, "--ignore-certificate-errors",
                f"--host-resolver-rules=MAP {HOST} 127.0.0.1")  # fmt: skip
    try:
        page.driver.get(f"https://ada:correct%20horse@{HOST}:{port}/?token={token}")
        page.see("Nothing leaves this computer")
        people = "age,sex\n" + "".join(f"{20 + number % 30},{'FM'[number % 2]}\n" for number in range(300))
        (tmp_path / "people.csv").write_text(people)
        page.upload(tmp_path / "people.csv")
        page.see("First 20 different rows")
        page.click("Hierarchies")
        page.click("Download the hierarchy of age", "a")
        until(lambda: list(tmp_path.glob("age.csv")), "the downloaded hierarchy")
        events = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
        opened = [urlsplit(each["params"]["url"]) for each in events if each["method"] == "Network.webSocketCreated"]
        assert {(url.scheme, url.hostname, url.port) for url in opened} == {("wss", HOST, port)}
    finally:
        page.driver.quit()
    assert " ada [" in (folder / "desk.log").read_text()
    assert [path.name for path in folder.glob("*.log") if token in path.read_text()] == []
