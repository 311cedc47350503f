"""Commands that print bundled scenarios and recipes, and the JSON Schema."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from typing import Annotated

import typer

from reidsim.bundled import BUNDLED_FOLDERS, bundled_names, bundled_titles, resolve
from reidsim.errors import InputError, nearest
from reidsim.terminal import echo
from reidsim.validation import read_text


def list_() -> None:
    """List the bundled scenarios, populations, background knowledge and social-media models.

    Example: reidsim list

    Example: reidsim list > bundled.txt
    """
    for heading, named in bundled_titles().items():
        echo(f"{heading}:")
        width = max(map(len, named))
        for name, title in named.items():
            echo(_fitting(f"  {name:<{width}}  {title}", width + 4))


def _fitting(line: str, indent: int) -> str:
    """Return a line wrapped at the width of the terminal.

    The line is unchanged if the output is not a terminal.
    """
    if not sys.stdout.isatty():
        return line
    return textwrap.fill(
        line, shutil.get_terminal_size().columns, subsequent_indent=" " * indent, break_on_hyphens=False
    )


def show(
    name: Annotated[
        str, typer.Argument(help="Name of a bundled scenario or recipe, or path of a TOML file.", metavar="NAME")
    ],
) -> None:
    """Print the file of a scenario or recipe, to copy and edit.

    Example: reidsim show wan2015 > mine.toml

    Example: reidsim show tennessee-2010
    """
    folder = next((folder for folder in BUNDLED_FOLDERS if name in bundled_names(folder)), "scenarios")
    try:
        path = resolve(name, folder, "scenario")
    except InputError as error:
        recipes = [recipe for others in list(BUNDLED_FOLDERS)[1:] for recipe in bundled_names(others)]
        close = None if error.hint else nearest(name, recipes)
        raise error if close is None else InputError(error.problem, found=name, hint=close) from None
    echo(read_text(path), nl=False)


def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    Example: reidsim schema > scenario.schema.json

    Example: reidsim schema | less
    """
    from pydantic.json_schema import models_json_schema

    from reidsim.scenarios.registry import schemas

    inputs, definitions = models_json_schema([(model, "validation") for model in schemas().values()], by_alias=True)
    echo(json.dumps({"anyOf": list(inputs.values()), **definitions}, indent=2))
