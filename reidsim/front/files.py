"""Write a Python game to files: a scenario, and tables next to it."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.errors import InputError, writing
from reidsim.front.arguments import GAME
from reidsim.front.content import Parts
from reidsim.front.records import LEVELS
from reidsim.populations.population import Population
from reidsim.scenarios.load import Scenario
from reidsim.toml_text import toml_text

COUNT = "people"


def write_scenario(path: Path, parts: Parts) -> Path:
    """Write a game to a scenario file, with tables and recipes next to it.

    Tables are CSV files; populations are recipes.

    Raises
    ------
    InputError
        If a file exists already or cannot be written, or a user-defined object cannot be named; in this case no file is
        left behind.
    """
    if path.suffix != ".toml":
        raise InputError("not the name of a scenario", source=path, expected="a name that ends in .toml")
    content = _named(parts)
    texts: dict[Path, Any] = {path: content}
    tables = dict(parts.tables)
    for name, people in parts.populations.items():
        file_name = Path(name).with_suffix(".csv").name
        texts[path.parent / name], tables[file_name] = _recipe(people, file_name)
    files = [*texts, *(path.parent / name for name in tables)]
    taken = [file for file in files if file.exists() or file.is_symlink()]
    if taken:
        raise InputError("exists already", source=taken[0], expected="a new file: nothing is overwritten")
    try:
        with writing(path):
            write_given(tables, path.parent)
            for file, said in texts.items():
                file.write_text(toml_text(said), encoding="utf-8")
            if not (parts.policies or parts.planners):
                Scenario.load(path)
    except InputError:
        for file in files:
            file.unlink(missing_ok=True)
        raise
    return path


def reference(part: object, argument: str) -> str:
    """Return the reference to a module's object, class or function in scenario files.

    The format is ``package.module:name``.

    Raises
    ------
    InputError
        If the object has no name in an importable module.
    """
    made = part if hasattr(part, "__qualname__") else type(part)
    module = getattr(made, "__module__", "")
    held: Mapping[str, Any] = vars(sys.modules[module]) if module in sys.modules else {}
    names = [name for name, value in held.items() if value is part]
    if module in ("__main__", "builtins", "") or not names:
        of_module = f"{module}:{getattr(made, '__qualname__', '')}"
        raise InputError(
            "a scenario file cannot name this", source=GAME, where=argument, found=of_module,
            expected="a class, function or object that is defined in a module",
            hint="define it in a module, and import it",
        )  # fmt: skip
    return f"{module}:{names[0]}"


def _named(parts: Parts) -> dict[str, Any]:
    """Return the content with references in place of user-defined objects."""
    content = dict(parts.content)
    if "adversaries" in content:
        content["adversaries"] = {
            name: _planned(section, parts, f"argument 'adversaries', {name}")
            for name, section in content["adversaries"].items()
        }
    else:
        content["adversary"] = _planned(content["adversary"], parts, "argument 'adversary'")
    publisher = content["publisher"]
    named = [
        reference(parts.policies[policy], "argument 'policies'") if policy in parts.policies else policy
        for policy in publisher["policies"]
    ]
    return {**content, "publisher": {**publisher, "policies": named}}


def _planned(section: Mapping[str, Any], parts: Parts, argument: str) -> dict[str, Any]:
    """Return an adversary section with a reference in place of a user-defined object."""
    own = parts.planners.get(str(section.get("planner")))
    return dict(section) if own is None else {**section, "planner": reference(own, argument)}


def _recipe(people: Population, file: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the recipe of a counted population, and the table of its file."""
    names = people.domain.names
    count = COUNT
    while count in names:
        count = f"{count} counted"
    recipe = {
        "kind": "counts",
        "title": people.name,
        "source": people.source,
        "file": file,
        "count": count,
        "missing_values": [],
        "columns": {name: name for name in names},
        "categories": {attribute.name: list(attribute.categories) for attribute in people.domain.attributes},
    }
    labels = people.domain.decode(people.cells).astype("str")
    return recipe, labels.assign(**{count: list(map(repr, people.counts.tolist()))})


def write_given(tables: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write tables to a folder, under their names.

    Tables of hierarchy levels have no header, as in ARX.
    """
    for name, table in tables.items():
        # Quote every cell, so that no column name is read as a comment.
        table.to_csv(
            folder / name, mode="x", header=not name.endswith(LEVELS), index=False, quoting=csv.QUOTE_ALL,
            lineterminator="\n",
        )  # fmt: skip
