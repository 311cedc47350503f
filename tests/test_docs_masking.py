"""The page on the masking game describes every solver, table, column and figure, and nothing else."""

import re
from pathlib import Path

import pytest
from documented import assert_columns_are_described, literals, parts, rows_of, tables_described
from found import at_least

import reidsim
from reidsim.kinds.masking.tables_schema import SubjectsSection
from reidsim.reports.illustration import illustrate
from reidsim.scenarios.schema import RECORD_COLUMNS

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "masking.md").read_text(encoding="utf-8")


def names_in(rows):
    return re.findall(r"`([\w.-]+)`", "".join(rows))


def test_solvers_are_described():
    known = literals(SubjectsSection.model_fields["solver"].annotation)
    assert sorted(names_in(rows_of(parts(TEXT)["Solvers"], "column"))) == sorted(known)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Play the page's own files with all that can be computed besides; return the result and its folder."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    result = reidsim.run(folder / "own.toml")
    return result, result.save(folder / "all", illustrate=illustrate)


@pytest.mark.deep
def test_every_table_and_column_is_described(everything):
    result, _ = everything
    described = tables_described(parts(TEXT)["Results"])
    tables = {name: table for name, table in result.analysis.tables().items() if name != "reidentified"}
    assert set(described) == {*tables, "runs", "records"}
    for name, table in {**tables, "runs": result.runs}.items():
        assert_columns_are_described(described[name], table.columns)
    attributes = result.manifest["content"]["subjects"]["attributes"]
    assert list(result.records.columns) == [*RECORD_COLUMNS, *attributes]


@pytest.mark.deep
def test_every_file_is_described(everything):
    _, folder = everything
    files = {path.name for path in at_least(6, folder.rglob("*.*"))}
    described = set(re.findall(r"`([\w-]+\.(?:parquet|png))`", parts(TEXT)["Results"]))
    # What docs/results.md describes of any run.
    common = {"manifest.json", "reidentified.parquet"}
    common |= {f"{name}.png" for name in ("payoffs", "risks", "reidentified")}
    assert described == files - common


@pytest.mark.deep
def test_what_the_manifest_has_that_others_do_not_is_described(everything):
    result, _ = everything
    common = {"scenario", "scenario_hash", "data_hash", "seed", "content", "versions", "timings_seconds", "records"}
    common |= {"scenario_file", "release_file", "origins", "expected_losses"}
    for key in set(result.manifest) - common - {"policies"}:
        assert f"`{key}`" in parts(TEXT)["Results"], key
    assert set(result.manifest["policies"]["masking"]) == {
        "solver", "proved_optimal", "strategies_evaluated_per_record", "withheld",
    }  # fmt: skip


def test_the_page_is_linked():
    docs = Path(__file__).resolve().parents[1]
    assert "](masking.md)" in (docs / "docs" / "index.md").read_text(encoding="utf-8")
    assert ": masking.md" in (docs / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.deep
def test_numbers_told_in_the_text_are_those_of_the_scenarios():
    """Eleven masked loci of 45 in the case study; twelve loci, 1,000 subjects and 100 draws in the large one."""
    path = reidsim.run("wan2021-case").analysis.search_path
    best = path[path["recommended_by"].str.contains(r"(?:^|, )masking", regex=True)].iloc[0]
    assert (best["masked"], path["shared_loci"].max()) == (11, 45)
    assert "eleven masked loci of 45" in " ".join(TEXT.split())
    assert "1,000 subjects, 100 draws" in " ".join(TEXT.split())
