"""Cases by chance: no traceback, no hang, no number that is none; and that those are noticed."""

import importlib
import os
import pickle
import sys
from pathlib import Path

import pytest
from tiers import cases

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("fuzz")


@pytest.mark.parametrize("start", cases(range(0, 300, 30), [0]))
def test_nothing_ends_but_well_or_in_a_line(fuzz, start):
    numbers = range(start, start + 30) if start else range(8)
    assert fuzz.fuzz(1, list(numbers), 120) == []


@pytest.mark.deep
def test_cases_tried_two_at_a_time_end_as_one_by_one(fuzz, capsys):
    ended = []
    for workers in (1, 2):
        assert fuzz.fuzz(1, list(range(6)), 120, workers=workers) == []
        ended.append(capsys.readouterr().out)
    assert ended[0] == ended[1]
    assert sum(int(line.split()[0]) for line in ended[0].splitlines()) == 6


def test_what_a_command_imported_is_imported_for_the_next(fuzz, monkeypatch, tmp_path):
    from reidsim import cli

    (tmp_path / "imported_by_a_command.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(cli, "main", lambda: importlib.import_module("imported_by_a_command"))
    with open(tmp_path / "used", "w+b") as used:
        assert fuzz._run(tmp_path, (), 30, used)[1] == 0
        assert "imported_by_a_command" not in sys.modules
        used.seek(0)
        fuzz._load(used)
    assert sys.modules.pop("imported_by_a_command")


def test_a_case_is_the_same_each_time(fuzz, tmp_path):
    made = []
    for name in ("one", "two"):
        folder, results = tmp_path / name, tmp_path / "results"
        folder.mkdir()
        for run in ("record", "sweep"):
            (results / run).mkdir(parents=True, exist_ok=True)
            (results / run / "manifest.json").write_text("{}")
        fuzz.prepare(folder)
        case = fuzz.make_case(folder, results, fuzz.random.Random("1/4"))
        made.append((case, {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise ValueError('a bug')", "traceback"),
        ("print('payoff nan'); sys.exit(0)", "a number that is none"),
        ("sys.exit(2)", "0 lines that say what is wrong"),
        ("print('reidsim: one\\nreidsim: two'); sys.exit(2)", "2 lines that say what is wrong"),
        ("sys.exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
        ("print('reidsim: people.csv: no such file'); sys.exit(2)", ""),
        ("print('done')", ""),
    ],
)
def test_what_is_wrong_is_noticed(fuzz, monkeypatch, tmp_path, body, problem):
    from reidsim import cli

    monkeypatch.setattr(cli, "main", lambda: exec(body, {"sys": sys, "os": os}))  # noqa: S102 - the test's own text
    took, code, said = fuzz._run(tmp_path, ("run",), 0.5)
    assert fuzz._problem(code, said, took, 0.5) == problem


def test_a_finding_is_printed_before_the_next_case_with_what_repeats_it(fuzz, monkeypatch, capsys):
    printed = []

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
