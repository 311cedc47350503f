"""The page on full-domain generalization describes every table, column and figure, and nothing else."""

import json
import re

import pytest
from documented import DOCS, assert_columns_are_described, parts, tables_described
from found import at_least

import reidsim
from reidsim.reports.illustration import illustrate

TEXT = (DOCS / "full-domain.md").read_text(encoding="utf-8")


@pytest.mark.deep
def test_tables_figures_and_the_manifest(tmp_path, monkeypatch):
    for name, text in re.findall(r'^```\w+ title="(ward[.]\w+|age.csv)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    result = reidsim.run("ward.toml")
    described = tables_described(parts(TEXT)["Results"])
    # How many are re-identified is described in docs/results.md.
    tables = {name: table for name, table in result.analysis.tables().items() if name != "reidentified"}
    assert set(described) == set(tables)
    for name, table in tables.items():
        assert_columns_are_described(described[name], set(table.columns) - {"age", "sex"})
    folder = result.save("out", illustrate=illustrate)
    # Nor what is drawn of every run.
    of_any = {folder / "figures" / f"{name}.png" for name in ("payoffs", "risks", "reidentified")}
    for path in at_least(1, {*(folder / "figures").iterdir()} - of_any):
        assert f"`{path.name}`" in parts(TEXT)["Results"]
    manifest = json.loads((folder / "manifest.json").read_text())
    every = parts((DOCS / "results.md").read_text(encoding="utf-8"))["manifest.json"]
    for key in {*manifest, *manifest["policies"]["basic"]}:
        assert f"`{key}`" in every, key
