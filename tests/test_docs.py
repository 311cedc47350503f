"""The documentation: examples run, results are described, links resolve."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import shlex
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from documented import unexplained
from pages import DOCS, OUTPUT, Block, as_shown, blocks_of, lines_of, play, run_commands

import reidsim
from reidsim.cli import main

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


# Examples.


def run_in_this_process(page: str, block: Block, folder: Path) -> str:
    """Run the commands of a block without a process for each."""
    # Redirected output needs a shell, and code of a scenario would stay registered in this process.
    if ">" in block.text or "--allow-code" in block.text:
        return run_commands(page, block, folder)
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "stdin", io.StringIO())
        for line in block.text.splitlines():
            patch.setattr(sys, "argv", shlex.split(line))
            outputs = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
            with outputs[0], outputs[1], pytest.raises(SystemExit) as stop:
                main()
            text = printed.buffer.getvalue().decode()
            assert not stop.value.code, f"{page}, line {block.line}:\n{line}\n{text}"
    return text


# tests/reports runs the ledger and a part of the gallery; tools/gallery.py runs all 29 scripts, which take two minutes.
# .ci/tutorial runs the other pages.
RUN_ELSEWHERE = (
    "gallery.md",
    "reference/reproduction.md",
    "tutorials/tutorial.md",
    "how-to/own-data.md",
    "how-to/share.md",
)


@pytest.mark.deep
@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE and blocks_of(page)])
def test_examples_run_and_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block, printed in play(page, tmp_path, run_in_this_process):
        assert lines_of(block.text) == lines_of(as_shown(block.text, printed)), f"{page}, line {block.line}"
    assert set().union(*(unexplained(manifest.parent) for manifest in tmp_path.rglob("manifest.json"))) == set()


def test_the_readme_counts_what_the_ledger_does() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    ledger = (DOCS / "reference/reproduction.md").read_text(encoding="utf-8")
    counts = re.findall(r"[0-9]+ of [0-9]+(?= printed numbers)", readme)
    assert counts == re.findall(r"[0-9]+ of [0-9]+(?= printed numbers)", ledger)[:1] != []


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    """Blocks inside lists are not run, so none may look like an executed block."""
    text = (DOCS / page).read_text(encoding="utf-8")
    indented = re.findall(r"^[ \t]+```(?:sh|python)\b.*$|^[ \t]+```.*title=.*$", text, flags=re.MULTILINE)
    assert indented == []
    fences = re.findall(r"^```", text, flags=re.MULTILINE)
    assert len(fences) == 2 * len(blocks_of(page))
    for block in blocks_of(page):
        assert block.language in {"sh", "python", "toml", "csv", "text", "console", "json", "math", ""}, block.language
        if block.title:
            written = {"toml", "csv", "text", "python"}
            assert block.language in ({"console"} if block.title == OUTPUT else written), block.title


# Links.


@pytest.mark.parametrize("page", [*(f"docs/{page}" for page in PAGES), "README.md"])
def test_relative_links_lead_to_files_and_headings(page: str) -> None:
    path = REPOSITORY / page
    for target in targets_of(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.is_file(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors_of(file), f"{page}: {target}"


def targets_of(page: str) -> list[str]:
    """Return the link targets of a page, outside code."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors_of(path: Path) -> set[str]:
    """Return the anchors that mkdocs generates for the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_every_citation_of_an_explanation_has_a_reference() -> None:
    entries = (DOCS / "explanation/references.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^- ([\w-]+),[^(]*\((\d{4})\)", entries, flags=re.MULTILINE))
    for page in (page for page in PAGES if page.startswith("explanation/")):
        text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
        several = re.findall(r"([A-Z][\w-]+)(?: (?:and|&) [A-Z][\w-]+| et al\.),? \(?(\d{4})", text)
        one = re.findall(r"[(\[]([A-Z][\w-]+),? (\d{4})[\])]", text)
        assert {*several, *one} - listed == set(), page


def test_every_page_is_in_the_navigation() -> None:
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    made = {"changelog.md", "api/index.md", *(f"api/{folder}.md" for folder in site_packages())}
    made |= {f"notebooks/{path.stem}.md" for path in (DOCS / "notebooks").iterdir()}
    named = re.findall(r"[\w/-]+\.md", text)
    assert sorted(named) == sorted(made | set(PAGES))


def site_packages() -> set[str]:
    """Return the packages with an API page generated by tools/site_hooks.py."""
    tree = ast.parse((REPOSITORY / "tools" / "site_hooks.py").read_text(encoding="utf-8"))
    (pages,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "API"
    )
    return set(ast.literal_eval(pages))


def test_every_package_has_a_page_of_the_api() -> None:
    packages = {path.name for path in (REPOSITORY / "reidsim").iterdir() if list(path.glob("*.py"))}
    # The command reference documents the commands package.
    assert site_packages() == packages - {"commands"}


def test_every_name_of_the_package_leads_to_its_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    # The test environment lacks the site's tools, and these pages do not need them.
    for module in ("latex2mathml.converter", "mkdocs.structure.files"):
        monkeypatch.setitem(sys.modules, module, MagicMock())
    made = dict(runpy.run_path(str(REPOSITORY / "tools" / "site_hooks.py"))["_generated"]())
    documented = {name for page in made.values() for name in re.findall(r"^::: (\S+)$", page, flags=re.MULTILINE)}
    names = re.findall(r"^\| \[`reidsim\.(\w+)`\]", made["api/index.md"], flags=re.MULTILINE)
    assert names
    modules = {name: getattr(reidsim, name).__module__ for name in names}
    assert [name for name in names if not {modules[name], f"{modules[name]}.{name}"} & documented] == []
