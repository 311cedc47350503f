"""The page on cross-play describes every adversary, defender, column and file, and nothing else."""

import re
from pathlib import Path

import pytest
from documented import assert_columns_are_described, parts, rows_of, tables_described

from reidsim.engine.cross_play import cross_play
from reidsim.games.cross_play import ALL_TYPES, CROSS_PLAY_COLUMNS, WORST_TYPE
from reidsim.reports.illustration import illustrate
from reidsim.scenarios.adversary_schema import opponent_names
from reidsim.scenarios.opponents import AVERAGE_TYPE, WORST_OF_TYPES

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXT = (DOCS / "cross-play.md").read_text(encoding="utf-8")
DATASET = {
    "publisher.unit": "table",
    "population.holds_release": False,
    "adversary.risk": "journalist",
    "publisher.policies": ["basic"],
    "safe_harbor": {"age": "age"},
}


def names_in(rows):
    return re.findall(r"`([\w.-]+)`", "".join(rows))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The page's own scenario, at both levels, and the folder of its files."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    scenario = folder / "clinic.toml"
    by_record = cross_play(scenario, overrides={"safe_harbor": {"age": "age"}}, knowledge=str(folder / "club.toml"))
    return by_record, cross_play(scenario, overrides=DATASET), folder


def test_adversaries_are_described():
    assert sorted(names_in(rows_of(parts(TEXT)["Who plays"], "column"))) == sorted(opponent_names())


@pytest.mark.deep
def test_defenders_are_described(played):
    page = (DOCS / "reference" / "policies.md").read_text(encoding="utf-8")
    played_by = {name for result in played[:2] for name in result.table["defender"]}
    assert played_by <= set(re.findall(r"^- `([\w-]+)`", parts(page)['game = "tables"'], re.MULTILINE))
    assert len(played_by) == 18


@pytest.mark.deep
def test_columns_and_what_is_planned_against_are_described(played):
    described = tables_described(parts(TEXT)["Results"])["cross_play"]
    against = {ALL_TYPES, WORST_TYPE, AVERAGE_TYPE, WORST_OF_TYPES}
    assert against <= set(names_in([parts(TEXT)["Results"]]))
    assert_columns_are_described(described, CROSS_PLAY_COLUMNS)
    result = played[0]
    assert list(result.table.columns) == list(CROSS_PLAY_COLUMNS)
    assert set(result.table["plans_against"]) == {"", ALL_TYPES, WORST_TYPE, *result.table["adversary"]}


@pytest.mark.deep
def test_files_are_described(played):
    result, _, folder = played
    made = result.save(folder / "all", illustrate=illustrate)
    written = {path.relative_to(made).as_posix() for path in made.rglob("*.*")}
    named = set(re.findall(r"`([\w/-]+\.(?:json|png|parquet))`", parts(TEXT)["Results"]))
    assert named == written


def test_measures_are_told_with_the_command():
    text = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("- `--measure`"))
    *first, last = CROSS_PLAY_COLUMNS[3:]
    assert f"{', '.join(first)} or {last}" in row


def test_the_page_is_linked():
    assert "](cross-play.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert ": cross-play.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
