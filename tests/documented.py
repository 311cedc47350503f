"""Find schema sections, and the columns of results that the reference does not explain."""

import json
import re
from pathlib import Path
from typing import get_args

import pandas as pd
from reference_pages.listings import MANIFEST, MANIFEST_OF_POLICY, RESULT_TABLES

from reidsim.core.validation import Section

DOCS = Path(__file__).resolve().parents[1] / "docs"
_MEASURES = "reference/measures.md"


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


def unexplained(folder):
    """Return the tables, columns and keys of the manifest of a results folder that the reference does not explain.

    Measures, attributes and keys of the scenario are explained elsewhere, and columns with a dot are keys.
    """
    content = (folder / "manifest.json").read_text(encoding="utf-8")
    entries = {"": set(re.findall(r"^- `(\w+)`", (DOCS / _MEASURES).read_text(encoding="utf-8"), re.MULTILINE))}
    for section in RESULT_TABLES:
        shared = set(section.get("columns", {}))
        if "tables" not in section:
            entries[""] |= shared
        for name, columns in section.get("tables", {}).items():
            entries[name] = entries.get(name, set()) | shared | set(columns)
    manifest = json.loads(content)
    facts = {key for policy in manifest.get("policies", {}).values() for key in policy}
    keys = (manifest.keys() - MANIFEST.keys()) | (facts - MANIFEST_OF_POLICY.keys())
    return {("manifest.json", key) for key in keys} | {
        (path.name, column)
        for path in folder.glob("*.parquet")
        for column in pd.read_parquet(path).columns
        if path.stem not in entries
        or (
            "." not in column
            and column not in entries[path.stem] | entries[""]
            and f'"{column.removeprefix("level ")}"' not in content
        )
    }


def write_files_of(page, folder):
    """Write the files shown on a page (code blocks with a title) into a folder."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, content in re.findall(r'^```\w+ title="([\w.]+\.\w+)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")
