"""The page on partial knowledge: every file and every column of results."""

from pathlib import Path

import pytest
from documented import assert_columns_are_described, tables_described
from found import at_least

import reidsim
from reidsim.reports.illustration import illustrate

PAGE = Path(__file__).resolve().parents[1] / "docs" / "knowledge.md"


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
    described = tables_described(page)
    # What the page says of all tables, and of `runs` for `records` as well.
    shared = {"records", "knowledge", "q1", "median", "q3"}
    errors = {column for column in result.runs if column.endswith("_standard_error")}
    for name, table in tables.items():
        elsewhere = shared | (errors if name == "records" else set())
        assert_columns_are_described(described[name] - shared, set(table.columns) - elsewhere)
    for path in at_least(8, folder.rglob("*.p*")):
        assert f"`{path.name}`" in page, path.name
