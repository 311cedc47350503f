"""Build hooks of the documentation site: mathematics, notebooks, the changelog and the API.

mkdocs calls the functions by their names (``hooks`` in ``mkdocs.yml``). Everything is made when the site is built:
a reader's browser fetches nothing, and runs no script to show an equation.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).resolve().parents[1]
# Folders of the package from the top (CONTRIBUTING.md), with the title and summary of their API pages.
API = {
    "engine": ("Running", "Scenarios, batches, cross-play, stress tests and results folders."),
    "kinds": ("Kinds of scenario", "Schema, study, policies, outcomes and figures of each kind of scenario."),
    "scenarios": ("Scenario files", "Loading, sections, and the interface of a kind."),
    "agents": ("Agents", "Rounds of publisher, data subjects and adversaries."),
    "games": ("Games", "Payoffs, equilibria and solvers."),
    "adversaries": ("Adversaries", "Planning and background knowledge of adversaries."),
    "linkage": ("Linkage", "Group sizes, uniqueness and surname inference."),
    "populations": ("Populations", "Synthetic populations and external resources."),
    "releases": ("Releases", "Hierarchies, generalization lattices and masking."),
    "core": ("Core", "Registries of planners, policies and kinds, capabilities, and measures."),
    "audit": ("Audit", "Released files read back, by code that takes nothing from the game."),
    "drafts": ("Drafts", "Scenarios inferred from a user's file."),
    "figures": ("Figures", "Figures that several kinds draw."),
    "reports": ("Reports", "Tables, report pages, shared files, and results as Python objects."),
    "web": ("Web page", "The page in the browser."),
}
_NAMES = {
    "_PUBLIC": "Functions and classes",
    "_NOT_IN_STAR": "Names that a star import leaves out",
    "_BUILDING_BLOCKS": "Building blocks of games",
}
_NAMES_HEAD = """\
# Python API

The names of `import reidsim`, then every public class and function by package. [Scenarios in
Python](../how-to/python.md) shows examples.
"""
_EQUATION = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TERM = re.compile(r"(?<![\\$`\w])\$`([^`\n]+)`\$(?!\w)")
# The repository has notebooks, the site pages that are made from them.
_NOTEBOOK = re.compile(r"(?<=notebooks/)([\w-]+)\.ipynb")
# Names up to this length fit on one line of a narrow screen.
_SHORT = 22
_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_CODE = re.compile(r"<code>([^<]*)</code>")
_SEPARATOR = re.compile(r"(?<=[\w\]])([._/])(?=\w)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from other files."""
    for name, text in _generated():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Set equations (fences of language ``math``) and terms (``$`...`$``) as MathML; link the pages of notebooks."""
    markdown = _NOTEBOOK.sub(r"\1.md", markdown)
    markdown = _EQUATION.sub(lambda found: _equation(found[1]), markdown)
    # Without the span, a term at the start of a line would become a paragraph: Markdown counts ``math`` as a block.
    return _TERM.sub(lambda found: f"<span>{convert(found[1])}</span>", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Let long names in tables break after a separator, and short ones nowhere."""
    return _CELL.sub(lambda cell: _CODE.sub(_breakable, cell[0]), html)


def _breakable(code: re.Match[str]) -> str:
    if len(code[1]) <= _SHORT and " " not in code[1]:
        return f'<code class="short">{code[1]}</code>'
    broken = _SEPARATOR.sub(r"\1<wbr>", code[1])
    return f"<code>{broken}</code>"


def _equation(text: str) -> str:
    r"""Return an equation of LaTeX as a block, its number (``\\tag``) at the right."""
    formula, _, tag = text.strip().partition(r"\tag{")
    number = f'<span class="equation-number">({escape(tag.rstrip("}"))})</span>' if tag else ""
    return f'<div class="equation">{convert(" ".join(formula.split()), display="block")}{number}</div>'


def _generated() -> Iterator[tuple[str, str]]:
    """Yield the names and texts of generated pages."""
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "changelog.md", changes
    for notebook in sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        yield f"notebooks/{notebook.stem}.md", notebook_page(notebook)
    yield "api/index.md", _names_page()
    for folder, (title, about) in API.items():
        yield f"api/{folder}.md", api_page(folder, title, about)


def api_page(folder: str, title: str, about: str) -> str:
    """Return the page of a subpackage: every public module, with its docstrings."""
    parts = [f"# {title}\n\n{about} Package `reidsim.{folder}`.\n"]
    for path in sorted((REPOSITORY / "reidsim" / folder).rglob("*.py")):
        names = path.relative_to(REPOSITORY).with_suffix("").parts
        if names[-1].startswith("_"):
            continue
        parts.append(f"::: {'.'.join(names)}\n")
    return "\n".join(parts)


def _names_page() -> str:
    """Return the page of the names that `import reidsim` has, each leading to where it is documented.

    A module that lies in no package has no page of its own: its names are documented here.
    """
    tree = ast.parse((REPOSITORY / "reidsim" / "__init__.py").read_text(encoding="utf-8"))
    homes = {
        node.targets[0].id: {
            name: home for home, names in ast.literal_eval(node.value).items() for name in names.split()
        }
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
        if node.targets[0].id in _NAMES
    }
    parts = [_NAMES_HEAD]
    for group, title in _NAMES.items():
        parts += [f"## {title}\n", "| name | defined in |", "| --- | --- |"]
        parts += [f"| [`reidsim.{name}`][{home}.{name}] | `{home}` |" for name, home in homes[group].items()]
        parts.append("")
    packages = [f"| [{title}]({folder}.md) | {about} |" for folder, (title, about) in API.items()]
    parts += ["## Packages\n", "| package | holds |", "| --- | --- |", *packages, ""]
    top = [f"::: {home}.{name}\n" for names in homes.values() for name, home in names.items() if home.count(".") == 1]
    return "\n".join([*parts, *top])


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown: text, code, and the output of each cell."""
    parts: list[str] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f"![Figure of the cell above](data:image/png;base64,{''.join(data['image/png']).strip()})"
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return f'<div class="notebook-output">{" ".join(html.split())}</div>'
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f'```console title="Output"\n{text.rstrip()}\n```' if text else ""
