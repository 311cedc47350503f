"""The page on the game at dataset level describes every key and every column, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from documented import inner_sections, literals, parts, rows_of

import reidsim
from reidsim.reports.illustration import illustrate
from reidsim.scenarios import analysis_schema, design_schema, schema, stress_schema
from reidsim.scenarios.full_domain_schema import FullDomainScenario

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "full-domain.md").read_text(encoding="utf-8")
# Sections that are the same in every scenario are described with them.
ELSEWHERE = tuple(module.__name__ for module in (analysis_schema, design_schema, schema, stress_schema))


def headings(model, path=""):
    """Yield each section of this game and the heading under which the page has to describe it."""
    yield (f"[{path}]" if path else "Top level"), model
    for name, field in model.model_fields.items():
        key = f"{path}.{name}".lstrip(".")
        for inner in inner_sections(field.annotation):
            if inner.__module__ in ELSEWHERE:
                continue
            if getattr(field.annotation, "__origin__", None) is dict:
                yield from headings(inner, f"{key}.NAME")
            elif "rule" in inner.model_fields:
                yield 'rule = "table"', inner
            else:
                yield from headings(inner, key)


def default_shown(field):
    if field.is_required():
        return {"required"}
    default = field.default
    if default is None or default in ((), {}):
        return {"none"}
    if inner_sections(field.annotation):
        return {"none", "its defaults"}
    return {f"`{json.dumps(default)}`"}


SECTIONS = dict(headings(FullDomainScenario))


@pytest.mark.parametrize("heading", SECTIONS)
def test_keys_of_a_section(heading):
    rows, fields = rows_of(parts(TEXT)[heading], "key"), SECTIONS[heading].model_fields
    keys = {f"`{field.alias or name}`" for name, field in fields.items()}
    # Keys that all scenarios have may be described with them only.
    elsewhere = {f"`{name}`" for name in schema.ScenarioHead.model_fields} if "`game`" in keys else set()
    assert keys - elsewhere <= set(rows) <= keys
    for name, field in fields.items():
        if f"`{field.alias or name}`" not in rows:
            continue
        kind, default, meaning = rows[f"`{field.alias or name}`"]
        assert default in default_shown(field), name
        assert meaning, name
        assert all(f'`"{value}"`' in kind for value in literals(field.annotation)), name


def test_no_other_section_is_described():
    assert {heading for heading, text in parts(TEXT).items() if rows_of(text, "key")} == set(SECTIONS)


def test_policies_are_described():
    policies = literals(SECTIONS["[publisher]"].model_fields["policies"].annotation)
    rows = "".join(rows_of(parts(TEXT)["The model"], "policy"))
    assert set(re.findall(r"`([\w-]+)`", rows)) == policies


def test_tables_figures_and_the_manifest(tmp_path, monkeypatch):
    for name, text in re.findall(r'^```\w+ title="(ward[.]\w+|age.csv)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    changes = {"analysis.curves": {"loss": {"values": [1, 2]}}, "analysis.runtimes": {"loss": [1]}}
    result = reidsim.run("ward.toml", set=changes)
    described = {
        file.strip("`").removesuffix(".parquet"): rows_of(text, "column")
        for heading, text in parts(TEXT).items()
        for file in heading.split(" and ")
        if file.endswith(".parquet")
    }
    assert set(described) == set(result.analysis.tables())
    for name, table in result.analysis.tables().items():
        columns = re.findall(r"`(\w+)`", "".join(described[name]))
        assert sorted(columns) == sorted(set(table.columns) - {"age", "sex"}), name
    folder = result.save("out", illustrate=illustrate)
    for path in (folder / "figures").iterdir():
        assert f"`{path.name.replace('-loss', '-PARAMETER')}`" in parts(TEXT)["Results"]
    manifest = json.loads((folder / "manifest.json").read_text())
    common = {"scenario", "scenario_hash", "seed", "content", "versions", "timings_seconds", "figures", "warnings"}
    common |= {"release_file"}
    for key in (set(manifest) - common - {"policies"}) | set(manifest["policies"]["basic"]):
        assert f"`{key}`" in parts(TEXT)["Results"], key
