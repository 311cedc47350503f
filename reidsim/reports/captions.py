"""Captions of the figures and tables of results folders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from reidsim.scenarios.kind import Kind
from reidsim.validation import read_toml

# Figures that show the decision; the other figures help to check it.
DECISION_FIGURES = ("payoffs", "risks", "reidentified", "rounds", "regrets", "cross-play", "risk-maps")

_WORDS = read_toml(Path(__file__).with_suffix(".toml"))
# Columns that a page shows of wide tables.
MAIN_COLUMNS: Mapping[str, Sequence[str]] = _WORDS["columns"]
# Sections of a scenario that the question of a report describes.
DESCRIBED_SECTIONS: Sequence[str] = _WORDS["described"]


def figure_caption(name: str, kind: Kind | None) -> str:
    """Return the caption of a figure; its name in words if there is none."""
    captions: Mapping[str, str] = _WORDS["figures"]
    plain = re.sub(r"\d+", "NUMBER", name)
    number = re.search(r"\d+", name)
    if plain in captions:
        return captions[plain] + (f" (number {number[0]})" if number else "")
    return _of_kind(name, kind)


def table_caption(name: str, kind: Kind | None) -> str:
    """Return the caption of a table; its name in words if there is none."""
    return _WORDS["tables"].get(name) or _of_kind(name, kind)


def _of_kind(name: str, kind: Kind | None) -> str:
    words = re.sub(r"[-_\s]+", " ", name).strip()
    return (kind.captions.get(name) if kind else None) or words[:1].upper() + words[1:] or "Untitled"
