"""The page on batches describes every distribution and every column, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from documented import assert_columns_are_described, inner_sections, literals, parts, tables_described

import reidsim
from reidsim.engine.batch.executors.choice import EXECUTORS
from reidsim.scenarios.design_schema import UncertaintySection

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "batches.md").read_text(encoding="utf-8")


def test_distributions_are_described():
    annotation = UncertaintySection.model_fields["parameters"].annotation
    kinds = {
        kind for model in inner_sections(annotation) for kind in literals(model.model_fields["distribution"].annotation)
    }
    text = parts(TEXT)["[uncertainty]"].partition("```toml")[0]
    assert set(re.findall(r'`"([\w-]+)"`', text)) == kinds


def test_executors_are_described():
    text = parts(TEXT)["Where runs are done"]
    assert re.findall(r"^- `(\w+)`: ", text, re.MULTILINE) == list(EXECUTORS)


@pytest.mark.deep
def test_tables_and_the_manifest(tmp_path, monkeypatch):
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    changes = {"replications": 2, "sweep.values": {"economics.loss": [100, 200]}}
    result = reidsim.run_batch("valley.toml", overrides=changes, executor="serial", folder="out")
    described = tables_described(parts(TEXT)["Results"])
    assert set(described) == {"runs", *result.analysis.tables()}
    for name, table in {"runs": result.runs, **result.analysis.tables()}.items():
        assert_columns_are_described(described[name], set(table.columns) - {"economics.loss"})
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    ordinary = {"scenario", "scenario_hash", "seed", "content", "origins", "versions", "timings_seconds", "figures",
                "warnings"}  # fmt: skip
    for key in set(manifest) - ordinary:
        assert f"`{key}`" in parts(TEXT)["Results"], key
