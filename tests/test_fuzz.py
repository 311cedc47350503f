"""Random cases end without traceback, hang or NaN, and the fuzzer detects each."""

import importlib
import os
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "tools"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("fuzz")


@pytest.mark.deep
def test_at_least_half_of_the_valid_scenarios_run_one_by_one_or_two_at_a_time(fuzz, monkeypatch, capsys):
    from fuzz_cases import _valid

    monkeypatch.setattr(fuzz, "make_case", _valid)
    ended = []
    for workers in (1, 2):
        assert fuzz.fuzz(1, list(range(6)), 120, workers=workers) == []
        ended.append(capsys.readouterr().out)
    assert ended[0] == ended[1]
    counts = {line.split(": ")[-1]: int(line.split()[0]) for line in ended[0].splitlines()}
    assert sum(counts.values()) == 6
    assert counts["0"] >= 3


@pytest.mark.parametrize("maker", ["_valid", "_of_scenario", "_of_data", "_of_parquet"])
def test_a_case_is_the_same_each_time(fuzz, tmp_path, maker):
    make = getattr(importlib.import_module("fuzz_cases"), maker)
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        fuzz.prepare(folder)
        case = make(folder, tmp_path, fuzz.random.Random("1/4"))
        made.append((case, {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise ValueError('a bug')", "traceback"),
        ("print('payoff nan'); sys.exit(0)", "a number that is none"),
        ("sys.exit(2)", "0 error lines"),
        ("os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
        ("print('reidsim: people.csv: no such file'); sys.exit(2)", ""),
    ],
)
def test_each_wrong_ending_is_noticed(fuzz, monkeypatch, tmp_path, body, problem):
    from reidsim import cli

    monkeypatch.setattr(cli, "main", lambda: exec(body, {"sys": sys, "os": os}))  # noqa: S102 - the test's own text
    # Only the sleeping command reaches its limit; the others get time on a busy machine.
    limit = 0.5 if "sleep" in body else 60.0
    took, code, said = fuzz._run(tmp_path, ("run",), limit)
    assert fuzz._problem(code, said, took, limit) == problem
