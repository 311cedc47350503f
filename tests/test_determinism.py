"""Equal seeds give equal bytes across hash orders, Python and numpy versions.

The batch tests check equality between one process, several processes and a dask cluster.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from found import at_least

REPOSITORY = Path(__file__).resolve().parents[1]
# Small runs of tools/golden_cases.py: kinds of scenarios, random draws, replications, agents.
CASES = ["wan2015-replications", "xia2021", "wan2021", "guo2023", "market-sampling", "clinic-sensitive"]
# Environments next to this one, for example with Python 3.12 and numpy 2.5, if installed.
OTHERS = sorted(path for path in Path(sys.prefix).parent.glob("*/bin/python") if path.parents[1] != Path(sys.prefix))
pytestmark = pytest.mark.deep


def tables_of(python, folder, hash_seed):
    """Run the cases in a separate process and return their tables by file."""
    command = [python, REPOSITORY / "tools" / "golden.py", "write", folder, "--only", *CASES]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONHASHSEED": hash_seed, "MPLBACKEND": "Agg"}
    compiled = Path(python).parents[1] / "numba"
    if compiled.is_dir():  # Continuous integration keeps each environment's compiled kernels here.
        environment["NUMBA_CACHE_DIR"] = str(compiled)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.relative_to(folder): pd.read_parquet(path) for path in at_least(16, sorted(folder.rglob("*.parquet")))}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tables_of(sys.executable, tmp_path_factory.mktemp("here") / "golden", "0")


def assert_same_bytes(one, other):
    assert set(one) == set(other)
    for file, table in one.items():
        assert list(table.columns) == list(other[file].columns)
        for name, column in table.items():
            again = other[file][name]
            assert column.dtype == again.dtype, (file, name)
            if isinstance(column.dtype, np.dtype) and column.dtype != object:
                assert column.to_numpy().tobytes() == again.to_numpy().tobytes(), (file, name)
            else:
                assert column.equals(again), (file, name)


def able():
    """Return the other environments that have the dependencies of reidsim."""
    needed = "import pandas, numba, mesa, rich"
    return [
        python
        for python in OTHERS
        if not subprocess.run([python, "-c", needed], capture_output=True, check=False).returncode
    ]


def test_hashing_in_another_order(here, tmp_path):
    if able():
        pytest.skip("the other environments hash in another order")
    assert_same_bytes(here, tables_of(sys.executable, tmp_path / "golden", "1"))


def test_another_python_and_numpy(here, tmp_path):
    others = able()
    if not others:
        pytest.skip("no other environment beside this one has what reidsim needs")
    for python in others:
        assert_same_bytes(here, tables_of(python, tmp_path / python.parents[1].name, "1"))
