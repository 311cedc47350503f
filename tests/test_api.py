"""The public Python interface: ``import reidsim``."""

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from found import at_least

import reidsim

TOWN = Path(__file__).parent / "scenarios" / "town"
MEASURES = [
    "publisher_payoff", "adversary_payoff", "utility", "generalization_intensity", "share_attacked", "risk",
    "risk_if_attacked", "share_unchanged", "share_suppressed", "reidentified_any", "reidentified_median",
    "reidentified_95", "reidentified_99", "publisher_payoff_cvar", "adversary_payoff_cvar",
]  # fmt: skip


@pytest.fixture
def town(tmp_path):
    """Return the scenario in a copy of the town folder."""
    shutil.copytree(TOWN, tmp_path / "town")
    return tmp_path / "town" / "town.toml"


@pytest.fixture(scope="module")
def result():
    return reidsim.run(TOWN / "town.toml")


# Public names.


@pytest.mark.parametrize("name", at_least(29, reidsim.__all__))
def test_every_public_name_can_be_imported(name):
    namespace = {}
    exec(f"from reidsim import {name}", namespace)  # noqa: S102
    assert namespace[name] is getattr(reidsim, name)


@pytest.mark.parametrize("name", [name for name in reidsim.__all__ if not name.startswith("__")])
def test_every_public_name_is_documented_where_it_says_it_lives(name):
    thing = getattr(reidsim, name)
    assert inspect.getdoc(thing)
    # A dataclass without a docstring has its signature as its docstring.
    assert not inspect.getdoc(thing).startswith(f"{name}(")
    assert thing.__module__.startswith("reidsim.")
    assert thing.__name__ == name


@pytest.mark.parametrize("name", [name for name in reidsim.__all__ if not name.startswith("__")])
def test_every_public_method_is_documented(name):
    thing = getattr(reidsim, name)
    own = vars(thing).items() if inspect.isclass(thing) else ()
    undocumented = [
        method
        for method, value in own
        if not method.startswith("_") and (callable(value) or isinstance(value, property)) and not inspect.getdoc(value)
    ]
    assert undocumented == []


def test_a_star_import_brings_the_public_names():
    namespace = {}
    exec("from reidsim import *", namespace)  # noqa: S102
    assert set(reidsim.__all__) <= set(namespace)


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


@pytest.mark.parametrize("kind", [str, Path])
def test_a_scenario_is_run_by_its_file(town, kind):
    assert reidsim.run(kind(town)).name == "town"


def test_the_summary_has_the_measures_by_policy(result):
    assert list(result.summary.columns) == MEASURES
    assert result.summary.index.name == "policy"
    assert result.summary.index.tolist() == ["basic", "no-attack"]
    np.testing.assert_allclose(result.summary["publisher_payoff"], [82.4, 76.0])


def test_the_records_have_one_row_per_record_and_policy(result):
    assert len(result.records) == 60
    assert {"record", "policy", "strategy", "attacked", "age", "sex", "district"} <= set(result.records.columns)


def test_the_runs_are_the_summary_with_what_identifies_them(result):
    assert list(result.runs.columns) == [
        "scenario", "point", "replication", "policy", *MEASURES, "state", "seed",
    ]  # fmt: skip
    pd.testing.assert_frame_equal(result.runs.set_index("policy")[MEASURES], result.summary)


def test_a_result_says_what_made_it(result):
    assert isinstance(result, reidsim.RunResult)
    assert result.manifest["seed"] == 7
    assert result.manifest["versions"]["reidsim"] == reidsim.__version__
    assert result.warnings == ()


def test_values_and_seed_can_be_replaced(town):
    changed = reidsim.run(town, overrides={"economics.loss": 0, "publisher.policies": ["basic"]}, seed=12)
    assert changed.summary.loc["basic", "publisher_payoff"] == 100
    assert changed.manifest["seed"] == 12
    assert changed.manifest["content"]["economics"]["loss"] == 0


