"""Search for user input that ends in a traceback, a hang or an invalid number.

    python tools/fuzz.py                      # 300 cases
    python tools/fuzz.py --cases 10000 --seed 7 --workers 2
    python tools/fuzz.py --seed 7 --only 4711 --keep here

Each case damages a scenario, a data file, options or a results folder (`fuzz_cases.py`) and runs a command on it, in a
process of its own with limited time and memory. A command may succeed (0) or print one error line (2). A case
that does something else is printed at once, with the options that repeat it: the same seed makes the same cases. Ends
with 1 if there was one.

The process of a case is a fork of this one, which has imported modules and loaded compiled functions, as many as a few
undamaged commands used, but has called none and started no thread: the case behaves as in a new process, but starts
faster.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fuzz_cases import RUN_BEFORE, SHARED_BEFORE, Case, make_case, prepare
from fuzz_scenarios import broken_invariants

_MEMORY = 6 * 1024**3
_NAN = re.compile(r"\bnan\b", re.IGNORECASE)
# Of a run whose every message is one line, this many at most come with warnings.
_MOST_LINES = 60


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it should.

    Parameters
    ----------
    seed, number : int
        Which case, as `--seed` and `--only` take it.
    case : Case
    problem : str
    said : str
        The end of the printed output.
    """

    seed: int
    number: int
    case: Case
    problem: str
    said: str

    def __str__(self) -> str:
        """Return the options that repeat the case, its problem, command and output."""
        command = f"reidsim {' '.join(map(repr, self.case.arguments))}"[:600]
        header = f"--seed {self.seed} --only {self.number} ({self.case.kind}): {self.problem}"
        return "\n  ".join([header, command, *self.said.splitlines()])


def fuzz(seed: int, numbers: list[int], seconds: float, *, keep: Path | None = None, workers: int = 1) -> list[Finding]:
    """Run cases; print and return the findings.

    Parameters
    ----------
    seed : int
    numbers : list of int
        Of the cases.
    seconds : float
        Most for each case.
    keep : Path, optional
        Folder in which the files of cases are left.
    workers : int
        Cases at a time.
    """
    findings, codes = [], Counter[str]()
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as ends:
        base, results = Path(place) / "base", Path(place) / "results"
        base.mkdir()
        prepare(base)
        before = [("run", f"{name}.toml", "-o", str(results / name)) for name in RUN_BEFORE]
        described = ("describe", "people.csv", "--column", "age", "--column", "sex", "--population-size", "900")
        for arguments in [*before, ("share", str(results / RUN_BEFORE[0]), *SHARED_BEFORE), described]:
            with tempfile.TemporaryFile() as used:
                _, code, said = _run(base, arguments, 300, used)
                if code != 0:
                    raise RuntimeError(f"{' '.join(arguments)} does not run undamaged: {said}")
                used.seek(0)
                _load(used)
        # Objects that a collection does not visit stay in memory that forks share.
        gc.freeze()
        ends.callback(gc.unfreeze)
        attempt = functools.partial(_attempt, seed, seconds, base, results, keep)
        attempts: Iterator[tuple[str, Finding | None]] = map(attempt, numbers)
        if workers > 1:
            pool = ends.enter_context(multiprocessing.get_context("fork").Pool(workers))
            attempts = pool.imap_unordered(attempt, numbers)
        for ended, finding in attempts:
            codes[ended] += 1
            if finding is not None:
                findings.append(finding)
                print(finding, flush=True)
    for ending, times in sorted(codes.items()):
        print(f"{times:6} {ending}")
    return findings


def _attempt(
    seed: int, seconds: float, base: Path, results: Path, keep: Path | None, number: int
) -> tuple[str, Finding | None]:
    """Run a case; return its kind with its exit code, and its finding."""
    folder = (keep or base.parent) / f"case-{number}"
    shutil.copytree(base, folder)
    case = make_case(folder, results, random.Random(f"{seed}/{number}"))  # noqa: S311 - cases
    took, code, said = _run(folder, case.arguments, seconds)
    problem = _problem(code, said, took, seconds)
    if code == 0 and not problem and case.content is not None:
        problem = "; ".join(broken_invariants(case.content, folder / "out"))
    if keep is None:
        shutil.rmtree(folder)
    return f"{case.kind}: {code}", Finding(seed, number, case, problem, said[-1500:]) if problem else None


def _problem(code: int, said: str, took: float, seconds: float) -> str:
    if took >= seconds:
        return f"did not end within {seconds:g} s"
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    if "Traceback" in said:
        return "traceback"
    if code not in (0, 2):
        return f"exit code {code}"
    errors = [line for line in said.splitlines() if line.startswith("reidsim: ")]
    if code == 2 and len(errors) != 1 and "Usage:" not in said:
        return f"{len(errors)} error lines"
    if code == 0 and _NAN.search(said):
        return "a number that is none"
    return ""


def _run(
    folder: Path, arguments: tuple[str, ...], seconds: float, used: BinaryIO | None = None
) -> tuple[float, int, str]:
    """Run a command in a fork of this process; return seconds, code and output; write used modules to a file."""
    from reidsim import cli

    begun = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            _become(cli.main, folder, arguments, printed.fileno(), used)
        code = _wait(child, begun + seconds)
        printed.seek(0)
        return time.monotonic() - begun, code, printed.read().decode("utf-8", "replace")


def _become(main: object, folder: Path, arguments: tuple[str, ...], printed: int, used: BinaryIO | None) -> None:
    """Be the command line, as a child process; never returns."""
    import traceback

    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - of a process about to end
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - of a process about to end
        os.chdir(folder)
        sys.argv = ["reidsim", *arguments]
        main()  # type: ignore[operator]
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if used is not None:
            pickle.dump((list(sys.modules), _compiled()), used)
            used.flush()
        os._exit(code)


def _compiled() -> list[tuple[str, str, object]]:
    """Return the compiled functions that were called: module, name, and the types of arguments."""
    from numba.core.dispatcher import Dispatcher

    return [
        (module.__name__, name, signature)
        for module in list(sys.modules.values())
        if module.__name__.startswith("reidsim.")
        for name, function in vars(module).items()
        if isinstance(function, Dispatcher)
        for signature in function.signatures
    ]


def _load(used: BinaryIO) -> None:
    """Import the modules that a command used and load its compiled functions from numba's cache."""
    modules, compiled = pickle.load(used)  # noqa: S301 - written by a fork of this process
    for module in modules:
        importlib.import_module(module)
    for module, name, signature in compiled:
        getattr(sys.modules[module], name).compile(signature)


def _wait(child: int, until: float) -> int:
    """Return the exit code of a child, or the number of the signal that ended it, negative."""
    ended = status = 0
    try:
        while not ended and time.monotonic() <= until:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.002)
    finally:
        # Also where this process is interrupted.
        if not ended:
            os.killpg(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


def main() -> int:
    """Run the requested cases; return 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="most for each case")
    parser.add_argument("--first", type=int, default=0, help="number of the first case, to continue an earlier run")
    parser.add_argument("--only", type=int, help="one case, by its number")
    parser.add_argument("--workers", type=int, default=1, help="cases at a time")
    parser.add_argument("--keep", type=Path, help="folder in which the files of cases are left")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep = given.keep.absolute()
        given.keep.mkdir(parents=True)
    numbers = list(range(given.first, given.first + given.cases)) if given.only is None else [given.only]
    findings = fuzz(given.seed, numbers, given.seconds, keep=given.keep, workers=given.workers)
    print(f"{len(numbers)} cases, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
