"""The page on commands: an example, the arguments and the options of each."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from markdown_text import table, wrapped

from reference_pages.key_pages import head
from reference_pages.keys import anchor, guide, item
from reference_pages.words import either, figure

COMMANDS = "commands.md"
_SHARED = "Options of several commands"

_EXAMPLE = "Example:"


def commands_page(root: Any, exit_codes: Mapping[int, str]) -> str:
    """Describe every command of the command line.

    Parameters
    ----------
    root : typer.core.TyperGroup
        The program, with its commands.
    exit_codes : mapping of int to str
        Meaning of each exit code.

    Returns
    -------
    str
        Markdown.
    """
    text = (
        "Each command with an example, its arguments and its options; required arguments and options are in **bold**. "
        "A SCENARIO or RECIPE is a bundled name; a text that ends in `.toml` or contains a slash is a path. Tables are "
        "printed to standard output, warnings and progress to standard error; the output file `-` is standard output. "
        "A command writes its output completely or not at all, and overwrites no file."
    )
    commands = {"reidsim": root} | {f"reidsim {name}": command for name, command in root.commands.items()}
    rows = Counter(row for command in commands.values() for row in _rows(command).values())
    shared = [row for row, times in rows.items() if times > 1]
    codes = table(("code", "meaning"), ((str(code), meaning) for code, meaning in exit_codes.items()))
    parts = [
        head("Command reference", text),
        *(_described(name, command, shared) for name, command in commands.items()),
    ]
    if shared:
        parts += [f"## {_SHARED}\n", *shared, ""]
    parts += [
        "## Exit codes\n",
        "\n".join(codes),
        "\nAny other exit code is a defect; please report it with the message.\n",
    ]
    return "\n".join(parts)


def _described(name: str, command: Any, shared: Collection[str]) -> str:
    """Return the heading and the description of one command, with the first example of its help."""
    purpose, *examples = (command.help or "").split(_EXAMPLE)
    purpose += f" {guide('commands', name.rpartition(' ')[2])}"
    rows = _rows(command)
    lines = [f"## `{name}`", "", wrapped(purpose), ""]
    if examples:
        lines += ["```console", " ".join(examples[0].split()), "```", ""]
    own = [row for row in rows.values() if row not in shared]
    if own:
        lines += [*own, ""]
    also = [f"`{name}`" for name, row in rows.items() if row in shared]
    if also:
        lines += [wrapped(f"{'Also' if own else 'Options'}: {', '.join(also)} ([shared](#{anchor(_SHARED)}))."), ""]
    return "\n".join(lines)


def _own(command: Any) -> list[Any]:
    """Return the arguments and options of a command, without the ones that typer adds."""
    kinds = _kinds(command)
    return [parameter for parameter in command.params if parameter.name in kinds]


def _rows(command: Any) -> dict[str, str]:
    """Return the rows of a command's arguments and options by their names, of options the long ones."""
    kinds = _kinds(command)
    own = sorted(_own(command), key=lambda each: each.param_type_name != "argument")
    names = [_name(each) if each.param_type_name == "argument" else each.opts[-1] for each in own]
    return {name: _row(each, kinds[each.name]) for name, each in zip(names, own, strict=True)}


def _kinds(command: Any) -> dict[str, tuple[Any, Any]]:
    """Return the parameters of a command's function by name: type and typer declaration."""
    function = inspect.unwrap(command.callback, stop=lambda each: hasattr(each, "__signature__"))
    hints = get_type_hints(function, include_extras=True)
    return {name: get_args(hint)[:2] for name, hint in hints.items() if len(get_args(hint)) > 1 and name != "return"}


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).upper()


def _row(parameter: Any, kind: tuple[Any, Any]) -> str:
    annotation, declared = kind
    names = parameter.opts if parameter.param_type_name == "option" else [_name(parameter)]
    value = either(list(_values(annotation, declared)))
    if parameter.metavar and parameter.param_type_name == "option":
        value = parameter.metavar
    if parameter.multiple or parameter.nargs != 1:
        value += ", repeatable"
    shown = ", ".join(f"`{name}`" for name in names)
    return item(shown, value, _default(parameter), (parameter.help or "").rstrip("."))


def _values(annotation: Any, declared: Any) -> Iterator[str]:
    """Yield the words for the accepted values."""
    inner = [part for part in get_args(annotation) if part is not NoneType]
    if get_origin(annotation) is Literal:
        yield from (f"`{value}`" for value in inner)
    elif inner:
        for part in inner:
            yield from _values(part, declared)
    elif issubclass(annotation, bool):
        yield ""
    elif issubclass(annotation, int | float):
        name = "integer" if issubclass(annotation, int) else "number"
        low, high = declared.min, declared.max
        if low is not None and high is not None:
            yield f"{name} from {figure(low)} to {figure(high)}"
        elif high is not None:
            yield f"{name}, at most {figure(high)}"
        else:
            yield name if low is None else f"{name}, {figure(low)} or more"
    else:
        yield "path" if issubclass(annotation, Path) else "text"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    if default is None or default is False or default == "":
        return "none"
    return f"`{default}`"
