"""The page in a real browser: five steps, false all-clears, accessibility, no external requests.

Needs the extra ``web``, selenium, axe-core-python and Debian's chromium with its driver; continuous integration has
them.
"""

import base64
import http.client
import json
import re
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
# A string of each step that is shown when its computations are over.
LAST = {"file": "first_rows", "columns": "table", "hierarchies": "tree_help", "game": "measures", "share": "joint"}
# Texts of the page that are marked as written in a language.
MARKED = """
return [...document.querySelectorAll(".desk *")].filter(each => each.children.length === 0
  && each.closest("[lang]").lang === arguments[0]).map(each => each.textContent.trim())
"""


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
    page.see("First 20 different rows", "separated by semicolon")
    page.click("Continue to the columns")
    page.see("4,700 people")
    page.role("diagnosis", "kept")
    until(lambda: "share = true" in (session / "scenario.toml").read_text(), "the kept column in the scenario")
    page.click("Continue to the hierarchies")
    page.see("Levels of")
    page.click("Continue to the game")
    page.see("Smallest class")
    loss = page.one(".desk-verdict").text
    page.enter("#desk-economics_loss", "2,5")
    page.see("not a plain number; found '2,5'")
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
    # Until the name is in the folder, nothing can be written.
    signature = session / "signature.toml"
    until(lambda: signature.exists() and "Ada Moss" in signature.read_text(), "the name in the folder")
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


def test_a_corrected_file_of_the_same_name_is_read(opened, tmp_path):
    page, path = opened("desk"), tmp_path / "stays.csv"
    path.write_text("")
    page.upload(path)
    page.see("stays.csv: ")
    path.write_text("age,sex\n" + "30,F\n52,M\n" * 20)
    page.upload(path)
    page.see("First 2 different rows")


def test_claims_of_the_same_person_are_not_taken_for_a_crowd(opened, tmp_path):
    claims(600, 100).to_csv(tmp_path / "claims.csv", sep=";", index=False, encoding="latin-1")
    page = opened("desk")
    page.upload(tmp_path / "claims.csv")
    page.see("First 20 different rows")
    page.click("Continue to the columns")
    page.see("600 rows of 100 people")
    page.click("Share")
    page.see("People whom the kept columns single out together")
    page.select("#desk-policy", "No protection")
    # Until the release is checked, nothing can be written.
    page.see("single out together, in release No protection")
    page.click("Write the files")
    page.see("not written: under policy 'no-protection' the risk of")
    assert "Download" not in page.text


