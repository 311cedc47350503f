"""The page on partial knowledge: every kind of source, every bundled recipe and every column of results."""

import re
from pathlib import Path

import pytest
from documented import inner_sections, literals
from found import at_least

import reidsim
from reidsim.adversaries.knowledge.recipe import SourceSection
from reidsim.bundled import bundled_names
from reidsim.reports.illustration import illustrate

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
        elif listed := re.match(r"- (`\w+`(?:, `\w+`)*): (.+)", line):
            found |= {key: [listed[2]] for key in re.findall(r"`(\w+)`", listed[1])}
    return found


def test_every_kind_of_source_is_described():
    kinds = {
        kind for model in inner_sections(SourceSection) for kind in literals(model.model_fields["kind"].annotation)
    }
    described = re.findall(r'^\| `"([\w-]+)"` \|', parts()["Knowledge recipes"], re.MULTILINE)
    assert sorted(described) == sorted(kinds)


def test_every_bundled_recipe_is_named():
    text = parts()["Knowledge recipes"]
    assert set(at_least(9, bundled_names("populations/knowledge"))) <= set(re.findall(r"`([\w-]+)`", text))


@pytest.mark.deep
def test_every_file_and_column_of_results_is_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    capabilities = {name: [0.2, 0.5] for name in ("p_m", "p_fm", "p_cu", "p_c")}
    result = reidsim.run(
        "xia2021",
        overrides={
            "release.sizes": [50, 100],
            "release.samples": 2,
            "figures.settings": capabilities,
            "attack": {"gain": 100, "cost": 1},
        },
    )
    folder = result.save(tmp_path / "results", illustrate=illustrate)
    page = PAGE.read_text(encoding="utf-8")
    records = result.records.drop(columns=result.manifest["attributes"])
    tables = {"runs": result.runs, "records": records, **result.analysis.tables()}
    for name, table in tables.items():
        assert set(rows(parts()[f"{name}.parquet"], "column")) == set(table.columns), name
    for path in at_least(8, folder.rglob("*.*")):
        assert f"`{path.name}`" in page, path.name
