"""The first command of the README, and commands for a user's file, as whole processes beside importing numpy.

Run with ``python benchmarks/first_minute.py``. Seconds until the table, until the verdict and until the end
are measured in fresh processes, without and with compiled code; the ratio is to the seconds of importing numpy and
pandas. A hospital's export (`tests/own_files.py`) is drafted, checked, run and shared with compiled code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import own_files
from figures import grown

IMPORTS = [sys.executable, "-c", "import numpy, pandas"]
# With unbuffered output, so that a line is there when it is printed.
RUN = [sys.executable, "-u", "-m", "reidsim", "run", "wan2015", "-o"]
# Text of the first line of the table and of the end of the verdict.
MARKS = {"table": "Publisher's payoff", "verdict": "payoff parameters.", "end": "Results in"}
# Commands for a user's file, after a run for compilation that does not count.
OWN_FILE = [
    ["new", "stays.csv"],
    ["run", "stays/stays.toml", "-o", "first"],
    ["check", "stays/stays.toml"],
    ["run", "stays/stays.toml", "-o", "results"],
    ["share", "results", "-o", "shared.csv", "--policy", "no-attack"],
]


def seconds_of(command: list[str], environment: dict[str, str], folder: Path | None = None) -> float:
    """Return the seconds that a process takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, cwd=folder, capture_output=True)  # noqa: S603
    return time.perf_counter() - start


def seconds_of_imports(environment: dict[str, str], repeats: int) -> float:
    """Return the fewest seconds that a process takes to import numpy and pandas."""
    return min(seconds_of(IMPORTS, environment) for _ in range(repeats))


def seconds_of_run(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Return the seconds after which each mark was printed."""
    start, reached = time.perf_counter(), {}
    command = [*RUN, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        for line in process.stdout:
            for mark, words in MARKS.items():
                if words in line:
                    reached[mark] = time.perf_counter() - start
    if process.returncode or set(reached) != set(MARKS):
        raise SystemExit(f"the run ended with code {process.returncode} after {sorted(reached)}")
    return reached


def growth_in_rows(sizes: Sequence[int]) -> None:
    """Time whole runs of ever longer files."""
    for rows in sizes:
        with TemporaryDirectory() as place:
            own_files.write_hospital(Path(place) / "stays.csv", own_files.hospital(rows, rows * 3 // 5))
            command = [sys.executable, "-m", "reidsim"]
            seconds_of([*command, *OWN_FILE[0]], dict(os.environ), Path(place))
            seconds = min(
                seconds_of([*command, "run", "stays/stays.toml", "-o", output], dict(os.environ), Path(place))
                for output in ("first", "second")
            )
        grown("`reidsim run` over rows of a file", rows, seconds)


def main() -> None:
    """Print the seconds of a first run, of later ones, and of the imports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="Number of runs; the quickest counts.")
    parser.add_argument("--rows", type=int, default=20_000, help="Rows of the user's file.")
    options = parser.parse_args()
    repeats = options.repeats
    with TemporaryDirectory() as place:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(place) / "compiled"), "PYTHONUTF8": "1"}
        imports = seconds_of_imports(environment, repeats)
        print(f"importing numpy and pandas: {imports:.2f} s")
        cold = seconds_of_run(Path(place) / "cold", environment)
        warm = [seconds_of_run(Path(place) / f"warm-{number}", environment) for number in range(repeats)]
        for state, seconds in (("cold", cold), ("warm", {mark: min(each[mark] for each in warm) for mark in MARKS})):
            times = ", ".join(f"{mark} after {value:.2f} s ({value / imports:.1f})" for mark, value in seconds.items())
            print(f"run wan2015, {state}: {times}")
        own_files.write_hospital(Path(place) / "stays.csv", own_files.hospital(options.rows, options.rows * 3 // 5))
        for command in OWN_FILE:
            took = seconds_of([sys.executable, "-m", "reidsim", *command], environment, Path(place))
            if "first" not in command:
                print(f"{command[0]}, {options.rows:,} rows: {took:.2f} s ({took / imports:.1f})")


if __name__ == "__main__":
    main()