def test_a_column_that_a_population_lacks_is_not_left_out_without_a_decision(opened, tmp_path):
    """Dates of birth make most people unique; a population by age would hide them without these."""
    rng = np.random.default_rng(3)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, 400), unit="D")
    columns = {"birth_date": born.strftime("%d.%m.%Y"), "age": (pd.Timestamp("2010-04-01") - born).days // 365}
    pd.DataFrame({**columns, "sex": rng.choice(["M", "F"], 400)}).to_csv(tmp_path / "patients.csv", index=False)
    page = opened("desk", "--open", str(tmp_path / "session"))
    scenario = tmp_path / "session/scenario.toml"
    page.upload(tmp_path / "patients.csv")
    page.see("First 20 different rows")
    page.click("Game")
    page.see("Smallest class")
    page.select("#desk-population_recipe", "tennessee-2010")
    page.see("column 'birth_date': the population has no matching attribute")
    assert 'risk = "prosecutor"' in scenario.read_text()
    assert "[attributes.birth_date]" in scenario.read_text()
    page.click("Share")
    page.see("People whom the kept columns single out together")
    page.select("#desk-policy", "No protection")
    # Until the release is checked, nothing can be written.
    page.see("single out together, in release No protection")
    page.click("Write the files")
    page.see("not written: under policy 'no-protection' the risk of")
    page.click("Columns")
    page.role("birth_date", "left out")
    until(lambda: "[attributes.birth_date]" not in scenario.read_text(), "birth_date left out")
    page.click("Game")
    page.select("#desk-population_recipe", "tennessee-2010")
    until(lambda: 'risk = "journalist"' in scenario.read_text(), "the population in the scenario")
    assert re.search(r'M"? = "Male"', scenario.read_text())
    page.click("Columns")
    page.role("birth_date", "quasi-identifier")
    page.see("column 'birth_date': the population has no matching attribute")


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
    page.see("First 20 different rows")
    page.click("Continue to the columns")
    page.see("Columns of the file")
    for name, role in (("ward", "kept"), ("day", "kept"), ("diagnosis", "kept")):
        page.role(name, role)
        until(lambda name=name: page.one(f"select[aria-label='Role of {name}']").get_attribute("value") == "kept", name)
        page.see("Columns of the file")
    page.click("Share")
    page.see("ward, day, diagnosis", "NO")
    # No release is recommended.
    page.select("#desk-policy", "No-attack")
    # Until the release is checked, nothing can be written.
    page.see("single out together, in release No-attack")
    page.click("Write the files")
    page.see("kept columns single out people together with the quasi-identifiers")


def test_the_limit_is_not_that_of_the_policy_itself(opened, tmp_path):
    """A release that keeps its own k of 5 is above the usual limit of 1 in 11."""
    page = opened("desk")
    page.click("Try an example")
    page.see("First 20 different rows")
    page.click("Game")
    page.see("Smallest class")
    page.enter("#desk-publisher_k", "5")
    # The game is over: a click before would be on a page that is shown again.
    page.see("No-attack\tk-anonymity")
    page.click("Share")
    page.see("People whom the kept columns single out together")
    page.select("#desk-policy", "k-anonymity")
    # Until the release is checked, nothing can be written.
    page.see("single out together, in release k-anonymity")
    page.click("Write the files")
    page.see("not written: under policy 'k-anonymity' the risk of", "expected at most 0.09091 (1 in 11)")


def test_the_review_of_columns_follows_their_roles(opened):
    page = opened("desk")
    page.click("Try an example")
    page.see("First 20 different rows")
    page.click("Columns")
    page.see("column 'name' is left out: direct identifier")
    assert "column 'patient_id' is left out" not in page.text
    page.role("name", "kept")
    until(lambda: "column 'name' is left out" not in page.text, "the column in another role")
    page.role("patient_id", "left out")
    page.see("column 'patient_id' is left out", "750 rows: each row is a person (as declared)")


def test_the_keyboard_alone_leads_from_a_file_to_a_signed_report(opened, tmp_path):
    """The entries of the signature stay when the step is left, and when the browser is closed."""
    from selenium.webdriver.common.keys import Keys

    rng, session = np.random.default_rng(7), tmp_path / "session"
    table = {"age": rng.integers(20, 60, 300), "sex": rng.choice(["F", "M"], 300)}
    table |= {"zip": rng.choice(["37203", "37211"], 300), "illness": rng.choice(["I10", "E11", "J45"], 300)}
    pd.DataFrame(table).to_csv(tmp_path / "stays.csv", index=False)

    def scenario():
        return (session / "scenario.toml").read_text()

    def signature():
        path = session / "signature.toml"
        return path.read_text() if path.exists() else ""

    page = opened("desk", "--open", str(session))
    page.see("Nothing leaves this computer")
    page.tab(".desk-skip")
    page.tab("#desk-upload-uploads").send_keys(str(tmp_path / "stays.csv"))
    page.see("First 20 different rows")
    page.tab("#desk-go")
    page.press(Keys.ENTER)
    page.see("Columns of the file")
    page.tab("select[aria-label='Role of illness']")
    page.press(Keys.ARROW_UP)
    until(lambda: "share = true" in scenario(), "the kept column in the scenario")
    page.rest()
    assert page.driver.switch_to.active_element.get_attribute("aria-label") == "Role of illness"
    page.tab("#desk-go")
    page.press(Keys.SPACE)
    page.see("Levels of age")
    for _ in range(2):
        page.tab(".desk-group input")
        page.press(Keys.SPACE)
    page.tab("#desk-merge")
    page.press(Keys.ENTER)
    until(lambda: 'rule = "table"' in scenario(), "the merged groups in the scenario")
    page.tab("#desk-go")
    page.press(Keys.ENTER)
    page.see("Smallest class")
    page.tab("#desk-economics_loss")
    # Tab has selected the text of the field.
    page.press("900", Keys.ENTER)
    until(lambda: "loss = 900" in scenario(), "the loss in the scenario")
    page.tab(".field-range input[type=range][aria-label^='Loss']")
    page.press(Keys.ARROW_RIGHT)
    until(lambda: "loss = 900" not in scenario(), "the loss of the slider in the scenario")
    page.tab("#desk-go")
    page.press(Keys.ENTER)
    page.see("People whom the kept columns single out together")
    page.tab("input[aria-label='Why no outsider knows illness']")
    page.press("coded after the stay", Keys.TAB)
    until(lambda: 'reason = "coded after' in scenario(), "the reason in the scenario")
    page.rest()
    page.tab("#desk-decider")
    page.press("Ada Moss", Keys.TAB)
    until(lambda: "Ada Moss" in signature(), "the name in the folder")
    page.driver.quit()

    page = opened("desk", "--open", str(session))
    page.tab(".desk-steps button:not([aria-current])")
    page.click("Share", ".desk-steps button")
    page.see("People whom the kept columns single out together")
    assert page.one("#desk-decider").get_attribute("value") == "Ada Moss"
    page.tab("#desk-policy")
    page.press(Keys.ARROW_UP)
    until(lambda: "policy =" in signature(), "the policy in the folder")
    chosen = page.one("#desk-policy").get_attribute("value")
    page.click("Game", ".desk-steps button")
    page.see("Smallest class")
    page.click("Share", ".desk-steps button")
    page.see("People whom the kept columns single out together")
    until(lambda: page.one("#desk-policy").get_attribute("value") == chosen, "the chosen release")
    page.tab("#desk-policy")
    page.press(Keys.ARROW_DOWN)
    page.tab("#desk-write")
    page.press(Keys.ENTER)
    page.see("Download report.pdf")
    page.tab("a[href$='report.pdf']")
    page.press(Keys.ENTER)
    until(lambda: list(tmp_path.glob("report.pdf")), "the downloaded report")
    assert "Ada Moss" in (session / "shared/report.html").read_text()


def test_the_page_is_accessible_in_each_language_and_width(opened):
    from selenium.webdriver.common.keys import Keys

    from reidsim.web.parts import LANGUAGES, strings

    page = opened("desk")
    page.see("Nothing leaves this computer")
    assert page.serious() == []
    page.click("Try an example")
    page.see("First 20 different rows")
    english = {text for section in strings("en").values() for text in section.values() if text and "{" not in text}
    for code, language in LANGUAGES.items():
        texts = strings(code)
        own = {text for key, section in texts.items() if key != "package" for text in section.values()}
        page.select(".desk-language select", language)
        page.see(texts["frame"]["language"])
        assert page.driver.execute_script("return document.documentElement.lang") == code
        for step, shown in LAST.items():
            page.click(texts[step]["step"], ".desk-steps button")
            page.see(texts[step][shown].format(rows=20, policy=""))
            for width in (1280, 390):
                page.resize(width)
                until(lambda: page.wide() <= 0, f"{step} as wide as {width} px")
                # Results of an earlier change are faded until a computation ends.
                until(lambda: not page.all(".desk-stale"), "results that are not faded")
                assert page.serious() == [], (step, language, width)
            assert english.difference(own).intersection(page.driver.execute_script(MARKED, code)) == set()
    page.click(texts["share"]["write"])
    page.see("report.pdf")
    assert page.serious() == []
    # A step is opened by keyboard alone: from the language to the last step, and in.
    page.click(texts["file"]["step"], ".desk-steps button")
    until(lambda: page.driver.switch_to.active_element.get_attribute("id") == "desk-step", "the focus in the new step")
    page.one(".desk-language select").send_keys(*[Keys.TAB] * len(LAST))
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.see(texts["share"]["kept"])
    messages = [entry["message"] for entry in page.driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert messages == []
    events = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]
    hosts = {urlsplit(url).hostname for url in asked if urlsplit(url).scheme in ("http", "https", "ws", "wss")}
    assert hosts == {"127.0.0.1"}
    connected = [line for line in page.server.log.read_text().splitlines() if line.startswith("connects")]
    assert [line for line in connected if "127.0.0.1" not in line] == []
