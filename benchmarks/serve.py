"""The page of `reidsim serve` in a browser: when the server is up, the page has its verdict, a slider its numbers.

Run with ``python benchmarks/serve.py``. A browser that is open already, Chromium without a window, asks for the page
once the server has said its address; then the slider of the loss moves by a step at a time. Other numbers and their
read-back are there when none is marked as earlier; the next change waits until nothing is computed: then the figures
are those of the change, too. Seconds of processors are those of the server. ``--rows 30000 300000`` measures drafts of
files with so many records, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from desk import write_people
from needs import require_package, require_program

import reidsim

if TYPE_CHECKING:
    from collections.abc import Callable

    from selenium.webdriver import Chrome

PATIENCE_SECONDS = 300
# A key is answered, by greyed numbers, within a fraction of that.
KEY_SECONDS = 10
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1500,1400")
VERDICT = "return document.querySelector('.desk-verdict')?.innerText"
NUMBERS = "return document.querySelector('.desk-stale') ? null : document.querySelector('.desk-verdict').innerText"
DRAWN = "return Array.from(document.querySelectorAll('.desk-busy')).every(each => !each.innerText)"
SLIDER = ".desk-inputs input[type=range]"
# The benefit has the first slider.
LOSS = 1


def seconds_until(found: Callable[[], object], start: float) -> float:
    """Return the seconds from a moment until something is found."""
    while not found():
        if time.perf_counter() - start > PATIENCE_SECONDS:
            raise SystemExit(f"nothing after {PATIENCE_SECONDS} s")
        time.sleep(0.005)
    return time.perf_counter() - start


def browser(profile: str) -> Chrome:
    """Return a browser that is open."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def processor_seconds(process: int) -> float:
    """Return the seconds that processors have spent on a process, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_of_changes(page: Chrome, server: int, changes: int) -> dict[str, list[float]]:
    """Return the seconds from each step of a slider to its numbers, to the end of computations, and of processors."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    def changed(before: object) -> bool:
        return page.execute_script(NUMBERS) not in (None, before)

    seconds: dict[str, list[float]] = {
        "numbers and read-back": [],
        "processors for these": [],
        "everything": [],
        "processors": [],
    }
    for number in range(changes):
        seconds_until(lambda: page.execute_script(DRAWN), time.perf_counter())
        before = page.execute_script(NUMBERS)
        start, spent = 0.0, processor_seconds(server)
        # A key that comes while the page is drawn anew is lost: then it is pressed again, and the clock starts anew.
        while page.execute_script(NUMBERS) == before:
            if time.perf_counter() - start > KEY_SECONDS:
                start = time.perf_counter()
                key = Keys.ARROW_LEFT if number % 2 else Keys.ARROW_RIGHT
                page.find_elements(By.CSS_SELECTOR, SLIDER)[LOSS].send_keys(key)
        seconds["numbers and read-back"].append(seconds_until(partial(changed, before), start))
        seconds["processors for these"].append(processor_seconds(server) - spent)
        seconds["everything"].append(seconds_until(lambda: page.execute_script(DRAWN), start))
        seconds["processors"].append(processor_seconds(server) - spent)
    return seconds


def measure(scenario: str, changes: int) -> None:
    """Print the seconds of the server, of the page and of changes of a scenario."""
    command = [sys.executable, "-m", "reidsim", "serve", scenario, "--port", "0"]
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        page = browser(profile)
        start = time.perf_counter()
        # Messages of the server at its end are ignored.
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].split()[0]
            print(f"{Path(scenario).stem}: server up after {time.perf_counter() - start:.2f} s")
            asked = time.perf_counter()
            page.get(address)
            shown = seconds_until(lambda: page.execute_script(VERDICT), asked)
            print(f"page with its verdict after {shown:.2f} s more")
            for name, seconds in seconds_of_changes(page, server.pid, changes).items():
                print(f"{name} after a change: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=30)
            page.quit()


def main() -> None:
    """Print the seconds of a scenario, and of drafts for files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="wan2015", help="Bundled scenario or file.")
    parser.add_argument("--changes", type=int, default=9, help="Steps of the slider.")
    parser.add_argument("--rows", type=int, nargs="+", default=[], help="Records of files with 6 quasi-identifiers.")
    options = parser.parse_args()
    require_package("selenium", "pip install selenium")
    require_package("solara", "pip install 'reidsim[web]'")
    for program in ("chromium", "chromedriver"):
        require_program(program, "apt-get install chromium chromium-driver")
    measure(options.scenario, options.changes)
    with TemporaryDirectory() as place:
        for rows in options.rows:
            path = Path(place) / f"people-{rows}.csv"
            write_people(path, rows)
            draft = reidsim.new(path, folder=Path(place) / f"{rows}")
            measure(str(draft.scenario.path), options.changes)


if __name__ == "__main__":
    main()
