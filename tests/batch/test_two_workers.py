"""A dask cluster whose workers see other scenario files over TCP."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import reidsim
from reidsim.core.errors import InputError

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town"
# This worker sees another disk at the folder, with another file of the scenario's name.
HIDDEN = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
          'mount -t tmpfs none "$0" && echo other > "$0/patients.csv" && exec "$@"']  # fmt: skip
pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not shutil.which("unshare")
        or subprocess.run([*HIDDEN[:4], "true"], capture_output=True, check=False).returncode,
        reason="no folder can be hidden from a process",
    ),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Yield a scheduler's address and two folders; its workers see only the second."""
    pytest.importorskip("distributed")
    here = tmp_path_factory.mktemp("here")
    folders = [here / "hidden", here / "shared"]
    for folder in folders:
        shutil.copytree(TOWN, folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    scheduler = ["distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", address, "--no-dashboard", "--no-nanny", "--nthreads", "1"]
    started = [
        subprocess.Popen([*before, sys.executable, "-P", "-m", *command], cwd=elsewhere,
                         env={**os.environ, "PYTHONPATH": str(Path(reidsim.__file__).parents[1])},
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for before, command in (([], scheduler), *[([*HIDDEN, str(folders[0])], worker)] * 2)
    ]  # fmt: skip
    try:
        wait_for_two(address)
        yield address, *folders
    finally:
        for process in started:
            process.kill()
            process.wait()


def wait_for_two(address):
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)


def test_workers_that_see_other_files_or_no_module_are_refused(cluster, tmp_path, monkeypatch):
    address, hidden, shared = cluster
    sweep = {"sweep.values": {"economics.loss": [30, 60]}}
    with pytest.raises(InputError, match=r"a dask worker lacks files or has different files: .*patients\.csv"):
        reidsim.run_batch(hidden / "town.toml", overrides=sweep, executor="dask", scheduler=address)
    # A module on the path of this process only.
    (tmp_path / "elsewhere.py").write_text(
        "from reidsim.adversaries.response import OneShotAdversary as careful\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    changes = {"adversary.planner": "elsewhere:careful", **sweep}
    with pytest.raises(InputError, match=r"adversary\.planner: a dask worker lacks a component"):
        reidsim.run_batch(shared / "town.toml", overrides=changes, allow_code=True, executor="dask", scheduler=address)
