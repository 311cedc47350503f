"""The page on agents describes every table, column and figure, and nothing else."""

import re
from pathlib import Path

import pytest
from documented import assert_columns_are_described, parts, tables_described
from found import at_least

import reidsim
from reidsim.bundled import bundled_names
from reidsim.reports.illustration import illustrate
from reidsim.scenarios.load import load_scenario

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")
# What docs/results.md describes of any run.
COMMON_FILES = {
    "manifest.json", "runs.parquet", "records.parquet", "reidentified.parquet", "distributions.parquet",
    "reidentified.png",
}  # fmt: skip


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """Play the page's own files; return the result and its folder."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', TEXT, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    result = reidsim.run(folder / "six.toml")
    return result, result.save(folder / "all", illustrate=illustrate)


@pytest.mark.deep
def test_every_table_and_column_is_described(everything):
    result, _ = everything
    described = tables_described(parts(TEXT)["Results"])
    own = {name: table for name, table in result.analysis.tables().items() if f"{name}.parquet" not in COMMON_FILES}
    assert set(described) == set(own)
    for name, table in own.items():
        assert_columns_are_described(described[name], table.columns)
    assert "participates" in result.records
    assert "`participates`" in parts(TEXT)["Results"]


@pytest.mark.deep
def test_every_file_is_described(everything):
    _, folder = everything
    files = {path.name for path in at_least(6, folder.rglob("*.*"))} - COMMON_FILES
    described = set(re.findall(r"`(\w+\.(?:parquet|png))`", parts(TEXT)["Results"]))
    assert described - COMMON_FILES == files


def test_every_scenario_with_agents_is_described():
    named = re.findall(r"`([\w-]+)`", TEXT.partition("\nBundled are ")[2].partition("(")[0])
    with_agents = [
        name for name in bundled_names("scenarios") if getattr(load_scenario(name).scenario, "agents", None) is not None
    ]
    assert sorted(named) == at_least(4, sorted(with_agents))


def test_the_page_is_linked():
    docs = Path(__file__).resolve().parents[1]
    assert "](agents.md)" in (docs / "docs" / "index.md").read_text(encoding="utf-8")
    assert ": agents.md" in (docs / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.deep
def test_numbers_told_in_the_text_are_those_of_the_scenarios():
    """Almost half of the subjects leave after the first round of `market`, and only half of those return."""
    rounds = reidsim.run("market", overrides={"publisher.policies": ["basic", "no-attack"]}).analysis.rounds
    participation = rounds.pivot_table("participation", "round", "policy", observed=True)
    lost = participation["basic"].iloc[0] - participation["basic"].iloc[1]
    assert 0.4 < lost < 0.5
    returned = participation["basic"].iloc[1:].max()
    assert 0.4 < (returned - participation["basic"].iloc[1]) / lost < 0.6
    assert participation["no-attack"].iloc[-1] == 1
    payoffs = rounds.groupby("policy", observed=True)["publisher_payoff"].last()
    assert payoffs["no-attack"] > 1.2 * payoffs["basic"]
