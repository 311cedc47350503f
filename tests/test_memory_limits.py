"""Files that promise more than memory, links in results folders, and manifests that somebody changed: one line."""

import bz2
import gzip
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import reidsim
from reidsim import file_sizes, memory
from reidsim.engine.batch.rerun import rerun_one
from reidsim.errors import InputError
from reidsim.reports.page.stored_run import open_results
from reidsim.tables import read_table

TOWN = Path(__file__).parent / "scenarios" / "town"


@pytest.mark.parametrize(("ending", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_file_that_expands_beyond_memory_is_refused(tmp_path, monkeypatch, ending, compress):
    path = tmp_path / f"people.csv{ending}"
    path.write_bytes(compress(b"a\n" + b"1\n" * 10**6))
    assert len(read_table(path)) == 10**6
    for module in (memory, file_sizes):
        monkeypatch.setattr(module, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"too large for memory.*12 MB are needed; expected at most the 1\.0 MB"):
        read_table(path)


def test_a_parquet_file_that_promises_more_than_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"a": ["x"] * 10**6}).to_parquet(path)
    assert path.stat().st_size < 10**5
    monkeypatch.setattr(memory, "free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"too large for memory.*24 MB are needed"):
        read_table(path)


@pytest.fixture
def batch(tmp_path, monkeypatch):
    shutil.copytree(TOWN, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    reidsim.run_batch("town.toml", overrides={"sweep.values": {"economics.loss": [30, 60]}}, folder="out")
    return Path("out")


@pytest.mark.parametrize("name", ["manifest.json", "runs.parquet"])
def test_links_in_a_results_folder_are_not_followed(batch, tmp_path, name):
    (batch / name).rename(tmp_path / name)
    (batch / name).symlink_to(tmp_path / name)
    for use in (open_results, lambda folder: rerun_one(folder, "0/0")):
        with pytest.raises(InputError, match="is a link, which is not followed"):
            use(batch)


def test_a_changed_manifest_or_table_is_told_in_a_line(batch):
    (batch / "runs.parquet").write_bytes(b"PAR1" + bytes(50))
    with pytest.raises(InputError, match="cannot be read"):
        rerun_one(batch, "0/0")
    manifest = json.loads((batch / "manifest.json").read_text())
    (batch / "manifest.json").write_text(json.dumps({**manifest, "content": "x"}))
    with pytest.raises(InputError, match="content: not the manifest of a batch"):
        rerun_one(batch, "0/0")
