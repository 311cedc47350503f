"""The public Python interface: ``import reidsim``."""

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from found import at_least
from reference_pages.python_page import VERBS, python_name

import reidsim
from reidsim.cli import app

TOWN = Path(__file__).parent / "scenarios" / "town"


@pytest.fixture
def town(tmp_path):
    """Return the scenario in a copy of the town folder."""
    shutil.copytree(TOWN, tmp_path / "town")
    return tmp_path / "town" / "town.toml"


@pytest.fixture(scope="module")
def result():
    return reidsim.run(TOWN / "town.toml")


# Public names.


def test_every_public_name_can_be_imported_and_is_documented():
    namespace = {}
    exec("from reidsim import *", namespace)  # noqa: S102
    for name in at_least(29, reidsim.__all__):
        thing = getattr(reidsim, name)
        assert namespace[name] is thing
        if name.startswith("__"):
            continue
        # A dataclass without a docstring has its signature as its docstring.
        assert not inspect.getdoc(thing).startswith(f"{name}("), name
        assert (thing.__module__.partition(".")[0], thing.__name__) == ("reidsim", name)
        if inspect.isfunction(thing):
            for argument in inspect.signature(thing).parameters:
                described = rf"^([*\w]+, )*\*{{0,2}}{argument}(, [*\w]+)*( :|$)"
                assert re.search(described, inspect.getdoc(thing), re.MULTILINE), f"{name}: {argument}"
        own = vars(thing).items() if inspect.isclass(thing) else ()
        for method, value in own:
            if not method.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method}"


WITHOUT_VERB = {"desk", "serve"}


def test_every_command_has_a_python_verb_with_its_options():
    commands = typer.main.get_command(app).commands
    assert set(commands) == VERBS.keys() | WITHOUT_VERB
    for command, verbs in VERBS.items():
        known = {name for verb in verbs for name in inspect.signature(verb).parameters}
        for option in (each.name for each in commands[command].params):
            own = python_name(command, option)
            assert own is None or {own, option} & known, (command, option)


def test_bundled_files_are_listed_and_shown(capsys):
    listed = reidsim.list()
    assert set(listed["kind"]) == {"scenarios", "populations", "background knowledge", "social media"}
    for name in listed["name"]:
        assert tomllib.loads(reidsim.show(name)).get("title", "") in set(listed.loc[listed["name"] == name, "title"])
    with pytest.raises(reidsim.InputError, match="no bundled scenario of this name; found 'wan'"):
        reidsim.show("wan")
    namespace = {}
    exec("from reidsim import *; kept = list", namespace)  # noqa: S102
    assert namespace["kept"] is list


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        _ = reidsim.rum
    with pytest.raises(ImportError):
        exec("from reidsim import rum", {})  # noqa: S102


@pytest.mark.parametrize("module", ["reidsim", "reidsim.cli"])
def test_importing_is_quick_since_nothing_large_is_loaded(module):
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "reidsim" in loaded
    assert not {"pandas", "numba", "matplotlib", "pyarrow", "scipy", "numpy"} & set(loaded)


# Running a scenario.


@pytest.mark.parametrize("number", [np.int64(0), np.float32(0)], ids=lambda n: n.dtype.name)
def test_values_can_be_numbers_of_numpy_as_loops_over_arrays_give_them(town, number):
    changed = reidsim.run(town, overrides={"economics.loss": number, "publisher.policies": ["basic"]})
    assert changed.summary.loc["basic", "publisher_payoff"] == 100


def test_progress_is_told_what_is_done_and_how_much(town):
    calls = []
    record = {"age": "30", "sex": "F", "district": "N1"}
    reidsim.run(town, overrides={"figures.strategies": record}, progress=lambda *call: calls.append(call))
    assert all(isinstance(task, str) and 0 <= done <= total for task, done, total in calls)
    last = {task: (done, total) for task, done, total in calls}
    for task in ("playing", "figures"):
        done, total = last[task]
        assert done == total > 0


def test_an_input_error_is_a_value_error_that_tells_its_parts(town):
    town.write_text(town.read_text().replace("cost = 10", "cost = -10"))
    with pytest.raises(ValueError, match=r"economics\.cost") as caught:
        reidsim.run(town)
    error = caught.value
    assert isinstance(error, reidsim.InputError)
    assert (error.source, error.where, error.found) == (str(town), "economics.cost", -10)
    assert "0" in error.expected


# Saving.


def test_a_result_is_saved_to_a_folder_and_reads_back(result, tmp_path):
    assert result.save(str(tmp_path / "out")) == tmp_path / "out"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json", "records.parquet", "reidentified.parquet", "runs.parquet",
    ]  # fmt: skip
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "runs.parquet"), result.runs)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "records.parquet"), result.records)


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["lists", "tables"])
def test_values_nested_too_deeply_are_refused(wrap):
    value = 1
    for _ in range(2000):
        value = wrap(value)
    for refused in (
        lambda: reidsim.run("wan2015", overrides={"economics.loss": value}),
        lambda: reidsim.run({"game": value}),
        lambda: reidsim.populate("adult", "adult.parquet", overrides={"seed": value}),
    ):
        with pytest.raises(reidsim.InputError, match="nested too deep"):
            refused()


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_single_run_refuses_an_executor_that_would_be_ignored(executor):
    with pytest.raises(reidsim.InputError, match=f"the scenario is a single run; found '{executor}'"):
        reidsim.Scenario.load("wan2015").run(executor=executor)


def test_a_warning_points_at_the_line_of_the_user(monkeypatch):
    sidecar = {"columns": [], "records": {"shared": 0}}
    monkeypatch.setattr("reidsim.reports.python.share_files", lambda *_, **__: (sidecar, ["a note"], {}))
    with pytest.warns(UserWarning, match="a note") as found:
        reidsim.share("results", "basic")
    assert found[0].filename == __file__


def test_a_folder_of_another_type_is_refused():
    with pytest.raises(
        reidsim.InputError, match="load_result: argument 'folder': wrong type; found 5; expected the path"
    ):
        reidsim.load_result(5)
