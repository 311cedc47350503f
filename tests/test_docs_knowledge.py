"""The page on partial knowledge: every key of risk scenarios and knowledge recipes and every column of results."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from documented import inner_sections, literals
from pydantic.fields import FieldInfo

import reidsim
from reidsim.adversaries.knowledge.recipe import KnowledgeRecipe, SourceSection
from reidsim.bundled import bundled_names
from reidsim.reports.illustration import illustrate
from reidsim.scenarios import design_schema, stress_schema
from reidsim.scenarios.risk_schema import RiskScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import Section

PAGE = Path(__file__).resolve().parents[1] / "docs" / "knowledge.md"


def parts() -> dict[str, str]:
    """The text under each heading of the page."""
    pieces = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {piece.splitlines()[0].replace("`", ""): piece for piece in pieces}


def rows(text: str, first: str) -> dict[str, list[str]]:
    """Cells by key of the tables whose first column is called `first`; a first cell may hold several keys."""
    found: dict[str, list[str]] = {}
    in_table = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        in_table = bool(cells) and (in_table or cells[0] == first)
        if in_table and cells[0].startswith("`"):
            found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[1:])
    return found


def shown_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ((), {}) or inner_sections(field.annotation):
        return "none"
    return f"`{json.dumps(default)}`"


def check(heading: str, model: type[Section]) -> None:
    documented = rows(parts()[heading], "key")
    # Keys that all scenarios have may be described with them only.
    elsewhere = set(ScenarioHead.model_fields) if issubclass(model, ScenarioHead) else set()
    assert set(model.model_fields) - elsewhere <= set(documented) <= set(model.model_fields), heading
    for key, field in model.model_fields.items():
        if key not in documented:
            continue
        kind, default, _ = documented[key]
        assert default == shown_default(field), f"{heading}: {key}"
        if not inner_sections(field.annotation):
            for value in literals(field.annotation):
                assert f'`"{value}"`' in kind, f"{heading}: {key} can be {value}"


def sections_below(model: type[Section], path: str = "") -> Iterator[tuple[str, type[Section]]]:
    for name, field in model.model_fields.items():
        for inner in inner_sections(field.annotation):
            if inner.__module__ in (design_schema.__name__, stress_schema.__name__):
                continue
            named = ".NAME" if str(field.annotation).startswith("dict") else ""
            yield f"[{path}{name}{named}]", inner
            yield from sections_below(inner, f"{path}{name}{named}.")


def test_every_key_of_a_risk_scenario_is_documented():
    check("Top level of a risk scenario", RiskScenario)
    found = dict(sections_below(RiskScenario))
    for heading, model in found.items():
        check(heading, model)
    assert {heading for heading in parts() if re.match(r"\[[a-z]", heading)} == set(found)


def test_every_key_of_a_knowledge_recipe_is_documented():
    check("Top level of a knowledge recipe", KnowledgeRecipe)
    kinds = inner_sections(SourceSection)
    for model in kinds:
        (kind,) = literals(model.model_fields["kind"].annotation)
        check(f'kind = "{kind}"', model)
    assert {heading for heading in parts() if heading.startswith("kind =")} == {
        f'kind = "{kind}"' for model in kinds for kind in literals(model.model_fields["kind"].annotation)
    }
    profile = next(model for model in kinds if "profile" in model.model_fields).model_fields["profile"]
    (profile_section,) = inner_sections(profile.annotation)
    check("[[sources.profile]]", profile_section)
    check("groups of a profile", inner_sections(profile_section.model_fields["groups"].annotation)[0])


def test_every_bundled_recipe_is_named():
    text = parts()["Knowledge recipes"]
    assert set(bundled_names("populations/knowledge")) <= set(re.findall(r"`([\w-]+)`", text))


def test_every_file_and_column_of_results_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    capabilities = {name: [0.2, 0.5] for name in ("p_m", "p_fm", "p_cu", "p_c")}
    result = reidsim.run(
        "xia2021",
        set={
            "release.sizes": [50, 100],
            "release.samples": 2,
            "analysis.settings": capabilities,
            "attack": {"gain": 100, "cost": 1},
        },
    )
    folder = result.save(tmp_path / "results", illustrate=illustrate)
    page = PAGE.read_text(encoding="utf-8")
    records = result.records.drop(columns=result.manifest["attributes"])
    tables = {"runs": result.runs, "records": records, **result.analysis.tables()}
    for name, table in tables.items():
        assert set(rows(parts()[f"{name}.parquet"], "column")) == set(table.columns), name
    for path in folder.rglob("*.*"):
        assert f"`{path.name}`" in page, path.name
