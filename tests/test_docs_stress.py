"""The page on stress tests describes every table, column, figure and output, and nothing else."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from documented import assert_columns_are_described, parts, tables_described
from found import at_least

from reidsim.engine.stress.run import TABLES, stress
from reidsim.reports.illustration import illustrate

REPOSITORY = Path(__file__).resolve().parents[1]
TEXT = (REPOSITORY / "docs" / "stress.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Stress the page's own town; return the result and its folder."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    result = stress(folder / "town.toml", overrides={"stress.sensitivity.samples": 4, "uncertainty.samples": 5})
    return result, result.save(folder / "all", illustrate=illustrate)


@pytest.mark.deep
def test_every_table_and_column_is_described(everything):
    result, _ = everything
    assert set(result.tables) == set(TABLES)
    outputs_and_keys = {"publisher_payoff", "share_attacked", "risk_quantile", "economics.loss", "economics.cost"}
    described = tables_described(parts(TEXT)["Results"])
    assert set(described) == set(result.tables)
    for name, table in result.tables.items():
        assert_columns_are_described(described[name], set(table.columns) - outputs_and_keys)


@pytest.mark.deep
def test_every_file_is_described(everything):
    _, folder = everything
    files = {path.name for path in folder.rglob("*.*")} - {"manifest.json"}
    assert set(re.findall(r"`([\w-]+\.(?:parquet|png))`", parts(TEXT)["Results"])) == files
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert {"points", "failed_points", "figures", "warnings"} <= set(manifest)
    assert manifest["points"] == {
        "sensitivity": 16, "robustness": 5, "belief_curves": 20, "policy_map": 40,
    }  # fmt: skip


@pytest.mark.deep
def test_same_bytes_of_tables_and_figures(everything, tmp_path):
    result, folder = everything
    again = result.save(tmp_path / "again", illustrate=illustrate)
    for path in at_least(9, folder.rglob("*.p*")):
        assert path.read_bytes() == (again / path.relative_to(folder)).read_bytes(), path.name
    assert pd.read_parquet(again / "boxes.parquet").equals(result.tables["boxes"])


def test_the_page_is_linked():
    assert "](stress.md)" in (REPOSITORY / "docs" / "index.md").read_text(encoding="utf-8")
    assert ": stress.md" in (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
