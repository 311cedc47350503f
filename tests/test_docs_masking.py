"""The page on the masking game describes every key, policy, table, column and figure, and nothing else."""

import json
import re
from pathlib import Path

import pytest
from documented import inner_sections, literals, parts, rows_of

import reidsim
from reidsim.experiments.masking_policies import SOLVERS
from reidsim.reports.illustration import illustrate
from reidsim.scenarios import agents_schema, analysis_schema, design_schema, schema, stress_schema
from reidsim.scenarios.masking_schema import MaskingScenario
from reidsim.scenarios.schema import RECORD_COLUMNS

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "masking.md").read_text(encoding="utf-8")
# Sections that are the same in every scenario are described with them.
ELSEWHERE = tuple(module.__name__ for module in (agents_schema, analysis_schema, design_schema, schema, stress_schema))
# Columns that docs/results.md describes.
COMMON_RUN_COLUMNS = {
    "scenario", "point", "replication", "policy", "publisher_payoff", "adversary_payoff", "utility",
    "generalization_intensity", "share_attacked", "risk", "risk_if_attacked", "share_unchanged", "share_suppressed",
    "state", "seed",
}  # fmt: skip


def names_in(rows):
    return re.findall(r"`([\w.-]+)`", "".join(rows))


def headings(model, path=""):
    """Yield each section of this game and the heading under which the page has to describe it."""
    yield (path or "Top level"), model
    for name, field in model.model_fields.items():
        key = f"{path.strip('[]')}.{name}".lstrip(".")
        for inner in inner_sections(field.annotation):
            if inner.__module__ in ELSEWHERE:
                continue
            if "stage" in inner.model_fields:
                (stage,) = literals(inner.model_fields["stage"].annotation)
                yield f'stage = "{stage}"', inner
            elif getattr(field.annotation, "__origin__", None) is dict:
                yield from headings(inner, f"[{key}.NAME]")
            elif getattr(field.annotation, "__origin__", None) is tuple:
                yield from headings(inner, f"[[{key}]]")
            else:
                yield from headings(inner, f"[{key}]")


def default_shown(field):
    if field.is_required():
        return "required"
    if field.default is None or field.default in ((), {}):
        return "none"
    return "its defaults" if inner_sections(field.annotation) else f"`{json.dumps(field.default)}`"


SECTIONS = dict(headings(MaskingScenario))


@pytest.mark.parametrize("heading", SECTIONS)
def test_keys_of_a_section(heading):
    rows, fields = rows_of(parts(TEXT)[heading], "key"), SECTIONS[heading].model_fields
    # Keys that all scenarios have may be described with them only.
    assert {name.strip("`") for name in rows} | set(schema.ScenarioHead.model_fields) >= set(fields)
    assert {name.strip("`") for name in rows} <= set(fields)
    for name, field in fields.items():
        if f"`{name}`" not in rows:
            continue
        kind, default, meaning = rows[f"`{name}`"]
        assert kind, name
        assert default == default_shown(field), name
        assert meaning, name
        assert all(f'`"{value}"`' in kind for value in literals(field.annotation)), name


def test_no_other_section_is_described():
    assert {heading for heading, text in parts(TEXT).items() if rows_of(text, "key")} == set(SECTIONS)


@pytest.mark.parametrize(("column", "key"), [("policy", "policies"), ("solver", "solver")])
def test_policies_and_solvers_are_described(column, key):
    described = names_in(rows_of(parts(TEXT)["The subject"], column))
    assert sorted(described) == sorted(literals(SECTIONS["[subjects]"].model_fields[key].annotation))
    if key == "solver":
        assert sorted(described) == sorted(SOLVERS)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Play the page's own files with all that can be worked out besides; return the result and its folder."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    line = {"key": "economics.loss", "values": [100, 200], "replications": 1}
    result = reidsim.run(folder / "own.toml", set={"analysis.lines": [line]})
    return result, result.save(folder / "all", illustrate=illustrate)


def test_every_table_and_column_is_described(everything):
    result, _ = everything
    described = {
        heading.removesuffix(".parquet"): set(names_in(rows_of(text, "column")))
        for heading, text in parts(TEXT).items()
        if heading.endswith(".parquet")
    }
    tables = result.analysis.tables()
    assert set(described) == {*tables, "runs"}
    assert described["runs"] == set(result.runs.columns) - COMMON_RUN_COLUMNS
    for name, table in tables.items():
        assert described[name] == set(table.columns), name
    attributes = result.manifest["content"]["subjects"]["attributes"]
    assert list(result.records.columns) == [*RECORD_COLUMNS, *attributes]


def test_every_file_is_described(everything):
    _, folder = everything
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")}
    described = re.findall(r"`([\w/.-]+)`", "".join(rows_of(parts(TEXT)["Results"], "file")))
    assert sorted(described) == sorted(files - {"manifest.json"})


def test_what_the_manifest_has_that_others_do_not_is_described(everything):
    result, _ = everything
    common = {"scenario", "scenario_hash", "data_hash", "seed", "content", "versions", "timings_seconds", "records"}
    common |= {"release_file"}
    for key in set(result.manifest) - common - {"policies"}:
        assert f"`{key}`" in parts(TEXT)["Results"], key
    assert set(result.manifest["policies"]["masking"]) == {
        "solver", "proved_optimal", "strategies_evaluated_per_record", "withheld",
    }  # fmt: skip


def test_the_page_is_linked():
    docs = Path(__file__).resolve().parents[1]
    assert "](masking.md)" in (docs / "docs" / "index.md").read_text(encoding="utf-8")
    assert ": masking.md" in (docs / "mkdocs.yml").read_text(encoding="utf-8")


def test_numbers_told_in_the_text_are_those_of_the_scenarios():
    """Eleven masked loci of 45 in the case study; twelve loci, 1,000 subjects and 100 draws in the large one."""
    path = reidsim.run("wan2021-case").analysis.search_path
    best = path[path["recommended_by"].str.contains(r"(?:^|, )masking", regex=True)].iloc[0]
    assert (best["masked"], path["shared_loci"].max()) == (11, 45)
    assert "eleven masked loci of 45" in TEXT
    assert "1,000 subjects, 100 draws" in TEXT
