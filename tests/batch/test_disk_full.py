"""A disk that is really full: no completed run is lost, and the batch can resume."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tiers import cases

from reidsim.engine.batch import read_runs
from reidsim.engine.batch.batch_run import run_batch_loaded
from reidsim.engine.batch.executors.choice import SerialExecutor
from reidsim.engine.batch.tasks import attempt
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
TABLES = ("runs", "statistics", "differences", "distributions")
RUNS = 30
PAGE, PAGES = 4096, 64


@pytest.fixture
def disk(tmp_path):
    """Return a folder mounted as a separate 256 KiB disk in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or os.sysconf("SC_PAGE_SIZE") != PAGE:
        pytest.skip("there is no program mount, or memory has pages of another size")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={PAGE * PAGES}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no disk may be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(scope="module")
def loaded():
    return load_scenario(TOWN, {"sweep.values": {"economics.loss": {"from": 1, "to": 200, "points": RUNS}}})


@pytest.fixture(scope="module")
def plain(loaded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain") / "out"
    run_batch_loaded(loaded, SerialExecutor(), folder=folder)
    return tables_of(folder)


def tables_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


class InGroups:
    """Executes runs in this process and returns outcomes in groups of seven."""

    def __init__(self):
        self.runs = 0

    def execute(self, work, tasks):
        for start in range(0, len(tasks), 7):
            group = [attempt(work, task) for task in tasks[start : start + 7]]
            self.runs += len(group)
            yield group


# Number of free pages, and of runs kept with so many. The manifest does not fit, some runs fit, or the tables do not.
@pytest.mark.parametrize(
    ("free", "least", "most"), cases([(0, 0, 0), (5, 1, RUNS - 1), (14, RUNS, RUNS)], [(5, 1, RUNS - 1)])
)
def test_a_batch_on_a_full_disk_goes_on_once_there_is_room(disk, loaded, plain, free, least, most):
    ballast, out = disk / "ballast", disk / "out"
    ballast.write_bytes(bytes(PAGE * (PAGES - free)))
    how = "begin again; no run has ended yet"
    if least:
        how = "repeat the command, a batch with --resume; runs that ended are kept"
    with pytest.raises(InputError, match=rf"out: the disk is full \(make room and {how}\)$"):
        run_batch_loaded(loaded, InGroups(), folder=out)
    assert [path.name for path in disk.iterdir() if path != ballast] == (["out"] if least else [])
    kept = 0
    if least:
        assert sorted(path.name for path in out.iterdir()) == ["journal.jsonl", "manifest.json"]
        assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["state"] == "running"
        kept = read_runs(out)["point"].nunique()
        # The disk is still full, and nothing is lost.
        with pytest.raises(InputError, match="the disk is full"):
            run_batch_loaded(loaded, InGroups(), folder=out, resume=True)
        assert read_runs(out)["point"].nunique() >= kept
        kept = read_runs(out)["point"].nunique()
    assert least <= kept <= most
    ballast.unlink()
    executor = InGroups()
    run_batch_loaded(loaded, executor, folder=out, resume=bool(least))
    assert executor.runs == RUNS - kept
    assert tables_of(out) == plain
