"""The documentation explains every table and column of a results folder."""

import pandas as pd
import pytest
from documented import names_explained, write_files_of

import reidsim
from reidsim.reports.python import illustrate

# By the page with the scenario's files: sections of reference/result-tables.md, command, scenario, changes.
STUDIES = {
    "how-to/agents.md": (["Rounds of agents"], reidsim.run, "six.toml", {}),
    "how-to/masking.md": (["Masking game"], reidsim.run, "own.toml", {}),
    "how-to/full-domain.md": (["Full-domain game"], reidsim.run, "ward.toml", {}),
    "explanation/dynamic-release.md": (["Cases over time"], reidsim.run, "dynamic-release", {}),
    "explanation/participation.md": (["Joining a genomic database"], reidsim.run, "guo2023", {}),
    "reference/results.md": ([], reidsim.run, "wan2015", {}),
    "explanation/sequential.md": ([], reidsim.run, "xia2015", {"figures.sequential.file_attack.budget": 3}),
    "explanation/knowledge.md": (
        ["Background knowledge"],
        reidsim.run,
        "xia2021",
        {"release.sizes": [50, 1000], "release.samples": 2, "attack": {"gain": 100, "cost": 1}},
    ),
    "how-to/batches.md": (
        [],
        reidsim.run,
        "valley.toml",
        {"replications": 2, "sweep.values": {"economics.loss": [100, 200]}},
    ),
    "how-to/stress.md": (
        ["Stress tests"],
        reidsim.stress,
        "town.toml",
        {"stress.sensitivity.samples": 4, "uncertainty.samples": 5},
    ),
    "how-to/failures.md": (["Stress tests"], reidsim.stress, "town.toml", {"uncertainty.samples": 5}),
    "how-to/cross-play.md": (["Cross-play"], reidsim.cross_play, "clinic.toml", {"safe_harbor": {"age": "age"}}),
}


@pytest.mark.deep
@pytest.mark.parametrize("page", STUDIES)
def test_tables_and_columns_of_results_are_explained(page, tmp_path, monkeypatch):
    sections, command, scenario, overrides = STUDIES[page]
    monkeypatch.chdir(tmp_path)
    write_files_of(page, tmp_path)
    folder = command(scenario, overrides=overrides).save(tmp_path / "results", illustrate=illustrate)
    explained = names_explained(*sections)
    # Attributes of the records and keys of the scenario are also columns.
    content = (folder / "manifest.json").read_text(encoding="utf-8")
    for path in folder.glob("*.parquet"):
        columns = {column for column in pd.read_parquet(path).columns if "." not in column}
        names = {path.name, *columns} - explained
        unknown = {name for name in names if f'"{name.removeprefix("level ")}"' not in content}
        assert not unknown, path.name
