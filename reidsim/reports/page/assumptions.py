"""What a result rests on: every value of the scenario, what it means, and where it comes from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from reidsim.bundled import bundled_folder, bundled_names
from reidsim.drafts.scenario_text import OF_PAPER
from reidsim.errors import InputError
from reidsim.reports.page.blocks import Block, Bullets, Cell, Table, paragraph, shortened
from reidsim.reports.page.stored_run import StoredRun
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.origins import Origins, RecipeOrigin, leaves, origins_of, recipe_origins
from reidsim.scenarios.registry import schemas
from reidsim.toml_text import inline_toml
from reidsim.validation import Section, read_text, section_classes, validated
from reidsim.wording import Code, Inline

# `key = value # comment`, where no text holds the sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# What a value may be written with, and mean the same.
_SPACES = re.compile(r"[\s_]")
_UNTOLD = "-"


def assumption_blocks(run: StoredRun, scenario_file: Path | None = None) -> tuple[Iterator[Block], Iterator[Block]]:
    """Return the values that a scenario states with the sources of its figures, and the defaults that matter in it.

    Parameters
    ----------
    run : StoredRun
    scenario_file : Path, optional
        The scenario's file, whose comments say where values come from, instead of what the run kept of it.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    origins = _origins(run, scenario_file)
    why, whose = _comments(run, origins), _whose(run, origins)
    stated: list[list[Cell]] = []
    defaults: list[list[Cell]] = []
    for path, value, of_scenario in _values(run):
        row: list[Cell] = [Code(path), Code(shortened(inline_toml(value))), _meaning(run, path, value) or _UNTOLD]
        if of_scenario:
            # What an adversary takes from [adversary] is written there.
            written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
            stated.append([*row, "; ".join(text for text in (why.get(written, ""), whose[written]) if text)])
        else:
            defaults.append(row)
    return _stated(run, stated, origins), _defaults(defaults)


def _stated(run: StoredRun, rows: list[list[Cell]], origins: Origins) -> Iterator[Block]:
    caption = "Values that the scenario states; 'yours' were set by whoever ran it"
    yield Table(["Key", "Value", "Meaning", "Source"], rows, caption, text_columns=frozenset(range(4)))
    sources = list(_sources(run, origins))
    yield paragraph("Sources:")
    yield Bullets(tuple(sources) if sources else (("The scenario names no source.",),))


def _defaults(rows: list[list[Cell]]) -> Iterator[Block]:
    if rows:
        caption = "Defaults that the scenario keeps"
        yield Table(["Key", "Value", "Meaning"], rows, caption, text_columns=frozenset(range(3)))


def _whose(run: StoredRun, origins: Origins) -> dict[str, str]:
    """Return of each stated value whether a bundled scenario says it, or whoever ran the scenario."""
    bundled = {read_text(bundled_folder("scenarios") / f"{name}.toml") for name in bundled_names("scenarios")}
    said: dict[str, tuple[object, str]] = {}
    for text in origins["texts"]:
        whose = "as the bundled scenario" if text in bundled else "yours"
        said |= {path: (value, whose) for path, value in leaves(_parsed(text))}
    found: dict[str, str] = {}
    for path, value in leaves(run.content):
        stated, whose = said.get(path, (None, "yours"))
        section, _, name = path.rpartition(".")
        if stated != value and whose != "yours":
            found[path] = "yours, instead of the scenario's"
        elif whose == "yours" and section == "economics" and value == OF_PAPER.get(name):
            found[path] = "default, from Wan et al. 2015"
        else:
            found[path] = whose
    return found


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _values(run: StoredRun) -> Iterator[tuple[str, object, bool]]:
    """Yield key path, value and whether the scenario states it; defaults follow the values of their section."""
    stated = dict(leaves(dict(spelled_out(run.content))))
    defaults: dict[str, object] = {}
    model = schemas().get(run.game)
    if model is not None:
        try:
            scenario = validated(model, run.content, run.name)
        except InputError:
            scenario = None
        if scenario is not None:
            defaults = dict(leaves(scenario.model_dump(mode="json", by_alias=True)))
    for path, value in stated.items():
        yield path, value, True
    for path, value in defaults.items():
        if path not in stated and _worth_telling(run, path, value, stated):
            yield path, value, False


