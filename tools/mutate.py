"""Plant faults in a module, one at a time, and report the faults that no test notices.

    python tools/mutate.py reidsim/linkage/group_sizes.py
    python tools/mutate.py reidsim.games.solvers reidsim.core.tables --deep --most 60 --seed 3
    python tools/mutate.py reidsim/engine reidsim/reports --lines lines.db --most 40

Faults are small changes of the source (`mutation_faults.py`), planted in a copy of the tree, never in the tree itself.
The tests that import the module (`mutation_tests.py`) run on each until one fails, or, with a record of the lines that
each test executes (`mutation_lines.py`), the tests of the line. A fault that survives is a hole in the tests, or an
equivalent program, which only a reader can recognize.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mutation_faults import Fault, candidates_of, changes_program
from mutation_lines import Lines, Source, is_compiled
from mutation_tests import Tree

ROOT = Path(__file__).resolve().parents[1]
_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "venv", "build", "dist", "site", "results", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    ".hypothesis", "*.egg-info",
)  # fmt: skip
_SURVIVED, _KILLED, _TIMEOUT = "survived", "killed", "timeout"
# Of pytest: all passed, no test was found.
_PASSED, _NO_TESTS = 0, 5
# Endings of numba cache files.
_COMPILED = (".nbi", ".nbc")
# Seconds added to the duration of the tests without faults: callers of the module are compiled anew, which takes more
# than a minute on busy cores.
_LEAST_TIMEOUT = 120
# A run of tests longer than this may have compiled something.
_SECONDS_OF_COMPILING = 10


class Stop(Exception):  # noqa: N818  # no error of the program
    """Why nothing can be said."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a fault.

    Parameters
    ----------
    place : str
        File and line.
    kind : str
        Sort of fault.
    before, after : str
        The line, and the line with the fault.
    state : str
        ``survived``, ``killed`` or ``timeout``.
    by : str
        The test that failed.
    """

    place: str
    kind: str
    before: str
    after: str
    state: str
    by: str


@dataclass(frozen=True)
class Trial:
    """A fault and the tests that may notice it.

    Parameters
    ----------
    fault : Fault
    tests : sequence of Path or str
        Test files, or names of tests.
    seconds : float
        Duration of the tests without a fault.
    """

    fault: Fault
    tests: Sequence[Path | str]
    seconds: float


class Copy:
    """A copy of a tree in which tests run; at most one fault is in it at a time.

    Compiled functions are kept by the time and size of the file they stand in, and so is Python's own byte code: each
    fault has a time of its own. But a compiled function also holds those of other modules that it calls. So the
    compiled files of a module with a fault are put aside until it is restored, and those of all that import it if a
    compiled function may hold the fault.
    """

    def __init__(self, root: Path, tree: Tree) -> None:
        self._root, self._tree, self._planted = root, tree, 0
        self._touched: list[str] = []
        self._aside: dict[Path, bytes] = {}

    def test(
        self,
        tests: Sequence[Path | str],
        *,
        deep: bool,
        timeout: float | None,
        stop: threading.Event,
        options: Sequence[str] = (),
    ) -> tuple[int | None, str]:
        """Run test files until one fails; return pytest's exit code (none after a timeout) and its output."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-rfE"]
        command += ["-n0"] if importlib.util.find_spec("xdist") else []
        command += ["--deep"] if deep else []
        named = self._root / "mutation_tests.txt"  # node names may be longer together than a command line
        named.write_text("\n".join(map(str, tests)), encoding="utf-8")
        command += [*options, f"@{named}"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE")}
        environment |= {"PYTHONPATH": str(self._root)}
        # Into a file: processes that a test leaves running would keep a pipe open.
        with tempfile.TemporaryFile("w+") as printed:
            process = subprocess.Popen(  # noqa: S603  # our own command
                command, cwd=self._root, env=environment, stdout=printed, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            end = None if timeout is None else time.monotonic() + timeout
            try:
                while process.poll() is None and not stop.is_set() and (end is None or time.monotonic() < end):
                    time.sleep(0.05)
                code = process.poll()
            finally:
                _end(process)
            printed.seek(0)
            return code, printed.read()

    def plant(self, module: str, fault: Fault) -> None:
        """Put a fault into the module."""
        path = self._path(module)
        when, self._planted = path.stat().st_mtime, self._planted + 1
        path.write_text(fault.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        os.utime(path, (when + self._planted, when + self._planted))
        self._touched = [module]
        function = Source(self._tree.modules[module]).function(fault.line)
        if function is None or is_compiled(function):
            self._touched += self._tree.importers(module)
        self._aside = {kept: kept.read_bytes() for kept in self._compiled()}
        self._forget_compiled()

    def restore(self, module: str) -> None:
        """Take the fault out again."""
        shutil.copy2(self._tree.modules[module], self._path(module))
        self._forget_compiled()
        for kept, content in self._aside.items():
            kept.write_bytes(content)

    def _path(self, module: str) -> Path:
        return self._root / self._tree.modules[module].relative_to(self._tree.root)

    def _compiled(self) -> list[Path]:
        paths = [self._path(name) for name in self._touched]
        kept = [kept for path in paths for kept in (path.parent / "__pycache__").glob(f"{path.stem}.*")]
        return [path for path in kept if path.suffix in _COMPILED]

    def _forget_compiled(self) -> None:
        for kept in self._compiled():
            kept.unlink()


def mutate(
    modules: Sequence[str],
    *,
    root: Path = ROOT,
    deep: bool = False,
    seed: int = 0,
    most: int = 30,
    files: int = 12,
    tests: Sequence[Path] = (),
    lines: Path | None = None,
    seconds: float = 60,
    workers: int = 2,
) -> list[Outcome]:
    """Plant faults in modules; print and return their outcomes.

    Parameters
    ----------
    modules : sequence of str
        Names or paths; a folder stands for its modules.
    root : Path
        Folder of the repository.
    deep : bool
        Also run the deep tests.
    seed : int
        Of the draw of faults.
    most : int
        Faults at most, drawn from all modules together; 0 for all.
    files : int
        Test files at most, the nearest to the module first; 0 for all.
    tests : sequence of Path
        Test files to run instead, as from the root.
    lines : Path, optional
        Record of the tests that execute each line. With it, each fault has the tests of its line.
    seconds : float
        Duration of the tests of a line at most.
    workers : int
        How many copies of the tree are tested at once.
    """
    tree, outcomes, faults = Tree(root), list[Outcome](), defaultdict[str, list[Fault]](list)
    names = dict.fromkeys(name for given in modules for name in _modules_named(tree, given))
    for module, fault in drawn({name: tree.modules[name].read_text(encoding="utf-8") for name in names}, seed, most):
        faults[module].append(fault)
    record = None if lines is None else Lines(lines, tree)
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        roots = [Path(folder) / f"copy-{number}" for number in range(workers)]
        shutil.copytree(root, roots[0], ignore=_NOT_COPIED)
        copies = [Copy(roots[0], tree)]
        recorded = {} if record is None else _recorded_trials(copies[0], record, faults, seconds, deep=deep, stop=stop)
        for module, planted in faults.items():
            trials = recorded.get(module, [])
            if record is None:
                chosen = tests or [path.relative_to(root) for path in tree.tests_of(module, files)]
                measured = _measured(copies[0], module, chosen, deep=deep, stop=stop)
                trials = [Trial(fault, chosen, measured) for fault in planted]
            # Includes the functions compiled so far.
            for other in roots[len(copies) :]:
                shutil.copytree(roots[0], other)
                copies.append(Copy(other, tree))
            for outcome in _outcomes(copies, tree, module, trials, deep, stop):
                outcomes.append(outcome)
                print(_line(outcome), flush=True)
        failed = [] if record is None else sorted({outcome.by for outcome in outcomes} & record.seconds.keys())
        if failed:
            code, printed = copies[0].test(failed, deep=deep, timeout=None, stop=stop)
            if code != _PASSED:
                raise Stop(f"tests that failed also fail without any fault\n{printed}")
    return outcomes


def _recorded_trials(
    copy: Copy,
    record: Lines,
    faults: Mapping[str, Sequence[Fault]],
    seconds: float,
    *,
    deep: bool,
    stop: threading.Event,
) -> dict[str, list[Trial]]:
    """Return each fault with the tests of its line, by module; all tests must still exist."""
    trials = defaultdict[str, list[Trial]](list)
    for module, planted in faults.items():
        for fault in planted:
            tests = record.tests_of(module, fault.line, seconds)
            trials[module].append(Trial(fault, tests, sum(record.seconds[test] for test in tests)))
    everything = sorted({str(test) for some in trials.values() for trial in some for test in trial.tests})
    # With a fault, pytest returns the same code for a test that is missing and one that cannot be imported.
    if everything:
        code, printed = copy.test(everything, deep=deep, timeout=None, stop=stop, options=["--collect-only"])
        if code != _PASSED:
            raise Stop(f"record the lines again: tests are missing\n{printed}")
    return trials


def _measured(copy: Copy, module: str, tests: Sequence[Path], *, deep: bool, stop: threading.Event) -> float:
    """Run the tests of a module without a fault, again if they may have been compiling; return the seconds."""
    if not tests:
        raise Stop(f"{module}: no test imports it, or anything that does")
    for _ in range(2):
        start = time.monotonic()
        code, printed = copy.test(tests, deep=deep, timeout=None, stop=stop)
        seconds = time.monotonic() - start
        if code == _NO_TESTS:
            raise Stop(f"{module}: no test in {', '.join(map(str, tests))}{'' if deep else '; try --deep'}")
        if code != _PASSED:
            raise Stop(f"{module}: its tests fail without any fault\n{printed}")
        if seconds < _SECONDS_OF_COMPILING:
            break
    print(
        f"{module}: {len(tests)} test files, {seconds:.1f} s without a fault: {', '.join(map(str, tests))}", flush=True
    )
    return seconds


def _outcomes(
    copies: Sequence[Copy],
    tree: Tree,
    module: str,
    trials: Sequence[Trial],
    deep: bool,
    stop: threading.Event,
) -> Iterator[Outcome]:
    """Yield the outcomes of the faults of a module as they are found."""
    path = tree.modules[module]
    source = path.read_text(encoding="utf-8")
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def tried(trial: Trial) -> Outcome:
        copy, fault = free.get(), trial.fault
        try:
            copy.plant(module, fault)
            code, printed = _PASSED, ""
            if trial.tests:
                timeout = _LEAST_TIMEOUT + 4 * trial.seconds
                code, printed = copy.test(trial.tests, deep=deep, timeout=timeout, stop=stop)
            copy.restore(module)
        finally:
            free.put(copy)
        state = _TIMEOUT if code is None else _SURVIVED if code == _PASSED else _KILLED
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", printed, re.MULTILINE)
        place = f"{path.relative_to(tree.root)}:{fault.line}"
        return Outcome(place, fault.kind, *fault.lines(source), state, failed[1] if failed and code else "")

    with ThreadPoolExecutor(len(copies)) as pool:
        pending = [pool.submit(tried, trial) for trial in trials]
        try:
            for done in as_completed(pending):
                yield done.result()
        except BaseException:
            stop.set()
            for future in pending:
                future.cancel()
            raise


def drawn(sources: Mapping[str, str], seed: int, most: int) -> list[tuple[str, Fault]]:
    """Return faults of sources by name: all, or as many as wanted drawn by the seed, in the order of places."""
    candidates = [(name, fault) for name, source in sources.items() for fault in candidates_of(source)]
    order = list(range(len(candidates)))
    if most:
        random.Random(seed).shuffle(order)  # noqa: S311
    faults = (number for number in order if changes_program(sources[candidates[number][0]], candidates[number][1]))
    return [candidates[number] for number in sorted(islice(faults, most or None))]


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Return lines with the surviving faults, and the shares caught by module and in total."""
    lines = []
    if survivors := [outcome for outcome in outcomes if outcome.state == _SURVIVED]:
        lines += ["", "Survived:"]
        for outcome in sorted(survivors, key=_order):
            lines += [f"  {outcome.place} ({outcome.kind})", f"    - {outcome.before}", f"    + {outcome.after}"]
    lines.append("")
    files = dict.fromkeys(outcome.place.partition(":")[0] for outcome in outcomes)
    for file in files:
        lines.append(_share(file, [outcome for outcome in outcomes if outcome.place.partition(":")[0] == file]))
    return [*lines, _share("in all", outcomes)] if len(files) != 1 else lines


def write_table(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write a row per fault as CSV, in the order of places."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["place", "kind", "before", "after", "state", "by"])
        writer.writerows(
            [one.place, one.kind, one.before, one.after, one.state, one.by] for one in sorted(outcomes, key=_order)
        )


def _share(name: str, outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.state for outcome in outcomes)
    if not outcomes:
        return f"{name}: no faults to plant"
    caught = counts[_KILLED] + counts[_TIMEOUT]
    return (
        f"{name}: {caught} of {len(outcomes)} faults caught ({caught / len(outcomes):.0%}): {counts[_KILLED]} killed, "
        f"{counts[_TIMEOUT]} timed out, {counts[_SURVIVED]} survived"
    )


def _line(outcome: Outcome) -> str:
    by = f"  [{outcome.by}]" if outcome.by else ""
    return f"{outcome.state:<8} {outcome.place}  {outcome.before}  ->  {outcome.after}{by}"


def _order(outcome: Outcome) -> tuple[str, int]:
    file, _, line = outcome.place.rpartition(":")
    return file, int(line)


def _modules_named(tree: Tree, given: str) -> list[str]:
    """Return the full name of a module given by name or path, or the names of the modules in a folder."""
    if given in tree.modules:
        return [given]
    path = tree.root / given
    found = [name for name, file in tree.modules.items() if path in (file, *file.parents)]
    if not found:
        raise Stop(f"{given}: no module of {', '.join(sorted({name.partition('.')[0] for name in tree.modules}))}")
    return found


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """End a run of tests and its child processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant faults and report; return the exit code: 0 whatever survives, 2 if nothing can be said."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", metavar="MODULE", help="name, path or folder of modules")
    parser.add_argument("--deep", action="store_true", help="also run the deep tests")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of faults (default: 0)")
    parser.add_argument("--most", type=int, default=30, help="faults at most, 0 for all (default: 30)")
    parser.add_argument("--files", type=int, default=12, help="test files at most, 0 for all (default: 12)")
    parser.add_argument("--tests", type=Path, nargs="+", default=[], help="test files to run instead")
    parser.add_argument("--lines", type=Path, help="record of the tests of each line, from mutation_lines.py")
    parser.add_argument("--seconds", type=float, default=60, help="duration of a line's tests at most (default: 60)")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2, help="copies tested at once (default: 2)")
    parser.add_argument("-o", "--output", type=Path, help="CSV file for a row per fault")
    given = parser.parse_args(arguments)
    # Remove the copies and end their tests however this process ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        outcomes = mutate(
            given.modules,
            deep=given.deep,
            seed=given.seed,
            most=given.most,
            files=given.files,
            tests=given.tests,
            lines=given.lines,
            seconds=given.seconds,
            workers=given.workers,
        )
    except Stop as reason:
        print(reason, file=sys.stderr)
        return 2
    if given.output is not None:
        write_table(given.output, outcomes)
    print("\n".join(summary(outcomes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
