"""The gallery: it shows every bundled scenario, and what it shows can be made again."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from found import at_least

from reidsim.bundled import bundled_names, data_file
from reidsim.cli import main
from reidsim.errors import InputError
from reidsim.reports.gallery.exhibits import EXHIBITS
from reidsim.reports.gallery.page import make_gallery
from reidsim.scenarios.load import load_scenario

DOCS = Path(__file__).parents[2] / "docs"


def parts_of(page):
    """Return the part of each scenario, by its name."""
    text = page.read_text(encoding="utf-8")
    # A blank line parts it from the next.
    return {part.partition("\n")[0]: part.rstrip("\n") for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def test_every_bundled_scenario_is_shown_with_a_figure_a_finding_and_its_command():
    parts = parts_of(DOCS / "gallery.md")
    assert list(parts) == at_least(22, bundled_names("scenarios"))
    for name, part in parts.items():
        (picture,) = re.findall(r"^!\[.{15,}\]\((.*)\)$", part, flags=re.MULTILINE)
        assert (DOCS / picture).read_bytes().startswith(b"\x89PNG")
        assert (DOCS / picture).stat().st_size < 300_000
        finding = part.split("\n\n")[2]
        assert 2 <= len(re.findall(r"[.](?:\s|$)", finding)) <= 3, finding
        assert re.search(rf"^reidsim (run|stress) {name}( \\)?$", part, flags=re.MULTILINE)
    assert {path.stem for path in (DOCS / "gallery").iterdir()} == set(parts)


@pytest.mark.parametrize("name", sorted(EXHIBITS))
def test_every_reduction_is_one_of_the_scenario_and_shown_as_it_is(name):
    exhibit = EXHIBITS[name]
    load_scenario(name, exhibit.reductions)
    part = parts_of(DOCS / "gallery.md")[name]
    shown = dict(re.findall(r"--set '?([\w.-]+)=(.*?)'?(?: \\)?$", part, flags=re.MULTILINE))
    assert set(shown) == set(exhibit.reductions)
    for key, value in exhibit.reductions.items():
        text = shown[key] if not isinstance(value, str) else f'"{shown[key]}"'
        assert tomllib.loads(f"value = {text}")["value"] == value


def texts_in(value):
    """Yield all texts of a value of a scenario."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inner)


@pytest.mark.parametrize("name", sorted(EXHIBITS))
def test_every_file_of_a_reduced_scenario_is_there(name, tmp_path, monkeypatch):
    # As from any working folder: paths in a reduction would be relative to it.
    monkeypatch.chdir(tmp_path)
    loaded = load_scenario(name, EXHIBITS[name].reductions)
    for text in files_in(loaded):
        assert data_file(text, loaded.folder, "scenarios").is_file(), text


def files_in(loaded):
    return [text for text in texts_in(loaded.content) if text.endswith((".csv", ".csv.gz"))]


def test_reduced_scenarios_name_files():
    at_least(7, (text for name in EXHIBITS for text in files_in(load_scenario(name, EXHIBITS[name].reductions))))


@pytest.mark.deep
def test_the_command_makes_what_the_documentation_holds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reidsim", "gallery", "wan2015", "-o", str(tmp_path / "new")])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"Gallery in {tmp_path / 'new' / 'gallery.md'}\n"
    made = parts_of(tmp_path / "new" / "gallery.md")
    committed = parts_of(DOCS / "gallery.md")["wan2015"]
    assert list(made) == ["wan2015"]
    assert made["wan2015"] == committed
    assert (tmp_path / "new" / "gallery" / "wan2015.png").is_file()


@pytest.mark.deep
def test_a_page_of_some_says_which_and_does_not_take_the_place_of_more(tmp_path, monkeypatch):
    monkeypatch.setattr("reidsim.reports.gallery.page._exhibit", lambda name, pictures, progress: f"## {name}\n")
    page = make_gallery(tmp_path, ["market", "wan2015", "market"])
    text = page.read_text(encoding="utf-8")
    assert "The bundled scenarios `market` and `wan2015`, each with a finding" in text
    assert f"\nreidsim gallery market wan2015 -o {tmp_path}\n" in text
    assert "Every bundled" not in text
    assert list(parts_of(page)) == ["market", "wan2015"]
    with pytest.raises(InputError, match=r"shows more scenarios, which would be lost; found 'wan2015'; expected"):
        make_gallery(tmp_path, ["market"])
    assert page.read_text(encoding="utf-8") == text
    make_gallery(tmp_path, ["wan2015", "market", "xia2015"])
    make_gallery(tmp_path)
    assert list(parts_of(page)) == bundled_names("scenarios")
    with pytest.raises(InputError, match="which would be lost"):
        make_gallery(tmp_path, ["market"])


@pytest.mark.deep
def test_the_committed_page_begins_as_one_of_all_scenarios_does(tmp_path, monkeypatch):
    monkeypatch.setattr("reidsim.reports.gallery.page._exhibit", lambda name, pictures, progress: f"## {name}\n")
    monkeypatch.chdir(tmp_path)
    made = make_gallery(Path("docs")).read_text(encoding="utf-8").partition("## ")[0]
    assert made == (DOCS / "gallery.md").read_text(encoding="utf-8").partition("## ")[0]


def test_what_is_not_bundled_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no bundled scenario of this name; found 'wan2015x'.*did you mean 'wan2015'"):
        make_gallery(tmp_path, ["wan2015x"])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        make_gallery(tmp_path / "file", ["wan2015"])
