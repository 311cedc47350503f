"""The page on stress tests describes every table, column, figure and output, and nothing else."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from documented import parts
from found import at_least

from reidsim.engine.stress.result import TABLES
from reidsim.engine.stress.run import stress
from reidsim.reports.illustration import illustrate

REPOSITORY = Path(__file__).resolve().parents[1]
TEXT = (REPOSITORY / "docs" / "stress.md").read_text(encoding="utf-8")


def names_in(rows):
    return re.findall(r"`([\w/.-]+)`", "".join(rows))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Stress the page's own town; return the result and its folder."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    result = stress(folder / "town.toml", overrides={"stress.sensitivity.samples": 4, "uncertainty.samples": 5})
    return result, result.save(folder / "all", illustrate=illustrate)


def described_files():
    """Return the names of files under Results and in the headings of its tables."""
    return re.findall(r"`([\w/-]+\.(?:json|parquet|png))`", TEXT.partition("\n## Results\n")[2])


@pytest.mark.deep
def test_every_table_and_column_is_described(everything):
    result, _ = everything
    assert set(result.tables) == set(TABLES)
    outputs = {"publisher_payoff", "share_attacked", "risk_quantile"}
    keys = {"economics.loss", "economics.cost"}
    for name, table in result.tables.items():
        text = parts(TEXT)[f"{name}.parquet"]
        first = re.findall(r"^- (.+?): ", text, re.MULTILINE)
        named, generic = set(names_in(first)), " ".join(cell for cell in first if "`" not in cell)
        columns = set(table.columns) - (keys if "key paths" in generic else set())
        assert named == columns - (outputs if "outputs" in generic else set()), name


@pytest.mark.deep
def test_every_file_is_described(everything):
    _, folder = everything
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    assert set(described_files()) == files
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
