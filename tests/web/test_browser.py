"""The web page in a real browser: loading, sliders, figures, no external requests.

Needs the extra ``web``, selenium and Debian's chromium with its driver; continuous integration has them.
"""

import base64
import http.client
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from child_signals import with_signals

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = [name for name in ("solara", "selenium") if importlib.util.find_spec(name) is None]
MISSING += [name for name, path in (("chromium", BROWSER), ("chromedriver", DRIVER)) if path is None]
REQUIRED = os.environ.get("REIDSIM_BROWSER") == "required"
assert not (REQUIRED and MISSING), f"the browser test needs {MISSING}"
pytestmark = pytest.mark.skipif(not REQUIRED, reason="takes half a minute; runs with REIDSIM_BROWSER=required")

SECONDS = 90
# The server, with a log of every address to which it connects.
WATCHED = """
import socket, sys
from reidsim import cli
connect = socket.socket.connect
def noted(self, address):
    print("connects", address, file=sys.stderr, flush=True)
    return connect(self, address)
socket.socket.connect = noted
sys.argv = ["reidsim", "serve", *sys.argv[1:]]
cli.main()
"""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1500,1400",
)

# Records that numbers are grey below a moving bar, however briefly.
WATCH_WAITING = """
window.waiting = {grey: false, bar: false};
new MutationObserver(() => {
  const grey = document.querySelector(".reidsim-stale") !== null;
  window.waiting.grey ||= grey;
  window.waiting.bar ||= grey && Array.from(document.querySelectorAll(".v-progress-linear"))
    .some(bar => getComputedStyle(bar).visibility === "visible");
}).observe(document.body, {attributes: true, childList: true, subtree: true});
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    log = (folder / "log").open("w")
    command = [sys.executable, "-c", WATCHED, "market", "--port", "0"]
    process = subprocess.Popen(with_signals(command), stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
    line = process.stdout.readline()
    assert " at http://127.0.0.1:" in line, (folder / "log").read_text()
    yield line.split(" at ")[1].split()[0], folder / "log"
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    log.close()


@pytest.fixture(scope="module")
def page(server, tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.get(server[0])
    yield driver
    driver.quit()


def test_another_site_and_a_rebound_name_are_not_let_in(server):
    """Plain requests of a foreign page, which has neither the token nor the cookie."""
    address = urlsplit(server[0])
    for headers, status in (
        ({}, 403),
        ({"Host": "rebound.example"}, 403),
        ({"Origin": "https://other.example"}, 403),
    ):
        for path in ("/", "/jupyter/api/kernels", "/static/main.js"):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            connection.request("GET", path, headers=headers)
            assert connection.getresponse().status == status
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    key = base64.b64encode(bytes(16)).decode()
    origin = {"Origin": "https://other.example", "Sec-WebSocket-Key": key}
    connection.request("GET", "/jupyter/api/kernels/x/channels?session_id=y", headers={**upgrade, **origin})
    assert connection.getresponse().status == 403


def until(found, what):
    """Wait until a function finds a value, and return the value."""
    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        value = found()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"nothing after {SECONDS} s: {what}")


def figure(page, start):
    """Return the image of the figure whose description starts with a text, or None."""
    found = page.execute_script(
        "return Array.from(document.querySelectorAll('img[alt]')).filter(i => i.alt.startsWith(arguments[0]))"
        ".map(i => i.src)",
        start,
    )
    return found[0] if found else None


def test_the_page_works_and_stays_on_this_machine(server, page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    before = until(lambda: figure(page, "Mean payoffs"), "the figure of payoffs")
    assert before.startswith("data:image/png;base64,")
    assert until(lambda: figure(page, "Share of records at or above each risk"), "the figure of risks")
    assert until(lambda: figure(page, "How each attribute is shared"), "the figure of forms")

    def text():
        return page.find_element(By.TAG_NAME, "body").text

    assert " pays most, " in text()
    assert "Re-identification risk" in text()
    verdict = page.find_element(By.CLASS_NAME, "reidsim-verdict").text

    # The page opens on the policy with the largest payoff; fields show the unit and the range.
    assert f"{page.find_element(By.CSS_SELECTOR, '.v-tab--active').text.upper()} PAYS MOST, " in verdict.upper()
    assert "Benefit of sharing, per record (0 to 3,600)" in text()

    page.execute_script(WATCH_WAITING)
    sliders = page.find_elements(By.CSS_SELECTOR, ".v-slider__thumb-container")
    sliders[0].send_keys(*[Keys.ARROW_RIGHT] * 5)
    after = until(lambda: figure(page, "Mean payoffs") not in (None, before), "another figure after a slider moved")
    assert after
    assert page.find_element(By.CLASS_NAME, "reidsim-verdict").text != verdict
    # Meanwhile the previous numbers were grey below a moving bar.
    assert page.execute_script("return window.waiting") == {"grey": True, "bar": True}

    # A number outside the slider's range can be typed; an invalid one is reported, and the scenario's values are kept.
    def entered(number, expected, what):
        """Type a number until the page accepts it: a redraw of the page drops keys."""

        def typed():
            field = page.find_element(By.CSS_SELECTOR, ".v-text-field input[type=text]")
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys(number)
            time.sleep(1)
            field.send_keys(Keys.ENTER)
            time.sleep(2)
            return expected()

        until(typed, what)

    entered("-5", lambda: "economics.benefit" in text(), "the value that cannot be used")
    entered("5000", lambda: "economics.benefit" not in text(), "the value that can be used")

    forms = until(lambda: figure(page, "How each attribute is shared"), "the figure of forms")
    tabs = page.find_elements(By.CSS_SELECTOR, ".v-tab")
    next(tab for tab in tabs if "v-tab--active" not in tab.get_attribute("class")).click()
    until(lambda: figure(page, "How each attribute is shared") not in (None, forms), "the forms of another policy")

    once = page.find_element(By.CLASS_NAME, "reidsim-verdict").text
    next(button for button in page.find_elements(By.TAG_NAME, "button") if "ROUNDS" in button.text.upper()).click()
    until(lambda: figure(page, "Rounds played"), "the figure of rounds")
    assert page.find_element(By.CLASS_NAME, "reidsim-verdict").text != once

    # On a telephone, no element is wider than the screen.
    page.set_window_size(390, 900)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(lambda: page.execute_script(wide) <= 0, "a page as wide as the window")

    errors = [entry["message"] for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    schemes = ("http", "https", "ws", "wss")
    hosts = {urlsplit(url).hostname for url in asked if urlsplit(url).scheme in schemes}
    assert hosts == {"127.0.0.1"}
    connected = [line for line in server[1].read_text().splitlines() if line.startswith("connects")]
    assert [line for line in connected if "127.0.0.1" not in line] == []
