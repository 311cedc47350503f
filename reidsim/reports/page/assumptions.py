"""The assumptions of a result: every value of the scenario with its meaning and its source."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from reidsim.bundled import bundled_folder, bundled_names
from reidsim.drafts.scenario_text import OF_PAPER
from reidsim.errors import InputError
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.writer import Cell, Table, shortened
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.origins import Origins, leaves, origins_of
from reidsim.scenarios.registry import schemas
from reidsim.toml_text import inline_toml
from reidsim.validation import Section, read_text, section_classes, validated
from reidsim.wording import Code, Inline

# `key = value # comment`, where no text holds the sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# Signs that do not change the meaning of a value.
_SPACES = re.compile(r"[\s_]")


class _Recipe(BaseModel):
    name: str
    title: str = ""
    sources: list[str] = []


class _Origins(BaseModel):
    """The origins in a manifest; see `reidsim.scenarios.origins.Origins`."""

    texts: list[str] = []
    recipes: list[_Recipe] = []


def assumptions(run: StoredRun, scenario_file: Path | None = None) -> tuple[dict[str, Any], Table | None]:
    """Return the values of the template `assumptions`, and the table of the defaults that matter.

    Parameters
    ----------
    run : StoredRun
    scenario_file : Path, optional
        The scenario's file, whose comments give the sources of values, instead of the copy that the run kept.

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
        row: list[Cell] = [Code(path), Code(shortened(inline_toml(value))), _meaning(run, path, value) or "-"]
        if of_scenario:
            # Values that a named adversary takes from [adversary] are written there.
            written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
            stated.append([*row, "; ".join(filter(None, (why.get(written, ""), whose[written])))])
        else:
            defaults.append(row)
    source = run.content.get("source")
    header: list[Inline] = ["Key", "Value", "Meaning", "Source"]
    caption = "Values that the scenario states; 'yours' were set by whoever ran it"
    table = Table(header, stated, caption, frozenset(range(4)))
    context = {
        "table": table,
        "source": source if isinstance(source, str) else "",
        "recipes": origins["recipes"],
    }
    kept = Table(header[:3], defaults, "Defaults that the scenario keeps", frozenset(range(3)))
    return context, kept if defaults else None


def _whose(run: StoredRun, origins: Origins) -> dict[str, str]:
    """Return the origin of each stated value: a bundled scenario, the paper or the user."""
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
    for path, value in stated.items():
        yield path, value, True
    model = schemas().get(run.game)
    try:
        scenario = None if model is None else validated(model, run.content, run.name)
    except InputError:
        return
    if scenario is not None:
        for path, value in leaves(scenario.model_dump(mode="json", by_alias=True)):
            if path not in stated and _is_worth_showing(path, value, stated):
                yield path, value, False


def _is_worth_showing(path: str, value: object, stated: Mapping[str, object]) -> bool:
    if value in (None, "", [], {}) or path.startswith("attributes."):
        return False
    if any(path.startswith(f"{key}.") for key in stated):
        # Inside a value that is shown whole.
        return False
    section, plan, _ = path.partition(".sequential.")
    if plan and section.partition(".")[0] in ("adversary", "adversaries"):
        return stated.get(f"{section}.planner") == "fmdp"
    # The default adversary has no role beside named adversaries.
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
    """Return the comments behind values in the scenario's files, where the value is the one of the run."""
    stated = dict(leaves(run.content))
    found: dict[str, str] = {}
    for text in origins["texts"]:
        section = ""
        for line in map(str.strip, text.splitlines()):
            if heading := _HEADING.match(line):
                section = heading[1].replace('"', "").replace(" ", "") + "."
            elif match := _COMMENTED.match(line):
                key = section + match[1]
                if key in stated and _SPACES.sub("", match[2]) == _SPACES.sub("", inline_toml(stated[key])):
                    found[key] = match[3].strip().replace("`", "")
    return found


def _origins(run: StoredRun, scenario_file: Path | None) -> Origins:
    """Return the texts and sources of the scenario's files: of the file that is named, or as the run kept them."""
    if scenario_file is not None:
        return origins_of(scenario_file, run.content)
    try:
        kept = _Origins.model_validate(run.manifest.get("origins"))
    except ValidationError:
        kept = _Origins()
    return {
        "texts": kept.texts,
        "recipes": [{"name": recipe.name, "title": recipe.title, "sources": recipe.sources} for recipe in kept.recipes],
    }
