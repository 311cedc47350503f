"""The first command of the README as a whole process, with and without compiled code, beside importing numpy.

Run with ``python benchmarks/first_minute.py``. Seconds until the table, until the verdict and until the end are those
of a fresh process each; the ratio is to the seconds that importing numpy and pandas takes in one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

IMPORTS = [sys.executable, "-c", "import numpy, pandas"]
# With unbuffered output, so that a line is there when it is printed.
RUN = [sys.executable, "-u", "-m", "reidsim", "run", "wan2015", "-o"]
# What the first line of the table, and the end of the verdict, hold.
MARKS = {"table": "Publisher's payoff", "verdict": "payoff parameters.", "end": "Results in"}


def seconds_of_imports(environment: dict[str, str], repeats: int) -> float:
    """Return the fewest seconds that a process takes to import numpy and pandas."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(IMPORTS, check=True, env=environment)  # noqa: S603
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def seconds_of_run(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Return the seconds after which each mark was printed."""
    start, told = time.perf_counter(), {}
    command = [*RUN, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        for line in process.stdout:
            for mark, words in MARKS.items():
                if words in line:
                    told[mark] = time.perf_counter() - start
    if process.returncode or set(told) != set(MARKS):
        raise SystemExit(f"the run ended with code {process.returncode} after {sorted(told)}")
    return told


def main() -> None:
    """Print the seconds of a first run, of later ones, and of the imports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="Runs of which the quickest counts.")
    repeats = parser.parse_args().repeats
    with TemporaryDirectory() as place:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(place) / "compiled"), "PYTHONUTF8": "1"}
        imports = seconds_of_imports(environment, repeats)
        print(f"importing numpy and pandas: {imports:.2f} s")
        cold = seconds_of_run(Path(place) / "cold", environment)
        warm = [seconds_of_run(Path(place) / f"warm-{number}", environment) for number in range(repeats)]
        for state, seconds in (("cold", cold), ("warm", {mark: min(each[mark] for each in warm) for mark in MARKS})):
            told = ", ".join(f"{mark} after {value:.2f} s ({value / imports:.1f})" for mark, value in seconds.items())
            print(f"run wan2015, {state}: {told}")


if __name__ == "__main__":
    main()
