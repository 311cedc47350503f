"""Writing all pages of the reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reidsim.errors import writing
from reidsim.reports.reference.commands_page import COMMANDS, commands_page
from reidsim.reports.reference.key_pages import key_pages
from reidsim.reports.reference.listings import BUNDLED, MEASURES, POLICIES, bundled_page, measures_page, policies_page


def reference_pages(root: Any, exit_codes: Mapping[int, str]) -> dict[str, str]:
    """Return the text of each page of the reference by its file name; see `commands_page` for the parameters."""
    return {
        **dict(key_pages()),
        COMMANDS: commands_page(root, exit_codes),
        MEASURES: measures_page(),
        POLICIES: policies_page(),
        BUNDLED: bundled_page(),
    }


def write_reference(folder: Path, root: Any, exit_codes: Mapping[int, str]) -> Path:
    """Write the pages of the reference into ``reference/``, over older ones.

    Parameters
    ----------
    folder : Path
        Of the documentation.
    root, exit_codes
        See `commands_page`.

    Returns
    -------
    Path
        The folder of the pages.

    Raises
    ------
    InputError
        If something cannot be written.
    """
    pages = folder / "reference"
    with writing(folder):
        pages.mkdir(parents=True, exist_ok=True)
        for name, text in reference_pages(root, exit_codes).items():
            (pages / name).write_text(text, encoding="utf-8")
    return pages
