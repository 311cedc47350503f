"""Golden results: every bundled scenario, run small, before and after a change that must not change results.

    python tools/golden.py write FOLDER            # before: all tables, a folder per case
    python tools/golden.py compare FOLDER          # after: everything again, and every difference
    python tools/golden.py compare FOLDER --only wan2015 'prasser2017*' --accept 'market/rounds/risk'

Texts and whole numbers must be equal, other numbers to 1e-12, relative to numbers above 1. Seconds are not compared.
New tables and columns are reported but do not count as differences. The cases are in `golden_cases.py` and use only the
public interface.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import inspect
import io
import json
import os
import platform
import runpy
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from golden_cases import CASES, FILES, Case

import reidsim

TOLERANCE = 1e-12
# Columns that hold seconds, or the key of a run, which the version of the program is part of; tables of seconds.
_TIMES = ("run", "runtimes", "*seconds*", "*runtime*")
_VERSIONS = ("numpy", "pandas", "scipy")
# Name of the argument that replaces values of a scenario, in this version and in earlier ones.
_REPLACING = "overrides" if "overrides" in inspect.signature(reidsim.run).parameters else "set"


def tables_of(case: Case, folder: Path) -> dict[str, pd.DataFrame]:
    """Run a case in a working folder that holds `FILES`; return its tables by name."""
    scenario = str(folder / case.scenario) if case.scenario in FILES else case.scenario
    if case.command == "explain":
        lines = _said(["explain", scenario]).splitlines()
        return {"lines": pd.DataFrame({"line": lines})}
    options = {key: str(folder / str(value)) if value in FILES else value for key, value in case.options.items()}
    options[_REPLACING] = {key: _placed(value, folder) for key, value in case.replaced.items()}
    with tempfile.TemporaryDirectory() as made:
        into, summary = Path(made) / "results", None
        if case.command == "run":
            result = reidsim.run(scenario, **options)
            result.save(into)
            summary = result.summary
        elif case.command == "batch":
            summary = reidsim.run_batch(scenario, executor="serial", folder=into, **options).summary
        elif case.command == "stress":
            reidsim.stress(scenario, **options).save(into)
        else:
            reidsim.cross_play(scenario, **options).save(into)
        tables = {path.stem: pd.read_parquet(path) for path in sorted(into.glob("*.parquet"))}
    if summary is not None:
        tables["summary"] = summary.reset_index()
    return {name: _timeless(table) for name, table in tables.items() if not _matches(name, _TIMES)}


def differences(golden: pd.DataFrame, found: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each column that differs, with its first differing row and both values there."""
    if len(golden) != len(found):
        yield "", f"{len(golden):,} rows before, {len(found):,} now"
        return
    for column in golden.columns:
        if column not in found.columns:
            yield str(column), "the column is missing now"
            continue
        before, now = golden[column], found[column]
        differs = _differs(before, now)
        if differs.any():
            row = int(np.argmax(differs))
            yield (
                str(column),
                f"{int(differs.sum()):,} of {len(differs):,} rows, first row {row}: "
                f"{before.iloc[row]!r} before, {now.iloc[row]!r} now{_largest(before, now)}",
            )


def write(folder: Path, cases: Sequence[Case]) -> int:
    """Write the tables of cases; return how many could not be run."""
    failed = 0
    folder.mkdir(parents=True, exist_ok=True)
    made = {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}}
    (folder / "made.json").write_text(json.dumps(made, indent=2) + "\n")
    for case, report, tables in _run(cases):
        if isinstance(tables, Exception):
            report(f"FAILED: {type(tables).__name__}: {tables}")
            failed += 1
            continue
        into = folder / case.name
        into.mkdir(exist_ok=True)
        for stale in into.glob("*.parquet"):
            stale.unlink()
        for name, table in tables.items():
            table.to_parquet(into / f"{name}.parquet", index=False)
        report(f"{len(tables)} tables, {sum(map(len, tables.values())):,} rows")
    return failed


def compare(folder: Path, cases: Sequence[Case], accepted: Sequence[str] = ()) -> int:
    """Run cases again and print the differences; return the number of cases that differ."""
    made = json.loads((folder / "made.json").read_text())
    for name in _VERSIONS:
        if made[name] != version(name):
            print(f"note: made with {name} {made[name]}, compared with {version(name)}")
    differing = 0
    for case, report, tables in _run(cases):
        if not (folder / case.name).is_dir():
            report("no golden tables: a new case")
            continue
        if isinstance(tables, Exception):
            report(f"DIFFERS: {type(tables).__name__}: {tables}")
            differing += 1
            continue
        golden = {path.stem: pd.read_parquet(path) for path in sorted((folder / case.name).glob("*.parquet"))}
        lines, real = [], 0
        for table in golden:
            found = [("", "the table is missing now")] if table not in tables else []
            for column, difference in found or differences(golden[table], tables[table]):
                place = "/".join(filter(None, (case.name, table, column)))
                known = _matches(place, accepted)
                real += not known
                lines.append(f"    {place}: {difference}{' (accepted)' if known else ''}")
            for column in () if found else set(tables[table].columns) - set(golden[table].columns):
                lines.append(f"    {case.name}/{table}/{column}: a new column")
        lines += [f"    {case.name}/{table}: a new table" for table in tables if table not in golden]
        differing += real > 0
        report(f"DIFFERS at {real} places" if real else "equal")
        for line in lines:
            print(line, flush=True)
    return differing


