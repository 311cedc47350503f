"""List the assumptions of a result: each value with its meaning and source."""

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
from reidsim.scenarios.origins import leaves, origins_of
from reidsim.scenarios.registry import schemas
from reidsim.scenarios.schema import spelled_out
from reidsim.toml_text import inline_toml
from reidsim.validation import Section, read_text, section_classes, validated
from reidsim.wording import Code, Inline

# Matches `key = value # comment` if the value does not contain a number sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# Characters that do not change the meaning of a value.
_SPACES = re.compile(r"[\s_]")


class _Recipe(BaseModel):
    name: str
    title: str = ""
    sources: list[str] = []


class _Origins(BaseModel):
    """The origins in a manifest; see `reidsim.scenarios.origins.origins_of`."""

    texts: list[str] = []
    recipes: list[_Recipe] = []


def assumptions(run: StoredRun, scenario_file: Path | None = None) -> tuple[dict[str, Any], Table | None]:
    """Return the values of the template `assumptions`, and the table of defaults.

    The table is None if there are no relevant defaults.

    Parameters
    ----------
    run : StoredRun
    scenario_file : Path, optional
        Scenario file with comments on the sources of values; by default, the copy stored with the run.

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
            # A named adversary takes values that it does not state from section [adversary].
            written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
            stated.append([*row, "; ".join(filter(None, (why.get(written, ""), whose[written])))])
        else:
            defaults.append(row)
    source = run.content.get("source")
    header: list[Inline] = ["Key", "Value", "Meaning", "Source"]
    caption = "Values that the scenario states; 'yours' were set by the user"
    table = Table(header, stated, caption, frozenset(range(4)))
    context = {
        "table": table,
        "source": source if isinstance(source, str) else "",
        "recipes": origins["recipes"],
    }
    kept = Table(header[:3], defaults, "Defaults that the scenario keeps", frozenset(range(3)))
    return context, kept if defaults else None


def _whose(run: StoredRun, origins: Mapping[str, Any]) -> dict[str, str]:
    """Return the origin of each stated value: bundled scenario, paper or user."""
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
            found[path] = "yours, in place of the scenario's value"
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
    """Yield key path, value, and whether the scenario states the value.

    Defaults follow all stated values.
    """
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
        # The key is inside a value that is shown as a whole.
        return False
    section, plan, _ = path.partition(".sequential.")
    if plan and section.partition(".")[0] in ("adversary", "adversaries"):
        return stated.get(f"{section}.planner") == "fmdp"
    # The default adversary has no role if there are named adversaries.
    return not (path.startswith("adversary.") and any(key.startswith("adversaries.") for key in stated))


def _meaning(run: StoredRun, path: str, value: object) -> str:
    """Return the schema's description of a key; empty if there is none.

    If section types share the key, the description is from the type that allows the value.
    """
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
            # This part is a user-defined section name or a list index.
            continue
        field = next((field for field in fields if value in get_args(field.annotation)), fields[0])
        description = (field.description or "").replace("`", "")
        models = [inner for field in fields for inner in section_classes(field.annotation)]
    return description


def _comments(run: StoredRun, origins: Mapping[str, Any]) -> dict[str, str]:
    """Return the comments on values in the scenario files, if the run has the value."""
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


def _origins(run: StoredRun, scenario_file: Path | None) -> Mapping[str, Any]:
    """Return the texts and sources of the scenario files.

    They come from the given file, or else from the run.
    """
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
