"""A read-only installation, used by a person without a writable home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def populated(installation, path, environment):
    """Return the population that the command writes to a file, as an installation makes it."""
    environment = {**os.environ, **environment, "PYTHONPATH": str(installation)}
    command = [sys.executable, "-m", "reidsim", "populate", "tennessee-2010", "-o", path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    return pd.read_parquet(path)


@pytest.mark.deep
def test_population_is_the_same_without_a_folder_for_compiled_code(tmp_path, reidsim_):
    for part in ("reidsim", "populations"):
        shutil.copytree(REPOSITORY / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    # A file instead of each folder of compiled code: permissions would not stop an administrator.
    for folder, _, _ in os.walk(tmp_path / "reidsim"):
        Path(folder, "__pycache__").touch()
    unwritable = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), os.devnull)
    alone = {**unwritable, "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    made = populated(tmp_path, tmp_path / "made.parquet", alone)
    assert len(made) > 0
    assert reidsim_("populate", "tennessee-2010", "-o", tmp_path / "expected.parquet")[0] == 0
    assert made.equals(pd.read_parquet(tmp_path / "expected.parquet"))
