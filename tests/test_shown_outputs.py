"""The script that refreshes what the pages show writes what is printed, and nothing else."""

import importlib.util
from pathlib import Path

import pages
import pytest

SCRIPT = Path(__file__).parent.parent / "tools" / "shown_outputs.py"
PAGE = """# Page of 1,234 words

```python
print("first  ")
print(4321)
```

```console title="Output"
{first}
```

Text.

```python
print("second")
```

```console title="Output"
{second}
```

```console
1,234
```
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("shown_outputs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    docs = tmp_path / "docs"
    docs.mkdir()
    for owner in (module, pages):
        monkeypatch.setattr(owner, "DOCS", docs)
    monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    monkeypatch.chdir(tmp_path)
    return module


def test_outputs_become_what_is_printed_whatever_their_lengths(script, tmp_path):
    page = tmp_path / "docs" / "page.md"
    page.write_text(PAGE.format(first="old\nand 1,234\nlonger", second="second"), encoding="utf-8")
    (tmp_path / "README.md").write_text("It is 1,234, not 4321.\n", encoding="utf-8")
    changes = script.refresh("page.md")
    assert page.read_text(encoding="utf-8") == PAGE.format(first="first\n4321", second="second")
    assert changes == [("old\nand 1,234\nlonger\n", "first\n4321\n")]
    assert script.lines_that_say(script.numbers_gone(changes)) == [
        "README.md:1: It is 1,234, not 4321.",
        "docs/page.md:1: # Page of 1,234 words",
        "docs/page.md:24: 1,234",
    ]
    assert script.refresh("page.md") == []


def test_the_beginning_of_a_table_is_shown_in_the_readme(script, tmp_path, monkeypatch):
    text = "```sh\npip install . && reidsim version\n```\n\n```text\n{}...\n```\n"
    monkeypatch.setattr(script, "run_commands", lambda page, block, folder: "said before\n┏━━━┓\n┃ 12┃\n┗━━━┛\n")
    (tmp_path / "README.md").write_text(text.format("┏━━┓\n┃11┃\n"), encoding="utf-8")
    assert script.refresh("README.md") == [("┏━━┓\n┃11┃\n", "┏━━━┓\n┃ 12┃\n")]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == text.format("┏━━━┓\n┃ 12┃\n")


def test_every_picture_of_the_pages_can_be_drawn_again(script):
    committed = {path.name for path in (SCRIPT.parents[1] / "docs" / "figures").iterdir()}
    # What benchmarks/all.py draws takes a quarter of an hour.
    assert set(script.PICTURES) == committed - {"performance-growth.png"}
