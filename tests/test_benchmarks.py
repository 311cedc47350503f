"""Every benchmark starts from the repository root and lists missing requirements."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "benchmarks"
# Modules imported by benchmarks and not run by themselves.
SHARED = ("figures", "instant_runs", "memory", "needs")
# Placeholder for a folder of the test.
OUTPUT = "OUTPUT"
# Settings with which each benchmark ends within seconds.
SMALL = {
    "all": [
        *("--only", "reidentified", "--divisor", "100", "--output", OUTPUT),
        *("--grow", "wan2015.growth_in_records", "agents.growth_in_subjects", "dataset_level.growth_in_rows"),
        *("masking.growth_in_subjects", "knowledge.growth_in_people", "populations.growth", "batches.growth_in_runs"),
    ],
    "agents": ["--subjects", "2000", "--repeats", "1", "--sample", "20"],
    "batches": ["--tiny", "100", "--medium", "2", "--replications", "2", "--many", "200", "--skip-dask"],
    "columns": ["--records", "2000", "--sample", "2"],
    "cross_play": ["--runs", "10", "--games", "1"],
    "dataset_level": [
        *("--table", "adult-arx-sample", "--amounts", "300"),
        *("--repeats", "1", "--sample", "1", "--skip-regions"),
    ],
    "directions": ["--records", "400", "--sample", "5"],
    "erring": ["--table", "prasser2017", "--precisions", "0.1", "--targets", "20", "--repeats", "1"],
    "first_minute": ["--repeats", "1", "--rows", "500"],
    "fmdp": ["--sample", "1"],
    "knowledge": ["--sample", "1", "--trials", "2", "--largest", "2000"],
    "lists": ["--people", "20000", "--sample", "200", "--records", "50", "--plain-records", "1"],
    "masking": ["--targets", "100", "--loci", "8", "--sample", "1", "--skip-growth"],
    "one_world": ["--rounds", "1"],
    "populations": ["--skip-engines", "--skip-growth", "--largest", "100000"],
    "populations_national": ["--sample", "100", "--largest", "100000"],
    "reidentified": ["--attempts", "20000", "--sample", "1000", "--repeats", "1"],
    "releases": ["--records", "2000", "--people", "5000", "--waves", "5", "--sample", "5"],
    "serve": ["--scenario", "market", "--changes", "1"],
    "stress": ["--points", "2"],
    "threads": ["--targets", "300", "--repeats", "1"],
    "wan2015": [
        *("--repeats", "1", "--grid", "10"),
        *("--sample-records", "1", "--sample-points", "1", "--skip-growth"),
    ],
}


def _loaded(name, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_explains_itself_and_starts_nothing(name, monkeypatch, capsys):
    module = _loaded(name, monkeypatch)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {name}.py")


@pytest.mark.deep
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_from_the_root_of_the_repository(name, tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(
        [sys.executable, f"benchmarks/{name}.py", *(str(tmp_path) if each == OUTPUT else each for each in SMALL[name])],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if name == "serve" and done.returncode == 2 and os.environ.get("REIDSIM_BROWSER") != "required":
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert any(character.isdigit() for character in done.stdout)
    if name == "all":
        page = (tmp_path / "performance.md").read_text(encoding="utf-8")
        assert "**`reidentified.py`**" in page
        assert (tmp_path / "figures" / "performance-growth.png").stat().st_size > 10_000
