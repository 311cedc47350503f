"""What a result rests on: every value of the scenario, what it means, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from reidsim.bundled import BUNDLED, bundled_folder, bundled_names, resolve
from reidsim.errors import InputError
from reidsim.reports.page.blocks import Block, Bullets, Cell, Code, Inline, Table, paragraph, shortened
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.page.toml_text import inline_toml
from reidsim.scenarios.load import GAMES
from reidsim.validation import read_text, read_toml, validated

# What is told elsewhere on the page, or concerns figures only.
_LEFT_OUT = ("title", "source", "game", "analysis")
_BUNDLED_FOLDERS = ("populations", "populations/knowledge")
# `key = value # comment`, where no text holds the sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
_UNTOLD = "-"


def assumption_blocks(run: StoredRun, scenario_file: Path | None = None) -> Iterator[Block]:
    """Yield the values of a scenario and the sources of its figures.

    Parameters
    ----------
    run : StoredRun
    scenario_file : Path, optional
        The scenario's file, whose comments say where values come from; that of a bundled scenario is found.
    """
    why = _comments(run, scenario_file)
    rows: list[list[Cell]] = []
    for path, value, stated in _values(run):
        default = "" if stated else "default"
        note = "; ".join(text for text in (why.get(path, ""), default) if text) or _UNTOLD
        rows.append([Code(path), Code(shortened(inline_toml(value))), _meaning(run, path) or _UNTOLD, note])
    yield Table(
        ["Key", "Value", "Meaning", "Why"], rows, "Values of the scenario as run", text_columns=frozenset(range(4))
    )
    sources = list(_sources(run, scenario_file))
    yield paragraph("Where figures come from:")
    yield Bullets(tuple(sources) if sources else (("The scenario names no source.",),))


def _values(run: StoredRun) -> Iterator[tuple[str, object, bool]]:
    """Yield key path, value and whether the scenario states it; defaults follow the values of their section."""
    stated = dict(_leaves(run.content))
    defaults: dict[str, object] = {}
    model = GAMES.get(run.game)
    if model is not None:
        try:
            scenario = validated(model, run.content, run.name)
        except InputError:
            scenario = None
        if scenario is not None:
            defaults = dict(_leaves(scenario.model_dump(mode="json", by_alias=True)))
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
    if path.startswith("adversary.sequential."):
        return stated.get("adversary.planner") == "fmdp"
    return True


def _leaves(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    for key, value in content.items():
        path = f"{above}.{key}" if above else str(key)
        if path in _LEFT_OUT or value is None:
            continue
        # What a key path stands for, as in sweeps, is a value and no section.
        if isinstance(value, Mapping) and value and key != "hierarchy" and "." not in key:
            yield from _leaves(value, path)
        elif isinstance(value, list | tuple) and value and all(isinstance(entry, Mapping) for entry in value):
            for place, entry in enumerate(value):
                yield from _leaves(entry, f"{path}.{place}")
        else:
            yield path, _without_none(value)


def _without_none(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    return value


def _meaning(run: StoredRun, path: str) -> str:
    """Return the schema's description of a key; empty if it has none."""
    models: list[type[BaseModel]] = [GAMES[run.game]] if run.game in GAMES else []
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
        description = (fields[0].description or "").replace("`", "")
        models = [inner for field in fields for inner in _sections(field.annotation)]
    return description


def _sections(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _sections(argument)]


def _comments(run: StoredRun, scenario_file: Path | None) -> dict[str, str]:
    """Return comments that stand behind values in the scenario's file, where the value is the one of the run."""
    stated = dict(_leaves(run.content))
    found: dict[str, str] = {}
    for path in _files_of(run, scenario_file):
        found |= _comments_in(read_text(path), stated)
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
        if key in stated and _same_value(match[2], stated[key]):
            found[key] = match[3].strip()
    return found


def _same_value(text: str, value: object) -> bool:
    return re.sub(r"[\s_]", "", text) == re.sub(r"[\s_]", "", inline_toml(value))


def _files_of(run: StoredRun, scenario_file: Path | None) -> list[Path]:
    """Return the scenario's file, after those that it extends."""
    path = scenario_file
    if path is None and run.name in bundled_names("scenarios"):
        path = bundled_folder("scenarios") / f"{run.name}.toml"
    files: list[Path] = []
    while path is not None and path not in files:
        files.insert(0, path)
        extends = read_toml(path).get("extends")
        path = resolve(extends, "scenarios", "scenario", base=path.parent) if isinstance(extends, str) else None
    return files


def _sources(run: StoredRun, scenario_file: Path | None) -> Iterator[tuple[Inline, ...]]:
    """Yield the sources that the scenario and the recipes it names state."""
    source = run.content.get("source")
    if isinstance(source, str) and source:
        yield ("Scenario: ", source)
    base = scenario_file.parent if scenario_file is not None else None
    for name in _recipe_names(run.content):
        path = _recipe_file(name, base)
        if path is None:
            continue
        try:
            recipe = read_toml(path)
        except InputError:
            continue
        title = recipe.get("title")
        told = f": {title}. " if isinstance(title, str) and title else ". "
        yield ("Recipe ", Code(name), told, "; ".join(_source_texts(recipe)) or "It names no source.")


def _recipe_names(content: Mapping[str, Any]) -> list[str]:
    """Return names of recipes among the values of a scenario, in their order."""
    bundled = {name for folder in _BUNDLED_FOLDERS for name in bundled_names(folder)}
    texts = [value for _, value in _leaves(content) if isinstance(value, str)]
    return list(dict.fromkeys(text for text in texts if text in bundled or text.endswith(".toml")))


def _recipe_file(name: str, base: Path | None) -> Path | None:
    if not name.endswith(".toml"):
        folders = [folder for folder in _BUNDLED_FOLDERS if name in bundled_names(folder)]
        return bundled_folder(folders[0]) / f"{name}.toml" if folders else None
    if name.startswith(BUNDLED):
        return bundled_folder("populations") / name.removeprefix(BUNDLED)
    if Path(name).is_absolute():
        return Path(name)
    return base / name if base is not None else None


def _source_texts(recipe: object) -> list[str]:
    """Return every text under a key ``source``, those of parts after that of the whole."""
    if isinstance(recipe, Mapping):
        own = recipe.get("source")
        parts = [text for key, value in recipe.items() if key != "source" for text in _source_texts(value)]
        return list(dict.fromkeys([own, *parts] if isinstance(own, str) and own else parts))
    if isinstance(recipe, list):
        return list(dict.fromkeys(text for value in recipe for text in _source_texts(value)))
    return []
