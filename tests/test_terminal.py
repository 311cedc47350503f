"""Terminal output: no control characters from files; JSON, verbosity, logs."""

import json
import logging
import re
from pathlib import Path

import pandas as pd
import pytest

import reidsim
from reidsim.core.terminal import PrintableConsole, printable, set_verbosity

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x1bP1;2|x\x1b\\\x00\x08\r\u202e\u2066\u200f"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SCENARIO = """
title = {title}
[release]
path = "people.csv"
[attributes.age]
column = {column}
hierarchy = {{ rule = "intervals", widths = [10] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[figures.strategies]
age = "30"
sex = {value}
"""


@pytest.fixture
def command(reidsim_):
    """Run the command line in this process; afterwards, print as by default."""
    yield reidsim_
    set_verbosity()


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    """Return a scenario with control characters in its title, column and values."""
    monkeypatch.chdir(tmp_path)
    column, value = "a\x1b[31mge", "F\x1b[31m\u202e"
    people = pd.DataFrame({column: range(30, 40), "sex": [value] * 5 + ["M"] * 5})
    people.to_csv("people.csv", index=False)
    quoted = [json.dumps(text) for text in (f"A{HOSTILE}Z", column, value)]
    Path("mine.toml").write_text(SCENARIO.format(title=quoted[0], column=quoted[1], value=quoted[2]), encoding="utf-8")
    return Path("mine.toml")


def test_text_loses_control_sequences_and_nothing_else():
    assert printable(f"a{HOSTILE}b\tc\nd é 中 \u200c") == "ab\tc\nd é 中 \u200c"
    assert printable("\x1b]0;no end") == "0;no end"


@pytest.mark.parametrize(
    "arguments",
    [("run", "-o", "out", "-v"), ("check",), ("explain",), ("attributes", "-o", "out"), ("cross-play", "-o", "out"),
     ("run", "-o", "out", "--set", 'attributes.age.reading={type="number", missing=["\\u001b[2J"]}')],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_no_control_character_of_a_file_is_printed(scenario, command, arguments):
    name, *options = arguments
    code, out, err = command(name, scenario, *options)
    assert code == 0, err
    assert not CONTROLS.findall(out + err)


def test_an_error_prints_no_control_character(scenario, command):
    code, out, err = command("run", scenario, "-o", "out", "--set", "attributes.se\x1b[2Jx.hierarchy={rule='suppress'}")
    assert code == 2
    assert not CONTROLS.findall(out + err)


def test_a_terminal_gets_styles_of_its_own_alone():
    console = PrintableConsole(force_terminal=True, color_system="standard", width=60)
    with console.capture() as captured:
        console.print(f"[bold]kept[/bold] \x1b[2J\x1b]0;owned\x07{HOSTILE}")
    left = re.sub(r"\x1b\[[0-9;]*m", "", captured.get())
    assert "kept" in left
    assert "\x1b[1m" in captured.get()
    assert not CONTROLS.findall(left)


# JSON


@pytest.mark.parametrize("changes", [(), ("--set", "replications=2", "--executor", "serial")], ids=["run", "batch"])
def test_json_is_all_that_standard_output_holds(scenario, command, changes):
    code, out, _ = command("run", scenario, "-o", "out", "--json", *changes)
    found = json.loads(out)
    assert (code, found["folder"], found["state"], found["seed"]) == (0, "out", "complete", 0)
    assert [row["policy"] for row in found["summary"]] == ["basic", "no-attack"]
    runs = pd.read_parquet("out/runs.parquet")
    for row in found["summary"]:
        payoffs = runs.loc[runs["policy"] == row["policy"], "publisher_payoff"]
        assert row["publisher_payoff"] == pytest.approx(payoffs.mean(), abs=1e-12)
    assert isinstance(found["warnings"], list)
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "scripting.md").read_text(encoding="utf-8")
    assert list(found) == re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)


def test_json_has_null_where_a_measure_is_undefined(scenario, command):
    _, out, _ = command("run", scenario, "-o", "out", "--json", "--set", "economics.cost=1000")
    assert "NaN" not in out
    assert json.loads(out)["summary"][0]["risk_if_attacked"] is None


# Quiet and verbose


def test_quiet_prints_nothing_of_a_run_that_ends_well(scenario, command):
    for arguments in (("-q", "run", scenario, "-o", "one"), ("run", scenario, "-o", "two", "--quiet")):
        assert command(*arguments) == (0, "", "")
        assert Path(arguments[arguments.index("-o") + 1], "runs.parquet").exists()


def test_quiet_keeps_errors_and_data_that_a_command_is_asked_for(scenario, command):
    code, out, err = command("run", "-q", scenario, "-o", "out", "--set", "economics.loss=-1")
    assert (code, out) == (2, "")
    assert "economics.loss" in err
    assert "wan2015" in command("list", "-q")[1]
    assert json.loads(command("-q", "run", scenario, "-o", "out", "--json")[1])["scenario"] == "mine"
    assert "age" in command("describe", "people.csv", "-q")[1]


def test_verbose_prints_log_messages_on_standard_error(scenario, command):
    code, out, err = command("run", scenario, "-o", "out", "--verbose")
    assert code == 0
    assert "basic" in out
    assert "mine.toml" in err
    assert "results written to out" in err
    assert "results written" not in command("run", scenario, "-o", "again")[2]


# Logging


def test_the_package_logs_under_its_name_and_prints_nothing_by_itself(scenario, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="reidsim"):
        reidsim.run_batch(scenario, overrides={"replications": 2}, executor="serial")
    assert {record.name.partition(".")[0] for record in caplog.records} == {"reidsim"}
    assert sum("complete" in record.getMessage() for record in caplog.records) == 2
    assert tuple(capsys.readouterr()) == ("", "")
