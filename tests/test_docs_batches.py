"""The page on batches describes every key and every column, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from documented import inner_sections, literals, parts, rows_of

import reidsim
from reidsim.experiments.batch.executors.choice import EXECUTORS
from reidsim.scenarios.design_schema import SweepSection, UncertaintySection

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "batches.md").read_text(encoding="utf-8")


def headings(model, path):
    """Yield each section of a design and the heading under which the page has to describe it."""
    yield f"[{path}]", model
    for name, field in model.model_fields.items():
        for inner in inner_sections(field.annotation):
            if "distribution" in inner.model_fields:
                (kind,) = literals(inner.model_fields["distribution"].annotation)
                yield f'distribution = "{kind}"', inner
            elif getattr(field.annotation, "__origin__", None) is dict:
                yield from headings(inner, f"{path}.{name}.KEY")
            else:
                yield from headings(inner, f"{path}.{name}")


SECTIONS = dict([*headings(SweepSection, "sweep"), *headings(UncertaintySection, "uncertainty")])


def default_shown(field):
    if field.is_required():
        return "required"
    return "none" if field.default in (None, (), {}) else f"`{json.dumps(field.default)}`"


@pytest.mark.parametrize("heading", SECTIONS)
def test_keys_of_a_section(heading):
    rows, fields = rows_of(parts(TEXT)[heading], "key"), SECTIONS[heading].model_fields
    assert set(rows) == {f"`{field.alias or name}`" for name, field in fields.items()}
    for name, field in fields.items():
        kind, default, meaning = rows[f"`{field.alias or name}`"]
        assert default == default_shown(field), name
        assert meaning, name
        assert all(f'`"{value}"`' in kind for value in literals(field.annotation)), name


def test_no_other_section_is_described():
    described = {heading for heading, text in parts(TEXT).items() if rows_of(text, "key")}
    assert described == {*SECTIONS, "Results"}


def test_executors_are_described():
    text = parts(TEXT)["Where runs are done"]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(EXECUTORS)


def test_tables_and_the_manifest(tmp_path, monkeypatch):
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    changes = {"replications": 2, "sweep.values": {"economics.loss": [100, 200]}}
    result = reidsim.run_batch("valley.toml", set=changes, executor="serial", folder="out")
    common = {"economics.loss", *parts(TEXT)}
    for name, table in {"runs": result.runs, **result.analysis.tables()}.items():
        rows = rows_of(parts(TEXT)[f"{name}.parquet"], "column")
        columns = set(re.findall(r"`(\w+)`", "".join(rows)))
        if name == "runs":
            columns |= set(result.summary.columns)
        if name == "differences":
            shared = re.findall(r"`(\w+)`", "".join(rows_of(parts(TEXT)["statistics.parquet"], "column")))
            columns |= set(shared[: shared.index("high") + 1])
        assert set(table.columns) - common == columns, name
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    ordinary = {"scenario", "scenario_hash", "seed", "content", "versions", "timings_seconds", "figures", "warnings"}
    keys = {key.strip("`") for key in rows_of(parts(TEXT)["Results"], "key")}
    assert set(manifest) - ordinary == keys
