"""The page on the game at dataset level describes every policy and every column, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from documented import parts, rows_of
from found import at_least

import reidsim
from reidsim.kinds.tables.policies import POLICIES
from reidsim.reports.illustration import illustrate

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "full-domain.md").read_text(encoding="utf-8")


def test_policies_are_described():
    policies = set(POLICIES)
    rows = "".join(rows_of(parts(TEXT)["Policies"], "column"))
    assert set(re.findall(r"`([\w-]+)`", rows)) == policies


@pytest.mark.deep
def test_tables_figures_and_the_manifest(tmp_path, monkeypatch):
    for name, text in re.findall(r'^```\w+ title="(ward[.]\w+|age.csv)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    result = reidsim.run("ward.toml")
    described = {
        file.strip("`").removesuffix(".parquet"): rows_of(text, "column")
        for heading, text in parts(TEXT).items()
        for file in heading.split(" and ")
        if file.endswith(".parquet")
    }
    # How many are re-identified is described in docs/results.md.
    tables = {name: table for name, table in result.analysis.tables().items() if name != "reidentified"}
    assert set(described) == set(tables)
    for name, table in tables.items():
        columns = re.findall(r"`(\w+)`", "".join(described[name]))
        assert sorted(columns) == sorted(set(table.columns) - {"age", "sex"}), name
    folder = result.save("out", illustrate=illustrate)
    # Nor what is drawn of every run.
    of_any = {folder / "figures" / f"{name}.png" for name in ("payoffs", "risks", "switch", "reidentified")}
    for path in at_least(1, {*(folder / "figures").iterdir()} - of_any):
        assert f"`{path.name.replace('-loss', '-PARAMETER')}`" in parts(TEXT)["Results"]
    manifest = json.loads((folder / "manifest.json").read_text())
    common = {"scenario", "scenario_hash", "seed", "content", "versions", "timings_seconds", "figures", "warnings"}
    common |= {"release_file", "origins", "expected_losses"}
    for key in (set(manifest) - common - {"policies"}) | set(manifest["policies"]["basic"]):
        assert f"`{key}`" in parts(TEXT)["Results"], key
