"""Find schema sections and the names that a documentation page explains."""

import re
from pathlib import Path
from typing import get_args

from reidsim.core.validation import Section

DOCS = Path(__file__).resolve().parents[1] / "docs"
# Pages and the section that explain the tables and columns of every study.
_SHARED = ("reference/results.md", "reference/measures.md")
_TABLES, _OF_BATCHES = "reference/result-tables.md", "Batches"


def sections_below(*annotations):
    """Return the section classes in annotations, with all nested sections."""
    found = []
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, Section):
            inner = sections_below(*(field.annotation for field in annotation.model_fields.values()))
            found += [section for section in (annotation, *inner) if section not in found]
        else:
            found += [section for section in sections_below(*get_args(annotation)) if section not in found]
    return found


def names_explained(*headings):
    """Return the code-marked names in sections of the page of tables and on the pages about all results."""
    sections = re.split(r"^## (.+)$", (DOCS / _TABLES).read_text(encoding="utf-8"), flags=re.MULTILINE)
    tables = dict(zip(sections[1::2], sections[2::2], strict=True))
    texts = [(DOCS / name).read_text(encoding="utf-8") for name in _SHARED]
    texts += [tables[heading] for heading in (_OF_BATCHES, *headings)]
    return set(re.findall(r"`([^`\n]+)`", " ".join(texts)))


def write_files_of(page, folder):
    """Write the files shown on a page (code blocks with a title) into a folder."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, content in re.findall(r'^```\w+ title="([\w.]+\.\w+)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")