@pytest.mark.parametrize("number", [np.int64(0), np.float64(0), np.int32(0), np.float32(0)], ids=lambda n: n.dtype.name)
def test_values_can_be_numbers_of_numpy_as_loops_over_arrays_give_them(town, number):
    changed = reidsim.run(town, overrides={"economics.loss": number, "publisher.policies": ["basic"]})
    assert changed.summary.loc["basic", "publisher_payoff"] == 100


def test_the_callers_values_are_left_as_they_are(town):
    values = {"economics": {"benefit": 100, "loss": 60, "cost": 10}, "economics.cost": 11}
    reidsim.run(town, overrides=values)
    assert values == {"economics": {"benefit": 100, "loss": 60, "cost": 10}, "economics.cost": 11}


def test_progress_is_told_what_is_done_and_how_much(town):
    calls = []
    record = {"age": "30", "sex": "F", "district": "N1"}
    reidsim.run(town, overrides={"figures.strategies": record}, progress=lambda *call: calls.append(call))
    assert all(isinstance(task, str) and 0 <= done <= total for task, done, total in calls)
    assert ("playing", 18, 18) in calls
    assert ("figures", 1, 1) in calls


@pytest.mark.parametrize(
    ("scenario", "options", "says"),
    [
        ("wan2051", {}, "did you mean 'wan2021'"),
        ("nowhere.toml", {}, "nowhere.toml: no such file"),
        ("wan2015", {"overrides": {"economics.los": 1}}, r"economics\.los: unknown key"),
        ("wan2015", {"seed": -1}, "seed: value not allowed; found -1"),
    ],
)
def test_what_cannot_be_run_raises_an_input_error(scenario, options, says):
    with pytest.raises(reidsim.InputError, match=says):
        reidsim.run(scenario, **options)


def test_a_wrong_seed_is_not_blamed_on_an_option_that_python_does_not_have():
    with pytest.raises(reidsim.InputError) as caught:
        reidsim.run("wan2015", seed=-1)
    assert "--set" not in str(caught.value)


def test_an_input_error_is_a_value_error_that_tells_its_parts(town):
    town.write_text(town.read_text().replace("cost = 10", "cost = -10"))
    with pytest.raises(ValueError, match=r"economics\.cost") as caught:
        reidsim.run(town)
    error = caught.value
    assert isinstance(error, reidsim.InputError)
    assert (error.source, error.where, error.found) == (str(town), "economics.cost", -10)
    assert "0" in error.expected


# Saving.


@pytest.mark.parametrize("kind", [str, Path])
def test_a_result_is_saved_to_a_folder_and_reads_back(result, tmp_path, kind):
    assert result.save(kind(tmp_path / "out")) == tmp_path / "out"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json", "records.parquet", "reidentified.parquet", "runs.parquet",
    ]  # fmt: skip
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "runs.parquet"), result.runs)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "records.parquet"), result.records)


def test_a_result_is_saved_with_whatever_draws_it(result, tmp_path):
    def illustrate(drawn, folder):
        assert drawn is result
        folder.mkdir()
        (folder / "all.png").touch()
        return ["all.png"]

    folder = result.save(tmp_path / "out", illustrate=illustrate)
    assert (folder / "figures" / "all.png").exists()
    assert '"all.png"' in (folder / "manifest.json").read_text()


def test_a_result_is_not_saved_over_another(result, tmp_path):
    folder = result.save(tmp_path / "out")
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(reidsim.InputError, match="not empty"):
        result.save(folder)
    assert (folder / "manifest.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_saving_does_not_change_a_result(town, tmp_path):
    result = reidsim.run(town)
    records, manifest = result.records.copy(), dict(result.manifest)
    result.save(tmp_path / "first")
    result.save(tmp_path / "second")
    pd.testing.assert_frame_equal(result.records, records)
    assert result.manifest == manifest
    assert (tmp_path / "first" / "manifest.json").read_bytes() == (tmp_path / "second" / "manifest.json").read_bytes()


# Parts.


def test_populations_and_scenarios_can_be_loaded_on_their_own(town):
    assert reidsim.load_population("adult").total == 32_561
    assert reidsim.load_population(town.parent / "people" / "people.toml").total == 33
    assert reidsim.load_scenario(town).scenario.economics.cost == 10
