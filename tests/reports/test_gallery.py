"""The gallery shows every bundled scenario, and its content can be regenerated."""

import json
import re
from pathlib import Path

import pytest
from found import at_least
from gallery import code, make_gallery, notebook, script

from reidsim.core.files import bundled_names
from reidsim.scenarios.scenario import Scenario

DOCS = Path(__file__).parents[2] / "docs"


def parts_of(page):
    """Return the section of each scenario, by its name."""
    text = page.read_text(encoding="utf-8")
    # A blank line separates the sections.
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
        assert f"```python\n{''.join(code(name))}```\n" in part
    assert {path.name for path in (DOCS / "gallery").iterdir()} == {
        f"{name}.{ending}" for name in parts for ending in ("png", "py", "ipynb")
    }


def test_scripts_and_notebooks_have_the_code_of_the_page():
    for name in bundled_names("scenarios"):
        title = Scenario.load(name).scenario.title
        assert (DOCS / "gallery" / f"{name}.py").read_text(encoding="utf-8") == script(name, title)
        written = (DOCS / "gallery" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert written == notebook(name, title)
        cells = ["".join(cell["source"]) for cell in json.loads(written)["cells"] if cell["cell_type"] == "code"]
        assert "\n".join(cells).split("\n")[1:-1] == "".join(code(name)).splitlines()


@pytest.mark.deep
def test_the_page_of_the_documentation_is_what_the_tool_writes(tmp_path):
    # The tool runs the script whose figure the page shows.
    made, committed = make_gallery(tmp_path, ["wan2015"]), DOCS / "gallery.md"
    assert parts_of(made) == {"wan2015": parts_of(committed)["wan2015"]}
    heads = [page.read_text(encoding="utf-8").partition("## ")[0] for page in (made, committed)]
    assert heads[0] == heads[1]
    assert (tmp_path / "gallery" / "wan2015.png").is_file()
