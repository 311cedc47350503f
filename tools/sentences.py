"""List every text that a command can print, with its place, to be read in one go.

    python tools/sentences.py                     # all of them
    python tools/sentences.py errors help         # errors, help, descriptions, warnings, templates, captions

Texts are taken from the source: errors from the arguments of `InputError` and of the checks that raise it, help from
the options and docstrings of commands, descriptions from the scenario schema and the registered components, warnings
from lists of warnings, templates from the sentences of the reports, captions from TOML files.
Placeholders stand as ``{expression}``.
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "reidsim"
SORTS = ("errors", "help", "descriptions", "warnings", "templates", "captions")
_RAISING = re.compile(r"InputError|^(require|refuse|not_among|check_)")
_DESCRIBING = {"description": "descriptions", "label": "descriptions", "definition": "descriptions", "help": "help"}
# A sentence has at least two words.
_WORDS = re.compile(r"\w+\W+\w+")


def texts_of(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string in an expression, f-strings with their placeholders."""
    if isinstance(node, ast.JoinedStr):
        parts = [
            str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(getattr(part, 'value', part))}}}"
            for part in node.values
        ]
        yield node.lineno, "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts_of(child)


def name_of(function: ast.expr) -> str:
    """Return the last part of a called name."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def sentences_of(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield sort, line and text of the sentences in a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if _RAISING.search(name_of(node.func)):
                for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
                    yield from (("errors", line, text) for line, text in texts_of(argument))
            for keyword in node.keywords:
                if keyword.arg in _DESCRIBING:
                    yield from ((_DESCRIBING[keyword.arg], line, text) for line, text in texts_of(keyword.value))
            if isinstance(node.func, ast.Attribute) and "warnings" in ast.unparse(node.func.value):
                for argument in node.args:
                    yield from (("warnings", line, text) for line, text in texts_of(argument))
        elif isinstance(node, ast.Assign) and any("warning" in ast.unparse(target) for target in node.targets):
            yield from (("warnings", line, text) for line, text in texts_of(node.value))
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign) and "description" in ast.unparse(statement.targets[0]):
                    yield from (("descriptions", line, text) for line, text in texts_of(statement.value))
        elif isinstance(node, ast.FunctionDef) and path.parent.name == "commands" and ast.get_docstring(node):
            yield "help", node.lineno, str(ast.get_docstring(node))


def sentences() -> Iterator[tuple[str, str, str]]:
    """Yield sort, place and text of every sentence."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for sort, line, text in sentences_of(path):
            if _WORDS.search(text):
                yield sort, f"{path.relative_to(PACKAGE.parent)}:{line}", " ".join(text.split())
    for path in sorted(PACKAGE.rglob("*.jinja")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if _WORDS.search(re.sub(r"\{[%{#].*?[%}#]\}", "", line)):
                yield "templates", f"{path.relative_to(PACKAGE.parent)}:{number}", line.strip()
    for path in sorted(PACKAGE.rglob("*.toml")):
        yield from (
            ("captions", f"{path.relative_to(PACKAGE.parent)}: {key}", text)
            for key, text in texts_in(tomllib.loads(path.read_text(encoding="utf-8")))
            if _WORDS.search(text)
        )


def texts_in(content: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the key path and text of every string in plain data."""
    if isinstance(content, str):
        yield key, content
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from texts_in(value, f"{key}.{name}".lstrip("."))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from texts_in(value, f"{key}[{number}]")


def main() -> None:
    """Print the sentences of the sorts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sorts", nargs="*", help=", ".join(SORTS))
    wanted = parser.parse_args().sorts or SORTS
    for unknown in set(wanted) - set(SORTS):
        parser.error(f"unknown sort {unknown!r}, expected one of {', '.join(SORTS)}")
    for sort in SORTS:
        found = [(place, text) for each, place, text in sentences() if each == sort]
        if sort in wanted:
            print(f"# {sort} ({len(found)})")
            print("\n".join(f"{place}: {text}" for place, text in found))


if __name__ == "__main__":
    main()
