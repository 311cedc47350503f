"""Set the paper as PDF, from the Markdown that the Journal of Open Source Software takes.

    pip install pypandoc_binary typst
    python tools/paper.py -o paper.pdf

The journal sets papers with LaTeX; Typst needs no system packages. Labels and references of figures, which the journal
writes as commands of LaTeX, become those of Typst.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path

import pypandoc
import typst

REPOSITORY = Path(__file__).resolve().parents[1]
PAPER = REPOSITORY / "paper" / "paper.md"
_LABEL = re.compile(r"\s*\\label\{([\w:-]+)\}\]\(([^)]+)\)")
_REFERENCE = re.compile(r"\\autoref\{([\w:-]+)\}")
_AFFILIATION = re.compile(r"^    affiliation: (\d+)$", re.MULTILINE)
_PLACE = re.compile(r"^  - index: (\d+)\n    name: (.+)$", re.MULTILINE)
_FORMAT = {"papersize": "a4", "fontsize": "10pt", "lang": "en", "region": "gb"}


def markdown_for_typst(text: str) -> str:
    """Return the paper with labels and references of Typst, and authors and affiliations as Pandoc shows them."""
    places = dict(_PLACE.findall(text))
    text = text.replace("\nauthors:\n", "\nauthor:\n", 1)
    text = _AFFILIATION.sub(lambda found: f"    affiliation: {places[found[1]]}", text)
    text = _LABEL.sub(r"](\2){#\1}", text)
    return _REFERENCE.sub(r"`@\1`{=typst}", text)


def write_paper(path: Path) -> None:
    """Write the paper as PDF; every citation and reference must be found."""
    options = ["--standalone", "--citeproc", "--fail-if-warnings", f"--bibliography={PAPER.parent / 'paper.bib'}"]
    options += [f"--metadata={name}:{value}" for name, value in _FORMAT.items()]
    source = pypandoc.convert_text(
        markdown_for_typst(PAPER.read_text(encoding="utf-8")), "typst", format="markdown", extra_args=options
    )
    # Typst reads figures relative to its input, and nothing outside of its root.
    with tempfile.NamedTemporaryFile("w", suffix=".typ", dir=PAPER.parent, encoding="utf-8") as file:
        file.write(source)
        file.flush()
        typst.compile(file.name, output=str(path), root=str(REPOSITORY))


def main() -> None:
    """Write the paper."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("paper.pdf"))
    write_paper(parser.parse_args().output.resolve())


if __name__ == "__main__":
    main()
