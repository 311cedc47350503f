"""Write the reference of keys, measures, policies, commands, tables of results and Python into docs/reference.

python tools/reference.py
python tools/reference.py -o elsewhere
"""

from __future__ import annotations

import argparse
from pathlib import Path

from reference_pages.commands_page import COMMANDS, commands_page
from reference_pages.key_pages import key_pages
from reference_pages.listings import (
    BUNDLED,
    FIGURES,
    MEASURES,
    POLICIES,
    TABLES,
    bundled_page,
    figures_page,
    measures_page,
    policies_page,
    tables_page,
)
from reference_pages.python_page import PYTHON, python_page
from typer.main import get_command

from reidsim.cli import app

# The meaning of the exit codes of the command line.
EXIT_CODES = {
    0: "complete; standard error may contain warnings",
    2: "the command, an option, the scenario or a file is invalid, or the output cannot be written",
    3: "some runs of a batch failed; the results are written without these runs",
    130: "interrupted (Ctrl-C); no results folder remains, except the folder of a batch",
    141: "the output pipe was closed, as in `reidsim list | head -1`; files are still written",
    143: "terminated by SIGTERM (`kill`, a job scheduler, a stopped container); otherwise as 130",
}
DOCS = Path(__file__).resolve().parents[1] / "docs"


def reference_pages() -> dict[str, str]:
    """Return the text of each page of the reference by its file name."""
    return {
        **dict(key_pages()),
        COMMANDS: commands_page(get_command(app), EXIT_CODES),
        MEASURES: measures_page(),
        POLICIES: policies_page(),
        BUNDLED: bundled_page(),
        TABLES: tables_page(),
        FIGURES: figures_page(),
        PYTHON: python_page(get_command(app)),
    }


def main() -> None:
    """Write all pages, over older ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=DOCS, help="folder of the documentation")
    pages = parser.parse_args().output / "reference"
    pages.mkdir(parents=True, exist_ok=True)
    for name, text in reference_pages().items():
        (pages / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
