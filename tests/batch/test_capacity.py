"""The number of processes that a computer can run; none outlives its parent."""

import io
import os
import pickle
import random
import subprocess
import sys
import time

import pytest
from tiers import cases

from reidsim.core.errors import InputError
from reidsim.core.files import free_memory
from reidsim.engine.batch import executors, worker

GIB = 1024**3


def computer(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


MEMINFO = "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        ({"proc/meminfo": MEMINFO}, 8 * GIB),
        # A version 2 control group, seen from a container, and a limit of a parent group.
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/\n",
                "sys/fs/cgroup/memory.max": f"{3 * GIB}\n",
                "sys/fs/cgroup/memory.current": f"{GIB}\n",
            },
            2 * GIB,
        ),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/jobs/mine\n",
                "sys/fs/cgroup/jobs/memory.max": f"{GIB}\n",
                "sys/fs/cgroup/jobs/memory.current": f"{2 * GIB}\n",
                "sys/fs/cgroup/jobs/mine/memory.max": "max\n",
                "sys/fs/cgroup/jobs/mine/memory.current": f"{GIB}\n",
            },
            0,
        ),
        # A version 1 control group, in which a very large number means no limit.
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "4:cpu,memory:/a\n1:name=systemd:/a\n",
                "sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{GIB}\n",
                "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "1\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
            },
            GIB - 1,
        ),
    ],
)
def test_free_memory_is_the_least_that_anybody_leaves(tmp_path, files, free):
    assert free_memory(computer(tmp_path, files)) == free


@pytest.mark.parametrize(
    ("cores", "free", "default", "refused"),
    [(8, 64 * GIB, 8, 9), (2, 64 * GIB, 2, 5), (8, GIB, 3, 4), (8, 0, 1, 2), (8, None, 8, 9)],
)
def test_processes_are_limited_by_cores_and_memory(monkeypatch, cores, free, default, refused):
    monkeypatch.setattr(executors, "available_cores", lambda: cores)
    monkeypatch.setattr(executors, "free_memory", lambda: free)
    monkeypatch.setattr(executors, "_resident", lambda: 0)
    assert executors.default_workers() == default
    executors.executor_named("processes", workers=refused - 1)
    with pytest.raises(InputError, match=rf"too many processes; found {refused}; expected at most {refused - 1}"):
        executors.executor_named("processes", workers=refused)


# The worker inherits the parent's standard input, which the test holds open. The closing of this input is therefore not
# tested.
PARENT = """
import os, subprocess, sys, time
print(subprocess.Popen([sys.executable, "-P", sys.argv[1], str(os.getpid())]).pid, flush=True)
time.sleep(3600)
"""


def is_there(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("moment", cases(range(8), range(2)))
def test_a_worker_ends_with_its_parent_at_any_moment_of_its_start(moment):
    wait = random.Random(moment).uniform(0, 0.4)  # noqa: S311 - moments
    command = [sys.executable, "-c", PARENT, worker.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        started = int(parent.stdout.readline())
        time.sleep(wait)
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 2
        while is_there(started):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_worker_whose_parent_is_gone_ends_at_once():
    ended = subprocess.run(
        [sys.executable, "-P", worker.__file__, "1"], stdin=subprocess.DEVNULL, timeout=10, check=False
    )
    assert ended.returncode == 1


def test_output_of_a_run_is_no_message_of_its_worker(tmp_path):
    batch = tmp_path / "reidsim" / "engine" / "batch"
    batch.mkdir(parents=True)
    for package in (batch, batch.parent, batch.parent.parent):
        (package / "__init__.py").touch()
    # In place of the package, which takes long to import.
    program = "def attempt(work, task):\n    print('noise', flush=True)\n    return work + task\n"
    (batch / "design.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "-P", worker.__file__, str(os.getpid())],
        input=b"".join(pickle.dumps(message) for message in (10, 1, 2)),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    output = io.BytesIO(ended.stdout)
    messages = [pickle.load(output) for _ in range(3)]  # noqa: S301 - written by the worker
    assert messages == [worker.READY, 11, 12]
    assert output.read() == b""
    assert ended.stderr.split() == [b"noise"] * 2
