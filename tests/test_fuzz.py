"""Random cases end without traceback, hang or NaN, and the fuzzer detects each."""

import importlib
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
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


@pytest.fixture
def made(fuzz, tmp_path):
    """Return the results of a record game and a function that checks them."""
    from fuzz_scenarios import broken_invariants

    runs = pd.DataFrame(
        {
            "point": 0, "replication": 0, "policy": ["basic", "no-attack"], "publisher_payoff": [5.0, 4.0],
            "share_attacked": [0.5, 0.0], "risk_if_attacked": [0.1, np.nan], "state": "complete",
        }
    )  # fmt: skip
    people = pd.DataFrame({"policy": ["basic", "basic"], "people": [0, 1], "probability": 0.5, "at_most": [0.5, 1.0]})
    records = pd.DataFrame({"policy": ["basic", "no-attack"], "publisher_payoff": [5.0, 4.0]})
    tables = {"runs": runs, "reidentified": people, "records": records}

    def broken(content=None):
        for name, table in tables.items():
            table.to_parquet(tmp_path / f"{name}.parquet")
        return broken_invariants(content or {}, tmp_path)

    return tables, broken


@pytest.mark.parametrize(
    ("table", "column", "values", "says"),
    [
        ("runs", "publisher_payoff", [5.0, 5.5], "basic: no-attack pays 0.5 more"),
        ("runs", "publisher_payoff", [5.0, np.inf], "not finite"),
        ("runs", "share_attacked", [0.5, 0.1], "no-attack: records are attacked"),
        ("runs", "share_attacked", [1.5, 0.0], "no probabilities"),
        ("reidentified", "probability", [0.5, 0.4], "do not sum to 1"),
        ("records", "policy", ["basic", "basic"], None),
    ],
)
def test_tables_that_break_an_invariant_are_noticed(made, table, column, values, says):
    tables, broken = made
    assert broken() == []
    tables[table][column] = values
    if says is None:
        tables[table] = pd.concat([tables[table], pd.DataFrame({"policy": ["no-attack"], "publisher_payoff": [4.0]})])
        says = "records: 1 under one policy and 2"
    assert says in "; ".join(broken())


def test_a_mistaken_publisher_may_be_attacked_and_lose(made):
    tables, broken = made
    tables["runs"]["share_attacked"] = [0.5, 0.1]
    tables["runs"]["publisher_payoff"] = [3.0, 4.0]
    assert broken({"beliefs": {"cost": 1.0}}) == []


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


def test_a_finding_is_printed_before_the_next_case_with_what_repeats_it(fuzz, monkeypatch, capsys):
    printed = []
    monkeypatch.setattr(fuzz, "make_case", lambda *given: fuzz.Case("scenario", ("run", "record.toml")))

    def run(folder, arguments, seconds, used=None):
        printed.append(capsys.readouterr().out)
        if used is not None:
            pickle.dump(([], []), used)
        return 0.1, 0, "payoff nan\n" if folder.name == "case-1" else ""

    monkeypatch.setattr(fuzz, "_run", run)
    (finding,) = fuzz.fuzz(7, [0, 1, 2], 60)
    assert printed[-2:] == ["", f"{finding}\n"]
    assert str(finding).startswith(f"--seed 7 --only 1 ({finding.case.kind}): a number that is none\n  reidsim '")
    assert str(finding).endswith("\n  payoff nan")
