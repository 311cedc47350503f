"""The script that compares results before and after a change detects differences."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

SCRIPTS = Path(__file__).parent.parent / "tools"


@pytest.fixture(scope="module")
def golden():
    sys.path.insert(0, str(SCRIPTS))
    try:
        spec = importlib.util.spec_from_file_location("golden", SCRIPTS / "golden.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SCRIPTS))
    return module


def _found(golden, before, now):
    return dict(golden.differences(pd.DataFrame(before), pd.DataFrame(now)))


def test_every_bundled_scenario_has_a_case_and_every_name_is_taken_once(golden):
    bundled = {path.stem for path in (SCRIPTS.parent / "scenarios").glob("*.toml")}
    assert len(bundled) >= 20
    assert bundled <= {case.scenario for case in golden.CASES}
    assert len({case.name for case in golden.CASES}) == len(golden.CASES)


def test_numbers_may_differ_by_rounding_and_no_more(golden):
    before = {"small": [0.0, 1e-3], "large": [1e6, 2e6], "count": [1, 2]}
    rounded = {"small": [1e-13, 1e-3], "large": [1e6 * (1 + 1e-13), 2e6], "count": [1, 2]}
    assert _found(golden, before, rounded) == {}
    changed = {"small": [1e-11, 1e-3], "large": [1e6, 2e6 * (1 + 1e-11)], "count": [1, 3]}
    assert set(_found(golden, before, changed)) == {"small", "large", "count"}


def test_missing_values_texts_and_infinities_are_compared(golden):
    before = {"a": [float("nan"), 1.0], "b": ["x", None], "c": [float("inf"), 0.0], "d": [True, False]}
    assert _found(golden, before, before) == {}
    now = {"a": [0.0, 1.0], "b": ["x", "y"], "c": [-float("inf"), 0.0], "d": [True, True]}
    assert set(_found(golden, before, now)) == set("abcd")
    assert "first row 1" in _found(golden, before, now)["b"]


def test_a_case_that_is_written_compares_equal_until_a_value_changes(golden, tmp_path, capsys):
    assert golden.main(["write", str(tmp_path / "g"), "--only", "clinic"]) == 0
    assert golden.main(["compare", str(tmp_path / "g"), "--only", "clinic"]) == 0
    path = tmp_path / "g" / "clinic" / "runs.parquet"
    table = pd.read_parquet(path)
    table.assign(risk=table["risk"] + 1e-6).to_parquet(path, index=False)
    capsys.readouterr()
    assert golden.main(["compare", str(tmp_path / "g"), "--only", "clinic"]) == 1
    assert "clinic/runs/risk: 2 of 2 rows, first row 0" in capsys.readouterr().out
    assert golden.main(["compare", str(tmp_path / "g"), "--only", "clinic", "--accept", "clinic/runs/*"]) == 0
