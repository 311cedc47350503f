"""The documentation: its examples run, its references are complete, its links lead somewhere.

Fenced blocks of docs/*.md that start at the left margin are played page by page, from top to bottom, in one folder
per page:

- ``sh`` holds ``reidsim`` commands, which must succeed;
- ``python`` runs in one namespace per page;
- ``toml``, ``csv`` or ``text`` with a title is written to the file of that name;
- ``console`` with the title Output must be what the block before it printed;
- anything else is only shown.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import typer
from pydantic.fields import FieldInfo

import reidsim
from reidsim.cli import app
from reidsim.experiments.analysis import Analysis
from reidsim.populations.catalogue import Recipe
from reidsim.populations.genealogy.recipe import Labels
from reidsim.populations.social_media import FiguresByAge, SocialMediaRecipe
from reidsim.scenarios import agents_schema, design_schema, stress_schema
from reidsim.scenarios.analysis_schema import Range
from reidsim.scenarios.schema import RecordScenario
from reidsim.validation import Section

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
PAGES = sorted(page.name for page in DOCS.glob("*.md"))
OUTPUT = "Output"
# The numbers shown in the pages are those of this numpy. In others a few draws from bundled figures differ (165 of
# 259,071 cells of Tennessee in 2.5), so there the text around the numbers is compared.
SHOWN_WITH_NUMPY = (2, 4)


@dataclass(frozen=True)
class Block:
    """A fenced block and the line of the page on which its text starts."""

    language: str
    title: str
    text: str
    line: int


def blocks_of(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = []
    for match in re.finditer(r"^```(\w*)([^\n`]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        title = re.search(r'title="([^"]+)"', match[2])
        line = text.count("\n", 0, match.start(3)) + 1
        blocks.append(Block(match[1], title[1] if title else "", match[3], line))
    return blocks


def play(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Play a page in a folder, the working folder; yield each output shown and what was really printed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(page):
        if block.title == OUTPUT:
            yield block, printed
        elif block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            printed = run_commands(page, block, folder)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile("\n" * (block.line - 1) + block.text, DOCS / page, "exec"), namespace)  # noqa: S102
            printed = output.getvalue()


def run_commands(page: str, block: Block, folder: Path) -> str:
    for command in block.text.splitlines():
        assert command.startswith("reidsim "), f"{page}: a sh block may only hold reidsim commands: {command!r}"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "80",
        "MPLBACKEND": "Agg",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        ["bash", "-euc", block.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{page}, line {block.line}:\n{block.text}\n{done.stdout}"
    return done.stdout


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.fixture
def page_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


# Examples.


def comparable(text: str) -> str:
    """Return the text, without its numbers if they may differ from those shown."""
    version = tuple(int(part) for part in np.__version__.split(".")[:2])
    return text if version == SHOWN_WITH_NUMPY else re.sub(r"-?[0-9]", "#", text)


@pytest.mark.parametrize("page", [page for page in PAGES if page != "reproduction.md"])
def test_examples_run_and_print_what_is_shown(page: str, page_folder: Path) -> None:
    for block, printed in play(page, page_folder):
        assert lines_of(comparable(block.text)) == lines_of(comparable(printed)), f"{page}, line {block.line}"


def test_the_committed_ledger_is_what_its_command_writes(page_folder: Path) -> None:
    (page_folder / "docs").mkdir()
    for _ in play("reproduction.md", page_folder):
        pass
    written = (page_folder / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert comparable(written) == comparable((DOCS / "reproduction.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_passed_over(page: str) -> None:
    """Blocks inside lists are not played, so none of them may look as if it were."""
    text = (DOCS / page).read_text(encoding="utf-8")
    indented = re.findall(r"^[ \t]+```(?:sh|python)\b.*$|^[ \t]+```.*title=.*$", text, flags=re.MULTILINE)
    assert indented == []
    fences = re.findall(r"^```", text, flags=re.MULTILINE)
    assert len(fences) == 2 * len(blocks_of(page))
    for block in blocks_of(page):
        assert block.language in {"sh", "python", "toml", "csv", "text", "console", "json", ""}, block.language
        if block.title:
            assert block.language in ({"console"} if block.title == OUTPUT else {"toml", "csv", "text"}), block.title


# The scenario and recipe references.

# Sections with a page of their own, whose test checks it.
ELSEWHERE = (agents_schema.__name__, design_schema.__name__, stress_schema.__name__)


def sections_of(model: type[Section], path: str) -> Iterator[tuple[str, type[Section]]]:
    """Yield every section class below `model` with the heading under which a page has to describe it."""
    yield path, model
    for alias, field in fields_of(model).items():
        key = f"{path}.{alias}".lstrip(".")
        for inner in section_classes(field.annotation):
            if inner.__module__ in ELSEWHERE:
                continue
            if inner is Range:
                yield "Ranges", inner
            elif is_named(field.annotation):
                yield from sections_of(inner, f"{key}.NAME")
            elif "rule" in inner.model_fields:
                yield f'rule = "{get_args(inner.model_fields["rule"].annotation)[0]}"', inner
            else:
                yield from sections_of(inner, key)


def fields_of(model: type[Section]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def section_classes(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [found for argument in get_args(annotation) for found in section_classes(argument)]


def is_named(annotation: Any) -> bool:
    """Tell whether the user names the sections, as in ``[attributes.age]``."""
    return getattr(annotation, "__origin__", None) is dict


def documented_keys(page: str) -> dict[str, dict[str, list[str]]]:
    """Return, per heading, the rows of tables whose first column is ``key``: the other cells by key."""
    found: dict[str, dict[str, list[str]]] = {}
    heading, in_table = "", False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip().replace("`", "")
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        in_table = bool(cells) and (in_table or cells[0] == "key")
        if in_table and cells[0].startswith("`"):
            found.setdefault(heading, {})[cells[0].strip("`")] = cells[1:]
    return found


def default_shown(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ((), {}):
        return "none"
    if section_classes(field.annotation):
        return "its defaults"
    return f"`{json.dumps(default)}`"


def literals(annotation: Any) -> set[str]:
    arguments = get_args(annotation)
    if str(getattr(annotation, "__origin__", "")) == "typing.Literal":
        return {str(argument) for argument in arguments}
    return {value for argument in arguments for value in literals(argument)}


def check_keys(rows: dict[str, list[str]], fields: dict[str, FieldInfo], where: str) -> None:
    assert set(rows) == set(fields), where
    for key, field in fields.items():
        kind, default, meaning = rows[key]
        assert kind, f"{where}: {key}"
        assert meaning, f"{where}: {key}"
        if default_shown(field) != "its defaults":
            assert default == default_shown(field), f"{where}: {key}"
        for value in literals(field.annotation):
            assert f'`"{value}"`' in kind, f"{where}: {key} can be {value}"


def test_scenario_page_documents_the_schema_and_nothing_else() -> None:
    documented = documented_keys("scenarios.md")
    headings = set()
    for path, model in sections_of(RecordScenario, ""):
        heading = path or "Top level"
        if re.fullmatch(r"[a-z][\w.]*", heading):
            heading = f"[{heading}]"
        matching = [shown for shown in documented if heading in shown]
        assert len(matching) == 1, f"scenarios.md describes {heading} {len(matching)} times"
        check_keys(documented[matching[0]], fields_of(model), heading)
        headings.add(matching[0])
    assert headings == set(documented)


# Sections that stand in several places of a recipe, and the heading under which they are described once.
SHARED_SECTIONS: dict[type[Section], str] = {FiguresByAge: "Figures by age", Labels: "Tables of labels"}


def test_recipe_page_documents_every_key_of_every_kind_and_nothing_else() -> None:
    documented = documented_keys("population-recipes.md")
    described = {heading: model for model, heading in SHARED_SECTIONS.items()}
    for recipe in (*section_classes(Recipe), SocialMediaRecipe):
        (kind,) = literals(recipe.model_fields["kind"].annotation)
        described[f'kind = "{kind}"'] = recipe
    assert set(documented) == set(described)
    for heading, model in described.items():
        fields = dict(recipe_fields(model, ""))
        check_keys(documented[heading], fields, heading)
        for key, field in fields.items():
            assert documented[heading][key][1] == default_shown(field), f"{heading}: {key}"


def recipe_fields(model: type[Section], path: str) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the keys of a recipe by their path; of a section that may be left out or repeated, also the section."""
    for name, field in fields_of(model).items():
        inner = section_classes(field.annotation)
        told_apart = [section for section in inner if section not in SHARED_SECTIONS]
        if not (field.is_required() and told_apart == [field.annotation]):
            yield f"{path}{name}", field
        for section in told_apart:
            yield from recipe_fields(section, f"{path}{name}.")


