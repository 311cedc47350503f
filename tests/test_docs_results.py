"""The reference explains every table and column of a results folder."""

from functools import partial

import pandas as pd
import pytest
from documented import unexplained, write_files_of

import reidsim

# Studies by the page with the scenario's files. The examples of all pages are checked in tests/test_docs.py.
STUDIES = {
    "how-to/agents.md": partial(reidsim.run, "six.toml"),
    "how-to/masking.md": partial(reidsim.run, "own.toml"),
    "how-to/full-domain.md": partial(reidsim.run, "ward.toml"),
    "explanation/dynamic-release.md": partial(reidsim.run, "dynamic-release"),
    "explanation/participation.md": partial(reidsim.run, "guo2023"),
    "reference/results.md": partial(reidsim.run, "wan2015"),
    "explanation/sequential.md": partial(
        reidsim.run, "xia2015", overrides={"figures.sequential.file_attack.budget": 3}
    ),
    "explanation/knowledge.md": partial(
        reidsim.run,
        "xia2021",
        overrides={"release.sizes": [50, 1000], "release.samples": 2, "attack": {"gain": 100, "cost": 1}},
    ),
    "how-to/batches.md": partial(
        reidsim.run, "valley.toml", overrides={"replications": 2, "sweep.values": {"economics.loss": [100, 200]}}
    ),
    "how-to/stress.md": partial(
        reidsim.stress,
        "town.toml",
        overrides={"stress.sensitivity.samples": 4, "stress.robustness": {}, "uncertainty.samples": 5},
    ),
    "how-to/failures.md": partial(reidsim.stress, "town.toml", overrides={"uncertainty.samples": 5}),
    "how-to/mistakes.md": partial(reidsim.stress, "town.toml"),
    "how-to/cross-play.md": partial(
        reidsim.cross_play, "clinic.toml", overrides={"safe_harbor": {"age": "age"}}, double_oracle="zero-sum"
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("page", STUDIES)
def test_tables_and_columns_of_results_are_explained(page, tmp_path, monkeypatch):
    """Describe a new column in tools/reference_pages/tables.toml, then run `python tools/reference.py`."""
    monkeypatch.chdir(tmp_path)
    write_files_of(page, tmp_path)
    assert unexplained(STUDIES[page]().save(tmp_path / "results")) == set()


def test_a_new_column_or_table_needs_an_explanation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files_of("how-to/full-domain.md", tmp_path)
    folder = STUDIES["how-to/full-domain.md"]().save(tmp_path / "results")
    assert unexplained(folder) == set()
    optima = pd.read_parquet(folder / "optima.parquet")
    optima[["policy"]].to_parquet(folder / "best.parquet")
    optima.assign(novelty=1).to_parquet(folder / "optima.parquet")
    assert unexplained(folder) == {("best.parquet", "policy"), ("optima.parquet", "novelty")}
