"""The paper, the citation file, the conda recipe and the Dockerfile agree with the repository; no network is used."""

import re
import tomllib
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from found import at_least

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def paper():
    """Return the metadata and the text of the paper."""
    _, metadata, text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(metadata), text


@pytest.fixture(scope="module")
def entries():
    """Return the fields of each bibliographic entry by key."""
    text = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    found = at_least(20, re.findall(r"^@(\w+)\{(\w+),\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL))
    assert len(found) == text.count("@")
    keys = [key for _, key, _ in found]
    assert sorted(keys) == sorted(set(keys))
    return {key: dict(re.findall(r"^\s+(\w+)\s*= \{(.*)\},?$", fields, re.MULTILINE)) for _, key, fields in found}


def test_the_paper_has_the_metadata_of_joss(paper):
    metadata, _ = paper
    assert metadata["title"].startswith(f"{PROJECT['name']}: ")
    assert "Python" in metadata["tags"]
    assert {author["affiliation"] for author in metadata["authors"]} == {
        place["index"] for place in metadata["affiliations"]
    }
    assert all(author["name"] for author in metadata["authors"])
    assert all(place["name"] for place in metadata["affiliations"])
    assert datetime.strptime(metadata["date"], "%d %B %Y")
    assert (ROOT / "paper" / metadata["bibliography"]).is_file()


def test_the_paper_has_the_sections_of_joss_and_fewer_than_1500_words(paper):
    _, text = paper
    assert re.findall(r"^# (.+)$", text, re.MULTILINE) == [
        "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
        "Limitations", "AI usage disclosure", "Acknowledgements", "References",
    ]  # fmt: skip
    assert 750 <= len(text.split()) < 1500


def test_citations_and_bibliographic_entries_are_the_same(paper, entries):
    _, text = paper
    assert set(re.findall(r"(?<![\w.])@(\w+)", text)) == set(entries)


def test_every_bibliographic_entry_can_be_looked_up(entries):
    for key, fields in entries.items():
        assert {"author", "title", "year"} <= set(fields), key
        assert {"doi", "url", "pages"} & set(fields), key
        assert re.search(r"\d{4}$", key)[0] == fields["year"], key
    names = [fields["doi"] for fields in entries.values() if "doi" in fields]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", name) for name in names)


def test_figures_of_the_paper_are_those_of_the_documentation(paper):
    _, text = paper
    figures = at_least(1, re.findall(r"^!\[.*?\]\((\S+)\)$", text, re.MULTILINE | re.DOTALL))
    for figure in figures:
        assert (ROOT / "paper" / figure).resolve().parent == ROOT / "docs" / "figures"
        assert (ROOT / "paper" / figure).is_file()


def test_the_paper_counts_reproduced_numbers_as_the_ledger_does(paper):
    _, text = paper
    ledger = (ROOT / "docs" / "reference" / "reproduction.md").read_text(encoding="utf-8")
    counts = r"(\d+ of \d+)\s+printed\s+numbers"
    assert re.findall(counts, text) == re.findall(counts, ledger)[:1] != []
    assert re.findall(r"(\d+)\s+agree", text) == re.findall(r"(\d+) more agree", ledger) != []


def test_the_paper_cites_every_paper_of_the_citation_file(entries):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    cited = {(fields["title"].casefold(), fields["year"]): fields for fields in entries.values()}
    for reference in at_least(8, citation["references"]):
        fields = cited[reference["title"].casefold(), str(reference["year"])]
        assert fields.get("doi") == reference.get("doi")
        families = [author["family-names"] for author in reference["authors"]]
        assert [name.split(",")[0] for name in fields["author"].split(" and ")] == families


# Installation.

CONDA_NAMES = {"matplotlib": "matplotlib-base", "SALib": "salib"}


def test_the_conda_recipe_requires_what_the_package_does():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    required = [re.fullmatch(r"([\w-]+)(.*)", line).groups() for line in PROJECT["dependencies"]]
    expected = {f"{CONDA_NAMES.get(name, name)} {version}".strip() for name, version in required}
    assert set(recipe["requirements"]["run"]) == {f"python {PROJECT['requires-python']}", *expected}


def test_the_container_runs_the_desk_without_root_and_publishes_no_port():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith(("#", " "))]
    (user,) = [rest for name, rest in steps if name == "USER"]
    assert user not in ("root", "0")
    assert ["ENTRYPOINT", '["reidsim", "desk"]'] in steps
    assert "EXPOSE" not in [name for name, _ in steps]
    copied = [part for name, rest in steps if name == "COPY" and "--from" not in rest for part in rest.split()[:-1]]
    assert all((ROOT / part).exists() for part in at_least(5, copied))
