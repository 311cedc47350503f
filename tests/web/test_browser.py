"""The page in a real browser: five steps, false all-clears, accessibility, no external requests.

Needs the extra ``web``, selenium, axe-core-python and Debian's chromium with its driver; continuous integration has
them.
"""

import base64
import http.client
import json
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "drafts"))
from desk_driver import Page, Server, needs_browser, until
from own_files import hospital, write_hospital
from test_people_keys import claims

from reidsim.reports.shared.file import verify_shared

pytestmark = needs_browser
STEPS = {"File": "Drop a file", "Columns": "Columns of the file", "Hierarchies": "Levels of", "Game": "Measures"}


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens the page of a command, in a browser of its own."""
    with ExitStack() as stack:
        number = iter(range(100))

        @contextmanager
        def opening(*command):
            server = Server(tmp_path, *command)
            stack.callback(server.stop)
            page = Page(server.address, tmp_path / f"profile-{next(number)}", tmp_path)
            stack.callback(page.driver.quit)
            page.server = server
            yield page

        yield lambda *command: stack.enter_context(opening(*command))


def test_another_site_and_a_rebound_name_are_not_let_in(opened):
    """Plain requests of a foreign page, which has neither the token nor the cookie."""
    address = urlsplit(opened("desk").server.address)
    requests = [("GET", "/"), ("GET", "/jupyter/api/kernels"), ("GET", "/static/main.js")]
    requests += [("POST", "/desk/files/uploads/a.csv"), ("GET", "/desk/files/scenario.toml")]
    for headers in ({}, {"Host": "rebound.example"}, {"Origin": "https://other.example"}):
        for method, path in requests:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            connection.request(method, path, headers=headers)
            assert connection.getresponse().status == 403
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
    key = base64.b64encode(bytes(16)).decode()
    origin = {"Origin": "https://other.example", "Sec-WebSocket-Key": key}
    connection.request("GET", "/jupyter/api/kernels/x/channels?session_id=y", headers={**upgrade, **origin})
    assert connection.getresponse().status == 403


def test_from_a_hospital_file_to_a_signed_report(opened, tmp_path):
    """In fewer than 40 clicks; a second browser continues the session of the first."""
    session, data = tmp_path / "session", write_hospital(tmp_path / "stays.csv", hospital(8_000, 4_700))
    page = opened("desk", "--open", str(session))
    page.see("Nothing leaves this computer", str(session))
    page.upload(data)
    page.see("First 20 rows", "separated by semicolon")
    page.click("Continue to the columns")
    page.see("4,700 people")
    page.role("diagnosis", "kept")
    until(lambda: "share = true" in (session / "scenario.toml").read_text(), "the kept column in the scenario")
    page.click("Continue to the hierarchies")
    page.see("Levels of")
    page.click("Continue to the game")
    page.see("Smallest class")
    loss = page.one(".desk-verdict").text
    page.enter("#desk-economics_loss", "900")
    until(lambda: page.one(".desk-verdict").text != loss, "another verdict")
    assert "loss = 900" in (session / "scenario.toml").read_text()
    page.driver.quit()

    again = opened("desk", "--open", str(session))
    again.clicks = page.clicks
    again.see("Columns of the file")
    again.click("Share")
    again.see("People whom the kept columns single out together")
    again.enter("input[aria-label='Why no outsider knows diagnosis']", "coded after the stay")
    until(lambda: 'reason = "coded after' in (session / "scenario.toml").read_text(), "the reason in the scenario")
    until(lambda: again.one("#desk-policy").get_attribute("value") == "no-attack", "the recommended release")
    again.enter("#desk-decider", "Ada Moss")
    again.click("Write the files")
    again.see("Download report.pdf")
    again.click("Download report.pdf", "a")
    paper = until(lambda: list(tmp_path.glob("report.pdf")), "the downloaded report")[0]
    assert paper.read_bytes() == (session / "shared/report.pdf").read_bytes()
    assert again.clicks < 40
    sidecar = verify_shared(session / "shared/shared.csv")
    assert not sidecar["risk"]["above_limit"]
    assert "diagnosis" in {column["name"] for column in sidecar["columns"]}
    names = {path.name for path in (session / "shared").iterdir()}
    assert {"shared.csv", "shared.csv.json", "report.html", "report.pdf", "scenario.toml"} <= names
    again.click("File")
    again.click("Remove all files of this session")
    until(lambda: not [path for path in session.rglob("*") if path.is_file()], "an empty folder")


def test_claims_of_the_same_person_are_not_taken_for_a_crowd(opened, tmp_path):
    claims(600, 100).to_csv(tmp_path / "claims.csv", sep=";", index=False, encoding="latin-1")
    page = opened("desk")
    page.upload(tmp_path / "claims.csv")
    page.see("First 20 rows")
    page.click("Continue to the columns")
    page.see("600 rows of 100 people")
    page.click("Share")
    page.see("People whom the kept columns single out together")
    page.select("#desk-policy", "No protection")
    page.click("Write the files")
    page.see("not written: under policy 'no-protection' the risk of")
    assert "Download" not in page.text


def test_columns_that_single_people_out_only_together_are_refused(opened, tmp_path):
    rng = np.random.default_rng(4)
    # Above 3,000 people, a few suppressed rows replace a search for the best release, which takes longer.
    n = 4_000
    columns = {"age": rng.integers(20, 30, n), "sex": rng.choice(["F", "M"], n), "ward": rng.integers(100, 112, n)}
    columns["day"] = rng.choice(pd.date_range("2023-01-01", periods=12).strftime("%Y-%m-%d"), n)
    columns["diagnosis"] = rng.choice(["I10", "E11", "J45", "F32"], n)
    pd.DataFrame(columns).to_csv(tmp_path / "visits.csv", index=False)
    page = opened("desk")
    page.upload(tmp_path / "visits.csv")
    page.see("First 20 rows")
    page.click("Continue to the columns")
    page.see("Columns of the file")
    for name, role in (("ward", "kept"), ("day", "kept"), ("diagnosis", "kept")):
        page.role(name, role)
        until(lambda name=name: page.one(f"select[aria-label='Role of {name}']").get_attribute("value") == "kept", name)
        page.see("Columns of the file")
    page.click("Share")
    page.see("ward, day, diagnosis", "NO")
    page.click("Write the files")
    page.see("kept columns single out people together with the quasi-identifiers")


def test_the_limit_is_not_that_of_the_policy_itself(opened, tmp_path):
    """A release that keeps its own k of 5 is above the usual limit of 1 in 11."""
    page = opened("desk")
    page.click("Try an example")
    page.see("First 20 rows")
    page.click("Game")
    page.see("Smallest class")
    page.enter("#desk-publisher_k", "5")
    page.see("5-anonymity" if "5-anonymity" in page.text else "k-anonymity")
    page.click("Share")
    page.see("People whom the kept columns single out together")
    page.select("#desk-policy", "k-anonymity")
    page.click("Write the files")
    page.see("not written: under policy 'k-anonymity' the risk of", "expected at most 0.09091 (1 in 11)")


def test_the_page_is_accessible_in_two_languages_and_widths(opened):
    from selenium.webdriver.common.keys import Keys

    page = opened("desk")
    page.see("Nothing leaves this computer")
    assert page.serious() == []
    page.click("Try an example")
    page.see("First 20 rows")
    for step, shown in STEPS.items():
        page.click(step)
        page.see(shown)
        for width in (1280, 390):
            page.resize(width)
            until(lambda: page.wide() <= 0, f"{step} as wide as {width} px")
            assert page.serious() == []
    page.select(".desk-language select", "Deutsch")
    page.see("Spalten", "Weitergeben", "Maße")
    assert page.driver.execute_script("return document.documentElement.lang") == "de"
    # A step is opened by keyboard alone: from the language to the last step, and in.
    page.one(".desk-language select").send_keys(*[Keys.TAB] * 5)
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.see("Weitere Spalten")
    messages = [entry["message"] for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert messages == []
    events = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    hosts = {urlsplit(url).hostname for url in asked if urlsplit(url).scheme in ("http", "https", "ws", "wss")}
    assert hosts == {"127.0.0.1"}
    connected = [line for line in page.server.log.read_text().splitlines() if line.startswith("connects")]
    assert [line for line in connected if "127.0.0.1" not in line] == []


def test_hierarchies_are_edited_and_must_cover_the_file(opened, tmp_path):
    page = opened("desk", "--open", str(tmp_path / "session"))
    pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["F", "M"] * 200}).to_csv(tmp_path / "people.csv", index=False)
    page.upload(tmp_path / "people.csv")
    page.see("First 20 rows")
    page.click("Hierarchies")
    page.see("Levels of age")
    page.select("#desk-level", "1")
    page.click("20-24", ".desk-group")
    page.click("25-29", ".desk-group")
    page.enter("#desk-name", "young")
    page.click("Merge the chosen groups")
    page.see("young")
    (tmp_path / "half.csv").write_text("".join(f"{age};{age // 10}0s;*\n" for age in range(20, 55)))
    page.upload(tmp_path / "half.csv", "hierarchies")
    page.see("lacks 5 values of the file: 55, 56, 57, 58, 59")
    assert [each.is_enabled() for each in page.all(".desk-steps button")] == [True, True, True, False, False]
    (tmp_path / "whole.csv").write_text("".join(f"{age};{age // 10}0s;*\n" for age in range(20, 60)))
    page.upload(tmp_path / "whole.csv", "hierarchies")
    page.see("20s")
    page.click("Download the hierarchy of age", "a")
    found = until(lambda: list(tmp_path.glob("age.csv")), "the downloaded hierarchy")[0]
    assert found.read_text().splitlines()[0].replace('"', "") == "20;20s;*"
    page.click("Game")
    page.see("Smallest class")


@pytest.mark.parametrize("scenario", ["market", "wan2021"])
def test_scenarios_without_a_file_open_at_the_game(opened, scenario):
    page = opened("serve", scenario)
    page.see("Measures", "This holds for the scenario's adversary and payoff parameters.")
    assert [each.is_enabled() for each in page.all(".desk-steps button")] == [False, False, False, True, False]
    before = page.one(".desk-verdict").text
    page.enter("#desk-economics_loss", "-5")
    page.see("economics.loss")
    page.enter("#desk-economics_loss", "5000")
    until(lambda: page.one(".desk-verdict").text != before, "another verdict")
    if scenario == "market":
        page.click("Play 10 rounds")
        until(lambda: page.all("img[alt='Rounds played: 10']"), "the figure of rounds")