# The command reference.


def test_command_page_documents_every_command_and_option_and_no_other() -> None:
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    root = typer.main.get_command(app)
    commands = {"reidsim": root} | {f"reidsim {name}": command for name, command in root.commands.items()}
    described = {part.splitlines()[0].replace("`", ""): part for part in parts[1:]}
    assert set(commands) <= set(described)
    for name, command in commands.items():
        part = described[name]
        options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
        shown = set(
            re.findall(r"(?<![\w-])--?[a-z][a-z-]*", "".join(re.findall(r"^\| (`-.*?) \|", part, re.MULTILINE)))
        )
        assert shown == options | {"--help"}, name
        assert re.search(rf"^```(?:sh|console)\n{name}( |$)", part, re.MULTILINE), f"{name} has no example"
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                assert f"`{(parameter.metavar or parameter.name).upper()}`" in part, f"{name}: {parameter.name}"


# The results reference.


def test_results_page_documents_every_file_and_column(page_folder: Path) -> None:
    """The tutorial's own study, with everything that can be worked out, makes what the page must describe."""
    from reidsim.reports.illustration import illustrate

    for block in blocks_of("tutorial.md"):
        if block.title and block.title != OUTPUT:
            (page_folder / block.title).write_text(block.text, encoding="utf-8")
    price = {"values": [10, 60]}
    record = {"age": "70", "sex": "F", "village": "Dale"}
    result = reidsim.run(
        "clinic.toml",
        set={
            "publisher.policies": ["safe-harbor", "basic"],
            "safe_harbor": {"age": "age"},
            "analysis.strategies": record,
            "analysis.maps": {"benefit": price, "loss": price, "records": [record]},
            "analysis.lines": {"benefit": price, "loss": price, "cost": price},
            "analysis.search_deviation": {"loss": price},
        },
    )
    Path("registry.toml").write_text('kind = "registry"\npopulation = "valley.toml"\nsize = 80\nseed = 1\n')
    sequential = reidsim.run(
        "clinic.toml",
        set={
            "adversary": {"planner": "fmdp", "sequential": {"registry": "registry.toml"}},
            "analysis.sequential": {
                "beliefs": True,
                "file_attack": {"budget": 3},
                "thresholds": {"penalty": price},
                "runtimes": {"registry_sizes": [80], "records": 1},
            },
        },
    )
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    parts = {part.splitlines()[0].replace("`", ""): part for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]}
    attributes = {"age", "sex", "village"}
    tables = {**result.analysis.tables(), **sequential.analysis.tables()}
    assert set(tables) | {"left_out"} == {field.name for field in fields(Analysis)}
    for name, table in {"runs": result.runs, "records": result.records, **tables}.items():
        rows = re.findall(r"^\| (.*?) \|", parts[f"{name}.parquet"], re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", "".join(rows))) == set(table.columns) - attributes, name
    for number, made in enumerate((result, sequential)):
        folder = made.save(f"everything-{number}", illustrate=illustrate)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        keys = set(re.findall(r"^\| `(\w+)` \|", parts["manifest.json"], re.MULTILINE))
        assert keys == set(manifest) | set(manifest["policies"]["basic"])
        for path in folder.rglob("*.*"):
            name = re.sub(r"map-record-\d+", "map-record-N", path.name)
            assert f"`{name}`" in page, name


# Links.


@pytest.mark.parametrize("page", [*(f"docs/{page}" for page in PAGES), "README.md"])
def test_relative_links_lead_to_files_and_headings(page: str) -> None:
    path = REPOSITORY / page
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.is_file(), f"{page}: {target}"
        if anchor:
            assert anchor in anchors_of(file), f"{page}: {target}"


def anchors_of(path: Path) -> set[str]:
    """Return the anchors that mkdocs gives to the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


def test_every_page_is_in_the_navigation() -> None:
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"[\w-]+\.md", text)) == set(PAGES)
