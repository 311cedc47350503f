"""Figures added to a results folder whose tables are there already."""

from __future__ import annotations

import json
from pathlib import Path

from reidsim.engine.results import (
    Illustrator,
    Result,
    keep_private,
    sync,
    unfinished_beside,
    write_json,
    writing_results,
)


def add_figures(result: Result, folder: Path, illustrate: Illustrator) -> None:
    """Draw the figures of a result into the folder that it was saved in without them.

    The folder stays as it is, complete without figures, until all are drawn; an interrupt or an error leaves it so.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    manifest = folder / "manifest.json"
    with writing_results(folder / "figures"), unfinished_beside(folder) as unfinished:
        figures = illustrate(result, unfinished / "figures")
        told = {**json.loads(manifest.read_text(encoding="utf-8")), "figures": figures}
        write_json(unfinished / manifest.name, told)
        sync(unfinished)
        keep_private(unfinished)
        (unfinished / "figures").replace(folder / "figures")
        (unfinished / manifest.name).replace(manifest)
