"""Drive the page in Chromium as a person would: file chooser, clicks and keys."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from child_signals import with_signals

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = [name for name in ("solara", "selenium", "axe_core_python") if importlib.util.find_spec(name) is None]
MISSING += [name for name, path in (("chromium", BROWSER), ("chromedriver", DRIVER)) if path is None]
REQUIRED = os.environ.get("REIDSIM_BROWSER") == "required"
assert not (REQUIRED and MISSING), f"the browser test needs {MISSING}"
needs_browser = pytest.mark.skipif(not REQUIRED, reason="takes minutes; runs with REIDSIM_BROWSER=required")

SECONDS = 120
# The server, with a log of every address to which it connects.
WATCHED = """
import socket, sys
from reidsim import cli
connect = socket.socket.connect
def noted(self, address):
    print("connects", address, file=sys.stderr, flush=True)
    return connect(self, address)
socket.socket.connect = noted
sys.argv = ["reidsim", *sys.argv[1:]]
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
    # The driver would wait half a minute until a button below the window has scrolled into it.
    "--disable-smooth-scrolling",
    "--window-size=1280,1000",
)
AXE = """
const done = arguments[0];
axe.run(document, {resultTypes: ["violations"]}).then(found => done(
  found.violations.filter(each => ["serious", "critical"].includes(each.impact))
    .map(each => [each.id, each.nodes.map(node => node.html)])));
"""


def until(found, what):
    """Wait until a function finds a value, and return the value."""
    from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException

    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        try:
            if value := found():
                return value
        except (ElementClickInterceptedException, StaleElementReferenceException):
            # The page was shown again in between.
            pass
        time.sleep(0.1)
    raise AssertionError(f"nothing after {SECONDS} s: {what}")


class Server:
    """A server of the page in a process of its own; `address` has the token."""

    def __init__(self, folder, *command):
        self.log = folder / "log"
        self._file = self.log.open("w")
        program = with_signals([sys.executable, "-c", WATCHED, *command, "--port", "0"])
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=self._file, text=True, cwd=folder)
        line = self.process.stdout.readline()
        assert " at http://127.0.0.1:" in line, self.log.read_text()
        self.address = line.split(" at ")[1].split()[0]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        self._file.close()


class Page:
    """The page in a browser, which counts clicks."""

    def __init__(self, address, profile, downloads, *flags):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.get(address)
        self.clicks = 0

    @property
    def text(self):
        return self.driver.execute_script("return document.body.innerText")

    def see(self, *texts):
        """Wait until the page shows texts."""
        for each in texts:
            until(lambda text=each: text in self.text, each)

    def all(self, css):
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return until(lambda: self.all(css), css)[0]

    def click(self, label, css="button"):
        """Click an enabled button, or another element, whose text ends with a label."""

        def clicked():
            for each in self.all(css):
                if each.text.strip().endswith(label) and each.is_enabled():
                    each.click()
                    return True
            return False

        until(clicked, label)
        self.clicks += 1

    def check(self, label):
        """Click the check box with a label."""
        self.one(f"input[aria-label='{label}']").click()
        self.clicks += 1

    def select(self, css, label):
        """Choose an option by its label, which counts as two clicks."""
        from selenium.webdriver.support.ui import Select

        Select(self.one(css)).select_by_visible_text(label)
        self.clicks += 2

    def enter(self, css, value):
        """Replace the text of a field; the click into the field counts."""
        from selenium.webdriver.common.keys import Keys

        self.one(css).send_keys(Keys.CONTROL, "a")
        self.one(css).send_keys(value, Keys.TAB)
        self.clicks += 1

    def upload(self, path, name="uploads"):
        """Choose a file, which counts as three clicks: chooser, file, and its button."""
        self.one(f"#desk-upload-{name}").send_keys(str(path))
        self.clicks += 3

    def role(self, column, role):
        self.select(f"select[aria-label='Role of {column}']", role)

    def rest(self):
        """Wait until no computation runs."""
        until(lambda: not any(each.text for each in self.all(".desk-busy")), "the end of computations")

    def press(self, *keys):
        """Press keys where the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def tab(self, css):
        """Press Tab until an element has the focus, and return it."""
        from selenium.webdriver.common.keys import Keys

        self.rest()
        for _ in range(300):
            self.press(Keys.TAB)
            if self.driver.execute_script("return document.activeElement.matches(arguments[0])", css):
                return self.driver.switch_to.active_element
        raise AssertionError(f"no focus by Tab: {css}")

    def errors(self):
        return [each.text for each in self.all(".desk-error")]

    def wide(self):
        """Return by how many pixels the page is wider than the window."""
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def resize(self, width):
        """Show the page in a window of a width, as a telephone does."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def serious(self):
        """Return what axe-core finds serious or critical."""
        folder = importlib.util.find_spec("axe_core_python").submodule_search_locations[0]
        with open(f"{folder}/axe.min.js", encoding="utf-8") as file:
            self.driver.execute_script(file.read())
        return self.driver.execute_async_script(AXE)