def _worth_telling(run: StoredRun, path: str, value: object, stated: Mapping[str, object]) -> bool:
    if value in (None, "", [], {}) or path.startswith("attributes."):
        return False
    if any(path.startswith(f"{key}.") for key in stated):
        # Inside a value that is shown whole.
        return False
    section, plan, _ = path.partition(".sequential.")
    if plan and section.partition(".")[0] in ("adversary", "adversaries"):
        return stated.get(f"{section}.planner") == "fmdp"
    # The default adversary is nobody where others have names.
    return not (path.startswith("adversary.") and any(key.startswith("adversaries.") for key in stated))


def _meaning(run: StoredRun, path: str, value: object) -> str:
    """Return the schema's description of a key, as the sort of section has it that the value names; empty if none."""
    models: list[type[Section]] = [model for name, model in schemas().items() if name == run.game]
    description = ""
    for part in path.split("."):
        fields = [
            field
            for model in models
            for name, field in model.model_fields.items()
            if part in (field.alias or name, name)
        ]
        if not fields:
            # The name that the user gave to a section, or its place in a list.
            continue
        field = next((field for field in fields if value in get_args(field.annotation)), fields[0])
        description = (field.description or "").replace("`", "")
        models = [inner for field in fields for inner in section_classes(field.annotation)]
    return description


def _comments(run: StoredRun, origins: Origins) -> dict[str, str]:
    """Return comments that stand behind values in the scenario's files, where the value is the one of the run."""
    stated = dict(leaves(run.content))
    found: dict[str, str] = {}
    for text in origins["texts"]:
        found |= _comments_in(text, stated)
    return found


def _comments_in(text: str, stated: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            section = heading[1].replace('"', "").replace(" ", "")
        match = _COMMENTED.match(line.strip())
        if match is None:
            continue
        key = f"{section}.{match[1]}" if section else match[1]
        if key in stated and _SPACES.sub("", match[2]) == _SPACES.sub("", inline_toml(stated[key])):
            found[key] = match[3].strip().replace("`", "")
    return found


def _sources(run: StoredRun, origins: Origins) -> Iterator[tuple[Inline, ...]]:
    """Yield the sources that the scenario and the recipes it names state."""
    source = run.content.get("source")
    if isinstance(source, str) and source:
        yield ("Scenario: ", source)
    for recipe in origins["recipes"]:
        title = f": {recipe['title']}. " if recipe["title"] else ". "
        yield ("Recipe ", Code(recipe["name"]), title, "; ".join(recipe["sources"]) or "It names no source.")


def _origins(run: StoredRun, scenario_file: Path | None) -> Origins:
    """Return what the scenario's files say: those named or, without, those that the run kept.

    Of results of earlier versions, which kept none, the files of a bundled scenario are read.
    """
    if scenario_file is not None:
        return origins_of(scenario_file, run.content)
    kept = run.manifest.get("origins")
    if isinstance(kept, Mapping):
        return _kept_origins(kept)
    if run.name in bundled_names("scenarios"):
        return origins_of(bundled_folder("scenarios") / f"{run.name}.toml", run.content)
    return {"texts": [], "recipes": recipe_origins(run.content, None)}


def _kept_origins(kept: Mapping[str, Any]) -> Origins:
    """Return what a manifest says of origins, without what nobody can have written there but by hand."""
    listed = kept.get("recipes")
    recipes: list[RecipeOrigin] = [
        {"name": str(recipe["name"]), "title": _text(recipe.get("title")), "sources": _texts(recipe.get("sources"))}
        for recipe in (listed if isinstance(listed, list) else ())
        if isinstance(recipe, Mapping) and "name" in recipe
    ]
    return {"texts": _texts(kept.get("texts")), "recipes": recipes}


def _texts(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