def _run(cases: Sequence[Case]) -> Iterator[tuple[Case, Callable[[str], None], dict[str, pd.DataFrame] | Exception]]:
    """Run the cases in order; yield a function that prints the line of each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text)
        for number, case in enumerate(cases, start=1):
            start = time.process_time()
            try:
                tables: dict[str, pd.DataFrame] | Exception = tables_of(case, Path(folder))
            except Exception as error:  # reported; the other cases continue
                tables = error
            seconds = time.process_time() - start

            def report(text: str, n: int = number, name: str = case.name, seconds: float = seconds) -> None:
                print(f"{n:>3}/{len(cases)} {name:<28} {seconds:6.1f} s  {text}", flush=True)

            yield case, report, tables


def _placed(value: object, folder: Path) -> object:
    return str(folder / value) if isinstance(value, str) and value in FILES else value


def _said(arguments: Sequence[str]) -> str:
    """Return the output of a command, at a fixed width."""
    said, before = io.StringIO(), sys.argv
    sys.argv = ["reidsim", *arguments]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_module("reidsim", run_name="__main__")
    except SystemExit as stop:
        if stop.code:
            raise RuntimeError(f"reidsim {' '.join(arguments)}: exit code {stop.code}") from None
    finally:
        sys.argv = before
    return said.getvalue()


def _timeless(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns, and rows of long tables, that hold seconds."""
    table = table[[column for column in table.columns if not _matches(str(column), _TIMES)]]
    if "measure" in table.columns:
        table = table[[not _matches(str(measure), _TIMES) for measure in table["measure"]]]
    # Columns of mixed types have no Parquet type, and categories are a matter of storage.
    texts = {
        column: table[column].map(lambda value: None if value is None else str(value))
        for column in table.columns
        if not (pd.api.types.is_numeric_dtype(table[column]) or pd.api.types.is_bool_dtype(table[column]))
    }
    return table.assign(**texts).reset_index(drop=True)


def _differs(before: pd.Series, now: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(now):
        if pd.api.types.is_integer_dtype(before) and pd.api.types.is_integer_dtype(now):
            missing = before.isna().to_numpy(), now.isna().to_numpy()
            return (before.fillna(0).to_numpy() != now.fillna(0).to_numpy()) | (missing[0] != missing[1])
        one, other = before.to_numpy(dtype=float, na_value=np.nan), now.to_numpy(dtype=float, na_value=np.nan)
        with np.errstate(invalid="ignore"):
            close = np.abs(one - other) <= TOLERANCE * np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
        close &= np.isfinite(one) & np.isfinite(other)
        return ~(close | (one == other) | (np.isnan(one) & np.isnan(other)))
    one, other = before.astype(object), now.astype(object)
    return ~((one == other) | (one.isna() & other.isna())).to_numpy(dtype=bool)


def _largest(before: pd.Series, now: pd.Series) -> str:
    if not (pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(now)):
        return ""
    gap = (before.astype(float) - now.astype(float)).abs().max()
    return f"; largest difference {gap:.3g}"


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases, by name or pattern")
    parser.add_argument(
        "--accept", nargs="+", default=[], metavar="PATTERN", help="CASE/TABLE/COLUMN that may differ, such as market/*"
    )
    given = parser.parse_args(arguments)
    cases = [case for case in CASES if given.only is None or _matches(case.name, given.only)]
    if unknown := [name for name in given.only or () if not any(_matches(case.name, [name]) for case in CASES)]:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(case.name for case in CASES)}")
    if given.what == "compare" and not (given.folder / "made.json").is_file():
        parser.error(f"{given.folder}: no golden results; `write` makes them")
    writing = given.what == "write"
    found = write(given.folder, cases) if writing else compare(given.folder, cases, given.accept)
    print(f"{found} of {len(cases)} cases {'could not be run' if writing else 'differ'}")
    return int(found > 0)


if __name__ == "__main__":
    # Of the process, so not where tests call `main`.
    os.environ.update(COLUMNS="120", NO_COLOR="1", TERM="dumb")
    # Deprecation warnings say nothing about results.
    warnings.simplefilter("ignore")
    sys.exit(main())
